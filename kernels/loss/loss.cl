/* SPDX-License-Identifier: Apache-2.0 */
/* SparseSoftmaxCrossEntropyWithLogits from softmax and its logarithm. An item is an element of the
 * gradient, which is softmax, with 1 subtracted at the row's label. The first item of a row also
 * writes the row's loss. A label out of range makes both NaN and is reported. */
#ifndef GANTRY_LOSS_PARAMETERS
#define GANTRY_LOSS_PARAMETERS
typedef struct gantry__loss_t {
    gantry__work_t work;
    GANTRY_LONG classes;
} gantry__loss_t;
#endif

#ifdef GANTRY_ITEM_TEXT

GANTRY_ITEM void GANTRY_ITEM_FN(sparse_loss)(GANTRY_GLOBAL const T *log_softmax,
                                             GANTRY_GLOBAL const T *softmax,
                                             GANTRY_GLOBAL const I *labels, GANTRY_GLOBAL T *loss,
                                             GANTRY_GLOBAL T *backprop,
                                             GANTRY_PARAMETERS(gantry__loss_t) p,
                                             GANTRY_GLOBAL uchar *fault, const GANTRY_LONG i) {
    const GANTRY_LONG row = gantry__divide_position(i, p->classes), class_ = i - row * p->classes;
    const GANTRY_LONG label = (GANTRY_LONG)labels[row];
    const int is_valid = GANTRY_IS_WITHIN(label, p->classes);
    const T nothing = is_valid ? (T)0 : (T)GANTRY_AS_FLOAT(0x7fc00000u);

    if (class_ == 0) {
        loss[row] = nothing - log_softmax[is_valid ? row * p->classes + label : i];
    }
    backprop[i] = softmax[i] - (class_ == label ? (T)1 : nothing);
    if (!is_valid && class_ == 0) {
        GANTRY_ITEM_FAULT(fault, GANTRY_FAULT_LABEL_OUT_OF_RANGE, 2, row);
    }
}
GANTRY_ITEMS_3_2F(sparse_loss, T, T, I, T, T, gantry__loss_t)

#endif
