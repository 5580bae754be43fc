#include "neff/isa/asm.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

const char *const slot_kind_names[] = {
    [SLOT_INPUT] = "input",     [SLOT_CONST] = "const", [SLOT_PLANNED] = "planned",
    [SLOT_DYNAMIC] = "dynamic", [SLOT_VIEW] = "view",
};
const char *const memory_names[] = {
    [MEM_NONE] = "", [MEM_HBM] = "%", [MEM_SBUF] = "sbuf", [MEM_PSUM] = "psum"};

struct asm_printer {
    const struct program *p;
    const struct kernel *k;
    FILE *out;
    struct arena scratch;
    const char **dims; /* text of each expression, made when first needed */
    bool whole;        /* constants of any size */
};

static struct asm_printer printer_new(const struct program *p, FILE *out)
{
    struct asm_printer pr = {.p = p, .out = out};
    pr.dims = ARENA_ARRAY(&pr.scratch, const char *, p->dims.nnodes + 1);
    return pr;
}

static void put(struct asm_printer *r, const char *s)
{
    fputs(s, r->out);
}

static void put_string(struct asm_printer *r, const char *s, size_t n)
{
    fputc('"', r->out);
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)s[i];
        if (c == '"' || c == '\\')
            fprintf(r->out, "\\%c", c);
        else if (c == '\n')
            put(r, "\\n");
        else if (c < 0x20 || c == 0x7f)
            fprintf(r->out, "\\x%02x", c);
        else
            fputc(c, r->out);
    }
    fputc('"', r->out);
}

static void put_text(struct asm_printer *r, const char *s)
{
    put_string(r, s, strlen(s));
}

/* A constant, or an expression in parentheses. */
static void put_dim(struct asm_printer *r, dim_t d)
{
    if (dim_is_const(d)) {
        fprintf(r->out, "%" PRId64, d);
        return;
    }
    const char **text = &r->dims[dim_index(d)];
    if (!*text)
        *text = dim_text(&r->p->dims, &r->scratch, d);
    fprintf(r->out, "(%s)", *text);
}

static void put_var(struct asm_printer *r, int v)
{
    fprintf(r->out, "%c%d", v < r->k->ngrid ? 'g' : 'i', v);
}

static void put_affine(struct asm_printer *r, const struct affine *a)
{
    const char *plus = "";
    for (int i = 0; i < a->nterms; i++) {
        put(r, plus);
        put_var(r, a->terms[i].var);
        fputc('*', r->out);
        put_dim(r, a->terms[i].coef);
        plus = "+";
    }
    if (*plus && !a->base)
        return;
    put(r, plus);
    put_dim(r, a->base);
}

static void put_ap(struct asm_printer *r, const struct ap *ap)
{
    fprintf(r->out, "%s%d %s[", memory_names[ap->mem], ap->tensor, dtype_name(ap->dtype));
    put_affine(r, &ap->offset);
    put(r, "](");
    for (int i = 0; i < ap->rank; i++) {
        const struct ap_dim *d = &ap->dim[i];
        put(r, i ? ", " : "");
        if (d->clip) {
            put(r, "min(");
            put_dim(r, d->count);
            fputc(',', r->out);
            put_dim(r, d->clip->limit);
            fputc('-', r->out);
            put_var(r, d->clip->var);
            fputc('*', r->out);
            put_dim(r, d->clip->factor);
            put(r, ")");
        } else {
            put_dim(r, d->count);
        }
        fputc(':', r->out);
        put_dim(r, d->step);
    }
    fputc(')', r->out);
}

static void put_float(struct asm_printer *r, double x, int digits, uint64_t bits, bool typed)
{
    char text[40];
    if (isnan(x)) {
        fprintf(r->out, "0x%" PRIx64, bits);
        return;
    }
    snprintf(text, sizeof text, "%.*g", digits, x);
    put(r, text);
    if (typed && !strpbrk(text, ".en")) /* inf has its own look */
        put(r, ".0");
}

static void put_f32(struct asm_printer *r, float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    put_float(r, x, 9, bits, false);
}

static void put_f64(struct asm_printer *r, double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    put_float(r, x, 17, bits, true);
}

/* ---- kernels ---- */

static void put_sync(struct asm_printer *r, const struct insn *n)
{
    for (int i = 0; i < n->nwaits; i++) {
        fprintf(r->out, "%s s%d>=", i ? "," : " wait", n->wait[i].semaphore);
        put_affine(r, &n->wait[i].value);
    }
    const char *word = " signal";
    for (int i = 0; i < 2; i++)
        if (n->signal[i] >= 0) {
            fprintf(r->out, "%s s%d", word, n->signal[i]);
            word = ",";
        }
    if (n->node >= 0)
        fprintf(r->out, " node %d", n->node);
}

static const char *comma(bool *first)
{
    const char *s = *first ? " " : ", ";
    *first = false;
    return s;
}

static void put_operands(struct asm_printer *r, const struct insn *n)
{
    const struct insn_info *info = insn_info(n->op);
    bool first = true;
    for (int i = 0; i < info->naps; i++)
        if (n->ap[i].mem != MEM_NONE) {
            fprintf(r->out, "%s%s=", comma(&first), info->ap[i].name);
            put_ap(r, &n->ap[i]);
        }
    for (int i = 0; i < info->nimms; i++) {
        if (!n->imm[i].base && !n->imm[i].nterms)
            continue;
        fprintf(r->out, "%s%s=", comma(&first), info->imm[i].name);
        put_affine(r, &n->imm[i]);
    }
    for (int i = 0; i < info->nfloats; i++) {
        fprintf(r->out, "%s%s=", comma(&first), info->flt[i].name);
        put_f32(r, n->flt[i]);
    }
    for (int i = 0; i < info->nfuncs; i++)
        fprintf(r->out, "%s%s=%s", comma(&first), info->func[i], op_name(n->func[i]));
}

static void put_insn(struct asm_printer *r, const struct insn *n)
{
    if (n->op == INSN_loop) {
        put(r, "loop ");
        put_var(r, (int)n->imm[IMM(loop, var)].base);
        put(r, " < ");
        put_affine(r, &n->imm[IMM(loop, count)]);
        put_sync(r, n);
        put(r, " {");
        return;
    }
    if (n->op == INSN_end) {
        put(r, "}");
    } else {
        fprintf(r->out, "%s.%s", engine_names[n->engine], insn_info(n->op)->name);
        put_operands(r, n);
    }
    put_sync(r, n);
}

static void put_kernel(struct asm_printer *r, const struct kernel *k, int index)
{
    r->k = k;
    fprintf(r->out, "\nkernel %d ", index);
    if (k->name)
        put_text(r, k->name);
    put(r, " grid(");
    for (int i = 0; i < k->ngrid; i++) {
        put(r, i ? ", " : "");
        put_dim(r, k->grid[i]);
    }
    fprintf(r->out, ") vars %d semaphores %d flops ", k->nvars, k->nsemaphores);
    put_dim(r, k->flops);
    put(r, " bytes ");
    put_dim(r, k->bytes);
    put(r, " {\n");
    for (int i = 0; i < k->ntiles; i++) {
        const struct tile *t = &k->tiles[i];
        fprintf(r->out, "  tile %s%d %s ", memory_names[t->mem], i, dtype_name(t->dtype));
        put_dim(r, t->partitions);
        put(r, " x ");
        put_dim(r, t->elements);
        if (t->address != -1)
            fprintf(r->out, " at %" PRId64, t->address);
        fputc('\n', r->out);
    }
    int depth = 1;
    for (int i = 0; i < k->ninsns; i++) {
        depth -= k->insns[i].op == INSN_end;
        fprintf(r->out, "%*s", 2 * depth, "");
        put_insn(r, &k->insns[i]);
        fputc('\n', r->out);
        depth += k->insns[i].op == INSN_loop;
    }
    put(r, "}\n");
}

void kernel_print(const struct program *p, const struct kernel *k, int index, FILE *out)
{
    struct asm_printer r = printer_new(p, out);
    put_kernel(&r, k, index);
    arena_free(&r.scratch);
}

void insn_print(const struct program *p, const struct kernel *k, const struct insn *n, FILE *out)
{
    struct asm_printer r = printer_new(p, out);
    r.k = k;
    put_insn(&r, n);
    arena_free(&r.scratch);
}

/* ---- tensors and attributes ---- */

static void put_element(struct asm_printer *r, const struct tensor *t, int64_t i)
{
    int class = dtype_class(t->dtype);
    if (class == DTC_FLOAT) {
        uint64_t bits = 0;
        size_t size = dtype_bytes(t->dtype);
        memcpy(&bits, (const char *)t->data + (size_t)i * size, size);
        put_float(r, tensor_f64(t, i), t->dtype == DT_F64 ? 17 : 9, bits, false);
    } else if (class == DTC_STRING) {
        const struct str *s = (const struct str *)t->data + i;
        put_string(r, s->p, s->n);
    } else if (class == DTC_UINT) {
        fprintf(r->out, "%" PRIu64, (uint64_t)tensor_i64(t, i));
    } else {
        fprintf(r->out, "%" PRId64, tensor_i64(t, i));
    }
}

/* `{1, 2, 3}`, or `...` for what is large or complex. */
static void put_data(struct asm_printer *r, const struct tensor *t)
{
    int64_t n = tensor_count(t);
    bool has = t->data || n == 0;
    if (!has || (n > ASM_INLINE && !r->whole) || dtype_class(t->dtype) == DTC_COMPLEX) {
        put(r, "...");
        return;
    }
    fputc('{', r->out);
    for (int64_t i = 0; i < n; i++) {
        put(r, i ? ", " : "");
        put_element(r, t, i);
    }
    fputc('}', r->out);
}

static void put_tensor(struct asm_printer *r, const struct tensor *t)
{
    fprintf(r->out, "%s[", dtype_name(t->dtype));
    for (int i = 0; i < t->rank; i++)
        fprintf(r->out, "%s%" PRId64, i ? "," : "", t->dims[i]);
    put(r, "] = ");
    put_data(r, t);
}

static void put_list_element(struct asm_printer *r, const struct attr *a, int i)
{
    if (a->kind == ATTR_INTS)
        fprintf(r->out, "%" PRId64, a->ints[i]);
    else if (a->kind == ATTR_FLOATS)
        put_f64(r, a->floats[i]);
    else
        put_string(r, a->strs[i].p, a->strs[i].n);
}

static void put_attr(struct asm_printer *r, const struct attr *a)
{
    static const char *const words[] = {
        [ATTR_INT] = "int ",       [ATTR_FLOAT] = "float ",   [ATTR_STR] = "str ",
        [ATTR_INTS] = "ints ",     [ATTR_FLOATS] = "floats ", [ATTR_STRS] = "strs ",
        [ATTR_TENSOR] = "tensor ", [ATTR_TYPE] = "type "};
    put_text(r, a->name);
    fprintf(r->out, "=%s", words[a->kind]);
    switch (a->kind) {
    case ATTR_INT:
        fprintf(r->out, "%" PRId64, a->i);
        return;
    case ATTR_FLOAT:
        put_f64(r, a->f);
        return;
    case ATTR_STR:
        put_string(r, a->s.p, a->s.n);
        return;
    case ATTR_TENSOR:
        put_tensor(r, a->tensor);
        return;
    case ATTR_TYPE:
        put(r, type_text(&r->p->dims, &r->scratch, a->type));
        return;
    }
    fputc('[', r->out);
    for (int i = 0; i < a->count; i++) {
        put(r, i ? ", " : "");
        put_list_element(r, a, i);
    }
    fputc(']', r->out);
}

/* ---- slots, calls, regions ---- */

static void put_constant(struct asm_printer *r, const struct slot *s)
{
    struct tensor made = {.kind = VK_NONE};
    struct diag d = {0};
    bool make =
        s->maker && !s->data.data && (r->whole || tensor_count(&s->data) <= ASM_INLINE);
    put_data(r, make && constant_make(s, &made, &d) ? &made : &s->data);
    tensor_free(&made);
}

static void put_slot(struct asm_printer *r, int i)
{
    const struct slot *s = &r->p->slots[i];
    fprintf(r->out, "slot %%%d %s ", i, slot_kind_names[s->kind]);
    if (s->name) {
        put_text(r, s->name);
        fputc(' ', r->out);
    }
    put(r, type_text(&r->p->dims, &r->scratch, &s->type));
    if (s->is_output)
        put(r, " output");
    if (s->donated)
        put(r, " donated");
    if (s->has_range) {
        fprintf(r->out, " range %" PRId64 " ", s->low);
        put_dim(r, s->high);
    }
    if (s->kind == SLOT_VIEW) {
        fprintf(r->out, " of %%%d + ", s->base);
        put_dim(r, s->offset);
    }
    if (s->kind == SLOT_CONST) {
        put(r, " = ");
        put_constant(r, s);
    }
    fputc('\n', r->out);
}

static void put_slots(struct asm_printer *r, const int32_t *list, int n)
{
    fputc('(', r->out);
    for (int i = 0; i < n; i++) {
        put(r, i ? ", " : "");
        if (list[i] < 0)
            fputc('_', r->out);
        else
            fprintf(r->out, "%%%d", list[i]);
    }
    fputc(')', r->out);
}

static void put_call(struct asm_printer *r, int index)
{
    const struct call *c = &r->p->calls[index];
    fprintf(r->out, "call %d %s", index, op_name(c->op));
    put_slots(r, c->in, c->nin);
    put(r, " -> ");
    put_slots(r, c->out, c->nout);
    for (int i = 0; i < c->attrs.count; i++) {
        put(r, i ? ", " : " {");
        put_attr(r, &c->attrs.list[i]);
    }
    put(r, c->attrs.count ? "}" : "");
    for (int i = 0; i < c->nregions; i++)
        fprintf(r->out, "%s %d", i ? "," : " regions", c->regions[i]);
    if (c->node >= 0)
        fprintf(r->out, " node %d", c->node);
    fputc('\n', r->out);
}

static void put_region(struct asm_printer *r, int index)
{
    const struct program_region *g = &r->p->regions[index];
    fprintf(r->out, "\nregion %d ", index);
    put_slots(r, g->params, g->nparams);
    put(r, " -> ");
    put_slots(r, g->results, g->nresults);
    put(r, " {\n");
    for (int i = 0; i < g->nsteps; i++) {
        const struct step *s = &g->steps[i];
        bool launch = s->kind == STEP_LAUNCH;
        fprintf(r->out, "  %s %d", launch ? "launch" : "call", s->index);
        if (s->bf16_from || s->bf16_below)
            fprintf(r->out, " bf16 %d to %d", s->bf16_from, s->bf16_below);
        const char *name =
            launch ? r->p->kernels[s->index].name : op_name(r->p->calls[s->index].op);
        if (name && *name && !strchr(name, '\n'))
            fprintf(r->out, " # %s", name);
        fputc('\n', r->out);
    }
    put(r, "}\n");
}

static void put_dims(struct asm_printer *r)
{
    const struct dim_table *t = &r->p->dims;
    for (int i = 0; i < t->nsymbols; i++) {
        put(r, "symbol ");
        put_text(r, t->symbols[i].name);
        put(r, t->symbols[i].runtime ? " runtime" : "");
        put(r, t->symbols[i].separable ? " separable" : "");
        if (t->symbols[i].max)
            fprintf(r->out, " most %" PRId64, t->symbols[i].max);
        if (t->symbols[i].size)
            fprintf(r->out, " size %" PRId64, t->symbols[i].size);
        put(r, "\n");
    }
    for (int i = 0; i < t->nnodes; i++) {
        const dim_t operand[2] = {t->nodes[i].a, t->nodes[i].b};
        fprintf(r->out, "dim %s", dim_op_names[t->nodes[i].op]);
        for (int k = 0; k < (t->nodes[i].op == DIM_SYM ? 1 : 2); k++)
            if (dim_is_const(operand[k]))
                fprintf(r->out, " %" PRId64, operand[k]);
            else
                fprintf(r->out, " $%d", dim_index(operand[k]));
        fprintf(r->out, " # $%d\n", i);
    }
}

static void put_state(struct asm_printer *r, const struct program_state *s)
{
    fprintf(r->out, "state %%%d %%%d axis %d ", s->input, s->output, s->axis);
    put_dim(r, s->pitch[0]);
    fputc(' ', r->out);
    put_dim(r, s->pitch[1]);
    fputc('\n', r->out);
}

static void put_guard(struct asm_printer *r, const struct guard *g)
{
    fprintf(r->out, "guard %s ", guard_kind_names[g->kind]);
    put_dim(r, g->a);
    fputc(' ', r->out);
    put_dim(r, g->b);
    if (g->region)
        fprintf(r->out, " region %d", g->region);
    if (g->dimension >= 0)
        fprintf(r->out, " dimension %d", g->dimension);
    fputc(' ', r->out);
    put_text(r, g->node);
    fputc(' ', r->out);
    put_text(r, g->what);
    fputc('\n', r->out);
}

static void put_head(struct asm_printer *r)
{
    const struct program *p = r->p;
    put(r, "program ");
    put_text(r, p->name ? p->name : "");
    fprintf(r->out, " target %s\n", p->target ? p->target : "cpu");
    if (p->info) {
        put(r, "info ");
        put_text(r, p->info);
        fputc('\n', r->out);
    }
    put_dims(r);
    for (int i = 0; i < p->nnodes; i++) {
        fprintf(r->out, "node %d ", i);
        put_text(r, p->nodes[i].name);
        fputc(' ', r->out);
        put_text(r, p->nodes[i].source);
        fputc('\n', r->out);
    }
    for (int i = 0; p->nregions && i < p->regions[0].nresults; i++) {
        put(r, i ? ", " : "outputs ");
        put_text(r, p->output_names[i]);
    }
    put(r, p->nregions && p->regions[0].nresults ? "\n\n" : "\n");
    for (int i = 0; i < p->nguards; i++)
        put_guard(r, &p->guards[i]);
    put(r, p->nguards ? "\n" : "");
}

static bool print(const struct program *p, bool whole, FILE *out)
{
    struct asm_printer r = printer_new(p, out);
    r.whole = whole;
    put_head(&r);
    for (int i = 0; i < p->nslots; i++)
        put_slot(&r, i);
    for (int i = 0; i < p->nstates; i++)
        put_state(&r, &p->states[i]);
    for (int i = 0; i < p->nkernels; i++)
        put_kernel(&r, &p->kernels[i], i);
    put(&r, p->ncalls ? "\n" : "");
    for (int i = 0; i < p->ncalls; i++)
        put_call(&r, i);
    for (int i = 0; i < p->nregions; i++)
        put_region(&r, i);
    arena_free(&r.scratch);
    return !ferror(out);
}

bool program_print(const struct program *p, FILE *out)
{
    return print(p, false, out);
}

bool program_print_whole(const struct program *p, FILE *out)
{
    return print(p, true, out);
}
