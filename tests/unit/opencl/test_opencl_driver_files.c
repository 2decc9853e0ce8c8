/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: The OpenCL backend lists the files whose code it would run, and opens none of them: the
 * loader, and each driver that a .icd file names.
 *
 * A list that does not fit is cut, and its length is returned. */
#define _XOPEN_SOURCE 700

#include "icd_folder.h"
#include "test.h"

#include "opencl/opencl_drivers.h"

static const char *library;

static const char *option(void *self, const char *name) {
    (void)self;
    return strcmp(name, "GANTRY_OPENCL_LIBRARY") == 0 ? library : NULL;
}

/* Without a log: a listing reports nothing. */
static const gantry_host_t host = {
    .struct_size = sizeof host, .abi_version = GANTRY_ABI_VERSION, .option = option};

static icd_folder_t folder;
static char text[512];

static void list(void) {
    memset(text, '?', sizeof text);
    const uint64_t length = gantry__opencl_driver_files(&host, text, sizeof text);
    assert_int_equal(length, strnlen(text, sizeof text));
}

static void expect_line(const char *line) {
    if (!strstr(text, line)) fail_msg("\"%s\" is not in \"%s\"", line, text);
}

TEST(loader_and_drivers_are_listed) {
    library = NULL;
    assert_int_equal(setenv("OCL_ICD_VENDORS", folder.path, 1), 0);
    list();
    assert_string_equal(text, "libOpenCL.so.1\n");
    icd_folder_add(&folder, "a.icd", "/none/liba.so");
    icd_folder_add(&folder, "b.icd", "libb.so.1");
    icd_folder_write(&folder, "empty.icd", "", 0);
    list();
    assert_int_equal(strlen(text), strlen("libOpenCL.so.1\n/none/liba.so\nlibb.so.1\n"));
    expect_line("libOpenCL.so.1\n");
    expect_line("/none/liba.so\n");
    expect_line("libb.so.1\n");
    assert_int_equal(setenv("OCL_ICD_VENDORS", "/none/libc.so", 1), 0);
    list(); /* the variable names a library that does not exist */
    assert_string_equal(text, "libOpenCL.so.1\n");
}

TEST(driver_in_place_of_a_loader_is_alone) {
    library = "/none/libmine.so";
    list();
    assert_string_equal(text, "/none/libmine.so\n");
    library = "/none/libOpenCL.so.9";
    assert_int_equal(setenv("OCL_ICD_VENDORS", icd_folder_file(&folder, "a.icd"), 1), 0);
    list();
    assert_string_equal(text, "/none/libOpenCL.so.9\n/none/liba.so\n");
}

TEST(list_is_cut_as_by_snprintf) {
    library = "/none/libOpenCL.so.9";
    for (uint64_t capacity = 0; capacity < 40; ++capacity) {
        memset(text, '?', sizeof text);
        assert_int_equal(gantry__opencl_driver_files(&host, text, capacity), 35);
        assert_int_equal(text[capacity], '?');
        if (capacity > 0)
            assert_int_equal(strnlen(text, capacity), capacity > 35 ? 35 : capacity - 1);
    }
}

int main(void) {
    icd_folder_make(&folder);
    (void)unsetenv("OPENCL_VENDOR_PATH");
    int failed = test_main();
    icd_folder_remove(&folder);
    return failed;
}
