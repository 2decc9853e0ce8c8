/* SPDX-License-Identifier: Apache-2.0 */
/* _FusedElementwise on every device that builds programs: one kernel for each program, whose text
 * fused_text.c makes. The core keeps it by the program and the way its inputs broadcast; sizes and
 * addresses are arguments. */
#include "kernels/common/device_kernel.h"
#include "kernels/common/work.h"
#include "kernels/elementwise/fused_text.h"

#define MOST_ARGUMENTS (GANTRY_K_FUSED_MOST_INPUTS + GANTRY_K_FUSED_MOST_OUTPUTS + 1)
/* work, dimensions and offsets, 64 bits each */
#define MOST_NUMBERS \
    (3 + GANTRY_MAX_RANK + GANTRY_K_FUSED_MOST_INPUTS + GANTRY_K_FUSED_MOST_OUTPUTS)

static const char *const fused_parts[] = {
    gantry__text_constants,  gantry__text_dialect, gantry__text_launch,
    gantry__text_type_table, gantry__text_types,   gantry__text_convert,
    gantry__text_half,       gantry__text_work,    gantry__text_fused};

static void write_key(gantry__k_fused_key_t *key, const gantry_op_call_t *call,
                      const gantry__k_fused_t *program, const gantry__k_fused_plan_t *plan) {
    memset(key, 0, offsetof(gantry__k_fused_key_t, words));
    key->instruction_count = (uint8_t)program->instruction_count;
    key->input_count = (uint8_t)program->input_count;
    key->output_count = (uint8_t)program->output_count;
    key->rank = (uint8_t)plan->rank;
    memcpy(key->varies, plan->varies, program->input_count);
    for (uint32_t i = 0; i < program->input_count; ++i) {
        key->input_types[i] = (uint8_t)call->inputs[i]->dtype;
    }
    for (uint32_t i = 0; i < program->output_count; ++i) {
        key->outputs[i] = (uint8_t)program->outputs[i];
    }
    for (uint32_t k = 0; k < program->instruction_count; ++k) {
        const gantry__k_instruction_t *in = &program->instructions[k];

        key->words[k] =
            (gantry__k_fused_word_t){.id = (uint8_t)in->id,
                                     .dtype = (uint8_t)in->dtype,
                                     .operands = {(int8_t)in->operands[0], (int8_t)in->operands[1],
                                                  (int8_t)in->operands[2]}};
    }
}

/* Sets the arguments, of which the last is the structure of `numbers`. Returns how many there
 * are. */
static uint32_t fused_device_set_arguments(const gantry_op_call_t *call,
                                           const gantry__k_fused_plan_t *plan,
                                           const gantry__k_work_t *work, int64_t *numbers,
                                           gantry_launch_arg_t *args) {
    uint32_t count = 0, used = 3;

    memcpy(numbers, work, sizeof *work);
    for (int32_t d = 1; d < plan->rank; ++d) numbers[used++] = plan->dims[d];
    for (uint32_t i = 0; i < call->input_count; ++i) {
        args[count++] = gantry__k_base(call->inputs[i]);
        numbers[used++] = (int64_t)call->inputs[i]->span.offset_bytes;
    }
    for (uint32_t i = 0; i < call->output_count; ++i) {
        args[count++] = gantry__k_base(call->outputs[i]);
        numbers[used++] = (int64_t)call->outputs[i]->span.offset_bytes;
    }
    args[count++] = gantry__k_scalar(numbers, used * (uint32_t)sizeof *numbers);
    return count;
}

static uint32_t count_costly(const gantry__k_fused_t *program) {
    uint32_t costly = 0;

    for (uint32_t k = 0; k < program->instruction_count; ++k) {
        costly += gantry__k_fused_rows[program->instructions[k].id].costly;
    }
    return costly;
}

static int32_t device_compute_fused(gantry_op_call_t *call) {
    const gantry__k_fused_t program = gantry__k_fused(call);
    const gantry_arg_t *out = call->outputs[0];
    gantry__k_fused_plan_t plan;
    gantry__k_fused_key_t key;
    int64_t numbers[MOST_NUMBERS];
    gantry_launch_arg_t args[MOST_ARGUMENTS];
    gantry_backend_kernel_t *kernel;

    gantry__k_fused_plan(&plan, out, call->inputs, call->input_count);
    write_key(&key, call, &program, &plan);
    const gantry_program_source_t source = {
        .struct_size = sizeof source,
        .kinds = GANTRY_PROGRAM_OPENCL_C | GANTRY_PROGRAM_CUDA_C,
        .label = "portable/elementwise/fused",
        .parts = fused_parts,
        .part_count = GANTRY_K_COUNT_OF(fused_parts),
        .key = &key,
        .key_bytes = gantry__k_fused_key_bytes(&key),
        .make = gantry__k_fused_make};
    const gantry__k_options_t options = gantry__k_options(call);
    GANTRY__TRY(call->services->kernel(call, &source, options.text, "fused", &kernel));
    const gantry__k_work_t work = gantry__k_work(
        call, out->element_count, gantry__k_size(out->dtype), count_costly(&program) > 0);
    const uint32_t count = fused_device_set_arguments(call, &plan, &work, numbers, args);
    return gantry__k_launch_wide(call, kernel, &work, gantry__k_fused_width(&key), args, count);
}

/* A program within the limits of devices, of types that this one computes with. */
static int32_t device_takes_fused(const gantry_op_call_t *call) {
    const gantry__k_fused_t program = gantry__k_fused(call);
    const uint32_t most = call->device_info->parameter_bytes;
    const uint32_t bytes = (3 + GANTRY_MAX_RANK + 2 * (call->input_count + call->output_count)) *
                           (uint32_t)sizeof(int64_t);
    uint64_t types = 0;

    if (program.instruction_count > GANTRY_K_FUSED_MOST_DEVICE_INSTRUCTIONS ||
        count_costly(&program) > GANTRY_K_FUSED_MOST_DEVICE_COSTLY || (most != 0 && bytes > most))
        return 0;
    for (uint32_t k = 0; k < program.instruction_count; ++k) {
        types |= GANTRY_DTYPE_BIT(program.instructions[k].dtype) |
                 GANTRY_DTYPE_BIT(gantry__k_fused_result(&program.instructions[k]));
    }
    return (types & ~call->device_info->dtype_mask) == 0;
}

static const gantry_kernel_def_t fused_kernel =
    GANTRY_K_DEFINITION(GANTRY_K_FUSED_OP, NULL, 0, NULL, 0, .flags = GANTRY_KERNEL_IN_PLACE,
                        .supports = device_takes_fused, .compute = device_compute_fused);
static const gantry_kernel_def_t *const kernels[] = {&fused_kernel};
GANTRY_K_PACK(fused, "fused", kernels);
