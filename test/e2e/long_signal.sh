#!/bin/sh
# long_signal.sh BUILD SCRATCH: a convolution of one channel takes signals of any length: by a filter that changes nothing.
. "$(dirname "$0")/common.sh"

cat >same.xir <<'END_MODEL'
graph "same" symbols(m) (%0 "x": f32[1,1,m]) {
  %c0 = const f32[1,1,3] {0, 1, 0}
  %1 = conv(%0, %c0) {pads=[1,1]}
  %2 = sub(%1, %0)
  %3 = abs(%2)
  %4 = reduce_max(%3) {keepdims=0}
  return(%1, %4)
} outputs("y", "largest")
END_MODEL
"$xcc" same.xir -q --auto-cast none -o same.neff || failed "compiling"
"$build/xdump" same.neff --asm | grep -q plane_conv || failed "no plane_conv"
for m in 1 17 1025 2500000; do
    "$xrun" same.neff --random --shape m=$m -o out >/dev/null || failed "$m samples"
    printf '\0\0\0\0' >zero
    tail -c 4 out/largest.npy | cmp - zero || failed "$m samples: something changed"
    [ "$(wc -c <out/y.npy)" = $((128 + 4 * m)) ] || failed "$m samples: not as many results"
done
finish
