#!/bin/sh
# faults.sh BUILD SCRATCH: what goes wrong while a file is written, or a run goes on, loses nothing.
. "$(dirname "$0")/common.sh"
digits=$source/models/digits
cp "$digits/digits.onnx" m.onnx

# The model is not overwritten, under whatever name.
ln -s m.onnx link.onnx
refuses 1 "is the model itself" "$xcc" m.onnx -o m.onnx
refuses 1 "is the model itself" "$xcc" m.onnx -o ./link.onnx
cmp -s m.onnx "$digits/digits.onnx" || failed "the model was overwritten"
rm link.onnx

# Nor is another file that the command reads.
refuses 1 "m.onnx: is an input of this command" "$xcc" m.onnx --verify -q -o m.onnx
"$xcc" m.onnx -q -o m.neff
cp m.neff m.before
cp "$digits/digit_7.npy" in.npy
refuses 1 "m.neff: is an input of this command" "$xrun" m.neff in.npy --profile m.neff
refuses 1 "in.npy: is an input of this command" "$xrun" m.neff in.npy --profile in.npy
refuses 1 "in.npy: is an input of this command" "$xrun" m.neff image=in.npy --profile in.npy
refuses 1 "m.neff: is an input of this command" "$build/runtime/sim/xsim" m.neff --html m.neff
cmp -s m.neff m.before && cmp -s in.npy "$digits/digit_7.npy" || failed "an input was overwritten"
rm -f m.neff m.before in.npy

# Pipes and /dev/stdout get the archive as a file does.
"$xcc" m.onnx -q -o m.neff
"$xcc" m.onnx -q -o /dev/stdout | cmp -s - m.neff || failed "/dev/stdout as a pipe"
"$xcc" m.onnx -q -o - | cmp -s - m.neff && [ ! -e ./- ] || failed "- as standard output"
"$xcc" m.onnx -q -o /dev/stdout >redirected && cmp -s redirected m.neff || failed "/dev/stdout as a file"
mkfifo pipe
cat pipe >from_pipe &
"$xcc" m.onnx -q -o pipe || failed "cannot write to a pipe"
wait
cmp -s from_pipe m.neff || failed "a pipe gets other bytes"
refuses 1 "not a regular file" "$xcc" pipe -q -o n.neff
rm -f pipe from_pipe redirected

# A result that cannot be printed is one message and status 1, for every program; without descriptors of their own
# programs do not write to files that got their numbers.
for program in "$xcc m.onnx -q --emit asm" "$xcc --list-operators" "$xcc --help" "$xrun m.neff --random" "$xrun --help" \
    "$xdump m.neff" "$xdump m.neff --json" "$xdump m.neff --asm" "$build/runtime/sim/xsim m.neff" \
    "$build/runtime/sim/xsim m.neff --json" "$build/runtime/sim/xsim m.neff --check"; do
    status=0
    # shellcheck disable=SC2086
    $program >/dev/full 2>message || status=$?
    [ "$status" = 1 ] && [ "$(wc -l <message)" = 1 ] && grep -q "cannot write" message ||
        failed "$program to a full disk: status $status, $(cat message)"
    # shellcheck disable=SC2086
    ! $program >&- 2>message && [ "$(wc -l <message)" = 1 ] || failed "$program without standard output: $(cat message)"
done
"$xcc" m.onnx -o n.neff <&- >&- 2>&- && cmp -s n.neff m.neff || failed "without descriptors the archive is another one"
"$xrun" n.neff --random -o n <&- >&- 2>&- && "$xrun" m.neff --random -o m && cmp n/*.npy m/*.npy || failed "without descriptors outputs are others"
rm -rf n.neff n m message

# Mode and links of an existing output stay.
chmod 640 m.neff
ln -s m.neff link.neff
"$xcc" m.onnx -q -o link.neff
[ -L link.neff ] && [ "$(stat -c %a m.neff)" = 640 ] || failed "mode or link not kept: $(ls -l)"
rm link.neff
ln -s nothing link.neff
refuses 1 "symbolic link to nothing" "$xcc" m.onnx -q -o link.neff
rm link.neff

# What a killed process left goes when the file is written next; what an interrupted one had goes at once.
: >m.neff.tmpAbCdEf
: >m.neff.tmp_notes
"$xcc" m.onnx -q -o m.neff
[ ! -e m.neff.tmpAbCdEf ] && [ -e m.neff.tmp_notes ] || failed "files left: $(ls)"
rm -f m.neff.tmp_notes

# Limits of a compile and of a run.
cat >endless.hlo <<'H'
HloModule m
b { p = s32[] parameter(0)
 o = s32[] constant(1)
 ROOT r = s32[] add(p,o) }
c { p = s32[] parameter(0)
 ROOT r = pred[] compare(p,p), direction=EQ }
ENTRY e { z = s32[] constant(0)
 ROOT w = s32[] while(z), condition=c, body=b }
H
"$xcc" endless.hlo -q -o endless.neff
refuses 1 "a loop that does not end?" "$xrun" endless.neff --limit-steps 1000
refuses 1 "longer than its limit" "$xrun" endless.neff --limit-steps 0 --limit-seconds 0.2
refuses 1 "the limit is 16" "$xrun" m.neff --random --limit-memory 16
refuses 1 "longer than its limit" "$xrun" m.neff --random --limit-seconds 1e-9
# A kernel's grid and loops count too: before one runs that would take days.
for turns in 'grid(1099511627776) vars 1' 'grid() vars 2'; do
    loop='' end=''
    [ "$turns" != 'grid() vars 2' ] || loop='loop i0 < 1048576 { loop i1 < 1048576 {' end='} }'
    cat >turns.xasm <<A
program "turns" target cpu
info "{}"
node 0 "" ""
outputs "y"
slot %0 input "x" f32[4]
slot %1 planned f32[64] output
kernel 0 "k" $turns semaphores 0 flops 0 bytes 0 {
  $loop
  sp.dma_copy dst=%1 f32[0](4:1), src=%0 f32[0](4:1) node 0
  $end
}
region 0 (%0) -> (%1) {
  launch 0
}
A
    "$xcc" turns.xasm -o turns.neff || failed "turns.xasm is not read"
    refuses 1 "kernel 'k': the run takes more than 5000000 steps" "$xrun" turns.neff --random
done
# So do turns of loops that have no steps.
cat >no_steps.xasm <<'A'
program "no_steps" target cpu
node 0 "s" "Loop"
outputs "s"
slot %0 const "n" i64[] = {9223372036854775807}
slot %1 input "x" f32[2]
slot %2 dynamic "s" f32[2] output
slot %3 dynamic "i" i64[]
slot %4 dynamic "c" bool[]
slot %5 dynamic "t" f32[2]
call 0 loop(%0, _, %1) -> (%2) regions 1 node 0
region 0 (%1) -> (%2) {
  call 0
}
region 1 (%3, %4, %5) -> (%4, %5) {
}
A
cat >no_steps_while.xasm <<'A'
program "no_steps_while" target cpu
node 0 "s" "While"
outputs "s"
slot %0 input "x" f32[2]
slot %1 const "true" bool[] = {1}
slot %2 planned "r" bool[]
slot %3 planned "s" f32[2] output
slot %4 planned "p" bool[]
slot %5 planned "q" f32[2]
slot %6 planned "t" bool[]
slot %7 planned "u" f32[2]
call 0 while(%1, %0) -> (%2, %3) regions 1, 2 node 0
region 0 (%0) -> (%3) {
  call 0
}
region 1 (%4, %5) -> (%4) {
}
region 2 (%6, %7) -> (%6, %7) {
}
A
for loop in no_steps no_steps_while; do
    "$xcc" $loop.xasm -o $loop.neff
    refuses 1 "the run takes more than 1000 steps" timeout 10 "$xrun" $loop.neff --random --limit-steps 1000
    refuses 1 "longer than its limit" timeout 10 "$xrun" $loop.neff --random --limit-steps 0 --limit-seconds 0.1
done
refuses 1 "turns of loops; give fewer iterations" timeout 20 "$build/runtime/sim/xsim" no_steps.xasm
# Reading what an instruction repeats at will does not take for ever, nor does the time that it would take overflow.
corpus=$source/test/fuzz/corpus/asm
for name in broadcast_large transfers_long gather_nothing; do
    cp "$corpus/$name.asm" $name.xasm
done
refuses 1 "both write element 0" timeout 20 "$xcc" broadcast_large.xasm -o repeats.neff
refuses 1 "an access pattern of more than" "$build/runtime/sim/xsim" broadcast_large.xasm
refuses 1 "would take longer than 20 hours" "$build/runtime/sim/xsim" transfers_long.xasm
"$build/runtime/sim/xsim" gather_nothing.xasm >/dev/null || failed "a gather of nothing: status $?"
# Constants are not folded to results of sizes that only running tells, nor with more work than a compiler should do.
cat >fold.xir <<'X'
graph "fold" (%0 "x": f32[]) {
  %c0 = const f32[] {0}
  %c1 = const f32[] {4e9}
  %c2 = const f32[] {1}
  %1: f32[*] = range(%c0, %c1, %c2) @"/range"
  %2 = size(%1)
  %c3 = const i64[1] {3000}
  %3 = constant_of_shape(%c3) {value=tensor f32[1] {1}}
  %4 = einsum(%3, %3, %3, %3, %3) {equation="a,b,c,d,e->"}
  %5 = add(%0, %4)
  return(%5, %2)
} outputs("y", "n")
X
grep -q __asan_init "$xcc" || "$xcc" fold.xir -q -o fold.neff --limit-memory 1e9 --limit-seconds 20 || failed "constants are folded without end"
# What is folded does not depend on how much memory there is: it is folded, or the compile fails.
cat >short.xir <<'X'
graph "short" (%0 "x": f32[]) {
  %c0 = const f32[1] {1}
  %c1 = const i64[1] {12000000}
  %1 = expand(%c0, %c1) @"/expand"
  %2 = reduce_sum(%1) {keepdims=0} @"/sum"
  %3 = add(%0, %2)
  return(%3)
} outputs("y")
X
refuses 1 "node '/expand' (expand): expand: out of memory: a tensor needs" "$xcc" short.xir -q -o short.neff --limit-memory 4e7
# On-chip memory of a kernel counts too, of all threads, where it is larger than any machine's.
cat >tiles.xasm <<'A'
program "tiles" target cpu
info "{}"
node 0 "" ""
outputs "y"
slot %0 input "x" f32[4]
slot %1 planned f32[4] output
kernel 0 "k" grid() vars 0 semaphores 1 flops 0 bytes 0 {
  tile sbuf0 f32 65535 x 4000
  sp.dma_copy dst=sbuf0 f32[0](4:1), src=%0 f32[0](4:1) signal s0 node 0
  sp.dma_copy dst=%1 f32[0](4:1), src=sbuf0 f32[0](4:1) wait s0>=1 node 0
}
region 0 (%0) -> (%1) {
  launch 0
}
A
"$xcc" tiles.xasm -o tiles.neff || failed "tiles.xasm is not read"
refuses 1 "tiles of its kernels need" "$xrun" tiles.neff --random --threads 2
"$xrun" tiles.neff --random --threads 2 --limit-memory 3e9 >/dev/null || failed "tiles within the limit"
# A result whose size a routine finds out: refused before there is memory for it, where 2 GB would be enough to ask for it.
cat >long.xir <<'X'
graph "long" (%0 "n": i64[]) {
  %c0 = const i64[] {0}
  %c1 = const i64[] {1}
  %9: i64[*] = range(%c0, %0, %c1) @"/range"
  return(%9)
} outputs("o")
X
"$xcc" long.xir -q -o long.neff
printf '\223NUMPY\001\000v\000%-117s\n\000\312\232\073\000\000\000\000' \
    "{'descr': '<i8', 'fortran_order': False, 'shape': (), }" >billion.npy
refuses 1 "node '/range' (): range: a result needs 8000000000 bytes, the limit is" "$xrun" long.neff billion.npy
refuses 1 "a result needs 8000000000 bytes, the limit is 5000000000" "$xrun" long.neff billion.npy --limit-memory 5000000000
grep -q __asan_init "$xcc" || refuses 1 "out of memory" "$xcc" m.onnx -q -o n.neff --limit-memory 1000000
refuses 2 "--limit-seconds takes 1 or more" "$xcc" m.onnx -o n.neff --limit-seconds 0
env --default-signal=INT "$xrun" endless.neff --limit-steps 0 2>message &
sleep 0.5
kill -INT $! 2>/dev/null || true
wait $! && failed "an interrupted run succeeds" || true
grep -q "turn .* the run was cancelled" message || failed "an interrupted run says: $(cat message)"
# Ignored where the caller ignores it, as a shell does for jobs in the background.
"$xrun" endless.neff --limit-steps 0 --limit-seconds 2 2>message &
sleep 0.5
kill -INT $! 2>/dev/null || true
wait $! && failed "an endless run succeeds" || true
grep -q "takes longer than its limit" message || failed "an ignored interrupt: $(cat message)"
# While outputs are written it ends the program, and what was being written is gone.
cat >two.xir <<'X'
graph "two" (%0 "n": i64[]) {
  %c0 = const i64[] {0}
  %c1 = const i64[] {1}
  %8: i64[*] = range(%c0, %0, %c1)
  %9 = neg(%0)
  return(%8, %9)
} outputs("long", "pipe")
X
"$xcc" two.xir -q -o two.neff
printf '\223NUMPY\001\000v\000%-117s\n\020\000\000\000\000\000\000\000' \
    "{'descr': '<i8', 'fortran_order': False, 'shape': (), }" >sixteen.npy
mkdir interrupted
mkfifo interrupted/pipe.npy
env --default-signal=INT "$xrun" two.neff sixteen.npy -o interrupted 2>message &
waited=0
while [ ! -e interrupted/long.npy ] && [ $waited -lt 100 ]; do
    sleep 0.1
    waited=$((waited + 1))
done
kill -INT $! 2>/dev/null || true
status=0
wait $! || status=$?
[ $status = 130 ] || failed "an interrupt while outputs are written: status $status, $(cat message)"
[ "$(ls interrupted)" = "$(printf 'long.npy\npipe.npy')" ] || failed "an interrupt leaves $(ls interrupted)"

# Two outputs are not one file.
sed 's/"long", "pipe"/"a\/b", "a:b"/' two.xir >one.xir
"$xcc" one.xir -q -o one.neff
refuses 1 "outputs 'a/b' and 'a:b' would be one file" "$xrun" one.neff sixteen.npy -o one
[ ! -e one ] || failed "outputs of one name: $(ls one)"

# A log file replaces neither the model nor the archive.
cp "$digits/digits.onnx" l.onnx
"$xcc" compile l.onnx --framework ONNX --target trn1 --output l.neff --logfile l.onnx >/dev/null 2>message
grep -q "l.onnx: is an input of this command" message || failed "a log file: $(cat message)"
cmp -s l.onnx "$digits/digits.onnx" || failed "the log file replaces the model"
"$xcc" compile l.onnx --framework ONNX --target trn1 --output l.neff --logfile l.neff >/dev/null 2>message
grep -q "l.neff: is the archive" message && "$xrun" l.neff --random >/dev/null || failed "a log file: $(cat message)"
"$xcc" compile l.onnx --framework ONNX --target trn1 --output l.neff --logfile l.log >/dev/null
grep -q "^Compiler status PASS" l.log || failed "a log file has: $(cat l.log)"

# Names do not move a terminal's cursor or write to its clipboard, and make no second message.
printf 'program "p" target cpu\nnode 0 "n" ""\noutputs "y"\nslot %%0 input "a\033]52;c;x\007\302\233b" f32[4]\n' >names.xasm
printf 'slot %%1 planned "y" f32[4] output\nkernel 0 "k" grid() vars 0 semaphores 0 flops 0 bytes 0 {\n' >>names.xasm
printf '  sp.dma_copy dst=%%1 f32[0](4:1), src=%%0 f32[0](4:1) node 0\n}\nregion 0 (%%0) -> (%%1) {\n  launch 0\n}\n' >>names.xasm
"$xcc" names.xasm -o names.neff || failed "names.xasm is not read"
! "$xrun" names.neff 2>message && grep -qF 'a\x1b]52;c;x\x07\x9bb' message || failed "control characters in a message: $(cat -v message)"
if [ "$(script -qec 'printf opened' /dev/null 2>/dev/null </dev/null)" = opened ]; then # there are terminals to open
    for program in "$xdump names.neff" "$build/runtime/sim/xsim names.neff --shape x=1" "$xrun names.neff"; do
        script -qec "$program" /dev/null >message </dev/null || true
        ! grep -q "$(printf '\033\|\007\|\302\233')" message || failed "control characters on a terminal: $(cat -v message)"
    done
    grep -qF 'a\x1b' message || failed "a terminal gets $(cat -v message)"
else
    echo "skipped: what a terminal gets; script(1) opens none here"
fi

# Checked and signed archives.
"$xrun" m.neff --random --check >/dev/null || failed "--check"
"$xrun" m.neff --random --copy >/dev/null || failed "--copy"
if "$xcc" sign --new-key key 2>message; then
    "$xcc" sign m.neff --key key
    [ "$(stat -c %a key)" = 600 ] || failed "others may read the key"
    refuses 1 "keys are not replaced" "$xcc" sign --new-key key
    "$xrun" m.neff --random --trust key.pub >/dev/null || failed "--trust"
    "$xcc" sign --new-key other
    refuses 1 "not signed by the owner of other.pub" "$xrun" m.neff --random --trust other.pub
    cp m.neff changed.neff
    cp m.neff.sig changed.neff.sig
    printf '\001' | dd of=changed.neff bs=1 seek=9000 conv=notrunc 2>/dev/null
    refuses 1 "damaged" "$xrun" changed.neff --random --trust key.pub
    refuses 1 "damaged" "$xrun" changed.neff --random --check
else
    grep -q libhogweed message || failed "sign: $(cat message)"
fi
finish
