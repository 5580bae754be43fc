#!/bin/sh
# xcc --verify takes inputs as xrun does.
. "$(dirname "$0")/common.sh"
digits=$source/models/digits/digits.onnx
if ! command -v python3 >/dev/null; then
    echo "skipped: there is no python3 to make .npz files"
    finish
fi

"$xcc" "$digits" -q -o digits.neff
cp "$source/models/digits/digit_3.npy" image.npy
cp image.npy arr_0.npy
python3 -m zipfile -c named.npz arr_0.npy image.npy # of arrays with an input's name, the others are left
python3 -m zipfile -c plain.npz arr_0.npy
cp image.npy arr_1.npy
python3 -m zipfile -c many.npz arr_0.npy arr_1.npy
"$xcc" "$digits" --verify image.npy >want.txt
grep -q "no node is wrong" want.txt || failed "--verify image.npy: $(cat want.txt)"
"$xcc" "$digits" --verify >made_up.txt
cmp -s made_up.txt want.txt && failed "inputs make no difference to what --verify prints"
for file in named.npz plain.npz image=image.npy; do
    "$xrun" digits.neff $file >/dev/null || failed "xrun $file"
    "$xcc" "$digits" --verify $file >out.txt || failed "--verify $file"
    cmp -s out.txt want.txt || failed "--verify $file: not the values of image.npy: $(cat out.txt)"
done
rm out.txt
# What is verified is what is compiled: the same archive, and writing it changes nothing of the run.
for cast in none matmult; do
    "$xcc" "$digits" -q --auto-cast $cast -o plain.neff
    "$xcc" "$digits" --auto-cast $cast --verify -o verified.neff >out.txt || failed "--auto-cast $cast --verify -o: $(cat out.txt)"
    cmp -s plain.neff verified.neff || failed "--auto-cast $cast --verify -o: another archive than without --verify"
done
for program in "$xrun digits.neff" "$xcc $digits --verify"; do
    # shellcheck disable=SC2086
    refuses 1 "many.npz: 2 arrays, but the model has 1 inputs" $program many.npz
    # shellcheck disable=SC2086
    refuses 1 "nowhere.npz: cannot open" $program nowhere.npz
done
finish
