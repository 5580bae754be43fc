#!/bin/sh
# The examples of models/kernels: called from a model, they compute what operators do.
. "$(dirname "$0")/common.sh"
kernels=$source/models/kernels

# compare KERNEL TARGET WANT.hlo GOT.hlo RTOL ATOL
compare() {
    "$xcc" "$3" --auto-cast none -o want.neff
    "$xcc" "$4" --kernels "$kernels/$1.xasm" --target "$2" --auto-cast none -o got.neff || { failed "$1: does not compile for $2"; return 0; }
    "$xrun" want.neff --random -o want >/dev/null
    "$xrun" got.neff --random --expect want/*.npy --rtol "$5" --atol "$6" >/dev/null || failed "$1: something else for $2"
    rm -r want
}

# ---- softmax ----

softmax() {
    printf 'HloModule m\nENTRY main {\n  x = f32[512,1000]{1,0} parameter(0)\n  ROOT y = f32[512,1000]{1,0} custom-call(x), custom_call_target="%s"%s\n}\n' "$1" "$2"
}
softmax AwsNeuronSoftmax ', backend_config="1"' >want.hlo
softmax softmax '' >got.hlo
compare softmax cpu want.hlo got.hlo 1e-5 1e-8
compare softmax trn1 want.hlo got.hlo 1e-5 1e-8

# ---- matmul ----

matmul() {
    cat <<END2
HloModule m
ENTRY main {
  a = bf16[2048,512]{1,0} parameter(0)
  b = bf16[2048,512]{1,0} parameter(1)
  ROOT y = f32[512,512]{1,0} $1
}
END2
}
matmul 'dot(a, b), lhs_contracting_dims={0}, rhs_contracting_dims={0}' >want.hlo
matmul 'custom-call(a, b), custom_call_target="matmul"' >got.hlo
compare matmul cpu want.hlo got.hlo 1e-5 1e-3
compare matmul trn1 want.hlo got.hlo 1e-5 1e-3

# Two buffers are what its comment says they are for.
latency() {
    "$build/runtime/sim/xsim" "$1" --json | sed 's/.*"latency_us":\([0-9]*\).*/\1/'
}
awk '/tile sbuf[23]/ { print; next } { gsub("sbuf2", "sbuf0"); gsub("sbuf3", "sbuf1"); print }' "$kernels/matmul.xasm" >single.xasm
"$xcc" "$kernels/matmul.xasm" --target trn1 -o double.neff
"$xcc" single.xasm --target trn1 -o single.neff
[ "$(($(latency double.neff) * 3 / 2))" -lt "$(latency single.neff)" ] || failed "matmul: $(latency double.neff) us with two buffers, $(latency single.neff) with one"

# ---- giou ----

boxes() { # NAME PARAMETER: random corners and sizes
    cat <<END2
  $1r = f32[8192,4]{1,0} parameter($2)
  $1lo = f32[8192,2]{1,0} slice($1r), slice={[0:8192], [0:2]}
  $1s = f32[8192,2]{1,0} slice($1r), slice={[0:8192], [2:4]}
  $1e = f32[8192,2]{1,0} exponential($1s)
  $1hi = f32[8192,2]{1,0} add($1lo, $1e)
  $1 = f32[8192,4]{1,0} concatenate($1lo, $1hi), dimensions={1}
END2
}
area() { # NAME SIZES
    cat <<END2
  $1w = f32[8192,1]{1,0} slice($2), slice={[0:8192], [0:1]}
  $1h = f32[8192,1]{1,0} slice($2), slice={[0:8192], [1:2]}
  $1m = f32[8192,1]{1,0} multiply($1w, $1h)
  $1 = f32[8192]{0} reshape($1m)
END2
}
{
    printf 'HloModule m\nENTRY main {\n'
    boxes a 0
    boxes b 1
    printf '  ROOT y = f32[8192]{0} custom-call(a, b), custom_call_target="giou"\n}\n'
} >got.hlo
{
    printf 'HloModule m\nENTRY main {\n'
    boxes a 0
    boxes b 1
    cat <<END2
  ilo = f32[8192,2]{1,0} maximum(alo, blo)
  ihi = f32[8192,2]{1,0} minimum(ahi, bhi)
  id = f32[8192,2]{1,0} subtract(ihi, ilo)
  zero = f32[] constant(0)
  zeros = f32[8192,2]{1,0} broadcast(zero), dimensions={}
  is = f32[8192,2]{1,0} maximum(id, zeros)
  clo = f32[8192,2]{1,0} minimum(alo, blo)
  chi = f32[8192,2]{1,0} maximum(ahi, bhi)
  cs = f32[8192,2]{1,0} subtract(chi, clo)
  asz = f32[8192,2]{1,0} subtract(ahi, alo)
  bsz = f32[8192,2]{1,0} subtract(bhi, blo)
END2
    area I is
    area C cs
    area A asz
    area B bsz
    cat <<END2
  AB = f32[8192]{0} add(A, B)
  U = f32[8192]{0} subtract(AB, I)
  iou = f32[8192]{0} divide(I, U)
  rest = f32[8192]{0} subtract(C, U)
  part = f32[8192]{0} divide(rest, C)
  ROOT y = f32[8192]{0} subtract(iou, part)
}
END2
} >want.hlo
compare giou cpu want.hlo got.hlo 1e-5 1e-5
compare giou trn1 want.hlo got.hlo 1e-5 1e-5
finish
