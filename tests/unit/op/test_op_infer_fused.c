/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Fused ops infer types and shapes of their outputs, and refuse every program that kernels
 * could not trust. */
#include "infer_case.h"
#include "test.h"

#include "op/fused_program.h"

/* Rows of ops/elementwise.def, by name. */
#define ADD "0"
#define MUL "2"

TEST(fused_programs_give_types_and_shapes) {
    assert_int_equal(GANTRY__FUSED_Add, 0);
    assert_int_equal(GANTRY__FUSED_Mul, 2);
    static const infer_case_t cases[] = {
        {"_FusedElementwise", "float32[2,3] float32[3]", "program={" ADD ",1,0,1,0} outputs={0}",
         "float32[2,3]"},
        {"_FusedElementwise", "float32[2,1] float32[3] float32",
         "program={" ADD ",1,0,1,0," MUL ",1,-1,2,0} outputs={1,0}", "float32[2,3] float32[2,3]"},
        {"_FusedElementwise", "float32[0,3] float32[3]", "program={" ADD ",1,0,1,0} outputs={0}",
         "float32[0,3]"},
        /* nothing reads input 1, but its shape counts */
        {"_FusedElementwise", "float32 float32[3]", "program={" ADD ",1,0,0,0} outputs={0}",
         "!must be [3], that of all inputs"},
        {"_FusedElementwise", "float32[2] float32[3]", "program={" ADD ",1,0,1,0} outputs={0}",
         "!does not broadcast"},
        {"_FusedElementwise", "float32[2]", "program={" ADD ",1,0,0,0}", "!attribute 'outputs'"},
        {"_FusedElementwise", "float32[2]", "outputs={0}", "!attribute 'program'"},
        {"_FusedElementwise", "float32[2]", "program={" ADD ",1,0,0,0} outputs={}",
         "!1 to 4 outputs"},
        {"_FusedElementwise", "float32[2]", "program={" ADD ",1,0,0,0} outputs={0,0,0,0,0}",
         "!1 to 4 outputs"},
        {"_FusedElementwise", "float32[2]", "program={" ADD ",1,0,0,0} outputs={1}",
         "!accepted are 0 to 0"},
        {"_FusedElementwise", "float32[2]", "program={" ADD ",1,0,0,0} outputs={-1}",
         "!accepted are 0 to 0"},
        {"_FusedElementwise", "float32[2]", "program={} outputs={0}", "!has 0 numbers"},
        {"_FusedElementwise", "float32[2]", "program={" ADD ",1,0,0} outputs={0}",
         "!has 4 numbers"},
        {"_FusedElementwise", "float32[2]", "program={" ADD ",1,0,1,0} outputs={0}",
         "!has operand 1"},
        {"_FusedElementwise", "float32[2]", "program={" ADD ",1,0,-1,0} outputs={0}",
         "!has operand -1"},
        {"_FusedElementwise", "float32[2]", "program={" ADD ",1,0,0,7} outputs={0}",
         "!has no operand 2"},
        {"_FusedElementwise", "float32[2]", "program={" ADD ",2,0,0,0} outputs={0}",
         "!is float32; it must be float64"},
        {"_FusedElementwise", "bool[2]", "program={" ADD ",10,0,0,0} outputs={0}", "!cannot have"},
        {"_FusedElementwise", "float32[2]", "program={1000,1,0,0,0} outputs={0}", "!cannot have"},
        {"_FusedElementwise", "float32[2]", "program={-1,1,0,0,0} outputs={0}", "!cannot have"},
        {"_FusedElementwise", "float32[2]", "program={" ADD ",65,0,0,0} outputs={0}",
         "!cannot have"},
        {"_FusedElementwise", "float32[2]", "program={" ADD ",4294967297,0,0,0} outputs={0}",
         "!cannot have"},
    };
    infer_cases_assert(cases, COUNT(cases));
}

/* x * rate + y of each part */
#define PARTS_PROGRAM "program={" MUL ",1,1,0,0," ADD ",1,-1,2,0}"

TEST(fused_parts_give_types_and_shapes) {
    static const infer_case_t cases[] = {
        {"_FusedParts", "float32 float32[2,3] float32[2,3] float32[7] float32[7]",
         PARTS_PROGRAM " outputs={1,1} parts=2 shared=1", "float32[2,3] float32[7]"},
        {"_FusedParts", "float32 float32[2] float32 float32[7] float32",
         PARTS_PROGRAM " outputs={1,0,1,0} parts=2 shared=1",
         "float32[2] float32[2] float32[7] float32[7]"},
        {"_FusedParts", "float32 float32[2] float32[2]",
         PARTS_PROGRAM " outputs={1} parts=1 shared=1", "float32[2]"},
        {"_FusedParts", "float32[1] float32[0] float32[0] float32[1] float32[1]",
         PARTS_PROGRAM " outputs={1,1} parts=2 shared=1", "float32[0] float32[1]"},
        {"_FusedParts", "float32 float32[2] float32[2]",
         PARTS_PROGRAM " outputs={1} parts=0 shared=1", "!accepted are 1 to 32"},
        {"_FusedParts", "float32 float32[2] float32[2]",
         PARTS_PROGRAM " outputs={1} parts=33 shared=1", "!accepted are 1 to 32"},
        {"_FusedParts", "float32 float32[2] float32[2]",
         PARTS_PROGRAM " outputs={1,1} parts=2 shared=2", "!do not make 2 equal parts"},
        {"_FusedParts", "float32 float32[2] float32[2]",
         PARTS_PROGRAM " outputs={1} parts=1 shared=4", "!do not make 1 equal parts"},
        {"_FusedParts", "float32 float32[2] float32[2]",
         PARTS_PROGRAM " outputs={1} parts=1 shared=-1", "!do not make 1 equal parts"},
        {"_FusedParts", "float32 float32[2] float32[2] float32[2] float32[2]",
         PARTS_PROGRAM " outputs={1,1,1} parts=2 shared=1", "!do not make 2 equal parts"},
        {"_FusedParts", "float32 float32[2] float32[2] float32[2] float32[2]",
         PARTS_PROGRAM " outputs={1,0} parts=2 shared=1", "!has 0 for output 1, 1 in the part"},
        {"_FusedParts", "float32[2] float32[2] float32[2]",
         PARTS_PROGRAM " outputs={1} parts=1 shared=1", "!a shared input has one element"},
        {"_FusedParts", "float32 float32[2,3] float32[3] float32[7] float32[7]",
         PARTS_PROGRAM " outputs={1,1} parts=2 shared=1", "!must have the part's 6 elements"},
        {"_FusedParts", "float32 float32[2] float32[2] float32[7] float32",
         PARTS_PROGRAM " outputs={1,1} parts=2 shared=1", "!must have the part's 7 elements"},
        {"_FusedParts", "float32 float32[2] float32[2] float64[7] float32[7]",
         PARTS_PROGRAM " outputs={1,1} parts=2 shared=1", "!is float64; it must be float32"},
        /* nothing reads inputs 1 and 2 */
        {"_FusedParts", "float32[2] float32[2] float64[2] float32[7] float32[7] float32[7]",
         "program={" ADD ",1,0,1,0} outputs={0,0} parts=2 shared=0",
         "!float32, but float64 in part 0"},
        {"_FusedParts", "float32 float32[2] float32[2]", PARTS_PROGRAM " outputs={1} parts=1",
         "!attribute 'shared'"},
    };
    infer_cases_assert(cases, COUNT(cases));
}

TEST(fused_products_have_the_shape_of_the_product) {
    static const infer_case_t cases[] = {
        {"_FusedMatMul", "float32[2,3] float32[3,4] float32[4]", "program={" ADD ",1,0,1,0}",
         "float32[2,4]"},
        {"_FusedMatMul", "float64[3,2] float64[3,4]", "transpose_a=true program={" MUL ",2,0,0,0}",
         "float64[2,4]"},
        {"_FusedMatMul", "float32[2,3]", "program={" ADD ",1,0,0,0}", "!takes two operands"},
        {"_FusedConvolveImages", "float32[1,4,4,2] float32[3,3,2,5] float32[5]",
         "padding='SAME' strides={1,1,1,1} dilations={1,1,1,1} program={" ADD ",1,0,1,0}",
         "float32[1,4,4,5]"},
        {"_FusedConvolveImages", "float32[1,4,4,2] float32[3,3,2,5] float32[4]",
         "padding='SAME' strides={1,1,1,1} dilations={1,1,1,1} program={" ADD ",1,0,1,0}",
         "!does not broadcast"},
        {"_FusedMatMul", "float32[2,3] float32[4,4]", "program={" ADD ",1,0,0,0}",
         "!Matrix size-incompatible"},
        {"_FusedMatMul", "float32[2,3] float32[3,4] float32[4]", "program={}", "!has 0 numbers"},
        {"_FusedMatMul", "float32[2,3] float32[3,4]", "", "!attribute 'program'"},
        {"_FusedMatMul", "float32[2,3] float32[3,4]", "program={" ADD ",1,0,1,0}",
         "!has operand 1"},
        {"_FusedMatMul", "float32[2,3] float32[3,4] float32[5]", "program={" ADD ",1,0,1,0}",
         "!does not broadcast"},
        {"_FusedMatMul", "float32[2,3] float32[3,4] float32[5,1,1]", "program={" ADD ",1,0,1,0}",
         "!must be like the product, float32[2,4]"},
        /* the rows are the places of images, or the images are the first operand */
        {"_FusedMatMul", "float32[12,3] float32[3,4] float32[4]",
         "program={" ADD ",1,0,1,0} places={2,3}", "float32[2,4,2,3]"},
        {"_FusedMatMul", "float32[12,3] float32[3,4]", "program={} places={3,2}",
         "float32[2,4,3,2]"},
        {"_FusedMatMul", "float32[2,3,5,7] float32[3,4]", "program={} places={5,7}",
         "float32[2,4,5,7]"},
        {"_FusedMatMul", "float32[12,3] float32[3,4]", "program={} places={5,1}",
         "!accepted are a height and a width"},
        {"_FusedMatMul", "float32[12,3] float32[3,4]", "program={} places={2}",
         "!accepted are a height and a width"},
        {"_FusedMatMul", "float32[12,3] float32[3,4]", "program={} places={-2,-3}",
         "!accepted are a height and a width"},
        {"_FusedMatMul", "float32[2,3,5,7] float32[3,4]", "program={} places={7,5}",
         "!'places' must be their height and width"},
        {"_FusedMatMul", "float32[2,3,5,7] float32[4,4]", "program={} places={5,7}",
         "!Matrix size-incompatible"},
        {"_FusedGroupedMatMul", "float32[5,3,2] float32[2,3,4] float32[12]",
         "program={" ADD ",1,0,1,0}", "float32[5,12]"},
        {"_FusedGroupedMatMul", "float64[5,3,2] float64[2,3,4]",
         "interleaved=true program={" MUL ",2,0,0,0}", "float64[5,12]"},
        {"_FusedGroupedMatMul", "float32[5,3,2] float32[2,2,4]", "program={" ADD ",1,0,0,0}",
         "!x must be [rows, groups, depth] and w [depth, groups, columns]"},
        {"_GroupedMatMul", "float32[5,3,2] float32[2,3,4]", "", "float32[5,3,4]"},
        {"_GroupedMatMul", "float32[5,3,2] float32[2,3,4]", "interleaved=true", "float32[5,4,3]"},
        {"_GroupedMatMul", "float32[5,3,2] float32[3,3,4]", "", "!x must be"},
    };
    infer_cases_assert(cases, COUNT(cases));
}

/* Instructions without a row, by number. */
TEST(fused_casts_and_selects_have_types_of_their_own) {
    infer_call_t call;
    static const struct {
        int64_t words[GANTRY__FUSED_WORDS];
        gantry_dtype_t expected; /* none: refused */
    } rows[] = {
        {{GANTRY__FUSED_Cast, GANTRY_FLOAT32, 0, GANTRY_INT8, 0}, GANTRY_INT8},
        {{GANTRY__FUSED_Cast, GANTRY_FLOAT32, 0, GANTRY_FLOAT16, 1}, GANTRY_FLOAT16},
        {{GANTRY__FUSED_Cast, GANTRY_FLOAT32, 0, GANTRY_COMPLEX64, 0}, GANTRY_DTYPE_NONE},
        {{GANTRY__FUSED_Cast, GANTRY_FLOAT32, 0, 0, 0}, GANTRY_DTYPE_NONE},
        {{GANTRY__FUSED_Cast, GANTRY_FLOAT32, 0, -4294967295, 0}, GANTRY_DTYPE_NONE},
        {{GANTRY__FUSED_Cast, GANTRY_FLOAT32, 0, GANTRY_INT8, 2}, GANTRY_DTYPE_NONE},
        {{GANTRY__FUSED_Select, GANTRY_FLOAT32, 1, 0, 0}, GANTRY_FLOAT32},
        {{GANTRY__FUSED_Select, GANTRY_FLOAT32, 0, 0, 0}, GANTRY_DTYPE_NONE},
        {{GANTRY__FUSED_Select, GANTRY_BOOL, 1, 1, 1}, GANTRY_BOOL},
        {{GANTRY__FUSED_ClipByValue, GANTRY_FLOAT32, 0, 0, 0}, GANTRY_FLOAT32},
        {{GANTRY__FUSED_ClipByValue, GANTRY_BOOL, 1, 1, 1}, GANTRY_DTYPE_NONE},
        {{GANTRY__FUSED_Less, GANTRY_FLOAT32, 0, 0, 0}, GANTRY_BOOL},
        {{GANTRY__FUSED_LogicalAnd, GANTRY_BOOL, 1, 1, 0}, GANTRY_BOOL},
        {{GANTRY__FUSED_LogicalAnd, GANTRY_FLOAT32, 0, 0, 0}, GANTRY_DTYPE_NONE},
        {{GANTRY__FUSED_FloorMod, GANTRY_FLOAT32, 0, 0, 0}, GANTRY_FLOAT32},
    };
    for (size_t i = 0; i < COUNT(rows); ++i) {
        infer_call_init(&call, "_FusedElementwise", "float32[4] bool[4]",
                        "program={0,1,0,0,0} outputs={0}");
        memcpy(call.lists[0], rows[i].words, sizeof rows[i].words);
        const gantry_status_t status = infer_call_run(&call);
        if ((status == GANTRY_OK) != (rows[i].expected != GANTRY_DTYPE_NONE))
            fail_msg("row %zu: %s", i, gantry__message());
        if (status == GANTRY_OK) assert_int_equal(call.out_dtypes[0], rows[i].expected);
    }
}

TEST(rows_give_types_and_shapes) {
    char text[6][160];
    const int sum = GANTRY__FUSED_Sum;
    (void)snprintf(text[0], sizeof text[0], "program={%d,1,0,1,0," MUL ",1,0,-1,0} outputs={1,0}",
                   sum);
    (void)snprintf(text[1], sizeof text[1], "program={" MUL ",1,0,1,0,%d,1,-1,0,0} outputs={1}",
                   sum);
    (void)snprintf(text[2], sizeof text[2], "program={%d,1,0,0,0," MUL ",1,0,-1,0} outputs={1}",
                   sum);
    (void)snprintf(text[3], sizeof text[3], "program={%d,1,0,1,0} outputs={0}", sum);
    (void)snprintf(text[4], sizeof text[4], "program={%d,1,0,2,0} outputs={0}", sum);
    (void)snprintf(text[5], sizeof text[5], "program={%d,3,0,1,0} outputs={0}", sum);
    const infer_case_t cases[] = {
        {"_FusedRows", "float32[2,3]", text[0], "float32[2,3] float32[2,1]"},
        {"_FusedRows", "float32[2,3] float32[3]", text[1], "float32[2]"},
        {"_FusedRows", "float32[3] float32[3]", text[1], "float32[]"},
        {"_FusedRows", "float32[2,3] float32[3]", "program={" MUL ",1,0,1,0} outputs={0}",
         "float32[2,3]"},
        {"_FusedRows", "float32[2,3]", text[2], "!does not keep its last dimension"},
        {"_FusedRows", "float32[2,1]", text[3], "!which has one element per row"},
        {"_FusedRows", "float32[2,3]", text[4], "!has keep_dims 2; accepted are 0 and 1"},
        {"_FusedRows", "int32[2,3]", text[5], "!cannot have"},
        {"_FusedRows", "float32[2,4097]", text[3], "!rows have 4097 elements"},
        {"_FusedRows", "float32[2,1]", "program={" MUL ",1,0,0,0} outputs={0}",
         "!rows have 1 elements"},
        {"_FusedRows", "float32", "program={" MUL ",1,0,0,0} outputs={0}", "!rows have 1 elements"},
        {"_FusedRows", "float32[3] float32[2,1]", text[3], "!must be [2,1]"},
        {"_FusedRows", "float32[2,3]", "program={1000,1,0,0,0} outputs={0}", "!cannot have"},
        {"_FusedElementwise", "float32[2,3]", text[3], "!cannot have"},
    };
    infer_cases_assert(cases, COUNT(cases));
}

int main(void) { return test_main(); }
