/* SPDX-License-Identifier: Apache-2.0 */
/* _FusedElementwise on the CPU: a program of elementwise ops, block by block in the first-level
 * cache.
 *
 *     for each part of the output, on its thread
 *         for each block of the part          some hundred to two thousand elements
 *             for each step                   the vector loop of one instruction over the block,
 *                                             or a chain of steps (fused_cpu_chain.c)
 *
 * Memory is read once for each input and written once for each output. Results of instructions stay
 * in slots on the stack (fused_cpu_compile.c). A small call is one block on the caller's thread.
 *
 * Inputs that broadcast are read in one of two ways. Long rows: a block ends where a row ends, so
 * that each input has adjacent elements or one element for the block. Short rows: inputs are
 * gathered into slots, once for all blocks if the input is a vector along the rows and blocks are
 * whole rows. */
#include "kernels/common/cpu_copy.h"
#include "kernels/elementwise/fused_cpu.h"

#define SCRATCH_BYTES 24576 /* most of a first-level cache, in bytes */
#define LONGEST_BLOCK 1024  /* in elements */
#define SHORT_ROW 256       /* in elements */
#define LEAST_GRAIN GANTRY__CPU_FUSED_LEAST_GRAIN

typedef gantry__cpu_fused_job_t job_t;

static int64_t fused_cpu_at_most(int64_t value, int64_t bound) {
    return value < bound ? value : bound;
}

/* ---- a block ---- */

typedef struct block_of_part_t {
    const job_t *job;
    const gantry_op_call_t *call;
    char *at[GANTRY__CPU_FUSED_PLACES];
    int64_t begin, count;
    int64_t most; /* the most elements that a block of the part has */
} part_t;

static const char *input_address(const part_t *part, uint32_t k) {
    const job_t *job = part->job;
    const gantry_arg_t *input = part->call->inputs[k];
    const gantry__k_fused_plan_t *plan = &job->plan;
    const int64_t begin = part->begin;
    const uint8_t varies = plan->varies[k];
    int64_t element = varies == 0 ? 0 : begin;

    if (varies != 0 && varies != gantry__k_fused_all(plan)) {
        const int64_t inner = plan->dims[plan->rank - 1], row = begin / inner;

        if (!job->by_rows) return input->data; /* a gather counts from the start */
        element = gantry__k_fused_row_start(plan, varies, row) +
                  (varies >> (plan->rank - 1) & 1 ? begin - row * inner : 0);
    }
    return (const char *)input->data + element * gantry__k_size(input->dtype);
}

static void load(part_t *part, const gantry__cpu_fused_load_t *load) {
    const job_t *job = part->job;
    const gantry_arg_t *input = part->call->inputs[load->input];
    const uint32_t bytes = gantry__k_size(input->dtype);
    const int64_t count = load->once ? part->most : part->count;
    gantry__k_plan_t plan;

    if (load->is_fill) {
        GANTRY_CPU_PICK(job->level, fill_loop)
        (bytes, part->at[load->input], part->at[load->place], count, false);
        return;
    }
    gantry__k_plan_broadcast(&plan, part->call->outputs[0], &input, 1);
    if (load->once) {
        /* the rows are the vector again and again, from where the part begins */
        gantry__k_plan_t rows = {.rank = 2,
                                 .operands = 1,
                                 .dims = {INT64_MAX / 2, job->plan.dims[1]},
                                 .strides = {{0, 1}}};
        gantry__cpu_gather(&rows, 0, input->data, bytes, part->begin % job->plan.dims[1], count,
                           part->at[load->place]);
    } else {
        gantry__cpu_gather(&plan, 0, input->data, bytes, part->begin, count, part->at[load->place]);
    }
}

static void load_all(part_t *part, bool once) {
    const job_t *job = part->job;

    for (uint32_t i = 0; i < job->load_count; ++i) {
        if (job->loads[i].once == once) load(part, &job->loads[i]);
    }
}

static void run_steps(const job_t *job, const gantry__cpu_fused_step_t *step,
                      const gantry__cpu_fused_step_t *end, char *const *at, int64_t count) {
    for (; step < end; ++step) {
        gantry__cpu_fused_run(step, job->level, at[step->x], at[step->y], at[step->z],
                              at[step->out], count);
    }
}

void gantry__cpu_fused_copy(int level, bool streams, char *to, const char *from, int64_t bytes) {
    if (streams && (((uintptr_t)to | (uintptr_t)from | (uintptr_t)bytes) & 63) == 0) {
        GANTRY_CPU_PICK(level, stream_copy)(to, from, bytes);
    } else {
        gantry__cpu_copy(to, from, (size_t)bytes);
    }
}

static void fused_cpu_block(const job_t *job, char *const *at, int64_t count) {
    const gantry__cpu_fused_step_t *step = job->steps;

    for (uint32_t i = 0; i < job->chain_count; ++i) {
        run_steps(job, step, job->steps + job->chains[i].first_step, at, count);
        gantry__cpu_fused_run_chain(job, &job->chains[i], at, count);
        step = job->steps + job->chains[i].end_step;
    }
    run_steps(job, step, job->steps + job->step_count, at, count);
}

static void copy_out(const part_t *part, const gantry__cpu_fused_copy_t *copy) {
    const job_t *job = part->job;
    const int64_t bytes =
        part->count * (int64_t)gantry__k_size(part->call->outputs[copy->output]->dtype);
    char *to = part->at[GANTRY__CPU_FUSED_OUTPUT + copy->output];
    const char *from = part->at[copy->place];

    gantry__cpu_fused_copy(job->level, job->streams, to, from, bytes);
}

/* ---- a part ---- */

/* The number of elements from `begin` to the end of its block. */
static int64_t block_length(const job_t *job, int64_t begin, int64_t end) {
    int64_t most = fused_cpu_at_most(job->block, end - begin);

    if (job->by_rows && job->plan.rank > 1) {
        const int64_t inner = job->plan.dims[job->plan.rank - 1];

        most = fused_cpu_at_most(most, inner - begin % inner);
    }
    return most;
}

static void set_addresses(part_t *part) {
    for (uint32_t k = 0; k < part->call->input_count; ++k) {
        /* steps do not write inputs */
        const char *address = input_address(part, k);
        memcpy(&part->at[k], &address, sizeof address);
    }
    for (uint32_t k = 0; k < part->call->output_count; ++k) {
        const gantry_arg_t *out = part->call->outputs[k];

        part->at[GANTRY__CPU_FUSED_OUTPUT + k] =
            (char *)out->data + part->begin * gantry__k_size(out->dtype);
    }
}

void gantry__cpu_fused_part(const gantry__cpu_fused_job_t *job, int64_t begin, int64_t end) {
    gantry__cpu_fused_part_of(job, job->call, begin, end);
}

void gantry__cpu_fused_part_of(const gantry__cpu_fused_job_t *job, const gantry_op_call_t *call,
                               int64_t begin, int64_t end) {
    _Alignas(64) char scratch[SCRATCH_BYTES];
    part_t part;

    part.job = job;
    part.call = call;
    part.begin = begin;
    part.most = fused_cpu_at_most(job->block, end - begin);
    for (uint32_t s = 0; s < job->slot_count; ++s) {
        part.at[GANTRY__CPU_FUSED_SLOT + s] = scratch + s * job->block * job->slot_bytes;
    }
    set_addresses(&part);
    if (job->load_count > 0) load_all(&part, true);
    for (;;) {
        part.count = block_length(job, part.begin, end);
        if (job->load_count > 0) load_all(&part, false);
        fused_cpu_block(job, part.at, part.count);
        for (uint32_t i = 0; i < job->copy_count; ++i) copy_out(&part, &job->copies[i]);
        part.begin += part.count;
        if (part.begin >= end) return;
        set_addresses(&part);
    }
}

/* ---- the call ---- */

/* Chooses as many elements as the slots have room for, and whole rows if a vector along them is
 * loaded once. */
static int64_t choose_block(const job_t *job, int64_t count) {
    const int64_t room = job->slot_count > 0
                             ? SCRATCH_BYTES / ((int64_t)job->slot_count * job->slot_bytes)
                             : LONGEST_BLOCK;
    int64_t block = fused_cpu_at_most(room, LONGEST_BLOCK);

    block = block >= 64 ? block & -64 : block & -16;
    if (!job->by_rows && job->plan.rank == 2 && block >= job->plan.dims[1]) {
        block -= block % job->plan.dims[1];
    }
    return fused_cpu_at_most(block, count);
}

static bool has_long_rows(const gantry__k_fused_plan_t *plan) {
    return plan->rank == 1 || plan->dims[plan->rank - 1] >= SHORT_ROW;
}

/* Finding chains takes the time that they save over some hundred elements, or over few steps. */
void gantry__cpu_fused_choose_chains(gantry__cpu_fused_job_t *job) {
    const int64_t count = job->call->outputs[0]->element_count;

    if (count > LEAST_GRAIN || (count >= 512 && job->step_count >= 8))
        gantry__cpu_fused_find_chains(job);
}

static bool exceeds_caches(const gantry_op_call_t *call) {
    for (uint32_t i = 0; i < call->input_count; ++i) {
        if (call->inputs[i]->data == call->outputs[0]->data) return false;
    }
    return call->outputs[0]->element_count * gantry__k_size(call->outputs[0]->dtype) >=
           GANTRY_CPU_STREAM_BYTES;
}

void gantry__cpu_fused_prepare(gantry__cpu_fused_job_t *job, const gantry_op_call_t *call,
                               const gantry__k_fused_t *program, bool shares) {
    const int64_t count = call->outputs[0]->element_count;

    job->shares = shares;
    job->call = call;
    job->program = *program;
    job->level = call->device->simd_level;
    gantry__k_fused_plan(&job->plan, call->outputs[0], call->inputs, call->input_count);
    job->by_rows = has_long_rows(&job->plan);
    job->streams = exceeds_caches(call);
    job->rows = NULL;
    (void)gantry__cpu_fused_compile(job);
    job->block = choose_block(job, count);
    if (!job->by_rows && job->plan.rank == 2 && job->block < job->plan.dims[1]) {
        job->by_rows = true; /* no room for a vector that is loaded once */
        (void)gantry__cpu_fused_compile(job);
        job->block = choose_block(job, count);
    }
}

int64_t gantry__cpu_fused_grain(const gantry__cpu_fused_job_t *job) {
    const int64_t grain = GANTRY_CPU_CHEAP_GRAIN / job->weight;

    return grain > LEAST_GRAIN ? grain & -LEAST_GRAIN : LEAST_GRAIN;
}

static void run_range(void *context, int64_t begin, int64_t end) {
    gantry__cpu_fused_part(context, begin, end);
}

static int32_t run_in_blocks(gantry_op_call_t *call, const gantry__k_fused_t *program,
                             int64_t count) {
    job_t job;

    gantry__cpu_fused_prepare(&job, call, program, gantry__cpu_fused_shares(call));
    gantry__cpu_fused_choose_chains(&job);
    if (count <= LEAST_GRAIN) {
        gantry__cpu_fused_part(&job, 0, count);
        return GANTRY_OK;
    }
    gantry__cpu_parallel_for(call->device, count, gantry__cpu_fused_grain(&job), run_range, &job);
    return GANTRY_OK;
}

/* Whether no input needs more than its own elements, or one. */
static bool is_small(const gantry_op_call_t *call, int64_t count) {
    if (count > GANTRY__CPU_FUSED_SMALL) return false;
    for (uint32_t i = 0; i < call->input_count; ++i) {
        const int64_t own = call->inputs[i]->element_count;

        if (own != count && own != 1) return false;
    }
    return true;
}

int32_t gantry__cpu_fused_compute(gantry_op_call_t *call) {
    const int64_t count = call->outputs[0]->element_count;
    const gantry__k_fused_t program = gantry__k_fused(call);

    if (is_small(call, count) && gantry__cpu_fused_run_small(call, &program, count))
        return GANTRY_OK;
    return run_in_blocks(call, &program, count);
}

static const gantry_kernel_def_t fused_kernel =
    GANTRY_K_DEFINITION(GANTRY_K_FUSED_OP, NULL, 0, NULL, 0, .flags = GANTRY_KERNEL_IN_PLACE,
                        .compute = gantry__cpu_fused_compute);

const gantry_kernel_def_t *const gantry__cpu_fused_kernels[] = {
    &fused_kernel, &gantry__cpu_fused_rows_kernel, &gantry__cpu_fused_parts_kernel};
const uint32_t gantry__cpu_fused_kernel_count = GANTRY_K_COUNT_OF(gantry__cpu_fused_kernels);
