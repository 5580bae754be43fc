#include "runtime/io/random.h"

#include "neff/base/splitmix.h"

#include <math.h>
#include <stdlib.h>

void random_fill(struct tensor *t, const struct value_range *range, uint64_t seed)
{
    int class = dtype_class(t->dtype);
    int64_t low = 0;
    uint64_t choices = class == DTC_BOOL ? 2 : t->dtype == DT_U8 ? 256 : 10;
    if (range->known) {
        low = range->low;
        choices = range->high < low ? 1 : (uint64_t)range->high - (uint64_t)low + 1;
    }
    for (int64_t k = 0, n = tensor_count(t); k < n; k++) {
        uint64_t r = splitmix(&seed) >> 11;
        if (class == DTC_FLOAT || class == DTC_COMPLEX)
            dtype_store_f64(t->dtype, t->data, (size_t)k,
                            (double)r / (double)(UINT64_C(1) << 52) - 1);
        else if (class != DTC_STRING)
            dtype_store_i64(t->dtype, t->data, (size_t)k,
                            (int64_t)((uint64_t)low + (choices ? r % choices : r)));
    }
}

enum { REACH = 4, TIMES = 3 };
_Static_assert(LONG_AXIS == 2 * REACH + 1, "the mean of a window");

/* n elements, `step` apart: each becomes the mean of those at most REACH away. */
static void average(double *x, double *line, int64_t n, int64_t step)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        line[i] = x[i * step];
    for (int64_t i = 0; i < REACH && i < n; i++)
        sum += line[i];
    for (int64_t i = 0; i < n; i++) {
        if (i + REACH < n)
            sum += line[i + REACH];
        if (i > REACH)
            sum -= line[i - REACH - 1];
        x[i * step] = sum / LONG_AXIS;
    }
}

static void average_axis(const struct tensor *t, int axis, double *x, double *line)
{
    int64_t n = t->dims[axis], inner = dims_product(t->dims, axis + 1, t->rank),
            outer = dims_product(t->dims, 0, axis);
    for (int64_t o = 0; o < outer; o++)
        for (int64_t i = 0; i < inner; i++)
            average(x + o * n * inner + i, line, n, inner);
}

void smooth_fill(struct tensor *t, const struct value_range *range, uint64_t seed)
{
    int64_t n = tensor_count(t);
    int first = t->rank > 1; /* the first axis counts examples */
    double largest = 0, *x, *line;
    random_fill(t, range, seed);
    if (dtype_class(t->dtype) != DTC_FLOAT)
        return;
    x = malloc(sizeof *x * ((size_t)n + 1));
    line = malloc(sizeof *line * ((size_t)n + 1));
    for (int64_t k = 0; x && line && k < n; k++)
        x[k] = tensor_f64(t, k);
    for (int axis = first; x && line && axis < t->rank; axis++)
        for (int i = 0; i < TIMES && t->dims[axis] > LONG_AXIS; i++)
            average_axis(t, axis, x, line);
    for (int64_t k = 0; x && line && k < n; k++)
        largest = fmax(largest, fabs(x[k]));
    for (int64_t k = 0; x && line && largest > 0 && k < n; k++)
        dtype_store_f64(t->dtype, t->data, (size_t)k, x[k] / largest);
    free(line);
    free(x);
}

/* Elements [at, at + n) of each axis, all of the short ones. */
struct axes_range {
    int64_t at[MAX_RANK], n[MAX_RANK];
};

static struct axes_range random_box(const struct tensor *t, int first, uint64_t *seed)
{
    struct axes_range b;
    for (int axis = 0; axis < t->rank; axis++) {
        int64_t size = t->dims[axis];
        b.at[axis] = 0, b.n[axis] = size;
        if (axis < first || size <= LONG_AXIS)
            continue;
        b.n[axis] = 1 + (int64_t)((splitmix(seed) >> 11) % (uint64_t)size);
        b.n[axis] = 1 + (int64_t)((splitmix(seed) >> 11) % (uint64_t)b.n[axis]);
        b.at[axis] = (int64_t)((splitmix(seed) >> 11) % (uint64_t)(size - b.n[axis] + 1));
    }
    return b;
}

static double random_step(uint64_t *seed)
{
    return (double)(splitmix(seed) >> 11) / (double)(UINT64_C(1) << 51) - 2;
}

/* One value in each place along the short axes: channels differ. */
static void fill_box(struct tensor *t, const struct axes_range *b, uint64_t seed)
{
    int64_t index[MAX_RANK] = {0}, n = dims_product(b->n, 0, t->rank);
    for (int64_t k = 0; k < n; k++) {
        int64_t at = 0;
        uint64_t place = seed;
        for (int axis = 0; axis < t->rank; axis++) {
            at = at * t->dims[axis] + b->at[axis] + index[axis];
            if (b->n[axis] == t->dims[axis] && t->dims[axis] <= LONG_AXIS)
                place += (uint64_t)(index[axis] + 1) << (4 * axis);
        }
        dtype_store_f64(t->dtype, t->data, (size_t)at, random_step(&place));
        for (int axis = t->rank - 1; axis >= 0 && ++index[axis] == b->n[axis]; axis--)
            index[axis] = 0;
    }
}

void steps_fill(struct tensor *t, const struct value_range *range, uint64_t seed)
{
    enum { BOXES = 40 };
    random_fill(t, range, seed);
    if (dtype_class(t->dtype) != DTC_FLOAT || !tensor_count(t))
        return;
    int first = t->rank > 1;
    bool any = false;
    for (int axis = first; axis < t->rank; axis++)
        any |= t->dims[axis] > LONG_AXIS;
    for (int i = 0; any && i < BOXES; i++) {
        struct axes_range b = random_box(t, first, &seed);
        for (int axis = first; !i && axis < t->rank; axis++) /* the first covers all */
            b.at[axis] = 0, b.n[axis] = t->dims[axis];
        fill_box(t, &b, splitmix(&seed));
    }
}
