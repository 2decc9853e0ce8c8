/* SPDX-License-Identifier: Apache-2.0 */
/* What was measured on this machine's devices and is used from then on: a text file of the user's,
 * GANTRY_TUNING_FILE, which `gantry tune` fills.
 *
 * A record is what was tuned ("cpu.matmul.float32.large"), for which device, and values. The
 * backends read the file once for each runtime, when they first need a record: what is put or
 * removed is seen by runtimes made later. docs/tuning.md tells which records there are. */
#ifndef GANTRY_TUNING_H
#define GANTRY_TUNING_H

#include <gantry/device.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct gantry_tuning_record_t {
    uint32_t struct_size;
    uint32_t line;        /* of the file */
    const char *device;   /* "NVIDIA H200; NVIDIA CUDA 550.54; 132 units; 1 lanes" */
    const char *what;     /* "clblast.xgemm.float32" */
    const char *values;   /* "MWG=128 NWG=64": words apart by blanks */
    const char *measured; /* "2026-11-22T01:02:03Z" */
} gantry_tuning_record_t;

/* Returns false to end. The record and its texts are valid during the call. */
typedef bool (*gantry_tuning_record_fn)(void *user, const gantry_tuning_record_t *record);

/* The file's path, valid as long as the runtime. FailedPrecondition, with the reason, when there
 * is none. */
GANTRY_API gantry_status_t gantry_get_tuning_file(gantry_runtime_t *runtime, const char **out_path);
/* How the file names that device, with a terminator; OutOfRange when it does not fit, 256 bytes
 * always do. Records are for all devices of that name. */
GANTRY_API gantry_status_t gantry_get_tuning_name(gantry_runtime_t *runtime,
                                                  const gantry_physical_device_t *device,
                                                  size_t capacity, char *out_name);
/* Every record of the file as it is now, of other machines too. No file is no record.
 * FailedPrecondition when it is no tuning file, and the system's reasons. */
GANTRY_API gantry_status_t gantry_list_tuning(gantry_runtime_t *runtime,
                                              gantry_tuning_record_fn visit, void *user);
/* Puts a record into the file, in place of an older one. Safe beside other processes that do the
 * same, and when this one is killed. InvalidArgument for texts that cannot be kept,
 * FailedPrecondition where there is no file to be or it is no tuning file, DeadlineExceeded when
 * another process holds it for 10 seconds, PermissionDenied and others of the system. */
GANTRY_API gantry_status_t gantry_put_tuning(gantry_runtime_t *runtime,
                                             const gantry_physical_device_t *device,
                                             const char *what, const char *values);
/* Takes out the records of device (NULL: all devices) whose `what` begins with that text (NULL:
 * any). out_removed may be NULL. Fails as gantry_put_tuning. */
GANTRY_API gantry_status_t gantry_remove_tuning(gantry_runtime_t *runtime,
                                                const gantry_physical_device_t *device,
                                                const char *what, size_t *out_removed);

#ifdef __cplusplus
}
#endif
#endif
