/* SPDX-License-Identifier: Apache-2.0 */
/* Which type has a file? Runs the model of magika, whose wheel on PyPI has it, on all files at
 * once.
 *
 *   file_types FOLDER FILE... [--device NAME]
 *
 * FOLDER has model.onnx and config.min.json. The model sees 1,024 bytes of each end of a file. */
#include <string.h>

#include <gantry_onnx/onnx.h>

#include "example.h"

#define END 1024
#define BLOCK 4096
#define PADDING 256
#define LEAST_BYTES 8

static int is_blank(int byte) { return byte == ' ' || (byte >= '\t' && byte <= '\r'); }

/* Reads the first or last bytes of a file, at most BLOCK; returns their number. */
static size_t read_block(const char *path, int whence, unsigned char *out) {
    FILE *file = fopen(path, "rb");
    if (!file) return 0;
    if (whence == SEEK_END && fseek(file, -BLOCK, SEEK_END) != 0) rewind(file);
    const size_t count = fread(out, 1, BLOCK, file);
    (void)fclose(file);
    return count;
}

/* Fills the row of a file: END bytes of each end. Returns whether it has enough of them. */
static bool fill_row(const char *path, int32_t *row) {
    unsigned char bytes[BLOCK];
    size_t count = read_block(path, SEEK_SET, bytes), first = 0;
    while (first < count && is_blank(bytes[first])) ++first;
    for (size_t i = 0; i < END; ++i) row[i] = first + i < count ? bytes[first + i] : PADDING;
    count = read_block(path, SEEK_END, bytes);
    while (count > 0 && is_blank(bytes[count - 1])) --count;
    for (size_t i = 0; i < END; ++i)
        row[END + i] = i + count >= END ? bytes[i + count - END] : PADDING;
    return row[LEAST_BYTES - 1] != PADDING;
}

/* Reads the label with this number from the list "target_labels_space":["3gp","ace",...]. */
static void find_label(const char *config, int64_t number, char out[64]) {
    const char *at = strstr(config, "\"target_labels_space\":[");
    for (int64_t i = 0; at && i <= number; ++i) at = strchr(at + 1, i == 0 ? '[' : ',');
    if (!at || sscanf(at + 1, "\"%63[^\"]\"", out) != 1) (void)strcpy(out, "?");
}

static char *read_config(const char *folder) {
    char path[4096];
    (void)snprintf(path, sizeof path, "%s/config.min.json", folder);
    FILE *file = fopen(path, "rb");
    char *text = calloc(1, 1 << 16);
    if (!file || !text || fread(text, 1, (1 << 16) - 1, file) == 0) {
        (void)fprintf(stderr, "file_types: %s cannot be read\n", path);
        exit(1);
    }
    (void)fclose(file);
    return text;
}

static void print_types(const gantry_tensor_t *scores, const char *config, char **files,
                        size_t count) {
    const size_t labels = (size_t)gantry_tensor_shape(scores)->dims[1];
    float *chances = calloc(count * labels, sizeof *chances);
    if (!chances) exit(1);
    example_check(gantry_tensor_read(scores, chances, count * labels * sizeof *chances), "scores");
    for (size_t i = 0; i < count; ++i) {
        const float *row = chances + i * labels;
        size_t best = 0;
        char label[64];
        for (size_t k = 1; k < labels; ++k) best = row[k] > row[best] ? k : best;
        find_label(config, (int64_t)best, label);
        (void)printf("%-12s %5.1f %%  %s\n", label, 100 * (double)row[best], files[i]);
    }
    free(chances);
}

int main(int argc, char **argv) {
    const char *device = NULL;
    if (argc > 3 && strcmp(argv[argc - 2], "--device") == 0) {
        device = argv[argc - 1];
        argc -= 2;
    }
    if (argc < 3) {
        (void)fprintf(stderr, "usage: file_types FOLDER FILE... [--device NAME]\n");
        return 2;
    }
    char *config = read_config(argv[1]), path[4096];
    int32_t *rows = calloc((size_t)argc, 2 * END * sizeof *rows);
    size_t count = 0;
    for (int i = 2; rows && i < argc; ++i) {
        if (fill_row(argv[i], rows + count * 2 * END))
            argv[2 + count++] = argv[i];
        else
            (void)fprintf(stderr, "%s cannot be read, or has too few bytes\n", argv[i]);
    }
    if (count == 0) return 1;
    gantry_onnx_model_t *model;
    gantry_runtime_t *runtime;
    const gantry_runtime_options_t options = {
        .struct_size = sizeof options, .log = example_log, .log_level = GANTRY_LEVEL_WARNING};
    example_check(gantry_runtime_create(&options, &runtime), "gantry_runtime_create");
    (void)snprintf(path, sizeof path, "%s/model.onnx", argv[1]);
    example_check(gantry_onnx_model_load(runtime, path, NULL, &model), path);
    gantry_scope_t *scope = gantry_scope_begin(runtime, device);
    const gantry_tensor_t *scores,
        *bytes = gantry_constant(scope, GANTRY_INT32, GANTRY_SHAPE((int64_t)count, 2 * END), rows,
                                 count * 2 * END * sizeof *rows);
    example_check(gantry_onnx_model_run(model, scope, &bytes, 1, &scores, 1), "the model");
    print_types(scores, config, argv + 2, count);
    example_check(gantry_scope_end(scope), "gantry_scope_end");
    gantry_onnx_model_release(model);
    gantry_runtime_release(runtime);
    free(rows);
    free(config);
    return 0;
}
