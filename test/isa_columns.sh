#!/bin/sh
# A row of isa.def without one of its columns, or an operand without its own, does not compile.
# usage: isa_columns.sh CC SOURCE_DIR
set -eu
cc=$1 source=$2
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
mkdir -p "$dir/neff/isa"
row=$(grep -n '^INSN(tensor_copy,' "$source/neff/isa/isa.def" | cut -d: -f1)
fails=0

# compiles SED: with the row of tensor_copy changed by it
compiles() {
    sed "$row,$((row + 3))$1" "$source/neff/isa/isa.def" >"$dir/neff/isa/isa.def"
    "$cc" -std=gnu11 -fsyntax-only -I "$dir" -I "$source" "$source/neff/isa/isa.c" 2>/dev/null
}

# isa.def is found in $dir, for it comes first; the others are found in the source.
compiles 's/^//' || { echo "FAILED: the table as it is does not compile"; exit 1; }
for change in 's/ DVE,//' 's/ ON(ACT) ON(POOL),//' 's/ EVERY_TARGET,//' 's/ ELEMENTS(0, 64, 1),//' 's/ ELEMENTS(0, 64, 1),/ ,/' \
    's/ ELEMENTWISE,//' 's/OUT(dst, PLAIN)/OUT(dst)/' 's/NONE, NONE, NONE,/NONE, NONE,/'; do
    if compiles "$change"; then
        echo "FAILED: compiles after $change"
        fails=1
    fi
done
exit $fails
