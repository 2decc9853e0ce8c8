/* SPDX-License-Identifier: Apache-2.0 */
/* The command lines of the examples that have many options: a table of them, and its reader.
 *
 * Does not call Gantry. A word that nothing accepts ends the program with code 2 and the usage. */
#ifndef GANTRY_EXAMPLES_EXAMPLE_OPTIONS_H
#define GANTRY_EXAMPLES_EXAMPLE_OPTIONS_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum example_kind_t {
    EXAMPLE_FLAG,   /* a bool, true if the option is there */
    EXAMPLE_TEXT,   /* a const char * */
    EXAMPLE_NUMBER, /* an int64_t from least to most */
    EXAMPLE_REAL    /* a double from least to most */
} example_kind_t;

typedef struct example_option_t {
    const char *name; /* "--epochs" */
    example_kind_t kind;
    void *value;
    double initial; /* of a number, if the option is not there; the others are then false or NULL */
    double least, most;
} example_option_t;

typedef struct example_command_t {
    const char *name, *usage;
    const example_option_t *options;
    size_t count;
} example_command_t;

/* The program's name, in front of its messages; example_read_options sets it. */
static const char *example_program = "example";

static inline _Noreturn void example_stop(const char *text) {
    (void)fflush(stdout);
    (void)fprintf(stderr, "%s: %s\n", example_program, text);
    exit(1);
}

/* Returns zeroed memory, which the caller must free; the program ends if there is none. */
static inline void *example_allocate(size_t count, size_t size) {
    void *memory = calloc(count ? count : 1, size);
    if (!memory) example_stop("memory is out");
    return memory;
}

static inline _Noreturn void example_refuse(const example_command_t *command, const char *word) {
    (void)fprintf(stderr, "%s: \"%s\" is not understood\n%s", command->name, word, command->usage);
    exit(2);
}

static inline _Noreturn void example_refuse_value(const example_command_t *command,
                                                  const example_option_t *option,
                                                  const char *value) {
    (void)fprintf(stderr, "%s: %s \"%s\" is not understood; %.10g to %.10g is accepted\n%s",
                  command->name, option->name, value, option->least, option->most, command->usage);
    exit(2);
}

static inline void example_read_value(const example_command_t *command,
                                      const example_option_t *option, const char *value) {
    char *end = NULL;
    double number;
    if (option->kind == EXAMPLE_TEXT) {
        *(const char **)option->value = value;
        return;
    }
    if (option->kind == EXAMPLE_NUMBER)
        number = (double)strtoll(value, &end, 10);
    else
        number = strtod(value, &end);
    if (*value == '\0' || *end != '\0' || !(number >= option->least && number <= option->most))
        example_refuse_value(command, option, value);
    if (option->kind == EXAMPLE_NUMBER)
        *(int64_t *)option->value = (int64_t)number;
    else
        *(double *)option->value = number;
}

static inline void example_set_initial(const example_option_t *option) {
    if (option->kind == EXAMPLE_FLAG) *(bool *)option->value = false;
    if (option->kind == EXAMPLE_TEXT) *(const char **)option->value = NULL;
    if (option->kind == EXAMPLE_NUMBER) *(int64_t *)option->value = (int64_t)option->initial;
    if (option->kind == EXAMPLE_REAL) *(double *)option->value = option->initial;
}

/* Reads the options and moves the other words to the front, after the program's name. It returns
 * the new argc. */
static inline int example_read_options(const example_command_t *command, int argc, char **argv) {
    int words = 1;
    example_program = command->name;
    for (size_t i = 0; i < command->count; ++i) example_set_initial(&command->options[i]);
    for (int i = 1; i < argc; ++i) {
        const example_option_t *option = command->options, *end = option + command->count;
        if (argv[i][0] != '-') {
            argv[words++] = argv[i];
            continue;
        }
        if (strcmp(argv[i], "--help") == 0) {
            (void)fputs(command->usage, stdout);
            exit(0);
        }
        while (option < end && strcmp(option->name, argv[i]) != 0) ++option;
        if (option == end) example_refuse(command, argv[i]);
        if (option->kind == EXAMPLE_FLAG)
            *(bool *)option->value = true;
        else if (i + 1 == argc)
            example_refuse(command, argv[i]);
        else
            example_read_value(command, option, argv[++i]);
    }
    return words;
}

#endif
