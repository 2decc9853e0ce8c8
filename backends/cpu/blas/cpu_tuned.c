/* SPDX-License-Identifier: Apache-2.0 */
#include "cpu/blas/cpu_tuned.h"

#include <stdio.h>
#include <string.h>

#define WORD_BYTES 32
#define SERVERS 3

static const char *const words[SERVERS] = {"own", "onednn", "openblas"};

const char *gantry__cpu_blas_name(int serving) {
    static const char *const names[SERVERS] = {"own", "oneDNN", "OpenBLAS"};
    return serving >= 0 && serving < SERVERS ? names[serving] : "none";
}

const char *gantry__cpu_product_name(int product_class) {
    static const char *const names[GANTRY_CPU_PRODUCT_CLASSES] = {"thin", "small", "middle",
                                                                  "large"};
    return names[product_class];
}

static int find_server(const char *text, size_t length) {
    for (int i = 0; i < SERVERS; ++i)
        if (strlen(words[i]) == length && memcmp(words[i], text, length) == 0) return i;
    return -1;
}

/* Whether the word has only digits and at most one point. Figures stay text, because they are only
 * shown. */
static bool is_figure(const char *text, size_t length) {
    size_t points = 0;
    for (size_t i = 0; i < length; ++i) {
        points += text[i] == '.';
        if (text[i] != '.' && (text[i] < '0' || text[i] > '9')) return false;
    }
    return length > points && points <= 1 && length <= 10;
}

/* Reads "use=onednn" or "own=41.5" into out. Returns NULL, or the error. */
static const char *read_word(const char *word, size_t length, gantry__cpu_tuned_t *out,
                             unsigned *seen) {
    const char *equals = memchr(word, '=', length);
    if (!equals) return "a word is not NAME=VALUE";
    size_t name = (size_t)(equals - word), rest = name != 0 ? length - name - 1 : 0;
    if (name == 3 && memcmp(word, "use", 3) == 0) {
        out->use = out->use == -1 ? find_server(equals + 1, rest) : -1;
        return out->use >= 0 ? NULL : "use= stands once and is own, onednn or openblas";
    }
    int server = find_server(word, name);
    if (server < 0 || !is_figure(equals + 1, rest) || (*seen >> server & 1) != 0)
        return "figures are own=, onednn= and openblas= with a number, each at most once";
    *seen |= 1u << server;
    size_t used = strlen(out->figures);
    snprintf(out->figures + used, sizeof out->figures - used, "%s%s %.*s", used > 0 ? ", " : "",
             gantry__cpu_blas_name(server), (int)rest, equals + 1);
    return NULL;
}

bool gantry__cpu_tuned_read(const char *values, gantry__cpu_tuned_t *out, char *reason,
                            size_t reason_bytes) {
    const char *fault = NULL;
    unsigned seen = 0;
    memset(out, 0, sizeof *out);
    out->use = -1;
    while (!fault && *values != '\0') {
        size_t length = strcspn(values, " ");
        fault = length < WORD_BYTES ? read_word(values, length, out, &seen) : "a word is too long";
        values += length + strspn(values + length, " ");
    }
    if (!fault && out->use < 0) fault = "use= is missing";
    if (fault) {
        snprintf(reason, reason_bytes, "%s", fault);
        out->use = -1;
    }
    return !fault;
}

void gantry__cpu_tuned_find(const gantry_host_t *host, const gantry_device_info_t *info,
                            uint32_t threads, int product_class, gantry__cpu_tuned_t *out) {
    memset(out, 0, sizeof *out);
    out->use = -1;
    if (!GANTRY_ABI_HAS(host, tuning) || !host->tuning) return;
    gantry_tuning_t record = {.struct_size = sizeof record};
    char what[64], reason[80], text[512];
    snprintf(what, sizeof what, "cpu.matmul.float32.%s.%u_threads",
             gantry__cpu_product_name(product_class), threads);
    if (!host->tuning(host->self, info, what, &record)) return;
    if (gantry__cpu_tuned_read(record.values, out, reason, sizeof reason)) {
        snprintf(out->measured, sizeof out->measured, "%.10s", record.measured);
        return;
    }
    snprintf(text, sizeof text, "Tuning file %.200s, line %u: %s is not used: %s", record.file,
             record.line, what, reason);
    host->log(host->self, GANTRY_LEVEL_WARNING, text);
}
