/* SPDX-License-Identifier: Apache-2.0 */
/* Settings that shape devices: read when the table is made, changed by calls until it freezes.
 *
 * A setter checks, in TensorFlow's order, the device, the value, then whether the table is frozen;
 * equal values are then accepted. A refused call changes nothing. Thread-safe, except for the
 * readers, which belong to init. */
#ifndef GANTRY_DEVICE_DEVICE_CONFIG_H
#define GANTRY_DEVICE_DEVICE_CONFIG_H

#include "device/card.h"

struct gantry__device_table_t;

/* ---- parts of init ---- */

/* The memory policy. InvalidArgument names the variable. */
gantry_status_t gantry__memory_policy_read(struct gantry__device_table_t *table);
/* Options and environment become layers of every device, once the devices are known. A warning
 * names a device of the environment that this machine lacks; in an option it is InvalidArgument. */
gantry_status_t gantry__device_settings_read(struct gantry__device_table_t *table);

/* ---- setters other than those of device_table.h ---- */

gantry_status_t gantry__device_set_fraction(struct gantry__device_table_t *table,
                                            const gantry_physical_device_t *device,
                                            double fraction);
gantry_status_t gantry__device_set_wait(struct gantry__device_table_t *table,
                                        const gantry_physical_device_t *device,
                                        gantry_wait_policy_t policy);
gantry_status_t gantry__device_set_logical_cpus(struct gantry__device_table_t *table, size_t count);

/* ---- readers; any time ---- */

bool gantry__device_get_growth(struct gantry__device_table_t *table,
                               const gantry_physical_device_t *device);
gantry_status_t gantry__device_get_logical(struct gantry__device_table_t *table,
                                           const gantry_physical_device_t *device, size_t capacity,
                                           gantry_logical_device_config_t *out_configs,
                                           size_t *out_count);

/* ---- shared by the files of settings ---- */

bool gantry__device_table_is_frozen(const struct gantry__device_table_t *table);
/* Fails with FailedPrecondition "<what> cannot be modified after being initialized (initialized by
 * gantry_matmul)". */
gantry_status_t gantry__device_refuse_frozen(const struct gantry__device_table_t *table,
                                             const char *what);
/* Makes next the device's settings if the table allows it. The caller must hold the lock. what: for
 * the refusal. */
gantry_status_t gantry__device_commit(struct gantry__device_table_t *table,
                                      const gantry_physical_device_t *device,
                                      gantry__device_settings_t *next, const char *what,
                                      bool *out_changed);
/* The resolved split becomes the card's parts. */
void gantry__card_hold_parts(gantry__card_t *card);
/* Warns if needed: of a split that lost to the limit or fraction of a stronger source, ... */
void gantry__device_warn_of_lost_split(const struct gantry__device_table_t *table, const char *name,
                                       const gantry__device_settings_t *settings);
/* ... of TF_FORCE_GPU_ALLOW_GROWTH if it and the layer differ. */
void gantry__device_warn_of_growth(const struct gantry__device_table_t *table, const char *name,
                                   const gantry__device_settings_t *settings, int layer);

/* Whether a device may be split like this; with TensorFlow's texts if it has them. */
gantry_status_t gantry__parts_check(const gantry_physical_device_t *device,
                                    const gantry_logical_device_config_t *parts, size_t count);
/* Whether all split devices of its type have ordinals, or none has; parts: the device's new
 * parts. */
gantry_status_t gantry__parts_check_ordinals(const struct gantry__device_table_t *table,
                                             const gantry_physical_device_t *device,
                                             const gantry_logical_device_config_t *parts,
                                             size_t count);

#endif
