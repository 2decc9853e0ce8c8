/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the block sizes of a record (opencl_cpu_blocks.h). */
#include "opencl/processor/opencl_cpu_blocks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "opencl/matmul/opencl_tuned.h"

#define SIZES 4

static const struct {
    const char *name;
    size_t at;
    int64_t fewest;
    int64_t most;
} sizes[SIZES] = {
    {"depth", offsetof(gantry__opencl_cpu_blocks_t, depth), 16, 4096},
    {"rows", offsetof(gantry__opencl_cpu_blocks_t, rows), 4, 1024},
    {"columns", offsetof(gantry__opencl_cpu_blocks_t, columns), 16, 16384},
    {"direct", offsetof(gantry__opencl_cpu_blocks_t, direct), 0, 1024},
};

/* Reads one "depth=512". Returns NULL, or what is wrong with it. */
static const char *opencl_cpu_blocks_read_size(const char *word,
                                               gantry__opencl_cpu_blocks_t *blocks,
                                               unsigned *seen) {
    size_t name = strcspn(word, "= ");
    char *end = NULL;
    unsigned long value = word[name] == '=' && word[name + 1] >= '0' && word[name + 1] <= '9'
                              ? strtoul(word + name + 1, &end, 10)
                              : 0;
    if (!end || (*end != '\0' && *end != ' ')) return "a word is not NAME=NUMBER";
    for (unsigned i = 0; i < SIZES; ++i) {
        int64_t size = value <= INT32_MAX ? (int64_t)value : -1;
        if (strlen(sizes[i].name) != name || strncmp(sizes[i].name, word, name) != 0) continue;
        if (size < sizes[i].fewest || size > sizes[i].most || (*seen >> i & 1) != 0)
            return "a size is out of its bounds (depth 16 to 4096, rows 4 to 1024, columns 16 to 16384, direct 0 to 1024), or stands there twice";
        *seen |= 1u << i;
        memcpy((char *)blocks + sizes[i].at, &size, sizeof size);
        return NULL;
    }
    return "a name is none of depth, rows, columns and direct";
}

bool gantry__opencl_cpu_blocks_read(const char *values, gantry__opencl_cpu_blocks_t *out,
                                    char *reason, size_t reason_bytes) {
    gantry__opencl_cpu_blocks_t blocks = *out;
    unsigned seen = 0;
    const char *fault = NULL;
    while (!fault && *values != '\0') {
        fault = opencl_cpu_blocks_read_size(values, &blocks, &seen);
        values += strcspn(values, " ");
        values += strspn(values, " ");
    }
    if (!fault && seen != (1u << SIZES) - 1)
        fault = "one of depth, rows, columns and direct is missing";
    if (fault) {
        (void)snprintf(reason, reason_bytes, "%s", fault);
        return false;
    }
    *out = blocks;
    return true;
}

gantry__opencl_cpu_blocks_t gantry__opencl_cpu_blocks_find(const gantry_host_t *host,
                                                           const gantry_device_info_t *info,
                                                           int32_t dtype) {
    const char *what =
        dtype == GANTRY_FLOAT64 ? "opencl.cpu_matmul.float64" : "opencl.cpu_matmul.float32";
    gantry__opencl_cpu_blocks_t blocks = GANTRY__OPENCL_CPU_BLOCKS;
    gantry_tuning_t record;
    char reason[192];
    if (gantry__opencl_tuned(host, info, what, &record) &&
        !gantry__opencl_cpu_blocks_read(record.values, &blocks, reason, sizeof reason)) {
        gantry__opencl_tuned_refuse(host, what, &record, reason);
    }
    return blocks;
}
