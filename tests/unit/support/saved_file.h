/* SPDX-License-Identifier: Apache-2.0 */
/* Files of saved functions in tests: a path of the process's own, and their bytes. Header only. */
#ifndef TESTS_SAVED_FILE_H
#define TESTS_SAVED_FILE_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <gantry/gantry.h>

typedef struct saved_file_t {
    char path[256];
    unsigned char *bytes;
    size_t size;
} saved_file_t;

static inline void saved_file_init(saved_file_t *file) {
    const char *folder = getenv("TMPDIR");
    (void)snprintf(file->path, sizeof file->path, "%s/gantry_saved_%ld.safetensors",
                   folder ? folder : "/tmp", (long)getpid());
    file->bytes = NULL;
    file->size = 0;
}

static inline void saved_file_read(saved_file_t *file) {
    FILE *stream = fopen(file->path, "rb");
    assert_non_null(stream);
    assert_int_equal(fseek(stream, 0, SEEK_END), 0);
    file->size = (size_t)ftell(stream);
    rewind(stream);
    free(file->bytes);
    file->bytes = malloc(file->size + 1);
    assert_non_null(file->bytes);
    assert_int_equal(fread(file->bytes, 1, file->size, stream), file->size);
    (void)fclose(stream);
}

static inline void saved_file_write(const saved_file_t *file, const void *bytes, size_t size) {
    FILE *stream = fopen(file->path, "wb");
    assert_non_null(stream);
    assert_int_equal(fwrite(bytes, 1, size, stream), size);
    assert_int_equal(fclose(stream), 0);
}

static inline void saved_file_deinit(saved_file_t *file) {
    (void)unlink(file->path);
    free(file->bytes);
}

/* The first place of some bytes in the file. */
static inline size_t saved_file_find(const saved_file_t *file, const void *bytes, size_t size) {
    for (size_t at = 0; at + size <= file->size; ++at) {
        if (memcmp(file->bytes + at, bytes, size) == 0) return at;
    }
    fail_msg("the file has no such bytes");
    return 0;
}

static inline gantry_function_t *saved_file_load(gantry_runtime_t *runtime,
                                                 const saved_file_t *file,
                                                 const gantry_function_load_options_t *options) {
    gantry_function_t *function;
    if (gantry_function_load(runtime, file->path, options, &function) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    return function;
}

static inline void saved_file_save(gantry_function_t *function, const saved_file_t *file) {
    if (gantry_function_save(function, file->path, NULL) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
}

#endif
