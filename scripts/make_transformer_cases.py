#!/usr/bin/env python3
"""Makes further cases of test/onnx: products by weights of few bits, and attention operators of com.microsoft with the
attributes that scripts/make_onnx_cases.py leaves out. Random inputs, and what onnxruntime computes without optimising.

    scripts/make_transformer_cases.py OUT
"""
import os, sys
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
def nbits(name, bits, block, k, n, zeros, rows, groups=False):
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
    case(name, M('MatMulNBits', ins, ['y'], N=n, K=k, block_size=block, bits=bits), {'a': a}, ['y'], inits, expected=expected)
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
