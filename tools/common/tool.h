/* SPDX-License-Identifier: Apache-2.0 */
/* Services for the commands of the program gantry: messages, runtimes, terminals, JSON, sizes and
 * durations. command/command.h has the tables of the commands. Owner: the command has what it
 * opens, and must close it. Threads: externally synchronised. */
#ifndef GANTRY_TOOLS_TOOL_H
#define GANTRY_TOOLS_TOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <gantry/gantry.h>

#include "base/os/files.h"
#include "base/os/output.h"

/* The exit codes of every command. docs/command.md lists them, and those of `gantry run`. */
#define GANTRY_TOOL_OK 0
#define GANTRY_TOOL_FAILED 1
#define GANTRY_TOOL_WRONG_USAGE 2

/* ---- messages ---- */

/* Print "gantry: ..." to standard error, and return GANTRY_TOOL_FAILED. The text is made printable
 * with its line ends kept, because texts that others wrote must not drive the terminal. */
int gantry_tool_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The same with gantry_last_message(). */
int gantry_tool_fail_last(void);

/* ---- texts and files ---- */

/* Finds a part of a text, where letters of either case count as equal; NULL: there is none. */
const char *gantry_tool_find_text(const char *text, const char *part);
/* Copies a text; NULL: memory is out. Free it with free. */
char *gantry_tool_copy(const char *text);

/* Writes the folder below that one where programs keep a user's files; false, with "": there is
 * none (base/os/user_places.h). */
bool gantry_tool_user_folder(const char *below, char out[GANTRY__OS_PATH_BYTES]);
/* Writes this program's path; false if it is unknown. */
bool gantry_tool_program(char out[GANTRY__OS_PATH_BYTES]);

/* A stream to a file that is written whole or not at all (gantry/file.h). */
typedef struct gantry_tool_file_t {
    gantry_new_file_t file;
    gantry__os_sink_t sink;
} gantry_tool_file_t;

/* Returns NULL after a message. *self must stay where it is. */
FILE *gantry_tool_file_open(gantry_tool_file_t *self, const char *path);
/* Ends both. It returns false after a message; the path then keeps its old file. */
bool gantry_tool_file_close(gantry_tool_file_t *self, FILE *stream);
/* Ends both; the path keeps its old file. */
void gantry_tool_file_drop(gantry_tool_file_t *self, FILE *stream);

/* ---- runtimes ---- */

/* A gantry_log_fn. Writes warnings and errors to standard error, and all other levels if
 * the bool *user is true. */
void gantry_tool_log(void *user, gantry_log_level_t level, const char *text);
/* Creates a runtime. What drivers print meanwhile goes to standard error, because the command's own
 * output must stay whole (gantry__os_output_divert). Its warnings go to standard error, and its
 * whole log if `is_verbose` or if GANTRY_LOG_LEVEL is set; `options` need not name a level. It
 * returns NULL after a message; the command must then return GANTRY_TOOL_FAILED. The caller must
 * release the runtime by gantry_runtime_release. */
gantry_runtime_t *gantry_tool_create_runtime(const gantry_runtime_options_t *options,
                                             bool is_verbose);

/* ---- terminals ---- */

typedef enum gantry_tool_style_t {
    GANTRY_STYLE_PLAIN, /* ends the others */
    GANTRY_STYLE_BOLD,
    GANTRY_STYLE_FAINT,
    GANTRY_STYLE_GOOD,    /* green */
    GANTRY_STYLE_WARNING, /* yellow */
    GANTRY_STYLE_BAD      /* red */
} gantry_tool_style_t;

/* Returns whether the file is a terminal that takes colours: NO_COLOR is unset or empty, and TERM
 * is set and not "dumb". */
bool gantry_tool_has_colours(FILE *file);
/* Returns the escape sequence of a style; "" if the file takes no colours. */
const char *gantry_tool_style(FILE *file, gantry_tool_style_t style);
/* Returns the columns of the terminal; 80 if the file is none or its width is unknown. */
int gantry_tool_width(FILE *file);
/* Prints words with line breaks before `width`. The first line begins in column `column`, and the
 * others are indented by `indent`. Ends the last line. */
void gantry_tool_print_wrapped(FILE *file, const char *text, int column, int indent, int width);

/* ---- sizes and durations ---- */

#define GANTRY_TOOL_TEXT_BYTES 32

/* "512 bytes", "1.5 GiB". Returns out. */
char *gantry_tool_size_text(uint64_t bytes, char out[GANTRY_TOOL_TEXT_BYTES]);
/* "1.5 GiB (1610612736 bytes)": one number for people, one for scripts. */
char *gantry_tool_exact_size_text(uint64_t bytes, char out[2 * GANTRY_TOOL_TEXT_BYTES]);
/* "250 us", "3.4 ms", "12.0 s", "5 m 03 s", "2 h 10 m", "3 d 04 h". Returns out. */
char *gantry_tool_duration_text(double seconds, char out[GANTRY_TOOL_TEXT_BYTES]);
/* Reads "4096", "4K", "4KiB" (1024), "4kB" (1000), and the same with M, G, T; fractions as in
 * "1.5GiB" and a blank before the unit are taken. */
bool gantry_tool_parse_size(const char *text, uint64_t *out_bytes);
/* Reads "90" and "90s" (seconds), "250ms", "10m", "2h", "1d", and sums such as "1h30m". */
bool gantry_tool_parse_duration(const char *text, double *out_seconds);

/* ---- JSON, written as it comes ---- */

typedef struct gantry_json_t {
    FILE *file;
    int depth;         /* open objects and arrays, 31 at most */
    uint32_t is_array; /* a bit for each depth */
    uint32_t has_item;
} gantry_json_t;

void gantry_json_init(gantry_json_t *json, FILE *file);
/* `key` must be the name within an object, and NULL within an array or at the top. */
void gantry_json_object(gantry_json_t *json, const char *key);
void gantry_json_array(gantry_json_t *json, const char *key);
/* Ends the innermost object or array; at the top, ends the line. */
void gantry_json_end(gantry_json_t *json);
/* Writes a text. Bytes that are no UTF-8 become U+FFFD; NULL is null. */
void gantry_json_text(gantry_json_t *json, const char *key, const char *text);
/* Writes a number with all digits that it needs; null if it is not finite. */
void gantry_json_number(gantry_json_t *json, const char *key, double value);
void gantry_json_integer(gantry_json_t *json, const char *key, int64_t value);
void gantry_json_unsigned(gantry_json_t *json, const char *key, uint64_t value);
void gantry_json_bool(gantry_json_t *json, const char *key, bool value);
void gantry_json_null(gantry_json_t *json, const char *key);

/* ---- claims ---- */

typedef enum gantry_tool_claim_state_t {
    GANTRY_TOOL_CLAIM_UNKNOWN, /* the folder of claims cannot be read */
    GANTRY_TOOL_CLAIM_FREE,
    GANTRY_TOOL_CLAIM_HELD
} gantry_tool_claim_state_t;

typedef struct gantry_tool_claim_t {
    gantry_tool_claim_state_t state;
    gantry_claim_info_t info; /* of a held claim */
    char user[GANTRY_TOOL_TEXT_BYTES];
    char reason[256]; /* why the state is unknown; "" otherwise */
} gantry_tool_claim_t;

/* Returns the name of a user id, or its number; "unknown" for -1. */
const char *gantry_tool_user_name(int64_t user, char out[GANTRY_TOOL_TEXT_BYTES]);
void gantry_tool_claim_read(gantry_runtime_t *runtime, const gantry_physical_device_t *device,
                            gantry_tool_claim_t *out);
/* "unknown", "free" or "claimed". */
const char *gantry_tool_claim_state(const gantry_tool_claim_t *claim);
/* "claimed by alice, process 123 on a, for 12.0 s: python train.py". */
void gantry_tool_claim_text(const gantry_tool_claim_t *claim, char *out, size_t out_bytes);
void gantry_tool_claim_json(gantry_json_t *json, const char *key, const gantry_tool_claim_t *claim);

#endif
