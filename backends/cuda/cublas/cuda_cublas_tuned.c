/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the tuning file's records of products (cuda_cublas_tuned.h). */
#include "cuda/cublas/cuda_cublas_tuned.h"

#include <stdio.h>
#include <string.h>

#include "cuda/cuda_backend.h"

/* The classes must be those of `gantry tune`. */
static const char *const class_names[GANTRY__CUBLAS_CLASSES] = {"thin", "small", "middle", "large"};

#define THIN_SIDE 32
#define MOST_OF_SMALL (512.0 * 512.0 * 512.0)
#define MOST_OF_MIDDLE (2048.0 * 2048.0 * 2048.0)

static int class_of(const gantry__cublas_form_t *form) {
    uint64_t m = form->out.columns, n = form->out.rows;
    uint64_t k = form->left.is_transposed ? form->left.rows : form->left.columns;
    if (m < THIN_SIDE || n < THIN_SIDE) return 0;
    double products = (double)m * (double)n * (double)k;
    return products <= MOST_OF_SMALL ? 1 : products <= MOST_OF_MIDDLE ? 2 : 3;
}

/* Reads digits, with or without a point; strtod would follow the program's locale. */
static bool read_decimal(const char *text, double *out) {
    double value = 0, scale = 0;
    size_t digits = 0;
    for (; *text; ++text) {
        if (*text == '.' && scale == 0) {
            scale = 1;
            continue;
        }
        if (*text < '0' || *text > '9') return false;
        value = value * 10 + (*text - '0');
        scale *= 10;
        ++digits;
    }
    *out = scale > 0 ? value / scale : value;
    return digits > 0;
}

/* Reads a word. Returns NULL, or what is wrong with it. */
static const char *cublas_tuned_read_word(const char *word, size_t length, size_t version_of,
                                          int *choice) {
    char text[48];
    double value;
    if (length >= sizeof text) return "a word is too long";
    memcpy(text, word, length);
    text[length] = '\0';
    char *equals = strchr(text, '=');
    if (!equals || !equals[1]) return "a word is not NAME=VALUE";
    *equals = '\0';
    if (!read_decimal(equals + 1, &value)) return "a value is not a number";
    if (strcmp(text, "use") == 0) {
        if (*choice >= 0 || value >= GANTRY__CUBLAS_CHOICES || value != (double)(int)value)
            return "use= stands once and is 0 to 7";
        *choice = (int)value;
        return NULL;
    }
    if (strcmp(text, "version") == 0)
        return value == (double)version_of ? NULL : "it was measured with another version";
    return strcmp(text, "gflops") == 0 || strcmp(text, "first") == 0
               ? NULL
               : "use=, version=, gflops= and first= are accepted";
}

bool gantry__cublas_tuned_parse(const char *values, size_t version_of, uint8_t *out_choice,
                                const char **reason) {
    int choice = -1;
    *out_choice = 0;
    *reason = NULL;
    while (*values && !*reason) {
        size_t length = strcspn(values, " ");
        *reason = cublas_tuned_read_word(values, length, version_of, &choice);
        values += length + strspn(values + length, " ");
    }
    if (!*reason && choice < 0) *reason = "use= is missing";
    if (*reason) return false;
    *out_choice = (uint8_t)choice;
    return true;
}

void gantry__cublas_tuned_read(gantry_backend_device_t *device) {
    const gantry_host_t *host = device->host;
    if (!GANTRY_ABI_HAS(host, tuning) || !host->tuning) return;
    for (int i = 0; i < GANTRY__CUBLAS_CLASSES; ++i) {
        gantry_tuning_t record = {.struct_size = sizeof record};
        char what[64];
        const char *reason;
        (void)snprintf(what, sizeof what, "cublaslt.matmul.float32.%s", class_names[i]);
        if (!host->tuning(host->self, &device->record->info, what, &record)) continue;
        if (!gantry__cublas_tuned_parse(record.values,
                                        device->instance->cublas.cublasLtGetVersion(),
                                        &device->tuned[i], &reason))
            gantry__host_log(host, GANTRY_LEVEL_WARNING,
                             "Tuning file %.200s, line %u: %s is not used: %s", record.file,
                             record.line, what, reason);
    }
}

int gantry__cublas_tuned_choice(const gantry_backend_device_t *device,
                                const gantry__cublas_form_t *form) {
    if (form->dtype != GANTRY_FLOAT32 || form->most_workspace_bytes == 0 ||
        device->instance->float32_products != GANTRY__CUBLAS_COMPUTE_32F) {
        return 0;
    }
    return device->tuned[class_of(form)];
}
