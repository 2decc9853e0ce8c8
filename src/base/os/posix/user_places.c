/* SPDX-License-Identifier: Apache-2.0 */
#include "base/os/user_places.h"

const struct gantry__os_user_place_t gantry__os_user_places[GANTRY__OS_USER_PLACES] = {
    {"XDG_CACHE_HOME", ""}, {"HOME", "/.cache"}};
