#!/bin/sh
# The tiny variants of all architectures: compiled outputs against the plain routines, on both data sets (two batch
# sizes, one archive), in fp32 and with bf16 products; these against the same casts, as rounding alone moves some of these
# untrained networks by 3e-2.
. "$(dirname "$0")/common.sh"
"$build_models" all --tiny -o models >/dev/null
check() { # NORM-TOLERANCE PASSES XCC-FLAGS...
    tolerance=$1 passes=$2
    shift 2
    for folder in models/*/; do
        name=$(basename "$folder")
        "$xcc" "$folder/model.onnx" -o "$name.neff" "$@" || { failed "xcc $name $*"; continue; }
        for set in "$folder"test_data_set_*; do
            rm -f "$set"/output_*
            outputs "$name.neff" "$set" "$set" || failed "$name $set $*"
        done
    done
    "$xcc" test --reference --passes "$passes" "$@" --norm-tol "$tolerance" models/*/ || failed "outputs with '$*'"
}
check 1e-4 infer --auto-cast none
check 1e-3 infer,fold,simplify,compose,take_early,decompose,layout,autocast --auto-cast matmult
# A dim called "past_sequence_length + 1" is that sum, and the table of 40 positions limits it.
"$xcc" models/gpt2_decode/model.onnx --emit ir >decode.xir
grep -q 'symbols(batch, past_sequence_length<=39)' decode.xir || failed "gpt2_decode: its symbols"
grep -q 'sdpa(' decode.xir || failed "gpt2_decode: its attention is not recognised"
finish
