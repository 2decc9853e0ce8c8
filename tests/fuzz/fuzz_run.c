/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L

#include "fuzz_run.h"

#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

char fuzz_current[2048];
static const char *name_of_program = "fuzz";

/* ---- the message of a dying process ---- */

static void say(const char *text) { (void)!write(2, text, strlen(text)); }

static void say_current(void) {
    say("\n");
    say(name_of_program);
    say(" was at: ");
    say(fuzz_current);
    say("\n");
}

static void on_signal(int number) {
    say_current();
    signal(number, SIG_DFL);
    (void)raise(number);
}

/* The sanitizer looks this function up by name and calls it before it reports. */
__attribute__((visibility("default"))) void __asan_on_error(void);
void __asan_on_error(void) { say_current(); }

void fuzz_watch(const char *program) {
    name_of_program = program;
    signal(SIGABRT, on_signal);
    signal(SIGALRM, on_signal);
    /* AddressSanitizer has a handler of its own, which calls say_current. */
#if !defined(__SANITIZE_ADDRESS__)
    signal(SIGSEGV, on_signal);
#endif
}

/* ---- the command line ---- */

static bool usage(const char *program, const char *word, const fuzz_word_t *words, size_t count) {
    fprintf(stderr, "%s: \"%s\" is not understood; accepted are", program, word);
    for (size_t i = 0; i < count; ++i)
        fprintf(stderr, " %s%s%s", words[i].name, words[i].hint ? " " : "",
                words[i].hint ? words[i].hint : "");
    fprintf(stderr, "\n");
    return false;
}

/* False if the text is no value of the word. */
static bool take(const fuzz_word_t *word, const char *text) {
    char *end = NULL;
    switch (word->kind) {
        case FUZZ_WORD_FLAG: *(bool *)word->value = true; return true;
        case FUZZ_WORD_TEXT: *(const char **)word->value = text; return true;
        case FUZZ_WORD_NUMBER: *(uint64_t *)word->value = strtoull(text, &end, 10); break;
        case FUZZ_WORD_SECONDS: *(double *)word->value = strtod(text, &end); break;
    }
    return *text && !*end;
}

bool fuzz_parse(const char *program, int argc, char **argv, const fuzz_word_t *words,
                size_t count) {
    for (int i = 1; i < argc; ++i) {
        const fuzz_word_t *word = words;
        while (word < words + count && strcmp(word->name, argv[i]) != 0) ++word;
        if (word == words + count) return usage(program, argv[i], words, count);
        if (word->kind != FUZZ_WORD_FLAG && i + 1 == argc)
            return usage(program, argv[i], words, count);
        const char *value = word->kind == FUZZ_WORD_FLAG ? argv[i] : argv[++i];
        if (!take(word, value)) return usage(program, value, words, count);
    }
    return true;
}

double fuzz_now(void) {
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}
