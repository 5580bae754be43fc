#!/bin/sh
# Outputs that are sequences and maps: printed, written as .npz or .json, compared.
. "$(dirname "$0")/common.sh"

# numpy FILE DESCR SHAPE DATA: an .npy; DATA in printf's escapes
numpy() {
    {
        printf '\223NUMPY\001\000v\000'
        printf '%-117s\n' "{'descr': $2, 'fortran_order': False, 'shape': $3, }"
        printf "$4"
    } >"$1"
}

# model NAME BODY: x f32[n,2], result %9
model() {
    printf 'graph "%s" symbols(n) (%%0 "x": f32[n,2]) {\n%s\n  return(%%9)\n} outputs("o")\n' "$1" "$2" >"$1.xir"
    "$xcc" -q "$1.xir" -o "$1.neff" || failed "$1 does not compile"
}

one='\000\000\200\077' two='\000\000\000\100' half='\000\000\000\077' nan='\000\000\300\177'
numpy x.npy "'<f4'" '(2, 2)' "$one$two$half$one"
numpy y.npy "'<f4'" '(2, 2)' "$one$two$half$two"
numpy nan.npy "'<f4'" '(1, 2)' "$nan$half"
numpy object.npy "'|O'" '(2,)' "pickled"

# written NAME SUFFIX: o.SUFFIX is what is written, the same each time, and nothing else
written() {
    "$xrun" "$1.neff" x.npy -o "$1" && "$xrun" "$1.neff" x.npy -o "$1.again" || failed "$1 is not written"
    [ "$(ls "$1")" = "o.$2" ] || failed "$1: expected o.$2, got $(ls "$1")"
    cmp -s "$1/o.$2" "$1.again/o.$2" || failed "$1: two runs write different bytes"
}

# compared NAME TEXT: --expect takes what was written, and finds what differs
compared() {
    "$xrun" "$1.neff" x.npy --expect "$1/o.npz" >/dev/null || failed "$1 differs from what it wrote"
    "$xrun" "$1.neff" y.npy --expect "$1/o.npz" >/dev/null 2>difference.txt && failed "$1: a difference is not seen"
    grep -q "$2" difference.txt || failed "$1: expected '$2', got '$(cat difference.txt)'"
}

# A classifier's probabilities: a column per label.
model numbers '  %c0 = const i64[2] {7, -1}
  %9 = zip_map(%0, %c0)'
written numbers npz
compared numbers "'-1': "
"$xrun" numbers.neff x.npy | tr -s ' ' >printed.txt
printf 'o rows 2 columns 2\n 7 -1\n 1 2\n 0.5 1\n' | cmp - printed.txt || failed "numbers: printed $(cat printed.txt)"
model names '  %c0 = const str[2] {"a b", "c"}
  %9 = zip_map(%0, %c0)'
written names npz
compared names "'c': "
"$xrun" names.neff x.npy --expect numbers/o.npz >/dev/null 2>difference.txt && failed "other columns are taken"
grep -q "'a b' was not expected" difference.txt || failed "other columns: $(cat difference.txt)"

# Labels that are not columns' names: objects, as are values that no array holds.
model twice '  %c0 = const str[2] {"q\"", "q\""}
  %9 = zip_map(%0, %c0)'
written twice json
printf '[{"q\\"": 1, "q\\"": 2},\n {"q\\"": 0.5, "q\\"": 1}]\n' | cmp - twice/o.json || failed "twice: $(cat twice/o.json)"
"$xrun" twice.neff nan.npy -o nan
[ "$(cat nan/o.json)" = '[{"q\"": null, "q\"": 0.5}]' ] || failed "NaN: $(cat nan/o.json)"
refuses 1 "no arrays to compare" "$xrun" twice.neff x.npy --json --expect numbers/o.npz

# A list of tensors, of different shapes.
model list '  %c0 = const f32[3] {1, 2, 3}
  %9 = sequence_construct(%0, %c0)'
written list npz
compared list "'arr_0': "
"$xrun" list.neff x.npy | grep -q '^o\[1\]  f32\[3\]' || failed "list: the second item is not printed"

refuses 1 "array.astype('U')" "$xrun" list.neff object.npy
finish
