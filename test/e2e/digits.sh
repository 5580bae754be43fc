#!/bin/sh
# The trained digit classifier gives the right answers, in every cast mode and on every target.
. "$(dirname "$0")/common.sh"
answers() { # FLAGS...
    "$xcc" "$source/models/digits/digits.onnx" -o digits.neff "$@" || { failed "xcc $*"; return; }
    while read -r file digit; do
        best=$("$xrun" digits.neff "$source/models/digits/$file" | sed -n 's/^ *best:  *\([0-9]*\) .*/\1/p')
        [ "$best" = "$digit" ] || failed "$file with '$*': '$best', expected $digit"
    done <"$source/models/digits/expected.txt"
}
answers
answers --auto-cast none
answers --auto-cast all
answers --auto-cast-type fp16
answers --auto-cast-type tf32
answers --auto-cast-type fp8_e4m3
answers --auto-cast all --auto-cast-type fp16
answers -O0
answers -O3
answers --shape batch=1
answers --target trn1
answers --target trn2
answers --target inf2
"$xcc" "$source/models/digits/digits.onnx" -o digits.neff
"$xrun" digits.neff "$source/models/digits/digit_7.npy" --bench 5 --profile table.txt >bench.txt ||
    failed "a profile of five runs"
rate='[0-9.]*[1-9][0-9.]*'
grep -q "^this machine, [0-9]* threads*: $rate GFLOP/s f32, $rate bf16, $rate int8; $rate GB/s" table.txt ||
    failed "the machine's rates: $(head -1 table.txt)"
awk 'NR == 2 { exit $3 != "calls" || $6 != "bound" } ' table.txt || failed "the table's head: $(sed -n 2p table.txt)"
awk '$1 ~ /^[0-9]/ && $3 > 4 { exit 1 }' table.txt || failed "the table counts the calls of several runs"
awk '$1 ~ /^[0-9]/ && ($6 !~ /^(compute|memory|cache|overhead)$/ || $7 !~ /^[0-9]+%$/ || $8 == "") { exit 1 }' table.txt ||
    failed "columns of the table: $(cat table.txt)"
awk '$1 ~ /^[0-9]/ { sum += $2; rows++ }
     END { off = sum - 100; exit !(rows > 3 && off <= 0.05 * rows + 0.01 && off >= -0.05 * rows - 0.01) }' table.txt ||
    failed "shares do not add to 100%: $(cat table.txt)"
grep -q '^tile programs: 100.0% of the time (.* ms), 100.0% of the bytes' table.txt ||
    failed "the share of tile programs: $(tail -2 table.txt)"

# --strict-isa: bits that do not depend on the machine or the C compiler. Another sum is right after the kernels'
# arithmetic was changed on purpose, and only then.
"$xcc" "$source/models/digits/digits.onnx" -o digits.neff --auto-cast none
strict=$("$xrun" digits.neff "$source/models/digits/digit_7.npy" -o strict --strict-isa >/dev/null && sha256sum <strict/probabilities.npy)
[ "${strict%% *}" = 111796177f2561261b06571c7639f3ddf567641ead9709e1614a1566c440a7b3 ] || failed "--strict-isa gives other bits: $strict"
finish
