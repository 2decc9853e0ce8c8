/* SPDX-License-Identifier: Apache-2.0 */
/* Writes .npz files as numpy.savez does: stored entries of 1980-01-01, so that equal tensors make
 * equal files. Numbers of more than 32 bits go to 64-bit fields, as late as possible, because old
 * readers do not know these. */
#include <stdlib.h>
#include <string.h>

#include "convert/convert.h"

#define LONG_FROM UINT64_C(0xffffffff)
#define FIRST_DATE 0x0021u /* 1980-01-01 */

typedef struct record_t {
    unsigned char bytes[128];
    size_t size;
} record_t;

typedef struct written_t {
    uint64_t offset, bytes;
    uint32_t crc;
} written_t;

typedef struct writer_t {
    convert_sink_fn sink;
    void *user;
    uint64_t at;
} writer_t;

static void convert_zip_write_put(record_t *record, uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) record->bytes[record->size++] = (unsigned char)(value >> 8 * i);
}

static bool put_out(writer_t *writer, const void *bytes, size_t size) {
    writer->at += size;
    return writer->sink(writer->user, bytes, size);
}

static uint64_t short_form(uint64_t value) { return value < LONG_FROM ? value : LONG_FROM; }

/* What local and central heads have in common, up to the lengths. */
static void convert_zip_write_put_head(record_t *record, const written_t *entry, bool is_long,
                                       size_t name_bytes, size_t extra_bytes) {
    convert_zip_write_put(record, is_long ? 45 : 20,
                          2); /* the version of the format that a reader must know */
    convert_zip_write_put(record, 0x0800, 2); /* names are UTF-8 */
    convert_zip_write_put(record, 0, 2);      /* stored */
    convert_zip_write_put(record, 0, 2);
    convert_zip_write_put(record, FIRST_DATE, 2);
    convert_zip_write_put(record, entry->crc, 4);
    convert_zip_write_put(record, short_form(entry->bytes), 4);
    convert_zip_write_put(record, short_form(entry->bytes), 4);
    convert_zip_write_put(record, name_bytes, 2);
    convert_zip_write_put(record, extra_bytes, 2);
}

static bool convert_zip_write_name(writer_t *writer, const char *name) {
    return put_out(writer, name, strlen(name)) && put_out(writer, ".npy", 4);
}

static bool write_entry(writer_t *writer, const convert_tensor_t *tensor, written_t *out) {
    char header[GANTRY_NPY_HEADER_BYTES];
    size_t header_bytes;
    record_t local = {.size = 0};
    if (gantry_format_npy_header(tensor->dtype, &tensor->shape, header, &header_bytes) != GANTRY_OK)
        return false;
    out->offset = writer->at;
    out->bytes = (uint64_t)header_bytes + tensor->bytes;
    out->crc = convert_crc32(convert_crc32(0, header, header_bytes), tensor->data, tensor->bytes);
    const bool is_long = out->bytes >= LONG_FROM;
    convert_zip_write_put(&local, 0x04034b50, 4);
    convert_zip_write_put_head(&local, out, is_long, strlen(tensor->name) + 4, is_long ? 20 : 0);
    if (!put_out(writer, local.bytes, local.size) || !convert_zip_write_name(writer, tensor->name))
        return false;
    local.size = 0;
    if (is_long) {
        convert_zip_write_put(&local, 1, 2);
        convert_zip_write_put(&local, 16, 2);
        convert_zip_write_put(&local, out->bytes, 8);
        convert_zip_write_put(&local, out->bytes, 8);
    }
    return put_out(writer, local.bytes, local.size) && put_out(writer, header, header_bytes) &&
           put_out(writer, tensor->data, tensor->bytes);
}

static bool write_central(writer_t *writer, const char *name, const written_t *entry) {
    record_t head = {.size = 0}, extra = {.size = 0};
    const bool has_long_size = entry->bytes >= LONG_FROM, is_far = entry->offset >= LONG_FROM;
    if (has_long_size || is_far) {
        convert_zip_write_put(&extra, 1, 2);
        convert_zip_write_put(&extra, (has_long_size ? 16u : 0u) + (is_far ? 8u : 0u), 2);
        if (has_long_size) convert_zip_write_put(&extra, entry->bytes, 8);
        if (has_long_size) convert_zip_write_put(&extra, entry->bytes, 8);
        if (is_far) convert_zip_write_put(&extra, entry->offset, 8);
    }
    convert_zip_write_put(&head, 0x02014b50, 4);
    convert_zip_write_put(&head, 0x032d,
                          2); /* made on Unix, whose attributes follow, by version 4.5 */
    convert_zip_write_put_head(&head, entry, extra.size > 0, strlen(name) + 4, extra.size);
    convert_zip_write_put(&head, 0, 2); /* comment, disk, attributes */
    convert_zip_write_put(&head, 0, 2);
    convert_zip_write_put(&head, 0, 2);
    convert_zip_write_put(&head, UINT64_C(0600) << 16, 4);
    convert_zip_write_put(&head, short_form(entry->offset), 4);
    return put_out(writer, head.bytes, head.size) && convert_zip_write_name(writer, name) &&
           put_out(writer, extra.bytes, extra.size);
}

static void put_end64(record_t *end, uint64_t count, uint64_t begin, uint64_t bytes) {
    convert_zip_write_put(end, 0x06064b50, 4);
    convert_zip_write_put(end, 44, 8);
    convert_zip_write_put(end, 45, 2);
    convert_zip_write_put(end, 45, 2);
    convert_zip_write_put(end, 0, 8); /* disks */
    convert_zip_write_put(end, count, 8);
    convert_zip_write_put(end, count, 8);
    convert_zip_write_put(end, bytes, 8);
    convert_zip_write_put(end, begin, 8);
    convert_zip_write_put(end, 0x07064b50, 4);
    convert_zip_write_put(end, 0, 4);
    convert_zip_write_put(end, begin + bytes, 8);
    convert_zip_write_put(end, 1, 4);
}

static bool write_end(writer_t *writer, uint64_t count, uint64_t begin) {
    record_t end = {.size = 0};
    const uint64_t bytes = writer->at - begin;
    const uint64_t shown = count < 0xffff ? count : 0xffff;
    if (count >= 0xffff || begin >= LONG_FROM || bytes >= LONG_FROM)
        put_end64(&end, count, begin, bytes);
    convert_zip_write_put(&end, 0x06054b50, 4);
    convert_zip_write_put(&end, 0, 4);
    convert_zip_write_put(&end, shown, 2);
    convert_zip_write_put(&end, shown, 2);
    convert_zip_write_put(&end, short_form(bytes), 4);
    convert_zip_write_put(&end, short_form(begin), 4);
    convert_zip_write_put(&end, 0, 2);
    return put_out(writer, end.bytes, end.size);
}

bool convert_zip_write(const convert_set_t *set, convert_sink_fn sink, void *user) {
    writer_t writer = {.sink = sink, .user = user};
    written_t *written = calloc(set->count + 1, sizeof *written);
    bool good = written != NULL;
    for (size_t i = 0; good && i < set->count; ++i)
        good = write_entry(&writer, &set->tensors[i], &written[i]);
    const uint64_t begin = writer.at;
    for (size_t i = 0; good && i < set->count; ++i)
        good = write_central(&writer, set->tensors[i].name, &written[i]);
    good = good && write_end(&writer, set->count, begin);
    free(written);
    return good;
}
