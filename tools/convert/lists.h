/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of integers that NumPy has pickled: numpy.array([[1, 5], [7]], object), which Keras's
 * reuters.npz and imdb.npz hold. A pickle is a program; here it is read as data, and nothing that
 * it names is called. Files are trusted in nothing. Owner: the caller has the lists. Threads:
 * thread-safe. */
#ifndef GANTRY_TOOLS_CONVERT_LISTS_H
#define GANTRY_TOOLS_CONVERT_LISTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CONVERT_LISTS_WHY_BYTES 256

/* Row i is values[splits[i]] to values[splits[i + 1]], as of a RaggedTensor. */
typedef struct convert_lists_t {
    int64_t *values; /* count */
    int64_t *splits; /* rows + 1 */
    size_t count, rows;
} convert_lists_t;

/* Whether an .npy file begins as NumPy writes a vector of objects; *out_rows is its length, and
 * *out_at where the pickle begins. front is the file or its beginning. */
bool convert_lists_find(const unsigned char *front, size_t front_bytes, uint64_t *out_rows,
                        size_t *out_at);
/* Reads the pickle. It returns false, with nothing to free, for one of anything else: `why` says
 * what it is. */
bool convert_lists_read(const unsigned char *pickle, size_t bytes, uint64_t rows,
                        convert_lists_t *out, char why[CONVERT_LISTS_WHY_BYTES]);
void convert_lists_deinit(convert_lists_t *self);

#endif
