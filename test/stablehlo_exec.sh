#!/bin/sh
# stablehlo_exec.sh XCC: compiles and runs the StableHLO modules with expected results in test/stablehlo_exec, and those
# in $XCC_TEST_DATA/stablehlo (default ../shared/data beside the source) where it is there. Cases that
# test/stablehlo_exec/known_failures names, with a reason each, are expected to fail; any other failure, and a known one
# that passes, fails the test.
xcc=$1 kind=stablehlo
. "$(dirname "$0")/exec_cases.sh"

run "own cases" "$here"/stablehlo_exec/*/
if [ ! -d "$data/exec" ]; then
    echo "SKIP exec: no $data/exec (set XCC_TEST_DATA)"
    exit $status
fi
run "exec, text" "$data"/exec/*/
run "exec, trn1" --target trn1 "$data"/exec/*/
run "exec, portable artifacts" --module module.mlirbc "$data"/exec/*/
run "exec, VHLO's text" --module module.generic.mlir "$data"/exec/*/
run "exec, bytecode" --module module.raw.mlirbc "$data"/exec/*/
run "dynamic_exec, text" "$data"/dynamic_exec/*/
run "dynamic_exec, portable artifacts" --target trn1 --module module.mlirbc "$data"/dynamic_exec/*/
for m in module.mlir module.mlirbc module.jaxexport module.stablehlo_100.mlirbc; do
    run "programs, $m" --module $m "$data"/programs/*/
done
exit $status
