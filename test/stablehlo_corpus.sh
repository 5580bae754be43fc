#!/bin/sh
# stablehlo_corpus.sh STABLEHLO_TOOL: the StableHLO readers and the printer, on the modules in $XCC_TEST_DATA/stablehlo.
tool=$1 kind=stablehlo
. "$(dirname "$0")/corpus.sh"

run "executable modules, printed" "$tool" check "$data"/exec/*/module.mlir "$data"/exec/*/module.generic.mlir
run "modules that make sense" "$tool" verify "$data"/parse_ok/*.mlir "$data"/exec/*/module.mlir \
    "$data"/vhlo_compat/stablehlo*.mlir "$data"/vhlo_compat/stablehlo*.mlirbc
run "modules to refuse" "$tool" refuse "$data"/parse_fail/*.mlir
run "programs, printed" "$tool" check "$data"/programs/*/module.mlir "$data"/dynamic/*.mlir \
    "$data"/dynamic_exec/*/module.mlir "$data"/jax_compat/*.mlir
run "bytecode, printed" "$tool" check "$data"/exec/*/*.mlirbc "$data"/programs/*/*.mlirbc \
    "$data"/programs/*/module.jaxexport "$data"/dynamic/*.mlirbc "$data"/dynamic_exec/*/*.mlirbc \
    "$data"/jax_compat/*.mlirbc "$data"/vhlo_compat/stablehlo*.mlirbc
future=$data/vhlo_compat/invalid_vhlo_future.mlirbc
if ! "$tool" refuse "$future" 2>&1 | grep -q "newer than this reader"; then
    echo "FAIL $future: expected a message that it is newer than this reader"
    status=1
fi
run "damaged bytecode" "$tool" mutate 3 20 "$data"/exec/td_c*/module.mlirbc "$data"/exec/td_c*/*.raw.mlirbc \
    "$data"/programs/*/module.jaxexport
run "damaged text" "$tool" mutate 5 8 "$data"/exec/td_c*/module.mlir
exit $status
