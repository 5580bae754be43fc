#!/bin/sh
# bind.sh BUILD SCRATCH: --bind makes constants of inputs, by the names of a tree of parameters.
. "$(dirname "$0")/common.sh"

cat >f.mlir <<'END'
func.func public @main(%arg0: tensor<2xf32> loc("params['dense']['bias']"), %arg1: tensor<2xf32> loc("x")) -> tensor<2xf32> {
  %0 = stablehlo.add %arg0, %arg1 : tensor<2xf32>
  return %0 : tensor<2xf32>
}
END
safetensors() { # NAME: an array of this name, 1.0 and 2.0, behind a table of 72 bytes with blanks at its end
    printf '\110\000\000\000\000\000\000\000%-72s\000\000\200\077\000\000\000\100' \
        "{\"$1\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}"
}
safetensors dense.bias >p.safetensors
"$xcc" f.mlir --auto-cast none --bind p.safetensors -o f.neff || failed "it does not compile"
refuses 1 'missing inputs: x f32[2];' "$xrun" f.neff
{ # the same numbers for the input that is left
    printf '\223NUMPY\001\000\166\000%-117s\n' "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }"
    tail -c 8 p.safetensors
} >x.npy
"$xrun" f.neff x.npy >out.txt || failed "it does not run"
grep -q "f32\[2\]  min 2  max 4 " out.txt || failed "1, 2 and 1, 2 are not 2, 4: $(cat out.txt)"
printf '\001' | dd of=p.safetensors bs=1 seek=1 conv=notrunc 2>/dev/null
refuses 1 p.safetensors "$xcc" f.mlir --bind p.safetensors -o g.neff
safetensors dense.bias | LC_ALL=C sed 's/\[0,8\]}}  /[0,8,9]}}/' >p.safetensors
refuses 1 p.safetensors "$xcc" f.mlir --bind p.safetensors -o g.neff
safetensors dense.gain >q.safetensors
refuses 1 "none of its 1 arrays has the name of an input" "$xcc" f.mlir --bind q.safetensors -o g.neff
finish
