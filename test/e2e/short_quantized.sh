#!/bin/sh
# short_quantized.sh BUILD SCRATCH: quantisation of every float of 16 bits, and of every byte back, is to the bit what the
# plain routines say, which compute in double and round to the type.
. "$(dirname "$0")/common.sh"

cat >values.xir <<'END'
graph "values" () {
  %1 = iota() {shape=[65536], axis=0, dtype=6}
  %2 = cast(%1) {to=4}
  %3 "f16" = bitcast(%2) {to=10}
  %4 "bf16" = bitcast(%2) {to=16}
  %5 = iota() {shape=[256], axis=0, dtype=6}
  %6 "bytes" = cast(%5) {to=2}
  return(%3, %4, %6)
} outputs("f16", "bf16", "bytes")
END
"$xcc" values.xir -q -o values.neff || failed "all values compile"
"$xrun" values.neff -o values >/dev/null || failed "all values"

for type in f16 bf16; do
    for scale in 1 0.0131 -0.3 65504 6e-8 3e-5; do
        cat >model.xir <<END
graph "model" (%0 "x": $type[65536], %1 "u": u8[256]) {
  %c0 = const $type[] {$scale}
  %c1 = const u8[] {117}
  %c2 = const i8[] {-11}
  %c3 = const f32[] {$scale}
  %2 = quantize_linear(%0, %c0, %c1)
  %3 = quantize_linear(%0, %c0, %c2)
  %4 = quantize_linear(%0, %c3, %c1)
  %5 = dequantize_linear(%1, %c0, %c1)
  return(%2, %3, %4, %5)
} outputs("unsigned", "signed", "long", "back")
END
        "$xcc" model.xir -O0 -q -o plain.neff || failed "$type by $scale, plain, compiles"
        "$xcc" model.xir -q -o tiles.neff || failed "$type by $scale compiles"
        "$xrun" plain.neff "x=values/$type.npy" u=values/bytes.npy -o plain >/dev/null || failed "$type by $scale, plain"
        "$xrun" tiles.neff "x=values/$type.npy" u=values/bytes.npy -o tiles >/dev/null || failed "$type by $scale"
        for output in unsigned signed long back; do
            cmp plain/$output.npy tiles/$output.npy || failed "$output of $type by $scale"
        done
    done
done
finish
