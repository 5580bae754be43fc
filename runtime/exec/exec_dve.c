/*
 * Vector engine: arithmetic on whole tiles.
 */
#include "runtime/exec/arithmetic.h"

#include "neff/base/use.h"
#include "runtime/exec/forms.h"

#include <string.h>

static bool integers(const struct bound_insn *i)
{
    for (int n = 0; n < i->nops; n++)
        if (dtype_class(i->o[n].dtype) == DTC_FLOAT)
            return false;
    return true;
}

/* A tensor_scalar whose operations have their operands in order. */
static bool is_straight(const struct bound_insn *i)
{
    return i->op == INSN_tensor_scalar && !i->imm[IMM(tensor_scalar, reverse0)].base &&
           !i->imm[IMM(tensor_scalar, reverse1)].base;
}

static void fuse(const struct bound_insn *i, struct arithmetic *a)
{
    int op0 = i->func[FUNC(tensor_scalar, op0)], op1 = i->func[FUNC(tensor_scalar, op1)];
    float s0 = i->flt[FLT(tensor_scalar, scalar0)], s1 = i->flt[FLT(tensor_scalar, scalar1)];
    if (!is_straight(i))
        return;
    if (op0 == OP_mul && op1 == OP_add)
        a->fused = MULTIPLY_ADD;
    else if (op0 == OP_max && op1 == OP_min && s0 <= s1)
        a->fused = CLIP;
}

/* Of tensor_scalar: quantises, or takes a zero point away and scales. */
static bool quantises(const struct bound_insn *i)
{
    if (!is_straight(i))
        return false;
    int op0 = i->func[FUNC(tensor_scalar, op0)], op1 = i->func[FUNC(tensor_scalar, op1)];
    float s1 = i->flt[FLT(tensor_scalar, scalar1)];
    bool shifts = op0 == OP_sub && op1 == OP_mul,
         divides = op0 == OP_div && i->o[AP(tensor_scalar, dst)].dtype != DT_F32 &&
                   (op1 == OP_identity || (op1 == OP_round_shift && affine_zero(s1)));
    return (shifts || divides) && affine_operands(i);
}

/* Every function with the immediate that reverses it and its scalar, where it has them: they have
 * the same order. */
static bool find_functions(struct binding *b, const struct bound_insn *i, struct arithmetic *a)
{
    bool reversible = i->op == INSN_tensor_scalar || i->op == INSN_scalar_tensor_tensor;
    for (int n = 0; n < insn_info(i->op)->nfuncs; n++)
        if (!alu_find(&a->f[n], i->func[n], reversible && i->imm[n].base, i->flt[n], 0, b->d))
            return false;
    return true;
}

bool prepare_alu(struct binding *b, struct bound_insn *i, const struct insn *insn)
{
    struct arithmetic *a = ARENA_NEW(b->arena, struct arithmetic);
    i->prepared = a;
    if (!only_numbers(b, i, insn))
        return false;
    if (i->op == INSN_tensor_tensor && integers(i))
        return integer_find(&a->integer, i, b->d);
    if (!find_functions(b, i, a))
        return false;
    a->direct = true;
    for (int n = 0; n < i->nops; n++)
        a->direct &= i->o[n].dtype == DT_F32;
    if (i->op == INSN_tensor_tensor) {
        int dst = i->o[AP(tensor_tensor, dst)].dtype;
        a->bytes = a->f[0].kind == ALU_COMPARE && (dst == DT_BOOL || dst == DT_U8);
        a->tile = a->f[0].kind == ALU_BINARY && i->shape.rank >= 2 &&
                  tile_result(i, AP(tensor_tensor, dst)) && tile_operand(i, AP(tensor_tensor, a)) &&
                  tile_operand(i, AP(tensor_tensor, b));
    }
    fuse(i, a);
    a->affine = quantises(i);
    if (i->op == INSN_tensor_scalar)
        a->tile = a->f[0].kind == ALU_BINARY && a->f[1].kind == ALU_COPY && i->shape.rank >= 2 &&
                  tile_result(i, AP(tensor_scalar, dst)) && tile_operand(i, AP(tensor_scalar, src));
    return true;
}

/* ---- memset ---- */

static void memset_row(struct worker *me, const struct bound_insn *i, char *const *p,
                       const int64_t *count)
{
    const struct operand *dst = &i->o[AP(memset, dst)];
    char *to = p[AP(memset, dst)];
    float value = i->flt[FLT(memset, value)];
    int last = i->shape.rank - 1;
    int64_t n = count[last], step = dst->step[last] * dst->size;
    if (value == 0 && dst->step[last] == 1) {
        memset(to, 0, (size_t)(n * dst->size));
        return;
    }
    char one[16];
    store_one(me, dst, one, value);
    me->k->copy(to, step, one, 0, (size_t)n, dst->size);
}

void exec_memset(struct worker *me, const struct bound_insn *i)
{
    run_rows(me, i, memset_row);
}

/* ---- tensor_tensor ---- */

static void tensor_tensor_row(struct worker *me, const struct bound_insn *i, char *const *p,
                              const int64_t *count)
{
    enum { DST = AP(tensor_tensor, dst), A = AP(tensor_tensor, a), B = AP(tensor_tensor, b) };
    const struct arithmetic *a = i->prepared;
    int last = i->shape.rank - 1;
    int64_t n = count[last], chunk = a->direct ? n : CHUNK;
    if (USED(OTHER_TYPES) && a->integer.dtype) {
        integer_row(me, &a->integer, i, p, n);
        return;
    }
    float x[CHUNK], y[CHUNK], z[CHUNK];
    for (int64_t at = 0; at < n; at += chunk) {
        int64_t m = n - at < chunk ? n - at : chunk;
        struct in_row ra = fetch_part(me, i, p, A, at, m, x), rb = fetch_part(me, i, p, B, at, m, y);
        if (a->bytes) {
            me->k->compare[a->f[0].index]((uint8_t *)part_address(i, p, DST, at),
                                          i->o[DST].step[last], ra, rb, (size_t)m);
            continue;
        }
        alu_run(me, &a->f[0], result_part(i, p, DST, at, z), ra, rb, m);
        store_part(me, i, p, DST, at, m, z);
    }
}

BY_WORDS static void tensor_tensor_tile(struct worker *me, const struct bound_insn *i, char *const *p,
                               const int64_t *count)
{
    const struct arithmetic *a = i->prepared;
    int last = i->shape.rank - 1;
    struct in_tile x = tile_at(i, p, AP(tensor_tensor, a)), y = tile_at(i, p, AP(tensor_tensor, b));
    bool swap = a->f[0].swap;
    me->k->binary_tile[a->f[0].index](tile_to(i, p), swap ? y : x, swap ? x : y,
                                      (size_t)count[last - 1], (size_t)count[last]);
}

void exec_tensor_tensor(struct worker *me, const struct bound_insn *i)
{
    const struct arithmetic *a = i->prepared;
    if (USED(TILES_tensor_tensor) && a->tile && !i->flat)
        run_tiles(me, i, tensor_tensor_tile);
    else if (USED(ROWS_tensor_tensor))
        run_rows(me, i, tensor_tensor_row);
}

unsigned tensor_tensor_forms(const struct bound_insn *i)
{
    const struct arithmetic *a = i->prepared;
    return a->tile && !i->flat ? FORM_TILES : FORM_ROWS;
}

/* ---- tensor_scalar ---- */

static void two_steps(const struct worker *me, const struct bound_insn *i, struct out_row y,
                      struct in_row x, int64_t n)
{
    const struct arithmetic *a = i->prepared;
    const float *scalars = &i->flt[FLT(tensor_scalar, scalar0)]; /* the limits of clip */
    struct in_row s0 = {&i->flt[FLT(tensor_scalar, scalar0)], 0},
                  s1 = {&i->flt[FLT(tensor_scalar, scalar1)], 0}, again = {y.at, y.step};
    if (a->fused == MULTIPLY_ADD) {
        me->k->multiply_add(y, x, s0, s1, (size_t)n);
    } else if (a->fused == CLIP) {
        me->k->activation[ACTIVATION_clip](y, x, (struct in_row){0}, (struct in_row){0}, (size_t)n,
                                           scalars);
    } else {
        alu_run(me, &a->f[0], y, x, s0, n);
        alu_run(me, &a->f[1], y, again, s1, n);
    }
}

static void tensor_scalar_row(struct worker *me, const struct bound_insn *i, char *const *p,
                              const int64_t *count)
{
    enum { DST = AP(tensor_scalar, dst), SRC = AP(tensor_scalar, src) };
    const struct arithmetic *a = i->prepared;
    int64_t n = count[i->shape.rank - 1], chunk = a->direct ? n : CHUNK;
    float x[CHUNK], y[CHUNK];
    for (int64_t at = 0; at < n; at += chunk) {
        int64_t m = n - at < chunk ? n - at : chunk;
        struct in_row src = fetch_part(me, i, p, SRC, at, m, x);
        two_steps(me, i, a->direct ? result_part(i, p, DST, at, y) : (struct out_row){y, 1}, src, m);
        if (!a->direct)
            store_row(me, &i->o[DST], part_address(i, p, DST, at), i->o[DST].step[i->shape.rank - 1],
                      y, m);
    }
}

BY_WORDS static void tensor_scalar_tile(struct worker *me, const struct bound_insn *i, char *const *p,
                               const int64_t *count)
{
    const struct arithmetic *a = i->prepared;
    int last = i->shape.rank - 1;
    struct in_tile x = tile_at(i, p, AP(tensor_scalar, src)), s = {&i->flt[FLT(tensor_scalar, scalar0)], 0, 0};
    bool swap = a->f[0].swap;
    me->k->binary_tile[a->f[0].index](tile_to(i, p), swap ? s : x, swap ? x : s, (size_t)count[last - 1],
                                      (size_t)count[last]);
}

static void tensor_scalar_affine(struct worker *me, const struct bound_insn *i, char *const *p,
                                 const int64_t *count)
{
    struct affine_tile t = affine_at(i, p, count);
    struct in_tile first = {&i->flt[FLT(tensor_scalar, scalar0)], 0, 0},
                   second = {&i->flt[FLT(tensor_scalar, scalar1)], 0, 0};
    bool divides = i->func[FUNC(tensor_scalar, op0)] == OP_div,
         shifts = divides && i->func[FUNC(tensor_scalar, op1)] == OP_round_shift;
    t.form = divides ? AFFINE_DIVIDE : AFFINE_SHIFT_SCALE;
    t.scale = divides ? first : second;
    t.bias = divides ? (struct in_tile){0} : first;
    t.zero = shifts ? (int)*second.at : 0;
    me->k->affine(&t);
}

void exec_tensor_scalar(struct worker *me, const struct bound_insn *i)
{
    const struct arithmetic *a = i->prepared;
    if (USED(KERNEL_affine) && a->affine)
        run_affine(me, i, tensor_scalar_affine);
    else if (USED(TILES_tensor_scalar) && a->tile && !i->flat)
        run_tiles(me, i, tensor_scalar_tile);
    else
        run_rows(me, i, tensor_scalar_row);
}

unsigned tensor_scalar_forms(const struct bound_insn *i)
{
    const struct arithmetic *a = i->prepared;
    return a->affine ? FORM_AFFINE : a->tile && !i->flat ? FORM_TILES : FORM_ROWS;
}

/* ---- scalar_tensor_tensor ---- */

static void scalar_tensor_tensor_row(struct worker *me, const struct bound_insn *i, char *const *p,
                                     const int64_t *count)
{
    const struct arithmetic *a = i->prepared;
    struct in_row scalar = {&i->flt[FLT(scalar_tensor_tensor, scalar)], 0};
    int64_t n = count[i->shape.rank - 1];
    float x[CHUNK], t[CHUNK], y[CHUNK];
    for (int64_t at = 0; at < n; at += CHUNK) {
        int64_t m = n - at < CHUNK ? n - at : CHUNK;
        struct in_row src = fetch_part(me, i, p, AP(scalar_tensor_tensor, src), at, m, x);
        struct in_row tensor = fetch_part(me, i, p, AP(scalar_tensor_tensor, tensor), at, m, t);
        alu_run(me, &a->f[0], (struct out_row){y, 1}, src, scalar, m);
        alu_run(me, &a->f[1], result_part(i, p, AP(scalar_tensor_tensor, dst), at, y),
                (struct in_row){y, 1}, tensor, m);
        store_part(me, i, p, AP(scalar_tensor_tensor, dst), at, m, y);
    }
}

void exec_scalar_tensor_tensor(struct worker *me, const struct bound_insn *i)
{
    run_rows(me, i, scalar_tensor_tensor_row);
}

/* ---- select ---- */

/* Elements of four bytes are moved as they are, by the kernel for f32. */
static void choose_words(struct worker *me, const struct bound_insn *i, char *const *p, int64_t n)
{
    enum { DST = AP(select, dst), PREDICATE = AP(select, predicate) };
    enum { A = AP(select, a), B = AP(select, b) };
    int last = i->shape.rank - 1;
    me->k->select((struct out_row){(float *)p[DST], i->o[DST].step[last]},
                  (const uint8_t *)p[PREDICATE], i->o[PREDICATE].step[last],
                  (struct in_row){(const float *)p[A], i->o[A].step[last]},
                  (struct in_row){(const float *)p[B], i->o[B].step[last]}, (size_t)n);
}

static void select_row(struct worker *me, const struct bound_insn *i, char *const *p,
                       const int64_t *count)
{
    enum { DST = AP(select, dst), PREDICATE = AP(select, predicate) };
    int last = i->shape.rank - 1, type = i->o[DST].dtype;
    int64_t n = count[last];
    if (type == i->o[AP(select, a)].dtype && type == i->o[AP(select, b)].dtype && type != DT_F32) {
        if (i->o[DST].size == 4)
            choose_words(me, i, p, n);
        else
            choose_row(i, p, n);
        return;
    }
    float a[CHUNK], b[CHUNK], y[CHUNK];
    for (int64_t at = 0; at < n; at += CHUNK) {
        int64_t m = n - at < CHUNK ? n - at : CHUNK;
        struct in_row ra = fetch_part(me, i, p, AP(select, a), at, m, a);
        struct in_row rb = fetch_part(me, i, p, AP(select, b), at, m, b);
        me->k->select(result_part(i, p, DST, at, y),
                      (const uint8_t *)part_address(i, p, PREDICATE, at), i->o[PREDICATE].step[last],
                      ra, rb, (size_t)m);
        store_part(me, i, p, DST, at, m, y);
    }
}

void exec_select(struct worker *me, const struct bound_insn *i)
{
    run_rows(me, i, select_row);
}

/* ---- tensor_tensor_scan ---- */

static void scan_row(struct worker *me, const struct bound_insn *i, char *const *p,
                     const int64_t *count)
{
    const struct arithmetic *f = i->prepared;
    const struct operand *dst = &i->o[AP(tensor_tensor_scan, dst)];
    int64_t n = count[i->shape.rank - 1];
    float a[CHUNK], b[CHUNK], y[CHUNK], r = i->flt[FLT(tensor_tensor_scan, initial)];
    for (int64_t at = 0; at < n; at += CHUNK) {
        int64_t m = n - at < CHUNK ? n - at : CHUNK;
        struct in_row ra = fetch_part(me, i, p, AP(tensor_tensor_scan, a), at, m, a);
        struct in_row rb = fetch_part(me, i, p, AP(tensor_tensor_scan, b), at, m, b);
        for (int64_t k = 0; k < m; k++) {
            float t;
            alu_run(me, &f->f[0], (struct out_row){&t, 1}, (struct in_row){ra.at + k * ra.step, 0},
                    (struct in_row){&r, 0}, 1);
            alu_run(me, &f->f[1], (struct out_row){&y[k], 1}, (struct in_row){&t, 0},
                    (struct in_row){rb.at + k * rb.step, 0}, 1);
            r = y[k];
        }
        store_row(me, dst, part_address(i, p, AP(tensor_tensor_scan, dst), at),
                  dst->step[i->shape.rank - 1], y, m);
    }
}

void exec_tensor_tensor_scan(struct worker *me, const struct bound_insn *i)
{
    run_rows(me, i, scan_row);
}
