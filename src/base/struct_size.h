/* SPDX-License-Identifier: Apache-2.0 */
/* Structs that cross the public border begin with struct_size: the size that the program was
 * compiled with, which may be an older one's.
 *
 * One rule for all of them: 4 (struct_size itself) to the size this library knows is accepted,
 * anything else is InvalidArgument, since it is a struct nobody filled or one of a newer version.
 * What lies behind struct_size is neither read nor written. docs/api_conventions.md tells it to
 * users. Thread-safe. */
#ifndef GANTRY_BASE_STRUCT_SIZE_H
#define GANTRY_BASE_STRUCT_SIZE_H

#include <stddef.h>
#include <stdint.h>

#include "base/failure.h"

/* what names call and argument: "gantry_get_memory_info: out_info". */

/* Checks a struct, which may be the first of a list. InvalidArgument for NULL. */
gantry_status_t gantry__struct_check(const void *given, size_t known_bytes, const char *what,
                                     uint32_t *out_struct_size);
/* Checks a struct, then fills it from all, this library's; its struct_size stays. */
gantry_status_t gantry__struct_fill(void *out, const void *all, size_t all_bytes, const char *what);
/* Fills one of a list that was checked: its structs stand as far apart as the first one's
 * struct_size says. */
void gantry__struct_fill_at(void *list, size_t index, uint32_t struct_size, const void *all);

/* Reads a list in the same way, into one of this library's structs. first_bytes as below. */
gantry_status_t gantry__struct_read_list(const void *list, size_t count, size_t first_bytes,
                                         void *out, size_t out_bytes, const char *what);
/* Reads options: *out is this library's struct, 0 where the given one, which may be NULL, has no
 * field. first_bytes: what a struct_size of 0 means, the size of the first version that had the
 * struct; 0: it must be set. */
gantry_status_t gantry__struct_read(const void *given, size_t first_bytes, void *out,
                                    size_t out_bytes, const char *what);

#endif
