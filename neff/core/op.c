#include "neff/core/op.h"

#include "neff/base/sort.h"
#include "neff/base/use.h"
#include "neff/core/kinds.h"

#include <string.h>

#ifdef XRT_USE

/* Models' spellings and documents are not kept. */
#define OP(id, onnx, hlo, min_in, max_in, min_out, max_out, flags, types, doc)                     \
    WHEN_USED(OP_##id, static const struct op_info row_##id = {                                    \
                           #id, "", "", "", min_in, max_in, min_out, max_out, flags};)
#include "neff/core/op.def"

const struct op_info *const op_rows[OP_COUNT] = {
#define OP(id, ...) WHEN_USED(OP_##id, [OP_##id] = &row_##id, )
#include "neff/core/op.def"
};

enum op op_from_name(const char *name)
{
    int op = 0;
    while (op < OP_COUNT && (!op_rows[op] || strcmp(op_rows[op]->name, name) != 0))
        op++;
    return (enum op)op;
}
#else
#include <pthread.h>

const struct op_info op_infos[OP_COUNT] = {
#define OP(id, onnx, hlo, min_in, max_in, min_out, max_out, flags, types, doc)                     \
    {#id, onnx, hlo, doc, min_in, max_in, min_out, max_out, flags},
#include "neff/core/op.def"
};

static int16_t by_name[OP_COUNT];
static pthread_once_t sorted = PTHREAD_ONCE_INIT;

static int compare(const void *a, const void *b)
{
    return strcmp(op_infos[*(const int16_t *)a].name, op_infos[*(const int16_t *)b].name);
}

static void sort_names(void)
{
    for (int i = 0; i < OP_COUNT; i++)
        by_name[i] = (int16_t)i;
    sort_items(by_name, OP_COUNT, sizeof *by_name, compare);
}

enum op op_from_name(const char *name)
{
    pthread_once(&sorted, sort_names);
    int low = 0, high = OP_COUNT;
    while (low < high) {
        int mid = (low + high) / 2, order = strcmp(name, op_infos[by_name[mid]].name);
        if (order == 0)
            return (enum op)by_name[mid];
        if (order < 0)
            high = mid;
        else
            low = mid + 1;
    }
    return OP_COUNT;
}

struct region_counts op_regions(enum op op)
{
    switch (op) {
    case OP_if:
    case OP_while:
        return (struct region_counts){2, 2};
    case OP_loop:
    case OP_scan:
    case OP_fused:
    case OP_map_with:
        return (struct region_counts){1, 1};
    case OP_reduce_with:
    case OP_reduce_window:
    case OP_sort:
    case OP_scatter_windows:
        return (struct region_counts){0, 1};
    case OP_select_and_scatter:
        return (struct region_counts){0, 2};
    default:
        return (struct region_counts){0, 0};
    }
}
#endif

enum op op_from_attr(const struct attrs *as, const char *attribute)
{
    char name[64];
    const struct str s = attr_str(as, attribute, "");
    if (s.n >= sizeof name)
        return OP_COUNT;
    memcpy(name, s.p, s.n);
    name[s.n] = 0;
    return op_from_name(name);
}
