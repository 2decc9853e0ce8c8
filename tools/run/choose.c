/* SPDX-License-Identifier: Apache-2.0 */
/* gantry run: which cards serve a request, and which of them are best.
 *
 * What is not known does not count against a card. A processor that is presented as a card is never
 * busy: its threads share with others by their nature. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "run/run.h"

#define IDLE_BUSY_PERCENT 10 /* a display keeps a card at a few percent */
#define IDLE_USED_SHARE 10   /* an empty card: one tenth of its memory is in use, at most */

/* ---- the cards ---- */

static bool is_in_list(const char *list, const char *uuid) {
    const size_t length = strlen(uuid);
    for (const char *at = list; at && *at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
        if (strncmp(at, uuid, length) == 0 && (at[length] == ',' || at[length] == '\0'))
            return true;
    }
    return false;
}

static void decide_fit(const gantry_run_request_t *request, gantry_run_card_t *card) {
    char wanted[GANTRY_TOOL_TEXT_BYTES], total[GANTRY_TOOL_TEXT_BYTES];
    if (request->backend && strcmp(card->details.backend, request->backend) != 0) {
        (void)snprintf(card->reason, sizeof card->reason, "backend %s serves it, not %s",
                       card->details.backend, request->backend);
        card->never_fits = true;
    } else if (request->min_free_bytes > card->details.total_bytes) {
        (void)snprintf(card->reason, sizeof card->reason, "it has %s of memory, not %s",
                       gantry_tool_size_text(card->details.total_bytes, total),
                       gantry_tool_size_text(request->min_free_bytes, wanted));
        card->never_fits = true;
    }
}

bool gantry_run_list(gantry_runtime_t *runtime, const gantry_run_request_t *request,
                     gantry_run_card_t cards[GANTRY_RUN_MOST], size_t *out_count) {
    const gantry_physical_device_t *devices[GANTRY_RUN_MOST];
    size_t count = 0;
    *out_count = 0;
    if (gantry_get_visible_devices(runtime, "GPU", GANTRY_RUN_MOST, devices, &count) != GANTRY_OK) {
        (void)gantry_tool_fail_last();
        return false;
    }
    if (count > GANTRY_RUN_MOST) count = GANTRY_RUN_MOST;
    for (size_t i = 0; i < count; ++i) {
        gantry_run_card_t *card = &cards[i];
        *card = (gantry_run_card_t){.device = devices[i],
                                    .details = {.struct_size = sizeof card->details}};
        if (gantry_get_device_details(runtime, devices[i], &card->details) != GANTRY_OK) {
            (void)gantry_tool_fail_last();
            return false;
        }
        card->is_ours = is_in_list(getenv("GANTRY_RUN_DEVICES"), card->details.uuid);
        decide_fit(request, card);
    }
    *out_count = count;
    return true;
}

/* ---- their figures ---- */

static uint32_t used_percent(const gantry_run_card_t *card) {
    if (!card->is_memory_known || card->total_bytes < 100) return 0;
    const uint64_t free_share = card->free_bytes / (card->total_bytes / 100);
    return free_share < 100 ? (uint32_t)(100 - free_share) : 0;
}

static void run_choose_refuse(gantry_run_card_t *card, const char *reason) {
    card->is_refused = true;
    (void)snprintf(card->reason, sizeof card->reason, "%s", reason);
}

static void refuse_claimed(gantry_run_card_t *card, const gantry_claim_info_t *info) {
    char reason[sizeof card->reason];
    (void)snprintf(reason, sizeof reason,
                   "claimed by process %" PRId64 " of user %" PRId64 " on %s: %.200s",
                   info->process, info->user, info->host, info->command);
    run_choose_refuse(card, info->process ? reason : "claimed");
}

static void refuse_busy(const gantry_run_request_t *request, gantry_run_card_t *card) {
    char reason[sizeof card->reason], free_text[GANTRY_TOOL_TEXT_BYTES];
    (void)gantry_tool_size_text(card->free_bytes, free_text);
    if (card->is_memory_known && card->free_bytes < request->min_free_bytes) {
        (void)snprintf(reason, sizeof reason, "only %s of its memory is free", free_text);
        run_choose_refuse(card, reason);
    } else if (request->policy != GANTRY_RUN_IDLE || card->is_processor) {
        return;
    } else if (card->is_use_known && card->busy_percent > IDLE_BUSY_PERCENT) {
        (void)snprintf(reason, sizeof reason, "busy: kernels run %u %% of the time",
                       card->busy_percent);
        run_choose_refuse(card, reason);
    } else if (used_percent(card) > IDLE_USED_SHARE) {
        (void)snprintf(reason, sizeof reason, "in use: %u %% of its memory is taken",
                       used_percent(card));
        run_choose_refuse(card, reason);
    }
}

/* The lowest is the best; equal ones keep the order of the devices. */
static uint32_t order_of(const gantry_run_request_t *request, const gantry_run_card_t *card) {
    const uint32_t busy = card->is_use_known && !card->is_processor ? card->busy_percent : 0;
    switch (request->policy) {
        case GANTRY_RUN_FREE: return UINT32_MAX - (uint32_t)(card->free_bytes >> 20);
        case GANTRY_RUN_SPREAD:
            return busy * 1000000 + used_percent(card) * 1000 + (uint32_t)rand() % 1000;
        default: return busy * 1000 + used_percent(card);
    }
}

void gantry_run_look(gantry_runtime_t *runtime, const gantry_run_request_t *request,
                     gantry_run_card_t *cards, size_t count) {
    for (size_t i = 0; i < count; ++i) {
        gantry_run_card_t *card = &cards[i];
        gantry_claim_info_t info = {.struct_size = sizeof info};
        if (card->never_fits) continue;
        card->is_refused = false;
        if (gantry_get_claim(runtime, card->device, &info) != GANTRY_OK)
            run_choose_refuse(card, gantry_last_message());
        card->is_ours = card->is_ours && info.held;
        gantry_run_read_figures(runtime, card);
        card->order = order_of(request, card);
        if (card->is_ours) continue;
        if (info.held) refuse_claimed(card, &info);
        if (!card->is_refused) refuse_busy(request, card);
    }
}

/* ---- the choice ---- */

static gantry_run_card_t *best_card(gantry_run_card_t *cards, size_t count, const bool *is_tried) {
    gantry_run_card_t *best = NULL;
    for (size_t i = 0; i < count; ++i) {
        gantry_run_card_t *card = &cards[i];
        if (is_tried[i] || card->never_fits || card->is_refused) continue;
        if (!best || card->order < best->order) best = card;
    }
    return best;
}

bool gantry_run_claim(gantry_claim_t *claim, const gantry_run_request_t *request,
                      gantry_run_card_t *cards, size_t count, size_t *chosen) {
    bool is_tried[GANTRY_RUN_MOST] = {false};
    size_t found = 0;
    for (gantry_run_card_t *card;
         found < request->count && (card = best_card(cards, count, is_tried)) != NULL;) {
        const size_t place = (size_t)(card - cards);
        is_tried[place] = true;
        if (card->is_ours || gantry_claim_device(claim, card->device) == GANTRY_OK) {
            chosen[found++] = place;
        } else {
            run_choose_refuse(card, gantry_last_message());
        }
    }
    if (found == request->count) return true;
    gantry_claim_give_back(claim);
    return false;
}
