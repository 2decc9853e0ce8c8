/* SPDX-License-Identifier: Apache-2.0 */
/* The table of layers: Keras's columns, one row for each layer, block or input, in the order in
 * which the model applies them first. A column is as wide as its longest cell, so that no cell is
 * cut. Externally synchronised. */
#include <stdio.h>
#include <string.h>

#include "shared/c_locale.h"
#include "train/base/fail.h"
#include "train/base/fp_mode.h"
#include "shared/memory.h"
#include "train/model/model_state.h"

enum { NAME = 0, SHAPE = 1, PARAMETERS = 2, SOURCES = 3, COLUMNS = 4 };

/* ---- text ---- */

/* Zeroed: empty. */
typedef struct text_t {
    char *bytes; /* NULL: empty */
    size_t length, capacity;
    bool has_failed; /* memory is out */
} text_t;

static void summary_add_text(text_t *text, const char *more) {
    do {
        text->has_failed =
            text->has_failed || !gantry__grow(&text->bytes, text->length, &text->capacity, 1);
        if (text->has_failed) return;
        text->bytes[text->length++] = *more;
    } while (*more++);
    --text->length; /* of the terminator */
}

static void summary_add_number(text_t *text, const char *before, int64_t number,
                               const char *after) {
    char digits[32];
    (void)snprintf(digits, sizeof digits, "%lld", (long long)number);
    summary_add_text(text, before);
    summary_add_text(text, digits);
    summary_add_text(text, after);
}

static void add_times(text_t *text, const char *what, size_t count) {
    for (size_t i = 0; i < count; ++i) summary_add_text(text, what);
}

/* "12,345" */
static void add_count(text_t *text, int64_t count) {
    char digits[32], one[2] = "";
    const int length = snprintf(digits, sizeof digits, "%lld", (long long)count);
    for (int i = 0; i < length; ++i) {
        if (i > 0 && (length - i) % 3 == 0) summary_add_text(text, ",");
        one[0] = digits[i];
        summary_add_text(text, one);
    }
}

/* The code points of a cell, each of which is one column wide. */
static size_t width_of(const text_t *text) {
    size_t width = 0;
    for (size_t i = 0; i < text->length; ++i)
        width += ((unsigned char)text->bytes[i] & 0xC0) != 0x80;
    return width;
}

/* ---- calls ---- */

/* An application of a layer or of a block, or an input. */
typedef struct call_t {
    const void *unit; /* the member or the block; NULL: an input */
    const gantry__member_t *member;
    const gantry__nested_t *block;
    size_t value;                    /* its first output, of a block its first value */
    const int32_t *inputs, *outputs; /* outputs: of a block; NULL: they follow `value` */
    size_t input_count, output_count;
} call_t;

static call_t call_at(const gantry_model_t *model, size_t value) {
    const gantry__model_value_t *v = &model->net.values[value];
    const gantry__nested_call_t *call = v->nested_call;
    if (call) {
        return (call_t){.unit = call->nested,
                        .block = call->nested,
                        .value = value,
                        .inputs = call->inputs,
                        .outputs = call->inputs + call->input_count,
                        .input_count = call->input_count,
                        .output_count = call->output_count};
    }
    return (call_t){.unit = v->member,
                    .member = v->member,
                    .value = value,
                    .inputs = v->inputs,
                    .input_count = v->input_count,
                    .output_count = v->member ? gantry__layer_outputs(v->member->layer) : 1};
}

static size_t find_calls(const gantry_model_t *model, call_t *calls) {
    size_t count = 0;
    for (size_t v = 0; v < model->net.value_count; ++v) {
        const gantry__model_value_t *value = &model->net.values[v];
        const bool goes_on =
            value->nested_call ? v > 0 && model->net.values[v - 1].nested_call == value->nested_call
                               : value->part > 0;
        if (!goes_on) calls[count++] = call_at(model, v);
    }
    return count;
}

static size_t output_of(const call_t *call, size_t part) {
    return call->outputs ? (size_t)call->outputs[part] : call->value + part;
}

static bool summary_is_same(const call_t *a, const call_t *b) {
    return a->unit && a->unit == b->unit;
}

static bool summary_is_first(const call_t *calls, size_t at) {
    for (size_t i = 0; i < at; ++i)
        if (summary_is_same(&calls[i], &calls[at])) return false;
    return true;
}

/* One call after the other, each of a layer of its own. */
static bool is_chain(const call_t *calls, size_t count) {
    for (size_t i = 1; i < count; ++i) {
        if (calls[i].input_count != 1 || !summary_is_first(calls, i) ||
            (size_t)calls[i].inputs[0] != output_of(&calls[i - 1], 0))
            return false;
    }
    return true;
}

/* ---- cells ---- */

/* Adds a layer's parameters, those that are trained or the others. */
static int64_t summary_count_parameters(const gantry__member_t *member, bool trained, bool others) {
    int64_t count = 0;
    for (size_t i = 0; i < member->layer->weight_count; ++i) {
        if (gantry__member_trains(member, i) ? trained : others)
            count += gantry_shape_elements(&member->layer->weights[i].shape);
    }
    return count;
}

static int64_t count_all(const gantry_model_t *model, bool trained, bool others) {
    int64_t count = 0;
    for (size_t i = 0; i < model->net.member_count; ++i)
        count += summary_count_parameters(model->net.members[i], trained, others);
    return count;
}

static void add_name(text_t *text, const call_t *call) {
    if (call->block || call->member) {
        summary_add_text(text, call->block ? call->block->name : gantry__member_name(call->member));
    } else if (call->value > 0) {
        summary_add_number(text, "input_layer_", (int64_t)call->value, "");
    } else {
        summary_add_text(text, "input_layer");
    }
}

/* "dense (Dense)" */
static void summary_add_title(text_t *text, const call_t *call) {
    add_name(text, call);
    summary_add_text(text, " (");
    if (call->block)
        summary_add_text(text, call->block->model->net.is_sequential ? "Sequential" : "Functional");
    else
        summary_add_text(text, call->member ? call->member->layer->kind.name : "InputLayer");
    summary_add_text(text, ")");
}

/* "(None, 10)"; of several outputs "[(None, 2), (None, 2)]". */
static void add_shapes(text_t *text, const gantry_model_t *model, const call_t *call) {
    if (call->output_count > 1) summary_add_text(text, "[");
    for (size_t i = 0; i < call->output_count; ++i) {
        const gantry_shape_t *shape = &model->net.values[output_of(call, i)].shape;
        summary_add_text(text, i == 0 ? "(" : ", (");
        for (int32_t d = 0; d < shape->rank; ++d) {
            if (d > 0) summary_add_text(text, ", ");
            if (shape->dims[d] < 0)
                summary_add_text(text, "None");
            else
                summary_add_number(text, "", shape->dims[d], "");
        }
        summary_add_text(text, ")");
    }
    if (call->output_count > 1) summary_add_text(text, "]");
}

/* "dense[0][1]": the second output of the first call. A block may return its input as it is, so
 * the last call before `at` that has the value as an output is its source. */
static void add_source(text_t *text, const call_t *calls, size_t at, size_t value) {
    while (at-- > 0) {
        for (size_t part = 0; part < calls[at].output_count; ++part) {
            if (output_of(&calls[at], part) != value) continue;
            int64_t earlier = 0;
            for (size_t i = 0; i < at; ++i) earlier += summary_is_same(&calls[i], &calls[at]);
            if (text->length > 0) summary_add_text(text, ", ");
            add_name(text, &calls[at]);
            summary_add_number(text, "[", earlier, "]");
            summary_add_number(text, "[", (int64_t)part, "]");
            return;
        }
    }
}

/* The cells of a unit, of which `first` is the first call: the shapes of its last call, and the
 * sources of all of them. */
static void summary_add_cells(text_t *cells, const gantry_model_t *model, const call_t *calls,
                              size_t count, size_t first) {
    const call_t *call = &calls[first], *last = call;
    summary_add_title(&cells[NAME], call);
    add_count(&cells[PARAMETERS], call->block ? count_all(call->block->model, true, true)
                                  : call->member
                                      ? summary_count_parameters(call->member, true, true)
                                      : 0);
    for (size_t i = first; i < count; ++i) {
        if (i != first && !summary_is_same(&calls[i], call)) continue;
        last = &calls[i];
        for (size_t k = 0; k < last->input_count; ++k)
            add_source(&cells[SOURCES], calls, i, (size_t)last->inputs[k]);
    }
    if (cells[SOURCES].length == 0) summary_add_text(&cells[SOURCES], "-");
    add_shapes(&cells[SHAPE], model, last);
}

/* ---- the table ---- */

static void put_table(text_t *out, text_t (*rows)[COLUMNS], size_t count, size_t columns) {
    size_t widths[COLUMNS] = {0}, line = 0;
    for (size_t c = 0; c < columns; ++c) {
        for (size_t r = 0; r < count; ++r) {
            const size_t width = width_of(&rows[r][c]);
            if (width > widths[c]) widths[c] = width;
        }
        line += widths[c] + 2;
    }
    for (size_t r = 0; r < count; ++r) {
        for (size_t c = 0; c < columns; ++c) {
            const size_t gap = widths[c] - width_of(&rows[r][c]);
            summary_add_text(out, c == 0 ? " " : "  ");
            if (c == PARAMETERS) add_times(out, " ", gap);
            summary_add_text(out, rows[r][c].bytes);
            if (c != PARAMETERS && c + 1 < columns) add_times(out, " ", gap);
        }
        summary_add_text(out, "\n");
        if (r == 0 || r + 1 == count) {
            add_times(out, "=", line);
            summary_add_text(out, "\n");
        }
    }
}

static gantry_status_t summary_put_rows(text_t *out, const gantry_model_t *model, call_t *calls,
                                        text_t (*rows)[COLUMNS]) {
    static const char *const head[] = {"Layer (type)", "Output Shape", "Param #", "Connected to"};
    const size_t count = find_calls(model, calls);
    /* the row of a sequential model's input is left out */
    const size_t begin = model->net.is_sequential ? 1 : 0;
    size_t used = 1;
    bool has_failed = false;
    for (size_t c = 0; c < COLUMNS; ++c) summary_add_text(&rows[0][c], head[c]);
    for (size_t i = begin; i < count; ++i)
        if (summary_is_first(calls, i)) summary_add_cells(rows[used++], model, calls, count, i);
    for (size_t i = 0; i < used * COLUMNS; ++i)
        has_failed = has_failed || rows[i / COLUMNS][i % COLUMNS].has_failed;
    if (!has_failed) put_table(out, rows, used, is_chain(calls, count) ? SOURCES : COLUMNS);
    for (size_t i = 0; i < used * COLUMNS; ++i) gantry__free(rows[i / COLUMNS][i % COLUMNS].bytes);
    return has_failed ? GANTRY_RESOURCE_EXHAUSTED : GANTRY_OK;
}

static gantry_status_t put_layers(text_t *out, const gantry_model_t *model) {
    call_t *calls = gantry__alloc(model->net.value_count, sizeof *calls);
    text_t(*rows)[COLUMNS] = gantry__alloc(model->net.value_count + 1, sizeof *rows);
    const gantry_status_t status =
        calls && rows ? summary_put_rows(out, model, calls, rows) : GANTRY_RESOURCE_EXHAUSTED;
    gantry__free(calls);
    gantry__free(rows);
    return status;
}

/* ---- the summary ---- */

/* " Total params: 384 (1.50 KB)" */
static void put_total(text_t *out, const gantry_model_t *model, const char *what, bool trained,
                      bool others) {
    static const char *const units[] = {"B", "KB", "MB", "GB", "TB", "PB"};
    const int64_t count = count_all(model, trained, others);
    double bytes = (double)count * (double)gantry_dtype_size(model->dtype);
    char size[64];
    size_t unit = 0;
    for (; bytes >= 1024 && unit + 1 < sizeof units / sizeof units[0]; ++unit) bytes /= 1024;
    const gantry__c_locale_t locale = gantry__c_locale_begin();
    (void)snprintf(size, sizeof size, " (%.2f %s)\n", bytes, units[unit]);
    gantry__c_locale_end(&locale);
    summary_add_text(out, what);
    add_count(out, count);
    summary_add_text(out, size);
}

static gantry_status_t put_summary(text_t *out, const gantry_model_t *model) {
    summary_add_text(out, "Model: \"");
    summary_add_text(out, model->name);
    summary_add_text(out, "\"\n");
    GANTRY__TRY(put_layers(out, model));
    put_total(out, model, " Total params: ", true, true);
    put_total(out, model, " Trainable params: ", true, false);
    put_total(out, model, " Non-trainable params: ", false, true);
    return out->has_failed ? GANTRY_RESOURCE_EXHAUSTED : GANTRY_OK;
}

gantry_status_t gantry_model_summary(const gantry_model_t *model, char *out, size_t out_bytes,
                                     size_t *out_needed) {
    GANTRY__TRAIN_OWN_FP_MODE(fp);
    text_t text = {.bytes = NULL};
    GANTRY__TRY(gantry__model_check(model, "gantry_model_summary"));
    if (!model->net.is_built)
        return gantry__train_fail(
            GANTRY_FAILED_PRECONDITION,
            "gantry_model_summary: model %s is not built; gantry_model_build makes its weights",
            model->name);
    const gantry_status_t status = put_summary(&text, model);
    if (status == GANTRY_OK && out && out_bytes > 0) {
        const size_t length = text.length < out_bytes ? text.length : out_bytes - 1;
        memcpy(out, text.bytes, length);
        out[length] = '\0';
    }
    if (status == GANTRY_OK && out_needed) *out_needed = text.length;
    gantry__free(text.bytes);
    return status;
}
