/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of ONNX Runtime, which it copies to an array of the caller's. */
#include <stdlib.h>
#include <string.h>

#include "provider.h"

ort_status_t *ort_new_addresses(const ort_provider_t *provider, size_t count, void *out_list) {
    void *list = calloc(count + 1, sizeof(void *));
    memcpy(out_list, &list, sizeof list);
    return list ? NULL : ort_out_of_memory(provider);
}

ort_status_t *ort_each_value(const ort_provider_t *provider, const ort_node_t *node,
                             ort_values_t values, ort_visit_fn visit, void *user) {
    const ort_api_t *api = provider->api;
    const struct {
        ort_status_t *(*count)(const ort_node_t *node, size_t *out_count);
        ort_status_t *(*list)(const ort_node_t *node, const ort_value_info_t **out_values,
                              size_t count);
    } calls[] = {[ORT_INPUTS] = {api->Node_GetNumInputs, api->Node_GetInputs},
                 [ORT_OUTPUTS] = {api->Node_GetNumOutputs, api->Node_GetOutputs},
                 [ORT_BODY_INPUTS] = {api->Node_GetNumImplicitInputs, api->Node_GetImplicitInputs}};
    const ort_value_info_t **list;
    size_t count;
    ORT_TRY(calls[values].count(node, &count));
    if (count == 0) return NULL;
    ORT_TRY(ort_new_addresses(provider, count, &list));
    ort_status_t *failed = calls[values].list(node, list, count);
    for (size_t i = 0; i < count && !failed; ++i) failed = visit(user, list[i]);
    free(list);
    return failed;
}
