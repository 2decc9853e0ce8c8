/* SPDX-License-Identifier: Apache-2.0 */
/* Do drivers open, and are kernels built and right on each device? A process of its own computes on
 * the devices and prints a line for each. If it ends early or hangs, the device without a line is
 * at fault, and another process computes on the devices after it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/os/clock.h"
#include "base/os/files.h"
#include "base/os/process.h"
#include "common/tool.h"
#include "doctor/doctor.h"

/* For one device: a first build on a busy machine takes some seconds. It is more than the minute in
 * which the library's own trial leaves out a driver that hangs. */
#define MOST_MS 75000
#define MOST_CLOSING_MS 10000
#define MOST_ENDING_MS 1000 /* from the end of its answer on */
#define PAUSE_MS 2
#define NS_OF_MS UINT64_C(1000000)

/* The devices that must compute, in the order of their views. */
typedef struct asked_t {
    char *aliases[DOCTOR_MOST_CHECKS];
    size_t views[DOCTOR_MOST_CHECKS];
    size_t count, next;
} asked_t;

/* The process, and its output so far. */
typedef struct worker_t {
    gantry__os_child_t process;
    int output;      /* the pipe of its answer */
    bool is_patient; /* whatever a test wants */
    char buffer[4 * DOCTOR_LINE_BYTES];
    size_t used;
} worker_t;

/* How it ended; GANTRY__OS_RUNS: it did not, and was ended. */
typedef struct worker_end_t {
    gantry__os_end_t how;
    int code;
} worker_end_t;

/* ---- the process ---- */

static bool doctor_kernels_start_worker(worker_t *worker, const asked_t *asked) {
    char program[GANTRY__OS_PATH_BYTES];
    const char *arguments[DOCTOR_MOST_CHECKS + 3] = {program, DOCTOR_COMPUTE};
    int report;
    if (!gantry_tool_program(program)) return false;
    for (size_t i = asked->next; i < asked->count; ++i)
        arguments[2 + i - asked->next] = asked->aliases[i];
    *worker = (worker_t){.used = 0};
    if (gantry__os_pipe(&worker->output, &report) != 0) return false;
    const gantry__os_start_t start = {.program = program, .arguments = arguments, .report = report};
    const bool is_started = gantry__os_child_start(&start, &worker->process) == 0;
    (void)gantry__os_close(report);
    if (!is_started) (void)gantry__os_close(worker->output);
    return is_started;
}

/* A test does not wait for a minute. */
static int most_ms(const worker_t *worker) {
    const char *asked = worker->is_patient ? NULL : getenv("GANTRY_TEST_DOCTOR_MS");
    return asked ? atoi(asked) : MOST_MS;
}

#define LATE (-2)

/* Bytes of its answer: their count, 0 at the end, -1 after a failure, or LATE. */
static int64_t wait_for_bytes(const worker_t *worker, char *out, size_t size, int timeout_ms) {
    const uint64_t begin = gantry__now_ns();
    for (;;) {
        const int64_t got = gantry__os_read(worker->output, out, size);
        if (got >= 0 || errno != EAGAIN) return got;
        if (gantry__now_ns() - begin >= (uint64_t)timeout_ms * NS_OF_MS) return LATE;
        gantry__os_sleep_ns(PAUSE_MS * NS_OF_MS);
    }
}

/* The next line without its end, or NULL: the output ended, or time is up, which ends the process.
 * The line stays in the buffer until the next call. */
static char *read_line(worker_t *worker, char *line, size_t line_bytes, bool *out_late) {
    for (;;) {
        char *end = memchr(worker->buffer, '\n', worker->used);
        if (end) {
            size_t length = (size_t)(end - worker->buffer);
            (void)snprintf(line, line_bytes, "%.*s", (int)length, worker->buffer);
            worker->used -= length + 1;
            memmove(worker->buffer, end + 1, worker->used);
            return line;
        }
        const size_t room = sizeof worker->buffer - worker->used;
        const int64_t got =
            wait_for_bytes(worker, worker->buffer + worker->used, room, most_ms(worker));
        *out_late = got == LATE;
        if (got <= 0) return NULL;
        worker->used += (size_t)got;
    }
}

/* Lets the process end by itself for a while, so that it closes its devices. */
static worker_end_t stop_worker(worker_t *worker, bool is_late) {
    worker_end_t end = {.how = GANTRY__OS_RUNS};
    int64_t got = is_late ? LATE : 1;
    while (got > 0)
        got = wait_for_bytes(worker, worker->buffer, sizeof worker->buffer, MOST_CLOSING_MS);
    if (got != LATE)
        end.how = gantry__os_child_wait(&worker->process, MOST_ENDING_MS * NS_OF_MS,
                                        PAUSE_MS * NS_OF_MS, &end.code);
    if (end.how == GANTRY__OS_RUNS) gantry__os_child_kill(&worker->process);
    (void)gantry__os_close(worker->output);
    return end;
}

/* ---- what it says ---- */

doctor_check_t *doctor_find_result(doctor_t *doctor, const char *alias) {
    char name[96];
    (void)snprintf(name, sizeof name, "%.60s computes", alias);
    for (size_t i = 0; i < doctor->count; ++i) {
        if (strcmp(doctor->checks[i].name, name) == 0) return &doctor->checks[i];
    }
    return NULL;
}

static doctor_check_t *add_result(doctor_t *doctor, size_t view, doctor_state_t state,
                                  const char *remedy, const char *text) {
    const gantry_device_details_t details = doctor_details(doctor, view);
    char name[96];
    (void)snprintf(name, sizeof name, "%.60s computes", details.alias);
    doctor_check_t *check =
        doctor_add(doctor, details.backend, name, state, remedy, "%.700s", text);
    check->is_required = details.listed && details.visible;
    return check;
}

static void tell_arithmetic(doctor_t *doctor, const char *alias, const char *note) {
    char name[96];
    const char *faults = strstr(note, "its results may differ");
    (void)snprintf(name, sizeof name, "%.60s arithmetic", alias);
    if (faults) (void)doctor_add(doctor, DOCTOR_MACHINE, name, DOCTOR_FAILED, NULL, "%s", faults);
}

/* The check of the device's backend that failed before, or NULL. */
static const doctor_check_t *find_cause(const doctor_t *doctor, const char *backend) {
    for (size_t i = 0; i < doctor->count; ++i) {
        const doctor_check_t *check = &doctor->checks[i];
        if (check->state == DOCTOR_FAILED && strcmp(check->kind, backend) == 0) return check;
    }
    return NULL;
}

/* Writes who must install what again. The processor's backend has no driver. */
static void write_remedy(const doctor_t *doctor, size_t view, const char *why, char *out,
                         size_t out_bytes) {
    const gantry_device_details_t details = doctor_details(doctor, view);
    const doctor_check_t *cause = find_cause(doctor, details.backend);
    const bool has_driver =
        strcmp(details.backend, "opencl") == 0 || strcmp(details.backend, "cuda") == 0;
    if (strstr(why, "does not run there: no kernel") && cause)
        (void)snprintf(out, out_bytes, "mend %.90s, which a check above names", cause->name);
    else if (strcmp(details.backend, "cpu") == 0)
        (void)snprintf(out, out_bytes,
                       "GANTRY_CPU_MATMUL=own and GANTRY_CPU_SIMD=base show what is at fault");
    else
        (void)snprintf(
            out, out_bytes, "export GANTRY_VISIBLE_DEVICES=^%.60s leaves it out%s", details.alias,
            has_driver && !strstr(why, "does not run there: ") ? "; install its driver again" : "");
}

static void tell_failure(doctor_t *doctor, size_t view, const char *why, const char *note) {
    char remedy[160];
    const char *known = NULL;
    /* the card's other view serves it now, and the note says why */
    if (*note && strstr(why, "does not run there: ")) why = note;
    write_remedy(doctor, view, why, remedy, sizeof remedy);
    if (!strstr(why, "gives a wrong result")) known = doctor_remedy(why);
    (void)add_result(doctor, view, DOCTOR_FAILED, known ? known : remedy, why);
}

static void tell_result(doctor_t *doctor, size_t view, const char *state, const char *why,
                        const char *note) {
    char text[256];
    if (strcmp(state, "passed") != 0) {
        tell_failure(doctor, view, why, note);
        return;
    }
    (void)snprintf(text, sizeof text, "Add, MatMul and Sum are right on %.150s",
                   doctor_details(doctor, view).hardware_name);
    (void)add_result(doctor, view, DOCTOR_PASSED, NULL, text);
}

/* alias, state, reason, note */
static void doctor_kernels_tell_line(doctor_t *doctor, const asked_t *asked, char *line) {
    char *fields[4] = {line, line + strlen(line), line + strlen(line), line + strlen(line)};
    for (size_t i = 1; i < 4; ++i) {
        char *tab = strchr(fields[i - 1], '\t');
        if (!tab) break;
        *tab = '\0';
        fields[i] = tab + 1;
    }
    tell_result(doctor, asked->views[asked->next], fields[1], fields[2], fields[3]);
    tell_arithmetic(doctor, fields[0], fields[3]);
}

/* The predicate of a sentence about the process. */
static void describe_end(worker_end_t end, char *out, size_t out_bytes) {
    if (end.how == GANTRY__OS_RUNS)
        (void)snprintf(out, out_bytes, "did not answer in time");
    else if (end.how == GANTRY__OS_EXITED)
        (void)snprintf(out, out_bytes, "ended with exit code %d", end.code);
    else if (end.how == GANTRY__OS_LOST)
        (void)snprintf(out, out_bytes, "ended in an unknown way");
    else
        (void)snprintf(out, out_bytes, "ended by signal %d", end.code);
}

static void tell_end(doctor_t *doctor, const asked_t *asked, worker_end_t end) {
    char how[64], text[160], own[160], remedy[320];
    describe_end(end, how, sizeof how);
    (void)snprintf(text, sizeof text, "a process that computed on it %s", how);
    write_remedy(doctor, asked->views[asked->next], text, own, sizeof own);
    (void)snprintf(
        remedy, sizeof remedy, "`gantry probe %.60s` shows %s; %s", asked->aliases[asked->next],
        strncmp(asked->aliases[asked->next], "cpu:", 4) == 0 ? "more" : "the driver's own messages",
        own);
    (void)add_result(doctor, asked->views[asked->next], DOCTOR_FAILED, remedy, text);
}

bool doctor_try_drivers(bool is_patient, char *why, size_t why_bytes) {
    const asked_t nothing = {.count = 0};
    worker_t worker;
    char line[DOCTOR_LINE_BYTES];
    bool is_late = false, has_survived = false;
    if (!doctor_kernels_start_worker(&worker, &nothing)) return true; /* not known */
    worker.is_patient = is_patient;
    while (!has_survived && read_line(&worker, line, sizeof line, &is_late))
        has_survived = strcmp(line, DOCTOR_SURVIVED) == 0;
    describe_end(stop_worker(&worker, is_late), why, why_bytes);
    return has_survived;
}

void doctor_ask(doctor_t *doctor, const char *word, doctor_line_fn tell) {
    char own[16], line[DOCTOR_LINE_BYTES];
    const asked_t asked = {.aliases = {own}, .count = 1};
    worker_t worker;
    bool is_late = false;
    (void)snprintf(own, sizeof own, "%s", word);
    if (!doctor_kernels_start_worker(&worker, &asked)) return;
    while (read_line(&worker, line, sizeof line, &is_late)) tell(doctor, line);
    (void)stop_worker(&worker, is_late);
}

/* Runs a process on the remaining devices. It returns false if no process can be started. */
static bool doctor_kernels_run_worker(doctor_t *doctor, asked_t *asked) {
    worker_t worker;
    char line[2 * DOCTOR_LINE_BYTES];
    bool is_late = false;
    if (!doctor_kernels_start_worker(&worker, asked)) return false;
    while (asked->next < asked->count && read_line(&worker, line, sizeof line, &is_late)) {
        doctor_kernels_tell_line(doctor, asked, line);
        ++asked->next;
    }
    const worker_end_t end = stop_worker(&worker, is_late);
    if (asked->next < asked->count) {
        tell_end(doctor, asked, end);
        ++asked->next;
    }
    return true;
}

/* A card that its other view serves is usable. */
static void spare_served(doctor_t *doctor) {
    for (size_t i = 0; i < doctor->view_count; ++i) {
        const gantry_device_details_t details = doctor_details(doctor, i);
        doctor_check_t *check = doctor_find_result(doctor, details.alias);
        const doctor_check_t *other =
            *details.other_view ? doctor_find_result(doctor, details.other_view) : NULL;
        if (check && other && other->state == DOCTOR_PASSED) check->is_required = false;
    }
}

/* A device that a variable hides has no logical device, so nothing computes on it. */
static bool can_compute(const gantry_device_details_t *details) {
    return !details->listed || details->visible;
}

void doctor_check_kernels(doctor_t *doctor) {
    asked_t asked = {.count = 0};
    for (size_t i = 0; i < doctor->view_count && asked.count < DOCTOR_MOST_CHECKS; ++i) {
        const gantry_device_details_t details = doctor_details(doctor, i);
        asked.aliases[asked.count] = can_compute(&details) ? gantry_tool_copy(details.alias) : NULL;
        asked.views[asked.count] = i;
        asked.count += asked.aliases[asked.count] != NULL;
    }
    while (asked.next < asked.count) {
        if (doctor_kernels_run_worker(doctor, &asked)) continue;
        (void)add_result(doctor, asked.views[asked.next++], DOCTOR_NOT_POSSIBLE, NULL,
                         "no process can be started that computes on it");
    }
    for (size_t i = 0; i < asked.count; ++i) free(asked.aliases[i]);
    spare_served(doctor);
}
