/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Counts, attributes, types and sizes of every call are checked before and after the op's
 * own rule for shapes. */
#include "infer_case.h"
#include "test.h"

/* ---- counts ---- */

TEST(counts_wrong_number_of_inputs_is_refused) {
    static const infer_case_t cases[] = {
        {"Add", "", "", "!Add takes 2 inputs (x, y), got 0"},
        {"Add", "float32[2]", "", "!Add takes 2 inputs (x, y), got 1"},
        {"Add", "float32[2] float32[2] float32[2]", "", "!Add takes 2 inputs (x, y), got 3"},
        {"Neg", "", "", "!Neg takes 1 input (x), got 0"},
        {"Const", "float32", "dtype=float32", "!Const takes 0 inputs, got 1"},
        {"AddN", "", "", "!AddN takes at least 1 input (inputs...), got 0"},
        {"Concat", "int32(0)", "", "!Concat takes at least 2 inputs (values..., axis), got 1"},
    };
    infer_cases_assert(cases, COUNT(cases));
}

TEST(counts_list_takes_64_inputs_and_not_65) {
    static infer_call_t self;
    infer_call_init(&self, "AddN", "float32[2]", "");
    for (uint32_t i = 1; i < GANTRY__MAX_INPUTS; ++i) {
        self.call.shapes[i] = self.call.shapes[0];
        self.call.dtypes[i] = GANTRY_FLOAT32;
    }
    self.call.input_count = GANTRY__MAX_INPUTS;
    assert_int_equal(infer_call_run(&self), GANTRY_OK);
    assert_int_equal(self.call.attrs[1].i, GANTRY__MAX_INPUTS); /* N */
    self.call.input_count = GANTRY__MAX_INPUTS + 1;
    assert_int_equal(infer_call_run(&self), GANTRY_INVALID_ARGUMENT);
    assert_string_equal(gantry__message(), "AddN takes at most 64 inputs (inputs...), got 65");
}

TEST(counts_input_arg_maps_flat_inputs_to_definitions) {
    const gantry__op_def_t *concat = gantry__op_find("Concat"), *gather = gantry__op_find("Gather");
    for (uint32_t count = 2; count < 6; ++count) {
        for (uint32_t i = 0; i < count; ++i) {
            assert_string_equal(gantry__op_input_arg(concat, count, i)->name,
                                i + 1 < count ? "values" : "axis");
        }
    }
    for (uint32_t i = 0; i < 3; ++i)
        assert_ptr_equal(gantry__op_input_arg(gather, 3, i), &gather->inputs[i]);
    assert_null(gantry__op_input_arg(gather, 3, 3));
    assert_null(gantry__op_input_arg(gather, 5, 4));
    assert_null(gantry__op_input_arg(concat, 4, 4));
    assert_null(gantry__op_input_arg(gantry__op_find("Const"), 1, 0));
}

/* ---- attributes ---- */

TEST(attrs_come_complete_in_definition_order) {
    static infer_call_t self;
    infer_call_init(&self, "MatMul", "float64[2,3] float64[4,3]", "transpose_b=true");
    assert_int_equal(infer_call_run(&self), GANTRY_OK);
    static const char *const names[] = {"T", "transpose_a", "transpose_b", "grad_a", "grad_b"};
    static const int64_t values[] = {GANTRY_FLOAT64, 0, 1, 0, 0};
    assert_int_equal(self.call.op->attr_count, COUNT(names));
    for (size_t i = 0; i < COUNT(names); ++i) {
        assert_int_equal(self.call.attrs[i].struct_size, sizeof(gantry_attr_t));
        assert_string_equal(self.call.attrs[i].name, names[i]);
        assert_int_equal(self.call.attrs[i].kind, i ? GANTRY_ATTR_BOOL : GANTRY_ATTR_TYPE);
        assert_int_equal(self.call.attrs[i].i, values[i]);
    }
    assert_int_equal(self.call.output_count, 1);
    assert_int_equal(self.read, 0);
}

TEST(attrs_defaults_of_every_kind) {
    static infer_call_t self;
    infer_call_init(&self, "BiasAdd", "float32[2,3] float32[3]", "");
    assert_int_equal(infer_call_run(&self), GANTRY_OK);
    assert_string_equal(self.call.attrs[1].s, "NHWC");
    infer_call_init(&self, "Squeeze", "float32[1]", "");
    assert_int_equal(infer_call_run(&self), GANTRY_OK);
    assert_int_equal(self.call.attrs[1].i, 0);
    assert_null(self.call.attrs[1].list);
    infer_call_init(&self, "OneHot", "int64[2] int32(3) float32 float32", "");
    assert_int_equal(infer_call_run(&self), GANTRY_OK);
    assert_int_equal(self.call.attrs[0].i, GANTRY_FLOAT32);
    assert_int_equal(self.call.attrs[1].i, GANTRY_INT64);
    assert_int_equal(self.call.attrs[2].i, -1);
    infer_call_init(&self, "StatelessRandomNormal", "int32{2} int32{1,2}", "");
    assert_int_equal(infer_call_run(&self), GANTRY_OK);
    assert_int_equal(self.call.attrs[0].i, GANTRY_FLOAT32);
    assert_int_equal(self.call.attrs[1].i, GANTRY_INT32);
    assert_int_equal(self.call.attrs[2].i, GANTRY_INT32);
}

TEST(attrs_given_in_any_order_are_taken) {
    static const infer_case_t cases[] = {
        {"MatMul", "float32[3,2] float32[4,3]", "transpose_b=true T=float32 transpose_a=true",
         "float32[2,4]"},
        {"Squeeze", "float32[1,2,1]", "squeeze_dims={2}", "float32[1,2]"},
        {"Squeeze", "float32[1,2,1]", "axis={2}", "float32[1,2]"},
        {"BatchMatMulV3", "float32[2,3] float32[3,4]", "Ta=float32 Tb=float32 Tout=float32",
         "float32[2,4]"},
        {"AddN", "float32[2] float32[2]", "N=2", "float32[2]"},
        {"Concat", "float32[2] float32[2] int32(0)", "N=2", "float32[4]"},
        {"MatMul", "float32[2,2] float32[2,2]", "grad_a=true", "float32[2,2]"},
    };
    infer_cases_assert(cases, COUNT(cases));
}

TEST(attrs_bad_ones_are_refused_by_name) {
    static const infer_case_t cases[] = {
        {"MatMul", "float32[2,2] float32[2,2]", "transpose_q=true",
         "!MatMul: attribute 'transpose_q' does not exist for this operation; it has T, transpose_a, transpose_b"},
        {"LogicalNot", "bool[2]", "T=bool",
         "!attribute 'T' does not exist for this operation; it has none"},
        {"MatMul", "float32[2,2] float32[2,2]", "axis={1}", "!attribute 'axis' does not exist"},
        {"MatMul", "float32[2,2] float32[2,2]", "transpose_a=1",
         "!expecting bool value for attr transpose_a, got int"},
        {"MatMul", "float32[2,2] float32[2,2]", "T=1", "!expecting type value for attr T, got int"},
        {"OneHot", "int32[2] int32(3) float32 float32", "axis=true",
         "!expecting int value for attr axis, got bool"},
        {"Squeeze", "float32[1]", "squeeze_dims=[0]",
         "!expecting list of ints value for attr squeeze_dims, got shape"},
        {"BiasAdd", "float32[2,3] float32[3]", "data_format=float32",
         "!expecting string value for attr data_format, got type"},
        {"MatMul", "float32[2,2] float32[2,2]", "transpose_a=true transpose_a=true",
         "!'transpose_a' is given twice"},
        {"Squeeze", "float32[1]", "axis={0} squeeze_dims={0}",
         "!attribute 'squeeze_dims' is given twice"},
        {"BatchMatMul", "float32[2,2] float32[2,2]", "Ta=float32 Tb=float64",
         "!attribute 'T' is given twice"},
        {"AddN", "float32[2] float32[2]", "N=3", "!attribute 'N' is 3, but the list has 2 tensors"},
        {"AddN", "float32[2] float32[2]", "N=0", "!attribute 'N' is 0, but the list has 2 tensors"},
        {"VarHandleOp", "", "dtype=float32",
         "!VarHandleOp: attribute 'shape' (shape) must be given"},
        {"VarHandleOp", "", "shape=[2]",
         "!VarHandleOp: attribute 'dtype' (type) must be given; accepted are float32"},
        {"VarHandleOp", "", "dtype=float32 shape=[2,-1]",
         "!attribute 'shape': dimension -1 must be >= 0"},
        {"VarHandleOp", "", "dtype=float32 shape=[1,1,1,1,1,1,1,1,1]",
         "!attribute 'shape' has 9 entries; accepted are 0 to 8"},
    };
    infer_cases_assert(cases, COUNT(cases));
}

/* Values that have no text form. */
TEST(attrs_malformed_values_are_refused) {
    static const struct {
        const char *op;
        gantry_attr_value_t attr;
        const char *message;
    } rows[] = {
        {"Identity", {.kind = GANTRY_ATTR_TYPE}, "Identity: an attribute's name is NULL"},
        {"Identity",
         {.name = "T", .kind = GANTRY_ATTR_TYPE, .i = 77},
         "value for attr 'T' of invalid is not in the list"},
        {"Identity",
         {.name = "T", .kind = GANTRY_ATTR_TYPE, .i = -1},
         "value for attr 'T' of invalid is not in the list"},
        {"Identity",
         {.name = "T", .kind = GANTRY_ATTR_TYPE, .i = 0},
         "value for attr 'T' of invalid is not in the list"},
        {"Identity",
         {.name = "T", .kind = (gantry_attr_kind_t)99},
         "expecting type value for attr T, got unknown kind"},
        {"Identity", {.name = "T"}, "expecting type value for attr T, got unknown kind"},
        {"Squeeze",
         {.name = "squeeze_dims", .kind = GANTRY_ATTR_INTS, .i = -1},
         "has -1 entries; accepted are 0 or more"},
        {"Squeeze",
         {.name = "squeeze_dims", .kind = GANTRY_ATTR_INTS, .i = 1},
         "has 1 entries at NULL"},
    };
    static infer_call_t self;
    for (size_t i = 0; i < COUNT(rows); ++i) {
        infer_call_init(&self, rows[i].op, "float32[1]", "");
        assert_int_equal(gantry__op_infer(&self.call, &rows[i].attr, 1), GANTRY_INVALID_ARGUMENT);
        if (!strstr(gantry__message(), rows[i].message))
            fail_msg("row %zu: %s", i, gantry__message());
    }
    const gantry_attr_value_t no_dims = {.name = "squeeze_dims", .kind = GANTRY_ATTR_INTS};
    infer_call_init(&self, "Squeeze", "float32[1]", "");
    /* NULL is accepted for an empty list */
    assert_int_equal(gantry__op_infer(&self.call, &no_dims, 1), GANTRY_OK);
    infer_call_init(&self, "Sum", "float32[1] int32{0}", "keep_dims=true");
    self.attrs[0].i = 2;
    assert_int_equal(infer_call_run(&self), GANTRY_INVALID_ARGUMENT);
    assert_string_equal(gantry__message(),
                        "Sum: bool attribute 'keep_dims' is 2; accepted are 0 and 1");
    infer_call_init(&self, "BiasAdd", "float32[2,2] float32[2]", "data_format='x'");
    self.attrs[0].s = NULL;
    assert_int_equal(infer_call_run(&self), GANTRY_INVALID_ARGUMENT);
    assert_string_equal(gantry__message(), "BiasAdd: string attribute 'data_format' is NULL");
    assert_int_equal(gantry__op_infer(&self.call, NULL, 2), GANTRY_INVALID_ARGUMENT);
    assert_string_equal(gantry__message(), "BiasAdd: 2 attributes at NULL");
}

/* ---- types ---- */

TEST(types_are_settled_by_inputs_or_user) {
    static const infer_case_t cases[] = {
        {"Add", "int64[2] int64[2]", "", "int64[2]"},
        {"Add", "int64[2] int64[2]", "T=int64", "int64[2]"},
        {"Less", "int64[2] int64[2]", "", "bool[2]"},
        {"Cast", "int64[2]", "DstT=float32", "float32[2]"},
        {"Cast", "int64[2]", "DstT=float32 SrcT=int64", "float32[2]"},
        {"Cast", "float16[2]", "DstT=bfloat16", "bfloat16[2]"},
        {"MatMul", "float16[2,3] float16[3,4]", "", "float16[2,4]"},
        {"BatchMatMul", "bfloat16[5,2,3] bfloat16[3,4]", "", "bfloat16[5,2,4]"},
        {"OnesLike", "uint16[2]", "", "uint16[2]"},
        {"Identity", "bfloat16[2]", "", "bfloat16[2]"},
        {"Reshape", "uint8[6] int64{2,3}", "", "uint8[2,3]"},
        {"ArgMax", "float32[2,3] int32(0)", "", "int64[3]"},
        {"ArgMax", "float32[2,3] int64(0)", "output_type=int32", "int32[3]"},
        {"StatelessRandomUniform", "int32{2} int64{1,2}", "dtype=float64", "float64[2]"},
        {"StatelessRandomUniform", "int64{2} int32{1,2}", "T=int64 Tseed=int32", "float32[2]"},
    };
    infer_cases_assert(cases, COUNT(cases));
}

TEST(types_that_disagree_are_refused_as_tensorflow_does) {
    static const infer_case_t cases[] = {
        {"Add", "float32[2] int32[2]", "",
         "!cannot compute Add as input #1(zero-based) was expected to be a float32 tensor but is a int32 tensor"},
        {"Add", "float32[2] float32[2]", "T=int32",
         "!cannot compute Add as input #0(zero-based) was expected to be a int32 tensor but is a float32 tensor"},
        {"Select", "float32[2] float32[2] float32[2]", "",
         "!cannot compute Select as input #0(zero-based) was expected to be a bool tensor but is a float32 tensor"},
        {"AddN", "float32[2] float32[2] float64[2]", "",
         "!input #2(zero-based) was expected to be a float32 tensor"},
        {"Concat", "float32[2] int32[2] int32(0)", "",
         "!input #1(zero-based) was expected to be a float32 tensor"},
        {"Slice", "float32[2] int32{0} int64{1}", "",
         "!input #2(zero-based) was expected to be a int32 tensor"},
        {"OneHot", "int32[2] int64(3) float32 float32", "",
         "!input #1(zero-based) was expected to be a int32 tensor"},
        {"StatelessRandomUniformV2", "int32{2} int64{1} int64{1,2} int32(1)", "",
         "!input #1(zero-based) was expected to be a uint64 tensor but is a int64 tensor"},
        {"Add", "bool[2] bool[2]", "",
         "!Add: value for attr 'T' of bool is not in the list of allowed values: float32, float64, int32, uint8"},
        {"Maximum", "complex64[2] complex64[2]", "",
         "!Maximum: value for attr 'T' of complex64 is not in the list of allowed values: float32, float64, int32, uint8"},
        {"MatMul", "float16[2,3] float32[3,4]", "",
         "!cannot compute MatMul as input #1(zero-based) was expected to be a float16 tensor but is a float32 tensor"},
        {"Exp", "int32[2]", "",
         "!value for attr 'T' of int32 is not in the list of allowed values: float32, float64"},
        {"Equal", "complex64[2] complex64[2]", "",
         "!value for attr 'T' of complex64 is not in the list"},
        {"Sum", "float32[2] float32{0}", "",
         "!value for attr 'Tidx' of float32 is not in the list of allowed values: int32, int64"},
        {"Gather", "float32[2] float32[2] int32(0)", "", "!value for attr 'Tindices' of float32"},
        {"Cast", "float32[2]", "", "!Cast: attribute 'DstT' (type) must be given; accepted are "},
        {"Cast", "float32[2]", "DstT=complex64",
         "!value for attr 'DstT' of complex64 is not in the list"},
        {"ArgMax", "float32[2] int32(0)", "output_type=float32",
         "!value for attr 'output_type' of float32"},
    };
    infer_cases_assert(cases, COUNT(cases));
}

TEST(types_of_the_caller_out_of_range_are_refused) {
    static infer_call_t self;
    static const int numbers[] = {0, 7, 63, 64, 1000};
    for (size_t i = 0; i < COUNT(numbers); ++i) {
        infer_call_init(&self, "Identity", "float32[1]", "");
        self.call.dtypes[0] = (gantry_dtype_t)numbers[i];
        assert_int_equal(infer_call_run(&self), GANTRY_INVALID_ARGUMENT);
        assert_non_null(
            strstr(gantry__message(), "of invalid is not in the list of allowed values: float32"));
    }
}

/* ---- sizes of results ---- */

TEST(sizes_that_overflow_are_refused) {
    static const infer_case_t cases[] = {
        {"Fill", "int64{1099511627776,1099511627776} float32", "",
         "!Fill: shape [1099511627776,1099511627776] of the float32 result would have more than 2**63 - 1 elements"},
        {"Fill", "int64{2305843009213693952} float32", "",
         "!Fill: shape [2305843009213693952] of the float32 result would have more than 2**63 - 1 bytes"},
        {"Fill", "int64{2305843009213693951} float32", "", "float32[2305843009213693951]"},
        {"Fill", "int64{9223372036854775807} bool", "", "bool[9223372036854775807]"},
        {"Fill", "int64{0,9223372036854775807} float32", "", "float32[0,9223372036854775807]"},
        {"Fill", "int64{0,4294967296,4294967296} float32", "",
         "!would have more than 2**63 - 1 elements"},
        {"Cast", "bool[2305843009213693952]", "DstT=float64",
         "!would have more than 2**63 - 1 bytes"},
        {"Add", "float32[4294967296,1] float32[1,4294967296]", "",
         "!shape [4294967296,4294967296] of the float32 result"},
        {"MatMul", "float32[4294967296,0] float32[0,4294967296]", "",
         "!would have more than 2**63 - 1 elements"},
        {"Range", "int64(0) int64(2305843009213693952) int64(1)", "",
         "!would have more than 2**63 - 1 bytes"},
        {"OneHot", "int32[4294967296,2147483648] int32(2) float32 float32", "",
         "!would have more than 2**63 - 1 elements"},
        {"VarHandleOp", "", "dtype=float32 shape=[4611686018427387904]",
         "!would have more than 2**63 - 1 bytes"},
        {"Fill", "int32{2147483647,2147483647} float64", "",
         "!would have more than 2**63 - 1 bytes"},
        {"Fill", "int32{46341,46341,2} float32", "", "float32[46341,46341,2]"},
    };
    infer_cases_assert(cases, COUNT(cases));
}

/* ---- unreadable host arguments ---- */

TEST(host_value_that_fails_keeps_its_message) {
    static const struct {
        const char *op, *inputs, *message;
    } rows[] = {
        {"Sum", "float32[2] int32[1]",
         "Sum: input 1 (reduction_indices) cannot be read: no contents"},
        {"Reshape", "float32[2] int32[1]", "Reshape: input 1 (shape) cannot be read: no contents"},
        {"Concat", "float32[2] float32[2] float32[2] int32",
         "Concat: input 3 (axis) cannot be read: no contents"},
        {"Fill", "int32[1] float32", "Fill: input 0 (dims) cannot be read: no contents"},
        {"Range", "int32(1) int32(2) int32", "Range: input 2 (delta) cannot be read: no contents"},
        {"Slice", "float32[2] int32{0} int32[1]",
         "Slice: input 2 (size) cannot be read: no contents"},
    };
    static infer_call_t self;
    for (size_t i = 0; i < COUNT(rows); ++i) {
        infer_call_init(&self, rows[i].op, rows[i].inputs, "");
        assert_int_equal(infer_call_run(&self), GANTRY_UNKNOWN);
        assert_string_equal(gantry__message(), rows[i].message);
    }
}

/* A shape function may read host arguments only: other arguments are on a device. */
TEST(host_value_is_asked_for_host_arguments_only) {
    static const struct {
        const char *op, *inputs;
        uint64_t read;
    } rows[] = {
        {"Gather", "float32[2]{1,2} int32[2]{0,1} int32(0)", 4},
        {"OneHot", "int32{1} int32(2) float32(1) float32(0)", 2},
        {"Fill", "int32{2} float32(1)", 1},
        {"Concat", "float32{1} float32{2} int32(0)", 4},
        {"StatelessRandomUniform", "int32{2} int32{1,2}", 1},
        {"StatelessRandomUniformV2", "int32{2} uint64{1} uint64{1,2} int32(1)", 9},
        {"Sum", "float32{1} int32{}", 0}, /* no element, so it needs no read */
        {"Add", "float32{1} float32{1}", 0},
    };
    static infer_call_t self;
    for (size_t i = 0; i < COUNT(rows); ++i) {
        infer_call_init(&self, rows[i].op, rows[i].inputs, "");
        assert_int_equal(infer_call_run(&self), GANTRY_OK);
        if (self.read != rows[i].read)
            fail_msg("%s read %llx", rows[i].op, (unsigned long long)self.read);
        for (uint32_t k = 0; k < self.call.input_count; ++k) {
            const gantry__op_arg_t *arg =
                gantry__op_input_arg(self.call.op, self.call.input_count, k);
            if (self.read >> k & 1) assert_true(arg->flags & GANTRY__ARG_HOST);
        }
    }
}

int main(void) { return test_main(); }
