/*
 * Aligning two sequences: dynamic_time_warping, bifurcation_detector.
 */
#include "runtime/ops/common/ops.h"
#include "runtime/ops/common/require.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- dynamic_time_warping ---- */

bool infer_dynamic_time_warping(struct infer *f)
{
    const struct type *x = &f->in[0];
    dim_t dims[2] = {2, infer_unknown(f, "path")};
    if (x->rank >= 0 && x->rank != 2 && x->rank != 3)
        return fail(f->d, "costs have rank %d, expected 2 or 3", x->rank);
    if (x->rank == 3 && !require_equal(f, x->dims[0], 1, named("matrices of costs", 0, 0)))
        return false;
    return infer_out(f, 0, DT_I32, 2, dims);
}

enum step { DIAGONAL, DOWN, RIGHT };

/* What the cheapest path to each place of a matrix comes by; `sums`: columns + 1 floats of scratch. */
static void find_steps(const float *cost, int64_t rows, int64_t columns, float *sums, uint8_t *steps)
{
    for (int64_t j = 0; j <= columns; j++)
        sums[j] = j ? INFINITY : 0;
    for (int64_t i = 0; i < rows; i++) {
        float diagonal = sums[0];
        sums[0] = INFINITY;
        for (int64_t j = 0; j < columns; j++) {
            float up = sums[j + 1], left = sums[j], best = left;
            enum step step = RIGHT;
            if (diagonal < up && diagonal < left)
                step = DIAGONAL, best = diagonal;
            else if (up < diagonal && up < left)
                step = DOWN, best = up;
            steps[i * columns + j] = (uint8_t)step;
            sums[j + 1] = best + cost[i * columns + j];
            diagonal = up;
        }
    }
}

/* The path back from the last place to the first row or column (where no path is finite, not to the first place); its
 * length. `to`: NULL, or where it goes. */
static int64_t walk_back(const uint8_t *steps, int64_t rows, int64_t columns, int32_t *to, int64_t length)
{
    int64_t n = 0;
    for (int64_t i = rows, j = columns; i > 0 && j > 0; n++) {
        enum step step = steps[(i - 1) * columns + j - 1];
        if (to) {
            to[length - 1 - n] = (int32_t)(i - 1);
            to[2 * length - 1 - n] = (int32_t)(j - 1);
        }
        i -= step != RIGHT;
        j -= step != DOWN;
    }
    return n;
}

bool eval_dynamic_time_warping(struct op_call *c)
{
    const struct tensor *x = c->in[0];
    int64_t rows = x->dims[x->rank - 2], columns = x->dims[x->rank - 1];
    float *sums = malloc(sizeof *sums * ((size_t)columns + 1));
    uint8_t *steps = malloc((size_t)rows * (size_t)columns + 1);
    struct tensor *z = NULL;
    if (sums && steps) {
        find_steps(x->data, rows, columns, sums, steps);
        int64_t length = walk_back(steps, rows, columns, NULL, 0);
        z = call_out(c, 0, DT_I32, 2, (int64_t[]){2, length});
        if (z)
            walk_back(steps, rows, columns, z->data, length);
    } else {
        fail(c->env->d, "no memory to align %lld rows with %lld columns", (long long)rows, (long long)columns);
    }
    free(sums);
    free(steps);
    return z != NULL;
}

/* ---- bifurcation_detector ---- */

bool infer_bifurcation_detector(struct infer *f)
{
    for (int i = 0; i < f->nin; i++)
        if (has_input(f, i) && f->in[i].rank >= 0 && f->in[i].rank != (i != 2))
            return fail(f->d, "operand %d has rank %d, expected %d", i, f->in[i].rank, i != 2);
    dim_t n = has_input(f, 3) || f->in[1].rank < 0 ? infer_unknown(f, "tokens") : f->in[1].dims[0];
    int64_t min = attr_int(f->attrs, "min_ngram_size", 1), max = attr_int(f->attrs, "max_ngram_size", 3);
    if (min < 1 || max < min)
        return fail(f->d, "n-grams of %lld to %lld tokens, expected of 1 or more to as many or more", (long long)min,
                    (long long)max);
    infer_out(f, 0, DT_I64, 1, &n);
    return infer_out(f, 1, DT_I64, 0, NULL);
}

/* The first place from `at` on where the tokens hold the n-gram; -1: nowhere. */
static int64_t find_ngram(const int64_t *tokens, int64_t count, const int64_t *ngram, int64_t n, int64_t at)
{
    for (; at <= count - n; at++)
        if (!memcmp(tokens + at, ngram, sizeof *ngram * (size_t)n))
            return at;
    return -1;
}

/* Behind the one place of the source that holds the last n tokens, of the fewest that are there once; -1: none. */
static int64_t match_suffix(const int64_t *source, int64_t size, const int64_t *tokens, int64_t count, int64_t min,
                            int64_t max)
{
    for (int64_t n = min; n <= max && n <= count; n++) {
        const int64_t *ngram = tokens + count - n;
        int64_t at = find_ngram(source, size, ngram, n, 0);
        if (at < 0)
            return -1;
        if (find_ngram(source, size, ngram, n, at + 1) < 0)
            return at + n;
    }
    return -1;
}

bool eval_bifurcation_detector(struct op_call *c)
{
    const int64_t *source = c->in[0]->data, *current = c->in[1]->data;
    int64_t size = c->in[0]->dims[0], count = c->in[1]->dims[0], start = *(const int64_t *)c->in[2]->data, more = 0;
    if (has_operand(c, 3)) {
        const int64_t *predicted = c->in[3]->data;
        int64_t given = c->in[3]->dims[0];
        if (start < 0 || start > size)
            return fail(c->env->d, "the previous match is %lld, expected 0 to %lld", (long long)start, (long long)size);
        if (given != size - start + 1)
            return fail(c->env->d, "%lld predicted tokens, expected %lld", (long long)given,
                        (long long)(size - start + 1));
        while (more < size - start && predicted[more] == source[start + more])
            more++;
        more++;
    }
    struct tensor *tokens = call_out(c, 0, DT_I64, 1, (int64_t[]){count + more});
    struct tensor *match = tokens ? call_out(c, 1, DT_I64, 0, NULL) : NULL;
    if (!match)
        return false;
    int64_t *to = tokens->data;
    if (count)
        memcpy(to, current, sizeof *to * (size_t)count);
    if (more)
        memcpy(to + count, c->in[3]->data, sizeof *to * (size_t)more);
    *(int64_t *)match->data = match_suffix(source, size, to, count + more, attr_int(c->attrs, "min_ngram_size", 1),
                                           attr_int(c->attrs, "max_ngram_size", 3));
    return true;
}
