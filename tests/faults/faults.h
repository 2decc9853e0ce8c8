/* SPDX-License-Identifier: Apache-2.0 */
/* The fault tool makes one call fail at a time in short programs over the public API, and checks
 * the state afterwards. The call is a host allocation (on the CPU, or while a real card is in use),
 * a slot of the fake backend, an OpenCL call or a call of the stand-in for NVIDIA's libraries.
 *
 * Words: an event is one call that could fail; a site is the place it comes from (name and return
 * addresses within the library, as offsets in their modules, so that a site keeps its number from
 * run to run of one build); an occurrence is the n-th event of a site. Processes: the parent plans,
 * children run. When a child dies, the parent reports its plan, and another child continues.
 * Threads: events come from any thread; everything else runs on the main thread. */
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
/* host source: adds two devices of the fake backend to the CPU */
#define FAULTS_WITH_GPUS (1u << 8)
/* a run that succeeds prints the same output as the run without a fault */
#define FAULTS_SAME_OUTPUT (1u << 9)
#define FAULTS_COLD (1u << 10) /* no cache of program binaries */
/* runs out of memory on purpose: the failure of a last fallback may stay unreported */
#define FAULTS_RUNS_OUT (1u << 11)
#define FAULTS_ENDS (1u << 12) /* of each site the first and the last occurrence only */
#define FAULTS_ARGS 16

typedef struct faults_scenario_t {
    const char *name;
    int (*run)(int argc, char **argv); /* 0: success with right results */
    unsigned flags;
    const char *args[FAULTS_ARGS]; /* "%d" in them becomes the device, "%t" the folder for files */
} faults_scenario_t;

extern const faults_scenario_t faults_scenarios[];
extern const size_t faults_scenario_count;

/* Writes the scenarios' input files to the folder. False on failure. */
bool faults_write_files(const char *folder);
/* The first small case of every op, for the scenario "ops". */
bool faults_load_cases(void);

/* ---- cases of the conformance program within a scenario ---- */

/* Where an event came: in which case (0: before the first) and which event of its site in there. */
typedef struct faults_place_t {
    uint64_t number, occurrence;
} faults_place_t;

/* Before a run. With a place, only its case and the next one run: before the first case, the first
 * two. */
void faults_cases_begin(const faults_place_t *place);
uint64_t faults_cases_now(void);
bool faults_cases_have_skipped(void);

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
    faults_place_t first, second, last; /* of the events */
    char name[36];
    uint32_t frame_count;
    faults_frame_t frames[FAULTS_FRAMES];
} faults_site_t;

/* The table of FAULTS_SITES, in memory that outlives a fork. */
void faults_sites_begin(faults_site_t *table);
/* Counts events into the table until stopped. */
void faults_sites_count(void);
/* The occurrence-th event (from 1) of the site from now on fails; with a place, the event there. */
void faults_sites_aim(uint64_t site, uint64_t occurrence, const faults_place_t *place);
void faults_sites_stop(void);
bool faults_sites_is_aimed(void);
bool faults_sites_fired(void);
uint64_t faults_sites_occurrence(void); /* aimed at */
/* of the target site and occurrence; the same in every run */
uint64_t faults_sites_choice(void);
/* Called by the sources: true when this event must fail. */
bool faults_event(const char *name);

/* ---- the heap of runtimes under test ---- */

void *faults_heap_reallocate(void *user, void *ptr, size_t old_bytes, size_t new_bytes);
/* Empties the counters; blocks that live are no longer counted. */
void faults_heap_reset(void);
/* False, with the reason, when a block lives or was freed with a wrong size. */
bool faults_heap_is_balanced(char *out_why, size_t why_bytes);

/* ---- sources ---- */

/* Prepares the source in this process, before any fork. False: impossible here, with the reason. */
bool faults_source_prepare(faults_source_t source, char *out_why, size_t why_bytes);
const char *faults_source_name(faults_source_t source);
const char *faults_source_device(const faults_scenario_t *scenario);
/* The options of the scenario's runtimes. */
void faults_source_fill(const faults_scenario_t *scenario, gantry_runtime_options_t *options);
/* In the child: the first runs before each run; the second runs after it and is true when all
 * driver objects are released. */
void faults_source_reset(void);
bool faults_source_is_clean(char *out_why, size_t why_bytes);
/* The required status after the newest fault, and whether a message reports the fault. */
gantry_status_t faults_source_status(void);
const char *faults_source_cause(void);
bool faults_source_is_told(const char *message);
bool faults_source_is_lost(void); /* the device is lost with it */
/* Called by the sources when they make such a fault. */
void faults_source_made(gantry_status_t status, const char *cause, bool loses_device);
extern faults_source_t faults_source;

/* ---- reports of the program under test, see faults_calls.h ---- */

#define FAULTS_NOTES 1024

typedef struct faults_note_t {
    uint64_t key; /* place and status */
    uint64_t count;
} faults_note_t;

typedef struct faults_said_t {
    bool differs; /* the first call that failed here and succeeds without a fault */
    bool status_known;
    gantry_status_t status;
    bool in_create;      /* the fault occurred while a runtime was created successfully */
    bool cause_is_told;  /* in that case: a backend's reason or the log names the cause */
    bool next_was_tried; /* an operation after the fault, on the same runtime */
    char call[64], place[96], message[1024];
    char next_failure[512]; /* "": success */
} faults_said_t;

/* notes: FAULTS_NOTES entries, shared; learning fills them, other runs compare with them. */
void faults_calls_begin(const faults_scenario_t *scenario, faults_note_t *notes, bool learning);
/* Runs the scenario's program, and frees the objects that the program leaves when it exits. Returns
 * its exit code. */
int faults_calls_run(const faults_scenario_t *scenario, int argc, char **argv);
const faults_said_t *faults_calls_end(void);

/* ---- runs and reports ---- */

typedef struct faults_settings_t {
    uint64_t random_count, seed;
    uint64_t site, occurrence; /* both or neither set; when set, only this fault runs */
    uint32_t timeout_s;
    bool verbose, once, ends;
    const char *folder, *program;
} faults_settings_t;

typedef struct faults_totals_t {
    uint64_t scenarios, sites, runs, fallbacks, unreached, failures;
} faults_totals_t;

/* Counts, plans, runs and reports one scenario; adds to the totals. */
void faults_try(const faults_settings_t *settings, const faults_scenario_t *scenario,
                faults_totals_t *totals);

/* One run in this process. Returns 'o' (succeeded in another way), 'e' (the required error), 'u'
 * (the event did not occur) or 'f' with the reason. */
typedef struct faults_child_t {
    const faults_settings_t *settings;
    const faults_scenario_t *scenario;
    faults_note_t *notes;
    int output, errors;   /* files for the program's output */
    uint64_t output_hash; /* of the run without a fault */
    int threads, files;   /* of a process that has run once */
} faults_child_t;

/* The run without a fault; learning: counts sites and fills notes. False with the reason on
 * failure. */
bool faults_run_plain(faults_child_t *child, bool learning, char *out_why, size_t why_bytes);
/* The first, second and last event of a site come in runs without the cases that the fault does not
 * concern. A run of every case follows when the event did not come there. */
char faults_run_one(faults_child_t *child, const faults_site_t *site, uint64_t occurrence,
                    char *out_why, size_t why_bytes);

#endif
