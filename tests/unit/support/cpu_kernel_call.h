/* SPDX-License-Identifier: Apache-2.0 */
/* Calls one kernel of the CPU backend as the core does, without the core; only for tests of
 * kernels.
 *
 * Owner: cpu_call_t owns its pool, its scratch and the tensors made with cpu_tensor, until
 * cpu_call_close. Threads: externally synchronised. */
#ifndef GANTRY_TEST_CPU_KERNEL_CALL_H
#define GANTRY_TEST_CPU_KERNEL_CALL_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cpu/cpu_backend.h"
#include "host/form.h"
#include "kernels/common/cpu_kernels.h"

#define CPU_CALL_BLOCKS 4096

typedef struct cpu_call_t {
    gantry_host_t host;
    gantry_backend_device_t device;
    gantry_call_services_t services;
    void *blocks[CPU_CALL_BLOCKS]; /* tensors and scratch */
    int block_count;
    int scratch_left; /* successful scratch requests before one fails; negative: all succeed */
    int64_t scratch_count;
    char message[512];
    const char *options[8][2];
    int option_count;
    int32_t device_type;  /* CPU; for another type, items are as small as on cards */
    gantry__form_fn form; /* the memory of forms; NULL: no operand is a constant */
} cpu_call_t;

/* The current call: services get only the op call. */
typedef struct cpu_op_t {
    gantry_op_call_t call; /* the first member */
    cpu_call_t *owner;
} cpu_op_t;

static void cpu_call_log(void *self, int32_t level, const char *text) {
    (void)self;
    (void)level;
    (void)text;
}

static int32_t cpu_call_set_error(void *self, int32_t code, const char *domain, int64_t native_code,
                                  const char *text) {
    cpu_call_t *owner = self;
    (void)domain;
    (void)native_code;
    snprintf(owner->message, sizeof owner->message, "%s", text);
    return code;
}

static void *cpu_call_reallocate(void *self, void *ptr, uint64_t old_bytes, uint64_t new_bytes) {
    (void)self;
    (void)old_bytes;
    if (new_bytes == 0) {
        free(ptr);
        return NULL;
    }
    return realloc(ptr, (size_t)new_bytes);
}

static const char *cpu_call_option(void *self, const char *name) {
    cpu_call_t *owner = self;
    for (int i = 0; i < owner->option_count; ++i) {
        if (strcmp(owner->options[i][0], name) == 0) {
            return owner->options[i][1];
        }
    }
    return NULL;
}

static inline void *cpu_call_block(cpu_call_t *owner, size_t bytes) {
    size_t rounded = (bytes + 64) / 64 * 64;
    void *block = owner->block_count < CPU_CALL_BLOCKS ? aligned_alloc(64, rounded) : NULL;
    if (block == NULL) {
        fprintf(stderr, "cpu_kernel_call: no memory or too many blocks\n");
        exit(99);
    }
    memset(block, 0xa5, rounded);
    owner->blocks[owner->block_count++] = block;
    return block;
}

static int32_t cpu_call_scratch(gantry_op_call_t *call, uint64_t size_bytes,
                                gantry_span_t *out_span) {
    cpu_call_t *owner = ((cpu_op_t *)call)->owner;
    owner->scratch_count++;
    if (owner->scratch_left == 0) {
        return GANTRY_RESOURCE_EXHAUSTED;
    }
    owner->scratch_left -= owner->scratch_left > 0;
    *out_span =
        (gantry_span_t){(uintptr_t)cpu_call_block(owner, (size_t)size_bytes), 0, size_bytes};
    return 0;
}

static int32_t cpu_call_fail(gantry_op_call_t *call, int32_t code, const char *text) {
    cpu_call_t *owner = ((cpu_op_t *)call)->owner;
    snprintf(owner->message, sizeof owner->message, "%s", text);
    return code;
}

/* level -1: this machine's best. */
static inline void cpu_call_open(cpu_call_t *owner, int level, uint32_t threads) {
    memset(owner, 0, sizeof *owner);
    owner->host = (gantry_host_t){.struct_size = sizeof owner->host,
                                  .abi_version = GANTRY_ABI_VERSION,
                                  .self = owner,
                                  .log = cpu_call_log,
                                  .set_error = cpu_call_set_error,
                                  .reallocate = cpu_call_reallocate,
                                  .option = cpu_call_option};
    owner->services = (gantry_call_services_t){
        .struct_size = sizeof owner->services, .scratch = cpu_call_scratch, .fail = cpu_call_fail};
    owner->scratch_left = -1;
    owner->device_type = GANTRY_DEVICE_TYPE_CPU;
    owner->device.host = &owner->host;
    owner->device.simd_level = level < 0 ? gantry__cpu_simd_detect(NULL) : level;
    if (gantry__cpu_pool_create(&owner->host, threads, &owner->device.pool) != 0) {
        fprintf(stderr, "cpu_kernel_call: no pool\n");
        exit(99);
    }
}

/* Frees tensors and scratch; the device stays. */
static inline void cpu_call_clear(cpu_call_t *owner) {
    while (owner->block_count > 0) {
        free(owner->blocks[--owner->block_count]);
    }
}

static inline void cpu_call_close(cpu_call_t *owner) {
    cpu_call_clear(owner);
    gantry__cpu_pool_release(owner->device.pool);
}

/* A tensor with memory for its elements; `rank` sizes follow as int. */
static inline gantry_arg_t *cpu_tensor(cpu_call_t *owner, int32_t dtype, int32_t rank,
                                       const int64_t *sizes) {
    gantry_arg_t *arg = cpu_call_block(owner, sizeof *arg);
    int64_t *dims = cpu_call_block(owner, sizeof(int64_t) * GANTRY_MAX_RANK);
    int64_t count = 1;
    for (int32_t i = 0; i < rank; ++i) {
        dims[i] = sizes[i];
        count *= sizes[i];
    }
    *arg = (gantry_arg_t){.struct_size = sizeof *arg,
                          .dtype = dtype,
                          .rank = rank,
                          .dims = dims,
                          .element_count = count};
    arg->data = cpu_call_block(owner, (size_t)count * gantry__k_size(dtype));
    arg->span = (gantry_span_t){(uintptr_t)arg->data, 0, (uint64_t)count * gantry__k_size(dtype)};
    return arg;
}

/* A rank-1 int32 host tensor. */
static inline gantry_arg_t *cpu_ints(cpu_call_t *owner, int64_t count, const int32_t *values) {
    gantry_arg_t *arg = cpu_tensor(owner, GANTRY_INT32, 1, &count);
    memcpy(arg->data, values, (size_t)count * sizeof *values);
    arg->in_host_memory = 1;
    return arg;
}

static inline const gantry_kernel_def_t *cpu_kernel(const gantry_kernel_def_t *const *kernels,
                                                    uint32_t count, const char *op) {
    for (uint32_t i = 0; i < count; ++i) {
        if (strcmp(kernels[i]->op, op) == 0) {
            return kernels[i];
        }
    }
    return NULL;
}

static inline int32_t cpu_compute(cpu_call_t *owner, const gantry_kernel_def_t *kernel,
                                  const gantry_arg_t *const *inputs, uint32_t input_count,
                                  gantry_arg_t *output, const gantry_attr_t *const *attrs,
                                  uint32_t attr_count) {
    const gantry_device_info_t info = {.struct_size = sizeof info, .type = owner->device_type};
    gantry_arg_t *outputs[1] = {output};
    cpu_op_t op = {.call = {.struct_size = sizeof(gantry_op_call_t),
                            .input_count = input_count,
                            .output_count = 1,
                            .attr_count = attr_count,
                            .inputs = inputs,
                            .outputs = outputs,
                            .attrs = attrs,
                            .flags = owner->form ? GANTRY__CALL_HAS_FORMS : 0,
                            .core = &owner->form,
                            .op = kernel->op,
                            .kernel = kernel,
                            .device_info = &info,
                            .device = &owner->device,
                            .services = &owner->services},
                   .owner = owner};
    return kernel->compute(&op.call);
}

#endif
