/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/common/place_text.h"

#include <inttypes.h>
#include <stdio.h>

void gantry__portable_print_list(const int64_t *numbers, int64_t count, const char *separator,
                                 char *out, size_t out_bytes) {
    size_t used = (size_t)snprintf(out, out_bytes, "[");

    for (int64_t i = 0; i < count && used < out_bytes; ++i) {
        used += (size_t)snprintf(out + used, out_bytes - used, "%s%" PRId64, i ? separator : "",
                                 numbers[i]);
    }
    if (used < out_bytes) {
        (void)snprintf(out + used, out_bytes - used, "]");
    }
}

void gantry__portable_print_place(const int64_t *dims, int32_t rank, int64_t position, char *out,
                                  size_t out_bytes) {
    int64_t place[GANTRY_MAX_RANK];

    for (int32_t d = rank - 1; d >= 0; --d) {
        place[d] = position % dims[d];
        position /= dims[d];
    }
    out[0] = '\0';
    if (rank > 0) {
        gantry__portable_print_list(place, rank, ",", out, out_bytes);
    }
}
