/* SPDX-License-Identifier: Apache-2.0 */
/* The common part of a program in every driver's backend: a label and the kernels found in it.
 *
 * A backend's program must begin with a gantry__program_head_t, and its kernel with a
 * gantry__kernel_head_t, so that a pointer to one is a pointer to the other. Compiling, loading and
 * launching belong to the backend. Owner: the program owns its label and its kernels. Threads: as
 * kernel_list.h says. */
#ifndef GANTRY_DRIVER_DRIVER_PROGRAM_H
#define GANTRY_DRIVER_DRIVER_PROGRAM_H

#include "driver/kernel_list.h"
#include "driver/native_error.h"

typedef struct gantry__program_head_t {
    gantry_backend_device_t *device;
    gantry__kernel_list_t kernels;
    char *label;
} gantry__program_head_t;

/* Returns InvalidArgument for a source of another kind; language must be the name of this kind. */
int32_t gantry__program_check_source(const gantry_host_t *host,
                                     const gantry__native_errors_t *errors,
                                     const gantry_program_source_t *source, uint32_t kind,
                                     const char *language);
/* Returns InvalidArgument for options of more than GANTRY__BUILD_OPTIONS_BYTES - 1 bytes. */
int32_t gantry__program_check_options(const gantry_host_t *host,
                                      const gantry__native_errors_t *errors, const char *label,
                                      size_t bytes);
/* Returns InvalidArgument for an empty binary. */
int32_t gantry__program_check_binary(const gantry_host_t *host,
                                     const gantry__native_errors_t *errors, const char *label,
                                     uint64_t size_bytes);
/* Returns OutOfRange if the buffer of the caller of the slot `binary` is too small. */
int32_t gantry__program_check_room(const gantry_host_t *host, const gantry__native_errors_t *errors,
                                   const char *label, uint64_t size_bytes, uint64_t room_bytes);

/* Returns zeroed memory of this many bytes, which begins with the head, or NULL after stating
 * ResourceExhausted. */
void *gantry__program_make(const gantry_host_t *host, const gantry__native_errors_t *errors,
                           size_t bytes, gantry_backend_device_t *device, const char *label);
/* Frees the program. Its kernels must be freed before. */
void gantry__program_free(const gantry_host_t *host, gantry__program_head_t *program, size_t bytes);

/* The same for a kernel. */
void *gantry__kernel_make(const gantry_host_t *host, const gantry__native_errors_t *errors,
                          size_t bytes, const char *name);
void gantry__kernel_free(const gantry_host_t *host, gantry__kernel_head_t *kernel, size_t bytes);

#endif
