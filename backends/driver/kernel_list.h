/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of one program. Each is created once, by name, and kept until the program ends.
 *
 * A backend's kernel must begin with a gantry__kernel_head_t, so that a pointer to one is a pointer
 * to the other. Owner: the program owns its list. At its end it must take out every kernel and free
 * it. A kernel owns its name. Threads: find and add are thread-safe, the rest is init-only. A head
 * must not change once it is in a list. */
#ifndef GANTRY_DRIVER_KERNEL_LIST_H
#define GANTRY_DRIVER_KERNEL_LIST_H

#include <gantry/backend_abi.h>
#include <stdbool.h>

#include "base/os/thread.h"

typedef struct gantry__kernel_head_t {
    struct gantry__kernel_head_t *next;
    char *name;                /* owned, from gantry__host_text */
    gantry_kernel_info_t info; /* has this build's size; unknown members are 0 */
} gantry__kernel_head_t;

typedef struct gantry__kernel_list_t {
    gantry__mutex_t lock;
    gantry__kernel_head_t *first;
} gantry__kernel_list_t;

/* Returns false if no mutex can be made. Otherwise deinit must follow, after the last take. */
bool gantry__kernel_list_init(gantry__kernel_list_t *list);
void gantry__kernel_list_deinit(gantry__kernel_list_t *list);

/* The kernel of that name, or NULL. */
gantry__kernel_head_t *gantry__kernel_list_find(gantry__kernel_list_t *list, const char *name);
/* If two threads create a kernel of one name at the same time, the list keeps both. */
void gantry__kernel_list_add(gantry__kernel_list_t *list, gantry__kernel_head_t *head);
/* Takes any kernel out, which the caller then owns; NULL if the list is empty. */
gantry__kernel_head_t *gantry__kernel_list_take(gantry__kernel_list_t *list);

/* The slot kernel_info: copies as much as the caller's struct holds. */
int32_t gantry__kernel_head_info(const gantry__kernel_head_t *head, gantry_kernel_info_t *out_info);

#endif
