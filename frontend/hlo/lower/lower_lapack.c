/* custom-call: dense linear algebra in the spellings of JAX on CPU (lapack_dgetrf_ffi), on GPUs
 * (cusolver_getrf_ffi) and on other machines (LuDecomposition). */
#include "frontend/hlo/lower/build.h"
#include "frontend/hlo/lower/lower_ops.h"

#include <stdlib.h>
#include <string.h>

/* What a call's configuration calls an attribute of operator linalg. */
struct lapack_job {
    const char *config, *attribute;
};

static const struct lapack_routine {
    const char *name;                 /* in lapack_<type>NAME_ffi, cusolver_NAME_ffi */
    const char *routine, *of_complex; /* of operator linalg */
    struct lapack_job jobs[2];
} routines[] = {
    {"potrf", "potrf", NULL, {{"uplo", "uplo"}}},
    {"getrf", "getrf", NULL, {{0}}},
    {"geqrf", "geqrf", NULL, {{0}}},
    {"geqp3", "geqp3", NULL, {{0}}},
    {"orgqr", "orgqr", NULL, {{0}}},
    {"ungqr", "orgqr", NULL, {{0}}},
    {"ormqr", "ormqr", NULL, {{"left", "left"}, {"transpose", "transpose"}}},
    {"unmqr", "ormqr", NULL, {{"left", "left"}, {"transpose", "transpose"}}},
    {"gehrd", "gehrd", NULL, {{0}}},
    {"gtsv", "gtsv", NULL, {{0}}},
    {"sytrd", "sytrd", NULL, {{"uplo", "uplo"}}},
    {"hetrd", "sytrd", NULL, {{"uplo", "uplo"}}},
    {"syevd", "syevd", NULL, {{"mode", "job"}, {"uplo", "uplo"}}},
    {"heevd", "syevd", NULL, {{"mode", "job"}, {"uplo", "uplo"}}},
    {"geev", "geev", "geev_complex", {{"compute_left", "left_job"}, {"compute_right", "job"}}},
    {"gees", "gees", "gees_complex", {{"mode", "job"}}},
    {"gesdd", "gesdd", NULL, {{"mode", "job"}}},
    {"gesvd", "gesvd", NULL, {{"mode", "job"}}},
};

/* The value of NAME in a configuration like {uplo = 76 : ui8, left = true}. */
static bool configured(const struct hlo_lower *l, const char *name, int64_t *v)
{
    const struct hlo_attr *a = hlo_attr(l->i, HLO_ATTR_backend_config);
    const char *text = a && a->text->data ? a->text->data : "";
    size_t n = strlen(name);
    for (const char *s = text; (s = strstr(s, name)); s += n) {
        const char *value = s + n + strspn(s + n, " \"");
        bool whole = s == text || strchr("{ ,\"", s[-1]);
        if (!whole || *value != '=')
            continue;
        value += 1 + strspn(value + 1, " ");
        *v = !strncmp(value, "true", 4) ? 1 : strtoll(value, NULL, 10);
        return true;
    }
    return false;
}

static struct node *linalg(struct hlo_lower *l, const char *routine, struct value *const *in,
                           int nin, int nout, struct attrs *a)
{
    h_set_str(l, a, "routine", routine);
    struct node *n = b_place(l->b, OP_linalg, in, nin, nout, a);
    return n && b_infer(l->b, n) ? n : NULL;
}

/* Every operand is an array, and the results are those of the instruction. */
static bool call(struct hlo_lower *l, const char *routine, struct attrs *a)
{
    struct value *in[4];
    if (l->i->operand_count > 4)
        return HLO_ERROR(l, "%d operands, expected at most 4", l->i->operand_count);
    for (int k = 0; k < l->i->operand_count; k++)
        if (!(in[k] = h_in(l, k)))
            return HLO_ERROR(l, "operand %d is no array", k);
    struct node *n = linalg(l, routine, in, l->i->operand_count, l->out.count, a);
    return n && h_done_all(l, n->out, l->out.count);
}

/* op(a) x = b, the letters of side, uplo, trans_x and diag as BLAS has them. */
static bool solve(struct hlo_lower *l)
{
    int64_t side = 'L', uplo = 'L', transpose = 'N', diagonal = 'N';
    struct attrs a = {0};
    if (!h_in(l, 0) || !h_in(l, 1))
        return HLO_ERROR(l, "%d operands, expected 2 arrays", l->i->operand_count);
    configured(l, "side", &side);
    configured(l, "uplo", &uplo);
    configured(l, "trans_x", &transpose);
    configured(l, "diag", &diagonal);
    h_set_int(l, &a, "left_side", side == 'L');
    h_set_int(l, &a, "lower", uplo == 'L');
    h_set_int(l, &a, "unit_diagonal", diagonal == 'U');
    h_set_int(l, &a, "transpose", transpose != 'N');
    h_set_int(l, &a, "conjugate", transpose == 'C');
    return h_done(l,
                  b_op(l->b, OP_triangular_solve, (struct value *[]){h_in(l, 0), h_in(l, 1)}, 2, &a));
}

/* The routine's name within a target's, up to _ffi; NULL when it is none of these libraries'. */
static const char *routine_name(const char *target)
{
    static const char *const prefix[] = {"cusolver_", "hipsolver_"};
    for (size_t i = 0; i < sizeof prefix / sizeof *prefix; i++)
        if (!strncmp(target, prefix[i], strlen(prefix[i])))
            return target + strlen(prefix[i]);
    return !strncmp(target, "lapack_", 7) && target[7] && strchr("sdcz", target[7]) ? target + 8
                                                                                    : NULL;
}

static bool is_named(const char *name, const char *routine)
{
    size_t n = strlen(routine);
    return !strncmp(name, routine, n) && (!name[n] || !strcmp(name + n, "_ffi"));
}

static const struct lapack_routine *find(const char *target)
{
    const char *name = routine_name(target);
    for (size_t i = 0; name && i < sizeof routines / sizeof *routines; i++)
        if (is_named(name, routines[i].name))
            return &routines[i];
    return NULL;
}

bool hlo_is_lapack(const char *target)
{
    const char *name = routine_name(target);
    bool gpu = strncmp(target, "lapack_", 7) != 0;
    const struct lapack_routine *r = find(target);
    /* on GPUs the routines below have other results */
    if (gpu && r && (strstr("geev gees gesdd gesvd", r->name) || !strcmp(r->name, "geqp3")))
        return false;
    return r || (name && !gpu && is_named(name, "trsm"));
}

static bool is_square(const struct hlo_shape *s)
{
    return s && s->rank >= 2 && s->dims[s->rank - 1] == s->dims[s->rank - 2];
}

/* Singular values alone: the vectors are not computed, but their arrays have the sizes that the
 * module gives them. */
static void singular_sizes(struct hlo_lower *l, struct attrs *a)
{
    if (attr_int(a, "job", 0) == 'N' && l->out.count == 5 && is_square(hlo_leaf(l->i->shape, 2)) &&
        is_square(hlo_leaf(l->i->shape, 3)))
        h_set_int(l, a, "all", 1);
}

bool hlo_target_lapack(struct hlo_lower *l)
{
    const char *target = hlo_attr_text(l->i, HLO_ATTR_custom_call_target);
    const struct lapack_routine *r = find(target);
    struct attrs a = {0};
    int64_t v;
    if (!r)
        return solve(l);
    for (int k = 0; k < 2 && r->jobs[k].config; k++)
        if (configured(l, r->jobs[k].config, &v))
            h_set_int(l, &a, r->jobs[k].attribute, v);
    if (configured(l, "lower", &v))
        h_set_int(l, &a, "uplo", v ? 'L' : 'U');
    if (!strncmp(r->routine, "gesdd", 5) || !strncmp(r->routine, "gesvd", 5))
        singular_sizes(l, &a);
    bool is_complex = dtype_is_complex(b_dtype(h_in(l, 0)));
    return call(l, is_complex && r->of_complex ? r->of_complex : r->routine, &a);
}

/* ---- other machines ---- */

/* (a, factors of the reflectors) */
bool hlo_target_qr(struct hlo_lower *l)
{
    return call(l, "geqrf", &(struct attrs){0});
}

bool hlo_target_reflectors(struct hlo_lower *l)
{
    return call(l, "orgqr", &(struct attrs){0});
}

/* solution */
bool hlo_target_tridiagonal(struct hlo_lower *l)
{
    return call(l, "gtsv_perturbed", &(struct attrs){0});
}

/* Row exchanges, from 0, as the permutation of `rows` rows that they make. */
static struct value *permutation(struct hlo_lower *l, struct value *pivots, int64_t rows)
{
    int64_t dims[MAX_RANK];
    int rank = h_rank(pivots);
    for (int i = 0; i < rank; i++)
        dims[i] = i == rank - 1 ? rows : pivots->type.dims[i];
    struct value *first = h_iota(l, DT_I32, dims, rank, rank - 1);
    struct node *n =
        linalg(l, "pivots", (struct value *[]){pivots, first}, 2, 1, &(struct attrs){0});
    return n ? n->out[0] : NULL;
}

/* (a, row exchanges from 0, permutation) */
bool hlo_target_lu(struct hlo_lower *l)
{
    struct value *x = h_in(l, 0);
    if (!x || h_rank(x) < 2 || l->out.count != 3)
        return HLO_ERROR(l, "expected one matrix and three results");
    struct node *n = linalg(l, "getrf", &x, 1, 3, &(struct attrs){0});
    if (!n)
        return false;
    struct value *pivots = b_2(l->b, OP_sub, n->out[1], b_scalar(l->b, DT_I32, 1));
    struct value *order = permutation(l, pivots, x->type.dims[h_rank(x) - 2]);
    return h_done_all(l, (struct value *[]){n->out[0], pivots, order}, 3);
}

bool hlo_target_permutation(struct hlo_lower *l)
{
    const struct hlo_shape *s = hlo_leaf(l->i->shape, 0);
    if (!h_in(l, 0) || !s->rank)
        return HLO_ERROR(l, "expected one array of row exchanges");
    return h_done(l, permutation(l, h_in(l, 0), s->dims[s->rank - 1]));
}

/* (eigenvectors, eigenvalues); backend_config: "lower,..." */
bool hlo_target_eigh(struct hlo_lower *l)
{
    const struct hlo_attr *config = hlo_attr(l->i, HLO_ATTR_backend_config);
    const char *text = config && config->text->data ? config->text->data : "";
    text += strspn(text, "\"");
    struct value *x = h_in(l, 0);
    struct attrs a = {0};
    if (!x || l->out.count != 2)
        return HLO_ERROR(l, "expected one matrix and two results");
    h_set_int(l, &a, "uplo", text[0] == '0' ? 'U' : 'L');
    struct node *n = linalg(l, "syevd", &x, 1, 3, &a);
    return n && h_done_all(l, n->out, 2);
}
