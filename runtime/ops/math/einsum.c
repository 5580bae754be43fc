#include "runtime/ops/common/einsum.h"

#include "runtime/ops/common/numeric.h"
#include "runtime/ops/common/require.h"

#include <ctype.h>
#include <string.h>

struct equation_reader {
    const char *at, *end;
    struct diag *d;
};

static void skip_spaces(struct equation_reader *r)
{
    while (r->at < r->end && isspace((unsigned char)*r->at))
        r->at++;
}

/* One term; `ellipsis` dims stand for "...". rank RANK_UNKNOWN: as many as there are. */
static bool read_term(struct equation_reader *r, int *label, int *rank, int ellipsis)
{
    int n = 0;
    for (skip_spaces(r); r->at < r->end && *r->at != ',' && *r->at != '-'; skip_spaces(r)) {
        if (r->end - r->at >= 3 && !memcmp(r->at, "...", 3)) {
            for (int i = ellipsis; i > 0; i--) {
                if (n >= MAX_RANK)
                    return fail(r->d, "a term of the equation has too many dims");
                label[n++] = -i;
            }
            r->at += 3;
        } else if (isalpha((unsigned char)*r->at)) {
            if (n >= MAX_RANK)
                return fail(r->d, "a term of the equation has more than %d letters", MAX_RANK);
            label[n++] = *r->at++;
        } else {
            return fail(r->d, "the equation has '%c', expected letters, '...', ',' or '->'",
                        *r->at);
        }
    }
    *rank = n;
    return true;
}

static int letters_of_term(const char *p, const char *end, bool *dots)
{
    int n = 0;
    *dots = false;
    for (; p < end && *p != ',' && *p != '-'; p++) {
        n += isalpha((unsigned char)*p) != 0;
        *dots |= *p == '.';
    }
    return n;
}

static int count_label(const struct equation *e, int label)
{
    int n = 0;
    for (int i = 0; i < e->nops; i++)
        for (int k = 0; k < e->rank[i]; k++)
            n += e->label[i][k] == label;
    return n;
}

/* Without "->": ellipsis dims, then letters that occur once, in order. */
static void implicit_result(struct equation *e, int widest)
{
    int n = 0;
    for (int i = widest; i > 0 && n < MAX_RANK; i--)
        e->label[e->nops][n++] = -i;
    for (int letter = 'A'; letter <= 'z'; letter++)
        if (count_label(e, letter) == 1 && n < MAX_RANK)
            e->label[e->nops][n++] = letter;
    e->rank[e->nops] = n;
}

static bool collect_labels(struct equation *e, struct diag *d)
{
    e->nlabels = 0;
    for (int turn = 0; turn <= e->nops; turn++) {
        int i = turn == 0 ? e->nops : turn - 1;
        for (int k = 0; k < e->rank[i]; k++) {
            bool seen = false;
            for (int l = 0; l < e->nlabels; l++)
                seen |= e->labels[l] == e->label[i][k];
            if (seen && i == e->nops)
                return fail(d, "a letter occurs twice in the result of the equation");
            if (seen)
                continue;
            if (e->nlabels == EINSUM_LABELS)
                return fail(d, "the equation has more than %d different letters", EINSUM_LABELS);
            e->labels[e->nlabels++] = e->label[i][k];
        }
    }
    for (int k = 0; k < e->rank[e->nops]; k++)
        if (count_label(e, e->label[e->nops][k]) == 0)
            return fail(d, "the result of the equation has a letter that no operand has");
    return true;
}

bool einsum_parse(struct equation *e, const struct attrs *as, const int *ranks, int nops,
                  struct diag *d)
{
    struct str text = attr_str(as, "equation", "");
    struct equation_reader r = {text.p, text.p + text.n, d};
    int widest = 0;
    if (nops > EINSUM_OPERANDS)
        return fail(d, "einsum has %d operands, expected at most %d", nops, EINSUM_OPERANDS);
    e->nops = nops;
    for (int i = 0; i < nops; i++) {
        bool dots;
        int ellipsis = ranks[i] - letters_of_term(r.at, r.end, &dots);
        if (ellipsis < 0 || (!dots && ellipsis))
            return fail(d, "operand %d has rank %d, which its term of the equation does not have",
                        i, ranks[i]);
        widest = ellipsis > widest ? ellipsis : widest;
        if (!read_term(&r, e->label[i], &e->rank[i], ellipsis))
            return false;
        if (i + 1 < nops && (r.at == r.end || *r.at++ != ','))
            return fail(d, "the equation has fewer terms than the %d operands", nops);
    }
    if (r.at == r.end)
        implicit_result(e, widest);
    else if (r.end - r.at < 2 || memcmp(r.at, "->", 2))
        return fail(d, "the equation has more terms than the %d operands", nops);
    else {
        r.at += 2;
        if (!read_term(&r, e->label[nops], &e->rank[nops], widest))
            return false;
        if (r.at != r.end)
            return fail(d, "the equation goes on after its result");
    }
    return collect_labels(e, d);
}

/* Dims under the label of dim k of operand i, in this operand and those before it. */
static bool labels_agree(struct infer *f, const struct equation *e, int i, int k)
{
    for (int j = 0; j <= i; j++)
        for (int m = 0; m < (j == i ? k : e->rank[j]); m++)
            if (e->label[j][m] == e->label[i][k] &&
                !require(f, GUARD_BROADCAST, f->in[j].dims[m], f->in[i].dims[k], between(j, i, k)))
                return false;
    return true;
}

bool infer_einsum(struct infer *f)
{
    struct equation e;
    int ranks[EINSUM_OPERANDS], nops = f->nin < EINSUM_OPERANDS ? f->nin : EINSUM_OPERANDS;
    dim_t dims[MAX_RANK];
    for (int i = 0; i < nops; i++) {
        if (f->in[i].rank == RANK_UNKNOWN)
            return infer_any(f, 0, f->in[0].dtype);
        ranks[i] = f->in[i].rank;
    }
    if (!einsum_parse(&e, f->attrs, ranks, f->nin, f->d))
        return false;
    for (int o = 0; o < e.rank[e.nops]; o++) {
        dims[o] = 1;
        for (int i = 0; i < nops; i++)
            for (int k = 0; k < e.rank[i]; k++)
                if (e.label[i][k] == e.label[e.nops][o] &&
                    !require_broadcast(f, dims[o], f->in[i].dims[k], between(i, -1, k), &dims[o]))
                    return false;
    }
    for (int i = 0; i < nops; i++)
        for (int k = 0; k < e.rank[i]; k++)
            if (!labels_agree(f, &e, i, k))
                return false;
    return infer_out(f, 0, f->in[0].dtype, e.rank[e.nops], dims);
}

/* How far operand i moves when the label's index moves by one. */
static int64_t label_stride(const struct equation *e, int i, const struct tensor *t, int label)
{
    int64_t stride = 0, step = 1;
    for (int k = t->rank - 1; k >= 0; k--) {
        if (e->label[i][k] == label && t->dims[k] != 1)
            stride += step;
        step *= t->dims[k];
    }
    return stride;
}

static bool label_sizes(struct op_call *c, const struct equation *e, int64_t *size)
{
    for (int l = 0; l < e->nlabels; l++) {
        size[l] = 1;
        for (int i = 0; i < e->nops; i++)
            for (int k = 0; k < e->rank[i]; k++) {
                int64_t n = c->in[i]->dims[k];
                if (e->label[i][k] != e->labels[l] || n == 1)
                    continue;
                if (size[l] != 1 && size[l] != n)
                    return fail(c->env->d, "einsum has sizes %lld and %lld for the same letter",
                                (long long)size[l], (long long)n);
                size[l] = n;
            }
    }
    return true;
}

static bool einsum(struct op_call *c, struct work *w)
{
    struct equation e;
    int ranks[EINSUM_OPERANDS];
    int64_t size[EINSUM_LABELS], stride[EINSUM_OPERANDS][EINSUM_LABELS], index[EINSUM_LABELS] = {0};
    struct tensor *y = c->out[0];
    bool integer = !dtype_is_float(y->dtype);
    void *v[EINSUM_OPERANDS];
    for (int i = 0; i < c->nin && i < EINSUM_OPERANDS; i++)
        ranks[i] = c->in[i]->rank;
    if (!einsum_parse(&e, c->attrs, ranks, c->nin, w->d) || !label_sizes(c, &e, size))
        return false;
    for (int i = 0; i < e.nops; i++) {
        v[i] = integer ? (void *)work_ints(w, c->in[i]) : (void *)work_doubles(w, c->in[i]);
        if (!v[i])
            return false;
        for (int l = 0; l < e.nlabels; l++)
            stride[i][l] = label_stride(&e, i, c->in[i], e.labels[l]);
    }
    int64_t nout = tensor_count(y), summed = 1;
    for (int l = e.rank[e.nops]; l < e.nlabels; l++)
        summed *= size[l];
    for (int64_t at = 0; at < nout; at++) {
        double sum = 0;
        uint64_t isum = 0;
        for (int64_t s = 0; s < summed; s++) {
            double product = 1;
            uint64_t iproduct = 1;
            for (int i = 0; i < e.nops; i++) {
                int64_t from = 0;
                for (int l = 0; l < e.nlabels; l++)
                    from += index[l] * stride[i][l];
                if (integer)
                    iproduct *= (uint64_t)((int64_t *)v[i])[from];
                else
                    product *= ((double *)v[i])[from];
            }
            sum += product;
            isum += iproduct;
            next_index(index, size, e.nlabels);
        }
        if (integer)
            dtype_store_i64(y->dtype, y->data, (size_t)at, (int64_t)isum);
        else
            dtype_store_f64(y->dtype, y->data, (size_t)at, sum);
    }
    return true;
}

EVAL_WITH_WORK(einsum)
