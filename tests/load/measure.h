/* SPDX-License-Identifier: Apache-2.0 */
/* Measures the process's memory, threads, open files and mappings, and the growth of memory over a
 * run.
 *
 * Linux only: it reads /proc/self. Header only, for the programs of this folder. */
#ifndef TESTS_LOAD_MEASURE_H
#define TESTS_LOAD_MEASURE_H

#include <dirent.h>
#include <malloc.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define MEASURE_SANITIZED true
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#define MEASURE_SANITIZED true
#endif
#endif
#ifndef MEASURE_SANITIZED
#define MEASURE_SANITIZED false /* otherwise a sanitizer's own memory grows */
#endif

typedef struct measure_t {
    double resident_bytes;
    double heap_bytes; /* in use in the C library's heap; 0 when unknown */
    long threads, files, mappings;
} measure_t;

/* The least-squares line through (cycle, bytes). */
typedef struct measure_slope_t {
    double n, x, y, xx, xy;
} measure_slope_t;

static inline long measure_entries(const char *folder) {
    DIR *opened = opendir(folder);
    long count = -2; /* "." and ".." */
    if (!opened) return -1;
    while (readdir(opened)) ++count;
    (void)closedir(opened);
    return count;
}

static inline long measure_lines(const char *file) {
    FILE *opened = fopen(file, "r");
    long count = 0;
    if (!opened) return -1;
    for (int c; (c = getc(opened)) != EOF;) count += c == '\n';
    (void)fclose(opened);
    return count;
}

static inline double measure_resident(void) {
    FILE *opened = fopen("/proc/self/statm", "r");
    long all = 0, resident = 0;
    if (!opened) return 0;
    if (fscanf(opened, "%ld %ld", &all, &resident) != 2) resident = 0;
    (void)fclose(opened);
    return (double)resident * (double)sysconf(_SC_PAGESIZE);
}

static inline double measure_heap(void) {
#if defined(__GLIBC__) && (__GLIBC__ > 2 || __GLIBC_MINOR__ >= 33)
    if (MEASURE_SANITIZED) return 0;
    struct mallinfo2 info = mallinfo2();
    return (double)info.uordblks + (double)info.hblkhd;
#else
    return 0;
#endif
}

static inline measure_t measure_now(void) {
#if defined(__GLIBC__)
    if (!MEASURE_SANITIZED) (void)malloc_trim(0);
#endif
    return (measure_t){.resident_bytes = measure_resident(),
                       .heap_bytes = measure_heap(),
                       .threads = measure_entries("/proc/self/task"),
                       .files = measure_entries("/proc/self/fd"),
                       .mappings = measure_lines("/proc/self/maps")};
}

static inline void measure_slope_add(measure_slope_t *slope, double x, double y) {
    slope->n += 1;
    slope->x += x;
    slope->y += y;
    slope->xx += x * x;
    slope->xy += x * y;
}

/* Bytes per cycle. */
static inline double measure_slope_get(const measure_slope_t *slope) {
    double spread = slope->n * slope->xx - slope->x * slope->x;
    return spread > 0 ? (slope->n * slope->xy - slope->x * slope->y) / spread : 0;
}

static inline double measure_seconds(void) {
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static inline void measure_sleep_ms(long ms) {
    struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L};
    (void)nanosleep(&time, NULL);
}

#endif
