#define _POSIX_C_SOURCE 200809L
#include <time.h>

#include "base/thread.h"

uint64_t gantry__now_ns(void) {
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}
