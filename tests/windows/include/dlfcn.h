/* SPDX-License-Identifier: Apache-2.0 */
/* POSIX's dlfcn.h by the functions of Windows, for tests. Owner: the callers. Threads: main's
 * only. */
#ifndef GANTRY_TESTS_WINDOWS_DLFCN_H
#define GANTRY_TESTS_WINDOWS_DLFCN_H

#include <stddef.h>

#define RTLD_LAZY 0
#define RTLD_NOW 0
#define RTLD_LOCAL 0

__declspec(dllimport) void *__stdcall LoadLibraryA(const char *name);
__declspec(dllimport) int __stdcall FreeLibrary(void *library);
__declspec(dllimport) void *__stdcall GetProcAddress(void *library, const char *name);

static inline void *dlopen(const char *name, int flags) {
    (void)flags;
    return LoadLibraryA(name);
}

static inline void *dlsym(void *library, const char *name) { return GetProcAddress(library, name); }

static inline int dlclose(void *library) { return !FreeLibrary(library); }

static inline char *dlerror(void) {
    static char text[] = "the library or its function is missing";
    return text;
}

#endif
