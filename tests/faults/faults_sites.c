/* SPDX-License-Identifier: Apache-2.0 */
/* Sites: turns the return addresses of an event into a number that is the same in each run of one
 * build. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <execinfo.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "faults.h"

#define DEPTH 24
#define ADDRESSES 8192 /* remembered, of return addresses */

enum { STOPPED, COUNTING, AIMING };

typedef struct address_t {
    const void *at;
    uint64_t offset, hash;
    char module[24];
    bool in_program;
} address_t;

static struct {
    pthread_mutex_t lock;
    int mode;
    faults_site_t *table;
    uint64_t aim_site, aim_case, aim_left, aim_occurrence;
    bool fired;
    const void *program_base;
    address_t addresses[ADDRESSES];
} self = {.lock = PTHREAD_MUTEX_INITIALIZER};

static uint64_t mix(uint64_t hash, uint64_t value) {
    hash ^= value + UINT64_C(0x9e3779b97f4a7c15) + (hash << 6) + (hash >> 2);
    hash *= UINT64_C(0xff51afd7ed558ccd);
    return hash ^ (hash >> 32);
}

static uint64_t hash_text(const char *text) {
    uint64_t hash = UINT64_C(1469598103934665603);
    for (; *text; ++text) hash = (hash ^ (unsigned char)*text) * UINT64_C(1099511628211);
    return hash;
}

void faults_sites_begin(faults_site_t *table) {
    static const char anchor = 0;
    Dl_info info;
    void *frames[2];
    self.table = table;
    if (dladdr(&anchor, &info) != 0) self.program_base = info.dli_fbase;
    /* the first call opens a library, so it must not happen inside an event */
    (void)backtrace(frames, 2);
}

static void set_mode(int mode) {
    (void)pthread_mutex_lock(&self.lock);
    self.mode = mode;
    if (mode != STOPPED) self.fired = false;
    (void)pthread_mutex_unlock(&self.lock);
}

void faults_sites_count(void) { set_mode(COUNTING); }

void faults_sites_aim(uint64_t site, uint64_t occurrence, const faults_place_t *place) {
    (void)pthread_mutex_lock(&self.lock);
    self.aim_site = site;
    self.aim_occurrence = occurrence;
    self.aim_case = place ? place->number : 0;
    self.aim_left = place ? place->occurrence : occurrence;
    (void)pthread_mutex_unlock(&self.lock);
    set_mode(AIMING);
}

uint64_t faults_sites_occurrence(void) { return self.aim_occurrence; }

uint64_t faults_sites_choice(void) { return mix(self.aim_site, self.aim_occurrence); }

bool faults_sites_is_aimed(void) { return self.mode == AIMING; }

void faults_sites_stop(void) { set_mode(STOPPED); }

bool faults_sites_fired(void) {
    (void)pthread_mutex_lock(&self.lock);
    bool fired = self.fired;
    (void)pthread_mutex_unlock(&self.lock);
    return fired;
}

/* ---- addresses ---- */

static void describe(address_t *entry, const void *at) {
    Dl_info info = {0};
    const char *file = "?";
    *entry = (address_t){.at = at};
    if (dladdr(at, &info) != 0 && info.dli_fname) {
        const char *slash = strrchr(info.dli_fname, '/');
        file = slash ? slash + 1 : info.dli_fname;
        entry->offset = (uint64_t)((const char *)at - (const char *)info.dli_fbase);
        entry->in_program = info.dli_fbase == self.program_base;
    }
    (void)snprintf(entry->module, sizeof entry->module, "%.23s", file);
    entry->hash = mix(hash_text(entry->module), entry->offset);
}

static const address_t *find_address(const void *at) {
    uint64_t start = ((uint64_t)(uintptr_t)at * UINT64_C(0x9e3779b97f4a7c15)) >> 40;
    for (uint64_t i = 0; i < 64; ++i) {
        address_t *entry = &self.addresses[(start + i) % ADDRESSES];
        if (!entry->at) describe(entry, at);
        if (entry->at == at) return entry;
    }
    address_t *entry = &self.addresses[start % ADDRESSES];
    describe(entry, at);
    return entry;
}

/* Frames of the library: from the first frame outside of this program to the next frame inside. All
 * frames, when everything is one file. */
static uint64_t gather(const char *name, void *const *frames, int depth, faults_site_t *out_site) {
    uint64_t hash = hash_text(name);
    int begin = 0, end = depth;
    /* a sanitizer's backtrace */
    while (begin < depth && !find_address(frames[begin])->in_program) ++begin;
    while (begin < depth && find_address(frames[begin])->in_program) ++begin;
    if (begin == depth) begin = depth < 3 ? 0 : 3; /* a static library */
    out_site->frame_count = 0;
    for (int i = begin; i < end && out_site->frame_count < FAULTS_FRAMES; ++i) {
        const address_t *address = find_address(frames[i]);
        if (address->in_program && i > begin && !find_address(frames[begin])->in_program) break;
        if (strncmp(address->module, "libc.so", 7) == 0) break; /* the start of a thread */
        hash = mix(hash, address->hash);
        faults_frame_t *frame = &out_site->frames[out_site->frame_count++];
        memcpy(frame->module, address->module, sizeof frame->module);
        frame->offset = address->offset;
    }
    return hash ? hash : 1;
}

/* ---- events ---- */

static void count_at(faults_site_t *site) {
    const uint64_t now = faults_cases_now();
    if (site->last.number != now) site->last = (faults_place_t){.number = now};
    ++site->last.occurrence;
    ++site->events;
    if (site->events == 1) site->first = site->last;
    if (site->events == 2) site->second = site->last;
}

static void count_event(uint64_t number, const char *name, const faults_site_t *gathered) {
    for (uint64_t i = 0; i < FAULTS_SITES; ++i) {
        faults_site_t *site = &self.table[(number + i) % FAULTS_SITES];
        if (site->number == 0) {
            *site = *gathered;
            site->number = number;
            (void)snprintf(site->name, sizeof site->name, "%s", name);
        }
        if (site->number == number) {
            count_at(site);
            return;
        }
    }
}

bool faults_event(const char *name) {
    void *frames[DEPTH];
    faults_site_t site = {0};
    bool fails = false;
    if (__atomic_load_n(&self.mode, __ATOMIC_RELAXED) == STOPPED) return false;
    int depth = backtrace(frames, DEPTH);
    (void)pthread_mutex_lock(&self.lock);
    if (self.mode != STOPPED) {
        uint64_t number = gather(name, frames, depth, &site);
        if (self.mode == COUNTING) {
            count_event(number, name, &site);
        } else if (number == self.aim_site && faults_cases_now() >= self.aim_case &&
                   --self.aim_left == 0) {
            fails = self.fired = true;
            self.mode = STOPPED;
        }
    }
    (void)pthread_mutex_unlock(&self.lock);
    return fails;
}
