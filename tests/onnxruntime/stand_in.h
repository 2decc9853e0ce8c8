/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the stand-in for ONNX Runtime share: stand_in.c has its tables, and tests of
 * factories and sessions; stand_in_faults.c has tests of what fails, and of profiles. Owner: the
 * test. Threads: one. */
#ifndef GANTRY_TESTS_ORT_STAND_IN_H
#define GANTRY_TESTS_ORT_STAND_IN_H

#include <stdio.h>
#include <stdlib.h>

#include "../../integrations/onnxruntime/src/ort_abi.h"

#define MUST(condition)                                                                          \
    do {                                                                                         \
        if (!(condition)) {                                                                      \
            (void)fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #condition, last_text); \
            exit(1);                                                                             \
        }                                                                                        \
    } while (0)

struct ort_status_t {
    int code;
};
struct ort_tensor_info_t {
    int type;
    size_t rank;
    int64_t dims[2];
};
struct ort_value_t {
    ort_tensor_info_t info;
    float data[64];
};
struct ort_kernel_context_t {
    ort_value_t input, output;
};
struct ort_support_t {
    size_t groups, nodes;
};

extern char last_text[2048]; /* of the newest status */
extern const char *session_option, *session_value;
extern bool loses_nodes; /* Graph_GetNodes fails */
extern const ort_graph_t whole, group;
extern const ort_node_t fused;

void drop_status(ort_status_t *status);
ort_status_t *begin_session(ort_factory_t *factory, const ort_ep_device_t *device,
                            ort_ep_t **out_ep);
void runs_a_group(ort_ep_t *ep);
const ort_memory_device_t *memory_of_device(const ort_ep_device_t *device);

/* ---- stand_in_faults.c ---- */
ort_status_t *make_event(int category, int32_t process, int32_t thread, const char *name,
                         int64_t timestamp_us, int64_t duration_us, const char *const *keys,
                         const char *const *values, size_t count, ort_event_t **out_event);
void drop_event(ort_event_t *event);
ort_status_t *add_events(ort_events_t *events, const ort_event_t *const *list, size_t count);
void claims_loudly(ort_factory_t *factory, const ort_ep_device_t *device);
void profiles_a_session(ort_factory_t *factory, const ort_ep_device_t *device);
void loses_a_device(ort_factory_t *factory, ort_ep_device_t *const devices[3], const char *layer);

#endif
