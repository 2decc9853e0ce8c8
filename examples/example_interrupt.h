/* SPDX-License-Identifier: Apache-2.0 */
/* Ctrl-C in examples that train: the first one ends the training after its step, so that the
 * program saves and ends with EXAMPLE_INTERRUPTED; a second one ends the program at once. A program
 * that includes it must define _POSIX_C_SOURCE before. Threads: one thread may set and release it;
 * any may get the signal. */
#ifndef GANTRY_EXAMPLES_EXAMPLE_INTERRUPT_H
#define GANTRY_EXAMPLES_EXAMPLE_INTERRUPT_H

#include <gantry_train/model.h>
#include <signal.h>

/* The exit code: 128 and the number of SIGINT, as of a program that the signal ends. */
#define EXAMPLE_INTERRUPTED 130

static gantry_model_t *example_interrupted_model;

static void example_interrupt(int number) {
    (void)number;
    gantry_model_stop(example_interrupted_model);
}

/* From now on, the first Ctrl-C stops the training of this model. */
static inline void example_catch_interrupts(gantry_model_t *model) {
    example_interrupted_model = model;
#if defined(_WIN32) /* where a handler is called once, too */
    (void)signal(SIGINT, example_interrupt);
#else
    const struct sigaction action = {.sa_handler = example_interrupt,
                                     .sa_flags = (int)(SA_RESTART | SA_RESETHAND)};
    (void)sigaction(SIGINT, &action, NULL);
#endif
}

/* From now on, Ctrl-C ends the program. */
static inline void example_release_interrupts(void) { (void)signal(SIGINT, SIG_DFL); }

#endif
