#!/bin/sh
# explain.sh BUILD SCRATCH: the compiler's decisions, a summary first.
. "$(dirname "$0")/common.sh"
digits=$source/models/digits/digits.onnx

"$xcc" "$digits" -q --explain -o m.neff 2>said || failed "--explain compiles"
head -n 1 said | grep -q "^explain: .*digits.onnx: [0-9]* tile programs, [0-9]* calls of plain routines; [0-9]* decisions" ||
    failed "says how much there is: $(head -n 1 said)"
grep -q "^  cast  *[0-9]*  operands rounded to the cast type" said || failed "casts are grouped: $(cat said)"
[ "$(wc -l <said)" -lt 25 ] || failed "a summary has $(wc -l <said) lines"

"$xcc" "$digits" -q --explain-nodes -o m.neff 2>all
[ "$(wc -l <all)" -ge 5 ] || failed "--explain-nodes: $(cat all)"
name=$(sed -n 's/^explain: \(.*\) (\(conv\|matmul\)): autocast.*/\1/p' all | head -n 1)
"$xcc" "$digits" -q "--explain=$name" -o m.neff 2>one
[ -s one ] && ! grep -v "^explain: $name (" one || failed "--explain=$name: $(cat one)"
refuses 1 "explain=nobody: no decision is about a node of that name; decisions are about '" "$xcc" "$digits" -q --explain=nobody -o n.neff
cat >called.xir <<'END'
graph "called" (%0 "x": f32[4,4]) {
  %1 "y" = det(%0) @"determinant" : "Det"
  return(%1)
} outputs("y")
END
"$xcc" called.xir -q --explain -o m.neff 2>said
grep -q "^  called  *1  det, by its plain routine: determinant" said || failed "calls are told: $(cat said)"

# What passes do to loops before leaves them such as is recognised.
"$xcc" "$source/test/hlo_exec/jax_threefry_sizes/module.hlo" -q --auto-cast none --explain -o m.neff 2>said
grep -q "^  recognised  *4  the loop is the 20 rounds of Threefry-2x32" said || failed "random numbers: $(cat said)"
finish
