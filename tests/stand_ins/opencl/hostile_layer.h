/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of hostile_layer.c that a test finds by dlsym; loader and test share one instance.
 *
 * Owner: the caller's memory. Threads: thread-safe. */
#ifndef TESTS_HOSTILE_LAYER_H
#define TESTS_HOSTILE_LAYER_H

#include <stddef.h>
#include <stdint.h>

/* Replaces the settings by text in the form of GANTRY_TEST_HOSTILE. The settings apply to each
 * later call. */
typedef void (*hostile_layer_set_fn)(const char *settings);

/* A line for each launch since the last call: kernel, EACH of its options, groups x work-items. */
typedef void (*hostile_layer_take_launches_fn)(char *out, size_t out_bytes);

/* Commands that a withholding device received without being told to start. */
typedef struct {
    uint64_t commands;      /* all since the last query */
    uint64_t starts;        /* number of releases of withheld commands */
    uint64_t most_withheld; /* at one time, on one queue */
    uint64_t withheld_ns;   /* from the first withheld command to the start, over all queues */
    uint64_t idle;          /* commands submitted to a queue with only withheld commands */
} hostile_layer_withheld_t;

typedef void (*hostile_layer_take_withheld_fn)(hostile_layer_withheld_t *out);

#endif
