/* SPDX-License-Identifier: Apache-2.0 */
/* _FusedElementwise, _FusedRows, and products with such a program: check the program, which kernels
 * trust, and infer the outputs. */
#include <inttypes.h>

#include "op/op_infer_window.h"
#include "op/fused_program.h"
#include "op/op_infer.h"

/* The facts that are known of each result while the program is read. */
typedef struct results_t {
    gantry_dtype_t dtypes[GANTRY__FUSED_MOST_INSTRUCTIONS];
    uint32_t inputs[GANTRY__FUSED_MOST_INSTRUCTIONS]; /* bit i: the result depends on input i */
    /* of _FusedRows: */
    bool has_rows;
    bool is_wide[GANTRY__FUSED_MOST_INSTRUCTIONS];
    bool is_dropped[GANTRY__FUSED_MOST_INSTRUCTIONS]; /* its shape has no last dimension */
} results_t;

static gantry_status_t check_operand(const gantry__infer_t *call, results_t *results, int64_t k,
                                     int64_t operand, gantry_dtype_t expected) {
    const int64_t count = (int64_t)call->input_count;
    if (operand >= count || operand < -k) {
        return gantry__refuse(
            "instruction %lld has operand %lld; accepted are %lld to -1 for results, 0 to %lld for inputs",
            (long long)k, (long long)operand, (long long)-k, (long long)count - 1);
    }
    const gantry_dtype_t dtype =
        operand >= 0 ? call->dtypes[operand] : results->dtypes[-1 - operand];
    if (dtype != expected) {
        return gantry__refuse("operand %lld of instruction %lld is %s; it must be %s",
                              (long long)operand, (long long)k, gantry_dtype_name(dtype),
                              gantry_dtype_name(expected));
    }
    results->inputs[k] |= operand >= 0 ? UINT32_C(1) << operand : results->inputs[-1 - operand];
    return GANTRY_OK;
}

static gantry_status_t fail_unused(int64_t k, uint32_t place, int64_t operand) {
    return gantry__refuse("instruction %lld has no operand %u, which must be 0, not %lld",
                          (long long)k, (unsigned)place, (long long)operand);
}

/* Checks the numbers of a Cast after its operand. */
static gantry_status_t check_cast(int64_t k, const int64_t *instruction) {
    const bool has_type = instruction[3] > 0 && instruction[3] < 64 &&
                          gantry__fused_takes(GANTRY__FUSED_Cast, (gantry_dtype_t)instruction[3]);
    if (has_type && (instruction[4] == 0 || instruction[4] == 1)) return GANTRY_OK;
    return gantry__refuse(
        "instruction %lld casts to type %lld with Truncate %lld; accepted are types of numbers and bool, and 0 or 1",
        (long long)k, (long long)instruction[3], (long long)instruction[4]);
}

static bool is_reduction(const int64_t *instruction) {
    return instruction[0] > GANTRY__FUSED_COUNT;
}

static bool program_may_have(const results_t *results, const int64_t *instruction) {
    const bool is_known = instruction[0] >= 0 && instruction[0] < GANTRY__FUSED_ROWS_COUNT &&
                          instruction[1] > 0 && instruction[1] < 64;
    const gantry__fused_id_t id =
        is_known ? (gantry__fused_id_t)instruction[0] : GANTRY__FUSED_COUNT;
    const gantry_dtype_t dtype = (gantry_dtype_t)instruction[1];
    return gantry__fused_takes(id, dtype) ||
           (results->has_rows && gantry__fused_reduces(id, dtype));
}

static gantry_status_t check_instruction(const gantry__infer_t *call, results_t *results, int64_t k,
                                         const int64_t *instruction) {
    const gantry__fused_id_t id = (gantry__fused_id_t)instruction[0];
    const gantry_dtype_t dtype = (gantry_dtype_t)instruction[1];
    if (!program_may_have(results, instruction)) {
        return gantry__refuse(
            "instruction %lld is op %lld of type %lld, which a fused program cannot have",
            (long long)k, (long long)instruction[0], (long long)instruction[1]);
    }
    const uint32_t operands = gantry__fused_operands(id);
    results->inputs[k] = 0;
    for (uint32_t i = 0; i < operands; ++i) {
        const bool is_condition = id == GANTRY__FUSED_Select && i == 0;
        GANTRY__TRY(check_operand(call, results, k, instruction[2 + i],
                                  is_condition ? GANTRY_BOOL : dtype));
    }
    if (id == GANTRY__FUSED_Cast) {
        GANTRY__TRY(check_cast(k, instruction));
    } else {
        for (uint32_t i = is_reduction(instruction) ? 2 : operands; i < 3; ++i) {
            if (instruction[2 + i] != 0) return fail_unused(k, i, instruction[2 + i]);
        }
    }
    results->dtypes[k] = gantry__fused_result(instruction);
    return GANTRY_OK;
}

/* The shape of the inputs in the mask. */
static gantry_status_t broadcast_inputs(const gantry__infer_t *call, uint32_t mask,
                                        gantry_shape_t *out_shape) {
    *out_shape = GANTRY_SCALAR;
    for (uint32_t i = 0; i < call->input_count; ++i) {
        if (!(mask >> i & 1)) continue;
        if (!gantry__broadcast_shapes(out_shape, call->shapes[i], out_shape)) {
            return gantry__refuse("input %u of shape %s does not broadcast with the others, %s",
                                  (unsigned)i, gantry__shape_text(call->shapes[i]).text,
                                  gantry__shape_text(out_shape).text);
        }
    }
    return GANTRY_OK;
}

/* Sets the shape of a result of rows whose operands have this one. */
static void set_last_dimension(const results_t *results, int64_t k, gantry_shape_t *shape) {
    if (!results->is_wide[k] && shape->rank > 0) shape->dims[shape->rank - 1] = 1;
    if (results->is_dropped[k] && shape->rank > 0) --shape->rank;
}

static gantry_status_t set_output(gantry__infer_t *call, const results_t *results, uint32_t place,
                                  int64_t k, int64_t count, const gantry_shape_t *whole) {
    gantry_shape_t *own = &call->out_shapes[place];
    if (k < 0 || k >= count) {
        return gantry__refuse("output %u is instruction %lld; accepted are 0 to %lld",
                              (unsigned)place, (long long)k, (long long)count - 1);
    }
    GANTRY__TRY(broadcast_inputs(call, results->inputs[k], own));
    if (results->has_rows) set_last_dimension(results, k, own);
    if (!gantry_shape_equal(own, whole)) {
        return gantry__refuse(
            "output %u, instruction %lld, has shape %s; it must be %s, that of all inputs",
            (unsigned)place, (long long)k, gantry__shape_text(own).text,
            gantry__shape_text(whole).text);
    }
    call->out_dtypes[place] = results->dtypes[k];
    return GANTRY_OK;
}

static gantry_status_t op_infer_fused_check_limits(const gantry__infer_t *call, int64_t words) {
    const int64_t most = GANTRY__FUSED_MOST_INSTRUCTIONS;
    if (words % GANTRY__FUSED_WORDS != 0 || words == 0 || words / GANTRY__FUSED_WORDS > most) {
        return gantry__refuse(
            "attribute 'program' has %lld numbers; accepted are %d for each of 1 to %lld instructions",
            (long long)words, GANTRY__FUSED_WORDS, (long long)most);
    }
    if (call->input_count > GANTRY__FUSED_MOST_INPUTS || call->output_count == 0 ||
        call->output_count > GANTRY__FUSED_MOST_OUTPUTS) {
        return gantry__refuse(
            "a program has %u inputs and %u outputs; accepted are 1 to %d inputs and 1 to %d outputs",
            (unsigned)call->input_count, (unsigned)call->output_count, GANTRY__FUSED_MOST_INPUTS,
            GANTRY__FUSED_MOST_OUTPUTS);
    }
    return GANTRY_OK;
}

gantry_status_t gantry__infer_fused_elementwise(gantry__infer_t *call) {
    const gantry_attr_t *program = &call->attrs[0], *outputs = &call->attrs[1];
    const int64_t count = program->i / GANTRY__FUSED_WORDS;
    results_t results;
    gantry_shape_t whole;
    results.has_rows = false;
    GANTRY__TRY(op_infer_fused_check_limits(call, program->i));
    for (int64_t k = 0; k < count; ++k) {
        GANTRY__TRY(check_instruction(call, &results, k, program->list + k * GANTRY__FUSED_WORDS));
    }
    GANTRY__TRY(broadcast_inputs(call, UINT32_MAX, &whole));
    for (uint32_t i = 0; i < call->output_count; ++i) {
        GANTRY__TRY(set_output(call, &results, i, outputs->list[i], count, &whole));
    }
    return GANTRY_OK;
}

/* The program's result is the op's: of the product's type and shape. */
static gantry_status_t check_over_product(const gantry__infer_t *call, const gantry_shape_t *shape,
                                          gantry_dtype_t dtype) {
    if (dtype == call->out_dtypes[0] && gantry_shape_equal(shape, &call->out_shapes[0]))
        return GANTRY_OK;
    return gantry__refuse("the program's result is %s%s; it must be like the product, %s%s",
                          gantry_dtype_name(dtype), gantry__shape_text(shape).text,
                          gantry_dtype_name(call->out_dtypes[0]),
                          gantry__shape_text(&call->out_shapes[0]).text);
}

/* infer is that of the product, which has the first two inputs. */
static gantry_status_t infer_with_program(gantry__infer_t *call, gantry__infer_fn infer) {
    const gantry_attr_t *program = gantry__infer_attr(call, "program");
    const gantry_shape_t *shapes[GANTRY__MAX_INPUTS];
    gantry_dtype_t dtypes[GANTRY__MAX_INPUTS], dtype = GANTRY_DTYPE_NONE;
    gantry_shape_t shape;
    const int64_t last = program->i / GANTRY__FUSED_WORDS - 1;
    if (call->input_count < 2)
        return gantry__refuse(
            "%s takes two operands and the program's further inputs, got %u tensors",
            call->op->name, (unsigned)call->input_count);
    GANTRY__TRY(infer(call));
    gantry__infer_t elementwise = {.op = gantry__op_get(GANTRY__OP_ID__FusedElementwise),
                                   .input_count = call->input_count - 1,
                                   .output_count = 1,
                                   .shapes = shapes,
                                   .dtypes = dtypes,
                                   .out_shapes = &shape,
                                   .out_dtypes = &dtype};
    elementwise.attrs[0] = *program;
    elementwise.attrs[1] = (gantry_attr_t){.i = 1, .list = &last};
    shapes[0] = &call->out_shapes[0];
    dtypes[0] = call->out_dtypes[0];
    for (uint32_t i = 2; i < call->input_count; ++i) {
        shapes[i - 1] = call->shapes[i];
        dtypes[i - 1] = call->dtypes[i];
    }
    GANTRY__TRY(gantry__infer_fused_elementwise(&elementwise));
    return check_over_product(call, &shape, dtype);
}

/* The rows that images [batch, channels, height, width] have as places. */
static gantry_status_t read_rows_of_images(const gantry__infer_t *call, const gantry_attr_t *places,
                                           gantry_shape_t *out) {
    const int64_t *dims = call->shapes[0]->dims;
    int64_t rows = -1;
    if (places->i != 2 || !gantry__sizes_fit(dims[2], places->list[0]) ||
        !gantry__sizes_fit(dims[3], places->list[1]))
        return gantry__refuse(
            "images have the shape %s; attribute 'places' must be their height and width",
            gantry__shape_text(call->shapes[0]).text);
    if (dims[0] >= 0 && (__builtin_mul_overflow(dims[0], places->list[0], &rows) ||
                         __builtin_mul_overflow(rows, places->list[1], &rows)))
        return gantry__refuse("images of %s have too many places",
                              gantry__shape_text(call->shapes[0]).text);
    *out = GANTRY_SHAPE(rows, dims[1]);
    return GANTRY_OK;
}

/* The result of [rows, columns] with its columns first, for rows that are the places of images. */
static gantry_status_t infer_planes(gantry__infer_t *call, const gantry_attr_t *places) {
    const int64_t *dims = call->out_shapes[0].dims, rows = dims[0];
    int64_t area = 0;
    if (places->i != 2 || places->list[0] <= 0 || places->list[1] <= 0 ||
        __builtin_mul_overflow(places->list[0], places->list[1], &area) ||
        (rows >= 0 && rows % area != 0)) {
        return gantry__refuse(
            "attribute 'places' has %" PRId64 " numbers of product %" PRId64
            "; accepted are a height and a width, above 0, of images whose places are the %" PRId64
            " rows",
            places->i, area, rows);
    }
    call->out_shapes[0] =
        GANTRY_SHAPE(rows < 0 ? -1 : rows / area, dims[1], places->list[0], places->list[1]);
    return GANTRY_OK;
}

gantry_status_t gantry__infer_fused_mat_mul(gantry__infer_t *call) {
    const gantry_attr_t *places = gantry__infer_attr(call, "places");
    const gantry_shape_t *shapes[GANTRY__MAX_INPUTS];
    gantry_shape_t rows;
    gantry__infer_t own = *call;
    if (places->i == 0) return infer_with_program(call, gantry__infer_mat_mul);
    for (uint32_t i = 0; i < call->input_count; ++i) shapes[i] = call->shapes[i];
    own.shapes = shapes;
    if (call->input_count > 0 && shapes[0]->rank == 4) {
        GANTRY__TRY(read_rows_of_images(call, places, &rows));
        shapes[0] = &rows;
    }
    const bool is_alone = call->input_count == 2 && gantry__infer_attr(call, "program")->i == 0;
    GANTRY__TRY(is_alone ? gantry__infer_mat_mul(&own)
                         : infer_with_program(&own, gantry__infer_mat_mul));
    return infer_planes(call, places);
}

/* The rows of the product have the columns of all groups. */
static gantry_status_t infer_grouped_rows(gantry__infer_t *call) {
    GANTRY__TRY(gantry__infer_grouped_mat_mul(call));
    const int64_t *dims = call->out_shapes[0].dims;
    const bool is_open = dims[1] < 0 || dims[2] < 0;
    call->out_shapes[0] = GANTRY_SHAPE(dims[0], is_open ? -1 : dims[1] * dims[2]);
    return GANTRY_OK;
}

gantry_status_t gantry__infer_fused_grouped_mat_mul(gantry__infer_t *call) {
    return infer_with_program(call, infer_grouped_rows);
}

gantry_status_t gantry__infer_fused_convolve_images(gantry__infer_t *call) {
    GANTRY__TRY(infer_with_program(call, gantry__infer_convolved_rows));
    return gantry__window_result(call);
}

/* ---- rows ---- */

static bool is_wide_operand(const gantry__infer_t *call, const results_t *results,
                            int64_t operand) {
    if (operand < 0) return results->is_wide[-1 - operand];
    const gantry_shape_t *shape = call->shapes[operand];
    return shape->rank > 0 && shape->dims[shape->rank - 1] != 1;
}

static gantry_status_t check_reduction(const gantry__infer_t *call, results_t *results, int64_t k,
                                       const int64_t *instruction) {
    const int64_t keeps = instruction[3];
    if (!is_wide_operand(call, results, instruction[2])) {
        return gantry__refuse(
            "instruction %lld reduces operand %lld, which has one element per row", (long long)k,
            (long long)instruction[2]);
    }
    if (keeps != 0 && keeps != 1) {
        return gantry__refuse("instruction %lld has keep_dims %lld; accepted are 0 and 1",
                              (long long)k, (long long)keeps);
    }
    results->is_wide[k] = false;
    results->is_dropped[k] = keeps == 0;
    return GANTRY_OK;
}

static gantry_status_t check_row_instruction(const gantry__infer_t *call, results_t *results,
                                             int64_t k, const int64_t *instruction) {
    GANTRY__TRY(check_instruction(call, results, k, instruction));
    results->is_wide[k] = results->is_dropped[k] = false;
    for (uint32_t i = 0; i < gantry__fused_operands((gantry__fused_id_t)instruction[0]); ++i) {
        const int64_t operand = instruction[2 + i];
        if (operand < 0 && results->is_dropped[-1 - operand]) {
            return gantry__refuse(
                "operand %lld of instruction %lld does not keep its last dimension",
                (long long)operand, (long long)k);
        }
        results->is_wide[k] = results->is_wide[k] || is_wide_operand(call, results, operand);
    }
    return is_reduction(instruction) ? check_reduction(call, results, k, instruction) : GANTRY_OK;
}

static gantry_status_t set_row_output(gantry__infer_t *call, const results_t *results,
                                      uint32_t place, int64_t k, int64_t count,
                                      const gantry_shape_t *whole) {
    gantry_shape_t expected = *whole;
    if (k >= 0 && k < count) set_last_dimension(results, k, &expected);
    return set_output(call, results, place, k, count, &expected);
}

gantry_status_t gantry__infer_fused_rows(gantry__infer_t *call) {
    const gantry_attr_t *program = &call->attrs[0], *outputs = &call->attrs[1];
    const int64_t count = program->i / GANTRY__FUSED_WORDS;
    results_t results;
    gantry_shape_t whole;
    results.has_rows = true;
    GANTRY__TRY(op_infer_fused_check_limits(call, program->i));
    for (int64_t k = 0; k < count; ++k) {
        const int64_t *instruction = program->list + k * GANTRY__FUSED_WORDS;
        GANTRY__TRY(check_row_instruction(call, &results, k, instruction));
    }
    GANTRY__TRY(broadcast_inputs(call, UINT32_MAX, &whole));
    const int64_t length = whole.rank > 0 ? whole.dims[whole.rank - 1] : 1;
    if (length < 2 || length > GANTRY__FUSED_MOST_ROW) {
        return gantry__refuse("rows have %lld elements; accepted are 2 to %d", (long long)length,
                              GANTRY__FUSED_MOST_ROW);
    }
    for (uint32_t i = 0; i < call->output_count; ++i) {
        GANTRY__TRY(set_row_output(call, &results, i, outputs->list[i], count, &whole));
    }
    return GANTRY_OK;
}
