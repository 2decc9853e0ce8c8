/* StatelessRandomUniform and StatelessRandomNormal on the CPU, by seed and by key and counter. Values come in groups of
 * one counter step; a last group that the output cuts short is made apart. */
#include <string.h>

#include "cpu/cpu_random.h"

#define GRAIN_GROUPS 2048

typedef void (*groups_fn)(const gantry_k_stream_t *stream, int64_t first, int64_t groups, void *out, int level);

typedef struct random_t {
    gantry_k_stream_t stream;
    groups_fn fill;
    char *out;
    int level;
} random_t;

#define GROUP_BYTES 16 /* four float32 or two float64 values */

static void uniform_f32(const gantry_k_stream_t *stream, int64_t first, int64_t groups, void *out, int level)
{
    GANTRY_CPU_PICK(level, uniform_f32)(stream, first, groups, out);
}

static void uniform_f64(const gantry_k_stream_t *stream, int64_t first, int64_t groups, void *out, int level)
{
    GANTRY_CPU_PICK(level, uniform_f64)(stream, first, groups, out);
}

static void normal_f32(const gantry_k_stream_t *stream, int64_t first, int64_t groups, void *out, int level)
{
    GANTRY_CPU_PICK(level, normal_f32)(stream, first, groups, out);
}

static void normal_f64(const gantry_k_stream_t *stream, int64_t first, int64_t groups, void *out, int level)
{
    GANTRY_CPU_PICK(level, normal_f64)(stream, first, groups, out);
}

static void random_part(void *context, int64_t begin, int64_t end)
{
    const random_t *random = context;

    random->fill(&random->stream, begin, end - begin, random->out + begin * GROUP_BYTES, random->level);
}

static int32_t compute(gantry_op_call_t *call, groups_fn fill_f32, groups_fn fill_f64)
{
    const gantry_arg_t *out = call->outputs[0];
    const int64_t bytes = out->element_count * gantry_k_size(out->dtype);
    const int64_t groups = bytes / GROUP_BYTES;
    random_t random = {.fill = out->dtype == GANTRY_K_FLOAT32 ? fill_f32 : fill_f64,
                       .out = out->data,
                       .level = call->device->simd_level};
    int32_t status = gantry__portable_random_stream(call, &random.stream);
    _Alignas(16) char last[GROUP_BYTES];

    if (status != GANTRY_K_OK) {
        return status;
    }
    gantry__cpu_parallel_for(call->device, groups, GRAIN_GROUPS, random_part, &random);
    if (bytes % GROUP_BYTES != 0) {
        random.fill(&random.stream, groups, 1, last, random.level);
        memcpy(random.out + groups * GROUP_BYTES, last, (size_t)(bytes % GROUP_BYTES));
    }
    return GANTRY_K_OK;
}

static int32_t compute_uniform(gantry_op_call_t *call)
{
    return compute(call, uniform_f32, uniform_f64);
}

static int32_t compute_normal(gantry_op_call_t *call)
{
    return compute(call, normal_f32, normal_f64);
}

static const gantry_type_constraint_t types[] = {{"dtype", GANTRY_K_FLOATS}};
static const char *const seed_args[] = {"shape", "seed"};
static const char *const key_args[] = {"shape", "key", "counter", "alg"};

#define KERNEL(op_name, args, args_count, function)                                                                    \
    {                                                                                                                  \
        .struct_size = sizeof(gantry_kernel_def_t), .op = op_name, .types = types, .type_count = 1, .host_args = args, \
        .host_arg_count = args_count, .compute = function,                                                             \
    }

static const gantry_kernel_def_t uniform_by_seed = KERNEL("StatelessRandomUniform", seed_args, 2, compute_uniform);
static const gantry_kernel_def_t normal_by_seed = KERNEL("StatelessRandomNormal", seed_args, 2, compute_normal);
static const gantry_kernel_def_t uniform_by_key = KERNEL("StatelessRandomUniformV2", key_args, 4, compute_uniform);
static const gantry_kernel_def_t normal_by_key = KERNEL("StatelessRandomNormalV2", key_args, 4, compute_normal);

const gantry_kernel_def_t *const gantry__cpu_random_kernels[] = {&uniform_by_seed, &normal_by_seed, &uniform_by_key,
                                                                 &normal_by_key};
const uint32_t gantry__cpu_random_kernel_count =
    sizeof gantry__cpu_random_kernels / sizeof gantry__cpu_random_kernels[0];
