/* SPDX-License-Identifier: Apache-2.0 */
/* Where programs keep files that a user's other programs may use again. Owner: nothing is kept.
 * Threads: thread-safe, because it is constant. */
#ifndef GANTRY_BASE_OS_USER_PLACES_H
#define GANTRY_BASE_OS_USER_PLACES_H

#define GANTRY__OS_USER_PLACES 2

/* The place is the value of the first of these variables that is an absolute path, and what is
 * below it. */
extern const struct gantry__os_user_place_t {
    const char *variable, *below;
} gantry__os_user_places[GANTRY__OS_USER_PLACES];

#endif
