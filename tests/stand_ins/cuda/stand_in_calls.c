/* SPDX-License-Identifier: Apache-2.0 */
/* Each call is counted, may fail on request, and must keep the driver's rules about initialisation
 * and contexts. */
#define _POSIX_C_SOURCE 200809L
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stand_in_pocl.h"
#include "stand_in_settings.h"

#define FUNCTIONS 256
#define FAULTS 64

typedef struct function_t {
    char name[48];
    uint64_t calls;
} function_t;

typedef struct fault_t {
    char function[48];
    uint64_t at; /* 0: every call */
    int code;
} fault_t;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static stand_in_machine_t machine;
static function_t functions[FUNCTIONS];
static int function_count;
static fault_t faults[FAULTS];
static int fault_count;
static uint64_t context_calls;
static stand_in_watch_fn watcher;
static void *watcher_self;
static int is_initialised;
static uint64_t complaint_count;
static char complaint[256];

static void settle(void) {
    const char *text = getenv("GANTRY_STAND_IN_CUDA");

    stand_in__default_machine(&machine);
    if (text != NULL && stand_in__apply_settings(&machine, text) != 0) {
        fprintf(
            stderr,
            "GANTRY_STAND_IN_CUDA=\"%s\" is not understood; stand_in_control.h lists the settings\n",
            text);
        machine.count = 0;
    }
}

stand_in_machine_t *stand_in__machine(void) {
    pthread_once(&once, settle);
    return &machine;
}

void stand_in__lock(void) { pthread_mutex_lock(&lock); }
void stand_in__unlock(void) { pthread_mutex_unlock(&lock); }

void stand_in__set_initialised(void) {
    stand_in__lock();
    is_initialised = 1;
    stand_in__unlock();
}

/* ---- errors that no driver survives ---- */

void stand_in__note(const char *text) {
    stand_in__lock();
    snprintf(complaint, sizeof complaint, "%s", text);
    stand_in__unlock();
}

void stand_in__complain(const char *format, ...) {
    va_list list;

    stand_in__lock();
    complaint_count++;
    va_start(list, format);
    vsnprintf(complaint, sizeof complaint, format, list);
    va_end(list);
    if (machine.is_reporting) {
        fprintf(stderr, "stand-in for CUDA: %s\n", complaint);
    }
    stand_in__unlock();
}

void stand_in__fail_context(stand_in_context_t *context, int code, const char *format, ...) {
    char text[200];
    va_list list;

    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    stand_in__complain("%s", text);
    stand_in__lock();
    if (context->device->lost == 0) {
        context->device->lost = code;
    }
    stand_in__unlock();
}

/* ---- one call ---- */

static function_t *function_of(const char *name) {
    for (int i = 0; i < function_count; ++i) {
        if (strcmp(functions[i].name, name) == 0) {
            return &functions[i];
        }
    }
    if (function_count == FUNCTIONS) {
        return &functions[FUNCTIONS - 1];
    }
    snprintf(functions[function_count].name, sizeof functions[0].name, "%s", name);
    return &functions[function_count++];
}

static int ordered_fault(const function_t *function) {
    for (int i = 0; i < fault_count; ++i) {
        if ((faults[i].at == 0 || faults[i].at == function->calls) &&
            strcmp(faults[i].function, function->name) == 0) {
            if (faults[i].code < 0) exit(0); /* as a driver does that should not */
            return faults[i].code;
        }
    }
    return 0;
}

static int is_sticky(int code) {
    return code == CUDA_ECC_UNCORRECTABLE || code == 220 || code == CUDA_ILLEGAL_ADDRESS ||
           code == 702 || code == 710 || (code >= 714 && code <= 719) || code == 721;
}

static int state_of(const stand_in_context_t *context, int needs) {
    if (needs == STAND_IN_NEEDS_NOTHING) return 0;
    if (!is_initialised) return CUDA_NOT_INITIALIZED;
    if (needs == STAND_IN_NEEDS_INIT) return 0;
    if (context == NULL) return CUDA_INVALID_CONTEXT;
    if (!context->is_alive) return CUDA_CONTEXT_IS_DESTROYED;
    context_calls++;
    if (machine.lost_after >= 0 && context_calls > (uint64_t)machine.lost_after &&
        context->device->lost == 0) {
        context->device->lost = CUDA_LAUNCH_FAILED;
    }
    return context->device->lost;
}

int stand_in__enter(const char *name, int needs) {
    stand_in_context_t *context = stand_in__current();
    stand_in_watch_fn present;
    void *self;
    int code;

    stand_in__machine();
    stand_in__lock();
    function_t *function = function_of(name);
    function->calls++;
    present = watcher;
    self = watcher_self;
    code = ordered_fault(function);
    stand_in__unlock();
    if (code == 0 && present != NULL) {
        code = present(self, name);
    }
    stand_in__lock();
    if (code != 0 && needs >= STAND_IN_NEEDS_CONTEXT && is_sticky(code) && context != NULL &&
        context->device->lost == 0) {
        context->device->lost = code;
    }
    if (code == 0) {
        code = state_of(context, needs);
    }
    stand_in__unlock();
    return code;
}

void stand_in__count(const char *what) {
    stand_in__lock();
    function_of(what)->calls++;
    stand_in__unlock();
}

int stand_in__may_end(int code) {
    return code != CUDA_NOT_INITIALIZED && code != CUDA_INVALID_CONTEXT &&
           code != CUDA_CONTEXT_IS_DESTROYED;
}

/* ---- control ---- */

void stand_in__fail_call(const char *function, uint64_t nth, int code) {
    if (fault_count < FAULTS) {
        fault_t *fault = &faults[fault_count++];

        snprintf(fault->function, sizeof fault->function, "%s", function);
        fault->at = nth == 0 ? 0 : function_of(function)->calls + nth;
        fault->code = code;
    }
}

static int control_set(const char *settings) {
    int status;

    stand_in__machine();
    stand_in__lock();
    status = stand_in__apply_settings(&machine, settings);
    stand_in__unlock();
    return status;
}

static void control_reset(void) {
    stand_in__machine();
    stand_in__lock();
    fault_count = 0;
    machine.lost_after = -1;
    for (int i = 0; i < STAND_IN_DEVICES; ++i) {
        machine.device[i].lost = 0;
    }
    for (int i = 0; i < function_count; ++i) {
        functions[i].calls = 0;
    }
    context_calls = 0;
    watcher = NULL;
    complaint_count = 0;
    complaint[0] = '\0';
    stand_in__unlock();
}

static void control_lose(int device, int code) {
    stand_in__machine();
    stand_in__lock();
    for (int i = 0; i < STAND_IN_DEVICES; ++i) {
        if (device < 0 || device == i) {
            machine.device[i].lost = code;
        }
    }
    stand_in__unlock();
}

static void control_watch(stand_in_watch_fn new_watcher, void *self) {
    stand_in__lock();
    watcher = new_watcher;
    watcher_self = self;
    stand_in__unlock();
}

static uint64_t control_calls(const char *function) {
    uint64_t calls = 0;

    stand_in__lock();
    for (int i = 0; i < function_count; ++i) {
        if (function == NULL || strcmp(functions[i].name, function) == 0) {
            calls += functions[i].calls;
        }
    }
    stand_in__unlock();
    return calls;
}

static uint64_t control_used_bytes(int device) {
    uint64_t used;

    stand_in__machine();
    stand_in__lock();
    used = device >= 0 && device < STAND_IN_DEVICES ? machine.device[device].used : 0;
    stand_in__unlock();
    return used;
}

static uint64_t control_complaints(char *out_text, uint32_t text_bytes) {
    uint64_t count;

    stand_in__lock();
    count = complaint_count;
    if (out_text != NULL && text_bytes > 0) {
        snprintf(out_text, text_bytes, "%s", complaint);
    }
    stand_in__unlock();
    return count;
}

/* With report=1, prints the objects that still live when the process ends. */
__attribute__((destructor)) static void report_the_living(void) {
    static const char *const names[STAND_IN_KINDS] = {
        "contexts", "streams",      "events",           "pieces of memory", "pieces of host memory",
        "modules",  "programs",     "cublasLt handles", "cublasLt objects", "uses of NVML",
        "graphs",   "communicators"};

    for (int kind = 0; kind < STAND_IN_KINDS && machine.is_reporting; ++kind) {
        if (stand_in__live(kind) != 0) {
            fprintf(stderr, "stand-in for CUDA: %ld %s live at the end\n", stand_in__live(kind),
                    names[kind]);
        }
        if (stand_in__abandoned(kind) != 0) {
            fprintf(stderr, "stand-in for CUDA: %ld %s ended with their context\n",
                    stand_in__abandoned(kind), names[kind]);
        }
    }
}

STAND_IN_API const stand_in_control_t *stand_in_control(void);
STAND_IN_API long stand_in_live_objects(int kind);

const stand_in_control_t *stand_in_control(void) {
    static const stand_in_control_t control = {
        .struct_size = sizeof control,
        .set = control_set,
        .reset = control_reset,
        .lose = control_lose,
        .watch = control_watch,
        .calls = control_calls,
        .live = stand_in__live,
        .abandoned = stand_in__abandoned,
        .used_bytes = control_used_bytes,
        .complaints = control_complaints,
        .hold = stand_in__hold,
        .program = stand_in__set_program,
        .live_of_program = stand_in__live_of_program,
    };

    return &control;
}

long stand_in_live_objects(int kind) { return stand_in__live(kind); }
