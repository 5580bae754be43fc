#!/bin/sh
# Depthwise convolutions of rounded operands on chips, where the Tensor engine computes them: of numbers that bf16 holds they give
# exactly what a CPU gives in FP32. Channels of several chunks, few that share the array, windows that step and are dilated. What
# the model itself makes infinite stays in its channel.
# usage: depthwise_chips.sh BUILD_DIR WORK_DIR
. "$(dirname "$0")/common.sh"

# graph IMAGES CHANNELS KH KW SH SW DH DW PAD H W
graph() {
    awk -v n="$1" -v c="$2" -v kh="$3" -v kw="$4" -v sh="$5" -v sw="$6" -v dh="$7" -v dw="$8" -v p="$9" -v h="${10}" -v w="${11}" '
        BEGIN {
            printf "graph \"depthwise\" (%%0 \"x\": f32[%d,%d,%d,%d]) {\n %%c0 = const f32[1] {8}\n", n, c, h, w
            printf " %%c1 = const f32[%d,1,%d,%d] {", c, kh, kw
            for (i = 0; i < c * kh * kw; i++)
                printf "%s%d", i ? ", " : "", (i * 7 + int(i / 9) * 3) % 11 - 5
            printf "}\n %%1 = mul(%%0, %%c0)\n %%2 = floor(%%1)\n %%3 = conv(%%2, %%c1) {kernel_shape=[%d,%d], ", kh, kw
            printf "strides=[%d,%d], pads=[%d,%d,%d,%d], dilations=[%d,%d], group=%d}\n", sh, sw, p, p, p, p, dh, dw, c
            printf " %%4 = relu(%%3)\n return(%%4)\n} outputs(\"y\")\n"
        }'
}

while read -r sizes; do
    # shellcheck disable=SC2086
    graph $sizes >d.xir
    same_on_chips "$sizes" d.xir 0 "--auto-cast matmult --cast-budget 0"
    for target in trn1 trn2; do
        grep -q nc_matmul $target.asm || failed "$sizes on $target: not by products"
    done
done <<END
2 40 3 3 1 1 1 1 1 9 11
1 4 3 3 2 2 1 1 1 17 15
1 130 3 3 1 1 1 1 1 14 14
2 200 5 5 2 2 1 1 2 14 14
1 72 1 7 1 1 1 2 0 9 40
1 70 3 3 1 2 2 1 2 13 12
1 3 5 5 2 2 1 1 2 60 60
1 66 3 3 1 1 1 1 1 160 160
END

# masked CHANNELS CONSTANT WEIGHT: of the largest inputs the model makes CONSTANT; a filter has one WEIGHT
masked() {
    awk -v c="$1" -v to="$2" -v weight="$3" 'BEGIN {
        printf "graph \"masked\" (%%0 \"x\": f16[1,%d,9,11]) {\n %%c0 = const f16[1] {8}\n %%c1 = const f16[1] {7}\n", c
        printf " %%c2 = const f16[1] {%s}\n %%c3 = const f16[%d,1,3,3] {", to, c
        for (i = 0; i < 9 * c; i++)
            printf "%s%s", i ? ", " : "", i == 9 * c - 5 ? weight : i % 5 + 1
        printf "}\n %%1 = mul(%%0, %%c0)\n %%2 = floor(%%1)\n %%3 = ge(%%2, %%c1)\n %%4 = where(%%3, %%c2, %%2)\n"
        printf " %%5 = conv(%%4, %%c3) {kernel_shape=[3,3], pads=[1,1,1,1], group=%d}\n return(%%5)\n} outputs(\"y\")\n", c
    }' >masked.xir
}
for channels in 5 130; do
    for what in "-inf 1" "nan 1" "1 inf"; do
        # shellcheck disable=SC2086
        masked $channels $what
        same_on_chips "$channels channels of $what" masked.xir 0 "--auto-cast matmult --cast-budget 0"
        ! grep -q nc_matmul trn1.asm || failed "$channels channels of $what: products of what is not finite"
    done
    masked "$channels" 1 1
    same_on_chips "$channels channels" masked.xir 0 "--auto-cast matmult --cast-budget 0"
    grep -q nc_matmul trn1.asm || failed "$channels channels of finite numbers: not by products"
done

finish
