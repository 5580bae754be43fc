#!/bin/sh
# compiles.sh CC TEST.c...: these unit tests use of cmocka what cmocka.h here has, so that builds for other processors
# (scripts/cross) compile.
set -eu
cc=$1
shift
cd "$(dirname "$0")/../.."
wrong=0
for test; do
    "$cc" -std=gnu11 -fsyntax-only -Werror=implicit-function-declaration -I. -Itest/cross -DKERNELS_X86=0 "$test" || { echo "FAIL $test"; wrong=1; }
done
exit $wrong
