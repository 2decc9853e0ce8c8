/* SPDX-License-Identifier: Apache-2.0 */
/* Python's functions are looked up in the process, so the plug-in links no Python: one build serves
 * every Python, and programs in C++ that have none. */
#define _GNU_SOURCE /* RTLD_DEFAULT, dladdr */
#include "python_hook.h"

#include <dlfcn.h>
#include <string.h>

#include "log.h"

typedef struct python_t {
    int (*is_initialized)(void);
    int (*lock)(void);
    void (*unlock)(int state);
    void *(*import_module)(const char *name);
    void *(*call_method)(void *object, const char *name, const char *format, ...);
    void (*print_error)(void);
    void (*clear_error)(void);
    void (*release)(void *object);
} python_t;

static bool python_hook_find_function(void *out, const char *name) {
    void *address = dlsym(RTLD_DEFAULT, name);
    memcpy(out, &address, sizeof address);
    return address;
}

static bool find_python(python_t *p) {
    return python_hook_find_function(&p->is_initialized, "Py_IsInitialized") &&
           python_hook_find_function(&p->lock, "PyGILState_Ensure") &&
           python_hook_find_function(&p->unlock, "PyGILState_Release") &&
           python_hook_find_function(&p->import_module, "PyImport_ImportModule") &&
           python_hook_find_function(&p->call_method, "PyObject_CallMethod") &&
           python_hook_find_function(&p->print_error, "PyErr_Print") &&
           python_hook_find_function(&p->clear_error, "PyErr_Clear") &&
           python_hook_find_function(&p->release, "Py_DecRef");
}

static void call_attach(const python_t *p, const char *path) {
    void *module = p->import_module("gantry_tensorflow.attach");
    if (!module) {
        p->clear_error();
        log_line(
            GANTRY_LEVEL_WARNING,
            "the Python package gantry_tensorflow is not next to the plug-in: Keras will choose "
            "XLA, which fails; pass jit_compile=False, or install the wheel gantry-tensorflow");
        return;
    }
    void *result = p->call_method(module, "attach", "s", path);
    if (!result) p->print_error();
    if (result) p->release(result);
    p->release(module);
}

void python_hook_attach(void) {
    static const char inside = 0;
    python_t python;
    Dl_info here;
    if (!find_python(&python) || !python.is_initialized() || !dladdr(&inside, &here)) return;
    const int state = python.lock();
    call_attach(&python, here.dli_fname);
    python.unlock(state);
}
