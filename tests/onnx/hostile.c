/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: An ONNX file that is not allowed, or that asks for too much, is refused by a text with
 * its path, with 64 MiB of addresses.
 * Promise: The memory and the steps of reading a model are bounded by its bytes.
 * Promise: External data are read from the model's folder only, and not through links.
 * Promise: A model of which bytes are cut off or changed is read or refused, and what is read holds
 * together.
 *
 *     hostile FOLDER [--changes N]
 *
 * FOLDER is one of hostile_files.py. N, 0 for none: of the bytes of each good file, each Nth is
 * changed. */
#define _DEFAULT_SOURCE

#include <stdbool.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "onnx/base/limits.h"
#include "onnx/graph/build.h"
#include "read_all.h"
#include "sanitized.h"

#define MOST_ADDRESSES ((rlim_t)64 << 20)
#define MOST_CHANGED_BYTES 8192

static size_t failures, files, changes;

static void complain(const char *name, const char *what, const char *text) {
    ++failures;
    (void)fprintf(stderr, "%s: %s: %s\n", name, what, text);
}

/* ---- one file ---- */

static void compare(const char *name, const char *path, gantry_status_t status, const char *wanted,
                    const char *text) {
    const char *message = gantry_last_message();
    if (strcmp(gantry_status_name(status), wanted) != 0)
        complain(name, gantry_status_name(status), message);
    else if (status != GANTRY_OK &&
             (!strstr(message, text) || strncmp(message, path, strlen(path))))
        complain(name, "the text", message);
}

static gantry_status_t read_one(const char *path, bool reads_file) {
    gantry__onnx_file_t *file;
    const gantry_status_t status = gantry__onnx_read_path(path, reads_file, false, &file);
    if (status == GANTRY_OK) read_all(file);
    gantry__onnx_file_release(file);
    return status;
}

/* The bytes of a file; the caller frees them. */
static uint8_t *slurp(const char *path, size_t *out_size) {
    FILE *file = fopen(path, "rb");
    if (!file || fseek(file, 0, SEEK_END) != 0) abort();
    *out_size = (size_t)ftell(file);
    rewind(file);
    uint8_t *bytes = malloc(*out_size + 1);
    if (!bytes || fread(bytes, 1, *out_size, file) != *out_size) abort();
    (void)fclose(file);
    return bytes;
}

/* Work counts whether the file is refused or not. */
static void check_work(const char *name, const char *path) {
    size_t size, count;
    uint8_t *bytes = slurp(path, &size);
    const gantry__onnx_graph_model_t *model;
    gantry__onnx_tensor_t **externals;
    gantry__onnx_reader_t reader;
    gantry__onnx_reader_init(&reader, path, bytes, size);
    (void)gantry__onnx_build_model(&reader, &model, &externals, &count);
    const uint64_t most = GANTRY__ONNX_WORK_MORE + GANTRY__ONNX_WORK_EACH * (uint64_t)size;
    if (reader.work > most + most / 4) complain(name, "too many steps", "");
    free(externals);
    gantry__onnx_reader_deinit(&reader);
    free(bytes);
}

/* ---- changes ---- */

static void read_bytes(const uint8_t *bytes, size_t size, const char *folder) {
    gantry__onnx_file_t *file;
    ++changes;
    if (gantry__onnx_read_bytes("changed", bytes, size, folder, false, &file) == GANTRY_OK)
        read_all(file);
    gantry__onnx_file_release(file);
}

/* A copy of the exact size, so that a sanitizer sees what reads beyond it. */
static void read_copy(const uint8_t *bytes, size_t size, const char *folder) {
    uint8_t *copy = malloc(size > 0 ? size : 1);
    if (!copy) abort();
    if (size > 0) memcpy(copy, bytes, size);
    read_bytes(copy, size, folder);
    free(copy);
}

static void change(const char *path, const char *folder, size_t step) {
    size_t size;
    uint8_t *bytes = slurp(path, &size);
    for (size_t i = 0; i < size && size <= MOST_CHANGED_BYTES; i += step) {
        const uint8_t before = bytes[i];
        read_copy(bytes, i, folder);
        for (int bit = 0; bit < 8; ++bit) {
            bytes[i] = (uint8_t)(before ^ 1u << bit);
            read_bytes(bytes, size, folder);
        }
        bytes[i] = 0xff;
        read_bytes(bytes, size, folder);
        bytes[i] = before;
    }
    free(bytes);
}

/* ---- all ---- */

static void check_line(const char *folder, char *line, size_t step) {
    const char *name = strtok(line, "\t\n"), *status = strtok(NULL, "\t\n");
    const char *text = strtok(NULL, "\n");
    char path[1024];
    (void)snprintf(path, sizeof path, "%s/%s.onnx", folder, name);
    ++files;
    compare(name, path, read_one(path, false), status, text ? text : "");
    compare(name, path, read_one(path, true), status, text ? text : "");
    check_work(name, path);
    if (step > 0 && strcmp(status, "OK") == 0) change(path, folder, step);
}

/* The program's addresses, and some more. */
static void limit_addresses(void) {
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%lu", &pages) != 1) abort();
    (void)fclose(file);
    const rlim_t most = (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE) + MOST_ADDRESSES;
    if (!IS_SANITIZED && setrlimit(RLIMIT_AS, &(struct rlimit){most, most}) != 0) abort();
}

int main(int count, char **arguments) {
    char path[1024], line[1024];
    const size_t step = count == 4 ? (size_t)strtoul(arguments[3], NULL, 10) : 1;
    if (count < 2) return 2;
    (void)snprintf(path, sizeof path, "%s/list.txt", arguments[1]);
    FILE *list = fopen(path, "r");
    if (!list) return 2;
    limit_addresses();
    while (fgets(line, sizeof line, list)) check_line(arguments[1], line, step);
    (void)fclose(list);
    (void)printf("%zu files, %zu changes of good ones, %zu wrong\n", files, changes, failures);
    return failures > 0 || files == 0;
}
