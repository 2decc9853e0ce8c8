/* SPDX-License-Identifier: Apache-2.0 */
/* A library that is an OpenCL driver without a platform, and an NVIDIA driver without most of its
 * functions. RUDE says what it does to its process, as "open:exit:0" or "ask:hang":
 *
 *     open, ask          when it is opened, or when it is asked for its platforms
 *     exit:N, _exit:N, abort, hang, print */
#define _POSIX_C_SOURCE 200809L
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SHOWN __attribute__((visibility("default")))

static void be_rude(const char *when) {
    const char *wish = getenv("RUDE");
    const size_t length = strlen(when);
    if (!wish || strncmp(wish, when, length) != 0 || wish[length] != ':') return;
    wish += length + 1;
    if (strncmp(wish, "exit:", 5) == 0) exit(atoi(wish + 5));
    if (strncmp(wish, "_exit:", 6) == 0) _exit(atoi(wish + 6));
    if (strcmp(wish, "abort") == 0) abort();
    if (strcmp(wish, "print") == 0) (void)printf("spoken");
    while (strcmp(wish, "hang") == 0) (void)sleep(60);
}

__attribute__((constructor)) static void begin(void) { be_rude("open"); }

SHOWN int clIcdGetPlatformIDsKHR(unsigned count, void **platforms, unsigned *out_count);
int clIcdGetPlatformIDsKHR(unsigned count, void **platforms, unsigned *out_count) {
    (void)count, (void)platforms;
    be_rude("ask");
    if (out_count) *out_count = 0;
    return -1001; /* CL_PLATFORM_NOT_FOUND_KHR */
}

SHOWN int clGetPlatformInfo(void *platform, unsigned what, size_t bytes, void *value,
                            size_t *out_bytes);
int clGetPlatformInfo(void *platform, unsigned what, size_t bytes, void *value, size_t *out_bytes) {
    (void)platform, (void)what, (void)bytes, (void)value, (void)out_bytes;
    return -32; /* CL_INVALID_PLATFORM */
}

typedef void (*function_t)(void);
SHOWN function_t clGetExtensionFunctionAddress(const char *name);
function_t clGetExtensionFunctionAddress(const char *name) {
    if (strcmp(name, "clIcdGetPlatformIDsKHR") == 0) return (function_t)clIcdGetPlatformIDsKHR;
    return strcmp(name, "clGetPlatformInfo") == 0 ? (function_t)clGetPlatformInfo : NULL;
}

SHOWN int cuInit(unsigned flags);
int cuInit(unsigned flags) {
    (void)flags;
    return 100; /* CUDA_ERROR_NO_DEVICE */
}
