/* SPDX-License-Identifier: Apache-2.0 */
/* Cases of the conformance program: counts them, and leaves out those that a fault does not
 * concern. The linker directs each call of conformance_begin to this file. */
#include "../conformance/conformance.h"
#include "faults.h"

bool __real_conformance_begin(conformance_t *c, const char *group, const char *name);
bool __wrap_conformance_begin(conformance_t *c, const char *group, const char *name);

static struct {
    uint64_t number; /* of the newest case; 0: none has begun */
    uint64_t wanted;
    bool is_short, has_skipped;
} self;

void faults_cases_begin(const faults_place_t *place) {
    __atomic_store_n(&self.number, 0, __ATOMIC_RELAXED);
    self.is_short = place != NULL;
    self.wanted = place && place->number > 0 ? place->number : 1;
    self.has_skipped = false;
}

uint64_t faults_cases_now(void) { return __atomic_load_n(&self.number, __ATOMIC_RELAXED); }

bool faults_cases_have_skipped(void) { return self.has_skipped; }

/* The next case runs too, because it must succeed after the fault. */
bool __wrap_conformance_begin(conformance_t *c, const char *group, const char *name) {
    if (!__real_conformance_begin(c, group, name)) return false;
    const uint64_t number = __atomic_add_fetch(&self.number, 1, __ATOMIC_RELAXED);
    const bool runs = !self.is_short || number == self.wanted || number == self.wanted + 1;
    self.has_skipped |= !runs;
    return runs;
}
