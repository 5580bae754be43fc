/*
 * What the engines' files share: addresses, counts in force, rows of any element type as rows of
 * f32.
 */
#ifndef RUNTIME_EXEC_ENGINE_H
#define RUNTIME_EXEC_ENGINE_H

#include "runtime/exec/state.h"

#include <string.h>

/* An immediate that does not depend on variables, by name: NUMBER(i, window_pool, stride_h). */
#define NUMBER(i, insn, name) ((i)->imm[IMM(insn, name)].base)

/*
 * Of functions that hand structures to kernels by value: they are put together from words, and a copy by vectors would
 * wait until the words are in the cache, longer than a short row takes.
 */
#if defined __x86_64__
#define BY_WORDS __attribute__((target("general-regs-only")))
#else
#define BY_WORDS
#endif

enum { CHUNK = 512 }; /* elements of a row that pass through a buffer at a time */

static inline char *operand_address(const struct worker *me, const struct operand *o)
{
    char *p = (o->slot >= 0 ? me->hbm[o->slot] : me->tiles) + o->offset;
    for (int i = 0; i < o->nterms; i++)
        p += o->terms[i].coef * me->vars[o->terms[i].var];
    return p;
}

static inline int64_t number_at(const struct worker *me, const struct number *n)
{
    return number_value(n, me->vars);
}

static inline bool clip_counts(const struct worker *me, const struct clip *c, int n, int64_t *count)
{
    for (int i = 0; i < n; i++) {
        int64_t max = c[i].limit - c[i].factor * me->vars[c[i].var];
        if (max < count[c[i].dim])
            count[c[i].dim] = max;
    }
    for (int i = 0; i < n; i++)
        if (count[c[i].dim] <= 0)
            return false;
    return true;
}

/* Counts in force of the shape; false when there is nothing to do. */
static inline bool shape_now(const struct worker *me, const struct shape *s, int64_t *count)
{
    bool some = true;
    for (int i = 0; i < s->rank; i++) {
        count[i] = s->count[i];
        some &= count[i] > 0;
    }
    return some && (!s->nclips || clip_counts(me, s->clips, s->nclips, count));
}

/* Of one operand of an instruction whose operands have shapes of their own. */
static inline bool counts_now(const struct worker *me, const struct bound_insn *i, int operand,
                              int64_t *count)
{
    bool some = true;
    for (int r = 0; r < i->o[operand].rank; r++) {
        count[r] = i->o[operand].count[r];
        some &= count[r] > 0;
    }
    return some && clip_counts(me, i->o[operand].clips, i->o[operand].nclips, count);
}

/*
 * Rows: `row` is called for every combination of the outer dims with the operands' addresses there
 * (absent operands NULL). count: of all dims in force.
 */
typedef void (*row_fn)(struct worker *me, const struct bound_insn *i, char *const *p,
                       const int64_t *count);
void for_each_row(struct worker *me, const struct bound_insn *i, const int64_t *count, int outer,
                  row_fn row);
/* shape_now and for_each_row over all dims but the inner ones; on dense rows when those are short.
 */
void run_rows(struct worker *me, const struct bound_insn *i, row_fn row);

/* Calls `row` for the dense rows of i->flat. */
void run_flat(struct worker *me, const struct bound_insn *i, row_fn row);

/* The same over all dims but the last two: the operands of tile kernels (kernels.h). */
void run_tiles(struct worker *me, const struct bound_insn *i, row_fn tile);
static inline bool tile_operand(const struct bound_insn *i, int n)
{
    const struct operand *o = &i->o[n];
    int64_t step = o->step[i->shape.rank - 1];
    return o->dtype == DT_F32 && (step == 0 || step == 1);
}
static inline bool tile_result(const struct bound_insn *i, int n)
{
    const struct operand *o = &i->o[n];
    return (o->dtype == DT_F32 || o->dtype == DT_BF16) && o->step[i->shape.rank - 1] == 1;
}
BY_WORDS static inline struct in_tile tile_at(const struct bound_insn *i, char *const *p, int n)
{
    const int64_t *step = i->o[n].step;
    int last = i->shape.rank - 1;
    if (!i->o[n].mem)
        return (struct in_tile){0};
    return (struct in_tile){(const float *)p[n], step[last], last > 0 ? step[last - 1] : 0};
}
BY_WORDS static inline struct out_tile tile_to(const struct bound_insn *i, char *const *p)
{
    enum { DST = AP(tensor_tensor, dst) }; /* that of every instruction with a tile kernel */
    const struct operand *dst = &i->o[DST];
    struct out_tile y;
    memset(&y, 0, sizeof y); /* its last word is copied whole */
    y.at = p[DST], y.pitch = i->shape.rank > 1 ? dst->step[i->shape.rank - 2] : 0;
    if (dst->dtype == DT_BF16)
        y.bf16 = true;
    return y;
}

/*
 * Tiles of 8-bit numbers, sums and f32 in the affine kernel: whether operands 0 and 1 are such
 * tiles and the result is not all that f32 kernels take; and the tile there, its form and scales
 * left to the caller.
 */
bool affine_operands(const struct bound_insn *i);
struct affine_tile affine_at(const struct bound_insn *i, char *const *p, const int64_t *count);
/* Whether z is a zero point of the kernel's. */
static inline bool affine_zero(float z)
{
    return z >= -32768 && z <= 32767 && z == (float)(int)z;
}
/* run_tiles, or rows as tiles of one. */
void run_affine(struct worker *me, const struct bound_insn *i, row_fn tile);

/* n elements of a stored row as f32: in place, or converted into buf (of CHUNK elements, or one for
 * a broadcast). */
struct in_row fetch_slow(const struct worker *me, const struct operand *o, const char *p, int64_t step,
                         int64_t n, float *buf);
static inline struct in_row fetch(const struct worker *me, const struct operand *o, const char *p,
                                  int64_t step, int64_t n, float *buf)
{
    if (o->dtype == DT_F32)
        return (struct in_row){(const float *)p, step};
    return fetch_slow(me, o, p, step, n, buf);
}
/* Rounds n floats to the stored type. */
void store_row(const struct worker *me, const struct operand *o, char *p, int64_t step, const float *x,
               int64_t n);
float load_one(const struct operand *o, const char *p);
static inline void store_one(const struct worker *me, const struct operand *o, char *p, float x)
{
    if (o->dtype == DT_F32)
        *(float *)p = x;
    else
        store_row(me, o, p, 1, &x, 1);
}

/*
 * Elements [at, at + n) of an operand's row, of which p are the addresses: as f32, or nothing where
 * the operand is absent; and n floats stored there. Where f32 of the row can be written directly:
 * there, else `buf`, which store_part puts into its place.
 */
static inline char *part_address(const struct bound_insn *i, char *const *p, int operand,
                                 int64_t at)
{
    const struct operand *o = &i->o[operand];
    return p[operand] + at * o->step[i->shape.rank - 1] * o->size;
}
static inline struct in_row fetch_part(const struct worker *me, const struct bound_insn *i,
                                       char *const *p, int operand, int64_t at, int64_t n,
                                       float *buf)
{
    const struct operand *o = &i->o[operand];
    if (!o->mem)
        return (struct in_row){0};
    return fetch(me, o, part_address(i, p, operand, at), o->step[i->shape.rank - 1], n, buf);
}
static inline struct out_row result_part(const struct bound_insn *i, char *const *p, int operand,
                                         int64_t at, float *buf)
{
    const struct operand *o = &i->o[operand];
    if (o->dtype != DT_F32)
        return (struct out_row){buf, 1};
    return (struct out_row){(float *)part_address(i, p, operand, at), o->step[i->shape.rank - 1]};
}
static inline void store_part(const struct worker *me, const struct bound_insn *i, char *const *p,
                              int operand, int64_t at, int64_t n, const float *buf)
{
    const struct operand *o = &i->o[operand];
    if (o->dtype != DT_F32)
        store_row(me, o, part_address(i, p, operand, at), o->step[i->shape.rank - 1], buf, n);
}

/* dst = src of any two types; equal types copy bits. */
void convert_row(const struct worker *me, const struct operand *to, char *y, int64_t y_step,
                 const struct operand *from, const char *x, int64_t x_step, int64_t n);

/* ---- functions on rows of f32 (alu.c) ---- */

enum alu_kind { ALU_COPY, ALU_BINARY, ALU_COMPARE, ALU_ACTIVATION, ALU_SCALAR };
struct alu {
    uint8_t kind;
    uint8_t index; /* in the kernel table */
    bool swap;     /* operands change places */
    bool unary;
    uint32_t op; /* ALU_SCALAR: whose row computes it (runtime/ops/common/elementwise.h) */
    float p[2];  /* parameters of activations */
};
/* Fails for operators that engines do not know. */
bool alu_find(struct alu *out, int op, bool reverse, float a, float b, struct diag *d);
void alu_run(const struct worker *me, const struct alu *f, struct out_row y, struct in_row a,
             struct in_row b, int64_t n);
enum kernel_reduce alu_reduce(int op); /* REDUCE_COUNT when it is none */

/* The first failure of a launch is reported when it ends. */
static inline void worker_fail(struct worker *me, const char *text)
{
    const char *none = NULL;
    atomic_compare_exchange_strong(me->error, &none, text);
}

bool only_numbers(struct binding *b, const struct bound_insn *i, const struct insn *insn);
/* Whether the immediates that vary with nothing are constants from 0 to 2^20. */
bool constant_numbers(struct binding *b, const struct bound_insn *i);
/* Asks for bytes of every worker's scratch memory. */
static inline void need_scratch(struct binding *b, int64_t bytes)
{
    if (bytes > b->kernel->scratch_bytes)
        b->kernel->scratch_bytes = bytes;
}

/* Whether a packed stationary comes from memory, block after block, when the kernel's instances run
 * one after the other: it does not when they go through it again and again and it stays in cache.
 */
bool weights_stream(const struct binding *b, const struct operand *w);

#define EXECUTOR(name, prepare)                                                                    \
    void exec_##name(struct worker *me, const struct bound_insn *i);                               \
    bool prepare(struct binding *b, struct bound_insn *i, const struct insn *insn);
#define OTHER_EXECUTOR(name) void exec_##name(struct worker *me, const struct bound_insn *i);
#include "runtime/exec/executors.def"
/* exec_general.c: a reduction by a function that the kernels lack; prepare_reduce hands it over. */
bool prepare_general_reduce(struct binding *b, struct bound_insn *i, const struct insn *insn);

/*
 * Steps after a product (exec_steps.c): the instructions behind nc_matmul that its tile kernel does
 * on sums in registers. Tiles that nothing else reads are not written then.
 */
enum { MAX_STEPS = 32 };
struct product_steps;
/* NULL: none. *skip: how many instructions they stand for. */
const struct product_steps *find_steps(const struct binding *b, const struct bound_insn *product,
                                       int *skip);
/* The steps of an instance; how many. */
int place_steps(const struct worker *me, const struct product_steps *s, struct gemm_step *steps);

#endif
