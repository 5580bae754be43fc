/*
 * What the builders of ai.onnx.ml share: lists of attributes as constants, labels, transforms of
 * scores.
 */
#ifndef FRONTEND_ONNX_ML_H
#define FRONTEND_ONNX_ML_H

#include "frontend/onnx/build.h"

/* A list of floats as a constant of that shape; its length must be the shape's. NULL after a
 * failure. */
struct value *ml_floats(struct onnx_node *n, const double *v, int rank, const int64_t *dims);
/* The attribute as f32 of rank 1, or `otherwise` as a scalar when it is absent or empty. */
struct value *ml_float_list(struct onnx_node *n, const char *attribute, double otherwise);
struct value *ml_strings(struct onnx_node *n, const struct str *v,
                         int count); /* rank 1; borrowed */
/* The class labels of whichever attribute is given: i64 or strings of rank 1. NULL when neither is.
 */
struct value *ml_labels(struct onnx_node *n, const char *ints, const char *strings, int *count);
/*
 * x times w, or w transposed, in FP32 whatever --auto-cast says: these models are small and end in a
 * threshold, where any rounding can turn a label over.
 */
struct value *ml_product(struct onnx_node *n, struct value *x, struct value *w, bool transposed);
/* x as f32, unless it is f64. */
struct value *ml_operand(struct onnx_node *n, struct value *x);

enum ml_transform { ML_NONE, ML_SOFTMAX, ML_LOGISTIC, ML_SOFTMAX_ZERO, ML_PROBIT };
/* Of the attribute post_transform, a name or a number. */
bool ml_transform_read(struct onnx_node *n, enum ml_transform *t);
/* Applies it along the last axis. */
struct value *ml_transform(struct onnx_node *n, enum ml_transform t, struct value *scores);
/*
 * Scores (N,2) of two classes from the one score (N,1) of the second: -s, s or 1 - s, s. With one
 * score to go by, only LOGISTIC and PROBIT are applied; LOGISTIC always to -s, s.
 */
struct value *ml_both_scores(struct onnx_node *n, enum ml_transform t, struct value *s,
                             bool complement);
/* Element 0 of `labels` where the condition (N) is false, element 1 where it is true. */
struct value *ml_choose(struct onnx_node *n, struct value *labels, struct value *condition);
/* The label of the largest score of each row (N,C). */
struct value *ml_best(struct onnx_node *n, struct value *labels, struct value *scores);

#endif
