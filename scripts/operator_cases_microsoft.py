"""The cases of compare_operators.py for operators of com.microsoft: random ones, and some that are to be refused."""
import zlib
import ml_dtypes as ml, numpy as np
from operator_cases import Case

rng = np.random.default_rng(0)


def f(*shape, t=np.float32, scale=1):
    return (rng.standard_normal(shape) * scale).astype(t)


def i64(*v):
    return np.array(v, np.int64)


def one(*choices):
    return choices[rng.integers(len(choices))]


def maybe(v, p=.5):
    return v if rng.random() < p else None


def M(op, inputs, nout=1, **k):
    while inputs and inputs[-1] is None:
        inputs = inputs[:-1]
    return Case(op, inputs, nout, domain="com.microsoft", **k)


def packed(q, bits):
    """Values of few bits along the last dim as bytes, the first in the low bits."""
    per = 8 // bits
    q = np.concatenate([q, np.zeros((*q.shape[:-1], -q.shape[-1] % per), q.dtype)], -1)
    q = q.reshape(*q.shape[:-1], -1, per)
    return sum(q[..., i].astype(np.int64) << (bits * i) for i in range(per)).astype(np.uint8)


def experts():
    for _ in range(60):
        rows, h, i, e = rng.integers(1, 9), rng.integers(1, 9), rng.integers(1, 9), rng.integers(1, 6)
        act = one("relu", "gelu", "silu", "swiglu", "identity")
        wide = i * (2 if act == "swiglu" else 1)
        k = dict(k=int(rng.integers(1, e + 1)), activation_type=act, normalize_routing_weights=one(0, 1))
        if act == "swiglu":
            k.update(swiglu_fusion=1, activation_alpha=one(1., 1.702), activation_beta=one(0., 1.))
            k.update(one({}, dict(swiglu_limit=.8)))
        x = f(*one((rows, h), (1, rows, h)))
        yield M("MoE", [x, f(rows, e), f(e, wide, h), maybe(f(e, wide)), f(e, h, i), maybe(f(e, h))], fixed=2, **k)
    ok = [f(5, 8), f(5, 4), f(4, 6, 8), f(4, 6), f(4, 8, 6), f(4, 8)]
    yield M("MoE", [f(0, 8), f(0, 4), *ok[2:]], fixed=2)
    yield M("MoE", [ok[0], np.zeros((5, 4), np.float32), *ok[2:]], k=2, fixed=2)
    for k in (dict(k=0), dict(k=5), dict(activation_type="tanh"), dict(swiglu_limit_after_activation=1)):
        yield M("MoE", ok, **k)
    for at, v in ((0, f(8)), (0, f(1, 5, 1, 8)), (1, f(4, 4)), (1, f(1, 5, 4)), (1, f(5, 3)), (3, f(4, 5)), (4, f(4, 6, 8)), (4, f(3, 8, 6))):
        yield M("MoE", [*ok[:at], v, *ok[at + 1:]])
    for _ in range(60):
        rows, h, i, e = rng.integers(1, 6), 32 * rng.integers(1, 3), 32 * rng.integers(1, 3), rng.integers(1, 5)
        act, block = one("relu", "gelu", "silu", "swiglu", "identity"), one(0, 16, 32)
        k = dict(k=int(rng.integers(1, e + 1)), activation_type=act, normalize_routing_weights=one(0, 1), expert_weight_bits=one(2, 4, 8))
        bits, zeros = [k["expert_weight_bits"]] * 2, rng.random() < .5
        if rng.random() < .3:
            bits = [one(2, 4, 8), one(2, 4, 8)]
            k.update(fc1_expert_weight_bits=bits[0], fc2_expert_weight_bits=bits[1])
        if act == "swiglu":
            k.update(swiglu_fusion=1, activation_alpha=one(1., 1.702), activation_beta=one(0., 1.))
        if block:
            k["block_size"] = block
        t = one(np.float32, np.float16)
        layers = []
        for columns, width, b in ((i * (2 if act == "swiglu" else 1), h, bits[0]), (h, i, bits[1])):
            blocks = width // block if block else 1
            z = packed(rng.integers(0, 1 << b, (e, columns, blocks) if block else (e, columns)), b)
            s = np.abs(f(e, columns, blocks, scale=.02, t=t)) if block else np.abs(f(e, columns, scale=.02, t=t))
            layers.append([packed(rng.integers(0, 1 << b, (e, columns, width)), b), s, maybe(f(e, columns, t=t)), z if zeros else None])
        inputs = [f(*one((rows, h), (1, rows, h)), t=t), f(rows, e, t=t), *layers[0][:3], *layers[1][:3], None, None, None, layers[0][3], layers[1][3], None]
        if rng.random() < .4:
            inputs.append(np.abs(f(rows, e, t=t)))
        # onnxruntime rounds rows where weights of 2 bits have blocks
        yield M("QMoE", inputs, fixed=2, tol=(3e-2, 2e-3) if block and 2 in bits else None, **k)
    ok = [f(5, 64), f(5, 4), rng.integers(0, 256, (4, 32, 32)).astype(np.uint8), f(4, 32, 2), None, rng.integers(0, 256, (4, 64, 16)).astype(np.uint8), f(4, 64, 1)]
    for k in (dict(k=0), dict(k=5), dict(activation_type="tanh"), dict(block_size=24), dict(block_size=8), dict(expert_weight_bits=5), dict(expert_weight_bits=8)):
        yield M("QMoE", ok, **{"block_size": 32, **k})
    for at, v in ((6, f(4, 64, 2)), (0, f(5, 32)), (1, f(5, 3))):
        yield M("QMoE", [*ok[:at], v, *ok[at + 1:]], block_size=32)


HALVES = [np.float32, np.float16, ml.bfloat16]


def routers():
    for _ in range(60):
        groups, size, t = rng.integers(1, 5), rng.integers(1, 5), one(*HALVES)
        e, active = groups * size, rng.integers(1, groups + 1)
        k = dict(n_group=int(groups), topk_group=int(active), group_topk=one(1, 2, 5), top_k=int(rng.integers(1, active * size + 1)))
        yield M("MoEGroupRouter", [f(*one((5, e), (2, 3, e), (0, e)), t=t, scale=3), f(e)], fixed=1, **k, **one({}, dict(router_sentinel=-3.)))
    yield M("MoEGroupRouter", [f(4, 8), f(8)], 3, unused=(0,), top_k=2, fixed=1)
    yield M("MoEGroupRouter", [f(4, 256), f(8), f(8, 256, scale=.1)], 3, fixed=1, unused=(0,), top_k=2)
    yield M("MoEGroupRouter", [f(4, 256, t=np.float16), f(8), f(8, 256, scale=.1, t=np.float16)], 3, fixed=1, unused=(0,), top_k=2)
    for x, b, k in ((f(4, 8), f(7), {}), (f(8), f(8), {}), (f(4, 8), f(8), dict(n_group=3)), (f(4, 8), f(8), dict(n_group=2, topk_group=3)), (f(4, 8), f(8), dict(top_k=0)), (f(4, 8), f(8), dict(top_k=9))):
        yield M("MoEGroupRouter", [x, b], **{"top_k": 2, **k})
    yield M("MoEGroupRouter", [f(4, 8), f(8)], 3, top_k=2)
    yield M("MoEGroupRouter", [f(4, 8), f(8)], 2, unused=(0,), top_k=2)


def streams():
    for _ in range(60):
        lead, c, h, t, u, flat = one((), (3,), (2, 3), (1, 2, 2)), rng.integers(1, 5), rng.integers(1, 6), one(*HALVES), one(*HALVES), one(0, 1)
        x = f(*lead, c * h, t=t) if flat else f(*lead, c, h, t=t)
        gates = [(*lead, c), (*lead, c, 1), (*lead, c, h)]
        k = dict(num_branches=int(c)) if flat else one({}, dict(num_branches=0))
        yield M("HyperConnectionPreMix", [x, f(*one(*gates, *([(*lead, c * h)] if flat else [])), t=u)], **k, **one({}, dict(reduction_scale=.3)))
        yield M("HyperConnectionPostMix", [x, f(*lead, h, t=t), f(*one(*gates), t=u), maybe(f(*lead, c, c, t=u))], **k)
    x, b, g = f(2, 3, 4, 5), f(2, 3, 5), f(2, 3, 4)
    for inputs, k in (([x, f(2, 3, 20)], {}), ([x, f(2, 3, 3)], {}), ([x, f(1, 3, 4)], {}), ([f(20), f(4)], {}), ([x, g], dict(num_branches=-1)), ([x, g], dict(num_branches=4))):
        yield M("HyperConnectionPreMix", inputs, **k)
    for inputs in ([x, f(2, 3, 4), g], [x, b, g, f(2, 3, 4, 3)], [x, b, g, f(2, 3, 16)], [x, b, f(2, 3, 20)], [x, f(3, 5), g]):
        yield M("HyperConnectionPostMix", inputs)
    for _ in range(30):
        a, c, h, t = one((2, 3), (1, 1), (0, 2)), rng.integers(1, 5), rng.integers(1, 9), one(np.float32, np.float16)
        scale = maybe(f(c, h, t=t))
        inputs = [f(*a, c, h, t=t), f(*a, c, h, t=t), f(*a, h, t=t), f(c, h, t=t), f(c, h, t=t), scale]
        yield M("EngramGate", inputs, 2 if scale is not None else 1, **one({}, dict(epsilon=.1)))
    k, v, s = f(2, 3, 4, 5), f(2, 3, 5), f(4, 5)
    for inputs in ([k[0], k[0], v[0], s, s], [k, k, f(2, 3, 4), s, s], [k, k, v, f(5), s], [k, f(2, 3, 4, 4), v, s, s]):
        yield M("EngramGate", inputs)
    yield M("EngramGate", [k, k, v, s, s], 2)


def positions():
    for _ in range(50):
        b, s, n, half, layout, t = *rng.integers(1, 5, 3), rng.integers(1, 7), one(0, 1), one(np.float32, np.float16)
        section = [int(v) for v in np.bincount(rng.integers(0, 3, half), minlength=3)]
        extra, rank = one(0, 0, 2), one(3, 4)
        k = dict(mrope_section=section, mrope_layout=layout, interleaved=one(0, 1))
        if extra:
            k.update(rotary_embedding_dim=int(2 * half), num_heads=int(n))
        elif rank == 3:
            k.update(num_heads=int(n))
        d = 2 * half + extra
        x = f(b, n, s, d, t=t) if rank == 4 else f(b, s, n * d, t=t)
        yield M("MRotaryEmbedding", [x, rng.integers(0, 9, (3, b, s)), f(9, half, t=t), f(9, half, t=t)], fixed=2, **k)
    x, p, c = f(2, 5, 24), rng.integers(0, 9, (3, 2, 5)), f(9, 4)
    for inputs, k in (([x, p[0], c, c], {}), ([x, p + 9, c, c], {}), ([x, p, c, f(9, 3)], {}), ([x, p, c[:, :3], c[:, :3]], {}), ([x, p, c, c], dict(mrope_section=[2, 1, 2])),
                      ([x, p, c, c], dict(mrope_section=[2, 3, -1])), ([x, p, c, c], dict(mrope_section=[2, 2])), ([x, p, c, c], dict(mrope_layout=2)), ([x, p, c, c], dict(num_heads=0)), ([x, p, c, c], dict(num_heads=5))):
        yield M("MRotaryEmbedding", inputs, **{"num_heads": 3, "mrope_section": [2, 1, 1], **k})


def decoders():
    i32 = lambda *v: np.array(v, np.int32)
    for _ in range(60):
        beams, b, n, d, past, t = one(1, 1, 2), rng.integers(1, 4), rng.integers(1, 4), rng.integers(1, 6), rng.integers(0, 7), one(np.float32, np.float16)
        b, h, longest = b * beams, n * d, past + rng.integers(1, 4)
        k = dict(num_heads=int(n), **one({}, dict(scale=.3)), **one({}, dict(mask_filter_value=-3.)))
        bias, step = maybe(f(3 * h, t=t)), lambda: f(b, 1, h, t=t)
        mask = rng.integers(0, 2, (b, past + 1)).astype(np.int32)
        mask[:, -1] = 1
        added = maybe(f(1 if beams > 1 else one(1, b), one(1, n), 1, past + 1, t=t))  # onnxruntime takes others by beams
        yield M("DecoderMaskedMultiHeadAttention", [step(), f(b, n, past + 1, d, t=t), f(b, n, past + 1, d, t=t), maybe(mask), *[None] * 6, bias], **k)
        cache = [f(b, n, longest, d, t=t), f(b, n, longest, d, t=t), i32(past)]
        beam = [i32(beams), rng.integers(0, beams, (b // beams, beams, longest)).astype(np.int32)] if beams > 1 else [None, None]
        yield M("DecoderMaskedMultiHeadAttention", [step(), step(), step(), maybe(mask), added, *cache, *beam, bias], 3, past_present_share_buffer=1, **k)
        if past == 0:
            yield M("DecoderMaskedMultiHeadAttention", [step(), step(), step(), *[None] * 7, bias], **k)
    q, e, c = f(2, 1, 12), f(2, 3, 5, 4), f(2, 3, 8, 4)
    for inputs, nout, k in (([f(2, 2, 12)] * 3, 1, {}), ([q, q, f(2, 1, 21)], 1, {}), ([q, q, q], 1, dict(num_heads=5)), ([q, q, q, None, None, c, c], 3, {}), ([q, q, q, np.ones((2, 8), np.int32), None, c, c, i32(5)], 3, dict(past_present_share_buffer=1)),
                            ([q, q, q, None, None, c, c, i32(8)], 3, dict(past_present_share_buffer=1)), ([q, q, q, None, None, c, c], 3, dict(past_present_share_buffer=1)), ([q, q, q, None, None, c, c, i32(5), i32(2)], 3, dict(past_present_share_buffer=1)), ([q, e, e, None, f(1, 3, 1, 5)], 1, {})):
        yield M("DecoderMaskedMultiHeadAttention", inputs, nout, **{"num_heads": 3, **k})


def requests(batch):
    return np.cumsum([0, *rng.integers(1, 5, batch)]).astype(np.int32)


def ragged():
    for _ in range(80):
        batch, qh, times, dk, dv, t = rng.integers(1, 4), rng.integers(1, 3), rng.integers(1, 3), rng.integers(1, 5), rng.integers(1, 5), one(np.float32, np.float16)
        vh, u, rule, form = qh * times, one(np.float32, t), one("linear", "gated", "delta", "gated_delta"), one("ragged", "even", "batch", "packed")
        cu, steps = requests(batch), int(rng.integers(1, 5))
        lead = (int(cu[-1]),) if form == "ragged" else (batch, steps) if form == "batch" else (batch * steps,)
        each, gate = one(0, 1), one("none", "softplus", "sigmoid", "kda", "qwen")
        q, k, v = f(*lead, qh, dk, t=t), f(*lead, qh, dk, t=t, scale=.5), f(*lead, vh, dv, t=t)
        decay = -np.abs(f(*lead, vh, *([dk] if each else []))).astype(u) if "gated" in rule else None
        beta = np.abs(f(*lead, vh)).astype(u) if "delta" in rule else None
        more = [f(vh), f(vh, dk) if each and rng.random() < .5 else f(vh)] if decay is not None and gate != "none" else []
        attrs = dict(update_rule=rule, qk_l2_norm=one(0, 1), beta_activation=one("none", "sigmoid"), **one({}, dict(scale=.3)))
        if more:
            attrs.update(gate_activation=gate, **one({}, dict(gate_lower_bound=-2.)))
        if form == "packed":
            q, k, v = np.concatenate([x.reshape(len(x), -1) for x in (q, k, v)], 1), None, None
        state = f(batch, vh, dv, dk) if form != "ragged" or rng.random() < .7 else None
        yield M("GatedDeltaNet", [q, k, v, cu if form == "ragged" else None, decay, beta, state, *more], 2, fixed="shapes", tol=(1e-3, 1e-4) if t is np.float32 else (1e-2, 1e-2), **attrs)
    q, v, g, s = f(6, 2, 4), f(6, 4, 5), f(6, 4), f(2, 4, 5, 4)
    for inputs, k in (([q, q, v, None, g, g], {}), ([q, q, v, None, None, g, s], {}), ([q, q, v, None, g, None, s], {}), ([q, q, v, None, g, g, s], dict(update_rule="gated")), ([q, q, v, None, g, g, s], dict(update_rule="none")), ([q, f(6, 1, 4), v, None, g, g, s], {}),
                      ([q, q, f(6, 3, 5), None, f(6, 3), f(6, 3), f(2, 3, 5, 4)], {}), ([q, q, v, None, g, g, f(2, 4, 4, 5)], {}), ([q[:5], q[:5], v[:5], None, g[:5], g[:5], s], {}), ([q, q, v, None, g, g, s, f(4)], dict(gate_activation="softplus"))):
        yield M("GatedDeltaNet", inputs, 2, **k)
    for _ in range(40):
        batch, c, taps, t = rng.integers(1, 4), rng.integers(1, 5), rng.integers(1, 5), one(*HALVES)
        cu, dilation = requests(batch), one(1, 1, 2)
        yield M("VarlenCausalConvWithState", [f(cu[-1], c, t=t), f(c, 1, taps, t=t), cu, maybe(f(c, t=t)), f(batch, c, (taps - 1) * dilation, t=t)], 2, fixed=1, activation=one("none", "silu", "swish"), dilation=dilation)
    x, w, cu, s = f(6, 3), f(3, 1, 4), np.array([0, 2, 6], np.int32), f(2, 3, 3)
    for inputs, k in (([x, w, cu, None, f(2, 3, 4)], {}), ([x, f(2, 1, 4), cu, None, s], {}), ([x, w, cu, None, f(3, 3, 3)], {}), ([x, w, cu, f(2), s], {}), ([x, w, cu, None, s], dict(activation="relu")), ([x, w, cu, None, s], dict(dilation=0)), ([x, w, cu[:2], None, s[:1]], {})):
        yield M("VarlenCausalConvWithState", inputs, 2, **k)


def others():
    for _ in range(60):
        t, b, s, most, heads = one(np.int32, np.int64), rng.integers(1, 4), rng.integers(0, 7), int(rng.integers(2, 5)), int(rng.integers(1, 4))
        ids = lambda *d: rng.integers(-1, 4, d).astype(t)
        far = rng.random() < .3
        tokens = rng.integers(-2**31, 2**31, (b, s)).astype(t) if far else ids(b, s)
        factors = rng.integers(-2**31, 2**31, most + one(0, 1)).astype(t) if far else ids(most) * 2 + 1
        sizes = rng.integers(1, 1000, (most - 1) * heads).astype(t)
        segments = np.sort(rng.integers(0, 3, (b, s)), 1).astype(np.int32) if s else None
        yield M("NGramHashMapping", [tokens, factors, sizes, maybe(ids(b, most - 1)), maybe(np.arange(len(sizes), dtype=t) * 1000), maybe(np.array(1, t)), maybe(segments)],
                2, max_ngram_size=most, n_head_per_ngram=heads, pad_id=one(2, 7), reset_on_eos=one(0, 1))
        cu, batch = requests(b), b
        packed_ids, packed_segments = ids(cu[-1]), maybe(rng.integers(0, 2, cu[-1]).astype(np.int32))
        before = None if packed_segments is None else maybe(rng.integers(0, 2, (batch, most - 1)).astype(np.int32))
        yield M("VarlenNGramHashMapping", [packed_ids, factors, sizes, cu, maybe(ids(batch, most - 1)), maybe(np.arange(len(sizes), dtype=t) * 1000), maybe(np.array(1, t)), packed_segments, before],
                3 if before is not None else 2, fixed="shapes", max_ngram_size=most, n_head_per_ngram=heads, pad_id=one(2, 7), reset_on_eos=one(0, 1))
    i, m, z = rng.integers(0, 9, (2, 6)), np.array([3, 5, 7]), np.array([97, 101, 103, 107])
    for inputs, k in (([i, m[:2], z], {}), ([i, m, z[:3]], {}), ([i[0], m, z], {}), ([i, m, z, i[:, :1]], {}), ([i, m, z, None, None, np.array([1])], {}), ([i, m, z], dict(max_ngram_size=1)), ([i, m, z], dict(n_head_per_ngram=0))):
        yield M("NGramHashMapping", inputs, 2, **{"max_ngram_size": 3, "n_head_per_ngram": 2, "pad_id": 0, **k})
    for t in (np.float32, np.float16):
        yield M("SampleOp", [f(2, 3, t=t)])
    for _ in range(40):
        n, group = rng.integers(1, 4), one(1, 1, 2)
        strides, taps = [int(v) for v in rng.integers(1, 4, n)], [int(v) for v in rng.integers(1, 4, n)]
        c, m = group * rng.integers(1, 3), rng.integers(1, 3)
        pads = rng.integers(0, 2, 2 * n)
        k = dict(strides=strides, **one({}, dict(kernel_shape=taps)), **one({}, {}, dict(output_padding=[int(rng.integers(0, v)) for v in strides])), **one({}, {}, dict(dilations=[2] * int(n))))
        if all(a >= b for a, b in zip(taps, strides)):  # others onnxruntime makes shorter than the standard says
            k.update(one({}, dict(auto_pad="SAME_UPPER"), dict(auto_pad="VALID")))
        yield M("ConvTransposeWithDynamicPads", [f(2, c, *rng.integers(2, 6, n)), f(c, m, *taps), pads, maybe(f(m * group))], group=group, **k)
    x, w = f(1, 2, 5, 6), f(2, 3, 3, 3)
    for p in (None, i64(1, 1), i64(-1, 1, 0, 0), np.int32([1, 1, 1, 1])):
        yield M("ConvTransposeWithDynamicPads", [x, w, p], strides=[2, 2])
    for _ in range(30):
        t, b, s, h = one(np.int8, np.uint8), rng.integers(1, 4), rng.integers(1, 6), rng.integers(1, 9)
        table = lambda *d: rng.integers(np.iinfo(t).min, np.iinfo(t).max + 1, d).astype(t)
        ids, segments = rng.integers(0, 5, (b, s)).astype(np.int32), rng.random() < .6
        tables = [table(5, h), table(6, h), table(2, h) if segments else None, table(h), table(h)]
        scales = [np.float32(v) for v in rng.uniform(.01, .1, 5)]
        zeros = [table() for _ in range(5)]
        if not segments:
            scales[2] = zeros[2] = None
        yield M("QEmbedLayerNormalization", [ids, rng.integers(0, 2, (b, s)).astype(np.int32) if segments else None, *tables, maybe(rng.integers(0, 2, (b, s)).astype(np.int32)), *scales, *zeros], 2, **one({}, dict(epsilon=.01)))


def blocks_as_rows(seen):
    """(layouts,n,n) of 0 and 1 as firsts of rows and columns."""
    columns = [[int(c) for row in layout for c in np.nonzero(row)[0]] for layout in seen]
    longest = max(map(len, columns))
    firsts = np.concatenate([np.zeros((len(seen), 1)), np.cumsum(seen.sum(2), 1)], 1)
    return firsts.astype(np.int32), np.array([c + [-1] * (longest - len(c)) for c in columns], np.int32)


def sparse():
    for _ in range(40):
        t, b, kv, times, block, n = one(np.float32, np.float16), rng.integers(1, 3), rng.integers(1, 3), rng.integers(1, 4), 16, int(rng.integers(1, 5))
        heads, d, longest = kv * times, 16, block * n
        layouts = int(rng.choice([v for v in range(1, heads + 1) if heads % v == 0]))
        seen = np.tril(rng.integers(0, 2, (layouts, n, n)))
        seen[:, range(n), range(n)] = 1
        total = int(rng.integers(1, longest + 1))
        steps = one(1, total, int(rng.integers(1, total + 1)))
        cache = [f(b, kv, longest, d, t=t), f(b, kv, longest, d, t=t)]
        new = [f(b, steps, heads * d, t=t), f(b, steps, kv * d, t=t), f(b, steps, kv * d, t=t)]
        if rng.random() < .3:
            new = [f(b, steps, (heads + 2 * kv) * d, t=t), None, None]
        table = [f(longest, d // 2, t=t), f(longest, d // 2, t=t)] if rng.random() < .4 else []
        k = dict(do_rotary=1, rotary_interleaved=one(0, 1)) if table else one({}, dict(scale=.3))
        rows = blocks_as_rows(seen)
        yield M("SparseAttention", [*new, *cache, *rows, np.array(total, np.int32), np.full(b, total, np.int32), *table], 3, shared={"o1": "i3", "o2": "i4"}, fixed="shapes",
                num_heads=int(heads), kv_num_heads=int(kv), sparse_block_size=block, **k)


def fused():
    floats = [np.float32, np.float16, np.float64]
    for shape in ((3, 5), (2, 3, 7), (1,), (0, 4)):
        for t in floats:
            for op in ("Gelu", "QuickGelu", "BiasGelu", "FastGelu"):
                k = dict(alpha=1.3) if op == "QuickGelu" else {}
                bias = f(shape[-1], t=t) if op in ("BiasGelu", "FastGelu") else None
                yield M(op, [f(*shape, t=t, scale=3), bias], **k)
    for _ in range(60):
        t, lead = one(*floats), one((), (2,), (2, 3), (1, 2, 2))
        m, n, k = rng.integers(1, 6, 3)
        a, b = one(0, 1), one(0, 1)
        x, y = f(*lead, *((k, m) if a else (m, k)), t=t), f(*one((), lead, (1,) * len(lead)), *((n, k) if b else (k, n)), t=t)
        yield M(one("FusedMatMul", "TransposeMatMul"), [x, y], transA=a, transB=b, alpha=one(1., .5))
        if len(lead) > 1:
            yield M("FusedMatMul", [f(lead[0], m, *lead[1:], k, t=t) if a else f(*lead, m, k, t=t), f(*lead, k, n, t=t)], transBatchA=a)
        yield M("FusedMatMul", [f(*one((k,), (3, k)), t=t), f(*one((k,), (k, 2), (2, k, 3)), t=t)], alpha=one(1., 2.))
        act = one(dict(activation="Relu"), dict(activation="LeakyRelu", activation_alpha=.2), dict(activation="Tanh"), dict(activation="Sigmoid"), dict(activation="HardSigmoid", activation_alpha=.3, activation_beta=.6), dict(activation="Elu", activation_alpha=.7))
        yield M("FusedGemm", [f(*((k, m) if a else (m, k))), f(*((n, k) if b else (k, n))), maybe(f(*one((n,), (m, n), (1, n), (m, 1), ())))], transA=a, transB=b, alpha=one(1., .5), beta=one(1., .3), **act)
        if "HardSigmoid" in act.values():
            act = dict(activation="HardSigmoid", activation_params=[.3, .6])
        elif "activation_alpha" in act:
            act = dict(activation="LeakyRelu", activation_params=[.2])
        dims = rng.integers(1, 3)
        yield M("FusedConv", [f(2, 4, *rng.integers(3, 7, dims)), w := f(6, 2, *rng.integers(1, 4, dims)), maybe(f(6))], group=2, pads=[int(v) for v in rng.integers(0, 2, 2 * dims)], strides=[int(v) for v in rng.integers(1, 3, dims)], **(act if act.get("activation") != "Elu" else {}))
    for _ in range(60):
        t, lead, h = one(np.float32, np.float16), one((2, 3), (4,), (1, 1)), rng.integers(1, 9)
        x = f(*lead, h, t=t)
        skip = f(*one(lead, lead[1:] if len(lead) > 1 else lead), h, t=t) if rng.random() < .3 else f(*lead, h, t=t)
        outs = one((1, ()), (4, (1, 2)))
        yield M("SkipLayerNormalization", [x, skip, f(h, t=t), maybe(f(h, t=t)), maybe(f(h, t=t))], outs[0], unused=outs[1], **one({}, dict(epsilon=.01)))
        yield M("SkipSimplifiedLayerNormalization", [x, skip, f(h, t=t), maybe(f(h, t=t))], outs[0], unused=outs[1], **one({}, dict(epsilon=.01)))
        b, s = rng.integers(1, 4), rng.integers(1, 6)
        ids, segments = rng.integers(0, 5, (b, s)).astype(np.int32), rng.random() < .6
        yield M("EmbedLayerNormalization", [ids, rng.integers(0, 2, (b, s)).astype(np.int32) if segments else None, f(5, h, t=t), f(6, h, t=t), f(2, h, t=t) if segments else None, f(h, t=t), f(h, t=t), maybe(rng.integers(0, 2, (b, s)).astype(np.int32)), maybe(rng.integers(0, 6, (b, s)).astype(np.int32), .3)],
                one(2, 3), **one({}, dict(epsilon=.01)))
    for t in (np.float32, np.float64):
        for n, m, k in ((3, 4, 5), (1, 1, 1), (2, 7, 3)):
            for metric in ("euclidean", "sqeuclidean"):
                yield M("CDist", [f(n, k, t=t), f(m, k, t=t)], metric=metric)
    for shape in ((3, 3), (2, 4, 4), (1, 1), (2, 3, 2, 2)):
        yield M("Inverse", [f(*shape, t=one(np.float32, np.float64)) + 3 * np.eye(shape[-1], dtype=np.float32)])
    for _ in range(30):
        n, mode = rng.integers(1, 4), one("bilinear", "nearest")
        boxes = np.sort(rng.uniform(-.2, 1.2, (n, 2, 2)), 1).reshape(n, 4).astype(np.float32)
        yield M("CropAndResize", [f(2, 3, 6, 7), boxes, rng.integers(0, 2, n).astype(np.int32), rng.integers(1, 6, 2).astype(np.int32)], mode=mode, fixed=-3, **one({}, dict(extrapolation_value=9.)))
        pads = rng.integers(0, 3, 4)
        yield M("Pad", [f(3, 4), pads, maybe(np.array([2.5], np.float32))], mode="constant")
        yield M("Pad", [f(3, 4), pads % 3], mode=one("reflect", "edge"))
        yield M("Trilu", [f(*one((3, 4), (2, 3, 3))), maybe(np.array(rng.integers(-3, 4)))], upper=one(0, 1))
        yield M("GatherND", [f(3, 4, 2), rng.integers(-2, 2, (2, one(1, 2, 3)))])
        yield M("Unique", [rng.integers(0, 4, rng.integers(1, 9)).astype(np.float32)], 3)
        yield M("ExpandDims", [f(2, 3), np.array(rng.integers(-3, 3), np.int32)])
        yield M("Range", [np.array(v, np.float32) for v in (rng.integers(-3, 3), rng.integers(3, 9), one(1, 2, .5))])


def attentions():
    for _ in range(60):
        b, s, n, d, p, t = rng.integers(1, 4), rng.integers(1, 6), rng.integers(1, 4), rng.integers(1, 5), rng.integers(0, 4), np.float32
        h, total = n * d, s + p
        past = f(2, b, n, p, d, t=t) if p else None
        mask = one(None, rng.integers(1, total + 1, b).astype(np.int32), rng.integers(0, 2, (b, total)).astype(np.int32), rng.integers(0, 2, (b, s, total)).astype(np.int32))
        k = dict(num_heads=int(n), unidirectional=one(0, 1), **one({}, dict(scale=.3)), **one({}, dict(mask_filter_value=-50.)))
        yield M("Attention", [f(b, s, 5, t=t), f(5, 3 * h, t=t), f(3 * h, t=t), mask, past, maybe(f(b, n, s, total, t=t), .3) if past is None else None], 2 if past is not None else one(1, 2), tol=(1e-2, 2e-3), **k)
        kv = int(rng.integers(1, 6)) if not p else s
        q, key, value = f(b, s, h, t=t), f(b, kv, h, t=t), f(b, kv, h, t=t)
        mask = one(None, None, rng.integers(0, 2, (b, kv + p)).astype(np.int32))
        cache = [f(b, n, p, d, t=t), f(b, n, p, d, t=t)] if p else [None, None]
        yield M("MultiHeadAttention", [q, key, value, maybe(f(3 * h, t=t)), mask, maybe(f(one(1, b), one(1, n), s, kv + p, t=t), .4), *cache], 3 if p else one(1, 3), num_heads=int(n), tol=(1e-2, 2e-3), **one({}, dict(scale=.3)),
                **(one({}, dict(unidirectional=1)) if kv == s else {}), **one({}, dict(mask_filter_value=-50.)))
    for _ in range(80):
        b, s, kv, times, d, t = rng.integers(1, 4), rng.integers(1, 5), rng.integers(1, 3), rng.integers(1, 4), one(8, 16), one(np.float32, np.float16)
        n, past = kv * times, int(rng.integers(0, 5))
        s = s if not past or b == 1 else 1
        total = past + s
        lengths = np.full(b, total - 1, np.int32)
        first = past == 0
        short = first and rng.random() < .3  # rows behind a length are nothing that anyone reads
        lengths = rng.integers(0, s, b).astype(np.int32) if short else lengths
        caches = [f(b, kv, past, d, t=t), f(b, kv, past, d, t=t)] if past or rng.random() < .5 else [None, None]
        new = [f(b, s, n * d, t=t), f(b, s, kv * d, t=t), f(b, s, kv * d, t=t)]
        if rng.random() < .3:
            new = [f(b, s, (n + 2 * kv) * d, t=t), None, None]
        table = [f(9, d // 2, t=t), f(9, d // 2, t=t)] if d == 16 and rng.random() < .5 else []
        k = dict(do_rotary=1, rotary_interleaved=one(0, 1)) if table else {}
        k.update(one({}, dict(scale=.3)), **one({}, {}, dict(softcap=2.)), **({} if short else one({}, {}, dict(local_window_size=2))), **one({}, {}, dict(smooth_softmax=1)))
        yield M("GroupQueryAttention", [*new, *caches, lengths, np.array(total, np.int32), *table], 3, num_heads=int(n), kv_num_heads=int(kv), fixed="shapes", tol=(1e-2, 5e-3) if t is np.float16 else None, **k)
    for _ in range(40):
        b, s, n, d, t = rng.integers(1, 4), rng.integers(1, 5), rng.integers(1, 4), 2 * rng.integers(1, 5), one(np.float32, np.float16)
        x = f(b, n, s, d, t=t) if rng.random() < .5 else f(b, s, n * d, t=t)
        part = d >= 4 and rng.random() < .4
        half = d // 4 if part else d // 2
        k = dict(num_heads=int(n), rotary_embedding_dim=int(2 * half)) if part else one(dict(num_heads=int(n)), {})
        yield M("RotaryEmbedding", [x, one(np.array([rng.integers(0, 4)]), rng.integers(0, 8, (b, s))), f(9, half, t=t), f(9, half, t=t)], interleaved=one(0, 1), fixed="shapes", **k)


def small(t, *shape):
    n = np.iinfo(t)
    return rng.integers(n.min, n.max + 1, shape).astype(t)


def quantised():
    scale = lambda *d: rng.uniform(.01, .1, d).astype(np.float32)
    for _ in range(40):
        t, u, shape = one(np.int8, np.uint8), one(np.int8, np.uint8), one((3, 5), (2, 3, 4), (7,))
        zero = lambda v=t, *d: small(v, *d)
        other = one(shape, shape[-1:], (1,) * len(shape))
        for op in ("QLinearAdd", "QLinearMul"):
            yield M(op, [small(t, *shape), scale(), zero(), small(t, *other), scale(), zero(), scale(), zero()])
        for op, k in (("QLinearLeakyRelu", dict(alpha=.3)), ("QLinearSigmoid", {})):
            yield M(op, [small(t, *shape), scale(), zero(), scale(), zero()], **k)
        yield M("QLinearSoftmax", [small(t, *shape), scale(), zero(), np.float32(1 / 256), np.array(np.iinfo(t).min, t)], axis=int(rng.integers(-1, len(shape))), opset=13)
        last = one(0, 1)
        image = small(t, 2, 5, 6, 3) if last else small(t, 2, 3, 5, 6)
        yield M("QLinearGlobalAveragePool", [image, scale(), zero(), scale(), zero()], channels_last=last)
        yield M("QLinearAveragePool", [image, scale(), zero(), scale(), zero()], channels_last=last, kernel_shape=[2, 3], strides=[int(v) for v in rng.integers(1, 3, 2)], pads=[int(v) for v in rng.integers(0, 2, 4)], count_include_pad=one(0, 1), ceil_mode=one(0, 0, 1))
        parts = []
        for n in range(one(1, 2, 3)):
            parts += [small(t, 2, rng.integers(1, 4), 3), scale(), zero()]
        yield M("QLinearConcat", [scale(), zero(), *parts], axis=1)
        yield M("QLinearWhere", [rng.random(shape) > .5, small(t, *shape), scale(), zero(), small(t, *other), scale(), zero(), scale(), zero()])
        yield M("NhwcMaxPool", [small(t, 2, 6, 7, 3)], kernel_shape=[3, 2], strides=[int(v) for v in rng.integers(1, 3, 2)], pads=[int(v) for v in rng.integers(0, 2, 4)], **one({}, dict(dilations=[2, 1])), **one({}, dict(ceil_mode=1)))
        m, n, k, a, b = *rng.integers(1, 7, 3), one(0, 1), one(0, 1)
        columns = one((), (n,))
        t8 = np.uint8
        yield M("QGemm", [small(t8, *((k, m) if a else (m, k))), scale(), small(t8), small(np.int8, *((n, k) if b else (k, n))), scale(*columns), small(np.int8, *columns), maybe(small(np.int32, n) // 2**20), *one([], [scale(), small(t8)])], transA=a, transB=b, alpha=one(1., .5))
        yield M("MatMulIntegerToFloat", [small(t8, m, k), small(u, k, n), scale(), scale(*columns), maybe(small(t8)), maybe(small(u, *columns)), maybe(f(n))])
        yield M("DynamicQuantizeMatMul", [f(m, k), small(t8, k, n), scale(*columns), maybe(small(t8, *columns)), maybe(f(n))], fixed=-1)
        for w in (np.int8, np.uint8, np.int16, np.uint16):
            yield M("QuantizeLinear", [f(3, 4), *one([scale(), small(w)], [scale(4), small(w, 4)])], axis=1)
            yield M("DequantizeLinear", [small(w, 3, 4), *one([scale(), small(w)], [scale(4), small(w, 4)])], axis=1)
        channels = small(t, 2, 7, 6, 4) if last else small(t, 2, 4, 7, 6)
        yield M("QLinearConv", [channels, scale(), zero(), small(np.int8, 6, 2, 3, 2) // 4, scale(), np.int8(0), scale() * 40, zero(), maybe(small(np.int32, 6) // 2**20)], channels_last=last, group=2, kernel_shape=[3, 2], strides=[int(v) for v in rng.integers(1, 3, 2)], pads=[int(v) for v in rng.integers(0, 2, 4)])
    for _ in range(60):
        n, k, block, bits = rng.integers(1, 9), int(rng.integers(1, 80)), one(16, 32), one(2, 4, 8)
        blocks = -(-k // block)
        w = small(np.uint8, n, blocks, block * bits // 8)
        zeros = one(None, small(np.uint8, n, -(-blocks * bits // 8)), f(n, blocks) * 4 + 8 if bits == 4 else None)
        yield M("MatMulNBits", [f(*one((3, k), (2, 3, k), (1, k))), w, np.abs(f(n, blocks, scale=.02)), zeros, None, maybe(f(n))], N=int(n), K=k, block_size=block, bits=bits, tol=(1e-2, 1e-2) if bits == 2 else (1e-3, 1e-3), fixed=-1)
        k = 16 * rng.integers(1, 4)
        yield M("MatMulBnb4", [f(3, k), small(np.uint8, n * k // 2), np.abs(f(n * k // 16))], N=int(n), K=int(k), block_size=16, quant_type=one(0, 1), fixed=-1)
        kind, k = one(0, 1), int(rng.integers(1, 80))
        blob = [np.concatenate([np.abs(f(1)).view(np.uint8), small(np.uint8, kind) % 16, small(np.uint8, 16)]) for _ in range(n * -(-k // 32))]
        yield M("MatMulFpQ4", [f(*one((3, k), (2, 3, k))), np.concatenate(blob), np.array([k, n])], blk_quant_type=kind, fixed=-1)


def gates():
    for _ in range(40):
        t, lead, h = one(*HALVES), one((3,), (2, 3)), int(rng.integers(1, 7))
        x = f(*lead, h, t=t)
        yield M("ScaledSiLU", [x, maybe(f(t=one(*HALVES)))], **one({}, dict(alpha=1.7)))
        yield M("GatedAdd", [x, f(*lead, h, t=t), f(*lead, 1, t=t)])
        k = int(rng.integers(1, 5))
        yield M("GatedAdd", [x, f(*lead, h, t=t), f(*lead, k, t=t), f(k, 1, t=t)])
        parts = int(rng.integers(1, 4))
        wide = f(*lead, parts * h, t=t)
        yield M("GatedRMSNorm", [wide, f(h, t=t), f(*lead, parts * h, t=t)], **one({}, dict(activation="sigmoid"), dict(activation="swish", epsilon=.01)))
        yield M("BranchwiseRMSNorm", [f(*lead, parts, h, t=t), maybe(f(*one((h,), (parts, h), (parts * h,)), t=one(*HALVES)))])
        yield M("BranchwiseRMSNorm", [wide, maybe(f(*one((h,), (parts, h), (parts * h,)), t=one(*HALVES)))], num_branches=parts)
        yield M("LinearAttentionGate", [x, f(h), f(h), f(*lead, h, t=t)], 2)
        yield M("LinearAttentionGate", [x, f(h), f(h)])
        yield M("UnfoldTensor", [f(2, 6, 5)], dim=one(1, 2, -1), size=int(rng.integers(1, 5)), **one({}, dict(step=2)))
        m, k, n = rng.integers(1, 6, 3)
        yield M("MatMulInteger16", [small(np.int16, *one((m, k), (2, m, k))), small(np.int16, k, n)])
        yield M("NGramRepeatBlock", [rng.integers(0, 3, (2, int(rng.integers(1, 9)))), f(2, 5)], ngram_size=int(rng.integers(1, 4)))
        b, s, qh, dk, dv = rng.integers(1, 3), rng.integers(1, 5), one(1, 2, 4), rng.integers(1, 5), rng.integers(1, 5)
        kvh, rule = one(1, 2, 4), one("linear", "gated", "delta", "gated_delta")
        if max(qh, kvh) % min(qh, kvh) == 0:
            decay = -np.abs(f(b, s, one(kvh, kvh * dk))) if "gated" in rule else None
            beta = np.abs(f(b, s, one(1, kvh))) if "delta" in rule else None
            yield M("LinearAttention", [f(b, s, qh * dk), f(b, s, kvh * dk, scale=.5), f(b, s, kvh * dv), maybe(f(b, kvh, dk, dv)), decay, beta], 2, q_num_heads=qh, kv_num_heads=kvh, update_rule=rule, **one({}, dict(scale=.3)))
        c, taps, dilation, last = rng.integers(1, 5), rng.integers(1, 5), one(1, 1, 2), one(0, 1)
        length = (taps - 1) * dilation
        yield M("CausalConvWithState", [f(b, s, c, t=t) if last else f(b, c, s, t=t), f(c, 1, taps, t=t), maybe(f(c, t=t)), maybe(f(b, length, c, t=t) if last else f(b, c, length, t=t))], 2, activation=one("none", "silu"), channels_last=last, fixed=1, **one({}, {}, dict(dilation=dilation)) if dilation == 1 else dict(dilation=2))


def words():
    for _ in range(40):
        n, longest, window, size, filters = rng.integers(1, 5), rng.integers(1, 8), 1, rng.integers(1, 5), rng.integers(1, 5)
        window = int(rng.integers(1, longest + 1))
        letters = rng.integers(1, 9, (n, longest)).astype(np.int32)
        for i in range(n):
            letters[i, rng.integers(1, longest + 1):] = 0
        k = one({}, dict(conv_window_size=window, embedding_size=int(filters), char_embedding_size=int(size)))
        yield M("WordConvEmbedding", [letters, f(filters, 1, window, size), f(filters), f(9, size)], fixed=1, **k)
    s, w, b, c = np.ones((1, 4), np.int32), f(3, 1, 2, 5), f(3), f(9, 5)
    for inputs, k in (([s[:, :1], w, b, c], {}), ([s, w, b, f(9, 4)], {}), ([s, w, f(2), c], {}), ([s, w, b, c], dict(embedding_size=4))):
        yield M("WordConvEmbedding", inputs, **k)


def alignments():
    for _ in range(60):
        rows, columns = rng.integers(1, 8, 2)
        costs = f(rows, columns)
        costs[rng.random((rows, columns)) < .1] = one(np.inf, 1, np.nan)
        yield M("DynamicTimeWarping", [one(costs, costs[None], np.round(costs))])
        n, most = int(rng.integers(1, 9)), int(rng.integers(2, 5))
        start, k = int(rng.integers(0, n + 1)), one({}, dict(min_ngram_size=int(rng.integers(1, 3)), max_ngram_size=int(rng.integers(2, 5))))
        source, tokens = rng.integers(0, most, n), rng.integers(0, most, int(rng.integers(1, 6)))
        predicted = one(rng.integers(0, most, n - start + 1), np.append(source[start:], 1))
        yield M("BifurcationDetector", [source, tokens, np.array(start), predicted], 2, **k)
        yield M("BifurcationDetector", [source, tokens, np.array(start)], 2, **k)
    yield M("DynamicTimeWarping", [f(2, 3, 4)])
    source = np.array([1, 2, 3])
    for start, predicted, k in ((4, 1, {}), (-1, 5, {}), (1, 2, {}), (1, 4, {}), (0, 4, dict(min_ngram_size=0)), (0, 4, dict(min_ngram_size=4))):
        yield M("BifurcationDetector", [source, source, np.array(start), np.ones(predicted, np.int64)], 2, **k)


FAMILIES = [alignments, words, quantised, gates, fused, attentions, sparse, experts, routers, streams, positions, decoders, ragged, others]


def cases(pattern="", seed=0):
    """those whose family:operator matches; another seed draws other values, and what parameters are drawn"""
    global rng
    import re
    for family in FAMILIES:
        rng = np.random.default_rng(zlib.crc32(family.__name__.encode()) + seed)
        for c in family():
            if re.search(pattern, family.__name__ + ":" + c.op):
                yield c
