/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* dladdr1, dlinfo, dl_iterate_phdr, memmem, RTLD_DEEPBIND */
#include "base/os/library_inside.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#if defined(__ELF__)
#include <link.h>
#endif

#include "base/os/library.h"

/* ---- texts ---- */

#if defined(__ELF__)
/* A search for whether the library that has the address has the text, too. */
typedef struct text_search_t {
    const char *address;
    const char *text;
    bool has_text;
} text_search_t;

static const char *segment_at(const struct dl_phdr_info *library, size_t at) {
    return (const char *)(uintptr_t)(library->dlpi_addr + library->dlpi_phdr[at].p_vaddr);
}

static bool has_address(const struct dl_phdr_info *library, const char *address) {
    for (size_t i = 0; i < library->dlpi_phnum; ++i) {
        const char *segment = segment_at(library, i);
        if (library->dlpi_phdr[i].p_type == PT_LOAD && address >= segment &&
            address < segment + library->dlpi_phdr[i].p_memsz) {
            return true;
        }
    }
    return false;
}

static int search_library(struct dl_phdr_info *library, size_t bytes, void *context) {
    text_search_t *search = context;
    (void)bytes;
    if (!has_address(library, search->address)) return 0;
    for (size_t i = 0; i < library->dlpi_phnum; ++i) {
        const ElfW(Phdr) *part = &library->dlpi_phdr[i];
        if (part->p_type == PT_LOAD && (part->p_flags & (PF_R | PF_W)) == PF_R &&
            memmem(segment_at(library, i), part->p_filesz, search->text,
                   strlen(search->text) + 1)) {
            search->has_text = true;
        }
    }
    return 1; /* ends the iteration */
}

bool gantry__os_library_has_text(const void *address, const char *text) {
    text_search_t search = {.address = address, .text = text};
    (void)dl_iterate_phdr(search_library, &search);
    return search.has_text;
}
#else
bool gantry__os_library_has_text(const void *address, const char *text) {
    (void)address;
    (void)text;
    return false;
}
#endif

/* ---- versions ---- */

bool gantry__os_library_has_versions(const void *address) {
#if defined(__GLIBC__)
    Dl_info info;
    struct link_map *map = NULL;

    if (dladdr1(address, &info, (void **)&map, RTLD_DL_LINKMAP) == 0 || !map) return false;
    for (const ElfW(Dyn) *entry = map->l_ld; entry->d_tag != DT_NULL; ++entry) {
        if (entry->d_tag == DT_VERDEF) return true;
    }
#else
    (void)address;
#endif
    return false;
}

/* ---- whose malloc is called ---- */

#if defined(RTLD_DEEPBIND) && defined(__GLIBC__)
static const char *file_of_symbol(const void *address) {
    const char *file = gantry__os_library_file_of(address);
    return file ? file : "";
}

/* Whether the loaded file itself defines malloc. */
static bool defines_malloc(const char *path) {
    void *handle = path[0] ? dlopen(path, RTLD_LAZY | RTLD_NOLOAD) : NULL;
    if (!handle) return false;
    const bool is_own = strcmp(file_of_symbol(dlsym(handle, "malloc")), path) == 0;
    (void)dlclose(handle); /* its user keeps it loaded */
    return is_own;
}

/* Finds the file whose malloc the process calls. A program that is not position-independent, as
 * Debian's python3 is not, has a stub at the address that every file sees as malloc. The definition
 * is that of the first file after the program, and files that were loaded at the start are never
 * unloaded. */
static const char *find_malloc(void) {
    Dl_info info;
    const void *address = dlsym(RTLD_DEFAULT, "malloc");
    const ElfW(Sym) *symbol = NULL;
    const struct link_map *map = NULL;
    if (!address || !dladdr1(address, &info, (void **)&symbol, RTLD_DL_SYMENT)) return "";
    if (symbol && symbol->st_shndx != SHN_UNDEF) return info.dli_fname;
    if (!dladdr1(address, &info, (void **)&map, RTLD_DL_LINKMAP)) return "";
    while (map && !defines_malloc(map->l_name)) map = map->l_next;
    return map ? map->l_name : "";
}

bool gantry__os_library_can_be_apart(const char **out_why, const char **out_whose) {
    *out_why = "its malloc is not the C library's but of ";
    *out_whose = find_malloc();
    return strcmp(*out_whose, file_of_symbol(dlsym(RTLD_DEFAULT, "gnu_get_libc_version"))) == 0;
}
#else
bool gantry__os_library_can_be_apart(const char **out_why, const char **out_whose) {
    *out_why = "this system's C library has no RTLD_DEEPBIND";
    *out_whose = "";
    return false;
}
#endif

/* ---- files ---- */

bool gantry__os_library_path(void *library, char *out_path, size_t path_bytes) {
#if defined(__ELF__)
    struct link_map *map = NULL;
    char path[PATH_MAX];
    if (dlinfo(library, RTLD_DI_LINKMAP, &map) != 0 || !map || !realpath(map->l_name, path) ||
        strlen(path) >= path_bytes)
        return false;
    memcpy(out_path, path, strlen(path) + 1);
    return true;
#else
    (void)library;
    (void)out_path;
    (void)path_bytes;
    return false;
#endif
}
