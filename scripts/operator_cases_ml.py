"""The cases of ai.onnx.ml for compare_operators.py."""
import itertools
import numpy as np

rng = None


def classical():
    from operator_cases import Case, values, f
    ML = lambda op, ins, nout=1, **a: Case(op, ins, nout, domain="ai.onnx.ml", **a)
    S = lambda *a: np.array(a, dtype=object)
    for t in (np.float32, np.float64, np.int32, np.int64):
        for th in (None, 0., 1., -1.):
            yield ML("Binarizer", [values(t, 3, 4)], **({} if th is None else dict(threshold=th)))
        for n in (1, 4):
            yield ML("Scaler", [values(t, 3, 4)], scale=[float(v) for v in f(n)], offset=[float(v) for v in f(n)])
        for norm in (None, "MAX", "L1", "L2"):
            yield ML("Normalizer", [values(t, 3, 4)], **({} if norm is None else dict(norm=norm)))
        yield ML("ArrayFeatureExtractor", [values(t, 3, 4), np.array([[2, 0, 0]])])
        yield ML("ArrayFeatureExtractor", [values(t, 4), np.array([3])])
        yield ML("OneHotEncoder", [values(t, 3, 2, lo=0, hi=3).round().astype(t)], cats_int64s=[0, 2, 1], zeros=1)
        yield ML("OneHotEncoder", [values(t, 3, lo=0, hi=2).round().astype(t)], cats_int64s=[0, 2, 1], zeros=0) if False else ML("OneHotEncoder", [np.array([0, 2, 1], t)], cats_int64s=[0, 2, 1], zeros=0)
        yield ML("FeatureVectorizer", [values(t, 3, 2), values(t, 3, 4)], inputdimensions=[2, 4])
        for pt, n in itertools.product((None, "NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO"), (1, 2, 3)):
            p = {} if pt is None else dict(post_transform=pt)
            yield ML("LinearRegressor", [values(t, 5, 4)], coefficients=[float(v) for v in f(4 * n)], intercepts=[float(v) for v in f(n)], targets=n, **p)
            yield ML("LinearRegressor", [values(t, 5, 4)], coefficients=[float(v) for v in f(4 * n)], targets=n, **p)
            for lab in (dict(classlabels_ints=[5, 7, 9][: max(n, 2)]), dict(classlabels_strings=["a", "b", "c"][: max(n, 2)])):
                yield ML("LinearClassifier", [values(t, 5, 4)], 2, coefficients=[float(v) for v in f(4 * n)], intercepts=[float(v) for v in f(n)], **lab, **p)
                yield ML("LinearClassifier", [values(t, 5, 4)], 2, coefficients=[float(v) for v in f(4 * n)], intercepts=[float(v) for v in f(n)], multi_class=1, **lab, **p)
    yield ML("OneHotEncoder", [S("a", "x", "b")], cats_strings=["a", "b"])
    yield ML("Imputer", [np.float32([[1, np.nan], [3, 4]])], imputed_value_floats=[9.], replaced_value_float=float("nan"))
    yield ML("Imputer", [np.float32([[1, np.nan], [3, 4]])], imputed_value_floats=[9., 8.], replaced_value_float=3.)
    yield ML("Imputer", [np.array([[1, 2], [3, 4]])], imputed_value_int64s=[9, 8], replaced_value_int64=3)
    yield ML("CategoryMapper", [S("a", "z", "b")], cats_strings=["a", "b"], cats_int64s=[3, 5], default_int64=-7)
    yield ML("CategoryMapper", [np.array([3, 9, 5])], cats_strings=["a", "b"], cats_int64s=[3, 5], default_string="none")
    kinds = {"strings": (["a", "bc", "d"], S("a", "d", "q", "bc"), "default_string", "dd"), "int64s": ([1, 5, 7], np.array([7, 2, 1, 5]), "default_int64", -4), "floats": ([1.5, 2.5, float("nan")], np.float32([2.5, np.nan, 1.5, 9]), "default_float", .25)}
    for (a, (ka, x, _, _)), (b, (kb, _, dn, dv)) in itertools.product(kinds.items(), kinds.items()):
        for shape in ((4,), (2, 2)):
            yield ML("LabelEncoder", [x.reshape(shape)], **{"keys_" + a: ka, "values_" + b: [0. if isinstance(v, float) and v != v else v for v in kb]})
            yield ML("LabelEncoder", [x.reshape(shape)], **{"keys_" + a: ka, "values_" + b: [0. if isinstance(v, float) and v != v else v for v in kb], dn: dv})
    yield ML("LabelEncoder", [S("a", "b", "z")], classes_strings=["a", "b"], default_int64=-3)
    yield ML("LabelEncoder", [np.array([0, 1, 5])], classes_strings=["a", "b"], default_string="no")
    from onnx import helper
    for x, (kt, kv), (vt, vv) in itertools.product((np.array([1, 2, 3]), np.float64([1.5, 2, np.nan]), S("a", "b", "q"), np.int32([1, 2, 3])),
                                                   ((7, [1, 2]), (11, [1.5, 2]), (8, [b"a", b"b"]), (6, [1, 2])), ((1, [.5, .25]), (7, [10, 20]), (8, [b"u", b"v"]), (11, [.5, .25]), (5, [3, 4]))):
        default = helper.make_tensor("d", vt, [1], [b"?"] if vt == 8 else [-1])
        yield ML("LabelEncoder", [x], keys_tensor=helper.make_tensor("k", kt, [2], kv), values_tensor=helper.make_tensor("v", vt, [2], vv), default_tensor=default)
        yield ML("LabelEncoder", [x], keys_tensor=helper.make_tensor("k", kt, [2], kv), values_tensor=helper.make_tensor("v", vt, [2], vv))
    yield from trees(ML, values, f)
    for kt, oc, pt, t in itertools.product((None, "LINEAR", "POLY", "RBF", "SIGMOID"), (0, 1), (None, "LOGISTIC"), (np.float32, np.float64, np.int64)):
        a = {k: v for k, v in (("kernel_type", kt), ("post_transform", pt)) if v is not None}
        yield ML("SVMRegressor", [values(t, 5, 4)], kernel_params=[.5, .1, 3.], support_vectors=[float(v) for v in f(24)], coefficients=[float(v) for v in f(6)], rho=[.3], n_supports=6, one_class=oc, **a)
        for C, prob in itertools.product((2, 3), (0, 1)):
            P = C * (C - 1) // 2
            k = dict(prob_a=[-.5] * P, prob_b=[.1] * P) if prob else {}
            yield ML("SVMClassifier", [values(t, 5, 4)], 2, kernel_params=[.5, .1, 3.], support_vectors=[float(v) for v in f(8 * C)], coefficients=[float(v) for v in f((C - 1) * 2 * C)], rho=[float(v) for v in f(P)],
                     vectors_per_class=[2] * C, classlabels_ints=[5, 7, 9][:C], tol=(1e-3, 1e-4), **k, **a)


MODES = ["BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ"]


def grow(prefix, ntrees, features, targets, mode, tracks):
    a = {k: [] for k in "treeids nodeids featureids values modes truenodeids falsenodeids".split()}
    w = {k: [] for k in "treeids nodeids ids weights".split()}
    nan = []
    for t in range(ntrees):
        for i in range(7):
            leaf = i > 2
            row = dict(treeids=t, nodeids=i, featureids=0 if leaf else int(rng.integers(features)), values=0. if leaf else float(rng.integers(-2, 3)),
                       modes="LEAF" if leaf else (mode or MODES[rng.integers(6)]), truenodeids=0 if leaf else 2 * i + 1, falsenodeids=0 if leaf else 2 * i + 2)
            for k, v in row.items():
                a[k].append(v)
            nan.append(0 if leaf else int(rng.integers(2)))
            if leaf:
                for c in range(targets) if rng.random() < .3 else [int(rng.integers(targets))]:
                    for k, v in (("treeids", t), ("nodeids", i), ("ids", c), ("weights", float(np.float32(rng.standard_normal())))):
                        w[k].append(v)
    r = {"nodes_" + k: v for k, v in a.items()}
    r.update({prefix + "_" + k: v for k, v in w.items()})
    if tracks:
        r["nodes_missing_value_tracks_true"] = nan
    return r


def trees(ML, values, f):
    from onnx import helper, numpy_helper
    for mode, tracks, t in itertools.product([None] + MODES, (0, 1), (np.float32, np.float64, np.int64)):
        x = values(t, 9, 4, lo=-3, hi=3)
        if t is not np.int64:
            x = np.round(x).astype(t)
            x[::3, 1] = np.nan
        for agg, base, n, pt in itertools.product((None, "SUM", "AVERAGE", "MIN", "MAX"), (0, 1), (1, 3), (None, "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")):
            if rng.random() < .9 or pt == "PROBIT" and agg:
                continue
            k = grow("target", 5, 4, n, mode, tracks)
            if base:
                k["base_values"] = [float(v) for v in f(n)]
            yield ML("TreeEnsembleRegressor", [x], n_targets=n, **k, **{n_: v for n_, v in (("aggregate_function", agg), ("post_transform", pt)) if v})
        for C, base, pt, s in itertools.product((2, 3), (0, 1), (None, "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO"), (0, 1)):
            if rng.random() < .8:
                continue
            k = grow("class", 5, 4, C, mode, tracks)
            if base:
                k["base_values"] = [float(v) for v in f(C)]
            lab = dict(classlabels_strings=["a", "b", "c"][:C]) if s else dict(classlabels_int64s=[5, 7, 9][:C])
            yield ML("TreeEnsembleClassifier", [x], 2, **lab, **k, **({} if pt is None else dict(post_transform=pt)))
    for t, agg, pt, n, mode, tracks in itertools.product((np.float32, np.float64, np.float16), (None, 0, 1, 2, 3), (None, 0, 1, 2, 3), (1, 2), (None, 0, 1, 2, 3, 4, 5, 6), (0, 1)):
        if rng.random() < .9:
            continue
        P = lambda name, v, tt=t: numpy_helper.from_array(np.asarray(v, tt), name)
        modes = np.uint8([mode if mode is not None else rng.integers(6) for _ in range(3)])
        x = np.round(values(t, 9, 3)).astype(t)
        x[::4, 0] = np.nan
        a = dict(n_targets=n, tree_roots=[0], nodes_featureids=[0, 2, 1], nodes_splits=P("s", [0, 1, -1]), nodes_modes=numpy_helper.from_array(modes, "m"),
                 nodes_truenodeids=[1, 0, 2], nodes_trueleafs=[0, 1, 1], nodes_falsenodeids=[2, 1, 3], nodes_falseleafs=[0, 1, 1],
                 leaf_targetids=[0, n - 1, 0, n - 1], leaf_weights=P("w", f(4)))
        if 6 in modes:
            a.update(nodes_modes=numpy_helper.from_array(np.uint8([6, 0, 1]), "m"), membership_values=P("mv", [1, 2, -3, np.nan][:4]))
        if tracks:
            a["nodes_missing_value_tracks_true"] = [1, 0, 1]
        if rng.random() < .5:
            a["nodes_hitrates"] = P("h", [1, 1, 1])
        yield ML("TreeEnsemble", [x], **a, **{k: v for k, v in (("aggregate_function", agg), ("post_transform", pt)) if v is not None})
