/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Of two claims of a device the second is refused and learns who is first; lists and
 * queries agree, and the option's folder is used. */
#define _XOPEN_SOURCE 700

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <gantry/gantry.h>

#include "test.h"

static char claims_folder[64];

typedef struct program_t {
    gantry_runtime_t *runtime;
    const gantry_physical_device_t *device;
} program_t;

static program_t open_program(void) {
    char text[96];
    const char *const extra[] = {text, NULL};
    const gantry_runtime_options_t options = {
        .struct_size = sizeof options, .backends = "cpu", .kernel_cache = "", .extra = extra};
    program_t program;
    size_t count;
    (void)snprintf(text, sizeof text, "GANTRY_CLAIMS_DIR=%s", claims_folder);
    assert_int_equal(gantry_runtime_create(&options, &program.runtime), GANTRY_OK);
    assert_int_equal(
        gantry_list_physical_devices(program.runtime, "CPU", 1, &program.device, &count),
        GANTRY_OK);
    return program;
}

static gantry_claim_info_t ask(const program_t *program) {
    gantry_claim_info_t info = {.struct_size = sizeof info};
    assert_int_equal(gantry_get_claim(program->runtime, program->device, &info), GANTRY_OK);
    return info;
}

static size_t count_claims(const program_t *program, size_t *out_waiting) {
    size_t count = 99;
    assert_int_equal(gantry_list_claims(program->runtime, 0, NULL, &count, out_waiting), GANTRY_OK);
    return count;
}

TEST(a_device_is_claimed_once_and_queries_agree) {
    program_t a = open_program(), b = open_program();
    gantry_claim_t *first, *second;
    size_t before = 9, waiting = 9;
    assert_int_equal(gantry_claim_create(a.runtime, "first program", &first), GANTRY_OK);
    assert_int_equal(gantry_claim_create(b.runtime, NULL, &second), GANTRY_OK);
    assert_false(ask(&a).held);
    assert_int_equal(gantry_claim_begin_turn(first, false, &before), GANTRY_OK);
    assert_int_equal(gantry_claim_device(first, a.device), GANTRY_OK);
    assert_int_equal(gantry_claim_end_turn(first, false), GANTRY_OK);
    assert_int_equal(gantry_claim_begin_turn(second, true, NULL), GANTRY_OK);
    assert_int_equal(gantry_claim_device(second, b.device), GANTRY_UNAVAILABLE);
    assert_non_null(strstr(gantry_last_message(), ": first program, since "));
    assert_int_equal(gantry_claim_end_turn(second, true), GANTRY_OK); /* it waits */
    gantry_claim_info_t listed[2] = {{.struct_size = sizeof listed[0]}};
    size_t count;
    assert_int_equal(gantry_list_claims(b.runtime, 2, listed, &count, &waiting), GANTRY_OK);
    assert_int_equal(count, 1);
    assert_int_equal(waiting, 1);
    assert_string_equal(listed[0].device, ask(&b).device);
    assert_string_equal(listed[0].command, "first program");
    assert_int_equal(listed[0].process, getpid());
    gantry_claim_release(first);
    assert_int_equal(count_claims(&b, &waiting), 0);
    assert_int_equal(gantry_claim_begin_turn(second, true, &before), GANTRY_OK);
    assert_int_equal(gantry_claim_device(second, b.device), GANTRY_OK);
    assert_int_equal(gantry_claim_inherit(second), GANTRY_OK);
    gantry_claim_give_back(second);
    assert_false(ask(&a).held);
    gantry_claim_release(second);
    assert_int_equal(count_claims(&a, &waiting), 0);
    assert_int_equal(waiting, 0);
    gantry_runtime_release(a.runtime);
    gantry_runtime_release(b.runtime);
}

TEST(another_runtime_s_device_is_refused) {
    program_t a = open_program(), b = open_program();
    gantry_claim_t *claim;
    assert_int_equal(gantry_claim_create(a.runtime, NULL, &claim), GANTRY_OK);
    assert_int_equal(gantry_claim_device(claim, b.device), GANTRY_INVALID_ARGUMENT);
    gantry_runtime_release(a.runtime);
    assert_int_equal(gantry_claim_device(claim, a.device), GANTRY_FAILED_PRECONDITION);
    gantry_claim_release(claim); /* the last that holds the runtime */
    gantry_runtime_release(b.runtime);
}

static int remove_folder(void **state) {
    (void)state;
    char command[96];
    (void)snprintf(command, sizeof command, "rm -r %s", claims_folder);
    return system(command) == 0 ? 0 : 1;
}

int main(void) {
    (void)snprintf(claims_folder, sizeof claims_folder, "/tmp/gantry_claims_XXXXXX");
    if (!mkdtemp(claims_folder)) return 1;
    return test_main_with(NULL, remove_folder, NULL, NULL);
}
