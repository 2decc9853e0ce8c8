/* SPDX-License-Identifier: Apache-2.0 */
/* Users and groups. Owner: the caller's buffers. Threads: externally synchronised. */
#ifndef GANTRY_BASE_OS_USERS_H
#define GANTRY_BASE_OS_USERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The number of the user whose rights this process has (files.h); -1 on a system without such
 * numbers. */
int64_t gantry__os_acting_user(void);
/* Writes the name of a user or a group with this number (files.h, process.h); false, with "":
 * there is none, or the system has no such numbers. */
bool gantry__os_user_name(uint64_t user, char *out, size_t out_bytes);
bool gantry__os_group_name(uint64_t group, char *out, size_t out_bytes);

#endif
