/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Records of the tuning file set the CPU product's block sizes and CLBlast's parameters on
 * OpenCL devices.
 *
 * Products are right with every valid size; other sizes are refused with file, line and reason. */
#define _POSIX_C_SOURCE 200809L
#include "opencl_fixture.h"
#include "test.h"

#include <unistd.h>

#include "product_case.h"

#include "opencl/opencl_backend.h"

static const char *wanted; /* the record's name and its values */
static const char *values;
static char said[2048];

static int32_t find_record(void *self, const gantry_device_info_t *device, const char *what,
                           gantry_tuning_t *out) {
    (void)self;
    assert_string_equal(device->platform_name, "Portable Computing Language");
    if (wanted == NULL || strcmp(what, wanted) != 0) {
        return 0;
    }
    out->values = values;
    out->measured = "2026-11-22T01:02:03Z";
    out->file = "/a/file";
    out->line = 7;
    return 1;
}

static void keep_log(void *self, int32_t level, const char *text) {
    size_t length = strlen(said);

    (void)self;
    (void)level;
    snprintf(said + length, sizeof said - length, "%s\n", text);
}

static void open_tuned(core_t *core, fixture_t *fixture, const char *choice, const char *what,
                       const char *record) {
    memset(core, 0, sizeof *core);
    core->fixture = fixture;
    core->dtypes = floats;
    core->dtype_count = 1;
    said[0] = '\0';
    wanted = what;
    values = record;
    fixture_init(fixture);
    fixture->host.tuning = find_record;
    fixture->host.log = keep_log;
    fixture_set(fixture, "GANTRY_OPENCL_MATMUL", choice);
    fixture_open_instance(fixture);
    fixture_open_devices(fixture);
}

TEST(sizes_are_read_or_refused_with_a_reason) {
    static const char *const wrong[] = {"",
                                        "depth=512",
                                        "depth=512 rows=120 columns=1024",
                                        "depth=15 rows=120 columns=1024 direct=24",
                                        "depth=512 rows=2000 columns=1024 direct=24",
                                        "depth=512 rows=120 columns=99999999999999999999 direct=24",
                                        "depth=512 rows=120 columns=1024 direct=-1",
                                        "depth=512 rows=120 columns=1024 direct=",
                                        "depth=512 rows=120 columns=1024 direct=24x",
                                        "depth=512 rows=120 columns=1024 direct=24 depth=512",
                                        "depth=512 rows=120 columns=1024 direct=24 more=1",
                                        "nonsense",
                                        "="};
    gantry__opencl_cpu_blocks_t blocks = GANTRY__OPENCL_CPU_BLOCKS;
    char reason[192];

    assert_int_equal(gantry__opencl_cpu_blocks_read("direct=0 rows=4 columns=16 depth=16", &blocks,
                                                    reason, sizeof reason),
                     1);
    assert_true(blocks.depth == 16 && blocks.rows == 4 && blocks.columns == 16 &&
                blocks.direct == 0);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; ++i) {
        reason[0] = '\0';
        if (gantry__opencl_cpu_blocks_read(wrong[i], &blocks, reason, sizeof reason) ||
            reason[0] == '\0') {
            fail_msg("accepted: %s", wrong[i]);
        }
        assert_true(blocks.depth == 16 && blocks.rows == 4 && blocks.columns == 16 &&
                    blocks.direct == 0);
    }
}

/* The smallest and largest sizes, and sizes that divide nothing. */
TEST(odd_sizes_give_right_products) {
    static const char *const odd[] = {
        "depth=16 rows=4 columns=16 direct=0", "depth=4096 rows=1024 columns=16384 direct=1024",
        "depth=17 rows=5 columns=17 direct=1", "depth=100 rows=1000 columns=33 direct=3"};
    static const int64_t shapes[][3] = {{300, 257, 97}, {31, 300, 130}, {700, 260, 6},
                                        {3, 900, 800},  {1, 600, 500},  {65, 65, 65},
                                        {40, 2100, 9}};

    for (size_t i = 0; i < sizeof odd / sizeof odd[0]; ++i) {
        fixture_t fixture;
        core_t core;

        open_tuned(&core, &fixture, "cpu", "opencl.cpu_matmul.float32", odd[i]);
        check_shapes(&core, shapes, sizeof shapes / sizeof shapes[0], 0);
        assert_null(strstr(said, "not used"));
        core_close(&core);
    }
}

TEST(sizes_of_float64_are_its_own) {
    static const int64_t shapes[][3] = {{300, 257, 97}, {31, 300, 130}};
    fixture_t fixture;
    core_t core;

    open_tuned(&core, &fixture, "auto", "opencl.cpu_matmul.float64",
               "depth=16 rows=4 columns=16 direct=0");
    core.dtype_count = 2;
    check_shapes(&core, shapes, 2, 0);
    assert_int_equal(fixture.device[0]->cpu_blocks[0].depth, GANTRY__OPENCL_CPU_BLOCKS.depth);
    assert_int_equal(fixture.device[0]->cpu_blocks[1].depth, 16);
    core_close(&core);
}

TEST(absurd_sizes_are_told_and_left_out) {
    static const int64_t shapes[][3] = {{300, 257, 97}};
    fixture_t fixture;
    core_t core;

    open_tuned(&core, &fixture, "cpu", "opencl.cpu_matmul.float32",
               "depth=0 rows=0 columns=0 direct=0");
    check_shapes(&core, shapes, 1, 0);
    assert_non_null(strstr(
        said, "Tuning file /a/file, line 7: opencl.cpu_matmul.float32 is not used: a size is out"));
    core_close(&core);
}

TEST(clblast_takes_records) {
    static const struct {
        const char *what, *values, *said;
    } cases[] = {
        {"clblast.gemm_routine.float32", "XGEMM_MIN_INDIRECT_SIZE=448", "GemmRoutine float32"},
        {"clblast.gemm_routine.float64", "XGEMM_MIN_INDIRECT_SIZE=448", "GemmRoutine float64"},
        {"clblast.xgemm.float32", "KWG=3", "clblast.xgemm.float32 is not used: GEMMK is missing"},
        {"clblast.xgemm.float32", "", "clblast.xgemm.float32 is not used: GEMMK is missing"},
        {"clblast.xgemm.float32",
         "GEMMK=0 KREG=1 KWG=8192 KWI=2 MDIMA=8 MDIMC=8 MWG=256 NDIMB=8 NDIMC=8 NWG=256 SA=1 SB=1 STRM=0 STRN=0 VWM=1 VWN=1",
         "are left out: they take more"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        fixture_t fixture;
        core_t core;

        open_tuned(&core, &fixture, "clblast", cases[i].what, cases[i].values);
        if (strstr(fixture.backend->libraries(fixture.instance), "CLBlast missing") != NULL) {
            core_close(&core);
            print_message("skipped: no CLBlast here\n");
            skip();
        }
        if (strstr(said, cases[i].said) == NULL) {
            fail_msg("\"%s\" is not in: %s", cases[i].said, said);
        }
        core_close(&core);
    }
}

TEST(a_file_of_rows_goes_before_records) {
    static char path[] = "/tmp/gantry_tuned_XXXXXX";
    static const char row[] = "* * float32 GemmRoutine XGEMM_MIN_INDIRECT_SIZE=448\n";
    fixture_t fixture;
    int file = mkstemp(path);

    assert_true(file >= 0 && write(file, row, sizeof row - 1) == (ssize_t)sizeof row - 1 &&
                close(file) == 0);
    said[0] = '\0';
    wanted = "clblast.gemm_routine.float32";
    values = "nonsense";
    fixture_init(&fixture);
    fixture.host.tuning = find_record;
    fixture.host.log = keep_log;
    fixture_set(&fixture, "GANTRY_OPENCL_MATMUL", "clblast");
    fixture_set(&fixture, "GANTRY_OPENCL_CLBLAST_PARAMETERS", path);
    fixture_open_instance(&fixture);
    fixture_open_devices(&fixture);
    assert_null(strstr(said, "not used"));
    if (strstr(fixture.backend->libraries(fixture.instance), "CLBlast missing") == NULL) {
        assert_non_null(strstr(said, "GemmRoutine float32"));
    }
    fixture_close(&fixture);
    unlink(path);
}

int main(void) {
    setenv("POCL_DEVICES", "pthread pthread", 1);
    return test_main();
}
