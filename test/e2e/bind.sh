#!/bin/sh
# bind.sh BUILD SCRATCH: --bind makes constants of inputs, by the names of a tree of parameters.
xcc=$1/frontend/xcc
xrun=$1/runtime/xrun
scratch=$2
rm -rf "$scratch"
mkdir -p "$scratch" && cd "$scratch" || exit 1
status=0
bad() {
    echo "FAIL $1"
    status=1
}

cat >f.mlir <<'END'
func.func public @main(%arg0: tensor<2xf32> loc("params['dense']['bias']"), %arg1: tensor<2xf32> loc("x")) -> tensor<2xf32> {
  %0 = stablehlo.add %arg0, %arg1 : tensor<2xf32>
  return %0 : tensor<2xf32>
}
END
# a table of 72 bytes with blanks at its end, then 1.0 and 2.0
table='{"dense.bias":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}         '
printf '\110\000\000\000\000\000\000\000%s\000\000\200\077\000\000\000\100' "$table" >p.safetensors
"$xcc" f.mlir --auto-cast none --bind p.safetensors -o f.neff || bad "it compiles"
"$xrun" f.neff --random >out || bad "it runs"
"$xrun" f.neff 2>&1 | grep -q 'missing inputs: x f32\[2\];' || bad "one input is left"
printf '\001' | dd of=p.safetensors bs=1 seek=1 conv=notrunc 2>/dev/null
"$xcc" f.mlir --bind p.safetensors -o g.neff 2>err && bad "a damaged table is taken"
grep -q 'p.safetensors' err || bad "the message names the file: $(cat err)"
printf '\110\000\000\000\000\000\000\000%s\000\000\200\077\000\000\000\100' "$(printf '%s' "$table" | sed 's/bias/gain/')" >q.safetensors
"$xcc" f.mlir --bind q.safetensors -o g.neff 2>err && bad "an array for no input is taken"
[ -e g.neff ] && bad "an archive was written"
exit $status
