/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the geometry of windows, and cuts places into stretches for processors (window_shape.h). */
#include "kernels/window/window_shape.h"

static bool window_shape_is_channels_first(const gantry_op_call_t *call) {
    const gantry_attr_t *format = gantry__k_attr(call, "data_format");
    return format && format->s && strncmp(format->s, "NC", 2) == 0;
}

/* Elements `first` and the next one of a list attribute; 1 if the op has no such elements. */
static void two_at(const gantry_op_call_t *call, const char *name, int32_t first, int64_t *out_y,
                   int64_t *out_x) {
    const gantry_attr_t *attr = name ? gantry__k_attr(call, name) : NULL;
    const bool has_two = attr && attr->i > first + 1;
    *out_y = has_two ? attr->list[first] : 1;
    *out_x = has_two ? attr->list[first + 1] : 1;
}

bool gantry__window_is_without_padding(const gantry_op_call_t *call) {
    const gantry_attr_t *attr = gantry__k_attr(call, "without_padding");
    return attr && attr->i != 0;
}

/* The padding before an image of `size`, which windows that end at windows_end need. SAME splits
 * the padding, and its smaller half comes first. */
static int64_t same_before(int64_t size, int64_t windows_end) {
    return windows_end > size ? (windows_end - size) / 2 : 0;
}

static int64_t end_of_rows(const gantry__windows_t *window) {
    return (window->out_height - 1) * window->step_y + (window->rows - 1) * window->spread_y + 1;
}

static int64_t end_of_columns(const gantry__windows_t *window) {
    return (window->out_width - 1) * window->step_x + (window->columns - 1) * window->spread_x + 1;
}

static void set_padding_before(const gantry_op_call_t *call, int32_t first,
                               gantry__windows_t *window) {
    const char *padding = gantry__k_attr(call, "padding")->s;
    if (strcmp(padding, "SAME") == 0) {
        window->top = same_before(window->height, end_of_rows(window));
        window->left = same_before(window->width, end_of_columns(window));
    } else if (strcmp(padding, "EXPLICIT") == 0) {
        const int64_t *pads = gantry__k_attr(call, "explicit_paddings")->list;
        window->top = pads[2 * first];
        window->left = pads[2 * first + 2];
    }
}

bool gantry__window_is_planar(const gantry_op_call_t *call, const char *name) {
    const gantry_attr_t *format = gantry__k_attr(call, name);
    return format && format->s && format->s[1] == 'C';
}

int32_t gantry__window_is_whole(const gantry_op_call_t *call) {
    return call->inputs[0]->dims[gantry__window_is_planar(call, "input_format") ? 1 : 3] ==
           call->inputs[1]->dims[2];
}

gantry_arg_t gantry__window_result_arg(const gantry_op_call_t *call, int64_t dims[4]) {
    gantry_arg_t out = *call->outputs[0];
    if (!gantry__window_is_planar(call, "output_format")) return out;
    dims[0] = out.dims[0];
    dims[1] = out.dims[2];
    dims[2] = out.dims[3];
    dims[3] = out.dims[1];
    out.dims = dims;
    return out;
}

void gantry__window_fill(const gantry_op_call_t *call, const gantry__window_names_t *names,
                         const gantry_arg_t *image, const gantry_arg_t *places, int64_t rows,
                         int64_t columns, gantry__windows_t *out) {
    /* an op has data_format or input_format */
    const gantry_attr_t *format = gantry__k_attr(call, "data_format");
    const int32_t first = format && format->s && strncmp(format->s, "NC", 2) == 0 ? 2 : 1;
    const bool is_planar = !format && gantry__window_is_planar(call, "input_format");
    *out = (gantry__windows_t){.height = image->dims[first + is_planar],
                               .width = image->dims[first + is_planar + 1],
                               .channels = first == 2 ? 1 : image->dims[is_planar ? 1 : 3],
                               .out_height = places->dims[first],
                               .out_width = places->dims[first + 1],
                               .rows = rows,
                               .columns = columns,
                               .planes = first == 2 ? image->dims[1] : 0,
                               .planar = is_planar,
                               .depth = 1,
                               .band = 1};
    if (names->size) two_at(call, names->size, first, &out->rows, &out->columns);
    two_at(call, names->steps, first, &out->step_y, &out->step_x);
    two_at(call, names->spreads, first, &out->spread_y, &out->spread_x);
    set_padding_before(call, first, out);
}

/* The size of an image with its padding along a dimension. That of SAME is as large as the windows
 * need. */
static int64_t counted_size(const gantry_op_call_t *call, int32_t d, int64_t size, int64_t before,
                            int64_t windows_end) {
    const char *padding = gantry__k_attr(call, "padding")->s;
    if (strcmp(padding, "EXPLICIT") == 0)
        return before + size + gantry__k_attr(call, "explicit_paddings")->list[2 * d + 1];
    return strcmp(padding, "SAME") == 0 && windows_end > size ? windows_end : size;
}

void gantry__window_count_padding(const gantry_op_call_t *call, gantry__windows_t *window) {
    const int32_t first = window_shape_is_channels_first(call) ? 2 : 1;
    window->counted_height =
        counted_size(call, first, window->height, window->top, end_of_rows(window));
    window->counted_width =
        counted_size(call, first + 1, window->width, window->left, end_of_columns(window));
}

#define STRETCH_WORK 32768   /* so many elements of the windows pay for a thread */
#define LONGEST_STRETCH 4096 /* places */
/* elements of the output for which the cost of gathering weights is small */
#define BAND_ELEMENTS 16384
/* of whole planes of depthwise, which a core's own cache then holds */
#define PLANES_ELEMENTS 4096
#define MOST_PLANES 64

/* The stretches are as long as possible, but so that there are enough of them for all threads. */
void gantry__window_stretches(const gantry_op_call_t *call, gantry__windows_t *window,
                              int64_t width, gantry__k_item_launch_t *launch) {
    const int64_t elements = call->outputs[0]->element_count, last = call->outputs[0]->dims[3];
    const int64_t each = window->planes != 0 ? 1 : last, rows = elements / (each * width);
    const int64_t share =
        elements / each / (gantry__k_units(call) * 2 * GANTRY_K_RUNS_PER_CORE) + 1;
    int64_t length = width < share ? width : share;
    if (!gantry__k_is_serial(call)) return;
    length = length < LONGEST_STRETCH ? length : LONGEST_STRETCH;
    int64_t work = length * each * (launch->is_costly ? window->rows * window->columns : 1);
    window->runs =
        (gantry__runs_t){.size = width, .length = length, .count = (width + length - 1) / length};
    launch->count = rows * window->runs.count;
    launch->grain = STRETCH_WORK / work + 1;
    launch->item_bytes = length * each * (int64_t)gantry__k_size(launch->t);
}

/* Joins whole planes of a depthwise convolution into one item, at most as many as `most`. Returns
 * the number of items that `images` planes then have. An item's planes are of one image. */
static int64_t window_shape_join_planes(gantry__windows_t *window, int64_t images, int64_t most) {
    const int64_t each = window->out_height * window->out_width,
                  all = window->planes * window->depth;
    int64_t together = most < MOST_PLANES ? most : MOST_PLANES;
    if (window->planes == 0 || window->runs.count != 1) return images;
    while (together > 1 && (together * each > PLANES_ELEMENTS || all % together != 0)) --together;
    if (together < 2) return images;
    window->band = together * window->out_height;
    return images / together;
}

/* Joins the stretches of several rows into one item, if that leaves enough items for all
 * threads. */
static void window_shape_join_rows(const gantry_op_call_t *call, gantry__windows_t *window,
                                   bool has_filter, gantry__k_item_launch_t *launch) {
    const int64_t height = window->out_height,
                  enough = gantry__k_units(call) * 2 * GANTRY_K_RUNS_PER_CORE,
                  share = launch->count / enough;
    const int64_t item = launch->item_bytes / (int64_t)gantry__k_size(launch->t);
    int64_t images = launch->count / window->runs.count / height,
            most = share < height ? share : height;
    window->band = BAND_ELEMENTS / item + 1 < most ? BAND_ELEMENTS / item + 1 : most < 1 ? 1 : most;
    if (has_filter) images = window_shape_join_planes(window, images, share / height);
    launch->count = images * ((height + window->band - 1) / window->band) * window->runs.count;
    launch->grain = launch->grain / window->band + 1;
    launch->item_bytes *= window->band;
}

int32_t gantry__window_run(gantry_op_call_t *call, uint32_t item, const gantry_arg_t *x,
                           const gantry_arg_t *filter, gantry__windows_t *window, int64_t width) {
    const gantry_arg_t *out = call->outputs[0];
    gantry__k_item_launch_t launch = {.item = item,
                                      .t = out->dtype,
                                      .count = out->element_count,
                                      .is_costly = true,
                                      .parameters = window,
                                      .parameter_bytes = sizeof *window};
    launch.spans[launch.span_count++] = x->span;
    if (filter) launch.spans[launch.span_count++] = filter->span;
    launch.spans[launch.span_count++] = out->span;
    if (width > 0) gantry__window_stretches(call, window, width, &launch);
    const bool has_bands = filter || (window->planes > 0 && GANTRY__TYPE_IS(out->dtype, FLOATING));
    if (has_bands && width > 0 && gantry__k_is_serial(call))
        window_shape_join_rows(call, window, filter != NULL, &launch);
    return gantry__k_run_items(call, &launch);
}
