/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: The OpenCL backend reports each missing or damaged driver of the loader's list in a
 * sentence of its own.
 * Promise: An OpenCL driver that two .icd files name counts once.
 *
 * The sentence is part of the reason if no driver remains; otherwise it is in the line of
 * libraries. A driver that is listed twice counts once. A loader reads its list once per process,
 * so each test is a process of its own. */
#define _XOPEN_SOURCE 700

#include "icd_folder.h"
#include "log_lines.h"
#include "need_opencl.h"

#include <gantry/gantry.h>

#define MODULES GANTRY_TEST_MODULES "/../gantry"
#define DEVICES 2 /* POCL_DEVICES */

static char pocl[256]; /* the library's file */
static icd_folder_t folder;

typedef struct opened_t {
    gantry_runtime_t *runtime;
    gantry_backend_status_t status; /* an OpenCL backend */
    log_lines_t log;
} opened_t;

static void open_opencl(opened_t *opened) {
    log_lines_init(&opened->log);
    const gantry_runtime_options_t options = {.struct_size = sizeof options,
                                              .log_level = GANTRY_LEVEL_INFO,
                                              .log = log_lines_write,
                                              .log_user = &opened->log,
                                              .backend_path = MODULES,
                                              .backends = "cpu,opencl",
                                              .opencl_cpu_as_gpu = GANTRY_ON,
                                              .kernel_cache = ""};
    if (gantry_runtime_create(&options, &opened->runtime) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    opened->status = (gantry_backend_status_t){.struct_size = sizeof opened->status};
    for (size_t i = 0; i < gantry_backend_status_count(opened->runtime); ++i) {
        assert_int_equal(gantry_backend_status(opened->runtime, i, &opened->status), GANTRY_OK);
        if (strcmp(opened->status.name, "opencl") == 0) return;
    }
    fail_msg("there is no OpenCL backend");
}

static void expect_part(const char *text, const char *part) {
    if (!strstr(text, part)) fail_msg("\"%s\" does not say \"%s\"", text, part);
}

/* Expects no device, and a reason with this part. */
static void expect_reason(const char *part) {
    opened_t opened;
    open_opencl(&opened);
    assert_int_equal(opened.status.state, GANTRY_BACKEND_UNAVAILABLE);
    expect_part(opened.status.reason, part);
    gantry_runtime_release(opened.runtime);
}

/* Expects each of PoCL's devices once, and this part in the line of libraries and in the log. NULL:
 * both are silent. */
static void expect_devices(const char *part) {
    opened_t opened;
    const gantry_physical_device_t *gpus[8];
    size_t count = 0;
    open_opencl(&opened);
    if (opened.status.state != GANTRY_BACKEND_USABLE) fail_msg("%s", opened.status.reason);
    assert_int_equal(opened.status.device_count, DEVICES);
    assert_int_equal(gantry_list_physical_devices(opened.runtime, "GPU", 8, gpus, &count),
                     GANTRY_OK);
    assert_int_equal(count, DEVICES);
    if (part) {
        expect_part(opened.status.libraries, part);
        assert_int_equal(log_lines_with(&opened.log, part, ""), 1);
    } else {
        assert_null(strchr(opened.status.libraries, ';'));
    }
    gantry_runtime_release(opened.runtime);
}

static void set_vendors(const char *value) {
    assert_int_equal(setenv("OCL_ICD_VENDORS", value, 1), 0);
}

/* ---- the list itself ---- */

static void missing_folder_is_named(void **state) {
    char expected[256];
    (void)state;
    set_vendors(icd_folder_file(&folder, "missing"));
    (void)snprintf(expected, sizeof expected,
                   "OCL_ICD_VENDORS is \"%s/missing\", which does not exist", folder.path);
    expect_reason(expected);
}

static void empty_folder_is_named(void **state) {
    char expected[256];
    (void)state;
    (void)snprintf(expected, sizeof expected, "OCL_ICD_VENDORS is \"%s\", which holds no .icd file",
                   folder.path);
    expect_reason(expected);
}

static void folder_of_the_other_variable_is_named(void **state) {
    (void)state;
    (void)unsetenv("OCL_ICD_VENDORS");
    assert_int_equal(setenv("OPENCL_VENDOR_PATH", folder.path, 1), 0);
    expect_reason("OPENCL_VENDOR_PATH is \"");
}

static void file_as_the_list_is_read(void **state) {
    (void)state;
    icd_folder_add(&folder, "one.icd", pocl);
    set_vendors(icd_folder_file(&folder, "one.icd"));
    expect_devices(NULL);
}

static void library_as_the_list_is_opened(void **state) {
    (void)state;
    set_vendors(pocl);
    expect_devices(NULL);
}

static void library_as_the_list_that_is_missing_is_named(void **state) {
    (void)state;
    set_vendors("libgantry_none.so.1");
    expect_reason(
        "OCL_ICD_VENDORS names libgantry_none.so.1, which cannot be opened: libgantry_none.so.1: cannot open");
}

/* ---- one driver ---- */

static void missing_library_is_named(void **state) {
    (void)state;
    icd_folder_add(&folder, "gone.icd", "libgantry_none.so.1");
    expect_reason(
        "/gone.icd names libgantry_none.so.1, which cannot be opened: libgantry_none.so.1: cannot open");
}

static void text_in_place_of_a_library_is_named(void **state) {
    char expected[512];
    (void)state;
    icd_folder_add(&folder, "libtext.so", "this is no library, whatever its name says");
    (void)snprintf(expected, sizeof expected,
                   "/text.icd names %s/libtext.so, which cannot be opened: ", folder.path);
    icd_folder_add(&folder, "text.icd", icd_folder_file(&folder, "libtext.so"));
    expect_reason(expected);
}

/* The first half of PoCL's library: a loader would map it and crash. */
static void cut_library_is_named_and_ends_nobody(void **state) {
    enum { HALF = 300000 };
    char *bytes = malloc(HALF);
    FILE *file = fopen(pocl, "rb");
    (void)state;
    assert_true(bytes && file);
    assert_int_equal(fread(bytes, 1, HALF, file), HALF);
    assert_int_equal(fclose(file), 0);
    icd_folder_write(&folder, "libcut.so", bytes, HALF);
    free(bytes);
    icd_folder_add(&folder, "cut.icd", icd_folder_file(&folder, "libcut.so"));
    expect_reason("/libcut.so, whose file ends before its content does");
}

static void library_that_is_no_driver_is_named(void **state) {
    (void)state;
    icd_folder_add(&folder, "math.icd", "libm.so.6");
    expect_reason(
        "/math.icd names libm.so.6, which is no OpenCL driver: it has no function clGetExtensionFunctionAddress");
}

static void empty_file_is_named(void **state) {
    (void)state;
    icd_folder_write(&folder, "empty.icd", "", 0);
    expect_reason("/empty.icd is empty");
}

static void file_without_a_name_is_named(void **state) {
    (void)state;
    icd_folder_write(&folder, "blank.icd", "\n", 1);
    expect_reason("/blank.icd names nothing in its first line");
}

static void missing_library_beside_a_good_one_is_told(void **state) {
    (void)state;
    icd_folder_add(&folder, "gone.icd", "libgantry_none.so.1");
    icd_folder_add(&folder, "good.icd", pocl);
    expect_devices("/gone.icd names libgantry_none.so.1, which cannot be opened: ");
}

/* ---- a driver without devices ---- */

static void expect_level(const opened_t *opened, const char *part, gantry_log_level_t level) {
    for (int i = 0; i < opened->log.count && i < LOG_LINES; ++i) {
        if (!strstr(opened->log.lines[i], part)) continue;
        assert_int_equal(opened->log.levels[i], level);
        return;
    }
    fail_msg("no line of the log says \"%s\"", part);
}

/* Mesa's drivers on a machine without a card: each program would begin with a warning. */
static void driver_without_devices_is_no_warning(void **state) {
    static const char other[] = GANTRY_TEST_MODULES "/opencl/other_driver.so";
    opened_t opened;
    (void)state;
    if (access(other, R_OK) != 0) skip();
    icd_folder_add(&folder, "good.icd", pocl);
    icd_folder_add(&folder, "other.icd", other);
    open_opencl(&opened);
    assert_int_equal(opened.status.state, GANTRY_BACKEND_USABLE);
    expect_level(&opened, "OpenCL platform \"Other driver\": it has no devices", GANTRY_LEVEL_INFO);
    gantry_runtime_release(opened.runtime);
}

static void variable_that_names_no_device_is_a_warning(void **state) {
    opened_t opened;
    (void)state;
    assert_int_equal(setenv("POCL_DEVICES", "nonsense", 1), 0);
    icd_folder_add(&folder, "good.icd", pocl);
    open_opencl(&opened);
    expect_level(&opened, "it has no devices; POCL_DEVICES, which names them, is \"nonsense\"",
                 GANTRY_LEVEL_WARNING);
    gantry_runtime_release(opened.runtime);
}

/* ---- a driver listed twice ---- */

static void driver_of_two_files_is_counted_once(void **state) {
    (void)state;
    icd_folder_add(&folder, "a.icd", pocl);
    icd_folder_add(&folder, "b.icd", pocl);
    expect_devices("hands out 1 of its 2 platforms again");
}

static void driver_of_two_paths_and_a_link_is_counted_once(void **state) {
    char other[320];
    char *slash = strrchr(pocl, '/');
    (void)state;
    /* .../lib/./libpocl.so */
    (void)snprintf(other, sizeof other, "%.*s/.%s", (int)(slash - pocl), pocl, slash);
    icd_folder_add(&folder, "a.icd", pocl);
    icd_folder_add(&folder, "b.icd", other);
    assert_int_equal(symlink("a.icd", icd_folder_file(&folder, "c.icd")), 0);
    expect_devices("hands out 2 of its 3 platforms again");
}

/* ---- GANTRY_OPENCL_LIBRARY ---- */

static void driver_in_place_of_a_loader_says_where_it_belongs(void **state) {
    (void)state;
    assert_int_equal(setenv("GANTRY_OPENCL_LIBRARY", pocl, 1), 0);
    expect_reason(
        "it is a driver that a loader opens: leave GANTRY_OPENCL_LIBRARY to a loader, and name the driver with OCL_ICD_VENDORS");
}

/* ---- processes ---- */

static int run_alone(const struct CMUnitTest *test) {
    int state = -1;
    (void)fflush(stdout);
    icd_folder_make(&folder);
    pid_t child = fork();
    if (child == 0) {
        (void)setenv("POCL_DEVICES", "pthread pthread", 1);
        (void)setenv("GANTRY_TUNING_FILE", "", 1);
        (void)unsetenv("OPENCL_VENDOR_PATH");
        set_vendors(folder.path);
        _exit(_cmocka_run_group_tests("icd_vendors", test, 1, NULL, NULL));
    }
    int failed = child < 0 || waitpid(child, &state, 0) != child || state != 0;
    if (failed)
        (void)fprintf(stderr, "%s: %s %d\n", test->name, WIFSIGNALED(state) ? "signal" : "state",
                      state & 0x7f);
    icd_folder_remove(&folder);
    return failed;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(missing_folder_is_named),
        cmocka_unit_test(empty_folder_is_named),
        cmocka_unit_test(folder_of_the_other_variable_is_named),
        cmocka_unit_test(library_as_the_list_that_is_missing_is_named),
        cmocka_unit_test(missing_library_is_named),
        cmocka_unit_test(text_in_place_of_a_library_is_named),
        cmocka_unit_test(library_that_is_no_driver_is_named),
        cmocka_unit_test(empty_file_is_named),
        cmocka_unit_test(file_without_a_name_is_named),
        cmocka_unit_test(file_as_the_list_is_read),
        cmocka_unit_test(library_as_the_list_is_opened),
        cmocka_unit_test(cut_library_is_named_and_ends_nobody),
        cmocka_unit_test(missing_library_beside_a_good_one_is_told),
        cmocka_unit_test(driver_without_devices_is_no_warning),
        cmocka_unit_test(variable_that_names_no_device_is_a_warning),
        cmocka_unit_test(driver_of_two_files_is_counted_once),
        cmocka_unit_test(driver_of_two_paths_and_a_link_is_counted_once),
        cmocka_unit_test(driver_in_place_of_a_loader_says_where_it_belongs),
    };
    int failed = 0;
    if (!icd_folder_find_pocl(pocl, sizeof pocl))
        return without_opencl("PoCL in /etc/OpenCL/vendors/pocl.icd");
    for (size_t i = 0; i < sizeof tests / sizeof tests[0]; ++i) failed += run_alone(&tests[i]);
    return failed;
}
