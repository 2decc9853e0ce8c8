/* SPDX-License-Identifier: Apache-2.0 */
/* What PoCL needs of the machine, looked at before PoCL is asked: where it is missing, PoCL 3 to 6 end the process or
 * tell no cause.
 *
 * Not here: what PoCL says of itself (opencl_device_info.c). A compiler that runs out of memory in the middle of its work still
 * ends the process. Owner: nothing is kept. Threads: thread-safe, as far as the environment is left alone. */
#ifndef GANTRY_OPENCL_POCL_H
#define GANTRY_OPENCL_POCL_H

#include <gantry/backend_abi.h>
#include <stddef.h>
#include <stdint.h>

#define GANTRY__POCL_REASON_BYTES 768

int gantry__pocl_is(const char *platform_name);

/* Before its devices are listed: a folder for what it compiles, memory to compile in, a thread for each core. 0 with the reason. */
int gantry__pocl_can_start(char *reason, size_t reason_bytes);
/* Whether its processor devices can link kernels. 0 with the reason. */
int gantry__pocl_can_link(char *reason, size_t reason_bytes);
/* Before something is compiled, which for machine code is a kernel's first launch: the folder, FailedPrecondition, and memory,
 * ResourceExhausted, with the reason. OK for other platforms. */
int32_t gantry__pocl_check_compiling(const gantry_host_t *host, const char *platform_name);

/* ---- parts, for tests ---- */

/* Where PoCL keeps what it compiles, and what chose it: a variable's name, or words. 0 where it is no path, with the reason. */
int gantry__pocl_folder(char *out_path, size_t path_bytes, const char **out_chosen_by, char *reason,
                        size_t reason_bytes);
/* Makes the folder, as PoCL does, and a file in it. 0 with the reason. */
int gantry__pocl_check_folder(char *reason, size_t reason_bytes);

#endif
