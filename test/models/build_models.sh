#!/bin/sh
# build_models: the same bytes twice and on every machine, valid structure in every variant, refusal of damaged files.
# usage: build_models.sh BUILD_MODELS SCRATCH_FOLDER
set -eu
program=$1 scratch=$2
rm -rf "$scratch"
mkdir -p "$scratch"

sums() { (cd "$1" && find . -type f | LC_ALL=C sort | xargs sha256sum); }

"$program" all --tiny -o "$scratch/first"
"$program" all --tiny -o "$scratch/second" >/dev/null
sums "$scratch/first" >"$scratch/first.sums"
sums "$scratch/second" >"$scratch/second.sums"
cmp "$scratch/first.sums" "$scratch/second.sums"
diff "$(dirname "$0")/tiny.sha256" "$scratch/first.sums" || {
    echo "models differ from those of other machines; if you changed them, copy $scratch/first.sums"
    echo "to test/models/tiny.sha256"
    exit 1
}

"$program" all --tiny --static -o "$scratch/static" >/dev/null
"$program" all --tiny --external -o "$scratch/external" >/dev/null
for variant in first static external; do
    "$program" --check "$scratch/$variant"/*/model.onnx >"$scratch/$variant.check"
    models=$(ls -d "$scratch/$variant"/*/ | wc -l)
    test "$models" -ge 8
    test "$(wc -l <"$scratch/$variant.check")" -eq "$models"
done
"$program" --check "$(dirname "$0")/../../models/digits/digits.onnx"
test -z "$(find "$scratch/first" -size +700k)" || { echo "a tiny model is not tiny"; exit 1; }
test -e "$scratch/first/gpt2/test_data_set_1/input_0.npy"
test ! -e "$scratch/static/gpt2/test_data_set_1"

# The weights went into the second file.
test "$(wc -c <"$scratch/external/bert_base/model.onnx.data")" -gt 100000

# Damage is found: a model cut short, external data cut short.
refused() { if "$program" --check "$1" 2>"$scratch/message"; then echo "$1 was accepted"; exit 1; fi; }
head -c 20000 "$scratch/first/gpt2/model.onnx" >"$scratch/cut.onnx"
refused "$scratch/cut.onnx"
grep -q "cut.onnx: not an ONNX model" "$scratch/message"
head -c 1000 "$scratch/external/gpt2/model.onnx.data" >"$scratch/short"
mv "$scratch/short" "$scratch/external/gpt2/model.onnx.data"
refused "$scratch/external/gpt2/model.onnx"
grep -q "external data ends after the end" "$scratch/message"

# Wrong usage and an output folder that cannot be.
if "$program" no_such_model -o "$scratch/x" 2>"$scratch/message"; then exit 1; fi
grep -q "no model is called 'no_such_model'" "$scratch/message"
if "$program" resnet50 --tiny -o "$scratch/cut.onnx" 2>"$scratch/message"; then exit 1; fi
grep -q "cannot create" "$scratch/message"
echo "all models checked"
