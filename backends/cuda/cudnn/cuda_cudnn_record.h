/* SPDX-License-Identifier: Apache-2.0 */
/* How a form is computed, as text: records of the tuning file, and lines of the log, which have the
 * form of a record.
 *
 *     cudnn.convolve.e0c2f3a46f0d5c11
 *     form=convolve:float32:nhwc:8x56x56x64:3x3x64x32:p0.0.1.1:s2x2:d1x1:bias:relu
 *     engine=44 knobs=2:7,12:0 version=91900 capability=90
 *
 * The name has a hash of the form, because names are short. A record with use=N instead of an
 * engine takes the library's own choice after N others: so the tuner compares them.
 *
 * Owner: plain values and texts of the caller. Threads: thread-safe. */
#ifndef GANTRY_CUDA_CUDNN_RECORD_H
#define GANTRY_CUDA_CUDNN_RECORD_H

#include "cuda/cudnn/cuda_cudnn_choose.h"

#define GANTRY__CUDNN_NAME_BYTES 64
#define GANTRY__CUDNN_FORM_BYTES 200
#define GANTRY__CUDNN_VALUES_BYTES 512
#define GANTRY__CUDNN_MOST_USED 64 /* use= is below this */

/* The library and the card for which a record holds. */
typedef struct gantry__cudnn_machine_t {
    int64_t version;    /* of cuDNN: 91900 */
    int64_t capability; /* of the card: 90 */
} gantry__cudnn_machine_t;

/* What a record says: a recipe, or how many choices to pass over. */
typedef struct gantry__cudnn_record_t {
    gantry__cudnn_recipe_t recipe;
    int32_t passed_over;
} gantry__cudnn_record_t;

/* Writes the form, and the name of its records. False: it has no record, because sums may have
 * another order in each run, or there is no memory for a workspace, or the text is too long. */
bool gantry__cudnn_record_name(const gantry__cudnn_form_t *form,
                               char out_form[GANTRY__CUDNN_FORM_BYTES],
                               char out_name[GANTRY__CUDNN_NAME_BYTES]);
/* Writes the values of a record; false: the recipe has no engine, or the text is too long. */
bool gantry__cudnn_record_write(const char *form, const gantry__cudnn_recipe_t *recipe,
                                gantry__cudnn_machine_t machine,
                                char out_values[GANTRY__CUDNN_VALUES_BYTES]);
/* Reads values that anyone may have written. Returns NULL, or what is wrong with them. */
const char *gantry__cudnn_record_read(const char *values, const char *form,
                                      gantry__cudnn_machine_t machine, gantry__cudnn_record_t *out);

#endif
