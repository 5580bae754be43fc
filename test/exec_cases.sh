#!/bin/sh
# exec_cases.sh XCC KIND FOLDER [FLAG...]: compiles and runs programs with expected results; KIND is hlo or stablehlo. FOLDER is
# "own", the project's cases in test/KIND_exec, or a folder of $XCC_TEST_DATA/KIND (default ../shared/data beside the source).
# Cases that test/KIND_exec/known_failures names, with a reason each, are expected to fail; any other failure, and a known one
# that passes, fails the test.
xcc=$1 kind=$2 folder=$3
shift 3
here=$(cd "$(dirname "$0")" && pwd)
known=$here/${kind}_exec/known_failures
cases=${XCC_TEST_DATA:-$here/../../shared/data}/$kind/$folder
[ "$folder" = own ] && cases=$here/${kind}_exec
[ -d "$cases" ] || { echo "skipped: there is no $cases (set XCC_TEST_DATA)"; exit 77; }
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
status=0

"$xcc" test --auto-cast none "$@" "$cases"/*/ >"$tmp/out" 2>"$tmp/err"
sed -n 's/^FAIL \([^:]*\):.*/\1/p' "$tmp/out" | sort >"$tmp/failed"
sed -n 's/^PASS //p' "$tmp/out" | sort >"$tmp/passed"
sed -e 's/#.*//' -e 's/[[:space:]]*$//' -e '/^$/d' "$known" | sort >"$tmp/known"
for c in $(comm -23 "$tmp/failed" "$tmp/known"); do
    grep "^FAIL $c:" "$tmp/out"
    status=1
done
for c in $(comm -12 "$tmp/passed" "$tmp/known"); do
    echo "FAIL $c passes: take it off $known"
    status=1
done
tail -1 "$tmp/out"
if ! [ -s "$tmp/passed" ]; then
    echo "FAIL no case passed"
    tail -3 "$tmp/err"
    status=1
fi
exit $status
