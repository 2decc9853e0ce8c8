/* StatelessRandomUniform and StatelessRandomNormal on every device that builds programs. The host makes key and
 * counter, the device makes one group of values (16 bytes) per counter step. */
#include <stdio.h>

#include "portable/portable_text.h"
#include "portable/portable_work.h"
#include "portable/random_seed.h"

int32_t gantry_pack_query_random(uint32_t max_abi, const gantry_kernel_pack_t **out_pack);

#define GROUP_BYTES 16

static const char *const parts[] = {gantry__text_dialect,      gantry__text_launch,       gantry__text_types,
                                    gantry__text_math_float32, gantry__text_math_float64, gantry__text_philox,
                                    gantry__text_work,         gantry__text_random};
static const gantry_program_source_t source = {.struct_size = sizeof source,
                                               .kinds = GANTRY_PROGRAM_OPENCL_C | GANTRY_PROGRAM_CUDA_C,
                                               .label = "portable/random",
                                               .parts = parts,
                                               .part_count = sizeof parts / sizeof parts[0]};

/* As gantry_random_t of random.cl. */
typedef struct random_scalars_t {
    gantry_k_work_t work;
    int64_t values;
    uint64_t low;
    uint64_t high;
    uint64_t key;
} random_scalars_t;

static int32_t compute(gantry_op_call_t *call, const char *name)
{
    const gantry_arg_t *out = call->outputs[0];
    const int64_t groups = (out->element_count * gantry_k_size(out->dtype) + GROUP_BYTES - 1) / GROUP_BYTES;
    random_scalars_t scalars = {.work = gantry_k_work(call, groups, GROUP_BYTES, 1), .values = out->element_count};
    const gantry_launch_arg_t args[] = {gantry_k_span(out), gantry_k_scalar(&scalars, sizeof scalars)};
    gantry_backend_kernel_t *kernel;
    gantry_k_stream_t stream;
    char options[64];
    int32_t status = gantry__portable_random_stream(call, &stream);

    if (status != GANTRY_K_OK) {
        return status;
    }
    scalars.low = stream.low;
    scalars.high = stream.high;
    scalars.key = (uint64_t)stream.key1 << 32 | stream.key0;
    snprintf(options, sizeof options, "-DGANTRY_T_ID=%d -DGANTRY_SERIAL=%d", out->dtype, gantry_k_is_serial(call));
    status = call->services->kernel(call, &source, options, name, &kernel);
    return status == GANTRY_K_OK ? gantry_k_launch_work(call, kernel, &scalars.work, args, 2) : status;
}

static int32_t compute_uniform(gantry_op_call_t *call)
{
    return compute(call, "uniform");
}

static int32_t compute_normal(gantry_op_call_t *call)
{
    return compute(call, "normal");
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
static const gantry_kernel_def_t *const kernels[] = {&uniform_by_seed, &normal_by_seed, &uniform_by_key,
                                                     &normal_by_key};

static const gantry_kernel_pack_t pack = {.struct_size = sizeof pack,
                                          .abi_version = 1,
                                          .name = "random",
                                          .program_kinds = GANTRY_PROGRAM_OPENCL_C | GANTRY_PROGRAM_CUDA_C,
                                          .kernel_count = sizeof kernels / sizeof kernels[0],
                                          .kernels = kernels};

int32_t gantry_pack_query_random(uint32_t max_abi, const gantry_kernel_pack_t **out_pack)
{
    *out_pack = max_abi >= pack.abi_version ? &pack : NULL;
    return *out_pack != NULL ? GANTRY_K_OK : GANTRY_K_FAILED_PRECONDITION;
}
