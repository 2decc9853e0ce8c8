/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Each runtime has instances of its backends of its own, and nothing leaks when memory
 * runs out while backends are opened.
 * Promise: Modules of backends are found in the paths of the option and of the environment and next
 * to the library, and each refusal has a reason.
 * Promise: A module that is damaged, cut, incomplete, found twice or of another ABI is refused with
 * the reason, and one of the previous layout works.
 * Promise: What a table of ABI version 2 gave a new meaning is not read from one of version 1.
 * Promise: One of Gantry's own backends that is found nowhere is listed with the reason. */
#define _XOPEN_SOURCE 700

#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fake_module.h"
#include "test.h"

#include "backend/backend_check.h"
#include "backend/backend_set.h"
#include "backend/builtin.h"
#include "locked_heap.h"
#include "log_lines.h"

static const gantry_fake_control_t *fake;
static char root[PATH_MAX - 256]; /* this test's own directory */

typedef struct fixture_t {
    locked_heap_t heap;
    log_lines_t log;
    gantry__settings_t settings;
    gantry__backend_set_t set;
} fixture_t;

static void begin(fixture_t *f, long fail_at) {
    locked_heap_init(&f->heap, -1);
    log_lines_init(&f->log);
    assert_int_equal(gantry__settings_init(&f->settings, &f->heap.heap), GANTRY_OK);
    f->heap.inner.fail_at = fail_at;
}

static void end(fixture_t *f) {
    gantry__settings_deinit(&f->settings);
    assert_int_equal(f->heap.inner.live_blocks, 0);
    assert_false(f->heap.inner.wrong_size);
    locked_heap_deinit(&f->heap);
}

static void open_set(fixture_t *f, const char *path, const char *only) {
    begin(f, -1);
    gantry_status_t status =
        gantry__backend_set_init(&f->set, &f->heap.heap, &f->log.log, &f->settings, path, only);
    if (status != GANTRY_OK) fail_msg("%s", gantry__message());
}

static void close_set(fixture_t *f) {
    gantry__backend_set_deinit(&f->set);
    end(f);
}

/* The number of backends that were found; the set lists absent ones behind them. */
static size_t found(const fixture_t *f) {
    size_t count = 0;
    while (count < f->set.count && strcmp(f->set.items[count].path, "none") != 0) ++count;
    return count;
}

/* The only backend besides the built-in ones. */
static const gantry__backend_t *only_module(const fixture_t *f) {
    assert_int_equal(found(f), gantry__builtin_backend_count + 1);
    return &f->set.items[found(f) - 1];
}

static void expect_state(const gantry__backend_t *item, gantry_backend_state_t state,
                         const char *reason) {
    /* gcc does not know that fail_msg never returns */
    const char *text = item->reason ? item->reason : "(none)";
    if (!strstr(text, reason)) fail_msg("the reason is \"%s\", not \"%s\"", text, reason);
    assert_int_equal(item->state, state);
    assert_int_equal(*item->reason == '\0', state == GANTRY_BACKEND_USABLE);
    assert_int_equal(item->instance != NULL, state == GANTRY_BACKEND_USABLE);
}

static void expect_refused(const char *path, const char *reason) {
    fixture_t f;
    open_set(&f, path, NULL);
    const gantry__backend_t *item = only_module(&f);
    expect_state(item, GANTRY_BACKEND_REFUSED, reason);
    assert_non_null(strstr(item->reason, item->path));
    assert_int_equal(log_lines_with(&f.log, item->path, reason), 1);
    close_set(&f);
}

/* ---- files of the test ---- */

static const char *in_root(const char *name) {
    static char path[PATH_MAX];
    (void)snprintf(path, sizeof path, "%s/%s", root, name);
    return path;
}

static void write_file(const char *name, const void *bytes, size_t size) {
    FILE *file = fopen(in_root(name), "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

/* The first part / parts of a real module. */
static void write_cut_module(const char *name, int part, int parts) {
    FILE *file = fopen(FAKE_FILE("fake", "fake"), "rb");
    assert_non_null(file);
    static char bytes[8 << 20];
    size_t size = fread(bytes, 1, sizeof bytes, file);
    assert_true(size > 1000 && size < sizeof bytes);
    assert_int_equal(fclose(file), 0);
    write_file(name, bytes, size * (size_t)part / (size_t)parts);
}

static int set_up(void **state) {
    (void)state;
    fake->reset();
    (void)unsetenv("GANTRY_BACKENDS");
    (void)unsetenv("GANTRY_BACKEND_PATH");
    const char *base = getenv("TMPDIR");
    (void)snprintf(root, sizeof root, "%s/gantry_test_set.XXXXXX", base && base[0] ? base : "/tmp");
    return mkdtemp(root) ? 0 : -1;
}

static int tear_down(void **state) {
    (void)state;
    static const char *const names[] = {
        "libgantry_backend_bad.so", "libgantry_backend_cut.so",  "libother.so",
        "libgantry_backend_.txt",   "libgantry_backend_link.so", "libgantry_backend_opencl.so"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i) (void)unlink(in_root(names[i]));
    (void)rmdir(root);
    fake_expect_nothing_lives(fake);
    return 0;
}

/* ---- search path of modules ---- */

TEST(folder_with_module_is_usable) {
    fixture_t f;
    fake->set_device_count(3);
    open_set(&f, FAKE_FOLDER("fake"), NULL);
    const gantry__backend_t *item = only_module(&f);
    expect_state(item, GANTRY_BACKEND_USABLE, "");
    assert_string_equal(item->name, "fake");
    assert_string_equal(item->path, FAKE_FILE("fake", "fake"));
    assert_int_equal(item->device_count, 3);
    assert_int_equal(fake->live(GANTRY_FAKE_INSTANCE), 1);
    close_set(&f);
    assert_int_equal(fake->calls("open"), 1);
    assert_int_equal(fake->calls("close"), 1);
}

TEST(builtin_cpu_comes_first) {
    fixture_t f;
    open_set(&f, FAKE_FOLDER("fake"), NULL);
    assert_string_equal(f.set.items[0].name, "cpu");
    assert_string_equal(f.set.items[0].path, "built in");
    expect_state(&f.set.items[0], GANTRY_BACKEND_USABLE, "");
    assert_true(f.set.items[0].device_count >= 1);
    close_set(&f);
}

TEST(library_without_module_folder_has_its_builtins_only) {
    fixture_t f;
    open_set(&f, NULL, NULL);
    assert_int_equal(found(&f), gantry__builtin_backend_count);
    close_set(&f);
}

TEST(file_named_directly_is_usable) {
    fixture_t f;
    open_set(&f, FAKE_FILE("other", "other"), NULL);
    expect_state(only_module(&f), GANTRY_BACKEND_USABLE, "");
    assert_string_equal(only_module(&f)->name, "other");
    close_set(&f);
}

TEST(environment_path_is_searched) {
    fixture_t f;
    assert_int_equal(setenv("GANTRY_BACKEND_PATH",
                            ":" FAKE_FOLDER("fake") "::" FAKE_FILE("other", "other") ":", 1),
                     0);
    open_set(&f, NULL, NULL);
    assert_int_equal(found(&f), gantry__builtin_backend_count + 2);
    expect_state(&f.set.items[found(&f) - 2], GANTRY_BACKEND_USABLE, "");
    assert_string_equal(f.set.items[found(&f) - 2].name, "fake");
    expect_state(&f.set.items[found(&f) - 1], GANTRY_BACKEND_USABLE, "");
    close_set(&f);
}

TEST(second_module_of_a_name_is_refused) {
    fixture_t f;
    assert_int_equal(setenv("GANTRY_BACKEND_PATH", FAKE_FOLDER("fake"), 1), 0);
    open_set(&f, FAKE_FOLDER("duplicate"), NULL); /* the option's path is searched first */
    assert_int_equal(found(&f), gantry__builtin_backend_count + 2);
    const gantry__backend_t *first = &f.set.items[found(&f) - 2], *second = first + 1;
    expect_state(first, GANTRY_BACKEND_USABLE, "");
    assert_string_equal(first->path, FAKE_FILE("duplicate", "fake"));
    expect_state(second, GANTRY_BACKEND_REFUSED, "a backend named fake was found earlier");
    assert_string_equal(second->path, FAKE_FILE("fake", "fake"));
    close_set(&f);
    assert_int_equal(fake->calls("open"), 0);
}

/* By a setting and an option, say, or because the setting names the library's own folder. */
TEST(folder_that_is_named_twice_has_its_modules_once) {
    fixture_t f;
    assert_int_equal(
        setenv("GANTRY_BACKEND_PATH", FAKE_FOLDER("fake") ":" FAKE_FILE("fake", "fake"), 1), 0);
    open_set(&f, FAKE_FOLDER("fake"), NULL);
    expect_state(only_module(&f), GANTRY_BACKEND_USABLE, "");
    close_set(&f);
    fake->set_open_result(GANTRY_UNAVAILABLE, "no driver was found");
    open_set(&f, FAKE_FOLDER("fake"), NULL);
    expect_state(only_module(&f), GANTRY_BACKEND_UNAVAILABLE, "no driver was found");
    close_set(&f);
}

TEST(unavailable_backend_keeps_its_name) {
    fixture_t f;
    fake->set_open_result(GANTRY_UNAVAILABLE, "no driver was found");
    open_set(&f, FAKE_FOLDER("fake") ":" FAKE_FOLDER("duplicate"), NULL);
    const gantry__backend_t *first = &f.set.items[found(&f) - 2];
    expect_state(first, GANTRY_BACKEND_UNAVAILABLE, "no driver was found");
    expect_state(first + 1, GANTRY_BACKEND_REFUSED,
                 "found earlier"); /* the first module of a name wins, even an unusable one */
    close_set(&f);
}

TEST(folder_with_other_files_has_no_modules) {
    fixture_t f;
    write_file("libother.so", "x", 1);
    write_file("libgantry_backend_.txt", "x", 1);
    open_set(&f, root, NULL);
    assert_int_equal(found(&f), gantry__builtin_backend_count);
    close_set(&f);
}

TEST(link_to_module_is_the_same_module) {
    fixture_t f;
    assert_int_equal(symlink(FAKE_FILE("fake", "fake"), in_root("libgantry_backend_link.so")), 0);
    open_set(&f, root, NULL);
    expect_state(only_module(&f), GANTRY_BACKEND_USABLE, "");
    assert_int_equal(fake->live(GANTRY_FAKE_INSTANCE), 1);
    close_set(&f);
}

/* ---- refusals ---- */

TEST(missing_file_is_refused_by_name) {
    expect_refused("/nonexistent/libgantry_backend_none.so", "cannot be opened");
}

TEST(damaged_file_is_refused) {
    write_file("libgantry_backend_bad.so", "", 0);
    expect_refused(root, "cannot be opened");
    write_file(
        "libgantry_backend_bad.so",
        "this is no library, however long it may be: 0123456789012345678901234567890123456789", 84);
    expect_refused(root, "cannot be opened");
}

/* The loader may need nothing of the lost part (symbols for a debugger); the process survives every
 * cut. */
TEST(cut_module_is_refused) {
    int refused = 0;
    for (int part = 1; part < 10; ++part) {
        char name[PATH_MAX];
        fixture_t f;
        write_cut_module("libgantry_backend_cut.so", part, 10);
        open_set(&f, strcpy(name, in_root("libgantry_backend_cut.so")), NULL);
        const gantry__backend_t *item = only_module(&f);
        if (item->state != GANTRY_BACKEND_USABLE)
            expect_state(item, GANTRY_BACKEND_REFUSED, "cannot be opened");
        refused += item->state == GANTRY_BACKEND_REFUSED;
        close_set(&f);
        /* the loader knows a file by its inode: the next file needs another one */
        assert_int_equal(unlink(name), 0);
    }
    assert_true(refused > 0);
}

/* The loader would wait for a writer. */
TEST(module_that_is_a_pipe_is_refused) {
    char name[PATH_MAX];
    assert_int_equal(mkfifo(strcpy(name, in_root("libgantry_backend_bad.so")), 0600), 0);
    (void)alarm(60); /* SIGALRM ends the test */
    expect_refused(name, "it is a pipe; a plain file is accepted");
    (void)alarm(0);
}

TEST(module_without_symbol_is_refused) {
    expect_refused(FAKE_FOLDER("empty"), "does not export gantry_backend_query");
}

TEST(module_of_newer_abi_is_refused) {
    expect_refused(FAKE_FOLDER("newer"),
                   "refuses ABI version 2 of this library (FailedPrecondition)");
    expect_refused(FAKE_FOLDER("rude"),
                   "backend fake has ABI version 99; this library accepts 1 to 2");
}

TEST(module_without_required_slot_is_refused) {
    expect_refused(FAKE_FOLDER("incomplete"),
                   "backend fake: required slot table->transfer->copy is missing");
}

TEST(module_that_claims_another_version_is_refused) {
    fake->set_abi_version(3);
    expect_refused(FAKE_FOLDER("fake"), "refuses ABI version 2");
    fake->set_abi_version(0);
    expect_refused(FAKE_FOLDER("fake"), "has ABI version 0");
}

TEST(failing_open_is_refused_with_its_text) {
    fixture_t f;
    fake->set_open_result(GANTRY_INTERNAL, "the driver is broken");
    open_set(&f, FAKE_FOLDER("fake"), NULL);
    expect_state(only_module(&f), GANTRY_BACKEND_REFUSED, "the driver is broken");
    close_set(&f);
    fake->set_open_result(GANTRY_UNAVAILABLE, NULL);
    (void)gantry__fail(GANTRY_INTERNAL, "an older failure");
    open_set(&f, FAKE_FOLDER("fake"), NULL);
    expect_state(only_module(&f), GANTRY_BACKEND_UNAVAILABLE, "the backend gave no reason");
    close_set(&f);
}

/* ---- the list of wanted backends ---- */

TEST(backend_not_in_the_list_is_left_out) {
    fixture_t f;
    open_set(&f, FAKE_FOLDER("fake"), "other, more");
    expect_state(only_module(&f), GANTRY_BACKEND_REFUSED,
                 "left out: the list of wanted backends is \"other, more\"");
    expect_state(&f.set.items[0], GANTRY_BACKEND_USABLE, ""); /* cpu is always there */
    close_set(&f);
    assert_int_equal(fake->calls("open"), 0);
}

TEST(list_of_the_environment_yields_to_the_option) {
    fixture_t f;
    assert_int_equal(setenv("GANTRY_BACKENDS", "fak,fakes", 1), 0);
    open_set(&f, FAKE_FOLDER("fake"), NULL);
    expect_state(only_module(&f), GANTRY_BACKEND_REFUSED, "\"fak,fakes\"");
    close_set(&f);
    open_set(&f, FAKE_FOLDER("fake"), "cpu,fake");
    expect_state(only_module(&f), GANTRY_BACKEND_USABLE, "");
    close_set(&f);
    open_set(&f, FAKE_FOLDER("fake"), ""); /* an empty list names all */
    expect_state(only_module(&f), GANTRY_BACKEND_USABLE, "");
    close_set(&f);
}

/* ---- the table ---- */

TEST(table_of_previous_layout_is_usable) {
    fixture_t f;
    const gantry_fake_control_t *previous = fake_module_control(FAKE_FILE("previous", "fake"));
    previous->reset();
    open_set(&f, FAKE_FOLDER("previous"), NULL);
    const gantry__backend_t *item = only_module(&f);
    expect_state(item, GANTRY_BACKEND_USABLE, "");
    assert_true(item->table->struct_size < sizeof *item->table);
    assert_false(GANTRY_ABI_HAS(item->table, interop));
    assert_false(GANTRY_ABI_HAS(item->table->memory, memory_info));
    assert_false(GANTRY_ABI_HAS(item->table->transfer, copy_peer));
    close_set(&f);
    fake_expect_nothing_lives(previous);
}

static const gantry_backend_t *fake_table(void) {
    static fixture_t f;
    open_set(&f, FAKE_FOLDER("fake"), NULL);
    const gantry_backend_t *table = only_module(&f)->table;
    close_set(&f);
    return table;
}

TEST(table_with_unacceptable_name_is_refused) {
    static const char *const names[] = {
        NULL, "", "Fake", "1fake", "_fake", "fa-ke", "fa ke", "a234567890123456789012345678901x"};
    gantry_backend_t table = *fake_table();
    for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i) {
        table.name = names[i];
        assert_int_equal(gantry__backend_table_check(&table), GANTRY_INVALID_ARGUMENT);
        assert_non_null(strstr(gantry__message(), "no acceptable name"));
    }
    table.name = "a23456789012345678901234567890x";
    assert_int_equal(gantry__backend_table_check(&table), GANTRY_OK);
    assert_int_equal(gantry__backend_table_check(NULL), GANTRY_INTERNAL);
}

/* Each pointer-sized slot of a struct is set to NULL in turn, and the struct is cut in front of the
 * slot. Both are refused, unless the slot is optional. */
static void check_slots(const gantry_backend_t *table, void *part, size_t part_bytes,
                        const size_t *optional, size_t optional_count) {
    uint32_t *struct_size = part;
    for (size_t at = 8; at < part_bytes; at += sizeof(void *)) {
        bool is_optional = false;
        for (size_t i = 0; i < optional_count; ++i) is_optional = is_optional || optional[i] == at;
        void *none = NULL, *kept;
        memcpy(&kept, (char *)part + at, sizeof kept);
        memcpy((char *)part + at, &none, sizeof none);
        gantry_status_t status = gantry__backend_table_check(table);
        if ((status == GANTRY_OK) != is_optional)
            fail_msg("slot at %zu of a struct of %zu: %s", at, part_bytes, gantry__message());
        if (!is_optional) assert_int_equal(status, GANTRY_INVALID_ARGUMENT);
        memcpy((char *)part + at, &kept, sizeof kept);
        uint32_t whole = *struct_size;
        *struct_size = (uint32_t)at + 4; /* half a slot counts as no slot */
        status = gantry__backend_table_check(table);
        *struct_size = whole;
        /* the cut may remove a required slot behind an optional one */
        if (!is_optional) assert_int_equal(status, GANTRY_INVALID_ARGUMENT);
        assert_int_equal(gantry__backend_table_check(table), GANTRY_OK);
    }
}

/* Slots that no test calls. */
static gantry_interop_ops_t every_interop_slot(void) {
    gantry_interop_ops_t ops;
    memset(&ops, 0x55, sizeof ops);
    ops.struct_size = sizeof ops;
    return ops;
}

TEST(sharing_of_version_1_is_not_read) {
    gantry_backend_t table = *fake_table();
    gantry_interop_ops_t interop = every_interop_slot();
    table.interop = &interop;
    assert_ptr_equal(gantry__backend_interop(&table), &interop);
    interop.region_adopt = NULL;
    assert_int_equal(gantry__backend_table_check(&table), GANTRY_INVALID_ARGUMENT);
    assert_non_null(strstr(gantry__message(), "slot table->interop->region_adopt is missing"));
    table.abi_version = 1; /* the place was another slot's */
    assert_null(gantry__backend_interop(&table));
    assert_int_equal(gantry__backend_table_check(&table), GANTRY_OK);
}

TEST(every_required_slot_is_checked) {
    gantry_backend_t table = *fake_table();
    gantry_memory_ops_t memory = *table.memory;
    gantry_stream_ops_t stream = *table.stream;
    gantry_event_ops_t event = *table.event;
    gantry_transfer_ops_t transfer = *table.transfer;
    gantry_program_ops_t program = *table.program;
    gantry_graph_ops_t graph = *table.graph;
    table.memory = &memory;
    table.stream = &stream;
    table.event = &event;
    table.transfer = &transfer;
    table.program = &program;
    table.graph = &graph;
    gantry_interop_ops_t interop = every_interop_slot();
    table.interop = &interop;
    static const size_t memory_optional[] = {offsetof(gantry_memory_ops_t, host_alloc),
                                             offsetof(gantry_memory_ops_t, host_free),
                                             offsetof(gantry_memory_ops_t, memory_info)};
    static const size_t stream_optional[] = {offsetof(gantry_stream_ops_t, flush),
                                             offsetof(gantry_stream_ops_t, create_with_priority),
                                             offsetof(gantry_stream_ops_t, set_timed)};
    static const size_t event_optional[] = {offsetof(gantry_event_ops_t, create_timed),
                                            offsetof(gantry_event_ops_t, elapsed)};
    static const size_t transfer_optional[] = {offsetof(gantry_transfer_ops_t, copy_peer)};
    static const size_t program_optional[] = {offsetof(gantry_program_ops_t, binary),
                                              offsetof(gantry_program_ops_t, load_binary),
                                              offsetof(gantry_program_ops_t, kernel_info)};
    static const size_t backend_optional[] = {
        offsetof(gantry_backend_t, description),  offsetof(gantry_backend_t, rank),
        offsetof(gantry_backend_t, kernels),      offsetof(gantry_backend_t, libraries),
        offsetof(gantry_backend_t, program),      offsetof(gantry_backend_t, interop),
        offsetof(gantry_backend_t, card_memory),  offsetof(gantry_backend_t, graph),
        offsetof(gantry_backend_t, driver_files), offsetof(gantry_backend_t, set_wait_policy),
        offsetof(gantry_backend_t, telemetry)};
    check_slots(&table, &memory, sizeof memory, memory_optional, 3);
    check_slots(&table, &stream, sizeof stream, stream_optional, 3);
    check_slots(&table, &event, sizeof event, event_optional, 2);
    check_slots(&table, &transfer, sizeof transfer, transfer_optional, 1);
    check_slots(&table, &program, sizeof program, program_optional, 3);
    check_slots(&table, &graph, sizeof graph, NULL, 0);
    check_slots(&table, &interop, sizeof interop, NULL, 0);
    check_slots(&table, &table, sizeof table, backend_optional, 11);
}

/* ---- the host that backends see ---- */

TEST(host_looks_options_up) {
    fixture_t f;
    assert_int_equal(setenv("GANTRY_TEST_OPTION", "environment", 1), 0);
    open_set(&f, NULL, NULL);
    const gantry_host_t *host = &f.set.host;
    assert_string_equal(host->option(host->self, "GANTRY_TEST_OPTION"), "environment");
    assert_null(host->option(host->self, "GANTRY_TEST_NO_OPTION"));
    close_set(&f);
    begin(&f, -1);
    assert_int_equal(gantry__settings_put(&f.settings, "GANTRY_TEST_OPTION", "option"), GANTRY_OK);
    assert_int_equal(
        gantry__backend_set_init(&f.set, &f.heap.heap, &f.log.log, &f.settings, NULL, NULL),
        GANTRY_OK);
    assert_string_equal(host->option(host->self, "GANTRY_TEST_OPTION"), "option");
    close_set(&f);
    (void)unsetenv("GANTRY_TEST_OPTION");
}

TEST(host_keeps_errors_and_log_lines) {
    fixture_t f;
    open_set(&f, NULL, NULL);
    const gantry_host_t *host = &f.set.host;
    assert_int_equal(host->set_error(host->self, GANTRY_NOT_FOUND, "OpenCL", -1, "no device"),
                     GANTRY_NOT_FOUND);
    assert_string_equal(gantry__message(), "no device (OpenCL -1)");
    assert_int_equal(host->set_error(host->self, GANTRY_NOT_FOUND, "fake", 0, "100% plain"),
                     GANTRY_NOT_FOUND);
    assert_string_equal(gantry__message(), "100% plain");
    assert_int_equal(host->set_error(host->self, 4711, "", 0, "odd"), GANTRY_UNKNOWN);
    f.log.count = 0;
    host->log(host->self, GANTRY_LEVEL_WARNING, "50% done");
    host->log(host->self, GANTRY_LEVEL_DEBUG, "detail");
    assert_int_equal(f.log.count, 2);
    assert_string_equal(f.log.lines[0], "50% done");
    assert_int_equal(f.log.levels[0], GANTRY_LEVEL_WARNING);
    assert_int_equal(f.log.levels[1], GANTRY_LEVEL_DEBUG);
    close_set(&f);
}

/* ---- lifetime ---- */

TEST(two_sets_have_their_own_instances) {
    fixture_t a, b;
    open_set(&a, FAKE_FOLDER("fake"), NULL);
    fake->set_device_count(2);
    open_set(&b, FAKE_FOLDER("fake"), NULL);
    assert_int_equal(fake->live(GANTRY_FAKE_INSTANCE), 2);
    assert_int_equal(only_module(&a)->device_count, 1);
    assert_int_equal(only_module(&b)->device_count, 2);
    close_set(&a);
    assert_int_equal(fake->live(GANTRY_FAKE_INSTANCE), 1);
    close_set(&b);
}

/* ---- absent backends ---- */

static const gantry__backend_t *find(const fixture_t *f, const char *name) {
    for (size_t i = 0; i < f->set.count; ++i) {
        if (strcmp(f->set.items[i].name, name) == 0) return &f->set.items[i];
    }
    return NULL;
}

TEST(known_backend_that_is_nowhere_is_stated_with_its_reason) {
    fixture_t f;
    open_set(&f, FAKE_FOLDER("fake"), NULL);
    size_t absent = 0;
    for (; gantry__absent_backends[absent].name; ++absent) {
        const gantry__backend_t *item = find(&f, gantry__absent_backends[absent].name);
        assert_non_null(item);
        expect_state(item, GANTRY_BACKEND_UNAVAILABLE, gantry__absent_backends[absent].reason);
        assert_string_equal(item->path, "none");
        assert_int_equal(log_lines_with(&f.log, item->name, item->reason), 1);
    }
    /* cpu, opencl, cuda: built in, or absent with a reason */
    assert_int_equal(absent + gantry__builtin_backend_count, 3);
    assert_int_equal(f.set.count, found(&f) + absent);
    close_set(&f);
}

static bool is_stated_absent(const fixture_t *f, const char *name) {
    for (size_t i = found(f); i < f->set.count; ++i) {
        if (strcmp(f->set.items[i].name, name) == 0) return true;
    }
    return false;
}

TEST(backend_of_which_a_module_is_found_is_not_stated_absent) {
    fixture_t f;
    open_set(&f, FAKE_FOLDER("cuda"), NULL);
    assert_false(is_stated_absent(&f, "cuda"));
    close_set(&f);
    write_file("libgantry_backend_opencl.so", "", 0); /* a damaged module is not absent */
    open_set(&f, root, NULL);
    assert_false(is_stated_absent(&f, "opencl"));
    close_set(&f);
}

TEST(memory_running_out_leaks_nothing) {
    gantry_status_t status = GANTRY_RESOURCE_EXHAUSTED;
    long at = 0;
    for (; status != GANTRY_OK; ++at) {
        fixture_t f;
        assert_true(at < 2000);
        begin(&f, at);
        status = gantry__backend_set_init(&f.set, &f.heap.heap, &f.log.log, &f.settings,
                                          FAKE_FOLDER("fake") ":" FAKE_FOLDER("empty"), NULL);
        if (status == GANTRY_OK) {
            /* every failed allocation was reported: a failure could hide a folder */
            assert_true(f.heap.inner.calls <= at);
            assert_int_equal(found(&f), gantry__builtin_backend_count + 2);
            gantry__backend_set_deinit(&f.set);
        } else {
            assert_int_equal(status, GANTRY_RESOURCE_EXHAUSTED);
            assert_int_equal(f.set.count, 0);
        }
        end(&f);
        assert_int_equal(fake->live(GANTRY_FAKE_INSTANCE), 0);
    }
    assert_true(at > 10);
}

int main(void) {
    fake = fake_module_control(FAKE_FILE("fake", "fake"));
    return test_main_each(set_up, tear_down);
}
