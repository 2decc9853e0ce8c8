/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Telemetry gives a device's figures or the reason why there are none, and the file of
 * GANTRY_STATUS shows a program's memory to others. */
#define _XOPEN_SOURCE 700

#include "runtime_fixture.h"
#include "test.h"

#include <dirent.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define MIB (1 << 20)

static const gantry_physical_device_t *device_of(const runtime_fixture_t *f, const char *type) {
    const gantry_physical_device_t *device = NULL;
    size_t count;
    assert_int_equal(gantry_list_physical_devices(f->runtime, type, 1, &device, &count), GANTRY_OK);
    assert_non_null(device);
    return device;
}

static gantry_device_telemetry_t ask(const runtime_fixture_t *f, const char *type) {
    gantry_device_telemetry_t t = {.struct_size = sizeof t};
    if (gantry_get_device_telemetry(f->runtime, device_of(f, type), &t) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    assert_string_equal(gantry_last_message(), "");
    return t;
}

TEST(a_cpu_has_the_machines_memory_and_load) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    const gantry_device_telemetry_t t = ask(&f, "CPU");
    const uint32_t wanted = GANTRY_TELEMETRY_MEMORY | GANTRY_TELEMETRY_LOAD;
    assert_int_equal(t.known & wanted, wanted);
    assert_true(t.total_bytes > 0 && t.free_bytes <= t.total_bytes);
    assert_true(t.used_bytes == t.total_bytes - t.free_bytes);
    assert_true(t.load_average >= 0.0);
    assert_int_equal(t.known & (GANTRY_TELEMETRY_UTILIZATION | GANTRY_TELEMETRY_TEMPERATURE), 0);
    static const char reason[] =
        "the backend cpu reports memory, load, use and clock of the machine";
    assert_memory_equal(t.reason, reason, sizeof reason - 1);
    assert_non_null(strstr(t.reason, "; the use is known from a reading 0.25 s later on"));
    const struct timespec between = {.tv_nsec = 260000000};
    (void)nanosleep(&between, NULL);
    const gantry_device_telemetry_t later = ask(&f, "CPU");
    assert_true(later.known & GANTRY_TELEMETRY_PROCESSOR);
    assert_true(later.processor_percent <= 100);
    runtime_fixture_close(&f);
}

TEST(a_backend_without_the_slots_has_a_reason) {
    runtime_fixture_t f;
    gantry_device_process_t process = {.struct_size = sizeof process};
    size_t count = 7;
    runtime_fixture_open(&f, 1);
    const gantry_device_telemetry_t t = ask(&f, "GPU");
    assert_int_equal(t.known & ~(uint32_t)GANTRY_TELEMETRY_MEMORY, 0);
    assert_string_equal(t.reason, "the backend fake reports nothing of the device");
    assert_int_equal(
        gantry_list_device_processes(f.runtime, device_of(&f, "GPU"), 1, &process, &count),
        GANTRY_UNIMPLEMENTED);
    assert_int_equal(count, 0);
    assert_non_null(strstr(gantry_last_message(), "lists the processes that use it"));
    runtime_fixture_close(&f);
}

/* ---- a backend with the slots ---- */

static int32_t warm(gantry_backend_instance_t *instance, uint32_t index,
                    gantry_device_telemetry_t *out) {
    (void)instance, (void)index;
    assert_int_equal(out->struct_size, sizeof *out);
    assert_int_equal(out->known, 0);
    out->known = GANTRY_TELEMETRY_TEMPERATURE;
    out->temperature_celsius = -3;
    return GANTRY_OK;
}

static int32_t silent(gantry_backend_instance_t *instance, uint32_t index,
                      gantry_device_telemetry_t *out) {
    (void)instance, (void)index;
    out->known = ~0u;
    return gantry_fail(GANTRY_UNAVAILABLE, "the sensor is broken");
}

/* The second one is of an older backend, whose struct ends before the name. */
static int32_t two_processes(gantry_backend_instance_t *instance, uint32_t index,
                             void (*visit)(void *user, const gantry_device_process_t *process),
                             void *user) {
    gantry_device_process_t process = {
        .struct_size = sizeof process, .pid = 7, .used_bytes = 70, .name = "seven"};
    (void)instance, (void)index;
    visit(user, &process);
    process = (gantry_device_process_t){
        .struct_size = offsetof(gantry_device_process_t, name), .pid = 8, .name = "unread"};
    visit(user, &process);
    return GANTRY_OK;
}

/* Gives the fake backend a table of its own, in place of the shared one. */
static gantry_telemetry_ops_t ops;

static void give_slots(runtime_fixture_t *f, gantry_backend_t *table) {
    ops = (gantry_telemetry_ops_t){.struct_size = sizeof ops};
    for (size_t i = 0; i < f->runtime->backends.count; ++i) {
        gantry__backend_t *backend = &f->runtime->backends.items[i];
        if (strcmp(backend->name, "fake") != 0) continue;
        const gantry_backend_t *shared = backend->table;
        memcpy(table, shared, shared->struct_size);
        table->struct_size = sizeof *table;
        table->telemetry = &ops;
        backend->table = table;
    }
}

TEST(a_backends_figures_are_the_devices) {
    runtime_fixture_t f;
    gantry_backend_t table;
    runtime_fixture_open(&f, 1);
    give_slots(&f, &table);
    ops.read = warm;
    const gantry_device_telemetry_t good = ask(&f, "GPU");
    assert_int_equal(good.known, GANTRY_TELEMETRY_TEMPERATURE);
    assert_int_equal(good.temperature_celsius, -3);
    assert_string_equal(good.reason, "");
    ops.read = silent;
    const gantry_device_telemetry_t bad = ask(&f, "GPU");
    assert_int_equal(bad.known & ~(uint32_t)GANTRY_TELEMETRY_MEMORY, 0);
    assert_string_equal(bad.reason, "the sensor is broken");
    /* a module of an older interface has no such slot */
    table.struct_size = offsetof(gantry_backend_t, telemetry);
    assert_string_equal(ask(&f, "GPU").reason, "the backend fake reports nothing of the device");
    table.struct_size = sizeof table;
    ops.struct_size = offsetof(gantry_telemetry_ops_t, read);
    assert_string_equal(ask(&f, "GPU").reason, "the backend fake reports nothing of the device");
    runtime_fixture_close(&f);
}

TEST(processes_are_listed_in_the_callers_steps) {
    runtime_fixture_t f;
    gantry_backend_t table;
    gantry_device_process_t list[2] = {{.struct_size = sizeof list[0]}};
    size_t count = 0;
    runtime_fixture_open(&f, 1);
    give_slots(&f, &table);
    ops.processes = two_processes;
    const gantry_physical_device_t *gpu = device_of(&f, "GPU");
    assert_int_equal(gantry_list_device_processes(f.runtime, gpu, 0, NULL, &count), GANTRY_OK);
    assert_int_equal(count, 2);
    assert_int_equal(gantry_list_device_processes(f.runtime, gpu, 2, list, &count), GANTRY_OK);
    assert_int_equal(list[0].pid, 7);
    assert_string_equal(list[0].name, "seven");
    assert_int_equal(list[1].pid, 8);
    assert_string_equal(list[1].name, "");
    uint32_t small[3 * 2] = {2 * sizeof(uint32_t), 0, 0, 0, 0xa5a5a5a5u, 0xa5a5a5a5u};
    assert_int_equal(gantry_list_device_processes(f.runtime, gpu, 2,
                                                  (gantry_device_process_t *)(void *)small, &count),
                     GANTRY_OK);
    assert_int_equal(small[1], 7);
    assert_int_equal(small[3], 8);
    assert_int_equal(small[4], 0xa5a5a5a5u);
    list[0].struct_size = 0;
    assert_int_equal(gantry_list_device_processes(f.runtime, gpu, 2, list, &count),
                     GANTRY_INVALID_ARGUMENT);
    runtime_fixture_close(&f);
}

/* ---- the status file ---- */

static char folder[] = "/tmp/gantry_status_XXXXXX";
static char setting[80];

static void open_with(runtime_fixture_t *f, const char *value) {
    const char *const extra[] = {setting, NULL};
    (void)snprintf(setting, sizeof setting, "GANTRY_STATUS=%s", value);
    fake->set_device_count(1);
    gantry_runtime_options_t options = runtime_fixture_options(f);
    options.extra = extra;
    runtime_fixture_open_with(f, &options);
}

/* Counts the folder's files, and copies the content of the last one. */
static int read_folder(char *out, size_t out_bytes) {
    DIR *directory = opendir(folder);
    int count = 0;
    out[0] = '\0';
    assert_non_null(directory);
    for (const struct dirent *entry; (entry = readdir(directory));) {
        char path[400];
        if (entry->d_name[0] == '.') continue;
        ++count;
        (void)snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        FILE *file = fopen(path, "r");
        assert_non_null(file);
        out[fread(out, 1, out_bytes - 1, file)] = '\0';
        (void)fclose(file);
    }
    (void)closedir(directory);
    return count;
}

static const gantry_tensor_t *take_memory(gantry_scope_t *scope) {
    const gantry_tensor_t *zeros = gantry_zeros(scope, GANTRY_FLOAT32, GANTRY_SHAPE(MIB / 4));
    if (!zeros) fail_msg("%s", gantry_scope_message(scope));
    return zeros;
}

TEST(status_file_shows_pools_and_goes_with_the_runtime) {
    runtime_fixture_t f;
    char text[2048], wanted[64];
    strcpy(folder, "/tmp/gantry_status_XXXXXX");
    assert_non_null(mkdtemp(folder));
    open_with(&f, folder);
    assert_int_equal(read_folder(text, sizeof text), 0);
    gantry_scope_t *scope = gantry_scope_begin(f.runtime, "CPU:0");
    (void)take_memory(scope);
    assert_int_equal(read_folder(text, sizeof text), 1);
    (void)snprintf(wanted, sizeof wanted, "{\"pid\":%ld,\"boot_ms\":", (long)getpid());
    assert_ptr_equal(strstr(text, wanted), text);
    assert_non_null(strstr(text, "{\"device\":\"/device:CPU:0\",\"uuid\":\""));
    assert_non_null(strstr(text, "\"in_use_bytes\":1048576,"));
    assert_non_null(strstr(text, "]}\n"));
    /* not before a second has passed: the file stays as it is */
    char again[sizeof text];
    (void)take_memory(scope);
    assert_int_equal(read_folder(again, sizeof again), 1);
    assert_string_equal(again, text);
    assert_int_equal(gantry_scope_end(scope), GANTRY_OK);
    runtime_fixture_close(&f);
    assert_int_equal(read_folder(text, sizeof text), 0);
    assert_int_equal(rmdir(folder), 0);
}

TEST(status_file_is_off_unless_asked_for) {
    static const char *const values[] = {"", "0"};
    runtime_fixture_t f;
    for (size_t i = 0; i < sizeof values / sizeof values[0]; ++i) {
        open_with(&f, values[i]);
        assert_null(f.runtime->devices.status_file);
        runtime_fixture_close(&f);
    }
}

TEST(status_value_that_is_no_folder_is_refused) {
    runtime_fixture_t f;
    const char *const extra[] = {"GANTRY_STATUS=here", NULL};
    gantry_runtime_options_t options = runtime_fixture_options(&f);
    options.extra = extra;
    assert_int_equal(gantry_runtime_create(&options, &f.runtime), GANTRY_INVALID_ARGUMENT);
    assert_string_equal(
        gantry_last_message(),
        "GANTRY_STATUS is \"here\"; 0, 1 and the absolute path of a folder are accepted");
    assert_int_equal(f.heap.inner.live_blocks, 0);
}

TEST(status_folder_that_cannot_be_made_is_logged) {
    runtime_fixture_t f;
    open_with(&f, "/proc/gantry_status");
    assert_null(f.runtime->devices.status_file);
    assert_int_equal(log_lines_with(&f.log, "no status file is written", "/proc/gantry_status"), 1);
    gantry_scope_t *scope = gantry_scope_begin(f.runtime, "CPU:0");
    (void)take_memory(scope);
    assert_int_equal(gantry_scope_end(scope), GANTRY_OK);
    runtime_fixture_close(&f);
}

/* A folder that is removed while the program runs: ops go on, and no message changes. */
TEST(status_folder_that_vanishes_does_no_harm) {
    runtime_fixture_t f;
    strcpy(folder, "/tmp/gantry_status_XXXXXX");
    assert_non_null(mkdtemp(folder));
    open_with(&f, folder);
    assert_int_equal(rmdir(folder), 0);
    gantry_scope_t *scope = gantry_scope_begin(f.runtime, "CPU:0");
    (void)take_memory(scope);
    assert_string_equal(gantry_last_message(), "");
    assert_int_equal(gantry_scope_end(scope), GANTRY_OK);
    runtime_fixture_close(&f);
}

int main(void) { return test_main_each(runtime_fixture_set_up, runtime_fixture_tear_down); }
