#!/bin/sh
# Squeezes on chips: an image of more channels than there are partitions, times a factor for each channel that is made of its mean.
# The image stays in SBUF from the pool that makes it to the product, and results are those of a CPU. What a convolution's activation
# leaves is summed up by it, row by row, where the image is large.
# usage: squeeze_chips.sh BUILD_DIR WORK_DIR
. "$(dirname "$0")/common.sh"

while read -r channels h w; do
    cat >s.xir <<END
graph "squeeze" (%0 "x": f32[1,$channels,$h,$w]) {
 %1 "image" = max_pool(%0) {kernel_shape=[3,3], strides=[1,1], pads=[1,1,1,1]}
 %2 = reduce_mean(%1) {axes=[2,3], keepdims=1}
 %3 = sigmoid(%2)
 %4 = mul(%1, %3)
 return(%4)
} outputs("y")
END
    same_on_chips "$channels x $h x $w" s.xir 1e-5 "--auto-cast none"
    for target in trn1 trn2; do
        ! grep -q 'dma_copy.*src=%1 ' $target.asm || failed "$channels x $h x $w on $target: the image is loaded again"
    done
done <<END
240 14 14
480 14 14
256 8 8
1152 7 7
END

# convolved CHANNELS H W: a quarter and more of the partitions, the last chunk not full
convolved() {
    awk -v c="$1" -v h="$2" -v w="$3" 'BEGIN {
        printf "graph \"convolved\" (%%0 \"x\": f32[1,4,%d,%d]) {\n %%c0 = const f32[%d,4,3,3] {", h, w, c
        for (i = 0; i < 36 * c; i++)
            printf "%s%g", i ? ", " : "", ((i * 7 + int(i / 9) * 3) % 11 - 5) / 16
        printf "}\n %%1 = conv(%%0, %%c0) {kernel_shape=[3,3], pads=[1,1,1,1]}\n %%2 = sigmoid(%%1)\n"
        printf " %%3 = reduce_mean(%%2) {axes=[2,3], keepdims=1}\n %%4 = mul(%%2, %%3)\n return(%%4)\n} outputs(\"y\")\n"
    }' >c.xir
}
while read -r sums sizes; do
    # shellcheck disable=SC2086
    convolved $sizes
    same_on_chips "$sizes" c.xir 1e-5 "--auto-cast none"
    for target in trn1 trn2; do
        # shellcheck disable=SC2015
        grep -q 'act.activation.*sum=sbuf' $target.asm && found=yes || found=no
        ! grep -q 'dma_copy.*src=%2 ' $target.asm || failed "$sizes on $target: the image is loaded again"
        [ $found = "$sums" ] || failed "$sizes on $target: row sums by the Scalar engine: $found"
    done
done <<END
yes 72 40 41
yes 32 112 112
yes 150 20 20
no 72 5 6
END

finish
