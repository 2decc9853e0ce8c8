/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: The inference of each family of ops gives the shapes of results and refuses every wrong
 * call, with TensorFlow's texts where it has one.
 * Promise: An index type that cannot hold the largest index is refused. */
#include "infer_case.h"
#include "test.h"

TEST(elementwise_keeps_or_broadcasts_shapes) {
    static const infer_case_t cases[] = {
        {"Neg", "float32[2,3]", "", "float32[2,3]"},
        {"Relu", "int32", "", "int32[]"},
        {"LogicalNot", "bool[0]", "", "bool[0]"},
        {"ZerosLike", "bool[1,1,1,1,1,1,1,2]", "", "bool[1,1,1,1,1,1,1,2]"},
        {"Add", "float32[4] float32[4]", "", "float32[4]"},
        {"Add", "float32 float32", "", "float32[]"},
        {"Add", "float32[2,3] float32", "", "float32[2,3]"},
        {"Add", "float32 float32[2,3]", "", "float32[2,3]"},
        {"Add", "float32[2,3] float32[3]", "", "float32[2,3]"},
        {"Add", "float32[2,1] float32[3]", "", "float32[2,3]"},
        {"Add", "float32[2,1,4] float32[3,1]", "", "float32[2,3,4]"},
        {"Add", "float32[0] float32[1]", "", "float32[0]"},
        {"Add", "float32[1] float32[0]", "", "float32[0]"},
        {"Add", "float32[2,0] float32[1,1]", "", "float32[2,0]"},
        {"Add", "float32[1,1,1,1,1,1,1,1] float32[5,6]", "", "float32[1,1,1,1,1,1,5,6]"},
        {"Equal", "bool[2,1] bool[1,2]", "incompatible_shape_error=false", "bool[2,2]"},
        {"Equal", "bool[2] bool[3]", "incompatible_shape_error=false", "bool[]"},
        {"NotEqual", "float32[0,2] float32[3]", "incompatible_shape_error=false", "bool[]"},
        {"LogicalAnd", "bool[2] bool", "", "bool[2]"},
        {"Select", "bool[2,1] float32[3] float32", "", "float32[2,3]"},
        {"Select", "bool float32[3] float32[2,1]", "", "float32[2,3]"},
        {"Select", "bool[4,1,1] float32[3] float32[2,1]", "", "float32[4,2,3]"},
        {"AddN", "float32[2,3]", "", "float32[2,3]"},
        {"AddN", "int64[2,3] int64[2,3] int64[2,3]", "", "int64[2,3]"},
        {"BiasAdd", "float32[2,3] float32[3]", "", "float32[2,3]"},
        {"BiasAdd", "float32[2,3,4] float32[4]", "data_format='NHWC'", "float32[2,3,4]"},
        {"BiasAdd", "float32[2,3,4] float32[3]", "data_format='NCHW'", "float32[2,3,4]"},
        {"BiasAdd", "float32[2,0] float32[0]", "", "float32[2,0]"},
    };
    infer_cases_assert(cases, COUNT(cases));
}

TEST(elementwise_misfits_are_refused) {
    static const infer_case_t cases[] = {
        {"Add", "float32[2,3] float32[4,3]", "", "!Add: Incompatible shapes: [2,3] vs. [4,3]"},
        {"Sub", "float32[2,3] float32[2]", "", "!Incompatible shapes: [2,3] vs. [2]"},
        {"Less", "float32[0] float32[2]", "", "!Incompatible shapes: [0] vs. [2]"},
        {"Equal", "float32[2] float32[3]", "", "!Equal: Incompatible shapes: [2] vs. [3]"},
        {"Select", "bool[3] float32[4] float32[4]", "",
         "!condition [3], then [4], and else [4] must be broadcastable"},
        {"Select", "bool[2] float32[3] float32", "",
         "!condition [2], then [3], and else [] must be broadcastable"},
        {"Select", "bool[2,3] float32[2] float32[2,3]", "",
         "!then [2], and else [2,3] must be broadcastable"},
        {"AddN", "float32[2,3] float32[2,3] float32[3,2]", "",
         "!AddN: Inputs must have the same size and shape.  Input 0: [2,3] != input 2: [3,2]"},
        {"AddN", "float32[2,3] float32[3]", "", "!Input 0: [2,3] != input 1: [3]"},
        {"BiasAdd", "float32[3] float32[3]", "", "!Input tensor must be at least 2D: [3]"},
        {"BiasAdd", "float32[2,3] float32[1,3]", "", "!Biases must be 1D: [1,3]"},
        {"BiasAdd", "float32[2,3] float32[2]", "",
         "!as many biases as dimension 1 of the input tensor"},
        {"BiasAdd", "float32[2,3,4] float32[4]", "data_format='NCHW'",
         "!(data_format NCHW): [4] vs. [2,3,4]"},
        {"BiasAdd", "float32[2,3] float32[3]", "data_format='NCW'",
         "!value for attr 'data_format' of \"NCW\" is not in the list of allowed values: \"NHWC\", \"NCHW\""},
    };
    infer_cases_assert(cases, COUNT(cases));
}

TEST(reduction_drops_or_keeps_axes) {
    static const infer_case_t cases[] = {
        {"Sum", "float32[2,3] int32{0}", "", "float32[3]"},
        {"Sum", "float32[2,3] int32{1}", "keep_dims=true", "float32[2,1]"},
        {"Sum", "float32[2,3] int32{-1}", "", "float32[2]"},
        {"Sum", "float32[2,3] int64{0,1}", "", "float32[]"},
        {"Sum", "float32[2,3] int32{1,0}", "keep_dims=true", "float32[1,1]"},
        {"Sum", "float32[2,3] int32{}", "", "float32[2,3]"},
        {"Sum", "float32[2,3] int32(1)", "", "float32[2]"},
        {"Sum", "float32[2,3] int32[1,2]{0,1}", "", "float32[]"},
        {"Sum", "float32 int32{}", "keep_dims=true", "float32[]"},
        {"Max", "int32[0,3] int32{0}", "", "int32[3]"},
        {"Mean", "int64[2,3,4,5,6,7,8,9] int32{7,-8,3}", "", "int64[3,4,6,7,8]"},
        {"Min", "float64[2,3,4,5,6,7,8,9] int32{0,1,2,3,4,5,6,7}", "", "float64[]"},
        {"ArgMax", "float32[2,3] int32(0)", "", "int64[3]"},
        {"ArgMax", "bool[2,3] int64(-1)", "", "int64[2]"},
        {"ArgMax", "float32[0,3] int32(1)", "", "int64[0]"},
        {"ArgMax", "float32[4] int32(0)", "", "int64[]"},
        {"Softmax", "float32[2,3]", "", "float32[2,3]"},
        {"LogSoftmax", "float64[0]", "", "float64[0]"},
    };
    infer_cases_assert(cases, COUNT(cases));
}

/* The inputs' sizes are only declared: nothing is allocated. */
TEST(positions_that_the_type_does_not_reach_are_refused) {
    static const infer_case_t cases[] = {
        {"ArgMax", "float32[32768] int32(0)", "output_type=int16", "int16[]"},
        {"ArgMax", "float32[32769,2] int32(0)", "output_type=int16",
         "!ArgMax: attribute 'output_type' is int16, which holds numbers up to 32767, and 32768 is possible"},
        {"ArgMax", "float32[3,65536] int32(1)", "output_type=uint16", "uint16[3]"},
        {"ArgMax", "float32[3,65537] int32(1)", "output_type=uint16",
         "!up to 65535, and 65536 is possible"},
        {"ArgMax", "bool[2147483648] int32(0)", "output_type=int32", "int32[]"},
        {"ArgMax", "bool[2147483649] int32(0)", "output_type=int32",
         "!up to 2147483647, and 2147483648 is possible"},
        {"ArgMin", "int8[2147483649] int32(0)", "output_type=int32",
         "!up to 2147483647, and 2147483648 is possible"},
        {"ArgMin", "int8[2147483649] int32(0)", "", "int64[]"},
        {"TopK", "uint8[2147483648] int32(1)", "", "uint8[1] int32[1]"},
        {"TopK", "uint8[2147483649] int32(1)", "", "!TopK: attribute 'index_type' is int32"},
        {"TopK", "uint8[2147483649] int32(1)", "index_type=int64", "uint8[1] int64[1]"},
        {"TopK", "uint8[32769,2] int32(1)", "index_type=int16", "uint8[32769,1] int16[32769,1]"},
        {"TopK", "uint8[32769,2] int32(1)", "index_type=int16 axis=0",
         "!TopK: attribute 'index_type' is int16"},
        {"Unique", "uint8[2147483648]", "", "!Unique: attribute 'out_idx' is int32"},
        {"UniqueWithCounts", "uint8[2147483648]", "", "!attribute 'out_idx' is int32"},
        {"LowerBound", "uint8[1,2147483648] uint8[1,2]", "",
         "!LowerBound: attribute 'out_type' is int32"},
        {"UpperBound", "uint8[1,2147483647] uint8[1,2]", "", "int32[1,2]"},
        {"Multinomial", "float16[1,2147483649] int32(1)", "output_dtype=int32",
         "!attribute 'output_dtype' is int32"},
        {"Size", "uint8[2147483648]", "", "!2147483648"},
        {"Shape", "uint8[2147483648]", "", "!2147483648"},
    };
    infer_cases_assert(cases, COUNT(cases));
}

TEST(reduction_bad_axes_are_refused) {
    static const infer_case_t cases[] = {
        {"Sum", "float32[2,3] int32{5}", "",
         "!Sum: Invalid reduction dimension (5 for input with 2 dimension(s)"},
        {"Max", "float32[2,3] int32{2}", "",
         "!Invalid reduction dimension (2 for input with 2 dimension(s)"},
        {"Min", "float32[2,3] int32{-3}", "",
         "!Invalid reduction dimension (-3 for input with 2 dimension(s)"},
        {"Mean", "float32 int32{0}", "",
         "!Invalid reduction dimension (0 for input with 0 dimension(s)"},
        {"Sum", "float32[2,3] int64{4294967296}", "",
         "!Invalid reduction dimension (4294967296 for input"},
        {"Sum", "float32[2,3] int64{-9223372036854775808}", "",
         "!Invalid reduction dimension (-9223372036854775808 for"},
        {"Sum", "float32[2,3] int32{0,0}", "",
         "!Invalid reduction arguments: Axes contains duplicate dimension: 0"},
        {"Sum", "float32[2,3] int32{1,-1}", "", "!Axes contains duplicate dimension: 1"},
        {"Sum", "float32[2,3] int32{0,1,0,1,0,1,0,1,0,1,0,1}", "",
         "!Axes contains duplicate dimension: 0"},
        {"ArgMax", "float32[2,3] int32(2)", "",
         "!ArgMax: Expected dimension in the range [-2, 2), but got 2"},
        {"ArgMax", "float32[2,3] int32(-3)", "",
         "!Expected dimension in the range [-2, 2), but got -3"},
        {"ArgMax", "float32 int32(0)", "", "!Expected dimension in the range [0, 0), but got 0"},
        {"ArgMax", "float32[2,3] int32{1}", "",
         "!must be a scalar, but received tensor of shape: [1]"},
        {"ArgMax", "float32[2,0] int32(1)", "", "!Reduction axis 1 is empty in shape [2,0]"},
        {"ArgMax", "float32[0,0] int32(-2)", "", "!Reduction axis 0 is empty in shape [0,0]"},
        {"Softmax", "float32", "", "!Softmax: logits must have >= 1 dimension, got []"},
        {"LogSoftmax", "float32", "", "!LogSoftmax: logits must have >= 1 dimension, got []"},
    };
    infer_cases_assert(cases, COUNT(cases));
}

TEST(matrix_products_multiply_the_last_dimensions) {
    static const infer_case_t cases[] = {
        {"MatMul", "float32[2,3] float32[3,4]", "", "float32[2,4]"},
        {"MatMul", "float32[3,2] float32[3,4]", "transpose_a=true", "float32[2,4]"},
        {"MatMul", "float32[2,3] float32[4,3]", "transpose_b=true", "float32[2,4]"},
        {"MatMul", "float32[3,2] float32[4,3]", "transpose_a=true transpose_b=true",
         "float32[2,4]"},
        {"MatMul", "float32[2,0] float32[0,3]", "", "float32[2,3]"},
        {"MatMul", "int32[0,3] int32[3,0]", "", "int32[0,0]"},
        {"BatchMatMul", "float32[2,3] float32[3,4]", "", "float32[2,4]"},
        {"BatchMatMul", "float32[5,2,3] float32[5,3,4]", "", "float32[5,2,4]"},
        {"BatchMatMul", "float32[5,3,2] float32[3,4]", "adj_x=true", "float32[5,2,4]"},
        {"BatchMatMul", "float32[2,3] float32[5,4,3]", "adj_y=true", "float32[5,2,4]"},
        {"BatchMatMul", "float32[6,1,2,3] float32[5,3,4]", "", "float32[6,5,2,4]"},
        {"BatchMatMul", "float32[1,2,3] float32[0,3,4]", "", "float32[0,2,4]"},
        {"BatchMatMul", "float32[1,1,1,1,1,1,2,3] float32[3,4]", "", "float32[1,1,1,1,1,1,2,4]"},
        {"BatchMatMulV2", "float64[7,3,2] float64[7,4,3]", "adj_x=true adj_y=true",
         "float64[7,2,4]"},
    };
    infer_cases_assert(cases, COUNT(cases));
}

TEST(matrix_misfits_are_refused) {
    static const infer_case_t cases[] = {
        {"MatMul", "float32[2,3] float32[4,5]", "",
         "!MatMul: Matrix size-incompatible: In[0]: [2,3], In[1]: [4,5]"},
        {"MatMul", "float32[2,3] float32[3,5]", "transpose_a=true",
         "!In[0]: [2,3], In[1]: [3,5], In[0] transposed"},
        {"MatMul", "float32[2,3] float32[3,5]", "transpose_b=true",
         "!In[0]: [2,3], In[1]: [3,5], In[1] transposed"},
        {"MatMul", "float32[3] float32[3,2]", "",
         "!In[0] and In[1] has different ndims: [3] vs. [3,2]"},
        {"MatMul", "float32[3] float32[3]", "", "!In[0] and In[1] ndims must be == 2: 1"},
        {"MatMul", "float32[2,2,2] float32[2,2,2]", "", "!In[0] and In[1] ndims must be == 2: 3"},
        {"MatMul", "float32 float32", "", "!In[0] and In[1] ndims must be == 2: 0"},
        {"BatchMatMul", "float32[3] float32[3,2]", "", "!BatchMatMul: In[0] ndims must be >= 2: 1"},
        {"BatchMatMul", "float32[3,2] float32", "", "!In[1] ndims must be >= 2: 0"},
        {"BatchMatMul", "float32[2,2,3] float32[2,4,5]", "",
         "!Matrix size-incompatible: In[0]: [2,2,3], In[1]: [2,4,5]"},
        {"BatchMatMul", "float32[2,2,3] float32[3,3,5]", "",
         "!In[0] and In[1] must have compatible batch dimensions: [2,2,3] vs. [3,3,5]"},
    };
    infer_cases_assert(cases, COUNT(cases));
}

TEST(reshape_solves_the_unknown_size) {
    static const infer_case_t cases[] = {
        {"Reshape", "float32[2,3] int32{6}", "", "float32[6]"},
        {"Reshape", "float32[2,3] int64{3,-1}", "", "float32[3,2]"},
        {"Reshape", "float32[2,3] int32{-1}", "", "float32[6]"},
        {"Reshape", "float32[2,3] int32(6)", "", "float32[6]"},
        {"Reshape", "float32[1] int32{}", "", "float32[]"},
        {"Reshape", "float32 int32{1,-1,1}", "", "float32[1,1,1]"},
        {"Reshape", "float32[0,3] int32{-1}", "", "float32[0]"},
        {"Reshape", "float32[0,3] int32{-1,5}", "", "float32[0,5]"},
        {"Reshape", "float32[0,3] int32{-1,0}", "", "float32[3,0]"},
        {"Reshape", "float32[0,3] int32{0,7}", "", "float32[0,7]"},
        {"Reshape", "float32[2] int32{1,1,1,1,1,1,1,-1}", "", "float32[1,1,1,1,1,1,1,2]"},
    };
    infer_cases_assert(cases, COUNT(cases));
}

TEST(reshape_impossible_requests_are_refused) {
    static const infer_case_t cases[] = {
        {"Reshape", "float32[2,3] int32{4,2}", "",
         "!Reshape: Input to reshape is a tensor with 6 values, but the requested shape has 8"},
        {"Reshape", "float32[2,3] int32{4,-1}", "",
         "!6 values, but the requested shape requires a multiple of 4"},
        {"Reshape", "float32[2,3] int32{-1,-1}", "",
         "!Only one input size may be -1, not both 0 and 1"},
        {"Reshape", "float32[2,3] int32{-2,3}", "", "!Size 0 must be non-negative, not -2"},
        {"Reshape", "float32[2,3] int32[1,2]{2,3}", "", "!shape input must be 1-D, not [1,2]"},
        {"Reshape", "float32 int32{0}", "",
         "!a tensor with 1 values, but the requested shape has 0"},
        {"Reshape", "float32[2,3] int32{-1,0}", "",
         "!a tensor with 6 values, but the requested shape has 0"},
        {"Reshape", "float32[2,3] int64{1099511627776,1099511627776}", "",
         "!Shape [1099511627776,1099511627776] has too many elements"},
        {"Reshape", "float32[0] int64{-1,0,1099511627776,1099511627776}", "",
         "!Shape [-1,0,1099511627776,1099511627776] has too many elements"},
        {"Reshape", "float32[1] int32{1,1,1,1,1,1,1,1,1}", "",
         "!would have 9 dimensions; tensors have at most 8"},
    };
    infer_cases_assert(cases, COUNT(cases));
}

TEST(dimensions_of_one_come_and_go) {
    static const infer_case_t cases[] = {
        {"ExpandDims", "float32[2,3] int32(0)", "", "float32[1,2,3]"},
        {"ExpandDims", "float32[2,3] int32(1)", "", "float32[2,1,3]"},
        {"ExpandDims", "float32[2,3] int64(-1)", "", "float32[2,3,1]"},
        {"ExpandDims", "float32[2,3] int32{-3}", "", "float32[1,2,3]"},
        {"ExpandDims", "float32 int32(0)", "", "float32[1]"},
        {"ExpandDims", "float32[2,3] int32(3)", "",
         "!Tried to expand dim index 3 for tensor with 2 dimensions.  Accepted"},
        {"ExpandDims", "float32[2,3] int32(-4)", "",
         "!dim index -4 for tensor with 2 dimensions.  Accepted are -3 to 2"},
        {"ExpandDims", "float32[2,3] int32{0,1}", "",
         "!input 1 (dim) must be a tensor with a single value, got shape [2]"},
        {"ExpandDims", "float32[2,3] int32{}", "",
         "!(dim) must be a tensor with a single value, got shape [0]"},
        {"ExpandDims", "float32[1,1,1,1,1,1,1,1] int32(0)", "", "!would have 9 dimensions"},
        {"Squeeze", "float32[1,2,1]", "", "float32[2]"},
        {"Squeeze", "float32[1,1]", "", "float32[]"},
        {"Squeeze", "float32[1,2,1]", "squeeze_dims={0}", "float32[2,1]"},
        {"Squeeze", "float32[1,2,1]", "squeeze_dims={-1,0,0}", "float32[2]"},
        {"Squeeze", "float32", "", "float32[]"},
        {"Squeeze", "float32[0,1]", "", "float32[0]"},
        {"Squeeze", "float32[1,3]", "squeeze_dims={1}",
         "!Can not squeeze dim[1], expected a dimension of 1, got 3"},
        {"Squeeze", "float32[1,3]", "squeeze_dims={2}",
         "!Tried to squeeze dim index 2 for tensor with 2 dimensions."},
        {"Squeeze", "float32[1,3]", "squeeze_dims={-3}",
         "!Tried to squeeze dim index -3 for tensor with 2 dimensions."},
        {"Squeeze", "float32[1,3]", "squeeze_dims={4294967296}",
         "!Tried to squeeze dim index 4294967296"},
    };
    infer_cases_assert(cases, COUNT(cases));
}

TEST(transpose_follows_perm) {
    static const infer_case_t cases[] = {
        {"Transpose", "float32[2,3] int32{1,0}", "", "float32[3,2]"},
        {"Transpose", "float32[2,3,4] int64{2,0,1}", "", "float32[4,2,3]"},
        {"Transpose", "float32[2,3] int32{-1,0}", "", "float32[3,2]"},
        {"Transpose", "float32 int32{}", "", "float32[]"},
        {"Transpose", "float32[1,2,3,4,5,6,7,8] int32{7,6,5,4,3,2,1,0}", "",
         "float32[8,7,6,5,4,3,2,1]"},
        {"Transpose", "float32[2,3] int32{1,1}", "", "!Transpose: 0 is missing from {1,1}."},
        {"Transpose", "float32[2,3] int32{0,-2}", "", "!1 is missing from {0,-2}."},
        {"Transpose", "float32[2,3] int32{0,2}", "", "!2 is out of range [-2 .. 2)"},
        {"Transpose", "float32[2,3] int32{0,-3}", "", "!-3 is out of range [-2 .. 2)"},
        {"Transpose", "float32[2,3] int32{0}", "",
         "!transpose expects a vector of size 2. But input(1) is a vector of size 1"},
        {"Transpose", "float32[2,3] int32{0,1,2}", "", "!But input(1) is a vector of size 3"},
        {"Transpose", "float32[2,3] int32[1,2]{1,0}", "", "!perm must be rank 1, got shape [1,2]"},
    };
    infer_cases_assert(cases, COUNT(cases));
}

TEST(broadcast_to_reaches_the_shape_asked_for) {
    static const infer_case_t cases[] = {
        {"BroadcastTo", "float32[3] int32{2,3}", "", "float32[2,3]"},
        {"BroadcastTo", "float32[2,1] int64{2,3}", "", "float32[2,3]"},
        {"BroadcastTo", "float32 int32{}", "", "float32[]"},
        {"BroadcastTo", "float32[1,1] int32{0,2}", "", "float32[0,2]"},
        {"BroadcastTo", "float32[3,1] int32{0,3,2}", "", "float32[0,3,2]"},
        {"BroadcastTo", "float32[3] int32{2,4}", "",
         "!BroadcastTo: Incompatible shapes: [3] vs. [2,4]"},
        {"BroadcastTo", "float32[2,3] int32{3}", "",
         "!Rank of input (2) must be no greater than rank of output shape (1)."},
        {"BroadcastTo", "float32[3] int32{1}", "",
         "!Unable to broadcast tensor of shape [3] to tensor of shape [1]"},
        {"BroadcastTo", "float32[1] int32{-2}", "", "!Dimension -2 must be >= 0 (shape[0])"},
        {"BroadcastTo", "float32[1] int32{2,-1}", "", "!Dimension -1 must be >= 0 (shape[1])"},
        {"BroadcastTo", "float32[1] int32(3)", "",
         "!shape must be a vector of {int32,int64}, got shape []"},
        {"BroadcastTo", "float32[1] int32{1,1,1,1,1,1,1,1,1}", "",
         "!would have 9 dimensions; tensors have at most 8"},
        {"BroadcastTo", "float32[1] int64{4294967296,4294967296}", "",
         "!would have more than 2**63 - 1 elements"},
    };
    infer_cases_assert(cases, COUNT(cases));
}

TEST(concat_adds_up_one_dimension) {
    static const infer_case_t cases[] = {
        {"Concat", "float32[2,3] float32[4,3] int32(0)", "", "float32[6,3]"},
        {"Concat", "float32[2,3] float32[2,1] float32[2,0] int64(-1)", "", "float32[2,4]"},
        {"Concat", "float32[2,3] int32(1)", "", "float32[2,3]"},
        {"Concat", "bool[1] bool[1] int32{0}", "", "bool[2]"},
        {"Concat", "float32[2,3] float32[2,4] int32(0)", "",
         "!Concat: Dimension 1 in both shapes must be equal: shape[0] = [2,3] vs. shape[1] = [2,4]"},
        {"Concat", "float32[2,3] float32[2,3] float32[3] int32(0)", "",
         "!Ranks of all input tensors should match: shape[0] = [2,3] vs. shape[2] = [3]"},
        {"Concat", "float32[2,3] float32[2,3] int32(2)", "",
         "!Expected concatenating dimensions in the range [-2, 2), but got 2"},
        {"Concat", "float32[2,3] float32[2,3] int32(-3)", "", "!in the range [-2, 2), but got -3"},
        {"Concat", "float32 float32 int32(0)", "", "!Can't concatenate scalars"},
        {"Concat", "float32[1] float32[1] int32{0,1}", "",
         "!(axis) must be a tensor with a single value, got shape [2]"},
        {"Concat", "bool[9223372036854775807] bool[1] int32(0)", "",
         "!dimension 0 add up to more than 2**63 - 1"},
    };
    infer_cases_assert(cases, COUNT(cases));
}

TEST(slice_stays_inside) {
    static const infer_case_t cases[] = {
        {"Slice", "float32[3,4] int32{1,0} int32{2,4}", "", "float32[2,4]"},
        {"Slice", "float32[3,4] int64{1,1} int64{-1,-1}", "", "float32[2,3]"},
        {"Slice", "float32[3,4] int32{3,4} int32{0,-1}", "", "float32[0,0]"},
        {"Slice", "float32 int32{} int32{}", "", "float32[]"},
        {"Slice", "float32[3,4] int32{4,0} int32{-1,4}", "",
         "!Slice: Expected begin[0] in [0, 3], but got 4"},
        {"Slice", "float32[3,4] int32{0,-1} int32{1,4}", "",
         "!Expected begin[1] in [0, 4], but got -1"},
        {"Slice", "float32[3,4] int32{1,0} int32{3,4}", "",
         "!Expected size[0] in [0, 2], but got 3"},
        {"Slice", "float32[3,4] int32{0,0} int32{-2,4}", "",
         "!Expected size[0] in [0, 3], but got -2"},
        {"Slice", "float32[3,4] int64{1,0} int64{9223372036854775807,1}", "",
         "!but got 9223372036854775807"},
        {"Slice", "float32[3,4] int32{0} int32{1}", "",
         "!begin and size arguments to be 1-D tensors of size 2, but got shapes [1] and [1] instead."},
        {"Slice", "float32[3,4] int32{0,0} int32{1}", "", "!but got shapes [2] and [1] instead."},
        {"Slice", "float32[3,4] int32[1,2]{0,0} int32{1,1}", "",
         "!but got shapes [1,2] and [2] instead."},
    };
    infer_cases_assert(cases, COUNT(cases));
}

TEST(gather_replaces_the_axis_by_indices) {
    static const infer_case_t cases[] = {
        {"Gather", "float32[3,4] int32[5] int32(0)", "", "float32[5,4]"},
        {"Gather", "float32[3,4] int64[5,6] int32(1)", "", "float32[3,5,6]"},
        {"Gather", "float32[3,4] int32 int64(-1)", "", "float32[3]"},
        {"Gather", "float32[3] int32[0] int32(0)", "", "float32[0]"},
        {"Gather", "float32[3,4] int32[3,2] int32(1)", "batch_dims=1", "float32[3,2]"},
        {"Gather", "float32[3,4] int32[3] int32(1)", "batch_dims=1", "float32[3]"},
        {"Gather", "float32[3,4,5] int32[3,2] int32(2)", "batch_dims=-1", "float32[3,4,2]"},
        /* the kernel checks the index */
        {"Gather", "float32[0,3] int32[1] int32(0)", "", "float32[1,3]"},
    };
    infer_cases_assert(cases, COUNT(cases));
}

TEST(gather_bad_axes_are_refused) {
    static const infer_case_t cases[] = {
        {"Gather", "float32[3,4] int32[1] int32(2)", "",
         "!Gather: Expected axis in the range [-2, 2), but got 2"},
        {"Gather", "float32[3,4] int32[1] int32(-3)", "",
         "!Expected axis in the range [-2, 2), but got -3"},
        {"Gather", "float32[3,4] int32[1] int32{0}", "", "!axis must be scalar, got shape [1]"},
        {"Gather", "float32 int32[1] int32(0)", "", "!params must be at least 1 dimensional"},
        {"Gather", "float32[3,4] int32[1] int32(1)", "batch_dims=2",
         "!Expected batch_dims in the range [-1, 1], but got 2"},
        {"Gather", "float32[3,4] int32[1] int32(1)", "batch_dims=-2",
         "!in the range [-1, 1], but got -2"},
        {"Gather", "float32[3,4] int32[2,2] int32(1)", "batch_dims=1",
         "!params.shape[0]: 3 should be equal to indices.shape[0]: 2"},
        {"Gather", "float32[3,4] int32[3,2] int32(0)", "batch_dims=1",
         "!batch_dims (1) must be less than or equal to axis (0)."},
        {"Gather", "float32[3] int32[3] int32(0)", "batch_dims=1",
         "!batch_dims (1) must be less than rank(params) (1)."},
        {"Gather", "float32[1,1,1,1,1] int32[1,1,1,1,1] int32(0)", "", "!would have 9 dimensions"},
    };
    infer_cases_assert(cases, COUNT(cases));
}

TEST(one_hot_puts_depth_in) {
    static const infer_case_t cases[] = {
        {"OneHot", "int32[2] int32(3) float32 float32", "", "float32[2,3]"},
        {"OneHot", "int64[2] int32(3) bool bool", "axis=0", "bool[3,2]"},
        {"OneHot", "int32[2,5] int32(3) float32 float32", "axis=1", "float32[2,3,5]"},
        {"OneHot", "int32 int32(0) float32 float32", "axis=0", "float32[0]"},
        {"OneHot", "int32[2] int32(-1) float32 float32", "",
         "!OneHot: depth must be non-negative, got: -1"},
        {"OneHot", "int32[2] int32(3) float32 float32", "axis=2",
         "!Expected axis to be -1 or between [0, 2).  But received: 2"},
        {"OneHot", "int32[2] int32(3) float32 float32", "axis=-2",
         "!between [0, 2).  But received: -2"},
        {"OneHot", "int32[2] int32{3} float32 float32", "",
         "!depth must be a scalar, but got: [1]"},
        {"OneHot", "int32[2] int32(3) float32[1] float32", "",
         "!on_value must be a scalar, but got: [1]"},
        {"OneHot", "int32[2] int32(3) float32 float32[2,2]", "",
         "!off_value must be a scalar, but got: [2,2]"},
        {"OneHot", "int32[1,1,1,1,1,1,1,1] int32(3) float32 float32", "",
         "!would have 9 dimensions"},
    };
    infer_cases_assert(cases, COUNT(cases));
}

TEST(fill_takes_its_shape_from_dims) {
    static const infer_case_t cases[] = {
        {"Fill", "int32{2,3} float32", "", "float32[2,3]"},
        {"Fill", "int64{} bool", "", "bool[]"},
        {"Fill", "int32{0} int64", "", "int64[0]"},
        {"Fill", "int32(3) float32", "", "float32[3]"},
        {"Fill", "int32{2,-3} float32", "", "!Fill: Dimension -3 must be >= 0 (dims[1])"},
        {"Fill", "int32[1,2]{2,3} float32", "",
         "!dims must be a vector of {int32,int64}, got shape [1,2]"},
        {"Fill", "int32{2} float32[2]", "", "!value must represent a scalar, got shape [2]"},
        {"Fill", "int32{1,1,1,1,1,1,1,1,1} float32", "",
         "!would have 9 dimensions; tensors have at most 8"},
    };
    infer_cases_assert(cases, COUNT(cases));
}

TEST(range_counts_its_steps) {
    static const infer_case_t cases[] = {
        {"Range", "int32(0) int32(5) int32(1)", "", "int32[5]"},
        {"Range", "int32(0) int32(5) int32(2)", "", "int32[3]"},
        {"Range", "int32(5) int32(0) int32(-2)", "", "int32[3]"},
        {"Range", "int32(3) int32(3) int32(7)", "", "int32[0]"},
        {"Range", "int32(-2147483648) int32(2147483647) int32(1)", "", "int32[4294967295]"},
        {"Range", "int32{0} int32(5) int32(1)", "", "int32[5]"},
        {"Range",
         "int64(-9223372036854775808) int64(9223372036854775807) int64(4611686018427387904)", "",
         "int64[4]"},
        {"Range",
         "int64(9223372036854775807) int64(-9223372036854775808) int64(-9223372036854775808)", "",
         "int64[2]"},
        {"Range", "float32(0) float32(1) float32(0.1)", "", "float32[10]"},
        {"Range", "float64(0) float64(1) float64(0.1)", "", "float64[10]"},
        /* the quotient rounds to 3 ... */
        {"Range", "float32(0) float32(0.3) float32(0.1)", "", "float32[3]"},
        {"Range", "float64(0) float64(0.3) float64(0.1)", "", "float64[3]"},
        {"Range", "float64(0) float64(0.6) float64(0.2)", "", "float64[3]"},
        {"Range", "float64(0) float64(0.7) float64(0.1)", "", "float64[7]"},
        /* ... and this one to slightly more */
        {"Range", "float64(1) float64(1.3) float64(0.1)", "", "float64[4]"},
        {"Range", "float32(1) float32(1.3) float32(0.1)", "", "float32[3]"},
        {"Range", "float32(5) float32(0) float32(-2.5)", "", "float32[2]"},
        {"Range", "float32(0) float32(5) float32(inf)", "", "float32[0]"},
    };
    infer_cases_assert(cases, COUNT(cases));
}

TEST(range_endless_ones_are_refused) {
    static const infer_case_t cases[] = {
        {"Range", "int32(0) int32(5) int32(0)", "", "!Range: Requires delta != 0: 0"},
        {"Range", "float32(0) float32(5) float32(-0.0)", "", "!Requires delta != 0: 0"},
        {"Range", "int32(0) int32(5) int32(-1)", "",
         "!Requires start >= limit when delta < 0: 0/5"},
        {"Range", "int32(5) int32(0) int32(1)", "", "!Requires start <= limit when delta > 0: 5/0"},
        {"Range", "float64(0) float64(5) float64(-1)", "",
         "!Requires start >= limit when delta < 0: 0/5"},
        {"Range", "float32(5) float32(0) float32(1)", "",
         "!Requires start <= limit when delta > 0: 5/0"},
        {"Range", "float32(nan) float32(1) float32(1)", "",
         "!Requires start <= limit when delta > 0: nan/1"},
        {"Range", "float32(0) float32(nan) float32(1)", "",
         "!Requires start <= limit when delta > 0: 0/nan"},
        {"Range", "float32(0) float32(1) float32(nan)", "",
         "!Requires start >= limit when delta < 0: 0/1"},
        {"Range", "float32(0) float32(inf) float32(1)", "",
         "!Requires ((limit - start) / delta) <= 9223372036854775807"},
        {"Range", "float32(0) float32(1) float32(1e-30)", "",
         "!Requires ((limit - start) / delta) <="},
        {"Range", "float64(0) float64(inf) float64(inf)", "",
         "!Requires ((limit - start) / delta) <="},
        {"Range", "float64(0) float64(9223372036854775808) float64(1)", "",
         "!Requires ((limit - start) / delta) <="},
        {"Range", "int64(-9223372036854775808) int64(9223372036854775807) int64(1)", "",
         "!Requires ((limit - start)"},
        {"Range", "int32{0,1} int32(5) int32(1)", "", "!start must be a scalar, not shape [2]"},
        {"Range", "int32(0) int32[1,1]{5} int32(1)", "",
         "!limit must be a scalar, not shape [1,1]"},
        {"Range", "int32(0) int32(5) int32{}", "", "!delta must be a scalar, not shape [0]"},
    };
    infer_cases_assert(cases, COUNT(cases));
}

TEST(random_checks_shape_seed_and_algorithm) {
    static const infer_case_t cases[] = {
        {"StatelessRandomUniform", "int32{2,3} int64{1,2}", "", "float32[2,3]"},
        {"StatelessRandomNormal", "int64{} int32{1,2}", "dtype=float64", "float64[]"},
        {"StatelessRandomNormal", "int32{2,-3} int64{1,2}", "",
         "!Dimension -3 must be >= 0 (shape[1])"},
        {"StatelessRandomUniform", "int32(2) int64{1,2}", "",
         "!shape must be a vector of {int32,int64}, got shape []"},
        {"StatelessRandomUniform", "int32{2} int64{1,2,3}", "",
         "!seed must have shape [2], not [3]"},
        {"StatelessRandomUniform", "int32{2} int64(1)", "", "!seed must have shape [2], not []"},
        {"StatelessRandomUniform", "int32{2} int64[1,2]{1,2}", "",
         "!seed must have shape [2], not [1,2]"},
        {"StatelessRandomUniform", "int32{2} int64{1,2}", "dtype=int32",
         "!value for attr 'dtype' of int32"},
        {"StatelessRandomUniformV2", "int32{2} uint64{1} uint64{1,2} int32(1)", "", "float32[2]"},
        {"StatelessRandomUniformV2", "int64{2} uint64{1} uint64{1,2,3} int32(3)", "dtype=float64",
         "float64[2]"},
        {"StatelessRandomNormalV2", "int32{2} uint64{1} uint64{1,2} int32(2)", "",
         "~algorithm 2 (ThreeFry)"},
        {"StatelessRandomNormalV2", "int32{2} uint64{1} uint64{1,2} int32(17)", "",
         "!Unsupported algorithm id: 17"},
        {"StatelessRandomNormalV2", "int32{2} uint64{1} uint64{1,2} int32(0)", "",
         "!Unsupported algorithm id: 0"},
        {"StatelessRandomNormalV2", "int32{2} uint64{1} uint64{1,2} int32{1}", "",
         "!alg must have shape [], not [1]"},
        {"StatelessRandomNormalV2", "int32{2} uint64{1,2} uint64{1,2} int32(1)", "",
         "!key must have shape [1], not [2]"},
        {"StatelessRandomNormalV2", "int32{2} uint64(1) uint64{1,2} int32(1)", "",
         "!key must have shape [1], not []"},
        {"StatelessRandomNormalV2", "int32{2} uint64{1} uint64{1} int32(1)", "",
         "!length at least 2; got shape: [1]"},
        {"StatelessRandomNormalV2", "int32{2} uint64{1} uint64[1,2]{1,2} int32(1)", "",
         "!got shape: [1,2]"},
        {"StatelessRandomNormalV2", "int32{-1} uint64{1} uint64{1,2} int32(1)", "",
         "!Dimension -1 must be >= 0"},
    };
    infer_cases_assert(cases, COUNT(cases));
}

TEST(constants_and_variables_have_definitions) {
    static const infer_case_t cases[] = {
        {"Const", "", "dtype=float32", "~Const: a constant is made with its bytes"},
        {"VarHandleOp", "", "dtype=float32 shape=[2,3] shared_name='w'", "float32[2,3]"},
        {"VarHandleOp", "", "dtype=int64 shape=[]", "int64[]"},
        {"ReadVariableOp", "float32[2]", "", "float32[2]"},
        {"AssignVariableOp", "bool[2]", "dtype=bool", "bool[2]"},
        {"AssignAddVariableOp", "int64[2]", "", "int64[2]"},
        {"AssignSubVariableOp", "bool[2]", "",
         "!value for attr 'dtype' of bool is not in the list"},
    };
    infer_cases_assert(cases, COUNT(cases));
}

int main(void) { return test_main(); }
