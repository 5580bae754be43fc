#!/bin/sh
# Squeezes on chips: an image of more channels than there are partitions, times a factor for each channel that is made of its mean.
# The image stays in SBUF from the pool that makes it to the product, and results are those of a CPU.
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

finish
