/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* secure_getenv */
#include "base/os/environment.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#if defined(__APPLE__)
#include <crt_externs.h>
#define environ (*_NSGetEnviron())
#define secure_getenv(name) (issetugid() ? NULL : getenv(name))
#else
extern char **environ; /* no header of POSIX declares it */
#endif

static size_t copy_value(const char *value, char *out, size_t out_bytes) {
    const size_t needed = value ? strlen(value) + 1 : 0;
    if (needed > 0 && needed <= out_bytes) memcpy(out, value, needed);
    return needed;
}

size_t gantry__os_variable(const char *name, char *out, size_t out_bytes) {
    return copy_value(getenv(name), out, out_bytes);
}

size_t gantry__os_secure_variable(const char *name, char *out, size_t out_bytes) {
    return copy_value(secure_getenv(name), out, out_bytes);
}

int gantry__os_set_variable(const char *name, const char *value) {
    return (value ? setenv(name, value, 1) : unsetenv(name)) == 0 ? 0 : errno;
}

void gantry__os_variables_visit(bool (*visit)(void *user, const char *assignment), void *user) {
    for (char **variable = environ; variable && *variable && visit(user, *variable); ++variable) {
    }
}
