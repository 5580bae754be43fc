#include "runtime/exec/engine.h"

const struct executor executors[INSN_COUNT] = {
#define EXECUTOR(name, geometry, prepare) [INSN_##name] = {exec_##name, geometry, prepare},
#include "runtime/exec/executors.def"
};
