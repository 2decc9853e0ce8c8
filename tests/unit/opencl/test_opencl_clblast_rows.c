/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Valid rows of tuned parameters for CLBlast reach their device, and others are refused
 * with a reason. */
#define _POSIX_C_SOURCE 200809L
#include "opencl_fixture.h"
#include "test.h"

#include <unistd.h>

#include "opencl/matmul/opencl_clblast_parameters.h"

#define GOOD                                                                                                       \
    "NVIDIA 9.0 float32 Xgemm GEMMK=0 KREG=1 KWG=32 KWI=2 MDIMA=8 MDIMC=32 MWG=128 NDIMB=16 NDIMC=8 NWG=128 SA=1 " \
    "SB=1 "                                                                                                        \
    "STRM=1 STRN=1 VWM=2 VWN=2"

TEST(row_is_read) {
    gantry__clblast_row_t row;
    char reason[160];
    const char *kernel;
    const char *const *names;

    assert_int_equal(gantry__clblast_row_read(GOOD "\r\n", &row, reason, sizeof reason), 1);
    assert_string_equal(row.vendor, "NVIDIA");
    assert_string_equal(row.capability, "9.0");
    assert_int_equal(row.precision, 32);
    assert_int_equal(gantry__clblast_row_names(&row, &kernel, &names), 16);
    assert_string_equal(kernel, "Xgemm");
    assert_string_equal(names[6], "MWG");
    assert_int_equal(row.values[6], 128);
    assert_string_equal(names[15], "VWN");
    assert_int_equal(row.values[15], 2);
    assert_int_equal(
        gantry__clblast_row_read("* - float64\tGemmRoutine XGEMM_MIN_INDIRECT_SIZE=448", &row,
                                 reason, sizeof reason),
        1);
    assert_int_equal(row.precision, 64);
    assert_int_equal(row.values[0], 448);
}

TEST(bad_row_is_refused_with_its_reason) {
    static const struct {
        const char *line;
        const char *reason;
    } cases[] = {
        {"NVIDIA 9.0 float32", "a row begins with"},
        {"ANameThatIsLongerThanVendorsHave 9.0 float32 Xgemm", "a row begins with"},
        {"NVIDIA 9.0 float16 Xgemm KWG=1", "float32 or float64"},
        {"NVIDIA 9.0 float32 Xgemv KWG=1", "Xgemm or GemmRoutine"},
        {"NVIDIA 9.0 float32 Xgemm KWG", "not NAME=NUMBER"},
        {"NVIDIA 9.0 float32 Xgemm KWG=", "not NAME=NUMBER"},
        {"NVIDIA 9.0 float32 Xgemm KWG=-1", "not NAME=NUMBER"},
        {"NVIDIA 9.0 float32 Xgemm KWG=3x", "not NAME=NUMBER"},
        {"NVIDIA 9.0 float32 Xgemm KWG=99999999999999999999999", "not NAME=NUMBER"},
        {"NVIDIA 9.0 float32 Xgemm KW=3", "no parameter \"KW\""},
        {"NVIDIA 9.0 float32 GemmRoutine KWG=3", "no parameter \"KWG\""},
        {GOOD " VWN=2", "VWN stands there twice"},
        {"NVIDIA 9.0 float32 GemmRoutine", "XGEMM_MIN_INDIRECT_SIZE is missing"},
    };
    gantry__clblast_row_t row;
    char reason[160];

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        assert_int_equal(gantry__clblast_row_read(cases[i].line, &row, reason, sizeof reason), 0);
        if (strstr(reason, cases[i].reason) == NULL) {
            fail_msg("%s: %s", cases[i].line, reason);
        }
    }
}

/* Each parameter has a value with which CLBlast computes wrong results or does not build. */
TEST(row_of_sizes_that_do_not_divide_is_refused) {
    static const char *const wrong[] = {
        "GEMMK=1", "KREG=2", "KWG=24", "KWI=3", "MDIMA=24", "MDIMC=0", "MWG=96", "NDIMB=48",
        "NDIMC=5", "NWG=72", "SA=2",   "SB=7",  "STRM=2",   "STRN=3",  "VWM=3",  "VWN=16"};

    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; ++i) {
        gantry__clblast_row_t row;
        char reason[160];
        char line[320];
        char name[16];
        size_t length = strcspn(wrong[i], "=") + 1;
        const char *at;

        snprintf(name, sizeof name, " %.*s", (int)length, wrong[i]);
        at = strstr(GOOD, name);
        assert_non_null(at);
        at += 1;
        snprintf(line, sizeof line, "%.*s%s%s", (int)(at - GOOD), GOOD, wrong[i],
                 at + strcspn(at, " "));
        if (gantry__clblast_row_read(line, &row, reason, sizeof reason)) {
            fail_msg("accepted: %s", line);
        }
    }
}

TEST(shipped_rows_are_right) {
    static const char *const rows[] = {
#define GANTRY__CLBLAST_ROW(text) text,
#include "opencl/matmul/opencl_clblast_rows.def"
#undef GANTRY__CLBLAST_ROW
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
        gantry__clblast_row_t row;
        char reason[160];

        if (!gantry__clblast_row_read(rows[i], &row, reason, sizeof reason)) {
            fail_msg("%s: %s", rows[i], reason);
        }
    }
}

/* ---- files ---- */

/* Opens an instance with a file of that text; its status must be `expected`. */
static void open_with_file(fixture_t *fixture, const char *text, int32_t expected) {
    static char path[32];
    FILE *file;
    int descriptor;

    snprintf(path, sizeof path, "/tmp/gantry_rows_XXXXXX");
    descriptor = mkstemp(path);
    assert_true(descriptor >= 0);
    file = fdopen(descriptor, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    fixture_init(fixture);
    fixture_set(fixture, "GANTRY_OPENCL_CLBLAST_PARAMETERS", path);
    fixture_set(fixture, "GANTRY_OPENCL_MATMUL", "clblast");
    if (expected == 0) {
        fixture_open_instance(fixture);
    } else {
        assert_int_equal(fixture->backend->open(&fixture->host, &fixture->instance), expected);
        assert_null(fixture->instance);
        assert_int_equal(atomic_load(&fixture->bytes), 0);
    }
    unlink(path);
}

TEST(file_with_a_bad_line_is_refused_with_its_number) {
    static char many[70 * 80];
    fixture_t fixture;

    open_with_file(&fixture, "# tuned\n\n" GOOD "\n  \t\nNVIDIA 9.0 float32 GemmRoutine\n",
                   GANTRY_INVALID_ARGUMENT);
    assert_error_has("line 5: XGEMM_MIN_INDIRECT_SIZE is missing");
    assert_error_has("/tmp/gantry_rows_");
    open_with_file(&fixture,
                   "\x7f"
                   "ELF\x02\x01",
                   GANTRY_INVALID_ARGUMENT);
    assert_error_has("line 1: ");
    for (int i = 0; i < 65; ++i) {
        strcat(many, "NVIDIA 9.0 float32 GemmRoutine XGEMM_MIN_INDIRECT_SIZE=448\n");
    }
    open_with_file(&fixture, many, GANTRY_INVALID_ARGUMENT);
    assert_error_has("line 65: more than 64 rows");
    fixture_init(&fixture);
    fixture_set(&fixture, "GANTRY_OPENCL_CLBLAST_PARAMETERS", "/nonexistent/rows");
    assert_int_equal(fixture.backend->open(&fixture.host, &fixture.instance),
                     GANTRY_INVALID_ARGUMENT);
    assert_error_has("/nonexistent/rows cannot be opened: No such file");
    fixture_set(&fixture, "GANTRY_OPENCL_CLBLAST_PARAMETERS", "/dev/zero");
    (void)alarm(60); /* the file never ends */
    assert_int_equal(fixture.backend->open(&fixture.host, &fixture.instance),
                     GANTRY_INVALID_ARGUMENT);
    (void)alarm(0);
    assert_error_has("/dev/zero is no plain file");
}

/* The log lines about CLBlast's rows, each after its level. */
static char said[4096];

static void keep_log(void *self, int32_t level, const char *text) {
    (void)self;
    if (strstr(text, "parameters for") != NULL) {
        size_t length = strlen(said);

        snprintf(said + length, sizeof said - length, "%d %s\n", (int)level, text);
    }
}

TEST(rows_reach_the_device_they_are_for) {
    fixture_t fixture;

    open_with_file(
        &fixture,
        GOOD
        "\n* * float32 GemmRoutine XGEMM_MIN_INDIRECT_SIZE=448\n"
        "* - float64 Xgemm GEMMK=0 KREG=1 KWG=8192 KWI=2 MDIMA=8 MDIMC=8 MWG=256 NDIMB=8 NDIMC=8 NWG=256 SA=1 SB=1 STRM=0 STRN=0 VWM=1 VWN=1\n",
        0);
    if (strstr(fixture.backend->libraries(fixture.instance), "CLBlast missing") != NULL) {
        fixture_close(&fixture);
        print_message("skipped: no CLBlast here\n");
        skip();
    }
    said[0] = '\0';
    fixture.host.log = keep_log;
    fixture_open_devices(&fixture);
    assert_non_null(strstr(said, "GemmRoutine float32"));
    assert_non_null(strstr(said, "set (0)"));
    assert_null(strstr(said, "Xgemm float32")); /* for another card */
    assert_non_null(strstr(said, "Xgemm float64"));
    assert_non_null(strstr(said, "are left out: they take more"));
    assert_null(strstr(said, "refused"));
    fixture_close(&fixture);
}

int main(void) {
    setenv("POCL_DEVICES", "pthread pthread", 1);
    return test_main();
}
