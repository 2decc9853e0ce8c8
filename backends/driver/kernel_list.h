/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of one program: found by name once, kept until the program ends.
 *
 * A backend's kernel begins with a gantry__kernel_head_t, so that the one is a pointer to the
 * other.
 * Owner: the program owns its list and gives each kernel back that it takes out at the end; a name
 * is the kernel's.
 * Threads: find and add are thread-safe, the rest is init-only; what a head says is constant
 * once it is in a list. */
#ifndef GANTRY_DRIVER_KERNEL_LIST_H
#define GANTRY_DRIVER_KERNEL_LIST_H

#include <gantry/backend_abi.h>
#include <pthread.h>
#include <stdbool.h>

typedef struct gantry__kernel_head_t {
    struct gantry__kernel_head_t *next;
    char *name;                /* owned, of gantry__host_text */
    gantry_kernel_info_t info; /* of this build's size; what a driver does not tell is 0 */
} gantry__kernel_head_t;

typedef struct gantry__kernel_list_t {
    pthread_mutex_t lock;
    gantry__kernel_head_t *first;
} gantry__kernel_list_t;

/* 0 when there is no mutex; else deinit must follow, after the last take. */
bool gantry__kernel_list_init(gantry__kernel_list_t *list);
void gantry__kernel_list_deinit(gantry__kernel_list_t *list);

/* NULL when there is none of that name. */
gantry__kernel_head_t *gantry__kernel_list_find(gantry__kernel_list_t *list, const char *name);
/* Two threads that find one name at a time make it twice; both are kept. */
void gantry__kernel_list_add(gantry__kernel_list_t *list, gantry__kernel_head_t *head);
/* Takes any kernel out; NULL when there is none left. */
gantry__kernel_head_t *gantry__kernel_list_take(gantry__kernel_list_t *list);

/* The kernel_info slot: as much as the caller's struct holds. */
int32_t gantry__kernel_head_info(const gantry__kernel_head_t *head, gantry_kernel_info_t *out_info);

#endif
