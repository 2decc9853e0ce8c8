/* SPDX-License-Identifier: Apache-2.0 */
/* Structs that cross the public border begin with struct_size: the size with which the program was
 * compiled, possibly that of an older version.
 *
 * One rule for all: sizes from 4 (struct_size itself) to the one that this library knows are
 * accepted. Any other size is InvalidArgument: nobody set it, or the program is newer. The library
 * neither reads nor writes beyond struct_size. docs/api_conventions.md explains it to users.
 * Thread-safe. */
#ifndef GANTRY_SHARED_STRUCT_SIZE_H
#define GANTRY_SHARED_STRUCT_SIZE_H

#include <stddef.h>
#include <stdint.h>

#include "shared/fail.h"

/* what: the call and the argument: "gantry_get_memory_info: out_info". */

/* Checks a struct, which may be the first of a list. InvalidArgument for NULL. */
gantry_status_t gantry__struct_check(const void *given, size_t known_bytes, const char *what,
                                     uint32_t *out_struct_size);
/* Checks a struct, then fills it from all, this library's; its struct_size stays. */
gantry_status_t gantry__struct_fill(void *out, const void *all, size_t all_bytes, const char *what);
/* Fills an element of a checked list; the distance of its structs is the first one's
 * struct_size. */
void gantry__struct_fill_at(void *list, size_t index, uint32_t struct_size, const void *all);

/* Reads an element of a list in the same way, into one of this library's structs. first_bytes as
 * below. */
gantry_status_t gantry__struct_read_list(const void *list, size_t count, size_t first_bytes,
                                         void *out, size_t out_bytes, const char *what);
/* Reads options: *out is this library's struct, with 0 in fields that the given struct (or NULL)
 * lacks. first_bytes: the meaning of a struct_size of 0, the size of the first version of the
 * struct; 0: struct_size must be set. */
gantry_status_t gantry__struct_read(const void *given, size_t first_bytes, void *out,
                                    size_t out_bytes, const char *what);

#endif
