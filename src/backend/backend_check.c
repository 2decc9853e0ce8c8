/* SPDX-License-Identifier: Apache-2.0 */
/* The slots that a backend's table must have before any of them is called. */
#include "backend/backend_check.h"

#include "base/ascii.h"
#include "base/failure.h"

static bool is_name_good(const char *name) {
    if (!name || !gantry__ascii_is_lower(*name)) return false;
    size_t length = 0;
    for (; name[length]; ++length) {
        const char c = name[length];
        if (!gantry__ascii_is_lower(c) && !gantry__ascii_is_digit(c) && c != '_') return false;
    }
    return length < 32;
}

#define REQUIRE(ops, slot)                                                                \
    do {                                                                                  \
        if (!GANTRY_ABI_HAS(ops, slot) || !(ops)->slot) {                                 \
            return gantry__refuse("backend %s: required slot %s is missing", table->name, \
                                  #ops "->" #slot);                                       \
        }                                                                                 \
    } while (0)

static gantry_status_t check_work_ops(const gantry_backend_t *table) {
    REQUIRE(table->memory, region_alloc);
    REQUIRE(table->memory, region_free);
    REQUIRE(table->stream, create);
    REQUIRE(table->stream, destroy);
    REQUIRE(table->stream, synchronize);
    REQUIRE(table->stream, wait_event);
    REQUIRE(table->event, create);
    REQUIRE(table->event, destroy);
    REQUIRE(table->event, record);
    REQUIRE(table->event, query);
    REQUIRE(table->event, synchronize);
    REQUIRE(table->transfer, to_device);
    REQUIRE(table->transfer, to_host);
    REQUIRE(table->transfer, copy);
    REQUIRE(table->transfer, fill);
    if (GANTRY_ABI_HAS(table, program) && table->program) {
        REQUIRE(table->program, build);
        REQUIRE(table->program, destroy);
        REQUIRE(table->program, kernel_find);
        REQUIRE(table->program, launch);
    }
    if (GANTRY_ABI_HAS(table, graph) && table->graph) {
        REQUIRE(table->graph, begin_capture);
        REQUIRE(table->graph, end_capture);
        REQUIRE(table->graph, launch);
        REQUIRE(table->graph, destroy);
    }
    return GANTRY_OK;
}

const gantry_interop_ops_t *gantry__backend_interop(const gantry_backend_t *table) {
    return table->abi_version >= 2 && GANTRY_ABI_HAS(table, interop) ? table->interop : NULL;
}

static gantry_status_t check_interop_ops(const gantry_backend_t *table) {
    if (!gantry__backend_interop(table)) return GANTRY_OK;
    REQUIRE(table->interop, context_find);
    REQUIRE(table->interop, device_adopt);
    REQUIRE(table->interop, stream_adopt);
    REQUIRE(table->interop, region_adopt);
    REQUIRE(table->interop, region_disown);
    REQUIRE(table->interop, event_adopt);
    REQUIRE(table->interop, native_context);
    REQUIRE(table->interop, native_device);
    REQUIRE(table->interop, native_queue);
    REQUIRE(table->interop, native_memory);
    REQUIRE(table->interop, native_event);
    return GANTRY_OK;
}

gantry_status_t gantry__backend_table_check(const gantry_backend_t *table) {
    if (!table) return gantry__fail(GANTRY_INTERNAL, "the module's query returned no table");
    if (!GANTRY_ABI_HAS(table, name) || !is_name_good(table->name)) {
        return gantry__refuse(
            "the backend has no acceptable name: 1 to 31 lower-case letters, digits and '_' are accepted, a letter first");
    }
    if (table->abi_version == 0 || table->abi_version > GANTRY_ABI_VERSION) {
        return gantry__fail(GANTRY_FAILED_PRECONDITION,
                            "backend %s has ABI version %u; this library accepts 1 to %u",
                            table->name, table->abi_version, GANTRY_ABI_VERSION);
    }
    REQUIRE(table, open);
    REQUIRE(table, close);
    REQUIRE(table, device_count);
    REQUIRE(table, device_info);
    REQUIRE(table, device_open);
    REQUIRE(table, device_close);
    REQUIRE(table, memory);
    REQUIRE(table, stream);
    REQUIRE(table, event);
    REQUIRE(table, transfer);
    GANTRY__TRY(check_work_ops(table));
    return check_interop_ops(table);
}
