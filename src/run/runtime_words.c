/* SPDX-License-Identifier: Apache-2.0 */
/* Requests and texts of which the runtime keeps one copy each, so that they are compared by
 * address. */
#include <string.h>

#include "run/runtime_state.h"

/* ---- wishes ---- */

/* The form in TensorFlow's texts: the name completed by job, replica and task. */
static void format_wish(gantry__wish_t *wish) {
    const gantry__device_name_t *name = &wish->reference.name;
    wish->is_empty = wish->reference.kind == GANTRY__DEVICE_LOGICAL && !name->has_job &&
                     !name->has_replica && !name->has_task && !name->has_type && !name->has_backend;
    if (wish->reference.kind == GANTRY__DEVICE_LOGICAL) {
        gantry__device_name_t base = {
            .has_job = true, .has_replica = true, .has_task = true, .job = "localhost"};
        gantry__device_name_t full;
        gantry__device_name_merge_unset(name, &base, &full);
        (void)gantry__device_name_format(&full, wish->text, sizeof wish->text);
    } else {
        (void)gantry__device_reference_format(&wish->reference, wish->text, sizeof wish->text);
    }
}

gantry_status_t gantry__runtime_wish(gantry_runtime_t *runtime,
                                     const gantry__device_reference_t *reference,
                                     const gantry__wish_t **out_wish) {
    gantry__wish_t wish = {.reference = *reference};
    format_wish(&wish);
    *out_wish = NULL;
    gantry__mutex_lock(&runtime->lock);
    gantry__wish_node_t *node = runtime->wishes;
    while (node && strcmp(node->wish.text, wish.text) != 0) node = node->next;
    if (!node) {
        node = gantry__heap_alloc(&runtime->heap, sizeof *node);
        if (node) {
            node->wish = wish;
            node->next = runtime->wishes;
            runtime->wishes = node;
        }
    }
    if (node) *out_wish = &node->wish;
    gantry__mutex_unlock(&runtime->lock);
    return node ? GANTRY_OK : GANTRY_RESOURCE_EXHAUSTED;
}

/* ---- words ---- */

gantry_status_t gantry__runtime_word(gantry_runtime_t *runtime, const char *text,
                                     const char **out_word) {
    size_t length = strlen(text);
    *out_word = NULL;
    gantry__mutex_lock(&runtime->lock);
    gantry__word_node_t *node = runtime->words;
    while (node && (node->length != length || memcmp(node->text, text, length) != 0))
        node = node->next;
    if (!node) {
        node = gantry__heap_alloc(&runtime->heap, sizeof *node + length + 1);
        if (node) {
            node->length = length;
            memcpy(node->text, text, length + 1);
            node->next = runtime->words;
            runtime->words = node;
        }
    }
    if (node) *out_word = node->text;
    gantry__mutex_unlock(&runtime->lock);
    return node ? GANTRY_OK : GANTRY_RESOURCE_EXHAUSTED;
}

void gantry__runtime_release_words(gantry_runtime_t *runtime) {
    while (runtime->wishes) {
        gantry__wish_node_t *node = runtime->wishes;
        runtime->wishes = node->next;
        gantry__heap_free(&runtime->heap, node, sizeof *node);
    }
    while (runtime->words) {
        gantry__word_node_t *node = runtime->words;
        runtime->words = node->next;
        gantry__heap_free(&runtime->heap, node, sizeof *node + node->length + 1);
    }
}
