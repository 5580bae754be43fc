# For hlo_exec.sh and stablehlo_exec.sh, which set xcc and kind: runs cases, and tells those that fail and are not known to, and
# those that are and pass.
here=$(cd "$(dirname "$0")" && pwd)
data=${XCC_TEST_DATA:-$here/../../shared/data}/$kind
known=$here/${kind}_exec/known_failures
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
status=0

# run NAME FLAG... -- DIR...
run() {
    name=$1
    shift
    "$xcc" test --auto-cast none "$@" >"$tmp/out" 2>"$tmp/err"
    sed -n 's/^FAIL \([^:]*\):.*/\1/p' "$tmp/out" | sort >"$tmp/failed"
    sed -n 's/^PASS //p' "$tmp/out" | sort >"$tmp/passed"
    sed -e 's/#.*//' -e 's/[[:space:]]*$//' -e '/^$/d' "$known" | sort >"$tmp/known"
    comm -23 "$tmp/failed" "$tmp/known" >"$tmp/new"
    comm -12 "$tmp/passed" "$tmp/known" >"$tmp/fixed"
    echo "$name: $(tail -1 "$tmp/out")"
    while read -r c; do
        grep "^FAIL $c:" "$tmp/out"
        status=1
    done <"$tmp/new"
    while read -r c; do
        echo "FAIL $c passes: take it off $known"
        status=1
    done <"$tmp/fixed"
    grep -q ' passed, ' "$tmp/out" || { echo "FAIL $name: no result"; status=1; }
}
