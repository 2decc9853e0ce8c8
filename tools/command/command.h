/* SPDX-License-Identifier: Apache-2.0 */
/* The commands of the program gantry, as tables. Each command has one file with one constant
 * gantry_command_<name>, which commands.def lists. The parser, --help, the manual page and
 * the completions of shells are made only from these tables, so a command must name all its options
 * and operands there. Owner: tables are constant data; parsed values point into the words of the
 * line, which must outlive them. Threads: externally synchronised. */
#ifndef GANTRY_TOOLS_COMMAND_H
#define GANTRY_TOOLS_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <gantry/gantry.h>

#define GANTRY_COMMAND_MOST_OPTIONS 24
#define GANTRY_COMMAND_MOST_LINES 8
#define GANTRY_COMMAND_ANY SIZE_MAX /* operand_most: no bound */

/* The values that a shell offers for an option or an operand. */
typedef enum gantry_command_offer_t {
    GANTRY_OFFER_NOTHING,
    GANTRY_OFFER_FILES,
    GANTRY_OFFER_FOLDERS,
    GANTRY_OFFER_DEVICES,  /* gantry devices --list */
    GANTRY_OFFER_OPS,      /* gantry ops --list */
    GANTRY_OFFER_COMMANDS, /* programs: the shell's own completion of a command line */
    GANTRY_OFFER_SUBCOMMANDS
} gantry_command_offer_t;

typedef struct gantry_command_option_t {
    const char *name;       /* without its dashes: "device" */
    const char *value_name; /* "DEVICE"; NULL: the option takes no value */
    const char *text;       /* "tunes only this device": third person, no full stop */
    bool is_repeatable;     /* false: a second value is refused */
    const char *choices;    /* "idle|free|spread": other values are refused; NULL: any value */
    gantry_command_offer_t offer;
} gantry_command_option_t;

typedef struct gantry_command_exit_code_t {
    int code;
    const char *text; /* "a check failed"; NULL ends the list */
} gantry_command_exit_code_t;

typedef struct gantry_command_example_t {
    const char *line; /* "gantry tune --device cpu:0"; NULL ends the list */
    const char *text; /* "tunes the processor"; NULL: the line speaks for itself */
} gantry_command_example_t;

typedef struct gantry_command_values_t gantry_command_values_t;

typedef struct gantry_command_t {
    const char *name;
    const char *summary;     /* "lists the devices of this machine": third person, no full stop */
    const char *description; /* paragraphs, separated by "\n\n"; NULL: the summary says all */
    const char *operands;    /* "[OP...]", as the usage line shows them; NULL: none */
    size_t operand_least, operand_most;
    const char *operand_choices; /* of the first operand, as an option's choices; NULL: any word */
    gantry_command_offer_t operand_offer;
    /* The first operand ends the options, because what follows belongs to another program. */
    bool operands_end_options;
    bool is_hidden; /* from --help, the manual page and completions */
    gantry_command_option_t options[GANTRY_COMMAND_MOST_OPTIONS]; /* --help is added */
    /* The codes that are not the usual ones: 0 success, 1 the work failed, 2 wrong usage. */
    gantry_command_exit_code_t exit_codes[GANTRY_COMMAND_MOST_LINES];
    gantry_command_example_t examples[GANTRY_COMMAND_MOST_LINES];
    int (*run)(const gantry_command_values_t *values); /* returns the exit code */
} gantry_command_t;

/* Options that several commands have. */
#define GANTRY_OPTION_JSON \
    { "json", NULL, "prints one JSON value and nothing else" }
#define GANTRY_OPTION_VERBOSE \
    { "verbose", NULL, "prints more: details, and Gantry's log" }
#define GANTRY_OPTION_CPU_AS_GPU \
    { "opencl-cpu-as-gpu", NULL, "presents processors with an OpenCL driver as GPUs" }

#define GANTRY_COMMAND(name) extern const gantry_command_t gantry_command_##name;
#include "command/commands.def"
#undef GANTRY_COMMAND

/* ---- all commands, in the order of --help ---- */

size_t gantry_command_count(void);
const gantry_command_t *gantry_command_at(size_t index);
const gantry_command_t *gantry_command_find(const char *name); /* NULL: there is none */
size_t gantry_command_option_count(const gantry_command_t *command);

/* ---- the parsed line, for run ---- */

struct gantry_command_values_t {
    const gantry_command_t *command;
    struct gantry_command_value_t {
        const gantry_command_option_t *option;
        const char *text; /* NULL: the option takes no value */
    } * items;
    size_t count;
    char **operands; /* ends with NULL, as execvp needs it */
    size_t operand_count;
    bool wants_help; /* the line has --help; the words after it were not read */
};

/* Returns whether the option is given. The name must be in the command's table: another one ends
 * the program, because it is a mistake of this program. */
bool gantry_command_has(const gantry_command_values_t *values, const char *name);
/* Returns the value of the option; NULL if it is not given. */
const char *gantry_command_value(const gantry_command_values_t *values, const char *name);
/* Returns the value number index of a repeatable option; NULL after the last. */
const char *gantry_command_value_at(const gantry_command_values_t *values, const char *name,
                                    size_t index);
/* Returns the place of the value in the option's choices; `fallback` if it is not given. */
size_t gantry_command_choice(const gantry_command_values_t *values, const char *name,
                             size_t fallback);

/* Read the option's value, and leave *out as it is if the option is not given. Return false after a
 * message on standard error; the command must then return GANTRY_TOOL_WRONG_USAGE. */
bool gantry_command_number(const gantry_command_values_t *values, const char *name, double least,
                           double most, double *out);
bool gantry_command_integer(const gantry_command_values_t *values, const char *name, uint64_t least,
                            uint64_t most, uint64_t *out);
/* "4GiB", "512M": as gantry_tool_parse_size reads it. */
bool gantry_command_size(const gantry_command_values_t *values, const char *name,
                         uint64_t *out_bytes);
/* "10m", "1h30m", "90": as gantry_tool_parse_duration reads it. */
bool gantry_command_duration(const gantry_command_values_t *values, const char *name,
                             double *out_seconds);

/* Print "gantry NAME: ..." to standard error, then where help is, and return
 * GANTRY_TOOL_WRONG_USAGE. */
int gantry_command_refuse(const gantry_command_t *command, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Refuses the value of an option. `accepted` must say which values are right: "a number above
 * 0". */
int gantry_command_refuse_value(const gantry_command_values_t *values, const char *name,
                                const char *accepted);

/* Creates the command's runtime, with --verbose and --opencl-cpu-as-gpu if it has them; options may
 * be NULL. NULL after a message. */
gantry_runtime_t *gantry_command_open_runtime(const gantry_command_values_t *values,
                                              const gantry_runtime_options_t *options);

/* ---- for the parser, help, the manual page and completions ---- */

/* Returns the option with that name, of `length` bytes, or NULL. --help is in no table. */
const gantry_command_option_t *gantry_command_find_option(const gantry_command_t *command,
                                                          const char *name, size_t length);
/* Copies the choice number index of "idle|free|spread". Returns false after the last. */
bool gantry_command_choice_at(const char *choices, size_t index, char out[32]);

/* Writes the option's text with its choices: "chooses the card: idle|free|spread". */
void gantry_command_option_text(const gantry_command_option_t *option, char *out, size_t out_bytes);
/* Gets the code and its text number index of the command's full list, which always has 0, 1 and
 * 2. */
bool gantry_command_exit_code_at(const gantry_command_t *command, size_t index,
                                 gantry_command_exit_code_t *out);

/* Finds the word that a user may have meant instead of `word`, or NULL. Candidates must be offered
 * one by one. */
typedef struct gantry_command_nearest_t {
    const char *word;
    size_t distance;
    char best[64];
} gantry_command_nearest_t;
void gantry_command_nearest_offer(gantry_command_nearest_t *self, const char *candidate);
const char *gantry_command_nearest_best(const gantry_command_nearest_t *self);

/* Returns whether the word is --help or -h. */
bool gantry_command_is_help(const char *word);
/* Reads the words after the command's name, up to --help if it is there. Returns false after a
 * message. */
bool gantry_command_parse(const gantry_command_t *command, int count, char **words,
                          gantry_command_values_t *out);
void gantry_command_values_deinit(gantry_command_values_t *values);

void gantry_command_print_overview(FILE *file);
void gantry_command_print_usage(FILE *file, const gantry_command_t *command);
void gantry_command_print_help(FILE *file, const gantry_command_t *command);
/* Prints an array with the tables of the command, or of all commands if it is NULL. */
void gantry_command_print_json(FILE *file, const gantry_command_t *command);

#endif
