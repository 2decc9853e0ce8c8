/* SPDX-License-Identifier: Apache-2.0 */
/* Makes and ends the records of a tape. Owner: the tape owns its records, and a record owns
 * references to all that it names. Threads: externally synchronised, as the tape is. */
#ifndef GANTRY_TRAIN_RECORD_MAKE_H
#define GANTRY_TRAIN_RECORD_MAKE_H

#include "train/tape/record.h"

/* Copies an observation; the numbers are not set. After a failure nothing is left. */
gantry_status_t gantry__record_init(gantry__record_t *record,
                                    const gantry_observation_t *observation);
/* Adds what the bodies use to the inputs. */
gantry_status_t gantry__record_add_uses(gantry__record_t *record, const gantry__use_t *uses,
                                        size_t count);
void gantry__record_deinit(gantry__record_t *record);

#endif
