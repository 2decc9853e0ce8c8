/* SPDX-License-Identifier: Apache-2.0 */
/* Tuned parameters for CLBlast: rows of a file named by GANTRY_OPENCL_CLBLAST_PARAMETERS, which
 * come first, then the tuning file's records, then rows that are part of Gantry.
 *
 * A row is a line of words: vendor, compute capability, type, CLBlast's kernel, its parameters in
 * any order. Comments begin with #.
 *
 *     NVIDIA 9.0 float32 Xgemm GEMMK=0 KREG=1 KWG=32 KWI=2 MDIMA=8 MDIMC=32 MWG=128 ...
 *     NVIDIA 9.0 float32 GemmRoutine XGEMM_MIN_INDIRECT_SIZE=448
 *
 * The vendor must be the first word of the device's, and the capability "-" for devices that have
 * none; "*" means any. CLBlast itself only checks names, and computes wrong results with sizes that
 * do not divide each other, so a row is checked here.
 *
 * Owner: the instance holds a file's rows. Threads: the file is read when the instance opens; the
 * rest is thread-safe. */
#ifndef GANTRY_OPENCL_CLBLAST_PARAMETERS_H
#define GANTRY_OPENCL_CLBLAST_PARAMETERS_H

#include <gantry/backend_abi.h>
#include <stdbool.h>

#include "opencl/matmul/opencl_clblast.h"

#define GANTRY__CLBLAST_MOST_PARAMETERS 16
#define GANTRY__CLBLAST_MOST_ROWS 64 /* rows of a file */

typedef struct gantry__clblast_row_t {
    char vendor[24];
    char capability[12];
    int precision; /* 32 or 64 bits */
    int kernel;    /* an index (gantry__clblast_row_names) */
    size_t values[GANTRY__CLBLAST_MOST_PARAMETERS];
} gantry__clblast_row_t;

typedef struct gantry__clblast_rows_t {
    uint32_t count;
    gantry__clblast_row_t rows[GANTRY__CLBLAST_MOST_ROWS];
} gantry__clblast_rows_t;

/* Reads a row. Returns false, with the reason, if CLBlast would not compute right with it. */
bool gantry__clblast_row_read(const char *line, gantry__clblast_row_t *out_row, char *reason,
                              size_t reason_bytes);
/* Writes the kernel's name and the names of its parameters, in the order of values; returns how
 * many there are. */
size_t gantry__clblast_row_names(const gantry__clblast_row_t *row, const char **out_kernel,
                                 const char *const **out_names);

/* Reads the file of the option; *out_rows is NULL without one. A line that is no row is
 * InvalidArgument, with file, line and reason. */
int32_t gantry__clblast_rows_open(const gantry_host_t *host, gantry__clblast_rows_t **out_rows);
void gantry__clblast_rows_close(const gantry_host_t *host, gantry__clblast_rows_t *rows);

/* A device that gets rows, which must have just been opened. */
typedef struct gantry__clblast_target_t {
    const gantry_host_t *host;
    const gantry__clblast_rows_t *rows; /* the rows of the option's file; NULL: none */
    const gantry__opencl_clblast_t *clblast;
    cl_device_id device;
    const gantry_device_info_t *info;
} gantry__clblast_target_t;

/* Gives CLBlast the rows that fit the device. Rows for which the device has no room are left out
 * with a warning. */
void gantry__clblast_rows_apply(const gantry__clblast_target_t *target);

#endif
