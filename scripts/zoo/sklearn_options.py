"""Options of estimators and converters: element types of the input, scores for probabilities, several targets, kinds of labels. The
rows of sklearn_models.py come before."""
import importlib
import importlib.util

import numpy as np
from skl2onnx.common.data_types import BooleanTensorType, DoubleTensorType, FloatTensorType, Int64TensorType, StringTensorType

from common import Table
from sklearn_models import COLOURS, NUMBERS, TEXTS, WORDS, X, Y2, Y3, YM, YR, classifier, fitted, model, pipe, scale, sk, table as before
from sklearn_more import HOLES, boosted, by_onnxmltools, library

first = len(before.programs)
table = before
BOTH = np.stack([Y2, (X[:, 2] > 0).astype(np.int64)], 1)
SEVERAL = np.stack([Y3, Y2], 1)
ARRAYS = {"zipmap": False}


def get(module, name):
    return getattr(importlib.import_module("sklearn." + module), name)


# ---- element types of the input ----

def typed(make, y, kind, dtype, name="X"):
    x = np.round(X * 3).astype(dtype) if np.dtype(dtype).kind in "ib" else X.astype(dtype)
    m = make()
    m.fit(x, y) if y is not None else m.fit(x)
    return m, [(name, kind([None, X.shape[1]]))], [{name: x[:7]}, {name: x[7:10]}]


for label, kind, dtype in [("f64", DoubleTensorType, np.float64), ("i64", Int64TensorType, np.int64), ("bool", BooleanTensorType, np.bool_)]:
    for n, make, y in [("logistic", sk("linear_model.LogisticRegression"), Y3), ("linear", sk("linear_model.LinearRegression"), YR), ("scaler", scale, None), ("forest", sk("ensemble.RandomForestClassifier", 5, random_state=0), Y3),
                       ("forest_regressor", sk("ensemble.RandomForestRegressor", 5, random_state=0), YR), ("tree", sk("tree.DecisionTreeClassifier", max_depth=4), Y2), ("svc", sk("svm.SVC"), Y3), ("svr", sk("svm.SVR"), YR),
                       ("mlp", sk("neural_network.MLPClassifier", (8,), max_iter=30, random_state=0), Y3), ("mlp_regressor", sk("neural_network.MLPRegressor", hidden_layer_sizes=(8, 4), max_iter=30, random_state=0), YR),
                       ("neighbours", sk("neighbors.KNeighborsClassifier", 3), Y3), ("neighbours_regressor", sk("neighbors.KNeighborsRegressor", 3), YR), ("bayes", sk("naive_bayes.GaussianNB"), Y3),
                       ("boosting", sk("ensemble.GradientBoostingClassifier", n_estimators=5), Y3), ("hist", sk("ensemble.HistGradientBoostingRegressor", max_iter=5), YR), ("pca", sk("decomposition.PCA", 2), None),
                       ("kmeans", sk("cluster.KMeans", n_clusters=3, random_state=0), None), ("discriminant", sk("discriminant_analysis.LinearDiscriminantAnalysis"), Y3), ("ada", sk("ensemble.AdaBoostClassifier", n_estimators=4, random_state=0), Y2),
                       ("polynomial", pipe(sk("preprocessing.PolynomialFeatures"), sk("linear_model.Ridge")), YR), ("isolation", sk("ensemble.IsolationForest", n_estimators=5, random_state=0), None), ("one_class", sk("svm.OneClassSVM"), None)]:
        more = {"options": ARRAYS} if hasattr(make(), "predict_proba") and n != "isolation" and y is not None else {}
        table("typed_%s_%s" % (n, label), lambda m=make, y=y, k=kind, d=dtype: typed(m, y, k, d), target={"": 17, "ai.onnx.ml": 3} if label != "f64" or n not in ("tree",) else None, **more)

# ---- options of converters ----

for n, make, y in [("logistic", sk("linear_model.LogisticRegression"), Y3), ("logistic_2", sk("linear_model.LogisticRegression"), Y2), ("svc", sk("svm.SVC"), Y3), ("svc_2", sk("svm.SVC"), Y2), ("linear_svc", sk("svm.LinearSVC"), Y3),
                   ("mlp", sk("neural_network.MLPClassifier", (6,), max_iter=30, random_state=0), Y3), ("forest", sk("ensemble.RandomForestClassifier", 4, random_state=0), Y3), ("gradient", sk("ensemble.GradientBoostingClassifier", n_estimators=4), Y3),
                   ("sgd", sk("linear_model.SGDClassifier", loss="modified_huber", random_state=0), Y3), ("ada", sk("ensemble.AdaBoostClassifier", n_estimators=4, random_state=0), Y3), ("hist", sk("ensemble.HistGradientBoostingClassifier", max_iter=4), Y3)]:
    for option in ("raw_scores", "nocl", "output_class_labels"):
        table("option_%s_%s" % (n, option), lambda m=make, y=y: fitted(m, y), options={option: True} if n == "linear_svc" or option == "nocl" else {"zipmap": False, option: True})
        table("option_%s_%s_words" % (n, option), lambda m=make, y=y: fitted(m, WORDS[y]), options={option: True} if n == "linear_svc" or option == "nocl" else {"zipmap": False, option: True})
    if n != "linear_svc":
        table("option_%s_columns" % n, lambda m=make, y=y: fitted(m, WORDS[y]), options={"zipmap": "columns"})
for n, make in [("isolation", sk("ensemble.IsolationForest", n_estimators=5, random_state=0)), ("outliers", sk("neighbors.LocalOutlierFactor", novelty=True)), ("mixture", sk("mixture.GaussianMixture", 2, random_state=0))]:
    table("option_%s_scores" % n, lambda m=make: fitted(m, None), options={"score_samples": True}, target={"": 17, "ai.onnx.ml": 3})
for kind in ["full", "tied", "diag", "spherical"]:
    table("mixture_" + kind, lambda k=kind: fitted(sk("mixture.GaussianMixture", 3, covariance_type=k, random_state=0), None), options={"score_samples": True})
    model("bayesian_mixture_" + kind, sk("mixture.BayesianGaussianMixture", n_components=2, covariance_type=kind, random_state=0), None)
table("without_classifier", lambda: fitted(sk("linear_model.LogisticRegression"), Y3), options=ARRAYS, black_op={"LinearClassifier"})
table("without_normalizer", lambda: fitted(pipe(sk("preprocessing.Normalizer"), sk("linear_model.LogisticRegression")), Y3), black_op={"LinearClassifier", "Normalizer", "Scaler"})
for ml in (1, 2, 3, 4, 5):
    for n, make, y in [("forest", sk("ensemble.RandomForestClassifier", 4, random_state=0), Y3), ("tree_regressor", sk("tree.DecisionTreeRegressor", max_depth=4), YR), ("words", sk("linear_model.LogisticRegression"), WORDS[Y3])]:
        table("ml%d_%s" % (ml, n), lambda m=make, y=y: fitted(m, y), target={"": 11 if ml < 3 else 17, "ai.onnx.ml": ml})

# ---- several targets ----

for n, make in [("forest", sk("ensemble.RandomForestClassifier", 4, random_state=0)), ("extra", sk("ensemble.ExtraTreesClassifier", 4, random_state=0)), ("tree", sk("tree.DecisionTreeClassifier", max_depth=4)), ("neighbours", sk("neighbors.KNeighborsClassifier", 3)),
                ("mlp", sk("neural_network.MLPClassifier", (6,), max_iter=30, random_state=0))]:
    table("labels_" + n, lambda m=make: fitted(m, BOTH), options=ARRAYS)
    if n != "mlp":
        table("targets_" + n, lambda m=make: fitted(m, SEVERAL), options=ARRAYS)
for n, make in [("linear", sk("linear_model.LinearRegression")), ("ridge", sk("linear_model.Ridge")), ("extra", sk("ensemble.ExtraTreesRegressor", 4, random_state=0)), ("neighbours", sk("neighbors.KNeighborsRegressor", 3)), ("mlp", sk("neural_network.MLPRegressor", hidden_layer_sizes=(6,), max_iter=30, random_state=0)),
                ("pls", sk("cross_decomposition.PLSRegression", 2)), ("bagging", sk("ensemble.BaggingRegressor", n_estimators=3, random_state=0)), ("gp", sk("gaussian_process.GaussianProcessRegressor", alpha=0.5, optimizer=None))]:
    model("targets_regressor_" + n, make, YM, d=np.float64 if n == "gp" else np.float32)
for n in ["ClassifierChain"]:
    table("chain_classifier", lambda: fitted(lambda: get("multioutput", "ClassifierChain")(sk("linear_model.LogisticRegression")()), BOTH), options=ARRAYS)

# ---- estimators in further forms ----

for n in ["logistic", "identity", "relu", "tanh"]:
    classifier("mlp_" + n, sk("neural_network.MLPClassifier", (8, 4), activation=n, max_iter=30, random_state=0), WORDS[Y3])
    model("mlp_regressor_" + n, sk("neural_network.MLPRegressor", hidden_layer_sizes=(8, 4), activation=n, max_iter=30, random_state=0))
classifier("mlp_two", sk("neural_network.MLPClassifier", (8,), max_iter=30, random_state=0), WORDS[Y2])
for q in (0.1, 0.5, 0.9):
    model("quantile_%g" % q, sk("linear_model.QuantileRegressor", quantile=q, alpha=0.01))
    model("quantile_boosting_%g" % q, sk("ensemble.GradientBoostingRegressor", loss="quantile", alpha=q, n_estimators=5))
    model("quantile_hist_%g" % q, sk("ensemble.HistGradientBoostingRegressor", loss="quantile", quantile=q, max_iter=5))
for loss in ["absolute_error", "huber"]:
    model("boosting_" + loss, sk("ensemble.GradientBoostingRegressor", loss=loss, n_estimators=5))
for loss in ["absolute_error", "poisson", "gamma"]:
    model("hist_" + loss, sk("ensemble.HistGradientBoostingRegressor", loss=loss, max_iter=5), np.abs(YR) + 0.1)
classifier("boosting_exponential", sk("ensemble.GradientBoostingClassifier", loss="exponential", n_estimators=5), Y2)
classifier("boosting_start", lambda: get("ensemble", "GradientBoostingClassifier")(init="zero", n_estimators=5), Y3)
model("boosting_start_regressor", sk("ensemble.GradientBoostingRegressor", init="zero", n_estimators=5))
model("hist_holes", sk("ensemble.HistGradientBoostingRegressor", max_iter=5, min_samples_leaf=3), YR, HOLES)
table("hist_holes_classifier", lambda: fitted(sk("ensemble.HistGradientBoostingClassifier", max_iter=5, min_samples_leaf=3), WORDS[Y3], HOLES), options=ARRAYS)
for method in ["sigmoid", "isotonic"]:
    for n, make in [("svc", sk("svm.LinearSVC")), ("forest", sk("ensemble.RandomForestClassifier", 4, random_state=0)), ("bayes", sk("naive_bayes.GaussianNB"))]:
        for k, y in [(2, Y2), (3, WORDS[Y3])]:
            classifier("calibrated_%s_%s_%d" % (method, n, k), lambda m=make, how=method: get("calibration", "CalibratedClassifierCV")(m(), cv=2, method=how), y)


def pair():
    return [("a", sk("linear_model.LogisticRegression")()), ("b", sk("ensemble.RandomForestClassifier", 4, random_state=0)()), ("c", sk("naive_bayes.GaussianNB")())]


for how in ["soft", "hard"]:
    for weights in [None, [0.2, 0.3, 0.5]]:
        classifier("voting_flat_%s%s" % (how, "_weighted" if weights else ""), lambda h=how, w=weights: get("ensemble", "VotingClassifier")(pair(), voting=h, weights=w, flatten_transform=False), WORDS[Y3])
for how in ["auto", "predict_proba", "predict"]:
    classifier("stacking_" + how, lambda h=how: get("ensemble", "StackingClassifier")(pair(), stack_method=h, cv=2), WORDS[Y3])
classifier("stacking_passthrough", lambda: get("ensemble", "StackingClassifier")(pair(), passthrough=True, cv=2), Y3)
model("stacking_regressor_passthrough", lambda: get("ensemble", "StackingRegressor")([("a", sk("linear_model.Ridge")()), ("b", sk("ensemble.ExtraTreesRegressor", 4, random_state=0)())], passthrough=True, cv=2))
for n, base in [("svc", sk("svm.SVC", probability=True, random_state=0)), ("mlp", sk("neural_network.MLPClassifier", (5,), max_iter=20, random_state=0)), ("logistic", sk("linear_model.LogisticRegression"))]:
    classifier("bagging_" + n, lambda b=base: get("ensemble", "BaggingClassifier")(b(), n_estimators=3, random_state=0), WORDS[Y3])
    classifier("one_vs_rest_" + n, lambda b=base: get("multiclass", "OneVsRestClassifier")(b()), WORDS[Y3])
    classifier("one_vs_one_" + n, lambda b=base: get("multiclass", "OneVsOneClassifier")(b()), Y3)
classifier("bagging_features", lambda: get("ensemble", "BaggingClassifier")(sk("tree.DecisionTreeClassifier", max_depth=3)(), n_estimators=3, max_features=0.6, bootstrap_features=True, random_state=0), Y3)
classifier("ada_deep", lambda: get("ensemble", "AdaBoostClassifier")(sk("tree.DecisionTreeClassifier", max_depth=3)(), n_estimators=4, random_state=0), WORDS[Y3])
for loss in ["linear", "square", "exponential"]:
    model("ada_regressor_" + loss, sk("ensemble.AdaBoostRegressor", n_estimators=4, loss=loss, random_state=0))
for shape in ["ovo", "ovr"]:
    for kernel in ["rbf", "poly"]:
        table("svc_%s_%s" % (kernel, shape), lambda k=kernel, s=shape: fitted(sk("svm.SVC", kernel=k, decision_function_shape=s, coef0=0.5, degree=2), WORDS[Y3]), options={"zipmap": False, "raw_scores": True})
classifier("nu_svc_3", sk("svm.NuSVC", nu=0.2, kernel="poly", probability=True, random_state=0), WORDS[Y3])
for weights in ["uniform", "distance"]:
    for p in (1, 2, 3):
        classifier("neighbours_%s_%d" % (weights, p), sk("neighbors.KNeighborsClassifier", 4, weights=weights, p=p), WORDS[Y3])
        table("neighbours_cdist_%s_%d" % (weights, p), lambda w=weights, p=p: fitted(sk("neighbors.KNeighborsRegressor", 4, weights=w, p=p), YR), options={"optim": "cdist"})
classifier("radius_classifier", sk("neighbors.RadiusNeighborsClassifier", 6.0), Y3)
classifier("centroid", sk("neighbors.NearestCentroid"), Y3)
for k, kernel in enumerate(["RBF([1.0, 2.0, 1.5, 1.0, 0.7])", "Matern(1.5, nu=0.5)", "Matern(1.5, nu=1.5)", "RationalQuadratic(1.2, 0.7) + ConstantKernel(0.5)", "RBF(1.0) * DotProduct(0.5)", "RBF(1.0) ** 2", "PairwiseKernel(metric='cosine')"]):
    def process(kernel=kernel):
        from sklearn.gaussian_process import GaussianProcessRegressor, kernels
        return GaussianProcessRegressor(eval(kernel, vars(kernels)), alpha=0.5, optimizer=None, normalize_y=True)
    model("gaussian_further_%d" % k, process, d=np.float64)
for kernel in ["linear", "poly", "rbf", "sigmoid", "cosine"]:
    model("kernel_pca_" + kernel, sk("decomposition.KernelPCA", 2, kernel=kernel), None, tol=1e-3)
for encode in ["onehot-dense", "ordinal"]:
    for strategy in ["uniform", "quantile", "kmeans"]:
        model("bins_%s_%s" % (encode[:3], strategy), sk("preprocessing.KBinsDiscretizer", n_bins=4, encode=encode, strategy=strategy), None)
for method in ["yeo-johnson", "box-cox"]:
    model("power_" + method[:3], sk("preprocessing.PowerTransformer", method=method), None, np.abs(X) + 0.1 if method == "box-cox" else X)
for strategy in ["mean", "median", "most_frequent", "constant"]:
    model("imputer_" + strategy, sk("impute.SimpleImputer", strategy=strategy), None, HOLES)
for norm in ["l1", "l2", "max"]:
    model("normalizer_" + norm, sk("preprocessing.Normalizer", norm=norm), None)
model("robust_quantiles", sk("preprocessing.RobustScaler", quantile_range=(10, 90), with_centering=False), None)
model("min_max_clipped", sk("preprocessing.MinMaxScaler", feature_range=(-1, 2), clip=True), None)
for degree, more in [(3, {}), (2, {"interaction_only": True}), (2, {"include_bias": False})]:
    model("polynomial_%d_%s" % (degree, "_".join(more)), sk("preprocessing.PolynomialFeatures", degree, **more), None)
model("pca_whitened", sk("decomposition.PCA", 3, whiten=True), None)
model("kmeans_sizes", sk("cluster.MiniBatchKMeans", n_clusters=4, random_state=0, n_init=1), None)
model("bisecting", sk("cluster.BisectingKMeans", n_clusters=3, random_state=0), None)
model("nystroem", sk("kernel_approximation.Nystroem", n_components=4, random_state=0), None)
model("sparse_projection", sk("random_projection.SparseRandomProjection", n_components=3, random_state=0), None)

# ---- categories and text ----


def strings(make, y=None, unknown=False):
    m = make()
    m.fit(COLOURS, y) if y is not None else m.fit(COLOURS)
    second = COLOURS[3:5].copy()
    if unknown:
        second[0, 0] = "violet"
    return m, [("S", StringTensorType([None, 2]))], [{"S": COLOURS[:4]}, {"S": second}]


for drop in ["first", "if_binary"]:
    table("one_hot_drop_" + drop, lambda d=drop: strings(sk("preprocessing.OneHotEncoder", drop=d)))
table("one_hot_unknown", lambda: strings(sk("preprocessing.OneHotEncoder", handle_unknown="ignore"), unknown=True))
table("one_hot_infrequent", lambda: strings(sk("preprocessing.OneHotEncoder", min_frequency=5, handle_unknown="infrequent_if_exist")))
table("ordinal_unknown", lambda: strings(sk("preprocessing.OrdinalEncoder", handle_unknown="use_encoded_value", unknown_value=-1), unknown=True))
table("one_hot_dense", lambda: strings(sk("preprocessing.OneHotEncoder", sparse_output=False, dtype=np.float32)))
table("target_encoder_strings", lambda: strings(sk("preprocessing.TargetEncoder", random_state=0), np.arange(20) % 3 * 1.5))
table("one_hot_logistic", lambda: strings(pipe(sk("preprocessing.OneHotEncoder"), sk("linear_model.LogisticRegression")), WORDS[np.arange(20) % 3]))
table("one_hot_forest", lambda: strings(pipe(sk("preprocessing.OneHotEncoder"), sk("ensemble.RandomForestClassifier", 4, random_state=0)), np.arange(20) % 3), options=None)
table("ordinal_hist", lambda: strings(pipe(sk("preprocessing.OrdinalEncoder"), sk("ensemble.HistGradientBoostingRegressor", max_iter=4, min_samples_leaf=2)), np.arange(20) % 3))


def mixed(final, y):
    """Numbers with holes, whole numbers, words and text into one estimator."""
    import pandas
    from sklearn.compose import ColumnTransformer
    frame = pandas.DataFrame({"a": HOLES[:18, 0], "b": X[:18, 1], "c": COLOURS[:18, 0], "d": NUMBERS[:18, 0], "t": TEXTS[:, 0]})
    m = get("pipeline", "make_pipeline")(ColumnTransformer([
        ("n", pipe(sk("impute.SimpleImputer", strategy="median"), scale)(), ["a", "b"]), ("s", sk("preprocessing.OneHotEncoder", handle_unknown="ignore")(), ["c", "d"]),
        ("t", sk("feature_extraction.text.TfidfVectorizer")(), "t")], sparse_threshold=0), final())
    m.fit(frame.astype({"d": str}), y)
    types = [("a", FloatTensorType([None, 1])), ("b", FloatTensorType([None, 1])), ("c", StringTensorType([None, 1])), ("d", StringTensorType([None, 1])), ("t", StringTensorType([None, 1]))]
    call = lambda s: {"a": HOLES[s, :1], "b": X[s, 1:2], "c": COLOURS[s, :1], "d": NUMBERS[s, :1].astype(str).astype(object), "t": TEXTS[s].astype(object)}  # noqa: E731
    return m, types, [call(slice(0, 4)), call(slice(4, 6))], frame[:4].astype({"d": str})


table("mixed_logistic", lambda: mixed(sk("linear_model.LogisticRegression"), WORDS[np.arange(18) % 3]))
table("mixed_forest", lambda: mixed(sk("ensemble.RandomForestRegressor", 4, random_state=0), np.arange(18) % 5 * 1.0))


def text(make, y=None):
    m = make()
    m.fit(TEXTS.ravel(), y) if y is not None else m.fit(TEXTS.ravel())
    return m, [("S", StringTensorType([None, 1]))], [{"S": TEXTS[:4].astype(object)}, {"S": TEXTS[4:6].astype(object)}], TEXTS[:4].ravel()


for n, more in [("trigrams", {"ngram_range": (1, 3)}), ("only_bigrams", {"ngram_range": (2, 2)}), ("char_ngrams", {"analyzer": "char", "ngram_range": (1, 3)}), ("char_wb", {"analyzer": "char_wb", "ngram_range": (2, 3)}), ("vocabulary", {"vocabulary": ["cat", "dog", "mouse"]}),
                ("few", {"max_features": 4}), ("frequency", {"min_df": 2, "max_df": 0.9}), ("accents", {"strip_accents": "unicode"}), ("letters", {"token_pattern": "[a-z]+"})]:
    for kind in ["CountVectorizer", "TfidfVectorizer"]:
        table("%s_%s" % (kind[:5].lower(), n), lambda k=kind, m=more: text(sk("feature_extraction.text." + k, **m)))
table("text_svm", lambda: text(pipe(sk("feature_extraction.text.TfidfVectorizer", ngram_range=(1, 2)), sk("svm.LinearSVC")), WORDS[np.arange(18) % 3]))
table("text_forest", lambda: text(pipe(sk("feature_extraction.text.CountVectorizer"), sk("ensemble.RandomForestClassifier", 4, random_state=0)), WORDS[np.arange(18) % 3]))
table("text_svd", lambda: text(pipe(sk("feature_extraction.text.TfidfVectorizer"), sk("decomposition.TruncatedSVD", 3, random_state=0), sk("linear_model.LogisticRegression")), np.arange(18) % 2))
table("text_mlp", lambda: text(pipe(sk("feature_extraction.text.TfidfVectorizer", norm=None, use_idf=False), sk("neural_network.MLPClassifier", (4,), max_iter=20, random_state=0)), np.arange(18) % 3))

# ---- boosted trees ----

if importlib.util.find_spec("onnxmltools") and importlib.util.find_spec("xgboost"):
    for n, kind, more, y, x in [("softmax", "XGBClassifier", {"objective": "multi:softmax"}, Y3, X), ("softprob", "XGBClassifier", {"objective": "multi:softprob"}, Y3, HOLES), ("gamma", "XGBRegressor", {"objective": "reg:gamma"}, np.abs(YR) + 0.1, X),
                                ("tweedie", "XGBRegressor", {"objective": "reg:tweedie"}, np.abs(YR) + 0.1, X), ("absolute", "XGBRegressor", {"objective": "reg:absoluteerror"}, YR, X), ("squared_log", "XGBRegressor", {"objective": "reg:squaredlogerror"}, np.abs(YR), X),
                                ("huber", "XGBRegressor", {"objective": "reg:pseudohubererror"}, YR, X), ("dart", "XGBClassifier", {"booster": "dart", "rate_drop": 0.3}, Y3, X), ("forest_several", "XGBClassifier", {"num_parallel_tree": 3}, Y3, X),
                                ("base", "XGBRegressor", {"base_score": 2.5}, YR, X), ("base_2", "XGBClassifier", {"base_score": 0.7}, Y2, X), ("lossguide", "XGBRegressor", {"grow_policy": "lossguide", "max_leaves": 5, "tree_method": "hist"}, YR, HOLES),
                                ("raw", "XGBClassifier", {"objective": "binary:logitraw"}, Y2, X), ("quantile", "XGBRegressor", {"objective": "reg:quantileerror", "quantile_alpha": 0.3}, YR, X), ("linear", "XGBRegressor", {"booster": "gblinear"}, YR, X),
                                ("early", "XGBClassifier", {"n_jobs": 1, "reg_lambda": 3.0, "subsample": 0.8}, Y3, X)]:
        more = dict({"max_depth": 4} if more.get("booster") != "gblinear" else {}, **more)
        table("xgboost_more_" + n, lambda kind=kind, more=more, y=y, x=x: boosted(by_onnxmltools("xgboost"), library("xgboost", kind, n_estimators=6, **more), y, x))
if importlib.util.find_spec("onnxmltools") and importlib.util.find_spec("lightgbm"):
    whole = np.concatenate([X[:, :3], np.abs(np.round(X[:, 3:] * 3))], 1).astype(np.float32)
    for n, kind, more, y, x in [("gamma", "LGBMRegressor", {"objective": "gamma"}, np.abs(YR) + 0.1, X), ("tweedie", "LGBMRegressor", {"objective": "tweedie"}, np.abs(YR) + 0.1, X), ("huber", "LGBMRegressor", {"objective": "huber"}, YR, X),
                                ("mape", "LGBMRegressor", {"objective": "mape"}, YR + 9, X), ("l1", "LGBMRegressor", {"objective": "l1"}, YR, X), ("fair", "LGBMRegressor", {"objective": "fair"}, YR, X), ("cross", "LGBMRegressor", {"objective": "cross_entropy"}, Y2, X),
                                ("goss", "LGBMClassifier", {"data_sample_strategy": "goss"}, Y3, X), ("dart_3", "LGBMClassifier", {"boosting_type": "dart"}, WORDS[Y3], X), ("unbalanced", "LGBMClassifier", {"is_unbalance": True}, Y2, X), ("zero", "LGBMRegressor", {"zero_as_missing": True}, YR, np.where(np.abs(X) < 0.4, 0, X).astype(np.float32)),
                                ("holes_3", "LGBMClassifier", {}, Y3, HOLES), ("no_missing", "LGBMRegressor", {"use_missing": False}, YR, X), ("categories", "LGBMRegressor", {"categorical_feature": [3, 4], "min_data_per_group": 1, "cat_smooth": 0.1}, YR, whole),
                                ("categories_3", "LGBMClassifier", {"categorical_feature": [3, 4], "min_data_per_group": 1, "cat_smooth": 0.1}, Y3, whole), ("extra", "LGBMRegressor", {"extra_trees": True}, YR, X), ("forest_regressor", "LGBMRegressor", {"boosting_type": "rf", "bagging_freq": 1, "bagging_fraction": 0.7}, YR, X)]:
        table("lightgbm_more_" + n, lambda kind=kind, more=more, y=y, x=x: boosted(by_onnxmltools("lightgbm"), library("lightgbm", kind, n_estimators=6, min_child_samples=3, verbose=-1, **more), y, x))

table = Table()
table.programs = before.programs[first:]
del before.programs[first:]
