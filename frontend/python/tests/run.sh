#!/bin/sh
# run.sh BUILD_DIR [PYTHON]: the package's tests; exit status 77, which CTest shows as skipped, without Python 3 and NumPy.
here=$(cd "$(dirname "$0")" && pwd)
python=${2:-python3}
export XCC_LIBRARY_PATH="$1" PYTHONDONTWRITEBYTECODE=1
if ! "$python" -c 'import numpy' 2>/dev/null; then
    echo "skipped: $python has no NumPy (Debian: python3-numpy)"
    exit 77
fi
"$python" -c 'import ml_dtypes' 2>/dev/null || echo "without ml_dtypes: bf16 and 8-bit floats are not computed with in NumPy"
status=0
for test in "$here"/test_*.py; do
    "$python" "$test" || status=1
done
for test in instructions kernels layers mx random rows unwritten v06; do # where the machine's limits hold
    XCC_NKI_TARGET=trn1 "$python" "$here/test_$test.py" || status=1
done
exit $status
