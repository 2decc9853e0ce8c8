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
#define _GNU_SOURCE
#include "opencl/pocl/opencl_linker.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/os/clock.h"

#define PATH_BYTES 1024
#define MOST_SECONDS 10
#define POLL_NS 200000L
#define OLD_SECONDS 120
#define STEM "gantry_link_" /* of the trials' folders */

#if defined(__x86_64__)
#define MACHINE EM_X86_64
#define FORMAT "elf_x86_64"
#elif defined(__aarch64__)
#define MACHINE EM_AARCH64
#define FORMAT "aarch64linux"
#else
#define MACHINE EM_NONE /* there is no trial */
#define FORMAT ""
#endif

/* ---- which program ---- */

static bool is_program(const char *path) {
    struct stat info;
    return access(path, R_OK | X_OK) == 0 && stat(path, &info) == 0 && S_ISREG(info.st_mode);
}

static bool matches(const char *pattern) {
    glob_t found;
    bool is_found = glob(pattern, GLOB_NOSORT, NULL, &found) == 0;
    if (is_found) globfree(&found);
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

/* Other folders of that form belong to cross compilers: MinGW's ld makes programs for Windows. */
static bool find_in_gcc(const char *machine, const char *name, char *out_path, size_t path_bytes) {
    char pattern[sizeof((struct utsname *)0)->machine + 32];
    glob_t found;
    bool is_found = false;
    (void)snprintf(pattern, sizeof pattern, "/usr/lib*/gcc/%s-*linux*", machine);
    if (glob(pattern, GLOB_ONLYDIR, NULL, &found) != 0) return false;
    for (size_t i = 0; i < found.gl_pathc && !is_found; ++i) {
        (void)snprintf(out_path, path_bytes, "/usr/%s/bin/%s", strrchr(found.gl_pathv[i], '/') + 1,
                       name);
        is_found = is_program(out_path);
    }
    globfree(&found);
    return is_found;
}

/* The variable that names the linker's folder, "" for another folder; NULL: there is none. */
static const char *find_linker(const char *machine, char *out_path, size_t path_bytes) {
    char of_machine[sizeof((struct utsname *)0)->machine + 32];
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
    (void)unlink(trial->object);
    (void)unlink(trial->library);
    (void)rmdir(trial->folder);
}

/* Those of processes that were killed. */
static void remove_old_trials(const char *folder) {
    DIR *directory = opendir(folder);
    if (!directory) return;
    for (const struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        link_trial_t trial;
        struct stat info;
        if (strncmp(entry->d_name, STEM, strlen(STEM)) != 0 || strlen(entry->d_name) > 24) continue;
        (void)snprintf(trial.folder, sizeof trial.folder, "%.1000s/%.24s", folder, entry->d_name);
        name_files(&trial);
        if (lstat(trial.folder, &info) == 0 && S_ISDIR(info.st_mode) &&
            time(NULL) - info.st_mtime > OLD_SECONDS)
            remove_trial(&trial);
    }
    (void)closedir(directory);
}

/* An object without code or data: a header, the table of sections, and their names. */
static bool write_empty_object(const char *path) {
    static const char names[16] = "\0.shstrtab";
    struct {
        Elf64_Ehdr header;
        Elf64_Shdr sections[2];
        char names[sizeof names];
    } object = {.header = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
                                       EV_CURRENT},
                           .e_type = ET_REL,
                           .e_machine = MACHINE,
                           .e_version = EV_CURRENT,
                           .e_shoff = sizeof(Elf64_Ehdr),
                           .e_ehsize = sizeof(Elf64_Ehdr),
                           .e_shentsize = sizeof(Elf64_Shdr),
                           .e_shnum = 2,
                           .e_shstrndx = 1}};
    object.sections[1] = (Elf64_Shdr){.sh_name = 1,
                                      .sh_type = SHT_STRTAB,
                                      .sh_offset = sizeof(Elf64_Ehdr) + 2 * sizeof(Elf64_Shdr),
                                      .sh_size = sizeof names,
                                      .sh_addralign = 1};
    memcpy(object.names, names, sizeof names);
    int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    bool is_written = file >= 0 && write(file, &object, sizeof object) == (ssize_t)sizeof object;
    if (file >= 0) (void)close(file);
    return is_written;
}

static bool is_library_of_machine(const char *path) {
    Elf64_Ehdr header = {.e_type = ET_NONE};
    int file = open(path, O_RDONLY | O_CLOEXEC);
    bool is_read = file >= 0 && read(file, &header, sizeof header) == (ssize_t)sizeof header;
    if (file >= 0) (void)close(file);
    return is_read && memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_type == ET_DYN &&
           header.e_machine == MACHINE;
}

/* ---- a trial ---- */

/* In a process group of its own, so that what it starts can be ended with it. Without input and
 * output. Returns 0 or why there is no process. */
static int start_linker(const char *linker, link_trial_t *trial, pid_t *out_child) {
    char name[PATH_BYTES], minus_m[] = "-m", format[] = FORMAT, shared[] = "-shared", o[] = "-o";
    (void)snprintf(name, sizeof name, "%s", linker);
    char *arguments[] = {name, minus_m, format, shared, o, trial->library, trial->object, NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int code = posix_spawn_file_actions_init(&actions);
    if (code != 0) return code;
    code = posix_spawnattr_init(&attributes);
    if (code == 0) {
        code = posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
        if (code == 0) code = posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDWR, 0);
        for (int file = 1; file <= 2 && code == 0; ++file)
            code = posix_spawn_file_actions_adddup2(&actions, 0, file);
        if (code == 0)
            code = posix_spawn(out_child, linker, &actions, &attributes, arguments, environ);
        (void)posix_spawnattr_destroy(&attributes);
    }
    (void)posix_spawn_file_actions_destroy(&actions);
    return code;
}

/* As waitpid, but 0 when the child, which is then killed, does not end. */
static pid_t wait_for_linker(pid_t child, int *out_state) {
    for (long waited = 0; waited < MOST_SECONDS * (1000000000L / POLL_NS); ++waited) {
        pid_t ended = waitpid(child, out_state, WNOHANG);
        if (ended > 0 || (ended < 0 && errno != EINTR)) return ended;
        gantry__os_sleep_ns(POLL_NS);
    }
    (void)killpg(child, SIGKILL);
    (void)waitpid(child, out_state, 0);
    return 0;
}

/* True, or why there is no library. A handler of the program's may take the child's end, so the
 * library counts. */
static bool run_trial(const char *linker, link_trial_t *trial, char *why, size_t why_bytes) {
    int state = 0;
    pid_t child;
    if (!write_empty_object(trial->object)) {
        (void)snprintf(why, why_bytes, "%s cannot be written", trial->object);
        return false;
    }
    const int code = start_linker(linker, trial, &child);
    const pid_t ended = code == 0 ? wait_for_linker(child, &state) : -1;
    if (code != 0) {
        (void)snprintf(why, why_bytes, "it cannot be started: %s", strerror(code));
    } else if (ended == 0) {
        (void)snprintf(why, why_bytes, "it did not end in %d s", MOST_SECONDS);
    } else if (ended > 0 && WIFSIGNALED(state)) {
        (void)snprintf(why, why_bytes, "it ended by signal %d", WTERMSIG(state));
    } else if (ended > 0 && WEXITSTATUS(state) != 0) {
        (void)snprintf(why, why_bytes, "it ended with exit code %d", WEXITSTATUS(state));
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
    struct stat info;
    char magic[SELFMAG] = "";
    int file = open(linker, O_RDONLY | O_CLOEXEC);
    text[0] = '\0';
    if (file < 0) return;
    if (read(file, magic, sizeof magic) == (ssize_t)sizeof magic &&
        memcmp(magic, ELFMAG, SELFMAG) == 0 && fstat(file, &info) == 0)
        (void)snprintf(text, RECORD_BYTES, "%s %ju %ju %jd %jd.%09ld %jd.%09ld\n", linker,
                       (uintmax_t)info.st_dev, (uintmax_t)info.st_ino, (intmax_t)info.st_size,
                       (intmax_t)info.st_mtim.tv_sec, info.st_mtim.tv_nsec,
                       (intmax_t)info.st_ctim.tv_sec, info.st_ctim.tv_nsec);
    (void)close(file);
}

static bool is_recorded(const char *path, const char *text) {
    char found[RECORD_BYTES] = "";
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (file < 0) return false;
    const ssize_t bytes = read(file, found, sizeof found - 1);
    (void)close(file);
    return bytes > 0 && strcmp(found, text) == 0;
}

/* A record that cannot be written costs the next process a trial. */
static void record_linker(const char *path, const link_trial_t *trial, const char *text) {
    (void)unlink(trial->object);
    int file = open(trial->object, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file < 0) return;
    const ssize_t bytes = (ssize_t)strlen(text);
    const bool is_written = write(file, text, (size_t)bytes) == bytes;
    if (close(file) == 0 && is_written) (void)rename(trial->object, path);
}

static bool linker_links(const char *linker, const char *folder, char *why, size_t why_bytes) {
    link_trial_t trial;
    char record[PATH_BYTES + 32], text[RECORD_BYTES];
    if (MACHINE == EM_NONE) return true;
    (void)snprintf(record, sizeof record, "%.1000s/gantry_linker", folder);
    describe_linker(linker, text);
    if (*text && is_recorded(record, text)) return true;
    remove_old_trials(folder);
    (void)snprintf(trial.folder, sizeof trial.folder, "%.1000s/" STEM "XXXXXX", folder);
    if (!mkdtemp(trial.folder)) {
        (void)snprintf(why, why_bytes, "no folder can be made in %.300s: %s", folder,
                       strerror(errno));
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
    struct sigaction action;
    if (sigaction(SIGCHLD, NULL, &action) != 0 ||
        (action.sa_handler != SIG_IGN && !(action.sa_flags & SA_NOCLDWAIT)))
        return true;
    (void)snprintf(
        reason, reason_bytes,
        "PoCL links each kernel with the program ld and cannot wait for it, because this process ignores the signal SIGCHLD: set SIG_DFL or a handler; programs inherit what the program that starts them ignores");
    return false;
}

bool gantry__linker_can_link(const char *folder, char *reason, size_t reason_bytes) {
    const char *path = getenv("PATH");
    struct utsname system = {.machine = ""};
    char linker[PATH_BYTES], why[512];
    (void)uname(&system);
    if (!gantry__linker_can_wait(reason, reason_bytes)) return false;
    const char *found_by = find_linker(system.machine, linker, sizeof linker);
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
        linker, system.machine, why, *found_by ? found_by : "it");
    return false;
}
