/* Shapes of ops on the matrices in a tensor's last two dimensions. */
#include <inttypes.h>

#include "op/op_infer.h"

static gantry_status_t check_band(gantry__infer_t *call, uint32_t input, const char *name, const char *what,
                                  int64_t most) {
    int64_t count;
    GANTRY__TRY(gantry__infer_int(call, input, &count));
    if (count <= most) return GANTRY_OK;
    return gantry__fail(GANTRY_INVALID_ARGUMENT,
                        "%s must be negative or less or equal to number of %s (%" PRId64 ") got: %" PRId64, name, what,
                        most, count);
}

gantry_status_t gantry__infer_matrix_band_part(gantry__infer_t *call) {
    const gantry_shape_t *input = call->shapes[0];
    if (input->rank < 2) {
        return gantry__fail(GANTRY_INVALID_ARGUMENT, "input must be at least 2-dim, received shape: %s",
                            gantry__shape_text(input).text);
    }
    GANTRY__TRY(check_band(call, 1, "num_lower", "rows", input->dims[input->rank - 2]));
    GANTRY__TRY(check_band(call, 2, "num_upper", "columns", input->dims[input->rank - 1]));
    call->out_shapes[0] = *input;
    return GANTRY_OK;
}
