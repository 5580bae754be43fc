#!/bin/sh
# The compiled program agrees with the plain routines, node by node: verify.sh XCC MODELS XIR...
# MODELS is build_models' folder of tiny models; XIR are the pass tests whose operators are composed.
xcc=$1; models=$2; shift 2
temporary=$(mktemp -d) || exit 1
trap 'rm -rf "$temporary"' EXIT
failed=0

verify() {
    "$xcc" "$@" --verify > "$temporary/out" 2>&1 || { echo "FAIL $*"; cat "$temporary/out"; failed=1; }
}

for file; do
    sed '/^\/\/ EXPECT$/,$d' "$file" > "$temporary/in.xir"
    verify "$temporary/in.xir" --auto-cast none
done
for model in "$models"/*/model.onnx; do
    for flags in "--auto-cast none" "--auto-cast matmult" "--auto-cast all" "-O0 --auto-cast none"; do
        set -- "$model"
        while [ -e "${model%/*}/test_data_set_0/input_$(($# - 1)).npy" ]; do
            set -- "$@" "${model%/*}/test_data_set_0/input_$(($# - 1)).npy"
        done
        # shellcheck disable=SC2086
        verify "$@" $flags
    done
done
exit $failed
