/* SPDX-License-Identifier: Apache-2.0 */
/* _FusedParts: each part is a call of _FusedElementwise, and all parts have one form. */
#include "op/fused_program.h"
#include "op/op_infer.h"

_Static_assert(GANTRY__FUSED_MOST_PART_TENSORS == GANTRY__MAX_INPUTS + GANTRY__MAX_OUTPUTS,
               "ops/fused.def has other limits than ops");

enum { PROGRAM, OUTPUTS, PARTS, SHARED };

/* The sizes of a part: its inputs that are not shared, and its outputs. */
typedef struct part_sizes_t {
    uint32_t parts, shared, own, outputs;
} part_sizes_t;

static gantry_status_t parts_read_sizes(const gantry__infer_t *call, part_sizes_t *sizes) {
    const int64_t parts = call->attrs[PARTS].i, shared = call->attrs[SHARED].i;
    if (parts < 1 || parts > GANTRY__FUSED_MOST_PARTS) {
        return gantry__refuse("attribute 'parts' is %lld; accepted are 1 to %d", (long long)parts,
                              GANTRY__FUSED_MOST_PARTS);
    }
    const bool fits = shared >= 0 && shared <= (int64_t)call->input_count;
    const int64_t own = fits ? (int64_t)call->input_count - shared : 0;
    if (!fits || own % parts != 0 || call->output_count % parts != 0) {
        return gantry__refuse(
            "%u inputs, of which %lld are shared, and %u outputs do not make %lld equal parts",
            (unsigned)call->input_count, (long long)shared, (unsigned)call->output_count,
            (long long)parts);
    }
    *sizes = (part_sizes_t){.parts = (uint32_t)parts,
                            .shared = (uint32_t)shared,
                            .own = (uint32_t)(own / parts),
                            .outputs = call->output_count / (uint32_t)parts};
    return GANTRY_OK;
}

static gantry_status_t parts_infer(gantry__infer_t *call, const part_sizes_t *sizes,
                                   uint32_t part) {
    const gantry_shape_t *shapes[GANTRY__MAX_INPUTS];
    gantry_dtype_t dtypes[GANTRY__MAX_INPUTS];
    const uint32_t first = part * sizes->outputs;
    gantry__infer_t elementwise = {.op = gantry__op_get(GANTRY__OP_ID__FusedElementwise),
                                   .input_count = sizes->shared + sizes->own,
                                   .output_count = sizes->outputs,
                                   .shapes = shapes,
                                   .dtypes = dtypes,
                                   .out_shapes = call->out_shapes + first,
                                   .out_dtypes = call->out_dtypes + first};
    elementwise.attrs[0] = call->attrs[PROGRAM];
    elementwise.attrs[1] = (gantry_attr_t){
        .i = sizes->outputs, .list = sizes->outputs > 0 ? call->attrs[OUTPUTS].list + first : NULL};
    for (uint32_t i = 0; i < elementwise.input_count; ++i) {
        const uint32_t from = i < sizes->shared ? i : i + part * sizes->own;
        shapes[i] = call->shapes[from];
        dtypes[i] = call->dtypes[from];
    }
    return gantry__infer_fused_elementwise(&elementwise);
}

/* Whether input i of the program has one element in every part. */
static bool parts_is_single(const gantry__infer_t *call, const part_sizes_t *sizes, uint32_t i) {
    bool is = true;
    for (uint32_t part = 0; part < sizes->parts; ++part)
        is = is && gantry_shape_elements(call->shapes[i + part * sizes->own]) == 1;
    return is;
}

static gantry_status_t parts_check_own(const gantry__infer_t *call, const part_sizes_t *sizes,
                                       uint32_t i) {
    const bool single = parts_is_single(call, sizes, i);
    for (uint32_t part = 0; part < sizes->parts; ++part) {
        const uint32_t at = i + part * sizes->own;
        const int64_t count = gantry_shape_elements(&call->out_shapes[part * sizes->outputs]);
        if (call->dtypes[at] != call->dtypes[i]) {
            return gantry__refuse("input %u is %s, but %s in part 0, which has input %u",
                                  (unsigned)at, gantry_dtype_name(call->dtypes[at]),
                                  gantry_dtype_name(call->dtypes[i]), (unsigned)i);
        }
        if (!single && gantry_shape_elements(call->shapes[at]) != count) {
            return gantry__refuse(
                "input %u of part %u has shape %s; it must have the part's %lld elements, or one in every part",
                (unsigned)at, (unsigned)part, gantry__shape_text(call->shapes[at]).text,
                (long long)count);
        }
    }
    return GANTRY_OK;
}

static gantry_status_t parts_check_outputs(const gantry__infer_t *call, const part_sizes_t *sizes) {
    const int64_t *list = call->attrs[OUTPUTS].list;
    for (uint32_t i = sizes->outputs; i < call->output_count; ++i) {
        if (list[i] == list[i - sizes->outputs]) continue;
        return gantry__refuse("attribute 'outputs' has %lld for output %u, %lld in the part before",
                              (long long)list[i], (unsigned)i, (long long)list[i - sizes->outputs]);
    }
    return GANTRY_OK;
}

gantry_status_t gantry__infer_fused_parts(gantry__infer_t *call) {
    part_sizes_t sizes = {0};
    GANTRY__TRY(parts_read_sizes(call, &sizes));
    GANTRY__TRY(parts_check_outputs(call, &sizes));
    for (uint32_t part = 0; part < sizes.parts; ++part)
        GANTRY__TRY(parts_infer(call, &sizes, part));
    for (uint32_t i = 0; i < sizes.shared; ++i) {
        if (gantry_shape_elements(call->shapes[i]) == 1) continue;
        return gantry__refuse("input %u has shape %s; a shared input has one element", (unsigned)i,
                              gantry__shape_text(call->shapes[i]).text);
    }
    for (uint32_t i = sizes.shared; i < sizes.shared + sizes.own; ++i)
        GANTRY__TRY(parts_check_own(call, &sizes, i));
    return GANTRY_OK;
}
