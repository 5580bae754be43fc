/* Operations among devices, for one: what they mean when every group is that device alone. */
#include "frontend/hlo/lower/build.h"
#include "frontend/hlo/lower/importer.h"
#include "frontend/hlo/lower/lower_ops.h"

#include <string.h>

static int64_t devices(const struct hlo_module *m)
{
    int64_t r = m->replica_count > 1 ? m->replica_count : 1,
            p = m->num_partitions > 1 ? m->num_partitions : 1;
    return r > INT32_MAX || p > INT32_MAX ? INT64_MAX : r * p;
}

/* Devices that the largest group of the instruction has. */
static int64_t group_size(const struct hlo_lower *l)
{
    const struct hlo_attr *a = hlo_attr(l->i, HLO_ATTR_replica_groups);
    int64_t max = 0;
    if (!a)
        return devices(l->im->m);
    if (a->groups->form == HLO_GROUPS_IOTA)
        return a->groups->tile.count > 1 ? a->groups->tile.v[1] : 1;
    if (a->groups->form == HLO_GROUPS_MESH)
        return devices(l->im->m);
    for (int k = 0; k < a->groups->lists.count; k++)
        if (a->groups->lists.v[k].count > max)
            max = a->groups->lists.v[k].count;
    return max ? max : devices(l->im->m);
}

static bool alone(struct hlo_lower *l)
{
    int64_t n = group_size(l);
    if (n <= 1)
        return true;
    l->b->d->unsupported = true;
    return HLO_ERROR(
        l,
        "works among %lld devices, expected one; compile the program for one replica and partition",
        (long long)n);
}

bool hlo_lower_collective(struct hlo_lower *l)
{
    return alone(l) && hlo_lower_pass(l);
}

/* all-gather-start gives (operands, results). */
bool hlo_lower_collective_start(struct hlo_lower *l)
{
    int n = 0, half = l->out.count / 2;
    if (!alone(l))
        return false;
    for (int k = 0; k < l->i->operand_count; k++)
        for (int j = 0; j < l->operands[k].count && n < half; j++, n++)
            l->out.v[n] = l->out.v[half + n] = l->operands[k].v[j];
    return 2 * n == l->out.count || HLO_ERROR(l, "%d arrays, expected %d", l->out.count, 2 * n);
}

/* Whether the pairs send device 0 to itself; without a pair it receives zeros. */
static bool receives(const struct hlo_lower *l, bool *foreign)
{
    const struct hlo_lists *pairs = hlo_attr(l->i, HLO_ATTR_source_target_pairs)->lists;
    bool self = false;
    *foreign = false;
    for (int k = 0; k < pairs->count; k++) {
        self |= pairs->v[k].v[0] == 0 && pairs->v[k].v[1] == 0;
        *foreign |= pairs->v[k].v[0] != 0 || pairs->v[k].v[1] != 0;
    }
    return self;
}

static struct value *permuted(struct hlo_lower *l, struct value *x)
{
    bool foreign, self = receives(l, &foreign);
    if (foreign) {
        l->b->d->unsupported = true;
        HLO_ERROR(l, "sends between devices, expected one device; compile the program for one "
                     "replica and partition");
        return NULL;
    }
    if (!x) {
        HLO_ERROR(l, "an operand is no array");
        return NULL;
    }
    return self ? x : h_fill(l, b_like(l->b, x, 0), x->type.dims, h_rank(x));
}

bool hlo_lower_collective_permute(struct hlo_lower *l)
{
    if (l->i->operand_count != l->out.count) {
        l->b->d->unsupported = true;
        return HLO_ERROR(l, "the form that updates a buffer in place is not supported");
    }
    for (int k = 0; k < l->out.count && !diag_failed(l->b->d); k++)
        l->out.v[k] = permuted(l, h_in(l, k));
    return !diag_failed(l->b->d);
}

/* collective-permute-start gives (operand, result, contexts...). */
bool hlo_lower_permute_start(struct hlo_lower *l)
{
    if (l->i->operand_count != 1 || l->out.count < 2)
        return HLO_ERROR(l, "%d operands and %d results, expected 1 and at least 2",
                         l->i->operand_count, l->out.count);
    l->out.v[0] = h_in(l, 0);
    l->out.v[1] = permuted(l, h_in(l, 0));
    for (int k = 2; k < l->out.count; k++)
        l->out.v[k] = b_scalar(l->b, hlo_type_dtype(hlo_leaf(l->i->shape, k)->type), 0);
    return !diag_failed(l->b->d);
}

bool hlo_lower_permute_done(struct hlo_lower *l)
{
    if (l->operands[0].count < 2)
        return HLO_ERROR(l, "the operand is not what collective-permute-start gives");
    return h_done(l, l->operands[0].v[1]);
}

bool hlo_lower_device_id(struct hlo_lower *l)
{
    bool partition = l->i->opcode == HLO_OP_PARTITION_ID;
    int64_t n = partition ? l->im->m->num_partitions : l->im->m->replica_count;
    if (n > 1) {
        l->b->d->unsupported = true;
        return HLO_ERROR(l,
                         "tells %lld devices apart, expected one; compile the program for one "
                         "replica and partition",
                         (long long)n);
    }
    return h_done(l, b_scalar(l->b, hlo_type_dtype(l->i->shape->type), 0));
}

/* (data, output, input offsets, send sizes, output offsets, receive sizes): rows of the one peer,
 * itself. */
bool hlo_lower_ragged_all_to_all(struct hlo_lower *l)
{
    int64_t none[1] = {0};
    if (!alone(l))
        return false;
    struct value *x = h_in(l, 0), *y = h_in(l, 1), *v[3];
    if (diag_failed(l->b->d) || h_rank(x) < 1 || h_in_shape(l, 2)->rank != 1 ||
        h_in_shape(l, 2)->dims[0] != 1) {
        l->b->d->unsupported = true;
        return HLO_ERROR(l, "%lld pieces, expected one",
                         (long long)(h_in_shape(l, 2)->rank ? h_in_shape(l, 2)->dims[0] : 0));
    }
    for (int k = 0; k < 3; k++)
        v[k] = h_reshape(l, h_cast(l, h_in(l, 2 + k), DT_I64), none, 0);
    struct value *row = h_iota(l, DT_I64, &y->type.dims[0], 1, 0);
    struct value *from = b_2(l->b, OP_sub, row, v[2]);
    struct value *in = b_2(l->b, OP_lt, from, v[1]);
    in = b_2(l->b, OP_and, b_2(l->b, OP_ge, from, b_like(l->b, from, 0)), in);
    struct value *at = b_2(l->b, OP_add, from, v[0]);
    struct value *last = h_reshape(l, h_dims(l, x->type.dims, 1), none, 0);
    last = b_2(l->b, OP_sub, last, b_like(l->b, last, 1));
    at = b_op(l->b, OP_clip, (struct value *[]){at, b_like(l->b, at, 0), last}, 3, NULL);
    struct attrs a = {0};
    h_set_int(l, &a, "axis", 0);
    struct value *rows = b_op(l->b, OP_gather, (struct value *[]){x, at}, 2, &a);
    int64_t zero = 0;
    in = h_broadcast(l, in, y->type.dims, h_rank(y), &zero);
    return h_done(l, b_select(l->b, in, rows, y));
}
