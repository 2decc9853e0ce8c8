/* SPDX-License-Identifier: Apache-2.0 */
/* Powers of integers, modulo 2^32 or 2^64, by squaring. It must come after dialect.cl. */
GANTRY_FN uint gantry__power_u32(uint x, uint y) {
    uint result = 1;

    for (; y != 0; y >>= 1) {
        result = y & 1 ? result * x : result;
        x *= x;
    }
    return result;
}

GANTRY_FN ulong gantry__power_u64(ulong x, ulong y) {
    ulong result = 1;

    for (; y != 0; y >>= 1) {
        result = y & 1 ? result * x : result;
        x *= x;
    }
    return result;
}
