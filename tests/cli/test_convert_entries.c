/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: gantry convert lists a file of any size from its headers, and takes one tensor of it
 * without reading the others.
 * Promise: An entry that gantry convert cannot read is listed with the reason and hides no other
 * one; a whole file is converted only if --skip-unreadable leaves such entries out.
 * Promise: gantry convert counts tensors, and neither folders nor other files of an archive.
 * Promise: gantry convert names a Git LFS pointer and a site's error message (HTML, XML, JSON or
 * text) as such.
 * Promise: gantry convert names a file of another format for what it is: gzip, tar, PyTorch, Keras,
 * HDF5, GGUF, ONNX, SavedModel, pickle, and says what is accepted.
 * Promise: gantry convert names a damaged .npy or .npz file by its format, and what is wrong. */
#define _XOPEN_SOURCE 700

#include <fcntl.h>

#include "cli_case.h"
#include "test.h"

#define GIB ((uint64_t)1 << 30)
/* of address space: less than any of the large files */
/* sanitizers need more */
#define SMALL_MEMORY (IS_SANITIZED ? "" : "ulimit -v 1000000; ")

/* ---- bytes of a file ---- */

typedef struct out_t {
    int file;
    uint64_t at;
} out_t;

static out_t create(const char *name) {
    char path[256];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    const out_t out = {.file = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600)};
    assert_true(out.file >= 0);
    return out;
}

static void put_bytes(out_t *out, const void *bytes, size_t size) {
    assert_int_equal(pwrite(out->file, bytes, size, (off_t)out->at), (ssize_t)size);
    out->at += size;
}

static void put(out_t *out, uint64_t value, int count) {
    unsigned char bytes[8];
    for (int i = 0; i < count; ++i) bytes[i] = (unsigned char)(value >> 8 * i);
    put_bytes(out, bytes, (size_t)count);
}

/* Zeros that take no place on the disk. */
static void put_hole(out_t *out, uint64_t size) {
    out->at += size;
    if (ftruncate(out->file, (off_t)out->at) != 0) {
        print_message("skipped: no file of this size can be made here\n");
        skip();
    }
}

static void write_all(const char *name, const char *text) {
    out_t out = create(name);
    put_bytes(&out, text, strlen(text));
    (void)close(out.file);
}

/* ---- .npy ---- */

/* The header of an array of this type; returns its bytes. */
static size_t npy_header(const char *descr, uint64_t elements, char out[128]) {
    memset(out, ' ', 128);
    memcpy(out, "\x93NUMPY\1\0v\0", 10);
    const int length =
        snprintf(out + 10, 118, "{'descr': %s, 'fortran_order': False, 'shape': (%llu,), }", descr,
                 (unsigned long long)elements);
    out[10 + length] = ' ';
    out[127] = '\n';
    return 128;
}

/* ---- .npz: stored entries ---- */

typedef struct entry_t {
    const char *name;
    char bytes[192]; /* the first ones */
    size_t size;
    uint64_t hole; /* zeros after them */
    unsigned flags;
} entry_t;

static uint32_t crc32_of(const char *bytes, size_t size) {
    uint32_t crc = ~0u;
    for (size_t i = 0; i < size; ++i) {
        crc ^= (unsigned char)bytes[i];
        for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
    }
    return ~crc;
}

static void put_entry_head(out_t *out, const entry_t *entry, uint64_t begin, bool is_central) {
    const uint64_t size = entry->size + entry->hole;
    put(out, 45, 2);
    put(out, entry->flags, 2);
    put(out, 0, 6);
    put(out, crc32_of(entry->bytes, entry->size), 4);
    put(out, UINT32_MAX, 4);
    put(out, UINT32_MAX, 4);
    put(out, strlen(entry->name), 2);
    put(out, is_central ? 28 : 20, 2);
    if (is_central) put(out, 0, 8);
    if (is_central) put(out, 0, 2);
    if (is_central) put(out, UINT32_MAX, 4);
    put_bytes(out, entry->name, strlen(entry->name));
    put(out, 1, 2); /* the 64-bit sizes */
    put(out, is_central ? 24 : 16, 2);
    put(out, size, 8);
    put(out, size, 8);
    if (is_central) put(out, begin, 8);
}

static void write_npz(const char *name, const entry_t *entries, size_t count) {
    uint64_t begins[8];
    out_t out = create(name);
    for (size_t i = 0; i < count; ++i) {
        begins[i] = out.at;
        put(&out, 0x04034b50, 4);
        put_entry_head(&out, &entries[i], 0, false);
        put_bytes(&out, entries[i].bytes, entries[i].size);
        put_hole(&out, entries[i].hole);
    }
    const uint64_t directory = out.at;
    for (size_t i = 0; i < count; ++i) {
        put(&out, 0x02014b50, 4);
        put(&out, 45, 2);
        put_entry_head(&out, &entries[i], begins[i], true);
    }
    const uint64_t end = out.at;
    put(&out, 0x06064b50, 4);
    put(&out, 44, 8);
    put(&out, 45, 2);
    put(&out, 45, 2);
    put(&out, 0, 8);
    put(&out, count, 8);
    put(&out, count, 8);
    put(&out, end - directory, 8);
    put(&out, directory, 8);
    put(&out, 0x07064b50, 4);
    put(&out, 0, 4);
    put(&out, end, 8);
    put(&out, 1, 4);
    put(&out, 0x06054b50, 4);
    put(&out, 0, 4);
    put(&out, UINT16_MAX, 2);
    put(&out, UINT16_MAX, 2);
    put(&out, UINT32_MAX, 4);
    put(&out, UINT32_MAX, 4);
    put(&out, 0, 2);
    (void)close(out.file);
}

static entry_t npy_entry(const char *name, const char *descr, uint64_t elements, uint64_t hole,
                         const char *data) {
    entry_t entry = {.name = name, .hole = hole};
    entry.size = npy_header(descr, elements, entry.bytes);
    memcpy(entry.bytes + entry.size, data, strlen(data));
    entry.size += strlen(data);
    return entry;
}

/* ---- large files ---- */

static void expect_small(int code, const char *line) {
    const int got = run("%s%s", SMALL_MEMORY, line);
    if (got != code) fail_msg("%s: exit %d, not %d\n%s", line, got, code, output);
}

TEST(a_safetensors_file_of_65_gb_is_listed_and_one_tensor_taken) {
    static const char header[] =
        "{\"big\":{\"dtype\":\"U8\",\"shape\":[60000000000],\"data_offsets\":[0,60000000000]},"
        "\"mid\":{\"dtype\":\"U8\",\"shape\":[5,1000000000],"
        "\"data_offsets\":[60000000000,65000000000]},"
        "\"small\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[65000000000,65000000004]}}";
    out_t out = create("huge.safetensors");
    put(&out, strlen(header), 8);
    put_bytes(&out, header, strlen(header));
    put_hole(&out, UINT64_C(65000000000));
    put_bytes(&out, "abcd", 4);
    (void)close(out.file);
    expect_small(0, "$BIN/gantry convert huge.safetensors");
    expect_in_output("huge.safetensors: 3 tensors");
    expect_in_output("big                               uint8      [60000000000]  55.9 GiB");
    expect_small(0, "$BIN/gantry convert huge.safetensors s.npy --tensor small");
    expect_run(0, "test \"$(tail -c 4 s.npy)\" = abcd");
    if (!IS_SANITIZED) expect_small(1, "$BIN/gantry convert huge.safetensors out.npy --tensor mid");
    if (!IS_SANITIZED) expect_in_output("there is no memory for the 5000000000 bytes of \"mid\"");
    expect_run(1, "test -e out.npy");
    expect_run(0, "rm huge.safetensors");
}

TEST(a_large_npy_file_is_listed) {
    char header[128];
    out_t out = create("huge.npy");
    put_bytes(&out, header, npy_header("'|u1'", 20 * GIB, header));
    put_hole(&out, 20 * GIB);
    (void)close(out.file);
    expect_small(0, "$BIN/gantry convert huge.npy");
    expect_in_output("huge                              uint8      [21474836480]  20.0 GiB");
    expect_run(0, "rm huge.npy");
}

TEST(a_large_npz_file_is_listed_and_one_tensor_taken) {
    const entry_t entries[] = {
        npy_entry("big.npy", "'|u1'", 20 * GIB, 20 * GIB, ""),
        npy_entry("small.npy", "'|u1'", 4, 0, "abcd"),
    };
    write_npz("huge.npz", entries, 2);
    expect_small(0, "$BIN/gantry convert huge.npz");
    expect_in_output("huge.npz: 2 tensors");
    expect_in_output("big                               uint8      [21474836480]  20.0 GiB");
    expect_small(0, "$BIN/gantry convert huge.npz s.npy --tensor small");
    expect_run(0, "test \"$(tail -c 4 s.npy)\" = abcd");
    expect_run(0, "rm huge.npz");
}

/* ---- entries that cannot be read ---- */

TEST(unreadable_entries_of_an_archive_hide_no_others) {
    entry_t entries[] = {
        {.name = "README", .bytes = "text", .size = 4},
        {.name = "docs/", .size = 0},
        npy_entry("objects.npy", "'|O'", 1, 0, "12345678"),
        npy_entry("strings.npy", "'<U2'", 1, 0, "12345678"),
        npy_entry("records.npy", "[('a', '<f4')]", 1, 0, "1234"),
        npy_entry("secret.npy", "'|u1'", 4, 0, "efgh"),
        npy_entry("short.npy", "'|u1'", 5, 0, "abcd"),
        npy_entry("good.npy", "'|u1'", 4, 0, "abcd"),
    };
    entries[5].flags = 1;
    write_npz("mixed.npz", entries, 8);
    expect_run(0, "$BIN/gantry convert mixed.npz");
    expect_in_output("README                            cannot be read: it is no .npy file");
    assert_null(strstr(output, "docs"));
    expect_in_output("mixed.npz: 1 tensor, and 6 entries that cannot be read\n");
    expect_in_output(
        "objects                           cannot be read: the .npy file holds Python");
    expect_in_output(
        "strings                           cannot be read: the .npy file's elements are");
    expect_in_output(
        "records                           cannot be read: the .npy file's elements are");
    expect_in_output("secret                            cannot be read: it is encrypted");
    expect_in_output(
        "short                             cannot be read: the .npy file should have 5");
    expect_in_output("good                              uint8      [4]  4 bytes");
    expect_run(0, "$BIN/gantry convert mixed.npz --json");
    expect_in_output("\"problem\": \"it is no .npy file\"");
    expect_in_output("\"problem\": null");
    expect_run(0, "$BIN/gantry convert mixed.npz g.npy --tensor good && tail -c 4 g.npy");
    assert_non_null(strstr(output, "abcd"));
    expect_run(1, "$BIN/gantry convert mixed.npz out.npz");
    expect_in_output(
        "mixed.npz: 6 of its 7 entries cannot be read: \"README\": it is no .npy file");
    expect_in_output("--skip-unreadable leaves out what cannot be read");
    expect_run(1, "$BIN/gantry convert mixed.npz out.npz --tensor README --skip-unreadable");
    expect_run(1, "test -e out.npz");
    expect_run(0, "$BIN/gantry convert mixed.npz skipped.npz --skip-unreadable");
    expect_in_output("warning: objects is left out: the .npy file holds Python objects");
    expect_in_output("skipped.npz: 1 tensor of mixed.npz");
    expect_run(0, "$BIN/gantry convert skipped.npz");
    expect_in_output("skipped.npz: 1 tensor\n  good ");
}

TEST(unreadable_tensors_of_a_checkpoint_hide_no_others) {
    static const char header[] =
        "{\"f8\":{\"dtype\":\"F8_E8M0\",\"shape\":[4],\"data_offsets\":[0,4]},"
        "\"good\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[4,8]}}";
    out_t out = create("f8.safetensors");
    put(&out, strlen(header), 8);
    put_bytes(&out, header, strlen(header));
    put_bytes(&out, "....abcd", 8);
    (void)close(out.file);
    expect_run(0, "$BIN/gantry convert f8.safetensors");
    expect_in_output(
        "f8                                cannot be read: the dtype of tensor 'f8' is "
        "F8_E8M0");
    expect_in_output("good                              uint8      [4]  4 bytes");
    expect_run(0, "$BIN/gantry convert f8.safetensors g.npy --tensor good && tail -c 4 g.npy");
    assert_non_null(strstr(output, "abcd"));
    expect_run(1, "$BIN/gantry convert f8.safetensors out.npz");
    expect_in_output("f8.safetensors: 1 of its 2 entries cannot be read: \"f8\": the dtype of");
    expect_run(1, "$BIN/gantry convert f8.safetensors out.npz --tensor f8");
    expect_run(1, "test -e out.npz");
    expect_run(0, "$BIN/gantry convert f8.safetensors s.safetensors --skip-unreadable");
    expect_in_output("s.safetensors: 1 tensor of f8.safetensors");
}

/* ---- files that are something else ---- */

TEST(pointers_and_pages_are_named) {
    static const char *const names[] = {"x.safetensors", "x.npz", "x.npy"};
    for (size_t i = 0; i < 3; ++i) {
        char line[128];
        (void)snprintf(line, sizeof line, "$BIN/gantry convert %s out.npz", names[i]);
        write_all(names[i], "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n");
        expect_run(1, line);
        expect_in_output(names[i]);
        expect_in_output("cannot be read: it is a Git LFS pointer, which stands for the file");
        expect_in_output("; .npy, .npz and .safetensors files are accepted");
        write_all(names[i], "\n<!DOCTYPE html>\n<html></html>\n");
        expect_run(1, line);
        expect_in_output("cannot be read: it is an HTML page");
    }
    expect_run(1, "test -e out.npz");
}

/* Without the final zero. */
#define BYTES(text) text, sizeof(text) - 1
#define GZIP "\x1f\x8b\x08\0\0\0\0\0\0\x03"

/* Each is named, whatever its extension promises. */
TEST(files_of_other_formats_are_named) {
    static const struct {
        const char *bytes;
        size_t size, place; /* of the bytes in the file */
        const char *kind;
    } cases[] = {
        {BYTES("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error><Code>NoSuchKey</Code>"), 0,
         "it is an XML error message, as a site sends in place of a file that is missing or private"},
        {BYTES("\xef\xbb\xbf<?xml version=\"1.0\" encoding=\"utf-8\"?><Error><Code>BlobNotFound"),
         0, "it is an XML error message"},
        {BYTES("<?xml version='1.0' encoding='UTF-8'?><Error><Code>AccessDenied</Code>"), 0,
         "it is an XML error message"},
        {BYTES("<?xml version=\"1.0\"?><!DOCTYPE html><html>"), 0, "it is an HTML page"},
        {BYTES("{\"error\":\"Repository not found\"}"), 0, "it is a JSON error message"},
        {BYTES("{ \"message\": \"Not Found\"}"), 0, "it is a JSON error message"},
        {BYTES("{\"metadata\":{\"total_size\":9},\"weight_map\":{}}"), 0,
         "it is the index of a model in several files"},
        {BYTES("{\"a\": 1}"), 0, "it is a JSON text"},
        {BYTES("Entry not found"), 0, "it is an error message"},
        {BYTES(GZIP), 0, "it is compressed by gzip; gunzip unpacks it"},
        {BYTES("\x28\xb5\x2f\xfd\x04"), 0, "it is compressed by zstd"},
        {BYTES("\xfd"
               "7zXZ\0"),
         0, "it is compressed by xz"},
        {BYTES("BZh91AY&SY"), 0, "it is compressed by bzip2"},
        {BYTES("ustar\0"
               "00"),
         257, "it is a .tar archive; tar -x unpacks it"},
        {BYTES("\x89HDF\r\n\x1a\n\0"), 0, "it is an HDF5 file, such as Keras's weights (.h5)"},
        {BYTES("GGUF\3\0\0\0"), 0, "it is a GGUF file of llama.cpp"},
        {BYTES("\x1c\0\0\0TFL3"), 0, "it is a TensorFlow Lite model"},
        {BYTES("\x08\x07\x12\x07pytorch\x1a"), 0, "it is an ONNX model"},
        {BYTES("\x08\1\x12\xc0\x10\n"), 0, "it is a TensorFlow SavedModel (.pb)"},
        {BYTES("\x80\2\x8a\nl\xfc\x9c\x46\xf9 j\xa8P\x19."), 0,
         "it is a Python pickle, such as an old PyTorch checkpoint (.pt)"},
        {BYTES(""), 0, "it is empty"},
    };
    static const char *const names[] = {"x.safetensors", "x.npz", "x.npy", "x.bin"};
    for (size_t i = 0; i < 4 * sizeof cases / sizeof cases[0]; ++i) {
        char line[128], wanted[256];
        const char *name = names[i % 4];
        out_t out = create(name);
        out.at = cases[i / 4].place;
        put_bytes(&out, cases[i / 4].bytes, cases[i / 4].size);
        (void)close(out.file);
        (void)snprintf(line, sizeof line, "$BIN/gantry convert %s out.npz", name);
        expect_run(1, line);
        (void)snprintf(wanted, sizeof wanted, "%s cannot be read: %s", name, cases[i / 4].kind);
        expect_in_output(wanted);
        expect_in_output("; .npy, .npz and .safetensors files are accepted");
    }
    expect_run(1, "test -e out.npz");
}

/* Headers whose lengths look like the beginning of another format. */
TEST(safetensors_are_no_other_format) {
    static const uint64_t lengths[] = {0x8b1f, 0x020280, 0x120108, 0x685a42, 0x0280};
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; ++i) {
        static const char header[] =
            "{\"good\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]}}";
        out_t out = create("long.safetensors");
        char blanks[4096];
        memset(blanks, ' ', sizeof blanks);
        put(&out, lengths[i], 8);
        put_bytes(&out, header, strlen(header));
        for (uint64_t left = lengths[i] - strlen(header), n; left > 0; left -= n) {
            n = left < sizeof blanks ? left : sizeof blanks;
            put_bytes(&out, blanks, (size_t)n);
        }
        put_bytes(&out, "abcd", 4);
        (void)close(out.file);
        expect_run(0, "$BIN/gantry convert long.safetensors");
        expect_in_output("long.safetensors: 1 tensor\n  good ");
    }
}

TEST(archives_of_others_are_named) {
    const entry_t torch[] = {{.name = "archive/data.pkl", .bytes = "\x80\2", .size = 2},
                             {.name = "archive/data/0", .bytes = "1234", .size = 4}};
    const entry_t keras[] = {{.name = "config.json", .bytes = "{}", .size = 2},
                             {.name = "model.weights.h5", .bytes = "\x89HDF", .size = 4}};
    const entry_t text[] = {{.name = "README", .bytes = "text", .size = 4}};
    write_npz("model.pt", torch, 2);
    expect_run(1, "$BIN/gantry convert model.pt");
    expect_in_output(
        "model.pt cannot be read: it is a PyTorch checkpoint (.pt), a .zip of a Python");
    write_npz("model.keras", keras, 2);
    expect_run(1, "$BIN/gantry convert model.keras out.npz");
    expect_in_output("model.keras cannot be read: it is a Keras model (.keras)");
    write_npz("text.npz", text, 1);
    expect_run(1, "$BIN/gantry convert text.npz out.npz");
    expect_in_output("text.npz cannot be read: it is a .zip archive without an .npy file; .npy,");
    expect_run(1, "test -e out.npz");
}

TEST(damaged_files_are_named_by_their_format) {
    static const struct {
        const char *name, *bytes, *why;
    } cases[] = {
        {"d.npy", "\x93NUMPX\1",
         "d.npy is no .npy file, or is damaged: it begins with \\x93NUMPX\\x01, and not with "
         "\\x93NUMPY; .npy, .npz and"},
        {"d.npy", "\x93NUMPY\1\1", "d.npy: "},
        {"d.npz", "QK\3\4 rest",
         "d.npz is no .npz file, or is damaged: it begins with QK\\x03\\x04\\x20res, and not with PK"},
        {"d.npz", "PK\3\4 rest",
         "d.npz: it is no .npz file, or is damaged: it has no whole end record"},
        {"d.bin", "some bytes",
         "d.bin begins with some\\x20byt, as none of the files does that are"},
        {"d.safetensors", "some bytes", "it is no safetensors file: it begins with a length of"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        char line[128];
        write_all(cases[i].name, cases[i].bytes);
        (void)snprintf(line, sizeof line, "$BIN/gantry convert %s", cases[i].name);
        expect_run(1, line);
        expect_in_output(cases[i].why);
        if (i < 5) assert_null(strstr(output, "no safetensors file"));
    }
}

int main(void) {
    if (open_folder() != 0) return 1;
    const int result = test_main();
    if (result == 0) (void)run("cd / && rm -r %s", folder);
    return result;
}
