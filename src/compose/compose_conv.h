/* SPDX-License-Identifier: Apache-2.0 */
/* The geometry of a convolution and what its gradients share (compose_conv.c, compose_pool.c).
 *
 * Owner: plain values of the caller. Threads: those of the scope. */
#ifndef GANTRY_COMPOSE_CONV_H
#define GANTRY_COMPOSE_CONV_H

#include "compose/compose.h"

typedef struct gantry__conv_t {
    const gantry__compose_t *c;
    gantry_scope_t *scope;
    bool channels_first;
    /* the images that are convolved, or the result of ConvolveImages, have their channels first */
    bool reads_planes, gives_planes;
    const gantry_kernel_def_t *at_once; /* the kernel that needs no patches; NULL: none */
    /* sizes of the filter; channels are those of one group */
    int64_t rows, columns, channels, outputs;
    int64_t groups;
    gantry_shape_t image, places; /* [batch, height, width, channels] before and after */
    int64_t strides[4], rates[4], pads[8];
    bool has_pads;
    const char *padding;
    const gantry_tensor_t *zero[2]; /* ConvInteger's zero points of images and filter, or NULL */
} gantry__conv_t;

/* Reads the call's attributes in the order of NHWC. */
gantry__conv_t gantry__conv_read(const gantry__compose_t *c, const gantry_shape_t *image,
                                 const gantry_shape_t *filter, const gantry_shape_t *places);
/* x with its channels last, from where data_format has them, and back. */
const gantry_tensor_t *gantry__conv_to_last(const gantry__conv_t *conv, const gantry_tensor_t *x);
const gantry_tensor_t *gantry__conv_to_first(const gantry__conv_t *conv, const gantry_tensor_t *x);
/* Whether a shape is empty: then every sum is 0, and the result is made here. */
bool gantry__conv_is_void(const gantry__compose_t *c, const gantry_shape_t *a,
                          const gantry_shape_t *b);
/* The padding that the windows cover, in numbers: what ceil_mode adds is padding, too. */
void gantry__conv_set_pads(gantry__conv_t *conv);
/* How far the windows of the last place reach along dimension d, from the first window's begin. */
int64_t gantry__conv_windows_end(const gantry__conv_t *conv, int d);
/* Whether each window is one pixel, so that images are their own patches. */
bool gantry__conv_sees_pixels(const gantry__conv_t *conv);
/* Attributes of convolutions without a format: channels are last. Returns how many. */
size_t gantry__conv_attrs(const gantry__conv_t *conv, gantry_attr_value_t out[4]);
/* The sizes of images or of a filter as Conv2D's gradients have them. */
void gantry__conv_write_sizes(const gantry_shape_t *shape, int32_t out[4]);
/* The device that a part would run on with this type; NULL: none. */
const gantry_logical_device_t *gantry__conv_find_device(const gantry__conv_t *conv,
                                                        gantry__op_id_t id, gantry_dtype_t dtype);
#define GANTRY__CONV_NO_HOST UINT32_MAX
/* The kernel that computes the part on a GPU without patches; NULL: none does for these shapes, or
 * a library multiplies patches there. It is a vendor's library's, or the portable one, which has
 * the bits of the portable product of patches. shapes[host] has the sizes that are the input on the
 * host; GANTRY__CONV_NO_HOST: none is. */
const gantry_kernel_def_t *gantry__conv_at_once(const gantry__conv_t *conv, gantry__op_id_t id,
                                                const gantry_shape_t *const *shapes, uint32_t count,
                                                uint32_t host);
/* A depthwise convolution: each channel has a filter of its own. */
const gantry_tensor_t *gantry__conv_channels(const gantry__conv_t *conv,
                                             const gantry_tensor_t *images,
                                             const gantry_tensor_t *filter);
/* The gradient of its image: [places, channels] and a filter [rows, columns, channels, 1]. */
const gantry_tensor_t *gantry__conv_spread_channels(const gantry__conv_t *conv,
                                                    const gantry_tensor_t *filter,
                                                    const gantry_tensor_t *result);

#endif
