#!/bin/sh
# context_memory.sh BUILD SCRATCH: contexts in memory, with an allocator and with threads of the caller's
# (test/context_memory.c), for the digits and for trained models where they are.
. "$(dirname "$0")/common.sh"
try() { # MODEL FLAG...
    "$xcc" "$@" -o m.neff || failed "xcc $*"
    "$build/test/context_memory" m.neff >said.txt 2>&1 || failed "$1: $(head -5 said.txt)"
}
try "$source/models/digits/digits.onnx" --shape batch=1
try "$source/models/digits/digits.onnx" --auto-cast none
"$xcc" "$source/models/digits/digits.onnx" --shape batch=256 -o m.neff || failed "xcc --shape batch=256"
"$build/test/context_memory" m.neff --waits >said.txt 2>&1 || failed "contexts that wait: $(cat said.txt)"
cat said.txt
for name in go1_policy kws_qdq; do
    model=${XCC_TEST_DATA:-$source/../shared/data}/models/$name
    if [ -e "$model/model.onnx" ]; then
        try "$model/model.onnx"
    else
        echo "skipped: no $model"
    fi
done
finish
