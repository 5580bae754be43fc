#!/bin/sh
# xsim --check: nothing is wrong with compiled models; faults planted in copies of them are found and named. More models:
# xsim_hazards_models.sh.
# usage: xsim_hazards.sh BUILD_DIR WORK_DIR
. "$(dirname "$0")/common.sh"
xsim=$build/runtime/sim/xsim

planted_hazards gpt2

# finds KIND EXPRESSION: an edit of the text makes that hazard
"$xcc" "$source/models/digits/digits.onnx" -q --auto-cast matmult --target trn1 --shape batch=1 -o digits.neff
"$build/xdump" digits.neff --asm >digits.xasm
finds() {
    sed "$2" digits.xasm >edited.xasm
    cmp -s digits.xasm edited.xasm && failed "$1: '$2' changes nothing"
    status=0
    "$xsim" --check edited.xasm >out 2>&1 || status=$?
    [ $status -eq 1 ] || failed "$1: exit status $status"
    grep -q "^kernel [0-9]* '[^']*': $1: " out || failed "$1: $(head -2 out)"
}
first=$(sed -n 's/^ *tile sbuf0 .* at //p' digits.xasm)
last=$(sed -n 's/.*op=mul wait s1>=\([0-9]*\) .*/\1/p' digits.xasm | tail -1)
load=$(grep -n ' sp\.dma_copy .* signal ' digits.xasm | tail -1 | cut -d: -f1) # the line of the last one
finds "missing wait" '0,/\.tensor_copy/s/\(\.tensor_copy.*\) wait s[0-9]*>=[0-9]*/\1/'
finds "wrong count" "s/op=add wait s1>=$((last - 1)) /op=add wait s1>=$last /"
finds "deadlock" "s/op=mul wait s1>=$last /op=mul wait s1>=$((last + 1)) /"
# Of each engine's first signal: what waits for it would count a later one's, which may wait for the same.
for engine in pool act dve pe; do
    finds "wrong count" "0,/ $engine\..* signal/s/\( $engine\..*\) signal s[0-9]*/\1/"
done
# All loads begin at once: without one's signal the last of them is not counted.
finds "deadlock" '0,/\(sp.dma_copy.*\) signal s[0-9]*/s/\(sp.dma_copy.*\) signal s[0-9]*/\1/'
finds "deadlock" "${load}s/ signal s[0-9]*//"
finds "overlapping buffers" "s/tile sbuf1 bf16 7 x 112 at .*/tile sbuf1 bf16 7 x 112 at $first/"
finds "capacity" 's/tile sbuf1 bf16 7 x 112 at .*/tile sbuf1 bf16 7 x 112 at 180160/'
finds "uninitialised read" 's/\(dst=sbuf0 f32\[0\](7:112, \)112:1\(), src=%0 f32\[0\](7:112, \)112:1/\196:1\296:1/'
# A tile seen as elements of which a partition does not hold a whole number, in more than one partition.
finds "capacity" '0,/stationary=sbuf[0-9]* bf16\[0\](118:9, 1:1)/s/\(stationary=sbuf[0-9]* \)bf16\(\[0\](118:9, 1:1)\)/\1f32\2/'

# Of a program of several steps, whose batch is open.
"$xcc" "$source/models/digits/digits.onnx" -q --auto-cast matmult --target trn1 -o digits.neff
"$build/xdump" digits.neff --asm >digits.xasm
# across_steps KIND EXPRESSION: the same, of what steps do together
across_steps() {
    sed "$2" digits.xasm >edited.xasm
    cmp -s digits.xasm edited.xasm && failed "$1: '$2' changes nothing"
    status=0
    "$xsim" --check edited.xasm >out 2>&1 || status=$?
    [ $status -eq 1 ] || failed "$1: exit status $status"
    grep -q "^$1: step [0-9]* '[^']*', node '[^']*', instruction [0-9]* " out || failed "$1: $(head -2 out)"
}
across_steps "uninitialised read" '/^ *launch 1/{h;N;s/\(.*\)\n\(.*\)/\2\n\1/}'
across_steps "uninitialised read" '/^ *launch 0/d'
# Beyond the end of what is only read, as the constants are.
across_steps "capacity" 's/\(src=%2 bf16\[g1\*108\)\]/\1+1]/'
# Instances that store in one place: there are several of a batch of more than one only.
across_steps "dependent instances" 's/\(dst=%5 bf16\[\)g0\*2352+/\1/'

# A fault behind many instructions.
cat >long.xasm <<'END'
program "long" target trn1
outputs "y"

slot %0 planned "y" f32[128,2] output

kernel 0 "long" grid() vars 1 semaphores 1 flops 0 bytes 0 {
  tile sbuf0 f32 128 x 2 at 0
  loop i0 < 12000 {
    dve.memset dst=sbuf0 f32[0](128:2, 1:1), value=0
    dve.tensor_copy dst=sbuf0 f32[0](128:2, 1:1), src=sbuf0 f32[0](128:2, 1:1) signal s0
  }
  sp.dma_copy dst=%0 f32[0](128:2, 2:1), src=sbuf0 f32[0](128:2, 2:1) wait s0>=12000
}

region 0 () -> (%0) {
  launch 0
}
END
"$xsim" --check long.xasm >out && failed "an uninitialised read behind 24000 instructions: $(cat out)"
grep -q "^kernel 0 'long': uninitialised read: " out || failed "behind 24000 instructions: $(cat out)"

# Steps that are calls, and results without a step, are named too.
cat >calls.xasm <<'END'
program "calls" target cpu
node 0 "n" "Neg"
outputs "y"

slot %0 input "x" f32[2]
slot %1 planned "late" f32[2]
slot %2 planned "y" f32[2] output

call 0 neg(%1) -> (%2) node 0
call 1 neg(%0) -> (%1) node 0

region 0 (%0) -> (%2) {
  call 0 # neg
  call 1 # neg
}
END
"$xsim" --check calls.xasm >out && failed "a call before its operand is made: $(cat out)"
grep -q "^uninitialised read: step 0 'neg': reads bytes of 'late' that nothing has written" out || failed "calls: $(cat out)"
"$xsim" --check "$source/test/fuzz/corpus/asm/no_steps.asm" >out && failed "a result that nothing makes: $(cat out)"
grep -q "^uninitialised read: the end of the program: reads bytes of 'y'" out || failed "no steps: $(cat out)"

finish
