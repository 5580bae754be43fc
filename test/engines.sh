#!/bin/sh
# Engines as threads compute what the merged stream computes, bit by bit: engines.sh XCC XRUN XIR...
# The programs are those of golden tests, for each machine. In a build with ThreadSanitizer a race between engines that no
# semaphore orders is an error too.
xcc=$1 xrun=$2; shift 2
temporary=$(mktemp -d) || exit 1
trap 'rm -rf "$temporary"' EXIT
failed=0 ran=0
for file; do
    sed '/^\/\/ EXPECT$/,$d' "$file" > "$temporary/in.xir"
    for target in cpu trn1 trn2; do
        rm -rf "$temporary/merged" "$temporary/threads"
        "$xcc" "$temporary/in.xir" --target $target -q -o "$temporary/m.neff" &&
            "$xrun" "$temporary/m.neff" --random -o "$temporary/merged" &&
            "$xrun" "$temporary/m.neff" --random --engines=threads -o "$temporary/threads" &&
            diff -r "$temporary/merged" "$temporary/threads" ||
            { echo "FAIL $file for $target"; failed=1; }
        ran=$((ran + 1))
    done
done
echo "$ran programs"
[ $ran -gt 0 ] && exit $failed
