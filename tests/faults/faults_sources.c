/* SPDX-License-Identifier: Apache-2.0 */
/* The sources of faults: their events, their faults, and the objects that must be released. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "fake_backend.h"
#include "faults.h"
#include "faults_cuda.h"
#include "opencl_fault_layer.h"

faults_source_t faults_source;

static struct {
    const gantry_fake_control_t *fake;
    void (*set_layer_watch)(faults_layer_watch_fn);
    long (*layer_live)(int);
    long live[FAULTS_LAYER_KINDS];
    char cache[512];
    gantry_status_t status; /* of the fault that was made last */
    const char *text;
    bool is_lost;
} self = {.status = GANTRY_RESOURCE_EXHAUSTED, .text = "host memory"};

const char *faults_source_name(faults_source_t source) {
    static const char *const names[] = {"host", "fake", "opencl", "cuda", "card"};
    return names[source];
}

gantry_status_t faults_source_status(void) { return self.status; }

const char *faults_source_cause(void) { return self.text; }

bool faults_source_is_lost(void) { return self.is_lost; }

void faults_source_made(gantry_status_t status, const char *cause, bool loses_device) {
    self.status = status;
    self.text = cause;
    self.is_lost = loses_device;
}

bool faults_source_is_told(const char *message) {
    bool is_host = faults_source == FAULTS_HOST || faults_source == FAULTS_CARD;
    return strstr(message, self.text) || (is_host && strstr(message, "No memory for"));
}

/* ---- the fake backend ---- */

static int32_t watch_fake(const char *slot) {
    bool fails = faults_source == FAULTS_FAKE && faults_event(slot);
    if (!fails) return 0;
    bool is_memory = strcmp(slot, "region_alloc") == 0 || strcmp(slot, "host_alloc") == 0;
    self.status = is_memory ? GANTRY_RESOURCE_EXHAUSTED : GANTRY_INTERNAL;
    return (int32_t)self.status;
}

/* Two devices with more memory than the examples request. */
static void set_fake_devices(void) {
    gantry_fake_device_t device;
    self.fake->set_device_count(2);
    for (uint32_t i = 0; i < 2; ++i) {
        self.fake->get_device(i, &device);
        device.total_bytes = UINT64_C(2) << 30;
        self.fake->set_device(i, &device);
    }
    self.fake->set_watch(watch_fake);
}

static bool prepare_fake(char *out_why, size_t why_bytes) {
    gantry_fake_control_fn find;
    void *module =
        dlopen(GANTRY_FAULTS_FAKE_FOLDER "/libgantry_backend_fake.so", RTLD_NOW | RTLD_LOCAL);
    void *symbol = module ? dlsym(module, GANTRY_FAKE_CONTROL_SYMBOL) : NULL;
    if (!symbol) {
        (void)snprintf(out_why, why_bytes, "the fake backend cannot be opened: %s", dlerror());
        return false;
    }
    memcpy(&find, &symbol, sizeof find);
    self.fake = find();
    set_fake_devices();
    return true;
}

static bool is_fake_clean(char *out_why, size_t why_bytes) {
    static const char *const names[] = {"instance", "device",  "region", "stream",
                                        "event",    "program", "kernel", "host block"};
    char text[256];
    for (int kind = 0; kind < GANTRY_FAKE_KINDS; ++kind) {
        uint64_t live = self.fake->live((gantry_fake_kind_t)kind);
        if (live == 0) continue;
        (void)snprintf(out_why, why_bytes, "fake backend: %llu of kind %s live",
                       (unsigned long long)live, names[kind]);
        return false;
    }
    self.fake->first_violation(text, sizeof text);
    if (text[0]) (void)snprintf(out_why, why_bytes, "fake backend: violation: %.200s", text);
    return text[0] == '\0';
}

/* ---- OpenCL ---- */

typedef struct fault_t {
    int32_t error;
    gantry_status_t status;
    const char *name;
} fault_t;

static const fault_t resources = {-5, GANTRY_RESOURCE_EXHAUSTED, "CL_OUT_OF_RESOURCES"};
static const fault_t failed_kernel = {-5, GANTRY_INTERNAL, "CL_OUT_OF_RESOURCES"};
static const fault_t host_memory = {-6, GANTRY_RESOURCE_EXHAUSTED, "CL_OUT_OF_HOST_MEMORY"};
static const fault_t allocation = {-4, GANTRY_RESOURCE_EXHAUSTED,
                                   "CL_MEM_OBJECT_ALLOCATION_FAILURE"};
static const fault_t build = {-11, GANTRY_INVALID_ARGUMENT, "CL_BUILD_PROGRAM_FAILURE"};
static const fault_t binary = {-42, GANTRY_INVALID_ARGUMENT, "CL_INVALID_BINARY"};
static const fault_t value = {-30, GANTRY_INVALID_ARGUMENT, "CL_INVALID_VALUE"};
static const fault_t unavailable = {-2, GANTRY_UNAVAILABLE, "CL_DEVICE_NOT_AVAILABLE"};
static const fault_t map = {-12, GANTRY_RESOURCE_EXHAUSTED, "CL_MAP_FAILURE"};
static const fault_t argument = {-50, GANTRY_INVALID_ARGUMENT, "CL_INVALID_ARG_VALUE"};
static const fault_t kernel_definition = {-47, GANTRY_INVALID_ARGUMENT,
                                          "CL_INVALID_KERNEL_DEFINITION"};

/* Errors that the function may return by the specification. The first entry whose name is a prefix
 * of the function's applies. */
static const struct {
    const char *function;
    const fault_t *faults[3];
} plausible[] = {
    {"clCreateContext", {&host_memory, &unavailable, &resources}},
    {"clCreateBuffer", {&allocation, &resources, &host_memory}},
    {"clCreateProgramWithBinary", {&binary, &host_memory, &resources}},
    {"clBuildProgram", {&build, &host_memory, &resources}},
    {"clCreateKernel", {&kernel_definition, &host_memory, &resources}},
    {"clSetKernelArg", {&argument, &resources, &host_memory}},
    {"clEnqueueMapBuffer", {&map, &allocation, &resources}},
    {"clEnqueue", {&resources, &allocation, &host_memory}},
    /* CL_INVALID_VALUE would mean "not supported" */
    {"clGetDevice", {&host_memory, &resources, &host_memory}},
    {"clGet", {&host_memory, &resources, &value}},
    {"clWaitForEvents", {&failed_kernel, &host_memory, &failed_kernel}},
    {"cl", {&resources, &host_memory, &resources}},
};

static int32_t watch_opencl(const char *function) {
    if (faults_source != FAULTS_OPENCL || !faults_event(function)) return 0;
    size_t i = 0;
    while (strncmp(function, plausible[i].function, strlen(plausible[i].function)) != 0) ++i;
    const fault_t *fault = plausible[i].faults[faults_sites_occurrence() % 3];
    faults_source_made(fault->status, fault->name, false);
    return fault->error;
}

static bool find_symbol(void *library, const char *name, void *out_function) {
    void *symbol = library ? dlsym(library, name) : NULL;
    memcpy(out_function, &symbol, sizeof symbol);
    return symbol != NULL;
}

/* The loader finds the layer through the environment, and dlopen here returns the same instance. */
static bool prepare_opencl(char *out_why, size_t why_bytes) {
    const char *layer = GANTRY_FAULTS_LAYER;
    if (!*layer) {
        (void)snprintf(out_why, why_bytes,
                       "no layer was built: CL/cl_layer.h or the OpenCL backend is missing");
        return false;
    }
    (void)setenv("OPENCL_LAYERS", layer, 1);
    (void)setenv("POCL_DEVICES", "pthread pthread", 0);
    void *library = dlopen(layer, RTLD_NOW | RTLD_LOCAL);
    if (!find_symbol(library, "gantry_faults_layer_set_watch", &self.set_layer_watch) ||
        !find_symbol(library, "gantry_faults_layer_live", &self.layer_live)) {
        (void)snprintf(out_why, why_bytes, "the OpenCL layer cannot be opened: %s", dlerror());
        return false;
    }
    self.set_layer_watch(watch_opencl);
    return true;
}

static bool is_layer_clean(char *out_why, size_t why_bytes) {
    static const char *const names[] = {"contexts", "queues",  "buffers",
                                        "programs", "kernels", "events"};
    for (int kind = 0; kind < FAULTS_LAYER_KINDS; ++kind) {
        long more = self.layer_live(kind) - self.live[kind];
        if (more == 0) continue;
        (void)snprintf(out_why, why_bytes, "OpenCL: %+ld references to %s", more, names[kind]);
        return false;
    }
    return true;
}

/* ---- all ---- */

bool faults_source_prepare(faults_source_t source, char *out_why, size_t why_bytes) {
    faults_source = source;
    const char *folder = getenv("GANTRY_TEST_FAULTS_CACHE");
    (void)snprintf(self.cache, sizeof self.cache, "%s", folder ? folder : "");
    if (!prepare_fake(out_why, why_bytes)) return false;
    self.text = source == FAULTS_HOST || source == FAULTS_CARD ? "host memory" : "injected here";
    if (source == FAULTS_OPENCL) return prepare_opencl(out_why, why_bytes);
    return source != FAULTS_CUDA || faults_cuda_prepare(out_why, why_bytes);
}

const char *faults_source_device(const faults_scenario_t *scenario) {
    bool has_gpu = faults_source != FAULTS_HOST || (scenario->flags & FAULTS_WITH_GPUS);
    return has_gpu ? "GPU:0" : "cpu:0";
}

void faults_source_fill(const faults_scenario_t *scenario, gantry_runtime_options_t *options) {
    static const char *const backends[] = {"cpu", "cpu,fake", "cpu,opencl", "cpu,cuda", "cpu,cuda"};
    bool is_driver = faults_source >= FAULTS_OPENCL;
    bool has_fakes = faults_source == FAULTS_FAKE || (scenario->flags & FAULTS_WITH_GPUS);
    options->reallocate = faults_heap_reallocate;
    options->reallocate_user = NULL;
    const char *cards = getenv("GANTRY_TEST_FAULTS_BACKENDS"); /* of a card that is not CUDA's */
    if (!options->backends && faults_source == FAULTS_CARD && cards) options->backends = cards;
    if (!options->backends)
        options->backends = backends[is_driver ? (size_t)faults_source : has_fakes];
    if (!options->backend_path)
        options->backend_path = GANTRY_FAULTS_FAKE_FOLDER ":" GANTRY_FAULTS_MODULES;
    if (!options->kernel_cache)
        options->kernel_cache = is_driver && !(scenario->flags & FAULTS_COLD) ? self.cache : "";
    if (options->cpu_threads == 0) options->cpu_threads = 1;
    if (options->opencl_cpu_as_gpu == GANTRY_DEFAULT) options->opencl_cpu_as_gpu = GANTRY_ON;
}

void faults_source_reset(void) {
    self.fake->reset();
    set_fake_devices();
    self.is_lost = false;
    if (faults_source == FAULTS_CUDA) faults_cuda_reset();
    for (int kind = 0; self.layer_live && kind < FAULTS_LAYER_KINDS; ++kind)
        self.live[kind] = self.layer_live(kind);
}

/* A driver's threads may still be releasing objects. */
bool faults_source_is_clean(char *out_why, size_t why_bytes) {
    const struct timespec pause = {.tv_nsec = 2000000};
    if (!is_fake_clean(out_why, why_bytes)) return false;
    if (faults_source == FAULTS_CUDA) return faults_cuda_is_clean(out_why, why_bytes);
    for (int i = 0; self.layer_live && i < 500; ++i) {
        if (is_layer_clean(out_why, why_bytes)) return true;
        (void)nanosleep(&pause, NULL);
    }
    return self.layer_live == NULL;
}
