/* SPDX-License-Identifier: Apache-2.0 */
#include "compose/resize_table.h"

gantry_status_t gantry__resize_open(gantry__resize_table_t *table, const gantry__heap_t *heap,
                                    gantry__resize_kind_t kind, int64_t source, int64_t result) {
    *table =
        (gantry__resize_table_t){.heap = heap, .kind = kind, .source = source, .result = result};
    if (source > INT32_MAX || result >= INT32_MAX)
        return gantry__refuse(
            "a dimension of size %lld is resized to %lld; less than 2^31 is accepted",
            (long long)source, (long long)result);
    table->starts = gantry__heap_zalloc(heap, ((size_t)result + 1) * sizeof *table->starts);
    return table->starts ? GANTRY_OK : GANTRY_RESOURCE_EXHAUSTED;
}

void gantry__resize_close(gantry__resize_table_t *table) {
    if (!table->heap) return;
    const size_t result = (size_t)table->result;
    gantry__heap_free(table->heap, table->starts, (result + 1) * sizeof *table->starts);
    gantry__heap_free(table->heap, table->taps, table->capacity * sizeof *table->taps);
    gantry__heap_free(table->heap, table->outside, result);
    *table = (gantry__resize_table_t){.heap = NULL};
}

gantry_status_t gantry__resize_add(gantry__resize_table_t *table, int64_t place, double weight) {
    if (table->count == INT32_MAX)
        return gantry__refuse(
            "a dimension of size %lld is resized to %lld, which takes 2^31 weights; fewer are accepted",
            (long long)table->source, (long long)table->result);
    if (!gantry__heap_grow(table->heap, &table->taps, table->count, &table->capacity,
                           sizeof *table->taps))
        return GANTRY_RESOURCE_EXHAUSTED;
    const int64_t last = table->source - 1;
    table->taps[table->count].place = (int32_t)(place < 0 ? 0 : place > last ? last : place);
    table->taps[table->count].weight = weight;
    table->count++;
    return GANTRY_OK;
}

void gantry__resize_end_place(gantry__resize_table_t *table) {
    table->starts[++table->filled] = (int32_t)table->count;
}

gantry_status_t gantry__resize_transpose(const gantry__resize_table_t *table,
                                         gantry__resize_table_t *out) {
    const size_t count = table->count;
    GANTRY__TRY(
        gantry__resize_open(out, table->heap, GANTRY__RESIZE_SUMS, table->result, table->source));
    out->is_double = table->is_double;
    out->filled = out->result;
    if (count == 0) return GANTRY_OK;
    out->taps = gantry__heap_alloc(table->heap, count * sizeof *out->taps);
    if (!out->taps) return GANTRY_RESOURCE_EXHAUSTED;
    out->count = out->capacity = count;
    /* counts the taps of each place, finds where the next one begins, and fills from there back */
    for (size_t t = 0; t < count; ++t) out->starts[table->taps[t].place]++;
    for (int64_t p = 1; p <= out->result; ++p) out->starts[p] += out->starts[p - 1];
    for (int64_t i = table->result - 1; i >= 0; --i) {
        for (int32_t t = table->starts[i + 1] - 1; t >= table->starts[i]; --t) {
            const gantry__resize_tap_t *tap = &table->taps[t];
            const bool is_outside = table->outside && table->outside[i];
            out->taps[--out->starts[tap->place]] =
                (gantry__resize_tap_t){is_outside ? 0 : tap->weight, (int32_t)i};
        }
    }
    return GANTRY_OK;
}

int64_t gantry__resize_repeats(const gantry__resize_table_t *table) {
    if (table->kind != GANTRY__RESIZE_TAKES || table->outside || table->source < 1 ||
        table->result % table->source != 0)
        return 0;
    const int64_t times = table->result / table->source;
    for (int64_t i = 0; i < table->result; ++i) {
        if (table->taps[i].place != i / times) return 0;
    }
    return times;
}
