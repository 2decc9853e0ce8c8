/* SPDX-License-Identifier: Apache-2.0 */
/* A fused program as steps: calls of the vector loops of the eager kernels over one block of
 * elements. The files fused_cpu* share this header.
 *
 * Not here: the loops (elementwise_cpu.h). Owner: all are values of the caller; a job refers to its
 * call and its program, which must outlive it. Threads: thread-safe, because all threads of a call
 * only read one job. */
#ifndef GANTRY_KERNELS_FUSED_CPU_H
#define GANTRY_KERNELS_FUSED_CPU_H

#include "kernels/elementwise/elementwise_cpu.h"
#include "kernels/elementwise/fused_shape.h"
#include "kernels/reduce/reduce_cpu.h"

/* So many elements pay for a second thread, whatever the program is. */
#define GANTRY__CPU_FUSED_LEAST_GRAIN 1024

/* Writes to out[i] the value x[i] between lower[i] and upper[i], for a type that is computed in
 * itself. */
typedef void (*gantry__cpu_clip_fn)(const void *x, const void *lower, const void *upper, void *out,
                                    int64_t count);
GANTRY_CPU_DECLARE(gantry__cpu_clip_fn, clip_loop, (uint32_t column));
/* Copies by streaming stores; both addresses and bytes must be multiples of a cache line. */
GANTRY_CPU_DECLARE(void, stream_copy, (char *out, const char *in, int64_t bytes));

/* A place is where a step reads or writes: an input, an output, or a slot, which holds a block. */
enum {
    GANTRY__CPU_FUSED_OUTPUT = GANTRY_K_FUSED_MOST_INPUTS,
    GANTRY__CPU_FUSED_SLOT = GANTRY__CPU_FUSED_OUTPUT + GANTRY_K_FUSED_MOST_OUTPUTS,
    /* one for each instruction's result and for each input's dense copy, three for operands as
     * float32, three that are filled with one element for each row */
    GANTRY__CPU_FUSED_PLACES =
        GANTRY__CPU_FUSED_SLOT + GANTRY_K_FUSED_MOST_INSTRUCTIONS + GANTRY_K_FUSED_MOST_INPUTS + 6,
    /* an instruction on halves: three operands are filled and widened, and the result is
     * narrowed */
    GANTRY__CPU_FUSED_STEPS = 8 * GANTRY_K_FUSED_MOST_INSTRUCTIONS,
    GANTRY__CPU_FUSED_REDUCTIONS = 16 /* most of one program */
};

/* The reductions of a program over rows: the loops of the ops' own kernels. */
typedef struct gantry__cpu_fused_reduction_t {
    gantry__reduce_way_t way;
    gantry__cpu_reduce_loops_t loops;
} gantry__cpu_fused_reduction_t;

typedef struct gantry__cpu_fused_step_t {
    union {
        gantry__cpu_loop_fn loop;
        gantry__cpu_clip_fn clip;
    } as;
    uint8_t kind; /* GANTRY__CPU_FUSED_LOOP ... */
    uint8_t x, y, z, out;
    uint8_t bytes;     /* an element's, in a select or a fill; over rows also a loop operand's */
    uint8_t out_bytes; /* over rows, if a call takes a row: those of an element of the result */
    uint8_t span;      /* over rows: GANTRY__CPU_FUSED_ELEMENTS ... */
    uint8_t reduction;
    uint8_t row;  /* the row of ops/elementwise.def, for a loop that may be in a chain */
    uint8_t form; /* GANTRY__CPU_FUSED_MAY_CHAIN | ... */
} gantry__cpu_fused_step_t;

/* The kinds of steps; only programs over rows have FILL and REDUCE. */
enum {
    GANTRY__CPU_FUSED_LOOP,
    GANTRY__CPU_FUSED_SELECT,
    GANTRY__CPU_FUSED_CLIP,
    GANTRY__CPU_FUSED_FILL,
    GANTRY__CPU_FUSED_REDUCE
};
/* One call of a step takes all elements of a block, those of one row, or one of each row. */
enum { GANTRY__CPU_FUSED_ELEMENTS, GANTRY__CPU_FUSED_A_ROW, GANTRY__CPU_FUSED_ONE_PER_ROW };

/* What a place has of a row: nothing, because it holds a single element or a vector for all rows;
 * one element, or all elements. */
enum {
    GANTRY__CPU_FUSED_SCALAR,
    GANTRY__CPU_FUSED_VECTOR,
    GANTRY__CPU_FUSED_NARROW,
    GANTRY__CPU_FUSED_WIDE
};
enum {
    GANTRY__CPU_FUSED_MAY_CHAIN = 1, /* the step is a loop over float32 that has a row */
    GANTRY__CPU_FUSED_X_SINGLE = 2,  /* x has one element */
    GANTRY__CPU_FUSED_Y_SINGLE = 4,
    GANTRY__CPU_FUSED_IS_KEPT = 8 /* a later step than the next one reads the result */
};

/* ---- chains ---- */

/* What a chain does next with the value that it carries. */
typedef struct gantry__cpu_fused_link_t {
    uint8_t code;  /* GANTRY__CPU_LINK_... */
    uint8_t place; /* the operand's, or where the value is stored */
} gantry__cpu_fused_link_t;

enum {
    GANTRY__CPU_LINK_LOAD,
    GANTRY__CPU_LINK_LOAD_SINGLE,
    GANTRY__CPU_LINK_STORE,
#define TWO(name, x, y, expression) GANTRY__CPU_LINK_##name, GANTRY__CPU_LINK_##name##_SINGLE,
#define ONE(name, x, expression) GANTRY__CPU_LINK_##name,
#include "kernels/elementwise/fused_cpu_links.h"
#undef TWO
#undef ONE
    /* for each step up to three: an operand that is the value itself is stored, then loaded */
    GANTRY__CPU_FUSED_LINKS = 3 * GANTRY_K_FUSED_MOST_INSTRUCTIONS,
    GANTRY__CPU_FUSED_CHAINS = GANTRY_K_FUSED_MOST_INSTRUCTIONS / 2
};

/* A chain of steps, from first_step to end_step - 1. */
typedef struct gantry__cpu_fused_chain_t {
    uint16_t first_step, end_step;
    uint16_t first_link, end_link;
} gantry__cpu_fused_chain_t;

/* Runs links over elements of float32, as many of `count` as whole tiles of registers have. Returns
 * how many that were; the caller must compute the rest. */
GANTRY_CPU_DECLARE(int64_t, run_links,
                   (const gantry__cpu_fused_link_t *links, const gantry__cpu_fused_link_t *end,
                    char *const *at, int64_t count));

/* How a block of an input gets into a slot. */
typedef struct gantry__cpu_fused_load_t {
    uint8_t input, place;
    bool once;    /* whether it is the same for all blocks of a part */
    bool is_fill; /* repeats the element at the input's address; else it gathers */
} gantry__cpu_fused_load_t;

typedef struct gantry__cpu_fused_copy_t {
    uint8_t place, output;
} gantry__cpu_fused_copy_t;

typedef struct gantry__cpu_fused_job_t {
    const gantry_op_call_t *call;
    gantry__k_fused_t program;
    gantry__k_fused_plan_t plan;
    int level;
    bool by_rows;    /* a block ends where a row of the plan ends; else inputs are gathered */
    bool streams;    /* outputs leave by streaming stores */
    bool prefetches; /* rows of inputs come from beyond the caches */
    bool shares;     /* an output may have the memory of an input */
    uint32_t slot_count, slot_bytes; /* slot_bytes: of an element */
    int64_t block;                   /* the elements of a block */
    int64_t weight;                  /* the work for an element, in cheap instructions */
    uint32_t step_count, load_count, copy_count, chain_count;
    gantry__cpu_fused_load_t loads[GANTRY_K_FUSED_MOST_INPUTS];
    gantry__cpu_fused_copy_t copies[GANTRY_K_FUSED_MOST_OUTPUTS];
    gantry__cpu_fused_chain_t chains[GANTRY__CPU_FUSED_CHAINS];
    gantry__cpu_fused_link_t links[GANTRY__CPU_FUSED_LINKS];
    gantry__cpu_fused_step_t steps[GANTRY__CPU_FUSED_STEPS];
    /* only for a program over rows: */
    const gantry__k_rows_t *rows;           /* NULL: an elementwise program */
    uint8_t form[GANTRY__CPU_FUSED_PLACES]; /* by place: GANTRY__CPU_FUSED_SCALAR ... */
    const void *data[GANTRY_K_FUSED_MOST_INPUTS];
    uint32_t reduction_count;
    gantry__cpu_fused_reduction_t reductions[GANTRY__CPU_FUSED_REDUCTIONS];
} gantry__cpu_fused_job_t;

/* Makes steps, loads and copies. The caller must have set call, program, plan, level, by_rows,
 * streams, shares and rows, and with rows the forms of inputs. Returns false if a program over rows
 * has too many reductions. */
bool gantry__cpu_fused_compile(gantry__cpu_fused_job_t *job);
/* Makes chains of the steps. */
void gantry__cpu_fused_find_chains(gantry__cpu_fused_job_t *job);
/* Runs a chain over a block. */
void gantry__cpu_fused_run_chain(const gantry__cpu_fused_job_t *job,
                                 const gantry__cpu_fused_chain_t *chain, char *const *at,
                                 int64_t count);

/* Runs a step, which must not be a reduction, over `count` elements of these places. */
static inline void gantry__cpu_fused_run(const gantry__cpu_fused_step_t *step, int level,
                                         const char *x, const char *y, const char *z, char *out,
                                         int64_t count) {
    if (step->kind == GANTRY__CPU_FUSED_LOOP) {
        (void)step->as.loop(x, y, out, count);
    } else if (step->kind == GANTRY__CPU_FUSED_CLIP) {
        step->as.clip(x, y, z, out, count);
    } else if (step->kind == GANTRY__CPU_FUSED_FILL) {
        GANTRY_CPU_PICK(level, fill_loop)(step->bytes, x, out, count, false);
    } else {
        GANTRY_CPU_PICK(level, select_loop)
        (step->bytes, (const uint8_t *)x, y, z, out, count);
    }
}

/* Copies `bytes`. `streams` is for memory that nothing reads soon. */
void gantry__cpu_fused_copy(int level, bool streams, char *to, const char *from, int64_t bytes);

extern const gantry_kernel_def_t gantry__cpu_fused_rows_kernel, gantry__cpu_fused_parts_kernel;

/* Whether an output of the call shares the memory of an input. */
bool gantry__cpu_fused_shares(const gantry_op_call_t *call);

/* Makes a job of a call of _FusedElementwise; the call must outlive the job. shares is the job's
 * field of that name. */
void gantry__cpu_fused_prepare(gantry__cpu_fused_job_t *job, const gantry_op_call_t *call,
                               const gantry__k_fused_t *program, bool shares);
/* Makes chains if the call has enough elements to pay for them. */
void gantry__cpu_fused_choose_chains(gantry__cpu_fused_job_t *job);
/* Computes elements [begin, end) of the output on the calling thread. */
void gantry__cpu_fused_part(const gantry__cpu_fused_job_t *job, int64_t begin, int64_t end);
/* The same for another call, whose inputs must have the job's forms in one dimension. */
void gantry__cpu_fused_part_of(const gantry__cpu_fused_job_t *job, const gantry_op_call_t *call,
                               int64_t begin, int64_t end);
/* The number of elements that make a thread's share. */
int64_t gantry__cpu_fused_grain(const gantry__cpu_fused_job_t *job);
/* Computes a call of _FusedElementwise on all threads. */
int32_t gantry__cpu_fused_compute(gantry_op_call_t *call);

/* Runs a program over at most GANTRY__CPU_FUSED_SMALL elements, with inputs that have as many or
 * one. Returns false, and has written nothing, if the program has an instruction that this way does
 * not run. */
enum { GANTRY__CPU_FUSED_SMALL = 16 };
bool gantry__cpu_fused_run_small(const gantry_op_call_t *call, const gantry__k_fused_t *program,
                                 int64_t count);

#endif
