/* SPDX-License-Identifier: Apache-2.0 */
/* The table of layers, as Keras prints it on a terminal of 80 columns. */
#include "train/model/summary.h"

#include <stdio.h>

#include "train/base/c_locale.h"
#include "train/base/fail.h"
#include "train/base/fp_mode.h"
#include "train/base/memory.h"

/* ---- numbers ---- */

/* "12,345" */
static void format_count(int64_t count, char *out, size_t room) {
    char digits[32];
    const int length = snprintf(digits, sizeof digits, "%lld", (long long)count);
    size_t used = 0;
    for (int i = 0; i < length && used + 2 < room; ++i) {
        if (i > 0 && (length - i) % 3 == 0) out[used++] = ',';
        out[used++] = digits[i];
    }
    out[used] = '\0';
}

/* "1.50 KB" */
static void format_bytes(double bytes, char *out, size_t room) {
    static const char *const units[] = {"B", "KB", "MB", "GB", "TB", "PB"};
    size_t unit = 0;
    for (; bytes >= 1024 && unit + 1 < sizeof units / sizeof units[0]; ++unit) bytes /= 1024;
    const gantry__train_locale_t locale = gantry__train_locale_begin();
    (void)snprintf(out, room, "%.2f %s", bytes, units[unit]);
    gantry__train_locale_end(&locale);
}

static int64_t count_parameters(const gantry__member_t *member, bool trained, bool others) {
    int64_t count = 0;
    for (size_t i = 0; member && i < member->layer->weight_count; ++i) {
        if (gantry__member_trains(member, i) ? trained : others)
            count += gantry_shape_elements(&member->layer->weights[i].shape);
    }
    return count;
}

/* ---- cells of a row ---- */

/* "input_layer", "input_layer_1", or the layer's. */
static void add_name(gantry__text_t *text, const gantry_model_t *model, size_t value) {
    char number[32] = "";
    if (model->values[value].member) {
        gantry__text_add(text, gantry__member_name(model->values[value].member));
        return;
    }
    if (value > 0) (void)snprintf(number, sizeof number, "_%zu", value);
    gantry__text_add(text, "input_layer");
    gantry__text_add(text, number);
}

/* "dense (Dense)" */
static void add_title(gantry__text_t *text, const gantry_model_t *model, size_t value) {
    const gantry__member_t *member = model->values[value].member;
    add_name(text, model, value);
    gantry__text_add(text, " (");
    gantry__text_add(text, member ? member->layer->kind.name : "InputLayer");
    gantry__text_add(text, ")");
}

/* "(None, 10)" */
static void add_shape(gantry__text_t *text, const gantry_shape_t *shape) {
    char size[32];
    for (int32_t d = 0; d < shape->rank; ++d) {
        (void)snprintf(size, sizeof size, "%lld", (long long)shape->dims[d]);
        gantry__text_add(text, d == 0 ? "(" : ", ");
        gantry__text_add(text, shape->dims[d] < 0 ? "None" : size);
    }
    gantry__text_add(text, shape->rank > 0 ? ")" : "()");
}

/* The last call of a value's layer; of an input, the value. */
static size_t last_call(const gantry_model_t *model, size_t value) {
    const gantry__member_t *member = model->values[value].member;
    for (size_t v = value + 1; member && v < model->value_count; ++v) {
        if (model->values[v].member == member && model->values[v].part == 0) value = v;
    }
    return value;
}

/* Several outputs: "[(None, 2), (None, 2)]". */
static void add_shapes(gantry__text_t *text, const gantry_model_t *model, size_t value) {
    const gantry__value_t *last = &model->values[last_call(model, value)];
    const size_t count = last->member ? gantry__layer_outputs(last->member->layer) : 1;
    if (count > 1) gantry__text_add(text, "[");
    for (size_t i = 0; i < count; ++i) {
        if (i > 0) gantry__text_add(text, ", ");
        add_shape(text, &last[i].shape);
    }
    if (count > 1) gantry__text_add(text, "]");
}

/* "dense[0][1]": the second output of the first call. */
static void add_source(gantry__text_t *text, const gantry_model_t *model, size_t value) {
    const gantry__value_t *source = &model->values[value];
    size_t calls = 0;
    char place[64];
    for (size_t v = 0; source->member && v + source->part < value; ++v)
        calls += model->values[v].member == source->member && model->values[v].part == 0;
    (void)snprintf(place, sizeof place, "[%zu][%zu]", calls, source->part);
    if (text->length > 0) gantry__text_add(text, ", ");
    add_name(text, model, value);
    gantry__text_add(text, place);
}

static void add_sources(gantry__text_t *text, const gantry_model_t *model, size_t value) {
    const gantry__member_t *member = model->values[value].member;
    for (size_t v = value; member && v < model->value_count; ++v) {
        const gantry__value_t *call = &model->values[v];
        for (size_t i = 0; call->member == member && i < call->input_count; ++i)
            add_source(text, model, (size_t)call->inputs[i]);
    }
    if (text->length == 0) gantry__text_add(text, "-");
}

/* ---- rows ---- */

enum { NAME = 0, SHAPE = 1, PARAMETERS = 2, SOURCES = 3 };

static gantry_status_t put_layer(const gantry__table_t *table, const gantry_model_t *model,
                                 size_t value) {
    gantry__text_t texts[GANTRY__SUMMARY_COLUMNS] = {{.bytes = NULL}};
    const char *cells[GANTRY__SUMMARY_COLUMNS];
    char number[32];
    bool has_failed = false;
    add_title(&texts[NAME], model, value);
    add_shapes(&texts[SHAPE], model, value);
    format_count(count_parameters(model->values[value].member, true, true), number, sizeof number);
    gantry__text_add(&texts[PARAMETERS], number);
    add_sources(&texts[SOURCES], model, value);
    for (size_t i = 0; i < GANTRY__SUMMARY_COLUMNS; ++i) {
        has_failed = has_failed || texts[i].has_failed;
        cells[i] = texts[i].bytes;
    }
    if (!has_failed) gantry__table_put_row(table, cells, false);
    for (size_t i = 0; i < GANTRY__SUMMARY_COLUMNS; ++i) gantry__train_free(texts[i].bytes);
    return has_failed ? GANTRY_RESOURCE_EXHAUSTED : GANTRY_OK;
}

static gantry_status_t put_table(const gantry__table_t *table, const gantry_model_t *model,
                                 const size_t *rows, size_t count) {
    static const char *const head[] = {"Layer (type)", "Output Shape", "Param #", "Connected to"};
    gantry__table_put_rule(table, GANTRY__RULE_TOP);
    gantry__table_put_row(table, head, true);
    gantry__table_put_rule(table, GANTRY__RULE_HEAD);
    for (size_t i = 0; i < count; ++i) {
        GANTRY__TRAIN_TRY(put_layer(table, model, rows[i]));
        gantry__table_put_rule(table, i + 1 < count ? GANTRY__RULE_ROW : GANTRY__RULE_BOTTOM);
    }
    return GANTRY_OK;
}

/* A sequential model has a row for each layer, in their order. */
static gantry_status_t find_rows(const gantry_model_t *model, size_t *rows, size_t *out_count,
                                 bool *out_is_chain) {
    if (!model->is_sequential) return gantry__summary_order(model, rows, out_count, out_is_chain);
    *out_is_chain = true;
    *out_count = model->value_count - 1;
    for (size_t i = 0; i < *out_count; ++i) rows[i] = i + 1;
    return GANTRY_OK;
}

static gantry_status_t put_layers(gantry__page_t *page, const gantry_model_t *model) {
    const gantry__table_t chain = {page, 3, {31, 22, 13}, PARAMETERS};
    const gantry__table_t graph = {page, 4, {19, 17, 10, 17}, PARAMETERS};
    size_t count;
    bool is_chain;
    size_t *rows = gantry__train_alloc(model->value_count, sizeof *rows);
    if (!rows) return GANTRY_RESOURCE_EXHAUSTED;
    gantry_status_t status = find_rows(model, rows, &count, &is_chain);
    if (status == GANTRY_OK) status = put_table(is_chain ? &chain : &graph, model, rows, count);
    gantry__train_free(rows);
    return status;
}

static gantry_status_t put_view(gantry__page_t *page, const gantry_model_t *model) {
    gantry__summary_view_t view;
    if (model->nested_count == 0) return put_layers(page, model);
    gantry_status_t status = gantry__summary_view_init(&view, model);
    if (status == GANTRY_OK) status = put_layers(page, &view.model);
    gantry__summary_view_deinit(&view);
    return status;
}

/* ---- the summary ---- */

static void put_total(gantry__page_t *page, const gantry_model_t *model, const char *what,
                      bool trained, bool others) {
    int64_t count = 0;
    char number[32], bytes[64], text[160];
    for (size_t i = 0; i < model->member_count; ++i)
        count += count_parameters(model->members[i], trained, others);
    format_count(count, number, sizeof number);
    format_bytes((double)count * (double)gantry_dtype_size(model->dtype), bytes, sizeof bytes);
    (void)snprintf(text, sizeof text, " %s: %s (%s)\n", what, number, bytes);
    gantry__page_put(page, text);
}

gantry_status_t gantry_model_summary(const gantry_model_t *model, char *out, size_t out_bytes,
                                     size_t *out_needed) {
    GANTRY__TRAIN_OWN_FP_MODE(fp);
    gantry__page_t page = {.out = out, .room = out ? out_bytes : 0};
    GANTRY__TRAIN_TRY(gantry__model_check(model, "gantry_model_summary"));
    if (!model->is_built)
        return gantry__train_fail(
            GANTRY_FAILED_PRECONDITION,
            "gantry_model_summary: model %s is not built; gantry_model_build makes its weights",
            model->name);
    gantry__page_put(&page, "Model: \"");
    gantry__page_put(&page, model->name);
    gantry__page_put(&page, "\"\n");
    GANTRY__TRAIN_TRY(put_view(&page, model));
    put_total(&page, model, "Total params", true, true);
    put_total(&page, model, "Trainable params", true, false);
    put_total(&page, model, "Non-trainable params", false, true);
    if (page.room > 0) page.out[page.length + 1 < page.room ? page.length : page.room - 1] = '\0';
    if (out_needed) *out_needed = page.length;
    return GANTRY_OK;
}
