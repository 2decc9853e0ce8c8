/* SPDX-License-Identifier: Apache-2.0 */
#include "driver/kernel_list.h"

#include <string.h>

bool gantry__kernel_list_init(gantry__kernel_list_t *list) {
    list->first = NULL;
    return gantry__mutex_init(&list->lock) == 0;
}

void gantry__kernel_list_deinit(gantry__kernel_list_t *list) { gantry__mutex_deinit(&list->lock); }

gantry__kernel_head_t *gantry__kernel_list_find(gantry__kernel_list_t *list, const char *name) {
    gantry__mutex_lock(&list->lock);
    gantry__kernel_head_t *head;
    for (head = list->first; head; head = head->next) {
        if (strcmp(head->name, name) == 0) break;
    }
    gantry__mutex_unlock(&list->lock);
    return head;
}

void gantry__kernel_list_add(gantry__kernel_list_t *list, gantry__kernel_head_t *head) {
    gantry__mutex_lock(&list->lock);
    head->next = list->first;
    list->first = head;
    gantry__mutex_unlock(&list->lock);
}

gantry__kernel_head_t *gantry__kernel_list_take(gantry__kernel_list_t *list) {
    gantry__kernel_head_t *head = list->first;
    if (head) list->first = head->next;
    return head;
}

int32_t gantry__kernel_head_info(const gantry__kernel_head_t *head,
                                 gantry_kernel_info_t *out_info) {
    uint32_t bytes = out_info->struct_size < sizeof head->info ? out_info->struct_size
                                                               : (uint32_t)sizeof head->info;
    memcpy(out_info, &head->info, bytes);
    out_info->struct_size = bytes;
    return GANTRY_OK;
}
