/* SPDX-License-Identifier: Apache-2.0 */
/* A malloc other than the C library's, for LD_PRELOAD, like jemalloc and tcmalloc. */
#include <stddef.h>

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *ptr, size_t bytes);
void __libc_free(void *ptr);
void *malloc(size_t bytes);
void *calloc(size_t count, size_t bytes);
void *realloc(void *ptr, size_t bytes);
void free(void *ptr);

void *malloc(size_t bytes) { return __libc_malloc(bytes); }
void *calloc(size_t count, size_t bytes) { return __libc_calloc(count, bytes); }
void *realloc(void *ptr, size_t bytes) { return __libc_realloc(ptr, bytes); }
void free(void *ptr) { __libc_free(ptr); }
