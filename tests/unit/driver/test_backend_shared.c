/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: The code that the driver backends share names a driver's error, opens the first library
 * that loads or gives each one's reason, and shows a compiler's first error. */
#define _POSIX_C_SOURCE 200809L
#include "backend_fixture.h"
#include "test.h"

#include <sys/resource.h>

#include "base/os/library.h"
#include "driver/build_failure.h"
#include "driver/host_call.h"
#include "driver/kernel_list.h"
#include "driver/library_open.h"
#include "driver/native_error.h"
#include "driver/process_limit.h"
#include "driver/process_mark.h"

#include "sanitized.h"

#include <sys/wait.h>
#include <unistd.h>

/* ---- the fixture's host, without a backend ---- */

static int32_t no_backend(uint32_t max_abi, const gantry_backend_t **out_backend) {
    (void)max_abi;
    *out_backend = NULL;
    return 0;
}

static inline void fixture_init(fixture_t *fixture) { fixture_init_host(fixture, no_backend); }
static inline void fixture_need_driver(void) {}
static inline void fixture_find_devices(fixture_t *fixture) { (void)fixture; }
static inline void fixture_expect_nothing_lives(void) {}

/* ---- a parent's use of a driver ---- */

static gantry__process_mark_t mark;

/* The child reads the mark and exits with the result. */
static int ask_in_child(int (*body)(void)) {
    int result = -1;
    pid_t child = fork();

    assert_true(child >= 0);
    if (child == 0) {
        _exit(body());
    }
    assert_int_equal(waitpid(child, &result, 0), child);
    return WIFEXITED(result) ? WEXITSTATUS(result) : -1;
}

static int is_inherited(void) { return gantry__process_mark_is_inherited(&mark); }
static int is_inherited_in_grandchild(void) { return ask_in_child(is_inherited); }

/* The child has its parent's process number, as the first process of a namespace may. */
static int is_inherited_with_the_same_number(void) {
    atomic_store(&mark.process, (long long)getpid());
    return is_inherited();
}

static int is_inherited_after_setting_it(void) {
    gantry__process_mark_set(&mark);
    return is_inherited() + ask_in_child(is_inherited) * 2;
}

TEST(mark_is_inherited_by_children_alone) {
    assert_int_equal(is_inherited(), 0);
    assert_int_equal(ask_in_child(is_inherited), 0);
    assert_int_equal(ask_in_child(is_inherited_after_setting_it), 2);
    gantry__process_mark_set(&mark);
    gantry__process_mark_set(&mark);
    assert_int_equal(is_inherited(), 0);
    assert_int_equal(ask_in_child(is_inherited), 1);
    assert_int_equal(ask_in_child(is_inherited_in_grandchild), 1);
    if (atomic_load(&mark.page) != NULL) { /* otherwise the kernel clears no page */
        assert_int_equal(ask_in_child(is_inherited_with_the_same_number), 1);
    }
    gantry__process_mark_unset(&mark);
    assert_int_equal(ask_in_child(is_inherited), 1); /* one use remains */
    gantry__process_mark_unset(&mark);
    assert_int_equal(ask_in_child(is_inherited), 0);
    /* the child's own mark, in the page that the kernel cleared */
    assert_int_equal(ask_in_child(is_inherited_after_setting_it), 2);
}

/* ---- options ---- */

static int32_t choose(fixture_t *fixture, const char *value, int32_t *out_choice) {
    static const char *const words[] = {"auto", "fast", "exact"};

    fixture_set(fixture, "GANTRY_WAY", value);
    return gantry__host_choice(&fixture->host, "Test", "GANTRY_WAY", words, 3, out_choice);
}

TEST(choice_is_the_word_or_the_first) {
    fixture_t fixture;
    int32_t choice = -1;

    fixture_init(&fixture);
    assert_ok(choose(&fixture, "exact", &choice));
    assert_int_equal(choice, 2);
    assert_ok(choose(&fixture, NULL, &choice));
    assert_int_equal(choice, 0);
    assert_ok(choose(&fixture, "fast", &choice));
    assert_int_equal(choice, 1);
    assert_ok(choose(&fixture, "", &choice)); /* an empty value counts as unset */
    assert_int_equal(choice, 0);
}

TEST(choice_of_another_word_names_all_that_are_accepted) {
    fixture_t fixture;
    int32_t choice = -1;

    fixture_init(&fixture);
    assert_int_equal(choose(&fixture, "fas", &choice), GANTRY_INVALID_ARGUMENT);
    assert_string_equal(fixture_error, "GANTRY_WAY is \"fas\"; auto, fast and exact are accepted");
}

TEST(host_of_an_older_core_has_no_options_and_no_log) {
    fixture_t fixture;

    fixture_init(&fixture);
    fixture_set(&fixture, "GANTRY_WAY", "fast");
    assert_string_equal(gantry__host_option(&fixture.host, "GANTRY_WAY"), "fast");
    fixture.host.option = NULL;
    fixture.host.log = NULL;
    assert_null(gantry__host_option(&fixture.host, "GANTRY_WAY"));
    gantry__host_log(&fixture.host, GANTRY_LEVEL_WARNING, "nobody reads %s", "this");
}

/* ---- memory ---- */

TEST(memory_is_zeroed_and_its_end_is_stated) {
    fixture_t fixture;
    unsigned char *bytes;
    char *text;

    fixture_init(&fixture);
    bytes = gantry__host_alloc(&fixture.host, "Test", 100);
    text = gantry__host_text(&fixture.host, "Test", "twelve bytes");
    assert_non_null(bytes);
    assert_string_equal(text, "twelve bytes");
    for (int i = 0; i < 100; ++i) {
        assert_int_equal(bytes[i], 0);
    }
    atomic_store(&fixture.fail_at, 3);
    assert_null(gantry__host_text(&fixture.host, "Test", "too much"));
    assert_string_equal(fixture_error, "no host memory for 9 bytes of the Test backend");
    gantry__host_free(&fixture.host, bytes, 100);
    gantry__host_text_free(&fixture.host, text);
    gantry__host_text_free(&fixture.host, NULL);
    assert_int_equal(atomic_load(&fixture.bytes), 0);
}

/* ---- errors by number ---- */

static const gantry__native_error_t known[] = {{-5, GANTRY_RESOURCE_EXHAUSTED, "TEST_FULL"},
                                               {700, GANTRY_UNAVAILABLE, "TEST_LOST"}};
static const gantry__native_errors_t errors = {"Test", "unknown Test error", known, 2};

TEST(native_number_becomes_code_and_name) {
    fixture_t fixture;
    char longer[2000];

    fixture_init(&fixture);
    assert_int_equal(gantry__native_check(&fixture.host, &errors, 0, "all is %s", "well"), 0);
    assert_string_equal(fixture_error, "");
    assert_int_equal(gantry__native_check(&fixture.host, &errors, -5, "taking %d bytes", 7),
                     GANTRY_RESOURCE_EXHAUSTED);
    assert_string_equal(fixture_error, "taking 7 bytes: TEST_FULL (-5)");
    assert_int_equal(gantry__native_check(&fixture.host, &errors, 3000000000, "odd"),
                     GANTRY_UNKNOWN);
    assert_string_equal(fixture_error, "odd: unknown Test error (3000000000)");
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    assert_int_equal(gantry__native_check(&fixture.host, &errors, 700, "%s", longer),
                     GANTRY_UNAVAILABLE);
    assert_error_has("xxx: TEST_LOST (700)"); /* the text is cut, the number is kept */
}

/* ---- libraries ---- */

typedef struct table_t {
    double (*cos)(double);
    double (*none)(double);
} table_t;

TEST(library_is_the_first_that_opens) {
    static const char *const names[] = {"libnot-there.so.7", "libm.so.6"};
    static const gantry__library_symbol_t symbols[] = {
        {"cos", offsetof(table_t, cos)}, {"no_such_function", offsetof(table_t, none)}};
    fixture_t fixture;
    table_t table = {NULL, NULL};
    char name[64];
    char reasons[512];
    void *library;

    fixture_init(&fixture);
    library = gantry__library_open(&fixture.host, "GANTRY_FILE", names, 2, name, sizeof name,
                                   reasons, sizeof reasons);
    assert_non_null(library);
    assert_string_equal(name, "libm.so.6");
    assert_null(gantry__library_resolve(library, symbols, 1, &table));
    assert_true(table.cos(0) == 1);
    assert_string_equal(gantry__library_resolve(library, symbols, 2, &table), "no_such_function");
    assert_null(table.none);
}

TEST(library_that_is_missing_has_each_ones_reason) {
    static const char *const names[] = {"libnot-there.so.7", "libnot-there.so"};
    fixture_t fixture;
    char name[64];
    char reasons[512];

    fixture_init(&fixture);
    assert_null(gantry__library_open(&fixture.host, "GANTRY_FILE", names, 2, name, sizeof name,
                                     reasons, sizeof reasons));
    assert_non_null(strstr(reasons, "libnot-there.so.7: "));
    assert_non_null(strstr(reasons, "; libnot-there.so: "));
    /* a requested file has no substitute */
    fixture_set(&fixture, "GANTRY_FILE", "/nonexistent/mine.so");
    assert_null(gantry__library_open(&fixture.host, "GANTRY_FILE", names, 2, name, sizeof name,
                                     reasons, sizeof reasons));
    assert_non_null(strstr(reasons, "/nonexistent/mine.so: "));
    assert_null(strstr(reasons, "libnot-there"));
}

/* ---- a compiler's error ---- */

/* The loader would map the file, and the process would crash. */
TEST(library_whose_file_is_cut_is_refused) {
    static const char path[] = "/tmp/gantry_test_cut_library.so";
    fixture_t fixture;
    char name[64] = "";
    char reasons[512];
    char bytes[4096];
    const char *candidates[] = {path};
    FILE *whole = fopen("/proc/self/exe", "rb");
    FILE *cut = fopen(path, "wb");

    fixture_init(&fixture);
    assert_true(whole != NULL && cut != NULL);
    assert_int_equal(fread(bytes, 1, sizeof bytes, whole), sizeof bytes);
    assert_int_equal(fwrite(bytes, 1, sizeof bytes, cut), sizeof bytes);
    assert_int_equal(fclose(whole) + fclose(cut), 0);
    assert_int_equal(gantry__os_library_is_cut("/proc/self/exe"), 0);
    assert_int_equal(gantry__os_library_is_cut(path), 1);
    assert_null(gantry__library_open(&fixture.host, "GANTRY_WAY", candidates, 1, name, sizeof name,
                                     reasons, sizeof reasons));
    assert_string_equal(reasons,
                        "/tmp/gantry_test_cut_library.so: the file ends before its content does");
    assert_int_equal(unlink(path), 0);
}

TEST(refusal_shows_a_long_log_from_its_first_error_on) {
    static const char middle[] = "\nline 7: error: nothing is known\nline 8\n";
    fixture_t fixture;
    gantry__build_failure_t failure = {.domain = "Test",
                                       .code = GANTRY_INVALID_ARGUMENT,
                                       .native = -11,
                                       .native_name = "TEST_BUILD",
                                       .label = "test/bad",
                                       .options = "-DA=1",
                                       .hardware_name = "a card"};
    char log[4000];

    fixture_init(&fixture);
    memset(log, '.', sizeof log - 1);
    log[sizeof log - 1] = '\0';
    memcpy(log + 2000, middle, sizeof middle - 1);
    assert_int_equal(gantry__build_failed(&fixture.host, &failure), GANTRY_INVALID_ARGUMENT);
    assert_string_equal(fixture_error,
                        "building \"test/bad\" with \"-DA=1\" for \"a card\": TEST_BUILD (-11)\n"
                        "the compiler left no log");
    failure.log = log;
    gantry__build_failed(&fixture.host, &failure);
    assert_error_has("TEST_BUILD (-11)\nline 7: error: nothing is known\nline 8\n...");
    failure.log = "short, without the word";
    gantry__build_failed(&fixture.host, &failure);
    assert_error_has("(-11)\nshort, without the word");
}

/* Messages of PoCL's, NVIDIA's and LLVM's compilers. */
TEST(refusal_for_lack_of_memory_is_exhausted) {
    static const char *const logs[] = {
        "error: <built-in>:4:10: cannot open file 'opencl-c.h': Cannot allocate memory\nDevice p failed to build\n",
        "ptxas fatal   : Memory allocation failure\n", "LLVM ERROR: out of memory\n",
        "std::bad_alloc"};
    fixture_t fixture;
    gantry__build_failure_t failure = {.domain = "Test",
                                       .code = GANTRY_INVALID_ARGUMENT,
                                       .native = -11,
                                       .native_name = "TEST_BUILD",
                                       .label = "test/good",
                                       .options = "",
                                       .hardware_name = "a card"};

    fixture_init(&fixture);
    for (size_t i = 0; i < sizeof logs / sizeof logs[0]; ++i) {
        failure.log = logs[i];
        assert_int_equal(gantry__build_failed(&fixture.host, &failure), GANTRY_RESOURCE_EXHAUSTED);
        assert_error_has(logs[i]);
    }
}

/* ---- limits of the process ---- */

TEST(limit_of_the_process_is_told_with_what_is_left) {
    struct rlimit before;
    struct rlimit set;
    char text[256] = "as it was";

    assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
    if (before.rlim_cur != RLIM_INFINITY || HAS_THREAD_SANITIZER) {
        printf("skipped: the address space is limited already, or taken by ThreadSanitizer\n");
        skip();
    }
    assert_false(gantry__process_is_limited());
    assert_int_equal(gantry__process_counted_bytes(), 0);
    assert_true(gantry__process_has_room(UINT64_C(1) << 50, text, sizeof text));
    assert_string_equal(text, "as it was");
    gantry__process_limit_text(text, sizeof text);
    assert_string_equal(text, "");
    set = before;
    set.rlim_cur = UINT64_C(1) << 46; /* 64 TiB: sanitizers reserve some */
    assert_int_equal(setrlimit(RLIMIT_AS, &set), 0);
    assert_true(gantry__process_is_limited());
    assert_true(gantry__process_counted_bytes() > UINT64_C(1) << 16);
    assert_true(gantry__process_has_room(1, text, sizeof text));
    assert_false(gantry__process_has_room(UINT64_C(1) << 50, text, sizeof text));
    assert_non_null(strstr(
        text,
        "the address space (ulimit -v) of this process is limited to 67108864 MiB, of which "));
    assert_non_null(strstr(text, " MiB are left and 1073741824 MiB are needed"));
    gantry__process_limit_text(text, sizeof text);
    assert_non_null(
        strstr(text, "; the address space (ulimit -v) of this process is limited to 67108864 MiB"));
    assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
}

TEST(limit_of_files_is_told) {
    struct rlimit before;
    char text[256] = "as it was";

    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &(struct rlimit){1 << 20, before.rlim_max}), 0);
    assert_true(gantry__process_may_write(1 << 20, text, sizeof text));
    assert_string_equal(text, "as it was");
    assert_false(gantry__process_may_write(4 << 20, text, sizeof text));
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_string_equal(
        text, "a file of this process is limited to 1024 KiB (ulimit -f) and may take 4096 KiB");
}

/* ---- kernels ---- */

TEST(kernel_list_finds_by_name_and_gives_all_back) {
    gantry__kernel_head_t heads[3] = {
        {.name = (char[]){"a"}}, {.name = (char[]){"ab"}}, {.name = (char[]){"ab"}}};
    gantry__kernel_list_t list;
    int taken = 0;

    assert_true(gantry__kernel_list_init(&list));
    assert_null(gantry__kernel_list_find(&list, "a"));
    for (int i = 0; i < 3; ++i) {
        gantry__kernel_list_add(&list, &heads[i]);
    }
    assert_ptr_equal(gantry__kernel_list_find(&list, "a"), &heads[0]);
    assert_string_equal(gantry__kernel_list_find(&list, "ab")->name, "ab");
    assert_null(gantry__kernel_list_find(&list, "b"));
    while (gantry__kernel_list_take(&list) != NULL) {
        taken++;
    }
    assert_int_equal(taken, 3); /* also the one of two kernels created at the same time */
    assert_null(gantry__kernel_list_find(&list, "a"));
    gantry__kernel_list_deinit(&list);
}

TEST(kernel_info_of_an_older_caller_is_not_written_beyond) {
    gantry__kernel_head_t head = {
        .info = {.struct_size = sizeof head.info, .max_work_group_size = 64, .local_bytes = 9}};
    gantry_kernel_info_t info = {.struct_size = offsetof(gantry_kernel_info_t, local_bytes),
                                 .local_bytes = 77};

    assert_int_equal(gantry__kernel_head_info(&head, &info), 0);
    assert_int_equal(info.struct_size, offsetof(gantry_kernel_info_t, local_bytes));
    assert_int_equal(info.max_work_group_size, 64);
    assert_int_equal(info.local_bytes, 77);
}

int main(void) { return test_main(); }
