/* SPDX-License-Identifier: Apache-2.0 */
/* The heap of the runtimes under test: every block remembers its size. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "faults.h"

#define MARK UINT64_C(0x5a17edb10c4d0000)

typedef struct prefix_t {
    uint64_t bytes;
    uint64_t round; /* mark and number of the reset it was made after */
} prefix_t;

static struct {
    pthread_mutex_t lock;
    long blocks;
    long long bytes;
    long wrong_sizes, wrong_blocks;
    uint64_t round;
} self = {.lock = PTHREAD_MUTEX_INITIALIZER};

void faults_heap_reset(void) {
    (void)pthread_mutex_lock(&self.lock);
    self.blocks = self.wrong_sizes = self.wrong_blocks = 0;
    self.bytes = 0;
    self.round = (self.round + 1) & 0xffff;
    (void)pthread_mutex_unlock(&self.lock);
}

static void *resize(prefix_t *block, size_t old_bytes, size_t new_bytes) {
    bool is_counted = block && block->round == (MARK | self.round);
    if (block && (block->round & ~UINT64_C(0xffff)) != MARK) {
        ++self.wrong_blocks;
        return NULL;
    }
    if (block && block->bytes != old_bytes) ++self.wrong_sizes;
    prefix_t *made = NULL;
    if (new_bytes > 0) {
        made = realloc(block, sizeof *made + new_bytes);
        if (!made) return NULL;
        *made = (prefix_t){new_bytes, MARK | self.round};
        ++self.blocks;
        self.bytes += (long long)new_bytes;
    } else if (block) {
        block->round = 0;
        free(block);
    }
    if (is_counted) {
        --self.blocks;
        self.bytes -= (long long)old_bytes;
    }
    return made ? made + 1 : NULL;
}

void *faults_heap_reallocate(void *user, void *ptr, size_t old_bytes, size_t new_bytes) {
    (void)user;
    bool is_source = faults_source == FAULTS_HOST || faults_source == FAULTS_CARD;
    if (new_bytes > 0 && is_source && faults_event("reallocate")) return NULL;
    (void)pthread_mutex_lock(&self.lock);
    void *result = resize(ptr ? (prefix_t *)ptr - 1 : NULL, old_bytes, new_bytes);
    (void)pthread_mutex_unlock(&self.lock);
    return result;
}

bool faults_heap_is_balanced(char *out_why, size_t why_bytes) {
    (void)pthread_mutex_lock(&self.lock);
    bool is_balanced =
        self.blocks == 0 && self.bytes == 0 && self.wrong_sizes == 0 && self.wrong_blocks == 0;
    if (!is_balanced)
        (void)snprintf(
            out_why, why_bytes,
            "host memory: %ld blocks of %lld bytes live, %ld given back with a wrong size, %ld not ours",
            self.blocks, self.bytes, self.wrong_sizes, self.wrong_blocks);
    (void)pthread_mutex_unlock(&self.lock);
    return is_balanced;
}
