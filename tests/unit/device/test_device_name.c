/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Device names parse as in the case tables of TensorFlow's parsers; "deviation" marks
 * Gantry's differences. */
#include "device_name_case.h"
#include "test.h"

static void assert_empty(const gantry__device_name_t *name) {
    gantry__device_name_t empty = {0};
    assert_true(gantry__device_name_is_equal(name, &empty));
}

static void assert_malformed(gantry_status_t status, const char *text, const char *what,
                             int column) {
    char expected[512];
    assert_int_equal(status, GANTRY_INVALID_ARGUMENT);
    (void)snprintf(expected, sizeof expected,
                   "Malformed device specification '%s': %s at column %d; accepted: ", text, what,
                   column);
    if (strncmp(gantry__message(), expected, strlen(expected)) != 0)
        fail_msg("got '%s', want it to begin '%s'", gantry__message(), expected);
}

static gantry_status_t parse(const char *text, gantry__device_reference_t *out_reference) {
    return gantry__device_reference_parse(text, backends, COUNT(backends), out_reference);
}

/* ---- The full grammar. */

TEST(full_name_well_formed_gives_canonical_form) {
    static const struct {
        const char *text, *canonical;
    } rows[] = {
        {"/job:foo/replica:1/task:2/device:GPU:3", "/job:foo/replica:1/task:2/device:GPU:3"},
        {"/job:foo_bar/replica:1/task:2/device:GPU:3",
         "/job:foo_bar/replica:1/task:2/device:GPU:3"},
        {"/job:*/replica:4/gpu:*", "/replica:4/device:GPU:*"},
        {"/job:*/replica:4/device:GPU:*", "/replica:4/device:GPU:*"},
        {"/job:*/device:GPU/replica:4", "/replica:4/device:GPU:*"},
        {"/gpu:*/job:*/replica:4", "/replica:4/device:GPU:*"},
        {"/job:*/replica:4/device:GPU:5", "/replica:4/device:GPU:5"},
        {"/job:*/replica:4/device:myspecialdevice:13", "/replica:4/device:myspecialdevice:13"},
        {"/", ""},
        {"", ""},
        {"/GPU:0", "/device:GPU:0"},
        {"/gpu:0", "/device:GPU:0"},
        {"/device:GPU:0", "/device:GPU:0"},
        /* deviation: TensorFlow's C++ keeps gpu, which then matches no device */
        {"/device:gpu:0", "/device:GPU:0"},
        {"/device:Cpu:0", "/device:CPU:0"}, /* deviation, as above */
        {"/device:*", ""},
        {"/device:*:*", ""},
        {"/replica:*/task:*", ""},
        {"/gpu:2147483647", "/device:GPU:2147483647"},
        {"/cpu:007", "/device:CPU:7"},
        {"/device:GPU:0@opencl", "/device:GPU:0@opencl"}, /* Gantry only */
        {"/device:GPU@opencl/task:1", "/task:1/device:GPU:*@opencl"},
        {"/gpu:*@fake", "/device:GPU:*@fake"},
    };
    for (size_t i = 0; i < COUNT(rows); ++i) {
        gantry__device_name_t name = full(rows[i].text);
        assert_name(&name, rows[i].canonical, rows[i].text);
    }
}

TEST(full_name_malformed_is_refused_with_column) {
    static const struct {
        const char *text, *what;
        int column;
    } rows[] = {
        {"/job:123/replica:1/task:2/device:GPU:3", "no job name (it begins with a letter)", 6},
        {"/job:123/replica:1/task:2/gpu:", "no job name (it begins with a letter)", 6},
        {"/job:a123/replica:1/task:2/gpu:", "no number and no *", 32},
        {"/job:123/replica:1/task:2/device:gpu:", "no job name (it begins with a letter)", 6},
        {"/job:a123/replica:1/task:2/device:gpu:", "no number and no *", 39},
        {"/job:foo/replica:-1/task:2/device:GPU:3", "a sign", 18},
        {"/job:foo/replica:1/task:-2/device:GPU:3", "a sign", 25},
        {"/job:foo/replica:1/task:2/bar:3", "an unknown component", 27},
        {"/job:foo/replica:1/task:2/device:GPU:3/extra", "an unknown component", 40},
        {"/job:foo/task:0/replica/cpu:1", "an unknown component", 17},
        /* deviation: the last one wins in TensorFlow */
        {"/gpu:1/cpu:0", "a second device", 8},
        {"/task:1/task:1", "a repeated component", 9},       /* deviation, as above */
        {"/job:*/job:foo", "a repeated component", 8},       /* deviation, as above */
        {"/gpu:4294967296", "a number above 2147483647", 6}, /* deviation: TensorFlow reads GPU:0 */
        {"/replica:2147483648", "a number above 2147483647", 10},
        {"/task:99999999999999999999999999", "a number above 2147483647", 7},
        /* deviation: such a device would match no name that can be printed */
        {"/device:*:0", "an index without a type", 11},
        {"/device:*@opencl", "a backend without a type", 10},
        {"/device:", "no device type", 9},
        {"/device::0", "no device type", 9},
        {"/device:3", "no device type", 9},
        {"/job:foo-bar", "a sign", 9},
        {"/job:foo.bar", "an unexpected character", 9},
        {"//cpu:0", "an empty component", 2},
        {"/cpu:0/", "an empty component", 8},
        {"/ cpu:0", "a blank", 2},
        {"/cpu: 0", "a blank", 6},
        {"/cpu:0 ", "a blank", 7},
        {"/cpu:+1", "a sign", 6},
        {"/cpu:0x", "an unexpected character", 7},
        {"/device:GPU:0@", "no backend name", 15},
    };
    for (size_t i = 0; i < COUNT(rows); ++i) {
        gantry__device_reference_t reference;
        assert_malformed(parse(rows[i].text, &reference), rows[i].text, rows[i].what,
                         rows[i].column);
        assert_empty(&reference.name);
    }
}

TEST(name_of_null_is_refused) {
    gantry__device_reference_t reference;
    assert_int_equal(parse(NULL, &reference), GANTRY_INVALID_ARGUMENT);
    assert_non_null(strstr(gantry__message(), "NULL"));
    assert_false(gantry__device_reference_try(NULL, NULL, 0, &reference));
}

TEST(full_name_of_longest_words_passes_and_longer_is_refused) {
    char text[300], word[80] = "", backend[32] = "";
    const char *const known[] = {backend};
    memset(word, 'a', sizeof word - 1);
    memset(backend, 'a', sizeof backend - 1);
    gantry__device_reference_t reference;
    (void)snprintf(text, sizeof text,
                   "/job:%.63s/replica:2147483647/task:2147483647/device:%.63s:2147483647@%s", word,
                   word, backend);
    assert_int_equal(gantry__device_reference_parse(text, known, 1, &reference), GANTRY_OK);
    assert_name(&reference.name, text, text); /* and it fits into GANTRY__DEVICE_NAME_BYTES */
    (void)snprintf(text, sizeof text, "/job:%.64s", word);
    assert_malformed(parse(text, &reference), text, "a word that is too long", 69);
    (void)snprintf(text, sizeof text, "/device:%.64s:0", word);
    assert_malformed(parse(text, &reference), text, "a word that is too long", 72);
    (void)snprintf(text, sizeof text, "/gpu:0@%.32s", word);
    assert_malformed(parse(text, &reference), text, "a word that is too long", 39);
}

TEST(malformed_long_text_is_cut_in_the_message) {
    char text[5000];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    gantry__device_reference_t reference;
    assert_int_equal(parse(text, &reference), GANTRY_INVALID_ARGUMENT);
    assert_non_null(
        strstr(gantry__message(), "xxx...': an unknown component at column 1; accepted: GPU:0"));
    assert_non_null(strstr(gantry__message(), "opencl:0, GPU:0@opencl"));
}

TEST(full_name_every_subset_of_parts_round_trips) {
    static const struct {
        const char *device, *canonical;
    } devices[] = {
        {"/CPU:3", "/device:CPU:3"},
        {"/GPU:3", "/device:GPU:3"},
        {"/cpu:3", "/device:CPU:3"},
        {"/gpu:3", "/device:GPU:3"},
        {"/device:CPU:3", "/device:CPU:3"},
        {"/device:GPU:3", "/device:GPU:3"},
        /* deviation: TensorFlow keeps the case of an explicit type */
        {"/device:cpu:3", "/device:CPU:3"},
        {"/device:gpu:3", "/device:GPU:3"}, /* deviation, as above */
        {"/device:someDevice:3", "/device:someDevice:3"},
    };
    for (unsigned parts = 0; parts < 16; ++parts) {
        for (size_t i = 0; i < COUNT(devices); ++i) {
            line_t text, expected;
            const char *job = parts & 1 ? "/job:foo" : "", *replica = parts & 2 ? "/replica:3" : "";
            const char *task = parts & 4 ? "/task:2" : "";
            (void)snprintf(text, sizeof text, "%s%s%s%s", job, replica, task,
                           parts & 8 ? devices[i].device : "");
            (void)snprintf(expected, sizeof expected, "%s%s%s%s", job, replica, task,
                           parts & 8 ? devices[i].canonical : "");
            gantry__device_name_t name = full(text), again = full(expected);
            assert_name(&name, expected, text);
            assert_true(gantry__device_name_is_equal(&name, &again));
        }
    }
}

TEST(format_into_a_short_buffer_cuts_and_counts) {
    gantry__device_name_t name = full("/job:localhost/replica:0/task:0/device:GPU:12");
    const char *whole = "/job:localhost/replica:0/task:0/device:GPU:12";
    line_t text;
    for (size_t bytes = 0; bytes <= strlen(whole) + 1; ++bytes) {
        memset(text, '#', sizeof text);
        assert_int_equal(gantry__device_name_format(&name, text, bytes), strlen(whole));
        if (bytes > 0) {
            assert_memory_equal(text, whole, bytes - 1);
            assert_int_equal(text[bytes - 1], '\0');
        }
        assert_int_equal(text[bytes], '#');
    }
    assert_int_equal(gantry__device_name_format(&name, NULL, 0), strlen(whole));
}

TEST(local_name_of_unusual_parts_formats) {
    gantry__device_name_t name = {.has_job = true,
                                  .has_replica = true,
                                  .has_task = true,
                                  .has_type = true,
                                  .has_index = true,
                                  .job = "hello",
                                  .replica = 1,
                                  .task = 2,
                                  .type = "CPU",
                                  .index = 3};
    assert_name(&name, "/job:hello/replica:1/task:2/device:CPU:3", "FullName");
}

/* ---- A user's text. */

TEST(user_name_well_formed_gives_canonical_form) {
    static const struct {
        const char *text, *canonical;
    } rows[] = {
        {"", ""},
        {"/", ""},
        {"/job:localhost/replica:0/task:0/device:GPU:0",
         "/job:localhost/replica:0/task:0/device:GPU:0"},
        {"/job:localhost/GPU:0", "/job:localhost/device:GPU:0"},
        {"job:localhost/GPU:0", "/job:localhost/device:GPU:0"},
        {"/GPU:0", "/device:GPU:0"},
        {"/device:GPU:0", "/device:GPU:0"},
        {"device:GPU:0", "/device:GPU:0"},
        {"GPU:0", "/device:GPU:0"},
        {"gpu:0", "/device:GPU:0"},
        {"GPU:1", "/device:GPU:1"},
        {"GPU", "/device:GPU:*"},
        {"gpu", "/device:GPU:*"},
        {"/gpu", "/device:GPU:*"},
        {"/gpu:*", "/device:GPU:*"},
        {"GPU:*", "/device:GPU:*"},
        {"/gpu:1", "/device:GPU:1"},
        {"cpu:0", "/device:CPU:0"}, /* the backend of that name is the same device */
        {"cpu", "/device:CPU:*"},
        {"/CPU:0", "/device:CPU:0"},
        {"/Cpu:0", "/device:CPU:0"},
        {"/CPU:01", "/device:CPU:1"},
        {"/device:gpu:0", "/device:GPU:0"},
        {"/device:cpu:0", "/device:CPU:0"},
        {"/device:GPU", "/device:GPU:*"}, /* deviation: Python refuses it, C++ does not */
        {"/device:GPU:*", "/device:GPU:*"},
        {"/device:MyFunnyDevice:2", "/device:MyFunnyDevice:2"},
        {"tpu:0", "/device:TPU:0"},
        {"accelerator:1", "/device:ACCELERATOR:1"},
        {"/device:Accelerator:1", "/device:ACCELERATOR:1"},
        {"/job:*/gpu:*", "/device:GPU:*"}, /* deviation: Python keeps * as the job's text */
        {"/job:foo/replica:12/task:3/gpu", "/job:foo/replica:12/task:3/device:GPU:*"},
        {"GPU:0@opencl", "/device:GPU:0@opencl"},
        {"/device:GPU:0@opencl", "/device:GPU:0@opencl"},
        {"gpu@OpenCL", "/device:GPU:*@opencl"},
        {"/job:localhost/task:0/cpu:1@fake", "/job:localhost/task:0/device:CPU:1@fake"},
    };
    for (size_t i = 0; i < COUNT(rows); ++i) {
        gantry__device_reference_t reference = user(rows[i].text), tried;
        assert_int_equal(reference.kind, GANTRY__DEVICE_LOGICAL);
        assert_name(&reference.name, rows[i].canonical, rows[i].text);
        assert_true(gantry__device_reference_try(rows[i].text, backends, COUNT(backends), &tried));
        assert_true(gantry__device_name_is_equal(&tried.name, &reference.name));
    }
}

TEST(user_alias_is_classified) {
    static const struct {
        const char *text;
        gantry__device_reference_kind_t kind;
        const char *formatted;
    } rows[] = {
        {"/physical_device:GPU:0", GANTRY__DEVICE_PHYSICAL, "/physical_device:GPU:0"},
        {"physical_device:cpu:3", GANTRY__DEVICE_PHYSICAL, "/physical_device:CPU:3"},
        {"/physical_device:GPU:1@opencl", GANTRY__DEVICE_PHYSICAL, "/physical_device:GPU:1@opencl"},
        {"cuda:0", GANTRY__DEVICE_BACKEND_ALIAS, "cuda:0"},
        {"opencl:1", GANTRY__DEVICE_BACKEND_ALIAS, "opencl:1"},
        {"OpenCL:1", GANTRY__DEVICE_BACKEND_ALIAS, "opencl:1"},
        {"fake:12", GANTRY__DEVICE_BACKEND_ALIAS, "fake:12"},
        {"opencl", GANTRY__DEVICE_BACKEND_ALIAS, "opencl"},
        {"opencl:*", GANTRY__DEVICE_BACKEND_ALIAS, "opencl"},
        {"/cuda:0", GANTRY__DEVICE_BACKEND_ALIAS, "cuda:0"},
        /* a backend's name is no device type */
        {"/device:cuda:0", GANTRY__DEVICE_BACKEND_ALIAS, "cuda:0"},
        {"GPU-8932f937-d72c-4106-c12f-20bd9faed9f6", GANTRY__DEVICE_UUID_PREFIX,
         "UUID:GPU-8932f937-d72c-4106-c12f-20bd9faed9f6"},
        {"GPU-8932", GANTRY__DEVICE_UUID_PREFIX, "UUID:GPU-8932"},
        {"UUID:8932f937", GANTRY__DEVICE_UUID_PREFIX, "UUID:8932f937"},
        {"uuid:GPU-8932f937", GANTRY__DEVICE_UUID_PREFIX, "UUID:GPU-8932f937"},
        {"UUID:pocl-0.cpu", GANTRY__DEVICE_UUID_PREFIX, "UUID:pocl-0.cpu"},
        {"MIG-GPU-8932f937-d72c-4106-c12f-20bd9faed9f6/1/0", GANTRY__DEVICE_UUID_PREFIX,
         "UUID:MIG-GPU-8932f937-d72c-4106-c12f-20bd9faed9f6/1/0"},
        {"0000:65:00.0", GANTRY__DEVICE_PCI_ADDRESS, "0000:65:00.0"},
        {"PCI:0000:65:00.0", GANTRY__DEVICE_PCI_ADDRESS, "0000:65:00.0"},
        {"pci:00000000:AF:1f.7", GANTRY__DEVICE_PCI_ADDRESS, "0000:af:1f.7"},
        {"65:0.1", GANTRY__DEVICE_PCI_ADDRESS, "0000:65:00.1"},
    };
    for (size_t i = 0; i < COUNT(rows); ++i) {
        gantry__device_reference_t reference = user(rows[i].text);
        line_t text;
        assert_int_equal(gantry__device_reference_format(&reference, text, sizeof text),
                         strlen(rows[i].formatted));
        assert_string_equal(text, rows[i].formatted);
        assert_int_equal(reference.kind, rows[i].kind);
    }
    gantry__device_reference_t alias = user("opencl:1");
    assert_false(alias.name.has_type);
    assert_true(alias.name.has_index);
    assert_int_equal(alias.name.index, 1);
    assert_string_equal(alias.name.backend, "opencl");
    gantry__device_reference_t any = user("cuda");
    assert_false(any.name.has_index);
}

TEST(user_name_malformed_is_refused_with_column) {
    static const struct {
        const char *text, *what;
        int column;
    } rows[] = {
        {"GPU:-1", "a sign", 5},
        {"/CPU:+1", "a sign", 6},
        {"-1", "a sign", 1},
        {" GPU:0", "a blank", 1},
        {"GPU: 0", "a blank", 5},
        {"GPU:0 ", "a blank", 6},
        {"//CPU:0", "an empty component", 2},
        {"/CPU:0/", "an empty component", 8},
        {":0", "an unknown component", 1},
        {"0", "an unknown component", 1},
        {"GPU0", "an unknown component", 1},
        {"GPU:", "no number and no *", 5},
        {"GPU:x", "no number and no *", 5},
        {"GPU:0x", "an unexpected character", 6},
        {"GPU:0,1", "an unexpected character", 6},
        {"GPU:2147483648", "a number above 2147483647", 5},
        {"/gpu:4294967296", "a number above 2147483647", 6},
        {"/device:*:0", "an index without a type", 11},
        {"/job:muu/device:GPU:2/cpu:0", "a second device", 23},
        {"/job:foo/job:bar", "a repeated component", 10},
        {"/job:foo/foo:1", "an unknown component", 10},
        {"replica:foo", "no number and no *", 9},
        {"replica:-1", "a sign", 9},
        {"device", "an unknown component", 1},
        {"metal:0", "an unknown component", 1},
        {"opencl:x", "no number and no *", 8},
        {"opencl:-1", "a sign", 8},
        {"opencl:0/task:0", "text after the end of the name", 9},
        {"/job:localhost/opencl:0", "an unknown component", 16},
        {"GPU:0@", "no backend name", 7},
        {"GPU:0@metal", "an unknown backend", 7},
        {"/physical_device:GPU", "no index", 21},
        {"/physical_device:GPU:*", "no number", 22},
        {"/physical_device:GPU:0/task:0", "text after the end of the name", 23},
        {"GPU-", "no digit of a UUID", 5},
        {"GPU-xyz", "no digit of a UUID", 5},
        {"GPU-8932 ", "a blank", 9},
        {"GPU-8932z", "text after the end of the name", 9},
        {"UUID:", "no digit of a UUID", 6},
        {"UUID:a b", "a blank", 7},
        {"PCI:", "no address DOMAIN:BUS:DEVICE.FUNCTION", 5},
        {"PCI:0000:65:00", "no address DOMAIN:BUS:DEVICE.FUNCTION", 5},
        {"0000:65:20.0", "an unknown component", 1}, /* device numbers end at 1f */
        {"0000:65:00.8", "an unknown component", 1},
    };
    for (size_t i = 0; i < COUNT(rows); ++i) {
        gantry__device_reference_t reference;
        assert_malformed(
            gantry__device_reference_parse(rows[i].text, backends, COUNT(backends), &reference),
            rows[i].text, rows[i].what, rows[i].column);
        assert_empty(&reference.name);
        assert_int_equal(reference.kind, GANTRY__DEVICE_LOGICAL);
        assert_string_equal(reference.text, "");
        assert_false(
            gantry__device_reference_try(rows[i].text, backends, COUNT(backends), &reference));
    }
}

TEST(user_alias_of_unknown_backend_is_refused) {
    gantry__device_reference_t reference;
    assert_true(gantry__device_reference_try("fake:0", backends, COUNT(backends), &reference));
    assert_false(gantry__device_reference_try("fake:0", backends, 3, &reference));
    assert_false(gantry__device_reference_try("fake:0", NULL, 0, &reference));
    assert_false(gantry__device_reference_try("GPU:0@cpu", NULL, 0, &reference));
}

TEST(user_backend_named_like_a_word_of_the_grammar_does_not_take_it) {
    static const char *const rude[] = {"job", "GPU", "uuid"};
    gantry__device_reference_t reference;
    assert_true(gantry__device_reference_try("/job:foo", rude, COUNT(rude), &reference));
    assert_name(&reference.name, "/job:foo", "job");
    assert_true(gantry__device_reference_try("gpu:1", rude, COUNT(rude), &reference));
    assert_int_equal(reference.kind, GANTRY__DEVICE_LOGICAL);
    assert_true(gantry__device_reference_try("uuid:12", rude, COUNT(rude), &reference));
    assert_int_equal(reference.kind, GANTRY__DEVICE_UUID_PREFIX);
}

TEST(user_uuid_longer_than_the_room_is_refused) {
    char text[GANTRY__DEVICE_ID_BYTES + 8] = "UUID:";
    memset(text + 5, 'a', GANTRY__DEVICE_ID_BYTES - 1);
    gantry__device_reference_t reference;
    assert_true(gantry__device_reference_try(text, NULL, 0, &reference));
    text[5 + GANTRY__DEVICE_ID_BYTES - 1] = 'a';
    assert_malformed(gantry__device_reference_parse(text, NULL, 0, &reference), text,
                     "a UUID that is too long", 6);
}

TEST(uuid_prefix_matches_without_regard_to_case_and_tag) {
    const char *uuid = "GPU-8932f937-d72c-4106-c12f-20bd9faed9f6";
    assert_true(gantry__uuid_has_prefix(uuid, "GPU-8932"));
    assert_true(gantry__uuid_has_prefix(uuid, "gpu-8932F"));
    assert_true(gantry__uuid_has_prefix(uuid, "8932f937-d72c"));
    assert_true(gantry__uuid_has_prefix(uuid + 4, "GPU-8932"));
    assert_true(gantry__uuid_has_prefix(uuid, uuid));
    assert_true(gantry__uuid_has_prefix("MIG-12ab", "MIG-12"));
    assert_true(gantry__uuid_has_prefix("MIG-12ab", "12a"));
    assert_true(gantry__uuid_has_prefix(uuid, "mig-8932"));
    assert_false(gantry__uuid_has_prefix(uuid, "MIG-GPU-8932"));
    assert_false(gantry__uuid_has_prefix(uuid, "MIG-"));
    assert_false(gantry__uuid_has_prefix(uuid, "GPU-8933"));
    assert_false(gantry__uuid_has_prefix("GPU-89", "GPU-8932"));
    assert_false(gantry__uuid_has_prefix("MIG-8932", "GPU-8932"));
    assert_false(gantry__uuid_has_prefix(uuid, "GPU-"));
    assert_false(gantry__uuid_has_prefix(uuid, ""));
    assert_false(gantry__uuid_has_prefix(NULL, "8932"));
    assert_false(gantry__uuid_has_prefix(uuid, NULL));
}

TEST(pci_address_table) {
    static const struct {
        const char *text, *normal; /* "": refused */
    } rows[] = {
        {"0000:65:00.0", "0000:65:00.0"},
        {"65:00.0", "0000:65:00.0"},
        {"00000000:65:00.0", "0000:65:00.0"},
        {"12345678:FF:1F.7", "12345678:ff:1f.7"},
        {"0:1:2.3", "0000:01:02.3"},
        {"pci:1:2.3", "0000:01:02.3"},
        {"", ""},
        {":", ""},
        {"::.", ""},
        {"65:00", ""},
        {"0000:65:00", ""},
        {"0000:65:00.", ""},
        {"0000:65:00.0 ", ""},
        {"123456789:65:00.0", ""},
        {"0000:165:00.0", ""},
        {"0000:65:20.0", ""},
        {"0000:65:00.8", ""},
        {"0000:65:00.00", ""},
        {"g:65:00.0", ""},
        {"0:0:0:0.0", ""},
        {"-1:0.0", ""},
    };
    for (size_t i = 0; i < COUNT(rows); ++i) {
        char text[GANTRY__PCI_BYTES] = "x";
        assert_int_equal(gantry__pci_normalise(rows[i].text, text), rows[i].normal[0] != '\0');
        assert_string_equal(text, rows[i].normal);
    }
    char text[GANTRY__PCI_BYTES];
    assert_false(gantry__pci_normalise(NULL, text));
}

/* ---- Random texts. */

static uint32_t next_random(uint32_t *seed) {
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

/* Pieces of the grammar, so that enough texts are well-formed, and odd characters. */
static void random_text(uint32_t *seed, char *text, size_t text_bytes) {
    static const char *const pieces[] = {
        "/",
        ":",
        "*",
        "@",
        "-",
        " ",
        "0",
        "1",
        "7",
        "2147483647",
        "99999999999",
        "a",
        "_",
        ".",
        "\x80",
        "%n",
        "/job:",
        "/replica:",
        "/task:",
        "/device:",
        "/physical_device:",
        "job:",
        "GPU",
        "cpu",
        "gpu:0",
        "/gpu:*",
        "opencl",
        "fake:1",
        "cuda",
        "UUID:",
        "GPU-",
        "MIG-",
        "PCI:",
        "0000:65:00.0",
        "65:",
        "ab",
        "f937",
        "localhost",
        "/job:foo",
        "@opencl",
        ":3",
    };
    size_t length = 0;
    text[0] = '\0';
    for (uint32_t n = next_random(seed) % 6; n > 0; --n) {
        const char *piece = pieces[next_random(seed) % COUNT(pieces)];
        if (length + strlen(piece) >= text_bytes) return;
        memcpy(text + length, piece, strlen(piece) + 1);
        length += strlen(piece);
    }
}

TEST(random_texts_round_trip_and_never_crash) {
    uint32_t seed = 20240607;
    unsigned accepted = 0;
    for (int i = 0; i < 200000; ++i) {
        char text[128];
        line_t printed;
        random_text(&seed, text, sizeof text);
        gantry__device_reference_t reference, second;
        if (gantry__device_reference_try(text, backends, COUNT(backends), &reference)) {
            accepted++;
            (void)gantry__device_reference_format(&reference, printed, sizeof printed);
            second = user(printed);
            if (second.kind != reference.kind || strcmp(second.text, reference.text) != 0 ||
                !gantry__device_name_is_equal(&reference.name, &second.name))
                fail_msg("'%s' printed as '%s'", text, printed);
        }
    }
    assert_true(accepted > 1000); /* enough of the texts parse */
}

int main(void) { return test_main(); }
