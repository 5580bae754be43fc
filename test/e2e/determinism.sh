#!/bin/sh
# Same model and flags, same archive, whatever the folder and time; same archive and input, same bits for 1, 2 and 4 threads.
. "$(dirname "$0")/common.sh"
"$build_models" resnet50 mobilenet_v2 bert_base gpt2 --tiny -o models >/dev/null
mkdir elsewhere
cp -r models elsewhere
for folder in models/*/; do
    name=$(basename "$folder")
    for mode in none matmult; do
        "$xcc" "$folder/model.onnx" -o "$name.neff" --auto-cast $mode
        (cd elsewhere && TZ=Asia/Tokyo LC_ALL=C "$xcc" "$PWD/models/$name/model.onnx" -o again.neff --auto-cast $mode)
        cmp "$name.neff" elsewhere/again.neff || failed "$name: two archives of one model ($mode)"
        for set in "$folder"test_data_set_*; do
            for threads in 1 2 4; do
                outputs "$name.neff" "$set" "out$threads" --threads $threads
            done
            for file in out1/*; do
                cmp "$file" "out2/${file#out1/}" || failed "$name: 1 and 2 threads ($mode)"
                cmp "$file" "out4/${file#out1/}" || failed "$name: 1 and 4 threads ($mode)"
            done
            rm -r out1 out2 out4
        done
    done
done
finish
