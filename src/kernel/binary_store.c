/* SPDX-License-Identifier: Apache-2.0 */
/* File layout: a header of 40 bytes, then the binary.
 *
 *   byte 0    "GANTRYK1"
 *   byte 8    size of the binary
 *   byte 16   checksum of the binary
 *   byte 24   the key (16 bytes)
 *
 * The key covers program text, options, device, driver and backend (see program_cache.c), so that a
 * file never matches anything else. */
#include "kernel/binary_store.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/files.h"
#include "base/text.h"
#include "base/user_folder.h"

#define STORE_MAGIC "GANTRYK1"
#define STORE_LARGEST ((size_t)256 << 20)

typedef struct header_t {
    char magic[8];
    uint64_t size;
    uint64_t checksum;
    gantry__hash128_t key;
} header_t;

_Static_assert(sizeof(header_t) == 40, "the header is written as it is");

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
    if (store->folder && gantry__directory_make(store->folder) != GANTRY_OK) {
        warn_of_folder(store);
        gantry__binary_store_deinit(store);
    }
    return GANTRY_OK;
}

void gantry__binary_store_deinit(gantry__binary_store_t *store) {
    gantry__heap_free_text(store->heap, store->folder);
    store->folder = NULL;
}

static bool format_path(const gantry__binary_store_t *store, gantry__hash128_t key,
                        gantry__text_t *text) {
    gantry__text_init(text, store->heap);
    gantry__text_append(text, "%s/%016" PRIx64 "%016" PRIx64 ".bin", store->folder, key.high,
                        key.low);
    return !text->failed;
}

static bool is_good(const header_t *header, gantry__hash128_t key, const unsigned char *payload,
                    size_t size) {
    return memcmp(header->magic, STORE_MAGIC, sizeof header->magic) == 0 && header->size == size &&
           memcmp(&header->key, &key, sizeof key) == 0 &&
           header->checksum == gantry__hash64(payload, size, 0);
}

/* Cuts the payload out of the file's bytes; releases *file in any case. */
static gantry__store_answer_t unpack(const gantry__binary_store_t *store, gantry__hash128_t key,
                                     void *file, size_t file_size, void **out_bytes,
                                     size_t *out_size) {
    gantry__store_answer_t answer = GANTRY__STORE_BAD;
    header_t header;
    if (file_size > sizeof header) {
        memcpy(&header, file, sizeof header);
        const unsigned char *payload = (const unsigned char *)file + sizeof header;
        size_t size = file_size - sizeof header;
        if (is_good(&header, key, payload, size)) {
            *out_bytes = gantry__heap_alloc(store->heap, size);
            answer = *out_bytes ? GANTRY__STORE_HIT : GANTRY__STORE_MISS;
            if (*out_bytes) memcpy(*out_bytes, payload, size);
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
                              const void *bytes, size_t size) {
    if (!store->folder) return;
    header_t header = {.size = size, .checksum = gantry__hash64(bytes, size, 0), .key = key};
    memcpy(header.magic, STORE_MAGIC, sizeof header.magic);
    const gantry__file_piece_t pieces[] = {{&header, sizeof header}, {bytes, size}};
    gantry__text_t path;
    gantry_status_t status = GANTRY_RESOURCE_EXHAUSTED;
    if (format_path(store, key, &path))
        status = gantry__file_write(gantry__text_get(&path), pieces, 2, 0);
    if (status != GANTRY_OK && !atomic_exchange(&store->has_warned, true)) warn_of_folder(store);
    gantry__text_deinit(&path);
}
