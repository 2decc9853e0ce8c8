/* SPDX-License-Identifier: Apache-2.0 */
/* Who holds what: a snapshot of an allocator's books that outlives them, and its two written forms.
 *
 * A snapshot is one flat value without pointers: texts are copied, because tags and chunks may end.
 * Taking one allocates nothing, so that it can be taken under the allocator's lock at the moment
 * when memory runs out. It takes no lock, and knows no tensors or devices.
 *
 * Owner: the caller owns the snapshot. Threads: externally synchronised; whoever takes a snapshot
 * must hold the allocator's lock. */
#ifndef GANTRY_MEMORY_MEMORY_REPORT_H
#define GANTRY_MEMORY_MEMORY_REPORT_H

#include "base/text.h"
#include "memory/bfc.h"

#define GANTRY__REPORT_RUNGS 12
#define GANTRY__REPORT_NAMES 256 /* the last one counts all that have no place of their own */
#define GANTRY__REPORT_SIZES 256 /* likewise */
#define GANTRY__REPORT_OWNERS 16
#define GANTRY__REPORT_REGIONS 64
#define GANTRY__REPORT_CHUNKS 1024
#define GANTRY__REPORT_MAP 100
#define GANTRY__REPORT_OP_BYTES 48
#define GANTRY__REPORT_TAG_BYTES 80

/* A step that was tried before memory was refused. */
typedef enum gantry__rung_kind_t {
    GANTRY__RUNG_REUSE, /* bytes: the largest free chunk */
    /* bytes: first length requested from the driver, 0 if the limit left no room; count: how often
     * it refused; other: room under the limit */
    GANTRY__RUNG_EXTEND,
    GANTRY__RUNG_WAIT,      /* bytes: nanoseconds; count: how often memory came free meanwhile */
    GANTRY__RUNG_GIVE_BACK, /* bytes and count: regions; other: bytes of idle staging */
    GANTRY__RUNG_TAKE_KEPT, /* bytes: of chunks that no call used */
} gantry__rung_kind_t;

typedef struct gantry__rung_t {
    gantry__rung_kind_t kind;
    uint64_t bytes, count, other;
} gantry__rung_t;

/* Counts of the ladder's outcomes since the allocator began. */
typedef struct gantry__ladder_counts_t {
    uint64_t extended, waited, collected, out_of_memory;
} gantry__ladder_counts_t;

/* Chunks in use of one (op, tag). */
typedef struct gantry__report_name_t {
    char op[GANTRY__REPORT_OP_BYTES];   /* "" when unknown */
    char tag[GANTRY__REPORT_TAG_BYTES]; /* "" when none */
    uint64_t chunks, bytes, requested_bytes;
} gantry__report_name_t;

/* Chunks in use of one size. */
typedef struct gantry__report_size_t {
    uint64_t bytes, chunks; /* bytes 0: all sizes without a place together, see total */
    uint64_t total_bytes;
} gantry__report_size_t;

typedef struct gantry__report_region_t {
    uint64_t number, bytes, bytes_in_use, largest_free_bytes, chunks;
} gantry__report_region_t;

typedef struct gantry__report_chunk_t {
    uint64_t offset, bytes, requested_bytes;
    uint32_t region; /* position among regions; may exceed those kept */
    uint16_t name;   /* the position in names, while in use */
    bool in_use;
} gantry__report_chunk_t;

typedef struct gantry__memory_report_t {
    char allocator[64];
    /* the reason of the snapshot */
    bool out_of_memory;
    uint64_t asked_bytes, rounded_bytes;
    char op[GANTRY__REPORT_OP_BYTES];
    char tag[GANTRY__REPORT_TAG_BYTES];
    gantry__rung_t rungs[GANTRY__REPORT_RUNGS];
    uint32_t rung_count;
    char driver_text[192]; /* the driver's last refusal; "" */
    /* the books */
    gantry__bfc_stats_t stats;
    gantry__ladder_counts_t counts;
    uint64_t available_bytes; /* room under the limit */
    uint64_t next_region_bytes;
    uint64_t free_chunks, chunks_in_use;
    /* (free - largest free chunk) / free in ten-thousandths; 0 when nothing is free */
    uint32_t fragmentation;
    gantry__bfc_bin_summary_t bins[GANTRY__BFC_BINS];
    gantry__report_name_t names[GANTRY__REPORT_NAMES];
    uint16_t owners[GANTRY__REPORT_OWNERS]; /* positions in names, the most bytes first */
    uint32_t name_count, owner_count;
    gantry__report_size_t sizes[GANTRY__REPORT_SIZES]; /* sorted by size */
    uint32_t size_count;
    /* the first ones of stats.region_count */
    gantry__report_region_t regions[GANTRY__REPORT_REGIONS];
    /* the first ones of free_chunks + chunks_in_use */
    gantry__report_chunk_t chunks[GANTRY__REPORT_CHUNKS];
    uint32_t regions_kept, chunks_kept;
    /* '*' in use, 'x' partly, '_' free; "" when there is no memory */
    char map[GANTRY__REPORT_MAP + 1];
} gantry__memory_report_t;

/* Fills everything except the reason and the counts, which are cleared. Cost: one walk over the
 * chunks. */
void gantry__memory_report_take(gantry__memory_report_t *report, const gantry__bfc_t *bfc,
                                const char *allocator);

/* Copies as much as fits, never half a character. */
void gantry__report_copy_text(char *out, size_t out_bytes, const char *text);

void gantry__memory_report_write_text(const gantry__memory_report_t *report, gantry__text_t *out);
void gantry__memory_report_write_json(const gantry__memory_report_t *report, gantry__text_t *out);

#endif
