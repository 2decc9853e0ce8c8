/* SPDX-License-Identifier: Apache-2.0 */
/* Writes and reads records of convolutions (cuda_cudnn_record.h). */
#include "cuda/cudnn/cuda_cudnn_record.h"

#include <gantry/backend_abi.h>
#include <stdio.h>
#include <string.h>

#include "driver/driver_record.h"

#define MOST_NUMBER INT32_MAX

/* ---- names ---- */

static const char *const cudnn_record_kinds[] = {"convolve", "image_gradient", "filter_gradient"};

bool gantry__cudnn_record_name(const gantry__cudnn_form_t *form,
                               char out_form[GANTRY__CUDNN_FORM_BYTES],
                               char out_name[GANTRY__CUDNN_NAME_BYTES]) {
    const char *const texts[] = {out_form};
    const int64_t *i = form->image, *f = form->filter;
    const char *type = form->dtype == GANTRY_FLOAT16    ? "float16"
                       : form->dtype == GANTRY_BFLOAT16 ? "bfloat16"
                                                        : "float32";
    if (form->any_order || form->most_workspace_bytes == 0 ||
        form->image_is_planar != form->result_is_planar)
        return false;
    const int length = snprintf(
        out_form, GANTRY__CUDNN_FORM_BYTES,
        "%s:%s:%s:%lldx%lldx%lldx%lld:%lldx%lldx%lldx%lld:p%lld.%lld.%lld.%lld:s%lldx%lld:"
        "d%lldx%lld%s%s%s",
        cudnn_record_kinds[form->what], type, form->image_is_planar ? "nchw" : "nhwc",
        (long long)i[0], (long long)i[2], (long long)i[3], (long long)i[1], (long long)f[2],
        (long long)f[3], (long long)f[1], (long long)f[0], (long long)form->before[0],
        (long long)form->after[0], (long long)form->before[1], (long long)form->after[1],
        (long long)form->steps[0], (long long)form->steps[1], (long long)form->spreads[0],
        (long long)form->spreads[1], form->has_bias ? ":bias" : "", form->has_relu ? ":relu" : "",
        form->may_round ? ":tf32" : "");
    (void)snprintf(out_name, GANTRY__CUDNN_NAME_BYTES, "cudnn.%s.%016llx",
                   cudnn_record_kinds[form->what],
                   (unsigned long long)gantry__record_hash(texts, 1));
    return length > 0 && length < GANTRY__CUDNN_FORM_BYTES;
}

/* ---- writing ---- */

bool gantry__cudnn_record_write(const char *form, const gantry__cudnn_recipe_t *recipe,
                                gantry__cudnn_machine_t machine,
                                char out_values[GANTRY__CUDNN_VALUES_BYTES]) {
    char knobs[GANTRY__CUDNN_VALUES_BYTES] = "";
    int length = 0;
    if (recipe->engine < 0) return false;
    for (int32_t i = 0; i < recipe->knob_count; ++i) {
        length += snprintf(knobs + length, sizeof knobs - (size_t)length, "%s%d:%lld",
                           i > 0 ? "," : " knobs=", recipe->kinds[i], (long long)recipe->values[i]);
        if (length >= (int)sizeof knobs) return false;
    }
    length = snprintf(out_values, GANTRY__CUDNN_VALUES_BYTES,
                      "form=%s engine=%lld%s version=%lld capability=%lld", form,
                      (long long)recipe->engine, knobs, (long long)machine.version,
                      (long long)machine.capability);
    return length > 0 && length < GANTRY__CUDNN_VALUES_BYTES;
}

/* ---- reading ---- */

/* Reads digits, and moves the text to after them; false: there are none, or too many. */
static bool cudnn_record_digits(const char **text, int64_t *out) {
    const char *at = *text;
    int64_t value = 0;
    while (*at >= '0' && *at <= '9' && value <= MOST_NUMBER) value = 10 * value + (*at++ - '0');
    *out = value;
    const bool is_number = at > *text && value <= MOST_NUMBER;
    *text = at;
    return is_number;
}

static bool cudnn_record_number(const char *text, int64_t *out) {
    return cudnn_record_digits(&text, out) && *text == '\0';
}

/* Reads "2:7,12:0". */
static bool cudnn_record_knobs(const char *text, gantry__cudnn_recipe_t *recipe) {
    int64_t kind;
    for (;; ++text) {
        if (recipe->knob_count == GANTRY__CUDNN_KNOBS || !cudnn_record_digits(&text, &kind) ||
            *text++ != ':' || !cudnn_record_digits(&text, &recipe->values[recipe->knob_count]))
            return false;
        recipe->kinds[recipe->knob_count++] = (int32_t)kind;
        if (*text != ',') return *text == '\0';
    }
}

/* The words of a record that were read so far; below 0: not yet. */
typedef struct cudnn_words_t {
    gantry__cudnn_record_t *out;
    const char *form;
    int64_t version, capability, use;
    bool has_form;
} cudnn_words_t;

/* Reads a word. Returns NULL, or what is wrong with it. */
static const char *cudnn_record_word(cudnn_words_t *words, char *word) {
    char *value = strchr(word, '=');
    if (!value || !value[1]) return "a word is not NAME=VALUE";
    *value++ = '\0';
    if (strcmp(word, "form") == 0) {
        words->has_form = strcmp(value, words->form) == 0;
        return words->has_form ? NULL : "it is another form's";
    }
    if (strcmp(word, "knobs") == 0)
        return cudnn_record_knobs(value, &words->out->recipe) ? NULL : "knobs= has no such numbers";
    if (strcmp(word, "us") == 0 || strcmp(word, "first") == 0) return NULL;
    int64_t *const to = strcmp(word, "engine") == 0       ? &words->out->recipe.engine
                        : strcmp(word, "version") == 0    ? &words->version
                        : strcmp(word, "capability") == 0 ? &words->capability
                        : strcmp(word, "use") == 0        ? &words->use
                                                          : NULL;
    if (!to)
        return "form=, engine=, knobs=, version=, capability=, use=, us= and first= are accepted";
    return cudnn_record_number(value, to) ? NULL : "a value is no such number";
}

static const char *cudnn_record_judge(const cudnn_words_t *words, gantry__cudnn_machine_t machine) {
    const bool has_engine = words->out->recipe.engine >= 0, has_use = words->use >= 0;
    if (!words->has_form) return "form= is missing";
    if (has_engine == has_use) return "one of engine= and use= is needed";
    if (has_use) return words->use < GANTRY__CUDNN_MOST_USED ? NULL : "use= is 0 to 63";
    if (words->version != machine.version) return "it was measured with another version of cuDNN";
    return words->capability == machine.capability
               ? NULL
               : "it was measured on a card of another compute capability";
}

const char *gantry__cudnn_record_read(const char *values, const char *form,
                                      gantry__cudnn_machine_t machine,
                                      gantry__cudnn_record_t *out) {
    cudnn_words_t words = {
        .out = out, .form = form, .version = -1, .capability = -1, .use = -1, .has_form = false};
    char word[GANTRY__CUDNN_VALUES_BYTES];
    const char *reason = NULL;
    *out = (gantry__cudnn_record_t){.recipe = {.engine = -1}};
    while (*values && !reason) {
        const size_t length = strcspn(values, " ");
        if (length >= sizeof word) return "a word is too long";
        memcpy(word, values, length);
        word[length] = '\0';
        reason = cudnn_record_word(&words, word);
        values += length + strspn(values + length, " ");
    }
    if (!reason) reason = cudnn_record_judge(&words, machine);
    out->passed_over = words.use > 0 ? (int32_t)words.use : 0;
    return reason;
}
