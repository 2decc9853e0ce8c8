/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* dladdr1, RTLD_DEEPBIND */
#include "base/os/library.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#if defined(__ELF__)
#include <link.h>
#endif

#if !defined(RTLD_DEEPBIND)
#define RTLD_DEEPBIND 0
#endif

void *gantry__os_library_open(const char *name, unsigned flags) {
    int how = RTLD_LOCAL | (flags & GANTRY__OS_LIBRARY_LAZY ? RTLD_LAZY : RTLD_NOW);
    if (flags & GANTRY__OS_LIBRARY_LOADED) how |= RTLD_NOLOAD;
    if (flags & GANTRY__OS_LIBRARY_APART) how |= RTLD_DEEPBIND;
    return dlopen(name, how);
}

const char *gantry__os_library_error(void) {
    const char *why = dlerror();
    return why ? why : "no reason given";
}

void gantry__os_library_close(void *library) { (void)dlclose(library); }

void *gantry__os_library_find(void *library, const char *name) {
    return dlsym(library ? library : RTLD_DEFAULT, name);
}

/* Copies the bytes of the address, because ISO C does not convert a pointer to an object into one
 * to a function. */
bool gantry__os_library_function(void *library, const char *name, void *out_function) {
    void *address = gantry__os_library_find(library, name);
    memcpy(out_function, &address, sizeof address);
    return address != NULL;
}

#if defined(__ELF__)
#define MOST_PARTS 32 /* of a library; the linkers of today write about ten */

static bool is_cut_elf(int file, uint64_t size) {
    ElfW(Ehdr) header;
    ElfW(Phdr) parts[MOST_PARTS];
    if (pread(file, &header, sizeof header, 0) != (ssize_t)sizeof header) return false;
    if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_phentsize != sizeof *parts)
        return false;
    for (unsigned i = 0; i < header.e_phnum; ++i) {
        const unsigned at = i % MOST_PARTS, rest = header.e_phnum - i;
        const size_t bytes = (rest < MOST_PARTS ? rest : MOST_PARTS) * sizeof *parts;
        if (at == 0 && pread(file, parts, bytes, (off_t)(header.e_phoff + i * sizeof *parts)) !=
                           (ssize_t)bytes)
            return true;
        if (parts[at].p_type == PT_LOAD &&
            (parts[at].p_offset > size || parts[at].p_filesz > size - parts[at].p_offset))
            return true;
    }
    return false;
}
#else
static bool is_cut_elf(int file, uint64_t size) {
    (void)file;
    (void)size;
    return false;
}
#endif

bool gantry__os_library_is_cut(const char *path) {
    struct stat info;
    const int file = strchr(path, '/') ? open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC) : -1;
    if (file < 0) return false;
    const bool is_cut = fstat(file, &info) == 0 && S_ISREG(info.st_mode) &&
                        is_cut_elf(file, (uint64_t)info.st_size);
    (void)close(file);
    return is_cut;
}

const char *gantry__os_library_file_of(const void *address) {
    Dl_info info;
    return address && dladdr(address, &info) != 0 ? info.dli_fname : NULL;
}

const char *gantry__os_library_own_file(const void *address) {
#if defined(__GLIBC__)
    Dl_info info;
    void *place;
    const struct link_map *map;
    if (dladdr1(address, &info, &place, RTLD_DL_LINKMAP) == 0) return NULL;
    map = place;
    return *map->l_name ? info.dli_fname : "/proc/self/exe";
#else
    return gantry__os_library_file_of(address);
#endif
}
