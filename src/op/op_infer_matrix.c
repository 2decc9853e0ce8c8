/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes of ops on the matrices in a tensor's last two dimensions. */
#include <inttypes.h>

#include "op/op_infer.h"

static gantry_status_t check_band(gantry__infer_t *call, uint32_t input, const char *name,
                                  const char *what, int64_t most) {
    int64_t count;
    bool is_open;
    if (call->shapes[input]->rank != 0) {
        return gantry__refuse("%s must be scalar, got shape %s", name,
                              gantry__shape_text(call->shapes[input]).text);
    }
    GANTRY__TRY(gantry__infer_int_or_open(call, input, &count, &is_open));
    if (is_open || count <= most || most < 0) return GANTRY_OK;
    return gantry__refuse("%s must be negative or less or equal to number of %s (%" PRId64
                          ") got: %" PRId64,
                          name, what, most, count);
}

gantry_status_t gantry__infer_matrix_band_part(gantry__infer_t *call) {
    const gantry_shape_t *input = call->shapes[0];
    if (input->rank < 2) {
        return gantry__refuse("input must be at least 2-dim, received shape: %s",
                              gantry__shape_text(input).text);
    }
    GANTRY__TRY(check_band(call, 1, "num_lower", "rows", input->dims[input->rank - 2]));
    GANTRY__TRY(check_band(call, 2, "num_upper", "columns", input->dims[input->rank - 1]));
    call->out_shapes[0] = *input;
    return GANTRY_OK;
}

/* ---- diagonals; 0 is the main one, those above are positive, those below negative ---- */

/* Diagonals lower to upper. */
typedef struct band_t {
    int64_t lower, upper;
    bool is_open;   /* neither is known */
    bool is_single; /* there is one diagonal; false if k may be two numbers that are not known */
} band_t;

static const char *const alignments[] = {"LEFT_RIGHT", "RIGHT_LEFT", "LEFT_LEFT", "RIGHT_RIGHT"};

/* k, the input at index `place`, is one diagonal, or the first and the last of several; the main
 * one if left out. */
static gantry_status_t read_band(gantry__infer_t *call, uint32_t place, band_t *out) {
    const gantry_shape_t *given = place < call->input_count ? call->shapes[place] : NULL;
    gantry__host_ints_t k;
    size_t alignment;
    *out = (band_t){.is_single = true};
    GANTRY__TRY(gantry__infer_choice(call, "align", alignments, 4, &alignment));
    if (!given) return GANTRY_OK;
    if (given->rank > 1) {
        return gantry__refuse("diag_index must be a scalar or vector, received shape: %s",
                              gantry__shape_text(given).text);
    }
    if (given->rank == 1 && (given->dims[0] == 0 || given->dims[0] > 2)) {
        return gantry__refuse("diag_index must have only one or two elements, received %" PRId64
                              " elements.",
                              given->dims[0]);
    }
    out->is_open = gantry__infer_is_open(call, place);
    out->is_single = given->rank == 0 || given->dims[0] == 1;
    if (out->is_open) return GANTRY_OK;
    GANTRY__TRY(gantry__infer_ints(call, place, &k));
    out->lower = gantry__host_int(&k, 0);
    out->upper = gantry__host_int(&k, k.count - 1);
    out->is_single = out->lower == out->upper;
    if (out->lower > out->upper) {
        return gantry__refuse("lower_diag_index must not be larger than upper_diag_index: %" PRId64
                              " > %" PRId64,
                              out->lower, out->upper);
    }
    return GANTRY_OK;
}

static gantry_status_t check_scalar(const gantry__infer_t *call, uint32_t place) {
    if (place >= call->input_count || call->shapes[place]->rank == 0) return GANTRY_OK;
    return gantry__refuse("%s must be a scalar, received shape: %s", call->op->inputs[place].name,
                          gantry__shape_text(call->shapes[place]).text);
}

static gantry_status_t check_rank(const gantry__infer_t *call, uint32_t place, int32_t least) {
    const gantry_shape_t *shape = call->shapes[place];
    if (shape->rank >= least) return GANTRY_OK;
    return gantry__refuse("%s must be at least %d-dim, received shape: %s",
                          call->op->inputs[place].name, (int)least, gantry__shape_text(shape).text);
}

/* Reads num_rows or num_cols; -1 if it is left to the diagonals. *is_open: it is not known. */
static gantry_status_t read_side(gantry__infer_t *call, uint32_t place, int64_t least,
                                 const char *what, int64_t *out, bool *is_open) {
    *out = -1;
    *is_open = false;
    if (place >= call->input_count) return GANTRY_OK;
    GANTRY__TRY(check_scalar(call, place));
    GANTRY__TRY(gantry__infer_int_or_open(call, place, out, is_open));
    if (*is_open) *out = -1;
    if (*out == -1 || *out >= least) return GANTRY_OK;
    return gantry__refuse("The number of %s is too small. %" PRId64 " is given, at least %" PRId64
                          " is accepted",
                          what, *out, least);
}

/* Sides that are not given are as short as the diagonals allow; if neither is, the matrices are
 * square. */
static gantry_status_t solve_sides(gantry__infer_t *call, const band_t *band, int64_t length,
                                   int64_t *rows, int64_t *columns) {
    const bool is_open = band->is_open || length < 0;
    const int64_t least_rows = is_open ? 0 : length - (band->upper < 0 ? band->upper : 0);
    const int64_t least_columns = is_open ? 0 : length + (band->lower > 0 ? band->lower : 0);
    bool is_unknown[2];
    GANTRY__TRY(read_side(call, 2, least_rows, "rows", rows, &is_unknown[0]));
    GANTRY__TRY(read_side(call, 3, least_columns, "columns", columns, &is_unknown[1]));
    if (is_open || is_unknown[0] || is_unknown[1]) return GANTRY_OK;
    if (*rows == -1 && *columns == -1) {
        *rows = *columns = least_rows > least_columns ? least_rows : least_columns;
    } else if (*rows == -1) {
        *rows = least_rows;
    } else if (*columns == -1) {
        *columns = least_columns;
    }
    if (*rows == least_rows || *columns == least_columns) return GANTRY_OK;
    return gantry__refuse(
        "The number of rows or columns is not consistent with the specified d_lower, d_upper, and diagonal.");
}

gantry_status_t gantry__infer_matrix_diag(gantry__infer_t *call) {
    const gantry_shape_t *diagonal = call->shapes[0];
    gantry_shape_t *out = &call->out_shapes[0];
    int64_t rows, columns;
    band_t band;
    GANTRY__TRY(check_rank(call, 0, 1));
    GANTRY__TRY(read_band(call, 1, &band));
    GANTRY__TRY(check_scalar(call, 4));
    const int64_t count = band.upper - band.lower + 1, length = diagonal->dims[diagonal->rank - 1];
    if (band.is_open && !band.is_single && diagonal->rank > 1)
        return gantry__fail_open_rank(call, 1);
    if (count > 1 &&
        (diagonal->rank < 2 || !gantry__sizes_fit(diagonal->dims[diagonal->rank - 2], count))) {
        return gantry__refuse(
            "The number of diagonals provided in the input does not match the lower_diag_index and upper_diag_index range.");
    }
    if (length > INT64_MAX / 2) {
        return gantry__refuse("diagonals of %" PRId64 " elements are too long", length);
    }
    GANTRY__TRY(solve_sides(call, &band, length, &rows, &columns));
    *out = *diagonal;
    out->rank += count == 1;
    GANTRY__TRY(gantry__infer_rank_fits(out->rank));
    out->dims[out->rank - 2] = rows;
    out->dims[out->rank - 1] = columns;
    return GANTRY_OK;
}

static gantry_status_t check_within(int64_t diagonal, const char *which,
                                    const gantry_shape_t *input) {
    const int64_t rows = input->dims[input->rank - 2], columns = input->dims[input->rank - 1];
    if (diagonal == 0 || ((rows < 0 || -rows < diagonal) && (columns < 0 || diagonal < columns)))
        return GANTRY_OK;
    return gantry__refuse("%s_diag_index is out of bound: %" PRId64 " It must be between %" PRId64
                          " and %" PRId64,
                          which, diagonal, -rows, columns);
}

/* The shape of a band of matrices: [..., diagonals, the longest one's length], without the former
 * if there is one diagonal. */
static gantry_status_t find_band_shape(gantry__infer_t *call, const band_t *given,
                                       gantry_shape_t *out) {
    const gantry_shape_t *input = call->shapes[0];
    const band_t band = *given;
    *out = *input;
    out->rank -= band.is_single;
    if (band.is_open) {
        out->dims[out->rank - 1] = -1;
        return band.is_single ? GANTRY_OK : gantry__fail_open_rank(call, 1);
    }
    GANTRY__TRY(check_within(band.lower, "lower", input));
    GANTRY__TRY(check_within(band.upper, "upper", input));
    const bool is_open = input->dims[input->rank - 2] < 0 || input->dims[input->rank - 1] < 0;
    const int64_t down = input->dims[input->rank - 2] + (band.upper < 0 ? band.upper : 0);
    const int64_t along = input->dims[input->rank - 1] - (band.lower > 0 ? band.lower : 0);
    if (!band.is_single) out->dims[out->rank - 2] = band.upper - band.lower + 1;
    out->dims[out->rank - 1] = is_open ? -1 : down < along ? down : along;
    return GANTRY_OK;
}

gantry_status_t gantry__infer_matrix_diag_part(gantry__infer_t *call) {
    band_t band;
    GANTRY__TRY(check_rank(call, 0, 2));
    GANTRY__TRY(read_band(call, 1, &band));
    GANTRY__TRY(find_band_shape(call, &band, &call->out_shapes[0]));
    return check_scalar(call, 2);
}

gantry_status_t gantry__infer_matrix_set_diag(gantry__infer_t *call) {
    gantry_shape_t expected;
    band_t band;
    GANTRY__TRY(check_rank(call, 1, 1));
    GANTRY__TRY(check_rank(call, 0, 2));
    GANTRY__TRY(read_band(call, 2, &band));
    call->out_shapes[0] = *call->shapes[0];
    if (band.is_open) return GANTRY_OK;
    GANTRY__TRY(find_band_shape(call, &band, &expected));
    if (!gantry__shapes_fit(&expected, call->shapes[1])) {
        return gantry__refuse("diagonal has shape %s, but the diagonals of input need shape %s",
                              gantry__shape_text(call->shapes[1]).text,
                              gantry__shape_text(&expected).text);
    }
    return GANTRY_OK;
}
