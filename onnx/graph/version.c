/* SPDX-License-Identifier: Apache-2.0 */
/* Operator sets: which version of a domain the nodes of a graph or a function use. */
#include <inttypes.h>

#include "onnx/base/limits.h"
#include "onnx/graph/build.h"

gantry__onnx_bytes_t gantry__onnx_domain(gantry__onnx_bytes_t domain) {
    return gantry__onnx_is(domain, "ai.onnx") ? (gantry__onnx_bytes_t){0} : domain;
}

int64_t gantry__onnx_imported(const gantry__onnx_wire_opset_t *opsets, size_t count,
                              gantry__onnx_bytes_t domain) {
    const gantry__onnx_bytes_t wanted = gantry__onnx_domain(domain);
    for (size_t i = 0; i < count; ++i) {
        if (gantry__onnx_equal(gantry__onnx_domain(opsets[i].domain), wanted))
            return opsets[i].version;
    }
    return 0;
}

static gantry_status_t check_opset(const gantry__onnx_reader_t *reader,
                                   const gantry__onnx_wire_opset_t *opset) {
    const gantry__onnx_bytes_t domain = gantry__onnx_domain(opset->domain);
    if (opset->version <= 0 || opset->version > INT32_MAX)
        return gantry__onnx_bad(reader,
                                "the operator set of the domain '%.*s' has the version %" PRId64
                                "; 1 and more are accepted",
                                GANTRY__ONNX_SHOWN(domain), opset->version);
    if (domain.size > 0 || opset->version <= GANTRY__ONNX_NEWEST_OPSET) return GANTRY_OK;
    return gantry__onnx_lacks(reader,
                              "it uses opset %" PRId64 " of ONNX; this library reads up to %d",
                              opset->version, GANTRY__ONNX_NEWEST_OPSET);
}

gantry_status_t gantry__onnx_check_opsets(const gantry__onnx_reader_t *reader,
                                          const gantry__onnx_wire_opset_t *opsets, size_t count) {
    if (count > GANTRY__ONNX_MOST_OPSETS)
        return gantry__onnx_bad(reader, "%zu operator sets are imported; %d are accepted", count,
                                GANTRY__ONNX_MOST_OPSETS);
    for (size_t i = 0; i < count; ++i) {
        GANTRY__TRY(check_opset(reader, &opsets[i]));
        if (gantry__onnx_imported(opsets, i, opsets[i].domain) != 0)
            return gantry__onnx_bad(reader,
                                    "operator sets of the domain '%.*s' are imported twice; once "
                                    "is accepted",
                                    GANTRY__ONNX_SHOWN(opsets[i].domain));
    }
    return GANTRY_OK;
}
