#!/bin/sh
# The compiled program agrees with the plain routines, node by node, in at most twice a run's memory:
#   verify.sh XCC XRUN MODELS XIR...
# MODELS is build_models' folder of tiny models; XIR are the pass tests whose operators are composed.
xcc=$1; xrun=$2; models=$3; shift 3
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

cat > "$temporary/large.xir" <<'END'
graph "large" (%0 "x": f32[2,1024,1024]) {
  %1 "a" = tanh(%0)
  %2 "b" = mul(%1, %0)
  %3 "c" = softmax(%2) {axis=2}
  %4 "d" = sub(%3, %0)
  return(%4)
} outputs("d")
END
peak() {
    python3 -c 'import resource, subprocess, sys
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)' "$@"
}
if ! command -v python3 > /dev/null || nm "$xcc" 2> /dev/null | grep -q __asan_init; then
    echo "SKIP memory: no python3, or AddressSanitizer's memory counts too"
else
    "$xcc" "$temporary/large.xir" -o "$temporary/large.neff" || failed=1
    run=$(peak "$xrun" "$temporary/large.neff" --random)
    took=$(peak "$xcc" "$temporary/large.xir" --verify)
    [ "$took" -le $((2 * run)) ] || { echo "FAIL: --verify takes $took KB, a run $run"; failed=1; }
fi
exit $failed
