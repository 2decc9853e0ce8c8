/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Public calls write, list and remove records of the tuning file, and backends read them
 * through a host service. */
#define _XOPEN_SOURCE 700

#include "runtime_fixture.h"
#include "test.h"

#include <unistd.h>

#include "backend/tuning_key.h"

static char path[] = "/tmp/gantry_tuning_api_XXXXXX";
static char setting[64];

static void open_with_file(runtime_fixture_t *f) {
    fake->set_device_count(1);
    gantry_runtime_options_t options = runtime_fixture_options(f);
    const char *const extra[] = {setting, NULL};
    options.extra = extra;
    runtime_fixture_open_with(f, &options);
}

static const gantry_physical_device_t *device_of(const runtime_fixture_t *f, const char *type) {
    const gantry_physical_device_t *device = NULL;
    size_t count;
    assert_int_equal(gantry_list_physical_devices(f->runtime, type, 1, &device, &count), GANTRY_OK);
    assert_non_null(device);
    return device;
}

static int make_file(void **state) {
    (void)runtime_fixture_set_up(state);
    strcpy(path, "/tmp/gantry_tuning_api_XXXXXX");
    int file = mkstemp(path);
    (void)snprintf(setting, sizeof setting, "GANTRY_TUNING_FILE=%s", path);
    return file < 0 ? -1 : close(file);
}

static int remove_file(void **state) {
    char lock[80];
    (void)snprintf(lock, sizeof lock, "%s.lock", path);
    (void)unlink(lock);
    (void)unlink(path);
    return runtime_fixture_tear_down(state);
}

static bool keep_record(void *user, const gantry_tuning_record_t *record) {
    char(*texts)[1024] = user;
    assert_int_equal(record->struct_size, sizeof *record);
    (void)snprintf(*texts + strlen(*texts), sizeof *texts - strlen(*texts), "%s=%s;", record->what,
                   record->values);
    return strcmp(record->what, "last") != 0;
}

static void expect_records(const runtime_fixture_t *f, const char *wanted) {
    char texts[1024] = "";
    assert_int_equal(gantry_list_tuning(f->runtime, keep_record, &texts), GANTRY_OK);
    assert_string_equal(texts, wanted);
}

TEST(records_are_put_listed_and_removed) {
    runtime_fixture_t f;
    const char *file;
    size_t removed;
    open_with_file(&f);
    const gantry_physical_device_t *cpu = device_of(&f, "CPU"), *gpu = device_of(&f, "GPU");
    assert_int_equal(gantry_get_tuning_file(f.runtime, &file), GANTRY_OK);
    assert_string_equal(file, path);
    expect_records(&f, "");
    assert_int_equal(gantry_put_tuning(f.runtime, cpu, "a.x", "1"), GANTRY_OK);
    assert_int_equal(gantry_put_tuning(f.runtime, gpu, "a.x", "2"), GANTRY_OK);
    assert_int_equal(gantry_put_tuning(f.runtime, cpu, "last", "3"), GANTRY_OK);
    assert_int_equal(gantry_put_tuning(f.runtime, gpu, "b", "4"), GANTRY_OK);
    expect_records(&f, "a.x=1;a.x=2;last=3;"); /* the visitor stopped there */
    assert_int_equal(gantry_remove_tuning(f.runtime, cpu, "l", &removed), GANTRY_OK);
    assert_int_equal(removed, 1);
    assert_int_equal(gantry_remove_tuning(f.runtime, gpu, NULL, NULL), GANTRY_OK);
    expect_records(&f, "a.x=1;");
    assert_int_equal(gantry_remove_tuning(f.runtime, NULL, NULL, &removed), GANTRY_OK);
    assert_int_equal(removed, 1);
    expect_records(&f, "");
    runtime_fixture_close(&f);
}

TEST(name_says_what_decides_speed) {
    runtime_fixture_t f;
    char name[256], small[4];
    size_t needed = 0;
    open_with_file(&f);
    const gantry_physical_device_t *cpu = device_of(&f, "CPU");
    assert_int_equal(gantry_get_tuning_name(f.runtime, cpu, name, sizeof name, &needed), GANTRY_OK);
    assert_non_null(strstr(name, "; Host 1; "));
    assert_non_null(strstr(name, " units; "));
    assert_int_equal(needed, strlen(name));
    assert_int_equal(gantry_get_tuning_name(f.runtime, cpu, small, sizeof small, NULL), GANTRY_OK);
    assert_int_equal(strlen(small), sizeof small - 1);
    assert_memory_equal(small, name, sizeof small - 1);
    assert_int_equal(gantry_get_tuning_name(f.runtime, cpu, NULL, 0, &needed), GANTRY_OK);
    assert_int_equal(needed, strlen(name));
    runtime_fixture_close(&f);
    const gantry_device_info_t odd = {
        .struct_size = sizeof odd, .hardware_name = "a\tcard\n", .compute_units = 3};
    gantry__tuning_key(&odd, name);
    assert_string_equal(name, "a card ;  ; 3 units; 0 lanes");
}

TEST(wrong_arguments_are_refused) {
    runtime_fixture_t f;
    char name[256];
    open_with_file(&f);
    const gantry_physical_device_t *cpu = device_of(&f, "CPU");
    assert_int_equal(gantry_get_tuning_file(f.runtime, NULL), GANTRY_INVALID_ARGUMENT);
    assert_int_equal(gantry_get_tuning_name(f.runtime, cpu, NULL, 256, NULL),
                     GANTRY_INVALID_ARGUMENT);
    assert_int_equal(gantry_get_tuning_name(f.runtime, NULL, name, 256, NULL),
                     GANTRY_INVALID_ARGUMENT);
    assert_int_equal(gantry_list_tuning(f.runtime, NULL, NULL), GANTRY_INVALID_ARGUMENT);
    assert_int_equal(gantry_put_tuning(f.runtime, cpu, NULL, "1"), GANTRY_INVALID_ARGUMENT);
    assert_int_equal(gantry_put_tuning(f.runtime, cpu, "a", NULL), GANTRY_INVALID_ARGUMENT);
    assert_int_equal(gantry_put_tuning(f.runtime, NULL, "a", "1"), GANTRY_INVALID_ARGUMENT);
    assert_int_equal(gantry_put_tuning(f.runtime, cpu, "A", "1"), GANTRY_INVALID_ARGUMENT);
    assert_int_equal(gantry_list_tuning(NULL, keep_record, NULL), GANTRY_INVALID_ARGUMENT);
    runtime_fixture_close(&f);
}

TEST(without_a_file_calls_say_why) {
    runtime_fixture_t f;
    const char *file = "something";
    runtime_fixture_open(&f, 0);
    assert_int_equal(gantry_get_tuning_file(f.runtime, &file), GANTRY_FAILED_PRECONDITION);
    assert_null(file);
    assert_non_null(strstr(gantry_last_message(), "GANTRY_TUNING_FILE is empty"));
    assert_int_equal(gantry_put_tuning(f.runtime, device_of(&f, "CPU"), "a", "1"),
                     GANTRY_FAILED_PRECONDITION);
    expect_records(&f, "");
    runtime_fixture_close(&f);
}

TEST(host_service_finds_the_devices_record) {
    runtime_fixture_t f;
    open_with_file(&f);
    const gantry_physical_device_t *cpu = device_of(&f, "CPU");
    const gantry_host_t *host = &f.runtime->backends.host;
    assert_int_equal(gantry_put_tuning(f.runtime, cpu, "a.x", "n=1"), GANTRY_OK);
    gantry_tuning_t record = {.struct_size = sizeof record};
    assert_int_equal(host->tuning(host->self, &cpu->info, "a.x", &record), 1);
    assert_string_equal(record.values, "n=1");
    assert_string_equal(record.file, path);
    assert_int_equal(record.line, 2);
    assert_int_equal(record.struct_size, sizeof record);
    assert_int_equal(host->tuning(host->self, &cpu->info, "a.y", &record), 0);
    /* a module of an older interface */
    gantry_tuning_t old = {.struct_size = offsetof(gantry_tuning_t, measured)};
    assert_int_equal(host->tuning(host->self, &cpu->info, "a.x", &old), 1);
    assert_string_equal(old.values, "n=1");
    assert_null(old.measured);
    assert_null(old.file);
    runtime_fixture_close(&f);
}

int main(void) { return test_main_each(make_file, remove_file); }
