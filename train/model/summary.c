/* SPDX-License-Identifier: Apache-2.0 */
/* The table of layers. */
#include <stdio.h>
#include <string.h>

#include "train/base/fail.h"
#include "train/model/model_state.h"

typedef struct page_t {
    char *out;
    size_t room, length; /* length: of the whole text */
} page_t;

static void put(page_t *page, const char *text) {
    for (const char *at = text; *at; ++at, ++page->length) {
        if (page->length + 1 < page->room) page->out[page->length] = *at;
    }
}

static void put_row(page_t *page, const char *name, const char *shape, const char *parameters) {
    char text[256];
    (void)snprintf(text, sizeof text, "| %-31.31s | %-22.22s | %13.13s |\n", name, shape,
                   parameters);
    put(page, text);
}

static void put_rule(page_t *page) {
    put(page, "+---------------------------------+------------------------+---------------+\n");
}

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

/* "(None, 10)" */
static void format_shape(const gantry_shape_t *shape, char *out, size_t room) {
    size_t used = (size_t)snprintf(out, room, "(");
    for (int32_t d = 0; d < shape->rank && used < room; ++d) {
        const char *gap = d > 0 ? ", " : "";
        used += (size_t)(shape->dims[d] < 0 ? snprintf(out + used, room - used, "%sNone", gap)
                                            : snprintf(out + used, room - used, "%s%lld", gap,
                                                       (long long)shape->dims[d]));
    }
    if (used < room) (void)snprintf(out + used, room - used, "%s)", shape->rank == 1 ? "," : "");
}

static int64_t count_parameters(const gantry_layer_t *layer, bool trained, bool others) {
    int64_t count = 0;
    for (size_t i = 0; i < layer->weight_count; ++i) {
        if (layer->weights[i].is_trained ? trained : others)
            count += gantry_shape_elements(&layer->weights[i].shape);
    }
    return count;
}

static void put_layers(page_t *page, const gantry_model_t *model) {
    char name[160], shape[128], parameters[32];
    for (size_t v = 0; v < model->value_count; ++v) {
        const gantry__value_t *value = &model->values[v];
        if (!value->layer && model->is_sequential) continue;
        (void)snprintf(name, sizeof name, "%s (%s)",
                       value->layer ? gantry_layer_name(value->layer) : "input",
                       value->layer ? value->layer->kind.name : "InputLayer");
        format_shape(&value->shape, shape, sizeof shape);
        format_count(value->layer ? count_parameters(value->layer, true, true) : 0, parameters,
                     sizeof parameters);
        put_row(page, name, shape, parameters);
        put_rule(page);
    }
}

static void put_total(page_t *page, const gantry_model_t *model, const char *what, bool trained,
                      bool others) {
    int64_t count = 0;
    char number[32], text[160];
    for (size_t i = 0; i < model->layer_count; ++i)
        count += count_parameters(model->layers[i], trained, others);
    const double bytes = (double)count * (double)gantry_dtype_size(model->dtype);
    format_count(count, number, sizeof number);
    if (bytes < 1024)
        (void)snprintf(text, sizeof text, " %s: %s (%.2f B)\n", what, number, bytes);
    else if (bytes < 1024.0 * 1024)
        (void)snprintf(text, sizeof text, " %s: %s (%.2f KB)\n", what, number, bytes / 1024);
    else
        (void)snprintf(text, sizeof text, " %s: %s (%.2f MB)\n", what, number,
                       bytes / (1024.0 * 1024));
    put(page, text);
}

gantry_status_t gantry_model_summary(const gantry_model_t *model, char *out, size_t out_bytes,
                                     size_t *out_needed) {
    page_t page = {.out = out, .room = out ? out_bytes : 0};
    char title[256];
    GANTRY__TRAIN_TRY(gantry__model_check(model, "gantry_model_summary"));
    if (!model->is_built)
        return gantry__train_fail(
            GANTRY_FAILED_PRECONDITION,
            "gantry_model_summary: model %s is not built; gantry_model_build makes its weights",
            model->name);
    (void)snprintf(title, sizeof title, "Model: \"%s\"\n", model->name);
    put(&page, title);
    put_rule(&page);
    put_row(&page, "Layer (type)", "Output Shape", "Param #");
    put_rule(&page);
    put_layers(&page, model);
    put_total(&page, model, "Total params", true, true);
    put_total(&page, model, "Trainable params", true, false);
    put_total(&page, model, "Non-trainable params", false, true);
    if (page.room > 0) page.out[page.length + 1 < page.room ? page.length : page.room - 1] = '\0';
    if (out_needed) *out_needed = page.length;
    return GANTRY_OK;
}
