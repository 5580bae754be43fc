"""Keras models and TensorFlow functions of one tensor: (model or function, the shape of its input, for models without the batch)."""
import tensorflow as tf

from common import Table

table = Table()
L = tf.keras.layers


def keras(name, shape, *layers, **options):
    table("keras_" + name, lambda: (tf.keras.Sequential([tf.keras.Input(shape)] + [make() for make in layers]), shape), keras=True, **options)


def function(name, shape, f, **options):
    table("tf_" + name, lambda: (f, shape), **options)


keras("dense", (5,), lambda: L.Dense(8, "relu"), L.BatchNormalization, lambda: L.Dense(3, "softmax"))
keras("cnn", (12, 12, 3), lambda: L.Conv2D(4, 3, padding="same", activation="relu"), L.MaxPool2D, lambda: L.DepthwiseConv2D(3, padding="same", strides=2), L.GlobalAveragePooling2D, lambda: L.Dense(2))
keras("lstm", (7, 3), lambda: L.LSTM(6, return_sequences=True), lambda: L.Bidirectional(L.GRU(4)), lambda: L.Dense(2))
keras("gru_reset_before", (7, 3), lambda: L.GRU(4, reset_after=False, return_sequences=True))
keras("rnn", (7, 3), lambda: L.SimpleRNN(4))
keras("conv_transpose", (6, 6, 2), lambda: L.Conv2DTranspose(4, 3, strides=2, padding="same"), L.LeakyReLU, lambda: L.UpSampling2D(interpolation="bilinear"), lambda: L.Cropping2D(1), lambda: L.ZeroPadding2D(2))
keras("separable", (9, 9, 3), lambda: L.SeparableConv2D(6, 3, dilation_rate=2), L.PReLU, lambda: L.AveragePooling2D(2, padding="same"), lambda: L.Permute((2, 1, 3)), L.Flatten, lambda: L.RepeatVector(2))
keras("conv_1d", (10, 3), lambda: L.Conv1D(4, 3, padding="causal"), lambda: L.GroupNormalization(2), lambda: L.Activation("swish"), L.GlobalMaxPool1D)
keras("conv_3d", (6, 6, 6, 2), lambda: L.Conv3D(3, 2), lambda: L.MaxPool3D(2), L.ELU)
keras("unit_norm", (12,), L.UnitNormalization, lambda: L.Reshape((4, 3)), lambda: L.Softmax(1))
keras("gelu", (6, 8), lambda: L.Dense(8, lambda x: tf.nn.gelu(x, approximate=True)), L.LayerNormalization, lambda: L.TimeDistributed(L.Dense(3, "hard_sigmoid")))


@table.add(keras=True)
def keras_attention():
    i = tf.keras.Input((6, 8))
    return tf.keras.Model(i, L.LayerNormalization()(i + L.MultiHeadAttention(2, 4)(i, i))), (6, 8)


function("gather_nd", (3, 4), lambda x: tf.gather_nd(x, [[0, 1], [1, 0]]))
function("top_k", (3, 4), lambda x: tf.math.top_k(x, 2))
function("cumsum", (3, 4), lambda x: tf.cumsum(x, 1, exclusive=True, reverse=True))
function("while", (3, 4), lambda x: tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * 2 + 1), [0, x])[1])
function("cond", (3, 4), lambda x: tf.cond(tf.reduce_sum(x) > 0, lambda: x * 2, lambda: x - 1))
function("resize_bilinear", (1, 4, 5, 2), lambda x: tf.image.resize(x, [9, 7]))
function("resize_nearest", (1, 4, 5, 2), lambda x: tf.image.resize(x, [9, 7], method="nearest"))
function("resize_bicubic", (1, 4, 5, 2), lambda x: tf.image.resize(x, [9, 7], method="bicubic"), tol=2e-3)  # TensorFlow's weights are from a table
function("einsum", (3, 4), lambda x: tf.einsum("ij,kj->ik", x, x))
function("segments", (3, 4), lambda x: tf.math.unsorted_segment_sum(x, [0, 1, 0], 2))
function("scatter", (3, 4), lambda x: tf.tensor_scatter_nd_update(x, [[0], [2]], [[1.0, 2, 3, 4], [5, 6, 7, 8]]))
function("where", (3, 4), lambda x: tf.where(x > 0))
function("non_max_suppression", (5, 4), lambda x: tf.image.non_max_suppression(tf.abs(x), tf.range(5.0), 3))
function("rfft", (3, 8), lambda x: tf.abs(tf.signal.rfft(x)))
function("one_hot", (3, 4), lambda x: tf.one_hot(tf.argmax(x, 1), 5))
function("space_to_depth", (1, 4, 4, 3), lambda x: tf.nn.space_to_depth(x, 2))
function("tile_and_pad", (3, 4), lambda x: tf.tile(tf.pad(x, [[1, 1], [0, 2]], "REFLECT")[:, :4], [2, 1]))
function("lrn", (1, 4, 4, 6), tf.nn.lrn)
function("band_part", (4, 4), lambda x: tf.linalg.band_part(x, 1, 0))
function("reverse_sequence", (3, 4), lambda x: tf.reverse_sequence(x, [2, 3, 1], 1))
function("split", (3, 4), lambda x: tf.split(x, [1, 3], 1))
function("round_and_mod", (3, 4), lambda x: tf.round(x * 3) + tf.math.floormod(x, 0.7) + tf.sign(x))
function("matmul", (2, 3, 4), lambda x: tf.matmul(x, x, transpose_b=True))
function("unique", (3, 4), lambda x: tf.unique(tf.cast(tf.reshape(x * 2, [-1]), tf.int32))[0])
function("strides", (2, 5, 3), lambda x: x[:, ::-2, 1:])
function("erf", (3, 4), tf.math.erf)
