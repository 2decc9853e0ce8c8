/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* RTLD_DEEPBIND, dladdr1 */
#include "opencl/pocl/opencl_foreign_llvm.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#if defined(__GLIBC__)
#include <link.h>
#endif

/* Functions that initialisers of every LLVM call, and of its C interface. */
static const char *const symbols[] = {"_ZN4llvm2cl6Option11addArgumentEv", "LLVMContextCreate"};

/* Whether the library gives its symbols versions, which no other library's references have. */
static bool has_versions(const void *address) {
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

static const char *file_of(const void *address) {
    Dl_info info;

    return address && dladdr(address, &info) != 0 && info.dli_fname ? info.dli_fname : "";
}

#if defined(RTLD_DEEPBIND) && defined(__GLIBC__)
/* Whether the loaded file itself defines malloc. */
static bool defines_malloc(const char *path) {
    void *handle = path[0] ? dlopen(path, RTLD_LAZY | RTLD_NOLOAD) : NULL;
    if (!handle) return false;
    const bool is_own = strcmp(file_of(dlsym(handle, "malloc")), path) == 0;
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
#endif

/* Finds the file that exports it, NULL when there is none. */
static const char *find_llvm(void) {
    for (size_t i = 0; i < sizeof symbols / sizeof symbols[0]; ++i) {
        const void *address = dlsym(RTLD_DEFAULT, symbols[i]);
        if (address && !has_versions(address)) return file_of(address);
    }
    return NULL;
}

bool gantry__foreign_llvm_evade(int *out_flag, char *reason, size_t reason_bytes) {
    const char *llvm = find_llvm();
    const char *why = "this system's C library has no RTLD_DEEPBIND";
    *out_flag = 0;
    if (!llvm) return true;
#if defined(RTLD_DEEPBIND) && defined(__GLIBC__)
    const char *whose = "";
    whose = find_malloc();
    if (strcmp(whose, file_of(dlsym(RTLD_DEFAULT, "gnu_get_libc_version"))) == 0) {
        *out_flag = RTLD_DEEPBIND;
        return true;
    }
    why = "its malloc is not the C library's but of ";
#endif
    (void)snprintf(
        reason, reason_bytes,
        "this process exports another LLVM (%.150s), with which a driver's own would be mixed up and end the process; a driver can be kept apart from it (RTLD_DEEPBIND), but not here: %s%.150s",
        llvm, why, whose);
    return false;
}
