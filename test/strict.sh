#!/bin/sh
# Models compiled for a strict target are synchronised, fit the machine, and give the same answers as for cpu.
# usage: strict.sh BUILD_MODELS XCC XRUN NAME...
set -eu
build=$1 xcc=$2 xrun=$3
shift 3
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
fails=0
for name in "$@"; do
    "$build" "$name" --tiny -o "$dir" >/dev/null
    m=$dir/$name
    "$xcc" "$m/model.onnx" -q --auto-cast none --verify-passes -o "$m/cpu.neff"
    for target in trn1 trn2; do
        "$xcc" "$m/model.onnx" -q --auto-cast none --verify-passes --target $target -o "$m/$target.neff"
        inputs=$(ls "$m"/test_data_set_0/input_*.npy | sort -V)
        rm -rf "$m/out"
        # shellcheck disable=SC2086
        "$xrun" "$m/cpu.neff" $inputs -o "$m/out" >/dev/null
        expect=
        for f in "$m"/out/*.npy; do expect="$expect --expect $f"; done
        # shellcheck disable=SC2086
        "$xrun" "$m/$target.neff" $inputs $expect --rtol 1e-3 --atol 1e-4 >"$dir/log" 2>&1 ||
            { echo "FAILED: $name for $target differs from cpu"; tail -3 "$dir/log"; fails=1; }
    done
done
exit $fails
