/* SPDX-License-Identifier: Apache-2.0 */
/* Reads forms of convolutions out of any text, as the CUDA backend writes them into its log and its
 * records. A form is read only as it is written there, so that equal forms have equal texts. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tune/tune.h"

#define MOST INT32_MAX /* of each number, and of each tensor's elements: cuDNN takes no more */
#define BEGIN "form="
#define ACCEPTED                                                                           \
    BEGIN                                                                                  \
    "KIND:TYPE:ORDER:NxHxWxC:RxSxCxK:pTOP.BOTTOM.LEFT.RIGHT:sYxX:dYxX with the kind "      \
    "convolve, image_gradient or filter_gradient, the type float32, float16 or bfloat16, " \
    "the order nhwc or nchw, and then :bias, :relu and :tf32 where they are"

/* ---- parts of a text ---- */

static bool form_has(const char **at, const char *word) {
    const size_t length = strlen(word);
    if (strncmp(*at, word, length) != 0) return false;
    *at += length;
    return true;
}

/* Reads one of three words, and the colon after it. */
static bool form_choice(const char **at, const char *const words[3], int *out) {
    for (*out = 0; *out < 3; ++*out) {
        const char *rest = *at;
        if (words[*out] && form_has(&rest, words[*out]) && form_has(&rest, ":")) {
            *at = rest;
            return true;
        }
    }
    return false;
}

/* Reads a number without leading zeros. */
static bool form_number(const char **at, int64_t *out) {
    const char *text = *at;
    *out = 0;
    while (*text >= '0' && *text <= '9' && *out <= MOST) *out = 10 * *out + (*text++ - '0');
    const bool is_good = text > *at && *out <= MOST && (**at != '0' || text == *at + 1);
    *at = text;
    return is_good;
}

/* Reads numbers from `least` on, with a separator between them. */
static bool form_numbers(const char **at, char separator, int count, int64_t least, int64_t *out) {
    for (int i = 0; i < count; ++i) {
        if (i > 0 && *(*at)++ != separator) return false;
        if (!form_number(at, &out[i]) || out[i] < least) return false;
    }
    return true;
}

static bool form_parse(const char *at, tune_form_t *out) {
    static const char *const kinds[] = {"convolve", "image_gradient", "filter_gradient"},
                             *const types[] = {"float32", "float16", "bfloat16"},
                             *const orders[3] = {"nhwc", "nchw", NULL};
    static const gantry_dtype_t dtypes[] = {GANTRY_FLOAT32, GANTRY_FLOAT16, GANTRY_BFLOAT16};
    int type = 0, order = 0;
    if (!form_choice(&at, kinds, &out->kind) || !form_choice(&at, types, &type) ||
        !form_choice(&at, orders, &order) || !form_numbers(&at, 'x', 4, 1, out->images) ||
        !form_has(&at, ":") || !form_numbers(&at, 'x', 4, 1, out->filter) || !form_has(&at, ":p") ||
        !form_numbers(&at, '.', 4, 0, out->pads) || !form_has(&at, ":s") ||
        !form_numbers(&at, 'x', 2, 1, out->steps) || !form_has(&at, ":d") ||
        !form_numbers(&at, 'x', 2, 1, out->spreads))
        return false;
    out->dtype = dtypes[type];
    out->is_planar = order == 1;
    out->has_bias = form_has(&at, ":bias");
    out->has_relu = form_has(&at, ":relu");
    out->may_round = form_has(&at, ":tf32");
    return *at == '\0';
}

/* ---- what it means ---- */

static bool form_is_small(const int64_t dims[4]) {
    int64_t elements = 1;
    for (int i = 0; i < 4; ++i) {
        if (dims[i] > MOST / elements) return false;
        elements *= dims[i];
    }
    return true;
}

/* Finds the result's size. Returns NULL, or why there is no such convolution. */
static const char *form_judge(tune_form_t *form) {
    const int64_t groups = form->images[3] / form->filter[2];
    if (form->images[3] % form->filter[2] != 0 || form->filter[3] % groups != 0)
        return "the channels and the outputs are not those of whole groups";
    if ((form->has_bias || form->has_relu) &&
        (form->kind != TUNE_CONVOLVES || form->dtype != GANTRY_FLOAT32))
        return "only convolve of float32 has a bias or a Relu";
    if (form->may_round && form->dtype != GANTRY_FLOAT32) return "only float32 is rounded to TF32";
    form->result[0] = form->images[0];
    form->result[3] = form->filter[3];
    for (int d = 0; d < 2; ++d) {
        const int64_t room = form->images[d + 1] + form->pads[2 * d] + form->pads[2 * d + 1] - 1 -
                             (form->filter[d] - 1) * form->spreads[d];
        if (room < 0) return "the filter is larger than the padded images";
        form->result[d + 1] = room / form->steps[d] + 1;
    }
    return form_is_small(form->images) && form_is_small(form->filter) && form_is_small(form->result)
               ? NULL
               : "a tensor has 2^31 elements or more";
}

/* ---- the file ---- */

static bool form_is_known(const tune_forms_t *self, const char *text) {
    for (size_t i = 0; i < self->count; ++i) {
        if (strcmp(self->list[i].text, text) == 0) return true;
    }
    return false;
}

static bool form_keep(tune_forms_t *self, const tune_form_t *form) {
    tune_form_t *list = realloc(self->list, (self->count + 1) * sizeof *list);
    if (!list) {
        (void)gantry_tool_fail("no memory for %zu forms", self->count + 1);
        return false;
    }
    self->list = list;
    list[self->count++] = *form;
    return true;
}

/* Takes a word of the file, unless it is no form. Lines of the log may have "form=," in a list. */
static bool form_take(tune_forms_t *self, const char *path, const char *word) {
    tune_form_t form = {.kind = 0};
    const char *text = word;
    if (!form_has(&text, BEGIN) || *text < 'a' || *text > 'z' || form_is_known(self, text))
        return true;
    const bool is_form = strlen(text) < sizeof form.text && form_parse(text, &form);
    const char *reason = is_form ? form_judge(&form) : "it is not written so";
    if (reason) {
        (void)gantry_tool_fail("'%s': \"%s\" is no convolution: %s; accepted: " ACCEPTED, path,
                               word, reason);
        return false;
    }
    (void)snprintf(form.text, sizeof form.text, "%s", text);
    return form_keep(self, &form);
}

/* Splits the file at blanks and control characters. The end of a longer word is left out. */
static bool form_read_words(tune_forms_t *self, const char *path, FILE *file) {
    char word[TUNE_FORM_BYTES + sizeof BEGIN];
    size_t length = 0;
    bool is_good = true;
    for (int c = 0; is_good && c != EOF;) {
        c = getc(file);
        if (c != EOF && (unsigned char)c > ' ') {
            if (length < sizeof word - 1) word[length++] = (char)c;
            continue;
        }
        word[length] = '\0';
        length = 0;
        is_good = form_take(self, path, word);
    }
    return is_good;
}

bool tune_forms_read(tune_forms_t *self, const char *path) {
    *self = (tune_forms_t){.list = NULL};
    FILE *file = fopen(path, "r");
    bool is_good = file && form_read_words(self, path, file);
    if (!file || ferror(file)) {
        (void)gantry_tool_fail("cannot read '%s': %s", path, strerror(errno));
        is_good = false;
    } else if (is_good && self->count == 0) {
        (void)gantry_tool_fail("'%s' has no convolution: no word begins with " BEGIN "; %s", path,
                               TUNE_FORMS_ADVICE);
        is_good = false;
    }
    if (file) (void)fclose(file);
    if (!is_good) tune_forms_deinit(self);
    return is_good;
}

void tune_forms_deinit(tune_forms_t *self) {
    free(self->list);
    *self = (tune_forms_t){.list = NULL};
}
