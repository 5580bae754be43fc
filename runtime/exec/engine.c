/*
 * What executors share: walks over rows and tiles, elements of any type.
 */
#include "runtime/exec/engine.h"

#include "neff/base/use.h"

#include <math.h>
#include <string.h>

void for_each_row(struct worker *me, const struct bound_insn *i, const int64_t *count, int outer,
                  row_fn row)
{
    int64_t at[MAX_AP_RANK] = {0};
    char *p[MAX_APS];
    for (int n = 0; n < i->nops; n++)
        p[n] = i->o[n].mem ? operand_address(me, &i->o[n]) : NULL;
    if (outer == 0) {
        row(me, i, p, count);
        return;
    }
    int64_t step[MAX_APS];
    for (int n = 0; n < i->nops; n++)
        step[n] = i->o[n].mem ? i->o[n].step[outer - 1] * i->o[n].size : 0;
    for (;;) {
        for (int64_t r = 0; r < count[outer - 1]; r++) {
            row(me, i, p, count);
            for (int n = 0; n < i->nops; n++)
                p[n] += step[n];
        }
        for (int n = 0; n < i->nops; n++)
            p[n] -= step[n] * count[outer - 1];
        int d = outer - 2;
        for (; d >= 0; d--) {
            bool more = ++at[d] < count[d];
            for (int n = 0; n < i->nops; n++)
                if (i->o[n].mem)
                    p[n] += i->o[n].step[d] * i->o[n].size * (more ? 1 : 1 - count[d]);
            if (more)
                break;
            at[d] = 0;
        }
        if (d < 0)
            return;
    }
}

void run_rows(struct worker *me, const struct bound_insn *i, row_fn row)
{
    int64_t count[MAX_AP_RANK];
    if (USED(FLAT) && i->flat)
        run_flat(me, i, row);
    else if (shape_now(me, &i->shape, count))
        for_each_row(me, i, count, i->shape.rank - (i->inner ? i->inner : 1), row);
}

void run_tiles(struct worker *me, const struct bound_insn *i, row_fn tile)
{
    int64_t count[MAX_AP_RANK];
    if (shape_now(me, &i->shape, count))
        for_each_row(me, i, count, i->shape.rank - 2, tile);
}

/* ---- tiles of 8-bit numbers and sums ---- */

/* Of the instructions that have an affine kernel. */
enum { DST = AP(tensor_scalar, dst), SRC = AP(tensor_scalar, src) };
_Static_assert((int)DST == AP(activation, dst) && (int)SRC == AP(activation, src),
               "affine operands");

bool affine_operands(const struct bound_insn *i)
{
    int last = i->shape.rank - 1, y = i->o[DST].dtype, x = i->o[SRC].dtype;
    return last >= 0 && tile_type_of(x) >= 0 && tile_type_of(y) >= 0 && y != DT_I32 &&
           (x != DT_F32 || y != DT_F32) && i->o[DST].step[last] == 1 && i->o[SRC].step[last] == 1;
}

struct affine_tile affine_at(const struct bound_insn *i, char *const *p, const int64_t *count)
{
    int last = i->shape.rank - 1, before = last ? last - 1 : 0;
    return (struct affine_tile){
        .x = p[SRC],
        .y = p[DST],
        .x_pitch = i->o[SRC].step[before],
        .y_pitch = i->o[DST].step[before],
        .x_type = (enum tile_type)tile_type_of(i->o[SRC].dtype),
        .y_type = (enum tile_type)tile_type_of(i->o[DST].dtype),
        .rows = last ? (size_t)count[last - 1] : 1,
        .n = (size_t)count[last],
    };
}

void run_affine(struct worker *me, const struct bound_insn *i, row_fn tile)
{
    if (i->shape.rank >= 2)
        run_tiles(me, i, tile);
    else
        run_rows(me, i, tile);
}

/* ---- elements of any type ---- */

static const int8_t to_f32[DT_END] = {
    [DT_BF16] = CONVERT_f32_from_bf16 + 1, [DT_F16] = CONVERT_f32_from_f16 + 1,
    [DT_I8] = CONVERT_f32_from_i8 + 1,     [DT_U8] = CONVERT_f32_from_u8 + 1,
    [DT_BOOL] = CONVERT_f32_from_u8 + 1,   [DT_I32] = CONVERT_f32_from_i32 + 1,
};
static const int8_t from_f32[DT_END] = {
    [DT_BF16] = CONVERT_bf16_from_f32 + 1, [DT_F16] = CONVERT_f16_from_f32 + 1,
    [DT_I8] = CONVERT_i8_from_f32 + 1,     [DT_U8] = CONVERT_u8_from_f32 + 1,
    [DT_I32] = CONVERT_i32_from_f32 + 1,
};

static int known(const int8_t *table, int dtype)
{
    return dtype < DT_END ? table[dtype] : 0;
}

/* n elements as f32. */
static void load_row(const struct worker *me, const struct operand *o, const char *p, int64_t step,
                     int64_t n, float *buf)
{
    int c = known(to_f32, o->dtype);
    if (c || !USED(OTHER_TYPES))
        me->k->convert[c - 1](buf, 1, p, step, (size_t)n);
    else
        for (int64_t i = 0; i < n; i++)
            buf[i] = (float)dtype_load_f64(o->dtype, p + i * step * o->size, 0);
}

struct in_row fetch_slow(const struct worker *me, const struct operand *o, const char *p, int64_t step,
                         int64_t n, float *buf)
{
    load_row(me, o, p, step, step == 0 ? 1 : n, buf);
    return (struct in_row){buf, step == 0 ? 0 : 1};
}

void store_row(const struct worker *me, const struct operand *o, char *p, int64_t step, const float *x,
               int64_t n)
{
    int c = known(from_f32, o->dtype);
    if (o->dtype == DT_F32) {
        me->k->copy(p, step * 4, x, 4, (size_t)n, 4);
    } else if (c || !USED(OTHER_TYPES)) {
        me->k->convert[c - 1](p, step, x, 1, (size_t)n);
    } else if (o->dtype == DT_BOOL) {
        for (int64_t i = 0; i < n; i++)
            p[i * step] = x[i] != 0;
    } else {
        bool integer = dtype_is_int(o->dtype);
        for (int64_t i = 0; i < n; i++)
            dtype_store_f64(o->dtype, p + i * step * o->size, 0, integer ? nearbyint(x[i]) : x[i]);
    }
}

float load_one(const struct operand *o, const char *p)
{
    if (o->dtype == DT_F32)
        return *(const float *)p;
    if (USED(OTHER_TYPES))
        return (float)dtype_load_f64(o->dtype, p, 0);
    uint32_t bits = (uint32_t)((uint8_t)p[1] << 8 | (uint8_t)p[0]) << 16; /* bf16 */
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

void convert_row(const struct worker *me, const struct operand *to, char *y, int64_t y_step,
                 const struct operand *from, const char *x, int64_t x_step, int64_t n)
{
    if (to->dtype == from->dtype) {
        me->k->copy(y, y_step * to->size, x, x_step * from->size, (size_t)n, to->size);
        return;
    }
    bool floats =
        !USED(OTHER_TYPES) || (dtype_is_float(to->dtype) && dtype_is_float(from->dtype));
    bool narrow = known(to_f32, from->dtype) || from->dtype == DT_F32;
    bool wide = from->dtype == DT_I32 && to->dtype != DT_F32; /* f32 does not hold all of them */
    bool rounds = dtype_is_float(from->dtype) && from->dtype != DT_F64 && !dtype_is_float(to->dtype);
    if (to->dtype == DT_F32 && known(to_f32, from->dtype)) {
        me->k->convert[known(to_f32, from->dtype) - 1](y, y_step, x, x_step, (size_t)n);
        return;
    }
    if (!USED(OTHER_TYPES) || rounds || (narrow && !wide && (floats || dtype_is_float(to->dtype)))) {
        float buf[CHUNK];
        for (int64_t at = 0; at < n; at += CHUNK) {
            int64_t m = n - at < CHUNK ? n - at : CHUNK;
            struct in_row r = {buf, 1};
            if (from->dtype == DT_F32 && x_step == 1)
                r.at = (const float *)x + at;
            else if (from->dtype == DT_F32)
                me->k->copy(buf, 4, x + at * x_step * 4, x_step * 4, (size_t)m, 4);
            else
                load_row(me, from, x + at * x_step * from->size, x_step, m, buf);
            store_row(me, to, y + at * y_step * to->size, y_step, r.at, m);
        }
        return;
    }
    cast_fn cast = kernels_cast(me->k, to->dtype, from->dtype);
    if (y_step == 1 && x_step == 1) {
        if (cast && !(to->dtype == DT_F32 && from->dtype == DT_F64)) /* saturates */
            cast(y, x, (size_t)n);
        else
            dtype_convert(to->dtype, y, from->dtype, x, (size_t)n, true);
        return;
    }
    for (int64_t i = 0; i < n; i++)
        dtype_convert(to->dtype, y + i * y_step * to->size, from->dtype,
                      x + i * x_step * from->size, 1, true);
}

bool only_numbers(struct binding *b, const struct bound_insn *i, const struct insn *insn)
{
    for (int n = 0; n < i->nops; n++) {
        int class = dtype_class(i->o[n].dtype);
        if (i->o[n].mem && class != DTC_FLOAT && class != DTC_SINT && class != DTC_UINT &&
            class != DTC_BOOL)
            return fail(b->d, "%s does not compute with elements of %s", insn_info(insn->op)->name,
                        dtype_name(i->o[n].dtype));
    }
    return true;
}

bool constant_numbers(struct binding *b, const struct bound_insn *i)
{
    const struct insn_info *info = insn_info(i->op);
    for (int n = 0; n < info->nimms; n++)
        if (!info->imm[n].varies && (i->imm[n].nterms || i->imm[n].base < 0 || i->imm[n].base > 1 << 20))
            return fail(b->d, "%s: '%s' is %lld", info->name, info->imm[n].name, (long long)i->imm[n].base);
    return true;
}

bool prepare_numbers(struct binding *b, struct bound_insn *i, const struct insn *insn)
{
    return only_numbers(b, i, insn);
}

bool weights_stream(const struct binding *b, const struct operand *w)
{
    enum { STAY_IN_CACHE = 640 << 10 };
    bool again = false;
    int64_t bytes = w->size;
    for (int d = 0; d < w->rank; d++)
        bytes *= w->count[d];
    for (int v = 0; v < b->kernel->kernel->nvars; v++) {
        int64_t coef = 0;
        for (int i = 0; i < w->nterms; i++)
            coef += w->terms[i].var == v ? w->terms[i].coef : 0;
        again |= coef == 0 && b->var_count[v] > 1;
        bytes += coef * (b->var_count[v] - 1) * w->size;
    }
    return w->mem == MEM_HBM && (!again || bytes > STAY_IN_CACHE);
}
