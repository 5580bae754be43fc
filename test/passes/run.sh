#!/bin/sh
# Runs pass tests: run.sh XCC FILE.xir...  A file is `// RUN: flags`, a graph, `// EXPECT`, and what is printed after.
xcc=$1; shift
temporary=$(mktemp -d) || exit 1
trap 'rm -rf "$temporary"' EXIT
failed=0
for file; do
    flags=$(sed -n '1s|^// RUN: ||p' "$file")
    sed '/^\/\/ EXPECT$/,$d' "$file" > "$temporary/in.xir"
    sed '1,/^\/\/ EXPECT$/d' "$file" > "$temporary/expected"
    # shellcheck disable=SC2086
    "$xcc" "$temporary/in.xir" $flags --verify-passes --emit ir > "$temporary/out.xir" 2>&1
    if ! [ -s "$temporary/expected" ] || ! diff -u "$temporary/expected" "$temporary/out.xir"; then
        echo "FAIL $file"
        failed=1
        continue
    fi
    "$xcc" "$temporary/out.xir" --passes= --emit ir | cmp -s - "$temporary/out.xir" ||
        { echo "FAIL $file: print, parse, print is not the identity"; failed=1; }
done
exit $failed
