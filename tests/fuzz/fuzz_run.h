/* SPDX-License-Identifier: Apache-2.0 */
/* What the programs of random calls share: words of the command line, the clock, and the message of
 * a process that dies.
 *
 * Owner: the program owns what the words point to.
 * Threads: one; the message is written by any thread that dies. */
#ifndef GANTRY_TESTS_FUZZ_RUN_H
#define GANTRY_TESTS_FUZZ_RUN_H

#include <stdbool.h>
#include <stddef.h>

typedef enum fuzz_word_kind_t {
    FUZZ_WORD_FLAG,   /* bool; takes no value */
    FUZZ_WORD_TEXT,   /* const char * */
    FUZZ_WORD_NUMBER, /* uint64_t */
    FUZZ_WORD_SECONDS /* double */
} fuzz_word_kind_t;

typedef struct fuzz_word_t {
    const char *name, *hint; /* "--seed", "N" */
    fuzz_word_kind_t kind;
    void *value;
} fuzz_word_t;

/* What the program does now: written when the process dies. */
extern char fuzz_current[2048];

/* Writes fuzz_current after the program's name when a signal or a sanitizer ends the process. */
void fuzz_watch(const char *program);
/* False, with a line on standard error, for a word that is not in the list. */
bool fuzz_parse(const char *program, int argc, char **argv, const fuzz_word_t *words, size_t count);
/* Seconds of a clock that never goes back. */
double fuzz_now(void);

#endif
