#!/bin/sh
# The simulator on compiled models: what it prints is as documented, and the same every time.
# usage: xsim.sh BUILD_DIR WORK_DIR
. "$(dirname "$0")/common.sh"
xsim=$build/runtime/sim/xsim
number='[0-9][0-9]*\.[0-9]'
last="^latency $number us, bound $number us ([a-z]*), pe $number% act $number% dve $number% pool $number% dma $number%\$"

# simulates NAME ARCHIVE FLAGS...: report and JSON agree, twice the same
simulates() {
    name=$1 archive=$2
    shift 2
    "$xsim" "$archive" "$@" >"$name.txt" 2>"$name.err" || { failed "$name: $(cat "$name.err")"; return; }
    "$xsim" "$archive" "$@" >"$name.again"
    cmp -s "$name.txt" "$name.again" || failed "$name: two reports differ"
    tail -n 1 "$name.txt" | grep -q "$last" || failed "$name: last line: $(tail -n 1 "$name.txt")"
    "$xsim" "$archive" "$@" --json >"$name.json"
    for key in latency_us bound_us engines mfu hfu mbu dma_bytes sbuf_peak psum_peak; do
        grep -q "\"$key\":" "$name.json" || failed "$name: no $key in the JSON object"
    done
    # a schedule is never better than its bound
    sed 's/.*"latency_us":\([0-9.]*\),"bound_us":\([0-9.]*\).*/\1 \2/' "$name.json" |
        awk '{ exit !($1 >= $2 * 0.999 && $2 > 0) }' || failed "$name: latency below the bound"
}

for model in mobilenet_v2 bert_base gpt2; do
    "$build_models" $model --tiny -o . >/dev/null
    for target in cpu trn1 trn2; do
        "$xcc" $model/model.onnx -q --target $target -o $model.$target.neff
        simulates $model.$target $model.$target.neff
    done
    simulates $model.cpu_on_inf2 $model.cpu.neff --target inf2
    simulates $model.cores $model.trn1.neff --cores 2
done
"$xcc" "$source/models/digits/digits.onnx" -q --auto-cast matmult --target trn1 -o digits.neff
simulates digits digits.neff --shape image=4,1,28,28
simulates digits_batch digits.neff --shape batch=4
cmp -s digits.txt digits_batch.txt || failed "--shape of an input and of its symbol differ"

"$xcc" "$source/models/digits/digits.onnx" -q --target trn2 --report -o report.neff >report.txt
"$xsim" report.neff | cmp -s - report.txt || failed "xcc --report and xsim differ"

refuses() {
    want=$1
    shift
    status=0
    "$xsim" "$@" >out 2>err || status=$?
    [ $status -eq "$want" ] && [ -s err ] || failed "xsim $*: status $status, expected $want with a message"
}
refuses 2
refuses 2 digits.neff --target gpu
refuses 2 digits.neff --shape image
refuses 2 digits.neff --bogus
refuses 2 digits.neff --json --compare digits.neff
refuses 2 digits.neff --check --json
refuses 2 digits.neff --overlap 0
refuses 2 digits.neff --overlap 9
"$xsim" "$source/models/kernels/mamba_v1.xasm" --cores 2 | grep -q "^core 1 has nothing to do: " || failed "--cores 2 of one instance"
"$xsim" digits.neff --shape batch=4 --cores 2 | grep -q "^pe.1 " || failed "--cores 2: which core an engine is of"
refuses 1 none.neff
refuses 1 digits.neff --shape nothing=4
refuses 1 digits.neff --shape image=4,1,28
"$xsim" "$source/models/kernels/mamba_v1.xasm" | tail -n 1 | grep -q "$last" || failed "assembly"
for kernel in giou matmul softmax; do # which begin with a comment
    "$xsim" "$source/models/kernels/$kernel.xasm" | tail -n 1 | grep -q "$last" || failed "assembly of $kernel"
done
# Iterations and branches as in a run: of a loop in a loop, and of an `if` in it. x is 0: 3 by 2 turns, the second branch.
cat >turns.xir <<'END'
graph "turns" (%0 "x": f32[4,4]) {
  %c0 = const bool[] {1}
  %c1 = const f32[] {3}
  %c2 = const f32[] {2}
  %1 = reduce_sum(%0) {keepdims=0}
  %2 = exp(%1)
  %3 = mul(%2, %c1)
  %4 = mul(%2, %c2)
  %5 = cast(%3) {to=7}
  %6 = cast(%4) {to=7}
  %7 = cast(%1) {to=9}
  %8 = loop(%5, %c0, %0) @"outer" : "Loop" ^(%9: i64[], %10: bool[], %11: f32[4,4]) {
    %12 = loop(%6, %c0, %11) @"inner" : "Loop" ^(%13: i64[], %14: bool[], %15: f32[4,4]) {
      %16 = matmul(%15, %0) @"product" : "MatMul"
      return(%14, %16)
    }
    %17 = if(%7) @"branch" : "If" ^() {
      %18 = exp(%12) @"then" : "Exp"
      return(%18)
    } ^() {
      %19 = matmul(%12, %12) @"else" : "MatMul"
      return(%19)
    }
    return(%10, %17)
  }
  return(%8)
} outputs("y")
END
"$xcc" turns.xir -q --target trn1 -o turns.neff
zeros x.npy 4,4
"$xrun" turns.neff x.npy --profile turns.json >/dev/null
"$xsim" turns.neff --trips outer=3 --trips inner=2 --trips branch=0 >told.txt
"$xsim" turns.neff --trips turns.json >run.txt
cmp -s told.txt run.txt || failed "--trips of a run: $(diff told.txt run.txt)"
"$xsim" turns.neff --trips outer=3 --trips inner=5 --trips branch=0 | cmp -s - run.txt && failed "--trips changes nothing"
"$xsim" turns.neff --trips inner=5 --trips turns.json | cmp -s - run.txt && failed "--trips of a node does not go before a run"
printf '{"traceEvents":[\n]}\n' >none.json
refuses 1 turns.neff --trips none.json
# What limits a program stands first, and no wait is said to cost more than the program can save.
"$xsim" "$source/models/kernels/mamba_v1.xasm" >mamba.txt
grep -q '^  1  9[0-9.]*% of the time ([0-9.]* us): dve works (tensor_tensor [0-9]*%, tensor_copy [0-9]*%): no order' mamba.txt ||
    failed "the first opportunity of mamba_v1: $(grep '^  1 ' mamba.txt)"
grep ' waits for ' mamba.txt | grep -v 'instructions  waits' | awk -v most="$(awk '/^latency/ { gsub(",", ""); print $2 - $5 }' mamba.txt)" '
    /^ +[0-9]+  / && /saves/ { sub(/.*saves /, ""); if ($1 > most + 0.11) bad = 1; seen++ }
    END { exit bad || seen < 3 }' || failed "waits of mamba_v1 that save more than there is: $(cat mamba.txt)"
sed 's/^node \([0-9]*\) "broadcast"/node \1 "step"/' "$source/models/kernels/mamba_v1.xasm" >one_name.xasm
[ "$("$xsim" one_name.xasm | grep -c '^ *[0-9.]* us *[0-9.]*%  dve  *step$')" -eq 1 ] || failed "nodes of one name on the critical path"
# One processor: transfers are a bound too.
"$xsim" "$source/models/kernels/softmax.xasm" | grep -q '^latency .* us (dma), ' || failed "the bound of softmax on cpu"
"$xsim" gpt2.cpu.neff --target inf2 | grep -q '^compiled for cpu, .*: xcc --target inf2' || failed "no word about the target"
"$xsim" gpt2.trn1.neff --target trn2 | grep -q '^compiled for' && failed "a word about a target of the same kind"
printf x >short.neff
refuses 2 "xsim: short.neff: 1 bytes, expected an archive of at least 1024" "$xsim" short.neff
"$build/xdump" digits.neff --asm >digits.xasm
"$xsim" digits.xasm --json >asm.json
"$xsim" digits.neff --json | cmp -s - asm.json || failed "an archive and its text differ"
"$xsim" digits.neff --in-turn --steps >steps.txt
kernels=$("$xsim" digits.neff | sed -n 's/.*: \([0-9]*\) kernels, \([0-9]*\) calls.*/\1 + \2/p')
[ "$(wc -l <steps.txt)" -eq $(($kernels + 2)) ] || failed "--steps: $(wc -l <steps.txt) lines, $kernels steps"
awk 'NR > 1 && /^ / && ($6 < 0.999 || $3 <= 0) { exit 1 }' steps.txt || failed "--steps: a step below its bound"
"$xsim" digits.neff --steps | awk -v steps=$(wc -l <steps.txt) '
    NR > 1 && /^ / { sum += $3 }
    /^latency/ { gsub(",", ""); exit !(sum > $2 - steps * 0.01 && sum < $2 + steps * 0.01) }' ||
    failed "--steps: what steps add is not the latency"

# Layers that became one kernel: a part for each of them, which together do what the step does.
"$xcc" "$source/models/digits/digits.onnx" -q --auto-cast matmult --target trn1 --shape batch=1 -o chained.neff
"$xsim" chained.neff --steps >chained.txt
layers=$(awk '$7 == "-" { printf "%s ", $17 }' chained.txt)
[ "$layers" = "/conv1 /pool1 /conv2 /pool2 /fc /softmax " ] || failed "--steps: parts of a chained kernel: $layers"
grep -q '  /conv1 to /softmax$' chained.txt || failed "--steps: the name of a chained kernel"
"$xcc" bert_base/model.onnx -q --target trn2 --shape batch=1 -o bert_chained.neff
for name in chained bert_chained; do
    for flags in "" --in-turn "--cores 2"; do
        "$xsim" $name.neff --steps $flags | awk '
            function compare(column, rounded,   d) {
                d = sum[column] - step[column]
                if (parts && (d > rounded * (parts + 1) || -d > rounded * (parts + 1))) bad = 1
            }
            function compare_all(   i) {
                compare(3, 0.006) # adds
                compare(9, 0.0006) # MB
                for (i = 11; i <= 15; i++) compare(i, 0.006) # engines, DMA
            }
            $7 ~ /^[0-9]/ { compare_all(); parts = 0; for (i = 3; i <= 15; i++) { step[i] = $i; sum[i] = 0 } }
            $7 == "-" { parts++; all++; for (i = 3; i <= 15; i++) sum[i] += $i; if ($4 > $2 - $1 + 0.011) bad = 1 }
            END { compare_all(); exit bad || all < 6 }' || failed "--steps $flags: parts of $name do not make up its steps"
    done
done
"$xsim" chained.neff --steps --json | grep -q '"parts":\[{"node":"/conv1","begins_us":' || failed "--steps --json"
"$xsim" chained.neff --json | grep -q '"steps"' && failed "--json without --steps has steps"
# Kinds of layers: their times on the critical path add up to the latency, numbers of their own tell no kinds apart.
for model in chained bert_chained gpt2.trn2 mobilenet_v2.trn1 gpt2.cpu; do
    "$xsim" $model.neff --kinds | awk '
        $1 ~ /^[0-9]+$/ { path += $2; adds += $5; kinds++; if ($7 !~ /^[a-z]+$/ || $6 > $3 * $1 + 0.011) bad = 1 }
        /^latency/ { gsub(",", ""); n = 0.01 * (kinds + 10); latency = $2 }
        END { exit bad || !kinds || path > latency + n || path < latency - n || adds > latency + n || adds < latency - n }' ||
        failed "--kinds: times of $model do not add up to the latency: $("$xsim" $model.neff --kinds)"
    "$xsim" $model.neff --kinds | sed -n 's/^ *[0-9]* .* \([0-9.]*\)  \(.*\)$/\2/p' >kinds.txt
    [ -s kinds.txt ] && [ "$(sort -u kinds.txt | wc -l)" -eq "$(wc -l <kinds.txt)" ] || failed "--kinds: $model has a kind twice"
done
"$xsim" bert_chained.neff --kinds | grep -q '^ *3  *[0-9.]* .*  /encoder/layer/#/intermediate/dense/MatMul' ||
    failed "--kinds: $("$xsim" bert_chained.neff --kinds)"
"$xsim" chained.neff --kinds | grep -q '  /conv1$' || failed "--kinds: numbers within words tell kinds apart"
"$xsim" chained.neff --kinds --json | grep -q '"kinds":\[{"kind":"/[a-z0-9]*","layers":1,"path_us":' || failed "--kinds --json"
"$xsim" chained.neff --json | grep -q '"kinds"' && failed "--json without --kinds has kinds"
"$xsim" chained.neff --html chained.html >/dev/null
grep -q '"tracks":\["steps","parts","pe"' chained.html && grep -q '"part: [0-9].* bound ' chained.html ||
    failed "--html: no parts"
apart=$("$xsim" digits.neff --in-turn | sed -n 's/^latency \([0-9]*\).*/\1/p')
[ "$("$xsim" digits.neff | sed -n 's/^latency \([0-9]*\).*/\1/p')" -lt "$apart" ] || failed "--in-turn is not slower"
"$xsim" --constants | grep -q dma_start_ns || failed "--constants"
"$xsim" digits.neff --compare digits.neff | grep -q "^latency .* 1.000x" || failed "--compare"
"$xsim" digits.neff --perfetto digits.trace >/dev/null
grep -q '"name":"nc_matmul"' digits.trace || failed "--perfetto"
finish
