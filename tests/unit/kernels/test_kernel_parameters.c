/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: A kernel that takes a structure with arrays by value copies it first, because Mesa's
 * Rusticl reads such parameters wrongly.
 * Promise: No kernel takes a structure with a two-dimensional array by value, because Mesa's
 * Rusticl reserves too little memory for one.
 *
 * Rusticl reserves 24 bytes for an array of two dimensions with 24 elements. Rusticl also reads a
 * parameter at a variable index with one work-item's index for all work-items. Arrays are therefore
 * passed through GANTRY_VALUE (launch.cl), which copies them. */
#define _XOPEN_SOURCE 700

#include <dirent.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test.h"

enum { TEXT_BYTES = 4 << 20 };

/* Appends the .cl files of the folder and its subfolders. */
static int read_texts(const char *folder, char *text) {
    char path[PATH_MAX];
    int files = 0;
    (void)snprintf(path, sizeof path, "%s/%s", GANTRY_TEST_SOURCE_DIR, folder);
    DIR *listing = opendir(path);
    if (!listing) fail_msg("%s cannot be read", path);
    for (const struct dirent *entry; (entry = readdir(listing)) != NULL;) {
        const char *dot = strrchr(entry->d_name, '.');
        if (!dot) {
            char below[PATH_MAX / 2];
            (void)snprintf(below, sizeof below, "%s/%s", folder, entry->d_name);
            files += read_texts(below, text);
        }
        if (!dot || strcmp(dot, ".cl") != 0) continue;
        (void)snprintf(path, sizeof path, "%s/%s/%s", GANTRY_TEST_SOURCE_DIR, folder,
                       entry->d_name);
        FILE *file = fopen(path, "r");
        if (!file) fail_msg("%s cannot be read", path);
        const size_t length = strlen(text),
                     got = fread(text + length, 1, TEXT_BYTES - 1 - length, file);
        text[length + got] = '\0';
        (void)fclose(file);
        files++;
    }
    (void)closedir(listing);
    return files;
}

static int load(void **state) {
    char *text = calloc(1, TEXT_BYTES);
    if (!text) return -1;
    *state = text;
    return read_texts("kernels", text) + read_texts("backends/opencl/matmul", text) > 60 ? 0 : -1;
}

static int unload(void **state) {
    free(*state);
    return 0;
}

/* The text between the braces of `typedef struct ... {...} name;`, *out_length bytes; NULL if there
 * is none. */
static const char *members_of(const char *text, const char *name, size_t *out_length) {
    char tail[128];
    (void)snprintf(tail, sizeof tail, "} %s;", name);
    const char *end = strstr(text, tail), *at = end;
    while (at && at > text && *at != '{') at--;
    *out_length = at ? (size_t)(end - at) - 1 : 0;
    return at ? at + 1 : NULL;
}

TEST(no_member_has_two_dimensions) {
    int structures = 0, breaches = 0;
    for (const char *at = *state; (at = strstr(at, "typedef struct ")) != NULL; ++structures) {
        const char *end = at + strcspn(at, "}");
        for (at += strcspn(at, "{"); at < end; ++at) {
            if (at[0] != ']' || at[1] != '[') continue;
            print_error("%.*s\n", (int)(end - at < 80 ? end - at : 80), at);
            breaches++;
        }
    }
    assert_true(structures > 30);
    assert_int_equal(breaches, 0);
}

/* Whether the structure has an array, or a member structure that has one. */
static bool holds_array(const char *text, const char *name) {
    size_t length = 0;
    const char *members = members_of(text, name, &length);
    if (strcmp(name, "gantry__dense_t") == 0) return false; /* read at constant indices */
    for (const char *at = members; at && at < members + length; at += strcspn(at, ";") + 1) {
        char type[64] = "";
        if (memchr(at, '[', strcspn(at, ";"))) return true;
        if (sscanf(at, " %63[a-z0-9_]", type) == 1 && strcmp(type, name) != 0 &&
            holds_array(text, type))
            return true;
    }
    return false;
}

TEST(kernels_copy_structures_with_arrays) {
    const char *text = *state;
    int values = 0, breaches = 0;
    for (const char *at = text; (at = strstr(at, "GANTRY_KERNEL ")) != NULL;) {
        const char *end = at + strcspn(at, "{");
        while ((at = strstr(at, "const ")) != NULL && at < end) {
            char type[64] = "";
            at += strlen("const ");
            if (sscanf(at, "%63[A-Za-z0-9_]", type) != 1) continue;
            /* for any item text (item.cl) */
            const bool is_any = strcmp(type, "P") == 0;
            if (!is_any && !members_of(text, type, &(size_t){0})) continue;
            values++;
            if (!is_any && !holds_array(text, type)) continue;
            print_error(
                "a kernel takes \"const %s\", which holds an array: GANTRY_VALUE(%s, ...)\n", type,
                type);
            breaches++;
        }
        at = end;
    }
    assert_true(values > 10);
    assert_int_equal(breaches, 0);
}

int main(void) { return test_main_with(load, unload, NULL, NULL); }
