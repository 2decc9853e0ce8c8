/* SPDX-License-Identifier: Apache-2.0 */
/* Tests whether the device type is taken, and then the version of TensorFlow (admission.h). */
#define _GNU_SOURCE
#include "admission.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tensorflow/c/tf_buffer.h>
#include <tensorflow/c/tf_status.h>

#include "admission_versions.h"
#include "log.h"
#include "register.h"
#include "switch.h"

/* Finds a function of TensorFlow's C API that its library of kernels does not export. */
static void *admission_find_function(const char *name) {
    void *library = dlopen("libtensorflow_cc.so.2", RTLD_NOW | RTLD_NOLOAD);
    void *function = library ? dlsym(library, name) : NULL;
    if (library) dlclose(library); /* TensorFlow keeps it loaded */
    return function;
}

const char *admission_version(void) {
    const char *(*version)(void) = NULL;
    void *function = admission_find_function("TF_Version");
    memcpy(&version, &function, sizeof version);
    return version ? version() : "";
}

static bool is_known_version(const char *version) {
    static const char *const known[] = {ADMISSION_VERSIONS};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; ++i) {
        const size_t length = strlen(known[i]);
        if (strncmp(version, known[i], length) == 0 && version[length] == '.') return true;
    }
    return false;
}

/* Whether a serialized list of kernels names the device type. The type is a field of its own, which
 * its length precedes. */
static bool names_type(const TF_Buffer *kernels) {
    const char wanted[] = "\x12\x03" REGISTER_DEVICE_TYPE;
    return memmem(kernels->data, kernels->length, wanted, sizeof wanted - 1);
}

/* Whether there are already kernels of our device type, from CUDA or from another plug-in.
 * TensorFlow ends the process when a second one registers the type. */
static bool is_type_taken(void) {
    TF_Buffer *(*list)(const char *, TF_Status *) = NULL;
    void *function = admission_find_function("TF_GetRegisteredKernelsForOp");
    memcpy(&list, &function, sizeof list);
    if (!list) return false;
    TF_Status *status = TF_NewStatus();
    TF_Buffer *kernels = list("MatMul", status);
    const bool is_taken = kernels && names_type(kernels);
    if (kernels) TF_DeleteBuffer(kernels);
    TF_DeleteStatus(status);
    return is_taken;
}

bool gantry_tensorflow_refuses_version(const char *version, char *out, size_t out_bytes) {
    if (is_known_version(version)) return false;
    snprintf(out, out_bytes,
             "this TensorFlow is version \"%s\"; gantry-tensorflow is tested with " ADMISSION_FIRST
             " to " ADMISSION_LAST
             ". Install one of them or a newer gantry-tensorflow, or set GANTRY_TF_ANY_VERSION=1 "
             "to try this one",
             version);
    return true;
}

static void decide(char *out, size_t out_bytes) {
    const bool takes_any = switch_is_on("GANTRY_TF_ANY_VERSION");
    if (is_type_taken()) {
        snprintf(out, out_bytes,
                 "TensorFlow has kernels for " REGISTER_DEVICE_TYPE
                 " already, from CUDA or from another plug-in, and it can have one set. Install "
                 "tensorflow-cpu instead of tensorflow, or remove the other file from the folder "
                 "tensorflow-plugins and from TF_PLUGGABLE_DEVICE_LIBRARY_PATH");
    } else if (!takes_any) {
        (void)gantry_tensorflow_refuses_version(admission_version(), out, out_bytes);
    }
}

const char *admission_refusal(void) {
    static char text[400];
    static bool is_decided;
    if (is_decided) return text;
    is_decided = true;
    decide(text, sizeof text);
    if (text[0]) log_line(GANTRY_LEVEL_WARNING, "Gantry's devices are not offered: %s.", text);
    return text;
}
