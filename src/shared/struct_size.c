/* SPDX-License-Identifier: Apache-2.0 */
#include "shared/struct_size.h"

#include <string.h>

static gantry_status_t check_size(uint32_t struct_size, size_t known_bytes, const char *what) {
    if (struct_size >= sizeof struct_size && struct_size <= known_bytes) return GANTRY_OK;
    return gantry__refuse(
        "%s: struct_size is %u; the struct's sizeof is accepted, which is at most %zu in this version",
        what, struct_size, known_bytes);
}

gantry_status_t gantry__struct_check(const void *given, size_t known_bytes, const char *what,
                                     uint32_t *out_struct_size) {
    if (!given) {
        return gantry__refuse(
            "%s is NULL; a struct whose struct_size is set to its sizeof is accepted", what);
    }
    memcpy(out_struct_size, given, sizeof *out_struct_size);
    return check_size(*out_struct_size, known_bytes, what);
}

static void struct_size_fill(char *out, uint32_t struct_size, const void *all) {
    memcpy(out, &struct_size, sizeof struct_size);
    memcpy(out + sizeof struct_size, (const char *)all + sizeof struct_size,
           struct_size - sizeof struct_size);
}

gantry_status_t gantry__struct_fill(void *out, const void *all, size_t all_bytes,
                                    const char *what) {
    uint32_t struct_size = 0; /* gcc does not see that a passed check has set it */
    GANTRY__TRY(gantry__struct_check(out, all_bytes, what, &struct_size));
    struct_size_fill(out, struct_size, all);
    return GANTRY_OK;
}

void gantry__struct_fill_at(void *list, size_t index, uint32_t struct_size, const void *all) {
    struct_size_fill((char *)list + index * struct_size, struct_size, all);
}

static void read_one(const void *given, uint32_t struct_size, void *out, size_t out_bytes) {
    const uint32_t own = (uint32_t)out_bytes;
    memset(out, 0, out_bytes);
    memcpy(out, given, struct_size);
    memcpy(out, &own, sizeof own);
}

gantry_status_t gantry__struct_read_list(const void *list, size_t count, size_t first_bytes,
                                         void *out, size_t out_bytes, const char *what) {
    uint32_t struct_size;
    if (count == 0) return GANTRY_OK;
    memcpy(&struct_size, list, sizeof struct_size);
    if (struct_size == 0) struct_size = (uint32_t)first_bytes;
    GANTRY__TRY(check_size(struct_size, out_bytes, what));
    for (size_t i = 0; i < count; ++i)
        read_one((const char *)list + i * struct_size, struct_size, (char *)out + i * out_bytes,
                 out_bytes);
    return GANTRY_OK;
}

gantry_status_t gantry__struct_read(const void *given, size_t first_bytes, void *out,
                                    size_t out_bytes, const char *what) {
    const uint32_t own = (uint32_t)out_bytes;
    if (given) return gantry__struct_read_list(given, 1, first_bytes, out, out_bytes, what);
    memset(out, 0, out_bytes);
    memcpy(out, &own, sizeof own);
    return GANTRY_OK;
}
