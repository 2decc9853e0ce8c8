/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: GANTRY_LOG=stderr and GANTRY_LOG=/path write the log lines of any program there, each in
 * one write, and its callback gets them too.
 * Promise: Without GANTRY_LOG the library writes nothing; a set-user-ID program ignores it.
 * Promise: GANTRY_LOG's file is appended to, no link is followed, no pipe is opened, and a file
 * that cannot be written is a warning.
 * Promise: A log that a full disk or `ulimit -f` cuts does not end the process, and keeps whole
 * lines.
 * Promise: The first line that GANTRY_LOG loses is one warning of the callback, and the file says
 * how many lines it lacks once it can be written again.
 * Promise: No level drops a line that log_placement asks for, and the option log_level, which is
 * the callback's, drops no line of GANTRY_LOG. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "function_fixture.h"
#include "test.h"

#define NOBODY 65534
#define SKIP 77

static char folder[] = "/tmp/gantry_log_XXXXXX";
static char path[64];

static const char *read_log(void) {
    static char text[1 << 16];
    FILE *file = fopen(path, "rb");
    size_t size = file ? fread(text, 1, sizeof text - 1, file) : 0;
    if (file) (void)fclose(file);
    text[size] = '\0';
    return text;
}

static int count_of(const char *text, const char *wanted) {
    int count = 0;
    for (const char *at = strstr(text, wanted); at; at = strstr(at + 1, wanted)) ++count;
    return count;
}

static void expect_line(const char *text, const char *line) {
    char whole[512];
    (void)snprintf(whole, sizeof whole, "gantry[%ld] %s", (long)getpid(), line);
    if (!strstr(text, whole)) fail_msg("\"%s\" is missing in:\n%s", whole, text);
}

/* A program that has no callback and wants errors alone. */
static gantry_runtime_options_t silent_options(runtime_fixture_t *f) {
    gantry_runtime_options_t options = runtime_fixture_options(f);
    options.log = NULL;
    options.log_level = GANTRY_LEVEL_ERROR;
    return options;
}

static void square(runtime_fixture_t *f) {
    gantry_scope_t *scope = runtime_fixture_scope(f, NULL);
    assert_non_null(gantry_square(scope, gantry_scalar_f32(scope, 2)));
    gantry_scope_end(scope);
}

static void name_log(const char *text) { assert_int_equal(setenv("GANTRY_LOG", text, 1), 0); }

static int set_up(void **state) {
    (void)unlink(path);
    return runtime_fixture_set_up(state);
}

/* ---- where lines go ---- */

TEST(a_file_has_the_placements_of_a_program_without_a_log) {
    runtime_fixture_t f;
    gantry_runtime_options_t options = silent_options(&f);
    name_log(path);
    assert_int_equal(setenv("GANTRY_LOG_PLACEMENT", "on", 1), 0);
    runtime_fixture_open_with(&f, &options);
    square(&f);
    runtime_fixture_close(&f);
    expect_line(read_log(), "info: Executing op Square in device ");
    expect_line(read_log(), "info: Found device "); /* the program's level is its callback's */
}

TEST(level_and_callback_keep_their_meaning) {
    runtime_fixture_t f;
    gantry_runtime_options_t options = runtime_fixture_options(&f);
    options.log_level = GANTRY_LEVEL_DEFAULT;
    name_log(path);
    assert_int_equal(setenv("GANTRY_LOG_LEVEL", "warning", 1), 0);
    runtime_fixture_open_with(&f, &options);
    assert_int_equal(gantry_runtime_log(f.runtime, GANTRY_LEVEL_INFO, "quiet"), GANTRY_OK);
    assert_int_equal(gantry_runtime_log(f.runtime, GANTRY_LEVEL_WARNING, "heard"), GANTRY_OK);
    assert_int_equal(log_lines_with(&f.log, "heard", ""), 1);
    runtime_fixture_close(&f);
    expect_line(read_log(), "warning: heard\n");
    assert_null(strstr(read_log(), "quiet"));
}

TEST(a_file_is_appended_to_and_not_inherited) {
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs("before\n", file) >= 0);
    assert_int_equal(fclose(file), 0);
    name_log(path);
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    int found = 0;
    for (int fd = 3; fd < 256; ++fd) {
        char name[64], target[128] = "";
        (void)snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
        if (readlink(name, target, sizeof target - 1) < 0 || strcmp(target, path) != 0) continue;
        ++found;
        assert_true((fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0);
        assert_true((fcntl(fd, F_GETFL) & O_APPEND) != 0);
    }
    assert_int_equal(found, 1);
    assert_int_equal(gantry_runtime_log(f.runtime, GANTRY_LEVEL_ERROR, "after"), GANTRY_OK);
    runtime_fixture_close(&f);
    assert_memory_equal(read_log(), "before\n", 7);
    expect_line(read_log(), "error: after\n");
}

/* Puts another file in place of standard error; the return value is for give_back. */
static int take_stderr(int file) {
    const int kept = dup(STDERR_FILENO);
    assert_true(kept >= 0 && dup2(file, STDERR_FILENO) >= 0);
    return kept;
}

static void give_stderr_back(int kept) {
    (void)dup2(kept, STDERR_FILENO);
    (void)close(kept);
}

/* A socket that keeps the borders of what is written shows that a line is one write. */
TEST(each_line_on_standard_error_is_one_write) {
    int ends[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
    runtime_fixture_t f;
    gantry_runtime_options_t options = silent_options(&f);
    name_log("stderr");
    assert_int_equal(setenv("GANTRY_LOG_LEVEL", "error", 1), 0);
    const int kept = take_stderr(ends[1]);
    gantry_status_t status = gantry_runtime_create(&options, &f.runtime);
    give_stderr_back(kept); /* the program's own lines go elsewhere from here on */
    assert_int_equal(status, GANTRY_OK);
    char text[2048];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    const char *const lines[] = {"one", "two\nlines\x1b[2J\xc2\x9b\xe2\x80\xae!", text};
    for (size_t i = 0; i < 3; ++i)
        assert_int_equal(gantry_runtime_log(f.runtime, GANTRY_LEVEL_ERROR, lines[i]), GANTRY_OK);
    runtime_fixture_close(&f);
    (void)close(ends[1]);
    char got[4096];
    for (size_t i = 0; i < 3; ++i) {
        const ssize_t size = recv(ends[0], got, sizeof got - 1, 0);
        assert_true(size > 0);
        got[size] = '\0';
        assert_ptr_equal(strchr(got, '\n'), got + size - 1);
        if (i == 0) expect_line(got, "error: one\n");
        if (i == 1)
            expect_line(got,
                        "error: two?lines?[2J?"
                        "?!\n");
        if (i == 2) assert_true(size > 2000);
    }
    assert_int_equal(recv(ends[0], got, sizeof got, 0), 0);
    (void)close(ends[0]);
}

TEST(a_reader_that_is_gone_does_not_end_the_program) {
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    runtime_fixture_t f;
    gantry_runtime_options_t options = silent_options(&f);
    name_log("stderr");
    const int kept = take_stderr(ends[1]);
    gantry_status_t status = gantry_runtime_create(&options, &f.runtime);
    give_stderr_back(kept);
    (void)close(ends[0]);
    (void)close(ends[1]);
    assert_int_equal(status, GANTRY_OK);
    assert_int_equal(gantry_runtime_log(f.runtime, GANTRY_LEVEL_ERROR, "lost"), GANTRY_OK);
    runtime_fixture_close(&f);
}

TEST(without_the_variable_nothing_is_written) {
    runtime_fixture_t f;
    gantry_runtime_options_t options = silent_options(&f);
    options.log_level = GANTRY_LEVEL_DEBUG;
    options.log_placement = GANTRY_ON;
    const int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_true(file >= 0);
    assert_int_equal(setenv("GANTRY_LOG", "", 1), 0);
    const int kept = take_stderr(file);
    gantry_status_t status = gantry_runtime_create(&options, &f.runtime);
    if (status == GANTRY_OK) square(&f);
    give_stderr_back(kept);
    assert_int_equal(status, GANTRY_OK);
    runtime_fixture_close(&f);
    assert_int_equal(lseek(file, 0, SEEK_END), 0);
    (void)close(file);
}

/* ---- lines that are asked for ---- */

static void negate_twice(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                         const gantry_tensor_t **outputs, void *user) {
    (void)user;
    outputs[0] = gantry_neg(scope, gantry_square(scope, inputs[0]));
}

TEST(placements_asked_for_are_not_dropped_by_the_level) {
    runtime_fixture_t f;
    fake->set_device_count(1);
    gantry_runtime_options_t options = runtime_fixture_options(&f);
    options.log_level = GANTRY_LEVEL_ERROR;
    runtime_fixture_open_with(&f, &options);
    assert_int_equal(gantry_set_log_device_placement(f.runtime, true), GANTRY_OK);
    square(&f);
    assert_int_equal(log_lines_with(&f.log, "Executing op Square in device", ""), 1);
    const gantry_input_spec_t input = SPEC_F32(2);
    gantry_function_t *function =
        function_fixture_trace(f.runtime, negate_twice, NULL, &input, 1, 1, NULL);
    assert_true(log_lines_with(&f.log, "(Neg): ", "device:") > 0);
    gantry_function_release(function);
    runtime_fixture_close(&f);
}

TEST(warnings_are_seen_in_a_program_that_wants_errors_alone) {
    runtime_fixture_t f;
    fake->set_device_count(1);
    gantry_runtime_options_t options = silent_options(&f);
    options.placement_mode = GANTRY_PLACEMENT_WARN_ONCE;
    options.device_policy = GANTRY_POLICY_WARN;
    name_log(path);
    runtime_fixture_open_with(&f, &options);
    gantry_scope_t *cpu = runtime_fixture_scope(&f, "/CPU:0");
    gantry_scope_t *gpu = runtime_fixture_scope(&f, "/GPU:0");
    const gantry_tensor_t *there = F32(cpu, 1, 2);
    assert_non_null(gantry_add(gpu, there, there));
    gantry_scope_end(gpu);
    gpu = runtime_fixture_scope(&f, "/GPU:7");
    assert_non_null(gantry_neg(gpu, there));
    gantry_scope_end(gpu);
    gantry_scope_end(cpu);
    runtime_fixture_close(&f);
    expect_line(read_log(), "warning: before computing Add input #0 was expected to be on ");
    expect_line(read_log(), "warning: Op Neg runs on ");
}

/* ---- what is refused ---- */

TEST(files_that_cannot_be_written_are_a_warning) {
    char link_path[80], hard_path[80], pipe_path[80], missing[80], named[80];
    (void)snprintf(link_path, sizeof link_path, "%s/link", folder);
    (void)snprintf(pipe_path, sizeof pipe_path, "%s/pipe", folder);
    (void)snprintf(missing, sizeof missing, "%s/missing/log", folder);
    assert_int_equal(symlink(path, link_path), 0);
    (void)snprintf(hard_path, sizeof hard_path, "%s/hard", folder);
    (void)snprintf(named, sizeof named, "%s/named", folder);
    FILE *file = fopen(named, "w");
    assert_non_null(file);
    (void)fclose(file);
    assert_int_equal(link(named, hard_path), 0);
    assert_int_equal(mkfifo(pipe_path, 0600), 0);
    const struct {
        const char *path, *reason;
    } cases[] = {{link_path, "it is a symbolic link, which is not followed"},
                 {hard_path, "it has several names (hard links)"},
                 {pipe_path, "it is neither a plain file nor a terminal"},
                 {missing, "No such file or directory"},
                 {folder, "Is a directory"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        runtime_fixture_t f;
        name_log(cases[i].path);
        runtime_fixture_open(&f, 1);
        char line[256];
        (void)snprintf(line, sizeof line, "GANTRY_LOG=%s is not written: %s", cases[i].path,
                       cases[i].reason);
        if (log_lines_with(&f.log, line, "") != 1) fail_msg("\"%s\" is missing", line);
        runtime_fixture_close(&f);
    }
    assert_int_equal(access(path, F_OK), -1); /* the link's target */
    (void)unlink(link_path);
    (void)unlink(hard_path);
    (void)unlink(named);
    (void)unlink(pipe_path);
}

TEST(a_closed_standard_error_is_a_warning) {
    runtime_fixture_t f;
    name_log("stderr");
    const int kept = dup(STDERR_FILENO);
    (void)close(STDERR_FILENO);
    gantry_runtime_options_t options = runtime_fixture_options(&f);
    gantry_status_t status = gantry_runtime_create(&options, &f.runtime);
    give_stderr_back(kept);
    assert_int_equal(status, GANTRY_OK);
    assert_int_equal(log_lines_with(&f.log, "GANTRY_LOG=stderr is not written: ", ""), 1);
    runtime_fixture_close(&f);
}

TEST(other_texts_are_refused) {
    static const char *const texts[] = {"stdout", "log", "./log", "1", "STDERR"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; ++i) {
        runtime_fixture_t f;
        gantry_runtime_options_t options = runtime_fixture_options(&f);
        name_log(texts[i]);
        assert_int_equal(gantry_runtime_create(&options, &f.runtime), GANTRY_INVALID_ARGUMENT);
        char wanted[128];
        (void)snprintf(wanted, sizeof wanted,
                       "GANTRY_LOG is \"%s\"; stderr and the absolute path of a file are accepted",
                       texts[i]);
        assert_string_equal(gantry_last_message(), wanted);
        locked_heap_deinit(&f.heap);
    }
}

/* ---- lines that are lost ---- */

static void log_lines(gantry_runtime_t *runtime, int count) {
    for (int i = 0; i < count; ++i)
        assert_int_equal(gantry_runtime_log(runtime, GANTRY_LEVEL_ERROR, "a line of some length"),
                         GANTRY_OK);
}

/* No test prints while the limit holds: its output may be a file, too. */
static void log_beyond(gantry_runtime_t *runtime, rlim_t size_bytes) {
    struct rlimit before, limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    limit = (struct rlimit){.rlim_cur = size_bytes, .rlim_max = before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    for (int i = 0; i < 40; ++i)
        (void)gantry_runtime_log(runtime, GANTRY_LEVEL_ERROR, "a line of some length");
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
}

/* Every line has a head, and the last one has its end. */
static void expect_whole_lines(const char *text) {
    const size_t size = strlen(text);
    assert_true(size > 0 && text[size - 1] == '\n');
    for (const char *at = text; *at; at = strchr(at, '\n') + 1)
        if (strncmp(at, "gantry[", 7) != 0) fail_msg("a part of a line in:\n%s", text);
}

/* Each rest that a line may leave. */
TEST(a_limit_of_sizes_leaves_whole_lines) {
    for (rlim_t rest = 0; rest < 120; rest += 7) {
        runtime_fixture_t f;
        (void)unlink(path);
        name_log(path);
        runtime_fixture_open(&f, 1);
        log_lines(f.runtime, 1);
        log_beyond(f.runtime, (rlim_t)strlen(read_log()) + rest);
        expect_whole_lines(read_log());
        assert_int_equal(log_lines_with(&f.log, "has lost a line: File too large", path), 1);
        log_lines(f.runtime, 1);
        expect_whole_lines(read_log());
        runtime_fixture_close(&f);
        const int lines = count_of(read_log(), "] error: a line of some length\n");
        int lost = 0;
        for (const char *at = read_log(); (at = strstr(at, "] warning: ")); ++at) {
            assert_true(strstr(at, " missing here: File too large\n"));
            lost += atoi(at + strlen("] warning: "));
        }
        assert_int_equal(lines + lost, 42);
        assert_true(lines >= 2 && lost > 0);
    }
}

/* Its own writer may have been the last. */
TEST(a_cut_line_of_standard_error_is_ended) {
    runtime_fixture_t f;
    gantry_runtime_options_t options = silent_options(&f);
    const int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_true(file >= 0);
    name_log("stderr");
    const int kept = take_stderr(file);
    gantry_status_t status = gantry_runtime_create(&options, &f.runtime);
    give_stderr_back(kept);
    assert_int_equal(status, GANTRY_OK);
    log_beyond(f.runtime, (rlim_t)strlen(read_log()) + 12);
    assert_true(write(file, "own\n", 4) == 4);
    log_lines(f.runtime, 1);
    runtime_fixture_close(&f);
    (void)close(file);
    expect_line(read_log(), "warning: 40 lines are missing here: File too large\n");
    if (!strstr(read_log(), "own\n\ngantry[")) fail_msg("lines are joined:\n%s", read_log());
    expect_line(read_log(), "error: a line of some length\n");
}

TEST(a_full_disk_is_one_warning) {
    if (access("/dev/full", W_OK) != 0) {
        print_message("skipped: there is no /dev/full\n");
        skip();
    }
    runtime_fixture_t f;
    name_log("/dev/full");
    runtime_fixture_open(&f, 1);
    log_lines(f.runtime, 20);
    assert_int_equal(
        log_lines_with(&f.log, "GANTRY_LOG=/dev/full has lost a line: No space left", ""), 1);
    assert_int_equal(log_lines_with(&f.log, "GANTRY_LOG", ""), 1);
    assert_int_equal(log_lines_with(&f.log, "a line of some length", ""), 20);
    runtime_fixture_close(&f);
}

/* ---- programs with more rights than their caller ---- */

/* The part that runs set-user-ID. */
static int run_with_more_rights(void) {
    if (!getauxval(AT_SECURE)) return SKIP;
    const gantry_runtime_options_t options = {.struct_size = sizeof options, .backends = "cpu"};
    gantry_runtime_t *runtime = NULL;
    if (gantry_runtime_create(&options, &runtime) != GANTRY_OK) return 2;
    gantry_setting_t setting = {.struct_size = sizeof setting};
    (void)gantry_runtime_log(runtime, GANTRY_LEVEL_ERROR, "secret");
    const bool is_default =
        gantry_get_setting(runtime, "soft_placement", NULL, &setting) == GANTRY_OK &&
        setting.source == GANTRY_FROM_DEFAULT;
    gantry_runtime_release(runtime);
    return is_default ? 0 : 3;
}

static void copy_program(const char *to) {
    char bytes[1 << 16];
    FILE *from = fopen("/proc/self/exe", "rb"), *file = fopen(to, "wb");
    assert_non_null(from);
    assert_non_null(file);
    for (size_t size; (size = fread(bytes, 1, sizeof bytes, from)) > 0;)
        assert_int_equal(fwrite(bytes, 1, size, file), size);
    (void)fclose(from);
    assert_int_equal(fclose(file), 0);
}

TEST(a_set_user_id_program_ignores_the_environment) {
    if (geteuid() != 0) {
        print_message("skipped: a set-user-ID program of another user needs root\n");
        skip();
    }
    char program[80];
    (void)snprintf(program, sizeof program, "%s/program", folder);
    copy_program(program);
    assert_int_equal(chmod(folder, 0777), 0);
    assert_int_equal(chown(program, NOBODY, NOBODY), 0);
    assert_int_equal(chmod(program, 04755), 0);
    name_log(path);
    assert_int_equal(setenv("GANTRY_SOFT_PLACEMENT", "0", 1), 0);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)execl(program, "test_log", "more_rights", (char *)NULL);
        _exit(SKIP);
    }
    int how = 0;
    assert_int_equal(waitpid(child, &how, 0), child);
    (void)unlink(program);
    assert_true(WIFEXITED(how));
    if (WEXITSTATUS(how) == SKIP) {
        print_message("skipped: %s does not run set-user-ID programs\n", folder);
        skip();
    }
    assert_int_equal(WEXITSTATUS(how), 0);
    assert_int_equal(access(path, F_OK), -1);
}

/* ---- many threads ---- */

static void *log_many(void *runtime) {
    for (int i = 0; i < 200; ++i)
        (void)gantry_runtime_log(runtime, GANTRY_LEVEL_ERROR, "a line of a thread");
    return NULL;
}

TEST(lines_of_threads_do_not_mix) {
    runtime_fixture_t f;
    gantry_runtime_options_t options = silent_options(&f);
    name_log(path);
    runtime_fixture_open_with(&f, &options);
    pthread_t threads[4];
    for (int i = 0; i < 4; ++i)
        assert_int_equal(pthread_create(&threads[i], NULL, log_many, f.runtime), 0);
    for (int i = 0; i < 4; ++i) assert_int_equal(pthread_join(threads[i], NULL), 0);
    runtime_fixture_close(&f);
    assert_int_equal(count_of(read_log(), "] error: a line of a thread\ngantry["), 799);
}

int main(int count, char **arguments) {
    (void)arguments;
    /* The kernel lets nobody trace such a program, so that its end must not search for leaks. */
    if (count > 1) _exit(run_with_more_rights());
    if (!mkdtemp(folder)) return 1;
    (void)snprintf(path, sizeof path, "%s/log", folder);
    const int failed = test_main_each(set_up, runtime_fixture_tear_down);
    (void)unlink(path);
    (void)rmdir(folder);
    return failed;
}
