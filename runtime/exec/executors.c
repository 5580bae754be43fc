#include "runtime/exec/engine.h"

#include "neff/base/use.h"

const struct executor executors[INSN_COUNT] = {
#define EXECUTOR(name, prepare) WHEN_USED(EXEC_##name, [INSN_##name] = {exec_##name, prepare}, )
#include "runtime/exec/executors.def"
};
