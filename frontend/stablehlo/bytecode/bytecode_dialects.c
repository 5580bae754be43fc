/* StableHLO's and VHLO's attributes and types in bytecode: both become StableHLO's. */
#include "frontend/stablehlo/bytecode/bytecode.h"

#include <string.h>

static const char *const directions[] = {"EQ", "NE", "GE", "GT", "LE", "LT"};
static const char *const kinds[] = {"NOTYPE", "FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED"};
static const char *const ffts[] = {"FFT", "IFFT", "RFFT", "IRFFT"};
static const char *const precisions[] = {"DEFAULT", "HIGH", "HIGHEST"};
static const char *const algorithms[] = {"DEFAULT", "THREE_FRY", "PHILOX"};
static const char *const distributions[] = {NULL, "UNIFORM", "NORMAL"};
static const char *const transposes[] = {"TRANSPOSE_INVALID", "NO_TRANSPOSE", "TRANSPOSE",
                                         "ADJOINT"};
static const char *const accuracies[] = {"DEFAULT", "HIGHEST", "TOLERANCE"};

#define ENUM(name, values)                                                                         \
    bc_enum(r, name, values, (int)(sizeof values / sizeof *values), bc_varint(c))

/* A structure whose fields are "name" (a signed integer) or "name[]" (a list of them). */
static struct mlir_attr *structure(struct bc_reader *r, struct bc_cursor *c, const char *name,
                                   const char *const *fields, int n)
{
    struct mlir_dict d = {0};
    for (int k = 0; k < n; k++) {
        size_t size = strlen(fields[k]);
        bool list = fields[k][size - 1] == ']';
        const char *key = arena_strndup(r->arena, fields[k], list ? size - 2 : size);
        mlir_dict_set(r->arena, &d, key,
                      list ? bc_ints(r, c) : bc_int_attr(r, bc_signed(c), DT_I64));
    }
    return mlir_struct(r->arena, "stablehlo", name, &d);
}

#define STRUCT(name, ...)                                                                          \
    structure(r, c, name, (const char *const[]){__VA_ARGS__},                                      \
              (int)(sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *)))

static void put(struct bc_reader *r, struct mlir_attr *a, const char *key,
                const struct mlir_attr *v)
{
    struct mlir_dict d = {a->count, a->count, a->keys, a->items};
    mlir_dict_set(r->arena, &d, key, v);
    a->count = d.count;
    a->keys = d.keys;
    a->items = d.items;
}

static struct mlir_attr *empty(struct bc_reader *r, const char *name)
{
    return mlir_struct(r->arena, "stablehlo", name, &(struct mlir_dict){0});
}

static struct mlir_attr *real_attr(struct bc_reader *r, double v)
{
    struct mlir_attr *a = mlir_attr_new(r->arena, MA_FLOAT);
    a->type = mlir_scalar(r->arena, DT_F64);
    a->f = v;
    return a;
}

static const struct mlir_attr *accuracy(struct bc_reader *r, struct bc_cursor *c)
{
    struct mlir_attr *a = empty(r, "result_accuracy");
    put(r, a, "atol", real_attr(r, bc_double(c)));
    put(r, a, "rtol", real_attr(r, bc_double(c)));
    put(r, a, "ulps", bc_int_attr(r, bc_signed(c), DT_I64));
    const struct mlir_attr *mode = bc_attr(r, c);
    if (mode)
        put(r, a, "mode", mode);
    return mode ? a : NULL;
}

static const struct mlir_attr *algorithm(struct bc_reader *r, struct bc_cursor *c)
{
    static const char *const types[] = {"lhs_precision_type", "rhs_precision_type",
                                        "accumulation_type"};
    static const char *const counts[] = {"lhs_component_count", "rhs_component_count",
                                         "num_primitive_operations"};
    struct mlir_attr *a = empty(r, "dot_algorithm");
    for (int k = 0; k < 3; k++) {
        const struct mlir_attr *t = bc_type_attr(r, c);
        if (!t)
            return NULL;
        put(r, a, types[k], t);
    }
    for (int k = 0; k < 3; k++)
        put(r, a, counts[k], bc_int_attr(r, bc_signed(c), DT_I64));
    struct mlir_attr *b = mlir_attr_new(r->arena, MA_BOOL);
    b->i = bc_byte(c) != 0;
    put(r, a, "allow_imprecise_accumulation", b);
    return a;
}

/* Bounds: INT64_MIN where there is none. */
static const struct mlir_attr *bounds(struct bc_reader *r, struct bc_cursor *c)
{
    struct mlir_attr *a = empty(r, "type_extensions"), *list = mlir_attr_new(r->arena, MA_ARRAY);
    int n = bc_count(c);
    list->items = ARENA_ARRAY(r->arena, const struct mlir_attr *, n + 1);
    for (; list->count < n; list->count++) {
        int64_t v = bc_signed(c);
        list->items[list->count] = bc_int_attr(r, v < 0 ? MLIR_DYNAMIC : v, DT_I64);
    }
    put(r, a, "bounds", list);
    return a;
}

static const struct mlir_attr *string_of(struct bc_reader *r, const char *s)
{
    struct mlir_attr *a = mlir_attr_new(r->arena, MA_STRING);
    a->text = s;
    a->size = strlen(s);
    return a;
}

/* ---- StableHLO's own encoding ---- */

static const struct mlir_attr *mesh_attr(struct bc_reader *r, struct bc_cursor *c, uint64_t code)
{
    struct mlir_attr *a;
    const struct mlir_attr *v;
    switch (code) {
    case 18: {
        a = empty(r, "replica_group_mesh_axes");
        struct mlir_attr *list = mlir_attr_new(r->arena, MA_ARRAY);
        if (!(v = bc_attr(r, c)))
            return NULL;
        put(r, a, "mesh", v);
        int n = bc_count(c);
        list->items = ARENA_ARRAY(r->arena, const struct mlir_attr *, n + 1);
        for (; list->count < n; list->count++)
            if (!(list->items[list->count] = bc_attr(r, c)))
                return NULL;
        put(r, a, "axes", list);
        return a;
    }
    case 19:
        return STRUCT("sub_axis_info", "pre_size", "size");
    case 20:
        a = empty(r, "axis_ref");
        put(r, a, "name", string_of(r, bc_string(r, c, NULL)));
        if (bc_varint(c)) {
            if (!(v = bc_attr(r, c)))
                return NULL;
            put(r, a, "sub_axis_info", v);
        }
        return a;
    case 21:
        a = empty(r, "mesh_axis");
        put(r, a, "name", string_of(r, bc_string(r, c, NULL)));
        put(r, a, "size", bc_int_attr(r, bc_signed(c), DT_I64));
        return a;
    default:
        a = empty(r, "mesh");
        if (!(v = bc_attr(r, c)))
            return NULL;
        put(r, a, "axes", v);
        if (bc_varint(c)) {
            if (!(v = bc_attr(r, c)))
                return NULL;
            put(r, a, "device_ids", v);
        }
        return a;
    }
}

const struct mlir_attr *bc_stablehlo_attr(struct bc_reader *r, struct bc_cursor *c)
{
    uint64_t code = bc_varint(c);
    switch (code) {
    case 1:
        return STRUCT("channel_handle", "handle", "type");
    case 2:
        return ENUM("comparison_direction", directions);
    case 3:
        return ENUM("comparison_type", kinds);
    case 4:
        return STRUCT("conv", "input_batch_dimension", "input_feature_dimension",
                      "input_spatial_dimensions[]", "kernel_input_feature_dimension",
                      "kernel_output_feature_dimension", "kernel_spatial_dimensions[]",
                      "output_batch_dimension", "output_feature_dimension",
                      "output_spatial_dimensions[]");
    case 5:
        return STRUCT("dot", "lhs_batching_dimensions[]", "rhs_batching_dimensions[]",
                      "lhs_contracting_dimensions[]", "rhs_contracting_dimensions[]");
    case 6:
        return ENUM("fft_type", ffts);
    case 7:
        return STRUCT("gather", "offset_dims[]", "collapsed_slice_dims[]",
                      "operand_batching_dims[]", "start_indices_batching_dims[]",
                      "start_index_map[]", "index_vector_dim");
    case 8:
        return ENUM("precision", precisions);
    case 9:
        return ENUM("rng_algorithm", algorithms);
    case 10:
        return ENUM("rng_distribution", distributions);
    case 11:
        return STRUCT("scatter", "update_window_dims[]", "inserted_window_dims[]",
                      "input_batching_dims[]", "scatter_indices_batching_dims[]",
                      "scatter_dims_to_operand_dims[]", "index_vector_dim");
    case 12:
        return ENUM("transpose", transposes);
    case 13:
        return bounds(r, c);
    case 14:
        return STRUCT("output_operand_alias", "output_tuple_indices[]", "operand_index",
                      "operand_tuple_indices[]");
    case 15:
        return algorithm(r, c);
    case 16:
        return ENUM("result_accuracy_mode", accuracies);
    case 17:
        return accuracy(r, c);
    case 18:
    case 19:
    case 20:
    case 21:
    case 22:
        return mesh_attr(r, c, code);
    default:
        return NULL;
    }
}

const struct mlir_type *bc_stablehlo_type(struct bc_reader *r, struct bc_cursor *c)
{
    switch (bc_varint(c)) {
    case 0:
        return bc_new_type(r, MT_TOKEN);
    case 1:
        return bc_listed(r, c, MT_FUTURE);
    default:
        return NULL;
    }
}

/* ---- VHLO ---- */

static const struct mlir_attr *vhlo_number(struct bc_reader *r, struct bc_cursor *c, bool real)
{
    struct mlir_attr *a = mlir_attr_new(r->arena, real ? MA_FLOAT : MA_INT);
    if (!(a->type = bc_type(r, c)))
        return NULL;
    int dt = mlir_dtype(a->type);
    if (!dtype_valid(dt) || dtype_is_float(dt) != real || dtype_is_complex(dt))
        return NULL;
    int bits = dt == DT_BOOL ? 1 : dtype_info(dt)->bits;
    int64_t v = bc_apint(c, bits);
    if (real)
        a->f = dtype_load_f64(dt, &v, 0);
    else
        a->i = dtype_class(dt) == DTC_UINT && bits < 64 ? v & (((int64_t)1 << bits) - 1) : v;
    return a;
}

static const struct mlir_attr *vhlo_mesh(struct bc_reader *r, struct bc_cursor *c, uint64_t code)
{
    static const char *const names[][3] = {{"sub_axis_info", "pre_size", "size"},
                                           {"axis_ref", "name", "sub_axis_info"},
                                           {"replica_group_mesh_axes", "mesh", "axes"},
                                           {"mesh_axis", "name", "size"},
                                           {"mesh", "axes", "device_ids"}};
    const char *const *n = names[code - 21];
    struct mlir_attr *a = empty(r, n[0]);
    const struct mlir_attr *v;
    if (code == 21)
        return STRUCT("sub_axis_info", "pre_size", "size");
    if (!(v = bc_attr(r, c)))
        return NULL;
    put(r, a, n[1], v);
    bool more = code == 23 || (code != 24 && bc_varint(c));
    if (more && !(v = bc_attr(r, c)))
        return NULL;
    if (more)
        put(r, a, n[2], v);
    if (code == 24)
        put(r, a, n[2], bc_int_attr(r, bc_signed(c), DT_I64));
    return a;
}

const struct mlir_attr *bc_vhlo_attr(struct bc_reader *r, struct bc_cursor *c)
{
    uint64_t code = bc_varint(c);
    struct mlir_attr *a;
    switch (code) {
    case 1:
    case 6:
        return bc_list(r, c, code == 6);
    case 2:
        a = mlir_attr_new(r->arena, MA_BOOL);
        a->i = bc_varint(c) != 0;
        return a;
    case 3:
        return ENUM("comparison_direction", directions);
    case 4:
        return ENUM("comparison_type", kinds);
    case 5: /* the version of a custom call's interface is an integer in StableHLO */
        return bc_int_attr(r, (int64_t)bc_varint(c), DT_I32);
    case 7:
        return ENUM("fft_type", ffts);
    case 8:
    case 9:
        return vhlo_number(r, c, code == 8);
    case 10:
        return STRUCT("output_operand_alias", "output_tuple_indices[]", "operand_index",
                      "operand_tuple_indices[]");
    case 11:
        return ENUM("precision", precisions);
    case 12:
        return ENUM("rng_algorithm", algorithms);
    case 13:
        return ENUM("rng_distribution", distributions);
    case 14:
        a = mlir_attr_new(r->arena, MA_STRING);
        a->text = bc_string(r, c, &a->size);
        return a;
    case 15:
        return bc_elements(r, c);
    case 16:
        return ENUM("transpose", transposes);
    case 17:
        return bc_type_attr(r, c);
    case 18:
        return bounds(r, c);
    case 19:
        return ENUM("result_accuracy_mode", accuracies);
    case 20:
        return accuracy(r, c);
    case 21:
    case 22:
    case 23:
    case 24:
    case 25:
        return vhlo_mesh(r, c, code);
    default:
        return NULL;
    }
}

const struct mlir_type *bc_vhlo_type(struct bc_reader *r, struct bc_cursor *c)
{
    static const int scalars[] = {
        [0] = DT_BOOL,    [2] = DT_BF16,        [3] = DT_F16,         [4] = DT_F32,
        [5] = DT_F64,     [6] = DT_F8E4M3FN,    [7] = DT_F8E5M2,      [10] = DT_I4,
        [11] = DT_I8,     [12] = DT_I16,        [13] = DT_I32,        [14] = DT_I64,
        [15] = DT_U4,     [16] = DT_U8,         [17] = DT_U16,        [18] = DT_U32,
        [19] = DT_U64,    [27] = DT_F8E4M3FNUZ, [28] = DT_F8E5M2FNUZ, [29] = DT_F8E4M3B11FNUZ,
        [31] = DT_I2,     [32] = DT_U2,         [35] = DT_F8E4M3,     [36] = DT_F8E3M4,
        [37] = DT_F4E2M1, [38] = DT_F6E2M3FN,   [39] = DT_F6E3M2FN,   [40] = DT_F8E8M0};
    uint64_t code = bc_varint(c);
    struct mlir_type *t;
    if (code < sizeof scalars / sizeof *scalars && scalars[code])
        return mlir_scalar(r->arena, scalars[code]);
    switch (code) {
    case 1:
        return bc_complex(r, bc_type(r, c));
    case 8:
        return bc_function(r, c);
    case 9:
        return bc_index(r);
    case 20:
    case 21:
        return bc_shaped(r, c, MT_TENSOR, code == 21);
    case 22:
        return bc_new_type(r, MT_TOKEN);
    case 23:
    case 42:
        return bc_listed(r, c, code == 23 ? MT_TUPLE : MT_FUTURE);
    case 24:
    case 30:
        return bc_quantized(r, c, code == 30);
    case 25:
        return bc_unranked(r, c);
    case 26:
        t = bc_new_type(r, MT_OTHER);
        t->text = "!shape.witness";
        return t;
    case 33:
        return bc_new_type(r, MT_NONE);
    case 34:
        t = bc_new_type(r, MT_OTHER);
        t->text = "tf32";
        return t;
    case 41:
        return bc_shaped(r, c, MT_BUFFER, false);
    default:
        return NULL;
    }
}
