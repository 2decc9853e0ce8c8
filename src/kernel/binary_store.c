/* SPDX-License-Identifier: Apache-2.0 */
/* File layout: a header of 48 bytes, the label, then the binary.
 *
 *   byte 0    "GANTRYK2"
 *   byte 8    size of the binary
 *   byte 16   checksum of the binary, seeded with that of the label
 *   byte 24   the key (16 bytes)
 *   byte 40   size of the label
 *
 * The key covers program text, options, device, driver and backend (see program_cache.c), so that a
 * file never matches anything else. The label says the same in words, for `gantry cache`
 * (tools/gantry/gantry_cache_files.c reads files, too): backend, hardware, driver and program, each
 * ended by a line feed. */
#include "kernel/binary_store.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/files.h"
#include "base/new_file.h"
#include "base/text.h"
#include "base/user_folder.h"

#define STORE_MAGIC "GANTRYK2"
#define STORE_LABEL_BYTES 1024
#define STORE_LARGEST ((size_t)256 << 20)

typedef struct header_t {
    char magic[8];
    uint64_t size;
    uint64_t checksum;
    gantry__hash128_t key;
    uint64_t label_size;
} header_t;

_Static_assert(sizeof(header_t) == 48, "the header is written as it is");

static void warn_of_folder(const gantry__binary_store_t *store) {
    gantry__log(
        store->log, GANTRY_LEVEL_WARNING,
        "Program binaries are not kept: %s; GANTRY_KERNEL_CACHE names another folder, or \"\" none",
        gantry__message());
}

gantry_status_t gantry__binary_store_init(gantry__binary_store_t *store, const gantry__heap_t *heap,
                                          const gantry__log_t *log, gantry__settings_t *settings,
                                          const char *option) {
    *store = (gantry__binary_store_t){.heap = heap, .log = log};
    const char *wanted =
        option ? option : gantry__settings_get(settings, "GANTRY_KERNEL_CACHE", NULL);
    if (wanted && !*wanted) return GANTRY_OK;
    store->is_named = wanted != NULL;
    store->folder =
        wanted ? gantry__heap_strdup(heap, wanted) : gantry__user_folder(heap, settings, "kernels");
    return GANTRY_OK;
}

void gantry__binary_store_deinit(gantry__binary_store_t *store) {
    gantry__heap_free_text(store->heap, store->folder);
    store->folder = NULL;
}

bool gantry__binary_store_open(gantry__binary_store_t *store) {
    if (!store->folder) return false;
    int opened = atomic_load(&store->opened);
    if (opened == 0) {
        const uint32_t before = gantry__failures();
        opened = gantry__directory_make(store->folder) == GANTRY_OK ? 1 : -1;
        if (opened < 0 && !atomic_exchange(&store->has_warned, true)) warn_of_folder(store);
        gantry__forget_since(before);
        atomic_store(&store->opened, opened);
    }
    return opened > 0;
}

static bool format_path(const gantry__binary_store_t *store, gantry__hash128_t key,
                        gantry__text_t *text) {
    gantry__text_init(text, store->heap);
    gantry__text_append(text, "%s/%016" PRIx64 "%016" PRIx64 ".bin", store->folder, key.high,
                        key.low);
    return !text->failed;
}

static uint64_t checksum_of(const void *label, size_t label_size, const void *bytes, size_t size) {
    return gantry__hash64(bytes, size, gantry__hash64(label, label_size, 0));
}

/* size: of the label and the binary. */
static bool is_good(const header_t *header, gantry__hash128_t key, const unsigned char *label,
                    size_t size) {
    if (memcmp(header->magic, STORE_MAGIC, sizeof header->magic) != 0 ||
        memcmp(&header->key, &key, sizeof key) != 0 || header->label_size >= size ||
        header->size != size - header->label_size)
        return false;
    size_t label_size = (size_t)header->label_size;
    return header->checksum ==
           checksum_of(label, label_size, label + label_size, (size_t)header->size);
}

/* Cuts the payload out of the file's bytes; releases *file in any case. */
static gantry__store_answer_t unpack(const gantry__binary_store_t *store, gantry__hash128_t key,
                                     void *file, size_t file_size, void **out_bytes,
                                     size_t *out_size) {
    gantry__store_answer_t answer = GANTRY__STORE_BAD;
    header_t header;
    if (file_size > sizeof header) {
        memcpy(&header, file, sizeof header);
        const unsigned char *label = (const unsigned char *)file + sizeof header;
        if (is_good(&header, key, label, file_size - sizeof header)) {
            size_t size = (size_t)header.size;
            *out_bytes = gantry__heap_alloc(store->heap, size);
            answer = *out_bytes ? GANTRY__STORE_HIT : GANTRY__STORE_MISS;
            if (*out_bytes) memcpy(*out_bytes, label + header.label_size, size);
            *out_size = size;
        }
    }
    gantry__heap_free(store->heap, file, file_size);
    return answer;
}

gantry__store_answer_t gantry__binary_store_get(const gantry__binary_store_t *store,
                                                gantry__hash128_t key, void **out_bytes,
                                                size_t *out_size) {
    *out_bytes = NULL;
    if (!store->folder) return GANTRY__STORE_MISS;
    gantry__text_t path;
    void *file = NULL;
    size_t file_size = 0;
    gantry_status_t status = GANTRY_RESOURCE_EXHAUSTED;
    if (format_path(store, key, &path))
        status = gantry__file_read(store->heap, gantry__text_get(&path), STORE_LARGEST, &file,
                                   &file_size);
    gantry__store_answer_t answer = GANTRY__STORE_MISS;
    if (status == GANTRY_OK) {
        answer = unpack(store, key, file, file_size, out_bytes, out_size);
        if (answer == GANTRY__STORE_BAD) {
            gantry__log(store->log, GANTRY_LEVEL_WARNING,
                        "Program binary %s is damaged or foreign; it is built again",
                        gantry__text_get(&path));
        }
    }
    gantry__text_deinit(&path);
    return answer;
}

void gantry__binary_store_put(gantry__binary_store_t *store, gantry__hash128_t key,
                              const gantry__store_label_t *label, const void *bytes, size_t size) {
    if (!store->folder) return;
    char text[STORE_LABEL_BYTES];
    (void)snprintf(text, sizeof text, "%.63s\n%.255s\n%.255s\n%.255s\n", label->backend,
                   label->hardware, label->driver, label->program);
    size_t length = strlen(text);
    header_t header = {.size = size,
                       .checksum = checksum_of(text, length, bytes, size),
                       .key = key,
                       .label_size = length};
    memcpy(header.magic, STORE_MAGIC, sizeof header.magic);
    const gantry__file_piece_t pieces[] = {{&header, sizeof header}, {text, length}, {bytes, size}};
    gantry__text_t path;
    gantry_status_t status = GANTRY_RESOURCE_EXHAUSTED;
    if (format_path(store, key, &path))
        status = gantry__file_write(gantry__text_get(&path), pieces, 3, 0);
    if (status != GANTRY_OK && !atomic_exchange(&store->has_warned, true)) warn_of_folder(store);
    gantry__text_deinit(&path);
}
