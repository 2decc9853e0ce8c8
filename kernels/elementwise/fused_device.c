/* SPDX-License-Identifier: Apache-2.0 */
/* _FusedElementwise, _FusedParts and _FusedRows on every device that builds programs: one kernel
 * for each program, whose text fused_text.c makes. The core keeps the kernel by the program and by
 * the way its inputs broadcast, by the number of parts, and for rows by the order of their length;
 * sizes and addresses are arguments. */
#include "kernels/common/device_kernel.h"
#include "kernels/common/work.h"
#include "kernels/elementwise/fused_text.h"
#include "kernels/reduce/reduce_device.h"

#define MOST_ARGUMENTS (GANTRY_K_FUSED_MOST_INPUTS + GANTRY_K_FUSED_MOST_OUTPUTS + 1)
/* work, dimensions and offsets, of 64 bits each */
#define MOST_NUMBERS \
    (3 + GANTRY_MAX_RANK + GANTRY_K_FUSED_MOST_INPUTS + GANTRY_K_FUSED_MOST_OUTPUTS)
/* The same for parts. */
#define MOST_PART_ARGUMENTS (GANTRY_K_FUSED_MOST_PART_TENSORS + 1)
#define MOST_PART_NUMBERS (3 + 2 * GANTRY_K_FUSED_MOST_PARTS + GANTRY_K_FUSED_MOST_PART_TENSORS)

#define ROW_LANES 64
#define LEAST_ROW_BITS 6   /* a row of lanes */
#define GROUPS_PER_UNIT 16 /* work-groups for each core of a processor */

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

/* Adds the bases of inputs and outputs to the arguments, and their offsets to the numbers, of which
 * `used` are already set. The last argument is the structure of the numbers. Returns the number of
 * arguments. */
static uint32_t add_tensors(const gantry_op_call_t *call, int64_t *numbers, uint32_t used,
                            gantry_launch_arg_t *args) {
    uint32_t count = 0;

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

static uint32_t fused_device_set_arguments(const gantry_op_call_t *call,
                                           const gantry__k_fused_plan_t *plan,
                                           const gantry__k_work_t *work, int64_t *numbers,
                                           gantry_launch_arg_t *args) {
    uint32_t used = 3;

    memcpy(numbers, work, sizeof *work);
    for (int32_t d = 1; d < plan->rank; ++d) numbers[used++] = plan->dims[d];
    return add_tensors(call, numbers, used, args);
}

static uint32_t count_costly(const gantry__k_fused_t *program) {
    uint32_t costly = 0;

    for (uint32_t k = 0; k < program->instruction_count; ++k) {
        costly += gantry__k_fused_rows[program->instructions[k].id].costly;
    }
    return costly;
}

static int32_t find_fused(gantry_op_call_t *call, const gantry__k_fused_key_t *key,
                          gantry_backend_kernel_t **out_kernel) {
    const gantry_program_source_t source = {
        .struct_size = sizeof source,
        .kinds = GANTRY_PROGRAM_OPENCL_C | GANTRY_PROGRAM_CUDA_C,
        .label = "portable/elementwise/fused",
        .key = key,
        .key_bytes = gantry__k_fused_key_bytes(key),
        .make = gantry__k_fused_make};
    const uint32_t lanes = gantry__k_fused_lanes(key, call->device_info);
    gantry__k_options_t options = gantry__k_options(call);

    if (lanes > 0) gantry__k_define(&options, "LOOP_LANES", lanes);
    return call->services->kernel(call, &source, options.text, "fused", out_kernel);
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
    GANTRY__TRY(find_fused(call, &key, &kernel));
    const gantry__k_work_t work = gantry__k_work(
        call, out->element_count, gantry__k_size(out->dtype), count_costly(&program) > 0);
    const uint32_t count = fused_device_set_arguments(call, &plan, &work, numbers, args);
    return gantry__k_launch_wide(call, kernel, &work, gantry__k_fused_width(&key), args, count);
}

/* ---- parts ---- */

/* Returns the work-groups of all parts, which have `local` work-items that each take `each`
 * elements at once, or one work-item that takes a run. Sets each part's elements and the work-group
 * that ends it. */
static int64_t set_part_groups(const gantry_op_call_t *call, const gantry__k_parts_t *parts,
                               int64_t group_elements, int64_t most_groups, int64_t *numbers) {
    int64_t all = 0, end = 0;

    for (uint32_t i = 0; i < parts->count; ++i) {
        all += (gantry__k_part_elements(parts, call, i) + group_elements - 1) / group_elements;
    }
    for (uint32_t i = 0; i < parts->count; ++i) {
        const int64_t elements = gantry__k_part_elements(parts, call, i);
        int64_t groups = (elements + group_elements - 1) / group_elements;

        /* the kernel's loop does the rest */
        if (all > most_groups && groups > 1) groups = (groups - 1) * most_groups / all + 1;
        end += groups;
        numbers[2 * i] = elements;
        numbers[2 * i + 1] = end;
    }
    return end;
}

static int32_t launch_parts(gantry_op_call_t *call, const gantry__k_parts_t *parts,
                            const gantry__k_fused_key_t *key, gantry_backend_kernel_t *kernel,
                            bool costly) {
    const int64_t each = gantry__k_fused_width(key);
    const uint32_t units =
        call->device_info->compute_units > 0 ? call->device_info->compute_units : 1;
    int64_t numbers[MOST_PART_NUMBERS], all = 0;
    gantry_launch_arg_t args[MOST_PART_ARGUMENTS];
    uint32_t local = 1;

    for (uint32_t i = 0; i < parts->count; ++i) all += gantry__k_part_elements(parts, call, i);
    if (all == 0) return GANTRY_OK;
    gantry__k_work_t work =
        gantry__k_work(call, all, gantry__k_size(call->outputs[0]->dtype), costly);
    if (!gantry__k_is_serial(call)) {
        local = gantry__k_local_for(call, (uint64_t)((all + each - 1) / each));
        local = gantry__k_local_within(call, kernel, local);
    }
    memcpy(numbers, &work, sizeof work);
    const int64_t groups = set_part_groups(
        call, parts, gantry__k_is_serial(call) ? work.run : each * local,
        gantry__k_is_serial(call) ? INT64_MAX : (int64_t)units * GANTRY_K_ITEMS_PER_UNIT / local,
        numbers + 3);
    const uint32_t count = add_tensors(call, numbers, 3 + 2 * parts->count, args);
    return gantry__k_launch_groups(call, kernel, (uint64_t)groups, local, args, count);
}

static int32_t device_compute_fused_parts(gantry_op_call_t *call) {
    const gantry__k_parts_t parts = gantry__k_parts(call);
    const gantry_arg_t *inputs[GANTRY_K_FUSED_MOST_INPUTS];
    const gantry_op_call_t part = gantry__k_part_call(&parts, call, parts.largest, inputs);
    gantry__k_fused_plan_t plan;
    gantry__k_fused_key_t key;
    gantry_backend_kernel_t *kernel;

    gantry__k_fused_plan(&plan, part.outputs[0], part.inputs, part.input_count);
    write_key(&key, &part, &parts.program, &plan);
    key.parts = (uint8_t)parts.count;
    key.shared = (uint8_t)parts.shared;
    GANTRY__TRY(find_fused(call, &key, &kernel));
    return launch_parts(call, &parts, &key, kernel, count_costly(&parts.program) > 0);
}

/* ---- rows ---- */

static void add_rows_to_key(gantry__k_fused_key_t *key, const gantry__k_rows_t *rows) {
    key->row_bits = LEAST_ROW_BITS;
    while (INT64_C(1) << key->row_bits < rows->length) ++key->row_bits;
    for (uint32_t i = 0; i < key->input_count; ++i) key->is_wide[i] = rows->is_wide[i];
}

static int32_t device_compute_fused_rows(gantry_op_call_t *call) {
    const gantry__k_fused_t program = gantry__k_fused(call);
    const int64_t groups = (int64_t)call->device_info->compute_units * GROUPS_PER_UNIT;
    gantry__k_rows_t rows;
    gantry__k_fused_key_t key;
    int64_t numbers[MOST_NUMBERS];
    gantry_launch_arg_t args[MOST_ARGUMENTS];
    gantry_backend_kernel_t *kernel;

    if (call->outputs[0]->element_count == 0) return GANTRY_OK;
    gantry__k_rows(&rows, call, &program);
    write_key(&key, call, &program, &rows.lead);
    add_rows_to_key(&key, &rows);
    GANTRY__TRY(find_fused(call, &key, &kernel));
    const int64_t each = groups > 0 ? (rows.rows + groups - 1) / groups : 1;
    numbers[0] = rows.rows;
    numbers[1] = rows.length;
    numbers[2] = each;
    const uint32_t count = add_tensors(call, numbers, 3, args);
    if (gantry__k_is_serial(call)) {
        return gantry__k_launch_groups(call, kernel, (uint64_t)((rows.rows + each - 1) / each), 1,
                                       args, count);
    }
    const uint64_t items = (uint64_t)rows.rows * ROW_LANES;
    return gantry__k_launch_1d(call, kernel, items, gantry__k_local_for(call, items), args, count);
}

/* Accepts a program within the limits of devices whose types the device computes with. numbers: how
 * many the kernel takes, apart from an address and an offset for each tensor. */
static int32_t device_takes_program(const gantry_op_call_t *call, uint32_t numbers) {
    const gantry__k_fused_t program = gantry__k_fused(call);
    const uint32_t most = call->device_info->parameter_bytes;
    const uint32_t bytes =
        (numbers + 2 * (call->input_count + call->output_count)) * (uint32_t)sizeof(int64_t);
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

static int32_t device_takes_fused(const gantry_op_call_t *call) {
    return device_takes_program(call, 3 + GANTRY_MAX_RANK);
}

static int32_t device_takes_fused_parts(const gantry_op_call_t *call) {
    return device_takes_program(call, 3 + 2 * (uint32_t)call->attrs[2]->i);
}

/* Whether the input has elements of its own for each row, or the same elements for all rows. */
static bool is_regular(const gantry__k_rows_t *rows, uint32_t input) {
    return rows->lead.varies[input] == 0 ||
           rows->lead.varies[input] == gantry__k_fused_all(&rows->lead);
}

/* Whether output 0, with one element for each row, may have the memory of the input. It must not if
 * the input is read in another order. */
static bool may_lie_over(const gantry_op_call_t *call, const gantry__k_rows_t *rows,
                         uint32_t input) {
    const bool is_same = !rows->is_wide[input] && rows->lead.varies[input] != 0;

    return is_same || call->inputs[input]->element_count != call->outputs[0]->element_count;
}

static bool has_reduction(const gantry__k_fused_t *program) {
    bool has = false;

    for (uint32_t k = 0; k < program->instruction_count; ++k) {
        has = has || gantry__k_fused_reduces(&program->instructions[k]);
    }
    return has;
}

static int32_t device_takes_fused_rows(const gantry_op_call_t *call) {
    const gantry__k_fused_t program = gantry__k_fused(call);
    const bool has_lanes =
        gantry__k_is_serial(call) || call->device_info->max_work_group_size >= ROW_LANES;
    gantry__k_rows_t rows;

    if (!device_takes_fused(call) || !has_lanes || !has_reduction(&program)) return 0;
    gantry__k_rows(&rows, call, &program);
    /* few long rows keep few compute units busy: single ops take more work-items for each */
    if (gantry__reduce_are_few(call, rows.rows, rows.length)) return 0;
    for (uint32_t i = 0; i < call->output_count; ++i) {
        if (call->outputs[i]->dtype == GANTRY_BOOL) return 0;
    }
    for (uint32_t i = 0; i < call->input_count; ++i) {
        if (!is_regular(&rows, i)) return 0;
        if (!rows.makes_wide[program.outputs[0]] && !may_lie_over(call, &rows, i)) return 0;
    }
    return 1;
}

static const gantry_kernel_def_t fused_kernel =
    GANTRY_K_DEFINITION(GANTRY_K_FUSED_OP, NULL, 0, NULL, 0, .flags = GANTRY_KERNEL_IN_PLACE,
                        .supports = device_takes_fused, .compute = device_compute_fused);
static const gantry_kernel_def_t fused_rows_kernel =
    GANTRY_K_DEFINITION(GANTRY_K_FUSED_ROWS_OP, NULL, 0, NULL, 0, .flags = GANTRY_KERNEL_IN_PLACE,
                        .supports = device_takes_fused_rows, .compute = device_compute_fused_rows);
static const gantry_kernel_def_t fused_parts_kernel = GANTRY_K_DEFINITION(
    GANTRY_K_FUSED_PARTS_OP, NULL, 0, NULL, 0, .supports = device_takes_fused_parts,
    .compute = device_compute_fused_parts);
static const gantry_kernel_def_t *const kernels[] = {&fused_kernel, &fused_rows_kernel,
                                                     &fused_parts_kernel};
GANTRY_K_PACK(fused, "fused", kernels);
