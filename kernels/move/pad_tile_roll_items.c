/* SPDX-License-Identifier: Apache-2.0 */
/* Pad, MirrorPad, Tile and Roll: each dimension of the output is one of the input, moved by an
 * offset (kernels/move/pad_tile_roll.cl).
 *
 * Dimensions are collapsed: one that the op leaves unchanged becomes a part of the dimension before
 * it, which pads, repeats or rolls whole blocks. An item that would reverse the inside of such a
 * block, or space it out, needs both dimensions unchanged. */
#include <stdbool.h>

#include "kernels/common/item_kernel.h"
#include "kernels/move/pad_tile_roll.cl"
#include "kernels/move/pad_tile_roll_items.h"

GANTRY_K_ITEM_TEXTS(pad_tile_roll, GANTRY_PAD_TILE_ROLL_ITEMS, gantry__text_pad_tile_roll);

static gantry__remap_t pad_tile_roll_begin(const gantry_op_call_t *call) {
    gantry__remap_t remap = {.rank = call->outputs[0]->rank};
    int64_t stride = 1;
    for (int32_t d = call->outputs[0]->rank - 1; d >= 0; --d) {
        remap.dims[d] = call->outputs[0]->dims[d];
        remap.sizes[d] = call->inputs[0]->dims[d];
        remap.strides[d] = stride;
        remap.apart[d] = 1;
        stride *= remap.sizes[d];
    }
    return remap;
}

/* Dimension d of the call, which is not collapsed yet. */
static bool is_unchanged(const gantry_op_call_t *call, const gantry__remap_t *remap, int64_t d) {
    return remap->dims[d] == remap->sizes[d] && remap->offsets[d] == 0 && remap->apart[d] == 1 &&
           remap->sizes[d] == call->inputs[0]->dims[d];
}

static void collapse_dimensions(const gantry_op_call_t *call, gantry__remap_t *remap,
                                uint32_t item) {
    const bool moves_blocks = item == ITEM_border || item == ITEM_wrap;
    bool last_is_unchanged = false;
    int64_t last = -1;
    for (int64_t d = 0; d < remap->rank; ++d) {
        const bool unchanged = is_unchanged(call, remap, d);
        if (last >= 0 && unchanged && (moves_blocks || last_is_unchanged)) {
            remap->offsets[last] *= remap->dims[d];
            remap->sizes[last] *= remap->sizes[d];
            remap->dims[last] *= remap->dims[d];
            remap->strides[last] = remap->strides[d];
        } else if (!unchanged || remap->dims[d] != 1) {
            ++last;
            last_is_unchanged = unchanged;
            remap->dims[last] = remap->dims[d];
            remap->sizes[last] = remap->sizes[d];
            remap->offsets[last] = remap->offsets[d];
            remap->strides[last] = remap->strides[d];
            remap->apart[last] = remap->apart[d];
        }
    }
    if (last < 0) { /* a single element */
        last = 0;
        remap->dims[0] = remap->sizes[0] = remap->strides[0] = remap->apart[0] = 1;
        remap->offsets[0] = 0;
    }
    remap->rank = last + 1;
}

static int32_t pad_tile_roll_run(gantry_op_call_t *call, uint32_t item, gantry__remap_t *remap) {
    const gantry_arg_t *x = call->inputs[0], *out = call->outputs[0];
    collapse_dimensions(call, remap, item);
    remap->runs = gantry__k_runs(call, remap->dims[remap->rank - 1]);
    gantry__k_item_launch_t launch = {
        .item = item,
        .t = gantry__k_twin(out->dtype),
        .parameters = remap,
        .parameter_bytes = sizeof *remap,
        /* an empty input may have no memory; the kernel does not read it */
        .spans = {x->element_count > 0 ? x->span : out->span, out->span},
        .span_count = 2};
    return gantry__k_run_runs(call, &launch, &remap->runs);
}

/* Places of attributes of Pad, after its types. */
enum { PAD_MODE = 2, PAD_INTERIOR };

/* Sets how far apart the elements of the input are. Returns whether others come between them. */
static bool set_distances(const gantry_op_call_t *call, gantry__remap_t *remap) {
    bool is_spaced = false;
    const gantry_attr_t *interior = gantry__k_attr_at(call, PAD_INTERIOR, "interior");
    for (int64_t d = 0; interior && d < interior->i; ++d) {
        if (remap->sizes[d] < 2 || interior->list[d] == 0) continue;
        remap->apart[d] = interior->list[d] + 1;
        is_spaced = true;
    }
    return is_spaced;
}

/* Offsets that leave no element of the input inside are one, which merged blocks can multiply. */
static void set_paddings(const gantry_op_call_t *call, gantry__remap_t *remap) {
    for (int64_t d = 0; d < remap->rank; ++d) {
        const int64_t before = gantry__k_host_int(call->inputs[1], 2 * d),
                      own = (remap->sizes[d] - 1) * remap->apart[d] + 1;
        remap->offsets[d] = before < -own             ? own
                            : before > remap->dims[d] ? -remap->dims[d]
                                                      : -before;
    }
}

static int64_t pad_cut(int64_t padding) { return padding < 0 ? -padding : 0; }

/* A border of the input's own elements, of what negative paddings leave of the input. */
static int32_t run_extended(gantry_op_call_t *call, gantry__remap_t *remap, const char *mode) {
    const bool wraps = strcmp(mode, "WRAP") == 0;
    for (int64_t d = 0; d < remap->rank; ++d) {
        const int64_t before = gantry__k_host_int(call->inputs[1], 2 * d),
                      after = gantry__k_host_int(call->inputs[1], 2 * d + 1);
        const int64_t size = remap->sizes[d] - pad_cut(before) - pad_cut(after);
        remap->sizes[d] = size;
        remap->base += pad_cut(before) * remap->strides[d];
        remap->offsets[d] = before > 0 ? -before : 0;
        if (wraps && size > 0) remap->offsets[d] = (size + remap->offsets[d] % size) % size;
    }
    remap->edge = strcmp(mode, "SYMMETRIC") == 0 ? 1 : strcmp(mode, "EDGE") == 0 ? -1 : 0;
    return pad_tile_roll_run(call, wraps ? ITEM_wrap : ITEM_extend, remap);
}

static int32_t compute_pad(gantry_op_call_t *call) {
    gantry__remap_t remap = pad_tile_roll_begin(call);
    const gantry_attr_t *mode = gantry__k_attr_at(call, PAD_MODE, "mode");
    if (mode && mode->s[0] != 'C') return run_extended(call, &remap, mode->s);
    const bool is_spaced = set_distances(call, &remap);
    set_paddings(call, &remap);
    if (call->input_count > 2) gantry__k_host_two(call->inputs[2], remap.value);
    return pad_tile_roll_run(call, is_spaced ? ITEM_spaced : ITEM_border, &remap);
}

static int32_t compute_mirror_pad(gantry_op_call_t *call) {
    gantry__remap_t remap = pad_tile_roll_begin(call);
    set_paddings(call, &remap);
    remap.edge = strcmp(gantry__k_attr_text(call, "mode", "REFLECT"), "SYMMETRIC") == 0;
    return pad_tile_roll_run(call, ITEM_mirror, &remap);
}

static int32_t compute_tile(gantry_op_call_t *call) {
    gantry__remap_t remap = pad_tile_roll_begin(call);
    return pad_tile_roll_run(call, ITEM_wrap, &remap);
}

static int32_t compute_roll(gantry_op_call_t *call) {
    gantry__remap_t remap = pad_tile_roll_begin(call);
    for (int64_t k = 0; k < call->inputs[1]->element_count; ++k) {
        const int64_t given = gantry__k_host_int(call->inputs[2], k),
                      d = given < 0 ? given + remap.rank : given;
        const int64_t back =
            remap.sizes[d] - gantry__k_host_int(call->inputs[1], k) % remap.sizes[d];
        remap.offsets[d] = (remap.offsets[d] + back) % remap.sizes[d];
    }
    return pad_tile_roll_run(call, ITEM_wrap, &remap);
}

static const char *const pad_hosts[] = {"paddings", "constant_values"};
static const char *const mirror_pad_hosts[] = {"paddings"};
static const char *const tile_hosts[] = {"multiples"};
static const char *const roll_hosts[] = {"shift", "axis"};

GANTRY_K_ITEM_KERNEL_HOST(pad, pad_tile_roll, "Pad", gantry__k_any_type, pad_hosts, compute_pad);
GANTRY_K_ITEM_KERNEL_HOST(mirror_pad, pad_tile_roll, "MirrorPad", gantry__k_any_type,
                          mirror_pad_hosts, compute_mirror_pad);
GANTRY_K_ITEM_KERNEL_HOST(tile, pad_tile_roll, "Tile", gantry__k_any_type, tile_hosts,
                          compute_tile);
GANTRY_K_ITEM_KERNEL_HOST(roll, pad_tile_roll, "Roll", gantry__k_any_type, roll_hosts,
                          compute_roll);

#define OPS(OP)    \
    OP(pad)        \
    OP(mirror_pad) \
    OP(tile)       \
    OP(roll)
GANTRY_K_ITEM_PACK(pad_tile_roll, OPS);
