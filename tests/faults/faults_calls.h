/* SPDX-License-Identifier: Apache-2.0 */
/* Each program under test includes this file first, so that its calls of the public API go through
 * the tool. The tool records each failure and its place, gives each runtime the heap and the
 * backends under test, and knows the objects that a program leaves when it exits.
 *
 * Arguments are evaluated once. The list of calls comes from the public headers at configuration
 * (faults_calls.inc). */
#ifndef GANTRY_TESTS_FAULTS_CALLS_H
#define GANTRY_TESTS_FAULTS_CALLS_H

#include <gantry/gantry.h>
#include <stdlib.h>

#ifdef GANTRY_FAULTS_TRAIN
#include <gantry_train/train.h>
#endif

gantry_status_t faults_note_status(gantry_status_t status, const char *call, const char *file,
                                   int line);
gantry_status_t faults_note_scope_status(const gantry_scope_t *scope, const char *file, int line);
/* A call in that scope returned NULL. */
void faults_note_null(const gantry_scope_t *scope, const char *call, const char *file, int line);

gantry_status_t faults_runtime_create(const gantry_runtime_options_t *options,
                                      gantry_runtime_t **out_runtime);
void faults_runtime_release(gantry_runtime_t *runtime);
gantry_scope_t *faults_scope_begin(gantry_runtime_t *runtime, const char *device, const char *file,
                                   int line);
gantry_scope_t *faults_scope_begin_in(gantry_scope_t *parent, const char *device, const char *file,
                                      int line);
gantry_status_t faults_scope_end(gantry_scope_t *scope);
gantry_tensor_t *faults_scope_keep(gantry_scope_t *scope, const gantry_tensor_t *tensor);
gantry_variable_t *faults_variable_create(gantry_scope_t *scope, const gantry_tensor_t *initial,
                                          const char *name);
void faults_variable_release(gantry_variable_t *variable);
gantry_tensor_t *faults_tensor_retain(const gantry_tensor_t *tensor);
void faults_tensor_release(gantry_tensor_t *tensor);
_Noreturn void faults_exit(int code);
#ifdef GANTRY_FAULTS_TRAIN
gantry_optimizer_t *faults_optimizer_keep(gantry_optimizer_t *optimizer);
void faults_optimizer_release(gantry_optimizer_t *optimizer);
gantry_metric_t *faults_metric_keep(gantry_metric_t *metric);
void faults_metric_release(gantry_metric_t *metric);
#endif

#ifndef FAULTS_CALLS_PLAIN /* the tool's own files call Gantry directly */

#define FAULTS_STATUS(call, ...) faults_note_status(call(__VA_ARGS__), #call, __FILE__, __LINE__)
#define FAULTS_OBJECT_OF(function, call, scope, ...)                                \
    __extension__({                                                                 \
        gantry_scope_t *faults_scope = (scope);                                     \
        __auto_type faults_made = function(faults_scope, __VA_ARGS__);              \
        if (!faults_made) faults_note_null(faults_scope, call, __FILE__, __LINE__); \
        faults_made;                                                                \
    })
#define FAULTS_OBJECT(call, ...) FAULTS_OBJECT_OF(call, #call, __VA_ARGS__)

#include "faults_calls.inc"

#define gantry_scope_status(scope) faults_note_scope_status(scope, __FILE__, __LINE__)
#define gantry_runtime_create(options, out)                                                    \
    faults_note_status(faults_runtime_create(options, out), "gantry_runtime_create", __FILE__, \
                       __LINE__)
#define gantry_runtime_release(runtime) faults_runtime_release(runtime)
#define gantry_scope_begin(runtime, device) faults_scope_begin(runtime, device, __FILE__, __LINE__)
#define gantry_scope_begin_in(parent, device) \
    faults_scope_begin_in(parent, device, __FILE__, __LINE__)
#define gantry_scope_end(scope) \
    faults_note_status(faults_scope_end(scope), "gantry_scope_end", __FILE__, __LINE__)
#define gantry_scope_keep(scope, tensor) faults_scope_keep(scope, tensor)
#define gantry_variable_create(...) \
    FAULTS_OBJECT_OF(faults_variable_create, "gantry_variable_create", __VA_ARGS__)
#define gantry_variable_release(variable) faults_variable_release(variable)
#define gantry_tensor_retain(tensor) faults_tensor_retain(tensor)
#define gantry_tensor_release(tensor) faults_tensor_release(tensor)
#define exit(code) faults_exit(code)
#ifdef GANTRY_FAULTS_TRAIN /* what language_id makes */
#define gantry_adam(options) faults_optimizer_keep(gantry_adam(options))
#define gantry_optimizer_release(optimizer) faults_optimizer_release(optimizer)
#define gantry_mean_metric(options) faults_metric_keep(gantry_mean_metric(options))
#define gantry_metric_release(metric) faults_metric_release(metric)
#endif

#endif
#endif
