# What hlo.sh and stablehlo.sh share: the modules of test/$kind. Before: $tool, the program that reads and prints modules, their
# $kind and $suffix, and a folder $corpus of $data, without which the script ends here.
here=$(cd "$(dirname "$0")" && pwd)
data=${XCC_TEST_DATA:-$here/../../shared/data}/$kind
status=0

# run NAME COMMAND...: prints what went wrong and a count
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

# refused FILE SUBSTRING: the message must have it
refused() {
    if ! message=$("$tool" refuse "$1" 2>&1) || ! echo "$message" | grep -qF -- "$2"; then
        echo "FAIL $1: expected a message with '$2', got: $message"
        status=1
    fi
}

run "own modules" "$tool" check "$here/$kind"/*."$suffix"
run "own modules make sense" "$tool" verify "$here/$kind"/*."$suffix"
for f in "$here/$kind"/bad/*."$suffix"; do
    refused "$f" "$(sed -n '1s|^// expect: ||p' "$f")"
done
run "damaged own modules" "$tool" mutate 11 60 "$here/$kind"/*."$suffix"

if [ ! -d "$data/$corpus" ]; then
    echo "SKIP corpus: no $data (set XCC_TEST_DATA)"
    exit $status
fi
