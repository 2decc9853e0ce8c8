/* SPDX-License-Identifier: Apache-2.0 */
/* The text forms of stand_in_control.h: settings into a machine, identities into bytes. Threads:
 * externally synchronised. */
#ifndef GANTRY_TESTS_STAND_IN_SETTINGS_H
#define GANTRY_TESTS_STAND_IN_SETTINGS_H

#include "stand_in_core.h"

void stand_in__default_machine(stand_in_machine_t *out_machine);
/* 0, or -1: the first thing that is not understood ends it. */
int stand_in__apply_settings(stand_in_machine_t *machine, const char *text);
STAND_IN_API void stand_in__uuid_text(const stand_in_device_t *device, char out_text[48]);
/* The devices that CUDA_VISIBLE_DEVICES (text; NULL: all) leaves, in its order; returns how
 * many. */
STAND_IN_API int stand_in__choose_visible(const stand_in_machine_t *machine, const char *text,
                                          int out_numbers[STAND_IN_DEVICES]);
/* In stand_in_calls.c: the nth call of a function from now on fails with code (nth 0: every
 * call). */
void stand_in__fail_call(const char *function, uint64_t nth, int code);

#endif
