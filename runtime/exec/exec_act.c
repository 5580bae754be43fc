/*
 * Scalar engine: activation functions.
 */
#include "runtime/exec/arithmetic.h"

#include "neff/base/use.h"
#include "runtime/exec/forms.h"

/* Operands `o` and addresses `p` are indexed by the names of isa.def: AP(activation, src). */

enum { BLOCK = 2048 }; /* elements made f32 at a time */

bool prepare_activation(struct binding *b, struct bound_insn *i, const struct insn *insn)
{
    struct bound_activation *a = ARENA_NEW(b->arena, struct bound_activation);
    i->prepared = a;
    if (!only_numbers(b, i, insn) ||
        !alu_find(&a->f, i->func[FUNC(activation, f)], false, i->flt[FLT(activation, a)],
                  i->flt[FLT(activation, b)], b->d))
        return false;
    if (a->f.kind == ALU_COPY) {
        a->f.kind = ALU_ACTIVATION;
        a->f.index = ACTIVATION_copy;
    }
    if (!a->f.unary && a->f.kind != ALU_ACTIVATION)
        return fail(b->d, "activation: operator '%s' has two operands",
                    op_name((enum op)i->func[FUNC(activation, f)]));
    a->direct = true;
    for (int n = 0; n < i->nops; n++)
        a->direct &= i->o[n].dtype == DT_F32 || !i->o[n].mem;
    a->tile = a->f.kind == ALU_ACTIVATION && i->shape.rank >= 2 && !i->o[AP(activation, sum)].mem &&
              tile_result(i, AP(activation, dst));
    for (int n = AP(activation, scale); n <= AP(activation, bias); n++)
        a->tile &= !i->o[n].mem || tile_operand(i, n);
    a->widens = a->tile && affine_operands(i) && i->o[AP(activation, src)].dtype != DT_F32;
    a->tile &= tile_operand(i, AP(activation, src));
    bool copies = a->f.index == ACTIVATION_copy,
         rounds = a->f.index == ACTIVATION_round_shift && i->o[AP(activation, dst)].dtype != DT_F32;
    a->affine = a->f.kind == ALU_ACTIVATION && (copies || (rounds && affine_zero(a->f.p[0]))) &&
                affine_operands(i) && !i->o[AP(activation, sum)].mem;
    for (int n = AP(activation, scale); n <= AP(activation, bias); n++)
        a->affine &= !i->o[n].mem || tile_operand(i, n);
    return true;
}

static void compute(const struct worker *me, const struct bound_activation *a, struct out_row y,
                    struct in_row x, struct in_row scale, struct in_row bias, int64_t n)
{
    if (a->f.kind == ALU_ACTIVATION) {
        me->k->activation[a->f.index](y, x, scale, bias, (size_t)n, a->f.p);
        return;
    }
    if (scale.at || bias.at) {
        me->k->activation[ACTIVATION_copy](y, x, scale, bias, (size_t)n, a->f.p);
        x = (struct in_row){y.at, y.step};
    }
    alu_run(me, &a->f, y, x, x, n);
}

static void activation_row(struct worker *me, const struct bound_insn *i, char *const *p,
                           const int64_t *count)
{
    const struct bound_activation *a = i->prepared;
    const struct operand *sum = &i->o[AP(activation, sum)];
    int64_t n = count[i->shape.rank - 1], chunk = a->direct ? n : CHUNK;
    float x[CHUNK], s[CHUNK], b[CHUNK], y[CHUNK], total = 0;
    for (int64_t at = 0; at < n; at += chunk) {
        int64_t m = n - at < chunk ? n - at : chunk;
        struct in_row src = fetch_part(me, i, p, AP(activation, src), at, m, x),
                      scale = fetch_part(me, i, p, AP(activation, scale), at, m, s),
                      bias = fetch_part(me, i, p, AP(activation, bias), at, m, b);
        struct out_row dst = result_part(i, p, AP(activation, dst), at, y);
        if (!scale.at && i->flt[FLT(activation, factor)] != 1)
            scale = (struct in_row){&i->flt[FLT(activation, factor)], 0};
        compute(me, a, dst, src, scale, bias, m);
        if (sum->mem)
            total += me->k->reduce[REDUCE_sum]((struct in_row){dst.at, dst.step}, (size_t)m);
        store_part(me, i, p, AP(activation, dst), at, m, y);
    }
    if (sum->mem)
        store_one(me, sum, p[AP(activation, sum)], total);
}

/* The factor of each element of a tile. */
static struct in_tile scale_tile(const struct bound_insn *i, char *const *p)
{
    struct in_tile scale = tile_at(i, p, AP(activation, scale));
    if (!scale.at && i->flt[FLT(activation, factor)] != 1)
        scale = (struct in_tile){&i->flt[FLT(activation, factor)], 0, 0};
    return scale;
}

BY_WORDS static void activation_tile(struct worker *me, const struct bound_insn *i, char *const *p,
                            const int64_t *count)
{
    const struct bound_activation *a = i->prepared;
    int last = i->shape.rank - 1;
    struct in_tile scale = scale_tile(i, p), bias = tile_at(i, p, AP(activation, bias));
    me->k->activation_tile[a->f.index](tile_to(i, p), tile_at(i, p, AP(activation, src)), scale,
                                       bias, (size_t)count[last - 1], (size_t)count[last], a->f.p);
}

static struct in_tile part_of(struct in_tile t, int64_t row, int64_t column)
{
    if (t.at)
        t.at += row * t.pitch + column * t.step;
    return t;
}

static void activation_widened(struct worker *me, const struct bound_insn *i, char *const *p,
                               const int64_t *count)
{
    const struct bound_activation *a = i->prepared;
    int last = i->shape.rank - 1;
    int64_t rows = count[last - 1], n = count[last], columns = n < BLOCK ? n : BLOCK,
            many = BLOCK / columns;
    struct in_tile scale = scale_tile(i, p), bias = tile_at(i, p, AP(activation, bias));
    float block[BLOCK];
    struct affine_tile widen = affine_at(i, p, count);
    widen.y = block, widen.y_type = TILE_F32;
    for (int64_t r = 0; r < rows; r += many)
        for (int64_t c = 0; c < n; c += columns) {
            struct out_tile y = tile_to(i, p);
            y.at = (char *)y.at + (r * y.pitch + c) * i->o[AP(activation, dst)].size;
            widen.x =
                p[AP(activation, src)] + (r * widen.x_pitch + c) * i->o[AP(activation, src)].size;
            widen.rows = (size_t)(rows - r < many ? rows - r : many);
            widen.n = (size_t)(n - c < columns ? n - c : columns);
            widen.y_pitch = (ptrdiff_t)widen.n;
            me->k->affine(&widen);
            me->k->activation_tile[a->f.index](y, (struct in_tile){block, 1, widen.y_pitch},
                                               part_of(scale, r, c), part_of(bias, r, c), widen.rows,
                                               widen.n, a->f.p);
        }
}

static void activation_affine(struct worker *me, const struct bound_insn *i, char *const *p,
                              const int64_t *count)
{
    const struct bound_activation *a = i->prepared;
    struct affine_tile t = affine_at(i, p, count);
    t.scale = scale_tile(i, p), t.bias = tile_at(i, p, AP(activation, bias));
    t.zero = a->f.index == ACTIVATION_round_shift ? (int)a->f.p[0] : 0;
    me->k->affine(&t);
}

void exec_activation(struct worker *me, const struct bound_insn *i)
{
    const struct bound_activation *a = i->prepared;
    if (USED(KERNEL_affine) && a->affine)
        run_affine(me, i, activation_affine);
    else if (USED(TILES_activation) && a->tile && !i->flat)
        run_tiles(me, i, activation_tile);
    else if (USED(KERNEL_affine) && a->widens && !i->flat)
        run_tiles(me, i, activation_widened);
    else if (USED(ROWS_activation))
        run_rows(me, i, activation_row);
}

unsigned activation_forms(const struct bound_insn *i)
{
    const struct bound_activation *a = i->prepared;
    if (a->affine)
        return FORM_AFFINE;
    if (a->widens && !a->tile && !i->flat)
        return FORM_AFFINE | FORM_TILES;
    return a->tile && !i->flat ? FORM_TILES : FORM_ROWS;
}
