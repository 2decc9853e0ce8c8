/* SPDX-License-Identifier: Apache-2.0 */
/* Device names: the texts by which a user names a device, and how two names relate.
 *
 * Pure functions on text. They know no device table: the caller decides whether a name matches an
 * existing device, and which device an alias or a UUID prefix names. They allocate and own nothing;
 * every result is a plain value or goes to the caller's memory; an out_name may be one of the input
 * names. Thread-safe. */
#ifndef GANTRY_DEVICE_DEVICE_NAME_H
#define GANTRY_DEVICE_DEVICE_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gantry/status.h>

/* Sizes with terminator; longer words are refused. */
#define GANTRY__DEVICE_JOB_BYTES 64
#define GANTRY__DEVICE_TYPE_BYTES 64
#define GANTRY__DEVICE_BACKEND_BYTES 32
/* Room for any formatted name or reference. */
#define GANTRY__DEVICE_NAME_BYTES 256
/* Room for a UUID prefix or a PCI address as the user wrote it. */
#define GANTRY__DEVICE_ID_BYTES 96
/* Room for a normalised PCI address, dddddddd:bb:dd.f at most. */
#define GANTRY__PCI_BYTES 20

/* A name or a pattern: an unset field is a wildcard. In parsed names an index or a backend only
 * occurs with a type. A zero-filled struct is the empty name, which matches everything. */
typedef struct gantry__device_name_t {
    bool has_job;
    bool has_replica;
    bool has_task;
    bool has_type;
    bool has_index;
    bool has_backend;
    int32_t replica;
    int32_t task;
    int32_t index;
    char job[GANTRY__DEVICE_JOB_BYTES];
    /* "CPU", "GPU", ... upper case; other types as written */
    char type[GANTRY__DEVICE_TYPE_BYTES];
    char backend[GANTRY__DEVICE_BACKEND_BYTES]; /* the requested view of GPU:0@opencl */
} gantry__device_name_t;

typedef enum gantry__device_reference_kind_t {
    GANTRY__DEVICE_LOGICAL = 0, /* name: any fields, possibly none */
    /* name: type and index, backend if given; /physical_device:GPU:0 */
    GANTRY__DEVICE_PHYSICAL,
    GANTRY__DEVICE_BACKEND_ALIAS, /* name: backend, index if given, no type; opencl:1 */
    /* text: as written, without UUID: in front; for gantry__uuid_has_prefix */
    GANTRY__DEVICE_UUID_PREFIX,
    GANTRY__DEVICE_PCI_ADDRESS /* text: normalised, 0000:65:00.0 */
} gantry__device_reference_kind_t;

/* The device that a user's text refers to. For kinds other than LOGICAL only a scope merge sets the
 * fields job, replica and task of name; a caller that resolves the reference checks them like those
 * of a logical name. */
typedef struct gantry__device_reference_t {
    gantry__device_reference_kind_t kind;
    gantry__device_name_t name;
    char text[GANTRY__DEVICE_ID_BYTES];
} gantry__device_reference_t;

/* ---- Parsing. Errors are InvalidArgument:
 *     Malformed device specification 'X': <what> at column N; accepted: ...
 * Columns count bytes from 1. After a failure the result is empty. ---- */

/* Reads every text that a user may write for a device. backends: the names of all known backends,
 * usable or not (a letter, then letters, digits, _; NULL if count is 0); they decide which words
 * are aliases, in any case. The words of the grammar win over a backend of the same name: cpu:0 is
 * CPU:0. */
gantry_status_t gantry__device_reference_parse(const char *text, const char *const *backends,
                                               size_t backend_count,
                                               gantry__device_reference_t *out_reference);
/* The same without a message: false if text is NULL or malformed. */
bool gantry__device_reference_try(const char *text, const char *const *backends,
                                  size_t backend_count, gantry__device_reference_t *out_reference);

/* "GPU" for gpu, Gpu...; NULL for a word that is not a type by itself. */
const char *gantry__device_type_standard(const char *word);

/* ---- Printing. All return the length that the whole text has, as snprintf does; the text is cut
 * to fit. ---- */

/* Writes the canonical form: /job:localhost/replica:0/task:0/device:GPU:0; set fields only; a type
 * without index prints GPU:*. */
size_t gantry__device_name_format(const gantry__device_name_t *name, char *out_text,
                                  size_t text_bytes);
/* A text that gantry__device_reference_parse turns back into the same reference. */
size_t gantry__device_reference_format(const gantry__device_reference_t *reference, char *out_text,
                                       size_t text_bytes);

/* ---- Hardware identities. */

/* Accepts DOMAIN:BUS:DEVICE.FUNCTION and BUS:DEVICE.FUNCTION in hexadecimal, PCI: in front allowed;
 * writes lower case with at least 4, 2, 2 and 1 digits. False, and an empty text, if it is no such
 * address. */
bool gantry__pci_normalise(const char *text, char out_text[GANTRY__PCI_BYTES]);
/* Whether uuid begins with prefix. Ignores case, and GPU- or MIG- in front of either, except that
 * GPU- does not match MIG-. An empty prefix matches nothing. */
bool gantry__uuid_has_prefix(const char *uuid, const char *prefix);

/* ---- Relations. */

bool gantry__device_name_is_equal(const gantry__device_name_t *a, const gantry__device_name_t *b);
/* Compares two names: below, at or above zero. It goes field by field in canonical order; a missing
 * field comes first, numbers compare as numbers. */
int gantry__device_name_compare(const gantry__device_name_t *a, const gantry__device_name_t *b);

/* ---- Merging. A backend belongs to a type as an index does. */

/* Makes the union of a and b. A conflict is InvalidArgument "Cannot merge devices with incompatible
 * jobs: 'A' and 'B'" (replicas, tasks, types, ids, backends), and *out_name stays unchanged. soft:
 * a conflict of types drops type, index and backend; one of indices or backends drops that
 * field. */
gantry_status_t gantry__device_name_merge(const gantry__device_name_t *a,
                                          const gantry__device_name_t *b, bool soft,
                                          gantry__device_name_t *out_name);
/* a, with fields it lacks taken from b; an index or backend only from the same type. */
void gantry__device_name_merge_unset(const gantry__device_name_t *a, const gantry__device_name_t *b,
                                     gantry__device_name_t *out_name);
/* The name in nested scopes: inner over outer, field by field; a new type clears index and backend,
 * a wildcard clears nothing. */
void gantry__device_name_merge_scope(const gantry__device_name_t *outer,
                                     const gantry__device_name_t *inner,
                                     gantry__device_name_t *out_name);
/* The same for references. If one of the two is not a logical name, the inner device part replaces
 * the outer one as a whole; an inner name without a type keeps the outer device part. */
void gantry__device_reference_merge_scope(const gantry__device_reference_t *outer,
                                          const gantry__device_reference_t *inner,
                                          gantry__device_reference_t *out_reference);

#endif
