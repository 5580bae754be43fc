#!/bin/sh
# hostile.sh BUILD SCRATCH: damaged and malicious files end with one message or a result, within 10 s and 1 GB each.
# Those of the tree are here and in test/fuzz/corpus; more in XCC_TEST_DATA/found/hostile where it is.
. "$(dirname "$0")/common.sh"
data=${XCC_TEST_DATA:-$source/../shared/data}/found/hostile
[ -d "$data" ] || echo "no files in $data: those are skipped"
sanitized=$(nm "$xcc" | grep -c __asan_init || true)
seconds=10 # of CPU; sanitizers take several times the time and memory
[ "$sanitized" = 0 ] || seconds=60

# ends COMMAND...: status 0 or 1, with a message for 1, within the time and memory
ends() {
    got=0
    (
        [ "$sanitized" != 0 ] || ulimit -v $((1500 << 10))
        ulimit -t $seconds
        exec timeout -s KILL 120 "$@"
    ) >stdout.txt 2>stderr.txt </dev/null || got=$?
    case $got in
    0 | 1) ;;
    *) failed "$file: $*: exit status $got: $(head -c 300 stderr.txt)" ;;
    esac
    [ "$got" != 1 ] || [ -s stderr.txt ] || [ -s stdout.txt ] || failed "$*: fails without a message"
    ! grep -q 'Sanitizer\|runtime error' stderr.txt || failed "$*: $(grep -m 1 'Sanitizer\|runtime error' stderr.txt)"
}

corpus=$source/test/fuzz/corpus
for file in "$data"/* "$corpus"/archive/* "$corpus"/asm/* "$corpus"/hlo/* "$corpus"/onnx/* "$corpus"/xir/*; do
    [ -f "$file" ] || continue
    rm -f m.neff
    case $file in
    *.neff | */archive/*) cp "$file" m.neff ;;
    *.asm) cp "$file" m.xasm && ends "$xcc" m.xasm -o m.neff -q ;; # xcc knows assembly by its suffix
    *) ends "$xcc" "$file" -o m.neff -q ;;
    esac
    [ -f m.neff ] || continue
    ends "$xdump" m.neff
    ends "$build/runtime/sim/xsim" m.neff
    ends "$build/runtime/sim/xsim" --check m.neff
    ends "$xrun" m.neff --random
done

# Each could be computed when compiling; all of them together take too long.
{
    echo 'graph "products" (%0 "x": f32[1]) {
  %c0 = const i64[2] {1400, 1400}
  %1 = constant_of_shape(%c0)'
    for i in $(seq 2 60); do echo "  %$i = matmul(%$((i - 1)), %$((i - 1)))"; done
    echo '  %61 = reduce_max(%60) {keepdims=0}
  %62 = add(%0, %61)
  return(%62)
} outputs("y")'
} >products.xir
file=products.xir
ends "$xcc" products.xir -o m.neff -q

# The length of a window, one list within the other.
awk '/%14 = stablehlo.concatenate %c, %13, %c/ {
        print "%z = stablehlo.constant dense<> : tensor<0xi32>"
        n = 0
        for (last = "%13"; n < 200000; last = "%d" n++)
            print "%d" n " = stablehlo.concatenate " last ", %z, dim = 0 : (tensor<1xi32>, tensor<0xi32>) -> tensor<1xi32>"
        sub("%13", last)
    }
    { print }' "$source/test/stablehlo_exec/dynamic_cumulative_multiples/module.mlir" >nested.mlir
file=nested.mlir
ends "$xcc" nested.mlir -o m.neff -q
rm -f stdout.txt stderr.txt m.neff m.xasm products.xir nested.mlir
finish
