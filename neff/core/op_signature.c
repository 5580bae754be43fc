/* The `types` column of op.def, parsed once. */
#include "neff/core/signature.h"

#include <pthread.h>

static const char *const types[OP_COUNT] = {
#define OP(id, onnx, hlo, min_in, max_in, min_out, max_out, flags, types, doc) types,
#include "neff/core/op.def"
};

static struct signature signatures[OP_COUNT];
static pthread_once_t parsed = PTHREAD_ONCE_INIT;

static void parse(void)
{
    for (int i = 0; i < OP_COUNT; i++)
        if (!signature_parse(types[i], &signatures[i]))
            signatures[i].n = 0; /* test_signature sees to it that all parse */
}

const struct signature *op_signature(enum op op)
{
    pthread_once(&parsed, parse);
    return &signatures[op];
}

const char *op_types(enum op op)
{
    return types[op];
}
