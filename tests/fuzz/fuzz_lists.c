/* SPDX-License-Identifier: Apache-2.0 */
/* libFuzzer entry for the reader of pickled lists: clang -fsanitize=fuzzer,address,undefined, with
 * tools/convert/lists.c. The input is a pickle after a byte, the number of rows. After a success
 * the splits are ascending and end with the number of values, and there are no more values than
 * bytes. */
#include <stdint.h>
#include <stdlib.h>

#include "convert/lists.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    char why[CONVERT_LISTS_WHY_BYTES];
    convert_lists_t lists;
    if (size == 0 || !convert_lists_read(bytes + 1, size - 1, bytes[0], &lists, why)) return 0;
    if (lists.rows != bytes[0] || lists.count > size) abort();
    if (lists.splits[0] != 0 || lists.splits[lists.rows] != (int64_t)lists.count) abort();
    for (size_t i = 0; i < lists.rows; ++i)
        if (lists.splits[i] > lists.splits[i + 1]) abort();
    convert_lists_deinit(&lists);
    return 0;
}
