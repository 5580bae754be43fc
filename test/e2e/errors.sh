#!/bin/sh
# What users get wrong: one clear message, the right exit status, no partial file.
. "$(dirname "$0")/common.sh"
digits=$source/models/digits/digits.onnx
picture=$source/models/digits/digit_7.npy
"$xcc" "$digits" -o good.neff

# Usage.
refuses 2 "name a model" "$xcc"
refuses 2 "unknown option '--nonsense'" "$xcc" "$digits" --nonsense
refuses 2 "name the archive to write" "$xcc" "$digits"
refuses 2 "--auto-cast takes none, matmult or all" "$xcc" "$digits" --auto-cast some -o x.neff
refuses 2 "unknown option" "$xrun" good.neff --nonsense
refuses 1 "--state-capacity: no output of this model is an input with more behind it" "$xrun" good.neff "$picture" --state-capacity 5
"$xcc" "$digits" -q -o large.neff --limit-memory 99999999999999999999 || failed "a limit beyond all memory limits"
rm -f large.neff
for option in --print-after --keep-fp32 --shape --calibrate; do
    refuses 2 "$option needs a value" "$xcc" "$digits" -o x.neff $option ''
done
xsim=$build/runtime/sim/xsim
echo 'graph "g" (%0 "x": f32[1,1,2,9], %1 "w": f32[4,1,5,5]) { %2 = conv(%0, %1) {pads=[1,2,0,1]} return(%2) } outputs("y")' >small.xir
refuses 1 "a window of 5 elements is larger than the image in spatial dim 0, which has 3 with its padding" "$xcc" small.xir -o x.neff
refuses 1 "nonsense.so: cannot open" "$xrun" good.neff "$picture" --custom-op nonsense.so
refuses 1 "--trips nonsense: no loop and no " "$xsim" good.neff --trips nonsense=3
refuses 2 "--profile is shown on the page" "$xsim" good.neff --profile nonsense
refuses 2 "name a compiled model" "$xrun"
refuses 2 "more than one view" "$xdump" good.neff --asm --plan
for program in "$xcc" "$xrun" "$xdump"; do
    "$program" --version | grep -q '^x[a-z]* [0-9]' || { echo "$program --version says nothing"; exit 1; }
    "$program" --help | grep -q -- '--version' || { echo "$program --help does not list --version"; exit 1; }
done

# What is printed and does not arrive is no success.
full() {
    if "$@" >/dev/full 2>stderr.txt || ! grep -q "standard output: cannot write" stderr.txt; then
        failed "$* >/dev/full: $(cat stderr.txt)"
    fi
}
if [ -w /dev/full ]; then
    full "$xcc" "$digits" --emit ir
    full "$xcc" --list-operators
    full "$xrun" good.neff "$picture"
    full "$xrun" good.neff "$picture" --bench 1 --json
    full "$xdump" good.neff --asm
    full "$xsim" good.neff
fi
rm -f stderr.txt

# A key to check by does not sign.
refuses 2 "sign with KEY, the file beside it" "$xcc" sign good.neff --key some.pub

# What is no archive: what it is, and what to do.
cp "$digits" model.onnx
echo 'HloModule m' >model.hlo
for program in "$xrun" "$xdump" "$xsim"; do
    for model in model.onnx model.hlo; do
        refuses 1 "this is a model: compile it first, \`xcc MODEL -o MODEL.neff\` (--target trn1" "$program" $model
    done
    refuses 1 "this is a NumPy file, an input or output of a model: name the archive first" "$program" "$picture"
    refuses 1 "\`xcc MODEL -o MODEL.neff\` makes one of a model" "$program" "$source/runtime/sim/timeline.png"
done
rm -f model.onnx model.hlo

# Models that are missing, empty, cut short, something else, or a folder.
refuses 1 "missing.onnx: cannot open" "$xcc" missing.onnx -o x.neff
: >empty.onnx
refuses 1 "empty.onnx" "$xcc" empty.onnx -o x.neff
mkdir folder.onnx
refuses 1 "not a regular file" "$xcc" folder.onnx -o x.neff
cp "$source/models/digits/README.md" text.onnx
refuses 1 "this is text" "$xcc" text.onnx -o x.neff
size=$(wc -c <"$digits")
for part in 1 100 1000 $((size / 2)) $((size - 1)); do
    head -c $part "$digits" >cut.onnx
    refuses 1 "cut.onnx" "$xcc" cut.onnx -o x.neff
done

# Programs whose routines would write outside their results, or use what a region has freed.
cp "$source/test/fuzz/corpus/xir/svd_of_small_letter" svd.xir
refuses 1 "its attribute \`job\` is 97, expected the code of one of the letters SAN" "$xcc" svd.xir -o x.neff
for program in region_moves_result region_reads_result; do
    cp "$source/test/fuzz/corpus/asm/$program.asm" region.xasm
    refuses 1 "region 1 writes an operand of the call that runs it, or uses a result" "$xcc" region.xasm -o x.neff
done

# Names that protobuf-c would cut: two values would be one.
cp "$source/test/fuzz/corpus/onnx/name_with_zero.onnx" zero.onnx
refuses 1 "output 'a' has a byte 0 behind that" "$xcc" zero.onnx -o x.neff

one_integer() { # TYPE BYTES: an .npy of one element
    printf '\223NUMPY\001\000v\000%-117s\n' "{'descr': '<$1', 'fortran_order': False, 'shape': (1,), }"
    printf "$2"
}

# Lengths of sequences that are none.
cat >lengths.xir <<'END'
graph "lengths" (%0 "l": i32[1]) {
  %c0 = const i64[1] {5}
  %1 = sequence_lengths(%0, %c0)
  return(%1)
} outputs("y")
END
"$xcc" lengths.xir -q -o lengths.neff
for length in '\006\0\0\0' '\377\377\377\377'; do
    one_integer i4 "$length" >length.npy
    refuses 1 "expected 0 to 5, the steps of the input" "$xrun" lengths.neff length.npy
done
"$xcc" "$source/test/onnx/rnn/GRU_lengths/model.onnx" --emit ir | grep -q 'sequence_lengths(' ||
    failed "lengths of a GRU are not checked"

# Patterns that take just under the limit for each of many elements: together they would take minutes.
if [ -f "$build/runtime/libxrt_regex.so" ]; then
    cat >regex.xir <<'END'
graph "regex" (%0 "n": i64[1]) {
  %c0 = const str[1] {"aaaaaaaaaaaaaaaaaaaaa!"}
  %1: str[*] = expand(%c0, %0)
  %2: bool[*] = regex_full_match(%1) {pattern="(a+)+"}
  return(%2)
} outputs("y")
END
    "$xcc" regex.xir -q -o regex.neff
    one_integer i8 '\270\013\0\0\0\0\0\0' >times.npy
    refuses 1 "takes too many steps; simplify the pattern" "$xrun" regex.neff times.npy
    sed 's/(a+)+/a+!/' regex.xir >plain.xir
    "$xcc" plain.xir -q -o plain.neff
    "$xrun" plain.neff times.npy >/dev/null || failed "3000 elements of an honest pattern"
fi

# A test case whose data are cut short.
case=$source/test/onnx/math/$(ls "$source/test/onnx/math" | head -1)
mkdir cut
cp "$case/model.onnx" cut
head -c 100 "$case/test_data_set_0.zip" >cut/test_data_set_0.zip
"$xcc" test cut >said 2>&1 && failed "a test case with half a zip passes"
grep -q "^FAIL cut: .*cut/test_data_set_0.zip: not a zip, or cut off" said || failed "half a zip: $(cat said)"
rm -r cut said

# A test tells of every output that is wrong, and of the cases after it.
cp -r "$source/test/hlo_exec/jax_arg_extremes" wrong
cp -r "$source/test/hlo_exec/jax_choose_words" right
for n in 1 4; do head -c -1 wrong/output_$n.npy >cut_$n && { cat cut_$n; printf '\177'; } >wrong/output_$n.npy; done
"$xcc" test wrong right >said 2>&1 && failed "a test case with two wrong outputs passes"
wrong=$(sed -n 's/^FAIL wrong: //p' said)
[ "$(echo "$wrong" | grep -o "output '[^']*': " | wc -l)" = 2 ] || failed "two outputs are wrong: $wrong"
grep -q '^PASS right$' said || failed "a case behind a wrong one: $(cat said)"
rm -r wrong right

# External data that is missing, short, or outside the model's folder.
"$build_models" bert_base --tiny --external -o models >/dev/null
cp models/bert_base/model.onnx.data data
refuses 1 "is an input of this command" "$xcc" models/bert_base/model.onnx --cast-budget 0 -q -o models/bert_base/model.onnx.data
cmp -s data models/bert_base/model.onnx.data || failed "external data was overwritten"
rm models/bert_base/model.onnx.data
refuses 1 "model.onnx.data" "$xcc" models/bert_base/model.onnx -o x.neff
head -c 1000 data >models/bert_base/model.onnx.data
refuses 1 "model.onnx.data" "$xcc" models/bert_base/model.onnx -o x.neff
sed 's/model\.onnx\.data/..\/..\/..\/data_/g' models/bert_base/model.onnx >models/bert_base/escape.onnx
refuses 1 "" "$xcc" models/bert_base/escape.onnx -o x.neff
rm -r models data

# Other formats: what the file is, and the way to one that is read.
: >empty.bin
refuses 1 "the file is empty, expected a model" "$xcc" empty.bin -o x.neff
printf '1CCX\000\000\000\000' >made.neff
refuses 1 "a compiled archive; xrun runs it" "$xcc" made.neff -o x.neff
printf '{ lambda ; a:f32[3]. let b:f32[3] = sin a in (b,) }' >f.jaxpr
refuses 1 "a jaxpr" "$xcc" f.jaxpr -o x.neff
printf 'let f = { lambda ; a:bool[] . let in (a,) } in\n{ lambda ; a:f32[3]. let b:f32[3] = sin a in (b,) }' >g.jaxpr
refuses 1 "a jaxpr" "$xcc" g.jaxpr -o x.neff
printf '\010\004\022\040\012\005input' >m.mlmodel
refuses 1 "a Core ML model" "$xcc" m.mlmodel -o x.neff
mkdir -p m.mlpackage
refuses 1 "a Core ML package" "$xcc" m.mlpackage -o x.neff
gzip -c "$digits" >digits.onnx.gz
refuses 1 "a compressed file without HLO" "$xcc" digits.onnx.gz -o x.neff
printf '\062\134\341\046\001\002 random bytes' >random.bin
refuses 1 "no model that is read" "$xcc" random.bin -o x.neff
printf '\034\000\000\000TFL3\000\000' >m.tflite
refuses 1 "tf2onnx.convert --tflite" "$xcc" m.tflite -o x.neff
mkdir -p saved && : >saved/saved_model.pb
refuses 1 "a TensorFlow SavedModel" "$xcc" saved -o x.neff
printf 'PK\003\004..............................m/data.pkl' >m.pt
refuses 1 "torch.onnx.export" "$xcc" m.pt -o x.neff
printf 'func.func @main(%%a: tensor<2xf32>) -> tensor<2xf32> {\n  %%0 = "tosa.abs"(%%a) : (tensor<2xf32>) -> tensor<2xf32>\n  return %%0 : tensor<2xf32>\n}\n' >tosa.mlir
refuses 1 "the dialect 'tosa'" "$xcc" tosa.mlir -o x.neff
printf 'func.func @f(%%a: tensor<3xf32>) -> tensor<3xf32> {\n  %%0 = linalg.exp ins(%%a : tensor<3xf32>) outs(%%a : tensor<3xf32>) -> tensor<3xf32>\n  return %%0 : tensor<3xf32>\n}\n' >linalg.mlir
refuses 1 "the dialect 'linalg'" "$xcc" linalg.mlir -o x.neff
printf 'func.func @main(%%a: !torch.vtensor<[3],f32>) -> !torch.vtensor<[3],f32> {\n  return %%a : !torch.vtensor<[3],f32>\n}\n' >torch.mlir
refuses 1 "convert the module to StableHLO first" "$xcc" torch.mlir -o x.neff
printf 'version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 12\n' >pointer.onnx
refuses 1 "git lfs pull" "$xcc" pointer.onnx -o x.neff
printf 'PK\003\004..............................readme.txt' >other.zip
refuses 1 "a zip archive in which no model is recognised" "$xcc" other.zip -o x.neff
head -c 1800 "$source/test/stablehlo_exec/jax_export/module.jaxexport" >cut.jaxexport
refuses 1 "jax.export, damaged or truncated" "$xcc" cut.jaxexport -o x.neff
printf 'PK\003\004' >cut.pt2
refuses 1 "a zip archive" "$xcc" cut.pt2 -o x.neff

# Unsupported operators: all of them, in one message.
sed 's/MaxPool/MaxPoul/g; s/Softmax/Saftmax/g' "$digits" >operators.onnx
refuses 1 "MaxPoul" "$xcc" operators.onnx -o x.neff
refuses 1 "Saftmax" "$xcc" operators.onnx -o x.neff
[ ! -e x.neff ] || failed "an archive of a model that was refused"

# Archives that cannot be written.
refuses 1 "cannot write" "$xcc" "$digits" -o no/such/folder/x.neff
refuses 1 "is a directory" "$xcc" "$digits" -o folder.onnx
if [ -w /dev/full ]; then
    refuses 1 "No space left" "$xcc" "$digits" -o /dev/full
fi
small_files() { (ulimit -f 16 && "$@"); }
refuses 1 "File too large" small_files "$xcc" "$digits" -o x.neff
cp good.neff old.neff
refuses 1 "File too large" small_files "$xcc" "$digits" -o old.neff
cmp good.neff old.neff || failed "an archive changed though its replacement could not be written"

# Archives that are missing, empty, cut short, something else, or changed.
refuses 1 "missing.neff: cannot open" "$xrun" missing.neff "$picture"
refuses 1 "empty.onnx" "$xrun" empty.onnx "$picture"
refuses 1 "digits.onnx" "$xrun" "$digits" "$picture"
size=$(wc -c <good.neff)
for part in 1 1000 1024 1025 5000 $((size / 2)) $((size - 1)); do
    head -c $part good.neff >cut.neff
    refuses 1 "cut.neff" "$xrun" cut.neff "$picture"
    refuses 1 "cut.neff" "$xdump" cut.neff
done
(cat good.neff; echo more) >long.neff
refuses 1 "long.neff" "$xrun" long.neff "$picture"
sed 's/"version"/"Version"/; s/pe\.bin/qe.bin/' good.neff >changed.neff
refuses 1 "changed.neff" "$xrun" changed.neff "$picture"

# Inputs.
refuses 1 "f32[batch,1,28,28]" "$xrun" good.neff
refuses 1 "missing.npy" "$xrun" good.neff missing.npy
refuses 1 "nobody" "$xrun" good.neff nobody="$picture"
refuses 1 "" "$xrun" good.neff "$picture" "$picture"
refuses 1 "README.md" "$xrun" good.neff "$source/README.md"
head -c 1000 "$picture" >cut.npy
refuses 1 "cut.npy" "$xrun" good.neff cut.npy
sed '1s/1, 28, 28/1, 56, 14/' "$picture" >shape.npy
refuses 1 "28" "$xrun" good.neff shape.npy
sed '1s/<f4/<i4/' "$picture" >type.npy
refuses 1 "f32" "$xrun" good.neff type.npy
sed '1s/<f4/<x9/' "$picture" >unknown.npy
refuses 1 "unknown.npy" "$xrun" good.neff unknown.npy

# Sizes that only the inputs tell, and that do not go together: the message names the node's result.
rows() { # ROWS: an .npy of ROWS x 4 zeros
    printf '\223NUMPY\001\000v\000'
    printf '%-117s\n' "{'descr': '<f4', 'fortran_order': False, 'shape': ($1, 4), }"
    head -c $(($1 * 16)) /dev/zero
}
for n in 0 1 2 3; do rows $n >rows_$n.npy; done
cat >broadcast.xir <<'END'
graph "broadcast" symbols(n, m) (%0 "x": f32[n,4], %1 "y": f32[m,4]) {
  %2 "sum": f32[*] = add(%0, %1)
  %3 "soft": f32[*] = softmax(%2) {axis=1}
  return(%3)
} outputs("o")
END
"$xcc" broadcast.xir -q -o broadcast.neff
refuses 1 "sizes 3 and 2 do not broadcast in dimension 0 of the node of 'sum'" "$xrun" broadcast.neff rows_3.npy rows_2.npy
cat >counts.xir <<'END'
graph "counts" symbols(n, m) (%0 "x": f32[n,4], %1 "y": f32[m,4]) {
  %c0 = const f32[] {1}
  %2 "one": f32[*] = add(%0, %c0)
  %3 "where": i64[*] = nonzero(%2)
  %4 "numbers": f32[*] = cast(%3) {to=1}
  %5 "row": f32[*] = reduce_sum(%1) {axes=[1], keepdims=0}
  %6 "sum": f32[*] = add(%4, %5)
  return(%6)
} outputs("o")
END
"$xcc" counts.xir -q -o counts.neff
refuses 1 "sizes 12 and 2 do not broadcast in dimension 1 of the node of 'sum'" "$xrun" counts.neff rows_3.npy rows_2.npy
"$xrun" counts.neff rows_3.npy rows_1.npy | grep -qF 'f32[2,12]' || failed "counts and 1 row"
for pair in "3 1 3" "1 3 3" "1 0 0" "2 2 2" "0 0 0"; do
    set -- $pair
    "$xrun" broadcast.neff rows_$1.npy rows_$2.npy | grep -qF "f32[$3,4]" || failed "$1 rows and $2"
done

# Sizes along the axis that a product sums over.
cat >product.xir <<'END'
graph "product" symbols(n, m) (%0 "x": f32[n,4], %1 "y": f32[m,4]) {
  %2 "soft": f32[*] = softmax(%0) {axis=1}
  %3 "product": f32[*] = matmul(%2, %1) {trans_a=1}
  return(%3)
} outputs("o")
END
"$xcc" product.xir -q -o product.neff
for pair in "3 2" "2 3" "1 3" "3 1" "0 1"; do
    set -- $pair
    refuses 1 "'product'" "$xrun" product.neff rows_$1.npy rows_$2.npy
    refuses 1 "sizes $1 and $2 differ in the node of 'product' (matmul): the model needs n = m" "$xrun" product.neff \
        rows_$1.npy rows_$2.npy
done
"$xrun" product.neff rows_3.npy rows_3.npy | grep -qF 'f32[4,4]' || failed "product of 3 rows"

# Outputs that cannot be written, or differ.
refuses 1 "cannot" "$xrun" good.neff "$picture" -o good.neff/out
if [ "$(id -u)" != 0 ]; then
    mkdir -m 555 locked
    refuses 1 "cannot write" "$xrun" good.neff "$picture" -o locked
fi
"$xrun" good.neff "$picture" -o out
"$xrun" good.neff "$picture" --expect out/probabilities.npy >/dev/null || failed "its own output differs"
"$xrun" good.neff "$source/models/digits/digit_8.npy" -o other
refuses 3 "probabilities" "$xrun" good.neff "$picture" --expect other/probabilities.npy
# Memory and time that no machine has: refused when compiled, or when run where only then it is known.
absurd() { # TEXT OPERATOR-LINES...
    text=$1
    shift
    { printf 'graph "absurd" (%%0 "x": f32[2], %%1 "n": i64[1]) {\n'
      printf '  %s\n' "$@" 'return(%9)' '} outputs("y")'; } >absurd.xir
    refuses 1 "$text" "$xcc" absurd.xir -o x.neff
}
larger="which is larger than 1099511627776 bytes"
absurd "dimension 0 has 2 elements, expected 0" '%9 = fft(%0) {kind="RFFT", lengths=[0]}'
absurd "block_size is -1, expected 0 or more" '%c0 = const i8[2,2] {1, 2, 3, 4}' '%c1 = const f32[2,2] {1, 2, 3, 4}' \
    '%2 = dequantize_linear(%c0, %c1) {axis=0, block_size=-1}' '%9 = matmul(%0, %2)'
absurd "$larger" '%c0 = const i64[1] {1099511627776}' '%9 = constant_of_shape(%c0)'
absurd "$larger" '%c0 = const i64[1] {4611686018427387904}' '%c1 = const f32[] {1}' '%9 = expand(%c1, %c0)'
absurd "$larger" '%c0 = const i64[1] {1099511627776}' '%9 = tile(%0, %c0)'
absurd "$larger" '%c0 = const i64[] {0}' '%c1 = const i64[] {1099511627776}' '%c2 = const i64[] {1}' '%9 = range(%c0, %c1, %c2)'
absurd "$larger" '%c0 = const i64[2] {1099511627776, 0}' '%9 = pad(%0, %c0)'
absurd "never ends it" '%c0 = const i64[] {1152921504606846976}' '%c1 = const bool[] {true}' \
    '%9: f32[2] = loop(%c0, %c1, %0) ^(%10: i64[], %11: bool[], %12: f32[2]) {' \
    '    %13 = add(%12, %0)' 'return(%11, %13)' '}'
for step in '%9 = constant_of_shape(%8)' '%9 = expand(%0, %8)' '%9 = tile(%0, %8)'; do
    { printf 'graph "absurd" (%%0 "x": f32[1], %%1 "n": i64[1]) {\n  %%c0 = const i64[1] {17592186044416}\n'
      printf '  %s\n' '%7 = abs(%1)' '%6 = max(%7, %c0)' '%8 = identity(%6)' "$step" 'return(%9)' '} outputs("y")'; } >absurd.xir
    "$xcc" absurd.xir -o absurd.neff
    refuses 1 "a result needs 70368744177664 bytes, the limit is" "$xrun" absurd.neff --random
done
# Two tensors that fit one by one and not together: a limit is met with a message, not with a signal.
printf '%s\n' 'graph "two" (%0 "x": f32[1], %1 "n": i64[1]) {' '  %c0 = const i64[1] {67108864}' '  %2 = max(%1, %c0)' \
    '  %3 = identity(%2)' '  %4 = expand(%0, %3)' '  %5 = tile(%0, %3)' '  return(%4, %5)' '} outputs("a", "b")' >absurd.xir
"$xcc" absurd.xir -o absurd.neff
limited() (
    ulimit -d 400000
    "$xrun" absurd.neff --random --threads 1
)
grep -q __asan_init "$xrun" || refuses 1 "out of memory: a tensor needs" limited
rm -f absurd.xir absurd.neff

# A stack that is small, as threads of some systems have: what grows with a model lies elsewhere.
grep -q __asan_init "$xrun" || (
    ulimit -s 128
    "$xcc" "$digits" -q -o small.neff --auto-cast none && "$xrun" small.neff "$picture" --threads 1 >/dev/null
) || failed "a stack of 128 KiB"
rm -f small.neff

finish
