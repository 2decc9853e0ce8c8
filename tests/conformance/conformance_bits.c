/* SPDX-License-Identifier: Apache-2.0 */
/* Bits of results in a file, so that another process, on another machine, compares its own.
 *
 * A line is the hash of all results of a case, a space, and the case as group/name. The hash is
 * made of golden_hash, which does not depend on the order of bytes in memory and takes all NaN as
 * one. Cases come in the same order in both runs, but for those that filters leave out. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conformance.h"

enum { HASH_DIGITS = 16, LONGEST_LINE = 256 };

typedef struct bits_line_t {
    uint64_t hash;
    char name[LONGEST_LINE];
} bits_line_t;

struct conformance_bits_t {
    FILE *file;         /* of --write-bits */
    bits_line_t *lines; /* of --compare-bits */
    size_t count, next; /* where the search begins */
};

static bool read_line(FILE *file, bits_line_t *out) {
    char text[LONGEST_LINE + HASH_DIGITS + 2];
    char *end;
    if (!fgets(text, sizeof text, file)) return false;
    out->hash = strtoull(text, &end, 16);
    const size_t length = strcspn(end, "\n");
    if (end != text + HASH_DIGITS || *end != ' ' || length >= LONGEST_LINE || end[length] == 0)
        return false;
    end[length] = 0;
    memcpy(out->name, end + 1, length);
    return true;
}

/* Whether the file has lines, and all of them are whole. */
static bool read_lines(conformance_bits_t *bits, FILE *file) {
    bits_line_t line;
    while (read_line(file, &line)) {
        if (bits->count % 1024 == 0) {
            bits_line_t *larger = realloc(bits->lines, (bits->count + 1024) * sizeof *larger);
            if (!larger) return false;
            bits->lines = larger;
        }
        bits->lines[bits->count++] = line;
    }
    return feof(file) && bits->count > 0;
}

int conformance_bits_open(conformance_t *c) {
    const bool writes = c->options.write_bits != NULL;
    const char *path = writes ? c->options.write_bits : c->options.compare_bits;
    if (!path) return 0;
    c->bits = calloc(1, sizeof *c->bits);
    FILE *file = fopen(path, writes ? "w" : "r");
    const char *why = !c->bits || !file ? strerror(errno) : NULL;
    if (!why && !writes && !read_lines(c->bits, file)) why = "it is no file of --write-bits";
    if (!why && writes)
        c->bits->file = file;
    else if (file)
        fclose(file);
    if (why) printf("FAIL bits in %s: %s\n", path, why);
    return why ? 1 : 0;
}

void conformance_bits_close(conformance_t *c) {
    if (!c->bits) return;
    if (c->bits->file && fclose(c->bits->file) != 0) printf("FAIL the bits cannot be written\n");
    free(c->bits->lines);
    free(c->bits);
    c->bits = NULL;
}

static uint64_t hash_of_all(const golden_tensor_t *outputs, size_t count) {
    uint64_t hash = count;
    for (size_t i = 0; i < count; ++i) {
        const golden_tensor_t *output = &outputs[i];
        const uint64_t odd = UINT64_C(0x9e3779b97f4a7c15);
        hash = hash * odd + (uint64_t)output->dtype;
        for (int32_t d = 0; d < output->shape.rank; ++d)
            hash = hash * odd + (uint64_t)output->shape.dims[d];
        hash = hash * odd + golden_hash(output->dtype, output->data, output->bytes, false);
    }
    return hash;
}

static const bits_line_t *find_line(conformance_bits_t *bits, const char *name) {
    for (size_t i = 0; i < bits->count; ++i) {
        const size_t at = (bits->next + i) % bits->count;
        if (strcmp(bits->lines[at].name, name) != 0) continue;
        bits->next = at + 1;
        return &bits->lines[at];
    }
    return NULL;
}

void conformance_check_bits(conformance_t *c, const golden_tensor_t *outputs, size_t count) {
    char name[LONGEST_LINE];
    snprintf(name, sizeof name, "%s/%s", c->row->group, c->case_name);
    const uint64_t hash = hash_of_all(outputs, count);
    if (c->bits->file) {
        const int length = fprintf(c->bits->file, "%016" PRIx64 " %s\n", hash, name);
        CHECK(c, length > 0, "the bits cannot be written: %s", strerror(errno));
        return;
    }
    const bits_line_t *line = find_line(c->bits, name);
    if (!line)
        conformance_fail(c, "%s has no such case", c->options.compare_bits);
    else if (line->hash != hash)
        conformance_fail(c, "the bits differ from those in %s", c->options.compare_bits);
}

bool conformance_only_bits(const conformance_t *c) {
    const conformance_options_t *o = &c->options;
    return o->compare || o->write_bits || o->compare_bits;
}
