/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of `gantry top`: figures are collected, made into lines or JSON, and shown once, or on
 * a terminal's screen again and again. Owner: the command has the gantry_top_t and its frame; the
 * figures are plain values. Threads: externally synchronised; a handler of signals only writes to a
 * pipe. */
#ifndef GANTRY_TOOLS_TOP_H
#define GANTRY_TOOLS_TOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <gantry/gantry.h>

#include "common/tool.h"

#define GANTRY_TOP_DEVICES 64
#define GANTRY_TOP_PROCESSES 64 /* of one device */
#define GANTRY_TOP_PROGRAMS 64
#define GANTRY_TOP_POOLS 16 /* of one program */

/* ---- figures ---- */

typedef struct gantry_top_process_t {
    uint32_t pid;
    uint64_t used_bytes; /* UINT64_MAX: unknown */
    bool is_graphics;
    char name[48]; /* "" when unknown, as user */
    char user[32];
} gantry_top_process_t;

typedef struct gantry_top_device_t {
    char name[32]; /* "GPU:0", or the alias of a view without a number */
    bool is_cpu;
    gantry_device_details_t details;
    gantry_device_telemetry_t figures;
    gantry_tool_claim_t claim;
    bool has_processes; /* they are known, even if there are none */
    size_t process_count;
    gantry_top_process_t processes[GANTRY_TOP_PROCESSES];
} gantry_top_device_t;

typedef struct gantry_top_pool_t {
    char device[32]; /* "GPU:0" as the program counts */
    char uuid[64];
    uint64_t in_use_bytes, pool_bytes, peak_bytes, limit_bytes;
    uint64_t foreign_bytes; /* the program's own memory in its tensors */
} gantry_top_pool_t;

/* A program that shows its memory by GANTRY_STATUS. */
typedef struct gantry_top_program_t {
    uint32_t pid;
    char name[48];
    char user[32];
    double age_seconds; /* of the figures */
    size_t pool_count;
    gantry_top_pool_t pools[GANTRY_TOP_POOLS];
} gantry_top_program_t;

typedef struct gantry_top_t {
    gantry_runtime_t *runtime;
    time_t now;
    size_t device_count, program_count;
    gantry_top_device_t devices[GANTRY_TOP_DEVICES];
    gantry_top_program_t programs[GANTRY_TOP_PROGRAMS];
} gantry_top_t;

/* Reads all figures now. It returns false if the runtime does not list its devices. */
bool gantry_top_collect(gantry_top_t *top);
/* Reads the programs' status files in a folder. */
void gantry_top_read_programs(gantry_top_t *top, const char *folder);
/* Writes the name and the user of a process, cut to the room; "" when it is not of this system. */
void gantry_top_describe(uint32_t pid, char *out_name, size_t name_bytes, char *out_user,
                         size_t user_bytes);

/* ---- lines ---- */

#define GANTRY_TOP_LINES 512
#define GANTRY_TOP_COLUMNS 240

typedef enum gantry_top_style_t {
    GANTRY_TOP_PLAIN,
    GANTRY_TOP_TITLE,
    GANTRY_TOP_HEADER,
    GANTRY_TOP_WARNING
} gantry_top_style_t;

/* A frame. No line may be wider than `columns`, and all characters must be printable ASCII, because
 * a wider cell would break the table. */
typedef struct gantry_top_frame_t {
    size_t columns; /* of the screen, at most GANTRY_TOP_COLUMNS */
    size_t count;
    gantry_top_style_t style[GANTRY_TOP_LINES];
    char text[GANTRY_TOP_LINES][GANTRY_TOP_COLUMNS + 1];
} gantry_top_frame_t;

/* Composes a frame. interval_seconds is 0 if the frame is the only one. */
void gantry_top_compose(const gantry_top_t *top, double interval_seconds, size_t columns,
                        gantry_top_frame_t *out_frame);
/* Prints JSON to standard output. */
void gantry_top_print_json(const gantry_top_t *top);

/* ---- the screen ---- */

/* Shows frames on the terminal until a key or a signal ends it; returns the exit code. A signal
 * other than SIGINT ends the process, once the terminal is as it was. */
int gantry_top_watch(gantry_top_t *top, double interval_seconds);
/* Gets the terminal's columns and lines; 80 and 24 when it does not report them. */
void gantry_top_screen_size(size_t *out_columns, size_t *out_lines);

#endif
