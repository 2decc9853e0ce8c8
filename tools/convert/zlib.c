/* SPDX-License-Identifier: Apache-2.0 */
/* What .zip files need of zlib: CRC-32, and DEFLATE (RFC 1951). Owns nothing. Thread-safe.
 *
 * A build without zlib has the checksum only, so that stored entries are read and written. */
#include "convert/convert.h"

#ifdef GANTRY_TOOL_HAS_ZLIB
#define ZLIB_CONST
#include <zlib.h>

uint32_t convert_crc32(uint32_t crc, const void *bytes, size_t size) {
    return (uint32_t)crc32_z(crc, bytes, size);
}

bool convert_can_inflate(void) { return true; }

/* zlib counts the bytes of a call by 32 bits. */
static uInt piece_of(size_t size) { return size < UINT32_MAX ? (uInt)size : UINT32_MAX; }

size_t convert_inflate(const unsigned char *bytes, size_t size, unsigned char *out, size_t room,
                       bool *out_is_whole) {
    size_t taken = 0, made = 0;
    z_stream stream = {.next_in = bytes};
    int code = inflateInit2(&stream, -MAX_WBITS); /* negative: without zlib's own header */
    *out_is_whole = false;
    if (code != Z_OK) return 0;
    while (code == Z_OK) { /* a call that can do nothing any more returns Z_BUF_ERROR */
        const uInt given = piece_of(size - taken), free_bytes = piece_of(room - made);
        stream.next_in = bytes + taken;
        stream.avail_in = given;
        stream.next_out = out + made;
        stream.avail_out = free_bytes;
        code = inflate(&stream, Z_NO_FLUSH);
        taken += given - stream.avail_in;
        made += free_bytes - stream.avail_out;
    }
    (void)inflateEnd(&stream);
    *out_is_whole = code == Z_STREAM_END && made == room;
    return made;
}
#else
uint32_t convert_crc32(uint32_t crc, const void *bytes, size_t size) {
    const unsigned char *at = bytes;
    uint32_t table[256];
    for (uint32_t i = 0; i < 256; ++i) {
        table[i] = i;
        for (int bit = 0; bit < 8; ++bit)
            table[i] = table[i] >> 1 ^ (table[i] & 1 ? 0xedb88320u : 0);
    }
    crc = ~crc;
    for (size_t i = 0; i < size; ++i) crc = crc >> 8 ^ table[(crc ^ at[i]) & 0xff];
    return ~crc;
}

bool convert_can_inflate(void) { return false; }

size_t convert_inflate(const unsigned char *bytes, size_t size, unsigned char *out, size_t room,
                       bool *out_is_whole) {
    (void)bytes, (void)size, (void)out, (void)room;
    *out_is_whole = false;
    return 0;
}
#endif
