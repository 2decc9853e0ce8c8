/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: The parser of safetensors headers takes what the format allows, refuses every damage
 * with its place, and survives changed bytes and failing allocations. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gantry/gantry.h>

#include "test.h"
#include "train/checkpoint/checkpoint_memory.h"
#include "train_heap.h"

typedef struct header_row_t {
    const char *header;
    uint64_t data_bytes;
    gantry_status_t status;
    const char *message; /* a part of it */
} header_row_t;

#define W(dtype, shape, offsets) \
    "{\"w\":{\"dtype\":\"" dtype "\",\"shape\":" shape ",\"data_offsets\":" offsets "}}"
#define NAMED(name, offsets) \
    "\"" name "\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":" offsets "}"

static const header_row_t header_rows[] = {
    /* accepted */
    {"{}", 0, GANTRY_OK, NULL},
    {"{ }  \n\t\r", 0, GANTRY_OK, NULL},
    {"{\"__metadata__\":{}}", 0, GANTRY_OK, NULL},
    {"{\"__metadata__\" : { \"a\" : \"b\" , \"c\":\"\\u00e9\\ud83d\\ude00\\n\" } }", 0, GANTRY_OK,
     NULL},
    {W("F32", "[2,3]", "[0,24]"), 24, GANTRY_OK, NULL},
    {W("F64", "[]", "[0,8]"), 8, GANTRY_OK, NULL},
    {W("F64", "[0]", "[0,0]"), 0, GANTRY_OK, NULL},
    {W("BOOL", "[1,1,1,1,1,1,1,1]", "[0,1]"), 1, GANTRY_OK, NULL},
    {W("F8_E5M2", "[3]", "[0,3]"), 3, GANTRY_OK, NULL},
    {"{\"w\":{\"data_offsets\":[0,2],\"shape\":[1],\"dtype\":\"BF16\"}}", 2, GANTRY_OK, NULL},
    {"{\"w\":{\"\\u0064type\":\"U8\",\"\\u0073hape\":[2],\"data_\\u006fffsets\":[0,2]}}", 2,
     GANTRY_OK, NULL},
    {"{" NAMED("b", "[4,8]") "," NAMED("a", "[0,4]") "}", 8, GANTRY_OK, NULL},
    /* no file of this format */
    {"", 0, GANTRY_INVALID_ARGUMENT, "does not begin with '{'"},
    {" {}", 0, GANTRY_INVALID_ARGUMENT, "does not begin with '{'"},
    {"[]", 0, GANTRY_INVALID_ARGUMENT, "does not begin with '{'"},
    /* no JSON of this kind */
    {"{", 0, GANTRY_DATA_LOSS, "the header ends at byte 1; the name of a tensor is expected"},
    {"{}x", 0, GANTRY_DATA_LOSS, "has 'x' at byte 2; nothing more is expected"},
    {"{}{}", 0, GANTRY_DATA_LOSS, "nothing more"},
    {"{,}", 0, GANTRY_DATA_LOSS, "the name of a tensor"},
    {"{\"a\"}", 0, GANTRY_DATA_LOSS, "':' is expected"},
    {"{\"a\":1}", 0, GANTRY_DATA_LOSS, "has '1}' at byte 5; '{' is expected"},
    {"{\"a\":{}}", 0, GANTRY_DATA_LOSS, "tensor 'a' has no dtype"},
    {"{" NAMED("a", "[0,4]") ",}", 4, GANTRY_DATA_LOSS, "the name of a tensor"},
    {"{" NAMED("a", "[0,4]") NAMED("b", "[4,8]") "}", 8, GANTRY_DATA_LOSS, "',' or '}'"},
    {"{\"w\":{\"dtype\":\"F32\",\"shape\":[1]}}", 4, GANTRY_DATA_LOSS, "has no data_offsets"},
    {"{\"w\":{\"dtype\":\"F32\",\"data_offsets\":[0,4]}}", 4, GANTRY_DATA_LOSS, "has no shape"},
    {"{\"w\":{\"dtype\":\"F32\",\"dtype\":\"F32\"}}", 4, GANTRY_DATA_LOSS, "a second key 'dtype'"},
    {"{\"w\":{\"dtype\":\"F32\",\"\\u0064type\":\"F32\"}}", 4, GANTRY_DATA_LOSS,
     "a second key 'dtype'"},
    {"{\"w\":{\"strides\":[1]}}", 4, GANTRY_DATA_LOSS, "an unknown key 'strides'"},
    {W("F32", "[1,]", "[0,4]"), 4, GANTRY_DATA_LOSS, "a whole number below 2^63"},
    {W("F32", "[01]", "[0,4]"), 4, GANTRY_DATA_LOSS, "a whole number below 2^63"},
    {W("F32", "[-1]", "[0,4]"), 4, GANTRY_DATA_LOSS, "has '-1],"},
    {W("F32", "[1.0]", "[0,4]"), 4, GANTRY_DATA_LOSS, "has '1.0],"},
    {W("F32", "[1e0]", "[0,4]"), 4, GANTRY_DATA_LOSS, "has '1e0],"},
    {W("F32", "[\"1\"]", "[0,4]"), 4, GANTRY_DATA_LOSS, "a whole number"},
    {W("F32", "1", "[0,4]"), 4, GANTRY_DATA_LOSS, "'[' is expected"},
    {W("F32", "[1", "[0,4]"), 4, GANTRY_DATA_LOSS, "a whole number"},
    {W("F32", "[9223372036854775808]", "[0,4]"), 4, GANTRY_DATA_LOSS, "a whole number below 2^63"},
    {W("F32", "[99999999999999999999999]", "[0,4]"), 4, GANTRY_DATA_LOSS, "below 2^63"},
    {W("F32", "[1]", "[0]"), 4, GANTRY_DATA_LOSS, "','"},
    {W("F32", "[1]", "[0,4,8]"), 4, GANTRY_DATA_LOSS, "']'"},
    {W("F32", "[1]", "[]"), 4, GANTRY_DATA_LOSS, "a whole number"},
    {W("F32", "[1]", "null"), 4, GANTRY_DATA_LOSS, "'['"},
    /* strings */
    {"{\"a", 0, GANTRY_DATA_LOSS, "'\"' is expected"},
    {"{\"\\x\":{}}", 0, GANTRY_DATA_LOSS, "a character of a string"},
    {"{\"\\u12\":{}}", 0, GANTRY_DATA_LOSS, "a character of a string"},
    {"{\"\\u0000\":{}}", 0, GANTRY_DATA_LOSS, "a character of a string"},
    {"{\"\\ud800\":{}}", 0, GANTRY_DATA_LOSS, "a character of a string"},
    {"{\"\\ud800\\u0041\":{}}", 0, GANTRY_DATA_LOSS, "a character of a string"},
    {"{\"\\udc00\":{}}", 0, GANTRY_DATA_LOSS, "a character of a string"},
    {"{\"\n\":{}}", 0, GANTRY_DATA_LOSS, "a character of a string"},
    {"{\"\xff\":{}}", 0, GANTRY_DATA_LOSS, "has '?\":{}}' at byte 2"},
    {"{\"\xc0\x80\":{}}", 0, GANTRY_DATA_LOSS, "a character of a string"},
    {"{\"\xe0\x80\x80\":{}}", 0, GANTRY_DATA_LOSS, "a character of a string"},
    {"{\"\xed\xa0\x80\":{}}", 0, GANTRY_DATA_LOSS, "a character of a string"},
    {"{\"\xf4\x90\x80\x80\":{}}", 0, GANTRY_DATA_LOSS, "a character of a string"},
    {"{\"\xe2\x82", 0, GANTRY_DATA_LOSS, "a character of a string"},
    {"{\"\\", 0, GANTRY_DATA_LOSS, "a character of a string"},
    /* texts */
    {"{\"__metadata__\":{\"a\":1}}", 0, GANTRY_DATA_LOSS, "a text is expected"},
    {"{\"__metadata__\":{\"a\":\"b\",\"a\":\"c\"}}", 0, GANTRY_DATA_LOSS,
     "two texts have the key 'a'"},
    {"{\"__metadata__\":{},\"__metadata__\":{}}", 0, GANTRY_DATA_LOSS, "two keys '__metadata__'"},
    /* types, shapes and offsets */
    {W("F8_E8M0", "[1]", "[0,1]"), 1, GANTRY_OK, NULL}, /* who asks for it is refused */
    {W("f32", "[1]", "[0,4]"), 4, GANTRY_OK, NULL},
    {W("F32", "[1,1,1,1,1,1,1,1,1]", "[0,4]"), 4, GANTRY_OK, NULL},
    {W("F32", "[2]", "[0,4]"), 4, GANTRY_DATA_LOSS,
     "the data_offsets of tensor 'w' are 0 and 4; offsets that differ by the size of F32 [2]"},
    {W("F32", "[1]", "[4,0]"), 4, GANTRY_DATA_LOSS, "are 4 and 0"},
    {W("F32", "[4294967296,4294967296]", "[0,0]"), 0, GANTRY_DATA_LOSS, "size of F32"},
    {W("F64", "[2305843009213693952]", "[0,0]"), 0, GANTRY_DATA_LOSS, "size of F64"},
    {W("F32", "[1]", "[0,4]"), 3, GANTRY_DATA_LOSS,
     "tensor 'w' ends at byte 4 of the data, which has 3 bytes: the file is truncated"},
    {W("F32", "[1]", "[0,4]"), 5, GANTRY_DATA_LOSS, "1 bytes follow the last tensor"},
    {W("F32", "[1]", "[4,8]"), 8, GANTRY_DATA_LOSS, "no tensor has the bytes from 0 on"},
    {W("F32", "[1]", "[9223372036854775800,9223372036854775804]"), 4, GANTRY_DATA_LOSS,
     "ends at byte 9223372036854775804"},
    {"{}", 1, GANTRY_DATA_LOSS, "1 bytes follow"},
    {"{" NAMED("a", "[0,4]") "," NAMED("b", "[2,6]") "}", 6, GANTRY_DATA_LOSS,
     "tensor 'b' begins at byte 2 of the data, inside of another one, which ends at 4"},
    {"{" NAMED("a", "[0,4]") "," NAMED("b", "[0,4]") "}", 4, GANTRY_DATA_LOSS, "inside of another"},
    {"{" NAMED("a", "[0,4]") "," NAMED("b", "[5,9]") "}", 9, GANTRY_DATA_LOSS,
     "no tensor has the bytes from 4 on"},
    {"{" NAMED("a", "[0,4]") "," NAMED("a", "[4,8]") "}", 8, GANTRY_DATA_LOSS,
     "two tensors have the name 'a'"},
    {"{" NAMED("a", "[0,4]") "," NAMED("\\u0061", "[4,8]") "}", 8, GANTRY_DATA_LOSS,
     "two tensors have the name 'a'"},
};

/* Parses a block of exactly the header's size, so that the sanitizer sees a read past its end. */
static gantry_status_t parse_exact(const void *header, size_t size, uint64_t data_bytes) {
    char *block = malloc(size ? size : 1);
    assert_non_null(block);
    memcpy(block, header, size);
    gantry__safetensors_t parsed;
    const gantry_status_t status =
        gantry__safetensors_parse(&gantry__checkpoint_memory, block, size, data_bytes, &parsed);
    memset(block, 'x', size ? size : 1); /* the result has copies */
    for (size_t i = 0; status == GANTRY_OK && i < parsed.count; ++i) {
        const gantry__safetensors_tensor_t *tensor = &parsed.tensors[i];
        assert_ptr_equal(gantry__safetensors_find(&parsed, tensor->name), tensor);
        assert_true(tensor->begin <= tensor->end && tensor->end <= data_bytes);
        if (tensor->dtype == GANTRY_DTYPE_NONE) continue; /* of a type that is none of Gantry's */
        assert_true((uint64_t)gantry_shape_elements(&tensor->shape) *
                        gantry_dtype_size(tensor->dtype) ==
                    tensor->end - tensor->begin);
    }
    gantry__safetensors_deinit(&parsed);
    free(block);
    return status;
}

TEST(headers_are_accepted_or_refused_with_a_reason) {
    for (size_t i = 0; i < sizeof header_rows / sizeof header_rows[0]; ++i) {
        const header_row_t *row = &header_rows[i];
        (void)gantry_fail(GANTRY_INTERNAL, "");
        const gantry_status_t status =
            parse_exact(row->header, strlen(row->header), row->data_bytes);
        if (status != row->status)
            fail_msg("row %zu, %s: %s, '%s'", i, row->header, gantry_status_name(status),
                     gantry_last_message());
        if (row->message && !strstr(gantry_last_message(), row->message))
            fail_msg("row %zu, %s: '%s' lacks '%s'", i, row->header, gantry_last_message(),
                     row->message);
    }
}

TEST(every_beginning_of_a_header_is_refused) {
    static const char header[] = "{\"__metadata__\":{\"k\\u00e9\":\"v\\n\"}," NAMED(
        "\xe2\x82\xac", "[0,4]") "," NAMED("\\ud83d\\ude00", "[4,8]") "}  ";
    const size_t size = strlen(header), end = size - 2;
    assert_int_equal(parse_exact(header, size, 8), GANTRY_OK);
    for (size_t i = 0; i < end; ++i) assert_true(parse_exact(header, i, 8) != GANTRY_OK);
    for (size_t i = end; i <= size; ++i) assert_int_equal(parse_exact(header, i, 8), GANTRY_OK);
}

/* Every byte becomes every other: the parser ends with a status. */
TEST(changed_bytes_do_no_harm) {
    static const char header[] =
        "{\"__metadata__\":{\"k\":\"\\u00e9\"}," NAMED("a", "[0,4]") "," NAMED("b", "[4,8]") "}";
    const size_t size = strlen(header);
    int accepted = 0;
    for (size_t i = 0; i < size; ++i) {
        for (int byte = 0; byte < 256; ++byte) {
            char changed[sizeof header];
            memcpy(changed, header, sizeof header);
            changed[i] = (char)byte;
            accepted += parse_exact(changed, size, 8) == GANTRY_OK;
        }
    }
    assert_true(accepted > (int)size); /* names and texts may change */
    assert_true(accepted < 100 * (int)size);
}

TEST(lengths_are_checked_before_memory_is_taken) {
    uint64_t length;
    const unsigned char huge[8] = {0, 0, 0, 0, 0, 0, 0, 0x80}, hundred[8] = {100},
                        limit[8] = {0x01, 0xe1, 0xf5, 0x05};
    assert_int_equal(gantry__safetensors_length(huge, 1000, &length), GANTRY_INVALID_ARGUMENT);
    assert_non_null(strstr(gantry_last_message(), "a length of 9223372036854775808 bytes"));
    assert_int_equal(gantry__safetensors_length(limit, UINT64_C(1) << 40, &length),
                     GANTRY_INVALID_ARGUMENT);
    assert_non_null(strstr(gantry_last_message(), "at most 100000000 bytes"));
    assert_int_equal(gantry__safetensors_length(hundred, 107, &length), GANTRY_DATA_LOSS);
    assert_non_null(strstr(gantry_last_message(), "has 100 bytes, but only 99 follow"));
    assert_int_equal(gantry__safetensors_length(hundred, 108, &length), GANTRY_OK);
    assert_int_equal(length, 100);
}

TEST(failing_allocations_of_the_parser_leave_nothing) {
    char header[2048] = "{\"__metadata__\":{\"k\":\"v\"}";
    for (int i = 0; i < 20; ++i) {
        const size_t used = strlen(header);
        (void)snprintf(header + used, sizeof header - used,
                       ",\"t%d\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[%d,%d]}", i, i,
                       i + 1);
    }
    (void)snprintf(header + strlen(header), 2, "}");
    long fail_at = 0;
    for (;; ++fail_at) {
        train_heap_reset(fail_at);
        const gantry_status_t status = parse_exact(header, strlen(header), 20);
        assert_int_equal(train_heap_live(), 0);
        if (status == GANTRY_OK) break;
        assert_int_equal(status, GANTRY_RESOURCE_EXHAUSTED);
    }
    train_heap_reset(-1);
    assert_true(fail_at >= 4);
}

int main(void) { return test_main(); }
