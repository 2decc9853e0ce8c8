/* SPDX-License-Identifier: Apache-2.0 */
/* A claimant: its turn, its place in the queue, the devices that it holds. include/gantry/claim.h
 * says how it is used.
 *
 * Owner: the caller must close it. Threads: externally synchronised; processes synchronise by the
 * locks. */
#ifndef GANTRY_CLAIM_CLAIM_H
#define GANTRY_CLAIM_CLAIM_H

#include <stddef.h>

#include <gantry/claim.h>

#include "claim/claim_folder.h"

#define GANTRY__CLAIM_MOST 64
#define GANTRY__CLAIM_NAME_BYTES 96

typedef struct gantry__claim_t {
    gantry__claim_folder_t folder;
    int queue; /* the file with the locks of the turn and the places */
    bool has_turn;
    int64_t place;       /* the locked byte; 0: no place */
    const char *command; /* the caller's; NULL: this program's command line */
    int files[GANTRY__CLAIM_MOST];
    size_t count;
    bool is_inherited; /* other programs may hold the devices, too */
    int64_t process;   /* the process that took them: a child of fork does not give them back */
} gantry__claim_t;

/* folder as for gantry__claim_folder_open. */
gantry_status_t gantry__claim_open(const char *folder, const char *command,
                                   gantry__claim_t *out_claim);
/* Leaves the queue and gives up the devices, unless another process inherited them. */
void gantry__claim_close(gantry__claim_t *claim);

gantry_status_t gantry__claim_begin_turn(gantry__claim_t *claim, bool queue, size_t *out_before);
gantry_status_t gantry__claim_end_turn(gantry__claim_t *claim, bool keep_place);
/* name: without '/'. */
gantry_status_t gantry__claim_take(gantry__claim_t *claim, const char *name);
void gantry__claim_give_back(gantry__claim_t *claim);
gantry_status_t gantry__claim_inherit(gantry__claim_t *claim);

/* The claim of a device. folder->directory may be -1: nothing is claimed. */
void gantry__claim_look(const gantry__claim_folder_t *folder, const char *name,
                        gantry_claim_info_t *out_info);
/* The number of claimants that wait. */
size_t gantry__claim_count_waiting(const gantry__claim_folder_t *folder);

#endif
