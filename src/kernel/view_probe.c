/* SPDX-License-Identifier: Apache-2.0 */
/* Two checks of a view, each by a kernel of one work-item.
 *
 * Does its driver build, launch and return a word? Checked if another view could serve the card.
 *
 * Does it compute as IEEE 754 requires? Checked once for a device and a driver: the result is a
 * note, kept with the program binaries under a key that changes with the driver.
 *
 *     kept         the note is known: a small file is read
 *     not kept     the device is new. A process of its own opens it and checks; if that process
 *                  dies, the driver is not opened here. Where there is no such process this one
 *                  checks, once the device is open.
 *     no folder    there is no check, because each start would pay for it */
#include "kernel/view_probe.h"

#include <stdio.h>
#include <string.h>

#include "backend/probe_child.h"
#include "backend/slot_failure.h"
#include "device/card.h"
#include "device/physical_device.h"
#include "kernel/numerics_probe.h"

/* One text for OpenCL C and CUDA C; a span is a base and an offset. */
static const char *const text[] = {
    "/* kernel gantry_probe (of one work-item): writes one word */\n"
    "#if defined(__OPENCL_VERSION__)\n"
    "__kernel void gantry_probe(__global uchar *base, const ulong offset, const uint value) {\n"
    "    *(__global uint *)(base + offset) = value;\n"
    "}\n"
    "#else\n"
    "extern \"C\" __global__ void gantry_probe(unsigned char *base, const unsigned long long offset, const unsigned int value) {\n"
    "    *(unsigned int *)(base + offset) = value;\n"
    "}\n"
    "#endif\n"};

static const gantry_program_source_t source = {
    .struct_size = sizeof source,
    .kinds = GANTRY_PROGRAM_OPENCL_C | GANTRY_PROGRAM_CUDA_C,
    .label = "core/view_probe",
    .parts = text,
    .part_count = 1,
};

#define PROBE_BYTES 256u
#define PROBE_WORD UINT32_C(0x5eed1e55)

/* State of the steps; NULL and 0: not made. */
typedef struct probe_t {
    const struct gantry_physical_device_t *view;
    uint32_t before; /* failures before the steps: one that fails ends them */
    const gantry_backend_t *backend;
    gantry_backend_device_t *handle;
    gantry_backend_kernel_t *kernel;
    gantry_region_t region;
    gantry_backend_stream_t *stream;
    uint32_t value; /* the kernel's last argument */
    uint32_t count; /* the number of words */
    uint32_t words[GANTRY__NUMERICS_WORDS];
} probe_t;

_Static_assert(sizeof((probe_t *)0)->words <= PROBE_BYTES, "the words fit");

static gantry_status_t view_probe_step(const probe_t *probe, int32_t code, const char *what) {
    if (code == 0) return GANTRY_OK;
    return gantry__fail_prefix(gantry__slot_failure(code, probe->before),
                               "the first launch on %s failed at %s: ", probe->view->alias, what);
}

static gantry_status_t view_probe_launch(const probe_t *probe) {
    const gantry_launch_arg_t args[] = {
        {.kind = GANTRY_LAUNCH_SPAN,
         .as.span = {probe->region, 0, probe->count * sizeof(uint32_t)}},
        {.kind = GANTRY_LAUNCH_SCALAR,
         .size_bytes = sizeof probe->value,
         .as.value = &probe->value},
    };
    const gantry_launch_t call = {.struct_size = sizeof call,
                                  .dimensions = 1,
                                  .global_size = {1, 1, 1},
                                  .local_size = {1, 1, 1},
                                  .args = args,
                                  .arg_count = 2};
    return view_probe_step(
        probe, probe->backend->program->launch(probe->stream, probe->kernel, &call), "the launch");
}

static gantry_status_t view_probe_run(probe_t *probe) {
    const gantry_backend_t *backend = probe->backend;
    probe->before = gantry__failures();
    GANTRY__TRY(view_probe_step(
        probe, backend->memory->region_alloc(probe->handle, PROBE_BYTES, &probe->region),
        "memory"));
    GANTRY__TRY(view_probe_step(
        probe, backend->stream->create(probe->handle, GANTRY_STREAM_COMPUTE, &probe->stream),
        "a stream"));
    GANTRY__TRY(view_probe_launch(probe));
    const gantry_span_t span = {probe->region, 0, probe->count * sizeof(uint32_t)};
    GANTRY__TRY(view_probe_step(
        probe, backend->transfer->to_host(probe->stream, probe->words, &span), "reading"));
    return view_probe_step(probe, backend->stream->synchronize(probe->stream), "waiting");
}

/* If a step failed after a read was submitted, the read may be pending: destroying the stream waits
 * for it. */
static void clean_up(const probe_t *probe) {
    if (probe->stream) probe->backend->stream->destroy(probe->stream);
    if (probe->region)
        probe->backend->memory->region_free(probe->handle, probe->region, PROBE_BYTES);
}

static bool builds_programs(const struct gantry_physical_device_t *view) {
    const gantry_backend_t *backend = view->backend->table;
    return GANTRY_ABI_HAS(backend, program) && backend->program &&
           (view->info.program_kinds & source.kinds);
}

/* Builds, launches and reads the probe's words. */
static gantry_status_t view_probe_ask(const gantry__view_probe_t *self, probe_t *probe,
                                      const gantry_program_source_t *asked, const char *name,
                                      gantry__program_counters_t *counters) {
    gantry__program_cache_t cache;
    probe->before = gantry__failures();
    GANTRY__TRY(gantry__program_cache_init(&cache, self->heap, self->log, self->store, counters,
                                           probe->backend, probe->handle, &probe->view->info));
    gantry_status_t status =
        gantry__program_cache_kernel(&cache, asked, "", name, NULL, &probe->kernel);
    status = status == GANTRY_OK ? view_probe_run(probe)
                                 : view_probe_step(probe, (int32_t)status, "building");
    char why[GANTRY__MESSAGE_BYTES];
    (void)snprintf(why, sizeof why, "%s", status == GANTRY_OK ? "" : gantry__message());
    clean_up(probe);
    gantry__program_cache_deinit(&cache);
    return status == GANTRY_OK ? GANTRY_OK : gantry__fail(status, "%s", why);
}

gantry_status_t gantry__view_probe(void *user, const struct gantry_physical_device_t *view,
                                   gantry_backend_device_t *handle) {
    const gantry__view_probe_t *self = user;
    if (!builds_programs(view)) return GANTRY_OK;
    probe_t probe = {.view = view,
                     .backend = view->backend->table,
                     .handle = handle,
                     .value = PROBE_WORD,
                     .count = 1};
    GANTRY__TRY(view_probe_ask(self, &probe, &source, "gantry_probe", self->counters));
    if (probe.words[0] == PROBE_WORD) return GANTRY_OK;
    return gantry__fail(GANTRY_INTERNAL, "the first launch on %s wrote %08x, not %08x", view->alias,
                        probe.words[0], PROBE_WORD);
}

/* ---- what a new device computes ---- */

static gantry__hash128_t key_of(const struct gantry_physical_device_t *view) {
    gantry__hasher_t hasher;
    gantry__hasher_init(&hasher);
    gantry__hasher_add_text(&hasher, "note 2"); /* raised with the format of the files */
    for (uint32_t i = 0; i < gantry__numerics_source.part_count; ++i)
        gantry__hasher_add_text(&hasher, gantry__numerics_source.parts[i]);
    gantry__hasher_add_text(&hasher, view->backend->name);
    gantry__hasher_add_text(&hasher, view->info.hardware_name);
    gantry__hasher_add_text(&hasher, view->info.build_hash);
    gantry__hasher_add_text(&hasher, view->uuid); /* of two equal cards one may be broken */
    return hasher.state;
}

static bool find_note(const gantry__view_probe_t *self, const struct gantry_physical_device_t *view,
                      char *note, size_t note_bytes) {
    const uint32_t before = gantry__failures();
    void *bytes;
    size_t size;
    if (gantry__binary_store_get(self->store, key_of(view), &bytes, &size) != GANTRY__STORE_HIT) {
        gantry__forget_since(before);
        return false;
    }
    (void)snprintf(note, note_bytes, "%.*s", (int)size, (const char *)bytes);
    gantry__heap_free(self->heap, bytes, size);
    return true;
}

static bool asks(const gantry__view_probe_t *self, const struct gantry_physical_device_t *view) {
    return self->mode != GANTRY__PROBE_OFF && builds_programs(view) &&
           gantry__binary_store_open(self->store);
}

void gantry__view_recall(const gantry__view_probe_t *self, gantry__device_table_t *table) {
    for (size_t i = 0; i < table->physical_count; ++i) {
        struct gantry_physical_device_t *view = table->physical[i];
        gantry__card_t *card = view->card;
        size_t used = strlen(view->note);
        if (!asks(self, view) || !find_note(self, view, card->numerics, sizeof card->numerics))
            continue;
        card->vetted = view;
        card->is_in_note = true;
        if (*card->numerics)
            (void)snprintf(view->note + used, sizeof view->note - used, "%s%s",
                           used > 0 ? "; " : "", card->numerics);
    }
}

static gantry_status_t try_in_child(const gantry__view_probe_t *self,
                                    const struct gantry_physical_device_t *view) {
    const gantry__child_call_t call = {.heap = self->heap,
                                       .log = self->log,
                                       .alias = view->alias,
                                       .module = view->backend->path,
                                       .cache = self->store->folder};
    char why[128];
    if (gantry__probe_child_run(&call, why, sizeof why) != GANTRY__CHILD_CRASHED) return GANTRY_OK;
    return gantry__fail(
        GANTRY_UNAVAILABLE,
        "%s is not opened: a process of its own that tried this driver first ended badly (%s); GANTRY_DEVICE_PROBE=off opens it without that",
        view->alias, why);
}

gantry_status_t gantry__view_vet(void *user, const struct gantry_physical_device_t *view,
                                 gantry__view_note_t *out_note) {
    const gantry__view_probe_t *self = user;
    *out_note = (gantry__view_note_t){.is_known = true};
    if (!asks(self, view) || find_note(self, view, out_note->text, sizeof out_note->text))
        return GANTRY_OK;
    if (self->mode == GANTRY__PROBE_AUTO) GANTRY__TRY(try_in_child(self, view));
    out_note->is_known = find_note(self, view, out_note->text, sizeof out_note->text);
    return GANTRY_OK;
}

void gantry__view_learn(void *user, const struct gantry_physical_device_t *view,
                        gantry_backend_device_t *handle, gantry__view_note_t *out_note) {
    const gantry__view_probe_t *self = user;
    const uint32_t before = gantry__failures();
    gantry__program_counters_t counters = {0}; /* no program of the user counts */
    probe_t probe = {.view = view,
                     .backend = view->backend->table,
                     .handle = handle,
                     .value = GANTRY__NUMERICS_ONE,
                     .count = GANTRY__NUMERICS_WORDS};
    gantry_status_t status =
        view_probe_ask(self, &probe, &gantry__numerics_source, GANTRY__NUMERICS_KERNEL, &counters);
    gantry__forget_since(before);
    if (status != GANTRY_OK) return; /* its first op reports the same error */
    gantry__numerics_judge(probe.words, out_note->text, sizeof out_note->text);
    const gantry__store_label_t label = {view->backend->name, view->info.hardware_name,
                                         view->info.driver_version, "note of the numerics probe"};
    gantry__binary_store_put(self->store, key_of(view), &label, out_note->text,
                             strlen(out_note->text) + 1);
    out_note->is_known = true;
}
