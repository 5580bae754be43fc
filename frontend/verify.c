#include "frontend/verify.h"

#include "frontend/cast_check.h"
#include "frontend/compile.h"
#include "frontend/verify_error.h"
#include "neff/archive/archive.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum verdict { EXACT, ORDER, CAST, DEFECT, NVERDICTS };
static const char *const verdicts[NVERDICTS] = {
    "equal", "order of accumulation", "rounding to the cast type", "more than rounding explains"};

struct difference { /* the element of a value that is worst for its bound */
    enum verdict verdict;
    int64_t at;
    double got, ref, allowed;
    double largest; /* of the reference */
    int64_t nwide;  /* elements whose bounds allow anything */
    bool nan;  /* NaN in one of them only */
    bool wide; /* half of the bounds allow anything: too much of the program lies before */
};

struct verify {
    const struct command *c;
    struct graph *g;
    struct capture *capture;
    struct verify_errors errors;
    int compared, nodes, unbounded, count[NVERDICTS];
    double *accumulated; /* by value id: error against FP32 without the program's values; negative:
                            not known */
    const char *first_wrong; /* "node 'NAME' (Op): 'value'"; in the graph's arena */
    struct diag *d;
};

/* Of a kernel nobody else knows what it does, but it does the same again. */
static bool impure(const struct node *n)
{
    return n->op != OP_kernel_call && op_infos[n->op].flags & OPF_IMPURE;
}

/* ---- one value ---- */

static bool is_real(const struct tensor *t)
{
    return t->dtype != DT_STR && !dtype_is_complex(t->dtype);
}

static struct difference compare_exact(const struct tensor *got, const struct tensor *ref)
{
    struct difference r = {.verdict = tensor_equal(got, ref) ? EXACT : DEFECT, .at = -1};
    for (int64_t k = 0; r.verdict == DEFECT && is_real(ref) && k < tensor_count(ref); k++)
        if (tensor_f64(got, k) != tensor_f64(ref, k)) {
            r.at = k, r.got = tensor_f64(got, k), r.ref = tensor_f64(ref, k);
            break;
        }
    return r;
}

/* What storing the value as the program does may cost, relative to the element. */
static double storage_roundoff(const struct verify *v, const struct tensor *got,
                               const struct tensor *ref)
{
    if (!dtype_is_float(ref->dtype)) /* integers of a quantisation */
        return 0;
    int have = float_format(got->dtype)->man_bits, want = float_format(ref->dtype)->man_bits;
    double cast = v->c->options.cast_type == CAST_TF32 ? cast_roundoff(&v->c->options) : 0;
    return have < want ? ldexp(1, -have - 1) : cast;
}

/* Elements [first, first + count) of a value; what is worst so far is in r and *worst. */
static void compare_block(struct verify *v, const struct value *x, const struct tensor *got, const struct tensor *ref,
                          int64_t first, int64_t count, struct difference *r, double *worst)
{
    const float *order = errors_bound(&v->errors, BOUND_ORDER, x, first, count, v->d);
    const float *cast = errors_bound(&v->errors, BOUND_CAST, x, first, count, v->d);
    double storage = storage_roundoff(v, got, ref);
    for (int64_t k = 0; k < count; k++) {
        double a = tensor_f64(got, first + k), b = tensor_f64(ref, first + k), e = fabs(a - b);
        r->nwide += cast && !(cast[k] <= r->largest);
        if (a == b || (isnan(a) && isnan(b)))
            continue;
        double by_order = order ? order[k] : 0;
        double by_cast = (cast ? cast[k] : 0) + storage * fabs(b);
        enum verdict is = e <= by_order ? ORDER : e <= by_cast ? CAST : DEFECT;
        double ratio = is == DEFECT && !(e < INFINITY) ? INFINITY : e / (by_cast + 1e-300);
        if (is < r->verdict || (is == r->verdict && ratio <= *worst))
            continue;
        *worst = ratio;
        r->verdict = is, r->at = first + k, r->got = a, r->ref = b;
        r->allowed = fmax(by_order, by_cast);
        r->nan = isnan(a) != isnan(b);
    }
}

static struct difference compare_floats(struct verify *v, const struct value *x, const struct tensor *got,
                                        const struct tensor *ref)
{
    struct difference r = {.verdict = EXACT, .at = -1};
    int64_t n = tensor_count(ref);
    double worst = 0;
    for (int64_t k = 0; k < n; k++)
        if (isfinite(tensor_f64(ref, k)))
            r.largest = fmax(r.largest, fabs(tensor_f64(ref, k)));
    for (int64_t first = 0; first < n && !diag_failed(v->d); first += BOUND_BLOCK)
        compare_block(v, x, got, ref, first, n - first < BOUND_BLOCK ? n - first : BOUND_BLOCK, &r, &worst);
    r.wide = 2 * r.nwide > n && r.largest > 0;
    return r;
}

/* The value's name, or the name of the output that it is. */
static const char *name_of(const struct verify *v, const struct value *x)
{
    for (const struct use *u = x->uses; u && !x->name; u = u->next)
        if (u->node == region_return(v->g->main))
            return v->g->output_names[u->index];
    return x->name ? x->name : "";
}

/* A line: error of the worst element, the bound for it, the error that has built up. */
static void report(struct verify *v, const struct node *n, const struct value *x,
                   const struct difference *r)
{
    const char *where = arena_printf(&v->g->arena, "%s: '%s'", node_text(v->g, n), name_of(v, x));
    if (r->verdict == DEFECT && !v->first_wrong)
        v->first_wrong = where;
    if (v->c->quiet && r->verdict != DEFECT)
        return;
    printf("%s%s: %s", r->verdict == DEFECT ? "WRONG: " : "", where, verdicts[r->verdict]);
    if (r->nan)
        printf("; NaN %s here", isnan(r->got) ? "is born" : "is lost");
    if (r->at >= 0)
        printf("; element %lld is %.9g, expected %.9g: error %.3g, explained %.3g",
               (long long)r->at, r->got, r->ref, fabs(r->got - r->ref), r->allowed);
    if (v->accumulated && v->accumulated[x->id] >= 0)
        printf("; accumulated %.3g of the largest", v->accumulated[x->id]);
    printf("\n");
}

/* The program's value takes the place of the reference's. One that is kept in a smaller type may be
 * used unrounded too, by what its tile program goes on to compute. */
static bool take(struct verify *v, const struct value *x, const struct tensor *got,
                 struct tensor *ref)
{
    bool floats = dtype_is_float(got->dtype) && dtype_is_float(ref->dtype);
    double rounded = floats ? storage_roundoff(v, got, ref) : 0;
    if (got->dtype == ref->dtype && ref->dtype != DT_STR)
        memcpy(ref->data, got->data, tensor_bytes(ref));
    else if (is_real(ref))
        for (int64_t k = 0, n = tensor_count(ref); k < n; k++)
            dtype_store_f64(ref->dtype, ref->data, (size_t)k, tensor_f64(got, k));
    errors_clear(&v->errors, x);
    return rounded == 0 || errors_of_storage(&v->errors, x, ref, rounded, v->d);
}

static const struct tensor *find(struct verify *v, const struct value *x, const struct tensor *ref)
{
    const struct tensor *got = NULL;
    if (ref->kind != VK_TENSOR)
        return NULL;
    for (const struct use *u = x->uses; u && !got; u = u->next)
        if (u->node == region_return(v->g->main))
            got = capture_output(v->capture, u->index, ref, v->d);
    return got || !x->name || diag_failed(v->d) ? got : capture_find(v->capture, x->name, ref, v->d);
}

static bool check_value(struct verify *v, const struct node *n, const struct value *x,
                        struct tensor *ref)
{
    const struct tensor *got = find(v, x, ref);
    if (!got ||
        (ref->dtype != got->dtype && !(dtype_is_float(ref->dtype) && dtype_is_float(got->dtype))))
        return !diag_failed(v->d);
    if (!impure(n)) {
        struct difference r =
            dtype_is_float(ref->dtype) || v->errors.bounds[BOUND_ORDER][x->id].n
                ? compare_floats(v, x, got, ref)
                : compare_exact(got, ref);
        v->compared++;
        v->count[r.verdict]++;
        v->unbounded += r.wide;
        report(v, n, x, &r);
    }
    return take(v, x, got, ref);
}

static bool on_node(void *user, struct node *n, struct op_call *call)
{
    struct verify *v = user;
    if (n->parent != v->g->main)
        return true;
    v->nodes++;
    if (!errors_of_node(&v->errors, n, call, v->d))
        return false;
    for (int i = 0; i < n->nout; i++)
        if (call->out[i] && !check_value(v, n, n->out[i], call->out[i]))
            return false;
    errors_done(&v->errors, n);
    return true;
}

/* ---- the whole ---- */

static bool run_kernel(void *user, struct op_call *call)
{
    struct verify *v = user;
    return verify_run_kernel(v->c, call);
}

/* Runs the graph by the plain routines; `on_node` sees all. */
static bool run_plain(struct verify *v, const struct tensor *in,
                      bool (*hook)(void *user, struct node *n, struct op_call *call))
{
    struct interp_hooks hooks = {.on_node = hook, .user = v, .run_kernel = run_kernel};
    int n = v->g->noutputs;
    struct tensor *out = calloc((size_t)n + 1, sizeof *out);
    if (!out)
        return fail_memory(v->d, "out of memory");
    bool ok = interpret(v->g, v->g->main, in, v->g->main->nparams, out, n, &hooks, v->d);
    for (int i = 0; ok && i < n; i++)
        tensor_free(&out[i]);
    free(out);
    return ok;
}

/* How far the program's value is from the reference's, which nothing of the program has entered. */
static bool note_accumulated(void *user, struct node *n, struct op_call *call)
{
    struct verify *v = user;
    for (int i = 0; i < n->nout && n->parent == v->g->main; i++) {
        const struct tensor *ref = call->out[i], *got = ref ? find(v, n->out[i], ref) : NULL;
        double worst = 0, largest = 0;
        if (!got || !dtype_is_float(ref->dtype) || !dtype_is_float(got->dtype))
            continue;
        for (int64_t k = 0, count = tensor_count(ref); k < count; k++) {
            double b = tensor_f64(ref, k), e = fabs(tensor_f64(got, k) - b);
            largest = isfinite(b) ? fmax(largest, fabs(b)) : largest;
            worst = isfinite(e) ? fmax(worst, e) : worst;
        }
        v->accumulated[n->out[i]->id] = worst / fmax(largest, 1e-300);
    }
    return !diag_failed(v->d);
}

static bool run_reference(struct verify *v, const struct tensor *in)
{
    bool ok = infer_types(v->g, v->d);
    v->accumulated = ARENA_ARRAY(&v->g->arena, double, v->g->next_value + 1);
    for (int i = 0; i <= v->g->next_value; i++)
        v->accumulated[i] = -1;
    ok = ok && (v->c->quiet || run_plain(v, in, note_accumulated)) &&
         errors_init(&v->errors, v->g, &v->c->options, v->d) && run_plain(v, in, on_node);
    errors_free(&v->errors);
    return ok;
}

bool verify_begin(struct verify_run *r, struct graph *imported, const struct command *c,
                  struct diag *d)
{
    r->inputs = calloc((size_t)imported->main->nparams + 1, sizeof *r->inputs);
    for (int i = 0; r->inputs && i < imported->main->nparams; i++)
        r->inputs[r->ninputs++].kind = VK_NONE;
    return r->inputs ? verify_inputs(imported, c->files + 1, c->nfiles - 1, r->inputs, d)
                     : fail_memory(d, "out of memory");
}

bool verify_record(struct verify_run *r, struct model *m, struct diag *d)
{
    struct context *run = context_new(m, 0, d);
    bool ok = run != NULL;
    for (int i = 0; ok && i < r->ninputs; i++)
        ok = context_set_input(run, i, &r->inputs[i], d);
    ok = ok && capture_start(&r->capture, run, model_program(m), d) && context_run(run, d);
    capture_sort(&r->capture);
    context_free(run);
    return ok;
}

bool verify_compare(struct verify_run *r, struct graph *reference, const struct command *c,
                    struct verify_counts *out, struct diag *d)
{
    struct verify v = {.c = c, .g = reference, .capture = &r->capture, .d = d};
    bool ok = run_reference(&v, r->inputs);
    *out = (struct verify_counts){v.nodes,       v.compared,      v.count[EXACT], v.count[ORDER],
                                  v.count[CAST], v.count[DEFECT], v.unbounded,    v.first_wrong};
    return ok;
}

void verify_run_free(struct verify_run *r)
{
    for (int i = 0; i < r->ninputs; i++)
        tensor_free(&r->inputs[i]);
    free(r->inputs);
    capture_free(&r->capture);
}

static void summary(const struct verify_counts *n)
{
    printf("%d values of %d nodes compared: %d equal, %d differ by order of accumulation, %d by "
           "rounding to the "
           "cast type, %d by more\n",
           n->compared, n->nodes, n->equal, n->by_order, n->by_cast, n->by_more);
    if (n->unbounded)
        printf("%d of them lie too far from the values that the program keeps for their bounds to "
               "say anything\n",
               n->unbounded);
    if (n->first_wrong)
        printf("first wrong: %s\n", n->first_wrong);
    else
        printf("no node is wrong\n");
}

/* The program as an archive in a file without a name: what it has in memory can go, and weights stay
 * where they are read from. The same bytes go to `output`, unless it is NULL. */
static struct program *through_archive(struct program *p, const char *output, struct diag *d)
{
    FILE *f = tmpfile();
    struct neff_file *archive = f ? calloc(1, sizeof *archive) : NULL;
    bool ok = archive ? neff_write_file(p, f, d) &&
                            neff_open_file(archive, fileno(f), "the archive", d)
                      : fail(d, "no temporary file for the archive (%s)", strerror(errno));
    if (f)
        fclose(f);
    bool written =
        ok && (!output || file_write_all(output, archive->data, archive->size, d));
    struct program *read = written ? neff_program(archive, true, d) : NULL;
    if (ok && !read)
        neff_close(archive);
    if (!read)
        free(archive);
    return read;
}

/* Compiles the model and writes the archive if that was asked for; what will run. */
static struct model *compile(struct verify_run *r, const struct command *c, struct diag *d)
{
    struct graph *g = load_model(c->files[0], &c->import, d);
    bool ok = g && verify_begin(r, g, c, d);
    struct program *p = ok ? compile_checked(c->files[0], &g, c, NULL, NULL, d) : NULL;
    struct program *run = p ? through_archive(p, c->output, d) : NULL;
    program_free(p);
    graph_free(g);
    return run ? model_of(run, c, d) : NULL;
}

int verify_command(struct command *c)
{
    struct diag d = {0};
    struct verify_counts counts = {0};
    struct verify_run run = {0};
    const char *file = c->files[0], *library = kernels_of_command(c, &d);
    struct model *m = library ? NULL : compile(&run, c, &d);
    bool ok = m && verify_record(&run, m, &d);
    model_free(m);
    struct graph *reference = ok ? load_model(file, &c->import, &d) : NULL;
    ok = reference && verify_compare(&run, reference, c, &counts, &d);
    verify_run_free(&run);
    int status = !ok ? report_failure(library ? library : file, &d) : counts.by_more ? EXIT_DIFFERENT : 0;
    if (ok && (!c->quiet || status))
        summary(&counts);
    graph_free(reference);
    return status;
}
