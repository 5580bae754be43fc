#!/bin/sh
# library.sh BUILD SCRATCH [MOST]: libxrt as others see it: its name, what it needs, no symbol but those of xrt.h, all of
# which are there, and at most MOST bytes without symbols.
set -eu
build=$1 scratch=$2 most=${3:-0}
source=$(cd "$(dirname "$0")/.." && pwd)
lib=$build/runtime/libxrt.so
mkdir -p "$scratch"
failed() {
    echo "FAIL: $*"
    exit 1
}
readelf -d "$lib" >"$scratch/dynamic"
grep -q 'SONAME.*\[libxrt[.]so[.]0\]' "$scratch/dynamic" || failed "its name is $(grep SONAME "$scratch/dynamic")"
for needed in $(sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' "$scratch/dynamic"); do
    case $needed in
    libc.* | libm.* | libgcc_s.* | ld-linux*) ;;
    *) failed "it needs $needed" ;;
    esac
done
# What xrt.h declares, and nothing else.
grep -o '\bxrt_[a-z_]*(' "$source/runtime/xrt.h" | tr -d '(' | sort -u >"$scratch/mentioned"
nm -D --defined-only "$lib" | awk '{ print $3 }' | sort -u >"$scratch/visible"
grep -v '^xrt_' "$scratch/visible" && failed "these are visible and not of xrt.h"
comm -13 "$scratch/mentioned" "$scratch/visible" | grep . && failed "these are visible and not declared"
sed -n 's/^[a-z].*[ *]\(xrt_[a-z_]*\)(.*/\1/p' "$source/runtime/xrt.h" | sort -u >"$scratch/declared"
[ "$(wc -l <"$scratch/declared")" -gt 20 ] || failed "read only $(wc -l <"$scratch/declared") declarations of xrt.h"
comm -23 "$scratch/declared" "$scratch/visible" | grep . && failed "these are declared and not there"
nm "$build/runtime/libxrt.a" --defined-only -g | awk 'NF == 3 { print $3 }' | sort -u >"$scratch/static"
grep -v '^xrt_' "$scratch/static" && failed "these are visible in libxrt.a"
comm -23 "$scratch/declared" "$scratch/static" | grep . && failed "these are declared and not in libxrt.a"
strip -o "$scratch/stripped" "$lib"
bytes=$(wc -c <"$scratch/stripped")
[ "$most" -eq 0 ] || [ "$bytes" -le "$most" ] || failed "it has $bytes bytes, at most $most were expected"
echo "PASS: $(wc -l <"$scratch/visible") functions, $bytes bytes"
