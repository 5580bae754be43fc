#include "runtime/ops/common/maps.h"

#include "neff/base/diag.h"
#include "runtime/ops/common/typed.h"
#include "runtime/ops/common/walk.h"

#include <stdlib.h>
#include <string.h>

bool maps_init(struct maps *m, const struct tensor *z, struct diag *d)
{
    int64_t total = 1;
    for (int i = 0; i < z->rank; i++)
        total += z->dims[i];
    m->block = malloc(sizeof *m->block * (size_t)total);
    if (!m->block)
        return fail_memory(d, "out of memory");
    int64_t at = 0;
    for (int i = 0; i < z->rank; i++) {
        m->axis[i] = m->block + at;
        at += z->dims[i];
    }
    return true;
}

struct mapped {
    const struct maps *m;
    const int64_t *dims;   /* of the result */
    const void *value;
    size_t bytes;          /* of an element */
    size_t each[MAX_RANK]; /* bytes of one index of an axis of the result */
    int last;              /* the innermost axis whose indices do not all stay: behind it are whole runs */
    int64_t first, end;    /* the longest row of neighbours along it */
    bool holes;            /* some of its indices have none */
    _Alignas(16) char hole[16]; /* what one of them gets, where that is no longer: the value as often as it fits */
};

/* Elements from..to of a row, one by one. */
static void move_elements(const struct mapped *p, char *to, const char *x, int64_t from, int64_t end)
{
    const int64_t *map = p->m->axis[p->last], bytes = (int64_t)p->bytes;
    switch (p->each[p->last]) {
#define MOVE(size, T)                                                                                                  \
    case size:                                                                                                         \
        for (int64_t i = from; i < end && !p->holes; i++)                                                              \
            ((T *)to)[i] = *(const T *)(x + map[i] * bytes);                                                           \
        for (int64_t i = from; i < end && p->holes; i++)                                                               \
            ((T *)to)[i] = *(const T *)(map[i] < 0 ? p->hole : x + map[i] * bytes);                                    \
        return;
        TYPED_SIZES(MOVE)
#undef MOVE
    }
    for (int64_t i = from; i < end; i++) {
        char *one = to + (size_t)i * p->each[p->last];
        if (map[i] < 0)
            fill_run(one, p->value, (int64_t)(p->each[p->last] / p->bytes), p->bytes);
        else
            memcpy(one, x + (size_t)map[i] * p->bytes, p->each[p->last]);
    }
}

static void move_row(const struct mapped *p, char *to, const char *x)
{
    size_t each = p->each[p->last];
    move_elements(p, to, x, 0, p->first);
    if (p->end > p->first)
        memcpy(to + (size_t)p->first * each, x + (size_t)p->m->axis[p->last][p->first] * p->bytes,
               (size_t)(p->end - p->first) * each);
    move_elements(p, to, x, p->end, p->dims[p->last]);
}

/* The indices of an axis: one that stands for what the one before it does is copied from there. */
static void move_axis(const struct mapped *p, int axis, char *to, const char *x)
{
    const int64_t *map = p->m->axis[axis];
    size_t each = p->each[axis];
    if (axis == p->last) {
        move_row(p, to, x);
        return;
    }
    for (int64_t k = 0; k < p->dims[axis]; k++, to += each)
        if (map[k] < 0)
            fill_run(to, p->value, (int64_t)(each / p->bytes), p->bytes);
        else if (k && map[k] == map[k - 1])
            memcpy(to, to - each, each);
        else
            move_axis(p, axis + 1, to, x + (size_t)map[k] * p->bytes);
}

/* Whether all indices of the axis stay where they are. */
static bool stays(const int64_t *map, int64_t from, int64_t to, int64_t stride)
{
    bool same = from == to;
    for (int64_t k = 0; same && k < to; k++)
        same = map[k] == k * stride;
    return same;
}

static void find_run(struct mapped *p, int64_t stride)
{
    const int64_t *map = p->m->axis[p->last];
    for (int64_t i = 0, j; i < p->dims[p->last]; i = j) {
        p->holes |= map[i] < 0;
        for (j = i + 1; j < p->dims[p->last] && map[i] >= 0 && map[j] == map[j - 1] + stride;)
            j++;
        if (map[i] >= 0 && j - i > 1 && j - i > p->end - p->first)
            p->first = i, p->end = j;
    }
}

void maps_move(struct tensor *z, const struct tensor *x, const struct maps *m, const void *value)
{
    struct mapped p = {.m = m, .dims = z->dims, .value = value, .bytes = dtype_bytes(z->dtype), .last = z->rank - 1};
    int64_t stride[MAX_RANK];
    if (tensor_count(z) == 0)
        return;
    dense_strides(x->rank, x->dims, stride);
    while (p.last >= 0 && stays(m->axis[p.last], x->dims[p.last], z->dims[p.last], stride[p.last]))
        p.last--;
    if (p.last < 0) {
        memcpy(z->data, x->data, (size_t)tensor_count(z) * p.bytes);
        return;
    }
    size_t each = p.bytes;
    for (int i = z->rank - 1; i >= 0; each *= (size_t)z->dims[i--])
        p.each[i] = each;
    find_run(&p, stride[p.last]);
    if (p.holes && p.each[p.last] <= sizeof p.hole)
        fill_run(p.hole, value, (int64_t)(p.each[p.last] / p.bytes), p.bytes);
    move_axis(&p, 0, z->data, x->data);
}
