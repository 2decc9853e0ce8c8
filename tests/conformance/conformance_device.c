/* SPDX-License-Identifier: Apache-2.0 */
/* The run's runtime and its devices, and the reason why a device is missing. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conformance.h"

static void take_log(void *user, gantry_log_level_t level, const char *text) {
    conformance_t *c = user;
    if (level >= GANTRY_LEVEL_WARNING) atomic_fetch_add(&c->warnings, 1);
    if (c->options.verbose && level >= GANTRY_LEVEL_WARNING) {
        fprintf(stderr, "%s: %s\n", level == GANTRY_LEVEL_WARNING ? "warning" : "error", text);
    }
}

static void take_record(void *user, const gantry_placement_record_t *record) {
    conformance_t *c = user;
    c->record_count++;
    /* keeps the first part of a composed op that ran elsewhere, else the last part */
    bool elsewhere =
        c->device && strcmp(c->record.device, gantry_logical_device_full_name(c->device)) != 0;
    if (c->record.part_of[0] && strcmp(c->record.part_of, record->part_of) == 0 && elsewhere)
        return;
    c->record = *record;
}

void conformance_watch_placements(conformance_t *c) {
    gantry_status_t status = gantry_set_placement_callback(c->runtime, take_record, c);
    if (status != GANTRY_OK)
        printf("FAIL no placement callback: %s\n", conformance_last_error(status));
}

gantry_runtime_options_t conformance_runtime_options(conformance_t *c) {
    return (gantry_runtime_options_t){
        .struct_size = sizeof(gantry_runtime_options_t),
        .log_level = GANTRY_LEVEL_WARNING,
        .log = take_log,
        .log_user = c,
        .opencl_cpu_as_gpu = c->options.opencl_cpu_as_gpu ? GANTRY_ON : GANTRY_DEFAULT,
        .adopted = c->adopted_list,
        .adopted_count = c->options.adopted,
    };
}

/* ---- a missing device ---- */

static void print_backends(const gantry_runtime_t *runtime) {
    static const char *const states[] = {"usable", "unavailable", "refused"};
    for (size_t i = 0; i < gantry_backend_status_count(runtime); ++i) {
        gantry_backend_status_t s = {.struct_size = sizeof s};
        if (gantry_backend_status(runtime, i, &s) != GANTRY_OK) continue;
        printf("  backend %s (%s): %s, %u devices%s%s%s%s\n", s.name, s.path, states[s.state],
               s.device_count, *s.reason ? ": " : "", s.reason, *s.libraries ? "; " : "",
               s.libraries);
    }
}

/* Whether a backend ("opencl") could have served the text; a name such as "opencl:0" names this
 * backend alone. */
static bool could_serve(const char *text, const char *backend) {
    size_t length = strlen(backend);
    if (!isalpha((unsigned char)*text) || strncmp(text, "GPU", 3) == 0 ||
        strncmp(text, "gpu", 3) == 0) {
        return strcmp(backend, "cpu") != 0;
    }
    return strncmp(text, backend, length) == 0 && (text[length] == ':' || text[length] == 0);
}

/* A refused backend (damaged, of another ABI), or a usable backend without such a device, is no
 * reason to skip. */
static bool is_unavailable(const gantry_runtime_t *runtime, const char *text) {
    for (size_t i = 0; i < gantry_backend_status_count(runtime); ++i) {
        gantry_backend_status_t s = {.struct_size = sizeof s};
        if (gantry_backend_status(runtime, i, &s) != GANTRY_OK) return false;
        if (s.state != GANTRY_BACKEND_UNAVAILABLE && could_serve(text, s.name)) return false;
    }
    return true;
}

static int find_device(conformance_t *c, const char *text,
                       const gantry_logical_device_t **out_device) {
    gantry_status_t status = gantry_find_logical_device(c->runtime, text, out_device);
    if (status == GANTRY_OK) return 0;
    bool may_skip =
        c->options.allow_missing && status == GANTRY_NOT_FOUND && is_unavailable(c->runtime, text);
    printf("%s device %s is missing: %s\n", may_skip ? "SKIP" : "FAIL", text,
           conformance_last_error(status));
    print_backends(c->runtime);
    return may_skip ? CONFORMANCE_SKIPPED : 1;
}

/* ---- devices ---- */

static const gantry_logical_device_t *device_of_view(conformance_t *c,
                                                     const gantry_physical_device_t *view) {
    const gantry_logical_device_t *device = NULL;
    gantry_device_details_t details = {.struct_size = sizeof details};
    if (gantry_get_device_details(c->runtime, view, &details) != GANTRY_OK) return NULL;
    if (gantry_find_logical_device(c->runtime, details.alias, &device) != GANTRY_OK) return NULL;
    return device;
}

/* Any other device; the list begins with the CPU. */
static const gantry_logical_device_t *find_elsewhere(conformance_t *c) {
    const gantry_physical_device_t *views[64];
    size_t count = 0;
    if (gantry_list_device_views(c->runtime, 64, views, &count) != GANTRY_OK) return NULL;
    for (size_t i = 0; i < count && i < 64; ++i) {
        const gantry_logical_device_t *device = device_of_view(c, views[i]);
        if (device && device != c->device) return device;
    }
    return NULL;
}

static int print_device(conformance_t *c, const gantry_logical_device_t *device) {
    gantry_device_details_t details = {.struct_size = sizeof details};
    const gantry_physical_device_t *physical = gantry_logical_device_physical(device);
    gantry_status_t status = gantry_get_device_details(c->runtime, physical, &details);
    if (status != GANTRY_OK) {
        printf("FAIL no details of %s: %s\n", gantry_logical_device_full_name(device),
               conformance_last_error(status));
        return 1;
    }
    printf("device %s (%s): %s, %s, driver %s\n", gantry_logical_device_full_name(device),
           details.alias, details.hardware_name, details.platform, details.driver_version);
    if (device != c->device) return 0;
    c->backend = details.backend;
    c->lacks_float64 = !details.float64;
    if (c->options.no_float64 && !c->lacks_float64) {
        printf("FAIL the device has float64\n");
        return 1;
    }
    if (!c->options.platform || strstr(details.platform, c->options.platform)) return 0;
    printf("SKIP this is for \"%s\"\n", c->options.platform);
    return CONFORMANCE_SKIPPED;
}

/* A part that imitates most cards with 256 work-items in a group, although the processor allows
 * more. */
static int imitate_gpu(conformance_t *c) {
    const gantry_logical_device_config_t part = {.max_work_group_size = 256};
    const gantry_physical_device_t *device = NULL;
    size_t count = 0;
    gantry_status_t status = gantry_list_physical_devices(c->runtime, "GPU", 1, &device, &count);
    if (status == GANTRY_OK && count > 0) {
        status = gantry_set_logical_device_configuration(c->runtime, device, &part, 1);
        if (status != GANTRY_OK) printf("FAIL no imitation: %s\n", conformance_last_error(status));
    }
    return status != GANTRY_OK;
}

int conformance_open(conformance_t *c) {
    if (c->options.adopted && conformance_adopt(c)) return 1;
    gantry_runtime_options_t options = conformance_runtime_options(c);
    gantry_status_t status = gantry_runtime_create(&options, &c->runtime);
    if (status != GANTRY_OK) {
        printf("FAIL no runtime: %s\n", conformance_last_error(status));
        return 1;
    }
    if (c->options.gpu_forms && imitate_gpu(c)) return 1;
    int code = find_device(c, c->options.device, &c->device);
    if (code == 0 && c->options.compare) code = find_device(c, c->options.compare, &c->other);
    if (code == 0) code = print_device(c, c->device);
    if (code == 0 && c->options.adopted) code = conformance_check_adopted(c);
    if (code == 0 && c->other) code = print_device(c, c->other);
    if (code == 0 && c->other == c->device) {
        printf("FAIL %s and %s are the same device: comparing them would show nothing\n",
               c->options.device, c->options.compare);
        code = 1;
    }
    if (code) return code;
    c->elsewhere = find_elsewhere(c);
    conformance_watch_placements(c);
    return 0;
}

void conformance_close(conformance_t *c) {
    gantry_runtime_release(c->runtime);
    conformance_give_back(c);
    conformance_rules_free(&c->expectations);
    conformance_rules_free(&c->skips);
}
