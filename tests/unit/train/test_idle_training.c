/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: A model trains on sequences whose lengths fit a device one at a time, and so do
 * gradients of functions, on the CPU and on OpenCL.
 * Promise: gantry_function_trim also frees the memory that the gradients of a function keep. */
#define _XOPEN_SOURCE 700

#include <gantry_train/train.h>

#include "test.h"
#include "train_case.h"

typedef const gantry_tensor_t tensor;

static gantry_runtime_t *open_limited(const char *device, uint64_t limit_bytes) {
    gantry_runtime_t *runtime;
    if (strcmp(device, "/GPU:0") == 0) {
        need_opencl();
        assert_int_equal(setenv("GANTRY_MEMORY_LIMIT", "GPU:0=24M", 1), 0);
        runtime = train_open_gpu();
        assert_int_equal(unsetenv("GANTRY_MEMORY_LIMIT"), 0);
        return runtime;
    }
    const gantry_runtime_options_t options = {
        .struct_size = sizeof options, .backends = "cpu", .memory_limit_bytes = limit_bytes};
    assert_int_equal(gantry_runtime_create(&options, &runtime), GANTRY_OK);
    return runtime;
}

static gantry_memory_info_t memory_of(gantry_runtime_t *runtime, const char *device) {
    gantry_memory_info_t info = {.struct_size = sizeof info};
    if (gantry_get_memory_info(runtime, device, &info) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    return info;
}

/* ---- a model ---- */

enum { BATCH = 16, CHANNELS = 8, LENGTHS = 32 };

static gantry_status_t begin(void *user, void **out_state) {
    *(int *)user = 0;
    *out_state = user;
    return GANTRY_OK;
}

static gantry_status_t next(void *state, gantry_element_t *element, bool *out_end) {
    int *at = state;
    if ((*out_end = *at == LENGTHS)) return GANTRY_OK;
    const int64_t length = 400 + 20 * (*at)++;
    float *x = gantry_element_component(element, 0, GANTRY_FLOAT32,
                                        &GANTRY_SHAPE(BATCH, length, CHANNELS));
    float *y = gantry_element_component(element, 1, GANTRY_FLOAT32, &GANTRY_SHAPE(BATCH, 1));
    if (!x || !y) return GANTRY_RESOURCE_EXHAUSTED;
    for (int64_t i = 0; i < BATCH * length * CHANNELS; ++i) x[i] = (float)(i % 17) / 8 - 1;
    for (int i = 0; i < BATCH; ++i) y[i] = (float)(i % 2);
    return GANTRY_OK;
}

static void fit_lengths(const char *device) {
    int at;
    gantry_runtime_t *runtime = open_limited(device, 24 << 20);
    const gantry_dataset_source_t source = {
        .struct_size = sizeof source, .user = &at, .begin = begin, .next = next};
    gantry_dataset_t *dataset = gantry_dataset_from_callback(&source);
    gantry_model_t *model = gantry_sequential(runtime, &(gantry_model_options_t){.device = device});
    (void)gantry_model_add(model, gantry_conv1d_layer(16, 3, GANTRY_TANH, NULL));
    (void)gantry_model_add(model, gantry_global_avg_pool(NULL));
    (void)gantry_model_add(model, gantry_dense(1, GANTRY_LINEAR, NULL));
    (void)gantry_model_compile(
        model, &(gantry_compile_options_t){.struct_size = sizeof(gantry_compile_options_t),
                                           .optimizer = gantry_sgd(NULL),
                                           .loss = GANTRY_MEAN_SQUARED_ERROR});
    (void)gantry_model_build(model, GANTRY_FLOAT32, GANTRY_SHAPE(-1, CHANNELS));
    const gantry_fit_options_t fit = {.struct_size = sizeof fit, .epochs = 1};
    if (gantry_model_fit(model, dataset, &fit) != GANTRY_OK) fail_msg("%s", gantry_last_message());
    assert_true(memory_of(runtime, device).collected_count > 0);
    gantry_model_release(model);
    gantry_dataset_release(dataset);
    gantry_runtime_release(runtime);
}

TEST(model_trains_on_lengths_that_fit_one_at_a_time) { fit_lengths("/CPU:0"); }

TEST(model_trains_on_opencl) { fit_lengths("/GPU:0"); }

/* ---- gradients of a function ---- */

static void square_twice(gantry_scope_t *scope, tensor *const *in, tensor **out, void *user) {
    (void)user;
    tensor *a = gantry_tanh(scope, gantry_matmul(scope, in[0], in[0], NULL));
    a = gantry_tanh(scope, gantry_matmul(scope, a, in[0], NULL));
    out[0] = gantry_sum(scope, a, NULL);
}

static gantry_status_t differentiate(gantry_runtime_t *runtime, gantry_function_t *function,
                                     int64_t size) {
    tensor *y = NULL, *gradient = NULL;
    gantry_scope_t *scope = gantry_scope_begin(runtime, "/CPU:0");
    tensor *x = gantry_ones(scope, GANTRY_FLOAT32, GANTRY_SHAPE(size, size));
    gantry_tape_t *tape = gantry_tape_begin(scope, NULL);
    (void)gantry_tape_watch(tape, x);
    (void)gantry_function_call(scope, function, &x, 1, &y, 1);
    (void)gantry_tape_gradient(tape, y, NULL, &(gantry_source_t){.tensor = x}, 1, NULL, &gradient);
    gantry_tape_end(tape);
    return gantry_scope_end(scope);
}

TEST(gradients_of_sizes_that_fit_one_at_a_time) {
    const gantry_input_spec_t spec = SPEC_F32(-1, -1);
    uint64_t freed;
    gantry_runtime_t *runtime = open_limited("/CPU:0", 4 << 20);
    gantry_function_t *function =
        function_fixture_trace(runtime, square_twice, NULL, &spec, 1, 1, NULL);
    for (int64_t size = 100; size <= 250; size += 10) {
        if (differentiate(runtime, function, size) != GANTRY_OK)
            fail_msg("size %d: %s", (int)size, gantry_last_message());
    }
    assert_true(memory_of(runtime, "/CPU:0").requested_bytes > 0);
    assert_int_equal(gantry_function_trim(function, &freed), GANTRY_OK);
    assert_true(freed > 0);
    assert_int_equal(memory_of(runtime, "/CPU:0").requested_bytes, 0);
    gantry_function_release(function);
    gantry_runtime_release(runtime);
}

int main(void) { return test_main_each(runtime_fixture_set_up, NULL); }
