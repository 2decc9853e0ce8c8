/* SPDX-License-Identifier: Apache-2.0 */
/* _FusedRows on the CPU: a program of elementwise ops and reductions over the last axis, a few rows
 * at a time in the first-level cache.
 *
 *     for each part of the rows, on its thread
 *         for each block of the part          as many rows as the cache holds, at least one
 *             for each step                   the vector loop of one instruction, or a reduction
 *
 * Steps come from fused_cpu_compile.c. A reduction runs the units of the op's own kernel
 * (reduce_cpu_units.c), so it adds in the same order. Memory is read once for each input and
 * written once for each output. */
#include "kernels/common/cpu_prefetch.h"
#include "kernels/elementwise/fused_cpu.h"

/* The room that the rows of a block may take: most of a first-level cache. It is less if the rows
 * come from beyond the caches, because the hardware prefetcher then follows shorter blocks
 * better. */
#define CACHE_BYTES 24576
#define FAR_CACHE_BYTES 16384
#define FAR_BYTES (INT64_C(4) << 20)
#define SCRATCH_BYTES 65536 /* all slots'; a long row exceeds the first-level cache */
#define MOST_ROWS 64        /* most of a block */
#define LINE_BYTES 64

typedef gantry__cpu_fused_job_t job_t;

typedef struct rows_part_t {
    const job_t *job;
    char *at[GANTRY__CPU_FUSED_PLACES];
    int64_t row, count; /* rows of the block */
    gantry__cpu_reduce_plan_t plans[GANTRY__CPU_FUSED_REDUCTIONS];
} part_t;

/* ---- steps ---- */

/* The bytes from one row to the next in a place. */
static int64_t row_bytes(const job_t *job, uint8_t place, int64_t bytes) {
    switch (job->form[place]) {
        case GANTRY__CPU_FUSED_WIDE: return job->rows->length * bytes;
        case GANTRY__CPU_FUSED_NARROW: return bytes;
        default: return 0;
    }
}

/* Runs a step row by row. Only loops and fills may take a row at a time. */
static void run_by_row(const part_t *part, const gantry__cpu_fused_step_t *step) {
    const job_t *job = part->job;
    const int64_t length = job->rows->length, x_bytes = row_bytes(job, step->x, step->bytes),
                  y_bytes = row_bytes(job, step->y, step->bytes),
                  out_bytes = row_bytes(job, step->out, step->out_bytes);
    const char *x = part->at[step->x], *y = part->at[step->y];
    char *out = part->at[step->out];

    for (int64_t row = 0; row < part->count; ++row) {
        gantry__cpu_fused_run(step, job->level, x, y, y, out, length);
        x += x_bytes;
        y += y_bytes;
        out += out_bytes;
    }
}

static void run_reduction(part_t *part, const gantry__cpu_fused_step_t *step) {
    gantry__cpu_reduce_plan_t *plan = &part->plans[step->reduction];

    plan->in = part->at[step->x];
    plan->out = part->at[step->out];
    gantry__cpu_reduce_units(&part->job->reductions[step->reduction].loops, plan, 0, part->count);
}

/* Plans all but the addresses again, because the last block has fewer rows, and so takes fewer
 * units. */
static void plan_reductions(part_t *part) {
    const job_t *job = part->job;

    for (uint32_t i = 0; i < job->reduction_count; ++i) {
        const gantry__reduce_way_t *way = &job->reductions[i].way;
        gantry__cpu_reduce_plan_t *plan = &part->plans[i];

        *plan = (gantry__cpu_reduce_plan_t){.chunks = 1,
                                            .block = 1,
                                            .blocks = 1,
                                            .units = job->block,
                                            .finish = way->finish,
                                            .out_dtype = way->out,
                                            .divisor = way->divisor};
        gantry__reduce_shape_plain(job->block, job->rows->length, 1, &plan->shape);
    }
}

/* Prefetches the inputs of the next block, a part of them at each step, because all at once they
 * would wait for each other. */
static void prefetch_next(const part_t *part, int64_t step) {
    const job_t *job = part->job;
    const int64_t steps = job->step_count;

    for (uint32_t k = 0; k < job->call->input_count; ++k) {
        if (job->form[k] != GANTRY__CPU_FUSED_WIDE) continue;
        const int64_t bytes =
            part->count * job->rows->length * gantry__k_size(job->call->inputs[k]->dtype);
        const int64_t first = bytes * step / steps, last = bytes * (step + 1) / steps;
        gantry__cpu_prefetch((uintptr_t)part->at[k] + (uintptr_t)(bytes + first),
                             (uint64_t)(last - first));
    }
}

static void rows_run_steps(part_t *part) {
    const job_t *job = part->job;
    const gantry__cpu_fused_step_t *step = job->steps, *end = step + job->step_count;
    const int64_t elements = part->count * job->rows->length;

    for (; step < end; ++step) {
        if (job->prefetches) prefetch_next(part, step - job->steps);
        if (step->kind == GANTRY__CPU_FUSED_REDUCE) {
            run_reduction(part, step);
        } else if (step->span == GANTRY__CPU_FUSED_A_ROW) {
            run_by_row(part, step);
        } else {
            gantry__cpu_fused_run(
                step, job->level, part->at[step->x], part->at[step->y], part->at[step->z],
                part->at[step->out],
                step->span == GANTRY__CPU_FUSED_ELEMENTS ? elements : part->count);
        }
    }
}

/* ---- a part ---- */

/* The number of elements that an input has in a row. */
static int64_t input_length(const job_t *job, uint32_t k) {
    return job->rows->is_wide[k] ? job->rows->length : 1;
}

static void rows_set_addresses(part_t *part) {
    const job_t *job = part->job;

    for (uint32_t k = 0; k < job->call->input_count; ++k) {
        const gantry_arg_t *input = job->call->inputs[k];
        const int64_t row = gantry__k_rows_of_input(job->rows, k, part->row);
        const char *address =
            (const char *)job->data[k] + row * input_length(job, k) * gantry__k_size(input->dtype);
        /* steps do not write inputs */
        memcpy(&part->at[k], &address, sizeof address);
    }
    for (uint32_t k = 0; k < job->call->output_count; ++k) {
        const gantry_arg_t *out = job->call->outputs[k];
        const bool is_wide = job->rows->makes_wide[job->program.outputs[k]];

        part->at[GANTRY__CPU_FUSED_OUTPUT + k] =
            (char *)out->data +
            part->row * (is_wide ? job->rows->length : 1) * gantry__k_size(out->dtype);
    }
}

/* Copies an input's elements for `count` rows, from the block's first row on. */
static void rows_load(const part_t *part, const gantry__cpu_fused_load_t *load, int64_t count) {
    const job_t *job = part->job;
    const int64_t bytes =
        input_length(job, load->input) * gantry__k_size(job->call->inputs[load->input]->dtype);
    const char *data = job->data[load->input];

    for (int64_t row = 0; row < count; ++row) {
        memcpy(part->at[load->place] + row * bytes,
               data + gantry__k_rows_of_input(job->rows, load->input, part->row + row) * bytes,
               (size_t)bytes);
    }
}

static void rows_copy_out(const part_t *part, const gantry__cpu_fused_copy_t *copy) {
    const job_t *job = part->job;
    const bool is_wide = job->form[copy->place] == GANTRY__CPU_FUSED_WIDE;
    const int64_t bytes = part->count * (is_wide ? job->rows->length : 1) *
                          gantry__k_size(job->call->outputs[copy->output]->dtype);

    gantry__cpu_fused_copy(job->level, job->streams && is_wide,
                           part->at[GANTRY__CPU_FUSED_OUTPUT + copy->output], part->at[copy->place],
                           bytes);
}

/* The bytes of a slot for so many rows, with its padding. */
static int64_t bytes_of_slot(const job_t *job, uint32_t slot, int64_t rows) {
    const bool is_wide = job->form[GANTRY__CPU_FUSED_SLOT + slot] == GANTRY__CPU_FUSED_WIDE;
    const int64_t bytes = rows * (is_wide ? job->rows->length : 1) * job->slot_bytes;

    return (bytes + LINE_BYTES - 1) & -LINE_BYTES;
}

static void fused_rows_part(void *context, int64_t begin, int64_t end) {
    const job_t *job = context;
    _Alignas(64) char scratch[SCRATCH_BYTES];
    char *next = scratch;
    part_t part;

    part.job = job;
    part.row = begin;
    plan_reductions(&part);
    for (uint32_t s = 0; s < job->slot_count; ++s) {
        part.at[GANTRY__CPU_FUSED_SLOT + s] = next;
        next += bytes_of_slot(job, s, job->block);
    }
    for (uint32_t i = 0; i < job->load_count; ++i) {
        if (job->loads[i].once) rows_load(&part, &job->loads[i], job->block);
    }
    for (; part.row < end; part.row += part.count) {
        part.count = end - part.row < job->block ? end - part.row : job->block;
        rows_set_addresses(&part);
        for (uint32_t i = 0; i < job->load_count; ++i) {
            if (!job->loads[i].once) rows_load(&part, &job->loads[i], part.count);
        }
        rows_run_steps(&part);
        for (uint32_t i = 0; i < job->copy_count; ++i) rows_copy_out(&part, &job->copies[i]);
    }
}

/* ---- the call ---- */

static int64_t slots_bytes(const job_t *job, int64_t rows) {
    int64_t bytes = 0;

    for (uint32_t s = 0; s < job->slot_count; ++s) bytes += bytes_of_slot(job, s, rows);
    return bytes;
}

/* The bytes of a row in slots and inputs, which later steps read again. */
static int64_t bytes_of_row(const job_t *job) {
    int64_t bytes = slots_bytes(job, 1);

    for (uint32_t k = 0; k < job->call->input_count; ++k) {
        bytes += input_length(job, k) * gantry__k_size(job->call->inputs[k]->dtype);
    }
    return bytes;
}

static bool rows_are_far(const job_t *job) {
    return job->rows->rows * bytes_of_row(job) > FAR_BYTES;
}

/* The number of rows of a block; 0: not even one has room. */
static int64_t rows_of_block(const job_t *job) {
    const int64_t bytes = bytes_of_row(job);
    int64_t rows = (rows_are_far(job) ? FAR_CACHE_BYTES : CACHE_BYTES) / bytes;

    if (slots_bytes(job, 1) > SCRATCH_BYTES) return 0;
    if (rows > job->rows->rows) rows = job->rows->rows;
    if (rows > MOST_ROWS) rows = MOST_ROWS;
    while (rows > 1 && slots_bytes(job, rows) > SCRATCH_BYTES) --rows;
    return rows < 1 ? 1 : rows;
}

static void set_input_forms(job_t *job) {
    for (uint32_t k = 0; k < job->call->input_count; ++k) {
        const bool varies = job->rows->lead.varies[k] != 0;

        if (job->rows->is_wide[k]) {
            job->form[k] = varies ? GANTRY__CPU_FUSED_WIDE : GANTRY__CPU_FUSED_VECTOR;
        } else {
            job->form[k] = varies ? GANTRY__CPU_FUSED_NARROW : GANTRY__CPU_FUSED_SCALAR;
        }
        job->data[k] = job->call->inputs[k]->data;
    }
}

/* Compiles the program, and chooses the block. Returns false if a row is too long for a block. */
static bool prepare(job_t *job, gantry__k_rows_t *rows, const gantry_op_call_t *call, int level,
                    bool streams) {
    job->call = call;
    job->program = gantry__k_fused(call);
    job->level = level;
    job->streams = streams;
    job->shares = gantry__cpu_fused_shares(call);
    job->rows = rows;
    gantry__k_rows(rows, call, &job->program);
    set_input_forms(job);
    if (!gantry__cpu_fused_compile(job)) return false;
    job->block = rows_of_block(job);
    job->prefetches = rows_are_far(job);
    return job->block > 0;
}

/* An output with one element for each row may have the memory of an input that is read in another
 * order. Such an input is copied first. */
static int32_t keep_inputs(gantry_op_call_t *call, job_t *job) {
    for (uint32_t k = 0; k < call->input_count; ++k) {
        const gantry_arg_t *input = call->inputs[k];
        const uint64_t bytes =
            (uint64_t)input->element_count * (uint64_t)gantry__k_size(input->dtype);
        const uint8_t varies = job->rows->lead.varies[k];
        gantry_span_t span;

        if (input->data != call->outputs[0]->data ||
            job->rows->makes_wide[job->program.outputs[0]] ||
            (!job->rows->is_wide[k] && varies == gantry__k_fused_all(&job->rows->lead)))
            continue;
        GANTRY__TRY(call->services->scratch(call, bytes, &span));
        void *copy = (void *)(uintptr_t)(span.region + span.offset_bytes);
        memcpy(copy, input->data, (size_t)bytes);
        job->data[k] = copy;
    }
    return GANTRY_OK;
}

static bool rows_exceed_caches(const gantry_op_call_t *call) {
    for (uint32_t i = 0; i < call->input_count; ++i) {
        if (call->inputs[i]->data == call->outputs[0]->data) return false;
    }
    return call->outputs[0]->element_count * gantry__k_size(call->outputs[0]->dtype) >=
           GANTRY_CPU_STREAM_BYTES;
}

static int32_t cpu_compute_fused_rows(gantry_op_call_t *call) {
    gantry__k_rows_t rows;
    job_t job;

    if (call->outputs[0]->element_count == 0) return GANTRY_OK;
    if (!prepare(&job, &rows, call, call->device->simd_level, rows_exceed_caches(call))) {
        return call->services->fail(call, GANTRY_INTERNAL,
                                    "the rows of a fused program are too long for the CPU backend");
    }
    GANTRY__TRY(keep_inputs(call, &job));
    const int64_t grain = GANTRY_CPU_CHEAP_GRAIN / job.weight / rows.length;
    gantry__cpu_parallel_for(call->device, rows.rows, grain > job.block ? grain : job.block,
                             fused_rows_part, &job);
    return GANTRY_OK;
}

/* A row must have room in the slots, whatever the call's memory is. */
static int32_t cpu_takes_fused_rows(const gantry_op_call_t *call) {
    gantry__k_rows_t rows;
    job_t job;

    return prepare(&job, &rows, call, 0, true);
}

const gantry_kernel_def_t gantry__cpu_fused_rows_kernel =
    GANTRY_K_DEFINITION(GANTRY_K_FUSED_ROWS_OP, NULL, 0, NULL, 0, .flags = GANTRY_KERNEL_IN_PLACE,
                        .supports = cpu_takes_fused_rows, .compute = cpu_compute_fused_rows);
