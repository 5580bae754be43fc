/* Reading tensors: every storage form, damage, and the files of the test data. */
#include "frontend/onnx/tensor_proto.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static void packed_nibbles(void **state)
{
    Onnx__TensorProto t = ONNX__TENSOR_PROTO__INIT;
    int64_t dims[] = {3};
    int32_t words[] = {0x2f, 0x0c};
    uint8_t raw[] = {0x2f, 0x0c};
    struct diag d = {0};
    struct tensor x;
    t.n_dims = 1;
    t.dims = dims;
    t.data_type = DT_I4;
    t.n_int32_data = 2;
    t.int32_data = words;
    assert_true(onnx_tensor(NULL, &t, &x, &d));
    assert_memory_equal(x.data, ((int8_t[]){-1, 2, -4}), 3);
    tensor_free(&x);
    t.n_int32_data = 0;
    t.has_raw_data = 1;
    t.raw_data = (ProtobufCBinaryData){2, raw};
    t.data_type = DT_U4;
    assert_true(onnx_tensor(NULL, &t, &x, &d));
    assert_memory_equal(x.data, ((uint8_t[]){15, 2, 12}), 3);
    tensor_free(&x);
    t.data_type = DT_I2;
    t.raw_data.len = 1;
    assert_true(onnx_tensor(NULL, &t, &x, &d));
    assert_memory_equal(x.data, ((int8_t[]){-1, -1, -2}), 3);
    tensor_free(&x);
}

/* Four codes in three bytes. */
static void packed_sixes(void **state)
{
    Onnx__TensorProto t = ONNX__TENSOR_PROTO__INIT;
    int64_t dims[] = {5};
    uint8_t raw[] = {0x01 | 0x02 << 6, 0xf0, 0x03 | 0x20 << 2, 0x15};
    int32_t words[] = {1, 2, 0x3f, 0x20, 0x15};
    struct diag d = {0};
    struct tensor x;
    t.n_dims = 1;
    t.dims = dims;
    t.data_type = DT_F6E2M3FN;
    t.has_raw_data = 1;
    t.raw_data = (ProtobufCBinaryData){4, raw};
    assert_true(onnx_tensor(NULL, &t, &x, &d));
    assert_memory_equal(x.data, ((uint8_t[]){1, 2, 0x3f, 0x20, 0x15}), 5);
    tensor_free(&x);
    t.has_raw_data = 0;
    t.data_type = DT_F6E3M2FN;
    t.n_int32_data = 5;
    t.int32_data = words;
    assert_true(onnx_tensor(NULL, &t, &x, &d));
    assert_memory_equal(x.data, ((uint8_t[]){1, 2, 0x3f, 0x20, 0x15}), 5);
    tensor_free(&x);
}

static void wrong_sizes(void **state)
{
    Onnx__TensorProto t = ONNX__TENSOR_PROTO__INIT;
    int64_t dims[] = {2, 3}, huge[] = {INT64_C(1) << 40, INT64_C(1) << 40};
    float five[5] = {0};
    struct tensor x;
    struct diag d = {0};
    t.n_dims = 2;
    t.dims = dims;
    t.data_type = DT_F32;
    t.n_float_data = 5;
    t.float_data = five;
    assert_false(onnx_tensor(NULL, &t, &x, &d));
    assert_string_equal(d.text, "the payload has 20 bytes, its type and shape need 24");
    t.dims = huge;
    diag_clear(&d);
    assert_false(onnx_tensor(NULL, &t, &x, &d));
    assert_string_equal(d.text, "the tensor's size does not fit 64 bits");
    t.dims = dims;
    t.data_type = DT_I64;
    diag_clear(&d);
    assert_false(onnx_tensor(NULL, &t, &x, &d));
    t.data_type = 99;
    diag_clear(&d);
    assert_false(onnx_tensor(NULL, &t, &x, &d));
}

static void sparse(void **state)
{
    Onnx__TensorProto v = ONNX__TENSOR_PROTO__INIT, i = ONNX__TENSOR_PROTO__INIT;
    Onnx__SparseTensorProto s = ONNX__SPARSE_TENSOR_PROTO__INIT;
    int64_t two[] = {2}, pairs[] = {2, 2}, dims[] = {2, 2}, linear[] = {1, 2},
            coords[] = {0, 1, 1, 0};
    float values[] = {3, 4};
    struct tensor x;
    struct diag d = {0};
    v.data_type = DT_F32;
    i.data_type = DT_I64;
    v.n_dims = i.n_dims = 1;
    v.dims = i.dims = two;
    v.n_float_data = 2;
    v.float_data = values;
    i.n_int64_data = 2;
    i.int64_data = linear;
    s.values = &v;
    s.indices = &i;
    s.n_dims = 2;
    s.dims = dims;
    for (int form = 0; form < 2; form++) {
        assert_true(onnx_sparse_tensor(NULL, &s, &x, &d));
        assert_memory_equal(x.data, ((float[]){0, 3, 4, 0}), 16);
        tensor_free(&x);
        i.n_dims = 2;
        i.dims = pairs;
        i.n_int64_data = 4;
        i.int64_data = coords;
    }
    coords[3] = 2;
    assert_false(onnx_sparse_tensor(NULL, &s, &x, &d));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(packed_nibbles),
        cmocka_unit_test(packed_sixes),
        cmocka_unit_test(wrong_sizes),
        cmocka_unit_test(sparse),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
