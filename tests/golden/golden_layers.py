# SPDX-License-Identifier: Apache-2.0
"""Cases of make_layer_cases.py: transposed and separable convolutions, layers that repeat, pad, crop and permute, merges,
normalisations and slopes. m: that module."""
from keras import initializers, layers


def write_cases(m):
    for part in (write_transposed, write_separable, write_resized, write_merges, write_norms, write_slopes, write_timed):
        part(m)


def write_masked_cases(m):
    write_masked_merges(m)
    write_masked_layers(m)


def list_of(numbers, kind):
    return f"({kind}[]){{{', '.join(map(str, numbers))}}}"


def write_transposed(m):
    for padding in ("valid", "same"):
        for stride, size in ((1, 3), (2, 3), (3, 2), (2, 1)):
            m.case(f"Conv1DTranspose {padding} {stride} {size}",
                   m.wide(layers.Conv1DTranspose, 2, size, strides=stride, padding=padding),
                   f"gantry_conv1d_transpose_layer(2, {size}, GANTRY_LINEAR, {m.conv_options((stride,), (1,), padding)})",
                   (2, 4, 3))
        for strides, size in (((1, 1), 2), ((2, 2), 3), ((1, 3), 2)):
            m.case(f"Conv2DTranspose {padding} {strides} {size}",
                   m.wide(layers.Conv2DTranspose, 3, size, strides=strides, padding=padding),
                   f"gantry_conv2d_transpose_layer(3, {size}, GANTRY_LINEAR, {m.conv_options(strides, (1, 1), padding)})",
                   (1, 3, 2, 2))
        options = m.conv_options((2, 1), (1, 1), padding, kernel_columns=3)
        m.case(f"Conv2DTranspose rows and columns {padding}",
               m.wide(layers.Conv2DTranspose, 2, (2, 3), strides=(2, 1), padding=padding),
               f"gantry_conv2d_transpose_layer(2, 2, GANTRY_LINEAR, {options})", (2, 2, 3, 1))
    write_output_paddings(m)
    m.case("Conv2DTranspose relu no bias", m.wide(layers.Conv2DTranspose, 2, 3, activation="relu", use_bias=False),
           f"gantry_conv2d_transpose_layer(2, 3, GANTRY_RELU, {m.kernel(no_bias='true')})", (1, 2, 3, 2))


def write_output_paddings(m):
    for padding, stride, size, more in (("valid", 3, 2, 0), ("valid", 3, 2, 2), ("valid", 4, 1, 1), ("same", 2, 3, 1), ("same", 3, 2, 1)):
        options = m.conv_options((stride,), (1,), padding, output_padding=list_of((more,), "const int64_t"))
        m.case(f"Conv1DTranspose output padding {padding} {stride} {size} {more}",
               m.wide(layers.Conv1DTranspose, 2, size, strides=stride, padding=padding, output_padding=more),
               f"gantry_conv1d_transpose_layer(2, {size}, GANTRY_LINEAR, {options})", (2, 4, 3))
    for padding, strides, size, more in (("valid", (3, 2), 2, (2, 0)), ("valid", (3, 3), 1, (0, 1)), ("same", (3, 2), 3, (2, 0)),
                                         ("same", (2, 3), 2, (1, 2))):
        options = m.conv_options(strides, (1, 1), padding, output_padding=list_of(more, "const int64_t"))
        m.case(f"Conv2DTranspose output padding {padding} {strides} {size} {more}",
               m.wide(layers.Conv2DTranspose, 3, size, strides=strides, padding=padding, output_padding=more),
               f"gantry_conv2d_transpose_layer(3, {size}, GANTRY_LINEAR, {options})", (1, 3, 2, 2))


def write_separable(m):
    for padding in ("valid", "same"):
        for stride, dilation, multiplier in ((1, 1, 1), (2, 1, 2), (1, 2, 1)):
            more = {"depth_multiplier": multiplier} if multiplier > 1 else {}
            given = {"strides": stride, "dilation_rate": dilation, "padding": padding, "depth_multiplier": multiplier}
            m.case(f"SeparableConv1D {padding} {stride} {dilation}", m.wide(layers.SeparableConv1D, 3, 2, **given),
                   "gantry_separable_conv1d_layer(3, 2, GANTRY_LINEAR, "
                   f"{m.conv_options((stride,), (dilation,), padding, **more)})", (2, 5, 2))
            m.case(f"SeparableConv2D {padding} {stride} {dilation}", m.wide(layers.SeparableConv2D, 3, 2, **given),
                   "gantry_separable_conv2d_layer(3, 2, GANTRY_LINEAR, "
                   f"{m.conv_options((stride, stride), (dilation, dilation), padding, **more)})", (1, 4, 5, 2))
    m.case("SeparableConv2D relu no bias", m.wide(layers.SeparableConv2D, 2, (3, 1), activation="relu", use_bias=False),
           f"gantry_separable_conv2d_layer(2, 3, GANTRY_RELU, {m.kernel(no_bias='true', kernel_columns=1)})", (1, 4, 2, 3))


def write_resized(m):
    m.case("RepeatVector", m.wide(layers.RepeatVector, 3), "gantry_repeat_vector_layer(3, NULL)", (2, 4))
    m.case("UpSampling1D", m.wide(layers.UpSampling1D, 3), "gantry_up_sampling1d_layer(3, NULL)", (2, 3, 2))
    for rows, columns in ((2, 2), (1, 3), (3, 1), (1, 1)):
        m.case(f"UpSampling2D {rows} {columns}", m.wide(layers.UpSampling2D, (rows, columns)),
               f"gantry_up_sampling2d_layer({rows}, {columns}, NULL)", (2, 2, 3, 2))
    m.case("ZeroPadding1D", m.wide(layers.ZeroPadding1D, (2, 1)), "gantry_zero_padding1d_layer(2, 1, NULL)", (2, 3, 2))
    m.case("ZeroPadding2D", m.wide(layers.ZeroPadding2D, ((1, 0), (2, 3))),
           f"gantry_zero_padding2d_layer({list_of((1, 0, 2, 3), 'int64_t')}, NULL)", (1, 2, 3, 2))
    m.case("Cropping1D", m.wide(layers.Cropping1D, (1, 2)), "gantry_cropping1d_layer(1, 2, NULL)", (2, 5, 2))
    m.case("Cropping2D", m.wide(layers.Cropping2D, ((1, 0), (0, 2))),
           f"gantry_cropping2d_layer({list_of((1, 0, 0, 2), 'int64_t')}, NULL)", (1, 3, 4, 2))
    for dims, shape in (((2, 1), (2, 3, 4)), ((3, 1, 2), (2, 2, 3, 4)), ((1,), (2, 3))):
        m.case(f"Permute {dims}", m.wide(layers.Permute, dims),
               f"gantry_permute_layer({list_of(dims, 'int32_t')}, {len(dims)}, NULL)", shape)


def write_merges(m):
    m.case("Add ranks", m.wide(layers.Add), "gantry_add_layer(NULL)", (4, 2, 3), (4, 3))
    m.case("Subtract ranks", m.wide(layers.Subtract), "gantry_subtract_layer(NULL)", (2, 2), (2, 3, 1, 2))
    m.case("Subtract", m.wide(layers.Subtract), "gantry_subtract_layer(NULL)", (2, 3), (2, 3))
    for kind in (layers.Multiply, layers.Average, layers.Maximum, layers.Minimum):
        name = kind.__name__
        make = f"gantry_{name.lower()}_layer(NULL)"
        m.case(f"{name} 2", m.wide(kind), make, (2, 3), (2, 3))
        m.case(f"{name} 3", m.wide(kind), make, (2, 3, 2), (2, 3, 2), (2, 3, 2))
        m.case(f"{name} broadcast", m.wide(kind), make, (2, 3, 1), (2, 1, 2))
        m.case(f"{name} ranks", m.wide(kind), make, (2, 3), (2, 4, 3))
    for axes, first, second in (((1, 1), (2, 3), (2, 3)), ((-1, -1), (2, 3, 4), (2, 2, 4)), ((1, 2), (2, 3, 2), (2, 2, 3)),
                                ((2, 1), (2, 2, 3), (2, 3)), ((1, 1), (2, 3), (2, 3, 2)), ((3, 1), (1, 2, 2, 3), (1, 3, 2))):
        for normalize in (False, True):
            m.case(f"Dot {axes} {len(first)} {len(second)} {normalize}", m.wide(layers.Dot, axes, normalize=normalize),
                   f"gantry_dot_layer({axes[0]}, {axes[1]}, {str(normalize).lower()}, NULL)", first, second)


def write_norms(m):
    for groups, axis, shape in ((2, -1, (2, 3, 4)), (3, -1, (1, 2, 2, 6)), (-1, -1, (2, 3, 2)), (1, -1, (2, 4)),
                                (2, 1, (2, 4, 3)), (2, 2, (1, 2, 4, 2))):
        options = m.options_of("norm", axes=list_of((axis,), "int32_t"), axis_count=1)
        m.case(f"GroupNormalization {groups} {axis} {shape}", m.wide(layers.GroupNormalization, groups, axis=axis),
               f"gantry_group_normalization({groups}, {options})", shape)
    m.case("GroupNormalization 32", m.wide(layers.GroupNormalization), "gantry_group_normalization(0, NULL)", (1, 2, 32))
    for given, members in (({"center": False}, {"no_center": "true"}), ({"scale": False}, {"no_scale": "true"}),
                           ({"epsilon": 0.125}, {"epsilon": 0.125})):
        m.case(f"GroupNormalization {' '.join(given)}", m.wide(layers.GroupNormalization, 2, **given),
               f"gantry_group_normalization(2, {m.options_of('norm', **members)})", (2, 2, 4))
    m.case("RMSNormalization", m.wide(layers.RMSNormalization), "gantry_rms_normalization(NULL)", (2, 3, 4))
    m.case("RMSNormalization epsilon", m.wide(layers.RMSNormalization, epsilon=0.125),
           f"gantry_rms_normalization({m.options_of('norm', epsilon=0.125)})", (2, 4))
    for axes, shape in (((-1,), (2, 3)), ((1, 2), (2, 3, 2)), ((1,), (2, 3, 2))):
        options = m.options_of("norm", axes=list_of(axes, "int32_t"), axis_count=len(axes))
        m.case(f"UnitNormalization {axes}", m.wide(layers.UnitNormalization, axis=list(axes)),
               f"gantry_unit_normalization({options})", shape)
        if axes != (1,):  # Keras multiplies by scales of the last dimensions alone
            m.case(f"RMSNormalization {axes}", m.wide(layers.RMSNormalization, axis=list(axes)),
                   f"gantry_rms_normalization({options})", shape)


def write_slopes(m):
    for slope in (0.25, 0):
        m.case(f"LeakyReLU {slope}", m.wide(layers.LeakyReLU, slope), f"gantry_leaky_relu_layer({slope}, NULL)", (2, 4))
    m.case("PReLU", m.wide(layers.PReLU), "gantry_prelu_layer(NULL, NULL, 0, NULL)", (3, 4))
    for axes in ((1,), (1, 2)):
        m.case(f"PReLU shared {axes}", m.wide(layers.PReLU, alpha_initializer=initializers.Constant(0.25), shared_axes=axes),
               f"gantry_prelu_layer(NULL, {list_of(axes, 'int32_t')}, {len(axes)}, NULL)", (2, 3, 2, 2))
    m.case("Rescaling", m.wide(layers.Rescaling, 0.5, offset=-1.25), "gantry_rescaling_layer(0.5, -1.25, NULL)", (2, 3))


def write_timed(m):
    for inner, text, shape in (
            (lambda: layers.Dense(2, activation="tanh", dtype="float64"), "gantry_dense(2, GANTRY_TANH, NULL)", (2, 3, 4)),
            (lambda: layers.Conv2D(2, 2, dtype="float64"), "gantry_conv2d_layer(2, 2, GANTRY_LINEAR, NULL)", (2, 2, 3, 4, 1)),
            (lambda: layers.MaxPooling2D(2, dtype="float64"), "gantry_max_pool2d_layer(2, NULL)", (1, 2, 4, 4, 2)),
            (lambda: layers.Flatten(dtype="float64"), "gantry_flatten(NULL)", (2, 2, 3, 2)),
            (lambda: layers.LSTM(2, dtype="float64"), "gantry_lstm(2, NULL)", (2, 2, 3, 2)),
            (lambda: layers.Bidirectional(layers.GRU(2, dtype="float64"), dtype="float64"),
             "gantry_bidirectional(gantry_gru(2, NULL), GANTRY_MERGE_CONCAT, NULL)", (1, 2, 3, 2)),
            (lambda: layers.GroupNormalization(2, dtype="float64"), "gantry_group_normalization(2, NULL)", (2, 2, 3, 4)),
            (lambda: layers.TimeDistributed(layers.Dense(2, dtype="float64"), dtype="float64"),
             "gantry_time_distributed(gantry_dense(2, GANTRY_LINEAR, NULL), NULL)", (2, 2, 2, 3))):
        m.case(f"TimeDistributed {text}", lambda: layers.TimeDistributed(inner(), dtype="float64"),
               f"gantry_time_distributed({text}, NULL)", shape)


def write_masked_merges(m):
    both = ((2, 5, 3), (2, 5, 3))
    for kind in (layers.Subtract, layers.Multiply, layers.Average, layers.Maximum, layers.Minimum):
        text = f"gantry_{kind.__name__.lower()}_layer(NULL)"
        if kind is not layers.Subtract:
            m.model_case(f"masked {kind.__name__} three",
                         lambda L, x, y: m.average(L, L(kind)([L(layers.Masking)(x), L(layers.Masking, 1.0)(y), y])),
                         f"a = {m.MASKED}, OF({m.AVERAGE}, OF({text}, a, OF(gantry_masking_layer(1, NULL), X1), X1))",
                         *both, pad=0)
        m.model_case(f"masked {kind.__name__} after all",
                     lambda L, x, y: m.average(L, L(kind)([y, L(layers.Masking)(x)])),
                     f"a = {m.MASKED}, OF({m.AVERAGE}, OF({text}, X1, a))", *both, pad=0)
        m.model_case(f"masked {kind.__name__} with all",
                     lambda L, x, y: m.average(L, L(kind)([L(layers.Masking)(x), y])),
                     f"OF({m.AVERAGE}, OF({text}, {m.MASKED}, X1))", *both, pad=0)
        m.model_case(f"masked {kind.__name__} two",
                     lambda L, x, y: m.average(L, L(kind)([L(layers.Masking)(x), L(layers.Masking, 1.0)(y)])),
                     f"a = {m.MASKED}, OF({m.AVERAGE}, OF({text}, a, OF(gantry_masking_layer(1, NULL), X1)))", *both, pad=0)


def write_masked_layers(m):
    for make, text in ((lambda L: L(layers.GroupNormalization, 1), "gantry_group_normalization(1, NULL)"),
                       (lambda L: L(layers.UnitNormalization), "gantry_unit_normalization(NULL)"),
                       (lambda L: L(layers.LeakyReLU, 0.5), "gantry_leaky_relu_layer(0.5, NULL)"),
                       (lambda L: L(layers.PReLU), "gantry_prelu_layer(NULL, NULL, 0, NULL)"),
                       (lambda L: L(layers.Rescaling, 2.0), "gantry_rescaling_layer(2, 0, NULL)"),
                       (lambda L: L(layers.TimeDistributed, layers.Dense(2, dtype="float64")),
                        "gantry_time_distributed(gantry_dense(2, GANTRY_LINEAR, NULL), NULL)"),
                       (lambda L: L(layers.RMSNormalization), "gantry_rms_normalization(NULL)"),
                       (lambda L: L(layers.UpSampling1D, 1), "gantry_up_sampling1d_layer(1, NULL)")):
        m.model_case(f"masked {text.split('(')[0]}", lambda L, x: m.average(L, make(L)(L(layers.Masking)(x))),
                     f"OF({m.AVERAGE}, OF({text}, {m.MASKED}))", (2, 5, 3), pad=0)
