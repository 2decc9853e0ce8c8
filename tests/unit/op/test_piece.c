/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Whether a box of a tensor is contiguous, and where its first element is, is computed as
 * its positions say.
 * Promise: Sizes of an empty tensor whose product overflows do no harm when the place of a box is
 * computed. */

#include "op/op_infer.h"
#include "test.h"

#define MOST 6 /* elements along a dimension */

typedef struct box_t {
    int64_t size[3], begin[3], count[3], stride[3];
} box_t;

static gantry__piece_t piece_of(const box_t *box) {
    gantry__piece_t piece = {.first = 0};
    for (int i = 0; i < 3; ++i)
        gantry__piece_extend(&piece, box->size[i], box->begin[i], box->count[i], box->stride[i]);
    return piece;
}

/* The positions of the box's elements in order; true if each follows the one before directly. */
static bool lie_side_by_side(const box_t *box, int64_t *out_first) {
    int64_t last = -1;
    *out_first = -1;
    for (int64_t i = 0; i < box->count[0]; ++i) {
        for (int64_t j = 0; j < box->count[1]; ++j) {
            for (int64_t k = 0; k < box->count[2]; ++k) {
                const int64_t at[] = {i, j, k};
                int64_t position = 0;
                for (int d = 0; d < 3; ++d)
                    position = position * box->size[d] + box->begin[d] + at[d] * box->stride[d];
                if (*out_first < 0)
                    *out_first = position;
                else if (position != last + 1)
                    return false;
                last = position;
            }
        }
    }
    return true;
}

static uint32_t draw(uint64_t *state, uint32_t below) {
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(*state >> 33) % below;
}

/* A box that is not empty. */
static box_t draw_box(uint64_t *state) {
    box_t box;
    for (int d = 0; d < 3; ++d) {
        box.size[d] = 1 + draw(state, MOST);
        box.stride[d] = 1 + draw(state, 8) / 6;
        box.begin[d] = draw(state, 2) ? 0 : draw(state, (uint32_t)box.size[d]);
        const int64_t fit = (box.size[d] - box.begin[d] + box.stride[d] - 1) / box.stride[d];
        box.count[d] = draw(state, 2) ? fit : 1 + draw(state, (uint32_t)fit);
        if (draw(state, 8) == 0) { /* from the end */
            box.begin[d] = box.begin[d] + (box.count[d] - 1) * box.stride[d];
            box.stride[d] = -box.stride[d];
        }
    }
    return box;
}

TEST(piece_of_random_boxes_is_what_their_positions_say) {
    uint64_t random = 1;
    int together = 0, apart = 0;
    for (int n = 0; n < 200000; ++n) {
        const box_t box = draw_box(&random);
        const gantry__piece_t piece = piece_of(&box);
        int64_t first;
        const bool right = lie_side_by_side(&box, &first);
        assert_true(piece.first == (uint64_t)first);
        assert_true(piece.is_apart == !right);
        together += right;
        apart += !right;
    }
    assert_true(together > 1000 && apart > 1000);
}

/* The product of these sizes overflows: the tensor is empty, and so is the box. */
TEST(piece_of_an_empty_tensor_of_huge_sizes_ends) {
    const box_t box = {{INT64_MAX, INT64_MAX, 0}, {INT64_MAX, 5, 0}, {0, 7, 0}, {1, 1, 1}};
    (void)piece_of(&box);
}

int main(void) { return test_main(); }
