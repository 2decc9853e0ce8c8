/* SPDX-License-Identifier: Apache-2.0 */
/* Opens libraries, and reports which files were tried (library_open.h). */
#define _POSIX_C_SOURCE 200809L
#include "driver/library_open.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#if defined(__ELF__)
#include <link.h>
#endif

#include "driver/host_call.h"

#if defined(__ELF__)
static bool library_open_is_cut_elf(int file, uint64_t size) {
    ElfW(Ehdr) header;

    if (pread(file, &header, sizeof header, 0) != (ssize_t)sizeof header ||
        memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_phentsize != sizeof(ElfW(Phdr))) {
        return false;
    }
    for (unsigned i = 0; i < header.e_phnum; ++i) {
        ElfW(Phdr) part;

        if (pread(file, &part, sizeof part, (off_t)(header.e_phoff + i * sizeof part)) !=
                (ssize_t)sizeof part ||
            (part.p_type == PT_LOAD &&
             (part.p_offset > size || part.p_filesz > size - part.p_offset))) {
            return true;
        }
    }
    return false;
}
#else
static bool library_open_is_cut_elf(int file, uint64_t size) {
    (void)file;
    (void)size;
    return false;
}
#endif

FILE *gantry__library_text_open(const char *path) {
    struct stat info;
    int file = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (file >= 0 && (fstat(file, &info) != 0 || !S_ISREG(info.st_mode))) {
        (void)close(file);
        errno = EINVAL;
        return NULL;
    }
    FILE *text = file >= 0 ? fdopen(file, "r") : NULL;
    if (file >= 0 && !text) (void)close(file);
    return text;
}

bool gantry__library_is_no_file(const char *path) {
    struct stat info;
    return strchr(path, '/') && stat(path, &info) == 0 && !S_ISREG(info.st_mode);
}

bool gantry__library_is_cut(const char *path) {
    int file = strchr(path, '/') ? open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC) : -1;
    if (file < 0) return false;
    struct stat info;
    bool is_cut = fstat(file, &info) == 0 && S_ISREG(info.st_mode) &&
                  library_open_is_cut_elf(file, (uint64_t)info.st_size);
    close(file);
    return is_cut;
}

/* Appends "name: reason", or only the reason if it begins with the name, as most do. */
static void add_reason(char *reasons, size_t reasons_bytes, const char *name, const char *reason) {
    size_t length = strlen(reasons);
    if (!reason) reason = "cannot be opened";
    bool has_name = strncmp(reason, name, strlen(name)) == 0;
    (void)snprintf(reasons + length, reasons_bytes - length, "%s%s%s%s", length > 0 ? "; " : "",
                   has_name ? "" : name, has_name ? "" : ": ", reason);
}

void *gantry__library_open(const gantry_host_t *host, const char *option,
                           const char *const *candidates, size_t count, char *out_name,
                           size_t name_bytes, char *out_reasons, size_t reasons_bytes) {
    const char *asked = gantry__host_option(host, option);
    if (asked) {
        candidates = &asked;
        count = 1;
    }
    out_reasons[0] = '\0';
    for (size_t i = 0; i < count; ++i) {
        bool is_cut = gantry__library_is_cut(candidates[i]);
        if (gantry__library_is_no_file(candidates[i])) {
            add_reason(out_reasons, reasons_bytes, candidates[i], "it is no plain file");
            continue;
        }
        void *library = is_cut ? NULL : dlopen(candidates[i], RTLD_NOW | RTLD_LOCAL);
        if (library) {
            (void)snprintf(out_name, name_bytes, "%s", candidates[i]);
            return library;
        }
        add_reason(out_reasons, reasons_bytes, candidates[i],
                   is_cut ? "the file ends before its content does" : dlerror());
    }
    return NULL;
}

/* Copies the bytes of a function's address, because ISO C does not convert a pointer to an object
 * into one to a function. */
void gantry__library_file_add(gantry__library_files_t *files, const char *name) {
    const bool has_room = files->length < files->capacity;
    const int length =
        snprintf(has_room ? files->text + files->length : NULL,
                 has_room ? (size_t)(files->capacity - files->length) : 0, "%s\n", name);

    if (length > 0) files->length += (uint64_t)length;
}

const char *gantry__library_resolve(void *library, const gantry__library_symbol_t *symbols,
                                    size_t count, void *table) {
    for (size_t i = 0; i < count; ++i) {
        void *address = dlsym(library, symbols[i].name);
        if (!address) return symbols[i].name;
        memcpy((char *)table + symbols[i].offset, &address, sizeof address);
    }
    return NULL;
}

void gantry__library_line_add(char *line, size_t line_bytes, const char *before, const char *name,
                              const char *found, const char *reason) {
    size_t length = strlen(line);
    if (found) {
        (void)snprintf(line + length, line_bytes - length, "%s%s found", before, found);
    } else {
        (void)snprintf(line + length, line_bytes - length, "%s%s missing (%s)", before, name,
                       reason);
    }
}
