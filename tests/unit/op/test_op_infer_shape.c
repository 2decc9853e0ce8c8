/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Ops that move elements infer their results' shapes and refuse every wrong call, with
 * TensorFlow's texts where it has one.
 *
 * Golden cases have the numbers that TensorFlow computed. The numbers here would need too much
 * memory in TensorFlow. */
#include "infer_case.h"
#include "test.h"

#define LARGEST "9223372036854775807"
#define LOWEST "-9223372036854775808"

TEST(optional_inputs_may_be_left_out_from_the_end) {
    static const infer_case_t cases[] = {
        {"Pad", "float32[2] int32[1,2]{1,1}", "", "float32[4]"},
        {"PadV2", "float32[2] int32[1,2]{1,1} float32(5)", "", "float32[4]"},
        {"Pad", "float32[2]", "",
         "!Pad takes 2 to 3 inputs (input, paddings, constant_values), got 1"},
        {"Pad", "float32[2] int32[1,2]{1,1} float32(5) float32", "", "!Pad takes 2 to 3 inputs"},
        {"Pad", "float32[2] int32[1,2]{1,1} int32(5)", "",
         "!input #2(zero-based) was expected to be a float32 tensor"},
        {"MatrixDiag", "float32[3]", "", "float32[3,3]"},
        {"MatrixDiag", "float32[3] int32(1)", "", "float32[4,4]"},
        {"MatrixDiag", "float32[3] int32(1) int32(3)", "", "float32[3,4]"},
        {"MatrixDiagV3", "float32[3] int32(0) int32(-1) int32(5) float32(1)", "", "float32[3,5]"},
        {"MatrixDiagPart", "float32[3,4]", "", "float32[3]"},
        {"MatrixDiagPart", "float32[3,4] int32{0,1}", "", "float32[2,3]"},
        {"MatrixSetDiag", "float32[3,4] float32[3]", "", "float32[3,4]"},
        {"MatrixSetDiag", "float32[3,4]", "", "!MatrixSetDiag takes 2 to 3 inputs"},
    };
    infer_cases_assert(cases, COUNT(cases));
    assert_null(gantry__op_find("MatrixDiagV2")); /* it stores diagonals in another order */
    assert_null(gantry__op_find("MatrixDiagPartV2"));
    assert_null(gantry__op_find("MatrixSetDiagV2"));
    assert_non_null(gantry__op_find("ReverseV2"));
}

TEST(sizes_beyond_64_bits_are_refused) {
    static const infer_case_t cases[] = {
        {"Pad", "float32[3] int64[1,2]{" LARGEST ",0}", "", "!more than 2**63 - 1"},
        {"Pad", "float32[3] int64[1,2]{4611686018427387904,4611686018427387904}", "",
         "!more than 2**63 - 1"},
        {"Pad", "float32[3,3] int64[2,2]{4294967296,0,4294967296,0}", "", "!more than 2**63 - 1"},
        {"Pad", "float32[0] int64[1,2]{" LOWEST ",0}", "", "!Paddings must be non-negative"},
        {"Pad", "float32[0] int64[1,2]{0," LARGEST "}", "", "!more than 2**63 - 1 bytes"},
        {"MirrorPad", "float32[3] int64[1,2]{" LARGEST ",0}", "mode='SYMMETRIC'",
         "!no greater than the dimension size"},
        {"MirrorPad", "bool[4611686018427387904] int64[1,2]{4611686018427387904,0}",
         "mode='SYMMETRIC'", "!more than 2**63 - 1"},
        {"Tile", "float32[3] int64{" LARGEST "}", "", "!more than 2**63 - 1"},
        {"Tile", "float32[3,4] int64{1099511627776,1099511627776}", "", "!more than 2**63 - 1"},
        {"Tile", "float32[0] int64{" LARGEST "}", "", "float32[0]"},
        {"Tile", "float32[3] int64{" LOWEST "}", "", "!Expected multiples[0] >= 0"},
        {"Roll", "float32[3] int64{" LOWEST "} int64{" LOWEST "}", "", "!is out of range"},
        {"Roll", "float32[3] int64{" LOWEST "} int64{0}", "", "float32[3]"},
        {"Reverse", "float32[3] int64{" LOWEST "}", "", "!is out of valid range [-1, 0]"},
        {"Reverse", "float32[3] int64{" LARGEST "}", "", "!is out of valid range [-1, 0]"},
        {"SpaceToDepth", "bool[1,2147483647,2147483647,4]", "block_size=2147483647",
         "!would give a dimension"},
        {"SpaceToDepth", "float32[1,4,4,3]", "block_size=" LARGEST, "!out of range for an int32"},
        {"SpaceToDepth", "float32[1,4,4,3]", "block_size=" LOWEST, "!must be at least minimum 2"},
        {"DepthToSpace", "bool[1,4611686018427387904,1,4]", "block_size=2",
         "!would give a dimension"},
        {"DepthToSpace", "float32[1,4,4,3]", "block_size=46341",
         "!Block size should be > 1 and <= 46340 but was: 46341"},
        {"SpaceToBatchND", "bool[4,4] int64{4} int64[1,2]{" LARGEST ",0}", "",
         "!would give a dimension"},
        {"SpaceToBatchND", "bool[4611686018427387904,4] int64{4} int64[1,2]{0,0}", "",
         "!would give a dimension"},
        {"BatchToSpaceND", "bool[4,4] int64{4611686018427387904} int64[1,2]{0,0}", "",
         "!would give a dimension"},
        {"BatchToSpaceND", "bool[4,4] int64{2} int64[1,2]{" LARGEST "," LARGEST "}", "",
         "!must be non-negative"},
        {"MatrixDiag", "bool[" LARGEST "]", "", "!are too long"},
        {"MatrixDiag", "bool[4294967296]", "", "!more than 2**63 - 1"},
        {"MatrixDiag", "float32[3] int32(2147483647)", "", "!more than 2**63 - 1 bytes"},
        {"MatrixDiagPart", "float32[3,4] int32(-2147483648)", "",
         "!lower_diag_index is out of bound: -2147483648"},
        {"InvertPermutation", "int64[2147483648]", "", "!must have <= int32 max elements"},
        {"StridedSlice", "float32[3] int64{" LOWEST "} int64{" LARGEST "} int64{" LARGEST "}", "",
         "float32[1]"},
        {"StridedSlice", "float32[3] int64{" LARGEST "} int64{" LOWEST "} int64{" LOWEST "}", "",
         "float32[1]"},
        {"StridedSlice", "float32[3] int64{" LOWEST "} int64{0} int64{1}", "shrink_axis_mask=1",
         "!out of bounds"},
        {"StridedSlice", "bool[" LARGEST "] int64{0} int64{0} int64{-1}", "begin_mask=1 end_mask=1",
         "bool[" LARGEST "]"},
    };
    infer_cases_assert(cases, COUNT(cases));
}

TEST(results_of_more_than_8_dimensions_are_refused) {
    static const infer_case_t cases[] = {
        {"StridedSlice", "float32[1,1,1,1,1,1,1,2] int32{0} int32{0} int32{1}", "new_axis_mask=1",
         "!9 dimensions"},
        {"StridedSlice", "float32[1,1,1,1,1,1,1,2] int32{0,0} int32{0,0} int32{1,1}",
         "new_axis_mask=1 shrink_axis_mask=2", "float32[1,1,1,1,1,1,1,2]"},
        {"StridedSlice",
         "float32 int32{0,0,0,0,0,0,0,0,0} int32{0,0,0,0,0,0,0,0,0} int32{1,1,1,1,1,1,1,1,1}",
         "new_axis_mask=511", "!9 dimensions"},
        {"MatrixDiag", "float32[1,1,1,1,1,1,1,2]", "", "!9 dimensions"},
        {"MatrixDiag", "float32[1,1,1,1,1,1,2,2] int32{0,1}", "", "float32[1,1,1,1,1,1,2,2]"},
    };
    infer_cases_assert(cases, COUNT(cases));
}

TEST(pads_beyond_tensorflow_have_their_sizes) {
    static const infer_case_t cases[] = {
        {"Pad", "float32[3] int32[1,2]{1,2}", "interior={2}", "float32[10]"},
        {"Pad", "float32[0,1] int32[2,2]{1,2,-1,0}", "interior={2,7} crop=true", "float32[3,0]"},
        {"Pad", "float32[3] int32[1,2]{7,-2}", "mode='WRAP' crop=true", "float32[8]"},
        {"Pad", "float32[3] int64[1,2]{0,0}", "interior={" LARGEST "}", "!and an interior of"},
        {"Pad", "float32[3] int64[1,2]{" LOWEST "," LOWEST "}", "crop=true",
         "!and a padding of -9223372036854775808"},
        {"Pad", "float32[3] int64[1,2]{0," LOWEST "}", "crop=true",
         "!paddings 0 and -9223372036854775808 remove more than the 3 elements of dimension 0"},
        {"Pad", "float32[3] int64[1,2]{" LOWEST "," LARGEST "}", "crop=true mode='EDGE'",
         "!remove more than the 3 elements of dimension 0"},
        {"Pad", "float32[3] int64[1,2]{" LOWEST "," LARGEST "}", "crop=true", "float32[2]"},
    };
    infer_cases_assert(cases, COUNT(cases));
}

TEST(numbers_that_cannot_be_read_are_reported) {
    static const struct {
        const char *op, *inputs;
    } calls[] = {
        {"Pad", "float32[2] int32[1,2]"},
        {"Tile", "float32[2] int32[1]"},
        {"Reverse", "float32[2] int32[1]"},
        {"Roll", "float32[2] int32[1] int32[1]"},
        {"MatrixDiag", "float32[2] int32"},
        {"MatrixDiag", "float32[2] int32(0) int32"},
        {"MatrixDiagPart", "float32[2,2] int32"},
        {"StridedSlice", "float32[2] int32[1] int32[1] int32[1]"},
    };
    for (size_t i = 0; i < COUNT(calls); ++i) {
        static infer_call_t self;
        infer_call_init(&self, calls[i].op, calls[i].inputs, "");
        assert_int_equal(infer_call_run(&self), GANTRY_UNKNOWN);
        assert_non_null(strstr(gantry__message(), "cannot be read: no contents"));
    }
}

int main(void) { return test_main(); }
