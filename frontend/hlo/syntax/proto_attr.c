/* Attributes of an instruction from its proto. */
#include "frontend/hlo/syntax/lex.h"
#include "frontend/hlo/syntax/proto.h"

#include "hlo.pb-c.h"

#include <stddef.h>
#include <string.h>

#define M Hlopb__HloInstructionProto

struct build {
    struct proto_reader *r;
    const M *p;
    struct hlo_instruction *i;
    int count;
    struct hlo_attr v[HLO_ATTR_COUNT];
};

/* The slot for an attribute that the opcode takes and that is not set yet; NULL otherwise. */
static struct hlo_attr *set(struct build *b, enum hlo_attr_id id)
{
    if (!hlo_op_admits(b->i->opcode, id))
        return NULL;
    for (int k = 0; k < b->count; k++)
        if (b->v[k].id == id)
            return NULL;
    b->v[b->count].id = id;
    return &b->v[b->count++];
}

static void set_int(struct build *b, enum hlo_attr_id id, int64_t v)
{
    struct hlo_attr *a = set(b, id);
    if (a)
        a->i = v;
}

static void set_ints(struct build *b, enum hlo_attr_id id, size_t n, const int64_t *v)
{
    struct hlo_ints list = proto_ints(b->r->arena, n, v);
    struct hlo_attr *a = set(b, id);
    if (a)
        a->ints = arena_copy(b->r->arena, &list, sizeof list);
}

static void set_pointer(struct build *b, enum hlo_attr_id id, const void *v, size_t size)
{
    struct hlo_attr *a = set(b, id);
    if (a)
        a->pointer = arena_copy(b->r->arena, v, size);
}

static void set_text(struct build *b, enum hlo_attr_id id, const void *data, size_t size)
{
    struct hlo_text t = {arena_strndup(b->r->arena, data, size), size, false};
    set_pointer(b, id, &t, sizeof t);
}

/* ---- numbers ---- */

/* Plain fields. `width` is 8 for int64, 4 for the others (int32, bool, enumerations). */
static const struct {
    uint8_t id;
    uint8_t width;
    uint16_t has, value;
} numbers[] = {
#define N(id, field)                                                                               \
    {                                                                                              \
        HLO_ATTR_##id, sizeof((M *)0)->field, offsetof(M, has_##field), offsetof(M, field)         \
    }
    N(index, tuple_index),
    N(k, k),
    N(largest, largest),
    N(topk_is_stable, is_stable),
    N(is_stable, is_stable),
    N(constrain_layout, constrain_layout),
    N(use_global_device_ids, use_global_device_ids),
    N(has_dynamic_root, has_dynamic_root),
    N(is_host_transfer, is_host_transfer),
    N(cross_program_prefetch_index, cross_program_prefetch_index),
    N(convolution_kind, conv_kind),
    N(fft_type, fft_type),
    N(indices_are_sorted, indices_are_sorted),
    N(unique_indices, unique_indices),
    N(num_carries, num_carries),
    N(is_reverse, is_reverse),
    N(feature_index, feature_index),
    N(exponent_bits, exponent_bits),
    N(mantissa_bits, mantissa_bits),
    N(distribution, distribution),
    N(rng_algorithm, rng_algorithm),
    N(delta, delta),
    N(is_composite, is_composite),
    N(custom_call_has_side_effect, custom_call_has_side_effect),
    N(padding_type, padding_type),
    N(schedule, custom_call_schedule),
    N(api_version, custom_call_api_version),
#undef N
};

static bool read_numbers(struct build *b)
{
    const char *p = (const char *)b->p;
    for (size_t k = 0; k < sizeof numbers / sizeof numbers[0]; k++) {
        enum hlo_attr_id id = numbers[k].id;
        const struct hlo_attr_info *info = hlo_attr_info(id);
        bool has = *(const protobuf_c_boolean *)(p + numbers[k].has);
        /* Absent is zero, which is not what an absent attribute of text means. */
        bool matters = hlo_op_requires(b->i->opcode, id) || info->standard != HLO_ABSENT;
        if (!has && !matters)
            continue;
        int32_t narrow;
        int64_t v;
        memcpy(&narrow, p + numbers[k].value, sizeof narrow);
        memcpy(&v, p + numbers[k].value, numbers[k].width == 8 ? sizeof v : sizeof narrow);
        if (numbers[k].width != 8)
            v = narrow;
        if (!has)
            v = 0;
        if (info->kind == HLO_KIND_ENUM && hlo_op_admits(b->i->opcode, id) &&
            !hlo_enum_name(info->set, v))
            return fail(b->r->d, "%s has the unknown value %lld", info->name, (long long)v);
        set_int(b, id, v);
    }
    if (b->p->has_channel_id && b->p->channel_id > 0)
        set_int(b, HLO_ATTR_channel_id, b->p->channel_id);
    else if (b->p->all_reduce_id > 0)
        set_int(b, HLO_ATTR_channel_id, b->p->all_reduce_id);
    set_int(b, HLO_ATTR_feature_group_count,
            b->p->feature_group_count ? b->p->feature_group_count : 1);
    set_int(b, HLO_ATTR_batch_group_count, b->p->batch_group_count ? b->p->batch_group_count : 1);
    set_int(b, HLO_ATTR_is_associative,
            b->p->is_associative == HLOPB__HLO_INSTRUCTION_PROTO__TRI_STATE__TRI_STATE_TRUE);
    struct hlo_attr *epsilon = set(b, HLO_ATTR_epsilon);
    if (epsilon)
        epsilon->f = b->p->epsilon;
    return true;
}

static bool read_words(struct build *b)
{
    const struct {
        enum hlo_attr_id id;
        const char *word;
    } words[] = {
        {HLO_ATTR_direction, b->p->comparison_direction},
        {HLO_ATTR_type, b->p->comparison_type},
        {HLO_ATTR_kind, b->p->fusion_kind},
    };
    for (int k = 0; k < 3; k++) {
        const char *w = words[k].word;
        int64_t v;
        if (!w || !*w || !hlo_op_admits(b->i->opcode, words[k].id))
            continue;
        if (!hlo_enum_find(hlo_attr_info(words[k].id)->set, w, strlen(w), &v))
            return fail(b->r->d, "unknown value '%.100s' of %s", w,
                        hlo_attr_info(words[k].id)->name);
        set_int(b, words[k].id, v);
    }
    return true;
}

/* ---- dimension lists ---- */

static void read_dimensions(struct build *b)
{
    const M *p = b->p;
    switch (b->i->opcode) {
    case HLO_OP_IOTA:
        set_int(b, HLO_ATTR_iota_dimension, p->n_dimensions ? p->dimensions[0] : 0);
        break;
    case HLO_OP_RESHAPE:
        if (p->n_dimensions && p->dimensions[0] >= 0)
            set_int(b, HLO_ATTR_inferred_dimension, p->dimensions[0]);
        break;
    default:
        set_ints(b, HLO_ATTR_dimensions, p->n_dimensions, p->dimensions);
    }
    set_ints(b, HLO_ATTR_fft_length, p->n_fft_length, p->fft_length);
    set_ints(b, HLO_ATTR_dynamic_slice_sizes, p->n_dynamic_slice_sizes, p->dynamic_slice_sizes);
    set_ints(b, HLO_ATTR_slice_sizes, p->n_gather_slice_sizes, p->gather_slice_sizes);
}

#define INTS(id, message, field) set_ints(b, HLO_ATTR_##id, (message)->n_##field, (message)->field)

static void read_dot(struct build *b)
{
    const Hlopb__RaggedDotDimensionNumbers *r = b->p->ragged_dot_dimension_numbers;
    const Hlopb__DotDimensionNumbers *p =
        r ? r->dot_dimension_numbers : b->p->dot_dimension_numbers;
    if (p) {
        INTS(lhs_contracting_dims, p, lhs_contracting_dimensions);
        INTS(rhs_contracting_dims, p, rhs_contracting_dimensions);
        INTS(lhs_batch_dims, p, lhs_batch_dimensions);
        INTS(rhs_batch_dims, p, rhs_batch_dimensions);
    }
    if (r) {
        INTS(lhs_ragged_dims, r, lhs_ragged_dimensions);
        INTS(rhs_group_dims, r, rhs_group_dimensions);
    }
}

static void read_gather(struct build *b)
{
    const Hlopb__GatherDimensionNumbers *g = b->p->gather_dimension_numbers;
    const Hlopb__ScatterDimensionNumbers *s = b->p->scatter_dimension_numbers;
    if (g && b->i->opcode == HLO_OP_GATHER) {
        INTS(offset_dims, g, offset_dims);
        INTS(collapsed_slice_dims, g, collapsed_slice_dims);
        INTS(start_index_map, g, start_index_map);
        INTS(operand_batching_dims, g, operand_batching_dims);
        INTS(start_indices_batching_dims, g, start_indices_batching_dims);
        set_int(b, HLO_ATTR_index_vector_dim, g->index_vector_dim);
    }
    if (s && b->i->opcode == HLO_OP_SCATTER) {
        INTS(update_window_dims, s, update_window_dims);
        INTS(inserted_window_dims, s, inserted_window_dims);
        INTS(scatter_dims_to_operand_dims, s, scatter_dims_to_operand_dims);
        INTS(input_batching_dims, s, input_batching_dims);
        INTS(scatter_indices_batching_dims, s, scatter_indices_batching_dims);
        set_int(b, HLO_ATTR_index_vector_dim, s->index_vector_dim);
    }
}

/* ---- windows, convolutions, slices, padding ---- */

static void read_window(struct build *b)
{
    const Hlopb__Window *p = b->p->window;
    if (!p)
        return;
    struct hlo_window w = {(int)p->n_dimensions,
                           ARENA_ARRAY(b->r->arena, struct hlo_window_dim, p->n_dimensions)};
    for (int k = 0; k < w.rank; k++) {
        const Hlopb__Window__WindowDimension *d = p->dimensions[k];
        w.dims[k] = (struct hlo_window_dim){
            .size = d->size,
            .stride = d->has_stride ? d->stride : 1,
            .pad_low = d->padding_low,
            .pad_high = d->padding_high,
            .lhs_dilate = d->has_base_dilation ? d->base_dilation : 1,
            .rhs_dilate = d->has_window_dilation ? d->window_dilation : 1,
            .reversal = d->window_reversal,
        };
    }
    set_pointer(b, HLO_ATTR_window, &w, sizeof w);
}

static bool labels(struct build *b, int rank, int64_t first, int64_t second, size_t n,
                   const int64_t *v, struct hlo_labels *l)
{
    uint64_t seen = 0;
    *l = (struct hlo_labels){rank, -1, -1, (int)n, ARENA_ARRAY(b->r->arena, int, n)};
    for (size_t k = 0; k < n + 2; k++) {
        int64_t at = k < n ? v[k] : k == n ? first : second;
        if (at < 0 || at >= rank || seen >> at & 1)
            return fail(b->r->d, "convolution dimension %lld of an array with %d dimensions",
                        (long long)at, rank);
        seen |= (uint64_t)1 << at;
        if (k < n)
            l->spatial[k] = (int)at;
    }
    l->first = (int)first;
    l->second = (int)second;
    return true;
}

static bool read_convolution(struct build *b)
{
    const Hlopb__ConvolutionDimensionNumbers *p = b->p->convolution_dimension_numbers;
    struct hlo_dim_labels l;
    if (!p || !hlo_op_admits(b->i->opcode, HLO_ATTR_dim_labels))
        return true;
    if (b->i->opcode == HLO_OP_CUSTOM_CALL && !p->n_input_spatial_dimensions)
        return true;
    if (b->i->operand_count < 2 || !b->i->shape)
        return fail(b->r->d, "convolution dimensions for %d operands", b->i->operand_count);
    const struct hlo_shape *result = b->i->shape;
    if (result->type == HLO_TUPLE && result->count)
        result = result->elements[0];
    size_t n = p->n_input_spatial_dimensions;
    if (n != p->n_kernel_spatial_dimensions || n != p->n_output_spatial_dimensions)
        return fail(b->r->d, "%zu, %zu and %zu spatial dimensions, expected the same number", n,
                    p->n_kernel_spatial_dimensions, p->n_output_spatial_dimensions);
    if (!labels(b, b->i->operands[0]->shape->rank, p->input_batch_dimension,
                p->input_feature_dimension, n, p->input_spatial_dimensions, &l.input) ||
        !labels(b, b->i->operands[1]->shape->rank, p->kernel_input_feature_dimension,
                p->kernel_output_feature_dimension, n, p->kernel_spatial_dimensions, &l.kernel) ||
        !labels(b, result->rank, p->output_batch_dimension, p->output_feature_dimension, n,
                p->output_spatial_dimensions, &l.output))
        return false;
    set_pointer(b, HLO_ATTR_dim_labels, &l, sizeof l);
    return true;
}

static void read_slices(struct build *b)
{
    const M *p = b->p;
    struct hlo_slices s = {(int)p->n_slice_dimensions,
                           ARENA_ARRAY(b->r->arena, struct hlo_slice, p->n_slice_dimensions)};
    for (int k = 0; k < s.count; k++)
        s.v[k] = (struct hlo_slice){
            p->slice_dimensions[k]->start, p->slice_dimensions[k]->limit,
            p->slice_dimensions[k]->has_stride ? p->slice_dimensions[k]->stride : 1};
    set_pointer(b, HLO_ATTR_slice, &s, sizeof s);
    if (!p->padding_config)
        return;
    struct hlo_paddings d = {
        (int)p->padding_config->n_dimensions,
        ARENA_ARRAY(b->r->arena, struct hlo_padding, p->padding_config->n_dimensions)};
    for (int k = 0; k < d.count; k++) {
        const Hlopb__PaddingConfig__PaddingConfigDimension *e = p->padding_config->dimensions[k];
        d.v[k] =
            (struct hlo_padding){e->edge_padding_low, e->edge_padding_high, e->interior_padding};
    }
    set_pointer(b, HLO_ATTR_padding, &d, sizeof d);
}

static void read_precision(struct build *b)
{
    const Hlopb__PrecisionConfig *p = b->p->precision_config;
    if (!p)
        return;
    struct hlo_ints v = {(int)p->n_operand_precision,
                         ARENA_ARRAY(b->r->arena, int64_t, p->n_operand_precision)};
    for (int k = 0; k < v.count; k++)
        v.v[k] =
            hlo_enum_name(HLO_SET_PRECISION, p->operand_precision[k]) ? p->operand_precision[k] : 0;
    set_pointer(b, HLO_ATTR_operand_precision, &v, sizeof v);
    if (hlo_enum_name(HLO_SET_DOT, p->algorithm))
        set_int(b, HLO_ATTR_algorithm, p->algorithm);
}

static void read_options(struct build *b)
{
    const Hlopb__TriangularSolveOptions *t = b->p->triangular_solve_options;
    if (t) {
        set_int(b, HLO_ATTR_left_side, t->left_side);
        set_int(b, HLO_ATTR_lower, t->lower);
        set_int(b, HLO_ATTR_unit_diagonal, t->unit_diagonal);
        if (hlo_enum_name(HLO_SET_TRANSPOSE, t->transpose_a))
            set_int(b, HLO_ATTR_transpose_a, t->transpose_a);
    }
    if (b->p->cholesky_options)
        set_int(b, HLO_ATTR_lower, b->p->cholesky_options->lower);
    const Hlopb__ResultAccuracy *r = b->p->result_accuracy;
    if (r) {
        struct hlo_accuracy v = {.mode =
                                     r->mode == 1 ? HLO_ACCURACY_HIGHEST : HLO_ACCURACY_DEFAULT};
        if (r->tolerance)
            v = (struct hlo_accuracy){HLO_ACCURACY_TOLERANCE, r->tolerance->atol,
                                      r->tolerance->rtol, r->tolerance->ulps};
        set_pointer(b, HLO_ATTR_result_accuracy, &v, sizeof v);
    }
}

/* ---- devices ---- */

static struct hlo_lists group_lists(struct build *b, size_t n, Hlopb__ReplicaGroup **v)
{
    struct hlo_lists l = {(int)n, ARENA_ARRAY(b->r->arena, struct hlo_ints, n)};
    for (size_t k = 0; k < n; k++)
        l.v[k] = proto_ints(b->r->arena, v[k]->n_replica_ids, v[k]->replica_ids);
    return l;
}

static bool read_groups(struct build *b)
{
    const M *p = b->p;
    struct hlo_groups g = {.form = HLO_GROUPS_LIST};
    if (p->iota_collective_device_list) {
        const Hlopb__IotaReplicaGroupListProto *l = p->iota_collective_device_list;
        const int64_t tile[2] = {l->num_replica_groups, l->num_devices_per_group};
        g.form = HLO_GROUPS_IOTA;
        g.tile = proto_ints(b->r->arena, 2, tile);
        if (!proto_iota(b->r, l->n_iota_reshape_dims, l->iota_reshape_dims,
                        l->n_iota_transpose_perm, l->iota_transpose_perm, &g.iota))
            return false;
    } else if (p->collective_device_list) {
        g.lists = group_lists(b, p->collective_device_list->n_replica_groups,
                              p->collective_device_list->replica_groups);
    } else {
        g.lists = group_lists(b, p->n_replica_groups, p->replica_groups);
    }
    set_pointer(b, HLO_ATTR_replica_groups, &g, sizeof g);
    struct hlo_lists pairs = {(int)p->n_source_target_pairs,
                              ARENA_ARRAY(b->r->arena, struct hlo_ints, p->n_source_target_pairs)};
    for (int k = 0; k < pairs.count; k++) {
        const int64_t v[2] = {p->source_target_pairs[k]->source, p->source_target_pairs[k]->target};
        pairs.v[k] = proto_ints(b->r->arena, 2, v);
    }
    set_pointer(b, HLO_ATTR_source_target_pairs, &pairs, sizeof pairs);
    return true;
}

/* ---- computations and instructions ---- */

static void set_computation(struct build *b, enum hlo_attr_id id, struct hlo_computation *c)
{
    struct hlo_attr *a = set(b, id);
    if (a)
        a->computation = c;
}

static bool calls_two(struct build *b)
{
    size_t n = b->p->n_called_computation_ids;
    return n == 2 || fail(b->r->d, "%s calls %zu computations, expected 2", hlo_op_name(b->i->opcode), n);
}

static bool read_callees(struct build *b)
{
    const M *p = b->p;
    enum hlo_opcode op = b->i->opcode;
    size_t n = p->n_called_computation_ids;
    struct hlo_computation **v = ARENA_ARRAY(b->r->arena, struct hlo_computation *, n);
    for (size_t k = 0; k < n; k++) {
        v[k] = id_map_find(&b->r->computations, p->called_computation_ids[k]);
        if (!v[k])
            return fail(b->r->d, "calls computation %lld, which is not defined before",
                        (long long)p->called_computation_ids[k]);
    }
    struct hlo_computations list = {(int)n, v};
    if (op == HLO_OP_CONDITIONAL) {
        bool two = b->i->operand_count && b->i->operands[0]->shape->type == HLO_PRED;
        if (two && !calls_two(b))
            return false;
        if (two) {
            set_computation(b, HLO_ATTR_true_computation, v[0]);
            set_computation(b, HLO_ATTR_false_computation, v[1]);
        } else {
            set_pointer(b, HLO_ATTR_branch_computations, &list, sizeof list);
        }
    } else if (op == HLO_OP_WHILE || op == HLO_OP_SELECT_AND_SCATTER) {
        if (!calls_two(b))
            return false;
        set_computation(b, op == HLO_OP_WHILE ? HLO_ATTR_body : HLO_ATTR_select, v[0]);
        set_computation(b, op == HLO_OP_WHILE ? HLO_ATTR_condition : HLO_ATTR_scatter, v[1]);
    } else if (op == HLO_OP_CUSTOM_CALL) {
        set_pointer(b, HLO_ATTR_called_computations, &list, sizeof list);
    } else if (n && hlo_op_admits(op, HLO_ATTR_calls)) {
        set_computation(b, HLO_ATTR_calls, v[0]);
    } else if (n) {
        set_computation(b, HLO_ATTR_to_apply, v[0]);
    }
    n = p->n_control_predecessor_ids;
    struct hlo_instructions before = {(int)n,
                                      ARENA_ARRAY(b->r->arena, struct hlo_instruction *, n)};
    for (size_t k = 0; k < n; k++)
        if (!(before.v[k] = id_map_find(&b->r->instructions, p->control_predecessor_ids[k])))
            return fail(b->r->d, "control predecessor %lld is not defined before",
                        (long long)p->control_predecessor_ids[k]);
    set_pointer(b, HLO_ATTR_control_predecessors, &before, sizeof before);
    return true;
}

/* ---- text, shapes, aliases ---- */

static bool read_config(struct build *b)
{
    const M *p = b->p;
    ProtobufCBinaryData v = p->backend_config;
    const Hlopb__Payload *shared = p->backend_config_payload;
    if (!v.len && shared) {
        v = shared->value;
        if (!v.len && shared->has_id) {
            if (shared->id < 0 || (uint64_t)shared->id >= b->r->payload_count)
                return fail(b->r->d, "backend_config is payload %lld of %zu", (long long)shared->id,
                            b->r->payload_count);
            v = b->r->payloads[shared->id];
        }
    }
    if (!v.len)
        return true;
    struct hlo_text t = {arena_strndup(b->r->arena, (const char *)v.data, v.len), v.len, false};
    t.raw = lex_is_raw(t.data, t.size);
    set_pointer(b, HLO_ATTR_backend_config, &t, sizeof t);
    return true;
}

static bool read_texts(struct build *b)
{
    const M *p = b->p;
    struct proto_reader *r = b->r;
    if (p->custom_call_target)
        set_text(b, HLO_ATTR_custom_call_target, p->custom_call_target,
                 strlen(p->custom_call_target));
    if (p->async_execution_thread && *p->async_execution_thread)
        set_text(b, HLO_ATTR_async_execution_thread, p->async_execution_thread,
                 strlen(p->async_execution_thread));
    if (p->infeed_config.len)
        set_text(b, HLO_ATTR_infeed_config, p->infeed_config.data, p->infeed_config.len);
    if (p->outfeed_config.len)
        set_text(b, HLO_ATTR_outfeed_config, p->outfeed_config.data, p->outfeed_config.len);
    if (p->outfeed_shape && hlo_op_admits(b->i->opcode, HLO_ATTR_outfeed_shape)) {
        struct hlo_attr *a = set(b, HLO_ATTR_outfeed_shape);
        if (!proto_shape(r->arena, p->outfeed_shape, &a->shape, r->d))
            return false;
    }
    if (p->constrain_layout && b->i->opcode == HLO_OP_CUSTOM_CALL) {
        struct hlo_shapes s = {
            (int)p->n_operand_shapes_with_layout,
            ARENA_ARRAY(r->arena, const struct hlo_shape *, p->n_operand_shapes_with_layout)};
        for (int k = 0; k < s.count; k++)
            if (!proto_shape(r->arena, p->operand_shapes_with_layout[k], &s.v[k], r->d))
                return false;
        set_pointer(b, HLO_ATTR_operand_layout_constraints, &s, sizeof s);
    }
    if (p->literal && b->i->opcode == HLO_OP_CUSTOM_CALL) {
        struct hlo_attr *a = set(b, HLO_ATTR_literal);
        if (!proto_literal(r->arena, p->literal, &a->literal, r->d))
            return false;
    }
    struct hlo_aliases al = {(int)p->n_output_operand_aliasing,
                             ARENA_ARRAY(r->arena, struct hlo_alias, p->n_output_operand_aliasing)};
    for (int k = 0; k < al.count; k++) {
        const Hlopb__OutputOperandAliasing *e = p->output_operand_aliasing[k];
        al.v[k].output = proto_ints(r->arena, e->n_output_shape_index, e->output_shape_index);
        al.v[k].parameter = e->operand_index;
        al.v[k].index = proto_ints(r->arena, e->n_operand_shape_index, e->operand_shape_index);
    }
    set_pointer(b, HLO_ATTR_output_to_operand_aliasing, &al, sizeof al);
    if (p->parameter_replication) {
        size_t n = p->parameter_replication->n_replicated_at_leaf_buffers;
        struct hlo_ints v = {(int)n, ARENA_ARRAY(r->arena, int64_t, n)};
        for (size_t k = 0; k < n; k++)
            v.v[k] = p->parameter_replication->replicated_at_leaf_buffers[k] != 0;
        set_pointer(b, HLO_ATTR_parameter_replication, &v, sizeof v);
    }
    if (p->metadata) {
        const struct hlo_metadata *m = proto_metadata(r, p->metadata);
        set_pointer(b, HLO_ATTR_metadata, m, sizeof *m);
    }
    if (p->frontend_attributes) {
        struct hlo_pairs f = proto_pairs(r, p->frontend_attributes);
        set_pointer(b, HLO_ATTR_frontend_attributes, &f, sizeof f);
    }
    return read_config(b);
}

bool proto_attrs(struct proto_reader *r, const void *message, struct hlo_instruction *i)
{
    struct build b;
    b.r = r;
    b.p = message;
    b.i = i;
    b.count = 0;
    if (!read_words(&b) || !read_numbers(&b))
        return false;
    read_dimensions(&b);
    read_dot(&b);
    read_gather(&b);
    read_window(&b);
    read_slices(&b);
    read_precision(&b);
    read_options(&b);
    if (!read_convolution(&b) || !read_groups(&b) || !read_callees(&b) || !read_texts(&b))
        return false;
    i->attr_count = b.count;
    i->attrs = arena_copy(r->arena, b.v, sizeof b.v[0] * (size_t)b.count);
    return true;
}
