/* SPDX-License-Identifier: Apache-2.0 */
/* Training of a convolutional network: 18 layers whose images shrink while their channels grow, an
 * optimizer with two slots per weight, 40 steps. The batch varies from step to step, as with
 * sequences sorted by length. An evaluation of a larger batch, forward only, follows every eighth
 * step.
 *
 *   forward   per layer: workspace, activation, workspace freed
 *   backward  in reverse: gradient of the input, gradient of the weight, workspace; then activation
 *             and gradient freed
 *   update    for each weight: a temporary, then the weight's gradient is freed */
#include "memory_trace.h"

#define LAYERS 18
#define STEPS 40

typedef struct layer_t {
    uint64_t activation_bytes; /* of one image */
    uint64_t weight_bytes;
} layer_t;

static void make_layers(layer_t layers[LAYERS]) {
    uint64_t side = 112, channels = 32, before = 3;
    for (int i = 0; i < LAYERS; ++i) {
        layers[i].activation_bytes = side * side * channels * 4;
        layers[i].weight_bytes = before * channels * 9 * 4;
        before = channels;
        if (i % 4 == 3) {
            side /= 2;
            channels *= 2;
        }
    }
}

static uint64_t workspace_bytes(const layer_t *layer, uint64_t batch) {
    uint64_t bytes = layer->activation_bytes * batch / 4 + layer->weight_bytes * 2;
    return bytes < 48 * TRACE_MIB ? bytes : 48 * TRACE_MIB;
}

static uint32_t run_forward(memory_trace_t *trace, const layer_t *layer, uint64_t batch) {
    uint32_t workspace = memory_trace_allocate(trace, workspace_bytes(layer, batch));
    uint32_t activation = memory_trace_allocate(trace, layer->activation_bytes * batch);
    memory_trace_free(trace, workspace);
    return activation;
}

static void run_backward(memory_trace_t *trace, const layer_t layers[LAYERS], uint64_t batch,
                         const uint32_t activations[LAYERS], uint32_t gradients[LAYERS]) {
    uint32_t loss = memory_trace_allocate(trace, 4);
    uint32_t upper = memory_trace_allocate(trace, layers[LAYERS - 1].activation_bytes * batch);
    for (int i = LAYERS; i-- > 0;) {
        uint32_t workspace = memory_trace_allocate(trace, workspace_bytes(&layers[i], batch));
        gradients[i] = memory_trace_allocate(trace, layers[i].weight_bytes);
        uint64_t input_bytes = i > 0 ? layers[i - 1].activation_bytes : UINT64_C(224) * 224 * 3 * 4;
        uint32_t lower = memory_trace_allocate(trace, input_bytes * batch);
        memory_trace_free(trace, workspace);
        memory_trace_free(trace, activations[i]);
        memory_trace_free(trace, upper);
        upper = lower;
    }
    memory_trace_free(trace, upper);
    memory_trace_free(trace, loss);
}

static void train(memory_trace_t *trace, const layer_t layers[LAYERS], uint64_t batch) {
    uint32_t activations[LAYERS], gradients[LAYERS];
    for (int i = 0; i < LAYERS; ++i) activations[i] = run_forward(trace, &layers[i], batch);
    run_backward(trace, layers, batch, activations, gradients);
    for (int i = 0; i < LAYERS; ++i) {
        uint32_t temporary = memory_trace_allocate(trace, layers[i].weight_bytes);
        memory_trace_free(trace, gradients[i]);
        memory_trace_free(trace, temporary);
    }
}

/* Forward only: frees an activation as soon as the next one is allocated. */
static void evaluate(memory_trace_t *trace, const layer_t layers[LAYERS], uint64_t batch) {
    uint32_t before = run_forward(trace, &layers[0], batch);
    for (int i = 1; i < LAYERS; ++i) {
        uint32_t next = run_forward(trace, &layers[i], batch);
        memory_trace_free(trace, before);
        before = next;
    }
    memory_trace_free(trace, before);
}

void trace_make_training(memory_trace_t *trace, uint64_t seed) {
    trace_random_t random = {seed};
    layer_t layers[LAYERS];
    make_layers(layers);
    uint32_t kept[LAYERS * 3];
    for (int i = 0; i < LAYERS * 3; ++i)
        kept[i] = memory_trace_allocate(trace, layers[i % LAYERS].weight_bytes);
    uint64_t batch = 24;
    uint32_t input = memory_trace_allocate(trace, batch * 224 * 224 * 3 * 4);
    for (int step = 0; step < STEPS; ++step) {
        uint64_t next_batch = trace_random_between(&random, 8, 32);
        /* the input of the next step is prefetched */
        uint32_t next_input = memory_trace_allocate(trace, next_batch * 224 * 224 * 3 * 4);
        train(trace, layers, batch);
        memory_trace_free(trace, input);
        if (step % 8 == 7) evaluate(trace, layers, 64);
        input = next_input;
        batch = next_batch;
    }
    memory_trace_free(trace, input);
    for (int i = 0; i < LAYERS * 3; ++i) memory_trace_free(trace, kept[i]);
}
