/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: A model of 3 GiB of external data is loaded and run with its elements in their file: a
 * run that reads some of them holds less than 64 MiB. */
#define _XOPEN_SOURCE 700

#include "onnx_fixture.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define COLUMNS INT64_C(8192)
#define ROW_BYTES (COLUMNS * (int64_t)sizeof(float))
#define FIRST_ROWS INT64_C(32768)  /* 1 GiB */
#define SECOND_ROWS INT64_C(65536) /* 2 GiB */
#define MOST_KIB (64 << 10)

static char folder[] = "/tmp/gantry_large_XXXXXX";

static void path_of(const char *name, char path[128]) {
    (void)snprintf(path, 128, "%s/%s", folder, name);
}

/* A tensor of rows from a byte of weights.bin on. */
static void put_external(onnx_wire_t *graph, const char *name, int64_t rows, int64_t offset) {
    onnx_wire_t wire = {0}, entry = {0};
    char text[32];
    onnx_put_int(&wire, 1, rows);
    onnx_put_int(&wire, 1, COLUMNS);
    onnx_put_int(&wire, 2, ONNX_FLOAT);
    onnx_put_text(&wire, 8, name);
    onnx_put_text(&entry, 1, "location");
    onnx_put_text(&entry, 2, "weights.bin");
    onnx_put_message(&wire, 13, &entry);
    (void)snprintf(text, sizeof text, "%lld", (long long)offset);
    onnx_put_text(&entry, 1, "offset");
    onnx_put_text(&entry, 2, text);
    onnx_put_message(&wire, 13, &entry);
    onnx_put_int(&wire, 14, 1);
    onnx_put_message(graph, ONNX_TENSOR, &wire);
}

/* y = first[i] + second[j] */
static void write_large_model(void) {
    onnx_wire_t graph = {0};
    char path[128];
    put_external(&graph, "first", FIRST_ROWS, 0);
    put_external(&graph, "second", SECOND_ROWS, FIRST_ROWS * ROW_BYTES);
    onnx_put_node(&graph, "Gather", "first i", "a", NULL);
    onnx_put_node(&graph, "Gather", "second j", "b", NULL);
    onnx_put_node(&graph, "Add", "a b", "y", NULL);
    onnx_put_value(&graph, ONNX_INPUT, "i", ONNX_INT64, "1");
    onnx_put_value(&graph, ONNX_INPUT, "j", ONNX_INT64, "1");
    onnx_put_value(&graph, ONNX_OUTPUT, "y", ONNX_FLOAT, NULL);
    onnx_wire_t model = onnx_model(&graph, 17);
    path_of("large.onnx", path);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(model.data, 1, model.size, file), model.size);
    assert_int_equal(fclose(file), 0);
    free(model.data);
}

/* A file of holes but for the last element of each tensor. False: there is no room for it. */
static bool write_weights(void) {
    const int64_t ends[2] = {FIRST_ROWS * ROW_BYTES, (FIRST_ROWS + SECOND_ROWS) * ROW_BYTES};
    char path[128];
    path_of("weights.bin", path);
    const int file = open(path, O_CREAT | O_RDWR, 0600);
    bool good = file >= 0 && ftruncate(file, (off_t)ends[1]) == 0;
    for (int i = 0; good && i < 2; ++i) {
        const float last = (float)(i + 1);
        good = pwrite(file, &last, sizeof last, (off_t)(ends[i] - (int64_t)sizeof last)) ==
               (ssize_t)sizeof last;
    }
    if (file >= 0) (void)close(file);
    return good;
}

/* KiB of a line of /proc/self/status; -1: there is none. */
static long status_kib(const char *line) {
    char text[256];
    long kib = -1;
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(text, sizeof text, file)) {
        if (strncmp(text, line, strlen(line)) == 0) kib = strtol(text + strlen(line) + 1, NULL, 10);
    }
    if (file) (void)fclose(file);
    return kib;
}

/* From now on VmHWM is the most that is held. */
static bool forget_peak(void) {
    FILE *file = fopen("/proc/self/clear_refs", "w");
    bool good = file && fputs("5", file) >= 0;
    if (file) good = fclose(file) == 0 && good;
    return good;
}

static void run_large(void) {
    gantry_onnx_model_t *model;
    const gantry_tensor_t *y = NULL;
    const int64_t last[2] = {FIRST_ROWS - 1, SECOND_ROWS - 1};
    static float row[COLUMNS];
    char path[128];
    path_of("large.onnx", path);
    if (gantry_onnx_model_load(onnx_runtime, path, NULL, &model) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    gantry_scope_t *scope = gantry_scope_begin(onnx_runtime, "/CPU:0");
    const gantry_tensor_t *inputs[2];
    for (int i = 0; i < 2; ++i) inputs[i] = onnx_of(scope, GANTRY_INT64, GANTRY_SHAPE(1), &last[i]);
    if (gantry_onnx_model_run(model, scope, inputs, 2, &y, 1) != GANTRY_OK)
        fail_msg("%s", gantry_scope_message(scope));
    assert_int_equal(gantry_tensor_read(y, row, sizeof row), GANTRY_OK);
    for (int64_t i = 0; i < COLUMNS; ++i) assert_true(row[i] == (i == COLUMNS - 1 ? 3 : 0));
    (void)gantry_scope_end(scope);
    gantry_onnx_model_release(model);
}

TEST(a_model_of_3_gib_stays_in_its_file) {
    char path[128];
    assert_non_null(mkdtemp(folder));
    const bool has_file = write_weights(), has_peak = has_file && forget_peak();
    const long before = status_kib("VmRSS");
    if (has_file && has_peak) {
        write_large_model();
        run_large();
        assert_in_range(status_kib("VmHWM") - before, 0, MOST_KIB);
    }
    path_of("weights.bin", path);
    (void)remove(path);
    path_of("large.onnx", path);
    (void)remove(path);
    (void)remove(folder);
    if (has_file && has_peak) return;
    print_message("SKIP: %s\n", has_file ? "the kernel has no /proc/self/clear_refs"
                                         : "/tmp has no room for a file of 3 GiB with holes");
    skip();
}

int main(void) { return test_main_with(onnx_open, onnx_close, NULL, NULL); }
