/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes of scans. */
#include "op/op_infer.h"

gantry_status_t gantry__infer_scan(gantry__infer_t *call) {
    const gantry_shape_t *x = call->shapes[0];
    int64_t axis = 0;
    bool is_open;
    if (call->shapes[1]->rank != 0) {
        return gantry__refuse("ScanOp: axis must be a scalar, not %s",
                              gantry__shape_text(call->shapes[1]).text);
    }
    GANTRY__TRY(gantry__infer_int_or_open(call, 1, &axis, &is_open));
    if (!is_open && (axis < -x->rank || axis >= x->rank)) {
        return gantry__refuse("ScanOp: Expected scan axis in the range [%d, %d), but got %lld",
                              -(int)x->rank, (int)x->rank, (long long)axis);
    }
    call->out_shapes[0] = *x;
    return GANTRY_OK;
}
