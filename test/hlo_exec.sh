#!/bin/sh
# hlo_exec.sh XCC: compiles and runs the HLO modules with expected results in test/hlo_exec, and those in
# $XCC_TEST_DATA/hlo (default ../shared/data beside the source) where it is there, from text and from protos. Cases that
# test/hlo_exec/known_failures names, with a reason each, are expected to fail; any other failure, and a known one that
# passes, fails the test.
xcc=$1 kind=hlo
. "$(dirname "$0")/exec_cases.sh"

# A folder of links to the cases whose only module is the proto.
protos() {
    mkdir -p "$2"
    for c in "$1"/*/; do
        n=$(basename "$c")
        [ -f "$c/module.pb" ] || continue
        mkdir -p "$2/$n"
        ln -s "$c"/*.npy "$2/$n/" 2>/dev/null
        [ -f "$c/case.json" ] && ln -s "$c/case.json" "$2/$n/"
        ln -s "$c/module.pb" "$2/$n/module.hlo.pb"
    done
}

run "own cases" --target cpu "$here"/hlo_exec/*/
for set in exec exec_derived; do
    if [ ! -d "$data/$set" ]; then
        echo "SKIP $set: no $data/$set (set XCC_TEST_DATA)"
        continue
    fi
    run "$set, text" --target cpu "$data/$set"/*/
    protos "$data/$set" "$tmp/$set"
    if [ -n "$(ls "$tmp/$set")" ]; then
        run "$set, protos" --target cpu "$tmp/$set"/*/
    else
        echo "SKIP $set, protos: it has none"
    fi
done
exit $status
