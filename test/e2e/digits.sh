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
awk 'NR == 1 { exit $3 != "calls" } ' table.txt || failed "the table's head: $(head -1 table.txt)"
awk '$1 ~ /^[0-9]/ && $3 > 2 { exit 1 }' table.txt || failed "the table counts the calls of several runs"
grep -q '^tile programs: 100.0% of the time (.* ms), 100.0% of the bytes' table.txt ||
    failed "the share of tile programs: $(tail -2 table.txt)"

# --strict-isa: bits that do not depend on the machine or the C compiler. Another sum is right after the kernels'
# arithmetic was changed on purpose, and only then.
"$xcc" "$source/models/digits/digits.onnx" -o digits.neff --auto-cast none
strict=$("$xrun" digits.neff "$source/models/digits/digit_7.npy" -o strict --strict-isa >/dev/null && sha256sum <strict/probabilities.npy)
[ "${strict%% *}" = c7919c5c46b88e32b45eb4f35171d79f60ad826a3033dd628cf16e70d66a9ccf ] || failed "--strict-isa gives other bits: $strict"
finish
