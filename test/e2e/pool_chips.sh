#!/bin/sh
# Pools on chips, of images whose padding is left out: the greatest of each window is what a CPU finds, averages within rounding.
# usage: pool_chips.sh BUILD_DIR WORK_DIR
. "$(dirname "$0")/common.sh"

# graph OP IMAGES CHANNELS H W KH KW SH SW PADS DILATIONS
graph() {
    printf 'graph "pool" (%%0 "x": f32[%s,%s,%s,%s]) {\n' "$2" "$3" "$4" "$5"
    printf ' %%1 = neg(%%0)\n %%2 = %s(%%1) {kernel_shape=[%s,%s], strides=[%s,%s], pads=[%s], dilations=[%s], ' \
        "$1" "$6" "$7" "$8" "$9" "${10}" "${11}"
    printf 'count_include_pad=1}\n return(%%2)\n} outputs("y")\n'
}

while read -r sizes; do
    # shellcheck disable=SC2086
    graph $sizes >p.xir
    tolerance=0
    case $sizes in average*) tolerance=1e-6 ;; esac
    same_on_chips "$sizes" p.xir $tolerance "--auto-cast none"
    for target in trn1 trn2; do
        grep -q memset $target.asm && failed "$sizes on $target: padded on the chip"
    done
done <<END
max_pool 1 3 9 12 3 3 2 2 1,1,1,1 1,1
max_pool 2 130 11 7 3 2 1 2 1,0,1,1 1,1
max_pool 1 5 40 70 5 3 2 1 2,1,2,1 1,1
max_pool 1 4 12 13 3 3 1 1 2,2,2,2 2,2
max_pool 1 4 1 30 1 5 1 2 0,2,0,2 1,1
max_pool 1 2 66 66 3 3 2 2 0,0,1,1 1,1
average_pool 1 6 10 10 3 3 1 1 1,1,1,1 1,1
average_pool 1 6 33 45 3 5 2 3 1,2,1,2 1,1
END

finish
