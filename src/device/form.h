/* SPDX-License-Identifier: Apache-2.0 */
/* Forms: constants of functions as kernels want them, such as the packed panels of a filter, which
 * are made once and serve later calls.
 *
 * A form is found by the constant's bytes, the kernel, and a number of the kernel's own. So all
 * frames of all functions share it. It has a reference for each kernel call of a frame that uses
 * it, and ends with the last one; a frame that has one must hold the constant. Of the calls that
 * need a form at a time, one makes it; the others do without it.
 *
 * Forms take at most what they leave free: one that would leave less than half of the device's
 * limit is not made, so that they do not take the memory of what a program must have.
 *
 * Owner: the frames' calls; the device table's keepers have the list. Threads: thread-safe. Frames
 * end inside of allocations (device/keeper.h). */
#ifndef GANTRY_DEVICE_FORM_H
#define GANTRY_DEVICE_FORM_H

#include "device/buffer.h"

/* Equal keys are equal forms. It has no padding. */
typedef struct gantry__form_key_t {
    const gantry_logical_device_t *device;
    const void *kernel;
    gantry_span_t constant;
    uint64_t number, bytes;
} gantry__form_key_t;

typedef struct gantry__form_t {
    struct gantry__form_t *next; /* in the table's list, as references under its lock */
    uint32_t references;
    atomic_int state;
    gantry__form_key_t key;
    gantry__buffer_t *buffer;
} gantry__form_t;

/* The form of the key, with a reference for the caller; NULL: there is no room for it. owner:
 * constant text for reports. */
gantry__form_t *gantry__form_find(gantry_logical_device_t *device, const gantry__form_key_t *key,
                                  const char *owner);
/* Whether the caller may use the form. *out_makes: it must first write all of it, and must call
 * gantry__form_end. */
bool gantry__form_begin(gantry__form_t *form, bool *out_makes);
/* is_made: all of it was written; false: another call may try. */
void gantry__form_end(gantry__form_t *form, bool is_made);
/* Returns the bytes of device memory that came free. NULL is allowed. */
uint64_t gantry__form_release(gantry__form_t *form);

#endif
