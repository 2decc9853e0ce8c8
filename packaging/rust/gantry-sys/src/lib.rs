// SPDX-License-Identifier: Apache-2.0
//! Gantry's C functions, structs and constants. The headers document them.
#![allow(non_camel_case_types, non_upper_case_globals)]
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};

// A struct that begins with struct_size: zeros, which every such struct allows, and its size.
macro_rules! sized {
    ($name:ident) => {
        impl Default for $name {
            fn default() -> Self {
                let mut value: Self = unsafe { std::mem::zeroed() };
                value.struct_size = size_of::<Self>() as _;
                value
            }
        }
    };
}

include!("bindings.rs");

/// GANTRY_SHAPE of the headers. Panics where there are more than GANTRY_MAX_RANK dimensions.
pub fn shape_of(dims: &[i64]) -> gantry_shape_t {
    let mut shape = gantry_shape_t { rank: dims.len() as i32, dims: [0; GANTRY_MAX_RANK as usize] };
    shape.dims[..dims.len()].copy_from_slice(dims);
    shape
}
