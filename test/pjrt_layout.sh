#!/bin/sh
# pjrt_layout.sh CC SOURCE WORK [PYTHON]: compares frontend/pjrt with a pjrt_c_api.h: that of $XCC_PJRT_HEADER, or of an installed
# tensorflow. Rows that the header's version does not have are left out.
cc=$1 source=$2 work=$3 python=${4:-python3}
header=${XCC_PJRT_HEADER:-$("$python" -c 'import importlib.util as u, os; s = u.find_spec("tensorflow")
print(os.path.join(os.path.dirname(s.origin), "include/xla/pjrt/c/pjrt_c_api.h") if s else "")' 2>/dev/null)}
if [ ! -f "$header" ]; then
    echo "skipped: there is no pjrt_c_api.h; set XCC_PJRT_HEADER, or install tensorflow"
    exit 77
fi
mkdir -p "$work" || exit 1
cp "$header" "$work/pjrt_c_api.h"
# a row is all lines up to the one that ends it
awk -v header="$header" '
BEGIN { while ((getline line < header) > 0) text = text line "\n" }
/^(CALL|NONE)\(/ { name = $0; sub(/^[A-Z]*\(/, "", name); sub(/[,)].*/, "", name)
    known = index(text, "PJRT_" name ")") && (index(text, "struct PJRT_" name "_Args {") || /^NONE/) }
/^(CALL|NONE|  )/ { if (known) print; else missing[name] }
END { for (m in missing) print "not in the header: " m > "/dev/stderr" }' "$source/frontend/pjrt/api.def" > "$work/rows.def"
rows=$(grep -c '^[CN]' "$work/rows.def")
[ "$rows" -ge 120 ] || { echo "only $rows rows of api.def are in $header"; exit 1; }
"$cc" -std=gnu11 -Wno-unused-function -I"$work" -I"$source" -c "$source/test/pjrt_layout.c" -o "$work/pjrt_layout.o" || exit 1
echo "$rows entries agree with version 0.$(sed -n 's/^#define PJRT_API_MINOR //p' "$header")"
