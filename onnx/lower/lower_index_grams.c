/* SPDX-License-Identifier: Apache-2.0 */
/* TfIdfVectorizer of numbers: each sequence of the pool is compared with the input at all places,
 * for each number of skipped elements. Binarizer and ArrayFeatureExtractor of ai.onnx.ml. */
#include <string.h>

#include "onnx/lower/parts.h"

typedef const gantry_tensor_t tensor;

/* Comparisons of a node. */
#define MOST_GRAM_COMPARISONS 4096

/* A node. */
typedef struct grams_t {
    gantry__onnx_call_t *call;
    tensor *x; /* int64 [rows, length] */
    int64_t rows, length;
    const int64_t *pool, *counts, *places;
    size_t pool_count, count_count, place_count;
    int64_t least, most, skips; /* Elements of a sequence; skipped ones. */
    size_t comparisons, part_count;
    tensor **parts; /* Of each length the counts of its sequences, [rows, sequences]. */
} grams_t;

/* Element `i` of each sequence of `size` elements, [1, 1, sequences], on the host. */
static tensor *gram_elements(const grams_t *node, int64_t begin, int64_t sequences, int64_t size,
                             int64_t i) {
    int64_t *values = gantry__onnx_scratch(node->call, (size_t)sequences, sizeof *values);
    if (!values) return NULL;
    for (int64_t k = 0; k < sequences; ++k) values[k] = node->pool[begin + k * size + i];
    return gantry__onnx_ints_of(node->call, GANTRY_INT64, values, GANTRY_SHAPE(1, 1, sequences));
}

/* How often each sequence of the pool occurs with `step` between its elements; NULL: nowhere. */
static tensor *count_grams(grams_t *node, int64_t begin, int64_t sequences, int64_t size,
                           int64_t step) {
    gantry__onnx_call_t *call = node->call;
    const int64_t axis = 1, windows = node->length - (size - 1) * step;
    tensor *matches = NULL;
    for (int64_t i = 0; i < size; ++i) {
        tensor *x = gantry__onnx_part(call, node->x, 1, i * step, windows);
        x = gantry__onnx_reshape(call, x, GANTRY_SHAPE(node->rows, windows, 1));
        tensor *is_equal =
            gantry__onnx_op2(call, "Equal", x, gram_elements(node, begin, sequences, size, i));
        matches = matches ? gantry__onnx_op2(call, "LogicalAnd", matches, is_equal) : is_equal;
    }
    node->comparisons += (size_t)size;
    return gantry__onnx_reduce(call, "Sum", gantry__onnx_cast(call, matches, GANTRY_FLOAT32), &axis,
                               1, false);
}

/* Sequences of `size` elements, which begin at a place of the pool. */
static gantry_status_t count_sequences(grams_t *node, int64_t begin, int64_t end, int64_t size) {
    gantry__onnx_call_t *call = node->call;
    const int64_t sequences = (end - begin) / size;
    const bool is_counted = size >= node->least && size <= node->most;
    tensor *sum = NULL;
    if (sequences == 0) return GANTRY_OK;
    for (int64_t step = 1; is_counted && step <= node->skips + 1; ++step) {
        if ((size == 1 && step > 1) || (size > 1 && step > (node->length - 1) / (size - 1))) break;
        if (node->comparisons > MOST_GRAM_COMPARISONS)
            return gantry__onnx_unsupported(call, "more than %d comparisons",
                                            MOST_GRAM_COMPARISONS);
        tensor *count = count_grams(node, begin, sequences, size, step);
        sum = sum ? gantry__onnx_op2(call, "Add", sum, count) : count;
        GANTRY__TRY(gantry_scope_status(call->scope));
    }
    if (!sum) sum = gantry_zeros(call->scope, GANTRY_FLOAT32, GANTRY_SHAPE(node->rows, sequences));
    node->parts[node->part_count++] = sum;
    return gantry_scope_status(call->scope);
}

/* Puts the counts of all sequences in the places that they have in the result. */
static gantry_status_t place_grams(grams_t *node, tensor **out) {
    gantry__onnx_call_t *call = node->call;
    int64_t size = 0, found = 0;
    for (size_t i = 0; i < node->place_count; ++i) {
        if (node->places[i] < 0 || node->places[i] >= INT32_MAX)
            return gantry__onnx_invalid(call, "ngram_indexes has %lld; 0 to %d are accepted",
                                        (long long)node->places[i], INT32_MAX - 1);
        if (node->places[i] >= size) size = node->places[i] + 1;
    }
    for (size_t i = 0; i < node->part_count; ++i)
        found += gantry_tensor_shape(node->parts[i])->dims[1];
    if (found != (int64_t)node->place_count)
        return gantry__onnx_invalid(call, "ngram_indexes has %zu numbers for %lld sequences",
                                    node->place_count, (long long)found);
    int64_t *from = gantry__onnx_scratch(call, (size_t)size, sizeof *from);
    if (!from) return GANTRY_RESOURCE_EXHAUSTED;
    for (int64_t i = 0; i < size; ++i) from[i] = found; /* the column of zeros */
    for (int64_t i = 0; i < found; ++i) {
        if (from[node->places[i]] != found)
            return gantry__onnx_unsupported(call, "ngram_indexes has %lld twice",
                                            (long long)node->places[i]);
        from[node->places[i]] = i;
    }
    node->parts[node->part_count] =
        gantry_zeros(call->scope, GANTRY_FLOAT32, GANTRY_SHAPE(node->rows, 1));
    tensor *all = gantry__onnx_concat(call, node->parts, node->part_count + 1, 1);
    *out = gantry_gather(call->scope, all,
                         gantry__onnx_ints_of(call, GANTRY_INT64, from, GANTRY_SHAPE(size)), 1);
    return gantry_scope_status(call->scope);
}

/* Counts as they are, or as the weights of what was found. */
static gantry_status_t weigh_grams(grams_t *node, tensor **counts) {
    gantry__onnx_call_t *call = node->call;
    const char *mode = gantry__onnx_attr_text(call, "mode", "");
    size_t count;
    const float *weights = gantry__onnx_attr_floats(call, "weights", &count);
    if (strcmp(mode, "TF") == 0) return GANTRY_OK;
    if (strcmp(mode, "IDF") == 0) *counts = gantry__onnx_op_number(call, "Minimum", *counts, 1);
    if (!weights) return GANTRY_OK;
    const int64_t size = (int64_t)count;
    if (size != gantry_tensor_shape(*counts)->dims[1])
        return gantry__onnx_invalid(call, "%zu weights for results of %lld elements", count,
                                    (long long)gantry_tensor_shape(*counts)->dims[1]);
    *counts = gantry_mul(call->scope, *counts,
                         gantry_constant(call->host, GANTRY_FLOAT32, GANTRY_SHAPE(size), weights,
                                         count * sizeof *weights));
    return gantry_scope_status(call->scope);
}

static void read_gram_attrs(grams_t *node) {
    const gantry__onnx_call_t *call = node->call;
    node->pool = gantry__onnx_attr_ints(call, "pool_int64s", &node->pool_count);
    node->counts = gantry__onnx_attr_ints(call, "ngram_counts", &node->count_count);
    node->places = gantry__onnx_attr_ints(call, "ngram_indexes", &node->place_count);
    node->least = gantry__onnx_attr_int(call, "min_gram_length", 1);
    node->most = gantry__onnx_attr_int(call, "max_gram_length", 1);
    node->skips = gantry__onnx_attr_int(call, "max_skip_count", 0);
}

gantry_status_t gantry__onnx_check_tf_idf(gantry__onnx_call_t *call) {
    const char *mode = gantry__onnx_attr_text(call, "mode", "");
    grams_t node = {.call = call};
    read_gram_attrs(&node);
    if (!node.pool || !node.counts || !node.places)
        return gantry__onnx_invalid(call, "pool_int64s, ngram_counts or ngram_indexes is missing");
    if (strcmp(mode, "TF") != 0 && strcmp(mode, "IDF") != 0 && strcmp(mode, "TFIDF") != 0)
        return gantry__onnx_invalid(call, "mode '%s'; accepted are TF, IDF and TFIDF", mode);
    if (node.least >= 1 && node.most >= node.least && node.skips >= 0 && node.skips <= INT32_MAX)
        return GANTRY_OK;
    return gantry__onnx_invalid(call, "lengths %lld to %lld and %lld skips", (long long)node.least,
                                (long long)node.most, (long long)node.skips);
}

static gantry_status_t read_grams(grams_t *node) {
    gantry__onnx_call_t *call = node->call;
    tensor *x = gantry__onnx_input(call, 0);
    GANTRY__TRY(gantry__onnx_need_shape(call, x));
    const gantry_shape_t *shape = gantry_tensor_shape(x);
    read_gram_attrs(node);
    if (shape->rank > 2)
        return gantry__onnx_invalid(call, "X has %d dimensions; at most 2 are accepted",
                                    (int)shape->rank);
    node->rows = shape->rank == 2 ? shape->dims[0] : 1;
    node->length = shape->rank ? shape->dims[shape->rank - 1] : 1;
    node->x = gantry__onnx_reshape(call, gantry__onnx_cast(call, x, GANTRY_INT64),
                                   GANTRY_SHAPE(node->rows, node->length));
    node->parts = gantry__onnx_scratch(call, node->count_count + 1, sizeof *node->parts);
    return node->parts ? gantry_scope_status(call->scope) : GANTRY_RESOURCE_EXHAUSTED;
}

gantry_status_t gantry__onnx_lower_tf_idf(gantry__onnx_call_t *call) {
    grams_t node = {.call = call};
    tensor *y = NULL;
    GANTRY__TRY(read_grams(&node));
    for (size_t i = 0; i < node.count_count; ++i) {
        const int64_t begin = node.counts[i], whole = (int64_t)node.pool_count;
        const int64_t end = i + 1 < node.count_count ? node.counts[i + 1] : whole;
        if (begin < 0 || end < begin || end > whole)
            return gantry__onnx_invalid(call, "ngram_counts has %lld for a pool of %lld",
                                        (long long)begin, (long long)whole);
        GANTRY__TRY(count_sequences(&node, begin, end, (int64_t)i + 1));
    }
    GANTRY__TRY(place_grams(&node, &y));
    GANTRY__TRY(weigh_grams(&node, &y));
    if (gantry_tensor_shape(gantry__onnx_input(call, 0))->rank < 2)
        y = gantry__onnx_reshape(call, y, GANTRY_SHAPE(gantry_tensor_shape(y)->dims[1]));
    return gantry__onnx_give(call, y);
}

/* ---- ai.onnx.ml ---- */

gantry_status_t gantry__onnx_lower_binarizer(gantry__onnx_call_t *call) {
    tensor *x = gantry__onnx_input(call, 0);
    const double threshold = (double)gantry__onnx_attr_float(call, "threshold", 0);
    return gantry__onnx_give(
        call, gantry__onnx_cast(call, gantry__onnx_op_number(call, "Greater", x, threshold),
                                gantry_tensor_dtype(x)));
}

gantry_status_t gantry__onnx_lower_array_feature(gantry__onnx_call_t *call) {
    tensor *x = gantry__onnx_input(call, 0), *places = gantry__onnx_input(call, 1);
    GANTRY__TRY(gantry__onnx_need_shape(call, places));
    if (gantry_tensor_shape(x)->rank == 0) return gantry__onnx_invalid(call, "X is a scalar");
    places = gantry__onnx_reshape(call, places, GANTRY_SHAPE(gantry_tensor_elements(places)));
    x = gantry_gather(call->scope, x, places, -1);
    /* A vector gives a row. */
    if (x && gantry_tensor_shape(x)->rank == 1) x = gantry_expand_dims(call->scope, x, 0);
    return gantry__onnx_give(call, x);
}
