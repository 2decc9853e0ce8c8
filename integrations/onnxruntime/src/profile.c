/* SPDX-License-Identifier: Apache-2.0 */
/* The nodes of groups in ONNX Runtime's profile. A session that is profiled writes a timeline of
 * Gantry (docs/profile.md), to a temporary file unless it has the option timeline. At the end of
 * the profile each kernel becomes an event with the name of its op's node, and each copy one:
 *
 *     ops       |-- conv1 --|-- relu1 --|          calls, on the thread that runs the session
 *     kernels        |-- Conv2D --|-- Relu --|     on the device; submitted within the op's call
 *
 * Texts of a timeline have no quotes and no backslashes but those of \uXXXX, which ONNX Runtime's
 * file keeps. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "provider.h"

#define PATH_BYTES 1100
#define MOST_PROCESSES 64

/* ---- a timeline in memory ---- */

/* An op's call, or work of a device. Texts are in the timeline; NULL: it has none. */
typedef struct work_t {
    const char *name, *node, *reason;
    uint64_t begin_ns, end_ns, submitted_ns; /* submitted_ns 0: it ran in its call */
    uint32_t process, thread;
    bool is_copy, is_taken; /* is_taken: an op that has its kernel */
} work_t;

typedef struct works_t {
    work_t *list;
    size_t count, room;
} works_t;

typedef struct reading_t {
    char *text;
    works_t ops, kernels; /* kernels: and copies */
    const char *devices[MOST_PROCESSES], *times[MOST_PROCESSES];
} reading_t;

static char *read_whole(const char *path) {
    FILE *file = fopen(path, "r");
    if (!file) return NULL;
    long size = fseek(file, 0, SEEK_END) == 0 ? ftell(file) : -1;
    char *text = size >= 0 && fseek(file, 0, SEEK_SET) == 0 ? malloc((size_t)size + 1) : NULL;
    if (text) text[fread(text, 1, (size_t)size, file)] = '\0';
    (void)fclose(file);
    return text;
}

/* What comes after a key, in a line; NULL: nothing. A key has quotes, which texts have not. */
static char *after_key(char *line, const char *key) {
    char *found = strstr(line, key);
    return found ? found + strlen(key) : NULL;
}

static uint64_t event_number(char *line, const char *key) {
    const char *at = after_key(line, key);
    return at ? strtoull(at, NULL, 10) : 0;
}

/* Microseconds with three decimals, whatever the locale is. */
static uint64_t event_ns(char *line, const char *key) {
    char *at = after_key(line, key);
    if (!at) return 0;
    const uint64_t us = strtoull(at, &at, 10);
    return 1000 * us + (*at == '.' ? strtoull(at + 1, NULL, 10) : 0);
}

/* Ends a text at its quotation mark, after all keys of the line were found. */
static const char *end_text(char *text) {
    if (text) text[strcspn(text, "\"")] = '\0';
    return text;
}

static bool add_work(works_t *works, work_t work) {
    if (works->count == works->room) {
        const size_t room = 2 * works->room + 256;
        work_t *grown = realloc(works->list, room * sizeof *grown);
        if (!grown) return false;
        works->list = grown;
        works->room = room;
    }
    works->list[works->count++] = work;
    return true;
}

static void read_process(reading_t *reading, char *line) {
    const uint64_t process = event_number(line, "\"pid\":");
    char *arguments = after_key(line, "\"args\":{");
    if (!arguments || process >= MOST_PROCESSES) return;
    char *name = after_key(arguments, "\"name\":\""), *times = after_key(arguments, "\"times\":\"");
    reading->devices[process] = end_text(name);
    reading->times[process] = end_text(times);
}

/* False: there is no memory. */
static bool read_work(reading_t *reading, char *line) {
    char *name = after_key(line, "\"name\":\""), *kind = after_key(line, "\"cat\":\"");
    char *node = after_key(line, "\"node\":\""), *reason = after_key(line, "\"reason\":\"");
    if (name && strncmp(name, "process_name\"", 13) == 0) read_process(reading, line);
    if (!name || !kind) return true;
    work_t work = {.begin_ns = event_ns(line, "\"ts\":"),
                   .submitted_ns = event_number(line, "\"submitted_ns\":"),
                   .process = (uint32_t)event_number(line, "\"pid\":"),
                   .thread = (uint32_t)event_number(line, "\"tid\":"),
                   .is_copy = strncmp(kind, "copy\"", 5) == 0};
    const bool is_kernel = work.is_copy || strncmp(kind, "kernel\"", 7) == 0;
    if (!is_kernel && (strncmp(kind, "op\"", 3) != 0 || !node)) return true;
    work.end_ns = work.begin_ns + event_ns(line, "\"dur\":");
    work.name = end_text(name);
    work.node = end_text(node);
    work.reason = end_text(reason);
    return add_work(is_kernel ? &reading->kernels : &reading->ops, work);
}

static bool read_timeline(reading_t *reading) {
    for (char *line = reading->text, *next; line; line = next) {
        next = strchr(line, '\n');
        if (next) *next++ = '\0';
        if (!read_work(reading, line)) return false;
    }
    return true;
}

/* ---- kernels of ops ---- */

static int order_works(const void *a, const void *b) {
    const work_t *x = a, *y = b;
    return (x->begin_ns > y->begin_ns) - (x->begin_ns < y->begin_ns);
}

/* The newest op of this name that has no kernel yet and was called when the kernel was submitted.
 * Of a kernel that ran in its call also the thread is known. */
static work_t *op_of(const works_t *ops, const work_t *kernel) {
    const uint64_t at_ns = kernel->submitted_ns ? kernel->submitted_ns : kernel->begin_ns;
    size_t least = 0, end = ops->count;
    while (least < end) {
        const size_t middle = least + (end - least) / 2;
        if (ops->list[middle].begin_ns <= at_ns) {
            least = middle + 1;
        } else {
            end = middle;
        }
    }
    enum { MOST_NESTED = 64 };
    for (size_t i = 0; i < MOST_NESTED && i < least; ++i) {
        work_t *op = &ops->list[least - 1 - i];
        if (op->end_ns >= at_ns && !op->is_taken && strcmp(op->name, kernel->name) == 0 &&
            (kernel->submitted_ns || op->thread == kernel->thread))
            return op;
    }
    return NULL;
}

/* Gives each kernel the node and the reason of its op. */
static void match_kernels(reading_t *reading) {
    if (reading->ops.count == 0) return;
    qsort(reading->ops.list, reading->ops.count, sizeof *reading->ops.list, order_works);
    for (size_t i = 0; i < reading->kernels.count; ++i) {
        work_t *kernel = &reading->kernels.list[i];
        work_t *op = kernel->is_copy ? NULL : op_of(&reading->ops, kernel);
        if (!op) continue;
        op->is_taken = true;
        kernel->node = op->node;
        kernel->reason = op->reason;
    }
}

/* ---- events ---- */

typedef struct profile_t {
    ort_profiler_t base; /* must be first */
    ort_provider_t *provider;
    ort_ep_t *ep; /* lives while the profile is recorded */
    bool is_begun, is_temporary;
    uint64_t begin_ns;     /* of the profile, on the timeline's clock */
    char path[PATH_BYTES]; /* of the timeline */
} profile_t;

static const char *text_in(const char *const list[MOST_PROCESSES], uint32_t process) {
    return process < MOST_PROCESSES && list[process] ? list[process] : "";
}

/* Work that began before the profile is none of it. */
static ort_status_t *add_event(const profile_t *profile, const reading_t *reading,
                               const work_t *kernel, ort_events_t *events) {
    const ort_ep_api_t *api = profile->provider->ep_api;
    static const char *const keys[] = {"op_name", "provider", "device", "times", "reason"};
    const char *const values[] = {
        kernel->name, ORT_PROVIDER_NAME, text_in(reading->devices, kernel->process),
        text_in(reading->times, kernel->process), kernel->reason ? kernel->reason : ""};
    ort_event_t *event = NULL;
    if (kernel->begin_ns < profile->begin_ns) return NULL;
    ORT_TRY(api->CreateProfilingEvent(
        ORT_EVENT_KERNEL, kernel->submitted_ns ? -1 : (int32_t)getpid(), (int32_t)kernel->thread,
        kernel->node ? kernel->node : kernel->name,
        (int64_t)((kernel->begin_ns - profile->begin_ns) / 1000),
        (int64_t)((kernel->end_ns - kernel->begin_ns) / 1000), keys, values, kernel->reason ? 5 : 4,
        &event));
    const ort_event_t *const list[] = {event};
    ort_status_t *failed = api->ProfilingEventsContainer_AddEvents(events, list, 1);
    api->ReleaseProfilingEvent(event);
    return failed;
}

static ort_status_t *add_all_events(const profile_t *profile, reading_t *reading,
                                    ort_events_t *events) {
    if (!read_timeline(reading)) return ort_out_of_memory(profile->provider);
    match_kernels(reading);
    for (size_t i = 0; i < reading->kernels.count; ++i)
        ORT_TRY(add_event(profile, reading, &reading->kernels.list[i], events));
    return NULL;
}

/* ---- the profiler ---- */

/* The name of a timeline's file, with the process's number for "%p". */
static bool expand_path(const char *path, char *out) {
    size_t used = 0;
    for (; *path && used + 24 < PATH_BYTES; ++path) {
        if (path[0] == '%' && path[1] == 'p') {
            used += (size_t)snprintf(out + used, 24, "%ld", (long)getpid());
            ++path;
        } else {
            out[used++] = *path;
        }
    }
    out[used] = '\0';
    return !*path;
}

static bool make_profile_file(char *out) {
    const char *folder = getenv("TMPDIR");
    const int size =
        snprintf(out, PATH_BYTES, "%s/gantry_profile_XXXXXX", folder && *folder ? folder : "/tmp");
    const int file = size < PATH_BYTES ? mkstemp(out) : -1;
    if (file >= 0) (void)close(file);
    return file >= 0;
}

static ort_status_t *begin_recording(profile_t *profile) {
    const char *own = ort_ep_timeline(profile->ep);
    if (own ? expand_path(own, profile->path) : make_profile_file(profile->path)) {
        profile->is_temporary = !own;
        return ort_ep_begin_timeline(profile->ep, own ? NULL : profile->path);
    }
    return ort_fail(profile->provider, ORT_FAIL,
                    own ? "Gantry: option timeline: '%.300s' is too long for a profile"
                        : "Gantry: the temporary file '%.300s' of a profile cannot be made",
                    own ? own : profile->path);
}

static void remove_temporary(profile_t *profile) {
    if (profile->is_temporary) (void)unlink(profile->path);
    profile->is_temporary = false;
}

static ort_status_t *profile_begin(ort_profiler_t *self, int64_t since_begin_ns) {
    profile_t *profile = (profile_t *)self;
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    profile->begin_ns =
        (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec - (uint64_t)since_begin_ns;
    ort_status_t *failed = begin_recording(profile);
    if (failed) remove_temporary(profile);
    profile->is_begun = !failed;
    return failed;
}

static ort_status_t *profile_end(ort_profiler_t *self, ort_events_t *events) {
    profile_t *profile = (profile_t *)self;
    reading_t reading = {.text = NULL};
    if (!profile->is_begun) return NULL;
    profile->is_begun = false;
    ort_status_t *failed = ort_ep_end_timeline(profile->ep);
    if (!failed && !(reading.text = read_whole(profile->path)))
        failed = ort_fail(profile->provider, ORT_FAIL, "Gantry: the timeline '%s' cannot be read",
                          profile->path);
    if (!failed) failed = add_all_events(profile, &reading, events);
    free(reading.ops.list);
    free(reading.kernels.list);
    free(reading.text);
    remove_temporary(profile);
    return failed;
}

static void profile_release(ort_profiler_t *self) {
    profile_t *profile = (profile_t *)self;
    remove_temporary(profile);
    ort_provider_release(profile->provider);
    free(profile);
}

ort_status_t *ort_profiler_create(ort_provider_t *provider, ort_ep_t *ep,
                                  ort_profiler_t **out_profiler) {
    profile_t *profile = calloc(1, sizeof *profile);
    *out_profiler = NULL;
    if (!profile) return ort_out_of_memory(provider);
    profile->base = (ort_profiler_t){.version = ORT_PROFILER_VERSION,
                                     .Release = profile_release,
                                     .StartProfiling = profile_begin,
                                     .EndProfiling = profile_end};
    profile->provider = ort_provider_retain(provider);
    profile->ep = ep;
    *out_profiler = &profile->base;
    return NULL;
}
