#!/bin/sh
# cast.sh BUILD SCRATCH: what a cast costs is measured, and what costs too much stays in FP32.
. "$(dirname "$0")/common.sh"

# Two products; what the second sums cancels to a thousandth of its terms.
cat >cancel.xir <<'END'
graph "cancel" (%0 "x": f32[4,2]) {
  %c0 = const f32[2,2] {0.7, 0.7, -0.3, -0.3}
  %1 "a" = matmul(%0, %c0) @"harmless" : "MatMul"
  %c1 = const f32[2,3] {1000.3, 1000.9, 500.7, -999.3, -1000.1, -500.1}
  %2 "b" = matmul(%1, %c1) @"cancels" : "MatMul"
  return(%2)
} outputs("b")
END
"$xcc" cancel.xir -o default.neff 2>said || failed "the default compiles"
grep -q "xcc: cancel.xir: 1 of 2 products are in bf16, 1 kept in FP32 ('cancels'; -v says why); largest error" said ||
    failed "names what is kept: $(cat said)"
[ "$(wc -l <said)" = 1 ] || failed "one line: $(cat said)"
"$xcc" cancel.xir -v -o again.neff 2>said
grep -q "kept in FP32: 'cancels' (MatMul): .* the error would be .*, above the budget of 0.03" said ||
    failed "-v says why: $(cat said)"
cmp default.neff again.neff || failed "the same bytes again"
for isa in portable strict avx2; do
    XCC_KERNELS=$isa "$xcc" cancel.xir -q -o again.neff 2>said
    cmp default.neff again.neff || failed "the same bytes with $isa kernels"
    [ ! -s said ] || failed "-q is quiet: $(cat said)"
done

# Asked for, a cast is as it was asked for; --cast-budget checks it all the same.
"$xcc" cancel.xir --auto-cast matmult -o asked.neff 2>said
[ ! -s said ] || failed "--auto-cast matmult says nothing: $(cat said)"
"$xcc" cancel.xir --cast-budget 0 -o again.neff 2>said
cmp asked.neff again.neff || failed "a budget of 0: no check"
"$xcc" cancel.xir --auto-cast matmult --cast-budget 3e-2 -q -o again.neff
cmp default.neff again.neff || failed "--cast-budget with --auto-cast"
"$xcc" cancel.xir --cast-budget 1000 -o again.neff 2>said
cmp asked.neff again.neff || failed "a large budget keeps nothing"
grep -q "2 of 2 products are in bf16; largest error" said || failed "what is within the budget: $(cat said)"
"$xcc" cancel.xir --auto-cast none -o none.neff 2>said
[ ! -s said ] || failed "nothing cast, nothing said: $(cat said)"

# The default answers as FP32 does; without the check it would not.
"$xrun" none.neff --random -o exact >/dev/null
"$xrun" default.neff --random --rtol 0.03 --atol 0.02 --expect exact/b.npy >/dev/null || failed "the default's answers"
"$xrun" asked.neff --random --rtol 0.03 --atol 0.02 --expect exact/b.npy >/dev/null 2>&1 && failed "bf16 is exact here?"

# Inputs of one's own.
"$xcc" cancel.xir --calibrate missing.npz -o x.neff 2>said && failed "a file that is missing"
grep -q "xcc: missing.npz: cannot open\|missing.npz: cannot open" said || failed "names it: $(cat said)"
[ ! -e x.neff ] || failed "nothing is written"

# An output of places: the share that differs is held to the budget, and so is what is sorted.
cat >places.xir <<'END'
graph "places" (%0 "x": f32[16,8]) {
  %c0 = const f32[8,8] {0.31, -0.72, 0.5, 0.9, 0.11, -0.33, 0.21, 0.5, -0.61, 0.77, 0.13, -0.45, 0.3, -0.7, 0.51, 0.92, 0.12, -0.34, 0.22, 0.53, -0.64, 0.75, 0.16, -0.47, 0.31, -0.72, 0.5, 0.9, 0.11, -0.33, 0.21, 0.5, -0.61, 0.77, 0.13, -0.45, 0.3, -0.7, 0.51, 0.92, 0.12, -0.34, 0.22, 0.53, -0.64, 0.75, 0.16, -0.47, 0.31, -0.72, 0.5, 0.9, 0.11, -0.33, 0.21, 0.5, -0.61, 0.77, 0.13, -0.45, 0.3, -0.7, 0.51, 0.92}
  %1 "scores" = matmul(%0, %c0) @"scores" : "MatMul"
  %2 "best" = argmax(%1) {axis=1} @"best" : "ArgMax"
  return(%2)
} outputs("best")
END
"$xcc" places.xir -o places.neff 2>said
grep -q "1 of 1 products are in bf16; largest error 0.00.* of 'scores', .* hold choices 0 of 16 elements differ" said ||
    failed "choices are told: $(cat said)"

# Two columns that are one in bf16: which is larger is lost, though the scores are right to 0.004.
cat >ties.xir <<'END'
graph "ties" (%0 "x": f32[64,2]) {
  %c0 = const f32[2,2] {0.5, 0.5002, 0.25, 0.25}
  %1 "scores" = matmul(%0, %c0) @"scores" : "MatMul"
  %2 "best" = argmax(%1) {axis=1} @"best" : "ArgMax"
  return(%2)
} outputs("best")
END
"$xcc" ties.xir -o ties.neff 2>said
grep -q "0 of 1 products are in bf16, 1 kept in FP32" said || failed "choices that flip: $(cat said)"
"$xcc" ties.xir --cast-budget 1 -o ties.neff 2>said
grep -q "1 of 1 products are in bf16; largest error 0.00.* of outputs that hold choices [1-9][0-9]* of [1-9][0-9]* elements differ" said ||
    failed "a budget that allows it: $(cat said)"

# Sizes that only running tells, and inputs that cannot be made up.
sed 's/f32\[4,2\]/f32[n,2]/; s/"cancel" (/"cancel" symbols(n) (/' cancel.xir >symbol.xir
"$xcc" symbol.xir -o symbol.neff 2>said
grep -q "1 of 2 products are in bf16, 1 kept in FP32 ('cancels'" said || failed "symbolic dims: $(cat said)"

# A symbol gets the smallest size that is likely where it stands: rows of a table are many, examples with a state are one.
cat >states.xir <<'END'
graph "states" symbols(b) (%0 "x": f32[b,8], %1 "state": f32[b,4,8]) {
  %c0 = const i64[1] {1}
  %2 = reduce_sum(%1, %c0) {keepdims=0} @"sum" : "ReduceSum"
  %3 = add(%0, %2) @"add" : "Add"
  %c1 = const f32[8,2] {0.31, -0.72, 0.5, 0.9, 0.11, -0.33, 0.21, 0.5, -0.61, 0.77, 0.13, -0.45, 0.3, -0.7, 0.51, 0.92}
  %4 "scores" = matmul(%3, %c1) @"scores" : "MatMul"
  %5 "best" = argmax(%4) {axis=1} @"best" : "ArgMax"
  return(%5)
} outputs("best")
END
"$xcc" states.xir -o states.neff 2>said
grep -q "hold choices 0 of 1 elements differ" said || failed "one example with its state: $(cat said)"

# What cannot be checked is compiled all the same, and says why, whatever names the reason quotes.
cat >named.xir <<'END'
graph "named" (%0 "x": f32[4,2], %1 "shape": i64[2]) {
  %c0 "w" = const f32[2,2] {0.7, 0.6, -0.3, 0.2}
  %2 "y" = matmul(%0, %c0) @"product" : "MatMul"
  %3 = reshape(%2, %1) @"out of memory" : "Reshape"
  return(%3)
} outputs("z")
END
"$xcc" named.xir -o named.neff 2>said || failed "a check that cannot be made: $(cat said)"
grep -q "1 of 1 products are in bf16; not checked against FP32: node 'out of memory' (Reshape): reshape: sizes" said ||
    failed "says why it was not checked: $(cat said)"

# A branch that the inputs do not take: what its rounding does is not known.
cat >branches.xir <<'END'
graph "branches" (%0 "x": f32[4,2], %1 "which": bool[]) {
  %c0 "w" = const f32[2,2] {0.7, 0.6, -0.3, 0.2}
  %2 "y" = if(%1) ^() {
    %3 = matmul(%0, %c0) @"yes" : "MatMul"
    return(%3)
  } ^() {
    %c1 "v" = const f32[2,2] {0.1, 0.2, 0.3, -0.7}
    %4 = matmul(%0, %c1) @"no" : "MatMul"
    return(%4)
  }
  return(%2)
} outputs("y")
END
"$xcc" branches.xir -v -o branches.neff 2>said
grep -q "1 of 2 products are in bf16, 1 kept in FP32 ('[a-z]*'; .*largest error 0.00" said ||
    failed "one branch has been seen: $(cat said)"
grep -q "kept in FP32: .* changed nothing on the inputs" said || failed "and says why: $(cat said)"

# Of signals that are short the model makes nothing, which no cast changes: longer ones tell what it costs.
cat >short.xir <<'END'
graph "short" symbols(n) (%0 "x": f32[1,n]) {
  %c0 = const i64[1] {300}
  %c1 = const i64[1] {9223372036854775807}
  %c2 = const i64[1] {1}
  %1 = slice(%0, %c0, %c1, %c2) @"late" : "Slice"
  %2 = reduce_sum_square(%1, %c2) {keepdims=1} @"power" : "ReduceSumSquare"
  %c3 = const f32[1,2] {0.7, 0.7}
  %3 = matmul(%2, %c3) @"harmless" : "MatMul"
  %c4 = const f32[2,3] {1000.3, 1000.9, 500.7, -999.3, -1000.1, -500.1}
  %4 = matmul(%3, %c4) @"cancels" : "MatMul"
  return(%4)
} outputs("y")
END
"$xcc" short.xir -v -o short.neff 2>said
grep -q "kept in FP32: 'cancels' (MatMul): cast as well, the error would be [1-9]" said || failed "longer signals: $(cat said)"

# What no made-up input shows is not known either.
cat >hidden.xir <<'END'
graph "hidden" symbols(n) (%0 "x": f32[n,2]) {
  %c0 = const f32[2,2] {0.7, 0.6, -0.3, 0.2}
  %1 = matmul(%0, %c0) @"product" : "MatMul"
  %c1 = const f32[] {1000}
  %2 = sub(%1, %c1) @"threshold" : "Sub"
  %3 = relu(%2) @"passes" : "Relu"
  return(%3)
} outputs("y")
END
"$xcc" hidden.xir -v -o hidden.neff 2>said
grep -q "0 of 1 products are in bf16, 1 kept in FP32 ('product'" said || failed "nothing has been seen: $(cat said)"
grep -q "kept in FP32: 'product' (MatMul): it changed nothing on the inputs" said || failed "and says why: $(cat said)"

# Of many products those stay that cost much: the cheap ones are given back.
cat >many.xir <<'END'
graph "many" (%0 "x": f32[4,2]) {
  %c0 = const f32[2,2] {0.7, 0.7, -0.3, -0.3}
  %1 = matmul(%0, %c0) @"first" : "MatMul"
  %c1 = const f32[2,2] {1000.3, 1000.9, -999.3, -1000.1}
  %2 = matmul(%1, %c1) @"cancels" : "MatMul"
  %3 = matmul(%2, %c0) @"third" : "MatMul"
  %c2 = const f32[2,2] {0.7, 0.1, 0.3, 0.3}
  %4 = matmul(%3, %c2) @"fourth" : "MatMul"
  return(%4)
} outputs("y")
END
"$xcc" many.xir -v -o many.neff 2>said
grep -q "kept in FP32: 'cancels'" said || failed "the one that cancels: $(cat said)"
grep -q "kept in FP32: 'fourth'" said && failed "cheap ones are cast: $(cat said)"

# Models with operators of ai.onnx.ml end in a threshold: their products, MatMul and Gemm too, stay in FP32 even where a cast is asked for.
"$xcc" test -q --norm-tol 1e-5 --auto-cast matmult "$source"/test/onnx/ml/svm* "$source"/test/onnx/ml/lin* "$source"/test/onnx/ml/scores* ||
    failed "models of ai.onnx.ml are cast"
finish
