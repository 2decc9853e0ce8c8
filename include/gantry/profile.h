/* SPDX-License-Identifier: Apache-2.0 */
/* Where the time goes: counts and nanoseconds of every op, step by step, recorded while asked for.
 *
 * Off unless started, by gantry_profile_start, the option profile or GANTRY_PROFILE. While it is
 * off an op pays for one look at a flag. While it is on, an op reads the clock about ten times,
 * some 25 ns each, which is part of what it shows: the smallest ops show two to three times their
 * time.
 *
 * Each moment of a call belongs to one row and one step of it, so rows and steps may be added up. A
 * row is an op on a device: a composed op has a row for what it does itself, and each of its parts
 * one under the part's own name with part_of set; what the op costs in all is the sum of these.
 * Beside ops there are rows for the calls "(read)", "(wait)", "(synchronize)" and "(scope)", which
 * begins and ends scopes.
 *
 * Devices that work on while the program does (GPUs) are not waited for: the time of their kernels
 * shows where somebody waits, as wait_ns, and kernel_ns is 0. GANTRY_PROFILE_WAIT waits after every
 * op, so that kernel_ns is the time from the end of the submission to the end of the work; the
 * program as a whole is then slower, as nothing overlaps. On the CPU backend kernel_ns is the
 * kernel's time in either mode.
 *
 * docs/profile.md tells how to read it. The library prints nothing: gantry_profile_format makes
 * a text. Thread-safe: calls of all threads are added up. */
#ifndef GANTRY_PROFILE_H
#define GANTRY_PROFILE_H

#include <gantry/memory.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Forgets what was recorded and records from now on. mode: GANTRY_PROFILE_ON or
 * GANTRY_PROFILE_WAIT. InvalidArgument for others. */
GANTRY_API gantry_status_t gantry_profile_start(gantry_runtime_t *runtime,
                                                gantry_profile_mode_t mode);
/* Records no more and keeps what there is; calls that are under way still count.
 * FailedPrecondition when it is off. */
GANTRY_API gantry_status_t gantry_profile_stop(gantry_runtime_t *runtime);

typedef struct gantry_profile_row_t {
    uint32_t struct_size;
    char op[48]; /* "" in the sum of all rows */
    /* the composed op that the program called, when this row is of its parts; else "" */
    char part_of[48];
    /* "/device:GPU:0"; "" where none was chosen: composed ops, refused ones, the sum */
    char device[80];
    uint64_t calls; /* failed ones included */
    /* kernels given to the device; what a vendor's library or the CPU backend computes counts as
     * one for each op */
    uint64_t launches;
    uint64_t bytes_moved; /* from the program to a device, back, and between devices */
    /* inputs and results of the kernels that ran: over kernel_ns it is the rate of memory */
    uint64_t argument_bytes;
    /* of device memory: results, copies of inputs, workspaces. Tensors up to 64 bytes on the CPU
     * need none */
    uint64_t allocations;
    uint64_t allocated_bytes;
    /* regions taken from the driver for them; the other allocations were served by the pool */
    uint64_t driver_allocations;
    /* nanoseconds */
    uint64_t total_ns; /* the sum of those below */
    uint64_t scope_ns; /* checks, inference, records, and all that is nothing below */
    uint64_t placement_ns;
    uint64_t copy_ns; /* inputs gathered, and copies submitted, to and from devices */
    uint64_t allocation_ns;
    uint64_t program_ns; /* kernels looked up; programs built on first use */
    uint64_t launch_ns;  /* on devices that are not waited for: arguments and submission */
    uint64_t kernel_ns;  /* see above */
    uint64_t wait_ns;    /* for work of devices */
    /* of the sum only: from the start to the stop, or to now; else 0. More than total_ns by what
     * the program did */
    uint64_t elapsed_ns;
} gantry_profile_row_t;

/* Asks for the sum of all rows. */
#define GANTRY_PROFILE_TOTAL ((size_t)-1)

/* Rows so far, in the order of their first use; 0 when nothing was ever recorded. A row stays
 * where it is until the next start. */
GANTRY_API size_t gantry_profile_row_count(gantry_runtime_t *runtime);
/* out_row->struct_size must be set. FailedPrecondition when nothing was ever started; OutOfRange
 * names the count. */
GANTRY_API gantry_status_t gantry_profile_read(gantry_runtime_t *runtime, size_t index,
                                               gantry_profile_row_t *out_row);

/* All rows: as a table in milliseconds, what took longest first and parts of composed ops below
 * them, or as JSON with the fields of gantry_profile_row_t. Writes up to out_bytes with a
 * terminator; *out_needed (may be NULL) is the length without one. FailedPrecondition when
 * nothing was ever started. */
GANTRY_API gantry_status_t gantry_profile_format(gantry_runtime_t *runtime,
                                                 gantry_report_format_t format, char *out,
                                                 size_t out_bytes, size_t *out_needed);

#ifdef __cplusplus
}
#endif
#endif
