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
 * (tools/cache/files.c reads files, too): backend, hardware, driver and program, each
 * ended by a line feed. */
#include "kernel/binary_store.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/files.h"
#include "base/new_file.h"
#include "base/text.h"
#include "base/trust.h"
#include "base/user_folder.h"

#define STORE_MAGIC "GANTRYK2"
#define STORE_LABEL_BYTES 1024
#define STORE_LARGEST ((size_t)256 << 20)
#define STORE_NAME_BYTES 40

enum { STORE_UNKNOWN = -1, STORE_OFF = -2 }; /* instead of a descriptor */

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
    *store = (gantry__binary_store_t){.heap = heap, .log = log, .directory = STORE_UNKNOWN};
    const char *wanted =
        option ? option : gantry__settings_get(settings, "GANTRY_KERNEL_CACHE", NULL);
    if (wanted && !*wanted) return GANTRY_OK;
    store->is_named = wanted != NULL;
    store->folder =
        wanted ? gantry__heap_strdup(heap, wanted) : gantry__user_folder(heap, settings, "kernels");
    return GANTRY_OK;
}

void gantry__binary_store_deinit(gantry__binary_store_t *store) {
    gantry__file_close(atomic_exchange(&store->directory, STORE_OFF));
    gantry__heap_free_text(store->heap, store->folder);
    store->folder = NULL;
}

static int binary_store_open_folder(gantry__binary_store_t *store) {
    const uint32_t before = gantry__failures();
    int directory = STORE_OFF, expected = STORE_UNKNOWN;
    if (gantry__trust_make_folder(store->folder, &directory) != GANTRY_OK) {
        if (!atomic_exchange(&store->has_warned, true)) warn_of_folder(store);
        directory = STORE_OFF;
    }
    gantry__forget_since(before);
    if (atomic_compare_exchange_strong(&store->directory, &expected, directory)) return directory;
    gantry__file_close(directory); /* another thread was first */
    return expected;
}

bool gantry__binary_store_open(gantry__binary_store_t *store) {
    if (!store->folder) return false;
    const int directory = atomic_load(&store->directory);
    return (directory == STORE_UNKNOWN ? binary_store_open_folder(store) : directory) >= 0;
}

static void format_name(gantry__hash128_t key, char out[STORE_NAME_BYTES]) {
    (void)snprintf(out, STORE_NAME_BYTES, "%016" PRIx64 "%016" PRIx64 ".bin", key.high, key.low);
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

static void warn_of_entry(const gantry__binary_store_t *store, const char *name, const char *why) {
    gantry__log(store->log, GANTRY_LEVEL_WARNING,
                "Program binary %s/%s is not used: %s; it is built again", store->folder, name,
                why);
}

static gantry_status_t binary_store_read_entry(const gantry__binary_store_t *store,
                                               const char *name, void **out_bytes,
                                               size_t *out_size) {
    int file;
    GANTRY__TRY(
        gantry__trust_open_entry(atomic_load(&store->directory), store->folder, name, &file));
    const gantry_status_t status =
        gantry__file_read_open(store->heap, file, name, STORE_LARGEST, out_bytes, out_size);
    gantry__file_close(file);
    return status;
}

gantry__store_answer_t gantry__binary_store_get(const gantry__binary_store_t *store,
                                                gantry__hash128_t key, void **out_bytes,
                                                size_t *out_size) {
    *out_bytes = NULL;
    if (!store->folder || atomic_load(&store->directory) < 0) return GANTRY__STORE_MISS;
    char name[STORE_NAME_BYTES];
    void *file = NULL;
    size_t file_size = 0;
    format_name(key, name);
    const gantry_status_t status = binary_store_read_entry(store, name, &file, &file_size);
    if (status == GANTRY_FAILED_PRECONDITION || status == GANTRY_INVALID_ARGUMENT) {
        warn_of_entry(store, name, gantry__message());
        return GANTRY__STORE_BAD;
    }
    if (status != GANTRY_OK) return GANTRY__STORE_MISS;
    const gantry__store_answer_t answer = unpack(store, key, file, file_size, out_bytes, out_size);
    if (answer == GANTRY__STORE_BAD) warn_of_entry(store, name, "it is damaged or foreign");
    return answer;
}

void gantry__binary_store_put(gantry__binary_store_t *store, gantry__hash128_t key,
                              const gantry__store_label_t *label, const void *bytes, size_t size) {
    if (!store->folder || atomic_load(&store->directory) < 0) return;
    char name[STORE_NAME_BYTES], text[STORE_LABEL_BYTES];
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
    format_name(key, name);
    gantry__text_init(&path, store->heap);
    gantry__text_append(&path, "%s/%s", store->folder, name);
    gantry_status_t status = gantry__text_status(&path);
    if (status == GANTRY_OK)
        status = gantry__file_write(gantry__text_get(&path), pieces, 3, GANTRY__FILE_OWN);
    if (status != GANTRY_OK && !atomic_exchange(&store->has_warned, true)) warn_of_folder(store);
    gantry__text_deinit(&path);
}
