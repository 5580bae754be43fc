/*
 * Vector engine: arithmetic on whole tiles.
 */
#include "runtime/exec/engine.h"
#include "runtime/exec/integer.h"

#include <string.h>

struct arithmetic {
    struct alu f[2];
    struct integer_function integer; /* tensor_tensor on integers only */
    bool direct;                     /* all operands f32 */
    bool bytes;                      /* a comparison into bytes */
    bool tile;                       /* tensor_tensor by a tile kernel */
    bool affine; /* tensor_scalar that quantises or dequantises, by the affine kernel */
    enum { TWO_STEPS, MULTIPLY_ADD, CLIP } fused;
};

static bool integers(const struct bound_insn *i)
{
    for (int n = 0; n < i->nops; n++)
        if (dtype_class(i->o[n].dtype) == DTC_FLOAT)
            return false;
    return true;
}

static void fuse(const struct bound_insn *i, struct arithmetic *a)
{
    if (i->op != INSN_tensor_scalar || i->imm[0].base || i->imm[1].base)
        return;
    if (i->func[0] == OP_mul && i->func[1] == OP_add)
        a->fused = MULTIPLY_ADD;
    else if (i->func[0] == OP_max && i->func[1] == OP_min && i->flt[0] <= i->flt[1])
        a->fused = CLIP;
}

bool prepare_alu(struct binding *b, struct bound_insn *i, const struct insn *insn)
{
    struct arithmetic *a = ARENA_NEW(b->arena, struct arithmetic);
    i->prepared = a;
    if (!only_numbers(b, i, insn))
        return false;
    if (i->op == INSN_tensor_tensor && integers(i))
        return integer_find(&a->integer, b->table, i, b->d);
    int nfuncs = insn_info(i->op)->nfuncs;
    bool reversible = i->op == INSN_tensor_scalar || i->op == INSN_scalar_tensor_tensor;
    for (int n = 0; n < nfuncs; n++)
        if (!alu_find(&a->f[n], i->func[n], reversible && i->imm[n].base, i->flt[n], 0, b->d))
            return false;
    a->direct = true;
    for (int n = 0; n < i->nops; n++)
        a->direct &= i->o[n].dtype == DT_F32;
    a->bytes = i->op == INSN_tensor_tensor && a->f[0].kind == ALU_COMPARE &&
               (i->o[0].dtype == DT_BOOL || i->o[0].dtype == DT_U8);
    a->tile = i->op == INSN_tensor_tensor && a->f[0].kind == ALU_BINARY && i->shape.rank >= 2 &&
              tile_result(i, 0) && tile_operand(i, 1) && tile_operand(i, 2);
    fuse(i, a);
    bool straight = i->op == INSN_tensor_scalar && !i->imm[0].base && !i->imm[1].base,
         shifts = i->func[0] == OP_sub && i->func[1] == OP_mul,
         divides = i->func[0] == OP_div && i->o[0].dtype != DT_F32 &&
                   (i->func[1] == OP_identity ||
                    (i->func[1] == OP_round_shift && affine_zero(i->flt[1])));
    a->affine = straight && (shifts || divides) && affine_operands(i);
    return true;
}

/* ---- memset ---- */

static void memset_row(struct lane *l, const struct bound_insn *i, char *const *p,
                       const int64_t *count)
{
    const struct operand *y = &i->o[0];
    int last = i->shape.rank - 1;
    int64_t n = count[last], step = y->step[last] * y->size;
    if (i->flt[0] == 0 && y->step[last] == 1) {
        memset(p[0], 0, (size_t)(n * y->size));
        return;
    }
    char one[16];
    store_one(l, y, one, i->flt[0]);
    l->k->copy(p[0], step, one, 0, (size_t)n, y->size);
}

void exec_memset(struct lane *l, const struct bound_insn *i)
{
    run_rows(l, i, memset_row);
}

/* ---- tensor_tensor ---- */

static void tensor_tensor_row(struct lane *l, const struct bound_insn *i, char *const *p,
                              const int64_t *count)
{
    const struct arithmetic *a = i->prepared;
    const struct operand *o = i->o;
    int last = i->shape.rank - 1;
    int64_t n = count[last], ys = o[0].step[last], as = o[1].step[last], bs = o[2].step[last];
    if (a->direct) {
        alu_run(l, &a->f[0], (struct out_row){(float *)p[0], ys},
                (struct in_row){(float *)p[1], as}, (struct in_row){(float *)p[2], bs}, n);
        return;
    }
    if (a->integer.run || a->integer.row) {
        integer_row(&a->integer, i, p, n);
        return;
    }
    float x[CHUNK], y[CHUNK], z[CHUNK];
    for (int64_t at = 0; at < n; at += CHUNK) {
        int64_t m = n - at < CHUNK ? n - at : CHUNK;
        struct in_row ra = fetch(l, &o[1], p[1] + at * as * o[1].size, as, m, x);
        struct in_row rb = fetch(l, &o[2], p[2] + at * bs * o[2].size, bs, m, y);
        char *to = p[0] + at * ys * o[0].size;
        if (a->bytes) {
            l->k->compare[a->f[0].index]((uint8_t *)to, ys, ra, rb, (size_t)m);
        } else if (o[0].dtype == DT_F32) {
            alu_run(l, &a->f[0], (struct out_row){(float *)to, ys}, ra, rb, m);
        } else {
            alu_run(l, &a->f[0], (struct out_row){z, 1}, ra, rb, m);
            store_row(l, &o[0], to, ys, z, m);
        }
    }
}

static void tensor_tensor_tile(struct lane *l, const struct bound_insn *i, char *const *p,
                               const int64_t *count)
{
    const struct arithmetic *a = i->prepared;
    int last = i->shape.rank - 1;
    struct in_tile x = tile_at(i, p, a->f[0].swap ? 2 : 1), y = tile_at(i, p, a->f[0].swap ? 1 : 2);
    l->k->binary_tile[a->f[0].index](tile_to(i, p), x, y, (size_t)count[last - 1],
                                     (size_t)count[last]);
}

void exec_tensor_tensor(struct lane *l, const struct bound_insn *i)
{
    const struct arithmetic *a = i->prepared;
    if (a->tile && !i->flat)
        run_tiles(l, i, tensor_tensor_tile);
    else
        run_rows(l, i, tensor_tensor_row);
}

/* ---- tensor_scalar ---- */

static void two_steps(const struct lane *l, const struct bound_insn *i, struct out_row y,
                      struct in_row x, int64_t n)
{
    const struct arithmetic *a = i->prepared;
    struct in_row s0 = {&i->flt[0], 0}, s1 = {&i->flt[1], 0}, again = {y.at, y.step};
    if (a->fused == MULTIPLY_ADD) {
        l->k->multiply_add(y, x, s0, s1, (size_t)n);
    } else if (a->fused == CLIP) {
        l->k->activation[ACTIVATION_clip](y, x, (struct in_row){0}, (struct in_row){0}, (size_t)n,
                                          i->flt);
    } else {
        alu_run(l, &a->f[0], y, x, s0, n);
        alu_run(l, &a->f[1], y, again, s1, n);
    }
}

static void tensor_scalar_row(struct lane *l, const struct bound_insn *i, char *const *p,
                              const int64_t *count)
{
    const struct arithmetic *a = i->prepared;
    const struct operand *o = i->o;
    int last = i->shape.rank - 1;
    int64_t n = count[last], ys = o[0].step[last], xs = o[1].step[last];
    if (a->direct) {
        two_steps(l, i, (struct out_row){(float *)p[0], ys}, (struct in_row){(float *)p[1], xs}, n);
        return;
    }
    float x[CHUNK], y[CHUNK];
    for (int64_t at = 0; at < n; at += CHUNK) {
        int64_t m = n - at < CHUNK ? n - at : CHUNK;
        struct in_row r = fetch(l, &o[1], p[1] + at * xs * o[1].size, xs, m, x);
        two_steps(l, i, (struct out_row){y, 1}, r, m);
        store_row(l, &o[0], p[0] + at * ys * o[0].size, ys, y, m);
    }
}

static void tensor_scalar_affine(struct lane *l, const struct bound_insn *i, char *const *p,
                                 const int64_t *count)
{
    struct affine_tile t = affine_at(i, p, count);
    struct in_tile first = {&i->flt[0], 0, 0}, second = {&i->flt[1], 0, 0};
    bool divides = i->func[0] == OP_div;
    t.form = divides ? AFFINE_DIVIDE : AFFINE_SHIFT_SCALE;
    t.scale = divides ? first : second;
    t.bias = divides ? (struct in_tile){0} : first;
    t.zero = divides && i->func[1] == OP_round_shift ? (int)i->flt[1] : 0;
    l->k->affine(&t);
}

void exec_tensor_scalar(struct lane *l, const struct bound_insn *i)
{
    const struct arithmetic *a = i->prepared;
    if (a->affine)
        run_affine(l, i, tensor_scalar_affine);
    else
        run_rows(l, i, tensor_scalar_row);
}

/* ---- scalar_tensor_tensor ---- */

static void scalar_tensor_tensor_row(struct lane *l, const struct bound_insn *i, char *const *p,
                                     const int64_t *count)
{
    const struct arithmetic *a = i->prepared;
    const struct operand *o = i->o;
    int last = i->shape.rank - 1;
    int64_t n = count[last], ys = o[0].step[last], xs = o[1].step[last], ts = o[2].step[last];
    float x[CHUNK], t[CHUNK], y[CHUNK];
    for (int64_t at = 0; at < n; at += CHUNK) {
        int64_t m = n - at < CHUNK ? n - at : CHUNK;
        struct in_row rx = fetch(l, &o[1], p[1] + at * xs * o[1].size, xs, m, x);
        struct in_row rt = fetch(l, &o[2], p[2] + at * ts * o[2].size, ts, m, t);
        char *to = p[0] + at * ys * o[0].size;
        alu_run(l, &a->f[0], (struct out_row){y, 1}, rx, (struct in_row){&i->flt[0], 0}, m);
        if (o[0].dtype == DT_F32) {
            alu_run(l, &a->f[1], (struct out_row){(float *)to, ys}, (struct in_row){y, 1}, rt, m);
        } else {
            alu_run(l, &a->f[1], (struct out_row){y, 1}, (struct in_row){y, 1}, rt, m);
            store_row(l, &o[0], to, ys, y, m);
        }
    }
}

void exec_scalar_tensor_tensor(struct lane *l, const struct bound_insn *i)
{
    run_rows(l, i, scalar_tensor_tensor_row);
}

/* ---- select ---- */

static void select_row(struct lane *l, const struct bound_insn *i, char *const *p,
                       const int64_t *count)
{
    const struct operand *o = i->o;
    int last = i->shape.rank - 1;
    int64_t n = count[last], ys = o[0].step[last], ws = o[1].step[last], as = o[2].step[last],
            bs = o[3].step[last];
    if (o[0].dtype == o[2].dtype && o[0].dtype == o[3].dtype && o[0].dtype != DT_F32) {
        choose_row(i, p, n);
        return;
    }
    float a[CHUNK], b[CHUNK], y[CHUNK];
    for (int64_t at = 0; at < n; at += CHUNK) {
        int64_t m = n - at < CHUNK ? n - at : CHUNK;
        struct in_row ra = fetch(l, &o[2], p[2] + at * as * o[2].size, as, m, a);
        struct in_row rb = fetch(l, &o[3], p[3] + at * bs * o[3].size, bs, m, b);
        const uint8_t *which = (const uint8_t *)p[1] + at * ws;
        char *to = p[0] + at * ys * o[0].size;
        if (o[0].dtype == DT_F32) {
            l->k->select((struct out_row){(float *)to, ys}, which, ws, ra, rb, (size_t)m);
        } else {
            l->k->select((struct out_row){y, 1}, which, ws, ra, rb, (size_t)m);
            store_row(l, &o[0], to, ys, y, m);
        }
    }
}

void exec_select(struct lane *l, const struct bound_insn *i)
{
    run_rows(l, i, select_row);
}

/* ---- tensor_tensor_scan ---- */

static void scan_row(struct lane *l, const struct bound_insn *i, char *const *p,
                     const int64_t *count)
{
    const struct arithmetic *f = i->prepared;
    const struct operand *o = i->o;
    int last = i->shape.rank - 1;
    int64_t n = count[last], ys = o[0].step[last], as = o[1].step[last], bs = o[2].step[last];
    float a[CHUNK], b[CHUNK], y[CHUNK], r = i->flt[0];
    for (int64_t at = 0; at < n; at += CHUNK) {
        int64_t m = n - at < CHUNK ? n - at : CHUNK;
        struct in_row ra = fetch(l, &o[1], p[1] + at * as * o[1].size, as, m, a);
        struct in_row rb = fetch(l, &o[2], p[2] + at * bs * o[2].size, bs, m, b);
        for (int64_t k = 0; k < m; k++) {
            float t;
            alu_run(l, &f->f[0], (struct out_row){&t, 1}, (struct in_row){ra.at + k * ra.step, 0},
                    (struct in_row){&r, 0}, 1);
            alu_run(l, &f->f[1], (struct out_row){&y[k], 1}, (struct in_row){&t, 0},
                    (struct in_row){rb.at + k * rb.step, 0}, 1);
            r = y[k];
        }
        store_row(l, &o[0], p[0] + at * ys * o[0].size, ys, y, m);
    }
}

void exec_tensor_tensor_scan(struct lane *l, const struct bound_insn *i)
{
    run_rows(l, i, scan_row);
}
