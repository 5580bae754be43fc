#!/bin/sh
# Golden tests of passes and of lowering: golden.sh [--bless] XCC FILE.xir...
#
# A file is a line `// RUN: flags`, a graph, a line `// EXPECT`, and what xcc prints: the graph after the passes
# (--emit ir, when the flags say nothing else) or the tile programs (--emit asm). A printed graph must be read back and
# printed the same. --bless writes what is printed into the file; look at the difference before you commit it.
bless=no
[ "$1" = --bless ] && { bless=yes; shift; }
xcc=$1; shift
temporary=$(mktemp -d) || exit 1
trap 'rm -rf "$temporary"' EXIT
failed=0
for file; do
    flags=$(sed -n '1s|^// RUN: ||p' "$file")
    sed '/^\/\/ EXPECT$/,$d' "$file" > "$temporary/in.xir"
    sed '1,/^\/\/ EXPECT$/d' "$file" > "$temporary/expected"
    case $flags in
    *--emit*) emit= ;;
    *) emit='--emit ir' ;;
    esac
    # shellcheck disable=SC2086
    "$xcc" "$temporary/in.xir" $flags --verify-passes $emit > "$temporary/out" 2>&1
    if [ $bless = yes ]; then
        { cat "$temporary/in.xir"; echo '// EXPECT'; cat "$temporary/out"; } > "$temporary/blessed"
        cmp -s "$temporary/blessed" "$file" || { cp "$temporary/blessed" "$file"; echo "changed: $file"; }
        continue
    fi
    if ! [ -s "$temporary/expected" ] || ! diff -u "$temporary/expected" "$temporary/out"; then
        echo "FAIL $file"
        failed=1
        continue
    fi
    [ -n "$emit" ] || continue
    cp "$temporary/out" "$temporary/out.xir"
    "$xcc" "$temporary/out.xir" --passes= --emit ir | cmp -s - "$temporary/out" ||
        { echo "FAIL $file: print, parse, print is not the identity"; failed=1; }
done
exit $failed
