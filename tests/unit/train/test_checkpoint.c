/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Checkpoints have the bytes of Python's safetensors, variables are restored all or none,
 * and the old file stays whole when saving fails.
 * Promise: A save beyond ulimit -f is an error that keeps the old checkpoint, and what a killed
 * save left is removed by the next one. */
#define _XOPEN_SOURCE 700

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <gantry/gantry.h>
#include <gantry_train/checkpoint.h>

#include "golden_file.h"
#include "test.h"
#include "train_heap.h"
#include "train_system.h"

#define COUNT(list) (sizeof(list) / sizeof(list)[0])

typedef struct folder_t {
    gantry_runtime_t *runtime;
    gantry_scope_t *scope;
    char path[64];
    char file[80];
} folder_t;

static folder_t folder;

static int set_up(void **state) {
    (void)state;
    /* in memory, where that is possible: flushing to a disk takes most of the test's time */
    (void)snprintf(folder.path, sizeof folder.path, "%s/gantry_checkpoint_XXXXXX",
                   access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    if (!mkdtemp(folder.path)) return -1;
    (void)snprintf(folder.file, sizeof folder.file, "%s/model", folder.path);
    const gantry_runtime_options_t options = {.struct_size = sizeof options, .backends = "cpu"};
    assert_int_equal(gantry_runtime_create(&options, &folder.runtime), GANTRY_OK);
    folder.scope = gantry_scope_begin(folder.runtime, NULL);
    train_heap_reset(-1);
    return folder.scope ? 0 : -1;
}

static int files_in_folder(void) {
    DIR *directory = opendir(folder.path);
    int count = 0;
    assert_non_null(directory);
    for (struct dirent *entry; (entry = readdir(directory));) count += entry->d_name[0] != '.';
    (void)closedir(directory);
    return count;
}

static int tear_down(void **state) {
    (void)state;
    assert_int_equal(train_heap_live(), 0);
    (void)unlink(folder.file);
    (void)gantry_scope_end(folder.scope);
    gantry_runtime_release(folder.runtime);
    return rmdir(folder.path);
}

static void expect_text(const char *text, const char *part) {
    if (!strstr(text, part)) fail_msg("the message is '%s'; '%s' is expected in it", text, part);
}

static void expect_message(const char *part) { expect_text(gantry_last_message(), part); }

/* Files of Python's safetensors, of tests/golden/checkpoints.json. */
static golden_file_t python_files;
static const golden_tensor_t *every_type, *odd_names, *empty;

static int load_python_files(void **state) {
    (void)state;
    golden_file_open("checkpoints.json", &python_files);
    assert_int_equal(python_files.case_count, 3);
    every_type = &python_files.cases[0].outputs[0];
    odd_names = &python_files.cases[1].outputs[0];
    empty = &python_files.cases[2].outputs[0];
    return 0;
}

static int free_python_files(void **state) {
    (void)state;
    golden_free(&python_files);
    return 0;
}

static void expect_file(const void *bytes, size_t size) {
    static char content[65536];
    FILE *file = fopen(folder.file, "rb");
    assert_non_null(file);
    assert_int_equal(fread(content, 1, sizeof content, file), size);
    assert_int_equal(fclose(file), 0);
    assert_memory_equal(content, bytes, size);
}

static void write_bytes(const void *bytes, size_t size) {
    FILE *file = fopen(folder.file, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static gantry_checkpoint_t *open_file(void) {
    gantry_checkpoint_t *checkpoint;
    if (gantry_checkpoint_open(folder.file, &checkpoint) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    return checkpoint;
}

/* ---- Python's bytes ---- */

typedef struct type_row_t {
    gantry_dtype_t dtype;
    const char *name;
    const void *data;
} type_row_t;

/* The arrays of every_type() in tests/golden/make_checkpoint_cases.py: 3 elements from i on. */
static const type_row_t type_rows[] = {
    {GANTRY_BOOL, "layer/bool", (uint8_t[]){0, 1, 0}},
    {GANTRY_UINT8, "layer/uint8", (uint8_t[]){1, 2, 3}},
    {GANTRY_INT8, "layer/int8", (int8_t[]){2, 3, 4}},
    {GANTRY_INT16, "layer/int16", (int16_t[]){3, 4, 5}},
    {GANTRY_UINT16, "layer/uint16", (uint16_t[]){4, 5, 6}},
    {GANTRY_FLOAT16, "layer/float16", (uint16_t[]){0x4500, 0x4600, 0x4700}},
    {GANTRY_BFLOAT16, "layer/bfloat16", (uint16_t[]){0x40c0, 0x40e0, 0x4100}},
    {GANTRY_INT32, "layer/int32", (int32_t[]){7, 8, 9}},
    {GANTRY_UINT32, "layer/uint32", (uint32_t[]){8, 9, 10}},
    {GANTRY_FLOAT32, "layer/float32", (float[]){9, 10, 11}},
    {GANTRY_COMPLEX64, "layer/complex64", (float[]){10, 0, 11, 0, 12, 0}},
    {GANTRY_FLOAT64, "layer/float64", (double[]){11, 12, 13}},
    {GANTRY_INT64, "layer/int64", (int64_t[]){12, 13, 14}},
    {GANTRY_UINT64, "layer/uint64", (uint64_t[]){13, 14, 15}},
};

TEST(saved_bytes_are_those_of_python) {
    gantry_checkpoint_entry_t entries[COUNT(type_rows)] = {{NULL, NULL, NULL, {0}}};
    for (size_t i = 0; i < COUNT(type_rows); ++i) {
        entries[i].name = type_rows[i].name;
        entries[i].array = (gantry_array_t){type_rows[i].dtype, GANTRY_SHAPE(3), type_rows[i].data};
    }
    const gantry_checkpoint_text_t epoch = {"epoch", "3"};
    assert_int_equal(
        gantry_checkpoint_save(NULL, folder.file, entries, COUNT(type_rows), &epoch, 1), GANTRY_OK);
    expect_file(every_type->data, every_type->bytes);
    const gantry_checkpoint_text_t odd_text = {"k\xc3\xa9\t", "v\\\r\b\f\x1f/"};
    const gantry_checkpoint_entry_t odd[] = {
        {.name = "b", .array = {GANTRY_FLOAT32, GANTRY_SHAPE(0, 2), NULL}},
        {.name = "a\n\"\\\xc3\xa9\x01\xf0\x9f\x98\x80/",
         .array = {GANTRY_FLOAT32, GANTRY_SCALAR, &(float){1.5f}}}};
    assert_int_equal(gantry_checkpoint_save(NULL, folder.file, odd, 2, &odd_text, 1), GANTRY_OK);
    expect_file(odd_names->data, odd_names->bytes);
    assert_int_equal(gantry_checkpoint_save(NULL, folder.file, NULL, 0, NULL, 0), GANTRY_OK);
    expect_file(empty->data, empty->bytes);
    assert_int_equal(files_in_folder(), 1);
}

TEST(files_of_python_are_read) {
    write_bytes(every_type->data, every_type->bytes);
    gantry_checkpoint_t *checkpoint = open_file();
    assert_int_equal(gantry_checkpoint_count(checkpoint), COUNT(type_rows));
    assert_string_equal(gantry_checkpoint_name(checkpoint, 0), "layer/bfloat16");
    assert_string_equal(gantry_checkpoint_name(checkpoint, 13), "layer/uint8");
    assert_null(gantry_checkpoint_name(checkpoint, 14));
    assert_string_equal(gantry_checkpoint_text(checkpoint, "epoch"), "3");
    assert_string_equal(gantry_checkpoint_key(checkpoint, 0), "epoch");
    assert_null(gantry_checkpoint_text(checkpoint, "epochs"));
    assert_null(gantry_checkpoint_key(checkpoint, 1));
    for (size_t i = 0; i < COUNT(type_rows); ++i) {
        unsigned char bytes[24];
        const size_t size = 3 * gantry_dtype_size(type_rows[i].dtype);
        gantry_dtype_t dtype;
        gantry_shape_t shape;
        assert_int_equal(gantry_checkpoint_find(checkpoint, type_rows[i].name, &dtype, &shape),
                         GANTRY_OK);
        assert_int_equal(dtype, type_rows[i].dtype);
        assert_true(gantry_shape_equal(&shape, &GANTRY_SHAPE(3)));
        assert_int_equal(
            gantry_checkpoint_read(checkpoint, type_rows[i].name, dtype, &shape, bytes, size),
            GANTRY_OK);
        assert_memory_equal(bytes, type_rows[i].data, size);
    }
    float values[3];
    const gantry_tensor_t *tensor =
        gantry_checkpoint_load(folder.scope, checkpoint, "layer/float32");
    assert_int_equal(gantry_tensor_read(tensor, values, sizeof values), GANTRY_OK);
    assert_memory_equal(values, type_rows[9].data, sizeof values);
    gantry_checkpoint_release(checkpoint);
    write_bytes(odd_names->data, odd_names->bytes);
    checkpoint = open_file();
    assert_string_equal(gantry_checkpoint_name(checkpoint, 0),
                        "a\n\"\\\xc3\xa9\x01\xf0\x9f\x98\x80/");
    assert_string_equal(gantry_checkpoint_text(checkpoint, "k\xc3\xa9\t"), "v\\\r\b\f\x1f/");
    gantry_checkpoint_release(checkpoint);
}

TEST(bools_of_a_file_become_0_or_1) {
    static const char file[] =
        "\x38\0\0\0\0\0\0\0"
        "{\"w\":{\"dtype\":\"BOOL\",\"shape\":[2],\"data_offsets\":[0,2]}} "
        "\x02";
    write_bytes(file, sizeof file); /* the terminator is the second element */
    gantry_checkpoint_t *checkpoint = open_file();
    unsigned char bytes[2];
    assert_int_equal(
        gantry_checkpoint_read(checkpoint, "w", GANTRY_BOOL, &GANTRY_SHAPE(2), bytes, 2),
        GANTRY_OK);
    assert_int_equal(bytes[0], 1);
    assert_int_equal(bytes[1], 0);
    gantry_checkpoint_release(checkpoint);
}

/* ---- variables ---- */

static gantry_variable_t *make_variable(float first, float second) {
    const gantry_tensor_t *value = gantry_constant(folder.scope, GANTRY_FLOAT32, GANTRY_SHAPE(2),
                                                   (float[]){first, second}, 2 * sizeof(float));
    gantry_variable_t *variable = gantry_variable_create(folder.scope, value, "w");
    assert_non_null(variable);
    return variable;
}

static void assign_variable(gantry_variable_t *variable, float first, float second) {
    const gantry_tensor_t *value = gantry_constant(folder.scope, GANTRY_FLOAT32, GANTRY_SHAPE(2),
                                                   (float[]){first, second}, 2 * sizeof(float));
    assert_int_equal(gantry_variable_assign(folder.scope, variable, value), GANTRY_OK);
}

static void expect_variable(gantry_variable_t *variable, float first, float second) {
    float values[2];
    const gantry_tensor_t *value = gantry_variable_read(folder.scope, variable);
    assert_int_equal(gantry_tensor_read(value, values, sizeof values), GANTRY_OK);
    assert_true(values[0] == first && values[1] == second);
}

TEST(variables_and_tensors_are_saved_and_restored) {
    gantry_variable_t *a = make_variable(1, 2), *b = make_variable(3, 4);
    const gantry_tensor_t *step = gantry_scalar_i64(folder.scope, 77);
    const gantry_checkpoint_entry_t entries[] = {
        {.name = "b", .variable = b}, {.name = "a", .variable = a}, {.name = "s", .tensor = step}};
    assert_int_equal(gantry_checkpoint_save(folder.scope, folder.file, entries, 3, NULL, 0),
                     GANTRY_OK);
    assign_variable(a, 0, 0);
    assign_variable(b, 0, 0);
    gantry_checkpoint_t *checkpoint = open_file();
    assert_int_equal(gantry_checkpoint_restore(folder.scope, checkpoint, entries, 2), GANTRY_OK);
    expect_variable(a, 1, 2);
    expect_variable(b, 3, 4);
    int64_t number;
    assert_int_equal(gantry_checkpoint_read(checkpoint, "s", GANTRY_INT64, &GANTRY_SCALAR, &number,
                                            sizeof number),
                     GANTRY_OK);
    assert_int_equal(number, 77);
    assert_int_equal(gantry_checkpoint_restore(folder.scope, checkpoint, NULL, 0), GANTRY_OK);
    gantry_checkpoint_release(checkpoint);
    gantry_variable_release(a);
    gantry_variable_release(b);
}

TEST(mismatched_checkpoints_change_no_variable) {
    gantry_variable_t *a = make_variable(1, 2), *b = make_variable(3, 4);
    float data[6] = {0};
    const gantry_checkpoint_entry_t saved[] = {
        {.name = "a", .array = {GANTRY_FLOAT32, GANTRY_SHAPE(2), data}},
        {.name = "b", .array = {GANTRY_FLOAT32, GANTRY_SHAPE(3), data}},
        {.name = "i", .array = {GANTRY_INT32, GANTRY_SHAPE(2), data}}};
    assert_int_equal(gantry_checkpoint_save(NULL, folder.file, saved, 3, NULL, 0), GANTRY_OK);
    gantry_checkpoint_t *checkpoint = open_file();
    const struct {
        gantry_checkpoint_entry_t second;
        gantry_status_t status;
        const char *message;
    } rows[] = {
        {{.name = "b", .variable = b}, GANTRY_INVALID_ARGUMENT, "is float32 [3]; float32 [2] is"},
        {{.name = "i", .variable = b}, GANTRY_INVALID_ARGUMENT, "is int32 [2]; float32 [2] is"},
        {{.name = "c", .variable = b},
         GANTRY_NOT_FOUND,
         "has no tensor 'c'; it has 3: 'a', 'b', 'i'"},
        {{.name = NULL, .variable = b}, GANTRY_INVALID_ARGUMENT, "the name is NULL"},
        {{.name = "b"}, GANTRY_INVALID_ARGUMENT, "the variable of entry 1, 'b', is NULL"},
    };
    for (size_t i = 0; i < COUNT(rows); ++i) {
        const gantry_checkpoint_entry_t entries[] = {{.name = "a", .variable = a}, rows[i].second};
        assert_int_equal(gantry_checkpoint_restore(folder.scope, checkpoint, entries, 2),
                         rows[i].status);
        assert_int_equal(gantry_scope_status(folder.scope), rows[i].status);
        expect_text(gantry_scope_message(folder.scope), rows[i].message);
        gantry_scope_clear(folder.scope);
    }
    /* the file is cut behind the header while it is open: nothing is assigned either */
    struct stat info;
    assert_int_equal(stat(folder.file, &info), 0);
    assert_int_equal(truncate(folder.file, info.st_size - 21), 0);
    const gantry_checkpoint_entry_t first[] = {{.name = "a", .variable = a},
                                               {.name = "a", .variable = b}};
    const gantry_status_t status = gantry_checkpoint_restore(folder.scope, checkpoint, first, 2);
    assert_int_equal(status, GANTRY_DATA_LOSS);
    expect_text(gantry_scope_message(folder.scope), "bytes too early");
    gantry_scope_clear(folder.scope);
    expect_variable(a, 1, 2);
    expect_variable(b, 3, 4);
    gantry_checkpoint_release(checkpoint);
    gantry_variable_release(a);
    gantry_variable_release(b);
}

/* ---- bad input ---- */

TEST(wrong_entries_are_refused_before_a_file_is_made) {
    float number = 1;
    gantry_variable_t *variable = make_variable(1, 2);
    const gantry_array_t array = {GANTRY_FLOAT32, GANTRY_SCALAR, &number};
    const struct {
        gantry_checkpoint_entry_t entry;
        const char *message;
    } rows[] = {
        {{.name = NULL, .array = array}, "the name of entry 1 is NULL"},
        {{.name = "", .array = array}, "the name of entry 1 is ''"},
        {{.name = "__metadata__", .array = array}, "is '__metadata__'"},
        {{.name = "\xff", .array = array}, "the name of entry 1 is no UTF-8"},
        {{.name = "ok", .array = array}, "two tensors have the name 'ok'"},
        {{.name = "x"}, "entry 'x' has 0 of variable, tensor and array"},
        {{.name = "x", .variable = variable, .array = array}, "entry 'x' has 2 of variable"},
        {{.name = "x", .array = {GANTRY_FLOAT32, GANTRY_SHAPE(2), NULL}},
         "the data of entry 'x' is NULL"},
        {{.name = "x", .array = {GANTRY_FLOAT32, GANTRY_SHAPE(-2), &number}},
         "the array of entry 'x' is float32 [-2]"},
        {{.name = "x", .array = {(gantry_dtype_t)99, GANTRY_SHAPE(2), &number}}, "is invalid [2]"},
    };
    for (size_t i = 0; i < COUNT(rows); ++i) {
        const gantry_checkpoint_entry_t entries[] = {{.name = "ok", .array = array}, rows[i].entry};
        assert_int_equal(gantry_checkpoint_save(folder.scope, folder.file, entries, 2, NULL, 0),
                         GANTRY_INVALID_ARGUMENT);
        expect_text(gantry_scope_message(folder.scope), rows[i].message);
        gantry_scope_clear(folder.scope);
        assert_int_equal(files_in_folder(), 0);
    }
    const gantry_checkpoint_entry_t unread = {.name = "x", .variable = variable};
    assert_int_equal(gantry_checkpoint_save(NULL, folder.file, &unread, 1, NULL, 0),
                     GANTRY_INVALID_ARGUMENT);
    expect_message("a scope is needed to read the variable of entry 'x'");
    gantry_variable_release(variable);
}

TEST(wrong_texts_and_paths_are_refused) {
    const gantry_checkpoint_text_t no_value = {"k", NULL}, no_key = {NULL, "v"},
                                   bad = {"k", "\xed\xa0\x80"}, twice[] = {{"k", "1"}, {"k", "2"}};
#define SAVE(path, texts, count) gantry_checkpoint_save(NULL, path, NULL, 0, texts, count)
    assert_int_equal(SAVE(folder.file, &no_value, 1), GANTRY_INVALID_ARGUMENT);
    expect_message("the value of text 0 is NULL");
    assert_int_equal(SAVE(folder.file, &no_key, 1), GANTRY_INVALID_ARGUMENT);
    expect_message("the key of text 0 is NULL");
    assert_int_equal(SAVE(folder.file, &bad, 1), GANTRY_INVALID_ARGUMENT);
    expect_message("the value of text 0 is no UTF-8");
    assert_int_equal(SAVE(folder.file, twice, 2), GANTRY_INVALID_ARGUMENT);
    expect_message("two texts have the key 'k'");
    assert_int_equal(SAVE(folder.file, NULL, 2), GANTRY_INVALID_ARGUMENT);
    expect_message("2 texts are given at NULL");
    assert_int_equal(gantry_checkpoint_save(NULL, folder.file, NULL, 3, NULL, 0),
                     GANTRY_INVALID_ARGUMENT);
    expect_message("3 entries are given at NULL");
    assert_int_equal(SAVE(NULL, NULL, 0), GANTRY_INVALID_ARGUMENT);
    expect_message("the path is NULL");
    assert_int_equal(SAVE("", NULL, 0), GANTRY_INVALID_ARGUMENT);
    expect_message("the path is empty");
    assert_int_equal(SAVE(folder.path, NULL, 0), GANTRY_INVALID_ARGUMENT);
    expect_message("it is a directory; a plain file is accepted");
    assert_int_equal(SAVE("/dev/null", NULL, 0), GANTRY_INVALID_ARGUMENT);
    expect_message("it is a device");
    assert_int_equal(SAVE("/tmp/no/such/folder/model", NULL, 0), GANTRY_NOT_FOUND);
    expect_message("cannot save the checkpoint: cannot write '/tmp/no/such/folder/model': ");
#undef SAVE
    char longer[5000];
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    assert_int_equal(gantry_checkpoint_save(NULL, longer, NULL, 0, NULL, 0),
                     GANTRY_INVALID_ARGUMENT);
    assert_int_equal(files_in_folder(), 0);
}

TEST(damaged_files_are_refused_with_their_path) {
    gantry_checkpoint_t *checkpoint = NULL;
    unsigned char changed[4096];
    const unsigned char *bytes = every_type->data;
    assert_true(every_type->bytes < sizeof changed);
    for (size_t size = 0; size < every_type->bytes; ++size) {
        write_bytes(bytes, size);
        const gantry_status_t status = gantry_checkpoint_open(folder.file, &checkpoint);
        assert_null(checkpoint);
        assert_int_equal(status, size < 8 ? GANTRY_INVALID_ARGUMENT : GANTRY_DATA_LOSS);
        expect_message(folder.file);
        expect_message(size < 8 ? "at least 8 are accepted" : "the file is truncated");
    }
    memcpy(changed, bytes, every_type->bytes);
    changed[every_type->bytes] = 0;
    write_bytes(changed, every_type->bytes + 1);
    assert_int_equal(gantry_checkpoint_open(folder.file, &checkpoint), GANTRY_DATA_LOSS);
    expect_message("1 bytes follow the last tensor");
    changed[5] = 1; /* a length of 2^40 */
    write_bytes(changed, every_type->bytes);
    assert_int_equal(gantry_checkpoint_open(folder.file, &checkpoint), GANTRY_INVALID_ARGUMENT);
    expect_message("it is no safetensors file");
    assert_int_equal(unlink(folder.file), 0);
    assert_int_equal(gantry_checkpoint_open(folder.file, &checkpoint), GANTRY_NOT_FOUND);
    assert_int_equal(gantry_checkpoint_open(folder.path, &checkpoint), GANTRY_INVALID_ARGUMENT);
    expect_message("it is a directory");
    assert_int_equal(gantry_checkpoint_open("/dev/zero", &checkpoint), GANTRY_INVALID_ARGUMENT);
    assert_int_equal(mkfifo(folder.file, 0600), 0);
    assert_int_equal(gantry_checkpoint_open(folder.file, &checkpoint), GANTRY_INVALID_ARGUMENT);
    expect_message("it is a pipe");
    assert_int_equal(gantry_checkpoint_save(NULL, folder.file, NULL, 0, NULL, 0),
                     GANTRY_INVALID_ARGUMENT);
    assert_int_equal(gantry_checkpoint_open(NULL, &checkpoint), GANTRY_INVALID_ARGUMENT);
    assert_int_equal(gantry_checkpoint_open(folder.file, NULL), GANTRY_INVALID_ARGUMENT);
}

TEST(reads_expect_type_shape_and_size) {
    write_bytes(every_type->data, every_type->bytes);
    gantry_checkpoint_t *checkpoint = open_file();
    float values[3];
    gantry_dtype_t dtype;
    gantry_shape_t shape;
    const gantry_shape_t three = GANTRY_SHAPE(3), row = GANTRY_SHAPE(1, 3);
#define READ(name, dtype, shape, out, bytes) \
    gantry_checkpoint_read(checkpoint, name, dtype, shape, out, bytes)
    assert_int_equal(READ("layer/float32", GANTRY_INT32, &three, values, 12),
                     GANTRY_INVALID_ARGUMENT);
    expect_message("is float32 [3]; int32 [3] is accepted here");
    assert_int_equal(READ("layer/float32", GANTRY_FLOAT32, &row, values, 12),
                     GANTRY_INVALID_ARGUMENT);
    assert_int_equal(READ("layer/float32", GANTRY_FLOAT32, NULL, values, 12),
                     GANTRY_INVALID_ARGUMENT);
    assert_int_equal(READ("layer/float32", GANTRY_FLOAT32, &three, values, 8),
                     GANTRY_INVALID_ARGUMENT);
    expect_message("out_bytes is 8; tensor 'layer/float32' has 12 bytes");
    assert_int_equal(READ("layer/float32", GANTRY_FLOAT32, &three, NULL, 12),
                     GANTRY_INVALID_ARGUMENT);
    assert_int_equal(READ("layer/none", GANTRY_FLOAT32, &three, values, 12), GANTRY_NOT_FOUND);
    expect_message("it has 14: 'layer/bfloat16', 'layer/bool'");
    expect_message(", ...");
    assert_int_equal(READ(NULL, GANTRY_FLOAT32, &three, values, 12), GANTRY_INVALID_ARGUMENT);
#undef READ
    assert_int_equal(gantry_checkpoint_read(NULL, "w", GANTRY_FLOAT32, &three, values, 12),
                     GANTRY_INVALID_ARGUMENT);
    assert_int_equal(gantry_checkpoint_find(checkpoint, "w", NULL, &shape),
                     GANTRY_INVALID_ARGUMENT);
    assert_int_equal(gantry_checkpoint_find(checkpoint, "w", &dtype, NULL),
                     GANTRY_INVALID_ARGUMENT);
    assert_null(gantry_checkpoint_load(NULL, checkpoint, "layer/float32"));
    assert_null(gantry_checkpoint_load(folder.scope, checkpoint, "none"));
    assert_int_equal(gantry_scope_status(folder.scope), GANTRY_NOT_FOUND);
    gantry_scope_clear(folder.scope);
    assert_int_equal(gantry_checkpoint_restore(folder.scope, NULL, NULL, 0),
                     GANTRY_INVALID_ARGUMENT);
    gantry_scope_clear(folder.scope);
    assert_int_equal(gantry_checkpoint_restore(NULL, checkpoint, NULL, 0), GANTRY_INVALID_ARGUMENT);
    assert_int_equal(gantry_checkpoint_count(NULL), 0);
    assert_null(gantry_checkpoint_name(NULL, 0));
    assert_null(gantry_checkpoint_text(NULL, "k"));
    assert_null(gantry_checkpoint_text(checkpoint, NULL));
    gantry_checkpoint_release(checkpoint);
    gantry_checkpoint_release(NULL);
}

/* ---- saving that fails ---- */

TEST(a_disk_that_fails_to_flush_leaves_the_old_checkpoint) {
    write_bytes(every_type->data, every_type->bytes);
    train_flush_error = EIO;
    assert_int_equal(gantry_checkpoint_save(NULL, folder.file, NULL, 0, NULL, 0), GANTRY_DATA_LOSS);
    train_flush_error = 0;
    expect_message("cannot save the checkpoint: cannot write '");
    expect_file(every_type->data, every_type->bytes);
    assert_int_equal(files_in_folder(), 1);
    train_flushes = 0;
    assert_int_equal(gantry_checkpoint_save(NULL, folder.file, NULL, 0, NULL, 0), GANTRY_OK);
    assert_int_equal(train_flushes, 2); /* the file and its folder */
}

/* A disk that is full after `bytes`: the limit of this process's files, whose signal would end the
 * process. */
static gantry_status_t save_within(rlim_t bytes, const gantry_checkpoint_entry_t *entry) {
    struct rlimit before;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &(struct rlimit){bytes, before.rlim_max}), 0);
    const gantry_status_t status =
        gantry_checkpoint_save(folder.scope, folder.file, entry, 1, NULL, 0);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    return status;
}

TEST(a_full_disk_leaves_the_old_checkpoint_whole) {
    static float data[4096];
    const gantry_checkpoint_entry_t entry = {.name = "w",
                                             .array = {GANTRY_FLOAT32, GANTRY_SHAPE(4096), data}};
    write_bytes(every_type->data, every_type->bytes);
    static const rlim_t limits[] = {0, 1, 8, 100, 4096, 16383, 16384};
    for (size_t i = 0; i < COUNT(limits); ++i) {
        assert_int_equal(save_within(limits[i], &entry), GANTRY_RESOURCE_EXHAUSTED);
        expect_text(gantry_scope_message(folder.scope),
                    "cannot save the checkpoint: cannot write '");
        expect_text(gantry_scope_message(folder.scope), folder.file);
        gantry_scope_clear(folder.scope);
        expect_file(every_type->data, every_type->bytes);
        assert_int_equal(files_in_folder(), 1);
    }
    assert_int_equal(save_within(20000, &entry), GANTRY_OK);
    gantry_checkpoint_release(open_file());
    assert_int_equal(files_in_folder(), 1);
}

TEST(a_symbolic_link_stays_and_its_target_is_replaced) {
    char link_path[96];
    (void)snprintf(link_path, sizeof link_path, "%s/link", folder.path);
    write_bytes(empty->data, empty->bytes);
    assert_int_equal(symlink(folder.file, link_path), 0);
    const gantry_checkpoint_entry_t entry = {.name = "w",
                                             .array = {GANTRY_FLOAT32, GANTRY_SCALAR, &(float){1}}};
    assert_int_equal(gantry_checkpoint_save(NULL, link_path, &entry, 1, NULL, 0), GANTRY_OK);
    struct stat info;
    assert_int_equal(lstat(link_path, &info), 0);
    assert_true(S_ISLNK(info.st_mode));
    gantry_checkpoint_t *checkpoint = open_file();
    assert_int_equal(gantry_checkpoint_count(checkpoint), 1);
    gantry_checkpoint_release(checkpoint);
    assert_int_equal(unlink(link_path), 0);
}

/* A temporary file that a crash left does not stand in the way, and is removed. */
TEST(a_left_temporary_file_is_removed) {
    char left[112];
    (void)snprintf(left, sizeof left, "%s.00000000.tmp", folder.file);
    FILE *file = fopen(left, "wb");
    assert_non_null(file);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(gantry_checkpoint_save(NULL, folder.file, NULL, 0, NULL, 0), GANTRY_OK);
    expect_file(empty->data, empty->bytes);
    assert_int_equal(files_in_folder(), 1);
}

TEST(the_longest_name_is_saved) {
    char path[400], name[256];
    memset(name, 'n', sizeof name - 1);
    name[255] = '\0';
    const char *slash = strrchr(folder.file, '/');
    (void)snprintf(path, sizeof path, "%.*s/%s", (int)(slash - folder.file), folder.file, name);
    if (gantry_checkpoint_save(NULL, path, NULL, 0, NULL, 0) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    assert_int_equal(unlink(path), 0);
}

static float large[1 << 18];

static gantry_status_t save_large(void) {
    const gantry_checkpoint_entry_t entry = {
        .name = "w", .array = {GANTRY_FLOAT32, GANTRY_SHAPE(COUNT(large)), large}};
    return gantry_checkpoint_save(NULL, folder.file, &entry, 1, NULL, 0);
}

static void *save_often(void *argument) {
    gantry_status_t *status = argument;
    for (int i = 0; i < 10 && *status == GANTRY_OK; ++i) *status = save_large();
    return NULL;
}

TEST(threads_that_save_to_one_path_leave_a_whole_file) {
    pthread_t threads[4];
    gantry_status_t statuses[4] = {GANTRY_OK};
    for (int i = 0; i < 4; ++i)
        assert_int_equal(pthread_create(&threads[i], NULL, save_often, &statuses[i]), 0);
    for (int i = 0; i < 4; ++i) assert_int_equal(pthread_join(threads[i], NULL), 0);
    for (int i = 0; i < 4; ++i) assert_int_equal(statuses[i], GANTRY_OK);
    gantry_checkpoint_release(open_file());
    assert_int_equal(files_in_folder(), 1);
}

/* A process that saves without end is killed, each time a little later; the next save removes what
 * it left. */
TEST(a_killed_process_leaves_a_whole_file) {
    assert_int_equal(save_large(), GANTRY_OK);
    for (long i = 0; i < 12; ++i) {
        const pid_t child = fork();
        if (child == 0) {
            for (;;) (void)save_large();
        }
        assert_true(child > 0);
        (void)nanosleep(&(struct timespec){.tv_nsec = 1000000 + 317000 * i}, NULL);
        assert_int_equal(kill(child, SIGKILL), 0);
        assert_int_equal(waitpid(child, NULL, 0), child);
        gantry_checkpoint_release(open_file());
        assert_int_equal(save_large(), GANTRY_OK); /* removes what the child left */
        assert_int_equal(files_in_folder(), 1);
    }
}

TEST(failing_allocations_leave_the_old_checkpoint) {
    gantry_variable_t *variable = make_variable(1, 2);
    const gantry_checkpoint_entry_t entries[] = {
        {.name = "w", .variable = variable},
        {.name = "v", .array = {GANTRY_FLOAT32, GANTRY_SCALAR, &(float){1}}}};
    write_bytes(every_type->data, every_type->bytes);
    long fail_at = 0;
    for (;; ++fail_at) {
        train_heap_reset(fail_at);
        const gantry_status_t status =
            gantry_checkpoint_save(folder.scope, folder.file, entries, 2, NULL, 0);
        assert_int_equal(train_heap_live(), 0);
        assert_int_equal(files_in_folder(), 1);
        if (status == GANTRY_OK) break;
        assert_int_equal(status, GANTRY_RESOURCE_EXHAUSTED);
        gantry_scope_clear(folder.scope);
        expect_file(every_type->data, every_type->bytes);
    }
    assert_true(fail_at >= 5);
    for (fail_at = 0;; ++fail_at) {
        gantry_checkpoint_t *checkpoint;
        train_heap_reset(fail_at);
        gantry_status_t status = gantry_checkpoint_open(folder.file, &checkpoint);
        if (status == GANTRY_OK)
            status = gantry_checkpoint_restore(folder.scope, checkpoint, entries, 1);
        gantry_checkpoint_release(checkpoint);
        gantry_scope_clear(folder.scope);
        assert_int_equal(train_heap_live(), 0);
        if (status == GANTRY_OK) break;
        assert_int_equal(status, GANTRY_RESOURCE_EXHAUSTED);
    }
    assert_true(fail_at >= 6);
    train_heap_reset(-1);
    gantry_variable_release(variable);
}

TEST(a_failed_scope_saves_nothing) {
    (void)gantry_scope_fail(folder.scope, GANTRY_ABORTED, "given up");
    assert_int_equal(gantry_checkpoint_save(folder.scope, folder.file, NULL, 0, NULL, 0),
                     GANTRY_ABORTED);
    assert_int_equal(files_in_folder(), 0);
    gantry_scope_clear(folder.scope);
}

int main(void) { return test_main_with(load_python_files, free_python_files, set_up, tear_down); }
