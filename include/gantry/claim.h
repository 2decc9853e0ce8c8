/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * Claims: processes agree on who uses which card. `gantry run` and GANTRY_VISIBLE_DEVICES=auto use
 * them; a scheduler of your own can, too.
 *
 * A claim is a lock of a file in a folder that all users share: GANTRY_CLAIMS_DIR, else
 * /run/lock/gantry or /tmp/gantry-claims. It ends with the last process that holds it, however that
 * process ends; a child of fork holds it, too, until it ends or the claimant gives the device back.
 * Claims bind claimants only: they hide no card from others. Claimants that wait form a queue:
 *
 *     create, begin_turn, claim_device..., end_turn, [inherit, fork and exec], release
 *
 * Unimplemented on systems without open file description locks. Different claims are thread-safe;
 * one claim is externally synchronised. */
#ifndef GANTRY_CLAIM_H
#define GANTRY_CLAIM_H

#include <gantry/device.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A claimant with the devices that it holds. */
typedef struct gantry_claim_t gantry_claim_t;

/** A device's claim. All but held and device is what the claimant wrote: information, no
 * evidence. Texts are cut to their arrays, are UTF-8 and have neither control characters nor
 * controls of the direction of text. */
typedef struct gantry_claim_info_t {
    uint32_t struct_size;  /**< Its sizeof. */
    bool held;             /**< The device is claimed. */
    char device[96];       /**< The device, as claims name it: "pci-0000:65:00.0" or its UUID. */
    int64_t process;       /**< The claimant's process id, in its container; 0: unknown. */
    int64_t user;          /**< The claimant's user id, in its container; -1: unknown. */
    uint64_t held_seconds; /**< For how long, on a clock that is never set; 0: unknown. */
    char since[32];        /**< When it began: "2026-11-26T12:00:00Z"; "". */
    char host[64];         /**< The claimant's host or container; "". */
    char command[256];     /**< The claimant's command; "". */
} gantry_claim_info_t;

/** Makes a claimant without devices, and the folder of claims if it is missing. command is shown
 * to others; NULL: this program's command line. PermissionDenied, ResourceExhausted or
 * FailedPrecondition if the folder cannot be used. */
GANTRY_API gantry_status_t gantry_claim_create(gantry_runtime_t *runtime, const char *command,
                                               gantry_claim_t **out_claim);
/** Begins the claimant's turn to choose. Unavailable while others are before it: *out_before (may
 * be NULL) is their number, and with queue it now has a place in the queue; call again later. A
 * turn is short: other claimants wait for its end, at most 10 seconds. */
GANTRY_API gantry_status_t gantry_claim_begin_turn(gantry_claim_t *claim, bool queue,
                                                   size_t *out_before);
/** Claims a device; at most 64. Unavailable if another claimant holds it: the message says who. */
GANTRY_API gantry_status_t gantry_claim_device(gantry_claim_t *claim,
                                               const gantry_physical_device_t *device);
/** Gives up the devices, but neither turn nor place. */
GANTRY_API void gantry_claim_give_back(gantry_claim_t *claim);
/** Ends the turn. keep_place: the claimant found no device and waits on at the head of the queue;
 * otherwise it leaves the queue. */
GANTRY_API gantry_status_t gantry_claim_end_turn(gantry_claim_t *claim, bool keep_place);
/** Lets programs that this process starts from now on hold the devices, too: the claim then ends
 * with the last of them. */
GANTRY_API gantry_status_t gantry_claim_inherit(gantry_claim_t *claim);
/** Releases the claimant: leaves the queue, gives up the devices. */
GANTRY_API void gantry_claim_release(gantry_claim_t *claim);

/** Reads the claim of a device, whoever holds it. out_info->struct_size must be set. */
GANTRY_API gantry_status_t gantry_get_claim(gantry_runtime_t *runtime,
                                            const gantry_physical_device_t *device,
                                            gantry_claim_info_t *out_info);
/** Lists the claimed devices: up to capacity entries, and the full count. out_claims[0].struct_size
 * must be set. *out_waiting (may be NULL) is the length of the queue. */
GANTRY_API gantry_status_t gantry_list_claims(gantry_runtime_t *runtime, size_t capacity,
                                              gantry_claim_info_t *out_claims, size_t *out_count,
                                              size_t *out_waiting);

#ifdef __cplusplus
}
#endif
#endif
