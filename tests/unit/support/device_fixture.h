/* SPDX-License-Identifier: Apache-2.0 */
/* A device table over the CPU backend and the fake modules "fake" and "other", for unit tests.
 * Header only; one table at a time per fixture. */
#ifndef TESTS_DEVICE_FIXTURE_H
#define TESTS_DEVICE_FIXTURE_H

#include <stdlib.h>

#include "fake_module.h"

#include "base/setting_rows.h"
#include "device/device_config.h"
#include "device/device_open.h"
#include "device/device_table.h"
#include "locked_heap.h"
#include "log_lines.h"

typedef struct device_fixture_t {
    locked_heap_t heap;
    log_lines_t log;
    gantry__settings_t settings;
    gantry__backend_set_t set;
    gantry__device_table_t table;
} device_fixture_t;

typedef const gantry_physical_device_t *physical_device_t;

static const gantry_fake_control_t *fake, *other;

/* Removes every variable of the table from the environment and resets controls: fake and other have
 * one GPU each. */
static inline void device_fixture_clear(void) {
    static const char *const names[] = {
#define GANTRY__ENVIRONMENT_ROW(name, values, default_value, meaning) name,
#include "base/environment.def"
#undef GANTRY__ENVIRONMENT_ROW
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i) (void)unsetenv(names[i]);
    (void)setenv("GANTRY_TUNING_FILE", "", 1); /* no user's file */
    if (!fake) fake = fake_module_control(FAKE_FILE("fake", "fake"));
    if (!other) other = fake_module_control(FAKE_FILE("other", "other"));
    fake->reset();
    other->reset();
}

/* options may be NULL. If path is NULL, only "fake" is opened. The heap counts calls from here. */
static inline gantry_status_t device_fixture_try_open(device_fixture_t *f, const char *path,
                                                      const gantry_runtime_options_t *options,
                                                      long fail_at) {
    static const gantry_runtime_options_t none = {.struct_size = sizeof none};
    locked_heap_init(&f->heap, -1);
    log_lines_init(&f->log);
    assert_int_equal(gantry__settings_init(&f->settings, &f->heap.heap), GANTRY_OK);
    if (!path) path = FAKE_FOLDER("fake");
    assert_int_equal(
        gantry__backend_set_init(&f->set, &f->heap.heap, &f->log.log, &f->settings, path, NULL),
        GANTRY_OK);
    assert_int_equal(gantry__options_put(&f->settings, options ? options : &none), GANTRY_OK);
    f->heap.inner.fail_at = fail_at;
    gantry_status_t status =
        gantry__device_table_init(&f->table, &f->heap.heap, &f->log.log, &f->settings, &f->set);
    if (status != GANTRY_OK) {
        gantry__backend_set_deinit(&f->set);
        gantry__settings_deinit(&f->settings);
        assert_int_equal(f->heap.inner.live_blocks, 0);
        assert_false(f->heap.inner.wrong_size);
        locked_heap_deinit(&f->heap);
    }
    return status;
}

static inline void device_fixture_open(device_fixture_t *f, const char *path,
                                       const gantry_runtime_options_t *options) {
    if (device_fixture_try_open(f, path, options, -1) != GANTRY_OK)
        fail_msg("%s", gantry__message());
}

static inline void device_fixture_close(device_fixture_t *f) {
    f->heap.inner.fail_at = -1;
    gantry__device_table_deinit(&f->table);
    gantry__backend_set_deinit(&f->set);
    gantry__settings_deinit(&f->settings);
    assert_int_equal(f->heap.inner.live_blocks, 0);
    assert_int_equal(f->heap.inner.live_bytes, 0);
    assert_false(f->heap.inner.wrong_size);
    locked_heap_deinit(&f->heap);
    fake_expect_clean(fake);
    fake_expect_clean(other);
}

/* For cmocka, before each test that does not change a card. */
static inline int device_fixture_set_up(void **state) {
    (void)state;
    device_fixture_clear();
    return 0;
}

/* For cmocka, after each test. */
static inline int device_fixture_tear_down(void **state) {
    (void)state;
    fake_expect_nothing_lives(fake);
    fake_expect_nothing_lives(other);
    return 0;
}

/* The physical device with that name ("/physical_device:GPU:0") or alias ("fake:0"). */
static inline physical_device_t device_fixture_physical(const device_fixture_t *f,
                                                        const char *name) {
    for (size_t i = 0; i < f->table.physical_count; ++i) {
        if (strcmp(f->table.physical[i]->name, name) == 0 ||
            strcmp(f->table.physical[i]->alias, name) == 0)
            return f->table.physical[i];
    }
    fail_msg("there is no %s", name);
    return NULL;
}

/* The device that the text means after freeze; NULL with the message kept. */
static inline gantry_logical_device_t *device_fixture_find(device_fixture_t *f, const char *text,
                                                           gantry_status_t *out_status) {
    gantry__device_reference_t reference;
    gantry_logical_device_t *device = NULL;
    gantry_status_t status = gantry__device_reference_from_user(&f->table, text, &reference);
    if (status == GANTRY_OK)
        status = gantry__device_reference_find(&f->table, &reference, text, &device);
    if (out_status) *out_status = status;
    if (status != GANTRY_OK) return NULL;
    return device;
}

/* A frozen table over fake, with its first card open. */
static inline gantry_logical_device_t *device_fixture_open_gpu(device_fixture_t *f) {
    device_fixture_open(f, NULL, NULL);
    assert_int_equal(gantry__device_table_freeze(&f->table, "this test"), GANTRY_OK);
    gantry_logical_device_t *device = device_fixture_find(f, "GPU:0", NULL);
    if (!device || gantry__logical_device_open(device) != GANTRY_OK)
        fail_msg("%s", gantry__message());
    return device;
}

static inline void device_fixture_set_gpu(const gantry_fake_control_t *control, uint32_t device,
                                          const char *pci, const char *uuid, uint32_t flags) {
    gantry_fake_device_t settings;
    control->get_device(device, &settings);
    settings.type = GANTRY_DEVICE_TYPE_GPU;
    settings.flags = flags;
    (void)snprintf(settings.pci_address, sizeof settings.pci_address, "%s", pci);
    (void)snprintf(settings.uuid, sizeof settings.uuid, "%s", uuid);
    control->set_device(device, &settings);
}

/* Three cards of fake, whose addresses and UUIDs the tests name. */
static inline void device_fixture_set_three_gpus(void) {
    fake->set_device_count(3);
    device_fixture_set_gpu(fake, 0, "0000:17:00.0", "GPU-aaaa1111-0000-0000-0000-000000000000", 0);
    device_fixture_set_gpu(fake, 1, "0000:65:00.0", "GPU-aaaa2222-0000-0000-0000-000000000000", 0);
    device_fixture_set_gpu(fake, 2, "0000:b3:00.0", "GPU-bbbb0000-0000-0000-0000-000000000000", 0);
}

static inline void device_fixture_set_type(const gantry_fake_control_t *control, uint32_t device,
                                           int32_t type) {
    gantry_fake_device_t settings;
    control->get_device(device, &settings);
    settings.type = type;
    control->set_device(device, &settings);
}

#define expect_failure(expression, code, text)                                            \
    do {                                                                                  \
        assert_int_equal(expression, code);                                               \
        if (!strstr(gantry__message(), text)) fail_msg("message: %s", gantry__message()); \
    } while (0)

/* ---- opening in several threads ---- */

typedef struct device_opener_t {
    pthread_t thread;
    gantry_logical_device_t *device;
    gantry_status_t status;
} device_opener_t;

static inline void *device_fixture_open_it(void *user) {
    device_opener_t *self = user;
    self->status = gantry__logical_device_open(self->device);
    return NULL;
}

/* Opens devices[i % device_count] at once, each in one thread. */
static inline void device_fixture_open_at_once(gantry_logical_device_t *const *devices,
                                               int device_count) {
    device_opener_t openers[8];
    for (int i = 0; i < 8; ++i) {
        openers[i] = (device_opener_t){.device = devices[i % device_count]};
        assert_int_equal(
            pthread_create(&openers[i].thread, NULL, device_fixture_open_it, &openers[i]), 0);
    }
    for (int i = 0; i < 8; ++i) {
        assert_int_equal(pthread_join(openers[i].thread, NULL), 0);
        assert_int_equal(openers[i].status, GANTRY_OK);
    }
}

#endif
