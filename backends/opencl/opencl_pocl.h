/* SPDX-License-Identifier: Apache-2.0 */
/* What PoCL needs of the machine, which must be checked before PoCL is called: where it is missing,
 * PoCL 3 to 6 end the process or give no cause.
 *
 * Not here: its linker (opencl_linker.h), what PoCL reports of itself (opencl_device_info.c), and a
 * loader that queries PoCL by itself (opencl_loader.h). A compiler still ends the process if
 * another part of the program takes the memory, or another process the disk, in the middle of its
 * work.
 *
 * Owner: the instance keeps the folder. Threads: can_be_asked and can_start read the environment
 * and are init-only; the rest is thread-safe. */
#ifndef GANTRY_OPENCL_POCL_H
#define GANTRY_OPENCL_POCL_H

#include <gantry/backend_abi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GANTRY__POCL_PATH_BYTES 1024 /* PoCL's own limit */
#define GANTRY__POCL_REASON_BYTES 1024

/* Where PoCL keeps what it compiles. PoCL reads the environment once, so a program may change it
 * later. */
typedef struct gantry__pocl_folder_t {
    char path[GANTRY__POCL_PATH_BYTES];
    const char *chosen_by; /* a variable's name, or words */
} gantry__pocl_folder_t;

bool gantry__pocl_is(const char *platform_name);

/* Whether the query of its devices leaves the process alive: memory and threads, and a folder that
 * is named. If not, returns false with the reason. */
bool gantry__pocl_can_be_asked(char *reason, size_t reason_bytes);
/* Must be called before its devices are listed: a folder for what it compiles, which others may not
 * write, memory to compile in, a thread for each core. Returns false with the reason if one is
 * missing; *out_folder must then not be used. */
bool gantry__pocl_can_start(const gantry_host_t *host, gantry__pocl_folder_t *out_folder,
                            char *reason, size_t reason_bytes);
/* Whether memory is limited or the folder's disk is nearly full, so that compilations must not
 * share them. It takes a few calls of the system. */
bool gantry__pocl_is_tight(const gantry__pocl_folder_t *folder);
/* Must be called before a device is opened, which starts the compiler. Returns ResourceExhausted
 * with the reason. */
int32_t gantry__pocl_check_opening(const gantry_host_t *host);
/* Must be called before something is compiled, which for machine code is a kernel's first launch.
 * Returns FailedPrecondition for the folder, or if PoCL could not wait for its linker, and
 * ResourceExhausted for memory, with the reason. grown_bytes must be what earlier compilations
 * took, because later ones use it again. what: "launch of ...: ", or "". */
int32_t gantry__pocl_check_compiling(const gantry_host_t *host, const gantry__pocl_folder_t *folder,
                                     uint64_t grown_bytes, const char *what);

#endif
