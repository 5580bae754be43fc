# For hlo_corpus.sh and stablehlo_corpus.sh, which set kind: modules of $XCC_TEST_DATA/$kind (default ../shared/data beside the
# source), without which the test is skipped.
data=${XCC_TEST_DATA:-$(cd "$(dirname "$0")" && pwd)/../../shared/data}/$kind
[ -d "$data" ] || { echo "skipped: there is no $data (set XCC_TEST_DATA)"; exit 77; }
status=0

# run NAME COMMAND...: prints what went wrong, or a count
run() {
    name=$1
    shift
    if out=$("$@" 2>&1); then
        echo "ok   $name: $(echo "$out" | wc -l) lines"
    else
        echo "FAIL $name (status $?)"
        echo "$out" | grep -v '^ok ' | head -40
        status=1
    fi
}
