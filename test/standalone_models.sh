#!/bin/sh
# standalone_models.sh BUILD SCRATCH [MODEL...]: trained models of XCC_TEST_DATA (default ../shared/data) as C
# sources give the bits of xrun and allocate nothing; a table of code, weights and times. ISA=avx512bf16 and so on: of which
# instruction set (portable); FLAGS="--amalgamate" and others of xcc; OPT: how core and kernels are compiled. CROSS=aarch64-linux-gnu-: by that compiler, statically;
# RUN=qemu-aarch64: what runs its programs.
set -eu
build=$1 scratch=$2
shift 2
source=$(cd "$(dirname "$0")/.." && pwd)
data=${XCC_TEST_DATA:-$source/../shared/data}/models
[ -d "$data" ] || { echo "SKIP: no $data; set XCC_TEST_DATA"; exit 77; }
cross=${CROSS:-}
isa=${ISA:-portable} cc=${CC:-${cross:+${cross}gcc}}
cc=${cc:-cc}
[ $# -gt 0 ] || set -- $(ls "$data")
mkdir -p "$scratch"
cd "$scratch"
wrong=0
echo "model  code  program  weights  context  us  xrun's us"
for name; do
    model=$data/$name
    [ -d "$model" ] || model=$name
    name=$(basename "$name")
    rm -rf "$name"
    mkdir "$name"
    # shellcheck disable=SC2086
    "$build/frontend/xcc" -q "$model/model.onnx" ${FLAGS:-} --isa "$isa" --standalone "$name/c" -o "$name/m.neff"
    make -s -j2 -C "$name/c" CC="$cc" AR="${cross}ar" OBJCOPY="${cross}objcopy" ${OPT:+OPT="$OPT" KERNEL_OPT="$OPT"} >"$name/log" 2>&1 || {
        echo "FAIL $name: make"; tail -3 "$name/log"; wrong=1; continue; }
    h=$name/c/model.h
    dims=$(sed -n "s/^.. symbols\[[0-9]*\]: '\([^']*\)'.*/\1/p" "$h" | while read -r symbol; do
        sed -n "s/^.. inputs\[\([0-9]*\)\]: '[^']*', [a-z0-9]*\[\(.*\)\], elements.*/\1 \2/p" "$h" |
            awk -v s="$symbol" '{ n = split($2, d, ","); for (i = 1; i <= n; i++) if (d[i] == s) { printf "{%d,%d},", $1, i - 1; exit } }'
    done)
    limits=$(sed -n "s/^.. symbols\[[0-9]*\]: '[^']*', up to \([0-9]*\) in .*/\1,/p" "$h" | tr -d '\n')
    outputs=$(grep -c '^/\* outputs\[' "$h")
    room=$(for i in $(seq 0 $((outputs - 1))); do
        awk -v i="MODEL_OUTPUT_${i}_BYTES" '$2 == i { n = $3 } END { printf "%d,", n }' "$h"; done)
    # shellcheck disable=SC2086
    $cc -O1 ${cross:+-static} ${RUN:+-DRUNS=1} -DNAME=model -DHEADER='"model.h"' \
        -DOUTPUTS="$outputs" -DROOM="$room" ${dims:+-DDIMS="$dims" -DLIMITS="$limits"} -o "$name/run" \
        "$source/test/standalone_run.c" -I"$name/c" "$name/c/libmodel.a" -lm
    for set in "$model"/test_data_set_*; do
        inputs=$(ls "$set"/input_*.npy | sort -t_ -k5 -V)
        # shellcheck disable=SC2086
        us=$(${RUN:-} "$name/run" "$name/y" $inputs 2>"$name/said") || { echo "FAIL $name: $(cat "$name/said")"; wrong=1; break; }
        # shellcheck disable=SC2086
        XCC_KERNELS=$isa "$build/runtime/xrun" "$name/m.neff" $inputs -o "$name/x" >/dev/null
        for i in $(seq 0 $((outputs - 1))); do
            out=$(sed -n "s/^.. outputs\[$i\]: '\([^']*\)'.*/\1/p" "$h" | tr '/:' '__')
            bytes=$(wc -c <"$name/y_$i.bin")
            tail -c "$bytes" "$name/x/$out.npy" | cmp -s - "$name/y_$i.bin" || {
                echo "FAIL $name: $(basename "$set"): output $i has other bits than xrun's"; wrong=1; }
        done
    done
    object=$name/c/model_all.o
    [ -e "$object" ] || object=$name/c/model.o # FLAGS=--amalgamate
    asks=$("${cross}nm" -u "$object" | awk '{ print $2 }' |
        grep -xE 'malloc|calloc|realloc|free|qsort|mmap|open|fopen|getenv|pthread_create' | tr '\n' ' ') || true
    [ -z "$asks" ] || { echo "FAIL $name: it asks for $asks"; wrong=1; }
    all=$("${cross}size" "$object" | awk 'NR == 2 { print $1 + $2 }')
    bytes_of() { "${cross}nm" -S "$object" | awk -v n="$1" '$4 == n || $4 ~ "^p[0-9]*_" n "$" { print $2 }' | sed 's/^0*/0x/;s/^0x$/0/'; }
    program=$(($(bytes_of program) + 0)) constants=$(($(bytes_of constants) + 0))
    weights=$constants
    [ ! -e "$name/c/model.bin" ] || weights=$(wc -c <"$name/c/model.bin")
    # shellcheck disable=SC2086
    xus=$(XCC_KERNELS=$isa "$build/runtime/xrun" "$name/m.neff" $inputs --threads 1 --bench 21 --json 2>/dev/null |
        sed -n 's/.*"median_ms": *\([0-9.]*\).*/\1/p' | awk '{ print $1 * 1000 }')
    echo "$name  $((all - program - weights))  $program  $weights  $("$cc" -E -dM "$h" | awk '/_CONTEXT_SIZE/ { print $3 }')  ${us:-}  $xus"
done
exit $wrong
