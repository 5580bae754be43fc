#!/bin/sh
# Outputs that are sequences and maps: printed, written as .npz or .json, compared. Inputs that are such, from .npz.
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

# Inputs: what was written is read again, a map by the names of its arrays, a sequence in their order.
# takes NAME INPUT BODY EXPECTED: input "m" of type INPUT from NAME.npz, result %9
takes() {
    printf 'graph "%s" (%%0 "m": %s) {\n  %%9 = %s\n  return(%%9)\n} outputs("o")\n' "$1" "$2" "$3" >"$1.xir"
    "$xcc" -q "$1.xir" -o "$1.neff" || failed "$1 does not compile"
    for file in "$1.npz" "m=$1.npz"; do
        "$xrun" "$1.neff" "$file" | tail -1 | tr -d ' ' >printed.txt
        [ "$(cat printed.txt)" = "$4" ] || failed "$1 $file: printed $(cat printed.txt)"
    done
}
numpy row.npy "'<f4'" '(1, 2)' "$two$half"
"$xrun" names.neff row.npy -o row && cp row/o.npz words.npz
"$xrun" numbers.neff row.npy -o digits && cp digits/o.npz whole.npz
cp list/o.npz items.npz
takes words 'map(str,f32[])' 'dict_vectorize(%0) {string_vocabulary=["c", "x", "a b"]}' 0.502
takes whole 'map(i64,f32[])' 'dict_vectorize(%0) {int64_vocabulary=[-1, 7]}' 0.52
takes items 'seq(f32[*])' 'sequence_length(%0)' 2
"$xcc" words.xir --verify m=words.npz | grep -q 'no node is wrong' || failed "verify does not take a map"
refuses 1 'm map(str,f32[]); give NAME=FILE.npy for each (sequences and maps: NAME=FILE.npz)' "$xrun" words.neff
refuses 1 "give m=FILE.npz" "$xrun" words.neff --random
refuses 1 "'a b' is no number, as the map's keys are" "$xrun" whole.neff words.npz
refuses 1 "'a b' has 2 elements, expected one for a map" "$xrun" words.neff names/o.npz
finish
