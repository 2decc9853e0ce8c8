/* SPDX-License-Identifier: Apache-2.0 */
/* Random ops whose values take a variable number of words, and the ops that give key and
 * counter. */
#include "kernels/common/item_kernel.h"
#include "host/try.h"
#include "kernels/random/draw.cl"
#include "kernels/random/draw_items.h"
#include "kernels/random/random_seed.h"

GANTRY_K_ITEM_TEXTS(draw, GANTRY_DRAW_ITEMS, gantry__text_math_float32, gantry__text_math_float64,
                    gantry__text_philox, gantry__text_draw);

static uint64_t draw_key_of(const gantry__k_stream_t *stream) {
    return (uint64_t)stream->key1 << 32 | stream->key0;
}

/* ---- truncated normal ---- */

static int32_t run_truncated(gantry_op_call_t *call, const gantry__k_stream_t *stream) {
    const gantry_arg_t *out = call->outputs[0];
    const int64_t group = gantry__k_group_of(out->dtype);
    gantry__draw_t draw = {.low = stream->low,
                           .high = stream->high,
                           .key = draw_key_of(stream),
                           .values = out->element_count};
    gantry__k_item_launch_t launch = {.item = ITEM_truncated,
                                      .t = out->dtype,
                                      .count = (out->element_count + group - 1) / group,
                                      .item_bytes = group * (int64_t)gantry__k_size(out->dtype),
                                      .is_costly = true,
                                      .parameters = &draw,
                                      .parameter_bytes = sizeof draw,
                                      .spans = {out->span},
                                      .span_count = 1};
    return gantry__k_run_items(call, &launch);
}

static int32_t compute_truncated(gantry_op_call_t *call) {
    const gantry__k_stream_t stream = gantry__portable_stream_of_seed(call->inputs[1]);
    return run_truncated(call, &stream);
}

static int32_t compute_truncated_by_key(gantry_op_call_t *call) {
    gantry__k_stream_t stream;
    GANTRY__TRY(gantry__portable_stream_of_key(call, 1, &stream));
    return run_truncated(call, &stream);
}

/* ---- classes ---- */

#define CHUNK 512 /* so many classes does an item add up */

typedef struct classes_call_t {
    gantry_op_call_t *call;
    gantry__classes_t classes;
    int64_t rows;
    gantry_span_t largest, sums, totals; /* in scratch */
} classes_call_t;

/* Launches `count` items. */
static int32_t run_classes(classes_call_t *run, uint32_t item, int64_t count, int64_t item_bytes,
                           const gantry_span_t *spans, uint32_t span_count) {
    gantry__k_item_launch_t launch = {.item = item,
                                      .t = run->call->inputs[0]->dtype,
                                      .count = count,
                                      .item_bytes = item_bytes,
                                      .is_costly = true,
                                      .parameters = &run->classes,
                                      .parameter_bytes = sizeof run->classes,
                                      .span_count = span_count};
    memcpy(launch.spans, spans, span_count * sizeof *spans);
    return gantry__k_run_items(run->call, &launch);
}

static int32_t get_scratch(classes_call_t *run) {
    const gantry_call_services_t *services = run->call->services;
    const uint64_t parts = (uint64_t)(run->rows * run->classes.chunks) * sizeof(double);
    GANTRY__TRY(services->scratch(run->call, parts, &run->largest));
    GANTRY__TRY(services->scratch(run->call, parts, &run->totals));
    return services->scratch(
        run->call, (uint64_t)run->call->inputs[0]->element_count * sizeof(double), &run->sums);
}

static int32_t launch_classes(classes_call_t *run) {
    const gantry_arg_t *logits = run->call->inputs[0], *out = run->call->outputs[0];
    const gantry_span_t largest[] = {logits->span, run->largest};
    const gantry_span_t weigh[] = {logits->span, run->largest, run->sums, run->totals};
    const gantry_span_t pick[] = {run->sums, run->totals, out->span};
    const int64_t parts = run->rows * run->classes.chunks;
    GANTRY__TRY(run_classes(run, ITEM_largest, parts, sizeof(double), largest, 2));
    GANTRY__TRY(run_classes(run, ITEM_weigh, parts, sizeof(double), weigh, 4));
    if (run->classes.chunks > 1)
        GANTRY__TRY(run_classes(run, ITEM_sum_up, run->rows, sizeof(double), &run->totals, 1));
    return run_classes(run, ITEM_pick, out->element_count, (int64_t)gantry__k_size(out->dtype),
                       pick, 3);
}

static int32_t draw_classes(gantry_op_call_t *call, const gantry__k_stream_t *stream) {
    const gantry_arg_t *logits = call->inputs[0];
    classes_call_t run = {.call = call,
                          .rows = logits->dims[0],
                          .classes = {.low = stream->low,
                                      .high = stream->high,
                                      .key = draw_key_of(stream),
                                      .classes = logits->dims[1],
                                      .chunk = CHUNK,
                                      .chunks = (logits->dims[1] + CHUNK - 1) / CHUNK,
                                      .samples = call->outputs[0]->dims[1],
                                      .is_wide = call->outputs[0]->dtype == GANTRY_INT64}};
    GANTRY__TRY(get_scratch(&run));
    return launch_classes(&run);
}

static int32_t compute_classes(gantry_op_call_t *call) {
    const gantry__k_stream_t stream = gantry__portable_stream_of_seed(call->inputs[2]);
    return draw_classes(call, &stream);
}

static int32_t compute_classes_by_key(gantry_op_call_t *call) {
    gantry__k_stream_t stream;
    GANTRY__TRY(gantry__portable_stream_of_key(call, 2, &stream));
    return draw_classes(call, &stream);
}

/* ---- key and counter ---- */

static int32_t write_words(gantry_op_call_t *call, uint32_t output, const void *value,
                           uint32_t bytes, uint64_t place) {
    gantry_span_t span = call->outputs[output]->span;
    span.offset_bytes += place * bytes;
    span.size_bytes = bytes;
    return call->services->fill(call, &span, value, bytes);
}

/* The outputs must be key, counter and alg, or only key and counter, or only alg. */
static int32_t compute_key(gantry_op_call_t *call) {
    if (call->input_count > 0) {
        const gantry__k_stream_t stream = gantry__portable_stream_of_seed(call->inputs[0]);
        const uint64_t key = draw_key_of(&stream);
        GANTRY__TRY(write_words(call, 0, &key, sizeof key, 0));
        GANTRY__TRY(write_words(call, 1, &stream.low, sizeof stream.low, 0));
        GANTRY__TRY(write_words(call, 1, &stream.high, sizeof stream.high, 1));
    }
    if (call->output_count == 2) return GANTRY_OK;
    const int32_t philox = GANTRY_K_PHILOX;
    return write_words(call, call->output_count - 1, &philox, sizeof philox, 0);
}

static const gantry_type_constraint_t values[] = {{"dtype", GANTRY_DTYPES_FLOATING}};
static const gantry_type_constraint_t seeds[] = {{"Tseed", GANTRY_DTYPES_INTS}};
static const char *const by_seed[] = {"shape", "seed"};
static const char *const by_key[] = {"shape", "key", "counter", "alg"};
static const char *const seed_alone[] = {"seed"};

GANTRY_K_ITEM_KERNEL_HOST(truncated, draw, "StatelessTruncatedNormal", values, by_seed,
                          compute_truncated);
GANTRY_K_ITEM_KERNEL_HOST(truncated_by_key, draw, "StatelessTruncatedNormalV2", values, by_key,
                          compute_truncated_by_key);
GANTRY_K_ITEM_KERNEL_HOST(key_counter, draw, "StatelessRandomGetKeyCounter", seeds, seed_alone,
                          compute_key);
GANTRY_K_ITEM_KERNEL_HOST(key_counter_alg, draw, "StatelessRandomGetKeyCounterAlg", seeds,
                          seed_alone, compute_key);

#define ALG(items_)                                                                        \
    GANTRY_K_DEFINITION("StatelessRandomGetAlg", NULL, 0, NULL, 0, .compute = compute_key, \
                        .data = items_)
static const gantry_kernel_def_t alg_on_devices = ALG(&draw_items);
static const gantry_kernel_def_t alg_on_cpu = ALG(&gantry__cpu_draw_items);

/* Weights are float64 for every type of logits. */
static const gantry_type_constraint_t class_types[] = {{"T", GANTRY_DTYPES_FLOATING},
                                                       {"output_dtype", GANTRY_DTYPES_INTS},
                                                       {NULL, GANTRY_DTYPE_BIT(GANTRY_FLOAT64)}};
static const char *const samples_by_seed[] = {"num_samples", "seed"};
static const char *const samples_by_key[] = {"num_samples", "key", "counter", "alg"};

#define CLASSES(name, items_, op_, hosts_, compute_)                                  \
    static const gantry_kernel_def_t name =                                           \
        GANTRY_K_DEFINITION(op_, class_types, GANTRY_K_COUNT_OF(class_types), hosts_, \
                            GANTRY_K_COUNT_OF(hosts_), .compute = compute_, .data = items_)
CLASSES(classes_on_devices, &draw_items, "StatelessMultinomial", samples_by_seed, compute_classes);
CLASSES(classes_on_cpu, &gantry__cpu_draw_items, "StatelessMultinomial", samples_by_seed,
        compute_classes);
CLASSES(classes_by_key_on_devices, &draw_items, "StatelessMultinomialV2", samples_by_key,
        compute_classes_by_key);
CLASSES(classes_by_key_on_cpu, &gantry__cpu_draw_items, "StatelessMultinomialV2", samples_by_key,
        compute_classes_by_key);

#define OPS(OP)          \
    OP(truncated)        \
    OP(truncated_by_key) \
    OP(classes)          \
    OP(classes_by_key)   \
    OP(key_counter)      \
    OP(key_counter_alg)  \
    OP(alg)
GANTRY_K_ITEM_PACK(draw, OPS);
