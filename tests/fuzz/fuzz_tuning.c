/* SPDX-License-Identifier: Apache-2.0 */
/* libFuzzer entry for the tuning file's parser: clang -fsanitize=fuzzer,address,undefined. The
 * parser must reach the end of the text, and each record must lie within its line. */
#include <stdint.h>
#include <stdlib.h>

#include "base/tuning_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    const char *text = (const char *)bytes;
    char reason[GANTRY__TUNING_REASON_BYTES];
    gantry__tuning_line_t line;
    size_t at = 0;
    if (!gantry__tuning_head_read(text, size, &at, reason)) return 0;
    while (at < size) {
        size_t begin = at;
        gantry__tuning_kind_t kind = gantry__tuning_line_read(text, size, &at, &line, reason);
        if (at <= begin || at > size) abort();
        if (kind != GANTRY__TUNING_RECORD) continue;
        if (line.measured.bytes != text + begin ||
            line.values.bytes + line.values.length != text + at - 1)
            abort();
        if (gantry__tuning_fault(line.device, line.what, line.values)) abort();
    }
    return 0;
}
