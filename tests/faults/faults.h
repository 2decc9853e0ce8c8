/* SPDX-License-Identifier: Apache-2.0 */
/* The fault tool: makes one host allocation (on the CPU, or while a real card serves), one slot of
 * the fake backend, one OpenCL call or one call of the stand-in for NVIDIA's libraries fail at a
 * time, in short programs over the public API, and checks what is left of them.
 *
 * Words: an event is one call that could fail; a site is the place it comes from (name and return
 * addresses within the library, as offsets in their modules, so that a site keeps its number from
 * run to run of one build); an occurrence is the n-th event of a site. Process: the parent plans,
 * children run; a child that dies is reported with the plan it died in, and another goes on.
 * Threads: events come from any thread; all else is of the main thread. */
#ifndef GANTRY_TESTS_FAULTS_H
#define GANTRY_TESTS_FAULTS_H

#include <gantry/gantry.h>

typedef enum faults_source_t {
    FAULTS_HOST,
    FAULTS_FAKE,
    FAULTS_OPENCL,
    FAULTS_CUDA,
    FAULTS_CARD,
    FAULTS_SOURCES
} faults_source_t;

/* ---- scenarios ---- */

#define FAULTS_ON_HOST (1u << FAULTS_HOST)
#define FAULTS_ON_FAKE (1u << FAULTS_FAKE)
#define FAULTS_ON_OPENCL (1u << FAULTS_OPENCL)
#define FAULTS_ON_CUDA (1u << FAULTS_CUDA)
#define FAULTS_ON_CARD (1u << FAULTS_CARD)
#define FAULTS_ON_ALL \
    (FAULTS_ON_HOST | FAULTS_ON_FAKE | FAULTS_ON_OPENCL | FAULTS_ON_CUDA | FAULTS_ON_CARD)
/* host source: beside the CPU, two devices of the fake backend */
#define FAULTS_WITH_GPUS (1u << 8)
/* a run that succeeds prints what the run without a fault prints */
#define FAULTS_SAME_OUTPUT (1u << 9)
#define FAULTS_COLD (1u << 10) /* no cache of program binaries */
/* runs out of memory on purpose: that a last way out of it failed may stay untold */
#define FAULTS_RUNS_OUT (1u << 11)
#define FAULTS_ARGS 16

typedef struct faults_scenario_t {
    const char *name;
    int (*run)(int argc, char **argv); /* 0: it went well, its results are right */
    unsigned flags;
    const char *args[FAULTS_ARGS]; /* "%d" in them becomes the device, "%t" the folder for files */
} faults_scenario_t;

extern const faults_scenario_t faults_scenarios[];
extern const size_t faults_scenario_count;

/* Files that scenarios read, in that folder. False when they cannot be written. */
bool faults_write_files(const char *folder);
/* The first small case of every op, for the scenario "ops". */
bool faults_load_cases(void);

/* ---- sites: shared by parent and children ---- */

#define FAULTS_SITES 8192
#define FAULTS_FRAMES 10

typedef struct faults_frame_t {
    char module[24];
    uint64_t offset;
} faults_frame_t;

typedef struct faults_site_t {
    uint64_t number; /* 0: free */
    uint64_t events;
    char name[36];
    uint32_t frame_count;
    faults_frame_t frames[FAULTS_FRAMES];
} faults_site_t;

/* Table of FAULTS_SITES, in memory that outlives a fork. */
void faults_sites_begin(faults_site_t *table);
/* Counts events into the table until stopped. */
void faults_sites_count(void);
/* The occurrence-th event (from 1) of the site from now on fails. */
void faults_sites_aim(uint64_t site, uint64_t occurrence);
void faults_sites_stop(void);
bool faults_sites_is_aimed(void);
bool faults_sites_fired(void);
uint64_t faults_sites_occurrence(void); /* aimed at */
/* of the site and occurrence aimed at: the same in every run */
uint64_t faults_sites_choice(void);
/* Called by the sources: must this event fail? */
bool faults_event(const char *name);

/* ---- the heap that runtimes under test get ---- */

void *faults_heap_reallocate(void *user, void *ptr, size_t old_bytes, size_t new_bytes);
/* Empties the counters; what lives is no longer counted. */
void faults_heap_reset(void);
/* False, with the reason, when something lives or came back with a wrong size. */
bool faults_heap_is_balanced(char *out_why, size_t why_bytes);

/* ---- sources ---- */

/* Makes the source ready in this process, before any fork. False: not possible here, because. */
bool faults_source_prepare(faults_source_t source, char *out_why, size_t why_bytes);
const char *faults_source_name(faults_source_t source);
const char *faults_source_device(const faults_scenario_t *scenario);
/* What the runtimes of the scenario are made with. */
void faults_source_fill(const faults_scenario_t *scenario, gantry_runtime_options_t *options);
/* In the child: before each run, and after it: is everything of the driver given back? */
void faults_source_reset(void);
bool faults_source_is_clean(char *out_why, size_t why_bytes);
/* What the fault that was made last must end in, and whether a message tells of it. */
gantry_status_t faults_source_status(void);
const char *faults_source_cause(void);
bool faults_source_is_told(const char *message);
bool faults_source_is_lost(void); /* it took the device with it */
/* Called by the sources: such a fault is made now. */
void faults_source_made(gantry_status_t status, const char *cause, bool loses_device);
extern faults_source_t faults_source;

/* ---- what the program under test said, see faults_calls.h ---- */

#define FAULTS_NOTES 1024

typedef struct faults_note_t {
    uint64_t key; /* place and status */
    uint64_t count;
} faults_note_t;

typedef struct faults_said_t {
    bool differs; /* some call failed that does not in a run without a fault: the first such */
    bool status_known;
    gantry_status_t status;
    bool in_create;      /* the fault hit while a runtime was made, and that went well */
    bool cause_is_told;  /* then: a backend's reason or the log names the cause */
    bool next_was_tried; /* an operation after the fault, on the same runtime */
    char call[64], place[96], message[1024];
    char next_failure[512]; /* "": it went well */
} faults_said_t;

/* notes: FAULTS_NOTES entries, shared; learning fills them, else they are what is to be
 * expected. */
void faults_calls_begin(const faults_scenario_t *scenario, faults_note_t *notes, bool learning);
/* Runs the scenario's program; ends what it left behind when it exits. Returns its exit code. */
int faults_calls_run(const faults_scenario_t *scenario, int argc, char **argv);
const faults_said_t *faults_calls_end(void);

/* ---- runs and reports ---- */

typedef struct faults_settings_t {
    uint64_t random_count, seed;
    uint64_t site, occurrence; /* both or neither: this one alone */
    uint32_t timeout_s;
    bool verbose, once;
    const char *folder, *program;
} faults_settings_t;

typedef struct faults_totals_t {
    uint64_t scenarios, sites, runs, fallbacks, unreached, failures;
} faults_totals_t;

/* Counts, plans, runs and reports one scenario; adds to the totals. */
void faults_try(const faults_settings_t *settings, const faults_scenario_t *scenario,
                faults_totals_t *totals);

/* One run in this process. Returns 'o' (went well in another way), 'e' (the error it should), 'u'
 * (the event did not come) or 'f' with why. */
typedef struct faults_child_t {
    const faults_settings_t *settings;
    const faults_scenario_t *scenario;
    faults_note_t *notes;
    int output, errors;   /* files that take what the program prints */
    uint64_t output_hash; /* of the run without a fault */
    int threads, files;   /* of a process that has run once */
} faults_child_t;

/* The run without a fault; learning: counts sites and notes. False with the reason when it does
 * not succeed. */
bool faults_run_plain(faults_child_t *child, bool learning, char *out_why, size_t why_bytes);
char faults_run_one(faults_child_t *child, uint64_t site, uint64_t occurrence, char *out_why,
                    size_t why_bytes);

#endif
