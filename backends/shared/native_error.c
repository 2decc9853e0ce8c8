#include "shared/native_error.h"

#include <stdio.h>

static const gantry__native_error_t *find_error(const gantry__native_errors_t *errors, int64_t native) {
    for (size_t i = 0; i < errors->count; i++) {
        if (errors->list[i].native == native) {
            return &errors->list[i];
        }
    }
    return NULL;
}

const char *gantry__native_name(const gantry__native_errors_t *errors, int64_t native) {
    const gantry__native_error_t *error = find_error(errors, native);

    return error != NULL ? error->name : errors->unknown_name;
}

int32_t gantry__native_code(const gantry__native_errors_t *errors, int64_t native) {
    const gantry__native_error_t *error = find_error(errors, native);

    return error != NULL ? error->code : GANTRY_K_UNKNOWN;
}

int32_t gantry__native_check(const gantry_host_t *host, const gantry__native_errors_t *errors, int64_t native,
                             const char *format, va_list arguments) {
    char text[GANTRY__HOST_TEXT_BYTES];
    char whole[GANTRY__HOST_TEXT_BYTES];

    if (native == 0) {
        return GANTRY_K_OK;
    }
    vsnprintf(text, sizeof text, format, arguments);
    snprintf(whole, sizeof whole, "%.900s: %s (%lld)", text, gantry__native_name(errors, native), (long long)native);
    return host->set_error(host->self, gantry__native_code(errors, native), errors->domain, native, whole);
}
