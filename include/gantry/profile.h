/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * Where the time goes: counts and nanoseconds of every op, step by step.
 *
 * A profile is off until gantry_profile_start, the option profile or GANTRY_PROFILE starts it.
 * While it is off, an op checks one flag. While it is on, an op reads the clock about ten times,
 * 10 to 25 ns each, and the profile includes that time: the smallest ops show up to three times
 * their time.
 *
 * Each moment of a call belongs to one row and one step of it, so that rows and steps add up. A
 * row is an op on a device. A composed op has a row for its own work; each of its parts has a row
 * under its own name, with part_of set. The sum of these rows is the cost of the composed op. The
 * calls "(read)", "(wait)", "(synchronize)" and "(scope)", which begins and ends scopes, have rows
 * of their own.
 *
 * Gantry does not wait for asynchronous devices (GPUs): the time of their kernels shows as wait_ns
 * where a call waits, and kernel_ns is 0. GANTRY_PROFILE_WAIT waits after every op, so that
 * kernel_ns is the time from the end of the submission to the end of the work; the program is then
 * slower, as nothing overlaps. On the CPU backend kernel_ns is the kernel's time in either mode.
 *
 * docs/profile.md says how to read a profile. The library prints nothing: gantry_profile_format
 * makes a text. Thread-safe: calls of all threads are added up. */
#ifndef GANTRY_PROFILE_H
#define GANTRY_PROFILE_H

#include <gantry/memory.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Clears the profile and records from now on. mode is GANTRY_PROFILE_ON or GANTRY_PROFILE_WAIT;
 * others are InvalidArgument. */
GANTRY_API gantry_status_t gantry_profile_start(gantry_runtime_t *runtime,
                                                gantry_profile_mode_t mode);
/** Stops recording and keeps the rows. Calls in progress still count. FailedPrecondition when
 * the profile is off. */
GANTRY_API gantry_status_t gantry_profile_stop(gantry_runtime_t *runtime);

/** A row of the profile: an op, or a call, on a device. Times are in nanoseconds. */
typedef struct gantry_profile_row_t {
    uint32_t struct_size; /**< Its sizeof. */
    /** The op or the call: "MatMul", "(read)"; "" in the sum of all rows. */
    char op[48];
    /** The composed op that the program called, if this row is a part of it; else "". */
    char part_of[48];
    /** "/device:GPU:0"; "" if none was chosen: composed ops, refused ones, the sum. */
    char device[80];
    uint64_t calls; /**< Calls, including failed ones. */
    /** Kernels submitted to the device. A call of a vendor's library, or a kernel of the CPU
     * backend, counts as one per op. */
    uint64_t launches;
    /** Bytes copied to a device, from a device and between devices. */
    uint64_t bytes_moved;
    /** Bytes of inputs and results of the kernels. Divided by kernel_ns it is the memory
     * bandwidth. */
    uint64_t argument_bytes;
    /** Allocations of device memory: results, copies of inputs, workspaces. Tensors up to 64
     * bytes on the CPU need none. */
    uint64_t allocations;
    uint64_t allocated_bytes; /**< Bytes of these allocations. */
    /** Regions taken from the driver for them. The pool served the other allocations. */
    uint64_t driver_allocations;
    uint64_t total_ns;      /**< The sum of the times below, up to wait_ns. */
    uint64_t scope_ns;      /**< Checks, inference, records, and everything that is not below. */
    uint64_t placement_ns;  /**< Choosing the device and the kernel. */
    uint64_t copy_ns;       /**< Gathering inputs, and submitting copies to and from devices. */
    uint64_t allocation_ns; /**< Allocating memory. */
    uint64_t program_ns;    /**< Finding kernels; building programs on first use. */
    uint64_t launch_ns;     /**< Passing arguments and submitting, on asynchronous devices. */
    uint64_t kernel_ns;     /**< Running kernels; the head of this file says when it is 0. */
    uint64_t wait_ns;       /**< Waiting for devices. */
    /** Only in the sum, the time from the start to the stop, or to now; else 0. The difference to
     * total_ns is the program's own time. */
    uint64_t elapsed_ns;
} gantry_profile_row_t;

/** The index of the sum of all rows. */
#define GANTRY_PROFILE_TOTAL ((size_t)-1)

/** The number of rows so far; 0 when nothing was ever recorded. Rows are in the order of their
 * first use, and keep their index until the next start. */
GANTRY_API size_t gantry_profile_row_count(gantry_runtime_t *runtime);
/** Reads a row, or the sum (GANTRY_PROFILE_TOTAL). out_row->struct_size must be set.
 * FailedPrecondition when no profile was ever started; OutOfRange names the count. */
GANTRY_API gantry_status_t gantry_profile_read(gantry_runtime_t *runtime, size_t index,
                                               gantry_profile_row_t *out_row);

/** Formats all rows: as a table in milliseconds, the longest first with parts below their
 * composed op, or as JSON with the fields of gantry_profile_row_t. Writes up to out_bytes
 * including the terminator; *out_needed (may be NULL) is the length without it.
 * FailedPrecondition when no profile was ever started. */
GANTRY_API gantry_status_t gantry_profile_format(gantry_runtime_t *runtime,
                                                 gantry_report_format_t format, char *out,
                                                 size_t out_bytes, size_t *out_needed);

/* ---- timeline ---- */

/** Writes a timeline to a file from now on, for Chrome, Perfetto and `gantry trace`: calls of ops
 * and functions with the reason for their device, the work of each device's streams, copies, and
 * memory in use, on the clock CLOCK_MONOTONIC. "%p" in path is the process's number. The file's
 * former content is lost. docs/profile.md says what each event means and costs.
 *
 * The status is that of opening the file. A later failure, such as a full disk, ends the timeline
 * with a warning in the log; the file keeps what was written, and gantry_trace_stop returns the
 * failure. InvalidArgument: path is NULL, empty, too long, or no plain file. FailedPrecondition: a
 * timeline is being written already, or another runtime writes this file.
 *
 * No other thread runs an op during this call, during the first op after it on each device, or
 * during gantry_trace_stop: streams of OpenCL are replaced by ones with times. */
GANTRY_API gantry_status_t gantry_trace_start(gantry_runtime_t *runtime, const char *path);
/** Waits for the recorded work of all devices, writes it, and closes the file.
 * gantry_runtime_release does the same. FailedPrecondition: no timeline is being written. */
GANTRY_API gantry_status_t gantry_trace_stop(gantry_runtime_t *runtime);
/** Adds work of the program's own to the timeline, as a slice of the calling thread: the step of a
 * program, or the op of a framework on top, around the ops of Gantry that it calls. detail, which
 * may be NULL, is shown with the name. begin_ns and end_ns are times of CLOCK_MONOTONIC.
 *
 * Does nothing while no timeline is written. InvalidArgument: name is NULL, or the end is before
 * the beginning. Thread-safe. */
GANTRY_API gantry_status_t gantry_trace_add(gantry_runtime_t *runtime, const char *name,
                                            const char *detail, uint64_t begin_ns, uint64_t end_ns);

#ifdef __cplusplus
}
#endif
#endif
