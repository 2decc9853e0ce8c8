/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that repeat (run/repeats.h): the steps "infer" and "plan" of an op (run/eager.c), and the
 * search of its kernel, are left out if a call of the same key found their results before.
 *
 *     first call    leaves its hash
 *     second call   makes a record: filled by its steps, shared when it has ended well
 *     later calls   find the record, without a lock
 *
 * Only ops without attributes at the call, without host inputs and with one output take part: their
 * results depend on nothing but types, shapes and the plan. */
#include <string.h>

#include "device/logical_device.h"
#include "run/eager_state.h"

static const uint16_t own_ways = GANTRY__OP_ALIAS | GANTRY__OP_SEQUENCED | GANTRY__OP_VARIABLE |
                                 GANTRY__OP_DATA_SHAPE | GANTRY__OP_COMPOSED;

static bool may_repeat(const gantry__eager_t *eager) {
    const gantry__op_request_t *request = eager->request;
    const gantry__op_def_t *op = eager->op;
    if (request->attr_count > 0 || request->pinned || request->room == 0 || eager->frame ||
        eager->exhausted || eager->scope->trace || eager->scope->chooser ||
        eager->input_count > GANTRY__KEPT_INPUTS || eager->input_count != op->input_count ||
        op->output_count != 1 || op->flags & own_ways)
        return false;
    uint32_t flags = gantry__op_outputs(op)->flags & GANTRY__ARG_LIST;
    for (uint32_t i = 0; i < op->input_count; ++i) flags |= op->inputs[i].flags & GANTRY__ARG_HOST;
    return flags == 0;
}

static uint32_t settings_of(const gantry__eager_t *eager) {
    gantry_runtime_t *runtime = eager->runtime;
    return gantry__plan_settings(
        atomic_load_explicit(&runtime->soft_placement, memory_order_relaxed) != 0,
        atomic_load_explicit(&runtime->placement_mode, memory_order_relaxed) ==
            GANTRY_PLACEMENT_REQUIRE,
        eager->scope->order.batch_invariant, eager->scope->order.any,
        atomic_load_explicit(&runtime->devices.losses, memory_order_acquire));
}

/* A few multiplications: the upper bits choose the slot. */
static uint64_t repeat_hash(const gantry__eager_t *eager, uint32_t settings) {
    const uint64_t odd = UINT64_C(0x9e3779b97f4a7c15);
    uint64_t hash = ((uint64_t)(uintptr_t)eager->op ^ settings) * odd;
    hash = (hash ^ hash >> 32 ^ (uint64_t)(uintptr_t)eager->scope->wish) * odd;
    for (uint32_t i = 0; i < eager->input_count; ++i) {
        const gantry_tensor_t *input = eager->inputs[i];
        hash =
            (hash ^ hash >> 32 ^ ((uint64_t)input->dtype << 8 | (uint32_t)input->shape.rank)) * odd;
        for (int32_t d = 0; d < input->shape.rank; ++d)
            hash = (hash ^ hash >> 32 ^ (uint64_t)input->shape.dims[d]) * odd;
    }
    return hash;
}

static size_t repeat_slot(uint64_t hash) { return (size_t)(hash >> 56) % GANTRY__REPEAT_SLOTS; }

static bool is_same_tensor(const gantry__repeat_t *repeat, uint32_t i,
                           const gantry_tensor_t *input) {
    const gantry_shape_t *shape = &repeat->shapes[i];
    if (repeat->dtypes[i] != input->dtype || shape->rank != input->shape.rank) return false;
    for (int32_t d = 0; d < shape->rank; ++d) {
        if (shape->dims[d] != input->shape.dims[d]) return false;
    }
    return true;
}

static bool is_repeat(const gantry__repeat_t *repeat, const gantry__eager_t *eager, uint64_t hash,
                      uint32_t settings) {
    if (repeat->hash != hash || repeat->op != eager->op || repeat->wish != eager->scope->wish ||
        repeat->settings != settings || repeat->input_count != eager->input_count)
        return false;
    for (uint32_t i = 0; i < repeat->input_count; ++i) {
        if (!is_same_tensor(repeat, i, eager->inputs[i])) return false;
    }
    return true;
}

/* Takes the results of inference from the record. */
static void use_repeat(gantry__eager_t *eager, const gantry__repeat_t *repeat) {
    eager->repeat = repeat;
    eager->attrs = repeat->attrs;
    eager->infer.output_count = 1;
    eager->infer.piece_first = repeat->piece_first;
    eager->infer.known_bool = repeat->known_bool;
    eager->infer.out_dtypes[0] = repeat->out_dtype;
    eager->infer.out_shapes[0] = repeat->out_shape;
}

/* Whether the hash was seen of late; else it is from now on. Threads may make each other forget. */
static bool was_seen(gantry__repeats_t *repeats, uint64_t hash) {
    atomic_uint_fast64_t *seen = repeats->seen[repeat_slot(hash)];
    const uint64_t last = atomic_load_explicit(&seen[0], memory_order_relaxed);
    if (last == hash || atomic_load_explicit(&seen[1], memory_order_relaxed) == hash) return true;
    atomic_store_explicit(&seen[1], last, memory_order_relaxed);
    atomic_store_explicit(&seen[0], hash, memory_order_relaxed);
    return false;
}

/* Begins a record for the call if it comes for the second time and there is room. */
static GANTRY__COLD void begin_record(gantry__eager_t *eager, uint64_t hash, uint32_t settings) {
    gantry__repeats_t *repeats = &eager->runtime->repeats;
    if (atomic_load_explicit(&repeats->made, memory_order_relaxed) >= GANTRY__MOST_REPEATS ||
        !was_seen(repeats, hash))
        return;
    gantry__repeat_t *made = gantry__heap_zalloc(&eager->runtime->heap, sizeof *made);
    if (!made) return;
    made->hash = hash;
    made->op = eager->op;
    made->wish = eager->scope->wish;
    made->settings = settings;
    made->input_count = eager->input_count;
    for (uint32_t i = 0; i < eager->input_count; ++i) {
        made->dtypes[i] = eager->inputs[i]->dtype;
        made->shapes[i] = eager->inputs[i]->shape;
    }
    eager->record = made;
}

bool gantry__eager_find_repeat(gantry__eager_t *eager) {
    if (!may_repeat(eager)) return false;
    const uint32_t settings = settings_of(eager);
    const uint64_t hash = repeat_hash(eager, settings);
    const gantry__repeat_t *repeat = atomic_load_explicit(
        &eager->runtime->repeats.slots[repeat_slot(hash)], memory_order_acquire);
    while (repeat && !is_repeat(repeat, eager, hash, settings)) repeat = repeat->next;
    if (repeat) {
        use_repeat(eager, repeat);
    } else {
        begin_record(eager, hash, settings);
    }
    return repeat;
}

/* Fills the record from the steps of the call. A plan that depends on more than the key is not
 * kept, nor is one of other settings, which a thread may have changed after the key was made. A
 * launch is kept only if it is that of the first kernel. */
static bool fill_record(const gantry__eager_t *eager, gantry__repeat_t *made) {
    made->kept = eager->kept;
    memcpy(made->attrs, eager->infer.attrs, eager->op->attr_count * sizeof *made->attrs);
    made->out_dtype = eager->infer.out_dtypes[0];
    made->out_shape = eager->infer.out_shapes[0];
    made->piece_first = eager->infer.piece_first;
    made->known_bool = eager->infer.known_bool;
    if (eager->choice > 0 || eager->call.abi.kernel->supports) made->launch.kernel = NULL;
    return eager->kept->key.variant == 0 && eager->kept->key.settings == made->settings;
}

void gantry__eager_share_record(gantry__eager_t *eager) {
    gantry__repeats_t *repeats = &eager->runtime->repeats;
    gantry__repeat_t *made = eager->record;
    if (!fill_record(eager, made) || atomic_fetch_add(&repeats->made, 1) >= GANTRY__MOST_REPEATS)
        return;
    _Atomic(gantry__repeat_t *) *slot = &repeats->slots[repeat_slot(made->hash)];
    made->next = atomic_load(slot);
    while (!atomic_compare_exchange_weak(slot, &made->next, made)) {
    }
    eager->record = NULL;
}

void gantry__eager_drop_record(gantry__eager_t *eager) {
    gantry__heap_free(&eager->runtime->heap, eager->record, sizeof *eager->record);
    eager->record = NULL;
}

void gantry__repeats_deinit(gantry__repeats_t *repeats, const gantry__heap_t *heap) {
    for (size_t i = 0; i < GANTRY__REPEAT_SLOTS; ++i) {
        gantry__repeat_t *repeat = atomic_load(&repeats->slots[i]);
        while (repeat) {
            gantry__repeat_t *next = repeat->next;
            gantry__heap_free(heap, repeat, sizeof *repeat);
            repeat = next;
        }
    }
}
