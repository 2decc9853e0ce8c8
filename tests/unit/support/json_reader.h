/* SPDX-License-Identifier: Apache-2.0 */
/* Enough of JSON for tests: whether a text is one valid value (RFC 8259), and where in it a path's
 * value is. Header only. */
#ifndef TESTS_JSON_READER_H
#define TESTS_JSON_READER_H

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Each function returns the end of its value, or NULL if the text has no such value. depth bounds
 * the recursion. */
static inline const char *json_skip_value(const char *at, int depth);

static inline const char *json_skip_blank(const char *at) {
    while (*at == ' ' || *at == '\t' || *at == '\n' || *at == '\r') ++at;
    return at;
}

static inline const char *json_skip_string(const char *at) {
    if (*at++ != '"') return NULL;
    while (*at != '"') {
        if ((unsigned char)*at < 0x20) return NULL; /* the text's end counts, too */
        if (*at++ != '\\') continue;
        if (*at == 'u') {
            for (int i = 1; i <= 4; ++i) {
                if (!isxdigit((unsigned char)at[i])) return NULL;
            }
            at += 5;
        } else if (*at && strchr("\"\\/bfnrt", *at)) {
            ++at;
        } else {
            return NULL;
        }
    }
    return at + 1;
}

static inline const char *json_skip_digits(const char *at) {
    if (!isdigit((unsigned char)*at)) return NULL;
    while (isdigit((unsigned char)*at)) ++at;
    return at;
}

static inline const char *json_skip_number(const char *at) {
    if (*at == '-') ++at;
    if (at[0] == '0' && isdigit((unsigned char)at[1])) return NULL;
    at = json_skip_digits(at);
    if (at && *at == '.') at = json_skip_digits(at + 1);
    if (at && (*at == 'e' || *at == 'E'))
        at = json_skip_digits(at + 1 + (at[1] == '+' || at[1] == '-'));
    return at;
}

/* The members of an object, or the items of an array. */
static inline const char *json_skip_list(const char *at, int depth) {
    bool is_object = *at == '{';
    char end = is_object ? '}' : ']';
    at = json_skip_blank(at + 1);
    if (*at == end) return at + 1;
    for (;;) {
        if (is_object) {
            at = json_skip_string(at);
            if (!at) return NULL;
            at = json_skip_blank(at);
            if (*at++ != ':') return NULL;
        }
        at = json_skip_value(json_skip_blank(at), depth - 1);
        if (!at) return NULL;
        at = json_skip_blank(at);
        if (*at == end) return at + 1;
        if (*at++ != ',') return NULL;
        at = json_skip_blank(at);
    }
}

static inline const char *json_skip_value(const char *at, int depth) {
    if (depth == 0) return NULL;
    if (*at == '{' || *at == '[') return json_skip_list(at, depth);
    if (*at == '"') return json_skip_string(at);
    if (strncmp(at, "true", 4) == 0 || strncmp(at, "null", 4) == 0) return at + 4;
    if (strncmp(at, "false", 5) == 0) return at + 5;
    return json_skip_number(at);
}

static inline bool json_is_valid(const char *text) {
    const char *end = json_skip_value(json_skip_blank(text), 32);
    return end && *json_skip_blank(end) == '\0';
}

/* The value at a path such as "request.tried.2.rung" in a valid text: names of members and
 * positions of items. NULL: there is none. */
static inline const char *json_find(const char *at, const char *path) {
    at = json_skip_blank(at);
    while (*path) {
        size_t length = strcspn(path, ".");
        bool is_object = *at == '{';
        if (!is_object && *at != '[') return NULL;
        char end = is_object ? '}' : ']';
        long position = strtol(path, NULL, 10);
        at = json_skip_blank(at + 1);
        for (long i = 0; *at != end; ++i) {
            bool is_it = i == position;
            if (is_object) {
                is_it = strncmp(at + 1, path, length) == 0 && at[1 + length] == '"';
                at = json_skip_blank(json_skip_string(at)) + 1;
            }
            at = json_skip_blank(at);
            if (is_it) break;
            at = json_skip_blank(json_skip_value(at, 32));
            if (*at == ',') at = json_skip_blank(at + 1);
        }
        if (*at == end) return NULL;
        path += length + (path[length] == '.');
    }
    return at;
}

/* Whether the value is this: numbers and words whole, strings with their quotes. */
static inline bool json_has(const char *text, const char *path, const char *value) {
    const char *at = json_find(text, path);
    if (!at) return false;
    const char *end = json_skip_value(at, 32);
    return (size_t)(end - at) == strlen(value) && strncmp(at, value, strlen(value)) == 0;
}

/* The number of items in the array at the path; -1 if there is none. */
static inline long json_count(const char *text, const char *path) {
    const char *at = json_find(text, path);
    if (!at || *at != '[') return -1;
    long count = 0;
    for (at = json_skip_blank(at + 1); *at != ']'; ++count) {
        at = json_skip_blank(json_skip_value(at, 32));
        if (*at == ',') at = json_skip_blank(at + 1);
    }
    return count;
}

#endif
