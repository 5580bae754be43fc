#!/bin/sh
# Models compiled for strict targets are synchronised, fit the machine, run their arithmetic as tile programs, and give
# the same answers as for cpu.
# usage: strict.sh BUILD_DIR SOURCE_DIR NAME...
set -eu
build=$1/models/build_models xcc=$1/frontend/xcc xrun=$1/runtime/xrun xdump=$1/xdump source=$2
shift 2
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
fails=0
bad() { echo "FAILED: $*"; tail -3 "$dir/log"; fails=1; }

# at_least PERCENT ARCHIVE: of the arithmetic is in kernels
at_least() {
    "$xdump" "$2" --json | tr ',{}' '\n\n\n' | awk -v want="$1" '
        /"kernel_flops":/ { kernels = $2 }
        /"call_flops":/ { calls = $2 }
        END { exit !(kernels > 0 && kernels * 100 >= want * (kernels + calls)) }'
}

# same NAME MODEL FLAGS ABSOLUTE INPUT...: every target against cpu
same() {
    name=$1 model=$2 flags=$3 atol=$4
    shift 4
    # shellcheck disable=SC2086
    "$xcc" "$model" -q $flags --verify-passes -o "$dir/cpu.neff"
    rm -rf "$dir/out"
    "$xrun" "$dir/cpu.neff" "$@" -o "$dir/out" >/dev/null
    expect=
    for f in "$dir"/out/*.npy; do expect="$expect --expect $f"; done
    for target in trn1 trn2 inf2; do
        # shellcheck disable=SC2086
        "$xcc" "$model" -q $flags --verify-passes --target $target -o "$dir/$target.neff"
        # shellcheck disable=SC2086
        "$xrun" "$dir/$target.neff" "$@" $expect --rtol 1e-3 --atol "$atol" >"$dir/log" 2>&1 ||
            bad "$name $flags for $target differs from cpu"
    done
    at_least 95 "$dir/trn1.neff" || bad "$name $flags: less than 95 % of the arithmetic is in tile programs"
}

for name in "$@"; do
    "$build" "$name" --tiny -o "$dir" >/dev/null
    m=$dir/$name
    inputs=$(ls "$m"/test_data_set_0/input_*.npy | sort -V)
    # shellcheck disable=SC2086
    same "$name" "$m/model.onnx" "--auto-cast none" 1e-4 $inputs
    # shellcheck disable=SC2086
    same "$name" "$m/model.onnx" "--auto-cast matmult" 2e-2 $inputs
done
same digits "$source/models/digits/digits.onnx" "--auto-cast none" 1e-4 "$source/models/digits/digit_3.npy"

data=${XCC_TEST_DATA:-$source/../shared/data}/onnx/node
if [ -d "$data" ]; then
    for target in trn1 trn2; do
        "$xcc" test --target $target --auto-cast none "$data"/test_*conv* "$data"/test_*pool* "$data"/test_*matmul* \
            "$data"/test_gemm* "$data"/test_*softmax* "$data"/test_*norm* "$data"/test_*attention* \
            "$data"/test_reduce* "$data"/test_gather* "$data"/test_transpose* >"$dir/log" 2>&1 ||
            { grep '^FAIL' "$dir/log" >"$dir/failed" || true; mv "$dir/failed" "$dir/log"; bad "node cases for $target"; }
    done
else
    echo "skipped: the node cases; XCC_TEST_DATA names no folder with onnx/node"
fi
exit $fails
