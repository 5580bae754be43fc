#!/bin/sh
# Kernels as text: assembled, run, refused when they are wrong.
. "$(dirname "$0")/common.sh"
softmax=$source/models/kernels/softmax.xasm

# The same numbers as the operator's, on every target.
cat >graph.xir <<'END'
graph "softmax" (%0 "x": f32[512,1000]) {
  %1 = softmax(%0) {axis=1}
  return(%1)
} outputs("y")
END
"$xcc" graph.xir -o graph.neff
"$xcc" "$softmax" -o cpu.neff
"$xcc" "$softmax" --target trn1 -o trn1.neff
"$xrun" cpu.neff --random -o cpu >/dev/null
"$xrun" trn1.neff --random -o trn1 >/dev/null
cmp -s cpu/y.npy trn1/y.npy || failed "trn1 computes something else"
"$xrun" graph.neff --random --expect cpu/y.npy --rtol 1e-5 --atol 1e-7 >/dev/null || failed "not what the operator computes"
"$xdump" trn1.neff --asm | grep -q 'at [0-9]' || failed "trn1: tiles have no addresses"
"$xdump" cpu.neff --asm | grep -q ' wait s' || failed "nothing waits"

# What xdump prints is assembled to the same archive.
"$xdump" cpu.neff --asm >again.xasm
"$xcc" again.xasm -o again.neff
cmp -s cpu.neff again.neff || failed "printed and assembled, the archive differs"
"$xcc" "$softmax" --emit asm -o printed.xasm
cmp -s printed.xasm again.xasm || failed "--emit asm and xdump --asm differ"

# So is a batch of one size, which may be computed in parts.
sed 's/512,1000/8192,1000/' graph.xir >stated.xir
"$xcc" stated.xir -o stated.neff
"$xdump" stated.neff --asm >stated.xasm
grep -q '^symbol "batch" separable size 8192$' stated.xasm || failed "the batch has no size"
"$xcc" stated.xasm -o assembled.neff
cmp -s stated.neff assembled.neff || failed "a batch of one size, printed and assembled, differs"
sed 's/ size 8192$/ size 0/' stated.xasm >nothing.xasm
refuses 1 "the size of symbol 'batch' is not a number above 0" "$xcc" nothing.xasm -o x.neff

# Semaphores of one's own are kept, and proven.
sed 's/ wait s[0-9]*>=[^,]*, [^n]* node/ node/; s/ wait s[0-9]*>=[0-9]* / /' again.xasm >unordered.xasm
refuses 1 "missing wait" "$xcc" unordered.xasm -o x.neff
sed 's/f32\[g0\*128000\](128:1000, 1000:1) node 0$/f32[g0*128001](128:1000, 1000:1) node 0/' "$softmax" >far.xasm
refuses 1 "covers elements 0 to 512002" "$xcc" far.xasm -o x.neff
sed 's/op0=div/op0=dive/' "$softmax" >wrong.xasm
refuses 1 "wrong.xasm:" "$xcc" wrong.xasm -o x.neff
sed '$!{/sp.dma_copy dst=%1/d;}' "$softmax" >unstored.xasm
refuses 1 "output 'y' is never written" "$xcc" unstored.xasm -o x.neff
# What is left out: a factor is 1, another float 0.
sed 's/factor=1, //' "$softmax" >short.xasm
cmp -s short.xasm "$softmax" && failed "the softmax has no factor to leave out"
"$xcc" short.xasm -o short.neff
cmp -s short.neff cpu.neff || failed "a factor that is left out is not 1"
refuses 1 "the program is for trn1, --target says trn2" sh -c "\"$xdump\" trn1.neff --asm >trn1.xasm; \"$xcc\" trn1.xasm --target trn2 -o x.neff; s=\$?; rm trn1.xasm; exit \$s"

# Windows of the first columns alone: the same of twelve pictures at a time as of three.
pooled() {
    cat >"$1" <<END
program "pooled" target cpu
node 0 "" ""
outputs "y"
slot %0 input "x" f32[24,7,7]
slot %1 planned f32[24,8,8] output
kernel 0 "zeros" grid() vars 0 semaphores 0 flops 0 bytes 0 {
  dve.memset dst=%1 f32[0](24:64, 64:1), value=0 node 0
}
kernel 1 "pool" grid($((24 / $2))) vars 1 semaphores 0 flops 0 bytes 0 {
  dve.window_pool dst=%1 f32[g0*$((64 * $2))](8:8, min(8,5-g0*0):1, $2:64), image=%0 f32[g0*$((49 * $2))](7:7, 7:1, $2:49), row=0, kernel_h=2, kernel_w=2, stride_h=1, stride_w=1, dilation_h=1, dilation_w=1, pad_h=1, pad_w=1, op=max node 0
}
region 0 (%0) -> (%1) {
  launch 0
  launch 1
}
END
}
pooled few.xasm 3
pooled many.xasm 12
for name in few many; do
    "$xcc" $name.xasm -o $name.neff
    "$xrun" $name.neff --random -o $name >/dev/null
done
cmp -s few/y.npy many/y.npy || failed "windows of the first columns of many pictures"

# Constants of any size lie in a file beside the text.
"$xcc" "$source/models/digits/digits.onnx" -o digits.neff
"$xdump" digits.neff --asm >digits.xasm
refuses 1 "digits.npz: cannot open" "$xcc" digits.xasm -o x.neff
"$xdump" digits.neff --extract parts
if command -v python3 >/dev/null; then
    python3 -m zipfile -c digits.npz parts/constants/*.npy
    "$xcc" digits.xasm -o text.neff
    "$xrun" text.neff "$source/models/digits/digit_7.npy" | grep -q 'best:  7 ' || failed "constants beside the text"
    rm parts/constants/3_*
    python3 -m zipfile -c digits.npz parts/constants/*.npy
    refuses 1 "no array for constant %3 'conv1.weight', bf16[192]" "$xcc" digits.xasm -o x.neff
else
    echo "skipped: constants beside the text, for there is no python3 to make the file"
fi
finish
