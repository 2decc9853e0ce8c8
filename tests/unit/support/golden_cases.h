/* SPDX-License-Identifier: Apache-2.0 */
/* All golden cases in turn, file by file, and their attributes in the words of a call. Header
 * only. */
#ifndef TESTS_GOLDEN_CASES_H
#define TESTS_GOLDEN_CASES_H

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "../../conformance/golden_attr.h"

#define GOLDEN_MOST_ATTRS 16

static inline size_t golden_attr_values(const golden_case_t *item,
                                        gantry_attr_value_t out[GOLDEN_MOST_ATTRS]) {
    size_t count = 0;
    for (size_t i = 0; i < item->attr_count && count < GOLDEN_MOST_ATTRS; ++i)
        out[count++] = golden_attr_value(&item->attrs[i]);
    return count;
}

/* Calls visit for each file of tests/golden/cases; returns how many there are. */
static inline size_t golden_each_file(void (*visit)(const golden_file_t *file, void *user),
                                      void *user) {
    static const char folder[] = GANTRY_TEST_SOURCE_DIR "/tests/golden/cases";
    size_t count = 0;
    DIR *entries = opendir(folder);
    assert_non_null(entries);
    for (struct dirent *entry = readdir(entries); entry; entry = readdir(entries)) {
        char path[512], why[512];
        golden_file_t file;
        if (!strstr(entry->d_name, ".json")) continue;
        (void)snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (golden_load(path, &file, why, sizeof why) != 0) fail_msg("%s", why);
        visit(&file, user);
        golden_free(&file);
        ++count;
    }
    closedir(entries);
    return count;
}

#endif
