/* SPDX-License-Identifier: Apache-2.0 */
/* Wraps the calls of the programs under test, and records their results for the verdict. */
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "faults.h"

#define FAULTS_CALLS_PLAIN
#include "faults_calls.h"

#define OBJECTS 4096

typedef enum kind_t { RUNTIME, SCOPE, VARIABLE, TENSOR, OPTIMIZER, METRIC } kind_t;

typedef struct object_t {
    kind_t kind;
    const void *at;
    const void *parent; /* of a scope */
} object_t;

typedef struct logger_t {
    gantry_log_fn log;
    void *user;
} logger_t;

#define LOGGERS 64

static struct {
    pthread_mutex_t lock;
    const faults_scenario_t *scenario;
    faults_note_t *notes;
    uint64_t used[FAULTS_NOTES];
    bool learning;
    faults_said_t said;
    object_t objects[OBJECTS];
    size_t object_count;
    logger_t loggers[LOGGERS];
    size_t logger_count;
    pthread_t main_thread;
    jmp_buf out;
    int exit_code;
} self = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void lock(void) { (void)pthread_mutex_lock(&self.lock); }
static void unlock(void) { (void)pthread_mutex_unlock(&self.lock); }

/* ---- notes ---- */

static uint64_t make_key(const char *file, int line, int status) {
    uint64_t key = UINT64_C(1469598103934665603);
    for (; *file; ++file) key = (key ^ (unsigned char)*file) * UINT64_C(1099511628211);
    key = (key ^ (uint64_t)line) * UINT64_C(1099511628211);
    key = (key ^ (uint64_t)(status + 2)) * UINT64_C(1099511628211);
    return key ? key : 1;
}

/* True when the run without a fault made such a note that this run has not found yet. Learning:
 * makes the note. */
static bool is_expected(uint64_t key) {
    for (size_t i = 0; i < FAULTS_NOTES; ++i) {
        size_t at = (size_t)((key + i) % FAULTS_NOTES);
        faults_note_t *note = &self.notes[at];
        if (note->key == 0 && !self.learning) return false;
        note->key = note->key ? note->key : key;
        if (note->key != key) continue;
        if (self.learning) ++note->count;
        return self.learning || ++self.used[at] <= note->count;
    }
    return false;
}

/* status -1: unknown. */
static void note(int status, const char *message, const char *call, const char *file, int line) {
    lock();
    bool is_other = !is_expected(make_key(file, line, status)) ||
                    /* the fault's status, although the program expects another */
                    (faults_sites_fired() && faults_source_is_told(message));
    if (is_other && !self.said.differs) {
        const char *name = strrchr(file, '/');
        self.said.differs = true;
        self.said.status_known = status >= 0;
        self.said.status = status >= 0 ? (gantry_status_t)status : GANTRY_UNKNOWN;
        (void)snprintf(self.said.call, sizeof self.said.call, "%s", call);
        (void)snprintf(self.said.place, sizeof self.said.place, "%.80s:%d", name ? name + 1 : file,
                       line);
        (void)snprintf(self.said.message, sizeof self.said.message, "%s", message);
    }
    unlock();
}

gantry_status_t faults_note_status(gantry_status_t status, const char *call, const char *file,
                                   int line) {
    if (status != GANTRY_OK) note((int)status, gantry_last_message(), call, file, line);
    return status;
}

gantry_status_t faults_note_scope_status(const gantry_scope_t *scope, const char *file, int line) {
    gantry_status_t status = gantry_scope_status(scope);
    if (status != GANTRY_OK && scope)
        note((int)status, gantry_scope_message(scope), "gantry_scope_status", file, line);
    return status;
}

void faults_note_null(const gantry_scope_t *scope, const char *call, const char *file, int line) {
    if (scope) note((int)gantry_scope_status(scope), gantry_scope_message(scope), call, file, line);
}

/* ---- objects, for programs that exit ---- */

static void add_object(kind_t kind, const void *at, const void *parent) {
    if (!at) return;
    lock();
    if (self.object_count < OBJECTS)
        self.objects[self.object_count++] = (object_t){kind, at, parent};
    unlock();
}

/* Closes the newest such scope; scopes close the scopes inside them. */
static void remove_object(kind_t kind, const void *at) {
    if (!at) return;
    lock();
    for (size_t i = self.object_count; i-- > 0;) {
        if (self.objects[i].kind != kind || self.objects[i].at != at) continue;
        memmove(&self.objects[i], &self.objects[i + 1],
                (self.object_count - i - 1) * sizeof self.objects[0]);
        --self.object_count;
        break;
    }
    for (size_t i = self.object_count; kind == SCOPE && i-- > 0;) {
        if (self.objects[i].kind != SCOPE || self.objects[i].parent != at) continue;
        const void *child = self.objects[i].at;
        unlock();
        remove_object(SCOPE, child);
        lock();
        i = self.object_count;
    }
    unlock();
}

static const object_t *newest(kind_t kind) {
    for (size_t i = self.object_count; i-- > 0;) {
        if (self.objects[i].kind == kind) return &self.objects[i];
    }
    return NULL;
}

static void end_all_objects(void) {
    const object_t *object;
    while ((object = newest(SCOPE)) != NULL)
        (void)faults_scope_end((gantry_scope_t *)(uintptr_t)object->at);
#ifdef GANTRY_FAULTS_TRAIN
    while ((object = newest(OPTIMIZER)) != NULL)
        faults_optimizer_release((gantry_optimizer_t *)(uintptr_t)object->at);
    while ((object = newest(METRIC)) != NULL)
        faults_metric_release((gantry_metric_t *)(uintptr_t)object->at);
#endif
    while ((object = newest(VARIABLE)) != NULL)
        faults_variable_release((gantry_variable_t *)(uintptr_t)object->at);
    while ((object = newest(TENSOR)) != NULL)
        faults_tensor_release((gantry_tensor_t *)(uintptr_t)object->at);
    while ((object = newest(RUNTIME)) != NULL)
        faults_runtime_release((gantry_runtime_t *)(uintptr_t)object->at);
}

gantry_scope_t *faults_scope_begin(gantry_runtime_t *runtime, const char *device, const char *file,
                                   int line) {
    gantry_scope_t *scope = gantry_scope_begin(runtime, device);
    if (!scope)
        note(-1, gantry_last_message(), "gantry_scope_begin", file, line);
    else if (gantry_scope_status(scope) != GANTRY_OK)
        faults_note_null(scope, "gantry_scope_begin", file, line);
    add_object(SCOPE, scope, NULL);
    return scope;
}

gantry_scope_t *faults_scope_begin_in(gantry_scope_t *parent, const char *device, const char *file,
                                      int line) {
    gantry_scope_t *scope = gantry_scope_begin_in(parent, device);
    if (!scope && parent)
        note(-1, gantry_last_message(), "gantry_scope_begin_in", file, line);
    else if (scope && gantry_scope_status(scope) != GANTRY_OK)
        faults_note_null(scope, "gantry_scope_begin_in", file, line);
    add_object(SCOPE, scope, parent);
    return scope;
}

gantry_status_t faults_scope_end(gantry_scope_t *scope) {
    remove_object(SCOPE, scope);
    return gantry_scope_end(scope);
}

gantry_tensor_t *faults_scope_keep(gantry_scope_t *scope, const gantry_tensor_t *tensor) {
    gantry_tensor_t *kept = gantry_scope_keep(scope, tensor);
    lock();
    const void *parent = NULL;
    for (size_t i = self.object_count; i-- > 0;) {
        if (self.objects[i].kind == SCOPE && self.objects[i].at == scope)
            parent = self.objects[i].parent;
    }
    unlock();
    if (!parent) add_object(TENSOR, kept, NULL);
    return kept;
}

gantry_variable_t *faults_variable_create(gantry_scope_t *scope, const gantry_tensor_t *initial,
                                          const char *name) {
    gantry_variable_t *variable = gantry_variable_create(scope, initial, name);
    add_object(VARIABLE, variable, NULL);
    return variable;
}

void faults_variable_release(gantry_variable_t *variable) {
    remove_object(VARIABLE, variable);
    gantry_variable_release(variable);
}

gantry_tensor_t *faults_tensor_retain(const gantry_tensor_t *tensor) {
    gantry_tensor_t *kept = gantry_tensor_retain(tensor);
    add_object(TENSOR, kept, NULL);
    return kept;
}

void faults_tensor_release(gantry_tensor_t *tensor) {
    remove_object(TENSOR, tensor);
    gantry_tensor_release(tensor);
}

#ifdef GANTRY_FAULTS_TRAIN
gantry_optimizer_t *faults_optimizer_keep(gantry_optimizer_t *optimizer) {
    add_object(OPTIMIZER, optimizer, NULL);
    return optimizer;
}

void faults_optimizer_release(gantry_optimizer_t *optimizer) {
    remove_object(OPTIMIZER, optimizer);
    gantry_optimizer_release(optimizer);
}

gantry_metric_t *faults_metric_keep(gantry_metric_t *metric) {
    add_object(METRIC, metric, NULL);
    return metric;
}

void faults_metric_release(gantry_metric_t *metric) {
    remove_object(METRIC, metric);
    gantry_metric_release(metric);
}
#endif

/* ---- runtimes ---- */

static void watch_log(void *user, gantry_log_level_t level, const char *text) {
    const logger_t *logger = user;
    if (faults_sites_fired() && faults_source_is_told(text)) {
        lock();
        self.said.cause_is_told = true;
        unlock();
    }
    if (logger->log) logger->log(logger->user, level, text);
}

static bool has_reason(const gantry_runtime_t *runtime) {
    for (size_t i = 0; i < gantry_backend_status_count(runtime); ++i) {
        gantry_backend_status_t backend = {.struct_size = sizeof backend};
        if (gantry_backend_status(runtime, i, &backend) == GANTRY_OK &&
            faults_source_is_told(backend.reason))
            return true;
    }
    return false;
}

gantry_status_t faults_runtime_create(const gantry_runtime_options_t *options,
                                      gantry_runtime_t **out_runtime) {
    gantry_runtime_options_t mine = {.struct_size = sizeof mine};
    if ((options && options->struct_size != sizeof mine) || !out_runtime)
        return gantry_runtime_create(options, out_runtime);
    if (options) mine = *options;
    faults_source_fill(self.scenario, &mine);
    if (self.logger_count < LOGGERS) {
        logger_t *logger = &self.loggers[self.logger_count++];
        *logger = (logger_t){mine.log, mine.log_user};
        mine.log = watch_log;
        mine.log_user = logger;
        if (!logger->log) mine.log_level = GANTRY_LEVEL_INFO;
    }
    bool fired_before = faults_sites_fired();
    gantry_status_t status = gantry_runtime_create(&mine, out_runtime);
    if (status == GANTRY_OK) add_object(RUNTIME, *out_runtime, NULL);
    if (status == GANTRY_OK && !fired_before && faults_sites_fired()) {
        self.said.in_create = true;
        self.said.cause_is_told |= has_reason(*out_runtime);
    }
    return status;
}

/* ---- the next operation ---- */

static gantry_status_t multiply(gantry_runtime_t *runtime, const char *device, float *out) {
    static const float a[] = {1, 2, 3, 4};
    gantry_scope_t *scope = gantry_scope_begin(runtime, device);
    const gantry_tensor_t *x =
        gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(2, 2), a, sizeof a);
    const gantry_tensor_t *y = gantry_add(scope, gantry_matmul(scope, x, x, NULL), x);
    gantry_status_t status =
        y ? gantry_tensor_read(y, out, 4 * sizeof *out) : gantry_scope_status(scope);
    gantry_status_t ended = scope ? gantry_scope_end(scope) : GANTRY_UNKNOWN;
    return status != GANTRY_OK ? status : ended;
}

static void try_next_on(gantry_runtime_t *runtime, const char *device) {
    static const float wanted[] = {8, 12, 18, 26};
    float got[4] = {0, 0, 0, 0};
    gantry_status_t status = multiply(runtime, device, got);
    if (status != GANTRY_OK && faults_source_is_lost() && strncmp(device, "cpu", 3) != 0 &&
        faults_source_is_told(gantry_last_message()))
        return; /* the device is lost, as reported */
    if (status != GANTRY_OK)
        (void)snprintf(self.said.next_failure, sizeof self.said.next_failure, "%s: %s",
                       gantry_status_name(status), gantry_last_message());
    for (int i = 0; status == GANTRY_OK && i < 4; ++i) {
        if (got[i] < wanted[i] || got[i] > wanted[i])
            (void)snprintf(self.said.next_failure, sizeof self.said.next_failure,
                           "element %d is %g, not %g", i, (double)got[i], (double)wanted[i]);
    }
}

static void try_next(gantry_runtime_t *runtime) {
    (void)gantry_runtime_synchronize(runtime); /* failed work is reported here, once */
    self.said.next_was_tried = true;
    try_next_on(runtime, faults_source_device(self.scenario));
    if (faults_source_is_lost() && !self.said.next_failure[0]) try_next_on(runtime, "cpu:0");
}

void faults_runtime_release(gantry_runtime_t *runtime) {
    if (runtime && faults_sites_fired() && !self.said.next_was_tried && !self.said.in_create)
        try_next(runtime);
    remove_object(RUNTIME, runtime);
    gantry_runtime_release(runtime);
}

/* Uses a new runtime after a fault at the very end, or at the creation of a runtime. */
static void try_next_anew(void) {
    gantry_runtime_t *runtime = NULL;
    gantry_runtime_options_t options = {.struct_size = sizeof options};
    faults_source_fill(self.scenario, &options);
    if (gantry_runtime_create(&options, &runtime) != GANTRY_OK) {
        (void)snprintf(self.said.next_failure, sizeof self.said.next_failure, "no new runtime: %s",
                       gantry_last_message());
        return;
    }
    try_next(runtime);
    gantry_runtime_release(runtime);
}

/* ---- a run ---- */

void faults_calls_begin(const faults_scenario_t *scenario, faults_note_t *notes, bool learning) {
    self.scenario = scenario;
    self.notes = notes;
    self.learning = learning;
    self.said = (faults_said_t){.differs = false};
    self.object_count = self.logger_count = 0;
    memset(self.used, 0, sizeof self.used);
}

_Noreturn void faults_exit(int code) {
    self.exit_code = code;
    if (!pthread_equal(pthread_self(), self.main_thread)) pthread_exit(NULL);
    longjmp(self.out, 1);
}

int faults_calls_run(const faults_scenario_t *scenario, int argc, char **argv) {
    self.main_thread = pthread_self();
    self.exit_code = 0;
    if (setjmp(self.out) == 0) {
        int code = scenario->run(argc, argv);
        return code ? code : self.exit_code;
    }
    end_all_objects();
    return self.exit_code;
}

const faults_said_t *faults_calls_end(void) {
    if (faults_sites_fired() && !self.said.next_was_tried) try_next_anew();
    return &self.said;
}
