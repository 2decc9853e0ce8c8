/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: CUDA_VISIBLE_DEVICES selects three cards for both views in every form: with a working
 * CUDA and with OpenCL only, which may obey the variable itself or not. */
#define _XOPEN_SOURCE 700

#include "two_drivers.h"

static const char *const addresses[] = {CARD_0, CARD_1, "0000:27:00.0"};

#define UUIDS                                                                                                   \
    "uuid=GPU-aaaa1111-0000-0000-0000-000000000000,GPU-aaaa2222-0000-0000-0000-000000000000,GPU-bbbb0000-0000-" \
    "0000-0000-000000000000"

typedef struct row_t {
    const char *text;
    const char *cards; /* "20": the machine's cards behind /GPU:0, /GPU:1, ... */
    /* the driver's own parsing is unknown, so this row holds only if Gantry alone applies the
     * variable */
    bool is_ours_alone;
} row_t;

static const row_t rows[] = {
    {NULL, "012", false},
    {"", "", false},
    {"-1", "", false},
    {"0", "0", false},
    {"1", "1", false},
    {"2,1", "21", false},
    {"2,0", "20", false},
    {"1,0,2", "102", false},
    {"0,2,-1,1", "02", false}, /* the first invalid entry ends the list */
    {"1,7", "1", false},
    {"1,abc,0", "1", false},
    {"7", "", false},
    {"0,0", "", false},
    {"GPU-bbbb", "2", false},
    {"GPU-bbbb0000-0000-0000-0000-000000000000", "2", false},
    {"GPU-bbbb,GPU-aaaa1", "20", false},
    {"GPU-aaaa", "", false}, /* two UUIDs begin like this */
    {"GPU-cccc", "", false},
    {"MIG-GPU-bbbb0000-0000-0000-0000-000000000000/1/0", "", false},
    {"\"1\"", "1", true},
    {" 2 , 0 ", "20", true},
};

/* The settings of the process, made before it is forked. */
static const row_t *row;
static bool has_cuda;

static const char *address_of(two_drivers_t *t, const char *name) {
    static char text[32];
    const gantry_logical_device_t *device;
    gantry_device_details_t details = {.struct_size = sizeof details};
    if (gantry_find_logical_device(t->runtime, name, &device) != GANTRY_OK) return "";
    assert_int_equal(
        gantry_get_device_details(t->runtime, gantry_logical_device_physical(device), &details),
        GANTRY_OK);
    (void)snprintf(text, sizeof text, "%s", details.pci_address);
    return text;
}

static void expect_served_by(two_drivers_t *t, int number) {
    const gantry_physical_device_t *devices[4];
    size_t count = 0;
    assert_int_equal(gantry_get_visible_devices(t->runtime, "GPU", 4, devices, &count), GANTRY_OK);
    gantry_device_details_t details = {.struct_size = sizeof details};
    assert_int_equal(gantry_get_device_details(t->runtime, devices[number], &details), GANTRY_OK);
    assert_string_equal(details.backend, has_cuda ? "cuda" : "opencl");
}

static void cards_are_shown_and_ordered_once(void **state) {
    two_drivers_t t;
    const gantry_logical_device_t *devices[4];
    size_t count = 0;
    (void)state;
    two_drivers_open(&t, NULL);
    assert_int_equal(gantry_list_logical_devices(t.runtime, "GPU", 4, devices, &count), GANTRY_OK);
    if (count != strlen(row->cards)) fail_msg("%zu cards, not \"%s\"", count, row->cards);
    for (int i = 0; i < (int)count; ++i) {
        char own[16], other[24];
        const char *expected = addresses[row->cards[i] - '0'];
        (void)snprintf(own, sizeof own, "GPU:%d", i);
        (void)snprintf(other, sizeof other, "GPU:%d@opencl", i);
        if (strcmp(address_of(&t, own), expected) != 0)
            fail_msg("%s is %s, not %s", own, address_of(&t, own), expected);
        if (strcmp(address_of(&t, other), expected) != 0)
            fail_msg("%s is %s", other, address_of(&t, other));
        expect_served_by(&t, i);
    }
    for (int card = 0; card < 3; ++card) { /* a hidden card is hidden under each of its names */
        bool is_shown = strchr(row->cards, '0' + card) != NULL;
        if ((*address_of(&t, addresses[card]) != '\0') != is_shown) fail_msg("card %d", card);
    }
    two_drivers_close(&t);
}

static int run_row(bool obeys) {
    char machine[400], name[160];
    (void)snprintf(machine, sizeof machine, "devices=3;memory=64M;driver=%d;opencl_obeys=%d;" UUIDS,
                   has_cuda ? 12090 : 11080, obeys);
    (void)snprintf(name, sizeof name, "%s, %s, OpenCL %s", row->text ? row->text : "not set",
                   has_cuda ? "CUDA" : "no CUDA", obeys ? "obeys" : "shows all");
    const two_drivers_case_t it = {name, cards_are_shown_and_ordered_once, machine, row->text, NULL,
                                   NULL};
    return two_drivers_end(two_drivers_start(&it)) != 0;
}

int main(void) {
    int failed = two_drivers_run(NULL, 0);
    if (failed) return failed;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
        row = &rows[i];
        for (int way = 0; way < 4; ++way) {
            bool obeys = way % 2 == 1;
            has_cuda = way / 2 == 1;
            if (row->is_ours_alone && (has_cuda || obeys)) continue;
            failed += run_row(obeys);
        }
    }
    printf("%d failed\n", failed);
    return failed > 0;
}
