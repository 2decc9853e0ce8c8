/* SPDX-License-Identifier: Apache-2.0 */
/* Machines made of tables for tests of the placer: devices, their kernels, a request and its
 * result. Header only; externally synchronised. */
#ifndef TESTS_PLACER_MACHINE_H
#define TESTS_PLACER_MACHINE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "device/device_table.h"
#include "device/logical_device.h"
#include "place/placer.h"

#define MOST_DEVICES 16
#define FLOAT_BIT GANTRY_DTYPE_BIT(GANTRY_FLOAT32)
#define DOUBLE_BIT GANTRY_DTYPE_BIT(GANTRY_FLOAT64)
#define INT_BIT GANTRY_DTYPE_BIT(GANTRY_INT32)

/* ---- kernels of the tables ---- */

static inline int32_t compute_nothing(gantry_op_call_t *call) {
    (void)call;
    return 0;
}

static inline int32_t decline(const gantry_op_call_t *call) {
    (void)call;
    return 0;
}

static inline int32_t accept(const gantry_op_call_t *call) {
    (void)call;
    return 1;
}

static const gantry_type_constraint_t floats[] = {{"T", FLOAT_BIT}};
static const gantry_type_constraint_t all_floats[] = {{"T", FLOAT_BIT | DOUBLE_BIT}};
static const gantry_type_constraint_t any_type[] = {{"T", UINT64_MAX}}; /* bits are only moved */
static const gantry_type_constraint_t ints[] = {{"T", INT_BIT}};

#define KERNEL(symbol, name, types_, type_count_, ...)                                     \
    static const gantry_kernel_def_t symbol = {.struct_size = sizeof(gantry_kernel_def_t), \
                                               .op = name,                                 \
                                               .types = types_,                            \
                                               .type_count = type_count_,                  \
                                               .compute = compute_nothing,                 \
                                               __VA_ARGS__}
KERNEL(add_float, "Add", floats, 1, .priority = 0);
KERNEL(add_floats, "Add", all_floats, 1, .priority = 0);
KERNEL(transpose_any, "Transpose", any_type, 1, .priority = 0);
KERNEL(add_int, "Add", ints, 1, .priority = 0);
KERNEL(add_any, "Add", NULL, 0, .priority = 0);
KERNEL(add_picky, "Add", floats, 1, .priority = 0, .supports = decline);
KERNEL(add_willing, "Add", floats, 1, .priority = 0, .supports = accept);

static const char *const axis[] = {"reduction_indices"};
KERNEL(sum_kernel, "Sum", floats, 1, .host_args = axis, .host_arg_count = 1);
static const char *const y_name[] = {"y"};
KERNEL(add_host_y, "Add", floats, 1, .host_args = y_name, .host_arg_count = 1);

/* ---- machines ---- */

typedef struct machine_t {
    gantry__backend_t backends[3]; /* cpu, fake, other */
    gantry_backend_t tables[3];
    gantry__backend_set_t set;
    gantry__device_table_t table;
    struct gantry_physical_device_t physical[MOST_DEVICES];
    gantry__card_t cards[MOST_DEVICES];
    struct gantry_logical_device_t logical[MOST_DEVICES];
    struct gantry_physical_device_t *physical_list[MOST_DEVICES];
    struct gantry_logical_device_t *logical_list[MOST_DEVICES];
    gantry__kernel_entry_t entries[MOST_DEVICES][8];
    gantry__kernel_registry_t registries[MOST_DEVICES];
} machine_t;

static machine_t machine;
static char backend_names[3][8] = {"cpu", "fake", "other"};

static inline void begin_machine(void) {
    memset(&machine, 0, sizeof machine);
    for (size_t i = 0; i < 3; ++i) {
        machine.backends[i].name = backend_names[i];
        machine.backends[i].table = &machine.tables[i];
        machine.backends[i].state = GANTRY_BACKEND_USABLE;
    }
    machine.set = (gantry__backend_set_t){.items = machine.backends, .count = 3};
    machine.table.backends = &machine.set;
    machine.table.physical = machine.physical_list;
    machine.table.logical = machine.logical_list;
}

/* index -1: a view that only an alias reaches. backend: 0 cpu, 1 fake, 2 other. Listed devices come
 * first. */
static inline int add_device(const char *type, int index, int backend, uint32_t backend_index) {
    int n = (int)machine.table.physical_count++;
    struct gantry_physical_device_t *physical = &machine.physical[n];
    struct gantry_logical_device_t *logical = &machine.logical[n];
    atomic_store(&logical->is_open, true); /* the placer may then call kernels about shapes */
    physical->table = &machine.table;
    physical->card = logical->card = &machine.cards[n];
    physical->info.dtype_mask = UINT64_MAX;
    physical->backend = &machine.backends[backend];
    physical->backend_index = backend_index;
    physical->position = (uint32_t)n;
    (void)snprintf(physical->type, sizeof physical->type, "%s", type);
    physical->number = index;
    physical->listed = index >= 0;
    (void)snprintf(physical->alias, sizeof physical->alias, "%s:%u", backend_names[backend],
                   backend_index);
    logical->physical = physical;
    logical->index = index;
    logical->position = (uint32_t)n;
    if (index >= 0) {
        (void)snprintf(logical->full_name, sizeof logical->full_name,
                       "/job:localhost/replica:0/task:0/device:%s:%d", type, index);
        ++machine.table.listed_count;
    } else {
        (void)snprintf(logical->full_name, sizeof logical->full_name, "%s:%u",
                       backend_names[backend], backend_index);
    }
    machine.physical_list[n] = physical;
    machine.logical_list[n] = logical;
    ++machine.table.logical_count;
    machine.registries[n].entries = machine.entries[n];
    return n;
}

/* A kernel for every device of the mask (bit i: the i-th device added). */
static inline void add_kernel(uint32_t devices, const gantry_kernel_def_t *def) {
    for (size_t i = 0; i < machine.table.physical_count; ++i) {
        gantry__kernel_registry_t *registry = &machine.registries[i];
        if (devices >> i & 1)
            registry->entries[registry->count++] =
                (gantry__kernel_entry_t){def, "table", UINT64_MAX};
    }
}

enum { CPU0 = 1, GPU0 = 2, GPU1 = 4 };

/* CPU:0, GPU:0, GPU:1 */
static inline void make_cpu_and_two_gpus(void) {
    begin_machine();
    add_device("CPU", 0, 0, 0);
    add_device("GPU", 0, 1, 0);
    add_device("GPU", 1, 1, 1);
}

static inline void make_cpu_only(void) {
    begin_machine();
    add_device("CPU", 0, 0, 0);
}

/* ---- requests ---- */

typedef struct placing_t {
    gantry__wish_t wish;
    gantry_attr_t attrs[GANTRY__MAX_ATTRS];
    gantry_op_call_t call;
    gantry__place_request_t request;
    gantry__plan_t plan;
    gantry_status_t status;
} placing_t;

static placing_t placing;

/* As a scope parses a user's text. */
static inline void read_wish(const char *text) {
    static const char *const backends[] = {"cpu", "fake", "other"};
    gantry__wish_t *wish = &placing.wish;
    if (gantry__device_reference_parse(text, backends, 3, &wish->reference) != GANTRY_OK)
        fail_msg("%s", gantry__message());
    const gantry__device_name_t *name = &wish->reference.name;
    wish->is_empty = wish->reference.kind == GANTRY__DEVICE_LOGICAL && !name->has_job &&
                     !name->has_replica && !name->has_task && !name->has_type && !name->has_backend;
    (void)gantry__device_reference_format(&wish->reference, wish->text, sizeof wish->text);
}

/* Soft placement is on, and no device is required. wish NULL: no requested device. */
static inline void begin_placing(const char *op, gantry_dtype_t dtype, const char *wish) {
    memset(&placing, 0, sizeof placing);
    placing.request = (gantry__place_request_t){.devices = &machine.table,
                                                .registries = machine.registries,
                                                .op = gantry__op_find(op),
                                                .attrs = placing.attrs,
                                                .soft = true};
    assert_non_null(placing.request.op);
    for (uint32_t i = 0; i < placing.request.op->attr_count; ++i) {
        const gantry__op_attr_t *attr = &placing.request.op->attrs[i];
        placing.attrs[i] = (gantry_attr_t){
            .struct_size = sizeof placing.attrs[i], .kind = attr->kind, .name = attr->name};
        if (attr->kind == GANTRY_ATTR_TYPE) placing.attrs[i].i = (int64_t)dtype;
    }
    if (wish) {
        read_wish(wish);
        placing.request.wish = &placing.wish;
    }
}

static inline void place(void) { placing.status = gantry__place(&placing.request, &placing.plan); }

static inline void expect_placed(const char *full_name, gantry_placement_reason_t reason,
                                 uint32_t refusals) {
    if (placing.status != GANTRY_OK) fail_msg("%s", gantry__message());
    assert_non_null(placing.plan.device);
    assert_string_equal(placing.plan.device->full_name, full_name);
    assert_string_equal(gantry_placement_reason_text(placing.plan.reason),
                        gantry_placement_reason_text(reason));
    assert_int_equal(placing.plan.refusal_count, refusals);
}

static inline void expect_refusal(uint32_t i, int device, gantry_refusal_t why) {
    assert_ptr_equal(placing.plan.refusals[i].device, device < 0 ? NULL : &machine.logical[device]);
    assert_string_equal(gantry_refusal_text(placing.plan.refusals[i].why),
                        gantry_refusal_text(why));
}

static inline void expect_refused(gantry_status_t code, const char *text) {
    assert_int_equal(placing.status, code);
    assert_null(placing.plan.device);
    assert_int_equal(placing.plan.reason, GANTRY_PLACED_REFUSED);
    if (!strstr(gantry__message(), text))
        fail_msg("the message is \"%s\", which has no \"%s\"", gantry__message(), text);
}

static inline void place_add(const char *wish) {
    begin_placing("Add", GANTRY_FLOAT32, wish);
    place();
}

#define LOCAL(device) "/job:localhost/replica:0/task:0/device:" device

#endif
