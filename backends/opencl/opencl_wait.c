/* SPDX-License-Identifier: Apache-2.0 */
/* Waiting by a policy. OpenCL does not define how clWaitForEvents waits: some drivers sleep (PoCL),
 * others use a core for as long as the device works (NVIDIA's).
 *
 *   auto      clWaitForEvents
 *   spin      polls the event's status until it ends: soonest done
 *   yield     the same, and offers the core to other threads in between
 *   block     leaves the core to others. clWaitForEvents, unless it was seen to use the core: then
 *             naps, each an eighth of the time waited so far, and a query after each
 *   adaptive  spins for about twice a typical wait if waits are short, then blocks
 *
 *         |--spin--|-nap-|-nap--|--nap---|    done at most an eighth later, or 20 us
 *
 * A callback with a condition variable would need memory that outlives the wait, and a driver that
 * calls back; a nap needs neither. */
#include "opencl/opencl_wait.h"

#include <stdbool.h>

#include "base/os/thread.h"
#include "driver/wait_policy.h"

#define LEAST_NAP_NS UINT64_C(20000)
#define MOST_NAP_NS UINT64_C(1000000)
#define NAP_SHARE 8
#define JUDGED_NS UINT64_C(2000000) /* a shorter wait says nothing about the driver */
#define LONGEST_SPIN_NS UINT64_C(100000)
#define SHORT_SPIN_NS UINT64_C(5000)

static void opencl_wait_pause(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
}

/* Whether the wait is over; *out_native is then its result. */
static bool event_has_ended(const gantry__opencl_symbols_t *cl, cl_event event,
                            cl_int *out_native) {
    cl_int status = CL_COMPLETE;
    *out_native =
        cl->clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL);
    if (*out_native == CL_SUCCESS && status < CL_COMPLETE) *out_native = status;
    return *out_native != CL_SUCCESS || status == CL_COMPLETE;
}

/* Polls until the end, or for limit_ns. Returns whether the wait is over. */
static bool ask_for(const gantry__opencl_symbols_t *cl, cl_event event, bool yields,
                    uint64_t limit_ns, cl_int *out_native) {
    const uint64_t begin = gantry__now_ns();
    while (!event_has_ended(cl, event, out_native)) {
        if (gantry__now_ns() - begin >= limit_ns) return false;
        if (yields) gantry__thread_yield();
        if (!yields) opencl_wait_pause();
    }
    return true;
}

static cl_int nap_until_done(const gantry__opencl_symbols_t *cl, cl_event event) {
    const uint64_t begin = gantry__now_ns();
    cl_int native;
    while (!event_has_ended(cl, event, &native)) {
        uint64_t nap = (gantry__now_ns() - begin) / NAP_SHARE;
        nap = nap < LEAST_NAP_NS ? LEAST_NAP_NS : nap > MOST_NAP_NS ? MOST_NAP_NS : nap;
        gantry__os_sleep_ns(nap);
    }
    return native;
}

/* Waits as the driver does, and learns from that wait whether it uses the core meanwhile. */
static cl_int block(const gantry__opencl_symbols_t *cl, gantry__opencl_wait_t *wait,
                    cl_event event) {
    if (atomic_load_explicit(&wait->is_burning, memory_order_relaxed))
        return nap_until_done(cl, event);
    const uint64_t begin = gantry__now_ns(), used = gantry__os_thread_ns();
    const cl_int native = cl->clWaitForEvents(1, &event);
    const uint64_t waited = gantry__now_ns() - begin;
    if (waited >= JUDGED_NS && 2 * (gantry__os_thread_ns() - used) > waited)
        atomic_store_explicit(&wait->is_burning, true, memory_order_relaxed);
    return native;
}

/* Two threads may overwrite each other's value, which is only a guess. */
static cl_int adapt(const gantry__opencl_symbols_t *cl, gantry__opencl_wait_t *wait,
                    cl_event event) {
    const uint64_t begin = gantry__now_ns();
    const uint64_t typical = atomic_load_explicit(&wait->typical_ns, memory_order_relaxed);
    const uint64_t spin =
        typical <= LONGEST_SPIN_NS / 2 ? 2 * typical + SHORT_SPIN_NS : SHORT_SPIN_NS;
    cl_int native;
    if (!ask_for(cl, event, false, spin, &native)) native = block(cl, wait, event);
    const uint64_t waited = gantry__now_ns() - begin;
    atomic_store_explicit(&wait->typical_ns, (3 * typical + waited) / 4, memory_order_relaxed);
    return native;
}

cl_int gantry__opencl_wait(const gantry__opencl_symbols_t *cl, gantry__opencl_wait_t *wait,
                           cl_event event) {
    cl_int native = CL_SUCCESS;
    switch (atomic_load_explicit(&wait->policy, memory_order_relaxed)) {
        case GANTRY__WAIT_SPIN:
        case GANTRY__WAIT_YIELD:
            (void)ask_for(cl, event, atomic_load(&wait->policy) == GANTRY__WAIT_YIELD, UINT64_MAX,
                          &native);
            return native;
        case GANTRY__WAIT_BLOCK: return block(cl, wait, event);
        case GANTRY__WAIT_ADAPTIVE: return adapt(cl, wait, event);
        default: return cl->clWaitForEvents(1, &event);
    }
}
