/* SPDX-License-Identifier: Apache-2.0 */
/* libFuzzer entry for saved functions: clang -fsanitize=fuzzer,address,undefined, with the
 * library's sources. The input is the bytes of a graph (saved_format.h), if it begins like one; or
 * a whole file. A function that loads gives its graph, is explained and is saved. Requests of
 * memory above 64 MiB fail. */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <gantry/gantry.h>

#define MOST_BYTES ((size_t)64 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void *reallocate(void *user, void *ptr, size_t old_bytes, size_t new_bytes) {
    (void)user;
    (void)old_bytes;
    if (new_bytes == 0) {
        free(ptr);
        return NULL;
    }
    return new_bytes > MOST_BYTES ? NULL : realloc(ptr, new_bytes);
}

static void quiet(void *user, gantry_log_level_t level, const char *text) {
    (void)user;
    (void)level;
    (void)text;
}

static gantry_runtime_t *open_runtime(void) {
    const gantry_runtime_options_t options = {.struct_size = sizeof options,
                                              .backends = "cpu",
                                              .cpu_threads = 1,
                                              .log = quiet,
                                              .reallocate = reallocate,
                                              .kernel_cache = ""};
    gantry_runtime_t *runtime;
    if (gantry_runtime_create(&options, &runtime) != GANTRY_OK) abort();
    return runtime;
}

/* A header for bytes of a graph whose weights are w, float32 [2, 2], and v, the same. */
static void put_file(int file, const uint8_t *bytes, size_t size) {
    char header[512];
    const float numbers[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    int length =
        snprintf(header + 8, sizeof header - 8,
                 "{\"__metadata__\":{\"format\":\"gantry_function\",\"gantry_format\":\"1\"},"
                 "\"v\":{\"dtype\":\"F32\",\"shape\":[2,2],\"data_offsets\":[0,16]},"
                 "\"w\":{\"dtype\":\"F32\",\"shape\":[2,2],\"data_offsets\":[16,32]},"
                 "\"gantry.graph\":{\"dtype\":\"U8\",\"shape\":[%zu],\"data_offsets\":[32,%zu]}}",
                 size, size + 32);
    const uint64_t count = (uint64_t)length;
    memcpy(header, &count, sizeof count);
    if (write(file, header, (size_t)length + 8) < 0 || write(file, numbers, sizeof numbers) < 0 ||
        write(file, bytes, size) < 0)
        abort();
}

static void look_at(gantry_function_t *function) {
    gantry_graph_t *graph;
    size_t needed;
    if (gantry_function_get_graph(function, &graph) == GANTRY_OK) gantry_graph_release(graph);
    (void)gantry_function_explain(function, GANTRY_EXPLAIN_TEXT, NULL, 0, &needed);
    (void)gantry_function_save(function, "/dev/null", NULL);
    gantry_function_release(function);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    static gantry_runtime_t *runtime;
    char path[64];
    gantry_function_t *function;
    if (!runtime) runtime = open_runtime();
    const int file = memfd_create("saved", 0);
    if (file < 0) abort();
    if (size >= 8 && memcmp(bytes, "GTRYGRPH", 8) == 0)
        put_file(file, bytes, size);
    else if (write(file, bytes, size) < 0)
        abort();
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    if (gantry_function_load(runtime, path, NULL, &function) == GANTRY_OK) look_at(function);
    (void)close(file);
    return 0;
}
