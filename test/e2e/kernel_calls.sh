#!/bin/sh
# Kernels written by hand, called from models: ONNX, HLO, StableHLO, and graphs as text.
. "$(dirname "$0")/common.sh"
onnx=$source/test/e2e/kernel_calls.onnx
cp "$source/test/e2e/kernel_calls.xasm" lib.xasm

# same NAME.xir MODEL TARGET FLAGS...: the archive of the model computes what the graph of operators does
same() {
    graph=$1 model=$2 target=$3
    shift 3
    "$xcc" "$graph" --auto-cast none -o want.neff
    "$xcc" "$model" --target "$target" --auto-cast none -o got.neff "$@" || { failed "$model: does not compile for $target"; return 0; }
    "$xrun" want.neff --random -o want >/dev/null
    "$xrun" got.neff --random --expect want/*.npy --rtol 1e-6 --atol 1e-6 >/dev/null || failed "$model: something else for $target"
    rm -r want
}

# ---- from each kind of model, for each target ----

cat >sum.xir <<'END'
graph "sum" (%0 "p": f32[5,8], %1 "q": f32[5,8]) {
  %2 = mul(%0, %0)
  %3 = add(%2, %1)
  %4 = add(%3, %3)
  %5 = relu(%4)
  return(%5)
} outputs("y")
END
hlo() {
    cat <<END
HloModule m
ENTRY main {
  p = f32[5,8]{1,0} parameter(0)
  q = f32[5,8]{1,0} parameter(1)
  s = f32[5,8]{1,0} multiply(p, p)
  t = f32[5,8]{1,0} custom-call(s, q), $1
  u = f32[5,8]{1,0} custom-call(t, t), $1
  zero = f32[] constant(0)
  zeros = f32[5,8]{1,0} broadcast(zero), dimensions={}
  ROOT y = f32[5,8]{1,0} maximum(u, zeros)
}
END
}
hlo 'custom_call_target="add"' >target.hlo
native=$(printf '{"func_name": "add", "grid": []}' | base64 | tr -d '\n')
hlo "custom_call_target=\"AwsNeuronCustomNativeKernel\", api_version=API_VERSION_STATUS_RETURNING, backend_config=\"$native\"" >native.hlo
carried=$(sed 's/"/\\22/g; s/$/\\0A/' lib.xasm | tr -d '\n')
hlo "custom_call_target=\"xcc.kernel\", api_version=API_VERSION_TYPED_FFI, backend_config={assembly = \"$carried\", kernel = \"add\"}" >carried.hlo
cat >carried.mlir <<END
func.func public @main(%p: tensor<5x8xf32>, %q: tensor<5x8xf32>) -> tensor<5x8xf32> {
  %s = stablehlo.multiply %p, %p : tensor<5x8xf32>
  %t = stablehlo.custom_call @xcc.kernel(%s, %q) {backend_config = "", mhlo.backend_config = {assembly = "$carried"}} : (tensor<5x8xf32>, tensor<5x8xf32>) -> tensor<5x8xf32>
  %u = stablehlo.custom_call @add(%t, %t) : (tensor<5x8xf32>, tensor<5x8xf32>) -> tensor<5x8xf32>
  %z = stablehlo.constant dense<0.0> : tensor<5x8xf32>
  %y = stablehlo.maximum %u, %z : tensor<5x8xf32>
  return %y : tensor<5x8xf32>
}
END
for target in cpu trn1; do
    for model in target.hlo native.hlo carried.hlo carried.mlir "$onnx"; do
        same sum.xir "$model" $target --kernels lib.xasm
    done
done
same sum.xir carried.hlo cpu
same sum.xir target.hlo cpu --kernels lib.xasm -O0
"$xcc" target.hlo --kernels lib.xasm -o got.neff
"$xdump" got.neff --asm | grep -q '^kernel [0-9]* "add"' || failed "the kernel is not in the archive"
# Operands that a framework adds are told apart by their names.
native=$(printf '{"klir_binary": {"input_names": ["tmp", "b", "a"]}, "func_name": "add"}' | base64 | tr -d '\n')
hlo "custom_call_target=\"AwsNeuronCustomNativeKernel\", backend_config=\"$native\"" |
    sed 's/custom-call(s, q)/custom-call(p, q, s)/; s/custom-call(t, t)/custom-call(p, t, t)/' >more.hlo
same sum.xir more.hlo cpu --kernels lib.xasm

# ---- within a program: several results, parts, control flow, another model's program ----

cat >both.hlo <<'END'
HloModule m
ENTRY main {
  x = f32[4,8]{1,0} parameter(0)
  b = (f32[4,8]{1,0}, f32[4,8]{1,0}) custom-call(x), custom_call_target="both"
  b0 = f32[4,8]{1,0} get-tuple-element(b), index=0
  b1 = f32[4,8]{1,0} get-tuple-element(b), index=1
  s = f32[4,8]{1,0} custom-call(b0), custom_call_target="scale"
  n = f32[4,8]{1,0} custom-call(b1), custom_call_target="negate"
  ROOT y = f32[4,8]{1,0} subtract(s, n)
}
END
cat >both.xir <<'END'
graph "both" (%0 "x": f32[4,8]) {
  %1 = add(%0, %0)
  %2 = add(%1, %1)
  %3 = sub(%2, %0)
  return(%3)
} outputs("y")
END
same both.xir both.hlo cpu --kernels lib.xasm
same both.xir both.hlo trn1 --kernels lib.xasm

cat >turns.hlo <<'END'
HloModule m
condition {
  s = (s32[], f32[4,8]{1,0}) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  three = s32[] constant(3)
  ROOT less = pred[] compare(i, three), direction=LT
}
body {
  s = (s32[], f32[4,8]{1,0}) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[4,8]{1,0} get-tuple-element(s), index=1
  one = s32[] constant(1)
  next = s32[] add(i, one)
  y = f32[4,8]{1,0} custom-call(x), custom_call_target="scale"
  z = f32[4,8]{1,0} custom-call(y, x), custom_call_target="add"
  ROOT r = (s32[], f32[4,8]{1,0}) tuple(next, z)
}
ENTRY main {
  x = f32[4,8]{1,0} parameter(0)
  zero = s32[] constant(0)
  s = (s32[], f32[4,8]{1,0}) tuple(zero, x)
  w = (s32[], f32[4,8]{1,0}) while(s), condition=condition, body=body
  ROOT y = f32[4,8]{1,0} get-tuple-element(w), index=1
}
END
cat >turns.xir <<'END'
graph "turns" (%0 "x": f32[4,8]) {
  %1 = add(%0, %0)
  %2 = add(%1, %0)
  %3 = add(%2, %2)
  %4 = add(%3, %2)
  %5 = add(%4, %4)
  %6 = add(%5, %4)
  return(%6)
} outputs("y")
END
same turns.xir turns.hlo cpu --kernels lib.xasm

# ---- --verify: a kernel is compared with itself, run alone ----

for target in cpu trn1; do
    for model in target.hlo carried.mlir both.hlo turns.hlo "$onnx"; do
        "$xcc" "$model" --target "$target" --kernels lib.xasm --verify >out.txt 2>&1 || failed "--verify $model: $(cat out.txt)"
        grep -q "no node is wrong" out.txt || failed "--verify $model: $(cat out.txt)"
    done
done
"$xcc" "$onnx" --kernels lib.xasm --verify >out.txt
grep -q "(add): 'u': equal" out.txt || failed "--verify does not compare a kernel's result: $(cat out.txt)"
rm out.txt
refuses 1 "xcc: nowhere.xasm: cannot open" "$xcc" target.hlo --kernels nowhere.xasm --verify

digits=$source/models/digits/digits.onnx
"$xcc" "$digits" -o digits.neff
"$xdump" digits.neff --asm >digits.xasm
"$xdump" digits.neff --extract parts
if command -v python3 >/dev/null; then
    python3 -m zipfile -c digits.npz parts/constants/*.npy
    name=$(sed -n 's/^program "\([^"]*\)".*/\1/p' digits.xasm)
    cat >digits.hlo <<END
HloModule m
ENTRY main {
  x = f32[2,1,28,28]{3,2,1,0} parameter(0)
  ROOT y = f32[2,10]{1,0} custom-call(x), custom_call_target="$name"
}
END
    "$xcc" digits.hlo --kernels digits.xasm -o called.neff
    "$xcc" "$digits" --shape batch=2 -o digits.neff
    "$xrun" digits.neff --random -o want >/dev/null
    "$xrun" called.neff --random --expect want/probabilities.npy >/dev/null || failed "a model's program as a kernel"
    rm -r want
else
    echo "skipped: a model's program as a kernel, for there is no python3 to make the file of its constants"
fi

# ---- what does not fit ----

call() { # TYPE TYPE RESULT KERNEL
    printf 'HloModule m\nENTRY main {\n  p = %s parameter(0)\n  q = %s parameter(1)\n  ROOT y = %s custom-call(p, q), custom_call_target="%s"\n}\n' "$@" >bad.hlo
}
call 'f32[5,8]{1,0}' 'f32[4,8]{1,0}' 'f32[5,8]{1,0}' add
refuses 1 "operand 1 'b' is f32[4,8], kernel 'add' takes f32[n,8], where n is 5" "$xcc" bad.hlo --kernels lib.xasm -o x.neff
call 'f32[5,8]{1,0}' 'bf16[5,8]{1,0}' 'f32[5,8]{1,0}' add
refuses 1 "operand 1 'b' is bf16[5,8], kernel 'add' takes f32[n,8]" "$xcc" bad.hlo --kernels lib.xasm -o x.neff
call 'f32[5,9]{1,0}' 'f32[5,8]{1,0}' 'f32[5,8]{1,0}' add
refuses 1 "operand 0 'a' is f32[5,9], kernel 'add' takes f32[n,8]" "$xcc" bad.hlo --kernels lib.xasm -o x.neff
call 'f32[4,8]{1,0}' 'f32[4,8]{1,0}' 'f32[4,8]{1,0}' scale
refuses 1 "2 operands, kernel 'scale' takes 1" "$xcc" bad.hlo --kernels lib.xasm -o x.neff
call 'f32[5,8]{1,0}' 'f32[5,8]{1,0}' 'f32[5,9]{1,0}' add
refuses 1 "f32[5,9]" "$xcc" bad.hlo --kernels lib.xasm -o x.neff
call 'f32[5,8]{1,0}' 'f32[5,8]{1,0}' 'f32[5,8]{1,0}' plus
refuses 1 "kernels: add (lib.xasm), both (lib.xasm), scale (lib.xasm), negate (lib.xasm)" "$xcc" bad.hlo --kernels lib.xasm -o x.neff
refuses 1 "kernels: none; give a library with --kernels" "$xcc" bad.hlo -o x.neff
refuses 1 "kernel 'add', 2 nodes: 't', 'u'; the kernels of --kernels: none" "$xcc" "$onnx" -o x.neff
refuses 1 "xcc: lib.xasm: kernel 'add' is in lib.xasm already" "$xcc" target.hlo --kernels lib.xasm --kernels lib.xasm -o x.neff
refuses 1 "xcc: nowhere.xasm: cannot open" "$xcc" target.hlo --kernels nowhere.xasm -o x.neff
refuses 1 "--kernels takes text" "$xcc" target.hlo --kernels target.hlo -o x.neff
refuses 1 "several programs, expected one" "$xcc" lib.xasm -o x.neff
sed 's/act.activation dst=sbuf0 f32\[0\](4:8, 8:1)/act.activation dst=sbuf0 f32[0](4:8, 9:1)/' lib.xasm >wrong.xasm
refuses 1 "kernel 'both'" "$xcc" both.hlo --kernels wrong.xasm -o x.neff
sed 's/semaphores 0/semaphores 1/' lib.xasm >race.xasm
refuses 1 "missing wait" "$xcc" target.hlo --kernels race.xasm -o x.neff
sed 's/slot %2 planned "c" f32\[n,8\]/slot %2 planned "c" f32[n,m]/; s/^symbol "n"/symbol "n"\nsymbol "m"/; s/^dim sym 0/dim sym 0\ndim sym 1/' lib.xasm >open.xasm
refuses 1 "no input of kernel 'add' has the size 'm'" "$xcc" target.hlo --kernels open.xasm -o x.neff
rm wrong.xasm race.xasm open.xasm

# A graph as text carries its kernels.
"$xcc" target.hlo --kernels lib.xasm --emit ir -o graph.xir
same sum.xir graph.xir cpu
for change in 's/assembly="program/assembly="progrom/' 's/inputs=\["f32\[n,8\] a"/inputs=["f32[5,n] a"/' 's/outputs=\["f32\[n,8\] c"\]/outputs=["f32[n] c"]/' \
    's/inputs=\["f32\[n,8\] a"/inputs=["f32\[n,8/' 's/inputs=\["f32\[n,8\] a", "f32\[n,8\] b"\]/inputs=["f32[n,8] a"]/'; do
    sed "$change" graph.xir >bad.xir
    cmp -s bad.xir graph.xir && failed "$change changes nothing"
    refuses 1 "" "$xcc" bad.xir -o x.neff
done
finish
