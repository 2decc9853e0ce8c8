/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: A timeline is valid JSON of bounded size whose events nest on one clock, also after a
 * full disk, without memory, with many threads, and when the process ends early. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cjson/cJSON.h>

#include "runtime_fixture.h"
#include "test.h"

#define LARGE 4096 /* elements: more than a tensor's object can hold */

static char folder[] = "/tmp/gantry_timeline_XXXXXX";
static char path[128];

/* ---- threads that cannot be made ---- */

static bool refuses_threads;
static int refused;

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*begin)(void *),
                   void *argument) {
    int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    void *symbol = dlsym(RTLD_NEXT, "pthread_create");
    memcpy(&real, &symbol, sizeof real);
    if (!refuses_threads) return real(thread, attributes, begin, argument);
    ++refused;
    return EAGAIN;
}

/* ---- reading a file ---- */

static cJSON *parse_file(const char *name) {
    FILE *file = fopen(name, "rb");
    if (!file) fail_msg("%s is missing", name);
    static char text[1 << 24];
    const size_t size = fread(text, 1, sizeof text - 1, file);
    assert_true(size < sizeof text - 1);
    (void)fclose(file);
    cJSON *all = cJSON_ParseWithLength(text, size);
    if (!all) fail_msg("not JSON at \"%.80s\"", cJSON_GetErrorPtr());
    assert_true(cJSON_IsArray(all));
    return all;
}

static const char *text_in(const cJSON *object, const char *name) {
    const cJSON *member = cJSON_GetObjectItemCaseSensitive(object, name);
    return cJSON_IsString(member) ? member->valuestring : "";
}

static double number_in(const cJSON *object, const char *name) {
    const cJSON *member = cJSON_GetObjectItemCaseSensitive(object, name);
    if (!cJSON_IsNumber(member)) fail_msg("no number %s in %s", name, cJSON_Print(object));
    return member->valuedouble;
}

static const char *arg_of(const cJSON *event, const char *name) {
    return text_in(cJSON_GetObjectItemCaseSensitive(event, "args"), name);
}

static int count_events(const cJSON *all, const char *phase, const char *category,
                        const char *name) {
    int count = 0;
    const cJSON *event;
    cJSON_ArrayForEach(event, all) {
        count += strcmp(text_in(event, "ph"), phase) == 0 &&
                 (!category || strcmp(text_in(event, "cat"), category) == 0) &&
                 (!name || strcmp(text_in(event, "name"), name) == 0);
    }
    return count;
}

static const cJSON *find_event(const cJSON *all, const char *category, const char *name) {
    const cJSON *event;
    cJSON_ArrayForEach(event, all) {
        if (strcmp(text_in(event, "cat"), category) == 0 &&
            strcmp(text_in(event, "name"), name) == 0)
            return event;
    }
    fail_msg("no event %s %s", category, name);
    return NULL;
}

/* The event that describes the device. */
static const cJSON *find_device(const cJSON *all, const char *name) {
    const cJSON *event;
    cJSON_ArrayForEach(event, all) {
        if (strcmp(text_in(event, "name"), "process_name") == 0 &&
            strcmp(arg_of(event, "name"), name) == 0)
            return event;
    }
    fail_msg("no device %s", name);
    return NULL;
}

typedef struct slice_t {
    double pid, tid, begin, end;
} slice_t;

static int compare_slices(const void *left, const void *right) {
    const slice_t *a = left, *b = right;
    if (a->pid != b->pid) return a->pid < b->pid ? -1 : 1;
    if (a->tid != b->tid) return a->tid < b->tid ? -1 : 1;
    if (a->begin != b->begin) return a->begin < b->begin ? -1 : 1;
    return a->end > b->end ? -1 : a->end < b->end;
}

/* The events of each track lie inside each other or apart, and all within these times. */
static void expect_nested(const cJSON *all, double from_us, double until_us) {
    static slice_t slices[100000];
    static double ends[64];
    int count = 0, depth = 0;
    const cJSON *event;
    cJSON_ArrayForEach(event, all) {
        if (strcmp(text_in(event, "ph"), "X") != 0) continue;
        const double begin = number_in(event, "ts"), end = begin + number_in(event, "dur");
        assert_true(count < 100000);
        if (begin < from_us || end > until_us + 0.01)
            fail_msg("%s: %f to %f is outside of %f to %f", text_in(event, "name"), begin, end,
                     from_us, until_us);
        slices[count++] = (slice_t){number_in(event, "pid"), number_in(event, "tid"), begin, end};
    }
    qsort(slices, (size_t)count, sizeof *slices, compare_slices);
    for (int i = 0; i < count; ++i) {
        const slice_t *slice = &slices[i];
        const bool is_new = i == 0 || slice->pid != slice[-1].pid || slice->tid != slice[-1].tid;
        if (is_new) depth = 0;
        while (depth > 0 && ends[depth - 1] <= slice->begin + 0.0005) --depth;
        if (depth > 0 && slice->end > ends[depth - 1] + 0.0015)
            fail_msg("an event from %f to %f crosses the end of another at %f", slice->begin,
                     slice->end, ends[depth - 1]);
        assert_true(depth < 64);
        ends[depth++] = slice->end;
    }
}

static double now_us(void) { return (double)gantry__now_ns() * 1e-3; }

/* ---- programs ---- */

static const gantry_tensor_t *make_large(gantry_scope_t *scope) {
    static float values[LARGE];
    return make_f32(scope, LARGE, values);
}

static void run_ops(runtime_fixture_t *f, const char *device, int count) {
    gantry_scope_t *scope = runtime_fixture_scope(f, device);
    const gantry_tensor_t *x = make_large(scope);
    for (int i = 0; i < count; ++i) {
        const gantry_tensor_t *y = gantry_add(scope, x, x);
        assert_non_null(y);
        gantry_tensor_drop(scope, y);
    }
    float first[LARGE];
    assert_int_equal(gantry_tensor_read(x, first, sizeof first), GANTRY_OK);
    expect_ended_well(scope);
}

static void body(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                 const gantry_tensor_t **outputs, void *user) {
    (void)user;
    outputs[0] = gantry_mul(scope, gantry_add(scope, inputs[0], inputs[0]), inputs[0]);
}

static void start(runtime_fixture_t *f) {
    if (gantry_trace_start(f->runtime, path) != GANTRY_OK) fail_msg("%s", gantry_last_message());
}

static void stop_trace(runtime_fixture_t *f) {
    if (gantry_trace_stop(f->runtime) != GANTRY_OK) fail_msg("%s", gantry_last_message());
}

/* ---- tests ---- */

TEST(timeline_of_the_cpu_nests_and_tells_reasons) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    const double from_us = now_us();
    start(&f);
    run_ops(&f, "CPU:0", 3);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "CPU:0");
    const gantry_tensor_t *x = make_large(scope);
    assert_non_null(gantry_softplus(scope, x));
    const gantry_input_spec_t input = {"x", GANTRY_FLOAT32, GANTRY_SHAPE(LARGE)};
    gantry_function_t *function;
    assert_int_equal(gantry_function_trace(f.runtime, "named \"so\" </script>\n\x80", body, NULL,
                                           &input, 1, 1, NULL, &function),
                     GANTRY_OK);
    const gantry_tensor_t *y;
    assert_int_equal(gantry_function_call(scope, function, &x, 1, &y, 1), GANTRY_OK);
    expect_ended_well(scope);
    stop_trace(&f);
    cJSON *all = parse_file(path);
    expect_nested(all, from_us, now_us());
    assert_true(count_events(all, "X", "op", "Add") >= 3);
    assert_true(count_events(all, "X", "op", "Softplus") >= 1);
    assert_int_equal(count_events(all, "X", "function", "named \"so\" </script>?\xef\xbf\xbd"), 1);
    assert_true(count_events(all, "X", "kernel", NULL) >= 4);
    assert_true(count_events(all, "X", "copy", "to device") >= 1);
    assert_true(count_events(all, "C", NULL, "memory in use") >= 2);
    const cJSON *event = find_event(all, "op", "Add");
    assert_string_equal(arg_of(event, "device"), "/device:CPU:0");
    assert_string_equal(arg_of(event, "reason"),
                        gantry_placement_reason_text(GANTRY_PLACED_EXPLICIT));
    event = find_event(all, "", "process_name");
    assert_string_equal(arg_of(event, "clock"), "CLOCK_MONOTONIC");
    assert_string_equal(arg_of(event, "version"), gantry_version());
    event = find_device(all, "/device:CPU:0");
    assert_string_equal(arg_of(event, "times"), "host");
    cJSON_Delete(all);
    gantry_function_release(function);
    runtime_fixture_close(&f);
}

TEST(programs_own_work_is_a_slice_around_its_ops) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    const double from_us = now_us();
    start(&f);
    const uint64_t begin_ns = (uint64_t)(now_us() * 1e3);
    run_ops(&f, "CPU:0", 1);
    const uint64_t end_ns = (uint64_t)(now_us() * 1e3);
    assert_int_equal(gantry_trace_add(f.runtime, "step \"1\"", "MatMul", begin_ns, end_ns),
                     GANTRY_OK);
    assert_int_equal(gantry_trace_add(f.runtime, "plain", NULL, end_ns, end_ns), GANTRY_OK);
    expect_failure(gantry_trace_add(f.runtime, NULL, NULL, 1, 2), GANTRY_INVALID_ARGUMENT,
                   "name is NULL");
    expect_failure(gantry_trace_add(f.runtime, "x", NULL, 2, 1), GANTRY_INVALID_ARGUMENT,
                   "end_ns is 1, before begin_ns, which is 2");
    stop_trace(&f);
    assert_int_equal(gantry_trace_add(f.runtime, "late", NULL, 1, 2), GANTRY_OK);
    cJSON *all = parse_file(path);
    expect_nested(all, from_us, now_us());
    assert_string_equal(arg_of(find_event(all, "program", "step \"1\""), "detail"), "MatMul");
    assert_int_equal(count_events(all, "X", "program", NULL), 2);
    cJSON_Delete(all);
    runtime_fixture_close(&f);
}

/* Whether the call of an op has the time in it. */
static bool is_in_op(const cJSON *all, const char *name, double ns) {
    const cJSON *event;
    cJSON_ArrayForEach(event, all) {
        if (strcmp(text_in(event, "cat"), "op") != 0 || strcmp(text_in(event, "name"), name) != 0)
            continue;
        const double begin_us = number_in(event, "ts");
        if (ns / 1e3 >= begin_us && ns / 1e3 <= begin_us + number_in(event, "dur")) return true;
    }
    return false;
}

TEST(device_without_times_shows_its_launches) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    const double from_us = now_us();
    start(&f);
    run_ops(&f, "GPU:0", 3);
    stop_trace(&f);
    cJSON *all = parse_file(path);
    expect_nested(all, from_us, now_us());
    const cJSON *event, *gpu = find_device(all, "/device:GPU:0");
    assert_string_equal(arg_of(gpu, "times"), "launch");
    int kernels = 0;
    cJSON_ArrayForEach(event, all) {
        if (strcmp(text_in(event, "cat"), "kernel") != 0 ||
            number_in(event, "pid") != number_in(gpu, "pid"))
            continue;
        assert_string_equal(arg_of(event, "times"), "launch");
        const cJSON *args = cJSON_GetObjectItem(event, "args");
        assert_true(is_in_op(all, text_in(event, "name"), number_in(args, "submitted_ns")));
        ++kernels;
    }
    assert_true(kernels >= 3);
    cJSON_Delete(all);
    runtime_fixture_close(&f);
}

TEST(option_makes_the_file_with_the_first_op) {
    runtime_fixture_t f;
    (void)unlink(path);
    fake->set_device_count(0);
    gantry_runtime_options_t options = runtime_fixture_options(&f);
    options.trace = path;
    runtime_fixture_open_with(&f, &options);
    gantry_setting_t setting = {.struct_size = sizeof setting};
    assert_int_equal(gantry_get_setting(f.runtime, "trace", NULL, &setting), GANTRY_OK);
    assert_string_equal(setting.value, path);
    assert_int_equal(setting.source, GANTRY_FROM_OPTION);
    expect_failure(gantry_trace_start(f.runtime, path), GANTRY_FAILED_PRECONDITION,
                   "a timeline is being written to");
    runtime_fixture_close(&f);
    assert_int_not_equal(access(path, F_OK), 0);
    options = runtime_fixture_options(&f);
    assert_int_equal(setenv("GANTRY_TRACE", path, 1), 0);
    runtime_fixture_open_with(&f, &options);
    run_ops(&f, "CPU:0", 2);
    assert_int_equal(gantry_get_setting(f.runtime, "trace", NULL, &setting), GANTRY_OK);
    assert_int_equal(setting.source, GANTRY_FROM_ENVIRONMENT);
    runtime_fixture_close(&f);
    assert_int_equal(unsetenv("GANTRY_TRACE"), 0);
    cJSON *all = parse_file(path);
    assert_true(count_events(all, "X", "op", NULL) >= 3);
    cJSON_Delete(all);
}

TEST(option_that_cannot_be_written_is_a_warning) {
    runtime_fixture_t f;
    gantry_runtime_options_t options = runtime_fixture_options(&f);
    options.trace = "/nowhere/at/all.json";
    runtime_fixture_open_with(&f, &options);
    run_ops(&f, "CPU:0", 2400); /* more than a buffer */
    run_ops(&f, "CPU:0", 1);
    assert_int_equal(log_lines_with(&f.log, "The timeline ends here", "/nowhere/at/all.json"), 1);
    runtime_fixture_close(&f);
    assert_int_equal(log_lines_with(&f.log, "The timeline ends here", ""), 1);
}

TEST(bad_paths_and_calls_are_refused) {
    runtime_fixture_t f;
    static char longest[2000];
    char pipe_path[160];
    runtime_fixture_open(&f, 0);
    expect_failure(gantry_trace_stop(f.runtime), GANTRY_FAILED_PRECONDITION, "no timeline");
    expect_failure(gantry_trace_start(f.runtime, NULL), GANTRY_INVALID_ARGUMENT, "path is NULL");
    expect_failure(gantry_trace_start(f.runtime, ""), GANTRY_INVALID_ARGUMENT, "0 bytes");
    memset(longest, 'a', sizeof longest - 1);
    expect_failure(gantry_trace_start(f.runtime, longest), GANTRY_INVALID_ARGUMENT, "1999 bytes");
    expect_failure(gantry_trace_start(f.runtime, "/nowhere/x.json"), GANTRY_NOT_FOUND,
                   "cannot open '/nowhere/x.json'");
    expect_failure(gantry_trace_start(f.runtime, folder), GANTRY_INVALID_ARGUMENT, folder);
    expect_failure(gantry_trace_start(f.runtime, "/dev/null"), GANTRY_INVALID_ARGUMENT,
                   "a plain file is accepted");
    (void)snprintf(pipe_path, sizeof pipe_path, "%s/pipe", folder);
    assert_int_equal(mkfifo(pipe_path, 0600), 0);
    assert_int_not_equal(gantry_trace_start(f.runtime, pipe_path), GANTRY_OK);
    assert_int_equal(unlink(pipe_path), 0);
    expect_failure(gantry_trace_stop(f.runtime), GANTRY_FAILED_PRECONDITION, "no timeline");
    start(&f);
    expect_failure(gantry_trace_start(f.runtime, path), GANTRY_FAILED_PRECONDITION,
                   "gantry_trace_stop");
    gantry_runtime_t *second;
    gantry_runtime_options_t options = {.struct_size = sizeof options, .backends = "cpu"};
    assert_int_equal(gantry_runtime_create(&options, &second), GANTRY_OK);
    expect_failure(gantry_trace_start(second, path), GANTRY_FAILED_PRECONDITION,
                   "another runtime writes it");
    stop_trace(&f);
    assert_int_equal(gantry_trace_start(second, path), GANTRY_OK);
    gantry_runtime_release(second);
    cJSON_Delete(parse_file(path));
    runtime_fixture_close(&f);
}

TEST(name_with_p_has_the_process_number) {
    runtime_fixture_t f;
    char name[160], wanted[192];
    (void)snprintf(name, sizeof name, "%s/of-%%p.json", folder);
    (void)snprintf(wanted, sizeof wanted, "%s/of-%ld.json", folder, (long)getpid());
    runtime_fixture_open(&f, 0);
    assert_int_equal(gantry_trace_start(f.runtime, name), GANTRY_OK);
    stop_trace(&f);
    cJSON_Delete(parse_file(wanted));
    assert_int_equal(unlink(wanted), 0);
    runtime_fixture_close(&f);
}

/* The disk is full from 400,000 bytes on. */
TEST(full_disk_is_told_and_leaves_a_valid_file) {
    runtime_fixture_t f;
    struct rlimit before, limit;
    runtime_fixture_open(&f, 0);
    start(&f);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    limit = before;
    limit.rlim_cur = 400000;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    run_ops(&f, "CPU:0", 4000);
    const gantry_status_t status = gantry_trace_stop(f.runtime);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(status, GANTRY_RESOURCE_EXHAUSTED);
    assert_non_null(strstr(gantry_last_message(), "cannot write"));
    assert_int_equal(log_lines_with(&f.log, "The timeline ends here", "cannot write"), 1);
    cJSON *all = parse_file(path);
    assert_true(count_events(all, "X", "op", NULL) > 50);
    cJSON_Delete(all);
    start(&f); /* the next one is well again */
    run_ops(&f, "CPU:0", 1);
    stop_trace(&f);
    cJSON_Delete(parse_file(path));
    runtime_fixture_close(&f);
}

TEST(without_memory_ops_go_on) {
    for (long n = 0; n < 40; ++n) {
        runtime_fixture_t f;
        runtime_fixture_open(&f, 1);
        gantry_scope_t *scope = runtime_fixture_scope(&f, n % 2 ? "GPU:0" : "CPU:0");
        const gantry_tensor_t *x = make_large(scope), *y = gantry_add(scope, x, x);
        assert_non_null(y);
        runtime_fixture_starve(&f, n);
        gantry_status_t status = gantry_trace_start(f.runtime, path);
        assert_true(status == GANTRY_OK || status == GANTRY_RESOURCE_EXHAUSTED);
        (void)gantry_add(scope, x, y);
        (void)gantry_trace_stop(f.runtime);
        (void)runtime_fixture_feed(&f);
        (void)gantry_scope_end(scope);
        if (status == GANTRY_OK) cJSON_Delete(parse_file(path));
        runtime_fixture_close(&f);
    }
}

static void *run_thread(void *user) {
    run_ops(user, "CPU:0", 1500);
    return NULL;
}

TEST(many_threads_share_a_bounded_file_writer) {
    enum { THREADS = 6 };
    runtime_fixture_t f;
    pthread_t threads[THREADS];
    runtime_fixture_open(&f, 0);
    run_ops(&f, "CPU:0", 10);
    const long before = f.heap.inner.live_bytes;
    start(&f);
    for (int i = 0; i < THREADS; ++i)
        assert_int_equal(pthread_create(&threads[i], NULL, run_thread, &f), 0);
    for (int i = 0; i < THREADS; ++i) assert_int_equal(pthread_join(threads[i], NULL), 0);
    /* the buffers, what is kept of lines and of the device, and room for rows and plans */
    const long most = GANTRY__TIMELINE_SLOTS * GANTRY__TIMELINE_SLOT_BYTES +
                      GANTRY__TIMELINE_LINES_BYTES + (1 << 18);
    assert_true(f.heap.inner.live_bytes - before < most);
    stop_trace(&f);
    cJSON *all = parse_file(path);
    expect_nested(all, 0, now_us());
    assert_true(count_events(all, "X", "op", NULL) >= THREADS * 1500);
    cJSON_Delete(all);
    runtime_fixture_close(&f);
}

TEST(without_a_thread_calls_write_themselves) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    start(&f);
    run_ops(&f, "CPU:0", 1);
    refuses_threads = true;
    refused = 0;
    run_ops(&f, "CPU:0", 4000);
    stop_trace(&f);
    refuses_threads = false;
    assert_true(refused > 1);
    cJSON *all = parse_file(path);
    assert_int_equal(count_events(all, "X", "op", "Add"), 4001);
    cJSON_Delete(all);
    runtime_fixture_close(&f);
}

TEST(process_that_ends_early_leaves_a_valid_file) {
    (void)unlink(path);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        runtime_fixture_t f;
        runtime_fixture_open(&f, 0);
        if (gantry_trace_start(f.runtime, path) != GANTRY_OK) _exit(1);
        run_ops(&f, "CPU:0", 2500);
        (void)kill(getpid(), SIGKILL);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    cJSON *all = parse_file(path);
    assert_true(count_events(all, "X", "op", NULL) > 500);
    cJSON_Delete(all);
}

TEST(timeline_leaves_profiles_alone) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    start(&f);
    run_ops(&f, "CPU:0", 2);
    assert_int_equal(gantry_profile_row_count(f.runtime), 0);
    expect_failure(gantry_profile_stop(f.runtime), GANTRY_FAILED_PRECONDITION,
                   "nothing is recorded");
    assert_int_equal(gantry_profile_start(f.runtime, GANTRY_PROFILE_ON), GANTRY_OK);
    run_ops(&f, "CPU:0", 2);
    assert_int_equal(gantry_profile_stop(f.runtime), GANTRY_OK);
    gantry_profile_row_t before = {.struct_size = sizeof before}, after = before;
    assert_int_equal(gantry_profile_read(f.runtime, GANTRY_PROFILE_TOTAL, &before), GANTRY_OK);
    run_ops(&f, "CPU:0", 2);
    assert_int_equal(gantry_profile_read(f.runtime, GANTRY_PROFILE_TOTAL, &after), GANTRY_OK);
    assert_int_equal(before.calls, after.calls);
    assert_true(before.calls > 0);
    stop_trace(&f);
    cJSON *all = parse_file(path);
    assert_true(count_events(all, "X", "op", NULL) >= 9);
    cJSON_Delete(all);
    runtime_fixture_close(&f);
}

int main(void) {
    if (!mkdtemp(folder)) return 1;
    (void)snprintf(path, sizeof path, "%s/trace.json", folder);
    const int failed = test_main_each(runtime_fixture_set_up, runtime_fixture_tear_down);
    (void)unlink(path);
    (void)rmdir(folder);
    return failed;
}
