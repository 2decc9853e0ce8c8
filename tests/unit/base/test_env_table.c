/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: docs/environment.md agrees with the library's table of variables, and the table with the
 * sources. */
#define _XOPEN_SOURCE 700

#include <ctype.h>
#include <glob.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test.h"

static const struct {
    const char *name, *values, *default_value, *meaning;
} rows[] = {
#define GANTRY__ENVIRONMENT_ROW(name, values, default_value, meaning) \
    {name, values, default_value, meaning},
#include "base/environment.def"
#undef GANTRY__ENVIRONMENT_ROW
};

#define ROWS (sizeof rows / sizeof rows[0])

static char *read_file(const char *path) {
    FILE *file = fopen(path, "rb");
    if (!file) fail_msg("%s cannot be read", path);
    static char text[1 << 20];
    size_t size = fread(text, 1, sizeof text - 1, file);
    (void)fclose(file);
    text[size] = '\0';
    return text;
}

TEST(page_has_exactly_the_tables_rows) {
    char *text = read_file(GANTRY_TEST_SOURCE_DIR "/docs/environment.md");
    size_t found = 0;
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        if (strncmp(line, "| `", 3) != 0) continue;
        if (found == ROWS) fail_msg("docs/environment.md has a row too many: %s", line);
        char wanted[512];
        (void)snprintf(wanted, sizeof wanted, "| `%s` | %s | %s | %s |", rows[found].name,
                       rows[found].values, rows[found].default_value, rows[found].meaning);
        assert_string_equal(line, wanted);
        ++found;
    }
    assert_int_equal(found, ROWS);
}

static bool is_in_table(const char *name, size_t length) {
    for (size_t i = 0; i < ROWS; ++i) {
        if (strlen(rows[i].name) == length && memcmp(rows[i].name, name, length) == 0) return true;
    }
    return false;
}

/* Every text in the sources that looks like a variable is in the table. */
static void check_source(const char *path) {
    static const char *const prefixes[] = {"\"GANTRY_", "\"TF_", "\"CUDA_"};
    const char *text = read_file(path);
    for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; ++i) {
        for (const char *at = strstr(text, prefixes[i]); at; at = strstr(at + 1, prefixes[i])) {
            const char *end = at + 1;
            while (isupper((unsigned char)*end) || isdigit((unsigned char)*end) || *end == '_')
                ++end;
            /* these name codes */
            if (strncmp(at + 1, "CUDA_ERROR_", 11) == 0 || strncmp(at + 1, "CUDA_SUCCESS", 12) == 0)
                continue;
            if (end[-1] == '_') continue;                           /* these are prefixes */
            if (strncmp(at + 1, "GANTRY_TEST_", 12) == 0) continue; /* these are for tests alone */
            if (strncmp(at + 1, "TF_HALF_PIXEL", 13) == 0 || strncmp(at + 1, "TF_CROP", 7) == 0)
                continue; /* values of Resize's attribute */
            if (*end == '"' && !is_in_table(at + 1, (size_t)(end - at - 1))) {
                fail_msg("%s reads %.*s, which src/base/environment.def does not list", path,
                         (int)(end - at - 1), at + 1);
            }
        }
    }
}

TEST(sources_read_nothing_that_the_table_lacks) {
    static const char *const patterns[] = {"/src/*/*.c",        "/src/*/*/*.c",  "/backends/*/*.c",
                                           "/backends/*/*/*.c", "/examples/*.c", "/tools/*/*.c",
                                           "/tools/*/*/*.c"};
    size_t files = 0;
    for (size_t p = 0; p < sizeof patterns / sizeof patterns[0]; ++p) {
        char pattern[1024];
        (void)snprintf(pattern, sizeof pattern, "%s%s", GANTRY_TEST_SOURCE_DIR, patterns[p]);
        glob_t found;
        if (glob(pattern, 0, NULL, &found) != 0) continue;
        for (size_t i = 0; i < found.gl_pathc; ++i, ++files) check_source(found.gl_pathv[i]);
        globfree(&found);
    }
    assert_true(files > 50);
}

int main(void) { return test_main(); }
