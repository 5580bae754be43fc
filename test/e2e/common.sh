# Sourced by the tests of this folder, which ctest runs as TEST.sh BUILD SCRATCH.
set -eu
build=$1 scratch=$2
source=$(cd "$(dirname "$0")/../.." && pwd)
xcc=$build/frontend/xcc xrun=$build/runtime/xrun xdump=$build/xdump build_models=$build/models/build_models
rm -rf "$scratch"
mkdir -p "$scratch"
cd "$scratch"
failures=0

failed() {
    echo "FAIL $*"
    failures=$((failures + 1))
}

finish() {
    [ "$failures" = 0 ] || { echo "$failures failed"; exit 1; }
    echo "all as expected"
    exit 0
}

# refuses STATUS TEXT COMMAND...: ends with this status and one message that has TEXT and names nothing twice in a row, and
# leaves no file behind
refuses() {
    status=$1 text=$2
    shift 2
    ls >"$scratch/../$(basename "$scratch").before"
    got=0
    "$@" >stdout.txt 2>stderr.txt </dev/null || got=$?
    message=$(cat stderr.txt)
    rm -f stdout.txt stderr.txt
    [ "$got" = "$status" ] || failed "$*: exit status $got, expected $status: $message"
    case $message in
    *"$text"*) ;;
    *) failed "$*: expected a message with '$text', got '$message'" ;;
    esac
    if echo "$message" | grep -qE '(^|[ /])([^ :]+): ([^ :]*/)?\2:'; then failed "$*: names a thing twice: $message"; fi
    ls | cmp -s - "$scratch/../$(basename "$scratch").before" || failed "$*: left files behind: $(ls)"
}

# zeros FILE D0,D1,...: an .npy of f32 zeros of that shape
zeros() {
    count=$(echo "$2" | sed 's/,/ * /g')
    {
        printf '\223NUMPY\001\000v\000'
        printf '%-117s\n' "{'descr': '<f4', 'fortran_order': False, 'shape': ($2,), }"
        head -c $((4 * $count)) /dev/zero
    } >"$1"
}

# outputs MODEL.neff SET OUT [XRUN OPTION...]: runs on SET/input_N.npy, writes OUT/output_N.npy
outputs() {
    neff=$1 set=$2 out=$3
    shift 3
    inputs=
    i=0
    while [ -e "$set/input_$i.npy" ]; do
        inputs="$inputs $set/input_$i.npy"
        i=$((i + 1))
    done
    mkdir -p "$out"
    # shellcheck disable=SC2086
    "$xrun" "$neff" $inputs "$@" >names.txt
    # shellcheck disable=SC2086
    "$xrun" "$neff" $inputs "$@" -o "$out.named"
    i=0
    for output in $(sed -n 's/^\([^ ][^ ]*\) .*/\1/p' names.txt | tr '/:' '__'); do
        mv "$out.named/$output.npy" "$out/output_$i.npy"
        i=$((i + 1))
    done
    rmdir "$out.named"
}

# planted_hazards MODEL...: xsim --check has nothing against what is compiled for any target; test_hazards plants faults in copies
# of the program for inf2, and all are found
planted_hazards() {
    for model in "$@"; do
        "$build_models" "$model" --tiny --static -o . >/dev/null
        for target in cpu trn1 trn2 inf2; do
            "$xcc" "$model/model.onnx" -q --target $target -o "$model.neff"
            "$build/runtime/sim/xsim" --check "$model.neff" >out || failed "$model for $target: $(head -1 out)"
        done
        "$xdump" "$model.neff" --asm >"$model.xasm"
        "$build/test/test_hazards" "$model.xasm" >planted || failed "$model: $(grep 'not found' planted | head -3)"
    done
}

# same_on_chips NAME GRAPH.xir TOLERANCE FLAGS: for each chip the result y, on random inputs, is within TOLERANCE of a CPU's in
# FP32, and xsim --check has nothing against the program, whose text is in TARGET.asm
same_on_chips() {
    "$xcc" "$2" -q --auto-cast none -o cpu.neff
    rm -rf out
    "$xrun" cpu.neff --random -o out >/dev/null
    for target in trn1 trn2; do
        # shellcheck disable=SC2086
        "$xcc" "$2" -q $4 --target $target -o chip.neff
        "$xrun" chip.neff --random --expect out/y.npy --rtol "$3" --atol "$3" >log || failed "$1 on $target: $(tail -1 log)"
        "$build/runtime/sim/xsim" --check chip.neff >log || failed "$1 on $target: $(head -1 log)"
        "$xdump" --asm chip.neff >$target.asm
    done
}
