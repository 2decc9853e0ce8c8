/* SPDX-License-Identifier: Apache-2.0 */
/* Devices as programs see them: hidden by a variable, a processor that is no GPU, one card with two
 * drivers, and limits of clocks and power. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "doctor/doctor.h"

static bool is_card(const gantry_device_details_t *details) {
    return details->listed && strcmp(details->type, "GPU") == 0;
}

/* ---- hidden ---- */

static void check_hidden(doctor_t *doctor, const gantry_device_details_t *details) {
    char name[96], remedy[160];
    if (!details->listed || details->visible) return;
    const char *value = getenv(details->hidden_by);
    (void)snprintf(name, sizeof name, "%.60s is visible", details->alias);
    (void)snprintf(remedy, sizeof remedy, "unset %.60s, or add this device to it",
                   details->hidden_by);
    doctor_add(doctor, DOCTOR_HIDDEN, name, DOCTOR_NOT_POSSIBLE, remedy, "%s%s%.200s hides %.200s",
               details->hidden_by, value ? "=" : "", value ? value : "", details->hardware_name)
        ->backend = details->backend;
}

/* The driver does not even show the cards that its own variable leaves out. */
static void check_vendors_variable(doctor_t *doctor) {
    const char *value = getenv("CUDA_VISIBLE_DEVICES");
    unsigned shown = 0;
    for (size_t i = 0; i < doctor->view_count; ++i)
        shown += strcmp(doctor_details(doctor, i).backend, "cuda") == 0;
    if (value && doctor->machine.nvidia_nodes > shown)
        doctor_add(doctor, DOCTOR_HIDDEN, "all NVIDIA cards are visible", DOCTOR_NOT_POSSIBLE,
                   "unset CUDA_VISIBLE_DEVICES, or add the cards to it",
                   "CUDA_VISIBLE_DEVICES=%.200s shows %u of %u cards", value, shown,
                   doctor->machine.nvidia_nodes)
            ->backend = "cuda";
}

static void check_processor(doctor_t *doctor, const gantry_device_details_t *details) {
    char name[96];
    if (strcmp(details->backend, "opencl") != 0 || strcmp(details->type, "GPU") == 0) return;
    (void)snprintf(name, sizeof name, "%.60s is a GPU", details->alias);
    doctor_add(doctor, DOCTOR_HIDDEN, name, DOCTOR_NOT_POSSIBLE,
               "export GANTRY_OPENCL_CPU=gpu, to test programs for GPUs on a processor",
               "%.200s is a processor, so programs reach it only by the name %s",
               details->hardware_name, details->alias)
        ->backend = "opencl";
}

/* ---- one card, two drivers ---- */

static bool may_be_one(const gantry_device_details_t *a, const gantry_device_details_t *b) {
    bool has_addresses = *a->pci_address && *b->pci_address;
    if (strcmp(a->platform, b->platform) == 0) return false; /* two cards of one driver */
    return has_addresses ? strcmp(a->pci_address, b->pci_address) == 0
                         : strcmp(a->hardware_name, b->hardware_name) == 0;
}

static void check_twins(doctor_t *doctor, size_t view, const gantry_device_details_t *details) {
    for (size_t i = view + 1; is_card(details) && i < doctor->view_count; ++i) {
        const gantry_device_details_t other = doctor_details(doctor, i);
        char remedy[160];
        if (!is_card(&other) || !may_be_one(details, &other)) continue;
        (void)snprintf(remedy, sizeof remedy, "export GANTRY_VISIBLE_DEVICES=^%.60s", other.alias);
        (void)doctor_add(doctor, DOCTOR_MACHINE, DOCTOR_ONE_DRIVER, DOCTOR_FAILED, remedy,
                         "%s (%.30s) and %s (%.30s) seem to be one card, which counts as two",
                         details->alias, details->platform, other.alias, other.platform);
    }
}

static void check_other_view(doctor_t *doctor, const gantry_device_details_t *details) {
    if (details->listed && *details->other_view)
        (void)doctor_add(doctor, DOCTOR_MACHINE, DOCTOR_ONE_DRIVER, DOCTOR_PASSED, NULL,
                         "%s and %s are one card, which %s serves", details->alias,
                         details->other_view, details->alias);
}

/* ---- limits ---- */

/* The strongest must come first, because its remedy is reported. */
static const struct {
    uint32_t bit;
    const char *text, *remedy;
} limits[] = {
    {GANTRY_SLOWED_HARDWARE, "the hardware's protection",
     "check the card's power cables, supply and cooling"},
    {GANTRY_SLOWED_TEMPERATURE, "the temperature", "cool the card: nvidia-smi -q -d TEMPERATURE"},
    {GANTRY_SLOWED_POWER, "the power limit", "sudo nvidia-smi -pl WATTS raises the power limit"},
    {GANTRY_SLOWED_SETTING, "a setting of the clocks",
     "sudo nvidia-smi -rgc, and sudo nvidia-smi -rac"},
};

static void tell_limits(doctor_t *doctor, const char *name,
                        const gantry_device_telemetry_t *telemetry) {
    char text[160] = "";
    const char *remedy = NULL;
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; ++i) {
        const size_t used = strlen(text);
        if (!(telemetry->slowed_by & limits[i].bit)) continue;
        if (!remedy) remedy = limits[i].remedy;
        (void)snprintf(text + used, sizeof text - used, "%s%s", used > 0 ? ", " : "",
                       limits[i].text);
    }
    if (!remedy)
        (void)doctor_add(doctor, DOCTOR_MACHINE, name, DOCTOR_PASSED, NULL, "nothing limits them");
    else
        (void)doctor_add(doctor, DOCTOR_MACHINE, name, DOCTOR_FAILED, remedy,
                         "slowed down by %s: %u of %u MHz, %u of %u W", text, telemetry->clock_mhz,
                         telemetry->most_clock_mhz, telemetry->power_milliwatts / 1000,
                         telemetry->power_limit_milliwatts / 1000);
}

static void check_errors(doctor_t *doctor, const gantry_device_details_t *details,
                         const gantry_device_telemetry_t *telemetry) {
    char name[96];
    if (!(telemetry->known & GANTRY_TELEMETRY_ECC_ERRORS)) return;
    (void)snprintf(name, sizeof name, "%.60s memory", details->alias);
    if (telemetry->ecc_uncorrected == 0)
        (void)doctor_add(doctor, DOCTOR_MACHINE, name, DOCTOR_PASSED, NULL,
                         "no memory error that ECC could not correct");
    else
        (void)doctor_add(doctor, DOCTOR_MACHINE, name, DOCTOR_FAILED,
                         "sudo nvidia-smi --gpu-reset; if errors come back, replace the card",
                         "%" PRIu64 " memory errors that ECC could not correct",
                         telemetry->ecc_uncorrected);
}

/* Of cards that a monitor knows. */
static void doctor_views_check_limits(doctor_t *doctor, size_t view,
                                      const gantry_device_details_t *details) {
    char name[96];
    gantry_device_telemetry_t telemetry = {.struct_size = sizeof telemetry};
    (void)gantry_get_device_telemetry(doctor->runtime, doctor->views[view], &telemetry);
    const bool is_known = telemetry.known & GANTRY_TELEMETRY_SLOWED;
    if (!is_card(details) || (!is_known && strcmp(details->backend, "cuda") != 0)) return;
    (void)snprintf(name, sizeof name, "%.60s clocks and power", details->alias);
    if (is_known)
        tell_limits(doctor, name, &telemetry);
    else
        (void)doctor_add(doctor, DOCTOR_MACHINE, name, DOCTOR_NOT_POSSIBLE, NULL,
                         "no monitor reports what limits them%s%.200s",
                         *telemetry.reason ? ": " : "", telemetry.reason);
    check_errors(doctor, details, &telemetry);
}

void doctor_check_views(doctor_t *doctor) {
    for (size_t i = 0; i < doctor->view_count; ++i) {
        const gantry_device_details_t details = doctor_details(doctor, i);
        check_hidden(doctor, &details);
        check_processor(doctor, &details);
        check_other_view(doctor, &details);
        check_twins(doctor, i, &details);
        doctor_views_check_limits(doctor, i, &details);
    }
    check_vendors_variable(doctor);
}
