#!/bin/sh
# hlo_corpus.sh HLO_TOOL: the HLO reader and printer, on the modules in $XCC_TEST_DATA/hlo.
tool=$1 kind=hlo
. "$(dirname "$0")/corpus.sh"

run "corpus" "$tool" check "$data"/parse/*.hlo
run "executable modules" "$tool" verify "$data"/exec/*/module.hlo
run "printed executable modules" "$tool" check "$data"/exec/*/module.hlo "$data"/examples/*.hlo
run "model graphs" "$tool" check "$data"/models/*
run "model graphs make sense" "$tool" verify "$data"/models/*
run "fragments" "$tool" fragments "$data"/fragments.tsv
core=$(awk -F'\t' -v d="$data/parse_fail/" '$2 == "core" { print d $1 ".hlo" }' \
       "$data"/parse_fail/expected.tsv)
run "modules to refuse" "$tool" refuse $core
run "protos" "$tool" check "$data"/proto/*.pb "$data"/proto/*.pbtxt "$data"/proto/wrapped/*.pb \
    "$data"/examples/*.pb "$data"/examples/*.pbtxt
run "protos to refuse" "$tool" refuse "$data"/proto/bad/*.pb
run "text and proto" "$tool" same-in "$data"/exec/*
for f in "$data"/proto/*.pbtxt; do
    run "$(basename "$f")" "$tool" same "$f" "${f%txt}"
done
run "damaged protos" "$tool" mutate 3 40 "$data"/proto/*.pb "$data"/proto/*.pbtxt \
    "$data"/proto/wrapped/*.pb
run "damaged modules" "$tool" mutate 5 8 "$data"/parse/parser_test__*.hlo "$data"/exec/c*/module.hlo
exit $status
