/* SPDX-License-Identifier: Apache-2.0 */
/* gantry run --json: the choice as one object, before the program starts. A figure that is not
 * known is null. */
#include <string.h>

#include "run/run.h"

static void add_card(gantry_json_t *json, const gantry_run_card_t *card, const char *reason) {
    const gantry_device_details_t *details = &card->details;
    gantry_json_object(json, NULL);
    gantry_json_text(json, "device", details->name + strlen("/physical_device:"));
    gantry_json_text(json, "alias", details->alias);
    gantry_json_text(json, "uuid", details->uuid);
    gantry_json_text(json, "pci", details->pci_address);
    gantry_json_text(json, "hardware", details->hardware_name);
    gantry_json_text(json, "backend", details->backend);
    gantry_json_unsigned(json, "total_bytes", details->total_bytes);
    if (card->is_memory_known) gantry_json_unsigned(json, "free_bytes", card->free_bytes);
    if (!card->is_memory_known) gantry_json_null(json, "free_bytes");
    if (card->is_use_known) gantry_json_unsigned(json, "utilization_percent", card->busy_percent);
    if (!card->is_use_known) gantry_json_null(json, "utilization_percent");
    gantry_json_bool(json, "shares_host", card->is_processor);
    gantry_json_bool(json, "held_by_outer_run", card->is_ours);
    gantry_json_text(json, "reason", reason);
    gantry_json_end(json);
}

static bool run_json_is_chosen(const gantry_run_report_t *report, size_t card) {
    for (size_t i = 0; i < report->chosen_count; ++i)
        if (report->chosen[i] == card) return true;
    return false;
}

static const char *run_json_reason_of(const gantry_run_report_t *report,
                                      const gantry_run_card_t *card) {
    if (*card->reason) return card->reason;
    return report->chosen_count ? "the policy puts the chosen ones first"
                                : "it would serve, but too few do";
}

static void add_cards(gantry_json_t *json, const gantry_run_report_t *report) {
    gantry_json_array(json, "devices");
    for (size_t i = 0; i < report->chosen_count; ++i) {
        const gantry_run_card_t *card = &report->cards[report->chosen[i]];
        add_card(json, card,
                 card->is_ours ? "an outer gantry run holds it for this one"
                               : "the policy puts it first");
    }
    gantry_json_end(json);
    gantry_json_array(json, "other_devices");
    for (size_t i = 0; i < report->count; ++i)
        if (!run_json_is_chosen(report, i))
            add_card(json, &report->cards[i], run_json_reason_of(report, &report->cards[i]));
    gantry_json_end(json);
}

static void add_request(gantry_json_t *json, const gantry_run_request_t *request) {
    static const char *const policies[] = {"idle", "free", "spread"};
    gantry_json_object(json, "request");
    gantry_json_unsigned(json, "gpus", request->count);
    gantry_json_unsigned(json, "min_free_bytes", request->min_free_bytes);
    gantry_json_text(json, "policy", policies[request->policy]);
    gantry_json_text(json, "backend", request->backend);
    gantry_json_end(json);
}

static void add_layer(gantry_json_t *json, const gantry_run_layer_t *layer) {
    gantry_json_object(json, "opencl_layer");
    gantry_json_bool(json, "is_set", layer->is_set);
    gantry_json_text(json, "reason", layer->reason);
    gantry_json_end(json);
}

void gantry_run_print_json(FILE *file, const gantry_run_report_t *report) {
    gantry_json_t json;
    gantry_json_init(&json, file);
    gantry_json_object(&json, NULL);
    gantry_json_text(&json, "gantry", gantry_version());
    gantry_json_text(&json, "outcome", report->outcome);
    gantry_json_text(&json, "program", report->path);
    gantry_json_array(&json, "command");
    for (char *const *word = report->command; *word; ++word) gantry_json_text(&json, NULL, *word);
    gantry_json_end(&json);
    add_request(&json, report->request);
    gantry_json_number(&json, "waited_seconds", report->waited_seconds);
    gantry_json_unsigned(&json, "before_in_queue", report->before);
    add_cards(&json, report);
    gantry_json_object(&json, "variables");
    for (size_t i = 0; i < report->variables->count; ++i)
        gantry_json_text(&json, report->variables->names[i], report->variables->values[i]);
    gantry_json_end(&json);
    if (report->layer) add_layer(&json, report->layer);
    gantry_json_end(&json);
}
