#!/bin/sh
# modules.sh TOOL FILE: a module of test/hlo or test/stablehlo, by hlo_tool or stablehlo_tool. It is printed and read back, makes
# sense, and damaged copies of it are refused or read, without harm. One in a folder bad/ must be refused, with the message that
# its first line tells.
tool=$1 file=$2
status=0

try() {
    if ! out=$("$tool" "$@" "$file" 2>&1); then
        echo "FAIL $* $file:"
        echo "$out"
        status=1
    fi
}

case $file in
*/bad/*)
    expected=$(sed -n '1s|^// expect: ||p' "$file")
    message=$("$tool" refuse "$file" 2>&1) && [ -n "$expected" ] && echo "$message" | grep -qF -- "$expected" || {
        echo "FAIL $file: expected a message with '$expected', got: $message"
        status=1
    }
    ;;
*)
    try check
    try verify
    try mutate 11 60
    ;;
esac
exit $status
