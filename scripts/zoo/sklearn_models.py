"""Fitted models of scikit-learn: (model, initial types, inputs of each run[, what scikit-learn predicts from])."""
import numpy as np
from skl2onnx.common.data_types import DoubleTensorType, FloatTensorType, Int64TensorType, StringTensorType

from common import Table

table = Table()
rng = np.random.default_rng(4)
X = rng.standard_normal((80, 5)).astype(np.float32)
Y2 = (X[:, 0] + X[:, 1] ** 2 > 0.5).astype(np.int64)
Y3 = np.digitize(X[:, 0] + X[:, 1], [-0.6, 0.6])
WORDS = np.array(["no", "maybe", "yes"])
YR = (X @ np.array([1, -2, 0.5, 0, 1]) + np.sin(X[:, 0])).astype(np.float32)
YM = np.stack([YR, YR ** 2, X[:, 0]], 1)


def matrix(d):
    kind = DoubleTensorType if d == np.float64 else FloatTensorType
    return [("X", kind([None, X.shape[1]]))]


def fitted(make, y=Y2, x=X, d=np.float32):
    m = make()
    m.fit(x, y) if y is not None else m.fit(x)
    return m, matrix(d), [{"X": x[:7].astype(d)}, {"X": x[7:10].astype(d)}]


def classifier(name, make, y=Y2, **options):
    table(name, lambda: fitted(make, y), **options)
    table(name + "_arrays", lambda: fitted(make, y), options=dict({"zipmap": False}, **options.get("options", {})), **{k: v for k, v in options.items() if k != "options"})


def model(name, make, y=YR, x=X, d=np.float32, **options):
    table(name, lambda: fitted(make, y, x, d), **options)


def sk(path, *args, **kwargs):
    def make():
        import importlib
        module, name = path.rsplit(".", 1)
        return getattr(importlib.import_module("sklearn." + module), name)(*args, **kwargs)
    return make


def pipe(*steps, **kwargs):
    def make():
        from sklearn.pipeline import make_pipeline
        return make_pipeline(*[s() for s in steps])
    return make


scale = sk("preprocessing.StandardScaler")

classifier("logistic", sk("linear_model.LogisticRegression"))
classifier("logistic_3", sk("linear_model.LogisticRegression"), Y3)
classifier("logistic_words", sk("linear_model.LogisticRegression"), WORDS[Y3])
table("logistic_columns", lambda: fitted(sk("linear_model.LogisticRegression"), Y3), options={"zipmap": "columns"})
table("logistic_raw", lambda: fitted(sk("linear_model.LogisticRegression"), Y3), options={"zipmap": False, "raw_scores": True})
table("logistic_output_class", lambda: fitted(sk("linear_model.LogisticRegression"), Y3), options={"zipmap": False, "output_class_labels": True})
table("logistic_opsets", lambda: fitted(sk("linear_model.LogisticRegression"), Y3), options={"zipmap": False}, opsets=(9, 11, 13, 15, 17, 19, 21))
classifier("ridge_classifier", sk("linear_model.RidgeClassifier"), Y3)
classifier("sgd_classifier", sk("linear_model.SGDClassifier", loss="log_loss", random_state=0), Y3)
classifier("perceptron", sk("linear_model.Perceptron"))
classifier("linear_svc", sk("svm.LinearSVC"), Y3)
for kernel in ["linear", "rbf", "poly", "sigmoid"]:
    classifier("svc_" + kernel, sk("svm.SVC", kernel=kernel), Y3)
    model("svr_" + kernel, sk("svm.SVR", kernel=kernel))
classifier("svc_probabilities", sk("svm.SVC", probability=True, random_state=0))
classifier("svc_probabilities_3", sk("svm.SVC", probability=True, random_state=0), WORDS[Y3])
classifier("nu_svc", sk("svm.NuSVC", nu=0.3))
model("one_class_svm", sk("svm.OneClassSVM"), None)
model("nu_svr", sk("svm.NuSVR"))
classifier("decision_tree", sk("tree.DecisionTreeClassifier", max_depth=4), Y3)
table("decision_tree_path", lambda: fitted(sk("tree.DecisionTreeClassifier", max_depth=4), Y3), options={"zipmap": False, "decision_path": True})
table("decision_tree_leaf", lambda: fitted(sk("tree.DecisionTreeClassifier", max_depth=4), Y3), options={"zipmap": False, "decision_leaf": True})
model("decision_tree_regressor", sk("tree.DecisionTreeRegressor", max_depth=4))
model("decision_tree_several", sk("tree.DecisionTreeRegressor", max_depth=4), YM)
model("decision_tree_double", sk("tree.DecisionTreeRegressor", max_depth=4), d=np.float64)
classifier("random_forest", sk("ensemble.RandomForestClassifier", 8, random_state=0), Y3)
model("random_forest_regressor", sk("ensemble.RandomForestRegressor", 8, random_state=0))
model("random_forest_several", sk("ensemble.RandomForestRegressor", 8, random_state=0), YM)
classifier("extra_trees", sk("ensemble.ExtraTreesClassifier", 8, random_state=0))
model("extra_trees_regressor", sk("ensemble.ExtraTreesRegressor", 8, random_state=0))
classifier("gradient_boosting", sk("ensemble.GradientBoostingClassifier", n_estimators=8), Y3)
classifier("gradient_boosting_2", sk("ensemble.GradientBoostingClassifier", n_estimators=8))
model("gradient_boosting_regressor", sk("ensemble.GradientBoostingRegressor", n_estimators=8))
classifier("hist_boosting", sk("ensemble.HistGradientBoostingClassifier", max_iter=8), Y3)
model("hist_boosting_regressor", sk("ensemble.HistGradientBoostingRegressor", max_iter=8))
classifier("ada_boost", sk("ensemble.AdaBoostClassifier", n_estimators=5, random_state=0), Y3)
model("ada_boost_regressor", sk("ensemble.AdaBoostRegressor", n_estimators=5, random_state=0))
classifier("bagging", sk("ensemble.BaggingClassifier", n_estimators=4, random_state=0), Y3)
model("bagging_regressor", sk("ensemble.BaggingRegressor", n_estimators=4, random_state=0))
model("isolation_forest", sk("ensemble.IsolationForest", n_estimators=6, random_state=0), None, target={"": 17, "ai.onnx.ml": 3})
for how in ["soft", "hard"]:
    classifier("voting_" + how, lambda how=how: __import__("sklearn.ensemble").ensemble.VotingClassifier([("a", sk("linear_model.LogisticRegression")()), ("b", sk("tree.DecisionTreeClassifier", max_depth=3)())], voting=how), Y3)
model("voting_regressor", lambda: __import__("sklearn.ensemble").ensemble.VotingRegressor([("a", sk("linear_model.LinearRegression")()), ("b", sk("tree.DecisionTreeRegressor", max_depth=3)())]))
classifier("stacking", lambda: __import__("sklearn.ensemble").ensemble.StackingClassifier([("a", sk("linear_model.LogisticRegression")()), ("b", sk("tree.DecisionTreeClassifier", max_depth=3)())]), Y3)
model("stacking_regressor", lambda: __import__("sklearn.ensemble").ensemble.StackingRegressor([("a", sk("linear_model.LinearRegression")()), ("b", sk("tree.DecisionTreeRegressor", max_depth=3)())]))
for metric in ["euclidean", "manhattan", "chebyshev", "minkowski", "cosine"]:
    classifier("neighbours_" + metric, sk("neighbors.KNeighborsClassifier", 3, metric=metric), Y3, opsets=(17,))
model("neighbours_regressor", sk("neighbors.KNeighborsRegressor", 3, weights="distance"))
table("neighbours_cdist", lambda: fitted(sk("neighbors.KNeighborsRegressor", 3), YR), options={"optim": "cdist"})
model("radius_neighbours", sk("neighbors.RadiusNeighborsRegressor", 3.0))
model("nearest_neighbours", sk("neighbors.NearestNeighbors", n_neighbors=2), None)
model("local_outliers", sk("neighbors.LocalOutlierFactor", novelty=True), None)
model("knn_imputer", sk("impute.KNNImputer", n_neighbors=2), None, np.where(rng.random(X.shape) < 0.1, np.nan, X).astype(np.float32))
classifier("gaussian_bayes", sk("naive_bayes.GaussianNB"), Y3)
classifier("bernoulli_bayes", sk("naive_bayes.BernoulliNB"), Y3)
for n in ["Multinomial", "Complement"]:
    classifier(n.lower() + "_bayes", pipe(sk("preprocessing.MinMaxScaler"), sk("naive_bayes.%sNB" % n)), Y3)
classifier("linear_discriminant", sk("discriminant_analysis.LinearDiscriminantAnalysis"), Y3)
classifier("quadratic_discriminant", sk("discriminant_analysis.QuadraticDiscriminantAnalysis"), Y3)
classifier("mlp_classifier", sk("neural_network.MLPClassifier", (8,), max_iter=30, random_state=0), Y3)
model("mlp_regressor", sk("neural_network.MLPRegressor", hidden_layer_sizes=(8, 4), max_iter=30, random_state=0, activation="tanh"))
for n in ["LinearRegression", "Ridge", "Lasso", "ElasticNet", "BayesianRidge", "HuberRegressor", "SGDRegressor", "Lars", "OrthogonalMatchingPursuit", "TheilSenRegressor", "RANSACRegressor", "PoissonRegressor", "GammaRegressor", "TweedieRegressor", "ARDRegression", "QuantileRegressor", "PassiveAggressiveRegressor"]:
    model("linear_" + n, sk("linear_model." + n), np.abs(YR) + 0.1 if n[:2] in ("Po", "Ga", "Tw") else YR)
for k, kernel in enumerate(["None", "RBF(1.5)", "RBF(1.5) + WhiteKernel(0.1)", "ConstantKernel(2.0) * RBF(2.0)", "Matern(1.5, nu=2.5)", "RationalQuadratic()", "DotProduct(1.0)", "ExpSineSquared()"]):
    def gp(kernel=kernel):
        from sklearn.gaussian_process import GaussianProcessRegressor, kernels
        return GaussianProcessRegressor(eval(kernel, vars(kernels)), alpha=0.5, optimizer=None)
    model("gaussian_process_%d" % k, gp, d=np.float64)
model("gaussian_process_float", sk("gaussian_process.GaussianProcessRegressor", alpha=0.5, optimizer=None))
table("gaussian_process_std", lambda: fitted(sk("gaussian_process.GaussianProcessRegressor", alpha=0.5, optimizer=None), YR, X, np.float64), options={"return_std": True}, tol=1e-3)
classifier("gaussian_process_classifier", sk("gaussian_process.GaussianProcessClassifier", optimizer=None))
model("kernel_pca", sk("decomposition.KernelPCA", 2, kernel="rbf"), None, tol=1e-3)
for path in ["preprocessing.StandardScaler", "preprocessing.MinMaxScaler", "preprocessing.MaxAbsScaler", "preprocessing.RobustScaler", "preprocessing.Normalizer", "preprocessing.Binarizer", "preprocessing.PolynomialFeatures", "preprocessing.PowerTransformer", "preprocessing.KBinsDiscretizer",
             "preprocessing.SplineTransformer", "preprocessing.QuantileTransformer", "decomposition.PCA", "decomposition.TruncatedSVD", "decomposition.IncrementalPCA", "decomposition.FastICA", "cluster.KMeans", "cluster.MiniBatchKMeans", "mixture.GaussianMixture", "mixture.BayesianGaussianMixture", "random_projection.GaussianRandomProjection",
             "feature_selection.VarianceThreshold", "kernel_approximation.RBFSampler"]:
    model("transform_" + path.split(".")[1], sk(path, **({"n_components": 2} if path.startswith(("decomposition", "mixture", "random_pro")) else {"n_clusters": 3, "random_state": 0} if path.startswith("cluster") else {})), None)
model("imputer", sk("impute.SimpleImputer", strategy="median"), None, np.where(rng.random(X.shape) < 0.1, np.nan, X).astype(np.float32))
model("select_k_best", sk("feature_selection.SelectKBest", k=2), Y3)
model("pls", sk("cross_decomposition.PLSRegression", 2))
classifier("calibrated", lambda: __import__("sklearn.calibration").calibration.CalibratedClassifierCV(sk("svm.LinearSVC")(), cv=2), Y3)
classifier("one_vs_rest", lambda: __import__("sklearn.multiclass").multiclass.OneVsRestClassifier(sk("linear_model.LogisticRegression")()), Y3)
classifier("one_vs_one", lambda: __import__("sklearn.multiclass").multiclass.OneVsOneClassifier(sk("linear_model.LogisticRegression")()), Y3)
model("multi_output", lambda: __import__("sklearn.multioutput").multioutput.MultiOutputRegressor(sk("linear_model.Ridge")()), YM)
model("chain", lambda: __import__("sklearn.multioutput").multioutput.RegressorChain(sk("linear_model.Ridge")()), YM)
model("grid_search", lambda: __import__("sklearn.model_selection").model_selection.GridSearchCV(sk("linear_model.Ridge")(), {"alpha": [0.1, 1.0]}, cv=2))
model("transformed_target", lambda: __import__("sklearn.compose").compose.TransformedTargetRegressor(sk("linear_model.Ridge")(), func=np.exp, inverse_func=np.log), np.abs(YR) / 9)
classifier("pipeline", pipe(scale, sk("decomposition.PCA", 3), sk("linear_model.LogisticRegression")), Y3)
classifier("pipeline_select", pipe(sk("preprocessing.PolynomialFeatures"), scale, sk("feature_selection.SelectKBest", k=6), sk("ensemble.RandomForestClassifier", 5, random_state=0)), WORDS[Y3])
model("union", lambda: __import__("sklearn.pipeline").pipeline.make_union(scale(), sk("decomposition.PCA", 2)()), None)

# ---- words, categories and several inputs ----

TEXTS = np.array(["the cat sat on the mat", "A dog, a cat and a mouse", "nothing here", "The Dog sat", "mice and men: of mice", "on and on"] * 3)[:, None]


def text(make, y=None, texts=TEXTS):
    m = make()
    m.fit(texts.ravel(), y) if y is not None else m.fit(texts.ravel())
    return m, [("S", StringTensorType([None, 1]))], [{"S": texts[:4].astype(object)}, {"S": texts[4:6].astype(object)}], texts[:4].ravel()


for n, kw in {"words": {}, "bigrams": {"ngram_range": (1, 2)}, "stop": {"stop_words": ["the", "a"]}, "cased": {"lowercase": False}, "short": {"token_pattern": "[a-zA-Z]+"}, "characters": {"analyzer": "char"}, "binary": {"binary": True}}.items():
    table("count_" + n, lambda kw=kw: text(sk("feature_extraction.text.CountVectorizer", **kw)))
    if n != "binary":
        table("tfidf_" + n, lambda kw=kw: text(sk("feature_extraction.text.TfidfVectorizer", **kw)))
table("tfidf_norms", lambda: text(sk("feature_extraction.text.TfidfVectorizer", norm="l1", sublinear_tf=True, smooth_idf=False)))
table("tfidf_classifier", lambda: text(pipe(sk("feature_extraction.text.TfidfVectorizer"), sk("linear_model.LogisticRegression")), np.arange(18) % 3))
table("count_bayes", lambda: text(pipe(sk("feature_extraction.text.CountVectorizer"), sk("naive_bayes.MultinomialNB")), np.arange(18) % 2))
COLOURS = np.array([["red", "s"], ["blue", "m"], ["green", "l"], ["red", "m"], ["blue", "s"]] * 4, dtype=object)
NUMBERS = rng.integers(0, 4, (20, 2))


def strings(make, y=None):
    m = make()
    m.fit(COLOURS, y) if y is not None else m.fit(COLOURS)
    return m, [("S", StringTensorType([None, 2]))], [{"S": COLOURS[:4]}, {"S": COLOURS[3:5]}]


def integers(make):
    m = make()
    m.fit(NUMBERS)
    return m, [("X", Int64TensorType([None, 2]))], [{"X": NUMBERS[:5].astype(np.int64)}, {"X": NUMBERS[5:7].astype(np.int64)}]


table("one_hot_strings", lambda: strings(sk("preprocessing.OneHotEncoder", handle_unknown="ignore")))
table("one_hot_drop", lambda: strings(sk("preprocessing.OneHotEncoder", drop="first")))
table("ordinal_strings", lambda: strings(sk("preprocessing.OrdinalEncoder")))
table("one_hot_integers", lambda: integers(sk("preprocessing.OneHotEncoder")))
table("ordinal_integers", lambda: integers(sk("preprocessing.OrdinalEncoder")))
table("hasher", lambda: strings(sk("feature_extraction.FeatureHasher", 8, input_type="string")))
table("imputer_strings", lambda: strings(sk("impute.SimpleImputer", strategy="most_frequent")))


def columns():
    import pandas
    from sklearn.compose import ColumnTransformer
    frame = pandas.DataFrame({"a": X[:20, 0], "b": X[:20, 1], "c": COLOURS[:, 0], "d": NUMBERS[:, 0]})
    m = ColumnTransformer([("n", scale(), ["a", "b"]), ("s", sk("preprocessing.OneHotEncoder")(), ["c"]), ("i", "passthrough", ["d"])])
    m.fit(frame)
    types = [("a", FloatTensorType([None, 1])), ("b", FloatTensorType([None, 1])), ("c", StringTensorType([None, 1])), ("d", Int64TensorType([None, 1]))]
    call = lambda s: {"a": X[s, :1], "b": X[s, 1:2], "c": COLOURS[s, :1], "d": NUMBERS[s, :1].astype(np.int64)}  # noqa: E731
    return m, types, [call(slice(0, 4)), call(slice(4, 6))], frame[:4]


def column_numbers():
    from sklearn.compose import make_column_transformer
    m = make_column_transformer((scale(), [0, 1]), (sk("preprocessing.MinMaxScaler")(), [2, 3]), remainder="drop")
    m.fit(X)
    return m, matrix(np.float32), [{"X": X[:4]}, {"X": X[4:6]}]


table("columns_of_frame", columns)
table("columns_by_number", column_numbers)
