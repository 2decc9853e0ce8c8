/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Each constant of gantry/abi_types.h has one number, in C and in the first text of every
 * device program.
 *
 * The build makes that text from the header. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gantry/gantry.h>

#include <gantry/backend_abi.h>

#include "kernels/common/packed_text.h"
#include "test.h"

extern const unsigned char gantry__text_constants[];

static char constants[1 << 14];

/* As a program sees them that includes gantry.h. */
#define ROW(name) \
    { #name, name }
static const struct {
    const char *name;
    int number;
} rows[] = {ROW(GANTRY_DTYPE_NONE),
            ROW(GANTRY_FLOAT32),
            ROW(GANTRY_FLOAT64),
            ROW(GANTRY_INT32),
            ROW(GANTRY_UINT8),
            ROW(GANTRY_INT16),
            ROW(GANTRY_INT8),
            ROW(GANTRY_COMPLEX64),
            ROW(GANTRY_INT64),
            ROW(GANTRY_BOOL),
            ROW(GANTRY_BFLOAT16),
            ROW(GANTRY_UINT16),
            ROW(GANTRY_COMPLEX128),
            ROW(GANTRY_FLOAT16),
            ROW(GANTRY_UINT32),
            ROW(GANTRY_UINT64),
            ROW(GANTRY_FLOAT8_E5M2),
            ROW(GANTRY_FLOAT8_E4M3FN),
            ROW(GANTRY_MAX_RANK),
            ROW(GANTRY_OK),
            ROW(GANTRY_CANCELLED),
            ROW(GANTRY_UNKNOWN),
            ROW(GANTRY_INVALID_ARGUMENT),
            ROW(GANTRY_DEADLINE_EXCEEDED),
            ROW(GANTRY_NOT_FOUND),
            ROW(GANTRY_ALREADY_EXISTS),
            ROW(GANTRY_PERMISSION_DENIED),
            ROW(GANTRY_RESOURCE_EXHAUSTED),
            ROW(GANTRY_FAILED_PRECONDITION),
            ROW(GANTRY_ABORTED),
            ROW(GANTRY_OUT_OF_RANGE),
            ROW(GANTRY_UNIMPLEMENTED),
            ROW(GANTRY_INTERNAL),
            ROW(GANTRY_UNAVAILABLE),
            ROW(GANTRY_DATA_LOSS),
            ROW(GANTRY_ATTR_BOOL),
            ROW(GANTRY_ATTR_INT),
            ROW(GANTRY_ATTR_FLOAT),
            ROW(GANTRY_ATTR_TYPE),
            ROW(GANTRY_ATTR_SHAPE),
            ROW(GANTRY_ATTR_INTS),
            ROW(GANTRY_ATTR_STRING),
            ROW(GANTRY_LEVEL_DEFAULT),
            ROW(GANTRY_LEVEL_DEBUG),
            ROW(GANTRY_LEVEL_INFO),
            ROW(GANTRY_LEVEL_WARNING),
            ROW(GANTRY_LEVEL_ERROR),
            ROW(GANTRY_FAULT_NONE),
            ROW(GANTRY_FAULT_INDEX_OUT_OF_RANGE),
            ROW(GANTRY_FAULT_DIVISION_BY_ZERO),
            ROW(GANTRY_FAULT_BAD_PERMUTATION),
            ROW(GANTRY_FAULT_NEGATIVE_EXPONENT),
            ROW(GANTRY_FAULT_LABEL_OUT_OF_RANGE)};
#define ROWS (sizeof rows / sizeof rows[0])

TEST(device_programs_have_every_constant) {
    for (size_t i = 0; i < ROWS; ++i) {
        char line[128];
        (void)snprintf(line, sizeof line, "#define %s %d\n", rows[i].name, rows[i].number);
        if (!strstr(constants, line))
            fail_msg("constants.cl has no line \"%.*s\"", (int)strlen(line) - 1, line);
    }
}

/* Every `GANTRY_NAME = number` of the header, but no flag (1 << n), is in the table above, and so
 * in the programs. */
TEST(table_has_every_constant_of_the_header) {
    char line[512], name[64];
    FILE *file = fopen(GANTRY_TEST_SOURCE_DIR "/include/gantry/abi_types.h", "r");
    assert_non_null(file);
    size_t found = 0;
    while (fgets(line, sizeof line, file)) {
        int number;
        if (strstr(line, " << ")) continue;
        if (sscanf(line, " %63[A-Z0-9_] = %d", name, &number) != 2 &&
            sscanf(line, "#define %63[A-Z0-9_] %d", name, &number) != 2)
            continue;
        ++found;
        size_t i = 0;
        while (i < ROWS && strcmp(rows[i].name, name) != 0) ++i;
        if (i == ROWS) fail_msg("%s of abi_types.h is not in this test's table", name);
        assert_int_equal(rows[i].number, number);
    }
    (void)fclose(file);
    assert_int_equal(found, ROWS);
    size_t lines = 0;
    for (const char *text = constants; (text = strchr(text, '\n')); ++text) ++lines;
    assert_int_equal(lines, ROWS);
}

int main(void) {
    if (gantry__k_text_length(gantry__text_constants) >= sizeof constants) return 1;
    gantry__k_text_unpack(gantry__text_constants, constants);
    return test_main();
}
