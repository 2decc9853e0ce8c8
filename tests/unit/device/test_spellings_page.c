/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Every spelling of a device in docs/environment.md is accepted. */
#include "device_name_case.h"
#include "test.h"

/* Words that are a part of a name alone. */
static bool is_part(const char *text) {
    return strcmp(text, "*") == 0 || strcmp(text, "localhost") == 0;
}

TEST(spellings_of_the_table_are_accepted) {
    static char page[1 << 16];
    int count = 0;
    FILE *file = fopen(GANTRY_TEST_SOURCE_DIR "/docs/environment.md", "r");
    assert_non_null(file);
    page[fread(page, 1, sizeof page - 1, file)] = '\0';
    (void)fclose(file);
    char *at = strstr(page, "## Spellings of a device"), *end;
    assert_non_null(at);
    end = strstr(at, "A place for one device accepts");
    assert_non_null(end);
    *end = '\0';
    while ((at = strchr(at, '`')) != NULL) {
        gantry__device_reference_t reference;
        char *const text = at + 1;
        at = strchr(text, '`');
        assert_non_null(at);
        *at++ = '\0';
        if (is_part(text)) continue;
        if (gantry__device_reference_parse(text, backends, COUNT(backends), &reference) !=
            GANTRY_OK)
            fail_msg("%s", gantry__message());
        ++count;
    }
    assert_true(count > 30);
}

int main(void) { return test_main(); }
