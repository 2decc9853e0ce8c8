/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of `gantry run`: the cards and the choice among them, the environment of the child, the
 * child itself. Owner: the command has the lists of cards and variables; the claim belongs to this
 * process and its child. Threads: externally synchronised. */
#ifndef GANTRY_TOOLS_RUN_H
#define GANTRY_TOOLS_RUN_H

#include "common/tool.h"

#define GANTRY_RUN_MOST 64
#define GANTRY_RUN_TIMED_OUT 124
#define GANTRY_RUN_NOT_EXECUTABLE 126
#define GANTRY_RUN_NOT_FOUND 127

typedef enum gantry_run_policy_t {
    GANTRY_RUN_IDLE,
    GANTRY_RUN_FREE,
    GANTRY_RUN_SPREAD
} gantry_run_policy_t;

typedef struct gantry_run_request_t {
    size_t count;
    uint64_t min_free_bytes;
    gantry_run_policy_t policy;
    const char *backend; /* NULL: any */
} gantry_run_request_t;

typedef struct gantry_run_card_t {
    const gantry_physical_device_t *device;
    gantry_device_details_t details;
    bool is_memory_known, is_use_known;
    bool is_processor; /* presented as a card */
    uint64_t free_bytes, total_bytes;
    uint32_t busy_percent;
    bool is_ours;    /* an outer `gantry run` claimed it for us */
    bool never_fits; /* waiting does not help */
    bool is_refused; /* at present; reason says why */
    char reason[512];
    uint32_t order; /* the lowest is the best */
} gantry_run_card_t;

/* Lists the visible GPUs. It returns false after a message. */
bool gantry_run_list(gantry_runtime_t *runtime, const gantry_run_request_t *request,
                     gantry_run_card_t cards[GANTRY_RUN_MOST], size_t *out_count);
/* Fills the fields of what is known now. */
void gantry_run_read_figures(gantry_runtime_t *runtime, gantry_run_card_t *card);
/* Reads the cards' figures, and decides which of them serve the request now. */
void gantry_run_look(gantry_runtime_t *runtime, const gantry_run_request_t *request,
                     gantry_run_card_t *cards, size_t count);
/* Claims the best cards in the claimant's turn: chosen[i] is a place in cards. It returns false,
 * and nothing is claimed, if too few serve the request; the cards' reasons say why. */
bool gantry_run_claim(gantry_claim_t *claim, const gantry_run_request_t *request,
                      gantry_run_card_t *cards, size_t count, size_t *chosen);

#define GANTRY_RUN_MOST_VARIABLES 8

/* The variables that the child gets, with their values in this process's environment. */
typedef struct gantry_run_variables_t {
    const char *names[GANTRY_RUN_MOST_VARIABLES], *values[GANTRY_RUN_MOST_VARIABLES];
    size_t count;
} gantry_run_variables_t;

/* Sets a variable, and lists it. It returns false after a message. */
bool gantry_run_set_variable(gantry_run_variables_t *variables, const char *name,
                             const char *value);
/* Sets the variables by which the child and its libraries see only the chosen cards, or no card if
 * chosen_count is 0. It returns false after a message. */
bool gantry_run_set_environment(gantry_runtime_t *runtime, const gantry_run_card_t *cards,
                                const size_t *chosen, size_t chosen_count,
                                gantry_run_variables_t *variables);

/* The OpenCL layer of the child. */
typedef struct gantry_run_layer_t {
    bool is_set;
    char path[GANTRY__OS_PATH_BYTES]; /* of the layer; "": it is not installed */
    char devices[8192];               /* GANTRY_OPENCL_LAYER_DEVICES */
    char reason[512];                 /* why it is not set */
} gantry_run_layer_t;

/* Sets the layer's variables if the loader takes layers. It returns false after a message. */
bool gantry_run_set_layer(gantry_runtime_t *runtime, const gantry_run_card_t *cards,
                          const size_t *chosen, size_t chosen_count,
                          gantry_run_variables_t *variables, gantry_run_layer_t *layer);

/* What `gantry run --json` reports. */
typedef struct gantry_run_report_t {
    const char *outcome; /* "starts", "starts without a GPU", "too few GPUs fit", ... */
    const char *path;    /* of the program */
    char **command;
    const gantry_run_request_t *request;
    const gantry_run_card_t *cards;
    size_t count;
    const size_t *chosen;
    size_t chosen_count;
    double waited_seconds;
    size_t before; /* claimants in the queue */
    const gantry_run_variables_t *variables;
    const gantry_run_layer_t *layer; /* NULL: no program starts */
} gantry_run_report_t;

void gantry_run_print_json(FILE *file, const gantry_run_report_t *report);

/* Finds the file that the command names, as execvp finds it. It returns 0, or the exit code after a
 * message. */
int gantry_run_find_program(const char *command, char out_path[GANTRY__OS_PATH_BYTES]);

/* Runs the program, forwards signals, and waits. It returns the exit code. */
int gantry_run_child(const char *path, char **arguments);

#endif
