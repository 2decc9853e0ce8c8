/* SPDX-License-Identifier: Apache-2.0 */
#include "base/setting_check.h"

#include <string.h>

#include "base/ascii.h"
#include "base/nearest.h"

#define PREFIX "GANTRY_"

static const char *const known[] = {
#define GANTRY__ENVIRONMENT_ROW(name, values, default_value, meaning) name,
#include "base/environment.def"
#undef GANTRY__ENVIRONMENT_ROW
};
#define KNOWN (sizeof known / sizeof known[0])

typedef struct check_t {
    const gantry__log_t *log;
    const char *const *backends;
    size_t backend_count;
} check_t;

static bool begins_with(const char *text, const char *prefix) {
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* Whether a name is one of the backend: GANTRY_NPU_... of backend npu. */
static bool is_of_backend(const char *name, const char *backend) {
    if (!begins_with(name, PREFIX)) return false;
    name += strlen(PREFIX);
    for (; *backend; ++backend, ++name) {
        if (*name != gantry__ascii_upper(*backend)) return false;
    }
    return *name == '_';
}

static bool is_own_backend(const char *backend) {
    for (size_t i = 0; i < KNOWN; ++i) {
        if (is_of_backend(known[i], backend)) return true;
    }
    return false;
}

static bool is_known(const check_t *check, const char *name) {
    if (begins_with(name, PREFIX "TEST_") || begins_with(name, PREFIX "STAND_IN_")) return true;
    for (size_t i = 0; i < KNOWN; ++i) {
        if (strcmp(known[i], name) == 0) return true;
    }
    for (size_t i = 0; i < check->backend_count; ++i) {
        if (is_of_backend(name, check->backends[i]) && !is_own_backend(check->backends[i]))
            return true;
    }
    return false;
}

static void tell(void *user, const char *name, const char *by) {
    const check_t *check = user;
    if (is_known(check, name)) return;
    const char *nearest = gantry__nearest(name, known, KNOWN);
    gantry__log(check->log, GANTRY_LEVEL_WARNING,
                "%s is no setting of Gantry and does nothing%s%s%s", by,
                nearest ? "; did you mean " : "; docs/environment.md lists them",
                nearest ? nearest : "", nearest ? "?" : "");
}

void gantry__settings_warn_of_unknown(gantry__settings_t *settings, const gantry__log_t *log,
                                      const char *const *backends, size_t backend_count) {
    check_t check = {log, backends, backend_count};
    if (gantry__log_is_read(log, GANTRY_LEVEL_WARNING))
        gantry__settings_visit_unread(settings, PREFIX, tell, &check);
}
