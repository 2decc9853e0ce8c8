/* SPDX-License-Identifier: Apache-2.0 */
/* Two tables under one lock: programs by (source, options), in a list, and kernels by (source,
 * options, name), by open addressing. Every launch searches the second one, so a search takes no
 * lock: a slot never changes once its hash is set, and a table that was outgrown stays until the
 * cache ends.
 *
 * kernel?  found -> done program? found -> create the kernel
 *            else binary from disk -> else build, and store the binary
 *
 * No lock is held while a program is built; if two threads build one program, the second result is
 * dropped. kernel/binary_store.c handles the files on disk. */
#include "kernel/program_cache.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "backend/slot_failure.h"

/* Raised when programs are built in a new way, so that old binaries are not used. */
#define STORE_FORMAT 2u

struct gantry__cached_program_t {
    /* the caller's constant; or `made`, a copy with a key of its own */
    const gantry_program_source_t *source;
    gantry_program_source_t made;
    void *key;
    char *options;
    gantry_backend_program_t *handle;
    gantry__cached_program_t *next;
};

typedef struct slot_t {
    atomic_uint_fast64_t hash; /* 0: empty; set last */
    const gantry__program_cache_t *cache;
    const gantry_program_source_t *source;
    char *options, *name;
    gantry_backend_kernel_t *kernel;
} slot_t;

struct gantry__kernel_table_t {
    gantry__kernel_table_t *outgrown; /* the table before this one */
    size_t count;                     /* a power of two */
    slot_t slots[];
};

#define FEWEST_SLOTS 64

gantry_status_t gantry__program_cache_init(gantry__program_cache_t *cache,
                                           const gantry__heap_t *heap, const gantry__log_t *log,
                                           gantry__binary_store_t *store,
                                           gantry__program_counters_t *counters,
                                           const gantry_backend_t *backend,
                                           gantry_backend_device_t *device,
                                           const gantry_device_info_t *info) {
    *cache = (gantry__program_cache_t){.heap = heap,
                                       .log = log,
                                       .store = store,
                                       .counters = counters,
                                       .backend = backend,
                                       .device = device,
                                       .info = info};
    if (gantry__mutex_init(&cache->lock) != 0)
        return gantry__fail(GANTRY_RESOURCE_EXHAUSTED, "cannot make a mutex");
    return GANTRY_OK;
}

static void release_program(gantry__program_cache_t *cache, gantry__cached_program_t *program) {
    if (program->handle) cache->backend->program->destroy(program->handle);
    gantry__heap_free(cache->heap, program->key, (size_t)program->made.key_bytes);
    gantry__heap_free_text(cache->heap, program->options);
    gantry__heap_free(cache->heap, program, sizeof *program);
}

static size_t table_bytes(size_t count) {
    return sizeof(gantry__kernel_table_t) + count * sizeof(slot_t);
}

static void release_slot(gantry__program_cache_t *cache, slot_t *slot) {
    gantry__heap_free_text(cache->heap, slot->options);
    gantry__heap_free_text(cache->heap, slot->name);
}

void gantry__program_cache_deinit(gantry__program_cache_t *cache) {
    gantry__kernel_table_t *table = atomic_load(&cache->kernels);
    for (size_t i = 0; table && i < table->count; ++i) release_slot(cache, &table->slots[i]);
    while (table) {
        gantry__kernel_table_t *outgrown = table->outgrown;
        gantry__heap_free(cache->heap, table, table_bytes(table->count));
        table = outgrown;
    }
    while (cache->programs) {
        gantry__cached_program_t *program = cache->programs;
        cache->programs = program->next;
        release_program(cache, program);
    }
    gantry__mutex_deinit(&cache->lock);
}

/* ---- sources that a call makes: a key names the text ---- */

static bool is_made(const gantry_program_source_t *source) {
    return GANTRY_ABI_HAS(source, make) && source->make;
}

static bool is_same_source(const gantry_program_source_t *a, const gantry_program_source_t *b) {
    if (a == b) return true;
    return is_made(a) && is_made(b) && a->make == b->make && a->key_bytes == b->key_bytes &&
           memcmp(a->key, b->key, (size_t)a->key_bytes) == 0;
}

/* Sets the program's source: the caller's, or a copy if that ends with the call. */
static bool keep_source(gantry__program_cache_t *cache, gantry__cached_program_t *program,
                        const gantry_program_source_t *source) {
    program->source = source;
    if (!is_made(source)) return true;
    program->key = gantry__heap_alloc(cache->heap, (size_t)source->key_bytes);
    if (!program->key) return false;
    memcpy(program->key, source->key, (size_t)source->key_bytes);
    program->made = *source;
    program->made.key = program->key;
    program->source = &program->made;
    return true;
}

#define MOST_PARTS 64

/* A made source as a backend gets it: the text is its last part. *out_text is the caller's to free,
 * with its bytes; it may be NULL. */
static gantry_status_t complete_source(gantry__program_cache_t *cache,
                                       const gantry_program_source_t *source, const char **parts,
                                       gantry_program_source_t *out_source, char **out_text,
                                       size_t *out_bytes) {
    *out_text = NULL;
    *out_bytes = 0;
    if (source->part_count >= MOST_PARTS) {
        return gantry__fail(GANTRY_INTERNAL, "program %s has %u parts; at most %d are accepted",
                            source->label, source->part_count, MOST_PARTS - 1);
    }
    *out_bytes = (size_t)source->make(source->key, NULL, 0) + 1;
    *out_text = gantry__heap_alloc(cache->heap, *out_bytes);
    if (!*out_text) return GANTRY_RESOURCE_EXHAUSTED;
    (void)source->make(source->key, *out_text, *out_bytes);
    for (uint32_t i = 0; i < source->part_count; ++i) parts[i] = source->parts[i];
    parts[source->part_count] = *out_text;
    *out_source = (gantry_program_source_t){.struct_size = sizeof *out_source,
                                            .kinds = source->kinds,
                                            .label = source->label,
                                            .parts = parts,
                                            .part_count = source->part_count + 1};
    return GANTRY_OK;
}

/* ---- programs ---- */

static gantry__hash128_t store_key(const gantry__program_cache_t *cache,
                                   const gantry_program_source_t *source, const char *options) {
    gantry__hasher_t hasher;
    gantry__hasher_init(&hasher);
    const uint32_t format = STORE_FORMAT;
    gantry__hasher_add(&hasher, &format, sizeof format);
    gantry__hasher_add_text(&hasher, cache->backend->name);
    gantry__hasher_add_text(&hasher, cache->info->platform_name);
    gantry__hasher_add_text(&hasher, cache->info->platform_version);
    gantry__hasher_add_text(&hasher, cache->info->hardware_name);
    gantry__hasher_add_text(&hasher, cache->info->driver_version);
    gantry__hasher_add_text(&hasher, cache->info->build_hash);
    gantry__hasher_add_text(&hasher, options);
    for (uint32_t i = 0; i < source->part_count; ++i)
        gantry__hasher_add_text(&hasher, source->parts[i]);
    return hasher.state;
}

/* A driver with its own program cache stores its programs itself, unless the user named a
 * folder. */
static bool stores_binaries(const gantry__program_cache_t *cache) {
    const gantry_program_ops_t *ops = cache->backend->program;
    if (!GANTRY_ABI_HAS(ops, load_binary) || !ops->binary || !ops->load_binary) return false;
    if (!cache->store->is_named && (cache->info->flags & GANTRY_DEVICE_KEEPS_PROGRAMS))
        return false;
    return gantry__binary_store_open(cache->store);
}

static gantry_backend_program_t *load_stored(gantry__program_cache_t *cache,
                                             const gantry_program_source_t *source,
                                             gantry__hash128_t key) {
    void *bytes;
    size_t size;
    gantry__store_answer_t answer = gantry__binary_store_get(cache->store, key, &bytes, &size);
    gantry_backend_program_t *program = NULL;
    if (answer == GANTRY__STORE_HIT) {
        const uint32_t before = gantry__failures();
        const int32_t code = cache->backend->program->load_binary(cache->device, bytes, size,
                                                                  source->label, &program);
        if (code != 0) {
            (void)gantry__slot_failure(code, before);
            program = NULL;
            answer = GANTRY__STORE_BAD;
            gantry__log(cache->log, GANTRY_LEVEL_WARNING,
                        "The driver refuses a stored binary of %s; it is built again: %s",
                        source->label, gantry__message());
        }
        gantry__heap_free(cache->heap, bytes, size);
    }
    if (answer == GANTRY__STORE_BAD) atomic_fetch_add(&cache->counters->bad_entries, 1);
    return program;
}

/* Must be called after the first kernel was made, because some drivers compile only then. */
static void store_binary(gantry__program_cache_t *cache, gantry_backend_program_t *program,
                         const char *label, gantry__hash128_t key) {
    uint64_t size = 0;
    if (cache->backend->program->binary(program, NULL, &size) != 0 || size == 0 || size > SIZE_MAX)
        return;
    void *bytes = gantry__heap_alloc(cache->heap, (size_t)size);
    if (!bytes) return;
    uint64_t capacity = size;
    const gantry__store_label_t names = {cache->backend->name, cache->info->hardware_name,
                                         cache->info->driver_version, label};
    if (cache->backend->program->binary(program, bytes, &size) == 0)
        gantry__binary_store_put(cache->store, key, &names, bytes, (size_t)size);
    gantry__heap_free(cache->heap, bytes, (size_t)capacity);
}

static gantry_status_t program_cache_build(gantry__program_cache_t *cache,
                                           const gantry_program_source_t *source,
                                           const char *options, const char *name,
                                           gantry_backend_program_t **out_program) {
    gantry__hash128_t key = {0, 0};
    bool stores = stores_binaries(cache);
    const uint32_t before = gantry__failures();
    if (stores) {
        key = store_key(cache, source, options);
        *out_program = load_stored(cache, source, key);
        if (*out_program) {
            atomic_fetch_add(&cache->counters->loaded, 1);
            return GANTRY_OK;
        }
    }
    uint64_t start = gantry__now_ns();
    const uint32_t built = gantry__failures();
    int32_t code = cache->backend->program->build(cache->device, source, options, out_program);
    if (code != 0)
        return gantry__fail_prefix(gantry__slot_failure(code, built),
                                   "program %s cannot be built with \"%s\": ", source->label,
                                   options);
    atomic_fetch_add(&cache->counters->built, 1);
    atomic_fetch_add(&cache->counters->build_ns, gantry__now_ns() - start);
    gantry_backend_kernel_t *kernel;
    if (stores && cache->backend->program->kernel_find(*out_program, name, &kernel) == 0)
        store_binary(cache, *out_program, source->label, key);
    /* the driver may have refused the stored binary, or there may be no binary to store */
    gantry__forget_since(before);
    return GANTRY_OK;
}

/* Builds in the same way a source whose text may be made for it. */
static gantry_status_t build_whole(gantry__program_cache_t *cache,
                                   const gantry_program_source_t *source, const char *options,
                                   const char *name, gantry_backend_program_t **out_program) {
    const char *parts[MOST_PARTS];
    gantry_program_source_t whole;
    char *text;
    size_t bytes;
    if (!is_made(source)) return program_cache_build(cache, source, options, name, out_program);
    gantry_status_t status = complete_source(cache, source, parts, &whole, &text, &bytes);
    if (status == GANTRY_OK)
        status = program_cache_build(cache, &whole, options, name, out_program);
    gantry__heap_free(cache->heap, text, bytes);
    return status;
}

/* The caller must hold the lock. */
static gantry__cached_program_t *find_program(const gantry__program_cache_t *cache,
                                              const gantry_program_source_t *source,
                                              const char *options) {
    for (gantry__cached_program_t *program = cache->programs; program; program = program->next) {
        if (is_same_source(program->source, source) && strcmp(program->options, options) == 0)
            return program;
    }
    return NULL;
}

static gantry_status_t get_program(gantry__program_cache_t *cache,
                                   const gantry_program_source_t *source, const char *options,
                                   const char *name, gantry__cached_program_t **out_program) {
    gantry__mutex_lock(&cache->lock);
    gantry__cached_program_t *found = find_program(cache, source, options);
    gantry__mutex_unlock(&cache->lock);
    *out_program = found;
    if (found) return GANTRY_OK;
    gantry__cached_program_t *program = gantry__heap_zalloc(cache->heap, sizeof *program);
    if (!program) return GANTRY_RESOURCE_EXHAUSTED;
    program->options = gantry__heap_strdup(cache->heap, options);
    gantry_status_t status = program->options && keep_source(cache, program, source)
                                 ? build_whole(cache, source, options, name, &program->handle)
                                 : GANTRY_RESOURCE_EXHAUSTED;
    if (status != GANTRY_OK) {
        program->handle = NULL;
        release_program(cache, program);
        return status;
    }
    gantry__mutex_lock(&cache->lock);
    found = find_program(cache, source, options);
    if (!found) {
        program->next = cache->programs;
        cache->programs = *out_program = program;
    }
    gantry__mutex_unlock(&cache->lock);
    if (found) {
        release_program(cache, program);
        *out_program = found;
    }
    return GANTRY_OK;
}

/* ---- kernels ---- */

#define MADE_SEED UINT64_C(0x6d616465)

/* Hashes word by word: a text's comparison distinguishes equal hashes. */
static uint64_t hash_words(const char *text, uint64_t hash) {
    const uint64_t odd = UINT64_C(0x9e3779b97f4a7c15);
    const size_t length = strlen(text);
    uint64_t word = 0;
    for (size_t i = 0; i + sizeof word <= length; i += sizeof word) {
        memcpy(&word, text + i, sizeof word);
        hash = (hash ^ word) * odd;
        hash ^= hash >> 29;
    }
    word = length;
    for (size_t i = length - length % sizeof word; i < length; ++i)
        word = word << 8 | (unsigned char)text[i];
    hash = (hash ^ word) * odd;
    return hash ^ hash >> 32;
}

static uint64_t slot_hash(const gantry_program_source_t *source, const char *options,
                          const char *name) {
    uint64_t hash = is_made(source)
                        ? gantry__hash64(source->key, (size_t)source->key_bytes, MADE_SEED)
                        : (uint64_t)(uintptr_t)source;
    return hash_words(name, hash_words(options, hash)) | 1; /* 0 marks an empty slot */
}

/* The slot of the key, or the empty one for it; the table is not full. An empty slot may be filled
 * meanwhile, for any key, unless the lock is held. */
static slot_t *find_slot(gantry__kernel_table_t *table, uint64_t hash,
                         const gantry_program_source_t *source, const char *options,
                         const char *name, bool *out_is_filled) {
    for (size_t i = (size_t)(hash >> 1);; ++i) {
        slot_t *slot = &table->slots[i & (table->count - 1)];
        const uint64_t seen = atomic_load_explicit(&slot->hash, memory_order_acquire);
        *out_is_filled = seen != 0;
        if (seen == 0) return slot;
        if (seen == hash && is_same_source(slot->source, source) &&
            strcmp(slot->options, options) == 0 && strcmp(slot->name, name) == 0)
            return slot;
    }
}

static void fill_slot(slot_t *slot, const slot_t *from) {
    slot->cache = from->cache;
    slot->source = from->source;
    slot->options = from->options;
    slot->name = from->name;
    slot->kernel = from->kernel;
    atomic_store_explicit(&slot->hash, atomic_load(&from->hash), memory_order_release);
}

/* A table with room for one more kernel, or NULL without memory. The caller must hold the lock. */
static gantry__kernel_table_t *table_with_room(gantry__program_cache_t *cache) {
    gantry__kernel_table_t *table = atomic_load(&cache->kernels);
    if (table && cache->kernels_used * 4 < table->count * 3) return table;
    const size_t count = table ? table->count * 2 : FEWEST_SLOTS;
    gantry__kernel_table_t *larger = gantry__heap_zalloc(cache->heap, table_bytes(count));
    if (!larger) return NULL;
    larger->outgrown = table;
    larger->count = count;
    for (size_t i = 0; table && i < table->count; ++i) {
        const slot_t *slot = &table->slots[i];
        const uint64_t hash = atomic_load(&slot->hash);
        bool is_filled;
        if (hash != 0)
            fill_slot(find_slot(larger, hash, slot->source, slot->options, slot->name, &is_filled),
                      slot);
    }
    atomic_store_explicit(&cache->kernels, larger, memory_order_release);
    return larger;
}

static gantry_status_t add_slot(gantry__program_cache_t *cache, slot_t *wanted, const char *options,
                                const char *name) {
    gantry_status_t status = GANTRY_RESOURCE_EXHAUSTED;
    wanted->options = gantry__heap_strdup(cache->heap, options);
    wanted->name = gantry__heap_strdup(cache->heap, name);
    bool is_filled = true;
    gantry__mutex_lock(&cache->lock);
    gantry__kernel_table_t *table = wanted->options && wanted->name ? table_with_room(cache) : NULL;
    if (table) {
        slot_t *slot =
            find_slot(table, atomic_load(&wanted->hash), wanted->source, options, name, &is_filled);
        if (!is_filled) {
            fill_slot(slot, wanted);
            ++cache->kernels_used;
        }
        status = GANTRY_OK;
    }
    gantry__mutex_unlock(&cache->lock);
    if (is_filled) release_slot(cache, wanted);
    return status;
}

/* The slot of the kernel, or NULL. */
static const slot_t *find_kernel(gantry__program_cache_t *cache, uint64_t hash,
                                 const gantry_program_source_t *source, const char *options,
                                 const char *name) {
    gantry__kernel_table_t *table = atomic_load_explicit(&cache->kernels, memory_order_acquire);
    bool is_filled;
    if (!table) return NULL;
    const slot_t *slot = find_slot(table, hash, source, options, name, &is_filled);
    return is_filled ? slot : NULL;
}

/* The kernel where it was found before, which is without hashes; NULL: the request is another. */
static gantry_backend_kernel_t *kernel_of_memo(const gantry__program_cache_t *cache,
                                               const gantry_program_source_t *source,
                                               const char *options, const char *name,
                                               const gantry__kernel_memo_t *memo) {
    const slot_t *slot = memo ? atomic_load_explicit(&memo->slot, memory_order_acquire) : NULL;
    return slot && slot->cache == cache && is_same_source(slot->source, source) &&
                   strcmp(slot->options, options) == 0 && strcmp(slot->name, name) == 0
               ? slot->kernel
               : NULL;
}

gantry_status_t gantry__program_cache_kernel(gantry__program_cache_t *cache,
                                             const gantry_program_source_t *source,
                                             const char *options, const char *name,
                                             gantry__kernel_memo_t *memo,
                                             gantry_backend_kernel_t **out_kernel) {
    *out_kernel = kernel_of_memo(cache, source, options, name, memo);
    const uint64_t hash = *out_kernel ? 0 : slot_hash(source, options, name);
    const slot_t *slot = *out_kernel ? NULL : find_kernel(cache, hash, source, options, name);
    if (slot) {
        *out_kernel = slot->kernel;
        if (memo) atomic_store_explicit(&memo->slot, slot, memory_order_release);
    }
    if (*out_kernel) {
        atomic_fetch_add_explicit(&cache->counters->reused, 1, memory_order_relaxed);
        return GANTRY_OK;
    }
    gantry__cached_program_t *program;
    GANTRY__TRY(get_program(cache, source, options, name, &program));
    const uint32_t before = gantry__failures();
    int32_t code = cache->backend->program->kernel_find(program->handle, name, out_kernel);
    if (code != 0)
        return gantry__fail_prefix(gantry__slot_failure(code, before),
                                   "program %s has no usable kernel %s: ", source->label, name);
    slot_t wanted = {.cache = cache, .source = program->source, .kernel = *out_kernel};
    atomic_init(&wanted.hash, hash);
    return add_slot(cache, &wanted, options, name);
}

void gantry__program_cache_name(gantry__program_cache_t *cache,
                                const gantry_backend_kernel_t *kernel, char *out,
                                size_t out_bytes) {
    (void)snprintf(out, out_bytes, "?");
    const gantry__kernel_table_t *table =
        atomic_load_explicit(&cache->kernels, memory_order_acquire);
    for (size_t i = 0; table && i < table->count; ++i) {
        const slot_t *slot = &table->slots[i];
        if (atomic_load_explicit(&slot->hash, memory_order_acquire) == 0 || slot->kernel != kernel)
            continue;
        (void)snprintf(out, out_bytes, "%s of %s", slot->name, slot->source->label);
        break;
    }
}
