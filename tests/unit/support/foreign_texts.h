/* SPDX-License-Identifier: Apache-2.0 */
/* Texts that stand in place of a file of data, and what a message must call them. Header only.
 *
 * Threads: thread-safe. */
#ifndef GANTRY_TEST_FOREIGN_TEXTS_H
#define GANTRY_TEST_FOREIGN_TEXTS_H

#include <stddef.h>

static const struct {
    const char *text, *kind; /* NULL: it is not recognised */
} foreign_texts[] = {
    {"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 12345\n",
     "it is a Git LFS pointer, which stands for the file; `git lfs pull` fetches the file"},
    {"<!DOCTYPE html>\n<html><head></head></html>", "it is an HTML page, as a site sends"},
    {"\xef\xbb\xbf \n<HTML lang=\"en\">", "it is an HTML page"},
    {"\n\n  <!doctype HTML>", "it is an HTML page"},
    {"<Error><Code>NoSuchKey</Code></Error>", "it is an XML error message"},
    {"{\"error\":\"Invalid username or password.\"}", "it is a JSON error message"},
    {"\x89HDF\r\n\x1a\n", "it is an HDF5 file"},
    {"PK\3\4", "it is a .zip archive, such as an .npz file"},
    {"\x1f\x8b\x08", "it is compressed by gzip"},
    {"\x1f", NULL},
    {"GGU", NULL},
    {"anything else that is here", NULL},
    {"<!doctype", NULL},
    {"", NULL},
};

enum { FOREIGN_TEXTS = sizeof foreign_texts / sizeof foreign_texts[0] };

#endif
