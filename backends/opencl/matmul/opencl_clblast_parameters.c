/* SPDX-License-Identifier: Apache-2.0 */
/* Reads rows of parameters, checks them, and gives them to CLBlast
 * (opencl_clblast_parameters.h). */
#include "opencl/matmul/opencl_clblast_parameters.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver/driver_letters.h"
#include "driver/library_open.h"
#include "opencl/opencl_status.h"
#include "opencl/matmul/opencl_tuned.h"

#define LINE_BYTES 512
#define MOST_VALUE 65536

enum { XGEMM, GEMM_ROUTINE, KERNELS };

/* The places of parameters in Xgemm's list. */
enum {
    GEMMK,
    KREG,
    KWG,
    KWI,
    MDIMA,
    MDIMC,
    MWG,
    NDIMB,
    NDIMC,
    NWG,
    SA,
    SB,
    STRM,
    STRN,
    VWM,
    VWN,
    XGEMM_PARAMETERS
};

static const char *const xgemm_names[XGEMM_PARAMETERS] = {
    "GEMMK", "KREG", "KWG", "KWI", "MDIMA", "MDIMC", "MWG", "NDIMB",
    "NDIMC", "NWG",  "SA",  "SB",  "STRM",  "STRN",  "VWM", "VWN"};
static const char *const routine_names[] = {
    "XGEMM_MIN_INDIRECT_SIZE"}; /* another kernel serves below its third power */

static const struct {
    const char *name;
    const char *const *parameters;
    size_t count;
} kernels[KERNELS] = {{"Xgemm", xgemm_names, XGEMM_PARAMETERS}, {"GemmRoutine", routine_names, 1}};

static const char *const shipped[] = {
#define GANTRY__CLBLAST_ROW(text) text,
#include "opencl/matmul/opencl_clblast_rows.def"
#undef GANTRY__CLBLAST_ROW
};

/* ---- a row ---- */

size_t gantry__clblast_row_names(const gantry__clblast_row_t *row, const char **out_kernel,
                                 const char *const **out_names) {
    *out_kernel = kernels[row->kernel].name;
    *out_names = kernels[row->kernel].parameters;
    return kernels[row->kernel].count;
}

/* Reads one "NAME=VALUE"; set marks the names that were seen. */
static bool read_parameter(const char *word, gantry__clblast_row_t *row, unsigned *set,
                           char *reason, size_t reason_bytes) {
    const char *equals = strchr(word, '=');
    char *end = NULL;
    unsigned long value =
        equals && equals[1] >= '0' && equals[1] <= '9' ? strtoul(equals + 1, &end, 10) : 0;
    if (!end || *end != '\0' || value > MOST_VALUE) {
        (void)snprintf(reason, reason_bytes, "\"%.40s\" is not NAME=NUMBER with a number up to %d",
                       word, MOST_VALUE);
        return false;
    }
    for (size_t i = 0; i < kernels[row->kernel].count; ++i) {
        const char *name = kernels[row->kernel].parameters[i];
        if (strlen(name) == (size_t)(equals - word) && strncmp(name, word, strlen(name)) == 0) {
            if ((*set >> i & 1) != 0) {
                (void)snprintf(reason, reason_bytes, "%s stands there twice", name);
                return false;
            }
            row->values[i] = value;
            *set |= 1u << i;
            return true;
        }
    }
    (void)snprintf(reason, reason_bytes, "%s has no parameter \"%.*s\"", kernels[row->kernel].name,
                   (int)(equals - word), word);
    return false;
}

static bool divides(size_t part, size_t whole) {
    return part > 0 && whole > 0 && whole % part == 0;
}

/* Checks what CLBlast's kernel relies on, in the form that keeps both tiles in local memory or
 * registers (GEMMK 0). Returns NULL, or what is wrong. */
static const char *xgemm_fault(const size_t *v) {
    size_t items = v[MDIMC] * v[NDIMC];

    if (v[GEMMK] != 0 || v[KREG] != 1) return "only GEMMK=0 KREG=1 is accepted";
    if (v[SA] > 1 || v[SB] > 1 || v[STRM] > 1 || v[STRN] > 1)
        return "SA, SB, STRM and STRN are 0 or 1";
    if ((v[VWM] & (v[VWM] - 1)) != 0 || (v[VWN] & (v[VWN] - 1)) != 0 || v[VWM] > 8 || v[VWN] > 8)
        return "VWM and VWN are 1, 2, 4 or 8";
    if (!divides(v[MDIMC] * v[VWM], v[MWG]) || !divides(v[MDIMA] * v[VWM], v[MWG]))
        return "MWG is no multiple of MDIMC * VWM and of MDIMA * VWM";
    if (!divides(v[NDIMC] * v[VWN], v[NWG]) || !divides(v[NDIMB] * v[VWN], v[NWG]))
        return "NWG is no multiple of NDIMC * VWN and of NDIMB * VWN";
    if (!divides(v[MDIMA], items) || !divides(v[NDIMB], items))
        return "MDIMC * NDIMC is no multiple of MDIMA and of NDIMB";
    if (!divides(v[KWI], v[KWG]) || !divides(items / v[MDIMA], v[KWG]) ||
        !divides(items / v[NDIMB], v[KWG])) {
        return "KWG is no multiple of KWI, of MDIMC * NDIMC / MDIMA and of MDIMC * NDIMC / NDIMB";
    }
    return NULL;
}

static bool check_row(const gantry__clblast_row_t *row, unsigned set, char *reason,
                      size_t reason_bytes) {
    for (size_t i = 0; i < kernels[row->kernel].count; ++i) {
        if ((set >> i & 1) == 0) {
            (void)snprintf(reason, reason_bytes, "%s is missing",
                           kernels[row->kernel].parameters[i]);
            return false;
        }
    }
    const char *fault = NULL;
    fault = row->kernel == XGEMM ? xgemm_fault(row->values) : NULL;
    (void)snprintf(reason, reason_bytes, "%s", fault ? fault : "");
    return !fault;
}

/* Reads the four first words. */
static bool read_head(gantry__clblast_row_t *row, const char *vendor, const char *capability,
                      const char *type, const char *kernel, char *reason, size_t reason_bytes) {
    if (!kernel || strlen(vendor) >= sizeof row->vendor ||
        strlen(capability) >= sizeof row->capability) {
        (void)snprintf(reason, reason_bytes,
                       "a row begins with vendor, compute capability, type and kernel");
        return false;
    }
    (void)snprintf(row->vendor, sizeof row->vendor, "%s", vendor);
    (void)snprintf(row->capability, sizeof row->capability, "%s", capability);
    row->precision = strcmp(type, "float32") == 0 ? 32 : strcmp(type, "float64") == 0 ? 64 : 0;
    while (row->kernel < KERNELS && strcmp(kernels[row->kernel].name, kernel) != 0) row->kernel++;
    if (row->precision == 0 || row->kernel == KERNELS) {
        (void)snprintf(
            reason, reason_bytes,
            "\"%.20s %.20s\": the type is float32 or float64, the kernel Xgemm or GemmRoutine",
            type, kernel);
        return false;
    }
    return true;
}

/* Ends the next word of the rest, and moves the rest after it; NULL: there is none. */
static char *next_word(char **rest) {
    static const char blanks[] = " \t\r\n";
    char *word = *rest + strspn(*rest, blanks), *end = word + strcspn(word, blanks);
    *rest = *end ? end + 1 : end;
    *end = '\0';
    return *word ? word : NULL;
}

bool gantry__clblast_row_read(const char *line, gantry__clblast_row_t *out_row, char *reason,
                              size_t reason_bytes) {
    char *head[4];
    unsigned set = 0;
    memset(out_row, 0, sizeof *out_row);
    char text[LINE_BYTES];
    if (snprintf(text, sizeof text, "%s", line) >= (int)sizeof text) {
        (void)snprintf(reason, reason_bytes, "the line is longer than %d characters",
                       LINE_BYTES - 1);
        return false;
    }
    char *rest = text;
    for (int i = 0; i < 4; ++i) head[i] = next_word(&rest);
    if (!read_head(out_row, head[0], head[1], head[2], head[3], reason, reason_bytes)) return false;
    for (char *word; (word = next_word(&rest)) != NULL;) {
        if (!read_parameter(word, out_row, &set, reason, reason_bytes)) return false;
    }
    return check_row(out_row, set, reason, reason_bytes);
}

/* ---- a file ---- */

static int32_t opencl_clblast_parameters_read_line(const gantry_host_t *host, const char *path,
                                                   unsigned number, const char *line,
                                                   gantry__clblast_rows_t *rows) {
    char reason[160];
    if (line[strspn(line, " \t\r\n")] == '\0' || line[strspn(line, " \t")] == '#') return GANTRY_OK;
    if (rows->count == GANTRY__CLBLAST_MOST_ROWS) {
        (void)snprintf(reason, sizeof reason, "more than %d rows", GANTRY__CLBLAST_MOST_ROWS);
    } else if (gantry__clblast_row_read(line, &rows->rows[rows->count], reason, sizeof reason)) {
        ++rows->count;
        return GANTRY_OK;
    }
    return gantry__driver_fail(host, GANTRY_INVALID_ARGUMENT, 0,
                               "GANTRY_OPENCL_CLBLAST_PARAMETERS: %.200s, line %u: %s", path,
                               number, reason);
}

int32_t gantry__clblast_rows_open(const gantry_host_t *host, gantry__clblast_rows_t **out_rows) {
    const char *path = gantry__host_option(host, "GANTRY_OPENCL_CLBLAST_PARAMETERS");
    *out_rows = NULL;
    if (!path) return GANTRY_OK;
    FILE *file = gantry__library_text_open(path);
    if (!file && errno == EINVAL) {
        return gantry__driver_fail(host, GANTRY_INVALID_ARGUMENT, 0,
                                   "GANTRY_OPENCL_CLBLAST_PARAMETERS: %.200s is no plain file",
                                   path);
    }
    if (!file) {
        return gantry__driver_fail(host, GANTRY_INVALID_ARGUMENT, 0,
                                   "GANTRY_OPENCL_CLBLAST_PARAMETERS: %.200s cannot be opened: %s",
                                   path, strerror(errno));
    }
    *out_rows = gantry__driver_alloc(host, sizeof **out_rows);
    int32_t status = GANTRY_OK;
    status = *out_rows ? GANTRY_OK : GANTRY_RESOURCE_EXHAUSTED;
    char line[LINE_BYTES + 2];
    for (unsigned number = 1; status == GANTRY_OK && fgets(line, sizeof line, file); ++number) {
        status = opencl_clblast_parameters_read_line(host, path, number, line, *out_rows);
    }
    fclose(file);
    if (status != GANTRY_OK) {
        gantry__clblast_rows_close(host, *out_rows);
        *out_rows = NULL;
    }
    return status;
}

void gantry__clblast_rows_close(const gantry_host_t *host, gantry__clblast_rows_t *rows) {
    gantry__host_free(host, rows, sizeof *rows);
}

/* ---- a device ---- */

static bool is_for(const gantry__clblast_row_t *row, const gantry_device_info_t *info) {
    size_t length = strcspn(info->vendor, " ");
    const char *capability = info->compute_capability[0] != '\0' ? info->compute_capability : "-";
    return (strcmp(row->vendor, "*") == 0 ||
            (strlen(row->vendor) == length &&
             gantry__driver_same_letters(row->vendor, info->vendor, length))) &&
           (strcmp(row->capability, "*") == 0 || strcmp(row->capability, capability) == 0);
}

/* Reads the tuning file's record as a row. */
static bool find_tuned(const gantry__clblast_target_t *target, int kernel, int precision,
                       gantry__clblast_row_t *out_row) {
    static const char *const names[KERNELS] = {"xgemm", "gemm_routine"};
    gantry_tuning_t record;
    char what[48];
    char line[LINE_BYTES + 64];
    char reason[160];

    (void)snprintf(what, sizeof what, "clblast.%s.float%d", names[kernel], precision);
    if (!gantry__opencl_tuned(target->host, target->info, what, &record)) return false;
    (void)snprintf(line, sizeof line, "* * float%d %s %s", precision, kernels[kernel].name,
                   record.values);
    if (gantry__clblast_row_read(line, out_row, reason, sizeof reason)) return true;
    gantry__opencl_tuned_refuse(target->host, what, &record, reason);
    return false;
}

/* Finds the first row for it in the option's file, else what was tuned, else a shipped one. */
static bool opencl_clblast_parameters_find_row(const gantry__clblast_target_t *target, int kernel,
                                               int precision, gantry__clblast_row_t *out_row) {
    const gantry__clblast_rows_t *rows = target->rows;
    const gantry_device_info_t *info = target->info;
    char reason[160];
    for (uint32_t i = 0; rows && i < rows->count; ++i) {
        *out_row = rows->rows[i];
        if (out_row->kernel == kernel && out_row->precision == precision && is_for(out_row, info))
            return true;
    }
    if (find_tuned(target, kernel, precision, out_row)) return true;
    for (size_t i = 0; i < sizeof shipped / sizeof shipped[0]; ++i) {
        if (gantry__clblast_row_read(shipped[i], out_row, reason, sizeof reason) &&
            out_row->kernel == kernel && out_row->precision == precision && is_for(out_row, info)) {
            return true;
        }
    }
    return false;
}

static bool opencl_clblast_parameters_has_room(const gantry__clblast_row_t *row,
                                               const gantry_device_info_t *info) {
    const size_t *v = row->values;
    uint64_t bytes =
        (uint64_t)(v[SA] * v[MWG] + v[SB] * v[NWG]) * v[KWG] * (uint64_t)(row->precision / 8);
    return row->kernel != XGEMM ||
           (v[MDIMC] * v[NDIMC] <= info->max_work_group_size && bytes <= info->local_memory_bytes);
}

static void opencl_clblast_parameters_apply(const gantry__clblast_target_t *target,
                                            const gantry__clblast_row_t *row) {
    const gantry_device_info_t *info = target->info;
    const char *const *names;
    const char *kernel;
    size_t count = gantry__clblast_row_names(row, &kernel, &names);
    int native;

    if (!opencl_clblast_parameters_has_room(row, info)) {
        gantry__host_log(
            target->host, GANTRY_LEVEL_WARNING,
            "CLBlast's parameters for %s float%d on \"%.120s\" are left out: they take more work-items or local memory than a group has there (%u, %llu bytes)",
            kernel, row->precision, info->hardware_name, info->max_work_group_size,
            (unsigned long long)info->local_memory_bytes);
        return;
    }
    native = target->clblast->override_parameters(target->device, kernel, row->precision, count,
                                                  (const char **)(uintptr_t)names, row->values);
    gantry__host_log(target->host, native == 0 ? GANTRY_LEVEL_DEBUG : GANTRY_LEVEL_WARNING,
                     "CLBlast's parameters for %s float%d on \"%.120s\": %s (%d)", kernel,
                     row->precision, info->hardware_name,
                     native == 0 ? "set" : "refused by CLBlast", native);
}

void gantry__clblast_rows_apply(const gantry__clblast_target_t *target) {
    gantry__clblast_row_t row;
    for (int kernel = 0; kernel < KERNELS; ++kernel) {
        for (int precision = 32; precision <= 64; precision += 32) {
            if (opencl_clblast_parameters_find_row(target, kernel, precision, &row))
                opencl_clblast_parameters_apply(target, &row);
        }
    }
}
