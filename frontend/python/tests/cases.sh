#!/bin/sh
# cases.sh BUILD_DIR TARGET: published kernels of XCC_TEST_DATA/nki, unchanged, beside NumPy. TARGET: cpu, or strict, the
# machine that each was written for. Python: XCC_PYTHON, or python3. Cases that import another package that is not installed are
# counted apart; exit status 77 without data, NumPy or ml_dtypes.
here=$(cd "$(dirname "$0")" && pwd)
build=$1 target=$2 python=${XCC_PYTHON:-python3}
data=${XCC_TEST_DATA:-$here/../../../../shared/data}/nki
if [ ! -f "$data/run_cases.py" ]; then
    echo "SKIP: no kernels at $data; set XCC_TEST_DATA"
    exit 77
fi
if ! "$python" -c 'import numpy, ml_dtypes' 2>/dev/null; then
    echo "SKIP: $python has no NumPy or no ml_dtypes, whose bf16 the cases compute with; XCC_PYTHON names another one"
    exit 77
fi
export XCC_LIBRARY_PATH="$build" XCC_NKI_TARGET="$target" PYTHONDONTWRITEBYTECODE=1
export PYTHONPATH="$here/..:$here/../compat"
"$python" "$data/run_cases.py" "$data" | awk '
    { print }
    /^FAIL / { failed++; name = $2 }
    /No module named/ && name { absent++; name = "" }
    / cases pass$/ { passed = $1 }
    END {
        if (absent) print absent " cases were not run: a package that they import is not installed"
        exit !(passed > 0 && failed == absent)
    }'
