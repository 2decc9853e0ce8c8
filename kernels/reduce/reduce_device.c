/* SPDX-License-Identifier: Apache-2.0 */
/* Sum, Mean, Max, Min, Prod, All, Any and EuclideanNorm on devices: one launch per level of the
 * tree that kernels/reduce/reduce.cl describes, or one for the last two. */
#include "kernels/reduce/reduce_device.h"

#include "kernels/common/host_processor.h"
#include "kernels/common/device_kernel.h"

/* Must have the same fields as the struct of kernels/reduce/reduce.cl. */
typedef struct {
    int64_t length;
    int64_t chunks;
    int64_t columns;
    int64_t units;
    int64_t each;
    int64_t blocks;
    int64_t lanes;
    int64_t finish;
    int64_t divisor;
    int64_t stored;
    int64_t kept_rank;
    int64_t kept_dims[GANTRY_REDUCE_AXES];
    int64_t kept_strides[GANTRY_REDUCE_AXES];
    int64_t reduced_rank;
    int64_t reduced_dims[GANTRY_REDUCE_AXES];
    int64_t reduced_strides[GANTRY_REDUCE_AXES];
} reduce_level_t;

#define NARROW_BYTES 512
#define WIDE_COLUMNS 256
#define SMALL_LENGTH 64
#define SMALL_WIDTH 64
/* For GPUs: from so many columns on, neighbouring work-items take neighbouring columns. The first
 * number fills one memory transaction with elements of four bytes, the second one a warp. An item
 * then takes a whole sequence of up to ITEM_LENGTH elements, or of any length if a compute unit
 * gets ITEMS_PER_UNIT of them. */
#define BLOCK_COLUMNS 8
#define ITEM_COLUMNS 32
#define ITEM_LENGTH 64
#define ITEMS_PER_UNIT 2048
#define BLOCK_ITEMS GANTRY_REDUCE_FEW_ITEMS
#define LINES_ITEMS 1024
/* For GPUs: the chunks of a sequence for one work-group, if there are no more sequences than
 * compute units; and the length up to which the lanes of a smaller group load all their elements at
 * once. */
#define FEW_CHUNKS 4
#define FEW_LENGTH 512
/* The work-groups for each compute unit of a CPU, enough that a slow core does not delay the
 * rest. */
#define GROUPS_PER_UNIT 16

GANTRY_K_PROGRAM(reduce_source, "portable/reduce", gantry__text_half, gantry__text_reduce_finish,
                 gantry__text_reduce_tree, gantry__text_reduce, gantry__text_reduce_serial,
                 gantry__text_fold_lanes, gantry__text_reduce_line);

static int32_t reduce_device_find_kernel(gantry_op_call_t *call, const gantry__reduce_way_t *way,
                                         const char *name, gantry_backend_kernel_t **out_kernel) {
    gantry__k_options_t options = gantry__k_options_of_type(call, way->in);
    gantry__k_define(&options, "REDUCE_OP", (uint32_t)way->tree);
    if (gantry__k_is_serial(call)) {
        gantry__k_define(&options, "READS_AHEAD", (uint32_t)gantry__host_reads_ahead());
    }
    return call->services->kernel(call, &reduce_source, options.text, name, out_kernel);
}

static void copy_axes(const gantry__reduce_axes_t *axes, int64_t *rank, int64_t *dims,
                      int64_t *strides) {
    *rank = axes->rank;
    for (int32_t i = 0; i < GANTRY_REDUCE_AXES; ++i) {
        dims[i] = i < axes->rank ? axes->dims[i] : 1;
        strides[i] = i < axes->rank ? axes->strides[i] : 0;
    }
}

/* The number of work-groups and their size. On CPUs a group of one takes several units if there are
 * many. */
typedef struct {
    const char *name;
    uint64_t groups;
    uint32_t local;
} form_t;

/* Takes a group for `width` columns of each sequence. */
static form_t block_form(reduce_level_t *level, int64_t sequences, const char *name, int64_t width,
                         uint32_t items) {
    level->blocks = (level->columns + width - 1) / width;
    return (form_t){.name = name, .groups = (uint64_t)(sequences * level->blocks), .local = items};
}

/* Whether the driver allows this kernel a group of so many items. If it cannot be built, the launch
 * reports that. */
static bool allows_block(gantry_op_call_t *call, const gantry__reduce_way_t *way, const char *name,
                         uint32_t items) {
    gantry_backend_kernel_t *kernel = NULL;
    return call->device_info->max_work_group_size >= items &&
           (reduce_device_find_kernel(call, way, name, &kernel) != GANTRY_OK ||
            gantry__k_group_limit(call, kernel) >= items);
}

/* Whether groups of LINES_ITEMS, which take ITEM_COLUMNS columns, keep each compute unit busy. */
static bool takes_lines(gantry_op_call_t *call, const gantry__reduce_way_t *way,
                        const reduce_level_t *level, int64_t sequences, int64_t size_bytes) {
    return level->columns >= ITEM_COLUMNS &&
           level->columns / ITEM_COLUMNS * sequences >= (int64_t)call->device_info->compute_units &&
           call->device_info->local_memory_bytes >= (uint64_t)(LINES_ITEMS * size_bytes) &&
           allows_block(call, way, "reduce_block32_lines", LINES_ITEMS);
}

bool gantry__reduce_has_few_items(const gantry_op_call_t *call) {
    return !gantry__k_is_serial(call) &&
           call->device_info->max_work_group_size >= GANTRY_REDUCE_FEW_ITEMS;
}

bool gantry__reduce_are_few(const gantry_op_call_t *call, int64_t sequences, int64_t length) {
    return gantry__reduce_has_few_items(call) && length > FEW_LENGTH &&
           sequences <= (int64_t)call->device_info->compute_units;
}

/* Whether one work-group takes all levels of a sequence. */
static bool are_few(gantry_op_call_t *call, const gantry__reduce_shape_t *shape,
                    const gantry__reduce_way_t *way) {
    return gantry__reduce_are_few(call, shape->outer * shape->columns, shape->length) &&
           shape->reduced.rank == 1 && shape->columns < BLOCK_COLUMNS &&
           gantry__reduce_chunks(shape->length) <= FEW_CHUNKS &&
           allows_block(call, way, "reduce_few", BLOCK_ITEMS);
}

static form_t choose_gpu_form(gantry_op_call_t *call, const gantry__reduce_way_t *way,
                              reduce_level_t *level, int64_t sequences, int64_t size_bytes) {
    const gantry_device_info_t *info = call->device_info;
    const int64_t compute_units = info->compute_units > 0 ? info->compute_units : 1;
    form_t form = {.name = "reduce_group"};
    level->units = sequences * level->columns;
    level->lanes = GANTRY_REDUCE_LANES;
    while (level->lanes / 2 >= level->length) {
        level->lanes /= 2;
    }
    const bool for_items =
        level->columns >= ITEM_COLUMNS &&
        (level->length <= ITEM_LENGTH || level->units >= compute_units * ITEMS_PER_UNIT);
    const bool fits_locally = info->local_memory_bytes >= (uint64_t)(BLOCK_ITEMS * size_bytes);
    const bool few =
        level->columns < ITEM_COLUMNS || level->units * 8 < compute_units * ITEMS_PER_UNIT;
    const char *block = few ? "reduce_block32" : "reduce_block8";
    if (for_items || (level->columns > 1 && !fits_locally)) {
        form.name = "reduce_item";
        level->lanes = 1;
    } else if (level->columns >= BLOCK_COLUMNS && level->reduced_rank == 1 &&
               allows_block(call, way, block, BLOCK_ITEMS)) {
        if (few && takes_lines(call, way, level, sequences, size_bytes))
            return block_form(level, sequences, "reduce_block32_lines", LINES_ITEMS / 32,
                              LINES_ITEMS);
        return block_form(level, sequences, block, BLOCK_ITEMS / (few ? 32 : 8), BLOCK_ITEMS);
    }
    uint64_t items = (uint64_t)(level->units * level->lanes);
    form.local = gantry__k_local_for(call, items);
    form.groups = (items + form.local - 1) / form.local;
    return form;
}

/* Whether the text has reduce_line for the way, and the level's sequences are adjacent elements. */
static bool is_line(const reduce_level_t *level, const gantry__reduce_way_t *way) {
    const bool has_line = way->in == GANTRY_FLOAT32 || way->in == GANTRY_FLOAT64 ||
                          way->in == GANTRY_INT64 ||
                          (way->in == GANTRY_INT32 && way->tree != GANTRY_TREE_WIDE_SUM);
    return has_line && level->columns == 1 && level->length > SMALL_LENGTH &&
           level->reduced_rank == 1 && level->reduced_strides[0] == 1;
}

static form_t reduce_device_choose_form(gantry_op_call_t *call, const gantry__reduce_way_t *way,
                                        reduce_level_t *level, int64_t outer) {
    const int64_t size_bytes = (int64_t)gantry__k_size(way->acc);
    int64_t sequences = outer * level->chunks;
    level->each = 1;
    level->blocks = 1;
    if (gantry__k_is_serial(call)) {
        form_t form = {.local = 1};
        bool wide = level->columns * size_bytes > NARROW_BYTES;
        bool small = level->columns == 1 && level->length <= SMALL_LENGTH &&
                     level->reduced_rank == 1 && level->kept_rank == 1;
        int64_t wanted = (int64_t)call->device_info->compute_units * GROUPS_PER_UNIT;
        level->blocks = wide ? (level->columns + WIDE_COLUMNS - 1) / WIDE_COLUMNS : 1;
        level->units = sequences * level->blocks;
        level->each =
            level->units > wanted && wanted > 0 ? (level->units + wanted - 1) / wanted : 1;
        level->each =
            small ? (level->each + SMALL_WIDTH - 1) / SMALL_WIDTH * SMALL_WIDTH : level->each;
        form.name = wide                  ? "reduce_wide"
                    : small               ? "reduce_small"
                    : is_line(level, way) ? "reduce_line"
                                          : "reduce_narrow";
        form.groups = (uint64_t)((level->units + level->each - 1) / level->each);
        return form;
    }
    return choose_gpu_form(call, way, level, sequences, size_bytes);
}

/* Submits one level of shape, from in to out; is_last says that it is the last one. */
static int32_t submit_level(gantry_op_call_t *call, const gantry__reduce_shape_t *shape,
                            const gantry__reduce_way_t *way, bool is_last, const gantry_span_t *in,
                            const gantry_span_t *out) {
    gantry_backend_kernel_t *kernel = NULL;
    reduce_level_t level = {.length = shape->length,
                            .chunks = gantry__reduce_chunks(shape->length),
                            .columns = shape->columns,
                            .finish = is_last ? way->finish : GANTRY_FINISH_NONE,
                            .divisor = is_last ? way->divisor : 0,
                            .stored = is_last ? way->out : way->acc};
    copy_axes(&shape->kept, &level.kept_rank, level.kept_dims, level.kept_strides);
    copy_axes(&shape->reduced, &level.reduced_rank, level.reduced_dims, level.reduced_strides);
    form_t form =
        are_few(call, shape, way)
            ? (form_t){"reduce_few", (uint64_t)(shape->outer * shape->columns), BLOCK_ITEMS}
            : reduce_device_choose_form(call, way, &level, shape->outer);
    GANTRY__TRY(reduce_device_find_kernel(call, way, form.name, &kernel));
    gantry_launch_arg_t args[] = {gantry__k_raw_span(*in), gantry__k_raw_span(*out),
                                  gantry__k_scalar(&level, sizeof level)};
    return gantry__k_launch_1d(call, kernel, form.groups * form.local, form.local, args, 3);
}

int32_t gantry__portable_reduce(gantry_op_call_t *call, const gantry__reduce_shape_t *shape,
                                const gantry__reduce_way_t *way, const gantry_span_t *in,
                                const gantry_span_t *out) {
    gantry__reduce_shape_t current = *shape;
    gantry__reduce_way_t level = *way;
    gantry_span_t source = *in;
    for (;;) {
        int64_t chunks =
            are_few(call, &current, &level) ? 1 : gantry__reduce_chunks(current.length);
        gantry_span_t target = *out;
        if (chunks > 1) {
            uint64_t bytes =
                (uint64_t)(current.outer * chunks * current.columns) * gantry__k_size(level.acc);
            GANTRY__TRY(call->services->scratch(call, bytes, &target));
        }
        GANTRY__TRY(submit_level(call, &current, &level, chunks == 1, &source, &target));
        if (chunks == 1) return GANTRY_OK;
        source = target;
        gantry__reduce_shape_plain(current.outer, chunks, current.columns, &current);
        gantry__reduce_next_level(&level);
    }
}

static int32_t device_compute_reduction(gantry_op_call_t *call) {
    const gantry_arg_t *input = call->inputs[0];
    const gantry_arg_t *output = call->outputs[0];
    int32_t operation = *(const int32_t *)call->kernel->data;
    gantry__reduce_shape_t shape;
    gantry__reduce_shape_of(input->rank, input->dims, gantry__reduce_axes_mask(call), &shape);
    if (shape.length == 0) {
        unsigned char value[8];
        uint32_t size = (uint32_t)gantry__reduce_empty(operation, output->dtype, value);
        return call->services->fill(call, &output->span, value, size);
    }
    if (shape.length == 1 && gantry__reduce_copies_one(operation)) {
        return call->services->copy(call, &output->span, &input->span);
    }
    gantry__reduce_way_t way = gantry__reduce_way(operation, input->dtype, shape.length);
    return gantry__portable_reduce(call, &shape, &way, &input->span, &output->span);
}

#define GANTRY_REDUCTION GANTRY_K_REDUCTION_KERNEL
#include "ops/reduce.def"
#undef GANTRY_REDUCTION

static const gantry_kernel_def_t *const kernels[] = {
#define GANTRY_REDUCTION GANTRY_K_REDUCTION_POINTER
#include "ops/reduce.def"
#undef GANTRY_REDUCTION
    GANTRY_ARGMAX_OPS(GANTRY_K_PORTABLE_KERNEL_POINTER)
        GANTRY_SOFTMAX_OPS(GANTRY_K_PORTABLE_KERNEL_POINTER)
            GANTRY_LAYER_NORM_OPS(GANTRY_K_PORTABLE_KERNEL_POINTER)};
GANTRY_K_PACK(reduce, "portable/reduce", kernels);
