/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * Tuning records: values measured on this machine's devices, in a text file of the user,
 * GANTRY_TUNING_FILE, which `gantry tune` fills.
 *
 * A record is a key ("cpu.matmul.float32.large"), a device and values. Backends read the file
 * once per runtime, when they first need a record, so that later changes only affect later
 * runtimes. docs/tuning.md lists the records. Thread-safe. */
#ifndef GANTRY_TUNING_H
#define GANTRY_TUNING_H

#include <gantry/device.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A record of the file. The record and its texts are valid during the visit. */
typedef struct gantry_tuning_record_t {
    uint32_t struct_size; /**< Its sizeof. */
    uint32_t line;        /**< Its line in the file. */
    const char *device;   /**< Its device: "NVIDIA H200; NVIDIA CUDA 550.54; 132 units; 1 lanes". */
    const char *what;     /**< Its key: "clblast.xgemm.float32". */
    const char *values;   /**< "MWG=128 NWG=64": words separated by blanks. */
    const char *measured; /**< When: "2026-11-22T01:02:03Z". */
} gantry_tuning_record_t;

/** Visits a record; returns false to end the list. */
typedef bool (*gantry_tuning_record_fn)(void *user, const gantry_tuning_record_t *record);

/** The file's path, valid as long as the runtime. FailedPrecondition, with the reason, when
 * there is no file to use. */
GANTRY_API gantry_status_t gantry_get_tuning_file(gantry_runtime_t *runtime, const char **out_path);
/** Formats the name that the file uses for a device. Records apply to all devices of that name.
 * Text that does not fit is cut; 256 bytes always suffice. *out_needed (may be NULL) is the whole
 * length without the terminator. */
GANTRY_API gantry_status_t gantry_get_tuning_name(gantry_runtime_t *runtime,
                                                  const gantry_physical_device_t *device, char *out,
                                                  size_t out_bytes, size_t *out_needed);
/** Visits every record of the file as it is now, including those of other machines. A missing
 * file has no records. FailedPrecondition when it is no tuning file; errors of the system are
 * reported as such. */
GANTRY_API gantry_status_t gantry_list_tuning(gantry_runtime_t *runtime,
                                              gantry_tuning_record_fn visit, void *user);
/** Writes a record into the file, in place of an older one. Safe if other processes do the same,
 * and if this process is killed. InvalidArgument for texts that the file cannot hold;
 * FailedPrecondition when there is no file to use, or it is no tuning file; DeadlineExceeded
 * when another process holds it for 10 seconds; PermissionDenied and other errors of the
 * system. */
GANTRY_API gantry_status_t gantry_put_tuning(gantry_runtime_t *runtime,
                                             const gantry_physical_device_t *device,
                                             const char *what, const char *values);
/** Removes the records of a device (NULL: all devices) whose key begins with `what` (NULL: any).
 * *out_removed (may be NULL) is their number. Fails as gantry_put_tuning does. */
GANTRY_API gantry_status_t gantry_remove_tuning(gantry_runtime_t *runtime,
                                                const gantry_physical_device_t *device,
                                                const char *what, size_t *out_removed);

#ifdef __cplusplus
}
#endif
#endif
