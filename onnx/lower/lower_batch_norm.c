/* SPDX-License-Identifier: Apache-2.0 */
/* BatchNormalization. Below operator set 14 a node trains if it has more than one output; after it
 * an attribute says so. Variances are those of the population. Halves are computed in float32. */
#include "onnx/lower/parts.h"

/* The parameters of a call, in the type of the work and the shape that broadcasts to x. */
typedef struct batch_norm_t {
    const gantry_tensor_t *x, *scale, *offset, *mean, *variance;
    double epsilon;
} batch_norm_t;

/* x scale' + offset', whose numbers for each channel are made first: constants, if the parameters
 * are. */
static const gantry_tensor_t *batch_normalised(gantry__onnx_call_t *call, const batch_norm_t *norm,
                                               const gantry_tensor_t *mean,
                                               const gantry_tensor_t *variance) {
    const gantry_tensor_t *root =
        gantry__onnx_op1(call, "Sqrt", gantry__onnx_scale(call, variance, 1, norm->epsilon));
    const gantry_tensor_t *factor = gantry__onnx_op2(call, "Div", norm->scale, root);
    const gantry_tensor_t *offset =
        gantry__onnx_op2(call, "Sub", norm->offset, gantry__onnx_op2(call, "Mul", mean, factor));
    return gantry__onnx_op2(call, "Add", gantry__onnx_op2(call, "Mul", norm->x, factor), offset);
}

/* By the statistics of the batch: the mean is taken away first, which is more accurate. */
static const gantry_tensor_t *batch_trained(gantry__onnx_call_t *call, const batch_norm_t *norm,
                                            const gantry_tensor_t *mean,
                                            const gantry_tensor_t *variance) {
    const gantry_tensor_t *root =
        gantry__onnx_op1(call, "Sqrt", gantry__onnx_scale(call, variance, 1, norm->epsilon));
    const gantry_tensor_t *y =
        gantry__onnx_op2(call, "Mul", gantry__onnx_op2(call, "Sub", norm->x, mean),
                         gantry__onnx_op2(call, "Div", norm->scale, root));
    return gantry__onnx_op2(call, "Add", y, norm->offset);
}

/* Sets output i to old momentum + batch (1 - momentum), as a vector of the type of old. */
static gantry_status_t batch_set_running(gantry__onnx_call_t *call, size_t i, size_t old_input,
                                         const gantry_tensor_t *old, const gantry_tensor_t *batch) {
    if (!gantry__onnx_wants(call, i)) return GANTRY_OK;
    const gantry_tensor_t *input = gantry__onnx_input(call, old_input);
    const double momentum = (double)gantry__onnx_attr_float(call, "momentum", 0.9f);
    const gantry_tensor_t *running =
        gantry__onnx_op2(call, "Add", gantry__onnx_scale(call, old, momentum, 0),
                         gantry__onnx_scale(call, batch, 1 - momentum, 0));
    running = gantry__onnx_reshape(call, running, *gantry_tensor_shape(input));
    return gantry__onnx_set(call, i, gantry__onnx_cast(call, running, gantry_tensor_dtype(input)));
}

static gantry_status_t batch_set_saved(gantry__onnx_call_t *call, size_t i,
                                       const gantry_tensor_t *batch) {
    if (!gantry__onnx_wants(call, i)) return GANTRY_OK;
    const gantry_tensor_t *input = gantry__onnx_input(call, 3);
    batch = gantry__onnx_reshape(call, batch, *gantry_tensor_shape(input));
    return gantry__onnx_set(call, i, gantry__onnx_cast(call, batch, gantry_tensor_dtype(input)));
}

static gantry_status_t batch_train(gantry__onnx_call_t *call, const batch_norm_t *norm,
                                   gantry_dtype_t dtype) {
    int64_t axes[GANTRY_MAX_RANK];
    size_t count = 0;
    const gantry_shape_t *shape = gantry_tensor_shape(gantry__onnx_input(call, 0));
    for (int32_t i = 0; i < shape->rank; ++i)
        if (i != 1) axes[count++] = i;
    const gantry_tensor_t *mean = gantry__onnx_reduce(call, "Mean", norm->x, axes, count, true);
    const gantry_tensor_t *squares =
        gantry__onnx_op1(call, "Square", gantry__onnx_op2(call, "Sub", norm->x, mean));
    const gantry_tensor_t *variance = gantry__onnx_reduce(call, "Mean", squares, axes, count, true);
    const gantry_tensor_t *y = batch_trained(call, norm, mean, variance);
    GANTRY__TRY(gantry__onnx_give(call, gantry__onnx_cast(call, y, dtype)));
    GANTRY__TRY(batch_set_running(call, 1, 3, norm->mean, mean));
    GANTRY__TRY(batch_set_running(call, 2, 4, norm->variance, variance));
    if (gantry__onnx_version(call) >= 14) return GANTRY_OK;
    GANTRY__TRY(batch_set_saved(call, 3, mean));
    return batch_set_saved(call, 4, variance);
}

/* Parameters of [C], or without `spatial`, below operator set 9, of the shape of one element of
 * the batch, which broadcasts by itself. */
static gantry_status_t batch_read(gantry__onnx_call_t *call, bool is_spatial, batch_norm_t *norm) {
    const gantry_tensor_t *x = gantry__onnx_input(call, 0), *in[5];
    const gantry_shape_t *shape = gantry_tensor_shape(x);
    const gantry_dtype_t dtype = gantry_tensor_dtype(x),
                         work = gantry__onnx_is_half(dtype) ? GANTRY_FLOAT32 : dtype;
    /* One dimension is a batch of one channel. */
    const int64_t channels = shape->rank > 1 ? shape->dims[1] : 1;
    for (size_t i = 0; i < 5; ++i) {
        in[i] = gantry__onnx_cast(call, gantry__onnx_input(call, i), work);
        if (!in[i]) return gantry__onnx_give(call, NULL);
        if (i == 0 || !is_spatial) continue;
        const gantry_shape_t *own = gantry_tensor_shape(in[i]);
        if (own->rank != 1 || (channels >= 0 && own->dims[0] >= 0 && own->dims[0] != channels))
            return gantry__onnx_invalid(call,
                                        "input %zu has no element for each of the channels, "
                                        "which are the second dimension",
                                        i);
        in[i] = gantry__onnx_by_channel(call, in[i], x);
    }
    *norm = (batch_norm_t){.x = in[0],
                           .scale = in[1],
                           .offset = in[2],
                           .mean = in[3],
                           .variance = in[4],
                           .epsilon = (double)gantry__onnx_attr_float(call, "epsilon", 1e-5f)};
    return GANTRY_OK;
}

gantry_status_t gantry__onnx_lower_batch_normalization(gantry__onnx_call_t *call) {
    const gantry_tensor_t *x = gantry__onnx_input(call, 0);
    const int64_t version = gantry__onnx_version(call);
    const bool is_spatial = version >= 9 || gantry__onnx_attr_int(call, "spatial", 1) != 0;
    bool trains = version >= 14 && gantry__onnx_attr_int(call, "training_mode", 0) != 0;
    for (size_t i = 1; i < call->output_count && version < 14; ++i)
        trains = trains || call->node->outputs[i] != GANTRY__ONNX_NO_VALUE;
    if (version >= 14 && !trains && (gantry__onnx_wants(call, 1) || gantry__onnx_wants(call, 2)))
        return gantry__onnx_invalid(call, "it has running statistics, but training_mode is 0");
    if (trains && !is_spatial) return gantry__onnx_unsupported(call, "training with spatial 0");
    batch_norm_t norm = {.x = NULL};
    GANTRY__TRY(batch_read(call, is_spatial, &norm));
    if (trains) return batch_train(call, &norm, gantry_tensor_dtype(x));
    return gantry__onnx_give(
        call, gantry__onnx_cast(call, batch_normalised(call, &norm, norm.mean, norm.variance),
                                gantry_tensor_dtype(x)));
}
