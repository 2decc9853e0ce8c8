/* SPDX-License-Identifier: Apache-2.0 */
#include "io/file_kind.h"

#include <stdbool.h>
#include <string.h>

#include "base/ascii.h"

/* Whether the bytes begin with the word, which is in small letters, in any case. */
static bool front_is(const char *bytes, size_t length, const char *word) {
    size_t i = 0;
    while (word[i] && i < length && gantry__ascii_lower(bytes[i]) == word[i]) ++i;
    return !word[i];
}

const char *gantry__file_kind(const void *front, size_t bytes) {
    const char *at = front;
    if (front_is(at, bytes, "version https://git-lfs.github.com/spec/"))
        return "it is a Git LFS pointer, which stands for the file; `git lfs pull` fetches the file";
    if (bytes >= 3 && memcmp(at, "\xef\xbb\xbf", 3) == 0) at += 3, bytes -= 3;
    while (bytes > 0 && memchr(" \t\r\n", *at, 4)) ++at, --bytes;
    if (front_is(at, bytes, "<!doctype html") || front_is(at, bytes, "<html"))
        return "it is an HTML page, as a site sends in place of a file that is missing or private";
    return NULL;
}
