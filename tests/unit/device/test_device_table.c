/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: The device table gives each fake card one name and one place in the order; it resolves
 * aliases, lists devices and starts logical ones.
 * Promise: A device is found by each of its names, aliases, UUIDs and PCI addresses, and a card
 * that two backends see is one device. */
#define _XOPEN_SOURCE 700

#include "device_fixture.h"
#include "test.h"

#include "base/text.h"

#define BOTH FAKE_FOLDER("fake") ":" FAKE_FOLDER("other")

static void expect_alias(const device_fixture_t *f, const char *name, const char *alias) {
    assert_string_equal(device_fixture_physical(f, name)->alias, alias);
}

static void freeze(device_fixture_t *f) {
    assert_int_equal(gantry__device_table_freeze(&f->table, "this test"), GANTRY_OK);
}

/* ---- order and names ---- */

TEST(devices_are_ordered_discrete_then_integrated_by_address) {
    device_fixture_t f;
    fake->set_device_count(6);
    device_fixture_set_gpu(fake, 0, "0000:00:02.0", "", GANTRY_DEVICE_INTEGRATED);
    device_fixture_set_gpu(fake, 1, "0000:65:00.0", "", 0);
    device_fixture_set_gpu(fake, 2, "0000:17:00.0", "", 0);
    device_fixture_set_gpu(fake, 3, "", "", 0);
    device_fixture_set_gpu(fake, 4, "0001:01:00.0", "", 0);
    device_fixture_set_gpu(fake, 5, "", "", 0);
    device_fixture_open(&f, NULL, NULL);
    expect_alias(&f, "/physical_device:CPU:0", "cpu:0");
    assert_ptr_equal(f.table.physical[0], device_fixture_physical(&f, "cpu:0"));
    expect_alias(&f, "/physical_device:GPU:0", "fake:2");
    expect_alias(&f, "/physical_device:GPU:1", "fake:1");
    expect_alias(&f, "/physical_device:GPU:2", "fake:4");
    expect_alias(&f, "/physical_device:GPU:3",
                 /* cards without an address follow those with one, in the backend's order */
                 "fake:3");
    expect_alias(&f, "/physical_device:GPU:4", "fake:5");
    expect_alias(&f, "/physical_device:GPU:5", "fake:0");
    for (size_t i = 0; i < f.table.physical_count; ++i)
        assert_int_equal(f.table.physical[i]->position, i);
    device_fixture_close(&f);
}

TEST(accelerators_have_their_own_numbers) {
    device_fixture_t f;
    fake->set_device_count(3);
    device_fixture_set_type(fake, 0, GANTRY_DEVICE_TYPE_ACCELERATOR);
    device_fixture_set_type(fake, 2, GANTRY_DEVICE_TYPE_ACCELERATOR);
    device_fixture_open(&f, NULL, NULL);
    expect_alias(&f, "/physical_device:GPU:0", "fake:1");
    expect_alias(&f, "/physical_device:ACCELERATOR:0", "fake:0");
    expect_alias(&f, "/physical_device:ACCELERATOR:1", "fake:2");
    device_fixture_close(&f);
}

TEST(machine_without_gpu_has_its_cpu) {
    device_fixture_t f;
    fake->set_device_count(0);
    device_fixture_open(&f, NULL, NULL);
    assert_string_equal(f.table.physical[0]->name, "/physical_device:CPU:0");
    freeze(&f);
    assert_int_equal(f.table.listed_count, f.table.physical_count);
    assert_string_equal(f.table.logical[0]->full_name,
                        "/job:localhost/replica:0/task:0/device:CPU:0");
    device_fixture_close(&f);
}

TEST(device_that_does_not_answer_is_left_out) {
    device_fixture_t f;
    gantry_fake_device_t settings;
    fake->set_device_count(3);
    fake->get_device(1, &settings);
    settings.info_status = GANTRY_INTERNAL;
    fake->set_device(1, &settings);
    device_fixture_open(&f, NULL, NULL);
    expect_alias(&f, "/physical_device:GPU:0", "fake:0");
    expect_alias(&f, "/physical_device:GPU:1", "fake:2"); /* the backend's own number stays */
    assert_int_equal(log_lines_with(&f.log, "Device fake:1 is left out", "does not say what it is"),
                     1);
    device_fixture_close(&f);
    settings.info_status = GANTRY_RESOURCE_EXHAUSTED;
    fake->set_device(1, &settings);
    assert_int_equal(device_fixture_try_open(&f, NULL, NULL, -1), GANTRY_RESOURCE_EXHAUSTED);
}

/* ---- one card, two views ---- */

TEST(card_seen_by_two_backends_is_one_device) {
    device_fixture_t f;
    fake->set_device_count(2);
    device_fixture_set_gpu(fake, 0, "0000:AF:00.0", "", 0);
    device_fixture_set_gpu(fake, 1, "0000:b0:00.0", "", 0);
    device_fixture_set_gpu(other, 0, "0000:af:00.0", "GPU-11111111-0000-0000-0000-000000000000", 0);
    device_fixture_open(&f, BOTH, NULL);
    /* the later view has the higher rank */
    expect_alias(&f, "/physical_device:GPU:0", "other:0");
    expect_alias(&f, "/physical_device:GPU:1", "fake:1");
    physical_device_t view = device_fixture_physical(&f, "fake:0");
    assert_false(view->listed);
    assert_int_equal(view->number, -1);
    assert_string_equal(view->name, "fake:0");
    assert_ptr_equal(view->served_by, device_fixture_physical(&f, "other:0"));
    assert_non_null(strstr(view->note, "another view of the card that other:0 serves"));
    device_fixture_close(&f);
}

TEST(rank_decides_who_serves) {
    device_fixture_t f;
    device_fixture_set_gpu(fake, 0, "0000:af:00.0", "", 0);
    device_fixture_set_gpu(other, 0, "0000:af:00.0", "", 0);
    fake->set_rank(70);
    device_fixture_open(&f, BOTH, NULL);
    expect_alias(&f, "/physical_device:GPU:0", "fake:0");
    assert_false(device_fixture_physical(&f, "other:0")->listed);
    device_fixture_close(&f);
}

TEST(views_are_joined_by_uuid_when_an_address_is_missing) {
    device_fixture_t f;
    static const char uuid[] = "GPU-11111111-2222-3333-4444-555555555555";
    device_fixture_set_gpu(fake, 0, "", uuid, 0);
    device_fixture_set_gpu(other, 0, "0000:af:00.0", uuid, 0);
    device_fixture_open(&f, BOTH, NULL);
    assert_false(device_fixture_physical(&f, "fake:0")->listed);
    device_fixture_close(&f);
    /* if both addresses are known, they decide */
    device_fixture_set_gpu(fake, 0, "0000:b0:00.0", uuid, 0);
    device_fixture_open(&f, BOTH, NULL);
    assert_true(device_fixture_physical(&f, "fake:0")->listed);
    device_fixture_close(&f);
}

TEST(different_cards_are_not_joined) {
    static const char *const addresses[][2] = {
        /* another function: a part of a card is a device of its own */
        {"0000:af:00.0", "0000:af:00.1"},
        {"0000:af:00.0", "0001:af:00.0"},
        {"", ""},
        {"nonsense", "nonsense"},
    };
    for (size_t i = 0; i < sizeof addresses / sizeof addresses[0]; ++i) {
        device_fixture_t f;
        device_fixture_set_gpu(fake, 0, addresses[i][0], "", 0);
        device_fixture_set_gpu(other, 0, addresses[i][1], "", 0);
        device_fixture_open(&f, BOTH, NULL);
        assert_true(device_fixture_physical(&f, "fake:0")->listed);
        assert_true(device_fixture_physical(&f, "other:0")->listed);
        device_fixture_close(&f);
    }
}

TEST(two_devices_of_one_backend_are_never_joined) {
    device_fixture_t f;
    fake->set_device_count(2);
    device_fixture_set_gpu(fake, 0, "0000:af:00.0", "GPU-1", 0);
    device_fixture_set_gpu(fake, 1, "0000:af:00.0", "GPU-1", 0);
    device_fixture_open(&f, NULL, NULL);
    assert_true(device_fixture_physical(&f, "fake:0")->listed &&
                device_fixture_physical(&f, "fake:1")->listed);
    device_fixture_close(&f);
}

TEST(two_drivers_of_one_backend_show_one_card) {
    for (int made = 0; made < 3; ++made) {
        device_fixture_t f;
        fake->set_device_count(3);
        for (uint32_t i = 0; i < 3; ++i) {
            gantry_fake_device_t settings;
            device_fixture_set_gpu(fake, i, "0000:af:00.0", "",
                                   made == (int)i ? GANTRY_DEVICE_MAKERS_DRIVER : 0);
            fake->get_device(i, &settings);
            settings.driver = i;
            fake->set_device(i, &settings);
        }
        /* they are views of the same card behind another backend, too */
        device_fixture_set_gpu(other, 0, "0000:af:00.0", "", 0);
        device_fixture_open(&f, BOTH, NULL);
        assert_int_equal(f.table.physical_count, 5); /* plus the CPU */
        physical_device_t served = device_fixture_physical(&f, "fake:1")->served_by;
        assert_string_equal(served->alias, "other:0");
        device_fixture_close(&f);
        device_fixture_open(&f, NULL, NULL);
        char serves[8];
        (void)snprintf(serves, sizeof serves, "fake:%d", made);
        expect_alias(&f, "/physical_device:GPU:0", serves);
        physical_device_t card = device_fixture_physical(&f, serves);
        for (size_t i = 0; i < f.table.physical_count; ++i) {
            physical_device_t view = f.table.physical[i];
            if (view != card && strcmp(view->backend->name, "fake") == 0)
                assert_ptr_equal(view->served_by, card);
        }
        device_fixture_close(&f);
    }
}

/* Two backends report their devices. "00 11" means that fake:0 and other:0 are one card, and fake:1
 * and other:1 are another. */
typedef struct match_case_t {
    const char *of_fake[2][2], *of_other[2][2]; /* PCI address, UUID; NULL: no such device */
    const char *joined;
} match_case_t;

#define A "0000:af:00.0"
#define B "0000:b0:00.0"
#define U "GPU-11111111-2222-3333-4444-555555555555"
#define V "GPU-99999999-2222-3333-4444-555555555555"
#define M "MIG-11111111-2222-3333-4444-555555555555"
#define ZERO "GPU-00000000-0000-0000-0000-000000000000"

static const match_case_t match_cases[] = {
    {{{A, U}, {B, V}}, {{B, V}, {A, U}}, "01 10"},
    {{{A, ""}, {B, ""}}, {{"af:00.0", ""}, {"PCI:0000:B0:00.0", ""}}, "00 11"},
    {{{A, U}}, {{A, V}}, "00"}, /* if both have an address, it decides */
    {{{A, U}}, {{B, U}}, ""},
    /* the "GPU-" prefix may be missing */
    {{{"", U}}, {{A, "11111111-2222-3333-4444-555555555555"}}, "00"},
    {{{"", "gpu-ABCDEF11-2222-3333-4444-555555555555"}},
     {{"", "GPU-abcdef11-2222-3333-4444-555555555555"}},
     "00"},
    {{{"", "GPU-11111111"}}, {{"", U}}, ""}, /* a prefix does not match */
    {{{"", U}}, {{"", M}}, ""},              /* a part is not the card */
    {{{"", M}}, {{"", "mig-11111111-2222-3333-4444-555555555555"}}, "00"},
    {{{A, M}}, {{A, U}}, "00"},          /* one part alone is shown under its card */
    {{{"", ZERO}}, {{"", ZERO}}, ""},    /* zeros identify nothing */
    {{{"", U}, {"", U}}, {{"", U}}, ""}, /* two chips with one UUID: ambiguous */
    {{{A, U}, {B, U}}, {{"", U}}, ""},
    {{{A, U}, {B, U}}, {{B, U}, {A, U}}, "01 10"}, /* but their addresses differ */
    {{{A, ""}, {A, ""}}, {{A, ""}}, ""},           /* two partitions with one address */
    {{{A, U}, {A, V}}, {{A, V}, {A, U}}, "01 10"}, /* their UUIDs differ */
    {{{A, U}, {A, V}}, {{A, V}}, "10"},
    {{{A, U}, {A, V}}, {{A, ""}}, ""},
    {{{A, U}, {A, V}}, {{"", V}}, "10"},
    {{{A, U}, {A, U}}, {{A, U}}, ""},
    {{{A, ""}}, {{"", U}}, ""}, /* no property to compare */
};

static uint32_t set_views(const gantry_fake_control_t *control, const char *const views[2][2]) {
    uint32_t count = 0;
    for (; count < 2 && views[count][0]; ++count)
        device_fixture_set_gpu(control, count, views[count][0], views[count][1], 0);
    control->set_device_count(count);
    return count;
}

TEST(views_are_matched_one_to_one) {
    for (size_t i = 0; i < sizeof match_cases / sizeof match_cases[0]; ++i) {
        device_fixture_t f;
        char joined[32] = "";
        size_t used = 0;
        uint32_t count = set_views(fake, match_cases[i].of_fake);
        (void)set_views(other, match_cases[i].of_other);
        device_fixture_open(&f, BOTH, NULL);
        for (uint32_t view = 0; view < count; ++view) {
            char alias[8];
            (void)snprintf(alias, sizeof alias, "fake:%u", view);
            physical_device_t card = device_fixture_physical(&f, alias)->served_by;
            if (card)
                used += (size_t)snprintf(joined + used, sizeof joined - used, "%s%u%u",
                                         used ? " " : "", view, card->backend_index);
        }
        if (strcmp(joined, match_cases[i].joined) != 0) fail_msg("case %zu: \"%s\"", i, joined);
        device_fixture_close(&f);
    }
}

TEST(equal_ranks_leave_the_card_to_the_first) {
    device_fixture_t f;
    device_fixture_set_gpu(fake, 0, A, "", 0);
    device_fixture_set_gpu(other, 0, A, "", 0);
    fake->set_rank(60);
    device_fixture_open(&f, BOTH, NULL);
    expect_alias(&f, "/physical_device:GPU:0", "fake:0");
    assert_ptr_equal(device_fixture_physical(&f, "other:0")->served_by,
                     device_fixture_physical(&f, "fake:0"));
    device_fixture_close(&f);
}

/* The view in the middle has an address and a UUID, the outer two have one each. All three are one
 * card, which cuda:0 serves. */
TEST(third_view_is_joined_through_another) {
    device_fixture_t f;
    const gantry_fake_control_t *cuda = fake_module_control(FAKE_FILE("cuda", "cuda"));
    cuda->reset();
    device_fixture_set_gpu(cuda, 0, A, "", 0);
    device_fixture_set_gpu(other, 0, A, U, 0);
    device_fixture_set_gpu(fake, 0, "", U, 0);
    device_fixture_open(&f, BOTH ":" FAKE_FOLDER("cuda"), NULL);
    expect_alias(&f, "/physical_device:GPU:0", "cuda:0");
    physical_device_t card = device_fixture_physical(&f, "cuda:0");
    assert_ptr_equal(device_fixture_physical(&f, "other:0")->served_by, card);
    assert_ptr_equal(device_fixture_physical(&f, "fake:0")->served_by, card);
    device_fixture_close(&f);
    fake_expect_nothing_lives(cuda);
}

#undef A
#undef B
#undef U
#undef V
#undef M
#undef ZERO

/* ---- CPUs of other backends ---- */

TEST(cpu_of_another_backend_is_not_listed) {
    device_fixture_t f;
    fake->set_device_count(2);
    device_fixture_set_type(fake, 0, GANTRY_DEVICE_TYPE_CPU);
    device_fixture_open(&f, NULL, NULL);
    physical_device_t view = device_fixture_physical(&f, "fake:0");
    assert_false(view->listed);
    assert_string_equal(view->type, "CPU");
    assert_non_null(strstr(view->note, "GANTRY_OPENCL_CPU=gpu presents it as a GPU"));
    assert_false(gantry__device_is_visible(&f.table, view));
    expect_alias(&f, "/physical_device:GPU:0", "fake:1");
    freeze(&f);
    const gantry_logical_device_t *device = device_fixture_find(&f, "fake:0", NULL);
    assert_non_null(device);
    assert_int_equal(device->index, -1);
    assert_string_equal(device->name, "fake:0");
    assert_int_equal(f.table.logical_count, f.table.listed_count + 1);
    assert_string_equal(device_fixture_find(&f, "CPU:0", NULL)->physical->alias, "cpu:0");
    device_fixture_close(&f);
}

TEST(cpu_is_a_gpu_by_option_or_environment) {
    static const struct {
        gantry_choice_t option;
        const char *environment;
        bool is_gpu;
    } cases[] = {
        {GANTRY_DEFAULT, NULL, false}, {GANTRY_DEFAULT, "gpu", true},
        {GANTRY_DEFAULT, "GPU", true}, {GANTRY_DEFAULT, "off", false},
        {GANTRY_DEFAULT, "", false},   {GANTRY_ON, NULL, true},
        {GANTRY_ON, "off", true},      {GANTRY_OFF, "gpu", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        device_fixture_t f;
        gantry_runtime_options_t options = {.struct_size = sizeof options,
                                            .opencl_cpu_as_gpu = cases[i].option};
        if (cases[i].environment) {
            assert_int_equal(setenv("GANTRY_OPENCL_CPU", cases[i].environment, 1), 0);
        } else {
            (void)unsetenv("GANTRY_OPENCL_CPU");
        }
        fake->set_device_count(2);
        device_fixture_set_type(fake, 0, GANTRY_DEVICE_TYPE_CPU);
        device_fixture_set_gpu(fake, 1, "", "", GANTRY_DEVICE_INTEGRATED);
        device_fixture_open(&f, NULL, &options);
        physical_device_t view = device_fixture_physical(&f, "fake:0");
        if (view->listed != cases[i].is_gpu) fail_msg("case %d", (int)i);
        assert_string_equal(view->type, cases[i].is_gpu ? "GPU" : "CPU");
        if (cases[i].is_gpu) {
            /* listed after the real ones */
            assert_string_equal(view->name, "/physical_device:GPU:1");
            assert_non_null(
                strstr(view->note, "presented as a GPU, as GANTRY_OPENCL_CPU=gpu requests"));
        }
        device_fixture_close(&f);
    }
}

TEST(malformed_opt_in_is_refused) {
    device_fixture_t f;
    assert_int_equal(setenv("GANTRY_OPENCL_CPU", "yes please", 1), 0);
    expect_failure(device_fixture_try_open(&f, NULL, NULL, -1), GANTRY_INVALID_ARGUMENT,
                   "GANTRY_OPENCL_CPU is \"yes please\"; accepted are");
}

/* ---- identities ---- */

TEST(device_without_uuid_gets_a_stable_one) {
    char first[2][64];
    for (int round = 0; round < 2; ++round) {
        device_fixture_t f;
        fake->set_device_count(2);
        device_fixture_open(&f, NULL, NULL);
        for (int i = 0; i < 2; ++i) {
            char alias[8];
            (void)snprintf(alias, sizeof alias, "fake:%d", i);
            const char *uuid = device_fixture_physical(&f, alias)->uuid;
            unsigned part[5];
            int length = 0;
            assert_int_equal(sscanf(uuid, "GPU-%8x-%4x-%4x-%4x-%12x%n", &part[0], &part[1],
                                    &part[2], &part[3], &part[4], &length),
                             5);
            assert_int_equal(strlen(uuid), 40);
            if (round == 0) (void)snprintf(first[i], sizeof first[i], "%s", uuid);
            assert_string_equal(uuid, first[i]);
        }
        assert_string_not_equal(first[0], first[1]);
        assert_memory_equal(device_fixture_physical(&f, "cpu:0")->uuid, "CPU-", 4);
        device_fixture_close(&f);
    }
}

TEST(given_uuid_is_kept) {
    device_fixture_t f;
    device_fixture_set_gpu(fake, 0, "", "GPU-8932f937-d72c-4106-c12f-20bd9faed9f6", 0);
    device_fixture_open(&f, NULL, NULL);
    assert_string_equal(device_fixture_physical(&f, "fake:0")->uuid,
                        "GPU-8932f937-d72c-4106-c12f-20bd9faed9f6");
    device_fixture_close(&f);
}

/* ---- look-up ---- */

/* fake:0 is the second view of GPU:0, which other:0 serves; fake:1 is GPU:1. */
static void open_three_views(device_fixture_t *f) {
    fake->set_device_count(2);
    device_fixture_set_gpu(fake, 0, "0000:17:00.0", "GPU-8932f937-d72c-4106-c12f-20bd9faed9f6", 0);
    device_fixture_set_gpu(fake, 1, "0000:65:00.0", "GPU-8932aaaa-d72c-4106-c12f-20bd9faed9f6", 0);
    device_fixture_set_gpu(other, 0, "0000:17:00.0", "GPU-8932f937-d72c-4106-c12f-20bd9faed9f6", 0);
    device_fixture_open(f, BOTH, NULL);
    freeze(f);
}

TEST(every_spelling_finds_its_device) {
    static const char *const cases[][2] = {
        {"GPU:0", "other:0"},
        {"/gpu:0", "other:0"},
        {"/device:GPU:1", "fake:1"},
        {"gpu:1", "fake:1"},
        {"/job:localhost/replica:0/task:0/device:GPU:1", "fake:1"},
        {"/physical_device:GPU:1", "fake:1"},
        {"other:0", "other:0"},
        {"OTHER:0", "other:0"},
        {"other", "other:0"},
        {"fake:0", "fake:0"},
        {"fake:1", "fake:1"},
        {"GPU:0@other", "other:0"},
        {"GPU:0@fake", "fake:0"}, /* the other view of that card */
        {"GPU:1@fake", "fake:1"},
        {"cpu:0", "cpu:0"},
        {"CPU:0", "cpu:0"},
        {"GPU-8932aaaa", "fake:1"},
        {"UUID:8932a", "fake:1"},
        {"GPU-8932f937", "other:0"}, /* two views of one card: the serving view */
        {"0000:65:00.0", "fake:1"},
        {"65:00.0", "fake:1"},
        {"PCI:0000:65:00.0", "fake:1"},
        {"0000:17:00.0", "other:0"},
    };
    device_fixture_t f;
    open_three_views(&f);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        const gantry_logical_device_t *device = device_fixture_find(&f, cases[i][0], NULL);
        if (!device) fail_msg("%s: %s", cases[i][0], gantry__message());
        if (strcmp(device->physical->alias, cases[i][1]) != 0)
            fail_msg("%s: %s", cases[i][0], device->physical->alias);
    }
    device_fixture_close(&f);
}

TEST(look_up_of_nothing_or_several_fails) {
    static const struct {
        const char *text;
        gantry_status_t status;
        const char *message;
    } cases[] = {
        {"GPU:2", GANTRY_NOT_FOUND,
         "GPU:2 unknown device. All available devices [/job:localhost/replica:0/task:0/device:CPU:0, /job:localhost/replica:0/task:0/device:GPU:0, /job:localhost/replica:0/task:0/device:GPU:1]."},
        {"/job:worker/device:GPU:0", GANTRY_NOT_FOUND, "unknown device"},
        {"/replica:1/device:GPU:0", GANTRY_NOT_FOUND, "unknown device"},
        {"/task:1/device:GPU:0", GANTRY_NOT_FOUND, "unknown device"},
        {"/device:TPU:0", GANTRY_NOT_FOUND, "/device:TPU:0 unknown device."},
        {"fake:2", GANTRY_NOT_FOUND, "fake:2 unknown device."},
        {"other:1", GANTRY_NOT_FOUND, "unknown device"},
        {"GPU:1@other", GANTRY_NOT_FOUND, "unknown device"},
        {"/physical_device:GPU:2", GANTRY_NOT_FOUND, "unknown device"},
        {"GPU-0000", GANTRY_NOT_FOUND, "unknown device"},
        {"0000:66:00.0", GANTRY_NOT_FOUND, "unknown device"},
        {"GPU", GANTRY_INVALID_ARGUMENT, "Multiple devices match the provided string 'GPU'"},
        {"", GANTRY_INVALID_ARGUMENT, "Multiple devices match"},
        {"fake", GANTRY_INVALID_ARGUMENT, "Multiple devices match"},
        {"GPU-8932", GANTRY_INVALID_ARGUMENT, "Multiple devices match"},
        {"GPU:-1", GANTRY_INVALID_ARGUMENT, "GPU:-1"},
        {"GPU:0/extra", GANTRY_INVALID_ARGUMENT, "column"},
        {"opencl:0", GANTRY_NOT_FOUND, "Backend opencl is not used: "},
        {"nobody:0", GANTRY_INVALID_ARGUMENT, "nobody:0"}, /* no backend has this name */
    };
    device_fixture_t f;
    open_three_views(&f);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        gantry_status_t status;
        const gantry_logical_device_t *device = device_fixture_find(&f, cases[i].text, &status);
        if (device) fail_msg("%s finds %s", cases[i].text, device->full_name);
        if (status != cases[i].status || !strstr(gantry__message(), cases[i].message)) {
            fail_msg("%s: %s: %s", cases[i].text, gantry_status_name(status), gantry__message());
        }
    }
    device_fixture_close(&f);
}

TEST(names_in_a_message_are_cut_to_fit) {
    device_fixture_t f;
    fake->set_device_count(8);
    device_fixture_open(&f, NULL, NULL);
    freeze(&f);
    char text[16];
    gantry__device_table_format_names(&f.table, text, sizeof text);
    assert_string_equal(text, "/job:localhost/");
    gantry_status_t status;
    assert_null(device_fixture_find(&f, "GPU:99", &status));
    assert_int_equal(status, GANTRY_NOT_FOUND);
    device_fixture_close(&f);
}

/* ---- details ---- */

TEST(details_tell_what_the_backend_said) {
    device_fixture_t f;
    gantry_fake_device_t settings;
    device_fixture_set_gpu(fake, 0, "PCI:af:00.0", "", 0);
    fake->get_device(0, &settings);
    settings.largest_allocation_bytes = 4096;
    settings.alignment_bytes = 1024;
    settings.dtype_mask = 1u << GANTRY_FLOAT32;
    fake->set_device(0, &settings);
    device_fixture_open(&f, NULL, NULL);
    physical_device_t device = device_fixture_physical(&f, "fake:0");
    gantry_device_details_t details = {.struct_size = sizeof details};
    gantry__device_details(&f.table, device, &details);
    assert_string_equal(details.name, "/physical_device:GPU:0");
    assert_string_equal(details.type, "GPU");
    assert_string_equal(details.alias, "fake:0");
    assert_string_equal(details.backend, "fake");
    assert_string_equal(details.hardware_name, "Fake Device 0");
    assert_string_equal(details.vendor, "Fake Vendor");
    assert_string_equal(details.driver_version, "1.0");
    assert_string_equal(details.platform, "Fake Platform");
    assert_string_equal(details.pci_address, "0000:af:00.0");
    assert_string_equal(details.uuid, device->uuid);
    assert_string_equal(details.compute_capability, "");
    assert_string_equal(details.note, "");
    assert_int_equal(details.total_bytes, 64 << 20);
    assert_int_equal(details.largest_allocation_bytes, 4096);
    assert_int_equal(details.alignment_bytes, 1024);
    assert_int_equal(details.local_memory_bytes, 32768);
    assert_int_equal(details.compute_units, 4);
    assert_int_equal(details.max_work_group_size, 256);
    assert_int_equal(details.native_vector_width, 1);
    assert_false(details.float64);
    assert_true(details.visible && details.listed);
    device_fixture_close(&f);
}

/* ---- freeze ---- */

TEST(freeze_makes_logical_devices_once) {
    device_fixture_t f;
    fake->set_device_count(2);
    device_fixture_open(&f, NULL, NULL);
    assert_int_equal(f.table.logical_count, 0);
    freeze(&f);
    gantry_logical_device_t *const *before = f.table.logical;
    assert_int_equal(gantry__device_table_freeze(&f.table, "somebody else"), GANTRY_OK);
    assert_ptr_equal(f.table.logical, before);
    assert_string_equal(f.table.frozen_by, "this test");
    assert_int_equal(f.table.listed_count, 3);
    assert_string_equal(f.table.logical[1]->name, "/device:GPU:0");
    assert_string_equal(f.table.logical[2]->full_name,
                        "/job:localhost/replica:0/task:0/device:GPU:1");
    assert_int_equal(f.table.logical[2]->index, 1);
    assert_int_equal(fake->calls("device_open"), 0); /* no device is open yet */
    device_fixture_close(&f);
}

/* A backend opens its libraries to report their names. */
TEST(freeze_asks_for_libraries_only_when_somebody_reads_them) {
    for (int is_read = 0; is_read < 2; ++is_read) {
        device_fixture_t f;
        device_fixture_open(&f, NULL, NULL);
        f.log.log.level = is_read ? GANTRY_LEVEL_INFO : GANTRY_LEVEL_WARNING;
        uint64_t before = fake->calls("libraries");
        freeze(&f);
        assert_int_equal(fake->calls("libraries") - before, is_read);
        device_fixture_close(&f);
    }
}

TEST(freeze_tells_once_what_was_found) {
    device_fixture_t f;
    fake->set_device_count(2);
    device_fixture_open(&f, BOTH, NULL);
    f.log.count = 0;
    freeze(&f);
    freeze(&f);
    assert_int_equal(log_lines_with(&f.log, "Backend fake", "2 devices; no libraries"), 1);
    assert_int_equal(log_lines_with(&f.log, "Backend other", "1 device; no libraries"), 1);
    assert_int_equal(log_lines_with(&f.log, "Found device /device:GPU:0 (", "name: Fake Device"),
                     1);
    assert_int_equal(log_lines_with(&f.log, "Found device", "total memory: 64 MB"), 3);
    for (int i = 0; i < f.log.count; ++i) assert_int_equal(f.log.levels[i], GANTRY_LEVEL_INFO);
    device_fixture_close(&f);
}

/* ---- host memory runs out ---- */

TEST(memory_running_out_leaks_nothing) {
    gantry_status_t status = GANTRY_RESOURCE_EXHAUSTED;
    long at = 0;
    for (; status != GANTRY_OK; ++at) {
        device_fixture_t f;
        assert_true(at < 1000);
        fake->set_device_count(8);
        status = device_fixture_try_open(&f, BOTH, NULL, at);
        if (status != GANTRY_OK) {
            assert_int_equal(status, GANTRY_RESOURCE_EXHAUSTED);
            continue;
        }
        gantry_status_t frozen = gantry__device_table_freeze(&f.table, "this test");
        f.heap.inner.fail_at = -1;
        if (frozen != GANTRY_OK) {
            assert_int_equal(frozen, GANTRY_RESOURCE_EXHAUSTED);
            assert_int_equal(f.table.logical_count, 0);
            status = frozen;
            freeze(&f); /* and the next try works */
        }
        assert_int_equal(f.table.listed_count, 10);
        device_fixture_close(&f);
    }
    assert_true(at > 20);
}

int main(void) { return test_main_each(device_fixture_set_up, device_fixture_tear_down); }
