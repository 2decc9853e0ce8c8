/* SPDX-License-Identifier: Apache-2.0 */
/* Counts events, chooses occurrences, runs them in children, and reports one scenario. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "faults.h"

#define WHY_BYTES 2000
#define PRINTED 40 /* failures of one scenario that are printed in full */

typedef struct plan_t {
    uint32_t site; /* place in the table */
    char result;   /* of faults_run_one; 0: not run */
    uint64_t occurrence;
} plan_t;

/* State shared by parent and children. */
typedef struct shared_t {
    faults_site_t sites[FAULTS_SITES];
    faults_note_t notes[FAULTS_NOTES];
    bool is_counted;
    size_t next; /* the current or next plan */
    char why[WHY_BYTES];
} shared_t;

typedef struct job_t {
    const faults_settings_t *settings;
    const faults_scenario_t *scenario;
    shared_t *shared;
    plan_t *plans;
    size_t plan_count, plan_bytes;
    int output, errors;
} job_t;

static void *map_shared(size_t bytes) {
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (at != MAP_FAILED) return at;
    (void)fprintf(stderr, "gantry_faults: no memory to share with children\n");
    exit(2);
}

/* ---- children ---- */

/* Reports an unnoticed fault on standard error, because standard output belongs to the program. */
static void print_other_way(const job_t *job, const plan_t *plan) {
    const faults_site_t *site = &job->shared->sites[plan->site];
    (void)fprintf(stderr,
                  "gantry_faults: went well: %s, occurrence %" PRIu64 " of %" PRIu64 ", from",
                  site->name, plan->occurrence, site->events);
    for (uint32_t i = 0; i < site->frame_count; ++i)
        (void)fprintf(stderr, " %s+0x%" PRIx64, site->frames[i].module, site->frames[i].offset);
    (void)fprintf(stderr, "\n");
}

static void print_tail(const char *title, int file) {
    char text[3000];
    off_t end = lseek(file, 0, SEEK_END),
          at = end > (off_t)sizeof text - 1 ? end - (off_t)sizeof text + 1 : 0;
    ssize_t got = pread(file, text, sizeof text - 1, at);
    if (got <= 0) return;
    text[got] = '\0';
    (void)printf("      %s: %s%s", title, text, text[got - 1] == '\n' ? "" : "\n");
}

/* How the child ended, if it did not end by itself; else "". */
static const char *wait_for(pid_t child, int *out_code) {
    static char text[64];
    int status = 0;
    while (waitpid(child, &status, 0) < 0) continue;
    *out_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    if (WIFSIGNALED(status)) {
        bool is_late = WTERMSIG(status) == SIGALRM;
        (void)snprintf(text, sizeof text, "%s%s",
                       is_late ? "no end: " : "died: ", strsignal(WTERMSIG(status)));
        return text;
    }
    (void)snprintf(text, sizeof text, "ended itself with %d", *out_code);
    return *out_code == 0 || *out_code == 1 ? "" : text;
}

static faults_child_t begin_child(job_t *job) {
    faults_child_t child = {.settings = job->settings,
                            .scenario = job->scenario,
                            .notes = job->shared->notes,
                            .output = job->output,
                            .errors = job->errors};
    char words[512];
    (void)snprintf(words, sizeof words, "%s/words.txt", job->settings->folder);
    if (!freopen(words, "r", stdin)) _exit(3);
    if (dup2(job->output, STDOUT_FILENO) < 0) _exit(3);
    if (!job->settings->verbose && dup2(job->errors, STDERR_FILENO) < 0) _exit(3);
    faults_sites_begin(job->shared->sites);
    return child;
}

/* Runs twice, because the first run fills caches. */
static _Noreturn void count_in_child(job_t *job) {
    shared_t *shared = job->shared;
    faults_child_t child = begin_child(job);
    shared->is_counted = faults_run_plain(&child, false, shared->why, WHY_BYTES) &&
                         faults_run_plain(&child, true, shared->why, WHY_BYTES);
    _exit(0);
}

static _Noreturn void run_in_child(job_t *job) {
    shared_t *shared = job->shared;
    faults_child_t child = begin_child(job);
    if (!faults_run_plain(&child, false, shared->why, WHY_BYTES)) _exit(4);
    while (shared->next < job->plan_count) {
        plan_t *plan = &job->plans[shared->next];
        shared->why[0] = '\0';
        plan->result = faults_run_one(&child, &shared->sites[plan->site], plan->occurrence,
                                      shared->why, WHY_BYTES);
        if (plan->result == 'f') _exit(1);
        if (child.settings->verbose && plan->result == 'o') print_other_way(job, plan);
        ++shared->next;
    }
    _exit(0);
}

/* ---- plans ---- */

static void add_plan(job_t *job, uint32_t site, uint64_t occurrence) {
    size_t first = job->plan_count;
    while (first > 0 && job->plans[first - 1].site == site) --first;
    for (size_t i = first; i < job->plan_count; ++i) {
        if (job->plans[i].occurrence == occurrence) return;
    }
    job->plans[job->plan_count++] = (plan_t){.site = site, .occurrence = occurrence};
}

static uint64_t next_random(uint64_t *state) {
    uint64_t x = *state += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

/* True when an earlier scenario had the site; marks the site as seen. */
static bool was_seen(uint64_t number) {
    static uint64_t seen[4 * FAULTS_SITES];
    for (uint64_t i = 0; i < 64; ++i) {
        uint64_t *at = &seen[(number + i) % (4 * FAULTS_SITES)];
        if (*at == number) return true;
        if (*at == 0) {
            *at = number;
            return false;
        }
    }
    return false;
}

static uint64_t plan_site(job_t *job, uint32_t index) {
    const faults_settings_t *settings = job->settings;
    const faults_site_t *site = &job->shared->sites[index];
    if (site->number == 0 || (settings->once && was_seen(site->number))) return 0;
    if (settings->site) {
        if (settings->site == site->number) add_plan(job, index, settings->occurrence);
        return settings->site == site->number;
    }
    add_plan(job, index, 1);
    const bool ends = settings->ends || (job->scenario->flags & FAULTS_ENDS);
    if (site->events > 1 && !ends) add_plan(job, index, 2);
    add_plan(job, index, site->events);
    uint64_t state = settings->seed ^ site->number;
    for (uint64_t i = 0; i < settings->random_count && site->events > 3; ++i)
        add_plan(job, index, 1 + next_random(&state) % site->events);
    return 1;
}

static uint64_t make_plans(job_t *job) {
    uint64_t sites = 0;
    for (uint32_t i = 0; i < FAULTS_SITES; ++i) sites += job->shared->sites[i].number != 0;
    job->plan_bytes =
        (size_t)(sites + 1) * (size_t)(3 + job->settings->random_count) * sizeof *job->plans;
    job->plans = map_shared(job->plan_bytes);
    sites = 0;
    for (uint32_t i = 0; i < FAULTS_SITES; ++i) sites += plan_site(job, i);
    return sites;
}

/* ---- reports ---- */

static void print_failure(const job_t *job, const plan_t *plan, const char *end) {
    const faults_site_t *site = &job->shared->sites[plan->site];
    (void)printf("FAIL %s %s: %s, occurrence %" PRIu64 " of %" PRIu64 "\n     %s%s%s\n",
                 faults_source_name(faults_source), job->scenario->name, site->name,
                 plan->occurrence, site->events, end, *end ? "; " : "", job->shared->why);
    (void)printf("      from");
    for (uint32_t i = 0; i < site->frame_count; ++i)
        (void)printf(" %s+0x%" PRIx64, site->frames[i].module, site->frames[i].offset);
    (void)printf("\n      again: %s --source %s --scenario %s --site %" PRIx64
                 " --occurrence %" PRIu64 " --verbose\n",
                 job->settings->program, faults_source_name(faults_source), job->scenario->name,
                 site->number, plan->occurrence);
    if (*end || job->settings->verbose) {
        print_tail("output", job->output);
        print_tail("errors", job->errors);
    }
    (void)fflush(stdout);
}

static void report(const job_t *job, uint64_t sites, uint64_t failures, double seconds,
                   faults_totals_t *totals) {
    uint64_t fallbacks = 0, unreached = 0, runs = 0;
    for (size_t i = 0; i < job->plan_count; ++i) {
        runs += job->plans[i].result != 0;
        fallbacks += job->plans[i].result == 'o';
        unreached += job->plans[i].result == 'u';
    }
    (void)printf("%-7s %-34s %6" PRIu64 " %8" PRIu64 " %9" PRIu64 " %9" PRIu64 " %8" PRIu64
                 " %7.1f\n",
                 faults_source_name(faults_source), job->scenario->name, sites, runs, fallbacks,
                 unreached, failures, seconds);
    (void)fflush(stdout);
    ++totals->scenarios;
    totals->sites += sites;
    totals->runs += runs;
    totals->fallbacks += fallbacks;
    totals->unreached += unreached;
    totals->failures += failures;
}

/* ---- a scenario ---- */

static bool count_events(job_t *job) {
    int code = 0;
    (void)fflush(stdout);
    pid_t child = fork();
    if (child == 0) count_in_child(job);
    const char *end = child < 0 ? "no child" : wait_for(child, &code);
    if (!*end && job->shared->is_counted) return true;
    (void)printf("FAIL %s %s: %s %s\n", faults_source_name(faults_source), job->scenario->name, end,
                 job->shared->why);
    print_tail("output", job->output);
    print_tail("errors", job->errors);
    return false;
}

static uint64_t run_plans(job_t *job) {
    uint64_t failures = 0;
    if (job->plan_count == 0) return 0;
    while (job->shared->next < job->plan_count) {
        int code = 0;
        (void)fflush(stdout);
        pid_t child = fork();
        if (child == 0) run_in_child(job);
        const char *end = child < 0 ? "no child" : wait_for(child, &code);
        if (!*end && code == 0) break;
        plan_t *plan = &job->plans[job->shared->next];
        plan->result = 'f';
        if (++failures <= PRINTED) print_failure(job, plan, end);
        ++job->shared->next;
    }
    return failures;
}

static double now(void) {
    struct timespec time;
    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

void faults_try(const faults_settings_t *settings, const faults_scenario_t *scenario,
                faults_totals_t *totals) {
    job_t job = {
        .settings = settings, .scenario = scenario, .shared = map_shared(sizeof(shared_t))};
    double begin = now();
    job.output = memfd_create("output", MFD_CLOEXEC);
    job.errors = memfd_create("errors", MFD_CLOEXEC);
    if (count_events(&job)) {
        uint64_t sites = make_plans(&job);
        uint64_t failures = run_plans(&job);
        report(&job, sites, failures, now() - begin, totals);
        (void)munmap(job.plans, job.plan_bytes);
    } else {
        ++totals->failures;
    }
    (void)close(job.output);
    (void)close(job.errors);
    (void)munmap(job.shared, sizeof *job.shared);
}
