/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Every exported function refuses NULL in each place, or gives it the meaning that its
 * header names.
 *
 * Functions with few places are called with all sets of places. null_calls.awk reads the functions
 * from the headers. Each call runs in a child process, so that a crash names its function. */
#define _GNU_SOURCE /* MAP_ANONYMOUS */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "null_test.h"

const null_place_t null_places[] = {
#include "null_places.def"
};
const size_t null_place_count = sizeof null_places / sizeof null_places[0];
const size_t null_least_functions = 300;

int main(void) { return null_test_main(); }
