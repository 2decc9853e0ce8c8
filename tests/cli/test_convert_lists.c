/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: gantry convert makes vectors and row splits of the lists of integers that NumPy pickles
 * in an .npz file, as in Keras's reuters.npz, whatever the protocol.
 * Promise: A pickle that names anything, holds other things or is damaged is refused with the
 * reason; none of its code runs, and changed bytes do no harm. */
#define _XOPEN_SOURCE 700

#include <stdint.h>

#include "cli_case.h"
#include "convert/lists.h"
#include "test.h"

#define COUNT(list) (sizeof(list) / sizeof(list)[0])
#define NUMBERS(...) (const int64_t[]){__VA_ARGS__}, COUNT(((int64_t[]){__VA_ARGS__}))

static const struct {
    const char *name;
    const int64_t *splits;
    size_t split_count;
    const int64_t *values;
    size_t value_count;
    const char *bytes;
    size_t size;
} rows[] = {
#define LISTS(name, splits, values, bytes) {#name, splits, values, bytes, sizeof bytes - 1},
#include "list_pickles.inc"
};

static bool read_row(size_t i, const void *bytes, size_t size, convert_lists_t *out, char *why) {
    return convert_lists_read(bytes, size, rows[i].split_count - 1, out, why);
}

TEST(lists_are_read_in_every_protocol) {
    for (size_t i = 0; i < COUNT(rows); ++i) {
        char why[CONVERT_LISTS_WHY_BYTES];
        convert_lists_t lists;
        if (!read_row(i, rows[i].bytes, rows[i].size, &lists, why))
            fail_msg("%s: %s", rows[i].name, why);
        assert_int_equal(lists.rows + 1, rows[i].split_count);
        assert_int_equal(lists.count, rows[i].value_count);
        assert_memory_equal(lists.splits, rows[i].splits,
                            rows[i].split_count * sizeof *lists.splits);
        assert_memory_equal(lists.values, rows[i].values, lists.count * sizeof *lists.values);
        convert_lists_deinit(&lists);
    }
}

/* ---- what is refused ---- */

#define ARRAY_OF(rows)                                                      \
    "\x80\x02"                                                              \
    "cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85U\x01" \
    "b\x87R(K\x01" rows "\x85"
#define ARRAY ARRAY_OF("K\x01")
#define OBJECTS \
    "cnumpy\ndtype\nU\x02O8K\x00K\x01\x87R(K\x03U\x01|NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK?tb\x89"
#define WHOLE(rows) ARRAY OBJECTS rows "tb."
#define BAD(text, pickle) \
    { text, pickle, sizeof pickle - 1 }

TEST(other_pickles_are_refused_with_the_reason) {
    static const struct {
        const char *text, *pickle;
        size_t size;
    } bad[] = {
        BAD("that names os.system;",
            "cos\nsystem\n(U\x04"
            "exit"
            "tR."),
        BAD("that names builtins.eval;",
            "\x80\x04\x8c\x08"
            "builtins\x8c\x04"
            "eval\x93."),
        BAD("that names numpy.load;",
            "\x80\x02"
            "cnumpy\nload\n."),
        BAD("whose lists have other items than integers", WHOLE("](](U\x01"
                                                                "aee")),
        BAD("whose lists have other items than integers", WHOLE("](](\x88"
                                                                "ee")),
        BAD("of numbers that are in no list", WHOLE("](K\x07"
                                                    "e")),
        BAD("of lists in lists;", WHOLE("](](]ee")),
        BAD("of lists in lists and numbers next to them", WHOLE("](]K\x07"
                                                                "e")),
        BAD("of another array than the header states", WHOLE("](]]e")),
        BAD("of another array than the header states", WHOLE("]")),
        BAD("of NumPy's arrays or numbers", ARRAY "cnumpy\ndtype\nU\x02i8K\x00K\x01\x87R."),
        BAD("with an integer of more than 64 bits",
            "\x8a\x09"
            "123456789."),
        BAD("of other things", "}."),
        BAD("of other things", "I7\n."),
        BAD("that is damaged", ""),
        BAD("that is damaged", "."),
        BAD("that is damaged", WHOLE("](]e") "."),
        BAD("that is damaged", ARRAY "."),
        BAD("that is damaged", "(."),
        BAD("that is damaged", "t."),
        BAD("that is damaged", "e."),
        BAD("that is damaged", "(e."),
        BAD("that is damaged",
            "]K\x01"
            "(a."),
        BAD("that is damaged", "(\x85."),
        BAD("that is damaged", "h\x00."),
        BAD("that is damaged", "]q\x07."),
        BAD("that is damaged", "K"),
        BAD("that is damaged",
            "X\xff\xff\xff\xff"
            "a."),
        BAD("that is damaged", "cnumpy"),
        BAD("that is damaged", "K\x01K\x02\x93."),
        BAD("that is damaged", "K\x01)R."),
        BAD("that is damaged", "cnumpy\ndtype\n)R."),
        BAD("that is damaged", "cnumpy\nndarray\nK\x01\x85R."),
        BAD("that is damaged",
            "]K\x01"
            "b."),
    };
    for (size_t i = 0; i < COUNT(bad); ++i) {
        char why[CONVERT_LISTS_WHY_BYTES] = "";
        convert_lists_t lists;
        if (convert_lists_read((const unsigned char *)bad[i].pickle, bad[i].size, 1, &lists, why))
            fail_msg("row %zu was read", i);
        if (!strstr(why, bad[i].text)) fail_msg("row %zu: %s", i, why);
        assert_null(lists.values);
        assert_null(lists.splits);
    }
}

/* A list that is there many times, and a row that is its own list. */
TEST(a_pickle_makes_no_more_numbers_than_it_has_bytes) {
    static const char front[] = ARRAY_OF("M\xe9\x03") OBJECTS "](](", own[] = WHOLE(
                                                                          "]q\x00(h\x00"
                                                                          "e");
    char pickle[4096], why[CONVERT_LISTS_WHY_BYTES];
    size_t size = sizeof front - 1;
    convert_lists_t lists;
    memcpy(pickle, front, size);
    for (int i = 0; i < 900; ++i) pickle[size++] = 'K', pickle[size++] = 1;
    memcpy(pickle + size, "eq\x00", 3);
    size += 3;
    for (int i = 0; i < 1000; ++i, pickle[size++] = 0) pickle[size++] = 'h';
    memcpy(pickle + size, "etb.", 4);
    assert_false(convert_lists_read((unsigned char *)pickle, size + 4, 1001, &lists, why));
    assert_non_null(strstr(why, "that repeats lists, so that it has more numbers than bytes"));
    assert_false(convert_lists_read((const unsigned char *)own, sizeof own - 1, 1, &lists, why));
    assert_non_null(strstr(why, "of lists in lists"));
}

/* Bytes are changed, left out and doubled, by numbers that are the same in every run. */
static uint32_t next_random(uint32_t *state) {
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

static void check_lists(const convert_lists_t *lists) {
    assert_int_equal(lists->splits[0], 0);
    assert_int_equal(lists->splits[lists->rows], lists->count);
    for (size_t i = 0; i < lists->rows; ++i) assert_true(lists->splits[i] <= lists->splits[i + 1]);
}

TEST(changed_bytes_do_no_harm) {
    uint32_t seed = 58;
    size_t read = 0;
    for (int turn = 0; turn < 60000; ++turn) {
        const size_t i = next_random(&seed) % COUNT(rows), size = rows[i].size;
        const size_t at = next_random(&seed) % size, kept = next_random(&seed) % 4 ? size : at;
        char why[CONVERT_LISTS_WHY_BYTES];
        convert_lists_t lists;
        unsigned char *bytes = malloc(kept + 1); /* of its own, so that sanitizers see its end */
        assert_non_null(bytes);
        memcpy(bytes, rows[i].bytes, kept);
        for (uint32_t k = next_random(&seed) % 4; kept > 0 && k > 0; --k)
            bytes[next_random(&seed) % kept] =
                next_random(&seed) % 2 ? (unsigned char)next_random(&seed)
                                       : (unsigned char)rows[i].bytes[next_random(&seed) % size];
        if (read_row(i, bytes, kept, &lists, why)) {
            ++read;
            check_lists(&lists);
            convert_lists_deinit(&lists);
        }
        free(bytes);
    }
    assert_true(read > 1000);
}

/* ---- the command ---- */

static void write_pickle(const char *name, size_t i) {
    char path[512];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(rows[i].bytes, 1, rows[i].size, file), rows[i].size);
    assert_int_equal(fclose(file), 0);
}

#define MAKE                                                                                         \
    "python3 -c 'import struct, zipfile\n"                                                           \
    "def npy(kind, count, data):\n"                                                                  \
    "    head = str({\"descr\": kind, \"fortran_order\": False, \"shape\": (count,)}).ljust(117) + " \
    "\"\\n\"\n"                                                                                      \
    "    return b\"\\x93NUMPY\\x01\\x00\" + struct.pack(\"<H\", len(head)) + head.encode() + data\n"

TEST(an_archive_of_lists_is_converted) {
    if (run("python3 -c 'import zipfile'") != 0) SKIP_BECAUSE("no python3 here");
    write_pickle("x.pickle", 0);
    expect_run(
        0, MAKE
        "z = zipfile.ZipFile(\"r.npz\", \"w\", zipfile.ZIP_STORED)\n"
        "z.writestr(\"x.npy\", npy(\"|O\", 5, open(\"x.pickle\", \"rb\").read()))\n"
        "z.writestr(\"y.npy\", npy(\"<i8\", 5, bytes(40)))\n"
        "z.writestr(\"bad.npy\", npy(\"|O\", 1, b\"cos\\nsystem\\n(S\\x27touch called\\x27\\ntR.\"))'");
    expect_run(0, "$BIN/gantry convert r.npz");
    expect_in_output("r.npz: 3 tensors, and 1 entry that cannot be read");
    expect_in_output("x/values                          int32      [20]  80 bytes");
    expect_in_output("x/row_splits                      int64      [6]  48 bytes");
    expect_in_output(
        "bad                               cannot be read: the .npy file holds Python "
        "objects, in a pickle that names os.system; lists of integers are accepted");
    expect_run(1, "$BIN/gantry convert r.npz r.safetensors");
    expect_run(0,
               "$BIN/gantry convert r.npz r.safetensors --skip-unreadable && "
               "$BIN/gantry convert r.safetensors && ! test -e called");
    expect_in_output("x/row_splits                      int64      [6]  48 bytes");
    expect_run(
        0, "$BIN/gantry convert r.npz x.npy --tensor x/values && tail -c 40 x.npy | od -An -td4");
    expect_in_output("250         251         252         253");
}

TEST(two_entries_of_one_name_are_refused) {
    if (run("python3 -c 'import zipfile'") != 0) SKIP_BECAUSE("no python3 here");
    write_pickle("x.pickle", 0);
    expect_run(0, MAKE
               "z = zipfile.ZipFile(\"t.npz\", \"w\", zipfile.ZIP_STORED)\n"
               "z.writestr(\"x.npy\", npy(\"|O\", 5, open(\"x.pickle\", \"rb\").read()))\n"
               "z.writestr(\"x/values.npy\", npy(\"<i8\", 5, bytes(40)))'");
    expect_run(1, "$BIN/gantry convert t.npz");
    expect_in_output("the entry \"x/values\" is there twice");
}

int main(void) {
    if (open_folder() != 0) return 1;
    int result = test_main();
    if (result == 0) (void)run("cd / && rm -r %s", folder);
    return result;
}
