#!/usr/bin/env python3
"""Makes further cases of test/onnx: products by weights of few bits, and attention operators of com.microsoft with the
attributes that scripts/make_onnx_cases.py leaves out. Random inputs, and what onnxruntime computes without optimising;
where it has no CPU kernel, what numpy computes from the published documentation of the operator; and attention of the
standard, with what the reference evaluator of onnx computes.

    scripts/make_transformer_cases.py OUT
"""
import os, shutil, sys
import numpy as np, onnx, onnxruntime as ort
from onnx import helper as h, numpy_helper as nh, TensorProto as T
out = sys.argv[1]; rng = np.random.default_rng(7)
options = ort.SessionOptions(); options.log_severity_level = 4
options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
f32 = lambda *s: rng.standard_normal(s).astype(np.float32)

def case(name, nodes, feeds, outs, inits=(), opset=21, tol=1e-4, expected=None):
    describe = lambda k, v: h.make_tensor_value_info(k, h.np_dtype_to_tensor_dtype(v.dtype), v.shape)
    def model(results):
        g = h.make_graph(nodes, name, [describe(k, v) for k, v in feeds.items()], results, initializer=list(inits))
        return h.make_model(g, opset_imports=[h.make_opsetid('', opset), h.make_opsetid('com.microsoft', 1)], ir_version=10)
    try:
        r = expected or ort.InferenceSession(model([onnx.ValueInfoProto(name=o) for o in outs]).SerializeToString(), options).run(None, feeds)
    except Exception as e:
        print('onnxruntime:', name, str(e)[:160]); return
    d = f'{out}/{name}'; os.makedirs(d + '/test_data_set_0', exist_ok=True)
    onnx.save(model([describe(o, v) for o, v in zip(outs, r)]), d + '/model.onnx')
    for kind, values in (('input', feeds.values()), ('output', r)):
        for i, v in enumerate(values):
            open(f'{d}/test_data_set_0/{kind}_{i}.pb', 'wb').write(nh.from_array(v).SerializeToString())
    open(d + '/data.json', 'w').write('{"rtol":%g,"atol":%g}' % (1e-3, tol))

M = lambda op, i, o, **k: [h.make_node(op, i, o, domain='com.microsoft', **k)]
# ---- weights of few bits ----
def nbits(name, bits, block, k, n, zeros, rows, groups=False, computed=()):
    blocks = -(-k // block)
    inits = [nh.from_array(rng.integers(0, 256, (n, blocks, block * bits // 8), dtype=np.uint8), 'b'),
             nh.from_array((rng.random(n * blocks) * .1).astype(np.float32), 's')]
    ins = ['a', 'b', 's', '', '', '']
    if zeros == 'packed':
        inits.append(nh.from_array(rng.integers(0, 256, n * ((blocks * bits + 7) // 8), dtype=np.uint8), 'z')); ins[3] = 'z'
    if zeros == 'float':
        inits.append(nh.from_array((rng.random(n * blocks) * 8).astype(np.float32), 'z')); ins[3] = 'z'
    if groups:
        inits.append(nh.from_array(rng.permutation(k).astype(np.int32) // block, 'g')); ins[4] = 'g'
    while not ins[-1]: ins.pop()
    a = f32(rows, k); expected = None
    if groups: # onnxruntime 1.31 reads zero points of reordered weights otherwise than it documents
        v = {i.name: nh.to_array(i) for i in inits}
        nibbles = lambda x, count: np.stack([x & 15, x >> 4], -1).reshape(n, -1)[:, :count].astype(np.float32)
        w = nibbles(v['b'].reshape(n, -1), k) - nibbles(v['z'].reshape(n, -1), blocks)[:, v['g']]
        expected = [a @ (w * v['s'].reshape(n, blocks)[:, v['g']]).T]
    feeds = {'a': a, **{i.name: nh.to_array(i) for i in inits if i.name in computed}}
    inits = [i for i in inits if i.name not in computed]
    case(name, M('MatMulNBits', ins, ['y'], N=n, K=k, block_size=block, bits=bits), feeds, ['y'], inits, expected=expected)
nbits('nbits_2_16', 2, 16, 48, 18, None, 1); nbits('nbits_2_32_packed', 2, 32, 40, 18, 'packed', 3)
nbits('nbits_4_32_row', 4, 32, 70, 70, 'packed', 1); nbits('nbits_4_64_float', 4, 64, 130, 20, 'float', 3)
nbits('nbits_8_128_row', 8, 128, 140, 20, None, 1); nbits('nbits_8_256_packed', 8, 256, 300, 17, 'packed', 2)
nbits('nbits_4_groups', 4, 16, 64, 12, 'packed', 2, True)
for kind, low, high in ((T.INT4, -8, 8), (T.UINT4, 0, 16), (T.INT8, -128, 128), (T.UINT8, 0, 256)):
    for form in ('tensor', 'outs', 'blocks', 'transposed'):
        k, n, block = 64, 18, 16
        turned = form == 'transposed'
        shape = {'tensor': (), 'outs': (n,), 'blocks': (k // block, n), 'transposed': (n, k // block)}[form]
        weights = (n, k) if turned else (k, n)
        inits = [h.make_tensor('w', kind, weights, rng.integers(low, high, weights).flatten().tolist()),
                 nh.from_array((rng.random(shape) * .1 + .01).astype(np.float32), 's'),
                 h.make_tensor('z', kind, shape, rng.integers(low, high, shape).flatten().tolist()), nh.from_array(f32(n), 'c')]
        about = {} if form == 'tensor' else {'axis': 1} if form == 'outs' else {'axis': int(turned), 'block_size': block}
        nodes = [h.make_node('DequantizeLinear', ['w', 's', 'z'], ['f'], **about), h.make_node('Gemm', ['a', 'f', 'c'], ['y'], transB=int(turned))]
        case(f'dequantized_{T.DataType.Name(kind).lower()}_{form}', nodes, {'a': f32(3, k)}, ['y'], inits, tol=1e-3)
# ---- attention ----
B, S, H, KV, D = 2, 3, 4, 2, 16
def gqa(name, past, lengths, s=S, packed=False, rotary=0, extra=None, **attributes):
    total = max(lengths); kv = np.array(lengths, np.int32)
    f = {'q': f32(B, s, (H + 2 * KV) * D if packed else H * D)}
    if not packed: f.update(k=f32(B, s, KV * D), v=f32(B, s, KV * D))
    f.update(pk=f32(B, KV, past, D), pv=f32(B, KV, past, D), sl=kv - 1, tot=np.array(total, np.int32))
    ins = ['q', '' if packed else 'k', '' if packed else 'v', 'pk', 'pv', 'sl', 'tot', '', '', '', '']
    if rotary:
        angle = np.arange(40)[:, None] / 10000 ** (np.arange(rotary) / rotary)
        f.update(cos=np.cos(angle).astype(np.float32), sin=np.sin(angle).astype(np.float32)); ins[7:9] = ['cos', 'sin']
        attributes['do_rotary'] = 1
    for i, (k, v) in (extra or {}).items():
        f[k] = v; ins.append('') if i >= len(ins) else None; ins[i] = k
    while not ins[-1]: ins.pop()
    case(name, M('GroupQueryAttention', ins, ['y', 'nk', 'nv'], num_heads=H, kv_num_heads=KV, **attributes), f, ['y', 'nk', 'nv'])
gqa('gqa_unequal', 5, [6, 4], s=1); gqa('gqa_unequal_rotary', 5, [6, 3], s=1, rotary=8)
gqa('gqa_unequal_window', 7, [8, 5], s=1, local_window_size=3); gqa('gqa_shared', 12, [6, 6], s=1)
gqa('gqa_shared_unequal', 12, [6, 9], s=1, rotary=8, rotary_interleaved=1)
gqa('gqa_smooth', 5, [6, 6], s=1, smooth_softmax=1); gqa('gqa_packed_rotary', 5, [6, 6], s=1, packed=True, rotary=8)
gqa('gqa_bias', 5, [6, 6], s=1, extra={10: ('bias', f32(1, 1, 1, 6))}); gqa('gqa_sink', 5, [6, 6], s=1, extra={11: ('sink', f32(H))})
gqa('gqa_positions', 5, [6, 6], s=1, rotary=8, extra={9: ('pos', np.array([[5], [5]], np.int64))})
# ---- products and rotations ----
for a in (0, 1):
    for b in (0, 1):
        x = f32(2, 3, 4) if a else f32(3, 2, 4); w = f32(4, 3, 5) if b else f32(3, 4, 5)
        case(f'fmm_batch_{a}{b}', M('FusedMatMul', ['x', 'w'], ['y'], transBatchA=a, transBatchB=b, alpha=.5), {'x': x, 'w': w}, ['y'])
table = np.arange(20)[:, None] / 10000 ** (np.arange(4) / 4)
rot = {'cos': np.cos(table).astype(np.float32), 'sin': np.sin(table).astype(np.float32)}
case('rot_interleaved_partial', M('RotaryEmbedding', ['x', 'p', 'cos', 'sin'], ['y'], interleaved=1, rotary_embedding_dim=8, num_heads=2), {'x': f32(2, 3, 24), 'p': np.array([[1, 2, 3], [4, 5, 6]], np.int64), **rot}, ['y'])
case('rot_scale', M('RotaryEmbedding', ['x', 'p', 'cos', 'sin'], ['y'], scale=.5), {'x': f32(2, 2, 3, 8), 'p': np.array([2], np.int64), **rot}, ['y'])
# ---- masks, pasts and packed operands of attention; where all keys are hidden the filter is one that float32 adds exactly enough ----
N, L = 2, 6 # heads, keys
ints = lambda *v: np.array(v, np.int32)
ones = lambda *s: rng.integers(0, 2, s, dtype=np.int32) | (np.arange(s[-1]) == 0).astype(np.int32)
def attention(name, op='Attention', mask=None, past=0, bias=None, expected=None, size=8, width=24, rows=5, tol=1e-4, **attributes):
    f = {'x': f32(B, rows, size), 'w': f32(size, width), 'b': f32(width)}; ins = ['x', 'w', 'b']; last = ['m', 'p', 'a']
    if op == 'QAttention':
        f = {'x': rng.integers(0, 256, (B, rows, size)).astype(np.uint8), 'w': rng.integers(-63, 64, (size, width)).astype(np.int8), 'b': f32(width), 'xs': np.float32(.02), 'ws': np.float32(.01), 'xz': np.uint8(120), 'wz': np.int8(3)}
        f = {k: np.array(v) for k, v in f.items()}; ins += ['xs', 'ws']; last = ['m', 'xz', 'wz', 'p']
    if mask is not None: f['m'] = mask
    if past: f['p'] = f32(2, B, N, past, size // N)
    if bias: f['a'] = f32(*bias)
    ins += [k if k in f else '' for k in last]
    while not ins[-1]: ins.pop()
    outs = ['y', 'new'] if past else ['y']
    case(name, M(op, ins, outs, num_heads=N, **attributes), f, outs, tol=tol, expected=expected)
for op, p in (('Attention', 'att'), ('QAttention', 'qatt')):
    attention(f'{p}_ends_starts', op, ints(5, 4, 1, 2)); attention(f'{p}_ends_starts_empty', op, ints(5, 2, 0, 2), mask_filter_value=-64.)
    attention(f'{p}_no_mask', op, ints(0, 0).reshape(2, 1)); attention(f'{p}_filter', op, ones(B, 5), mask_filter_value=-3.)
    attention(f'{p}_one_no_mask', op, ints(0).reshape(1, 1))
    attention(f'{p}_past_mask', op, ones(B, 8), past=3); attention(f'{p}_past_mask3', op, ones(B, 5, 8), past=3, unidirectional=1)
    attention(f'{p}_past_lengths', op, ints(8, 6), past=3, unidirectional=1); attention(f'{p}_step', op, past=7, rows=1, unidirectional=1)
    attention(f'{p}_mask_uni', op, ones(B, 5), unidirectional=1)
    attention(f'{p}_all_hidden', op, np.array([[0] * 5, [1] * 5], np.int32), mask_filter_value=-64.); attention(f'{p}_length_0', op, ints(0, 5), mask_filter_value=-64.)
    attention(f'{p}_all_hidden_uni', op, np.array([[0] * 5, [1] * 5], np.int32), unidirectional=1, mask_filter_value=-64.)
    attention(f'{p}_cumulative', op, ints(5, 4, 0, 5, 10, 0, 5, 9))
attention('att_sizes_past', width=8+8+8, past=3, qkv_hidden_sizes=[8, 8, 8]); attention('att_sizes_bias', width=4+4+12, qkv_hidden_sizes=[4, 4, 12], bias=(1, N, 5, 5))
for past in (0, 2): # no CPU kernel: what the rows of the mask that belong to the queries give as a mask for each query
    square = ones(B, 1, 8, 8); cut = square[:, 0, past:past + 5, :past + 5]; same = rng.bit_generator.state
    attention('square', mask=np.ascontiguousarray(cut), past=past); rng.bit_generator.state = same
    made = f'{out}/square/test_data_set_0'; y = [nh.to_array(onnx.load_tensor(f'{made}/output_{i}.pb')) for i in range(2 if past else 1)]; shutil.rmtree(f'{out}/square')
    attention(f'att_square_{past}', mask=square, past=past, expected=y)
attention('att_bias_rows', bias=(B, 1, 5, 5), mask=ones(B, 5)); attention('att_bias_one', bias=(1, 1, 5, 5), past=0, unidirectional=1)
attention('qatt_scale', 'QAttention', scale=.2)
def mha(name, mask=None, kinds='qkv', bias=False, extra=None, past=0, rows=5, keys=L, outs=('y',), value=8, **attributes):
    f = {'qkv': {'q': f32(B, rows, 8), 'k': f32(B, keys, 8), 'v': f32(B, keys, value)}, 'packed': {'q': f32(B, rows, N, 3, 4)},
         'packed_kv': {'q': f32(B, rows, 8), 'k': f32(B, keys, N, 2, 4)}, 'heads': {'q': f32(B, rows, 8), 'k': f32(B, N, keys, 4), 'v': f32(B, N, keys, 4)}}[kinds]
    if bias: f['b'] = f32(16 + value)
    if mask is not None: f['m'] = mask
    if extra: f['a'] = f32(*extra)
    if past: f.update(pk=f32(B, N, past, 4), pv=f32(B, N, past, value // N))
    ins = [k if k in f else '' for k in ('q', 'k', 'v', 'b', 'm', 'a', 'pk', 'pv')]; outs = ['y', 'nk', 'nv'] if past and len(outs) == 1 else list(outs)
    while not ins[-1]: ins.pop()
    expected = None
    if 'packed' in kinds: # onnxruntime has no CPU kernel for them: what the same operands apart give
        flat = lambda k, i: f[k][:, :, :, i].reshape(B, -1, 8)
        apart = {**f, **({'k': flat('q', 1), 'v': flat('q', 2), 'q': flat('q', 0)} if kinds == 'packed' else {'k': flat('k', 0), 'v': flat('k', 1)})}
        node = h.make_node('MultiHeadAttention', ['q', 'k', 'v', *ins[3:]], outs, domain='com.microsoft', num_heads=N, **attributes)
        info = lambda k, v: h.make_tensor_value_info(k, h.np_dtype_to_tensor_dtype(v.dtype), v.shape)
        g = h.make_graph([node], 'g', [info(k, v) for k, v in apart.items()], [onnx.ValueInfoProto(name='y')])
        m = h.make_model(g, opset_imports=[h.make_opsetid('', 21), h.make_opsetid('com.microsoft', 1)], ir_version=10)
        expected = ort.InferenceSession(m.SerializeToString(), options).run(None, apart)
    case(name, M('MultiHeadAttention', ins, outs, num_heads=N, **attributes), f, [o for o in outs if o], expected=expected)
mha('mha_mask3', ones(B, 5, L)); mha('mha_cumulative', ints(6, 4, 0, 5, 10, 0, 6, 10))
mha('mha_packed', kinds='packed'); mha('mha_packed_mask', ones(B, 5), kinds='packed'); mha('mha_packed_bias', kinds='packed', bias=True)
mha('mha_packed_uni', kinds='packed', unidirectional=1); mha('mha_packed_kv', kinds='packed_kv'); mha('mha_packed_kv_mask', ints(6, 3), kinds='packed_kv')
mha('mha_heads_bias', kinds='heads', bias=True); mha('mha_heads_mask', ones(B, L), kinds='heads')
mha('mha_values', value=12, bias=True); mha('mha_filter', ones(B, L), mask_filter_value=-2.); mha('mha_length_0', ints(0, 6), mask_filter_value=-64.)
mha('mha_all_hidden', np.array([[0] * 5, [1] * 5], np.int32), keys=5, unidirectional=1, mask_filter_value=-64.)
for s in ((1, 1, 5, L), (B, 1, 5, L), (1, N, 5, L), (B, N, 5, L)): mha('mha_bias_' + ''.join(map(str, s[:2])), ones(B, L), extra=s)
mha('mha_past_mask', ones(B, 8), past=3, keys=5, bias=True); mha('mha_past_mask3', ones(B, 5, 8), past=3, keys=5); mha('mha_past_lengths', ints(8, 6), past=3, keys=5)
mha('mha_past_uni', past=3, keys=5, unidirectional=1); mha('mha_past_bias', past=3, keys=5, extra=(1, N, 5, 8), unidirectional=1); mha('mha_step', past=7, rows=1, keys=1, unidirectional=1)
mha('mha_presents', outs=('y', 'nk', 'nv')); mha('mha_present_key', outs=('y', '', 'nv'))
# ---- normalisations ----
x, g8 = f32(2, 5, 8), [f32(8) for _ in range(3)]
for name, skip in (('same', (2, 5, 8)), ('rows', (5, 8)), ('one', (1, 5, 8))):
    f = {'x': x, 's': f32(*skip), 'g': g8[0], 'b': g8[1], 'c': g8[2]}
    case(f'skipln_{name}', M('SkipLayerNormalization', ['x', 's', 'g', '', 'c'], ['y', '', '', 'z']), {k: v for k, v in f.items() if k != 'b'}, ['y', 'z'])
    case(f'skipsln_{name}', M('SkipSimplifiedLayerNormalization', ['x', 's', 'g', 'c'], ['y', '', '', 'z']), {k: v for k, v in f.items() if k != 'b'}, ['y', 'z'])
f = {'x': x[0], 's': f32(5, 8), 'g': g8[0], 'b': g8[1]}
case('skipln_matrix', M('SkipLayerNormalization', ['x', 's', 'g', 'b'], ['y'], epsilon=.1), f, ['y'])
z = f['x'] + f['s']; mean = z.mean(-1, keepdims=True); inverse = 1 / np.sqrt(z.var(-1, keepdims=True) + np.float32(.1))
case('skipln_statistics', M('SkipLayerNormalization', ['x', 's', 'g', 'b'], ['y', 'mean', 'inverse'], epsilon=.1), f, ['y', 'mean', 'inverse'], expected=[(z - mean) * inverse * f['g'] + f['b'], mean, inverse])
inverse = 1 / np.sqrt((z * z).mean(-1, keepdims=True) + np.float32(.1)); del f['b']
case('skipsln_statistics', M('SkipSimplifiedLayerNormalization', ['x', 's', 'g'], ['y', '', 'inverse'], epsilon=.1), f, ['y', 'inverse'], expected=[z * inverse * f['g'], inverse])
rows = {'w': f32(20, 8), 'p': f32(7, 8), 'e': f32(2, 8), 'g': g8[0], 'b': g8[1]}; ids = {'i': rng.integers(0, 20, (2, 5), dtype=np.int32), 's': rng.integers(0, 2, (2, 5), dtype=np.int32)}
def embed(name, outs, more=(), drop=(), **attributes):
    f = {k: v for k, v in {**ids, **rows, **dict(more)}.items() if k not in drop}; ins = [k if k in f else '' for k in ('i', 's', 'w', 'p', 'e', 'g', 'b', 'm', 'at')]
    while not ins[-1]: ins.pop()
    case(name, M('EmbedLayerNormalization', ins, outs, **attributes), f, outs)
embed('embed_sum', ['y', 'k', 'sum']); embed('embed_positions', ['y', 'k'], {'at': rng.integers(0, 7, (2, 5), dtype=np.int32)}); embed('embed_position_row', ['y', 'k'], {'at': rng.integers(0, 7, (1, 5), dtype=np.int32)})
embed('embed_mask_holes', ['y', 'k'], {'m': ints(1, 0, 1, 0, 0, 0, 1, 1, 1, 1).reshape(2, 5)}); embed('embed_mask_none', ['y', 'k', 'sum'], {'m': ints(*[0] * 5 + [1] * 5).reshape(2, 5)}, epsilon=.01)
embed('embed_mask_only', ['y', 'k'], {'m': ones(2, 5)}, 'se'); embed('embed_type_0', ['y', 'k'], {'m': ones(2, 5)}, mask_index_type=0)
x = f32(2, 4, 3, 8); g, b = f32(8), f32(8)
def grouped(x, g, b, groups, last, activation, eps=np.float32(1e-5)):
    y = np.moveaxis(x, -1, 1) if last else x; shape = y.shape; y = y.reshape(shape[0], groups, -1)
    y = ((y - y.mean(-1, keepdims=True)) / np.sqrt(y.var(-1, keepdims=True) + eps)).reshape(shape) * g[:, None, None] + b[:, None, None]
    if activation: y = y / (1 + np.exp(-y))
    return np.moveaxis(y, 1, -1) if last else y
for last in (1, 0):
    x = f32(2, 4, 3, 8) if last else f32(2, 8, 4, 3)
    for groups, act in ((2, 0), (4, 1), (8, 0), (1, 1)): case(f'groupnorm_{last}_{groups}', M('GroupNorm', ['x', 'g', 'b'], ['y'], groups=groups, activation=act, channels_last=last), {'x': x, 'g': g, 'b': b}, ['y'], expected=[grouped(x, g, b, groups, last, act)])
    for name, shape in (('same', x.shape), ('four', (2, 1, 1, 8) if last else (2, 8, 1, 1)), ('two', (2, 8))):
        s = f32(*shape); c = f32(8); whole = s.reshape((2, 1, 1, 8) if last else (2, 8, 1, 1)) if name == 'two' else s
        z = x + whole + (c if last else c[:, None, None])
        case(f'skipgroupnorm_{last}_{name}', M('SkipGroupNorm', ['x', 'g', 'b', 's', 'c'], ['y', 'z'], groups=2, activation=1, channels_last=last), {'x': x, 'g': g, 'b': b, 's': s, 'c': c}, ['y', 'z'], expected=[grouped(z, g, b, 2, last, 1), z])
s = f32(2, 8, 4, 3)
case('skipgroupnorm_sum_alone', M('SkipGroupNorm', ['x', 'g', 'b', 's'], ['y'], groups=4, activation=0, channels_last=0, epsilon=.1), {'x': x, 'g': g, 'b': b, 's': s}, ['y'], expected=[grouped(x + s, g, b, 4, 0, 0, np.float32(.1))])
# ---- activations, images, rotations ----
from math import erf
gelu = lambda x: (x * .5 * (1 + np.vectorize(erf)(x.astype(np.float64) / np.sqrt(2)))).astype(np.float32)
x = f32(2, 3, 10); c = f32(10)
case('biassplitgelu', M('BiasSplitGelu', ['x', 'c'], ['y']), {'x': x, 'c': c}, ['y'], expected=[(x + c)[..., :5] * gelu((x + c)[..., 5:])])
for name, v in (('default', {}), ('negative', {'alpha': -.7}), ('zero', {'alpha': 0.}), ('steep', {'alpha': 40.})): case(f'quickgelu_{name}', M('QuickGelu', ['x'], ['y'], **v), {'x': x}, ['y'])
case('gelu_matrix', M('BiasGelu', ['x', 'c'], ['y']), {'x': x[0], 'c': c}, ['y']); case('fastgelu_alone', M('FastGelu', ['x'], ['y']), {'x': x}, ['y'])
for name, shape, w, v in (('strides', (1, 7, 6, 4), (3, 4, 3, 3), dict(pads=[1, 0, 1, 2], strides=[2, 1])), ('groups', (2, 5, 5, 4), (6, 2, 3, 3), dict(group=2, dilations=[2, 1])), ('same', (1, 5, 6, 4), (3, 4, 2, 3), dict(auto_pad='SAME_LOWER', strides=[2, 2]))):
    x, w, c = f32(*shape), f32(*w), f32(w[0])
    plain = h.make_model(h.make_graph([h.make_node('Conv', ['x', 'w', 'c'], ['y'], **v)], 'g', [h.make_tensor_value_info(k, T.FLOAT, None) for k in 'xwc'], [h.make_tensor_value_info('y', T.FLOAT, None)]), opset_imports=[h.make_opsetid('', 21)], ir_version=10)
    first = lambda a: np.ascontiguousarray(np.moveaxis(a, -1, 1))
    y = ort.InferenceSession(plain.SerializeToString(), options).run(None, {'x': first(x), 'w': w, 'c': c})[0]
    case(f'nhwcconv_{name}', M('NhwcConv', ['x', 'w', 'c'], ['y'], **v), {'x': x, 'c': c}, ['y'], [nh.from_array(w, 'w')], expected=[np.moveaxis(y, 1, -1)])
for name, more, v in (('none', {}, {}), ('padded', {}, dict(pads=[1, 0, 1, 1], count_include_pad=1)), ('ceil', {}, dict(ceil_mode=1, strides=[2, 2])), ('last', {'channels_last': 1}, dict(strides=[2, 1], pads=[1, 1, 0, 0])), ('same', {}, dict(auto_pad='SAME_UPPER', strides=[2, 2]))):
    for kind, low, zeros in ((np.uint8, 0, (120, 99)), (np.int8, -128, (3, -9))):
        q = {'x': rng.integers(low, low + 256, (1, 6, 7, 3)).astype(kind), 'xs': np.array(.02, np.float32), 'xz': np.array(zeros[0], kind), 'ys': np.array(.013, np.float32), 'yz': np.array(zeros[1], kind)}
        case(f'qlinearaveragepool_{name}_{np.dtype(kind).name}', M('QLinearAveragePool', list(q), ['y'], kernel_shape=[3, 2], **more, **v), q, ['y'], tol=0)
        if name in ('none', 'last'): case(f'qlinearglobalaveragepool_{name}_{np.dtype(kind).name}', M('QLinearGlobalAveragePool', list(q), ['y'], **more), q, ['y'], tol=0)
for kind, low in ((np.uint8, 0), (np.int8, -128)):
    f = {'ys': np.array(.04, np.float32), 'yz': np.array(5, kind)}
    for k, shape in (('a', (2, 3, 4)), ('b', (2, 1, 4)), ('c', (2, 2, 4))): f.update({k: rng.integers(low, low + 256, shape).astype(kind), k + 's': np.array(.01 * (ord(k) - 94), np.float32), k + 'z': np.array(ord(k) - 90, kind)})
    case(f'qlinearconcat_three_{np.dtype(kind).name}', M('QLinearConcat', list(f), ['y'], axis=-2), f, ['y'])
f = {'ys': np.array(.04, np.float32), 'yz': np.array(5, np.uint8), 'a': rng.integers(0, 256, 7).astype(np.uint8), 'as': np.array(.04, np.float32), 'az': np.array(5, np.uint8)}
case('qlinearconcat_one', M('QLinearConcat', list(f), ['y'], axis=0), f, ['y'])
for name, v in (('whole', {}), ('scaled', {'scale': 2.})):
    case(f'rot_packed_{name}', M('RotaryEmbedding', ['x', 'p', 'cos', 'sin'], ['y'], is_packed_batching=1, num_heads=2, **v), {'x': f32(1, 7, 16), 'p': np.array([[0, 1, 2, 0, 1, 2, 3]], np.int64), **rot}, ['y'])
case('rot_packed_long', M('RotaryEmbedding', ['x', 'p', 'cos', 'sin'], ['y'], is_packed_batching=1, num_heads=2, rotary_embedding_dim=8), {'x': f32(1, 25, 24), 'p': (np.arange(25) % 13)[None].astype(np.int64), **rot}, ['y'])
q = [f32(2, 3, 5, 8).astype(np.float16) for _ in range(4)]; angle = f32(2, 5, 8)
sine, cosine = np.sin(angle).astype(np.float16)[:, None], np.cos(angle).astype(np.float16)[:, None]
case('gemmarotary', M('GemmaRotaryEmbedding', ['e', 'q', 'qr', 'k', 'kr'], ['y', 'z']), {'e': angle, 'q': q[0], 'qr': q[1], 'k': q[2], 'kr': q[3]}, ['y', 'z'], expected=[q[0] * cosine + q[1] * sine, q[2] * cosine + q[3] * sine], tol=5e-3)
# ---- attention and its kin of the standard, against the reference evaluator of onnx ----
from onnx.reference import ReferenceEvaluator
def standard(name, op, feeds, outs, opset, tol=1e-4, names=None, spread=None, **attributes):
    # spread: operands that the evaluator gets in place of those of the case
    ins = list(names or feeds)
    nodes = [h.make_node(op, ins, outs, **attributes)]
    info = lambda k, v: h.make_tensor_value_info(k, h.np_dtype_to_tensor_dtype(v.dtype), v.shape)
    given = {**feeds, **(spread or {})}
    g = h.make_graph(nodes, 'g', [info(k, v) for k, v in given.items()], [h.make_tensor_value_info(o, T.FLOAT, None) for o in outs if o])
    try: r = ReferenceEvaluator(h.make_model(g, opset_imports=[h.make_opsetid('', opset)], ir_version=11)).run(None, given)
    except Exception as e: print('reference:', name, repr(e)[:160]); return
    case(name, nodes, feeds, [o for o in outs if o], opset=opset, tol=tol, expected=[np.asarray(v) for v in r])
def heads(name, mask=None, past=0, flat=False, q=4, kv=2, rows=4, keys=6, size=8, value=8, lengths=None, outs=('y',), opset=24, kind=np.float32, tol=1e-4, **attributes):
    make = lambda h, s, d: (f32(2, s, h * d) if flat else f32(2, h, s, d)).astype(kind)
    f = {'q': make(q, rows, size), 'k': make(kv, keys, size), 'v': make(kv, keys, value)}
    if mask is not None: f['m'] = mask if mask.dtype == bool else mask.astype(kind)
    if past: f.update(pk=f32(2, kv, past, size).astype(kind), pv=f32(2, kv, past, value).astype(kind))
    if lengths: f['n'] = np.array(lengths, np.int64)
    ins = [k if k in f else '' for k in ('q', 'k', 'v', 'm', 'pk', 'pv', 'n')]; outs = list(outs)
    if past and len(outs) == 1: outs += ['nk', 'nv']
    while not ins[-1]: ins.pop()
    if flat: attributes.update(q_num_heads=q, kv_num_heads=kv)
    # the evaluator of onnx 1.23 takes a mask of one row, with is_causal, for a mask of one query
    spread = {'m': np.ascontiguousarray(np.broadcast_to(f['m'], np.broadcast_shapes(mask.shape, (rows, 1))))} if mask is not None and attributes.get('is_causal') else None
    standard(name, 'Attention', f, outs, opset, tol, ins, spread, **attributes)
def sees(*s):
    m = rng.random(s) < .6; m[..., 0] = True; return m
SHAPES = ((6,), (1, 6), (4, 6), (4, 1), (1, 4, 6), (4, 4, 6), (4, 1, 6), (2, 1, 4, 6), (1, 4, 4, 6), (2, 4, 4, 6), (2, 1, 1, 6), (1, 1, 4, 6), (2, 4, 1, 6))
for i, s in enumerate(SHAPES):
    about = 'x'.join(map(str, s)); heads(f'sa_bool_{about}', sees(*s), flat=i % 2, is_causal=i % 3 == 0); heads(f'sa_float_{about}', f32(*s), flat=not i % 2, is_causal=i % 3 == 1)
for s in ((3,), (4, 5), (4, 4, 3), (2, 1, 4, 5), (1, 1)):
    about = 'x'.join(map(str, s)); heads(f'sa_short_bool_{about}', sees(*s)); heads(f'sa_short_float_{about}', f32(*s), is_causal=1)
heads('sa_short_past', f32(4, 7), past=3); heads('sa_short_past_bool', sees(2, 1, 4, 7), past=3, flat=True, is_causal=1)
for mode in range(4): # no softcap with mode 0, in which the evaluator gives the capped scores and not, as documented, the product
    heads(f'sa_mode_{mode}', f32(4, 6), outs=('y', '', '', 'qk'), qk_matmul_output_mode=mode, softcap=2. * (mode > 0), is_causal=1)
    heads(f'sa_mode_past_{mode}', sees(2, 1, 4, 9), past=3, outs=('y', 'nk', 'nv', 'qk'), qk_matmul_output_mode=mode, softcap=1.5 * (mode > 0), flat=True, scale=.3)
    heads(f'sa_mode_plain_{mode}', outs=('y', '', '', 'qk'), qk_matmul_output_mode=mode, opset=23)
    heads(f'sa_mode_nonpad_{mode}', f32(4, 6), outs=('y', '', '', 'qk'), qk_matmul_output_mode=mode, lengths=[6, 4], is_causal=1)
heads('sa_causal_past', past=3, is_causal=1); heads('sa_causal_past_flat', past=3, is_causal=1, flat=True, value=4); heads('sa_causal_step', past=7, rows=1, keys=1, is_causal=1); heads('sa_causal_past_23', past=3, is_causal=1, opset=23)
heads('sa_more_queries', rows=6, keys=4, is_causal=1); heads('sa_more_keys', rows=2, keys=6, is_causal=1); heads('sa_one_kv_head', kv=1, flat=True, softcap=3.); heads('sa_value_flat', value=12, flat=True, is_causal=1)
for precision in (1, 10, 11): heads(f'sa_half_softmax_{precision}', f32(4, 6), kind=np.float16, softmax_precision=precision, tol=4e-3); heads(f'sa_softmax_{precision}', f32(4, 6), softmax_precision=precision, tol=4e-3)
heads('sa_double', f32(4, 6), kind=np.float64, softcap=2., is_causal=1); heads('sa_nonpad', lengths=[3, 6]); heads('sa_nonpad_zero', lengths=[0, 6]); heads('sa_nonpad_causal', lengths=[4, 5], rows=2, is_causal=1)
heads('sa_nonpad_mask', sees(2, 1, 4, 6), lengths=[5, 2], flat=True); heads('sa_nonpad_step', lengths=[2, 6], rows=1, is_causal=1, softcap=2.); heads('sa_scale_zero', scale=0.)
heads('sa_hidden_row', np.array([[1] * 6, [0] * 6, [1, 0] * 3, [0] * 5 + [1]], bool)); heads('sa_hidden_row_qk', np.array([[1] * 6, [0] * 6, [1, 0] * 3, [0] * 5 + [1]], bool), outs=('y', '', '', 'qk'), qk_matmul_output_mode=3)
for window in ((1, 0), (2, 1), (0, -1), (-1, 1)): heads(f'sa_window_{window[0]}_{window[1]}'.replace('-1', 'all'), past=3, rows=3, keys=3, left_window_size=window[0], right_window_size=window[1], opset=25); heads(f'sa_window_nonpad_{window[0]}_{window[1]}'.replace('-1', 'all'), sees(4, 6), lengths=[6, 5], left_window_size=window[0], right_window_size=window[1], opset=25, flat=True)
pos = rng.integers(0, 20, (2, 3)).astype(np.int64)
for inter in (0, 1):
    for dim in (0, 4):
        half = (dim or 8) // 2; t = {'c': f32(20, half), 's': f32(20, half)}; each = {'c': f32(2, 3, half), 's': f32(2, 3, half)}; about = {'interleaved': inter, 'rotary_embedding_dim': dim}
        standard(f'sr_flat_{inter}_{dim}', 'RotaryEmbedding', {'x': f32(2, 3, 24), **t, 'p': pos}, ['y'], 23, num_heads=3, **about); standard(f'sr_flat_each_{inter}_{dim}', 'RotaryEmbedding', {'x': f32(2, 3, 24), **each}, ['y'], 23, num_heads=3, **about)
        standard(f'sr_heads_{inter}_{dim}', 'RotaryEmbedding', {'x': f32(2, 3, 3, 8).astype(np.float16), **{k: v.astype(np.float16) for k, v in t.items()}, 'p': pos}, ['y'], 23, tol=4e-3, **about); standard(f'sr_heads_each_{inter}_{dim}', 'RotaryEmbedding', {'x': f32(2, 5, 3, 8), **each}, ['y'], 23, **about)
for kind in (np.float32, np.float16, np.float64):
    tol = 4e-3 if kind == np.float16 else 1e-5
    for alpha in (None, 0., -1.5, 30.): standard(f'swish_{np.dtype(kind).name}_{alpha}', 'Swish', {'x': (f32(3, 5) * 20).astype(kind)}, ['y'], 24, tol, **({} if alpha is None else {'alpha': alpha}))
    for axis in (-1, 1, 0): standard(f'rms_{np.dtype(kind).name}_{axis}', 'RMSNormalization', {'x': f32(2, 3, 4).astype(kind), 'g': f32(*(2, 3, 4)[axis:]).astype(kind)}, ['y'], 23, tol, axis=axis, epsilon=.1)
standard('rms_scale_short', 'RMSNormalization', {'x': f32(2, 3, 4), 'g': f32(4)}, ['y'], 23, axis=1); standard('rms_scale_one', 'RMSNormalization', {'x': f32(2, 3, 4), 'g': f32(1)}, ['y'], 23); standard('rms_scale_double', 'RMSNormalization', {'x': f32(2, 3, 4).astype(np.float16), 'g': f32(4)}, ['y'], 23, 4e-3, stash_type=1)
for kind in (np.float32, np.int32, np.uint8, np.bool_):
    a = lambda *s: (rng.random(s) * 9).astype(kind)
    n = np.dtype(kind).name
    standard(f'ts_linear_{n}', 'TensorScatter', {'p': a(2, 3, 6, 4), 'u': a(2, 3, 2, 4), 'w': np.array([1, 4], np.int64)}, ['y'], 24); standard(f'ts_ring_{n}', 'TensorScatter', {'p': a(2, 3, 6, 4), 'u': a(2, 3, 3, 4), 'w': np.array([5, 4], np.int64)}, ['y'], 24, mode='circular')
for axis in (1, 2, 3, -1, -3): standard(f'ts_axis_{axis}', 'TensorScatter', {'p': f32(2, 3, 5, 4), 'u': f32(*[2 if i == axis % 4 else d for i, d in enumerate((2, 3, 5, 4))]), 'w': np.array([2, 1], np.int64)}, ['y'], 24, axis=axis, mode='circular')
standard('ts_nowhere', 'TensorScatter', {'p': f32(2, 5, 4), 'u': f32(2, 2, 4)}, ['y'], 24); standard('ts_whole', 'TensorScatter', {'p': f32(2, 5, 4), 'u': f32(2, 5, 4), 'w': np.array([3, 0], np.int64)}, ['y'], 24, mode='circular'); standard('ts_matrix_rows', 'TensorScatter', {'p': f32(3, 5), 'u': f32(3, 2), 'w': np.array([3, 0, 1], np.int64)}, ['y'], 24, axis=1)
# ---- attention as PyTorch's exporters write it: keys turned between views, heads repeated, rows that hide every key made 0 ----
def exported(name, b, s, t, times, groups=2, width=8, hidden=True):
    heads = groups * times; n = lambda op, i, o, **k: h.make_node(op, i, [o], **k)
    ints64 = lambda name, *v: nh.from_array(np.array(v, np.int64), name)
    f = {'q': f32(b, heads, s, width), 'k': f32(b, groups, t, width), 'v': f32(b, groups, t, width), 'm': np.where(rng.random((b, 1, s, t)) < .4, -np.inf, 0).astype(np.float32)}
    f['m'][..., 0] = 0; f['m'][0, 0, 0] = -np.inf if hidden else 0
    inits = [ints64('wide', b, groups, times, t, width), ints64('all', b, heads, t, width), ints64('flat', b * heads, t, width), ints64('turned', b, heads, width, t),
             ints64('two', 2), nh.from_array(np.float32(width ** -.25), 'root'), nh.from_array(np.zeros(1, np.float32), 'zero')]
    nodes = [x for c in 'kv' for x in (n('Unsqueeze', [c, 'two'], c + '1'), n('Expand', [c + '1', 'wide'], c + '2'), n('Reshape', [c + '2', 'all'], c + '3'))]
    nodes += [n('Reshape', ['k3', 'flat'], 'k4'), n('Transpose', ['k4'], 'k5', perm=[0, 2, 1]), n('Reshape', ['k5', 'turned'], 'k6'), n('Mul', ['k6', 'root'], 'k7'), n('Mul', ['q', 'root'], 'q1'),
              n('MatMul', ['q1', 'k7'], 's'), n('Add', ['s', 'm'], 's1'), n('Softmax', ['s1'], 'p', axis=-1), n('IsNaN', ['p'], 'none'), n('Where', ['none', 'zero', 'p'], 'p1'), n('MatMul', ['p1', 'v3'], 'y')]
    case(name, nodes, f, ['y'], inits)
rng = np.random.default_rng(8)
exported('sdpa_exported', 2, 3, 5, 1, groups=3); exported('sdpa_exported_groups', 2, 3, 140, 2); exported('sdpa_exported_step', 1, 1, 9, 3); exported('sdpa_exported_one_group', 2, 1, 4, 3, groups=1)
# ---- weights of few bits that are no constants ----
nbits('nbits_4_computed', 4, 16, 40, 18, 'packed', 3, computed=('b', 's', 'z'))
nbits('nbits_2_computed', 2, 16, 48, 5, None, 1, computed=('b', 's'))
nbits('nbits_8_computed_zero', 8, 32, 70, 6, 'packed', 2, computed=('z',))
