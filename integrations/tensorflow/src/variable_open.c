/* SPDX-License-Identifier: Apache-2.0 */
/* Looks for the variables file, then for TensorFlow's own functions (variable_open.h). */
#define _GNU_SOURCE
#include "variable_open.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "admission.h"
#include "log.h"

typedef struct TF_VariableInputLockHolder TF_VariableInputLockHolder;

/* ---- TensorFlow's own ---- */

static void (*lock_in_order)(TF_OpKernelContext *context, bool do_lock, bool sparse,
                             const int *inputs, size_t count, variable_copy_t copy,
                             TF_VariableInputLockHolder **out_holder, TF_Status *status);
static void (*get_tensor)(TF_OpKernelContext *context, int input, bool lock_held, bool is_variant,
                          bool sparse, variable_copy_t copy, TF_Tensor **out, TF_Status *status);
static void (*release_holder)(TF_VariableInputLockHolder *holder);

#define MOST_LOCKED 4

/* Whether two handles are equal: TensorFlow's function would lock one mutex twice, and wait for
 * itself. A handle's tensor is its serialized form. */
static bool has_equal_handles(TF_OpKernelContext *context, int count, TF_Status *status) {
    TF_Tensor *handles[MOST_LOCKED] = {NULL};
    bool is_twice = false;
    for (int i = 0; i < count && TF_GetCode(status) == TF_OK; ++i)
        TF_GetInput(context, i, &handles[i], status);
    for (int i = 1; i < count && TF_GetCode(status) == TF_OK; ++i) {
        for (int k = 0; k < i; ++k) {
            const size_t bytes = TF_TensorByteSize(handles[i]);
            is_twice |= TF_TensorByteSize(handles[k]) == bytes &&
                        memcmp(TF_TensorData(handles[k]), TF_TensorData(handles[i]), bytes) == 0;
        }
    }
    for (int i = 0; i < count; ++i) {
        if (handles[i]) TF_DeleteTensor(handles[i]);
    }
    return is_twice;
}

/* Locks by TensorFlow's own functions. They read a variable only as if to update it, so a reader
 * locks exclusively, too. */
static void *own_lock(TF_OpKernelContext *context, int count, bool is_update, TF_Status *status) {
    static const int inputs[MOST_LOCKED] = {0, 1, 2, 3};
    TF_VariableInputLockHolder *holder = NULL;
    (void)is_update;
    if (count > 1 && has_equal_handles(context, count, status))
        TF_SetStatus(status, TF_INVALID_ARGUMENT,
                     "A variable is given to the op twice; different variables are accepted.");
    if (TF_GetCode(status) != TF_OK) return NULL;
    lock_in_order(context, true, false, inputs, (size_t)count, NULL, &holder, status);
    return holder;
}

static TF_Tensor *own_tensor(void *lock, TF_OpKernelContext *context, int index,
                             variable_copy_t copy, TF_Status *status) {
    TF_Tensor *tensor = NULL;
    (void)lock;
    get_tensor(context, index, true, false, false, copy, &tensor, status);
    return tensor;
}

static void own_unlock(void *lock) { release_holder(lock); }

static const variable_functions_t own_functions = {
    .lock = own_lock, .tensor = own_tensor, .unlock = own_unlock};

/* Finds a function. A cast cannot make a pointer to a function of one to data. */
static bool variable_open_find_function(void *library, const char *name, void *out_function) {
    void *found = dlsym(library, name);
    memcpy(out_function, &found, sizeof found);
    return found;
}

static bool variable_open_find_own(void) {
    return variable_open_find_function(RTLD_DEFAULT, "TF_MaybeLockVariableInputMutexesInOrder",
                                       &lock_in_order) &&
           variable_open_find_function(RTLD_DEFAULT, "TF_GetInputTensorFromVariable",
                                       &get_tensor) &&
           variable_open_find_function(RTLD_DEFAULT, "TF_ReleaseVariableInputLockHolder",
                                       &release_holder);
}

/* ---- the variables file ---- */

static variable_functions_t file_functions;

typedef struct opening_t {
    pthread_once_t once;
    const variable_functions_t *functions;
    char version[64]; /* TensorFlow's version */
    char text[1024];  /* why there are no functions */
} opening_t;

static opening_t opening = {.once = PTHREAD_ONCE_INIT};

/* Finds functions that files of older releases do not have. */
static void find_newer(void *library, const char *path) {
    if (variable_open_find_function(library, "gantry_tf_variables_assign",
                                    &file_functions.assign) &&
        variable_open_find_function(library, "gantry_tf_withdraw_xla",
                                    &file_functions.withdraw_xla))
        return;
    log_line(GANTRY_LEVEL_WARNING,
             "the variables file %s was made by an older gantry-tensorflow: variables of "
             "TensorFlow 1 stay on the CPU, and ops of XLA fail. Run `python -m gantry_tensorflow "
             "build-variables` again",
             path);
}

static bool variable_open_read_file(const char *path) {
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    const char *(*version)(void) = NULL;
    if (!library) {
        log_line(GANTRY_LEVEL_WARNING, "the variables file %s does not open: %s", path, dlerror());
        return false;
    }
    if (variable_open_find_function(library, "gantry_tf_variables_version", &version) &&
        strcmp(version(), opening.version) == 0 &&
        variable_open_find_function(library, "gantry_tf_variables_lock", &file_functions.lock) &&
        variable_open_find_function(library, "gantry_tf_variables_tensor",
                                    &file_functions.tensor) &&
        variable_open_find_function(library, "gantry_tf_variables_unlock",
                                    &file_functions.unlock)) {
        find_newer(library, path);
        return true;
    }
    log_line(GANTRY_LEVEL_WARNING,
             "the variables file %s was made for TensorFlow %s, and this is %s; it is not used",
             path, version ? version() : "of an unknown version", opening.version);
    dlclose(library);
    return false;
}

static bool try_folder(const char *folder, const char *below) {
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s%s/libgantry_tensorflow_variables-%s.so", folder, below,
             opening.version);
    FILE *file = fopen(path, "rb");
    if (!file) return false;
    fclose(file);
    return variable_open_read_file(path);
}

/* Finds the variables file that the environment names, or the one where the wheel has Gantry's
 * libraries, or in the folder "variables" of the plug-in's folder. TensorFlow opens every file in
 * its folder of plug-ins, so the variables file must not be there. */
static bool variable_open_find_file(void) {
    Dl_info self;
    char folder[PATH_MAX];
    const char *named = getenv("GANTRY_TF_VARIABLES");
    if (named && *named) return strcmp(named, "none") != 0 && variable_open_read_file(named);
    if (!dladdr(&opening, &self) || !realpath(self.dli_fname, folder)) return false;
    *strrchr(folder, '/') = '\0';
    return try_folder(folder, "/../gantry_tensorflow/lib") || try_folder(folder, "/variables");
}

/* Finds TensorFlow's version. A program in C has the function from another library. */
static void find_version(void) {
    const char *(*version)(void) = NULL;
    const char *text = admission_version();
    if (!*text && variable_open_find_function(RTLD_DEFAULT, "TF_Version", &version))
        text = version();
    snprintf(opening.version, sizeof opening.version, "%s", *text ? text : "unknown");
}

static void variable_open_once(void) {
    find_version();
    if (variable_open_find_file()) {
        opening.functions = &file_functions;
    } else if (variable_open_find_own()) {
        opening.functions = &own_functions;
    }
    snprintf(
        opening.text, sizeof opening.text,
        "TensorFlow %s does not export the functions with which a plug-in updates variables. Run "
        "`python -m gantry_tensorflow build-variables` once (it needs a C++ compiler), or install "
        "TensorFlow 2.18. Without them, a variable on this device can be read and assigned, and "
        "all other ops run; variables that are updated can live under tf.device('CPU:0').",
        opening.version);
}

const variable_functions_t *variable_open(void) {
    pthread_once(&opening.once, variable_open_once);
    return opening.functions;
}

const char *variable_missing_text(void) {
    (void)variable_open();
    return opening.text;
}
