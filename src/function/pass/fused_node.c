/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the program of a fused node, member by member, and finds out whether the device takes it.
 * The op is _FusedRows for groups with reductions, else _FusedElementwise.
 *
 * A member is one instruction. BiasAdd along the last dimension is an Add, too, and AddN is an Add
 * for each further input, because it sums from left to right.
 *
 * An operand is the result of an earlier member, or an input of the node. A member's result is an
 * output of the node if something outside the node uses it. Members beyond the limits of the op or
 * the device go into the next node. */
#include <stdio.h>
#include <string.h>

#include "device/device_open.h"
#include "device/logical_device.h"
#include "function/pass/fused_node.h"
#include "function/pass/pass.h"
#include "run/dispatch.h"

#include "ops/type_rows.h"

#define MOST_INSTRUCTIONS GANTRY__FUSED_MOST_INSTRUCTIONS
#define MOST_INPUTS GANTRY__FUSED_MOST_INPUTS
#define MOST_OUTPUTS GANTRY__FUSED_MOST_OUTPUTS
#define ALPHA GANTRY__FUSED_ALPHA
/* On the host, an operand with one element for each row ends the blocks of a fused node where rows
 * end. Shorter rows than this cost more than a pass over memory saves. */
#define LEAST_ROW 512

/* ---- candidates ---- */

/* Halves are rounded after several inputs. */
static bool sums_pairs(const gantry__graph_t *graph, const gantry__node_t *node) {
    const gantry_dtype_t dtype = graph->values[node->first_output].dtype;
    return node->input_count == 2 || (node->input_count > 2 && !GANTRY__TYPE_IS(dtype, HALVES));
}

static bool adds_to_last(const gantry__graph_t *graph, const gantry__node_t *node) {
    const char *format = node->attrs[1].s;
    const bool is_second = format && strncmp(format, "NC", 2) == 0;
    return !is_second || graph->values[node->first_output].shape.rank == 2;
}

/* The instruction of an op; GANTRY__FUSED_COUNT: none. */
static gantry__fused_id_t instruction_of(const gantry__fusing_t *fusing,
                                         const gantry__node_t *node) {
    const gantry__graph_t *graph = fusing->graph;
    if (node->op->id == GANTRY__OP_ID_AddN)
        return sums_pairs(graph, node) ? GANTRY__FUSED_Add : GANTRY__FUSED_COUNT;
    if (node->op->id == GANTRY__OP_ID_BiasAdd)
        return adds_to_last(graph, node) ? GANTRY__FUSED_Add : GANTRY__FUSED_COUNT;
    const gantry__fused_id_t reduction = gantry__fusing_reduction(fusing, node);
    return reduction != GANTRY__FUSED_COUNT ? reduction : gantry__fused_id(node->op, node->attrs);
}

/* The type by which a program knows the op: that of its operands, of a Select that of t and e. */
static gantry_dtype_t operand_type(const gantry__fusing_t *fusing, const gantry__node_t *node,
                                   gantry__fused_id_t id) {
    const uint32_t which = id == GANTRY__FUSED_Select ? 1 : 0;
    return fusing->graph->values[node->inputs[which]].dtype;
}

/* Whether the second operand of an instruction is made from attributes. */
static bool takes_alpha(gantry__fused_id_t id) {
    return id == GANTRY__FUSED_LeakyRelu || id == GANTRY__FUSED_ReducePrecision;
}

static double alpha_of(gantry__fused_id_t id, gantry_dtype_t dtype, const gantry_attr_t *attrs) {
    if (id == GANTRY__FUSED_LeakyRelu) return attrs[1].f;
    return gantry__precision_code((int32_t)dtype, attrs[1].i, attrs[2].i);
}

static bool is_candidate(const gantry__fusing_t *fusing, uint32_t index) {
    const gantry__node_t *node = &fusing->graph->nodes[index];
    if (!gantry__node_is_pure(node) || node->output_count != 1 || !fusing->is_needed[index])
        return false;
    const gantry__fused_id_t id = instruction_of(fusing, node);
    const bool is_reduction = id > GANTRY__FUSED_COUNT;
    if (id == GANTRY__FUSED_COUNT || gantry__fusing_result(fusing, index)->elements == 0)
        return false;
    if (fusing->what == GANTRY__FUSING_ROWS && !is_reduction &&
        gantry__fusing_result(fusing, index)->shape.rank == 0)
        return false; /* no rows */
    const gantry_dtype_t dtype = operand_type(fusing, node, id);
    if (id == GANTRY__FUSED_LeakyRelu && !GANTRY__TYPE_IS(dtype, FLOATS))
        return false; /* alpha is rounded by the kernels' own rule */
    if (id == GANTRY__FUSED_Cast &&
        !gantry__fused_takes(id, gantry__fusing_result(fusing, index)->dtype))
        return false;
    return is_reduction || gantry__fused_takes(id, dtype);
}

/* Whether an operand repeats each of its elements along a short row. */
static bool repeats_in_short_rows(const gantry__fusing_t *fusing, uint32_t index) {
    const gantry__node_t *node = &fusing->graph->nodes[index];
    const gantry_shape_t *shape = &gantry__fusing_result(fusing, index)->shape;
    if (shape->rank == 0 || shape->dims[shape->rank - 1] >= LEAST_ROW) return false;
    for (uint32_t i = 0; i < node->input_count; ++i) {
        const gantry__value_t *value = &fusing->graph->values[node->inputs[i]];
        const int32_t rank = value->shape.rank;
        if (value->elements > 1 && value->shape.dims[rank - 1] < shape->dims[shape->rank - 1])
            return true;
    }
    return false;
}

gantry_status_t gantry__fused_find_device(const gantry__fusing_t *fusing,
                                          const gantry__node_t *node,
                                          const gantry_logical_device_t **out_device) {
    const uint32_t before = gantry__failures();
    const gantry__place_request_t request =
        gantry__dispatch_request(fusing->runtime, node->op, node->attrs, node->wish, NULL,
                                 fusing->graph->is_batch_invariant);
    gantry__kept_plan_t *kept;
    *out_device = NULL;
    gantry_status_t status = gantry__plan_cache_place(&fusing->runtime->plans, &request, &kept);
    if (status == GANTRY_OK) *out_device = kept->plan.device;
    if (status == GANTRY_OK || status == GANTRY_RESOURCE_EXHAUSTED) return status;
    gantry__forget_since(before); /* the node fails when it is placed */
    return GANTRY_OK;
}

gantry_status_t gantry__fusing_ask(gantry__fusing_t *fusing, uint32_t index) {
    const gantry__node_t *node = &fusing->graph->nodes[index];
    const gantry_logical_device_t *device;
    if (!is_candidate(fusing, index)) return GANTRY_OK;
    GANTRY__TRY(gantry__fused_find_device(fusing, node, &device));
    const bool is_slow = fusing->what == GANTRY__FUSING_ELEMENTWISE && device &&
                         device->synchronous && repeats_in_short_rows(fusing, index);
    fusing->devices[index] = is_slow ? NULL : device;
    return GANTRY_OK;
}

/* ---- the program ---- */

static bool add_input(gantry__program_t *program, uint32_t value, int64_t *out_operand) {
    if (program->input_count == MOST_INPUTS) return false;
    *out_operand = program->input_count;
    program->inputs[program->input_count++] = value;
    return true;
}

/* fusing->operands has operand + MOST_INSTRUCTIONS + 1, so that 0 is none. */
static bool find_operand(gantry__fusing_t *fusing, gantry__program_t *program, uint32_t value,
                         int64_t *out_operand) {
    const int64_t base = MOST_INSTRUCTIONS + 1;
    if (fusing->operands[value] == 0) {
        if (!add_input(program, value, out_operand)) return false;
        fusing->operands[value] = (uint32_t)(*out_operand + base);
    }
    *out_operand = (int64_t)fusing->operands[value] - base;
    return true;
}

static bool add_alpha(gantry__program_t *program, gantry_dtype_t dtype, double alpha,
                      int64_t *out_operand) {
    if (!add_input(program, ALPHA, out_operand)) return false;
    program->alpha_types[*out_operand] = dtype;
    program->alphas[*out_operand] = alpha;
    return true;
}

/* Its five words, all 0 but the first two; NULL: there is no room. */
static int64_t *new_instruction(gantry__program_t *program, gantry__fused_id_t id,
                                gantry_dtype_t dtype) {
    if (program->instruction_count == MOST_INSTRUCTIONS) return NULL;
    int64_t *words = &program->words[program->instruction_count++ * GANTRY__FUSED_WORDS];
    memset(words, 0, GANTRY__FUSED_WORDS * sizeof *words);
    words[0] = (int64_t)id;
    words[1] = (int64_t)dtype;
    program->costly_count += gantry__fused_is_costly(id);
    return words;
}

/* The sum of all inputs, from left to right. */
static bool add_sums(gantry__fusing_t *fusing, gantry__program_t *program,
                     const gantry__node_t *node, gantry_dtype_t dtype) {
    int64_t sum;
    if (!find_operand(fusing, program, node->inputs[0], &sum)) return false;
    for (uint32_t i = 1; i < node->input_count; ++i) {
        int64_t *words = new_instruction(program, GANTRY__FUSED_Add, dtype);
        if (!words || !find_operand(fusing, program, node->inputs[i], &words[3])) return false;
        words[2] = sum;
        sum = -(int64_t)program->instruction_count;
    }
    return true;
}

static bool add_one(gantry__fusing_t *fusing, gantry__program_t *program,
                    const gantry__node_t *node, gantry__fused_id_t id, gantry_dtype_t dtype) {
    int64_t *words = new_instruction(program, id, dtype);
    const bool reduces = id > GANTRY__FUSED_COUNT; /* the axes are no operand */
    if (!words) return false;
    for (uint32_t i = 0; i < (reduces ? 1 : node->input_count); ++i) {
        if (!find_operand(fusing, program, node->inputs[i], &words[2 + i])) return false;
    }
    if (takes_alpha(id))
        return add_alpha(program, dtype, alpha_of(id, dtype, node->attrs), &words[3]);
    if (id == GANTRY__FUSED_Cast) {
        words[3] = node->attrs[1].i;
        words[4] = node->attrs[2].i;
    }
    if (reduces) words[3] = gantry__fused_keeps_dims(node->op, node->attrs);
    return true;
}

static bool add_member(gantry__fusing_t *fusing, gantry__program_t *program, uint32_t member,
                       uint32_t index) {
    const gantry__node_t *node = &fusing->graph->nodes[index];
    const gantry__fused_id_t id = instruction_of(fusing, node);
    const gantry_dtype_t dtype = operand_type(fusing, node, id);
    const bool fits = node->op->id == GANTRY__OP_ID_AddN
                          ? add_sums(fusing, program, node, dtype)
                          : add_one(fusing, program, node, id, dtype);
    if (!fits) return false;
    const uint32_t result = program->instruction_count - 1;
    program->results[member] = result;
    fusing->operands[node->first_output] = MOST_INSTRUCTIONS - result; /* operand -1 - result */
    return true;
}

/* Uses of earlier members' results. Returns how many of these have no other use left. */
static uint32_t count_closed(const gantry__fusing_t *fusing, const gantry__node_t *node) {
    uint32_t closed = 0;
    for (uint32_t i = 0; i < node->input_count; ++i) {
        const uint32_t value = node->inputs[i], operand = fusing->operands[value];
        const bool is_member = operand > 0 && operand <= MOST_INSTRUCTIONS;
        closed += is_member && --fusing->uses_left[value] == 0;
    }
    return closed;
}

static void forget_operands(gantry__fusing_t *fusing, const uint32_t *members, uint32_t count) {
    for (uint32_t k = 0; k < count; ++k) {
        const gantry__node_t *node = &fusing->graph->nodes[members[k]];
        fusing->operands[node->first_output] = 0;
        for (uint32_t i = 0; i < node->input_count; ++i) fusing->operands[node->inputs[i]] = 0;
    }
}

static bool is_within_limits(const gantry__fusing_t *fusing, const gantry__program_t *program,
                             uint32_t member) {
    return fusing->devices[member]->synchronous ||
           (program->instruction_count <= GANTRY__FUSED_MOST_DEVICE_INSTRUCTIONS &&
            program->costly_count <= GANTRY__FUSED_MOST_DEVICE_COSTLY);
}

/* Writes members until a limit. Returns how many of them, counted from the first, one node may
 * have: their results that are used outside are few enough. */
static uint32_t write_members(gantry__fusing_t *fusing, gantry__program_t *program,
                              const uint32_t *members, uint32_t count) {
    uint32_t open = 0, possible = 0;
    program->instruction_count = program->input_count = program->costly_count = 0;
    for (uint32_t k = 0; k < count; ++k) {
        const gantry__node_t *node = &fusing->graph->nodes[members[k]];
        open -= count_closed(fusing, node);
        if (!add_member(fusing, program, k, members[k]) ||
            !is_within_limits(fusing, program, members[k]))
            break;
        fusing->uses_left[node->first_output] = fusing->uses[node->first_output];
        if (++open <= MOST_OUTPUTS) possible = k + 1;
    }
    forget_operands(fusing, members, count);
    return possible;
}

static void fuse_add_outputs(const gantry__fusing_t *fusing, gantry__program_t *program,
                             const uint32_t *members, uint32_t count) {
    program->output_count = 0;
    for (uint32_t k = 0; k < count; ++k) {
        if (fusing->uses_left[fusing->graph->nodes[members[k]].first_output] == 0) continue;
        program->output_members[program->output_count] = k;
        program->outputs[program->output_count++] = program->results[k];
    }
}

uint32_t gantry__fused_write(gantry__fusing_t *fusing, gantry__program_t *program,
                             const uint32_t *members, uint32_t count) {
    const uint32_t most = count < MOST_INSTRUCTIONS ? count : MOST_INSTRUCTIONS,
                   taken = write_members(fusing, program, members, most);
    if (taken < most) (void)write_members(fusing, program, members, taken);
    fuse_add_outputs(fusing, program, members, taken);
    return taken;
}

/* ---- the node ---- */

void gantry__fused_begin_call(const gantry__fusing_t *fusing, const gantry__program_t *program,
                              gantry__op_id_t op, gantry__asked_call_t *call) {
    static const gantry_shape_t scalar = {.rank = 0};
    gantry__asked_init(call, op, program->input_count);
    for (uint32_t i = 0; i < program->input_count; ++i) {
        const bool is_alpha = program->inputs[i] == ALPHA;
        const gantry__value_t *value = is_alpha ? NULL : &fusing->graph->values[program->inputs[i]];
        call->shapes[i] = value ? &value->shape : &scalar;
        call->dtypes[i] = value ? value->dtype : program->alpha_types[i];
    }
}

/* Infers the call from the program; the members' shape is that of all outputs. */
static gantry_status_t infer_call(const gantry__fusing_t *fusing, const gantry__program_t *program,
                                  gantry__asked_call_t *call) {
    const gantry_attr_value_t attrs[] = {
        {.name = "program",
         .kind = GANTRY_ATTR_INTS,
         .i = (int64_t)program->instruction_count * GANTRY__FUSED_WORDS,
         .list = program->words},
        {.name = "outputs",
         .kind = GANTRY_ATTR_INTS,
         .i = program->output_count,
         .list = program->outputs}};
    gantry__fused_begin_call(fusing, program,
                             fusing->what == GANTRY__FUSING_ROWS ? GANTRY__OP_ID__FusedRows
                                                                 : GANTRY__OP_ID__FusedElementwise,
                             call);
    return gantry__op_infer(&call->infer, attrs, 2);
}

gantry_status_t gantry__fused_find_kernel(const gantry__fusing_t *fusing,
                                          gantry__asked_call_t *call, const gantry__wish_t *wish,
                                          const gantry_logical_device_t *device,
                                          const gantry_kernel_def_t **out_kernel) {
    return gantry__asked_find_kernel(fusing->runtime, call, wish, fusing->graph->is_batch_invariant,
                                     device, out_kernel);
}

/* Whether the fused op, with the request of the last member, runs on the members' device. A program
 * that no device takes leaves the members as they are. */
static gantry_status_t can_run(const gantry__fusing_t *fusing, const gantry__program_t *program,
                               gantry__asked_call_t *call, uint32_t last, bool *out_runs) {
    const uint32_t before = gantry__failures();
    const gantry_kernel_def_t *kernel;
    gantry_status_t status = infer_call(fusing, program, call);
    *out_runs = false;
    if (status == GANTRY_OK) {
        status = gantry__fused_find_kernel(fusing, call, fusing->graph->nodes[last].wish,
                                           fusing->devices[last], &kernel);
        *out_runs = status == GANTRY_OK && kernel;
    }
    if (status == GANTRY_OK || status == GANTRY_RESOURCE_EXHAUSTED) return status;
    gantry__forget_since(before);
    return GANTRY_OK;
}

/* ---- in the graph ---- */

/* The bits of a number of a 16-bit type, which has it exactly and not as a denormal. */
static uint16_t half_bits(gantry_dtype_t dtype, float number) {
    uint32_t bits;
    memcpy(&bits, &number, sizeof bits);
    if (bits == 0) return 0;
    return (uint16_t)(dtype == GANTRY_BFLOAT16 ? bits >> 16 : (bits >> 13) - ((127 - 15) << 10));
}

static gantry_status_t add_alpha_constant(const gantry__fusing_t *fusing,
                                          const gantry__program_t *program, uint32_t input,
                                          const gantry__node_t *user, uint32_t *out_value) {
    const gantry_shape_t scalar = {.rank = 0};
    const gantry_dtype_t dtype = program->alpha_types[input];
    const float narrow = (float)program->alphas[input]; /* as the attribute's type is */
    const double wide = narrow;
    const uint16_t half = half_bits(dtype, narrow); /* of ReducePrecision only */
    const void *data = dtype == GANTRY_FLOAT32   ? (const void *)&narrow
                       : dtype == GANTRY_FLOAT64 ? (const void *)&wide
                                                 : &half;
    char name[GANTRY__NODE_NAME_BYTES];
    (void)snprintf(name, sizeof name, "%.100s/alpha", user->name);
    return gantry__pass_add_constant(fusing->runtime, fusing->graph, user, name, dtype, &scalar,
                                     data, out_value);
}

/* Collects the control inputs of all members, and the members' names. */
static gantry_status_t collect_members(const gantry__fusing_t *fusing, const uint32_t *members,
                                       uint32_t count, gantry__node_t *node) {
    gantry__arena_t *arena = &fusing->graph->arena;
    const gantry__node_t *nodes = fusing->graph->nodes;
    uint32_t controls = 0;
    for (uint32_t k = 0; k < count; ++k) controls += nodes[members[k]].control_count;
    node->controls = gantry__arena_zalloc(arena, controls, sizeof *node->controls);
    const char **names = gantry__arena_zalloc(arena, count, sizeof *names);
    const gantry__op_def_t **ops = gantry__arena_zalloc(arena, count, sizeof(gantry__op_def_t *));
    if (!node->controls || !names || !ops) return GANTRY_RESOURCE_EXHAUSTED;
    for (uint32_t k = 0; k < count; ++k) {
        const gantry__node_t *member = &nodes[members[k]];
        names[k] = member->name;
        ops[k] = member->op;
        if (member->part_of != node->part_of) node->part_of = NULL;
        for (uint32_t i = 0; i < member->control_count; ++i)
            node->controls[node->control_count++] = member->controls[i];
    }
    node->fused = names;
    node->fused_ops = ops;
    node->fused_count = count;
    return GANTRY_OK;
}

/* Forgets the axes that only this reduction used, because nothing needs them. */
static void forget_axes(const gantry__fusing_t *fusing, const gantry__node_t *reduction) {
    const uint32_t maker = fusing->graph->values[reduction->inputs[1]].node;
    const gantry__node_t *axes = &fusing->graph->nodes[maker];
    if (--fusing->uses[reduction->inputs[1]] == 0 && axes->kind == GANTRY__NODE_CONST)
        fusing->is_needed[maker] = axes->colocated_count > 0;
}

static void replace_members(gantry__fusing_t *fusing, const gantry__program_t *program,
                            const uint32_t *members, uint32_t count, uint32_t index) {
    const gantry__graph_t *graph = fusing->graph;
    for (uint32_t k = 0; k < count; ++k) {
        const gantry__node_t *member = &graph->nodes[members[k]];
        fusing->new_nodes[members[k]] = index;
        if (gantry__fusing_reduction(fusing, member) != GANTRY__FUSED_COUNT)
            forget_axes(fusing, member);
    }
    fusing->is_last[members[count - 1]] = true;
    for (uint32_t i = 0; i < program->output_count; ++i)
        fusing->new_values[graph->nodes[members[program->output_members[i]]].first_output] =
            graph->nodes[index].first_output + i;
}

gantry_status_t gantry__fused_add(gantry__fusing_t *fusing, gantry__program_t *program,
                                  const gantry__asked_call_t *call, const uint32_t *members,
                                  uint32_t count) {
    const gantry__node_t last = fusing->graph->nodes[members[count - 1]];
    gantry__node_t node = {.kind = GANTRY__NODE_OP,
                           .op = call->infer.op,
                           .name = last.name,
                           .part_of = last.part_of,
                           .wish = last.wish,
                           .tag = last.tag,
                           .origin = last.origin,
                           .marks = last.marks,
                           .inputs = program->inputs,
                           .input_count = program->input_count,
                           .attrs = call->infer.attrs,
                           .output_count = program->output_count,
                           .piece_first = -1};
    uint32_t index;
    GANTRY__TRY(collect_members(fusing, members, count, &node));
    for (uint32_t i = 0; i < program->input_count; ++i) {
        if (program->inputs[i] == ALPHA)
            GANTRY__TRY(add_alpha_constant(fusing, program, i, &last, &program->inputs[i]));
    }
    GANTRY__TRY(
        gantry__graph_add(fusing->graph, &node, call->out_dtypes, call->out_shapes, &index));
    replace_members(fusing, program, members, count, index);
    return GANTRY_OK;
}

/* Whether it has a reduction, and an instruction with all elements of its rows: without one, fusion
 * saves no pass over memory. */
static bool is_worth_rows(const gantry__fusing_t *fusing, const uint32_t *members, uint32_t count) {
    bool reduces = false, is_wide = false;
    for (uint32_t k = 0; k < count; ++k) {
        const gantry__node_t *node = &fusing->graph->nodes[members[k]];
        if (gantry__fusing_reduction(fusing, node) != GANTRY__FUSED_COUNT) {
            reduces = true;
        } else {
            is_wide = is_wide || gantry__fusing_rows_of(fusing, members[k]).length > 0;
        }
    }
    return reduces && is_wide;
}

gantry_status_t gantry__fusing_join(gantry__fusing_t *fusing, const uint32_t *members,
                                    uint32_t count, uint32_t *out_taken) {
    gantry__program_t program;
    gantry__asked_call_t call;
    bool runs = false;
    const uint32_t taken = gantry__fused_write(fusing, &program, members, count);
    *out_taken = taken > 1 ? taken : 1;
    if (taken < 2 ||
        (fusing->what == GANTRY__FUSING_ROWS && !is_worth_rows(fusing, members, taken)))
        return GANTRY_OK;
    GANTRY__TRY(can_run(fusing, &program, &call, members[taken - 1], &runs));
    return runs ? gantry__fused_add(fusing, &program, &call, members, taken) : GANTRY_OK;
}
