/* SPDX-License-Identifier: Apache-2.0 */
/* What a test asks of hostile_layer.c, by dlsym: the loader and the test have one instance.
 *
 * Owner: the caller's memory. Threads: thread-safe. */
#ifndef TESTS_HOSTILE_LAYER_H
#define TESTS_HOSTILE_LAYER_H

#include <stddef.h>
#include <stdint.h>

/* Replaces the settings, in the words of GANTRY_TEST_HOSTILE; they hold for each later call. */
typedef void (*hostile_layer_set_fn)(const char *settings);

/* A line for each launch since the last call: kernel, EACH of its options, groups x work-items. */
typedef void (*hostile_layer_take_launches_fn)(char *out, size_t out_bytes);

/* Commands that a withholding device got and had not been told to start. */
typedef struct {
    uint64_t commands;      /* all since the last question */
    uint64_t starts;        /* how often withheld commands were let go */
    uint64_t most_withheld; /* at one time, on one queue */
    uint64_t withheld_ns;   /* from the first withheld command to the start, over all queues */
    uint64_t idle;          /* commands that came to a queue that had nothing but withheld ones */
} hostile_layer_withheld_t;

typedef void (*hostile_layer_take_withheld_fn)(hostile_layer_withheld_t *out);

#endif
