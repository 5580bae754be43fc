#!/bin/sh
# Runs the cases of one folder of the public ONNX test data at one -O level against their expected outputs.
# usage: onnx_suite.sh XCC SOURCE_DIR FOLDER LEVEL [FLAGS...]
#
# FOLDER is below XCC_TEST_DATA; debian/NAME is folder NAME of Debian's package libonnx-testdata, the data of the onnx
# package's own backend tests.
#
# onnx_known_failures.tsv lists what is known to fail: folder, levels, case, reason. A case that fails and is not listed
# fails the test, and so does one that is listed and passes, but for levels ending in "?": that depends on the CPU's
# kernels. Exit status 77: the data is not there.
xcc=$1 source=$2 folder=$3 level=$4
shift 4
case $folder in
debian/*) data=/usr/share/libonnx-testdata/data/${folder#debian/} missing='install libonnx-testdata' ;;
*) data=${XCC_TEST_DATA:-$source/../shared/data}/$folder missing='set XCC_TEST_DATA' ;;
esac
if ! [ -d "$data" ]; then
    echo "SKIP: no test data at $data ($missing)"
    exit 77
fi
temporary=$(mktemp -d) || exit 1
trap 'rm -rf "$temporary"' EXIT
for case in "$data"/*/; do
    echo "${case%/}"
done >"$temporary/cases"
TMPDIR=$temporary
export TMPDIR
xargs "$xcc" test --auto-cast none "-O$level" "$@" <"$temporary/cases" >"$temporary/out" 2>"$temporary/err"
sed -n 's/^FAIL \([^:]*\):.*/\1/p' "$temporary/out" | sort >"$temporary/failed"
# listed CONDITION: the cases listed for this folder and level
listed() {
    awk -F '\t' -v folder="$folder" -v level="$level" '$1 == folder && index($2, level) && '"$1"' { print $3 }' \
        "$source/test/onnx_known_failures.tsv" | sort
}
listed 1 >"$temporary/known"
listed '$2 !~ /[?]$/' >"$temporary/certain"
ran=$(grep -c '^PASS\|^FAIL' "$temporary/out")
if [ "$ran" -ne "$(wc -l <"$temporary/cases")" ]; then
    echo "FAILED: $ran of $(wc -l <"$temporary/cases") cases ran"
    cat "$temporary/err"
    grep '^SKIP' "$temporary/out"
    exit 1
fi
comm -23 "$temporary/failed" "$temporary/known" >"$temporary/new"
comm -13 "$temporary/failed" "$temporary/certain" >"$temporary/fixed"
sed 's/$/ passes now: take it off test\/onnx_known_failures.tsv/' "$temporary/fixed"
grep -F -f "$temporary/new" "$temporary/out" | grep '^FAIL'
echo "$folder at -O$level: $ran cases, $(wc -l <"$temporary/failed") failed, $(wc -l <"$temporary/known") listed"
! [ -s "$temporary/new" ] && ! [ -s "$temporary/fixed" ]
