/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: CUDA_VISIBLE_DEVICES shows the same NVIDIA cards whether the CUDA backend obeys the
 * variable itself, cannot be asked, or cannot be opened.
 * Promise: A card that CUDA_VISIBLE_DEVICES hides is hidden under both of its views, and cards of
 * other vendors keep their places.
 * Promise: The log says once, at level info, which devices CUDA_VISIBLE_DEVICES has no effect on:
 * GPUs of others, and processors where it hides no card. */
#define _XOPEN_SOURCE 700

#include "device_fixture.h"
#include "test.h"

#define WITH_CUDA FAKE_FOLDER("fake") ":" FAKE_FOLDER("cuda")

static const gantry_fake_control_t *cuda;

/* The machine's cards in PCI order. */
static const char *const addresses[] = {"0000:17:00.0", "0000:65:00.0", "0000:b3:00.0"};
static const char *const uuids[] = {"GPU-aaaa1111-0000-0000-0000-000000000000",
                                    "GPU-aaaa2222-0000-0000-0000-000000000000",
                                    "GPU-bbbb0000-0000-0000-0000-000000000000"};

static void set_nvidia(const gantry_fake_control_t *control, uint32_t device, const char *pci,
                       const char *uuid) {
    gantry_fake_device_t settings;
    device_fixture_set_gpu(control, device, pci, uuid, 0);
    control->get_device(device, &settings);
    (void)snprintf(settings.vendor, sizeof settings.vendor, "NVIDIA Corporation");
    control->set_device(device, &settings);
}

/* The backend shows these cards of the machine ("20": the third, then the first). */
static void show(const gantry_fake_control_t *control, const char *cards) {
    control->set_device_count((uint32_t)strlen(cards));
    for (uint32_t i = 0; cards[i]; ++i)
        set_nvidia(control, i, addresses[cards[i] - '0'], uuids[cards[i] - '0']);
}

static int set_up(void **state) {
    (void)state;
    device_fixture_clear();
    if (!cuda) cuda = fake_module_control(FAKE_FILE("cuda", "cuda"));
    cuda->reset();
    return 0;
}

static int tear_down(void **state) {
    fake_expect_nothing_lives(cuda);
    return device_fixture_tear_down(state);
}

/* "20": the machine's cards behind /GPU:0, /GPU:1, ...; x for any other device. */
static const char *visible_cards(const device_fixture_t *f) {
    static char text[16];
    size_t used = 0;
    for (size_t i = 0; i < f->table.visible_count; ++i) {
        physical_device_t device = f->table.visible[i];
        if (strcmp(device->type, "CPU") == 0) continue;
        text[used] = 'x';
        for (int card = 0; card < 3; ++card) {
            if (strcmp(device->uuid, uuids[card]) == 0) text[used] = (char)('0' + card);
        }
        ++used;
    }
    text[used] = '\0';
    return text;
}

static void expect_cards(const device_fixture_t *f, const char *text, const char *cards) {
    if (strcmp(visible_cards(f), cards) != 0)
        fail_msg("%s: %s, not %s", text, visible_cards(f), cards);
}

static void set_variable(const char *name, const char *value) {
    if (value) {
        assert_int_equal(setenv(name, value, 1), 0);
    } else {
        (void)unsetenv(name);
    }
}

/* ---- CUDA is there ---- */

TEST(what_cuda_shows_is_what_is_visible) {
    static const struct {
        const char *text, *by_cuda, *by_other, *visible;
    } cases[] = {
        {NULL, "012", "012", "012"},
        {NULL, "210", "012", "012"}, /* without the variable, CUDA chooses its own order */
        {NULL, "01", "012", "012"},  /* too old for CUDA: the other view serves it */
        {"1", "1", "012", "1"},      /* the other driver does not obey */
        {"1", "1", "1", "1"},        /* it obeys: Gantry must not filter twice */
        {"-1", "", "012", ""},
        {"", "", "012", ""},
        {"GPU-cccc", "", "", ""},
        {"2,0", "20", "012", "20"},
        {"2,0", "20", "20", "20"},
        {"2,0", "20", "02", "20"},
        {"GPU-bbbb,GPU-aaaa1", "20", "012", "20"},
        {"0,2,-1,1", "02", "012", "02"},
        {"1,0", "1", "01", "1"}, /* Gantry takes CUDA's result as it is */
        {"0,1,2", "012", "012", "012"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        device_fixture_t f;
        set_variable("CUDA_VISIBLE_DEVICES", cases[i].text);
        show(cuda, cases[i].by_cuda);
        show(fake, cases[i].by_other);
        device_fixture_open(&f, WITH_CUDA, NULL);
        expect_cards(&f, cases[i].text ? cases[i].text : "not set", cases[i].visible);
        assert_int_equal(log_lines_with(&f.log, "CUDA_DEVICE_ORDER", ""), 0);
        device_fixture_close(&f);
    }
}

TEST(hidden_view_is_told_and_reached_by_no_name) {
    device_fixture_t f;
    gantry_status_t status;
    set_variable("CUDA_VISIBLE_DEVICES", "1");
    show(cuda, "1");
    show(fake, "012");
    device_fixture_open(&f, WITH_CUDA, NULL);
    assert_int_equal(log_lines_with(&f.log, "CUDA_VISIBLE_DEVICES hides ",
                                    "no device that CUDA shows is this card"),
                     2);
    assert_int_equal(gantry__device_table_freeze(&f.table, "this test"), GANTRY_OK);
    static const char *const names[] = {"fake:0", "fake:2", "GPU:1", "GPU-bbbb", "0000:17:00.0"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i) {
        if (device_fixture_find(&f, names[i], &status)) fail_msg("%s", names[i]);
    }
    assert_string_equal(device_fixture_find(&f, "GPU:0", NULL)->physical->alias, "cuda:0");
    assert_string_equal(device_fixture_find(&f, "GPU:0@fake", NULL)->physical->alias, "fake:1");
    device_fixture_close(&f);
}

TEST(our_list_counts_physical_cards_and_overrules_the_order) {
    static const struct {
        const char *ours, *visible;
    } cases[] = {{"0,1,2", "02"}, {"2,0", "20"},   {"1", ""},
                 {"^0", "2"},     {"cuda:0", "2"}, {NULL, "20"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        device_fixture_t f;
        set_variable("CUDA_VISIBLE_DEVICES", "2,0");
        set_variable("GANTRY_VISIBLE_DEVICES", cases[i].ours);
        show(cuda, "20");
        show(fake, "012");
        device_fixture_open(&f, WITH_CUDA, NULL);
        expect_cards(&f, cases[i].ours ? cases[i].ours : "not set", cases[i].visible);
        device_fixture_close(&f);
    }
}

TEST(cards_of_other_vendors_keep_their_places) {
    device_fixture_t f;
    set_variable("CUDA_VISIBLE_DEVICES", "1,0");
    show(cuda, "20");
    show(fake, "02");
    fake->set_device_count(3);
    /* another vendor's card, between the two */
    device_fixture_set_gpu(fake, 2, "0000:65:00.0", uuids[1], 0);
    device_fixture_open(&f, WITH_CUDA, NULL);
    expect_cards(&f, "1,0", "210");
    device_fixture_close(&f);
}

/* ---- devices of others ---- */

static void expect_no_effect(const char *text, const char *path, const char *wanted) {
    device_fixture_t f;
    int count = 0;
    set_variable("CUDA_VISIBLE_DEVICES", text);
    device_fixture_open(&f, path, NULL);
    assert_int_equal(gantry__device_table_freeze(&f.table, "this test"), GANTRY_OK);
    for (int i = 0; i < f.log.count && i < LOG_LINES; ++i) {
        if (!strstr(f.log.lines[i], " has no effect on ")) continue;
        ++count;
        if (!wanted || !strstr(f.log.lines[i], wanted) || f.log.levels[i] != GANTRY_LEVEL_INFO)
            fail_msg("%s: %s", text ? text : "not set", f.log.lines[i]);
    }
    if (count != (wanted != NULL)) fail_msg("%s: %d lines", text ? text : "not set", count);
    device_fixture_close(&f);
}

TEST(what_the_variable_does_not_reach_is_logged_once) {
    fake->set_device_count(0);
    cuda->set_device_count(0);
    expect_no_effect(NULL, NULL, NULL);
    expect_no_effect(
        "0", NULL,
        "=\"0\" has no effect on cpu:0: it selects NVIDIA cards; GANTRY_VISIBLE_DEVICES "
        "selects GPUs of every backend");
    expect_no_effect("", NULL, "=\"\" has no effect on cpu:0: ");
    fake->set_device_count(2);
    device_fixture_set_gpu(fake, 0, addresses[0], uuids[0], 0);
    device_fixture_set_gpu(fake, 1, addresses[1], uuids[1], 0);
    expect_no_effect(NULL, NULL, NULL);
    expect_no_effect("-1", NULL, "=\"-1\" has no effect on cpu:0, fake:0, fake:1: ");
    set_nvidia(fake, 0, addresses[0], uuids[0]); /* a card of both kinds */
    expect_no_effect("0", NULL, "=\"0\" has no effect on fake:1: ");
    show(fake, "012"); /* cards of NVIDIA only: the processor is no surprise */
    expect_no_effect("0", NULL, NULL);
    show(cuda, "1");
    expect_no_effect("1", WITH_CUDA, NULL);
    /* the driver is there and hides all of its cards */
    cuda->set_open_result(GANTRY_UNAVAILABLE, "it sees no card (CUDA_VISIBLE_DEVICES=\"-1\")");
    fake->set_device_count(0);
    expect_no_effect("-1", WITH_CUDA, NULL);
    fake->reset();
    fake->set_device_count(1);
    device_fixture_set_gpu(fake, 0, addresses[0], uuids[0], 0);
    expect_no_effect("-1", WITH_CUDA, "=\"-1\" has no effect on fake:0: ");
}

TEST(many_devices_are_shortened) {
    fake->set_device_count(8);
    for (uint32_t i = 0; i < 8; ++i) device_fixture_set_gpu(fake, i, "", "", 0);
    expect_no_effect("0", NULL,
                     "on cpu:0, fake:0, fake:1, fake:2, fake:3, fake:4, ...: it selects");
}

/* ---- CUDA is not there ---- */

typedef struct alone_t {
    const char *text, *shown, *visible;
    bool has_remark; /* the reason why the list ended */
    bool has_caveat; /* of the cards' order */
} alone_t;

static const alone_t alone[] = {
    {NULL, "012", "012", false, false},
    {"", "012", "", true, false},
    {"\"\"", "012", "", true, false},
    {"-1", "012", "", true, false},
    {" '-1' ", "012", "", true, false},
    {"0", "012", "0", false, true},
    {"2,0", "012", "20", false, true},
    {"2,0", "210", "20", false, true}, /* by address, in any order of the driver */
    {"\"1\"", "012", "1", false, true},
    {" 1 , 2 ", "012", "12", false, true},
    {"0,2,-1,1", "012", "02", true, true},
    {"0,abc,1", "012", "0", true, true},
    {"0,,1", "012", "0", true, true},
    {"7", "012", "", true, true},
    {"0,1,2", "012", "012", false, true},
    {"2,1,0", "012", "210", false, true},
    {"GPU-bbbb", "012", "2", false, false},
    {"gpu-BBBB0000-0000-0000-0000-000000000000", "012", "2", false, false},
    {"GPU-bbbb,GPU-aaaa1", "012", "20", false, false},
    /* the driver has obeyed: the result is the same */
    {"GPU-bbbb,GPU-aaaa1", "20", "20", false, false},
    {"GPU-aaaa", "012", "", true, false}, /* two UUIDs begin like this */
    {"GPU-cccc", "012", "", true, false},
    {"GPU-bbbb,0", "012", "20", false, true},
    {"MIG-GPU-bbbb0000-0000-0000-0000-000000000000/1/0", "012", "", true, false},
    /* a part of a card, although the record does not say so */
    {"MIG-bbbb0000-0000-0000-0000-000000000000", "012", "2", false, false},
    {"MIG-cccc0000-0000-0000-0000-000000000000", "012", "", true, false},
    {"0,0", "012", "", true, true}, /* the variable's meaning is undefined here: no card is shown */
    /* no more cards than indices, and one of the first indices exceeds the cards: the driver has
     * obeyed */
    {"1", "1", "1", false, false},
    {"2", "2", "2", false, false},
    {"1,2", "12", "12", false, false},
    {"0,2", "02", "02", false, false},
    {"2,0", "20", "20", false, false}, /* in the driver's order */
    {"2,7", "2", "2", false, false},   /* the driver ended the list there */
    {"2,1,7", "21", "21", false, false},
    /* one card: a driver that ignores the variable would have shown both */
    {"1,0", "1", "", true, false},
    {"\"2\"", "2", "2", false, false},
    {"2,-1", "2", "2", false, false},
    {"0", "0", "0", false, false},
    {"0,5", "0", "0", true, false}, /* one card: the list is wrong and ends */
};

TEST(list_is_applied_where_cuda_cannot_be_asked) {
    for (size_t i = 0; i < sizeof alone / sizeof alone[0]; ++i) {
        const alone_t *it = &alone[i];
        device_fixture_t f;
        set_variable("CUDA_VISIBLE_DEVICES", it->text);
        show(fake, it->shown);
        device_fixture_open(&f, NULL, NULL);
        expect_cards(&f, it->text ? it->text : "not set", it->visible);
        bool has_remark =
            log_lines_with(&f.log, "CUDA_VISIBLE_DEVICES", "ends the list") +
                log_lines_with(&f.log, "CUDA_VISIBLE_DEVICES is empty", "") +
                log_lines_with(&f.log, "CUDA_VISIBLE_DEVICES", "no NVIDIA card is visible") >
            0;
        bool has_caveat = log_lines_with(&f.log, "its indices were counted by PCI address", "") > 0;
        if (has_remark != it->has_remark) fail_msg("%s: remark", it->text);
        if (has_caveat != it->has_caveat) fail_msg("%s: caveat", it->text);
        device_fixture_close(&f);
    }
}

TEST(order_by_address_needs_no_caveat) {
    static const struct {
        const char *order;
        int warnings;
    } cases[] = {{"PCI_BUS_ID", 0}, {"FASTEST_FIRST", 1}, {NULL, 1}};
    for (size_t i = 0; i < 3; ++i) {
        device_fixture_t f;
        set_variable("CUDA_VISIBLE_DEVICES", "1");
        set_variable("CUDA_DEVICE_ORDER", cases[i].order);
        show(fake, "012");
        device_fixture_open(&f, NULL, NULL);
        expect_cards(&f, "1", "1");
        assert_int_equal(log_lines_with(&f.log, "counted by PCI address", ""), cases[i].warnings);
        device_fixture_close(&f);
    }
}

TEST(cuda_that_cannot_be_opened_cannot_be_asked) {
    device_fixture_t f;
    set_variable("CUDA_VISIBLE_DEVICES", "GPU-bbbb");
    cuda->set_open_result(GANTRY_UNAVAILABLE, "the driver is too old");
    show(fake, "012");
    device_fixture_open(&f, WITH_CUDA, NULL);
    expect_cards(&f, "GPU-bbbb", "2");
    assert_int_equal(
        log_lines_with(&f.log, "applied without CUDA", "1 of 3 NVIDIA cards are visible"), 1);
    device_fixture_close(&f);
}

TEST(mig_device_is_shown_by_its_uuid) {
    device_fixture_t f;
    static const char mig[] = "MIG-b8d5c1b2-1111-2222-3333-444444444444";
    fake->set_device_count(2);
    set_nvidia(fake, 0, addresses[0], uuids[0]);
    set_nvidia(fake, 1, addresses[1], mig);
    set_variable("CUDA_VISIBLE_DEVICES", "MIG-b8d5");
    device_fixture_open(&f, NULL, NULL); /* the part's own UUID */
    expect_cards(&f, "MIG-b8d5", "x");
    device_fixture_close(&f);
    cuda->set_device_count(1); /* CUDA shows the part under the whole card's address */
    set_nvidia(cuda, 0, addresses[1], mig);
    device_fixture_open(&f, WITH_CUDA, NULL);
    expect_cards(&f, "MIG-b8d5", "x");
    assert_string_equal(f.table.visible[f.table.visible_count - 1]->alias, "cuda:0");
    assert_ptr_equal(device_fixture_physical(&f, "fake:1")->served_by,
                     device_fixture_physical(&f, "cuda:0"));
    device_fixture_close(&f);
}

TEST(memory_running_out_leaks_nothing) {
    gantry_status_t status = GANTRY_RESOURCE_EXHAUSTED;
    set_variable("CUDA_VISIBLE_DEVICES", "2,0");
    show(fake, "012");
    for (long at = 0; status != GANTRY_OK; ++at) {
        device_fixture_t f;
        assert_true(at < 1000);
        status = device_fixture_try_open(&f, NULL, NULL, at);
        if (status != GANTRY_OK) {
            assert_int_equal(status, GANTRY_RESOURCE_EXHAUSTED);
            continue;
        }
        expect_cards(&f, "2,0", "20");
        device_fixture_close(&f);
    }
}

int main(void) { return test_main_each(set_up, tear_down); }
