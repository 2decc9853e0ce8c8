/* SPDX-License-Identifier: Apache-2.0 */
/* PoCL lets Clang's driver link, in the process. The driver takes the first program that it finds:
 *
 *     1. ld in the folders of COMPILER_PATH
 *     2. <machine>-pc-linux-gnu-ld in the folder of Clang, in that of GCC, in PATH
 *     3. ld in the folder of Clang, in that of GCC, in PATH
 *
 * The folder of GCC is /usr/<triple>/bin of /usr/lib/gcc/<triple>. A program is a plain file that
 * may be read and run, whatever it does. The folder of Clang is compiled into PoCL and is not
 * searched here: systems have no other ld in it than the one in PATH.
 *
 * What is found links an empty object to a library, started as Clang starts it: the result must be
 * a library of this machine. Scripts that fail, linkers for other machines and files that are no
 * programs are found by this one trial, which takes a few milliseconds. It writes into a folder of
 * its own; what a killed process left of one is removed by a later trial. A program that linked is
 * recorded in the folder, and is not tried again until its file changes. */
#include "opencl/opencl_names.h"
#include "opencl/pocl/opencl_linker.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/os/files.h"
#include "base/os/process.h"

#define PATH_BYTES 1024
#define MACHINE_BYTES 65
#define MOST_SECONDS 10
#define POLL_NS UINT64_C(200000)
#define OLD_SECONDS 120
#define STEM "gantry_link_" /* of the trials' folders */

/* What ELF calls machines. */
enum { NO_MACHINE = 0, X86_64 = 62, AARCH64 = 183 };

#if defined(__x86_64__)
#define MACHINE X86_64
#define FORMAT "elf_x86_64"
#elif defined(__aarch64__)
#define MACHINE AARCH64
#define FORMAT "aarch64linux"
#else
#define MACHINE NO_MACHINE /* there is no trial */
#define FORMAT ""
#endif

/* ---- which program ---- */

static bool is_program(const char *path) {
    gantry__os_info_t info;
    return gantry__os_may(path, GANTRY__OS_MAY_READ | GANTRY__OS_MAY_RUN) == 0 &&
           gantry__os_path_info(path, &info) == 0 && info.kind == GANTRY__OS_PLAIN;
}

static bool note_match(void *user, const char *path) {
    (void)path;
    *(bool *)user = true;
    return false;
}

static bool matches(const char *pattern) {
    bool is_found = false;
    gantry__os_match(pattern, note_match, &is_found);
    return is_found;
}

/* Whether a folder of the list (':' between them) has the file; out_path is the first one's. */
static bool find_in_list(const char *list, const char *name, bool (*is_it)(const char *path),
                         char *out_path, size_t path_bytes) {
    while (list && *list != '\0') {
        int length = (int)strcspn(list, ":");
        (void)snprintf(out_path, path_bytes, "%.*s/%s", length, list, name);
        if (length > 0 && is_it(out_path)) return true;
        list += length + (list[length] == ':');
    }
    return false;
}

typedef struct gcc_search_t {
    const char *name;
    char *out_path;
    size_t path_bytes;
    bool is_found;
} gcc_search_t;

/* The last folder that is visited is the first of their order, which counts. */
static bool visit_gcc(void *user, const char *folder) {
    gcc_search_t *search = user;
    char path[PATH_BYTES];
    (void)snprintf(path, sizeof path, "/usr/%s/bin/%s", strrchr(folder, '/') + 1, search->name);
    if (!is_program(path)) return true;
    (void)snprintf(search->out_path, search->path_bytes, "%s", path);
    search->is_found = true;
    return true;
}

/* Other folders of that form belong to cross compilers: MinGW's ld makes programs for Windows. */
static bool find_in_gcc(const char *machine, const char *name, char *out_path, size_t path_bytes) {
    char pattern[MACHINE_BYTES + 32];
    gcc_search_t search = {.name = name, .out_path = out_path, .path_bytes = path_bytes};
    (void)snprintf(pattern, sizeof pattern, "/usr/lib*/gcc/%s-*linux*", machine);
    gantry__os_match(pattern, visit_gcc, &search);
    return search.is_found;
}

/* The variable that names the linker's folder, "" for another folder; NULL: there is none. */
static const char *find_linker(const char *machine, char *out_path, size_t path_bytes) {
    char of_machine[MACHINE_BYTES + 32];
    (void)snprintf(of_machine, sizeof of_machine, "%s-pc-linux-gnu-ld", machine);
    const char *const names[] = {of_machine, "ld"};
    if (find_in_list(getenv("COMPILER_PATH"), "ld", is_program, out_path, path_bytes))
        return "COMPILER_PATH";
    for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i) {
        if (find_in_gcc(machine, names[i], out_path, path_bytes)) return "";
        if (find_in_list(getenv("PATH"), names[i], is_program, out_path, path_bytes)) return "PATH";
    }
    return NULL;
}

/* ---- its libraries ---- */

/* In one of the folders, which are patterns, or in one of LIBRARY_PATH. */
static bool is_in_folders(const char *name, const char *const *folders, size_t count) {
    char path[PATH_BYTES];
    for (size_t i = 0; i < count; ++i) {
        (void)snprintf(path, sizeof path, "%s/%s", folders[i], name);
        if (matches(path)) return true;
    }
    return find_in_list(getenv("LIBRARY_PATH"), name, matches, path, sizeof path);
}

/* Every link has -lm, -lc and -lgcc. A linker of the system itself looks for them where
 * systems have them; another one (Nix, Conda) knows its own places. Systems without GCC may have
 * a Clang that links its own library instead. */
static const char *find_missing_library(void) {
    static const char *const systems[] = {"/usr/lib/*-linux-*", "/usr/lib*", "/lib/*-linux-*",
                                          "/lib*", "/usr/local/lib*"};
    static const char *const gccs[] = {"/usr/lib*/gcc/*/*", "/usr/local/lib*/gcc/*/*",
                                       "/opt/*/*/root/usr/lib*/gcc/*/*", "/usr/lib*"};
    const size_t system_count = sizeof systems / sizeof systems[0];

    if (!is_in_folders("libm.so", systems, system_count) &&
        !is_in_folders("libm.a", systems, system_count)) {
        return "the C library's libm.so for linking is not found: install libc6-dev (glibc-devel)";
    }
    if (is_in_folders("libgcc.a", gccs, sizeof gccs / sizeof gccs[0]) ||
        (!matches("/usr/lib*/gcc") && matches("/usr/lib*/clang/*/lib/*/libclang_rt.builtins*"))) {
        return NULL;
    }
    return "GCC's libgcc.a is not found: install gcc";
}

/* ---- the files of a trial ---- */

typedef struct link_trial_t {
    char folder[PATH_BYTES + 32];
    char object[PATH_BYTES + 48], library[PATH_BYTES + 48];
} link_trial_t;

static void name_files(link_trial_t *trial) {
    (void)snprintf(trial->object, sizeof trial->object, "%s/in.o", trial->folder);
    (void)snprintf(trial->library, sizeof trial->library, "%s/out.so", trial->folder);
}

static void remove_trial(const link_trial_t *trial) {
    (void)gantry__os_remove(trial->object);
    (void)gantry__os_remove(trial->library);
    (void)gantry__os_remove_folder(trial->folder);
}

/* One of a process that was killed. */
static bool remove_old_trial(void *user, const char *name) {
    const char *folder = user;
    link_trial_t trial;
    gantry__os_info_t info;
    if (strncmp(name, STEM, strlen(STEM)) != 0 || strlen(name) > 24) return true;
    (void)snprintf(trial.folder, sizeof trial.folder, "%.1000s/%.24s", folder, name);
    name_files(&trial);
    if (gantry__os_link_info(trial.folder, &info) == 0 && info.kind == GANTRY__OS_FOLDER &&
        time(NULL) - info.modified_s > OLD_SECONDS)
        remove_trial(&trial);
    return true;
}

/* The parts of ELF that a trial needs: of 64 bits, with this machine's order of bytes. */
typedef struct elf_header_t {
    unsigned char ident[16]; /* magic, 64 bits, little-endian, version 1 */
    uint16_t type, machine;
    uint32_t version;
    uint64_t entry, parts_at, sections_at;
    uint32_t flags;
    uint16_t header_bytes, part_bytes, part_count, section_bytes, section_count, names_section;
} elf_header_t;

typedef struct elf_section_t {
    uint32_t name, type;
    uint64_t flags, address, at, bytes;
    uint32_t link, info;
    uint64_t alignment, entry_bytes;
} elf_section_t;

_Static_assert(sizeof(elf_header_t) == 64 && sizeof(elf_section_t) == 64, "as ELF has them");

enum { ELF_OBJECT = 1, ELF_LIBRARY = 3, ELF_NAMES = 3, ELF_MAGIC_BYTES = 4 };

#define ELF_MAGIC "\177ELF"

static bool write_trial_file(const char *path, const void *bytes, size_t size) {
    const int file = gantry__os_open(path, GANTRY__OS_WRITE | GANTRY__OS_NEW, 0600);
    if (file < 0) return false;
    const bool is_written = gantry__os_write(file, bytes, size, GANTRY__OS_NEXT) == (int64_t)size;
    return gantry__os_close(file) == 0 && is_written;
}

/* Reads the beginning of a file; returns its bytes, -1 after a failure. */
static int64_t read_begin(const char *path, unsigned flags, void *bytes, size_t size) {
    const int file = gantry__os_open(path, GANTRY__OS_READ | flags, 0);
    const int64_t got = file >= 0 ? gantry__os_read(file, bytes, size) : -1;
    if (file >= 0) (void)gantry__os_close(file);
    return got;
}

/* An object without code or data: a header, the table of sections, and their names. */
static bool write_empty_object(const char *path) {
    static const char names[16] = "\0.shstrtab";
    struct {
        elf_header_t header;
        elf_section_t sections[2];
        char names[sizeof names];
    } object = {.header = {.ident = {0177, 'E', 'L', 'F', 2, 1, 1},
                           .type = ELF_OBJECT,
                           .machine = MACHINE,
                           .version = 1,
                           .sections_at = sizeof(elf_header_t),
                           .header_bytes = sizeof(elf_header_t),
                           .section_bytes = sizeof(elf_section_t),
                           .section_count = 2,
                           .names_section = 1}};
    object.sections[1] = (elf_section_t){.name = 1,
                                         .type = ELF_NAMES,
                                         .at = sizeof(elf_header_t) + 2 * sizeof(elf_section_t),
                                         .bytes = sizeof names,
                                         .alignment = 1};
    memcpy(object.names, names, sizeof names);
    return write_trial_file(path, &object, sizeof object);
}

static bool is_library_of_machine(const char *path) {
    elf_header_t header = {.type = 0};
    return read_begin(path, 0, &header, sizeof header) == (int64_t)sizeof header &&
           memcmp(header.ident, ELF_MAGIC, ELF_MAGIC_BYTES) == 0 && header.type == ELF_LIBRARY &&
           header.machine == MACHINE;
}

/* ---- a trial ---- */

/* True, or why there is no library. A handler of the program's may take the child's end, so the
 * library counts. */
static bool run_trial(const char *linker, link_trial_t *trial, char *why, size_t why_bytes) {
    const char *const arguments[] = {linker, "-m",           FORMAT,        "-shared",
                                     "-o",   trial->library, trial->object, NULL};
    const gantry__os_start_t start = {.program = linker, .arguments = arguments, .report = -1};
    gantry__os_child_t child;
    gantry__os_end_t end = GANTRY__OS_LOST;
    int code = 0;
    if (!write_empty_object(trial->object)) {
        (void)snprintf(why, why_bytes, "%s cannot be written", trial->object);
        return false;
    }
    const int error = gantry__os_child_start(&start, &child);
    if (!error)
        end = gantry__os_child_wait(&child, MOST_SECONDS * UINT64_C(1000000000), POLL_NS, &code);
    if (error) {
        (void)snprintf(why, why_bytes, "it cannot be started: %s", strerror(error));
    } else if (end == GANTRY__OS_RUNS) {
        gantry__os_child_kill(&child);
        (void)snprintf(why, why_bytes, "it did not end in %d s", MOST_SECONDS);
    } else if (end != GANTRY__OS_LOST && end != GANTRY__OS_EXITED) {
        (void)snprintf(why, why_bytes, "it ended by signal %d", code);
    } else if (end == GANTRY__OS_EXITED && code != 0) {
        (void)snprintf(why, why_bytes, "it ended with exit code %d", code);
    } else if (!is_library_of_machine(trial->library)) {
        (void)snprintf(why, why_bytes, "it wrote no library");
    } else {
        return true;
    }
    return false;
}

/* ---- the record of a trial ---- */

#define RECORD_BYTES (PATH_BYTES + 256)

/* What the linker's file is: a program that was replaced or changed has another text. "" for a
 * script, because what it starts may change while it stays. */
static void describe_linker(const char *linker, char text[RECORD_BYTES]) {
    gantry__os_info_t info;
    char magic[ELF_MAGIC_BYTES] = "";
    text[0] = '\0';
    if (read_begin(linker, 0, magic, sizeof magic) != (int64_t)sizeof magic ||
        memcmp(magic, ELF_MAGIC, ELF_MAGIC_BYTES) != 0 || gantry__os_path_info(linker, &info) != 0)
        return;
    (void)snprintf(text, RECORD_BYTES,
                   "%s %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRId64 ".%09" PRId32 " %" PRId64
                   ".%09" PRId32 "\n",
                   linker, info.volume, info.number, info.size, info.modified_s, info.modified_ns,
                   info.changed_s, info.changed_ns);
}

static bool is_recorded(const char *path, const char *text) {
    char found[RECORD_BYTES] = "";
    return read_begin(path, GANTRY__OS_NO_LINK | GANTRY__OS_NO_WAIT, found, sizeof found - 1) > 0 &&
           strcmp(found, text) == 0;
}

/* A record that cannot be written costs the next process a trial. */
static void record_linker(const char *path, const link_trial_t *trial, const char *text) {
    (void)gantry__os_remove(trial->object);
    if (write_trial_file(trial->object, text, strlen(text)))
        (void)gantry__os_rename(trial->object, path);
}

static bool linker_links(const char *linker, const char *folder, char *why, size_t why_bytes) {
    link_trial_t trial;
    char record[PATH_BYTES + 32], text[RECORD_BYTES];
    if (MACHINE == NO_MACHINE) return true;
    (void)snprintf(record, sizeof record, "%.1000s/gantry_linker", folder);
    describe_linker(linker, text);
    if (*text && is_recorded(record, text)) return true;
    (void)gantry__os_list(folder, remove_old_trial, (char *)(uintptr_t)folder);
    (void)snprintf(trial.folder, sizeof trial.folder, "%.1000s/" STEM "XXXXXX", folder);
    const int error = gantry__os_make_own_folder(trial.folder);
    if (error) {
        (void)snprintf(why, why_bytes, "no folder can be made in %.300s: %s", folder,
                       strerror(error));
        return false;
    }
    name_files(&trial);
    const bool links = run_trial(linker, &trial, why, why_bytes);
    if (links && *text) record_linker(record, &trial, text);
    remove_trial(&trial);
    return links;
}

/* ---- the checks ---- */

bool gantry__linker_can_wait(char *reason, size_t reason_bytes) {
    if (gantry__os_child_can_wait()) return true;
    (void)snprintf(
        reason, reason_bytes,
        "PoCL links each kernel with the program ld and cannot wait for it, because this process ignores the signal SIGCHLD: set SIG_DFL or a handler; programs inherit what the program that starts them ignores");
    return false;
}

bool gantry__linker_can_link(const char *folder, char *reason, size_t reason_bytes) {
    const char *path = getenv("PATH");
    char machine[MACHINE_BYTES];
    char linker[PATH_BYTES], why[512];
    gantry__os_system_name(NULL, machine, sizeof machine);
    if (!GANTRY__OPENCL_HAS_LD) return true;
    if (!gantry__linker_can_wait(reason, reason_bytes)) return false;
    const char *found_by = find_linker(machine, linker, sizeof linker);
    if (!found_by) {
        (void)snprintf(
            reason, reason_bytes,
            "PoCL links each kernel with the program ld, which is in no folder of PATH (%s%.300s%s): install binutils, or mend PATH",
            path ? "\"" : "", path ? path : "not set", path ? "\"" : "");
        return false;
    }
    const char *missing = strncmp(linker, "/usr/bin/", 9) == 0 || strncmp(linker, "/bin/", 5) == 0
                              ? find_missing_library()
                              : NULL;
    if (missing) {
        (void)snprintf(reason, reason_bytes, "PoCL links each kernel with %.100s, and %s", linker,
                       missing);
        return false;
    }
    if (linker_links(linker, folder, why, sizeof why)) return true;
    (void)snprintf(
        reason, reason_bytes,
        "PoCL links each kernel with the first program ld that is found, %.300s, which linked no library for %.16s when it was tried: %.300s; mend %s, so that the system's ld comes first",
        linker, machine, why, *found_by ? found_by : "it");
    return false;
}
