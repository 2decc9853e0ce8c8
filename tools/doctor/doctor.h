/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of `gantry doctor`: a list of checks, and the files that add checks to it.
 *
 * A check has one of three states. Failed: something is there and does not work, or something that
 * was required is missing. Not possible: the machine or the library cannot answer, or the thing was
 * left out on purpose. Only required checks count for the exit code. Owner: the command has the
 * doctor_t, which has all checks. Threads: externally synchronised. */
#ifndef GANTRY_TOOLS_DOCTOR_H
#define GANTRY_TOOLS_DOCTOR_H

#include <stdbool.h>
#include <stddef.h>

#include <gantry/gantry.h>

#define DOCTOR_MOST_CHECKS 160
#define DOCTOR_MOST_LINES 48
#define DOCTOR_LINE_BYTES 1200
#define DOCTOR_PATH_BYTES 1024

/* Kinds that no --require names. */
#define DOCTOR_MACHINE "machine"
#define DOCTOR_HIDDEN "hidden"
#define DOCTOR_LIBRARY "library"
#define DOCTOR_REQUIRED "required"

/* Names of checks of the machine that may be why a device is missing. */
#define DOCTOR_DRIVERS "drivers"
#define DOCTOR_RENDER_NODES "render nodes"
#define DOCTOR_ONE_DRIVER "one driver for each card"
#define DOCTOR_OPENCL_DRIVER "OpenCL driver"

/* A part of the library's line on a variable of a vendor that selects no device of this machine. */
#define DOCTOR_NO_EFFECT " has no effect on "

typedef enum doctor_state_t { DOCTOR_PASSED, DOCTOR_FAILED, DOCTOR_NOT_POSSIBLE } doctor_state_t;

typedef struct doctor_check_t {
    char name[96]; /* "opencl:0 computes" */
    char kind[32]; /* a backend's name, or one of the kinds above */
    doctor_state_t state;
    const char *backend; /* whose devices it may hide; NULL: those of any */
    bool is_required;    /* unless it passes, the exit code is 1 */
    char text[DOCTOR_LINE_BYTES];
    char remedy[512]; /* "": none, or the text names it */
} doctor_check_t;

/* The wishes of the command line. */
typedef struct doctor_wish_t {
    bool gpu, opencl, cuda, strict;
    unsigned gpus; /* 0: no number was named */
} doctor_wish_t;

/* Facts about the machine that need no driver. */
typedef struct doctor_machine_t {
    unsigned nvidia_cards, amd_cards, intel_cards; /* on the PCI bus */
    unsigned nvidia_nodes, render_nodes;
    bool has_nvidia_module, is_container;
} doctor_machine_t;

typedef struct doctor_t {
    doctor_wish_t wish;
    doctor_machine_t machine;
    bool leaves_drivers_out; /* because no process survives them */
    gantry_runtime_t *runtime;
    const gantry_physical_device_t **views;
    size_t view_count;
    doctor_check_t checks[DOCTOR_MOST_CHECKS];
    size_t count;
    char lines[DOCTOR_MOST_LINES][DOCTOR_LINE_BYTES]; /* of the library's log */
    bool is_warning[DOCTOR_MOST_LINES];
    size_t line_count;
} doctor_t;

/* ---- the list ---- */

/* Adds a check, whose remedy may be NULL. Beyond DOCTOR_MOST_CHECKS the last check is replaced. */
__attribute__((format(printf, 6, 7))) doctor_check_t *doctor_add(doctor_t *doctor, const char *kind,
                                                                 const char *name,
                                                                 doctor_state_t state,
                                                                 const char *remedy,
                                                                 const char *format, ...);
/* Returns the remedy for a reason that the library gave, or NULL. */
const char *doctor_remedy(const char *reason);
/* For an NVIDIA library that pip may have installed where Gantry does not search. */
#define DOCTOR_PIP_HINT \
    "; if pip has installed it: export VIRTUAL_ENV=$(python3 -c 'import sys; print(sys.prefix)')"
#define DOCTOR_NVRTC_REMEDY \
    "pip install nvidia-cuda-nvrtc-cu12, or apt-get install libnvrtc12" DOCTOR_PIP_HINT
/* Prints the list and its summary. Returns the exit code. */
int doctor_print(const doctor_t *doctor, bool json);

/* ---- the checks ---- */

gantry_device_details_t doctor_details(const doctor_t *doctor, size_t view);
/* Writes where a file of the system is: below GANTRY_TEST_ROOT, which tests set. */
const char *doctor_path(char out[DOCTOR_PATH_BYTES], const char *path);

void doctor_look_at_machine(doctor_machine_t *out_machine);
void doctor_check_nodes(doctor_t *doctor);
void doctor_check_icd(doctor_t *doctor);
void doctor_check_lists(doctor_t *doctor);
void doctor_check_backends(doctor_t *doctor);
void doctor_check_log(doctor_t *doctor);
void doctor_check_views(doctor_t *doctor);
void doctor_check_folders(doctor_t *doctor);
void doctor_check_kernels(doctor_t *doctor);
/* Returns the check that says whether a device computes, or NULL. */
doctor_check_t *doctor_find_result(doctor_t *doctor, const char *alias);
void doctor_check_wishes(doctor_t *doctor);

/* Returns whether a process survives that opens the drivers as this one will. If not, it writes how
 * the process ended. is_patient gives it all time, in a test, too. */
bool doctor_try_drivers(bool is_patient, char *why, size_t why_bytes);

typedef void (*doctor_line_fn)(doctor_t *doctor, char *line);
/* Runs the hidden command with this word, and gives each line of its answer to `tell`. */
void doctor_ask(doctor_t *doctor, const char *word, doctor_line_fn tell);

/* The hidden command that computes on each device that it is given. It answers a line for each:
 * alias, state, text and note, with tabs between them. Without a device it opens the drivers, makes
 * the calls that `gantry doctor` makes, and must say at its end that it is there still, because a
 * driver may call exit. For the word DOCTOR_LISTS it opens what variables list:
 * doctor_open_lists. The answer goes to GANTRY__OS_CHILD_REPORT, so it has nothing that drivers
 * print. */
#define DOCTOR_COMPUTE "doctor-compute"
#define DOCTOR_SURVIVED "survived"
#define DOCTOR_LISTS "lists"
/* Writes a part of the answer. */
void doctor_answer(const char *format, ...) __attribute__((format(printf, 1, 2)));
void doctor_open_lists(void);

#endif
