/* SPDX-License-Identifier: Apache-2.0 */
/* Which operands of an op get more dimensions, for deep_case.h. An op without a row is elementwise:
 * all operands and results get them. Header only; constant data.
 *
 * A letter for each input, of which the last one repeats, or the one before a star:
 *   d  data: copies, with the elements in another order      D  data: equal copies
 *   b  data that broadcasts: its dimensions are the last     -  as it is
 *   B  the same, but a vector and a scalar stay as they are
 *   a  axes                 s  sizes       1  ones           0  zeros: begins
 *   z  sizes of -1          m  a permutation                 p  two zeros: paddings
 *   S, E, R  sizes, ones, a roi of Resize, which may be empty
 * and for each output:
 *   d  copies               -  as it is                      +  the sum of those of all copies
 */
#ifndef TESTS_DEEP_ROWS_H
#define TESTS_DEEP_ROWS_H

#include <stddef.h>
#include <string.h>

typedef enum deep_side_t {
    DEEP_BEFORE, /* new dimensions come first */
    DEEP_SECOND, /* after the first one; their sizes are 1 */
    DEEP_AFTER,  /* last */
    DEEP_FIXED,  /* the op refuses them: its rank is fixed */
    DEEP_OTHER   /* the op's results are no copies: its golden cases have eight dimensions */
} deep_side_t;

typedef struct deep_row_t {
    const char *op;
    deep_side_t side;
    const char *inputs, *outputs;
    const char *attr; /* an attribute that the call needs */
} deep_row_t;

#define DEEP_BROADCASTS(op) \
    { op, DEEP_BEFORE, "b", "d", NULL }
#define DEEP_REDUCES(op) \
    { op, DEEP_BEFORE, "da", "d", NULL }
#define DEEP_IS_FIXED(op) \
    { op, DEEP_FIXED, "d", "d", NULL }
#define DEEP_IS_OTHER(op) \
    { op, DEEP_OTHER, "d", "d", NULL }

static const deep_row_t deep_rows[] = {
    DEEP_BROADCASTS("Add"),
    DEEP_BROADCASTS("Atan2"),
    DEEP_BROADCASTS("BatchMatMul"),
    DEEP_BROADCASTS("BatchNorm"),
    DEEP_BROADCASTS("BitwiseAnd"),
    DEEP_BROADCASTS("BitwiseOr"),
    DEEP_BROADCASTS("BitwiseXor"),
    DEEP_BROADCASTS("Div"),
    DEEP_BROADCASTS("DivNoNan"),
    DEEP_BROADCASTS("Equal"),
    DEEP_BROADCASTS("FloorDiv"),
    DEEP_BROADCASTS("FloorMod"),
    DEEP_BROADCASTS("Greater"),
    DEEP_BROADCASTS("GreaterEqual"),
    DEEP_BROADCASTS("LeftShift"),
    DEEP_BROADCASTS("Less"),
    DEEP_BROADCASTS("LessEqual"),
    DEEP_BROADCASTS("LogicalAnd"),
    DEEP_BROADCASTS("LogicalOr"),
    DEEP_BROADCASTS("LogicalXor"),
    DEEP_BROADCASTS("Maximum"),
    DEEP_BROADCASTS("Minimum"),
    DEEP_BROADCASTS("Mul"),
    DEEP_BROADCASTS("MulNoNan"),
    DEEP_BROADCASTS("NotEqual"),
    DEEP_BROADCASTS("Pow"),
    DEEP_BROADCASTS("RightShift"),
    DEEP_BROADCASTS("Select"),
    DEEP_BROADCASTS("SquaredDifference"),
    DEEP_BROADCASTS("Sub"),
    DEEP_BROADCASTS("TruncateDiv"),
    DEEP_BROADCASTS("TruncateMod"),
    DEEP_BROADCASTS("Xdivy"),
    DEEP_BROADCASTS("Xlog1py"),
    DEEP_BROADCASTS("Xlogy"),

    DEEP_REDUCES("All"),
    DEEP_REDUCES("Any"),
    DEEP_REDUCES("ArgMax"),
    DEEP_REDUCES("ArgMin"),
    DEEP_REDUCES("Cumprod"),
    DEEP_REDUCES("Cumsum"),
    DEEP_REDUCES("CumulativeLogsumexp"),
    DEEP_REDUCES("EuclideanNorm"),
    DEEP_REDUCES("ExpandDims"),
    DEEP_REDUCES("LogSumExp"),
    DEEP_REDUCES("Max"),
    DEEP_REDUCES("Mean"),
    DEEP_REDUCES("Min"),
    DEEP_REDUCES("Moments"),
    DEEP_REDUCES("Prod"),
    DEEP_REDUCES("Reverse"),
    DEEP_REDUCES("Std"),
    DEEP_REDUCES("Sum"),
    DEEP_REDUCES("Var"),

    {"BatchToSpaceND", DEEP_AFTER, "d--", "d", NULL},
    {"BiasAdd", DEEP_BEFORE, "d-", "d", NULL},
    {"BiasAdd", DEEP_AFTER, "d-", "d", "data_format"},
    {"BiasAddGrad", DEEP_BEFORE, "d", "+", NULL},
    {"BooleanMask", DEEP_AFTER, "d-", "d", NULL},
    {"BroadcastTo", DEEP_BEFORE, "bs", "d", NULL},
    {"ClipByValue", DEEP_BEFORE, "dbb", "d", NULL},
    {"Concat", DEEP_BEFORE, "d*a", "d", NULL},
    {"EmbeddingLookup", DEEP_AFTER, "d-", "d", NULL},
    {"EmbeddingLookup", DEEP_BEFORE, "-d", "d", NULL},
    {"Eye", DEEP_BEFORE, "-", "d", "batch_shape"},
    {"Fill", DEEP_BEFORE, "s-", "d", NULL},
    {"Gather", DEEP_AFTER, "d-a", "d", NULL},
    {"Gather", DEEP_BEFORE, "dda", "d", "batch_dims"},
    {"GatherElements", DEEP_BEFORE, "d", "d", "axis"},
    {"GatherNd", DEEP_AFTER, "d-", "d", NULL},
    {"GatherNd", DEEP_BEFORE, "-D", "d", NULL},
    {"GatherNd", DEEP_BEFORE, "dD", "d", "batch_dims"},
    {"GroupNorm", DEEP_SECOND, "d--", "d", NULL},
    {"InstanceNorm", DEEP_SECOND, "d--", "d", NULL},
    {"L2Loss", DEEP_BEFORE, "d", "+", NULL},
    {"LayerNorm", DEEP_BEFORE, "d--", "d", NULL},
    {"LayerNormRows", DEEP_BEFORE, "d--", "d", NULL},
    {"MatMulInteger", DEEP_BEFORE, "bbBB", "d", NULL},
    {"MatrixBandPart", DEEP_BEFORE, "d-", "d", NULL},
    {"MatrixDiag", DEEP_BEFORE, "d-", "d", NULL},
    {"MatrixDiagPart", DEEP_BEFORE, "d-", "d", NULL},
    {"MatrixSetDiag", DEEP_BEFORE, "dd-", "d", NULL},
    {"MirrorPad", DEEP_BEFORE, "dp", "d", NULL},
    {"MirrorPadGrad", DEEP_BEFORE, "dp", "d", NULL},
    {"OneHot", DEEP_BEFORE, "d-", "d", NULL},
    {"Pack", DEEP_BEFORE, "d", "d", "axis"},
    {"Pad", DEEP_BEFORE, "dp-", "d", NULL},
    {"RMSNorm", DEEP_BEFORE, "d-", "d", NULL},
    {"Reshape", DEEP_BEFORE, "ds", "d", NULL},
    {"Resize", DEEP_BEFORE, "dSER", "d", NULL},
    {"ResizeGrad", DEEP_BEFORE, "dsSER", "d", NULL},
    {"Roll", DEEP_BEFORE, "d-a", "d", NULL},
    {"ScatterElements", DEEP_BEFORE, "d", "d", "axis"},
    {"ScatterNd", DEEP_AFTER, "-ds", "d", NULL},
    {"SegmentMax", DEEP_AFTER, "d-", "d", NULL},
    {"SegmentMean", DEEP_AFTER, "d-", "d", NULL},
    {"SegmentMin", DEEP_AFTER, "d-", "d", NULL},
    {"SegmentProd", DEEP_AFTER, "d-", "d", NULL},
    {"SegmentSum", DEEP_AFTER, "d-", "d", NULL},
    {"Slice", DEEP_BEFORE, "d0z", "d", NULL},
    {"SpaceToBatchND", DEEP_AFTER, "d--", "d", NULL},
    {"Split", DEEP_BEFORE, "ad", "d", NULL},
    {"SplitV", DEEP_BEFORE, "d-a", "d", NULL},
    {"Squeeze", DEEP_BEFORE, "d", "d", NULL},
    {"StatelessShuffle", DEEP_AFTER, "d-", "d", NULL},
    {"StridedSlice", DEEP_AFTER, "d-", "d", NULL},
    {"StridedSliceGrad", DEEP_AFTER, "s---d", "d", NULL},
    {"TensorScatterAdd", DEEP_AFTER, "d-d", "d", NULL},
    {"TensorScatterMax", DEEP_AFTER, "d-d", "d", NULL},
    {"TensorScatterMin", DEEP_AFTER, "d-d", "d", NULL},
    {"TensorScatterMul", DEEP_AFTER, "d-d", "d", NULL},
    {"TensorScatterSub", DEEP_AFTER, "d-d", "d", NULL},
    {"TensorScatterUpdate", DEEP_AFTER, "d-d", "d", NULL},
    {"Tile", DEEP_BEFORE, "d1", "d", NULL},
    {"TopK", DEEP_BEFORE, "d-", "d", NULL},
    {"Transpose", DEEP_BEFORE, "dm", "d", NULL},
    {"Unpack", DEEP_BEFORE, "d", "d", "axis"},
    {"UnsortedSegmentMax", DEEP_AFTER, "d-", "d", NULL},
    {"UnsortedSegmentMean", DEEP_AFTER, "d-", "d", NULL},
    {"UnsortedSegmentMin", DEEP_AFTER, "d-", "d", NULL},
    {"UnsortedSegmentProd", DEEP_AFTER, "d-", "d", NULL},
    {"UnsortedSegmentSum", DEEP_AFTER, "d-", "d", NULL},
    {"XlaDynamicSlice", DEEP_BEFORE, "d0s", "d", NULL},
    {"XlaDynamicUpdateSlice", DEEP_BEFORE, "dd0", "d", NULL},

    DEEP_IS_FIXED("AvgPool"),
    DEEP_IS_FIXED("AvgPool1D"),
    DEEP_IS_FIXED("AvgPoolGrad"),
    DEEP_IS_FIXED("Bincount"),
    DEEP_IS_FIXED("Conv1D"),
    DEEP_IS_FIXED("Conv2D"),
    DEEP_IS_FIXED("Conv2DBackpropFilter"),
    DEEP_IS_FIXED("Conv2DBackpropInput"),
    DEEP_IS_FIXED("Conv2DTranspose"),
    DEEP_IS_FIXED("ConvInteger"),
    DEEP_IS_FIXED("ConvolveImages"),
    DEEP_IS_FIXED("CropAndResize"),
    DEEP_IS_FIXED("CropAndResizeGradBoxes"),
    DEEP_IS_FIXED("CropAndResizeGradImage"),
    DEEP_IS_FIXED("DenseBincount"),
    DEEP_IS_FIXED("DepthToSpace"),
    DEEP_IS_FIXED("DepthwiseConv2dNative"),
    DEEP_IS_FIXED("DepthwiseConv2dNativeBackpropFilter"),
    DEEP_IS_FIXED("DepthwiseConv2dNativeBackpropInput"),
    DEEP_IS_FIXED("DepthwiseFilterParts"),
    DEEP_IS_FIXED("ExtractImagePatches"),
    DEEP_IS_FIXED("FoldImagePatches"),
    DEEP_IS_FIXED("FusedBatchNorm"),
    DEEP_IS_FIXED("FusedBatchNormGrad"),
    DEEP_IS_FIXED("InTopK"),
    DEEP_IS_FIXED("InvertPermutation"),
    DEEP_IS_FIXED("LowerBound"),
    DEEP_IS_FIXED("MatMul"),
    DEEP_IS_FIXED("MaxPool"),
    DEEP_IS_FIXED("MaxPool1D"),
    DEEP_IS_FIXED("MaxPoolGrad"),
    DEEP_IS_FIXED("MaxPoolGradGrad"),
    DEEP_IS_FIXED("MaxPoolWithArgmax"),
    DEEP_IS_FIXED("Multinomial"),
    DEEP_IS_FIXED("NormalizeChannels"),
    DEEP_IS_FIXED("ResizeArea"),
    DEEP_IS_FIXED("ResizeBicubic"),
    DEEP_IS_FIXED("ResizeBicubicGrad"),
    DEEP_IS_FIXED("ResizeBilinear"),
    DEEP_IS_FIXED("ResizeBilinearGrad"),
    DEEP_IS_FIXED("ResizeNearestNeighbor"),
    DEEP_IS_FIXED("ResizeNearestNeighborGrad"),
    DEEP_IS_FIXED("RotaryEmbedding"),
    DEEP_IS_FIXED("ScaleAndTranslate"),
    DEEP_IS_FIXED("ScaleAndTranslateGrad"),
    DEEP_IS_FIXED("ScaledDotProductAttention"),
    DEEP_IS_FIXED("ScaledDotProductAttentionGrad"),
    DEEP_IS_FIXED("SoftmaxCrossEntropyWithLogits"),
    DEEP_IS_FIXED("SpaceToDepth"),
    DEEP_IS_FIXED("SparseCrossEntropyRows"),
    DEEP_IS_FIXED("SparseSoftmaxCrossEntropyWithLogits"),
    DEEP_IS_FIXED("StatelessMultinomial"),
    DEEP_IS_FIXED("StatelessMultinomialV2"),
    DEEP_IS_FIXED("Unique"),
    DEEP_IS_FIXED("UniqueWithCounts"),
    DEEP_IS_FIXED("UpperBound"),

    DEEP_IS_OTHER("BroadcastArgs"), /* shapes in numbers */
    DEEP_IS_OTHER("BroadcastGradientArgs"),
    DEEP_IS_OTHER("Rank"),
    DEEP_IS_OTHER("Shape"),
    DEEP_IS_OTHER("Size"),
    DEEP_IS_OTHER("Where"),    /* positions in all dimensions */
    DEEP_IS_OTHER("LinSpace"), /* of numbers */
    DEEP_IS_OTHER("Range"),
    DEEP_IS_OTHER("Dropout"), /* of a stream of random numbers */
    DEEP_IS_OTHER("RandomShuffle"),
    DEEP_IS_OTHER("RandomStandardNormal"),
    DEEP_IS_OTHER("RandomUniform"),
    DEEP_IS_OTHER("RandomUniformInt"),
    DEEP_IS_OTHER("StatelessRandomGetAlg"),
    DEEP_IS_OTHER("StatelessRandomGetKeyCounter"),
    DEEP_IS_OTHER("StatelessRandomGetKeyCounterAlg"),
    DEEP_IS_OTHER("StatelessRandomNormal"),
    DEEP_IS_OTHER("StatelessRandomNormalV2"),
    DEEP_IS_OTHER("StatelessRandomUniform"),
    DEEP_IS_OTHER("StatelessRandomUniformFullInt"),
    DEEP_IS_OTHER("StatelessRandomUniformFullIntV2"),
    DEEP_IS_OTHER("StatelessRandomUniformInt"),
    DEEP_IS_OTHER("StatelessRandomUniformIntV2"),
    DEEP_IS_OTHER("StatelessRandomUniformV2"),
    DEEP_IS_OTHER("StatelessShuffleX"),
    DEEP_IS_OTHER("StatelessTruncatedNormal"),
    DEEP_IS_OTHER("StatelessTruncatedNormalV2"),
    DEEP_IS_OTHER("TruncatedNormal"),
};

#define DEEP_ROW_COUNT (sizeof deep_rows / sizeof deep_rows[0])

/* The row of an op after `row`, or its first one for NULL; NULL after the last one. An op without a
 * row has `elementwise`. */
static inline const deep_row_t *deep_next(const char *op, const deep_row_t *row,
                                          deep_row_t *elementwise) {
    if (row == elementwise) return NULL;
    for (const deep_row_t *at = row ? row + 1 : deep_rows; at < deep_rows + DEEP_ROW_COUNT; ++at) {
        if (strcmp(at->op, op) == 0) return at;
    }
    *elementwise = (deep_row_t){op, DEEP_BEFORE, "d", "d", NULL};
    return row ? NULL : elementwise;
}

#endif
