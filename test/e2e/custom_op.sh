#!/bin/sh
# custom_op.sh BUILD SCRATCH: operators of libraries (xop.h), from README's program to damaged and hostile archives.
. "$(dirname "$0")/common.sh"
cc="${CC:-cc} -std=c11 -Wall -Wextra -Werror -O2 -shared -fPIC -I$source/runtime"
ctc=$source/models/ctc
threads="1 2 3 8"

# ---- README's operator, as written ----
"$source/test/readme_program" 'xop[.]h' >ctc.c
$cc ctc.c -o ctc.so
refuses 1 "GreedyDecoder of my.ctc 1, 1 node: 'labels' (no operator of ONNX: --custom-op names a library that has it)" "$xcc" "$ctc/ctc.onnx" -o none.neff
"$xcc" "$ctc/ctc.onnx" --custom-op ctc.so -o ctc.neff -q
refuses 1 "it needs code that is in the archive, my.ctc::GreedyDecoder of library 'ctc.so': --allow-code" \
    "$xrun" ctc.neff "$ctc/scores.npy"
for n in $threads; do
    "$xrun" ctc.neff "$ctc/scores.npy" --allow-code --threads "$n" --expect "$ctc/labels.npy" --expect "$ctc/count.npy" \
        >out.txt || failed "README's operator with $n threads"
done
"$xrun" ctc.neff "$ctc/scores.npy" --allow-code --guard-operands --expect "$ctc/labels.npy" >out.txt ||
    failed "README's operator between guard pages"
"$xrun" ctc.neff "$ctc/scores.npy" --custom-op ctc.so --expect "$ctc/labels.npy" >out.txt || failed "the caller's own library"
"$xcc" "$ctc/ctc.onnx" --custom-op ctc.so -o again.neff -q
cmp ctc.neff again.neff || failed "the same model and library give different archives"
"$xcc" "$ctc/ctc.onnx" --custom-op ctc.so --custom-op-external -o external.neff -q
refuses 1 "which the archive names and does not have: give it with --custom-op ctc.so" \
    "$xrun" external.neff "$ctc/scores.npy" --allow-code
"$xrun" external.neff "$ctc/scores.npy" --custom-op ctc.so --expect "$ctc/labels.npy" >out.txt || failed "an external library"
"$xdump" ctc.neff | grep -q "1 custom" || failed "xdump does not show the call"
"$xdump" ctc.neff | grep -q "^code .*ctc.so for $(uname -m), .*, sha256 $(sha256sum ctc.so | cut -d' ' -f1)" ||
    failed "xdump does not show the code: $("$xdump" ctc.neff | grep ^code)"
"$xdump" external.neff | grep -q "^code .*, not in the archive," || failed "xdump does not show the library"
mkdir -p case/test_data_set_0
cp "$ctc/ctc.onnx" case/model.onnx
cp "$ctc/scores.npy" case/test_data_set_0/input_0.npy
cp "$ctc/labels.npy" case/test_data_set_0/output_0.npy
cp "$ctc/count.npy" case/test_data_set_0/output_1.npy
for how in -O2 --reference "--target trn1"; do
    # shellcheck disable=SC2086
    "$xcc" test --custom-op ctc.so $how case >out.txt || failed "xcc test $how: $(cat out.txt)"
done
"$xcc" "$ctc/ctc.onnx" --custom-op ctc.so --verify -q -o verified.neff || failed "xcc --verify"
"$build/runtime/sim/xsim" ctc.neff >out.txt || failed "xsim of an archive with code"

# ---- from StableHLO and HLO, by the target of a custom call ----
program() { # FILE ARGUMENT... : the result of README's operator
    file=$1
    shift
    "$xcc" "$file" --custom-op ctc.so --auto-cast none -o call.neff -q || failed "$file does not compile"
    "$xrun" call.neff "$ctc/scores.npy" --allow-code --expect "$ctc/labels.npy" --expect "$ctc/count.npy" >out.txt ||
        failed "$file gives another result"
}
for target in my.ctc::GreedyDecoder my.ctc.GreedyDecoder GreedyDecoder; do
    for batch in 11 '?'; do
        cat >call.mlir <<END
module @m {
  func.func public @main(%arg0: tensor<${batch}x20x6xf32>) -> (tensor<${batch}x20xi64>, tensor<${batch}xi64>) {
    %0:2 = stablehlo.custom_call @"$target"(%arg0) {api_version = 4 : i32, backend_config = {blank = 0 : i64}} : (tensor<${batch}x20x6xf32>) -> (tensor<${batch}x20xi64>, tensor<${batch}xi64>)
    return %0#0, %0#1 : tensor<${batch}x20xi64>, tensor<${batch}xi64>
  }
}
END
        program call.mlir
    done
    sed 's/blank = 0/"\\62lank" = 0/' call.mlir >escaped.mlir # MLIR writes bytes of strings in hexadecimal
    program escaped.mlir
    cat >call.hlo <<END
HloModule m

ENTRY main {
  x = f32[11,20,6]{2,1,0} parameter(0)
  ROOT y = (s64[11,20]{1,0}, s64[11]{0}) custom-call(x), custom_call_target="$target", backend_config="{\"blank\": 0}"
}
END
    program call.hlo
done
refuses 1 "custom-call of 'GreedyDecoder', a target that is not known" "$xcc" call.hlo -o none.neff
cat >callback.mlir <<'END'
func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
  %y = stablehlo.custom_call @xla_ffi_python_cpu_callback(%x) {mhlo.backend_config = {index = 0 : ui64}} : (tensor<3xf32>) -> tensor<3xf32>
  return %y : tensor<3xf32>
}
END
refuses 1 "calls Python while the program runs, as jax.pure_callback" "$xcc" callback.mlir -o none.neff
sed 's/s64\[11,20\]/s64[11,10]/' call.hlo >wrong.hlo
refuses 1 "result 0 of my.ctc::GreedyDecoder is i64[11,20], the program declares s64[11,10]" \
    "$xcc" wrong.hlo --custom-op ctc.so -o none.neff
sed 's/blank/black/' call.hlo >wrong.hlo
refuses 1 "attribute 'black' is not one of my.ctc::GreedyDecoder: blank: int = 0" "$xcc" wrong.hlo --custom-op ctc.so -o none.neff
sed 's/\\"blank\\": 0/blank = /' call.hlo >wrong.hlo
refuses 1 "the backend_config of my.ctc::GreedyDecoder is no dictionary" "$xcc" wrong.hlo --custom-op ctc.so -o none.neff

# ---- other operators, from graphs as text ----
$cc "$source/test/e2e/custom_op.c" -o ops.so
graph() { # NAME TEXT
    echo "$2" >"$1.xir"
}
runs() { # NAME [XRUN ARGUMENT...]: compiled and run with each number of threads, to the same bytes
    name=$1
    shift
    "$xcc" "$name.xir" --custom-op ops.so --auto-cast none -o "$name.neff" -q || failed "$name: does not compile"
    for n in $threads; do
        "$xrun" "$name.neff" --random "$@" --allow-code --threads "$n" -o "$name.$n" || failed "$name with $n threads"
        for file in "$name".1/*; do
            cmp "$file" "$name.$n/$(basename "$file")" || failed "$name: $n threads give another result"
        done
    done
}
# Lists of attributes: of MLIR, and arrays, which is what JAX makes of NumPy's.
lists() { # SUM ATTRIBUTES
    cat >lists.mlir <<END
func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
  %y = stablehlo.custom_call @"test::Lists"(%x) {api_version = 4 : i32, mhlo.backend_config = {$2}} : (tensor<3xf32>) -> tensor<3xf32>
  return %y : tensor<3xf32>
}
END
    "$xcc" lists.mlir --custom-op ops.so --auto-cast none -o lists.neff -q || failed "attributes $2"
    "$xrun" lists.neff --random --allow-code | grep -q " max $1 " || failed "attributes $2: $("$xrun" lists.neff --random --allow-code)"
}
lists 101 ''
lists 347 'ints = [1, -2], floats = [0.5, 1.5 : f32]'
lists 47 'ints = array<i64: 1, -2>, floats = array<f64: 0.5>'
lists 47 'ints = dense<[1, -2]> : tensor<2xi64>, floats = dense<5.000000e-01> : tensor<1xf64>'
lists 297 'ints = dense<"0x01000000FEFFFFFF"> : tensor<2xi32>, floats = dense<1.0> : tensor<2xf32>'
lists 3 'ints = dense<"0x01"> : tensor<2xui8>, floats = dense<> : tensor<0xf64>'
lists 600 'ints = dense<"0xC8"> : tensor<2xui8>, floats = dense<> : tensor<0xf64>'
lists 175 'ints = dense<"0x"> : tensor<0xi64>, floats = dense<"0x0000003F0000803E0000803E"> : tensor<3xf32>'
for text in 'dense<[1, 2]> : tensor<3xi64>' 'dense<[[1, 2]]> : tensor<1x2xi64>' 'dense<"0x01"> : tensor<2xi64>' 'dense<"0x0G"> : tensor<1xi8>' \
    'dense<1> : tensor<9999xi64>' 'dense<1>' 'dense<1> : tensor<1xi64' 'array<i64: 1' 'dense<[1'; do
    sed "s/backend_config = {.*}} :/backend_config = {ints = $text}} :/" lists.mlir >wrong.mlir
    refuses 1 "" "$xcc" wrong.mlir --custom-op ops.so -o none.neff
    echo "HloModule m

ENTRY main {
  x = f32[3] parameter(0)
  ROOT y = f32[3] custom-call(x), custom_call_target=\"test::Lists\", backend_config={ints = $text}
}" >wrong.hlo
    refuses 1 "" "$xcc" wrong.hlo --custom-op ops.so -o none.neff
done
graph scale 'graph "g" symbols(n) (%0 "x": f32[n,5,3]) {
  %1 = custom(%0) {custom_operator="test::Scale", factor=4}
  %2 = custom(%0) {custom_operator="Scale"}
  %3 = sub(%1, %2)
  %4 = sub(%3, %2)
  return(%1, %4)
} outputs("y", "zero")'
runs scale
"$xrun" scale.neff --random --allow-code | grep -q '^zero .* min 0  max 0 ' || failed "4 x - 2 x is not 2 x"
graph constants 'graph "g" (%0 "x": f32[2]) {
  %c1 = const f32[2] {1, 2}
  %2 = custom(%c1) {custom_operator="test::Scale"}
  %3 = add(%0, %2)
  return(%3)
} outputs("y")'
"$xcc" constants.xir --custom-op ops.so --emit ir >out.txt
! grep -q "custom(" out.txt || failed "constants are not folded: $(cat out.txt)"
"$xcc" constants.xir --custom-op ops.so -o constants.neff -q
"$xrun" constants.neff --random >out.txt || failed "an archive without a call needs code"
graph pairs 'graph "g" symbols(n, m) (%0 "x": f32[n,2,m]) {
  %1 = custom(%0) {custom_operator="test.Pairs"}
  return(%1)
} outputs("y")'
runs pairs
"$xcc" pairs.xir --custom-op ops.so --emit ir | grep -q 'f32\[n,2,floordiv(m,2)\]' || failed "a symbolic shape function"
graph rows 'graph "g" symbols(n) (%0 "x": f32[n,4]) {
  %1 = custom(%0) {custom_operator="test::Rows"}
  return(%1)
} outputs("y")'
runs rows
"$xcc" rows.xir --custom-op ops.so --emit ir | grep -q 'f32\[n,9\]' || failed "a shape function for numbers"
graph positive 'graph "g" symbols(n) (%0 "x": f32[n]) {
  %1 = custom(%0) {custom_operator="test::Positive"}
  %2 = add(%1, %1)
  return(%2)
} outputs("y")'
runs positive
graph sum 'graph "g" symbols(n) (%0 "a": f32[n], %1 "b": f32[n], %2 "c": f32[n]) {
  %3, %4 = custom(%0, %1, %2) {custom_operator="test::Sum"}
  %5 = custom(%0, %1) {custom_operator="test::Sum"}
  return(%3, %4, %5)
} outputs("y", "count", "z")'
runs sum
"$xrun" sum.neff --random --allow-code | grep -q '^count .*min 3  max 3' || failed "operands that repeat"

graph most 'graph "g" symbols(n) (%0 "x": f32[n]) {
  %1 = custom(%0) {custom_operator="test::Most"}
  %2 = add(%1, %1)
  return(%2)
} outputs("y")'
"$xcc" most.xir --custom-op ops.so -o most.neff -q
refuses 1 "is f32[64], which is not what was planned" "$xrun" most.neff --random --allow-code
graph forget 'graph "g" (%0 "x": f32[4]) {
  %1 = custom(%0) {custom_operator="test::Forget"}
  return(%1)
} outputs("y")'
"$xcc" forget.xir --custom-op ops.so -o forget.neff -q
refuses 1 "test::Forget: it ended without xop_resize of result 'y'" "$xrun" forget.neff --random --allow-code
graph count 'graph "g" (%0 "x": f32[2]) {
  %c1 = const f32[4] {1, -2, 3, -4}
  %1 = custom(%c1) {custom_operator="test::Positive"}
  %2 = custom() {custom_operator="test::Count", n=2}
  %3 = add(%0, %1)
  %4 = add(%3, %2)
  return(%4)
} outputs("y")'
"$xcc" count.xir --custom-op ops.so --emit ir >out.txt
! grep -q "custom" out.txt || failed "constants are not folded: $(cat out.txt)"

# ---- calls that do not fit ----
wrong() { # TEXT ATTRIBUTES TYPE
    graph wrong "graph \"g\" symbols(n) (%0 \"x\": $3) {
  %1 = custom(%0) {$2}
  return(%1)
} outputs(\"y\")"
    refuses 1 "$1" "$xcc" wrong.xir --custom-op ops.so -o wrong.neff
}
wrong "operand 'x' is i32, expected f32|f64" 'custom_operator="test::Scale"' 'i32[n]'
wrong "operand 'x' has rank 2, expected 1: x: f32[n]" 'custom_operator="test::Positive"' 'f32[n,n]'
wrong "attribute 'other' is not one of test::Scale" 'custom_operator="test::Scale", other=1' 'f32[n]'
wrong "attribute 'factor' is not of kind float" 'custom_operator="test::Scale", factor="x"' 'f32[n]'
wrong "attribute 'how' (int) is missing" 'custom_operator="test::Wrong"' 'f32[n]'
wrong "no library has operator test::Nothing" 'custom_operator="test::Nothing"' 'f32[n]'
wrong "operand 'x' has rank 1, expected 2" 'custom_operator="test::Rows"' 'f32[n]'

# ---- operators that go wrong ----
crash() { # HOW TEXT [OPTION...]
    how=$1 text=$2
    shift 2
    graph wrong "graph \"g\" (%0 \"x\": f32[32]) {
  %1 = custom(%0) {custom_operator=\"test::Wrong\", how=$how}
  return(%1)
} outputs(\"y\")"
    "$xcc" wrong.xir --custom-op ops.so -o wrong.neff -q
    refuses 1 "$text" "$xrun" wrong.neff --random --allow-code "$@"
    rm -f wrong.neff
}
crash 1 "test::Wrong: that is what it does"
crash 2 "operator test::Wrong crashed (core 0): invalid memory access, byte 128 of result 'y', which has 128 bytes" --guard-operands
crash 3 "test::Wrong: it wrote before the start of result 'y', at byte -1" --guard-operands
crash 4 "invalid memory access, operand 'x', which is only to be read" --guard-operands
crash 5 "operator test::Wrong crashed" --guard-operands
crash 6 "operator test::Wrong crashed (core 0): invalid memory access; --guard-operands finds accesses outside its operands"
crash 7 "operator test::Wrong crashed (core 0): abort"

crash 8 "operator test::Wrong ended the program by exit() (core 0)"
crash 9 "operator test::Wrong crashed (core 0): invalid memory access"
crash 10 "(core 0): invalid memory access, byte 65536 of scratch memory, which has 65536 bytes" --guard-operands
open() { # HOW: open.neff, whose result gets its memory while it runs
    graph open "graph \"g\" (%0 \"x\": f32[64]) {
  %1, %2 = custom(%0) {custom_operator=\"test::OpenWrong\", how=$1}
  return(%1, %2)
} outputs(\"y\", \"z\")"
    "$xcc" open.xir --custom-op ops.so -o open.neff -q
}
open 0
"$xrun" open.neff --random --allow-code --guard-operands | grep -q '^y .*f32\[32\] .*max 5 ' || failed "a guarded result of xop_resize"
open 1
refuses 1 "invalid memory access, byte 128 of result 'y', which has 128 bytes" "$xrun" open.neff --random --allow-code --guard-operands
open 2
refuses 1 "test::OpenWrong: it wrote before the start of result 'y', at byte -1" "$xrun" open.neff --random --allow-code --guard-operands
open 3
refuses 1 "it wrote past the end of result 'z', which has 4 bytes, at byte 4" "$xrun" open.neff --random --allow-code --guard-operands
# Without guard pages as well, where an operator writes over what lies beside a result: the heap's own data lay there.
open 2
refuses 1 "test::OpenWrong: it wrote before the start of result 'y', at byte -1" "$xrun" open.neff --random --allow-code
open 3
refuses 1 "it wrote past the end of result 'z', which has 4 bytes, at byte 4" "$xrun" open.neff --random --allow-code
shape() { # TEXT HOW
    graph shape "graph \"g\" symbols(n) (%0 \"x\": f32[n]) {
  %1 = custom(%0) {custom_operator=\"test::BadShape\", how=$2}
  return(%1)
} outputs(\"y\")"
    refuses 1 "$1" "$xcc" shape.xir --custom-op ops.so -o shape.neff
}
shape "xcc: operator test::BadShape crashed (shape function): invalid memory access" 1
shape "the type of result 'y' is not known before it runs: not of these sizes; its declaration" 2
shape "the type of result 'y' is not known before it runs: its shape function gives other types or ranks" 3

# ---- operators that do not return, in the thread that waits for the run or in another one ----
for core in 0 7; do
    graph endless "graph \"g\" (%0 \"x\": f32[8]) {
  %1 = custom(%0) {custom_operator=\"test::Endless\", core=$core}
  return(%1)
} outputs(\"y\")"
    "$xcc" endless.xir --custom-op ops.so -o endless.neff -q
    for n in 1 8; do
        refuses 1 "operator test::Endless has not returned in the time that --limit-seconds allows (core $core)" \
            timeout 60 "$xrun" endless.neff --random --allow-code --limit-seconds 0.2 --threads $n
    done
done
"$xrun" scale.neff --random --allow-code --limit-seconds 60 --bench 3 >out.txt || failed "a limit that is not reached: $(cat out.txt)"
graph endless 'graph "g" (%0 "x": f32[8]) {
  %c1 = const f32[8] {1, 2, 3, 4, 5, 6, 7, 8}
  %1 = custom(%c1) {custom_operator="test::Endless", core=0}
  %2 = add(%0, %1)
  return(%2)
} outputs("y")'
refuses 1 "it takes longer than --limit-seconds allows; operator test::Endless has not returned" \
    timeout 60 "$xcc" endless.xir --custom-op ops.so --limit-seconds 1 -o none.neff
graph shape 'graph "g" (%0 "x": f32[8]) {
  %1 = custom(%0) {custom_operator="test::BadShape", how=4}
  return(%1)
} outputs("y")'
refuses 1 "it takes longer than --limit-seconds allows; operator test::BadShape has not returned" \
    timeout 60 "$xcc" shape.xir --custom-op ops.so --limit-seconds 1 -o none.neff

graph overlap 'graph "g" (%0 "x": f32[64]) {
  %1 = custom(%0) {custom_operator="test::Overlap"}
  return(%1)
} outputs("y")'
"$xcc" overlap.xir --custom-op ops.so -o overlap.neff -q
refuses 1 "test::Overlap: cores 0 and 1 both write element 8 of result 'y'" \
    "$xrun" overlap.neff --random --allow-code --guard-operands
"$xrun" scale.neff --random --allow-code --guard-operands -o scale.guarded || failed "scale between guard pages"
cmp scale.1/y.npy scale.guarded/y.npy || failed "guard pages change the result"

# ---- objects that are none ----
library() { # TEXT FILE
    refuses 1 "$1" "$xcc" "$ctc/ctc.onnx" --custom-op "$2" -o none.neff
}
$cc -DNOTHING "$source/test/e2e/custom_op.c" -o nothing.so
$cc -DOLD_ABI "$source/test/e2e/custom_op.c" -o old.so
$cc -DBAD_DECLARATION "$source/test/e2e/custom_op.c" -o bad.so
head -c 3000 ctc.so >truncated.so
{ head -c 18 ctc.so; printf '\267\000'; tail -c +21 ctc.so; } >other.so # the number of AArch64
[ "$(uname -m)" != aarch64 ] || { { head -c 18 ctc.so; printf '\076\000'; tail -c +21 ctc.so; } >other.so; }
library "missing.so: cannot open" missing.so
library "it has no symbol xop_library" nothing.so
library "it was compiled with version 2 of xop.h, expected 1" old.so
library "operator test::Bad: 'm' is no dimension of an operand and no attribute of kind int" bad.so
library "it is truncated" truncated.so
library "it is an object for " other.so
library "it is no shared object (ELF)" ctc.c

# ---- archives that lie ----
archive() { # TEXT: lie.neff, made from ctc.neff
    refuses 1 "$1" "$xrun" lie.neff "$ctc/scores.npy" --allow-code
}
# the first place of a text of the same length as what it becomes
sed "s/\(\"architecture\": *\)\"$(uname -m)\"/\1\"$(uname -m | tr 'a-z' 'b-za')\"/" ctc.neff >lie.neff
archive "is an object for $(uname -m | tr 'a-z' 'b-za'), this machine is $(uname -m)"
sed 's/"custom_libraries"/"custom_librarieX"/' ctc.neff >lie.neff
archive "it calls my.ctc::GreedyDecoder of a library that it does not list"
sed 's/"abi": *1/"abi": 9/' ctc.neff >lie.neff
archive "was compiled with version 9 of xop.h, expected 1"
sed 's/sg00\/custom0.so"/sg00\/custom1.so"/' ctc.neff >lie.neff
archive "member 'sg00/custom1.so' is missing"
sed 's/my.ctc::GreedyDecoder/my.ctc::GreedyDecodeX/g' ctc.neff >lie.neff
archive "library 'ctc.so' lacks operators that it is called for: my.ctc::GreedyDecodeX"
at=$(grep -abo 'ELF' ctc.neff | head -1 | cut -d: -f1)
{ head -c $((at + 4000)) ctc.neff; printf 'damaged'; tail -c +$((at + 4008)) ctc.neff; } >lie.neff
archive "the archive says"
refuses 1 "--allow-code" "$xrun" lie.neff "$ctc/scores.npy"
finish
