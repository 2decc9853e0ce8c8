// SPDX-License-Identifier: Apache-2.0
// The README's first program.
use gantry_sys::*;
use std::ffi::{CStr, c_char};
use std::ptr::{null, null_mut};

fn text(pointer: *const c_char) -> String {
    unsafe { CStr::from_ptr(pointer) }.to_str().unwrap().to_string()
}

#[test]
fn first_program_prints_what_the_readme_shows() {
    let v = [1f32, 2., 3., 4., 5., 6.];
    unsafe {
        let mut runtime = null_mut();
        assert_eq!(gantry_runtime_create(null(), &mut runtime), GANTRY_OK, "{}", text(gantry_last_message()));
        let scope = gantry_scope_begin(runtime, c"/GPU:0".as_ptr());
        let a = gantry_constant(scope, GANTRY_FLOAT32, shape_of(&[2, 3]), v.as_ptr().cast(), size_of_val(&v));
        let b = gantry_constant(scope, GANTRY_FLOAT32, shape_of(&[3, 2]), v.as_ptr().cast(), size_of_val(&v));
        let c = gantry_matmul(scope, a, b, null());

        let mut shown: [c_char; 256] = [0; 256];
        gantry_tensor_format(c, null(), shown.as_mut_ptr(), shown.len(), null_mut());
        assert_eq!(text(shown.as_ptr()), "[[22. 28.]\n [49. 64.]]");

        let mut record = gantry_placement_record_t::default();
        let mut count = 0;
        gantry_get_placements(runtime, 1, &mut record, &mut count);
        assert_eq!(text(record.op.as_ptr().cast()), "MatMul");
        assert!(text(record.device.as_ptr().cast()).starts_with("/job:localhost/replica:0/task:0/device:"));
        assert!(!text(gantry_placement_reason_text(record.reason)).is_empty());

        assert_eq!(gantry_scope_end(scope), GANTRY_OK, "{}", text(gantry_last_message()));
        gantry_runtime_release(runtime);
    }
}

#[cfg(feature = "train")]
#[test]
fn train_is_linked() {
    assert!(unsafe { gantry_dataset_take(null_mut(), 1) }.is_null());
}

#[cfg(feature = "onnx")]
#[test]
fn onnx_is_linked() {
    unsafe { gantry_onnx_model_release(null_mut()) };
}
