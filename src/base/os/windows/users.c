/* SPDX-License-Identifier: Apache-2.0 */
#include "base/os/users.h"

int64_t gantry__os_acting_user(void) { return -1; }

bool gantry__os_user_name(uint64_t user, char *out, size_t out_bytes) {
    (void)user;
    if (out_bytes > 0) out[0] = '\0';
    return false;
}

bool gantry__os_group_name(uint64_t group, char *out, size_t out_bytes) {
    return gantry__os_user_name(group, out, out_bytes);
}
