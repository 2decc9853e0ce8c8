/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: `gantry convert` keeps names, types and bytes in every direction, refuses hostile files,
 * and leaves nothing half-written.
 * Promise: A flipped bit in a head, the directory or the end record of an .npz file is named as
 * damage, and hides no entry. */
#define _XOPEN_SOURCE 700

#include "cli_case.h"
#include "test.h"

#define MOST_BYTES 4096

/* A .npy file of 64 float32 elements, compressed: 91 bytes that become 384. */
static const unsigned char deflated[] = {
    0x9b, 0xec, 0x17, 0xea, 0x1b, 0x10, 0xc9, 0xc8, 0x50, 0xc6, 0x50, 0xad, 0x9e, 0x92, 0x5a, 0x9c,
    0x5c, 0xa4, 0x6e, 0xa5, 0xa0, 0x6e, 0x93, 0x66, 0xa2, 0xae, 0xa3, 0xa0, 0x9e, 0x96, 0x5f, 0x54,
    0x52, 0x94, 0x98, 0x17, 0x9f, 0x5f, 0x94, 0x92, 0x0a, 0x12, 0x77, 0x4b, 0xcc, 0x29, 0x4e, 0x05,
    0x8a, 0x17, 0x67, 0x24, 0x16, 0xa4, 0x02, 0xf9, 0x1a, 0x66, 0x26, 0x3a, 0x9a, 0x3a, 0x0a, 0xb5,
    0x0a, 0xe4, 0x03, 0x2e, 0x06, 0x08, 0xb0, 0x67, 0x60, 0x68, 0x00, 0xe2, 0x03, 0x40, 0xcc, 0xe0,
    0xc0, 0xc0, 0xa0, 0x00, 0xc4, 0x0e, 0x0e, 0x23, 0x41, 0x0e, 0x00};
#define PLAIN_BYTES 384u
#define PLAIN_CRC 0xec6189dcu

/* ---- files ---- */

static unsigned char bytes[MOST_BYTES];
static size_t used;

static void put(uint64_t value, int count) {
    for (int i = 0; i < count; ++i, value >>= 8) bytes[used++] = (unsigned char)value;
}

static void put_text(const char *text) {
    memcpy(bytes + used, text, strlen(text));
    used += strlen(text);
}

static void write_bytes(const char *name, size_t size) {
    char path[256];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    (void)fclose(file);
}

/* A safetensors file of this header and `data` bytes that count up. */
static void write_safetensors(const char *name, const char *header, size_t data) {
    used = 0;
    put(strlen(header), 8);
    put_text(header);
    for (size_t i = 0; i < data; ++i) bytes[used++] = (unsigned char)(i + 1);
    write_bytes(name, used);
}

static void write_three_tensors(void) {
    write_safetensors(
        "three.safetensors",
        "{\"dense/kernel\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[0,24]},"
        "\"steps\":{\"dtype\":\"I64\",\"shape\":[],\"data_offsets\":[24,32]},"
        "\"empty\":{\"dtype\":\"U8\",\"shape\":[0,4],\"data_offsets\":[32,32]}}",
        32);
}

/* What makes an archive hostile; 0: it is sound. */
typedef struct zip_case_t {
    const char *name, *why;      /* why: a part of the message; NULL: the archive is sound */
    const char *local_name;      /* NULL: the same */
    uint32_t crc, stored, plain; /* 0: the right ones */
    uint32_t method, flags, offset;
    uint32_t count, directory, directory_bytes; /* in the end record; 0: the right ones */
    bool is_twice, is_overlap;
} zip_case_t;

static uint32_t or_else(uint32_t value, uint32_t right) { return value ? value : right; }

static void put_entry_head(const zip_case_t *c, const char *name) {
    put(20, 2);
    put(c->flags, 2);
    put(c->method == 99 ? 0 : or_else(c->method, 8), 2);
    put(0, 4);
    put(or_else(c->crc, PLAIN_CRC), 4);
    put(or_else(c->stored, sizeof deflated), 4);
    put(or_else(c->plain, PLAIN_BYTES), 4);
    put(strlen(name), 2);
    put(0, 2);
}

static void put_local(const zip_case_t *c) {
    put(0x04034b50, 4);
    put_entry_head(c, c->local_name ? c->local_name : c->name);
    put_text(c->local_name ? c->local_name : c->name);
    memcpy(bytes + used, deflated, sizeof deflated);
    used += sizeof deflated;
}

static void put_central(const zip_case_t *c, const char *name, size_t offset) {
    put(0x02014b50, 4);
    put(20, 2);
    put_entry_head(c, name);
    put(0, 10);
    put(c->offset ? c->offset : offset, 4);
    put_text(name);
}

static void make_zip(const zip_case_t *c) {
    used = 0;
    const bool has_two = c->is_twice || c->is_overlap;
    put_local(c);
    const size_t second = c->is_overlap ? 0 : used;
    if (c->is_twice) put_local(c);
    const size_t directory = used;
    put_central(c, c->name, 0);
    if (has_two) put_central(c, c->name, second);
    const size_t end = used;
    put(0x06054b50, 4);
    put(0, 4);
    put(or_else(c->count, has_two ? 2 : 1), 2);
    put(or_else(c->count, has_two ? 2 : 1), 2);
    put(or_else(c->directory_bytes, (uint32_t)(end - directory)), 4);
    put(or_else(c->directory, (uint32_t)directory), 4);
    put(0, 2);
}

static void expect_no_output(const char *why) {
    if (run("ls out* 2>/dev/null") == 0) fail_msg("%s: left behind:\n%s", why, output);
}

/* A build without zlib reads no compressed entry, and says so. */
static bool has_zlib(void) {
    const zip_case_t sound = {.name = "a.npy"};
    make_zip(&sound);
    write_bytes("z.npz", used);
    expect_run(0, "$BIN/gantry convert z.npz");
    return !strstr(output, "cannot be read: it is compressed, and this gantry command was built");
}

#define SKIP_WITHOUT_ZLIB() \
    if (!has_zlib()) SKIP_BECAUSE("this gantry command was built without zlib")

/* ---- directions ---- */

TEST(every_direction_keeps_names_types_and_bytes) {
    write_three_tensors();
    expect_run(
        0, "$BIN/gantry convert three.safetensors a.safetensors"); /* as the library lays it out */
    expect_run(0, "$BIN/gantry convert a.safetensors a.npz --verbose");
    expect_in_output("a.npz: 3 tensors of a.safetensors");
    expect_in_output("dense/kernel                      float32    [2, 3]  24 bytes");
    expect_run(0, "$BIN/gantry convert a.npz b.safetensors && cmp a.safetensors b.safetensors");
    expect_run(0, "$BIN/gantry convert a.npz b.npz && cmp a.npz b.npz");
    expect_run(0, "$BIN/gantry convert a.npz k.npy --tensor dense/kernel");
    expect_run(0,
               "$BIN/gantry convert a.safetensors l.npy --tensor dense/kernel && cmp k.npy l.npy");
    expect_run(
        0,
        "tail -c 24 k.npy >e && tail -c +9 three.safetensors | tail -c 32 | head -c 24 | cmp - e");
    expect_run(
        0, "$BIN/gantry convert k.npy k.npz && $BIN/gantry convert k.npz m.npy && cmp k.npy m.npy");
    expect_run(0, "$BIN/gantry convert k.npz --json");
    expect_in_output("\"name\": \"k\"");
    expect_run(0, "$BIN/gantry convert k.npy k.safetensors --name dense/kernel");
    expect_run(0, "$BIN/gantry convert k.safetensors");
    expect_in_output("dense/kernel  ");
    expect_run(0, "$BIN/gantry convert a.npz other --to safetensors && cmp other a.safetensors");
    expect_run(1, "$BIN/gantry convert a.npz out.npy");
    expect_in_output("a .npy file has one array, and there are 3 tensors: dense/kernel, ");
    expect_run(1, "$BIN/gantry convert a.npz out.npy --tensor nothing");
    expect_in_output("a.npz has no tensor \"nothing\"; it has ");
    expect_run(2, "$BIN/gantry convert a.npz out.txt");
    expect_in_output("--to names the format");
    expect_no_output("refused");
}

TEST(python_reads_and_unpacks_what_is_written) {
    if (run("python3 -c 'import zipfile'") != 0) SKIP_BECAUSE("no python3 here");
    /* long enough for codes of its own */
    expect_run(
        0,
        "python3 -c 'import struct, sys; "
        "h = (\"{\\\"descr\\\": \\\"<i4\\\", \\\"fortran_order\\\": False, \\\"shape\\\": (3000,), }\")"
        ".replace(chr(34), chr(39)).ljust(117) + chr(10); "
        "sys.stdout.buffer.write(b\"\\x93NUMPY\\x01\\x00v\\x00\" + h.encode() + "
        "b\"\".join(struct.pack(\"<i\", i * i % 977) for i in range(3000)))' >long.npy");
    expect_run(0, "$BIN/gantry convert long.npy p.npz");
    expect_run(
        0,
        "python3 -c 'import zipfile; z = zipfile.ZipFile(\"p.npz\"); assert z.testzip() is None; "
        "print(z.namelist())'");
    expect_in_output("'long.npy'");
    SKIP_WITHOUT_ZLIB();
    for (int level = 0; level < 10; level += 3) { /* stored, fixed and own codes */
        char line[512];
        (void)snprintf(
            line, sizeof line,
            "python3 -c 'import zipfile; z = zipfile.ZipFile(\"p.npz\"); "
            "o = zipfile.ZipFile(\"q.npz\", \"w\", zipfile.ZIP_DEFLATED, compresslevel=%d); "
            "[o.writestr(n, z.read(n)) for n in z.namelist()]; o.close()' && "
            "$BIN/gantry convert q.npz r.npz && cmp p.npz r.npz",
            level);
        expect_run(0, line);
    }
}

TEST(compressed_archives_are_read) {
    SKIP_WITHOUT_ZLIB();
    expect_in_output("a                                 float32    [64]  256 bytes");
    expect_run(0, "$BIN/gantry convert z.npz z.npy && test $(wc -c <z.npy) = 384");
}

/* ---- more than 4 GiB ---- */

#define NPY                                                                                      \
    "h = \"{\\\"descr\\\": \\\"|u1\\\", \\\"fortran_order\\\": False, \\\"shape\\\": (%d,), }\"" \
    ".replace(chr(34), chr(39)); npy = lambda n: b\"\\x93NUMPY\\x01\\x00v\\x00\" + "             \
    "((h % n).ljust(117) + chr(10)).encode(); "

/* The file has a hole, so it takes little of the disk, and only its entries are read. */
TEST(entries_beyond_4_gib_are_read) {
    if (run("python3 -c 'import zipfile'") != 0) SKIP_BECAUSE("no python3 here");
    if (run("%s",
            "python3 -c 'import zipfile; " NPY
            "z = zipfile.ZipFile(\"far.npz\", \"w\"); z.writestr(\"a.npy\", npy(3) + b\"abc\"); "
            "z.start_dir = 5 << 30; z.writestr(\"b.npy\", npy(4) + b\"defg\"); z.close(); "
            "open(\"b.npy\", \"wb\").write(npy(4) + b\"defg\")' && test -s far.npz") != 0)
        SKIP_BECAUSE("no file of 5 GiB with a hole can be made here");
    expect_run(0, "test $(wc -c <far.npz) -gt 5368709120 && $BIN/gantry convert far.npz");
    expect_in_output("far.npz: 2 tensors");
    expect_run(0, "$BIN/gantry convert far.npz c.npy --tensor b && cmp b.npy c.npy");
    expect_run(0, "$BIN/gantry convert far.npz near.npz && test $(wc -c <near.npz) -lt 1000");
    expect_run(0, "rm far.npz");
}

TEST(tensors_of_more_than_4_gib_are_written) {
    if (!getenv("GANTRY_TEST_LARGE_FILES"))
        SKIP_BECAUSE("GANTRY_TEST_LARGE_FILES=1 writes 9 GiB, and takes 5 GiB of memory");
    expect_run(0, "python3 -c '" NPY
                  "f = open(\"w.npy\", \"wb\"); f.write(npy(4300000000)); "
                  "f.truncate(128 + 4300000000)' && printf x >x && "
                  "dd if=x of=w.npy bs=1 seek=4299999999 conv=notrunc 2>/dev/null");
    expect_run(0, "$BIN/gantry convert w.npy w.npz");
    expect_run(0,
               "python3 -c 'import zipfile; z = zipfile.ZipFile(\"w.npz\"); "
               "print(z.infolist()[0].file_size); assert z.testzip() is None'");
    assert_string_equal(output, "4300000128\n");
    expect_run(
        0, "$BIN/gantry convert w.npz v.npy && cmp w.npy v.npy; code=$?; rm w.* v.*; exit $code");
}

/* ---- types and texts ---- */

TEST(types_that_a_format_lacks_are_named) {
    used = 0;
    static const char header[] =
        "{\"w\":{\"dtype\":\"BF16\",\"shape\":[2],\"data_offsets\":[0,4]}}";
    put(strlen(header), 8);
    put_text(header);
    put(0x3f80, 2); /* 1 and -2 */
    put(0xc000, 2);
    write_bytes("half.safetensors", used);
    expect_run(1, "$BIN/gantry convert half.safetensors out.npz");
    expect_in_output("out.npz: .npz files have no type for 1 of the tensors: w (bfloat16)");
    expect_no_output("bfloat16");
    expect_run(0, "$BIN/gantry convert half.safetensors w.npy --widen");
    expect_run(0, "test \"$(tail -c 8 w.npy | od -An -tx4 | tr -d ' ')\" = 3f800000c0000000");
    write_safetensors(
        "screen.safetensors",
        "{\"\\u001b[31mred\\u0007\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", 4);
    expect_run(0, "$BIN/gantry convert screen.safetensors");
    expect_in_output("  ?[31mred? ");
    expect_run(1, "$BIN/gantry convert screen.safetensors out.npz");
    expect_in_output("?[31mred?");
    assert_null(strpbrk(output, "\033\007"));
    write_safetensors("odd.safetensors",
                      "{\"w\":{\"dtype\":\"F8_E8M0\",\"shape\":[2],\"data_offsets\":[0,2]}}", 2);
    expect_run(1, "$BIN/gantry convert odd.safetensors out.npz");
    expect_in_output("F8_E8M0");
}

TEST(texts_stay_where_there_is_a_place_for_them) {
    write_safetensors("t.safetensors",
                      "{\"__metadata__\":{\"epoch\":\"3\"},\"w\":{\"dtype\":\"U8\",\"shape\":[2],"
                      "\"data_offsets\":[0,2]}}",
                      2);
    expect_run(
        0,
        "$BIN/gantry convert t.safetensors u.safetensors && grep -q '\"epoch\":\"3\"' u.safetensors");
    expect_run(0, "$BIN/gantry convert t.safetensors t.npz");
    expect_in_output("warning: .npz files have no place for metadata: 1 text is not kept");
}

/* ---- hostile files ---- */

TEST(hostile_archives_are_refused) {
    static const zip_case_t cases[] = {
        {.name = "a.npy", .crc = 1, .why = "its checksum is wrong"},
        {.name = "a.npy", .is_overlap = true, .why = "overlaps another one"},
        {.name = "a.npy", .is_twice = true, .why = "is there twice"},
        {.name = "../a.npy", .why = "is a path that leaves its folder"},
        {.name = "/a.npy", .why = "is a path that leaves its folder"},
        {.name = "x/../../a.npy", .why = "is a path that leaves its folder"},
        {.name = "c:a.npy", .why = "is a path that leaves its folder"},
        {.name = "x\\a.npy", .why = "backslashes"},
        {.name = "x\na.npy", .why = "control characters"},
        {.name = "\xff.npy", .why = "UTF-8"},
        {.name = ".npy", .why = "is empty"},
        {.name = "a.txt", .why = "it is a .zip archive without an .npy file"},
        {.name = "a.npy", .local_name = "b.npy", .why = "one of another name"},
        {.name = "a.npy", .flags = 1, .why = "is encrypted"},
        {.name = "a.npy", .method = 12, .why = "another method than DEFLATE"},
        {.name = "a.npy", .method = 99, .why = "states an impossible size"},
        {.name = "a.npy", .plain = 385, .why = "it has fewer bytes than it states"},
        {.name = "a.npy", .plain = 383, .why = "has 255: it is truncated"},
        {.name = "a.npy", .plain = 0xfffffff0, .why = "states an impossible size"},
        {.name = "a.npy", .plain = 0xffffffff, .why = "has no size"},
        {.name = "a.npy", .stored = 4000, .why = "reaches beyond the directory"},
        {.name = "a.npy", .stored = 50, .why = "it has fewer bytes than it states"},
        {.name = "a.npy", .offset = 3, .why = "has a damaged head"},
        {.name = "a.npy", .offset = 4000, .why = "is not in front of the directory"},
        {.name = "a.npy", .count = 2, .why = "does not fit into the file"},
        {.name = "a.npy", .count = 1, .is_twice = true, .why = "more entries than its end record"},
        {.name = "a.npy", .count = 0xffff, .why = "64-bit end record"},
        {.name = "a.npy", .directory = 4000, .why = "does not fit into the file"},
        {.name = "a.npy", .directory = 5, .why = "its directory is damaged"},
        {.name = "a.npy", .directory_bytes = 0xfffffffe, .why = "does not fit into the file"},
    };
    SKIP_WITHOUT_ZLIB();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        make_zip(&cases[i]);
        write_bytes("h.npz", used);
        expect_run(1, "$BIN/gantry convert h.npz out.npz");
        expect_in_output("h.npz");
        expect_in_output(cases[i].why);
        expect_no_output(cases[i].why);
    }
}

/* One bit of a sound archive: of the local head, the directory or the end record. */
TEST(a_flipped_bit_is_named_as_damage) {
    static const char differ[] = "is damaged: its head and the directory differ";
    enum { LOCAL, DIRECTORY, END };
    static const struct {
        int part;
        size_t byte, bit;
        const char *why;
    } flips[] = {
        {LOCAL, 26, 0, "has a damaged head"},     /* the bytes of the name */
        {LOCAL, 28, 0, "has a damaged head"},     /* of the extra field */
        {LOCAL, 28, 4, "has a damaged head"},     /* the same */
        {DIRECTORY, 8, 0, differ},                /* encrypted */
        {DIRECTORY, 10, 1, differ},               /* another method */
        {DIRECTORY, 10, 3, differ},               /* stored */
        {DIRECTORY, 16, 5, "checksum is wrong"},  /* the checksum */
        {DIRECTORY, 20, 2, differ},               /* stored bytes */
        {DIRECTORY, 22, 2, differ},               /* the same */
        {DIRECTORY, 24, 3, differ},               /* bytes */
        {DIRECTORY, 27, 3, differ},               /* the same */
        {END, 10, 0, "more entries than its end"} /* entries */
    };
    const zip_case_t sound = {.name = "a.npy"};
    SKIP_WITHOUT_ZLIB();
    make_zip(&sound);
    const size_t whole = used, end = whole - 22, directory = end - 46 - 5;
    for (size_t i = 0; i < sizeof flips / sizeof flips[0]; ++i) {
        const size_t parts[] = {0, directory, end}, at = parts[flips[i].part] + flips[i].byte;
        bytes[at] ^= (unsigned char)(1u << flips[i].bit);
        write_bytes("bit.npz", whole);
        bytes[at] ^= (unsigned char)(1u << flips[i].bit);
        expect_run(1, "$BIN/gantry convert bit.npz out.npz");
        expect_in_output(flips[i].why);
        expect_no_output(flips[i].why);
    }
}

/* No cut and no flipped bit of a sound archive crashes the program or leaves a file behind. */
TEST(damaged_archives_never_crash) {
    const zip_case_t sound = {.name = "a.npy"};
    make_zip(&sound);
    const size_t whole = used;
    for (size_t size = 0; size < whole; size += 13) {
        write_bytes("cut.npz", size);
        assert_int_equal(run("$BIN/gantry convert cut.npz out.npz"), 1);
    }
    for (size_t bit = 0; bit < 8 * whole; bit += 83) {
        bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
        write_bytes("flip.npz", whole);
        const int code = run("$BIN/gantry convert flip.npz && $BIN/gantry convert flip.npz f.npz");
        bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
        if (code != 0 && code != 1) fail_msg("bit %zu: exit %d\n%s", bit, code, output);
    }
    expect_no_output("damage");
}

TEST(hostile_tensors_are_refused) {
    static const struct {
        const char *header, *why;
        size_t data;
    } rows[] = {
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]},"
         "\"b\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[4,12]}}",
         "h.safetensors", 12},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[9000000000000000000],\"data_offsets\":[0,8]}}",
         "h.safetensors", 8},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}", "h.safetensors", 7},
        {"{\"a\":", "the header ends", 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
        write_safetensors("h.safetensors", rows[i].header, rows[i].data);
        expect_run(1, "$BIN/gantry convert h.safetensors out.npz");
        expect_in_output(rows[i].why);
    }
    used = 0;
    put(UINT64_C(0x7fffffffffffffff), 8);
    write_bytes("h.safetensors", 8);
    expect_run(1, "$BIN/gantry convert h.safetensors out.npz");
    write_file("h.npy", "\x93NUMPY\x02");
    expect_run(1, "$BIN/gantry convert h.npy out.npz");
    expect_in_output("h.npy: ");
    /* a name that is no entry's */
    write_safetensors("h.safetensors",
                      "{\"../x\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}", 1);
    expect_run(1, "$BIN/gantry convert h.safetensors out.npz");
    expect_in_output("the tensor \"../x\", whose name is a path that leaves its folder");
    expect_no_output("hostile");
}

/* ---- failures of the system ---- */

TEST(nothing_half_written_is_left) {
    write_three_tensors();
    expect_run(0, "$BIN/gantry convert three.safetensors big.npz && cp big.npz old.npz");
    static const char *const formats[] = {"npz", "safetensors", "npy --tensor dense/kernel"};
    for (size_t i = 0; i < 3; ++i) {
        char line[256];
        /* a file of 0 blocks: every write fails */
        (void)snprintf(line, sizeof line,
                       "ulimit -f 0; $BIN/gantry convert three.safetensors out.%s", formats[i]);
        expect_run(1, line);
        expect_in_output("out.");
        expect_no_output(line);
    }
    expect_run(1, "ulimit -f 0; $BIN/gantry convert three.safetensors old.npz");
    expect_run(0, "cmp big.npz old.npz");
    expect_run(1, "$BIN/gantry convert three.safetensors no/such/out.npz");
    expect_in_output("cannot write 'no/such/out.npz': No such file or directory");
    expect_run(1, "$BIN/gantry convert three.safetensors /dev/full --to npz");
    expect_in_output("/dev/full: it is no plain file");
    expect_run(1, "$BIN/gantry convert . out.npz");
    expect_in_output("cannot read .: it is no plain file");
    expect_run(1, "$BIN/gantry convert missing.npz out.npz");
    expect_in_output("cannot read missing.npz: No such file or directory");
    expect_run(
        0,
        "ln -s old.npz link.npz; $BIN/gantry convert three.safetensors link.npz; test -L link.npz");
    expect_run(0, "$BIN/gantry convert big.npz big.npz && cmp big.npz old.npz"); /* in place */
    expect_no_output("failures");
}

int main(void) {
    if (open_folder() != 0) return 1;
    int result = test_main();
    if (result == 0) (void)run("cd / && rm -r %s", folder);
    return result;
}
