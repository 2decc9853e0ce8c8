/* SPDX-License-Identifier: Apache-2.0 */
#define _XOPEN_SOURCE 700
#include "base/os/users.h"

#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <unistd.h>

int64_t gantry__os_acting_user(void) { return geteuid(); }

static bool users_write_name(const char *name, char *out, size_t out_bytes) {
    (void)snprintf(out, out_bytes, "%s", name ? name : "");
    return name != NULL;
}

bool gantry__os_user_name(uint64_t user, char *out, size_t out_bytes) {
    const struct passwd *entry = getpwuid((uid_t)user);
    return users_write_name(entry ? entry->pw_name : NULL, out, out_bytes);
}

bool gantry__os_group_name(uint64_t group, char *out, size_t out_bytes) {
    const struct group *entry = getgrgid((gid_t)group);
    return users_write_name(entry ? entry->gr_name : NULL, out, out_bytes);
}
