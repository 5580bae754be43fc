#!/bin/sh
# Depthwise convolutions of rounded operands on chips, where the Tensor engine computes them: of numbers that bf16 holds they give
# exactly what a CPU gives in FP32. Channels of several chunks, few that share the array, windows that step and are dilated.
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

finish
