#!/bin/sh
# The compiler's peak memory stays below 1.3 times the model's file: weights are never there twice.
. "$(dirname "$0")/common.sh"
if grep -q __asan_init "$xcc"; then
    echo "SKIP: AddressSanitizer takes memory of its own"
    exit 0
fi
"$build_models" resnet50 -o models >/dev/null
file=models/resnet50/model.onnx
bytes=$(wc -c <$file)
for mode in none matmult; do
    "$xcc" $file -o resnet50.neff --auto-cast $mode --time-passes 2>report
    awk -v bytes="$bytes" '$1 == "total" { peak = $5 } END { exit !(peak > 0 && peak * 1048576 < 1.3 * bytes) }' report ||
        failed "$(grep total report), the model has $bytes bytes ($mode)"
done
finish
