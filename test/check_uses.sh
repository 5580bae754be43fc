#!/bin/sh
# check_uses.sh: use.def agrees with the executors, and scripts/check-uses finds a row that misses a kernel, one too many, and
# an instruction without its row.
set -eu
top=$(cd "$(dirname "$0")/.." && pwd)
check=$top/scripts/check-uses
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
"$check"
finds() { # finds MESSAGE SED-EXPRESSION
    sed "$2" "$top/frontend/standalone/use.def" >"$scratch/use.def"
    ! "$check" "$scratch/use.def" >"$scratch/said" || { echo "not found: $1"; exit 1; }
    grep -qF "$1" "$scratch/said" || { echo "expected '$1', it says:"; cat "$scratch/said"; exit 1; }
}
finds "nc_matmul calls interleave, which is not listed" 's/ interleave?//'
finds "bn_stats does not call argmax, which is listed" 's/"mean_variance/"argmax mean_variance/'
finds "recurrence calls recurrent, which is not listed" '/USES(recurrence/d'
finds "op hardmax calls argmax, which is not listed" '/ROUTINE(hardmax/d'
finds "op argmin does not call threefry, which is listed" 's/ROUTINE(argmin, "/&threefry /'
