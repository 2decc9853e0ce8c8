/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: A pipe in place of a file that the library, a loader or the dynamic linker reads or
 * writes by name is refused by name, without waiting for its other end. */
#define _XOPEN_SOURCE 700

#include "cli_case.h"
#include "test.h"

#define WAIT "timeout 50 $BIN/gantry "

static bool has_opencl;

typedef struct pipe_case_t {
    const char *line, *reason;
    int code;
} pipe_case_t;

static void expect_refusals(const pipe_case_t *cases, size_t count) {
    for (size_t i = 0; i < count; ++i) {
        expect_run(cases[i].code, cases[i].line);
        expect_in_output(cases[i].reason);
    }
}

TEST(files_of_the_library) {
    static const pipe_case_t cases[] = {
        {"mkfifo pipe; GANTRY_BACKEND_PATH=$PWD/pipe " WAIT "devices", "it is a pipe", 0},
        {"GANTRY_TUNING_FILE=$PWD/pipe " WAIT "cache verify --tuning", "it is a pipe", 1},
        {"mkfifo t.lock; touch t; GANTRY_TUNING_FILE=$PWD/t " WAIT "cache clear --tuning",
         "/t.lock': it is a pipe", 1},
        {"mkdir -p k/drivers && mkfifo k/drivers/opencl.crashed k/drivers/opencl.1.try && "
         "GANTRY_KERNEL_CACHE=$PWD/k " WAIT "devices",
         "/CPU:0", 0},
        {WAIT "trace pipe", "it is no plain file", 1},
        {"echo '[]' >empty.json; " WAIT "trace --html pipe empty.json", "cannot open", 1},
    };
    expect_refusals(cases, sizeof cases / sizeof cases[0]);
}

TEST(files_of_drivers) {
    if (!has_opencl) SKIP_BECAUSE("no OpenCL device here");
    static const pipe_case_t cases[] = {
        {"mkdir v && mkfifo v/a.icd driver; OCL_ICD_VENDORS=$PWD/v " WAIT "devices",
         "/a.icd is no plain file: a loader that opens it may wait for ever", 0},
        {"rm v/a.icd; echo $PWD/driver >v/b.icd; OCL_ICD_VENDORS=$PWD/v " WAIT "devices",
         "/driver, which is no plain file: a loader that opens it may wait for ever", 0},
        {"GANTRY_OPENCL_LIBRARY=$PWD/driver " WAIT "devices", "it is no plain file", 0},
        {"GANTRY_OPENCL_CLBLAST_PARAMETERS=$PWD/driver " WAIT "devices", "/driver is no plain file",
         0},
    };
    expect_refusals(cases, sizeof cases / sizeof cases[0]);
}

int main(void) {
    if (open_folder() != 0 || !find_opencl(1, &has_opencl)) return 1;
    int failed = test_main();
    (void)run("cd / && rm -rf %s", folder);
    return failed;
}
