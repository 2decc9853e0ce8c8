/* SPDX-License-Identifier: Apache-2.0 */
/* libFuzzer entry for the parser of safetensors: clang -fsanitize=fuzzer,address,undefined, with
 * src/shared/, train/checkpoint/checkpoint_memory.c, train/base/ and the library. The input is a
 * whole file. After a success every tensor is in the file, and writing the tensors again gives a
 * header that parses. */
#include <stdint.h>
#include <stdlib.h>

#include "shared/memory.h"
#include "train/checkpoint/checkpoint_memory.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void write_again(gantry__safetensors_t *header, uint64_t data_bytes) {
    char *front;
    size_t front_bytes, capacity;
    gantry__safetensors_t again;
    gantry__safetensors_lay_out(header->tensors, header->count);
    if (gantry__safetensors_write(&gantry__checkpoint_memory, header->tensors, header->count,
                                  header->texts, header->text_count, &front, &front_bytes,
                                  &capacity) != GANTRY_OK)
        abort();
    if (gantry__safetensors_parse(
            &gantry__checkpoint_memory, front + GANTRY__SAFETENSORS_LENGTH_BYTES,
            front_bytes - GANTRY__SAFETENSORS_LENGTH_BYTES, data_bytes, &again) != GANTRY_OK)
        abort();
    if (again.count != header->count || again.text_count != header->text_count) abort();
    gantry__safetensors_deinit(&again);
    gantry__free(front);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    const size_t front = GANTRY__SAFETENSORS_LENGTH_BYTES;
    uint64_t length;
    gantry__safetensors_t header;
    if (size < front || gantry__safetensors_length(bytes, size, &length) != GANTRY_OK) return 0;
    const uint64_t data_bytes = size - front - length;
    if (gantry__safetensors_parse(&gantry__checkpoint_memory, (const char *)bytes + front,
                                  (size_t)length, data_bytes, &header) == GANTRY_OK) {
        for (size_t i = 0; i < header.count; ++i) {
            const gantry__safetensors_tensor_t *tensor = &header.tensors[i];
            if (gantry__safetensors_find(&header, tensor->name) != tensor) abort();
            if (tensor->begin > tensor->end || tensor->end > data_bytes) abort();
        }
        write_again(&header, data_bytes);
    }
    gantry__safetensors_deinit(&header);
    return 0;
}
