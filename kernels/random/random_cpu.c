/* SPDX-License-Identifier: Apache-2.0 */
/* Random values that take a fixed number of words, on the CPU. A group is the values of one counter
 * step. If the output has only a part of the last group, that group goes to a buffer first. */
#include <stdbool.h>
#include <string.h>

#include "host/try.h"
#include "kernels/random/random_cpu.h"

#define GRAIN_GROUPS 2048
#define MOST_GROUP_BYTES 16

typedef void (*groups_fn)(const gantry__k_draw_t *draw, int64_t first, int64_t groups, void *out);

typedef struct random_t {
    gantry__k_draw_t draw;
    groups_fn fill;
    char *out;
    int64_t group_bytes;
} random_t;

static void random_part(void *context, int64_t begin, int64_t end) {
    const random_t *random = context;
    random->fill(&random->draw, begin, end - begin, random->out + begin * random->group_bytes);
}

#define UNIFORM_CASE(name) \
    case GANTRY_ID_##name: return GANTRY_CPU_PICK(level, uniform_##name);
static groups_fn pick_uniform(int32_t dtype, int level) {
    switch (dtype) {
        GANTRY_FLOATING(UNIFORM_CASE)
        default: return NULL;
    }
}

#define NORMAL_CASE(name) \
    case GANTRY_ID_##name: return GANTRY_CPU_PICK(level, normal_##name);
static groups_fn pick_normal(int32_t dtype, int level) {
    switch (dtype) {
        GANTRY_FLOATING(NORMAL_CASE)
        default: return NULL;
    }
}

static groups_fn pick_integers(int32_t dtype, bool are_bounded, int level) {
    if (gantry__k_size(dtype) == 8)
        return are_bounded ? GANTRY_CPU_PICK(level, integers_64) : GANTRY_CPU_PICK(level, words_64);
    return are_bounded ? GANTRY_CPU_PICK(level, integers_32) : GANTRY_CPU_PICK(level, words_32);
}

static groups_fn pick_loop(const gantry_op_call_t *call) {
    const gantry__k_random_op_t *op = call->kernel->data;
    const int32_t dtype = call->outputs[0]->dtype;
    const int level = call->device->simd_level;
    switch (op->values) {
        case GANTRY_K_DRAWS_UNIFORM: return pick_uniform(dtype, level);
        case GANTRY_K_DRAWS_NORMAL: return pick_normal(dtype, level);
        default: return pick_integers(dtype, op->bounds != 0, level);
    }
}

static int32_t cpu_compute_random(gantry_op_call_t *call) {
    const gantry_arg_t *out = call->outputs[0];
    const int64_t group = gantry__k_group_of(out->dtype);
    const int64_t groups = out->element_count / group;
    const size_t left = (size_t)(out->element_count % group) * gantry__k_size(out->dtype);
    random_t random = {.fill = pick_loop(call),
                       .out = out->data,
                       .group_bytes = group * (int64_t)gantry__k_size(out->dtype)};
    GANTRY__TRY(gantry__portable_random_draw(call, &random.draw));
    gantry__cpu_parallel_for(call->device, groups, GRAIN_GROUPS, random_part, &random);
    if (left != 0) {
        _Alignas(16) char last[MOST_GROUP_BYTES];
        random.fill(&random.draw, groups, 1, last);
        memcpy(random.out + groups * random.group_bytes, last, left);
    }
    return GANTRY_OK;
}

GANTRY_K_RANDOM_OPS(GANTRY_K_RANDOM_KERNEL)

const gantry_kernel_def_t *const gantry__cpu_random_kernels[] = {
    GANTRY_K_RANDOM_OPS(GANTRY_K_RANDOM_KERNEL_POINTER)};
const uint32_t gantry__cpu_random_kernel_count = GANTRY_K_COUNT_OF(gantry__cpu_random_kernels);
