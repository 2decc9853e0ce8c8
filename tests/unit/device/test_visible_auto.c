/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: GANTRY_VISIBLE_DEVICES=auto claims a card that nobody else claims, or as many as it
 * names, and reports who has the others. */
#define _XOPEN_SOURCE 700

#include "device_fixture.h"
#include "test.h"

#include <unistd.h>

#include "device/device_claim.h"

static char claims_folder[64];

static int set_up(void **state) {
    (void)state;
    device_fixture_clear();
    device_fixture_set_three_gpus();
    return setenv("GANTRY_CLAIMS_DIR", claims_folder, 1);
}

static void open_with(device_fixture_t *f, const char *list) {
    gantry_runtime_options_t options = {.struct_size = sizeof options, .visible_devices = list};
    device_fixture_open(f, NULL, &options);
}

static gantry_status_t freeze(device_fixture_t *f) {
    return gantry__device_table_freeze(&f->table, "this test");
}

/* "0 2": the visible GPUs by their place in the backend. */
static const char *visible_gpus(const device_fixture_t *f) {
    static char text[64];
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; i < f->table.visible_count; ++i) {
        physical_device_t device = f->table.visible[i];
        if (strcmp(device->type, "GPU") != 0) continue;
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%u", used ? " " : "",
                                 device->backend_index);
    }
    return text;
}

/* Another program's claim of the card with that alias. */
static void claim_as_other(gantry__claim_t *claim, const device_fixture_t *f, const char *alias) {
    char name[GANTRY__CLAIM_NAME_BYTES];
    gantry__device_claim_name(device_fixture_physical(f, alias), name);
    assert_int_equal(gantry__claim_take(claim, name), GANTRY_OK);
}

static void expect_message(const char *text) {
    if (!strstr(gantry__message(), text)) fail_msg("\"%s\" is not in %s", text, gantry__message());
}

TEST(auto_takes_a_card_that_nobody_claims) {
    device_fixture_t f;
    gantry__claim_t rival, judge;
    char name[GANTRY__CLAIM_NAME_BYTES];
    open_with(&f, "auto");
    assert_string_equal(visible_gpus(&f), "0 1 2"); /* listing claims nothing */
    assert_int_equal(gantry__claim_open(claims_folder, "other", &rival), GANTRY_OK);
    claim_as_other(&rival, &f, "fake:0");
    assert_int_equal(freeze(&f), GANTRY_OK);
    assert_string_equal(visible_gpus(&f), "1");
    assert_string_equal(device_fixture_find(&f, "GPU:0", NULL)->physical->alias, "fake:1");
    assert_int_equal(gantry__claim_open(claims_folder, "judge", &judge), GANTRY_OK);
    gantry__device_claim_name(device_fixture_physical(&f, "fake:1"), name);
    assert_int_equal(gantry__claim_take(&judge, name), GANTRY_UNAVAILABLE);
    device_fixture_close(&f);
    assert_int_equal(gantry__claim_take(&judge, name), GANTRY_OK); /* the claim ended with it */
    gantry__claim_close(&judge);
    gantry__claim_close(&rival);
}

TEST(auto_takes_as_many_as_it_says_or_none) {
    device_fixture_t f;
    gantry__claim_t rival;
    open_with(&f, "auto:2,^fake:1");
    assert_int_equal(freeze(&f), GANTRY_OK);
    assert_string_equal(visible_gpus(&f), "0 2");
    device_fixture_close(&f);
    open_with(&f, "auto:4");
    assert_int_equal(freeze(&f), GANTRY_UNAVAILABLE);
    expect_message("the visible devices are \"auto\", 4 GPUs: 3 of them are visible");
    device_fixture_close(&f);
    open_with(&f, "auto:3");
    assert_int_equal(gantry__claim_open(claims_folder, "python train.py", &rival), GANTRY_OK);
    claim_as_other(&rival, &f, "fake:2");
    assert_int_equal(freeze(&f), GANTRY_UNAVAILABLE);
    expect_message("\"auto\", 3 GPUs: device pci-");
    expect_message(": python train.py, since ");
    gantry__claim_give_back(&rival);
    assert_int_equal(freeze(&f), GANTRY_OK); /* a later call of the program tries again */
    assert_string_equal(visible_gpus(&f), "0 1 2");
    device_fixture_close(&f);
    gantry__claim_close(&rival);
}

TEST(auto_does_not_overtake_who_waits) {
    device_fixture_t f;
    gantry__claim_t waiter;
    assert_int_equal(gantry__claim_open(claims_folder, "waits", &waiter), GANTRY_OK);
    assert_int_equal(gantry__claim_begin_turn(&waiter, true, NULL), GANTRY_OK);
    assert_int_equal(gantry__claim_end_turn(&waiter, true), GANTRY_OK);
    open_with(&f, "auto");
    assert_int_equal(freeze(&f), GANTRY_UNAVAILABLE);
    expect_message("1 claimant is before this one");
    gantry__claim_close(&waiter);
    assert_int_equal(freeze(&f), GANTRY_OK);
    device_fixture_close(&f);
}

TEST(a_call_that_sets_the_list_claims_nothing) {
    device_fixture_t f;
    open_with(&f, "auto");
    physical_device_t wanted[] = {device_fixture_physical(&f, "fake:2")};
    assert_int_equal(gantry__device_set_visible(&f.table, wanted, 1, "GPU"), GANTRY_OK);
    assert_int_equal(freeze(&f), GANTRY_OK);
    assert_string_equal(visible_gpus(&f), "2");
    assert_null(f.table.claim);
    device_fixture_close(&f);
}

TEST(an_unusable_folder_fails_and_no_gpu_does_not) {
    device_fixture_t f;
    assert_int_equal(setenv("GANTRY_CLAIMS_DIR", "/proc/none", 1), 0);
    open_with(&f, "auto");
    assert_int_equal(freeze(&f), GANTRY_FAILED_PRECONDITION);
    expect_message("\"auto\", 1 GPU: cannot open or make '/proc/none': ");
    device_fixture_close(&f);
    open_with(&f, "auto,^GPU");
    assert_int_equal(freeze(&f), GANTRY_OK);
    assert_string_equal(visible_gpus(&f), "");
    device_fixture_close(&f);
}

TEST(out_of_memory_claims_nothing) {
    device_fixture_t f;
    open_with(&f, "auto");
    f.heap.inner.fail_at = 0;
    assert_int_equal(freeze(&f), GANTRY_RESOURCE_EXHAUSTED);
    assert_null(f.table.claim);
    device_fixture_close(&f);
}

static int remove_folder(void **state) {
    (void)state;
    char command[96];
    (void)snprintf(command, sizeof command, "rm -r %s", claims_folder);
    return system(command) == 0 ? 0 : 1;
}

int main(void) {
    (void)snprintf(claims_folder, sizeof claims_folder, "/tmp/gantry_auto_XXXXXX");
    if (!mkdtemp(claims_folder)) return 1;
    return test_main_with(NULL, remove_folder, set_up, device_fixture_tear_down);
}
