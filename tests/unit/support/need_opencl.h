/* SPDX-License-Identifier: Apache-2.0 */
/* What a test does on a machine without an OpenCL device. With GANTRY_TEST_ALLOW_NO_OPENCL set it
 * is skipped, without it fails; both print why. Tests on the stand-in for NVIDIA's driver need a
 * processor of PoCL. Header only.
 *
 * A child asks the drivers, so that the test's own process opens none. The build defines
 * GANTRY_TEST_OPENCL_IS_BUILT. */
#ifndef GANTRY_TEST_NEED_OPENCL_H
#define GANTRY_TEST_NEED_OPENCL_H

#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>
#if !defined(_WIN32)
#include <sys/wait.h>
#endif

#define NEED_OPENCL_VARIABLE "GANTRY_TEST_ALLOW_NO_OPENCL"
#define NEED_OPENCL_SKIP 77 /* the exit code of a skipped program */

/* ---- what is there ---- */

enum { OPENCL_HAS_DEVICE = 1, OPENCL_HAS_POCL = 2 };

typedef struct need_opencl_t {
    int (*platform_ids)(unsigned room, void **out_platforms, unsigned *out_count);
    int (*platform_info)(void *platform, unsigned what, size_t bytes, void *out, size_t *out_bytes);
    int (*device_ids)(void *platform, uint64_t type, unsigned room, void **out_devices,
                      unsigned *out_count);
} need_opencl_t;

static inline bool need_opencl_load(need_opencl_t *out) {
    void *loader = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
    void *found[3] = {NULL, NULL, NULL};
    if (!loader) return false;
    found[0] = dlsym(loader, "clGetPlatformIDs");
    found[1] = dlsym(loader, "clGetPlatformInfo");
    found[2] = dlsym(loader, "clGetDeviceIDs");
    memcpy(out, found, sizeof found);
    return found[0] && found[1] && found[2];
}

static inline int need_opencl_look(void) {
    enum { PLATFORM_NAME = 0x0902, TYPE_CPU = 2, ROOM = 16 };
    const uint64_t type_all = 0xffffffff;
    need_opencl_t cl;
    void *platforms[ROOM];
    unsigned count = 0, devices = 0;
    int found = 0;
    if (!need_opencl_load(&cl) || cl.platform_ids(ROOM, platforms, &count) != 0) return 0;
    for (unsigned i = 0; i < count && i < ROOM; ++i) {
        char name[128] = "";
        if (cl.device_ids(platforms[i], type_all, 0, NULL, &devices) == 0 && devices > 0)
            found |= OPENCL_HAS_DEVICE;
        if (cl.platform_info(platforms[i], PLATFORM_NAME, sizeof name - 1, name, NULL) == 0 &&
            strcmp(name, "Portable Computing Language") == 0 &&
            cl.device_ids(platforms[i], TYPE_CPU, 0, NULL, &devices) == 0 && devices > 0)
            found |= OPENCL_HAS_POCL;
    }
    return found;
}

#if defined(_WIN32) /* which has no fork */
static inline int need_opencl_found(void) { return need_opencl_look(); }
#else
/* A driver that ends the child counts as there: the test then says what is wrong with it. */
static inline int need_opencl_found(void) {
    static int found = -1;
    if (found >= 0) return found;
    int result = -1;
    (void)fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        (void)alarm(60); /* a driver that hangs */
        (void)unsetenv("OPENCL_LAYERS");
        _exit(need_opencl_look());
    }
    const int all = OPENCL_HAS_DEVICE | OPENCL_HAS_POCL;
    const bool ended = child > 0 && waitpid(child, &result, 0) == child && WIFEXITED(result);
    found = ended && WEXITSTATUS(result) <= all ? WEXITSTATUS(result) : all;
    return found;
}
#endif

/* ---- what the test does ---- */

/* The exit code of a program that cannot go on without that. */
static inline int without_opencl(const char *missing) {
    const char *allowed = getenv(NEED_OPENCL_VARIABLE);
    if (allowed && *allowed) {
        (void)printf("skipped: there is no %s, and " NEED_OPENCL_VARIABLE " is set\n", missing);
        return NEED_OPENCL_SKIP;
    }
    (void)printf(
        "failed: there is no %s; install PoCL (pocl-opencl-icd), or set " NEED_OPENCL_VARIABLE
        "=1 to skip the tests that need one\n",
        missing);
    return 1;
}

/* For main: 0 if the program may go on, or its exit code. GANTRY_TEST_BACKENDS names the backends
 * for a card. */
static inline int skip_without_opencl(void) {
    const char *backends = getenv("GANTRY_TEST_BACKENDS");
    if (backends && !strstr(backends, "opencl")) return 0;
    if (!GANTRY_TEST_OPENCL_IS_BUILT) {
        (void)printf("skipped: the OpenCL backend is not built\n");
        return NEED_OPENCL_SKIP;
    }
    return need_opencl_found() & OPENCL_HAS_DEVICE ? 0 : without_opencl("OpenCL device");
}

static inline int skip_without_pocl(void) {
    return need_opencl_found() & OPENCL_HAS_POCL ? 0 : without_opencl("device of PoCL");
}

/* The same in a test of cmocka, and not in its setup, which cannot skip. */
#define need_opencl() NEED_OPENCL_GO_ON(skip_without_opencl())
#define need_pocl() NEED_OPENCL_GO_ON(skip_without_pocl())
#define NEED_OPENCL_GO_ON(expression)              \
    do {                                           \
        const int need_code = (expression);        \
        if (need_code == NEED_OPENCL_SKIP) skip(); \
        if (need_code != 0) fail();                \
    } while (0)

#endif
