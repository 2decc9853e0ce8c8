/* SPDX-License-Identifier: Apache-2.0 */
/* Paths that match a pattern, one name after another: the names of a folder that match are sorted,
 * and each leads to the next. */
#include <stdlib.h>
#include <string.h>

#include "base/os/files.h"

typedef struct match_names_t {
    const char *pattern; /* of one name */
    char **names;
    size_t count;
} match_names_t;

static bool in_set(const char **pattern, char sign) {
    const char *at = *pattern + 1;
    const bool is_inverse = *at == '!' || *at == '^';
    bool is_in = false;
    if (is_inverse) ++at;
    do {
        if (!*at) return false;
        if (at[1] == '-' && at[2] && at[2] != ']') {
            is_in = is_in || (sign >= at[0] && sign <= at[2]);
            at += 3;
        } else {
            is_in = is_in || *at == sign;
            ++at;
        }
    } while (*at != ']');
    *pattern = at + 1;
    return is_in != is_inverse;
}

static bool name_matches(const char *pattern, const char *name) {
    for (; *pattern; ++name) {
        if (*pattern == '*') {
            while (!name_matches(pattern + 1, name))
                if (!*name++) return false;
            return true;
        }
        if (!*name) return false;
        if (*pattern == '[') {
            if (!in_set(&pattern, *name)) return false;
            continue;
        }
        if (*pattern == '\\' && pattern[1])
            ++pattern;
        else if (*pattern == '?') {
            ++pattern;
            continue;
        }
        if (*pattern++ != *name) return false;
    }
    return !*name;
}

static bool match_add(void *user, const char *name) {
    match_names_t *names = user;
    if ((name[0] == '.' && names->pattern[0] != '.') || !name_matches(names->pattern, name))
        return true;
    char **more = realloc(names->names, (names->count + 1) * sizeof *more);
    if (!more) return false;
    names->names = more;
    more[names->count] = malloc(strlen(name) + 1);
    if (!more[names->count]) return false;
    (void)strcpy(more[names->count++], name);
    return true;
}

static int later_first(const void *a, const void *b) {
    return strcmp(*(char *const *)b, *(char *const *)a);
}

/* Visits what matches below a path, whose `length` bytes end in "/" or are none. */
static bool match_below(char path[GANTRY__OS_PATH_BYTES], size_t length, const char *pattern,
                        gantry__os_visit_fn visit, void *user) {
    char one[GANTRY__OS_NAME_BYTES];
    gantry__os_info_t info;
    const size_t part = strcspn(pattern, "/");
    const char *rest = pattern + part + (pattern[part] == '/');
    if (part == 0 && !*pattern) return gantry__os_path_info(path, &info) != 0 || visit(user, path);
    if (part >= sizeof one || length + part + 2 > GANTRY__OS_PATH_BYTES) return true;
    memcpy(one, pattern, part);
    one[part] = '\0';
    if (!strpbrk(one, "*?[\\")) {
        memcpy(path + length, pattern, part + 1);
        const size_t next = length + part + (pattern[part] == '/');
        path[next] = '\0';
        return match_below(path, next, rest, visit, user);
    }
    match_names_t names = {.pattern = one};
    bool goes_on = true;
    path[length] = '\0';
    (void)gantry__os_list(length > 0 ? path : ".", match_add, &names);
    if (names.count > 0) qsort(names.names, names.count, sizeof *names.names, later_first);
    for (size_t i = 0; i < names.count; ++i) {
        const size_t bytes = strlen(names.names[i]);
        if (goes_on && length + bytes + 2 <= GANTRY__OS_PATH_BYTES) {
            memcpy(path + length, names.names[i], bytes);
            memcpy(path + length + bytes, "/", 2);
            if (pattern[part] != '/') path[length + bytes] = '\0';
            goes_on = match_below(path, length + bytes + (pattern[part] == '/'), rest, visit, user);
        }
        free(names.names[i]);
    }
    free(names.names);
    return goes_on;
}

void gantry__os_match(const char *pattern, gantry__os_visit_fn visit, void *user) {
    char path[GANTRY__OS_PATH_BYTES] = "";
    (void)match_below(path, 0, pattern, visit, user);
}
