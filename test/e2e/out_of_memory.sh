#!/bin/sh
# out_of_memory.sh BUILD SCRATCH: each allocation of a compile and of a run fails, alone and with all that follow.
# Either the program can do without it and its output is the same, or it says so in one line, ends with status 1, and
# leaves nothing behind.
. "$(dirname "$0")/common.sh"
xcc_fail=$build/test/xcc_fail_alloc xrun_fail=$build/test/xrun_fail_alloc
mkdir work

# The lines of stderr.txt: how many, and the first. Without a process: thousands would take most of the time.
read_message() {
    lines=0 message=
    while IFS= read -r line || [ -n "$line" ]; do
        lines=$((lines + 1)) message=${message:-$line}
    done <stderr.txt
}

# one_fails N PROGRAM ARGUMENT...: the program writes work/$result, which should be as `expected`
one_fails() {
    what="allocation $1 of $2" got=0
    export XCC_FAIL_ALLOC="$1"
    shift
    "$@" >stdout.txt 2>stderr.txt </dev/null || got=$?
    read_message
    case $got in
    0) cmp -s "work/$result" expected || failed "$what: ends with status 0 and another output"
        rm -f "work/$result" ;;
    1) refused=$((refused + 1))
        case $message in
        *"out of memory"* | *"annot "*) ;;
        *) failed "$what: the message does not say what is wrong: '$message'" ;;
        esac
        [ $lines = 1 ] || failed "$what: not one line but $lines: $message" ;;
    *) failed "$what: exit status $got: $message" ;;
    esac
    set -- work/*
    if [ -e "$1" ]; then
        failed "$what: leaves $*"
        rm -f work/*
    fi
}

# each_fails RESULT PROGRAM ARGUMENT...: from the first allocation to the last; a few more pass
each_fails() {
    result=$1
    shift
    unset XCC_FAIL_ALLOC
    count=$(XCC_COUNT_ALLOC=1 "$@" 2>&1 >/dev/null | sed -n 's/^allocations //p')
    mv "work/$result" expected
    [ "$count" -gt 20 ] || failed "$1: counted '$count' allocations"
    for all in "" +; do
        refused=0 n=1
        while [ $n -le $((count + 4)) ]; do
            one_fails "$n$all" "$@"
            n=$((n + 1))
        done
        [ $refused -gt 20 ] || failed "$1: refused for $refused of $count allocations that fail"
        [ $got = 0 ] || failed "$1: status $got after the last allocation: $message"
    done
}

cp "$source/models/digits/digits.onnx" m.onnx
each_fails m.neff "$xcc_fail" m.onnx -q --cast-budget 0.02 -o work/m.neff # the check of the cast keeps a product in FP32
cp expected m.neff
each_fails probabilities.npy "$xrun_fail" m.neff --random --threads 2 -o work

# Sequences and maps, which become .npz or .json: neither the other of the two, nor less of it. Inputs from an .npz.
printed() { # PROGRAM ARGUMENT...: its standard output is the result
    "$@" >printed.txt && mv printed.txt work/printed
}
values() { # NAME BODY: x f32[n,2], result %9
    printf 'graph "%s" symbols(n) (%%0 "x": f32[n,2]) {\n%s\n  return(%%9)\n} outputs("o")\n' "$1" "$2" >"$1.xir"
    "$xcc" -q "$1.xir" -o "$1.neff" || failed "$1 does not compile"
}
values list '  %9 = sequence_construct(%0, %0)'
values table '  %c0 = const str[2] {"a", "b"}
  %9 = zip_map(%0, %c0)'
values twice '  %c0 = const str[2] {"q", "q"}
  %9 = zip_map(%0, %c0)'
printf '\223NUMPY\001\000v\000%-117s\n' "{'descr': '<f4', 'fortran_order': False, 'shape': (2000, 2), }" >x.npy
head -c 16000 /dev/zero >>x.npy
"$xrun" list.neff x.npy -o work # two arrays: arr_0, arr_1
mv work/o.npz in.npz
values two '  %8 = reduce_sum(%0) {axes=[0], keepdims=1}
  %9 = sequence_construct(%0, %8)'
sed -i 's/"x": f32\[n,2\]/"x": f32[n,2], %1 "y": f32[n,2]/; s/%0, %8/%1, %8/' two.xir
"$xcc" -q two.xir -o two.neff
each_fails o.npz "$xrun_fail" two.neff in.npz --threads 1 -o work
printf '\223NUMPY\001\000v\000%-117s\n' "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }" >x.npy
head -c 16 /dev/zero >>x.npy
each_fails o.npz "$xrun_fail" table.neff x.npy --threads 1 -o work
each_fails o.json "$xrun_fail" twice.neff x.npy --threads 1 -o work
each_fails printed printed "$xrun_fail" table.neff x.npy --threads 1
finish
