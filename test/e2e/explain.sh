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

# Images of sizes that only running tells: where few pixels are left of any, filters are not made so much larger.
image() {
    awk -v s="$1" 'BEGIN {
        print "graph \"deep\" symbols(height, width) (%0 \"x\": f32[1,64,height,width]) {"
        printf "  %%c0 = const f32[64,64,3,3] {0.5"
        for (i = 1; i < 64 * 64 * 9; i++) printf ", %d", i % 5
        printf "}\n  %%1 = max_pool(%%0) {kernel_shape=[%d, %d], strides=[%d, %d]}\n", s, s, s, s
        print "  %2 = conv(%1, %c0) {pads=[1, 1, 1, 1]}\n  return(%2)\n} outputs(\"y\")" }' >image.xir
    "$xcc" image.xir -q --auto-cast none --explain -o m.neff 2>said
}
image 4
grep -q "^  Winograd  *1  F(4x4,3x3)" said || failed "a large image: $(cat said)"
image 32
grep -q "^  Winograd  *1  F(2x2,3x3)" said || failed "a small image: $(cat said)"

# What passes do to loops before leaves them such as is recognised.
"$xcc" "$source/test/hlo_exec/jax_threefry_sizes/module.hlo" -q --auto-cast none --explain -o m.neff 2>said
grep -q "^  recognised  *4  the loop is the 20 rounds of Threefry-2x32" said || failed "random numbers: $(cat said)"
finish
