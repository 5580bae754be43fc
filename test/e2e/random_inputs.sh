#!/bin/sh
# xrun --random gives models what they take: numbers whose range depends on symbolic dims, and sizes of --shape.
. "$(dirname "$0")/common.sh"

cat >lengths.xir <<'END_MODEL'
graph "lengths" symbols(batch, seq) (%0 "x": f32[seq,batch,3], %1 "lengths": i64[batch]) {
  %2: f32[seq,batch,3] = reverse_sequence(%0, %1) {batch_axis=1, time_axis=0}
  return(%2)
} outputs("y")
END_MODEL
cat >places.xir <<'END_MODEL'
graph "places" symbols(rows, n) (%0 "table": f32[rows,3], %1 "places": i64[n,2]) {
  %c0 = const i64[1] {1}
  %2: i64[n,1], %3: i64[n,1] = topk(%1, %c0) {axis=1}
  %4: f32[n,1,3] = gather(%0, %2) {axis=0}
  return(%4)
} outputs("y")
END_MODEL
cat >axes.xir <<'END_MODEL'
graph "axes" (%0 "x": f32[2,3,4], %1 "axes": i64[1]) {
  %2: f32[*] = reduce_sum(%0, %1)
  return(%2)
} outputs("y")
END_MODEL
for model in lengths places axes; do
    "$xcc" $model.xir -q -o $model.neff
    "$xrun" $model.neff --random >/dev/null || failed "$model"
done
"$build/xdump" lengths.neff --asm >lengths.xasm
grep -q '"lengths" i64\[batch\] range 1 (seq)' lengths.xasm || failed "the range of lengths: $(grep lengths lengths.xasm)"
cat >compared.xir <<'END_MODEL'
graph "compared" symbols(batch, n) (%0 "x": f32[batch,n], %1 "lengths": i64[batch]) {
  %c0 = const i64[1] {1}
  %c1 = const i64[] {2}
  %2 = div(%1, %c1)
  %3 = unsqueeze(%2, %c0)
  %c2 = const i64[3] {0, 1, 2}
  %4 = lt(%c2, %3)
  return(%4)
} outputs("y")
END_MODEL
"$xcc" compared.xir -q --emit asm -o compared.xasm
grep -q '"lengths" i64\[batch\] range 1 (n)' compared.xasm || failed "lengths that are compared: $(grep lengths compared.xasm)"
"$xcc" lengths.xasm -o again.neff
"$build/xdump" again.neff --asm | cmp - lengths.xasm || failed "its text, read and printed again"

for sizes in "seq=9 batch=40" "x=9,40,3"; do
    "$xrun" lengths.neff --random $(printf ' --shape %s' $sizes) >result.txt || failed "$sizes"
    grep -q '^y  *f32\[9,40,3\]' result.txt || failed "$sizes: $(cat result.txt)"
done
"$xrun" places.neff --random --shape rows=50 --shape n=60 >result.txt || failed "60 of 50 rows"
"$xrun" places.neff --random --shape n=60 >result.txt || failed "60 of 1 row"
zeros table.npy 7,3
"$xrun" places.neff --random --shape n=60 table=table.npy >result.txt || failed "60 of the rows of a file"

refuses 1 "no symbolic dimension and no input of the name 'wide'; symbolic: seq, batch" "$xrun" lengths.neff --random --shape wide=3
refuses 1 "input 'x' is f32[seq,batch,3]" "$xrun" lengths.neff --random --shape x=9,40,4
refuses 1 "expected SYMBOL=4 or INPUT=1,3,224" "$xrun" lengths.neff --random --shape seq=-4
refuses 1 "expected SYMBOL=4 or INPUT=1,3,224" "$xrun" lengths.neff --random --shape seq
refuses 2 "gives sizes to --random" "$xrun" lengths.neff --shape seq=4
finish
