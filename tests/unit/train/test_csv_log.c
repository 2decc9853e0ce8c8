/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: gantry_csv_logger appends whole lines or none: beyond ulimit -f the training ends with
 * an error that names the file, not by a signal, and earlier lines stay. */
#define _XOPEN_SOURCE 700

#include <gantry_train/train.h>

#include <sys/resource.h>
#include <unistd.h>

#include "test.h"
#include "train_fixture.h"

static size_t read_all(const char *path, char *out, size_t room) {
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    const size_t bytes = fread(out, 1, room, file);
    (void)fclose(file);
    return bytes;
}

static gantry_model_t *make_model(void) {
    gantry_model_t *model = gantry_sequential(fixture.runtime, NULL);
    (void)gantry_model_add(model, gantry_dense(1, GANTRY_LINEAR, NULL));
    const gantry_compile_options_t options = {.struct_size = sizeof options,
                                              .optimizer = gantry_sgd(NULL),
                                              .loss = GANTRY_MEAN_SQUARED_ERROR};
    assert_int_equal(gantry_model_compile(model, &options), GANTRY_OK);
    return model;
}

TEST(limit_of_sizes_keeps_whole_lines) {
    static const float x[] = {1, 2, 3, 4}, y[] = {2, 4, 6, 8};
    static char before[1 << 12], after[1 << 12];
    const gantry_array_t arrays[] = {{GANTRY_FLOAT32, GANTRY_SHAPE(4, 1), x},
                                     {GANTRY_FLOAT32, GANTRY_SHAPE(4, 1), y}};
    char path[] = "/tmp/gantry_csv_XXXXXX";
    struct rlimit limit;
    (void)close(mkstemp(path));
    gantry_model_t *model = make_model();
    gantry_dataset_t *data =
        gantry_dataset_batch(gantry_dataset_from_arrays(arrays, 2, false), 2, false);
    gantry_callback_t *table = gantry_csv_logger(path);
    const gantry_callback_t *const callbacks[] = {table};
    const gantry_fit_options_t fit = {
        .struct_size = sizeof fit, .epochs = 2, .callbacks = callbacks, .callback_count = 1};
    if (gantry_model_fit(model, data, &fit) != GANTRY_OK) fail_msg("%s", gantry_last_message());
    const size_t bytes = read_all(path, before, sizeof before);
    assert_memory_equal(before, "epoch,loss", 10);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &(struct rlimit){bytes + 3, limit.rlim_max}), 0);
    const gantry_status_t status = gantry_model_fit(model, data, &fit);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    assert_int_equal(status, GANTRY_RESOURCE_EXHAUSTED);
    if (!strstr(gantry_last_message(), "gantry_csv_logger: cannot write '/tmp/gantry_csv_"))
        fail_msg("%s", gantry_last_message());
    assert_int_equal(read_all(path, after, sizeof after), bytes);
    assert_memory_equal(before, after, bytes);
    assert_int_equal(gantry_model_fit(model, data, &fit), GANTRY_OK);
    assert_true(read_all(path, after, sizeof after) > bytes);
    (void)unlink(path);
    gantry_callback_release(table);
    gantry_dataset_release(data);
    gantry_model_release(model);
}

int main(void) { return test_main_each(set_up, tear_down); }
