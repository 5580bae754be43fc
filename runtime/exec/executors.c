#include "runtime/exec/engine.h"

const struct executor executors[INSN_COUNT] = {
#define EXECUTOR(name, prepare) [INSN_##name] = {exec_##name, prepare},
#include "runtime/exec/executors.def"
};
