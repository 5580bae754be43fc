"""The other estimators that skl2onnx converts, and models of XGBoost, LightGBM and CatBoost where those are installed. The rows of
sklearn_models.py come before."""
import importlib.util

import numpy as np
from skl2onnx.common.data_types import DictionaryType, FloatTensorType, Int64TensorType, StringTensorType

from common import Table
from sklearn_models import NUMBERS, WORDS, X, Y2, Y3, YM, YR, classifier, fitted, matrix, model, sk, table as before

first = len(before.programs)
HOLES = X.copy()
HOLES[np.arange(0, 80, 7), np.arange(12) % 5] = np.nan

for n in ["ElasticNetCV", "LassoCV", "LassoLars", "LassoLarsCV", "LassoLarsIC", "LarsCV", "OrthogonalMatchingPursuitCV", "RidgeCV"]:
    model("linear_" + n, sk("linear_model." + n))
for n in ["MultiTaskElasticNet", "MultiTaskElasticNetCV", "MultiTaskLasso", "MultiTaskLassoCV"]:
    model("linear_" + n, sk("linear_model." + n), YM)
model("linear_svr", sk("svm.LinearSVR"))
model("sgd_one_class", sk("linear_model.SGDOneClassSVM", random_state=0), None)
classifier("logistic_cv", sk("linear_model.LogisticRegressionCV", cv=2), Y3)
classifier("logistic_none", sk("linear_model.LogisticRegression", fit_intercept=False), WORDS[Y3])
classifier("ridge_classifier_cv", sk("linear_model.RidgeClassifierCV"), Y3)
classifier("passive_aggressive", sk("linear_model.PassiveAggressiveClassifier", random_state=0), Y3)
classifier("extra_tree", sk("tree.ExtraTreeClassifier", max_depth=4, random_state=0), Y3)
model("extra_tree_regressor", sk("tree.ExtraTreeRegressor", max_depth=4, random_state=0))
model("neighbours_transformer", sk("neighbors.KNeighborsTransformer", n_neighbors=3), None)
model("neighbourhood_components", sk("neighbors.NeighborhoodComponentsAnalysis", 2, random_state=0, max_iter=20), Y3)
for n, more in [("SelectFdr", {}), ("SelectFpr", {}), ("SelectFwe", {}), ("SelectPercentile", {"percentile": 60}), ("GenericUnivariateSelect", {"mode": "k_best", "param": 2})]:
    model("select_" + n, sk("feature_selection." + n, **more), Y3)
model("select_from_model", lambda: importlib.import_module("sklearn.feature_selection").SelectFromModel(sk("tree.DecisionTreeClassifier", random_state=0)()), Y3)
model("rfe", lambda: importlib.import_module("sklearn.feature_selection").RFE(sk("linear_model.LogisticRegression")(), n_features_to_select=3), Y3)
model("rfe_cv", lambda: importlib.import_module("sklearn.feature_selection").RFECV(sk("linear_model.LogisticRegression")(), cv=2), Y3)
classifier("tuned_threshold", lambda: importlib.import_module("sklearn.model_selection").TunedThresholdClassifierCV(sk("linear_model.LogisticRegression")(), cv=2))
model("cast_transformer", lambda: importlib.import_module("skl2onnx.sklapi").CastTransformer(), None)
model("replace_transformer", lambda: importlib.import_module("skl2onnx.sklapi").ReplaceTransformer(from_value=0, to_value=-1), None)
model("cast_regressor", lambda: importlib.import_module("skl2onnx.sklapi").CastRegressor(sk("tree.DecisionTreeRegressor", max_depth=3)()))
model("random_trees", sk("ensemble.RandomTreesEmbedding", n_estimators=4, max_depth=3, sparse_output=False, random_state=0), None)


def dictionaries():
    rows = [{"colour": 1.5, "size": 2.0}, {"size": 3.0, "weight": -1.0}, {"weight": 0.5, "age": 4.0}]
    m = sk("feature_extraction.DictVectorizer", sparse=False)().fit(rows)
    kind = DictionaryType(StringTensorType([1]), FloatTensorType([1]))
    return m, [("X", kind)], [{"X": rows[1]}, {"X": {"age": 1.0, "unknown": 2.0}}], [rows[1]]


before("dict_vectorizer", dictionaries)
model("function_transformer", sk("preprocessing.FunctionTransformer"), None)
model("kernel_centerer", sk("preprocessing.KernelCenterer"), None, (X[:5] @ X[:5].T).astype(np.float32))
model("trees_holes", sk("tree.DecisionTreeRegressor", max_depth=4), YR, HOLES)


def labels(make, values, kind):
    m = make()
    m.fit(values)
    column = values[:6].reshape(-1, 1)
    return m, [("X", kind([None, 1]))], [{"X": column}, {"X": column[:2]}], values[:6]


table = before
for name, values, kind in [("words", WORDS[Y3].astype(object), StringTensorType), ("integers", Y3.astype(np.int64), Int64TensorType)]:
    table("label_encoder_" + name, lambda v=values, k=kind: labels(sk("preprocessing.LabelEncoder"), v, k))
    table("label_binarizer_" + name, lambda v=values, k=kind: labels(sk("preprocessing.LabelBinarizer"), v, k))


def whole_numbers(make):
    x = NUMBERS.astype(np.int64)
    return make().fit(x, np.arange(20) % 2), [("X", Int64TensorType([None, 2]))], [{"X": x[:5]}, {"X": x[5:7]}]


def counts(make, y=None):
    m = make()
    x = np.abs(np.round(X * 2)).astype(np.float32)
    m.fit(x, y) if y is not None else m.fit(x)
    return m, matrix(np.float32), [{"X": x[:7]}, {"X": x[7:9]}]


table("categorical_bayes", lambda: whole_numbers(sk("naive_bayes.CategoricalNB")), options={"zipmap": False})
table("complement_bayes_counts", lambda: counts(sk("naive_bayes.ComplementNB"), Y3), options={"zipmap": False})
table("tfidf_transformer", lambda: counts(sk("feature_extraction.text.TfidfTransformer")))
table("multi_output_classifier", lambda: fitted(lambda: importlib.import_module("sklearn.multioutput").MultiOutputClassifier(sk("linear_model.LogisticRegression")()), np.stack([Y2, Y3], 1)),
      options={"zipmap": False})
table("one_label_only", lambda: fitted(lambda: importlib.import_module("sklearn.multiclass").OneVsRestClassifier(sk("linear_model.LogisticRegression")()), np.stack([Y2, 1 - Y2, np.ones_like(Y2)], 1)),
      options={"zipmap": False})
table("target_encoder", lambda: whole_numbers(sk("preprocessing.TargetEncoder", random_state=0)))


# ---- boosted trees of other libraries ----

def boosted(convert, make, y, x=X):
    """The fitted model as ONNX bytes; inputs and calls."""
    m = make()
    m.fit(x, y)
    return (lambda options, opset: convert(m, opset)), [("X", FloatTensorType([None, X.shape[1]]))], [{"X": x[:7]}, {"X": x[7:10]}], m


def by_onnxmltools(name):
    def convert(m, opset):
        import onnxmltools
        from onnxmltools.convert.common.data_types import FloatTensorType as Floats

        return getattr(onnxmltools, "convert_" + name)(m, initial_types=[("X", Floats([None, X.shape[1]]))], target_opset=opset or 15).SerializeToString()
    return convert


def by_catboost(m, opset):
    import os
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "m.onnx")
        m.save_model(path, format="onnx")
        with open(path, "rb") as f:
            return f.read()


def library(module, name, **more):
    return lambda: getattr(importlib.import_module(module), name)(**more)


if importlib.util.find_spec("onnxmltools") and importlib.util.find_spec("xgboost"):
    for n, kind, more, y, x in [("2", "XGBClassifier", {}, Y2, X), ("3", "XGBClassifier", {}, Y3, X), ("regressor", "XGBRegressor", {}, YR, X), ("holes", "XGBRegressor", {}, YR, HOLES),
                                ("poisson", "XGBRegressor", {"objective": "count:poisson"}, np.abs(YR), X),
                                ("rank", "XGBRFRegressor", {}, YR, X), ("forest", "XGBRFClassifier", {}, Y2, X), ("logistic", "XGBRegressor", {"objective": "reg:logistic"}, Y2, X)]:
        table("xgboost_" + n, lambda kind=kind, more=more, y=y, x=x: boosted(by_onnxmltools("xgboost"), library("xgboost", kind, n_estimators=6, max_depth=4, **more), y, x))
if importlib.util.find_spec("onnxmltools") and importlib.util.find_spec("lightgbm"):
    for n, kind, more, y, x in [("2", "LGBMClassifier", {}, Y2, X), ("3", "LGBMClassifier", {}, Y3, X), ("words", "LGBMClassifier", {}, WORDS[Y3], X), ("regressor", "LGBMRegressor", {}, YR, X), ("holes", "LGBMRegressor", {}, YR, HOLES),
                                ("poisson", "LGBMRegressor", {"objective": "poisson"}, np.abs(YR), X), ("dart", "LGBMRegressor", {"boosting_type": "dart"}, YR, X), ("forest", "LGBMClassifier", {"boosting_type": "rf", "bagging_freq": 1, "bagging_fraction": 0.7}, Y2, X),
                                ("ova", "LGBMClassifier", {"objective": "multiclassova"}, Y3, X), ("quantile", "LGBMRegressor", {"objective": "quantile"}, YR, X)]:
        table("lightgbm_" + n, lambda kind=kind, more=more, y=y, x=x: boosted(by_onnxmltools("lightgbm"), library("lightgbm", kind, n_estimators=6, min_child_samples=3, verbose=-1, **more), y, x))
if importlib.util.find_spec("catboost"):
    for n, kind, more, y in [("2", "CatBoostClassifier", {}, Y2), ("3", "CatBoostClassifier", {}, Y3), ("regressor", "CatBoostRegressor", {}, YR)]:
        table("catboost_" + n, lambda kind=kind, more=more, y=y: boosted(by_catboost, library("catboost", kind, iterations=6, depth=4, verbose=0, allow_writing_files=False, **more), y))

table = Table()
table.programs = before.programs[first:]
del before.programs[first:]
