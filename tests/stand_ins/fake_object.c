/* SPDX-License-Identifier: Apache-2.0 */
/* Handles, and the begin and end of a slot.
 *
 * A handle is a number, not an address: each use looks the number up. Numbers are never used again,
 * so a handle past its end is detected. Numbers are multiples of 64, so that they look like aligned
 * pointers. */
#include "fake_control.h"

#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *const slot_names[] = {
#define FAKE_SLOT_NAME(name, fails) #name,
    FAKE_SLOT_LIST(FAKE_SLOT_NAME)
#undef FAKE_SLOT_NAME
};

static const bool slot_fails[] = {
#define FAKE_SLOT_FAILS(name, fails) fails,
    FAKE_SLOT_LIST(FAKE_SLOT_FAILS)
#undef FAKE_SLOT_FAILS
};

static const char *const kind_names[] = {"instance", "device", "region",     "stream", "event",
                                         "program",  "kernel", "host block", "graph"};

/* ---- slots ---- */

bool gantry__fake_take_plan(fake_slot_t slot, fake_error_t *out_error) {
    bool taken = false;
    int32_t watched = gantry__fake.watch ? gantry__fake.watch(slot_names[slot]) : GANTRY_OK;
    if (watched != GANTRY_OK) {
        taken = true;
        out_error->code = watched;
        (void)snprintf(out_error->text, sizeof out_error->text, "injected here");
    }
    for (uint32_t i = 0; i < FAKE_PLANS; ++i) {
        fake_plan_t *plan = &gantry__fake.plans[i];
        bool is_meant = plan->slot == (int32_t)slot || (plan->slot == -1 && slot_fails[slot]);
        if (!is_meant || plan->count == 0) continue;
        if (plan->first > 1) {
            --plan->first;
            continue;
        }
        if (plan->count != UINT64_MAX) --plan->count;
        if (taken) continue; /* both plans have counted this call */
        taken = true;
        out_error->code = plan->status;
        (void)snprintf(out_error->text, sizeof out_error->text, "%s", plan->text);
    }
    return taken;
}

void gantry__fake_begin(fake_call_t *call, fake_slot_t slot) {
    *call = (fake_call_t){.slot = slot};
    gantry__fake_lock();
    ++gantry__fake.calls[slot];
    if (slot_fails[slot]) (void)gantry__fake_take_plan(slot, &call->error);
}

int32_t gantry__fake_end(fake_call_t *call) {
    gantry__fake_unlock();
    if (call->error.code == GANTRY_OK) return GANTRY_OK;
    const gantry_host_t *host = call->host;
    /* a plan without a text: a backend that says not a word */
    if (host && *call->error.text)
        (void)host->set_error(host->self, call->error.code, "fake", 0, call->error.text);
    return call->error.code;
}

void gantry__fake_refuse(fake_call_t *call, int32_t code, const char *format, ...) {
    if (call->error.code != GANTRY_OK) return;
    va_list args;
    va_start(args, format);
    (void)vsnprintf(call->error.text, sizeof call->error.text, format, args);
    va_end(args);
    call->error.code = code;
}

void gantry__fake_violate(fake_call_t *call, const char *format, ...) {
    char text[FAKE_TEXT_BYTES];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (gantry__fake.violations++ == 0) {
        (void)snprintf(gantry__fake.violation, sizeof gantry__fake.violation, "%.32s: %.200s",
                       call ? slot_names[call->slot] : "work", text);
    }
    if (call) gantry__fake_refuse(call, GANTRY_INTERNAL, "violation: %.200s", text);
}

void gantry__fake_check_layout(fake_call_t *call) {
#ifdef GANTRY_FAKE_OLD_LAYOUT
    gantry__fake_violate(call, "a slot beyond the table's struct_size is called");
#else
    (void)call;
#endif
}

/* ---- objects ---- */

static fake_object_t **bucket_of(uint64_t number) {
    return &gantry__fake.buckets[number / 64 % FAKE_BUCKETS];
}

void *gantry__fake_find(fake_call_t *call, gantry_fake_kind_t kind, uint64_t number) {
    for (fake_object_t *object = *bucket_of(number); object; object = object->next) {
        if (object->number != number || object->kind != kind) continue;
        if (!call->host) call->host = object->instance->host;
        return object;
    }
    gantry__fake_violate(call, "%s 0x%llx does not live", kind_names[kind],
                         (unsigned long long)number);
    return NULL;
}

void *gantry__fake_create(fake_call_t *call, fake_instance_t *instance, gantry_fake_kind_t kind,
                          uint64_t number, size_t bytes) {
    const gantry_host_t *host = call->host;
    fake_object_t *object = host->reallocate(host->self, NULL, 0, bytes);
    if (!object) {
        gantry__fake_refuse(call, GANTRY_RESOURCE_EXHAUSTED, "no host memory for a %s of %zu bytes",
                            kind_names[kind], bytes);
        return NULL;
    }
    memset(object, 0, bytes);
    uint64_t next = ++gantry__fake.last_number * 64;
    /* no user address on 64-bit machines */
    if (kind == GANTRY_FAKE_REGION) next |= UINT64_C(0xfa4e) << 48;
    object->number = number ? number : next;
    object->kind = kind;
    object->bytes = (uint32_t)bytes;
    object->instance = instance;
    fake_object_t **bucket = bucket_of(object->number);
    object->next = *bucket;
    *bucket = object;
    ++gantry__fake.live[kind];
    return object;
}

void gantry__fake_forget(fake_object_t *object) {
    fake_object_t **at = bucket_of(object->number);
    while (*at != object) at = &(*at)->next;
    *at = object->next;
    --gantry__fake.live[object->kind];
}

void gantry__fake_release(fake_object_t *object) {
    const gantry_host_t *host = object->instance->host;
    (void)host->reallocate(host->self, object, object->bytes, 0);
}

uint64_t gantry__fake_children(const fake_instance_t *instance) {
    uint64_t count = 0;
    for (uint32_t i = 0; i < FAKE_BUCKETS; ++i) {
        for (const fake_object_t *object = gantry__fake.buckets[i]; object; object = object->next) {
            count += object->instance == instance && object != &instance->object;
        }
    }
    return count;
}

bool gantry__fake_check_lost(fake_call_t *call, const fake_device_t *device) {
    if (!gantry__fake_card(device)->lost) return true;
    gantry__fake_refuse(call, GANTRY_UNAVAILABLE, "device %u of the fake backend is lost",
                        device->index);
    return false;
}

fake_device_t *gantry__fake_find_device(fake_call_t *call, const gantry_backend_device_t *device) {
    fake_device_t *found = gantry__fake_find(call, GANTRY_FAKE_DEVICE, gantry__fake_number(device));
    if (found) (void)gantry__fake_check_lost(call, found);
    return call->error.code == GANTRY_OK ? found : NULL;
}

fake_stream_t *gantry__fake_enter_stream(fake_call_t *call, gantry_backend_stream_t *stream) {
    fake_stream_t *found = gantry__fake_find(call, GANTRY_FAKE_STREAM, gantry__fake_number(stream));
    if (!found) return NULL;
    if (found->busy)
        gantry__fake_violate(call, "two threads submit to one stream at the same time");
    found->busy = true;
    gantry__fake_unlock(); /* so that the module can detect a second thread */
    (void)sched_yield();
    gantry__fake_lock();
    (void)gantry__fake_check_lost(call, found->device);
    return found;
}

void gantry__fake_leave_stream(fake_stream_t *stream) {
    if (!stream) return;
    stream->busy = false;
    (void)pthread_cond_broadcast(&gantry__fake.changed);
}

/* ---- control: slots by name ---- */

static int32_t find_slot(const char *name) {
    for (int32_t i = 0; i < FAKE_SLOTS; ++i) {
        if (strcmp(slot_names[i], name) == 0) return i;
    }
    return -1;
}

uint32_t gantry__fake_slot_count(void) { return FAKE_SLOTS; }

const char *gantry__fake_slot_name(uint32_t slot) {
    return slot < FAKE_SLOTS ? slot_names[slot] : "";
}

int32_t gantry__fake_slot_can_fail(uint32_t slot) { return slot < FAKE_SLOTS && slot_fails[slot]; }

uint64_t gantry__fake_calls(const char *name) {
    int32_t slot = name ? find_slot(name) : -1;
    if (name && slot < 0) return UINT64_MAX;
    uint64_t sum = 0;
    gantry__fake_lock();
    for (int32_t i = 0; i < FAKE_SLOTS; ++i)
        sum += slot < 0 || slot == i ? gantry__fake.calls[i] : 0;
    gantry__fake_unlock();
    return sum;
}

int32_t gantry__fake_fail_calls(const char *name, uint64_t first, uint64_t count, int32_t status,
                                const char *text) {
    int32_t slot = name ? find_slot(name) : -1;
    if (name && (slot < 0 || !slot_fails[slot])) return 0;
    int32_t done = 0;
    gantry__fake_lock();
    for (uint32_t i = 0; i < FAKE_PLANS && !done; ++i) {
        fake_plan_t *plan = &gantry__fake.plans[i];
        if (plan->count > 0) continue;
        *plan = (fake_plan_t){.slot = slot, .first = first, .count = count, .status = status};
        (void)snprintf(plan->text, sizeof plan->text, "%s", text ? text : "planned failure");
        done = 1;
    }
    gantry__fake_unlock();
    return done;
}
