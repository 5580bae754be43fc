/*
 * What follows a product in its kernel, found when shapes are bound: sums of bias and residual,
 * activations and roundings of the very tile that it makes, each instruction taking what the one
 * before has left. The product's tile kernel does them on registers; the bits are the same.
 */
#include "neff/base/use.h"
#include "runtime/exec/engine.h"
#include "runtime/exec/forms.h"

struct planned_step {
    enum gemm_step_kind kind;
    int tile;           /* of a result: -1 when it must be stored whoever reads it */
    int64_t activation; /* of STEP_ACTIVATION: which */
    int64_t pitch;
    float p[2];
    bool f16;
    struct operand o; /* the operand or result */
};

struct product_steps {
    int n;
    struct planned_step *at;
};

/* ---- what an instruction sees ---- */

static bool same_place(const struct operand *a, const struct operand *b)
{
    if (a->mem != b->mem || a->dtype != b->dtype || a->slot != b->slot || a->offset != b->offset ||
        a->nterms != b->nterms || a->step[0] != b->step[0] || a->step[1] != b->step[1])
        return false;
    for (int i = 0; i < a->nterms; i++)
        if (a->terms[i].var != b->terms[i].var || a->terms[i].coef != b->terms[i].coef)
            return false;
    return true;
}

static bool has_clip(const struct clip *c, int n, const struct clip *wanted)
{
    for (int i = 0; i < n; i++)
        if (c[i].dim == wanted->dim && c[i].var == wanted->var && c[i].factor == wanted->factor &&
            c[i].limit == wanted->limit)
            return true;
    return false;
}

/* The instruction's two dims are those of the product's result. */
static bool same_shape(const struct bound_insn *product, const struct bound_insn *i)
{
    const struct operand *c = &product->o[AP(nc_matmul, dst)];
    const struct shape *s = &i->shape;
    if (c->rank != 2 || s->rank != 2 || s->count[0] != c->count[0] || s->count[1] != c->count[1])
        return false;
    for (int k = 0; k < s->nclips; k++)
        if (!has_clip(product->o[AP(nc_matmul, dst)].clips, product->o[AP(nc_matmul, dst)].nclips,
                      &s->clips[k]))
            return false;
    for (int k = 0; k < product->o[AP(nc_matmul, dst)].nclips; k++)
        if (!has_clip(s->clips, s->nclips, &product->o[AP(nc_matmul, dst)].clips[k]))
            return false;
    return true;
}

/* ---- building ---- */

struct step_finder {
    const struct binding *b;
    struct product_steps *s;
    struct operand now, half; /* where the value of the last step would lie; where, rounded to 16 bits */
    bool is_now, is_half;     /* it would */
    const struct ap *written[MAX_STEPS];
    int nwritten;
};

static bool add_step(struct step_finder *f, enum gemm_step_kind kind, const struct operand *o, int tile)
{
    if (f->s->n == MAX_STEPS)
        return false;
    struct planned_step *p = &f->s->at[f->s->n++];
    *p = (struct planned_step){.kind = kind, .tile = tile};
    if (o) {
        p->o = *o;
        p->pitch = o->step[0];
    }
    return true;
}

/* Whether the operand is the value of the last step, as it is or rounded. */
static bool is_value(const struct step_finder *f, const struct operand *o)
{
    return (f->is_now && same_place(o, &f->now)) || (f->is_half && same_place(o, &f->half));
}

static bool add_step_of(struct step_finder *f, enum gemm_step_kind kind, int dtype, const struct operand *o)
{
    if (!add_step(f, kind, o, -1))
        return false;
    f->s->at[f->s->n - 1].f16 = dtype == DT_F16;
    return true;
}

/* The next step takes that operand, which is the value. */
static bool take_value(struct step_finder *f, const struct operand *o)
{
    if (f->is_now && same_place(o, &f->now))
        return true;
    f->is_now = false;
    return USED(SHORT_STEPS) && add_step_of(f, STEP_ROUND, f->half.dtype, NULL);
}

/* A result of the steps so far is no operand from outside: its blocks are not there yet. */
static bool from_outside(const struct step_finder *f, const struct ap *a)
{
    for (int i = 0; i < f->nwritten; i++) {
        const struct ap *w = f->written[i];
        if ((a->mem == MEM_HBM) == (w->mem == MEM_HBM) && a->tensor == w->tensor)
            return false;
    }
    return true;
}

/* Operands (reads) and results that steps have; a program for itself has those that it needs. */
static bool is_stepped(int dtype, bool reads)
{
    bool always = dtype == DT_F32 || (dtype == DT_BF16 && !reads);
    return always || (USED(SHORT_STEPS) && dtype_is_short_float(dtype));
}

static bool add_operand(struct step_finder *f, bool adds, const struct operand *o, const struct ap *ap)
{
    enum gemm_step_kind kind = o->dtype == DT_F32 ? adds ? STEP_ADD : STEP_MULTIPLY
                               : adds             ? STEP_ADD_SHORT
                                                  : STEP_MULTIPLY_SHORT;
    return is_stepped(o->dtype, true) && o->step[1] == 1 && from_outside(f, ap) &&
           add_step_of(f, kind, o->dtype, o);
}

/* What was written before may be written again, each element in its place: the order stays. */
static bool writes_apart(const struct step_finder *f, const struct ap *a)
{
    for (int i = 0; i < f->nwritten; i++) {
        const struct ap *w = f->written[i];
        if ((a->mem == MEM_HBM) == (w->mem == MEM_HBM) && a->tensor == w->tensor &&
            !(a->dtype == w->dtype && ap_places_equal(a, w)))
            return false;
    }
    return true;
}

static bool add_store(struct step_finder *f, const struct operand *o, const struct ap *ap)
{
    if (!is_stepped(o->dtype, false) || o->step[1] != 1 || f->nwritten == MAX_STEPS || !writes_apart(f, ap))
        return false;
    f->written[f->nwritten++] = ap;
    return add_step(f, o->dtype == DT_F32    ? STEP_STORE
                       : o->dtype == DT_BF16 ? STEP_STORE_BF16
                                             : STEP_STORE_F16,
                    o, o->mem == MEM_HBM ? -1 : ap->tensor);
}

static bool add_tensor_tensor(struct step_finder *f, const struct bound_insn *i, const struct insn *insn)
{
    enum { A = AP(tensor_tensor, a), B = AP(tensor_tensor, b) };
    bool first = is_value(f, &i->o[A]), second = is_value(f, &i->o[B]);
    int other = first ? B : A, op = insn->func[FUNC(tensor_tensor, op)];
    return first != second && (op == OP_add || op == OP_mul) && take_value(f, &i->o[first ? A : B]) &&
           add_operand(f, op == OP_add, &i->o[other], &insn->ap[other]);
}

static bool add_activation(struct step_finder *f, const struct bound_insn *i, const struct insn *insn)
{
    enum { SCALE = AP(activation, scale), BIAS = AP(activation, bias) };
    const struct operand *scale = &i->o[SCALE], *bias = &i->o[BIAS];
    struct alu alu;
    if (!is_value(f, &i->o[AP(activation, src)]) || (scale->mem && bias->mem) ||
        insn->flt[FLT(activation, factor)] != 1 ||
        !alu_find(&alu, insn->func[FUNC(activation, f)], false, insn->flt[FLT(activation, a)],
                  insn->flt[FLT(activation, b)], f->b->d) ||
        (alu.kind != ALU_ACTIVATION && alu.kind != ALU_COPY) || !take_value(f, &i->o[AP(activation, src)]) ||
        (scale->mem && !add_operand(f, false, scale, &insn->ap[SCALE])) ||
        (bias->mem && !add_operand(f, true, bias, &insn->ap[BIAS])))
        return false;
    if (alu.kind == ALU_COPY || alu.index == ACTIVATION_copy)
        return true;
    enum gemm_step_kind kind = alu.index == ACTIVATION_relu   ? STEP_RELU
                               : alu.index == ACTIVATION_clip ? STEP_CLIP
                                                              : STEP_ACTIVATION;
    if (!add_step(f, kind, NULL, -1))
        return false;
    struct planned_step *s = &f->s->at[f->s->n - 1];
    s->p[0] = alu.p[0], s->p[1] = alu.p[1];
    s->activation = alu.index;
    return true;
}

/* The instruction's steps and the store of its result. */
enum { DST = AP(tensor_copy, dst) };
_Static_assert((int)DST == AP(tensor_tensor, dst) && (int)DST == AP(activation, dst), "results");
static bool add_insn(struct step_finder *f, const struct bound_insn *i, const struct insn *insn)
{
    const struct operand *src = &i->o[AP(tensor_copy, src)];
    bool copies = i->op == INSN_tensor_copy, exact = copies && f->is_now && same_place(src, &f->now);
    if (copies                        ? !is_value(f, src) || !take_value(f, src)
        : i->op == INSN_tensor_tensor ? !add_tensor_tensor(f, i, insn)
                                      : !add_activation(f, i, insn))
        return false;
    if (!add_store(f, &i->o[DST], &insn->ap[DST]))
        return false;
    f->is_half = i->o[DST].dtype != DT_F32;
    if (f->is_half)
        f->half = i->o[DST], f->is_now = exact; /* a copy leaves what it has copied */
    else
        f->now = i->o[DST], f->is_now = true;
    return true;
}

/* Whether others than the product and the n instructions behind it read the tile. */
static bool tile_read(const struct binding *b, int tile, int n)
{
    const struct kernel *k = b->kernel->kernel;
    for (const struct insn *i = k->insns; i < k->insns + k->ninsns; i++) {
        const struct insn_info *info = insn_info(i->op);
        for (int a = 0; a < info->naps && (i < b->next - 1 || i >= b->next + n); a++)
            if (i->ap[a].mem != MEM_NONE && i->ap[a].mem != MEM_HBM && i->ap[a].tensor == tile &&
                info->ap[a].access != 'w')
                return true;
    }
    return false;
}

/* The same memory, unless elements correspond one to one. */
static bool clash(const struct binding *b, const struct ap *w, const struct ap *r)
{
    if (r->mem == MEM_NONE || (w->mem == MEM_HBM) != (r->mem == MEM_HBM))
        return false;
    int x = w->tensor, y = r->tensor;
    if (w->mem == MEM_HBM)
        x = slot_root(b->m->p, x), y = slot_root(b->m->p, y);
    return x == y && !(w->tensor == r->tensor && w->dtype == r->dtype && ap_places_equal(w, r));
}

/* Whether one of the two writes what the other reads elsewhere: results come block by block, so the
 * product must not read what they overwrite. `product`: all that a reads is read in any order. */
static bool disturbs(const struct binding *b, const struct insn *a, const struct insn *n,
                     bool product)
{
    const struct insn_info *ai = insn_info(a->op), *ni = insn_info(n->op);
    for (int i = 0; i < ai->naps; i++)
        for (int j = 0; j < ni->naps; j++) {
            const struct ap *x = &a->ap[i], *y = &n->ap[j];
            bool xw = ai->ap[i].access != 'r', yw = ni->ap[j].access != 'r';
            if (x->mem == MEM_NONE || y->mem == MEM_NONE || (!xw && !yw))
                continue;
            if (x->mem != MEM_HBM && y->mem != MEM_HBM && tiles_meet(b->binder, x->tensor, y->tensor))
                return true;
            bool whole = product && !xw && x->mem == y->mem && x->tensor == y->tensor;
            if (whole || clash(b, xw ? x : y, xw ? y : x))
                return true;
        }
    return false;
}

static bool joins(const struct binding *b, int n)
{
    for (int m = 0; m <= n; m++)
        if (disturbs(b, &b->next[m - 1], &b->next[n], m == 0))
            return false;
    return !disturbs(b, &b->next[n], &b->next[n], false);
}

const struct product_steps *find_steps(const struct binding *b, const struct bound_insn *product,
                                       int *skip)
{
    const struct ap *sums = &b->next[-1].ap[AP(nc_matmul, dst)];
    struct planned_step at[MAX_STEPS];
    struct product_steps found = {0, at};
    struct step_finder f = {.b = b, .s = &found, .now = product->o[AP(nc_matmul, dst)], .is_now = true};
    *skip = 0;
    if (!b->nnext || !add_store(&f, &product->o[AP(nc_matmul, dst)], sums))
        return NULL;
    int done = found.n;
    for (int n = 0; n < b->nnext && same_shape(product, &b->bound_next[n]) && joins(b, n) &&
                    add_insn(&f, &b->bound_next[n], &b->next[n]);
         n++) {
        done = found.n;
        *skip = n + 1;
    }
    if (!*skip)
        return NULL;
    struct product_steps *kept = ARENA_NEW(b->arena, struct product_steps);
    kept->at = ARENA_ARRAY(b->arena, struct planned_step, done);
    for (int n = 0; n < done; n++)
        if (n + 1 == done || found.at[n].tile < 0 || tile_read(b, found.at[n].tile, *skip))
            kept->at[kept->n++] = found.at[n];
    return kept;
}

int place_steps(const struct worker *me, const struct product_steps *s, struct gemm_step *steps)
{
    for (int n = 0; n < s->n; n++) {
        const struct planned_step *p = &s->at[n];
        steps[n] = (struct gemm_step){.kind = p->kind, .f16 = p->f16, .pitch = p->pitch, .p = {p->p[0], p->p[1]}};
        if (p->kind == STEP_ACTIVATION)
            steps[n].activation = me->k->activate[p->activation];
        if (!p->o.mem)
            continue;
        char *at = operand_address(me, &p->o);
        if (p->kind >= STEP_STORE && p->kind <= STEP_STORE_F16)
            steps[n].result = at;
        else
            steps[n].operand = at;
    }
    return s->n;
}

bool steps_are_simple(const struct product_steps *s)
{
    const struct planned_step *p = s->at, *end = p + s->n;
    bool bound = false;
    if (p < end && p->kind == STEP_ADD && !p->pitch)
        p++;
    if (p < end && p->kind == STEP_ADD && p->pitch)
        p++;
    if (p < end && (p->kind == STEP_RELU || p->kind == STEP_CLIP))
        bound = true, p++;
    if (!bound && p < end && p->kind == STEP_ACTIVATION)
        p++;
    bool stores = p < end && (p->kind == STEP_STORE || p->kind == STEP_STORE_BF16);
    if (p < end && p->kind == STEP_STORE)
        p++;
    if (p < end && p->kind == STEP_STORE_BF16)
        p++;
    return stores && p == end;
}
