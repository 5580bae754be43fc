#!/bin/sh
# A model compiled for strict targets is synchronised, fits the machine, runs its arithmetic as tile programs, and gives the same
# answers as for cpu: strict.sh BUILD_DIR SOURCE_DIR NAME, of a model of build_models, tiny; "digits"; or "nodes", the cases of the
# public suite for operators that have tile programs.
set -eu
build=$1/models/build_models xcc=$1/frontend/xcc xrun=$1/runtime/xrun xdump=$1/xdump source=$2 name=$3
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

nodes() {
    data=${XCC_TEST_DATA:-$source/../shared/data}/onnx/node
    [ -d "$data" ] || { echo "skipped: there is no $data (set XCC_TEST_DATA)"; exit 77; }
    for target in trn1 trn2; do
        "$xcc" test --target $target --auto-cast none "$data"/test_*conv* "$data"/test_*pool* "$data"/test_*matmul* \
            "$data"/test_gemm* "$data"/test_*softmax* "$data"/test_*norm* "$data"/test_*attention* \
            "$data"/test_reduce* "$data"/test_gather* "$data"/test_transpose* >"$dir/log" 2>&1 || {
            grep '^FAIL' "$dir/log" || true
            bad "node cases for $target"
        }
    done
}

case $name in
nodes)
    nodes
    ;;
digits)
    same digits "$source/models/digits/digits.onnx" "--auto-cast none" 1e-4 "$source/models/digits/digit_3.npy"
    ;;
*)
    "$build" "$name" --tiny -o "$dir" >/dev/null
    model=$dir/$name/model.onnx
    inputs=$(ls "$dir/$name"/test_data_set_0/input_*.npy | sort -V)
    # shellcheck disable=SC2086
    same "$name" "$model" "--auto-cast none" 1e-4 $inputs
    # shellcheck disable=SC2086
    same "$name" "$model" "--auto-cast matmult" 2e-2 $inputs
    ;;
esac
exit $fails
