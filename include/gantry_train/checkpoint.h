/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * Checkpoints: named tensors and texts in one file of the format safetensors, which other programs
 * read and write, too.
 *
 *     gantry_checkpoint_entry_t entries[] = {{.name = "dense/kernel", .variable = kernel}};
 *     gantry_checkpoint_text_t epoch = {"epoch", "3"};
 *     gantry_checkpoint_save(scope, "model.safetensors", entries, 1, &epoch, 1);
 *
 * A file is 8 bytes with the length of the header, little-endian, the header in JSON, and the
 * elements of all tensors. A checkpoint is trusted in nothing: gantry_checkpoint_open checks the
 * whole header, and the memory it takes is bounded by the header's length.
 *
 * Owner: the caller that opened a checkpoint must release it. Reading from one is thread-safe. A
 * path is UTF-8. */
#ifndef GANTRY_TRAIN_CHECKPOINT_H
#define GANTRY_TRAIN_CHECKPOINT_H

#include <gantry/variable.h>
#include <gantry_train/dataset.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A checkpoint that is open for reading. The caller that opened it releases it. */
typedef struct gantry_checkpoint_t gantry_checkpoint_t;

/** A named value: exactly one of variable, tensor and array.data, or an array without elements. The
 * struct does not grow. */
typedef struct gantry_checkpoint_entry_t {
    /** Its name, UTF-8, not empty and unique; "__metadata__" is the format's own. */
    const char *name;
    gantry_variable_t *variable;   /**< A variable, or NULL. */
    const gantry_tensor_t *tensor; /**< A tensor, or NULL. */
    gantry_array_t array;          /**< An array in host memory, if both above are NULL. */
} gantry_checkpoint_entry_t;

/** A text of a checkpoint. The struct does not grow. */
typedef struct gantry_checkpoint_text_t {
    const char *key;   /**< Its name, UTF-8 and unique. */
    const char *value; /**< The text, UTF-8. */
} gantry_checkpoint_text_t;

/** Saves values and texts to a file.
 *
 * The file is written under a temporary name in the folder of path, flushed to the disk, and then
 * renamed: after a failure, a crash or a power cut, path is the old file or the new one, whole. A
 * failure removes the temporary file; what a crash left, the next save to path removes. The values
 * are those at the time of the call. scope reads variables and tensors and keeps a failure; it may
 * be NULL if all entries are arrays.
 *
 * InvalidArgument: names and texts as above, a path that is no plain file. ResourceExhausted: the
 * disk is full. Unimplemented: the machine is big-endian. */
GANTRY_API gantry_status_t gantry_checkpoint_save(gantry_scope_t *scope, const char *path,
                                                  const gantry_checkpoint_entry_t *entries,
                                                  size_t entry_count,
                                                  const gantry_checkpoint_text_t *texts,
                                                  size_t text_count);

/** Opens a checkpoint and checks its header. *out_checkpoint is NULL after a failure.
 *
 * NotFound; InvalidArgument: no plain file, no safetensors file, or a header of more than 100 MB;
 * DataLoss: a damaged header, elements that are missing, overlap or belong to no tensor. A Git LFS
 * pointer, a site's error message and files of other formats are named as such. A tensor of a type
 * or a rank that Gantry does not have, such as F8_E4M3, has its name in the list; only what asks
 * for it is Unimplemented. */
GANTRY_API gantry_status_t gantry_checkpoint_open(const char *path,
                                                  gantry_checkpoint_t **out_checkpoint);
/** Closes a checkpoint; NULL does no harm. */
GANTRY_API void gantry_checkpoint_release(gantry_checkpoint_t *checkpoint);

/** The number of tensors. */
GANTRY_API size_t gantry_checkpoint_count(const gantry_checkpoint_t *checkpoint);
/** The name of the tensor with this index, in the order of names; NULL beyond the last. The
 * checkpoint owns the text. */
GANTRY_API const char *gantry_checkpoint_name(const gantry_checkpoint_t *checkpoint, size_t index);
/** The type and shape of a tensor. NotFound lists some of the names; Unimplemented names a type or
 * a rank that Gantry does not have. */
GANTRY_API gantry_status_t gantry_checkpoint_find(const gantry_checkpoint_t *checkpoint,
                                                  const char *name, gantry_dtype_t *out_dtype,
                                                  gantry_shape_t *out_shape);
/** The text with this key, or NULL. The checkpoint owns it. */
GANTRY_API const char *gantry_checkpoint_text(const gantry_checkpoint_t *checkpoint,
                                              const char *key);
/** The key of the text with this index, in the order of keys; NULL beyond the last. */
GANTRY_API const char *gantry_checkpoint_key(const gantry_checkpoint_t *checkpoint, size_t index);

/** Reads a tensor's elements into host memory. dtype and shape are the expected ones: others are
 * InvalidArgument, and the message names both. out_bytes must be the tensor's size. */
GANTRY_API gantry_status_t gantry_checkpoint_read(const gantry_checkpoint_t *checkpoint,
                                                  const char *name, gantry_dtype_t dtype,
                                                  const gantry_shape_t *shape, void *out,
                                                  size_t out_bytes);
/** Loads a tensor onto the scope's device. NULL after a failure, which the scope keeps. A device
 * gets the elements in blocks of 4 MiB, so that the host never holds all of them. */
GANTRY_API const gantry_tensor_t *gantry_checkpoint_load(gantry_scope_t *scope,
                                                         const gantry_checkpoint_t *checkpoint,
                                                         const char *name);
/** The same without a copy where the scope's device is a CPU device: the tensor is over a mapping
 * of the file, by gantry_map_elements (gantry/io.h), which says what the file must be until the
 * tensor's last use. A variable that it is assigned to has its value there until the next
 * assignment. The checkpoint may be released. gantry_checkpoint_save aligns tensors for this. */
GANTRY_API const gantry_tensor_t *gantry_checkpoint_map(gantry_scope_t *scope,
                                                        const gantry_checkpoint_t *checkpoint,
                                                        const char *name);
/** Assigns a checkpoint's tensors to variables: to all, or to none after a failure. Each entry must
 * name a tensor and a variable of its type and shape. All tensors are loaded before the first is
 * assigned, so that for a moment the variables need twice their memory. Returns the scope's
 * status. */
GANTRY_API gantry_status_t gantry_checkpoint_restore(gantry_scope_t *scope,
                                                     const gantry_checkpoint_t *checkpoint,
                                                     const gantry_checkpoint_entry_t *entries,
                                                     size_t entry_count);

#ifdef __cplusplus
}
#endif
#endif
