/* SPDX-License-Identifier: Apache-2.0 */
/* NonMaxSuppression: which boxes of a class are left, when those that overlap with a better one are
 * taken out. The result's size depends on the boxes, so they must be known. Boxes are compared in
 * float32, as ONNX Runtime does. */
#include <stdlib.h>

#include "onnx/lower/move.h"

typedef const gantry_tensor_t tensor;

/* A box with its corners in order. */
typedef struct nms_box_t {
    float top, left, bottom, right;
} nms_box_t;

typedef struct nms_candidate_t {
    float score;
    int64_t box;
} nms_candidate_t;

typedef struct nms_t {
    int64_t batch, classes, boxes, most;
    float overlap, least_score;
    bool has_least_score;
    const nms_box_t *corners;    /* [batch, boxes] */
    const double *scores;        /* [batch, classes, boxes] */
    nms_candidate_t *candidates; /* [boxes] */
    int64_t *chosen;             /* Rows of batch, class and box. */
    int64_t chosen_count;
} nms_t;

static nms_box_t box_of(const double *numbers, bool is_centered) {
    const float a = (float)numbers[0], b = (float)numbers[1], c = (float)numbers[2],
                d = (float)numbers[3];
    if (is_centered) /* x, y, width, height */
        return (nms_box_t){b - d / 2, a - c / 2, b + d / 2, a + c / 2};
    return (nms_box_t){a < c ? a : c, b < d ? b : d, a < c ? c : a, b < d ? d : b};
}

static bool boxes_overlap(const nms_box_t *a, const nms_box_t *b, float most) {
    const float top = a->top > b->top ? a->top : b->top,
                left = a->left > b->left ? a->left : b->left,
                bottom = a->bottom < b->bottom ? a->bottom : b->bottom,
                right = a->right < b->right ? a->right : b->right;
    if (right <= left || bottom <= top) return false;
    const float shared = (right - left) * (bottom - top);
    const float area_a = (a->right - a->left) * (a->bottom - a->top),
                area_b = (b->right - b->left) * (b->bottom - b->top);
    const float all = area_a + area_b - shared;
    return shared > 0 && area_a > 0 && area_b > 0 && all > 0 && shared / all > most;
}

/* The better score first, and of equal ones the first box. */
static int compare_candidates(const void *x, const void *y) {
    const nms_candidate_t *a = x, *b = y;
    if (a->score != b->score) return a->score > b->score ? -1 : 1;
    return a->box < b->box ? -1 : a->box > b->box;
}

static void choose_of_class(nms_t *nms, int64_t batch, int64_t class) {
    const double *scores = nms->scores + (batch * nms->classes + class) * nms->boxes;
    const nms_box_t *corners = nms->corners + batch * nms->boxes;
    const int64_t first = nms->chosen_count;
    size_t count = 0;
    for (int64_t i = 0; i < nms->boxes; ++i) {
        const float score = (float)scores[i];
        if (nms->has_least_score ? score > nms->least_score : score == score)
            nms->candidates[count++] = (nms_candidate_t){score, i};
    }
    qsort(nms->candidates, count, sizeof *nms->candidates, compare_candidates);
    for (size_t i = 0; i < count && nms->chosen_count - first < nms->most; ++i) {
        const int64_t box = nms->candidates[i].box;
        bool is_left = true;
        for (int64_t k = first; k < nms->chosen_count && is_left; ++k)
            is_left = !boxes_overlap(&corners[box], &corners[nms->chosen[3 * k + 2]], nms->overlap);
        if (!is_left) continue;
        int64_t *row = nms->chosen + 3 * nms->chosen_count++;
        row[0] = batch;
        row[1] = class;
        row[2] = box;
    }
}

static gantry_status_t read_limits(gantry__onnx_call_t *call, nms_t *nms) {
    double overlap, least_score;
    GANTRY__TRY(gantry__onnx_get_int(call, 2, "max_output_boxes_per_class", 0, &nms->most));
    GANTRY__TRY(gantry__onnx_get_double(call, 3, "iou_threshold", 0, &overlap));
    GANTRY__TRY(gantry__onnx_get_double(call, 4, "score_threshold", 0, &least_score));
    if (!(overlap >= 0 && overlap <= 1))
        return gantry__onnx_invalid(call, "iou_threshold is %g; it is in [0, 1]", overlap);
    nms->overlap = (float)overlap;
    nms->least_score = (float)least_score;
    nms->has_least_score = gantry__onnx_input(call, 4) != NULL;
    return GANTRY_OK;
}

static gantry_status_t read_boxes(gantry__onnx_call_t *call, nms_t *nms) {
    const gantry_shape_t *boxes = gantry_tensor_shape(gantry__onnx_input(call, 0)),
                         *scores = gantry_tensor_shape(gantry__onnx_input(call, 1));
    const bool is_centered = gantry__onnx_attr_int(call, "center_point_box", 0) != 0;
    const double *numbers;
    size_t number_count, score_count;
    GANTRY__TRY(gantry__onnx_get_doubles(call, 0, "boxes", &numbers, &number_count));
    GANTRY__TRY(gantry__onnx_get_doubles(call, 1, "scores", &nms->scores, &score_count));
    if (boxes->rank != 3 || scores->rank != 3 || boxes->dims[2] != 4 ||
        boxes->dims[0] != scores->dims[0] || boxes->dims[1] != scores->dims[2])
        return gantry__onnx_invalid(
            call,
            "boxes of %d and scores of %d dimensions; they are [batch, boxes, 4] and "
            "[batch, classes, boxes]",
            (int)boxes->rank, (int)scores->rank);
    nms->batch = boxes->dims[0];
    nms->boxes = boxes->dims[1];
    nms->classes = scores->dims[1];
    nms_box_t *corners = gantry__onnx_scratch(call, number_count / 4, sizeof *corners);
    nms->candidates = gantry__onnx_scratch(call, (size_t)nms->boxes, sizeof *nms->candidates);
    nms->chosen = gantry__onnx_scratch(call, score_count, 3 * sizeof *nms->chosen);
    if (!corners || !nms->candidates || !nms->chosen) return GANTRY_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i < number_count / 4; ++i) corners[i] = box_of(numbers + 4 * i, is_centered);
    nms->corners = corners;
    return GANTRY_OK;
}

gantry_status_t gantry__onnx_lower_non_max_suppression(gantry__onnx_call_t *call) {
    nms_t nms = {0};
    GANTRY__TRY(read_limits(call, &nms));
    GANTRY__TRY(read_boxes(call, &nms));
    for (int64_t batch = 0; batch < nms.batch; ++batch) {
        for (int64_t class = 0; class < nms.classes; ++class) choose_of_class(&nms, batch, class);
    }
    return gantry__onnx_give(call, gantry__onnx_ints_of(call, GANTRY_INT64, nms.chosen,
                                                        GANTRY_SHAPE(nms.chosen_count, 3)));
}
