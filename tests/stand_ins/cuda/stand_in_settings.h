/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the texts of stand_in_control.h: settings to a machine, identities to bytes. Threads:
 * externally synchronised. */
#ifndef GANTRY_TESTS_STAND_IN_SETTINGS_H
#define GANTRY_TESTS_STAND_IN_SETTINGS_H

#include "stand_in_core.h"

void stand_in__default_machine(stand_in_machine_t *out_machine);
/* 0, or -1 at the first invalid setting. */
int stand_in__apply_settings(stand_in_machine_t *machine, const char *text);
STAND_IN_API void stand_in__uuid_text(const stand_in_device_t *device, char out_text[48]);
/* The devices that CUDA_VISIBLE_DEVICES (text; NULL: all) shows, in its order; returns their
 * number. */
STAND_IN_API int stand_in__choose_visible(const stand_in_machine_t *machine, const char *text,
                                          int out_numbers[STAND_IN_DEVICES]);
/* In stand_in_calls.c: the nth call of a function from now on fails with code (nth 0: every
 * call). */
void stand_in__fail_call(const char *function, uint64_t nth, int code);

#endif
