#!/bin/sh
# Sizes that a model's shape rules assume: archives state them, and refuse others before anything runs.
. "$(dirname "$0")/common.sh"

# guarded NAME WANT GOOD BAD [ENDING]: NAME.xir, or of another ENDING, takes inputs of shapes GOOD, and refuses BAD with
# a message that has WANT
guarded() {
    name=$1 want=$2 good=$3 bad=$4 file=$1.${5:-xir}
    for level in -O0 -O2 -O3; do
        "$xcc" $level -q "$file" -o "$name.neff" || { failed "$name does not compile"; return; }
        files=
        for shape in $good; do
            zeros "in_$shape.npy" "$shape"
            files="$files in_$shape.npy"
        done
        # shellcheck disable=SC2086
        "$xrun" "$name.neff" $files >result.txt || failed "$name $level refuses $good"
        files=
        for shape in $bad; do
            zeros "in_$shape.npy" "$shape"
            files="$files in_$shape.npy"
        done
        # shellcheck disable=SC2086
        refuses 1 "$want" "$xrun" "$name.neff" $files
    done
}

# model NAME BODY: a model of x f32[b,s,4], its result %9
model() {
    printf 'graph "%s" symbols(b, s) (%%0 "x": f32[b,s,4]) {\n%s\n  return(%%9)\n} outputs("o")\n' "$1" "$2" >"$1.xir"
}

# Of an image that is shorter than a window, pools of a step of 2 and more have none or a part of one: refused.
cat >pool.xir <<'END'
graph "pool" symbols(b, s) (%0 "x": f32[b,4,s]) {
  %1: f32[*] = max_pool(%0) {kernel_shape=[3], strides=[2]} @"/pool"
  return(%1)
} outputs("o")
END
guarded pool "size 2 is less than 3 in dimension 2 of node '/pool': the model needs s >= 3 (a window and the padded image of operand 'x')" 3,4,3 3,4,2
sed 's/symbols(b, s)//; s/\[b,4,s\]/[3,4,2]/' pool.xir >short.xir
refuses 1 "node '/pool' (max_pool): size 3 is more than 2 in dimension 2 (a window and the padded image of operand 'x')" "$xcc" short.xir -o short.neff

# A convolution has a whole window, whatever its step.
cat >conv.xir <<'END'
graph "conv" symbols(b, s) (%0 "x": f32[b,4,s], %1 "w": f32[2,4,3]) {
  %2: f32[*] = conv(%0, %1) {strides=[1]} @"/conv"
  return(%2)
} outputs("o")
END
"$xcc" -q conv.xir -o conv.neff
refuses 1 "size 2 is less than 3 in dimension 2 of node '/conv': the model needs s >= 3 (a window and the padded image of operand 'x')" "$xrun" conv.neff --random --shape b=3 --shape s=2
"$xrun" conv.neff --random --shape b=3 --shape s=3 >/dev/null
sed 's/symbols(b, s)//; s/\[b,4,s\]/[3,4,2]/' conv.xir >short_conv.xir
refuses 1 "node '/conv' (conv): size 3 is more than 2 in dimension 2 (a window and the padded image of operand 'x')" "$xcc" short_conv.xir -o short.neff

# Every kind of assumption about the middle size.
model add '  %c0 = const f32[1,2,1] {1, 2}
  %9: f32[*] = add(%0, %c0) @"/add"'
guarded add "sizes 16 and 2 do not broadcast in dimension 1 of node '/add': the model needs s = 2 or 1" 3,2,4 3,16,4
guarded add "(operands 'x' and" 3,1,4 3,3,4
model where '  %c0 = const bool[1,2,1] {true, false}
  %9: f32[*] = where(%c0, %0, %0) @"/where"'
guarded where "in dimension 1 of node '/where': the model needs s = 2 or 1" 3,2,4 3,16,4
model reshape '  %c0 = const i64[2] {6, 4}
  %9: f32[*] = reshape(%0, %c0) @"/reshape"'
guarded reshape "in node '/reshape': the model needs b*s = 6" 3,2,4 3,3,4
model rows '  %c0 = const i64[3] {0, -1, 8}
  %9: f32[*] = reshape(%0, %c0) @"/rows"'
guarded rows "is not a multiple of 8 in dimension 1 of node '/rows': the model needs 4*s a multiple of 8" 3,2,4 3,3,4
model squeeze '  %9: f32[*] = squeeze(%0) {axes=[1]} @"/squeeze"'
guarded squeeze "sizes 2 and 1 differ in dimension 1 of node '/squeeze': the model needs s = 1 (operand 'x')" 3,1,4 3,2,4
model split '  %c0 = const i64[2] {4, 4}
  %9, %8 = split(%0, %c0) {axis=1} @"/split"'
guarded split "sizes 16 and 8 differ in node '/split': the model needs s = 8" 3,8,4 3,16,4
cp "$source/test/e2e/halves.onnx" "$source/test/e2e/skip.onnx" .
guarded halves "size 7 is not a multiple of 2 in node '/halves': the model needs s a multiple of 2" 3,8,4 3,7,4 onnx
guarded skip "sizes of the bias and of the last dimension" "2,3,4 2,3,4 4" "2,3,4 2,3,4 1" onnx
guarded skip "in one of the last two dimensions" "2,3,4 1,3,4 4" "2,3,4 2,1,4 4" onnx
model expand '  %c0 = const i64[3] {3, 8, 4}
  %9: f32[*] = expand(%0, %c0) @"/expand"'
guarded expand "the model needs s = 8 or 1" 3,8,4 3,16,4
model gemm '  %c0 = const i64[2] {0, -1}
  %1: f32[*] = reshape(%0, %c0)
  %c1 = const f32[8,3] {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}
  %9: f32[*] = gemm(%1, %c1) @"/gemm"'
guarded gemm "sizes 12 and 8 differ in node '/gemm': the model needs s = 2" 3,2,4 3,3,4
model bias '  %c0 = const i64[2] {0, 8}
  %1: f32[*] = reshape(%0, %c0)
  %c1 = const f32[8,2] {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}
  %c2 = const f32[3,1] {1, 2, 3}
  %9: f32[*] = gemm(%1, %c1, %c2) @"/bias"'
guarded bias "the model needs b = 3" 3,2,4 4,2,4
model norm '  %c0 = const i64[3] {0, 2, -1}
  %1: f32[*] = transpose(%0) {perm=[0,2,1]}
  %c1 = const f32[5] {1, 2, 3, 4, 5}
  %9: f32[*] = layer_norm(%1, %c1) {axis=2} @"/norm"'
guarded norm "sizes 5 and 6 differ in dimension 0 of node '/norm': the model needs s = 5" 3,5,4 3,6,4
model topk '  %c0 = const i64[1] {3}
  %9, %8 = topk(%0, %c0) {axis=1} @"/topk"'
guarded topk "size 2 is less than 3 in dimension 1 of node '/topk': the model needs s >= 3" 2,3,4 2,2,4
model matmul '  %1: f32[*] = transpose(%0) {perm=[0,2,1]}
  %9: f32[*] = matmul(%0, %0) @"/matmul"'
guarded matmul "columns of the first operand and rows of the second" 3,4,4 3,5,4

# Two symbols of two inputs.
cat >concat.xir <<'END'
graph "concat" symbols(n, m) (%0 "x": f32[n,4], %1 "y": f32[m,4]) {
  %9: f32[*] = concat(%0, %1) {axis=1} @"/concat"
  return(%9)
} outputs("o")
END
guarded concat "sizes 2 and 3 differ in dimension 0 of node '/concat': the model needs n = m (operands 'x' and 'y')" \
    "2,4 2,4" "2,4 3,4"

# Sizes that are computed from what an input holds: how many sequences a search keeps and returns.
whole() { # FILE N: an .npy of one i32, at most 255
    zeros "$1" 1
    sed -i 's/<f4/<i4/' "$1"
    printf "\\$(printf %o "$2")" | dd of="$1" bs=1 seek=128 conv=notrunc 2>dd.txt
    rm dd.txt
}
"$xcc" "$source/test/onnx/contrib/BeamSearch/model.onnx" -q --auto-cast none -o search.neff
for n in 0 2 3 7; do
    whole "$n.npy" $n
done
"$xrun" search.neff --random max=7.npy three=3.npy two=2.npy few=2.npy >result.txt || failed "2 of 3 beams"
grep -q '^y  *i32\[3,2,7\]' result.txt || failed "2 of 3 beams: $(cat result.txt)"
refuses 1 "size 0 is less than 1 in node 'y': the model needs" \
    "$xrun" search.neff --random max=7.npy three=0.npy two=2.npy few=2.npy
refuses 1 "size 3 is more than 2 in node 'y': the model needs" \
    "$xrun" search.neff --random max=7.npy three=2.npy two=3.npy few=2.npy
# Made-up numbers that only say how large a result is are 1 or more: without that the beams are 0.
"$xrun" search.neff --random >result.txt || failed "made-up sizes"

# Bounds of HLO's and StableHLO's types.
cat >bounded.hlo <<'END'
HloModule bounded
ENTRY main {
  x = f32[<=8,4] parameter(0)
  ROOT y = f32[<=8,4] add(x, x)
}
END
cat >limited.mlir <<'END'
func.func @main(%x: tensor<?x4xf32, #stablehlo.bounds<8, ?>>) -> tensor<?x4xf32, #stablehlo.bounds<8, ?>> {
  %y = stablehlo.add %x, %x : tensor<?x4xf32, #stablehlo.bounds<8, ?>>
  return %y : tensor<?x4xf32, #stablehlo.bounds<8, ?>>
}
END
for file in bounded.hlo limited.mlir; do
    guarded "${file%.*}" "size 9 is more than 8 in dimension 0 of input 'x'" 8,4 9,4 "${file#*.}"
    refuses 1 "input 'x': dim 0 is 9, the model's bound is 8" "$xcc" $file --shape x=9,4 -o x.neff
    "$xcc" $file -q --shape x=7,4 -o x.neff || failed "$file: a size within the bound is refused"
done

# What JAX's exports demand of sizes, which it computes by floor division and remainder, written with truncating ones.
cat >halves.mlir <<'END'
func.func @main(%x: tensor<?xf32>, %y: tensor<?xf32>) -> tensor<?xf32> {
  %one = stablehlo.constant dense<1> : tensor<i64>
  %zero = stablehlo.constant dense<0> : tensor<i64>
  %two = stablehlo.constant dense<2> : tensor<i64>
  %f = stablehlo.constant dense<3.0> : tensor<f32>
  %n32 = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?xf32>) -> tensor<i32>
  %n = stablehlo.convert %n32 : (tensor<i32>) -> tensor<i64>
  %q = stablehlo.divide %n, %two : tensor<i64>
  %sn = stablehlo.sign %n : tensor<i64>
  %st = stablehlo.sign %two : tensor<i64>
  %signs = stablehlo.compare NE, %sn, %st, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
  %r = stablehlo.remainder %n, %two : tensor<i64>
  %rest = stablehlo.compare NE, %r, %zero, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
  %below = stablehlo.and %signs, %rest : tensor<i1>
  %less = stablehlo.subtract %q, %one : tensor<i64>
  %half = stablehlo.select %below, %less, %q : tensor<i1>, tensor<i64>
  %rn = stablehlo.compare LT, %r, %zero, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
  %tn = stablehlo.compare LT, %two, %zero, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
  %apart = stablehlo.compare NE, %rn, %tn, UNSIGNED : (tensor<i1>, tensor<i1>) -> tensor<i1>
  %both = stablehlo.and %apart, %rest : tensor<i1>
  %more = stablehlo.add %r, %two : tensor<i64>
  %mod = stablehlo.select %both, %more, %r : tensor<i1>, tensor<i64>
  %even = stablehlo.compare EQ, %mod, %zero, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
  stablehlo.custom_call @shape_assertion(%even, %mod) {api_version = 2 : i32, error_message = "Expected an even size.", has_side_effect = true} : (tensor<i1>, tensor<i64>) -> ()
  %m32 = stablehlo.get_dimension_size %y, dim = 0 : (tensor<?xf32>) -> tensor<i32>
  %m = stablehlo.convert %m32 : (tensor<i32>) -> tensor<i64>
  %same = stablehlo.compare EQ, %m, %half, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
  stablehlo.custom_call @shape_assertion(%same, %m, %half) {api_version = 2 : i32, error_message = "Expected half.", has_side_effect = true} : (tensor<i1>, tensor<i64>, tensor<i64>) -> ()
  %shape = stablehlo.reshape %half : (tensor<i64>) -> tensor<1xi64>
  %b = stablehlo.dynamic_broadcast_in_dim %f, %shape, dims = [] : (tensor<f32>, tensor<1xi64>) -> tensor<?xf32>
  %z = stablehlo.add %y, %b : tensor<?xf32>
  return %z : tensor<?xf32>
}
END
guarded halves "the model needs mod(x_0,2) = 0" "6 3" "7 3" mlir
guarded halves "the model needs y_0 = floordiv(x_0,2)" "6 3" "6 2" mlir
sed 's/%n = \(.*\)/%n0 = \1\n  %n = stablehlo.subtract %n0, %one : tensor<i64>/' halves.mlir >less.mlir
guarded less "the model needs mod(x_0+-1,2) = 0" "7 3" "6 3" mlir
sed 's/%n = \(.*\)/%n0 = \1\n  %n = stablehlo.subtract %n0, %m0 : tensor<i64>/; /%m32 = /d; /%m = /d
    s/^  %f = .*/&\n  %m32 = stablehlo.get_dimension_size %y, dim = 0 : (tensor<?xf32>) -> tensor<i32>\n  %m0 = stablehlo.convert %m32 : (tensor<i32>) -> tensor<i64>/
    /same/d; s/%half :/%m0 :/; s/reshape %half/reshape %m0/' halves.mlir >apart.mlir
guarded apart "the model needs mod(x_0+y_0*-1,2) = 0" "7 3" "6 3" mlir
"$xrun" halves.neff --random >result.txt || failed "made-up sizes that an assertion wants: $(cat result.txt)"
"$xdump" halves.neff | grep -q 'while running' && failed "halves: sizes that only running tells"
sed '/shape_assertion(%even/d; s/.*shape_assertion(%same/  %all = stablehlo.and %even, %same : tensor<i1>\n&/; s/_assertion(%same/_assertion(%all/' halves.mlir >all.mlir
guarded all "the model needs mod(x_0,2) = 0" "6 3" "7 3" mlir
guarded all "the model needs y_0 = floordiv(x_0,2)" "6 3" "6 2" mlir
sed 's/%even = .*/%even = stablehlo.or %apart, %rest : tensor<i1>/' halves.mlir >odd.mlir
"$xcc" odd.mlir -o odd.neff 2>said.txt || failed "an assertion that is no comparison"
grep -q "shape assertion is no comparison of sizes, and is not checked: Expected an even size" said.txt ||
    failed "nothing said of an assertion that is not checked: $(cat said.txt)"

# The divisor is a size too: select(y == 0, 1, y) in the remainder, and truth values compared with false.
cat >sizes.mlir <<'END'
func.func @main(%x: tensor<?xf32>, %y: tensor<?xf32>) -> tensor<?xf32> {
  %one = stablehlo.constant dense<1> : tensor<i32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %no = stablehlo.constant dense<false> : tensor<i1>
  %n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?xf32>) -> tensor<i32>
  %m = stablehlo.get_dimension_size %y, dim = 0 : (tensor<?xf32>) -> tensor<i32>
  %q = stablehlo.divide %n, %m : tensor<i32>
  %sn = stablehlo.sign %n : tensor<i32>
  %sm = stablehlo.sign %m : tensor<i32>
  %ne = stablehlo.compare NE, %sn, %sm, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
  %signs = stablehlo.compare NE, %ne, %no, UNSIGNED : (tensor<i1>, tensor<i1>) -> tensor<i1>
  %r0 = stablehlo.remainder %n, %m : tensor<i32>
  %rest0 = stablehlo.compare NE, %r0, %zero, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
  %rest1 = stablehlo.compare NE, %rest0, %no, UNSIGNED : (tensor<i1>, tensor<i1>) -> tensor<i1>
  %below = stablehlo.and %signs, %rest1 : tensor<i1>
  %less = stablehlo.subtract %q, %one : tensor<i32>
  %times = stablehlo.select %below, %less, %q : tensor<i1>, tensor<i32>
  %none = stablehlo.compare EQ, %m, %zero, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
  %by = stablehlo.select %none, %one, %m : tensor<i1>, tensor<i32>
  %r = stablehlo.remainder %n, %by : tensor<i32>
  %rest = stablehlo.compare NE, %r, %zero, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
  %rn = stablehlo.compare LT, %r, %zero, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
  %bn = stablehlo.compare LT, %by, %zero, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
  %apart = stablehlo.compare NE, %rn, %bn, UNSIGNED : (tensor<i1>, tensor<i1>) -> tensor<i1>
  %both = stablehlo.and %apart, %rest : tensor<i1>
  %more = stablehlo.add %r, %by : tensor<i32>
  %mod = stablehlo.select %both, %more, %r : tensor<i1>, tensor<i32>
  %fits = stablehlo.compare EQ, %mod, %zero, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
  stablehlo.custom_call @shape_assertion(%fits, %mod) {api_version = 2 : i32, error_message = "Expected a multiple.", has_side_effect = true} : (tensor<i1>, tensor<i32>) -> ()
  %enough = stablehlo.compare GE, %times, %one, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
  stablehlo.custom_call @shape_assertion(%enough, %times) {api_version = 2 : i32, error_message = "Expected one.", has_side_effect = true} : (tensor<i1>, tensor<i32>) -> ()
  return %y : tensor<?xf32>
}
END
guarded sizes "the model needs mod(x_0,max(y_0,1)) = 0" "6 3" "7 3" mlir
guarded sizes "the model needs floordiv(x_0,y_0) >= 1" "6 3" "0 3" mlir
# What is divided may be negative, and so may the divisor.
sed 's/%n = \(.*\)/%n0 = \1/; s/^  %m = .*/&\n  %n = stablehlo.subtract %n0, %m : tensor<i32>/
    s/compare GE, %times, %one/compare LE, %times, %one/' sizes.mlir >below.mlir
guarded below "the model needs mod(x_0+y_0*-1,max(y_0,1)) = 0" "1 1" "2 4" mlir
guarded below "the model needs floordiv(x_0+y_0*-1,y_0) <= 1 (Expected one.)" "4 2" "6 2" mlir
sed 's/%m = \(.*\)/%m0 = \1\n  %m = stablehlo.subtract %m0, %n : tensor<i32>/' sizes.mlir >either.mlir
guarded either "Expected a multiple" "2 4" "2 5" mlir
guarded either "Expected one" "2 3" "2 0" mlir
for model in below either; do
    "$xcc" $model.mlir -o $model.neff 2>said.txt
    grep -q 'not checked' said.txt && failed "$model: $(cat said.txt)"
done

# A pass that removes or rewrites the node keeps what it assumed; so does the text of the graph.
model gone '  %c0 = const i64[3] {0, 2, 4}
  %1: f32[*] = reshape(%0, %c0) @"/gone"
  %9: f32[*] = relu(%1)'
guarded gone "in node '/gone': the model needs s = 2" 3,2,4 3,3,4
"$xcc" gone.xir -q --emit ir -o gone.after.xir
grep -q 'guard equal(' gone.after.xir || grep -q reshape gone.after.xir || failed "the graph's text has lost a guard"
"$xcc" gone.after.xir -q --emit ir -o gone.again.xir
"$xcc" gone.after.xir -q -o gone.neff
zeros in.npy 3,3,4
refuses 1 "the model needs s = 2" "$xrun" gone.neff in.npy
"$xcc" gone.xir -q --emit asm -o gone.asm
grep -q '^guard equal' gone.asm || failed "no guard in the program's text"

# What is said about it.
"$xcc" split.xir -v -o split.neff 2>said.txt
grep -q "warning: node '/split' needs s = 8; the archive refuses other sizes" said.txt || failed "no warning: $(cat said.txt)"
grep -q "guard: s = 8  node '/split'" said.txt || failed "xcc -v lists no guard"
"$xdump" split.neff | grep -q "s = 8 .*node '/split'" || failed "xdump lists no guard"
"$xcc" split.xir -q -o split.neff 2>said.txt
[ ! -s said.txt ] || failed "a warning in spite of -q"

# Inputs made up are such that the model takes them: sizes that guards pin, and numbers within their tables.
"$xrun" split.neff --random >result.txt || failed "--random does not know what s must be"
refuses 1 "sizes 16 and 8 differ" "$xcc" split.xir --shape s=16 -o x.neff
refuses 1 "sizes 16 and 8 differ" "$xcc" split.xir --shape x=3,16,4 -o x.neff
refuses 1 "--shape nonsense: no input and no symbolic dim has that name; the inputs are x f32[b,s,4]" \
    "$xcc" split.xir --shape nonsense=4 -o x.neff
refuses 1 "--keep-fp32 'nothing*' matches no node" "$xcc" split.xir --keep-fp32 'nothing*' -o x.neff
"$xcc" gemm.xir -q --keep-fp32 '/gem*' -o x.neff && rm x.neff || failed "--keep-fp32 of a node that is there"
cat >table.xir <<'END'
graph "table" symbols(n) (%0 "ids": i64[n], %1 "x": f32[n]) {
  %c0 = const f32[2] {1, 2}
  %2: i64[*] = identity(%0)
  %3: f32[*] = gather(%c0, %2)
  %9: f32[*] = add(%3, %1)
  return(%9)
} outputs("o")
END
"$xcc" table.xir -q -o table.neff
zeros x7.npy 7
"$xrun" table.neff x=x7.npy --random >result.txt || failed "--random draws indices outside their table"
"$xdump" table.neff --asm | grep -q 'slot %0 input "ids" i64\[n\] range 0 1' || failed "no range of the indices"
for program in "$xcc" "$xrun" "$xdump"; do
    "$program" --version | grep -q '^x[a-z]* [0-9]' || failed "$program --version"
done

# Branches count when they are taken, bodies of loops when they run, and running's own sizes when they are known.
cat >branch.xir <<'END'
graph "branch" symbols(s) (%0 "x": f32[s], %1 "c": f32[1]) {
  %c0 = const f32[1] {1}
  %2: bool[*] = gt(%1, %c0)
  %c1 = const i64[] {0}
  %3: bool[*] = squeeze(%2) {axes=[0]}
  %9: f32[*] = if(%3) ^() {
    %c2 = const f32[4] {1, 2, 3, 4}
    %4: f32[*] = add(%0, %c2) @"/taken"
    return(%4)
  } ^() {
    %5: f32[*] = neg(%0)
    return(%5)
  }
  return(%9)
} outputs("o")
END
# one FILE VALUE: an .npy of one f32, 2 or 0
one() {
    {
        printf '\223NUMPY\001\000v\000'
        printf '%-117s\n' "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }"
        printf "$2"
    } >"$1"
}
one yes.npy '\000\000\000\100'
one no.npy '\000\000\000\000'
zeros x7.npy 7
zeros x4.npy 4
for level in -O0 -O2; do
    "$xcc" $level -q branch.xir -o branch.neff
    "$xrun" branch.neff x7.npy no.npy >result.txt || failed "a branch that is not taken is checked"
    "$xrun" branch.neff x4.npy yes.npy >result.txt || failed "a branch that fits is refused"
    refuses 1 "sizes 7 and 4 do not broadcast in dimension 0 of node '/taken': the model needs s = 4 or 1" \
        "$xrun" branch.neff x7.npy yes.npy
done
cat >counts.xir <<'END'
graph "counts" symbols(n, m) (%0 "x": f32[n,4], %1 "y": f32[m,4]) {
  %c0 = const f32[] {1}
  %2 "one": f32[*] = add(%0, %c0)
  %3 "where": i64[*] = nonzero(%2)
  %4 "numbers": f32[*] = cast(%3) {to=1}
  %c1 = const i64[1] {-1}
  %5 "flat": f32[*] = reshape(%4, %c1)
  %c2 = const i64[2] {8, 2}
  %9: f32[*] = reshape(%5, %c2) @"/pairs"
  return(%9)
} outputs("o")
END
guarded counts "in node '/pairs': the model needs" "2,4 1,4" "3,4 1,4"

# Inputs that --random makes: of a size that windows fit in, places within what they are places of.
cat >made.xir <<'END'
graph "made" symbols(n) (%0 "x": f32[1,1,n], %1 "scores": f32[6,3], %2 "labels": i64[6], %3 "place": i64[6,3], %4 "k": i64[1]) {
  %c0 = const f32[1,1,5] {1, 1, 1, 1, 1}
  %5 = conv(%0, %c0)
  %6 = nll_loss(%1, %2)
  %7 = scatter_elements(%1, %3, %1) {axis=1}
  %8, %9 = topk(%1, %4) {axis=1}
  return(%5, %6, %7, %8)
} outputs("a", "b", "c", "d")
END
for level in -O0 -O2; do
    "$xcc" $level -q made.xir -o made.neff
    "$xrun" made.neff --random >result.txt 2>&1 || failed "--random at $level: $(cat result.txt)"
    grep -q "^a  f32\[1,1,4\]" result.txt || failed "--random made another size at $level: $(cat result.txt)"
done

# Damaged guards are refused when the archive is opened.
"$xcc" split.xir -q -o split.neff
for change in 's/"must": "equal"/"must": "equaX"/' 's/"guards"/"symbols"/'; do
    sed "$change" split.neff >changed.neff
    cmp -s split.neff changed.neff || "$xrun" changed.neff in.npy >result.txt 2>&1 && failed "accepted after $change"
done
rm -f result.txt
finish
