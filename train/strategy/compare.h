/* SPDX-License-Identifier: Apache-2.0 */
/* Comparison of what processes are about to do, or have done: each writes it as lines, and a
 * difference names the first line that is not that of rank 0.
 *
 *     rank 0   optimizer sgd            rank 1   optimizer sgd
 *              learning_rate 0.01                learning_rate 0.5      <- named
 *
 * Every process must compare at the same place in the program. Where all lines are alike, the cost
 * is a broadcast of 8 bytes and a sum of 16. Owner: the caller has the lines, and must call deinit.
 * Threads: externally synchronised. */
#ifndef GANTRY_TRAIN_COMPARE_H
#define GANTRY_TRAIN_COMPARE_H

#include <gantry_train/strategy.h>

#include "train/base/fail.h"

/* A line with its terminator; a longer one is cut. */
enum { GANTRY__LINE_BYTES = 512 };

/* Lines, each with a terminator after it. */
typedef struct gantry__lines_t {
    char *text;
    size_t used, capacity;
    gantry_status_t status; /* the first failure, with its text: */
    char message[GANTRY__TRAIN_MESSAGE_BYTES];
} gantry__lines_t; /* zeroed: empty */

/* Adds a line. A failure is kept. */
void gantry__lines_add(gantry__lines_t *lines, const char *format, ...) GANTRY__PRINTF(2, 3);
/* A number with as few digits as distinguish it from all others: "0.9". */
typedef struct gantry__number_text_t {
    char text[32];
} gantry__number_text_t;
gantry__number_text_t gantry__number_text(double number);
/* Keeps the first failure, whose text is the thread's last message. */
void gantry__lines_fail(gantry__lines_t *lines, gantry_status_t status);
void gantry__lines_deinit(gantry__lines_t *lines);

/* An error of one process, or a difference, is an error in all: InvalidArgument names the rank, its
 * line and that of rank 0. `what` names the work in errors of the communicator. */
gantry_status_t gantry__compare(const gantry_communicator_t *communicator, gantry__lines_t *lines,
                                const char *what);

/* "rank 1 (node1, pid 4711)". */
typedef struct gantry__rank_name_t {
    char text[192];
} gantry__rank_name_t;
gantry__rank_name_t gantry__name_rank(const gantry_communicator_t *communicator, size_t rank);

/* ---- lines of variables ---- */

/* Computes a number that follows from a variable's bits. All NaNs of a floating type count as
 * one. */
gantry_status_t gantry__variable_checksum(gantry_scope_t *scope, gantry_variable_t *variable,
                                          uint64_t *out_sum);
uint64_t gantry__bytes_checksum(uint64_t before, const void *data, size_t bytes);

#endif
