// SPDX-License-Identifier: Apache-2.0
// Written by packaging/make-rust-bindings.

pub const GANTRY_AUTOTUNE: c_int = -1;
pub const GANTRY_CALLBACK_STATE_BYTES: c_int = 1024;
pub const GANTRY_DEVICE_NONE: &CStr = c"none";
pub const GANTRY_FILE_PATH_BYTES: c_int = 4096;
pub const GANTRY_INFINITE_CARDINALITY: c_int = -1;
pub const GANTRY_MAX_COMPONENTS: c_int = 16;
pub const GANTRY_MAX_FUNCTION_VALUES: c_int = 65536;
pub const GANTRY_MAX_GRAPH_BRANCHES: c_int = 64;
pub const GANTRY_MAX_GRAPH_TEXT: c_int = 65535;
pub const GANTRY_MAX_JOINED: c_int = 32;
pub const GANTRY_MAX_NESTING: c_int = 16;
pub const GANTRY_MAX_OP_INPUTS: c_int = 64;
pub const GANTRY_MAX_OP_OUTPUTS: c_int = 64;
pub const GANTRY_MAX_RANK: c_int = 8;
pub const GANTRY_MAX_REFUSALS: c_int = 8;
pub const GANTRY_NPY_HEADER_BYTES: c_int = 384;
pub const GANTRY_OPEN_SIZE: c_int = -2;
pub const GANTRY_PROFILE_TOTAL: usize = usize::MAX;
pub const GANTRY_RANDOM_STATE_WORDS: c_int = 3;
pub const GANTRY_SAVED_FORMAT: c_int = 2;
pub const GANTRY_UNKNOWN_CARDINALITY: c_int = -2;

pub type gantry_dtype_t = c_uint;
pub const GANTRY_DTYPE_NONE: gantry_dtype_t = 0;
pub const GANTRY_FLOAT32: gantry_dtype_t = 1;
pub const GANTRY_FLOAT64: gantry_dtype_t = 2;
pub const GANTRY_INT32: gantry_dtype_t = 3;
pub const GANTRY_UINT8: gantry_dtype_t = 4;
pub const GANTRY_INT16: gantry_dtype_t = 5;
pub const GANTRY_INT8: gantry_dtype_t = 6;
pub const GANTRY_COMPLEX64: gantry_dtype_t = 8;
pub const GANTRY_INT64: gantry_dtype_t = 9;
pub const GANTRY_BOOL: gantry_dtype_t = 10;
pub const GANTRY_BFLOAT16: gantry_dtype_t = 14;
pub const GANTRY_UINT16: gantry_dtype_t = 17;
pub const GANTRY_COMPLEX128: gantry_dtype_t = 18;
pub const GANTRY_FLOAT16: gantry_dtype_t = 19;
pub const GANTRY_UINT32: gantry_dtype_t = 22;
pub const GANTRY_UINT64: gantry_dtype_t = 23;
pub const GANTRY_FLOAT8_E5M2: gantry_dtype_t = 24;
pub const GANTRY_FLOAT8_E4M3FN: gantry_dtype_t = 25;
pub type gantry_status_t = c_uint;
pub const GANTRY_OK: gantry_status_t = 0;
pub const GANTRY_CANCELLED: gantry_status_t = 1;
pub const GANTRY_UNKNOWN: gantry_status_t = 2;
pub const GANTRY_INVALID_ARGUMENT: gantry_status_t = 3;
pub const GANTRY_DEADLINE_EXCEEDED: gantry_status_t = 4;
pub const GANTRY_NOT_FOUND: gantry_status_t = 5;
pub const GANTRY_ALREADY_EXISTS: gantry_status_t = 6;
pub const GANTRY_PERMISSION_DENIED: gantry_status_t = 7;
pub const GANTRY_RESOURCE_EXHAUSTED: gantry_status_t = 8;
pub const GANTRY_FAILED_PRECONDITION: gantry_status_t = 9;
pub const GANTRY_ABORTED: gantry_status_t = 10;
pub const GANTRY_OUT_OF_RANGE: gantry_status_t = 11;
pub const GANTRY_UNIMPLEMENTED: gantry_status_t = 12;
pub const GANTRY_INTERNAL: gantry_status_t = 13;
pub const GANTRY_UNAVAILABLE: gantry_status_t = 14;
pub const GANTRY_DATA_LOSS: gantry_status_t = 15;
pub type gantry_attr_kind_t = c_uint;
pub const GANTRY_ATTR_BOOL: gantry_attr_kind_t = 1;
pub const GANTRY_ATTR_INT: gantry_attr_kind_t = 2;
pub const GANTRY_ATTR_FLOAT: gantry_attr_kind_t = 3;
pub const GANTRY_ATTR_TYPE: gantry_attr_kind_t = 4;
pub const GANTRY_ATTR_SHAPE: gantry_attr_kind_t = 5;
pub const GANTRY_ATTR_INTS: gantry_attr_kind_t = 6;
pub const GANTRY_ATTR_STRING: gantry_attr_kind_t = 7;
pub type gantry_log_level_t = c_uint;
pub const GANTRY_LEVEL_DEFAULT: gantry_log_level_t = 0;
pub const GANTRY_LEVEL_DEBUG: gantry_log_level_t = 1;
pub const GANTRY_LEVEL_INFO: gantry_log_level_t = 2;
pub const GANTRY_LEVEL_WARNING: gantry_log_level_t = 3;
pub const GANTRY_LEVEL_ERROR: gantry_log_level_t = 4;
pub type gantry_fault_code_t = c_uint;
pub const GANTRY_FAULT_NONE: gantry_fault_code_t = 0;
pub const GANTRY_FAULT_INDEX_OUT_OF_RANGE: gantry_fault_code_t = 1;
pub const GANTRY_FAULT_DIVISION_BY_ZERO: gantry_fault_code_t = 2;
pub const GANTRY_FAULT_BAD_PERMUTATION: gantry_fault_code_t = 3;
pub const GANTRY_FAULT_NEGATIVE_EXPONENT: gantry_fault_code_t = 4;
pub const GANTRY_FAULT_LABEL_OUT_OF_RANGE: gantry_fault_code_t = 5;
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gantry_shape_t {
    pub rank: i32,
    pub dims: [i64; 8],
}
pub type gantry_release_fn = Option<unsafe extern "C" fn(*mut c_void)>;
#[repr(C)]
pub struct gantry_runtime_t {
    _opaque: [u8; 0],
}
pub type gantry_log_fn = Option<unsafe extern "C" fn(*mut c_void, gantry_log_level_t, *const c_char)>;
pub type gantry_reallocate_fn = Option<unsafe extern "C" fn(*mut c_void, *mut c_void, usize, usize) -> *mut c_void>;
pub type gantry_choice_t = c_uint;
pub const GANTRY_DEFAULT: gantry_choice_t = 0;
pub const GANTRY_OFF: gantry_choice_t = 1;
pub const GANTRY_ON: gantry_choice_t = 2;
pub type gantry_device_policy_t = c_uint;
pub const GANTRY_POLICY_DEFAULT: gantry_device_policy_t = 0;
pub const GANTRY_POLICY_EXPLICIT: gantry_device_policy_t = 1;
pub const GANTRY_POLICY_WARN: gantry_device_policy_t = 2;
pub const GANTRY_POLICY_SILENT: gantry_device_policy_t = 3;
pub const GANTRY_POLICY_SILENT_FOR_INT32: gantry_device_policy_t = 4;
pub type gantry_placement_mode_t = c_uint;
pub const GANTRY_PLACEMENT_DEFAULT: gantry_placement_mode_t = 0;
pub const GANTRY_PLACEMENT_PREFER: gantry_placement_mode_t = 1;
pub const GANTRY_PLACEMENT_WARN_ONCE: gantry_placement_mode_t = 2;
pub const GANTRY_PLACEMENT_REQUIRE: gantry_placement_mode_t = 3;
pub type gantry_wait_policy_t = c_uint;
pub const GANTRY_WAIT_DEFAULT: gantry_wait_policy_t = 0;
pub const GANTRY_WAIT_AUTO: gantry_wait_policy_t = 1;
pub const GANTRY_WAIT_SPIN: gantry_wait_policy_t = 2;
pub const GANTRY_WAIT_YIELD: gantry_wait_policy_t = 3;
pub const GANTRY_WAIT_BLOCK: gantry_wait_policy_t = 4;
pub const GANTRY_WAIT_ADAPTIVE: gantry_wait_policy_t = 5;
pub type gantry_profile_mode_t = c_uint;
pub const GANTRY_PROFILE_DEFAULT: gantry_profile_mode_t = 0;
pub const GANTRY_PROFILE_OFF: gantry_profile_mode_t = 1;
pub const GANTRY_PROFILE_ON: gantry_profile_mode_t = 2;
pub const GANTRY_PROFILE_WAIT: gantry_profile_mode_t = 3;
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gantry_runtime_options_t {
    pub struct_size: u32,
    pub log_level: gantry_log_level_t,
    pub log: gantry_log_fn,
    pub log_user: *mut c_void,
    pub reallocate: gantry_reallocate_fn,
    pub reallocate_user: *mut c_void,
    pub backend_path: *const c_char,
    pub backends: *const c_char,
    pub visible_devices: *const c_char,
    pub opencl_cpu_as_gpu: gantry_choice_t,
    pub soft_placement: gantry_choice_t,
    pub log_placement: gantry_choice_t,
    pub placement_mode: gantry_placement_mode_t,
    pub device_policy: gantry_device_policy_t,
    pub memory_growth: gantry_choice_t,
    pub memory_limit_bytes: u64,
    pub cpu_threads: i32,
    pub kernel_cache: *const c_char,
    pub extra: *const *const c_char,
    pub memory_fraction: f64,
    pub logical_devices: *const c_char,
    pub pinned_limit_bytes: u64,
    pub memory_step_bytes: u64,
    pub memory_split_bytes: u64,
    pub memory_collect: gantry_choice_t,
    pub oom_retry_ms: i32,
    pub oom_fallback: gantry_choice_t,
    pub profile: gantry_profile_mode_t,
    pub crossover: gantry_choice_t,
    pub trace: *const c_char,
    pub wait_policy: gantry_wait_policy_t,
    pub inter_op_threads: i32,
    pub batch_invariant: gantry_choice_t,
    pub adopted: *const *const gantry_adopted_context_t,
    pub adopted_count: usize,
    pub any_order: gantry_choice_t,
}
sized!(gantry_runtime_options_t);
pub type gantry_backend_state_t = c_uint;
pub const GANTRY_BACKEND_USABLE: gantry_backend_state_t = 0;
pub const GANTRY_BACKEND_UNAVAILABLE: gantry_backend_state_t = 1;
pub const GANTRY_BACKEND_REFUSED: gantry_backend_state_t = 2;
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gantry_backend_status_t {
    pub struct_size: u32,
    pub state: gantry_backend_state_t,
    pub name: *const c_char,
    pub description: *const c_char,
    pub path: *const c_char,
    pub reason: *const c_char,
    pub libraries: *const c_char,
    pub device_count: u32,
    pub untried: *const c_char,
}
sized!(gantry_backend_status_t);
pub type gantry_setting_source_t = c_uint;
pub const GANTRY_FROM_DEFAULT: gantry_setting_source_t = 0;
pub const GANTRY_FROM_ENVIRONMENT: gantry_setting_source_t = 1;
pub const GANTRY_FROM_OPTION: gantry_setting_source_t = 2;
pub const GANTRY_FROM_CALL: gantry_setting_source_t = 3;
#[repr(C)]
pub struct gantry_physical_device_t {
    _opaque: [u8; 0],
}
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gantry_setting_t {
    pub struct_size: u32,
    pub source: gantry_setting_source_t,
    pub value: [c_char; 256],
    pub set_by: [c_char; 64],
    pub overruled: [c_char; 128],
    pub per_device: bool,
    pub frozen: bool,
    pub variable: *const c_char,
    pub fallback: *const c_char,
    pub meaning: *const c_char,
}
sized!(gantry_setting_t);
#[repr(C)]
pub struct gantry_logical_device_t {
    _opaque: [u8; 0],
}
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gantry_device_details_t {
    pub struct_size: u32,
    pub name: *const c_char,
    pub r#type: *const c_char,
    pub alias: *const c_char,
    pub backend: *const c_char,
    pub hardware_name: *const c_char,
    pub vendor: *const c_char,
    pub driver_version: *const c_char,
    pub platform: *const c_char,
    pub pci_address: *const c_char,
    pub uuid: *const c_char,
    pub compute_capability: *const c_char,
    pub note: *const c_char,
    pub total_bytes: u64,
    pub largest_allocation_bytes: u64,
    pub alignment_bytes: u64,
    pub local_memory_bytes: u64,
    pub compute_units: u32,
    pub max_work_group_size: u32,
    pub native_vector_width: u32,
    pub float64: bool,
    pub visible: bool,
    pub listed: bool,
    pub other_view: *const c_char,
    pub hidden_by: *const c_char,
}
sized!(gantry_device_details_t);
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gantry_logical_device_config_t {
    pub struct_size: u32,
    pub memory_limit_bytes: u64,
    pub has_priority: bool,
    pub priority: i32,
    pub has_ordinal: bool,
    pub ordinal: i32,
    pub largest_allocation_bytes: u64,
    pub local_memory_bytes: u64,
    pub max_work_group_size: u32,
}
sized!(gantry_logical_device_config_t);
#[repr(C)]
pub struct gantry_claim_t {
    _opaque: [u8; 0],
}
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gantry_claim_info_t {
    pub struct_size: u32,
    pub held: bool,
    pub device: [c_char; 96],
    pub process: i64,
    pub user: i64,
    pub held_seconds: u64,
    pub since: [c_char; 32],
    pub host: [c_char; 64],
    pub command: [c_char; 256],
}
sized!(gantry_claim_info_t);
#[repr(C)]
pub struct gantry_tensor_t {
    _opaque: [u8; 0],
}
#[repr(C)]
pub struct gantry_read_t {
    _opaque: [u8; 0],
}
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gantry_format_options_t {
    pub struct_size: u32,
    pub precision: i32,
    pub threshold: i32,
    pub edge_items: i32,
    pub line_width: i32,
    pub suppress: bool,
    pub as_tensorflow: bool,
}
sized!(gantry_format_options_t);
#[repr(C)]
pub struct gantry_scope_t {
    _opaque: [u8; 0],
}
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gantry_device_choice_t {
    pub op: *const c_char,
    pub node: *const c_char,
    pub dtype: gantry_dtype_t,
    pub output_count: usize,
}
pub type gantry_device_fn = Option<unsafe extern "C" fn(*const gantry_device_choice_t, *mut c_void) -> *const c_char>;
#[repr(C)]
pub struct gantry_function_t {
    _opaque: [u8; 0],
}
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gantry_input_spec_t {
    pub name: *const c_char,
    pub dtype: gantry_dtype_t,
    pub shape: gantry_shape_t,
}
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gantry_metadata_t {
    pub key: *const c_char,
    pub text: *const c_char,
}
pub type gantry_function_body_fn = Option<unsafe extern "C" fn(*mut gantry_scope_t, *const *const gantry_tensor_t, *mut *const gantry_tensor_t, *mut c_void)>;
pub type gantry_pass_t = c_uint;
pub const GANTRY_PASS_DEAD_NODES: gantry_pass_t = 1;
pub const GANTRY_PASS_CONSTANT_FOLDING: gantry_pass_t = 2;
pub const GANTRY_PASS_COMMON_SUBEXPRESSIONS: gantry_pass_t = 4;
pub const GANTRY_PASS_ELEMENTWISE_FUSION: gantry_pass_t = 8;
pub const GANTRY_PASS_IN_PLACE: gantry_pass_t = 16;
pub const GANTRY_PASS_EARLY_COPIES: gantry_pass_t = 32;
pub const GANTRY_PASS_EPILOGUES: gantry_pass_t = 64;
pub const GANTRY_PASS_JOINED_UPDATES: gantry_pass_t = 128;
pub const GANTRY_PASS_LAYOUT: gantry_pass_t = 256;
pub const GANTRY_PASS_ALL: gantry_pass_t = 511;
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gantry_bound_input_t {
    pub name: *const c_char,
    pub index: u32,
    pub tensor: *const gantry_tensor_t,
}
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gantry_function_options_t {
    pub struct_size: u32,
    pub most_traces: u32,
    pub runs_eagerly: bool,
    pub inter_op_threads: i32,
    pub memory_budget_bytes: u64,
    pub passes_off: u32,
    pub device_graphs: gantry_choice_t,
    pub trimmed_with: *const gantry_function_t,
    pub batch_invariant: gantry_choice_t,
    pub bound: *const gantry_bound_input_t,
    pub bound_count: u32,
    pub output_names: *const *const c_char,
    pub metadata: *const gantry_metadata_t,
    pub metadata_count: usize,
}
sized!(gantry_function_options_t);
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gantry_clone_options_t {
    pub struct_size: u32,
    pub replaces_devices: bool,
    pub name: *const c_char,
    pub device: *const c_char,
    pub bound: *const gantry_bound_input_t,
    pub bound_count: u32,
}
sized!(gantry_clone_options_t);
#[repr(C)]
pub struct gantry_call_t {
    _opaque: [u8; 0],
}
pub type gantry_call_fn = Option<unsafe extern "C" fn(*mut gantry_call_t, *mut c_void)>;
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gantry_start_options_t {
    pub struct_size: u32,
    pub callback: gantry_call_fn,
    pub user: *mut c_void,
}
sized!(gantry_start_options_t);
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gantry_function_value_t {
    pub struct_size: u32,
    pub name: *const c_char,
    pub dtype: gantry_dtype_t,
    pub shape: gantry_shape_t,
}
sized!(gantry_function_value_t);
pub type gantry_explain_form_t = c_uint;
pub const GANTRY_EXPLAIN_TEXT: gantry_explain_form_t = 0;
pub const GANTRY_EXPLAIN_JSON: gantry_explain_form_t = 1;
pub const GANTRY_EXPLAIN_GRAPHVIZ: gantry_explain_form_t = 2;
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gantry_function_memory_t {
    pub struct_size: u32,
    pub device: [c_char; 128],
    pub planned_bytes: u64,
    pub unplanned_bytes: u64,
    pub constant_bytes: u64,
    pub result_bytes: u64,
}
sized!(gantry_function_memory_t);
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gantry_while_options_t {
    pub struct_size: u32,
    pub most_steps: u64,
}
sized!(gantry_while_options_t);
#[repr(C)]
pub struct DLManagedTensor {
    _opaque: [u8; 0],
}
#[repr(C)]
pub struct DLManagedTensorVersioned {
    _opaque: [u8; 0],
}
#[repr(C)]
pub struct DLPackExchangeAPI {
    _opaque: [u8; 0],
}
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gantry_from_dlpack_options_t {
    pub struct_size: u32,
    pub requires_no_copy: bool,
    pub device: *const gantry_logical_device_t,
    pub stream: *mut c_void,
}
sized!(gantry_from_dlpack_options_t);
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gantry_to_dlpack_options_t {
    pub struct_size: u32,
    pub copies: bool,
    pub stream: *mut c_void,
}
sized!(gantry_to_dlpack_options_t);
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gantry_new_file_t {
    pub file: i32,
    pub flags: u32,
    pub target: [c_char; 4096],
    pub temporary: [c_char; 4096],
}
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gantry_attr_value_t {
    pub name: *const c_char,
    pub kind: gantry_attr_kind_t,
    pub i: i64,
    pub f: f64,
    pub s: *const c_char,
    pub list: *const i64,
}
#[repr(C)]
pub struct gantry_prepared_op_t {
    _opaque: [u8; 0],
}
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gantry_op_info_t {
    pub struct_size: u32,
    pub name: *const c_char,
    pub summary: *const c_char,
    pub input_count: usize,
    pub output_count: usize,
    pub attr_count: usize,
    pub inputs: *const *const c_char,
    pub outputs: *const *const c_char,
    pub attrs: *const *const c_char,
    pub is_composed: bool,
    pub part_count: usize,
    pub parts: *const *const c_char,
    pub host_inputs: u64,
    pub types: *const i8,
    pub has_data_shape: bool,
    pub is_callable: bool,
    pub batch_dependence: *const c_char,
    pub version: u32,
}
sized!(gantry_op_info_t);
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gantry_program_stats_t {
    pub struct_size: u32,
    pub built: u64,
    pub loaded: u64,
    pub reused: u64,
    pub bad_entries: u64,
    pub launches: u64,
    pub build_ns: u64,
}
sized!(gantry_program_stats_t);
#[repr(C)]
pub struct gantry_variable_t {
    _opaque: [u8; 0],
}
#[repr(C)]
pub struct gantry_graph_t {
    _opaque: [u8; 0],
}
pub type gantry_graph_value_t = u32;
pub type gantry_assign_mode_t = c_uint;
pub const GANTRY_ASSIGN_SET: gantry_assign_mode_t = 0;
pub const GANTRY_ASSIGN_ADD: gantry_assign_mode_t = 1;
pub const GANTRY_ASSIGN_SUB: gantry_assign_mode_t = 2;
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gantry_graph_node_t {
    pub struct_size: u32,
    pub op: *const c_char,
    pub name: *const c_char,
    pub device: *const c_char,
    pub inputs: *const gantry_graph_value_t,
    pub input_count: usize,
    pub attrs: *const gantry_attr_value_t,
    pub attr_count: usize,
    pub controls: *const gantry_graph_value_t,
    pub control_count: usize,
    pub colocated: *const gantry_graph_value_t,
    pub colocated_count: usize,
    pub refuses_gradient: bool,
    pub any_order: bool,
}
sized!(gantry_graph_node_t);
pub type gantry_graph_kind_t = c_uint;
pub const GANTRY_GRAPH_INPUT: gantry_graph_kind_t = 0;
pub const GANTRY_GRAPH_CONSTANT: gantry_graph_kind_t = 1;
pub const GANTRY_GRAPH_OP: gantry_graph_kind_t = 2;
pub const GANTRY_GRAPH_READ: gantry_graph_kind_t = 3;
pub const GANTRY_GRAPH_ASSIGN: gantry_graph_kind_t = 4;
pub const GANTRY_GRAPH_CASE: gantry_graph_kind_t = 5;
pub const GANTRY_GRAPH_WHILE: gantry_graph_kind_t = 6;
pub const GANTRY_GRAPH_DRAW: gantry_graph_kind_t = 7;
pub const GANTRY_GRAPH_JOIN: gantry_graph_kind_t = 8;
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gantry_graph_node_info_t {
    pub struct_size: u32,
    pub kind: gantry_graph_kind_t,
    pub node: gantry_graph_node_t,
    pub first_output: gantry_graph_value_t,
    pub output_count: usize,
    pub dtype: gantry_dtype_t,
    pub shape: gantry_shape_t,
    pub tensor: *const gantry_tensor_t,
    pub variable: *mut gantry_variable_t,
    pub mode: gantry_assign_mode_t,
    pub subgraphs: *const *mut gantry_graph_t,
    pub subgraph_count: usize,
    pub most_steps: u64,
}
sized!(gantry_graph_node_info_t);
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gantry_from_memory_options_t {
    pub struct_size: u32,
    pub requires_no_copy: bool,
    pub is_writable: bool,
    pub release: gantry_release_fn,
    pub user: *mut c_void,
}
sized!(gantry_from_memory_options_t);
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gantry_tensor_memory_t {
    pub struct_size: u32,
    pub is_foreign: bool,
    pub is_writable: bool,
    pub is_mappable: bool,
    pub map_count: u32,
}
sized!(gantry_tensor_memory_t);
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gantry_adopted_context_t {
    pub struct_size: u32,
    pub backend: *const c_char,
    pub context: *mut c_void,
    pub device: *mut c_void,
    pub queue: *mut c_void,
}
sized!(gantry_adopted_context_t);
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gantry_native_t {
    pub struct_size: u32,
    pub is_adopted: bool,
    pub backend: *const c_char,
    pub context: *mut c_void,
    pub device: *mut c_void,
    pub queue: *mut c_void,
}
sized!(gantry_native_t);
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gantry_from_device_memory_options_t {
    pub struct_size: u32,
    pub is_writable: bool,
    pub ready_event: *mut c_void,
    pub release: gantry_release_fn,
    pub user: *mut c_void,
}
sized!(gantry_from_device_memory_options_t);
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gantry_device_memory_t {
    pub struct_size: u32,
    pub device: *const gantry_logical_device_t,
    pub memory: *mut c_void,
    pub offset_bytes: u64,
    pub size_bytes: u64,
}
sized!(gantry_device_memory_t);
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gantry_reduce_body_options_t {
    pub struct_size: u32,
    pub axes: *const i32,
    pub axis_count: usize,
    pub keep_dims: bool,
    pub in_order: bool,
}
sized!(gantry_reduce_body_options_t);
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gantry_window_body_options_t {
    pub struct_size: u32,
    pub strides: *const i64,
    pub base_dilations: *const i64,
    pub window_dilations: *const i64,
    pub paddings: *const i64,
}
sized!(gantry_window_body_options_t);
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gantry_scan_body_options_t {
    pub struct_size: u32,
    pub exclusive: bool,
    pub reverse: bool,
}
sized!(gantry_scan_body_options_t);
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gantry_scatter_body_options_t {
    pub struct_size: u32,
    pub bad_indices_policy: *const c_char,
}
sized!(gantry_scatter_body_options_t);
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gantry_memory_info_t {
    pub struct_size: u32,
    pub current_bytes: u64,
    pub peak_bytes: u64,
    pub pool_bytes: u64,
    pub peak_pool_bytes: u64,
    pub limit_bytes: u64,
    pub largest_free_bytes: u64,
    pub largest_allocation_bytes: u64,
    pub allocation_count: u64,
    pub driver_free_bytes: u64,
    pub driver_total_bytes: u64,
    pub requested_bytes: u64,
    pub staging_bytes: u64,
    pub region_count: u64,
    pub extended_count: u64,
    pub waited_count: u64,
    pub collected_count: u64,
    pub out_of_memory_count: u64,
    pub context_bytes: u64,
    pub context_charged_bytes: u64,
    pub foreign_bytes: u64,
}
sized!(gantry_memory_info_t);
pub type gantry_report_format_t = c_uint;
pub const GANTRY_REPORT_TEXT: gantry_report_format_t = 0;
pub const GANTRY_REPORT_JSON: gantry_report_format_t = 1;
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gantry_observation_t {
    pub struct_size: u32,
    pub op: *const c_char,
    pub inputs: *const *const gantry_tensor_t,
    pub input_count: usize,
    pub outputs: *const *const gantry_tensor_t,
    pub output_count: usize,
    pub attrs: *const gantry_attr_value_t,
    pub attr_count: usize,
    pub variable: *mut gantry_variable_t,
    pub function: *mut gantry_function_t,
    pub bodies: *const gantry_function_body_fn,
    pub body_count: usize,
    pub user: *mut c_void,
    pub most_steps: u64,
    pub effect: *const c_char,
    pub input_shapes: *const gantry_shape_t,
    pub output_shapes: *const gantry_shape_t,
}
sized!(gantry_observation_t);
pub type gantry_observe_fn = Option<unsafe extern "C" fn(*mut gantry_scope_t, *const gantry_observation_t, *mut c_void) -> gantry_status_t>;
pub type gantry_observe_whole_fn = Option<unsafe extern "C" fn(*const c_char, *mut c_void) -> bool>;
pub type gantry_observe_end_fn = Option<unsafe extern "C" fn(*mut gantry_scope_t, *mut c_void)>;
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gantry_observer_t {
    pub observe: gantry_observe_fn,
    pub whole: gantry_observe_whole_fn,
    pub user: *mut c_void,
    pub end: gantry_observe_end_fn,
    pub outer: *mut gantry_observer_t,
    pub scope: *mut gantry_scope_t,
}
#[repr(C)]
pub struct gantry__fp_mode_t {
    _opaque: [u8; 0],
}
pub type gantry_fp_mode_t = gantry__fp_mode_t;
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gantry_scaled_attention_options_t {
    pub struct_size: u32,
    pub mask: *const gantry_tensor_t,
    pub past_key: *const gantry_tensor_t,
    pub past_value: *const gantry_tensor_t,
    pub is_causal: bool,
    pub scale: f64,
    pub softcap: f64,
}
sized!(gantry_scaled_attention_options_t);
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gantry_rotary_options_t {
    pub struct_size: u32,
    pub interleaved: bool,
    pub num_heads: i64,
    pub dim: i64,
}
sized!(gantry_rotary_options_t);
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gantry_reduce_options_t {
    pub struct_size: u32,
    pub axes: *const i32,
    pub axis_count: usize,
    pub keep_dims: bool,
}
sized!(gantry_reduce_options_t);
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gantry_scan_options_t {
    pub struct_size: u32,
    pub exclusive: bool,
    pub reverse: bool,
}
sized!(gantry_scan_options_t);
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gantry_fused_batch_norm_options_t {
    pub struct_size: u32,
    pub epsilon: f64,
    pub exponential_avg_factor: f64,
    pub inference: bool,
    pub channels_first: bool,
}
sized!(gantry_fused_batch_norm_options_t);
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gantry_matmul_options_t {
    pub struct_size: u32,
    pub transpose_a: bool,
    pub transpose_b: bool,
}
sized!(gantry_matmul_options_t);
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gantry_diagonal_options_t {
    pub struct_size: u32,
    pub lower: i32,
    pub upper: i32,
    pub rows: i32,
    pub columns: i32,
    pub padding: *const gantry_tensor_t,
    pub align: *const c_char,
}
sized!(gantry_diagonal_options_t);
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gantry_strided_slice_options_t {
    pub struct_size: u32,
    pub begin_mask: i32,
    pub end_mask: i32,
    pub ellipsis_mask: i32,
    pub new_axis_mask: i32,
    pub shrink_axis_mask: i32,
}
sized!(gantry_strided_slice_options_t);
pub type gantry_pad_mode_t = c_uint;
pub const GANTRY_PAD_CONSTANT: gantry_pad_mode_t = 0;
pub const GANTRY_PAD_REFLECT: gantry_pad_mode_t = 1;
pub const GANTRY_PAD_SYMMETRIC: gantry_pad_mode_t = 2;
pub const GANTRY_PAD_EDGE: gantry_pad_mode_t = 3;
pub const GANTRY_PAD_WRAP: gantry_pad_mode_t = 4;
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gantry_pad_options_t {
    pub struct_size: u32,
    pub mode: gantry_pad_mode_t,
    pub value: *const gantry_tensor_t,
    pub interior: *const i64,
    pub crop: bool,
}
sized!(gantry_pad_options_t);
pub type gantry_padding_t = c_uint;
pub const GANTRY_PADDING_SAME: gantry_padding_t = 0;
pub const GANTRY_PADDING_VALID: gantry_padding_t = 1;
pub const GANTRY_PADDING_EXPLICIT: gantry_padding_t = 2;
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gantry_window_options_t {
    pub struct_size: u32,
    pub strides: [i64; 2],
    pub dilations: [i64; 2],
    pub padding: gantry_padding_t,
    pub explicit_paddings: [i64; 4],
    pub channels_first: bool,
    pub ceil_mode: bool,
    pub count_include_pad: bool,
}
sized!(gantry_window_options_t);
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gantry_resize_options_t {
    pub struct_size: u32,
    pub mode: *const c_char,
    pub coordinate_transformation: *const c_char,
    pub nearest_mode: *const c_char,
    pub cubic_coeff_a: f64,
    pub exclude_outside: bool,
    pub antialias: bool,
    pub extrapolation_value: f64,
    pub keep_aspect_ratio_policy: *const c_char,
    pub axes: *const i64,
    pub scales: *const f32,
    pub roi: *const f32,
}
sized!(gantry_resize_options_t);
pub type gantry_placement_reason_t = c_uint;
pub const GANTRY_PLACED_NONE: gantry_placement_reason_t = 0;
pub const GANTRY_PLACED_EXPLICIT: gantry_placement_reason_t = 1;
pub const GANTRY_PLACED_GPU_PREFERRED: gantry_placement_reason_t = 2;
pub const GANTRY_PLACED_ONLY_CPU_KERNEL: gantry_placement_reason_t = 3;
pub const GANTRY_PLACED_NO_GPU: gantry_placement_reason_t = 4;
pub const GANTRY_PLACED_SOFT_SAME_TYPE: gantry_placement_reason_t = 5;
pub const GANTRY_PLACED_SOFT_OTHER_TYPE: gantry_placement_reason_t = 6;
pub const GANTRY_PLACED_WITH_VARIABLE: gantry_placement_reason_t = 7;
pub const GANTRY_PLACED_PARTIAL: gantry_placement_reason_t = 8;
pub const GANTRY_PLACED_REFUSED: gantry_placement_reason_t = 9;
pub const GANTRY_PLACED_OUT_OF_MEMORY: gantry_placement_reason_t = 10;
pub const GANTRY_PLACED_WITH_INPUT: gantry_placement_reason_t = 11;
pub const GANTRY_PLACED_WITH_CONSUMER: gantry_placement_reason_t = 12;
pub const GANTRY_PLACED_WITH_BODY: gantry_placement_reason_t = 13;
pub const GANTRY_PLACED_COLOCATED: gantry_placement_reason_t = 14;
pub const GANTRY_PLACED_CROSSOVER: gantry_placement_reason_t = 15;
pub type gantry_refusal_t = c_uint;
pub const GANTRY_REFUSED_NO_KERNEL: gantry_refusal_t = 1;
pub const GANTRY_REFUSED_NO_KERNEL_FOR_TYPE: gantry_refusal_t = 2;
pub const GANTRY_REFUSED_KERNEL_DECLINED: gantry_refusal_t = 3;
pub const GANTRY_REFUSED_NAME_MISMATCH: gantry_refusal_t = 4;
pub const GANTRY_REFUSED_NO_SUCH_DEVICE: gantry_refusal_t = 5;
pub const GANTRY_REFUSED_NOT_VISIBLE: gantry_refusal_t = 6;
pub const GANTRY_REFUSED_INTEGER_VARIABLE: gantry_refusal_t = 7;
pub const GANTRY_REFUSED_DEVICE_LOST: gantry_refusal_t = 8;
pub const GANTRY_REFUSED_OUT_OF_MEMORY: gantry_refusal_t = 9;
pub const GANTRY_REFUSED_DEVICE_LACKS_TYPE: gantry_refusal_t = 10;
pub const GANTRY_REFUSED_COLOCATED: gantry_refusal_t = 11;
pub const GANTRY_REFUSED_COSTS_MORE: gantry_refusal_t = 12;
pub const GANTRY_REFUSED_NOT_MEASURED: gantry_refusal_t = 13;
pub const GANTRY_REFUSED_BATCH_DEPENDENT: gantry_refusal_t = 14;
pub type gantry_any_order_t = c_uint;
pub const GANTRY_ANY_ORDER_OFF: gantry_any_order_t = 0;
pub const GANTRY_ANY_ORDER_USED: gantry_any_order_t = 1;
pub const GANTRY_ANY_ORDER_NOT_OF_OP: gantry_any_order_t = 2;
pub const GANTRY_ANY_ORDER_NOT_OF_TYPE: gantry_any_order_t = 3;
pub const GANTRY_ANY_ORDER_NO_ATOMICS: gantry_any_order_t = 4;
pub const GANTRY_ANY_ORDER_BATCH_INVARIANT: gantry_any_order_t = 5;
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gantry_placement_record_t_refusals {
    pub device: [c_char; 128],
    pub why: gantry_refusal_t,
}
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gantry_placement_record_t {
    pub struct_size: u32,
    pub reason: gantry_placement_reason_t,
    pub sequence: u64,
    pub op: [c_char; 48],
    pub dtype: gantry_dtype_t,
    pub asked: [c_char; 256],
    pub device: [c_char; 128],
    pub kernel: [c_char; 32],
    pub bytes_copied: u64,
    pub refusal_count: u32,
    pub refusals: [gantry_placement_record_t_refusals; 8],
    pub part_of: [c_char; 48],
    pub cost_ns: u64,
    pub other_cost_ns: u64,
    pub batch_invariant: bool,
    pub left_library: [c_char; 32],
    pub any_order: gantry_any_order_t,
}
sized!(gantry_placement_record_t);
pub type gantry_placement_fn = Option<unsafe extern "C" fn(*mut c_void, *const gantry_placement_record_t)>;
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gantry_placement_count_t {
    pub struct_size: u32,
    pub reason: gantry_placement_reason_t,
    pub op: [c_char; 48],
    pub device: [c_char; 128],
    pub count: u64,
}
sized!(gantry_placement_count_t);
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gantry_profile_row_t {
    pub struct_size: u32,
    pub op: [c_char; 48],
    pub part_of: [c_char; 48],
    pub device: [c_char; 80],
    pub calls: u64,
    pub launches: u64,
    pub bytes_moved: u64,
    pub argument_bytes: u64,
    pub allocations: u64,
    pub allocated_bytes: u64,
    pub driver_allocations: u64,
    pub total_ns: u64,
    pub scope_ns: u64,
    pub placement_ns: u64,
    pub copy_ns: u64,
    pub allocation_ns: u64,
    pub program_ns: u64,
    pub launch_ns: u64,
    pub kernel_ns: u64,
    pub wait_ns: u64,
    pub elapsed_ns: u64,
}
sized!(gantry_profile_row_t);
#[repr(C)]
pub struct gantry_generator_t {
    _opaque: [u8; 0],
}
pub type gantry_random_algorithm_t = c_uint;
pub const GANTRY_RANDOM_PHILOX: gantry_random_algorithm_t = 1;
pub const GANTRY_RANDOM_AUTO: gantry_random_algorithm_t = 3;
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gantry_function_save_options_t {
    pub struct_size: u32,
    pub metadata: *const gantry_metadata_t,
    pub metadata_count: usize,
}
sized!(gantry_function_save_options_t);
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gantry_function_load_options_t {
    pub struct_size: u32,
    pub device: *const c_char,
    pub function: *const gantry_function_options_t,
    pub maps: bool,
}
sized!(gantry_function_load_options_t);
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gantry_device_telemetry_t {
    pub struct_size: u32,
    pub known: u32,
    pub total_bytes: u64,
    pub used_bytes: u64,
    pub free_bytes: u64,
    pub utilization_percent: u32,
    pub memory_busy_percent: u32,
    pub temperature_celsius: i32,
    pub power_milliwatts: u32,
    pub power_limit_milliwatts: u32,
    pub clock_mhz: u32,
    pub most_clock_mhz: u32,
    pub memory_clock_mhz: u32,
    pub fan_percent: u32,
    pub ecc_enabled: u32,
    pub ecc_corrected: u64,
    pub ecc_uncorrected: u64,
    pub slowed_by: u32,
    pub processor_percent: u32,
    pub load_average: f64,
    pub reason: [c_char; 256],
}
sized!(gantry_device_telemetry_t);
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gantry_device_process_t {
    pub struct_size: u32,
    pub pid: u32,
    pub used_bytes: u64,
    pub is_graphics: u32,
    pub reserved: u32,
    pub name: [c_char; 128],
}
sized!(gantry_device_process_t);
#[repr(C)]
pub struct gantry_backend_instance_t {
    _opaque: [u8; 0],
}
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gantry_telemetry_ops_t {
    pub struct_size: u32,
    pub read: Option<unsafe extern "C" fn(*mut gantry_backend_instance_t, u32, *mut gantry_device_telemetry_t) -> i32>,
    pub processes: Option<unsafe extern "C" fn(*mut gantry_backend_instance_t, u32, Option<unsafe extern "C" fn(*mut c_void, *const gantry_device_process_t)>, *mut c_void) -> i32>,
}
sized!(gantry_telemetry_ops_t);
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gantry_tuning_record_t {
    pub struct_size: u32,
    pub line: u32,
    pub device: *const c_char,
    pub what: *const c_char,
    pub values: *const c_char,
    pub measured: *const c_char,
}
sized!(gantry_tuning_record_t);
pub type gantry_tuning_record_fn = Option<unsafe extern "C" fn(*mut c_void, *const gantry_tuning_record_t) -> bool>;
#[repr(C)]
pub struct gantry_onnx_model_t {
    _opaque: [u8; 0],
}
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gantry_onnx_dim_t {
    pub name: *const c_char,
    pub size: i64,
}
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gantry_onnx_options_t {
    pub struct_size: u32,
    pub device: *const c_char,
    pub dims: *const gantry_onnx_dim_t,
    pub dim_count: usize,
    pub folder: *const c_char,
    pub reads_file: bool,
    pub follows_links: bool,
    pub function: *const gantry_function_options_t,
    pub keeps_refused: bool,
}
sized!(gantry_onnx_options_t);
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gantry_onnx_value_t {
    pub struct_size: u32,
    pub name: *const c_char,
    pub dtype: gantry_dtype_t,
    pub shape: gantry_shape_t,
    pub dim_names: *const *const c_char,
    pub is_optional: bool,
}
sized!(gantry_onnx_value_t);
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gantry_onnx_info_t {
    pub struct_size: u32,
    pub ir_version: i64,
    pub model_version: i64,
    pub producer: *const c_char,
    pub producer_version: *const c_char,
    pub domain: *const c_char,
    pub text: *const c_char,
    pub graph_name: *const c_char,
    pub node_count: usize,
    pub opset_count: usize,
    pub op_count: usize,
    pub metadata_count: usize,
    pub weight_bytes: u64,
}
sized!(gantry_onnx_info_t);
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gantry_onnx_opset_t {
    pub domain: *const c_char,
    pub version: i64,
}
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gantry_onnx_op_t {
    pub struct_size: u32,
    pub domain: *const c_char,
    pub op: *const c_char,
    pub version: i64,
    pub count: usize,
    pub reason: *const c_char,
}
sized!(gantry_onnx_op_t);
#[repr(C)]
pub struct gantry_dataset_t {
    _opaque: [u8; 0],
}
#[repr(C)]
pub struct gantry_dataset_iterator_t {
    _opaque: [u8; 0],
}
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gantry_array_t {
    pub dtype: gantry_dtype_t,
    pub shape: gantry_shape_t,
    pub data: *const c_void,
}
#[repr(C)]
pub struct gantry_element_t {
    _opaque: [u8; 0],
}
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gantry_dataset_source_t {
    pub struct_size: u32,
    pub begin: Option<unsafe extern "C" fn(*mut c_void, *mut *mut c_void) -> gantry_status_t>,
    pub next: Option<unsafe extern "C" fn(*mut c_void, *mut gantry_element_t, *mut bool) -> gantry_status_t>,
    pub end: Option<unsafe extern "C" fn(*mut c_void)>,
    pub user: *mut c_void,
    pub count: i64,
}
sized!(gantry_dataset_source_t);
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gantry_padded_batch_options_t {
    pub struct_size: u32,
    pub drop_remainder: bool,
    pub shapes: *const gantry_shape_t,
    pub values: *const f64,
    pub count: usize,
}
sized!(gantry_padded_batch_options_t);
pub type gantry_dataset_map_fn = Option<unsafe extern "C" fn(*mut c_void, *const gantry_array_t, usize, *mut gantry_element_t) -> gantry_status_t>;
pub type gantry_dataset_filter_fn = Option<unsafe extern "C" fn(*mut c_void, *const gantry_array_t, usize, *mut bool) -> gantry_status_t>;
pub type gantry_sequence_end_t = c_uint;
pub const GANTRY_PRE: gantry_sequence_end_t = 0;
pub const GANTRY_POST: gantry_sequence_end_t = 1;
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gantry_pad_sequences_options_t {
    pub struct_size: u32,
    pub padding: gantry_sequence_end_t,
    pub truncating: gantry_sequence_end_t,
    pub value: f64,
}
sized!(gantry_pad_sequences_options_t);
pub type gantry_init_t = c_uint;
pub const GANTRY_INIT_ZEROS: gantry_init_t = 0;
pub const GANTRY_INIT_ONES: gantry_init_t = 1;
pub const GANTRY_INIT_CONSTANT: gantry_init_t = 2;
pub const GANTRY_INIT_RANDOM_UNIFORM: gantry_init_t = 3;
pub const GANTRY_INIT_RANDOM_NORMAL: gantry_init_t = 4;
pub const GANTRY_INIT_TRUNCATED_NORMAL: gantry_init_t = 5;
pub const GANTRY_INIT_VARIANCE_SCALING: gantry_init_t = 6;
pub const GANTRY_INIT_GLOROT_UNIFORM: gantry_init_t = 7;
pub const GANTRY_INIT_GLOROT_NORMAL: gantry_init_t = 8;
pub const GANTRY_INIT_HE_UNIFORM: gantry_init_t = 9;
pub const GANTRY_INIT_HE_NORMAL: gantry_init_t = 10;
pub const GANTRY_INIT_LECUN_UNIFORM: gantry_init_t = 11;
pub const GANTRY_INIT_LECUN_NORMAL: gantry_init_t = 12;
pub const GANTRY_INIT_ORTHOGONAL: gantry_init_t = 13;
pub const GANTRY_INIT_IDENTITY: gantry_init_t = 14;
pub type gantry_fan_t = c_uint;
pub const GANTRY_FAN_IN: gantry_fan_t = 0;
pub const GANTRY_FAN_OUT: gantry_fan_t = 1;
pub const GANTRY_FAN_AVG: gantry_fan_t = 2;
pub type gantry_distribution_t = c_uint;
pub const GANTRY_TRUNCATED_NORMAL: gantry_distribution_t = 0;
pub const GANTRY_UNTRUNCATED_NORMAL: gantry_distribution_t = 1;
pub const GANTRY_UNIFORM: gantry_distribution_t = 2;
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gantry_initializer_t {
    pub struct_size: u32,
    pub kind: gantry_init_t,
    pub seed: i64,
    pub draw: i64,
    pub value: f64,
    pub minval: f64,
    pub maxval: f64,
    pub mean: f64,
    pub stddev: f64,
    pub scale: f64,
    pub mode: gantry_fan_t,
    pub distribution: gantry_distribution_t,
    pub gain: f64,
}
sized!(gantry_initializer_t);
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gantry_regularizer_t {
    pub struct_size: u32,
    pub l1: f64,
    pub l2: f64,
    pub orthogonal: f64,
    pub orthogonal_columns: bool,
}
sized!(gantry_regularizer_t);
pub type gantry_constraint_kind_t = c_uint;
pub const GANTRY_CONSTRAINT_NONE: gantry_constraint_kind_t = 0;
pub const GANTRY_NON_NEG: gantry_constraint_kind_t = 1;
pub const GANTRY_MAX_NORM: gantry_constraint_kind_t = 2;
pub const GANTRY_UNIT_NORM: gantry_constraint_kind_t = 3;
pub const GANTRY_MIN_MAX_NORM: gantry_constraint_kind_t = 4;
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gantry_constraint_t {
    pub struct_size: u32,
    pub kind: gantry_constraint_kind_t,
    pub max_value: f64,
    pub min_value: f64,
    pub rate: f64,
    pub axes: [i32; 4],
    pub axis_count: usize,
}
sized!(gantry_constraint_t);
#[repr(C)]
pub struct gantry_layer_t {
    _opaque: [u8; 0],
}
pub type gantry_activation_t = c_uint;
pub const GANTRY_LINEAR: gantry_activation_t = 0;
pub const GANTRY_RELU: gantry_activation_t = 1;
pub const GANTRY_SIGMOID: gantry_activation_t = 2;
pub const GANTRY_TANH: gantry_activation_t = 3;
pub const GANTRY_SOFTMAX: gantry_activation_t = 4;
pub const GANTRY_ELU: gantry_activation_t = 5;
pub const GANTRY_SELU: gantry_activation_t = 6;
pub const GANTRY_GELU: gantry_activation_t = 7;
pub const GANTRY_SILU: gantry_activation_t = 8;
pub const GANTRY_SOFTPLUS: gantry_activation_t = 9;
pub const GANTRY_SOFTSIGN: gantry_activation_t = 10;
pub const GANTRY_RELU6: gantry_activation_t = 11;
pub const GANTRY_LEAKY_RELU: gantry_activation_t = 12;
pub const GANTRY_LOG_SOFTMAX: gantry_activation_t = 13;
pub const GANTRY_EXPONENTIAL: gantry_activation_t = 14;
pub const GANTRY_HARD_SIGMOID: gantry_activation_t = 15;
pub const GANTRY_HARD_SILU: gantry_activation_t = 16;
pub const GANTRY_MISH: gantry_activation_t = 17;
pub const GANTRY_LOG_SIGMOID: gantry_activation_t = 18;
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gantry_kernel_options_t {
    pub struct_size: u32,
    pub name: *const c_char,
    pub no_bias: bool,
    pub kernel_initializer: *const gantry_initializer_t,
    pub bias_initializer: *const gantry_initializer_t,
    pub strides: [i64; 2],
    pub dilations: [i64; 2],
    pub same_padding: bool,
    pub depth_multiplier: i64,
    pub kernel_columns: i64,
    pub causal_padding: bool,
    pub groups: i64,
    pub kernel_regularizer: *const gantry_regularizer_t,
    pub bias_regularizer: *const gantry_regularizer_t,
    pub kernel_constraint: *const gantry_constraint_t,
    pub bias_constraint: *const gantry_constraint_t,
    pub output_padding: *const i64,
}
sized!(gantry_kernel_options_t);
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gantry_pool_options_t {
    pub struct_size: u32,
    pub name: *const c_char,
    pub strides: i64,
    pub same_padding: bool,
    pub pool_columns: i64,
    pub column_strides: i64,
}
sized!(gantry_pool_options_t);
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gantry_norm_options_t {
    pub struct_size: u32,
    pub name: *const c_char,
    pub epsilon: f64,
    pub momentum: f64,
    pub axes: *const i32,
    pub axis_count: usize,
    pub no_center: bool,
    pub no_scale: bool,
}
sized!(gantry_norm_options_t);
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gantry_recurrent_options_t {
    pub struct_size: u32,
    pub name: *const c_char,
    pub activation: *const gantry_activation_t,
    pub recurrent_activation: *const gantry_activation_t,
    pub no_bias: bool,
    pub kernel_initializer: *const gantry_initializer_t,
    pub recurrent_initializer: *const gantry_initializer_t,
    pub bias_initializer: *const gantry_initializer_t,
    pub return_sequences: bool,
    pub go_backwards: bool,
    pub no_unit_forget_bias: bool,
    pub reset_before: bool,
    pub return_state: bool,
    pub dropout: f64,
    pub recurrent_dropout: f64,
    pub stateful: bool,
    pub unroll: gantry_choice_t,
}
sized!(gantry_recurrent_options_t);
pub type gantry_merge_t = c_uint;
pub const GANTRY_MERGE_CONCAT: gantry_merge_t = 0;
pub const GANTRY_MERGE_SUM: gantry_merge_t = 1;
pub const GANTRY_MERGE_MUL: gantry_merge_t = 2;
pub const GANTRY_MERGE_AVE: gantry_merge_t = 3;
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gantry_attention_options_t {
    pub struct_size: u32,
    pub name: *const c_char,
    pub value_dim: i64,
    pub dropout: f64,
    pub no_bias: bool,
    pub causal: bool,
    pub kernel_initializer: *const gantry_initializer_t,
    pub attention_mask: bool,
}
sized!(gantry_attention_options_t);
#[repr(C)]
pub struct gantry__layer_run_t {
    _opaque: [u8; 0],
}
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gantry_layer_call_t {
    pub scope: *mut gantry_scope_t,
    pub inputs: *const *const gantry_tensor_t,
    pub input_count: usize,
    pub weights: *const *const gantry_tensor_t,
    pub weight_count: usize,
    pub training: bool,
    pub updates: *mut *const gantry_tensor_t,
    pub masks: *const *const gantry_tensor_t,
    pub mask: *mut *const gantry_tensor_t,
    pub more_outputs: *mut *const gantry_tensor_t,
    pub run: *mut gantry__layer_run_t,
    pub is_frozen: bool,
}
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gantry_layer_kind_t {
    pub struct_size: u32,
    pub name: *const c_char,
    pub build: Option<unsafe extern "C" fn(*mut gantry_layer_t, *const gantry_shape_t, usize, *mut c_void) -> gantry_status_t>,
    pub call: Option<unsafe extern "C" fn(*const gantry_layer_call_t, *mut c_void) -> *const gantry_tensor_t>,
    pub release: Option<unsafe extern "C" fn(*mut c_void)>,
    pub passes_masks: bool,
    pub output_count: usize,
}
sized!(gantry_layer_kind_t);
pub type gantry_loss_t = c_uint;
pub const GANTRY_SPARSE_CATEGORICAL_CROSSENTROPY: gantry_loss_t = 1;
pub const GANTRY_CATEGORICAL_CROSSENTROPY: gantry_loss_t = 2;
pub const GANTRY_BINARY_CROSSENTROPY: gantry_loss_t = 3;
pub const GANTRY_MEAN_SQUARED_ERROR: gantry_loss_t = 4;
pub const GANTRY_MEAN_ABSOLUTE_ERROR: gantry_loss_t = 5;
pub const GANTRY_HUBER: gantry_loss_t = 6;
pub const GANTRY_OWN_LOSS: gantry_loss_t = 7;
pub const GANTRY_KL_DIVERGENCE: gantry_loss_t = 8;
pub const GANTRY_POISSON: gantry_loss_t = 9;
pub const GANTRY_LOG_COSH: gantry_loss_t = 10;
pub const GANTRY_MEAN_ABSOLUTE_PERCENTAGE_ERROR: gantry_loss_t = 11;
pub const GANTRY_MEAN_SQUARED_LOGARITHMIC_ERROR: gantry_loss_t = 12;
pub const GANTRY_COSINE_SIMILARITY: gantry_loss_t = 13;
pub const GANTRY_HINGE: gantry_loss_t = 14;
pub const GANTRY_SQUARED_HINGE: gantry_loss_t = 15;
pub const GANTRY_CATEGORICAL_HINGE: gantry_loss_t = 16;
pub const GANTRY_BINARY_FOCAL_CROSSENTROPY: gantry_loss_t = 17;
pub const GANTRY_CATEGORICAL_FOCAL_CROSSENTROPY: gantry_loss_t = 18;
pub const GANTRY_DICE: gantry_loss_t = 19;
pub type gantry_loss_fn = Option<unsafe extern "C" fn(*mut gantry_scope_t, *const gantry_tensor_t, *const gantry_tensor_t, *mut c_void) -> *const gantry_tensor_t>;
pub type gantry_reduction_t = c_uint;
pub const GANTRY_REDUCTION_SUM_OVER_BATCH_SIZE: gantry_reduction_t = 0;
pub const GANTRY_REDUCTION_SUM: gantry_reduction_t = 1;
pub const GANTRY_REDUCTION_NONE: gantry_reduction_t = 2;
pub const GANTRY_REDUCTION_MEAN_WITH_SAMPLE_WEIGHT: gantry_reduction_t = 3;
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gantry_loss_options_t {
    pub struct_size: u32,
    pub reduction: gantry_reduction_t,
    pub from_logits: bool,
    pub label_smoothing: f64,
    pub delta: f64,
    pub sample_weights: *const gantry_tensor_t,
    pub function: gantry_loss_fn,
    pub user: *mut c_void,
    pub gamma: f64,
    pub alpha: f64,
    pub balances_classes: bool,
    pub axes: [i32; 8],
    pub axis_count: usize,
}
sized!(gantry_loss_options_t);
#[repr(C)]
pub struct gantry_metric_t {
    _opaque: [u8; 0],
}
pub type gantry_curve_t = c_uint;
pub const GANTRY_CURVE_ROC: gantry_curve_t = 0;
pub const GANTRY_CURVE_PR: gantry_curve_t = 1;
pub type gantry_average_t = c_uint;
pub const GANTRY_AVERAGE_NONE: gantry_average_t = 0;
pub const GANTRY_AVERAGE_MICRO: gantry_average_t = 1;
pub const GANTRY_AVERAGE_MACRO: gantry_average_t = 2;
pub const GANTRY_AVERAGE_WEIGHTED: gantry_average_t = 3;
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gantry_metric_options_t {
    pub struct_size: u32,
    pub name: *const c_char,
    pub dtype: gantry_dtype_t,
    pub from_logits: bool,
    pub curve: gantry_curve_t,
    pub top_k: i32,
    pub class_id: *const i32,
    pub thresholds: *const f64,
    pub threshold_count: usize,
    pub ignore_class: *const i32,
    pub dense_labels: bool,
    pub dense_predictions: bool,
    pub sparse_predictions: bool,
}
sized!(gantry_metric_options_t);
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gantry_gradient_t {
    pub dense: *const gantry_tensor_t,
    pub values: *const gantry_tensor_t,
    pub indices: *const gantry_tensor_t,
    pub shape: gantry_shape_t,
}
#[repr(C)]
pub struct gantry_schedule_t {
    _opaque: [u8; 0],
}
pub type gantry_schedule_fn = Option<unsafe extern "C" fn(*mut gantry_scope_t, *const gantry_tensor_t, gantry_dtype_t, *mut c_void) -> *const gantry_tensor_t>;
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gantry_exponential_decay_options_t {
    pub struct_size: u32,
    pub initial_learning_rate: f64,
    pub decay_steps: i64,
    pub decay_rate: f64,
    pub staircase: bool,
}
sized!(gantry_exponential_decay_options_t);
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gantry_piecewise_constant_decay_options_t {
    pub struct_size: u32,
    pub boundaries: *const i64,
    pub boundary_count: usize,
    pub values: *const f64,
}
sized!(gantry_piecewise_constant_decay_options_t);
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gantry_polynomial_decay_options_t {
    pub struct_size: u32,
    pub initial_learning_rate: f64,
    pub decay_steps: i64,
    pub end_learning_rate: f64,
    pub power: f64,
    pub cycle: bool,
}
sized!(gantry_polynomial_decay_options_t);
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gantry_inverse_time_decay_options_t {
    pub struct_size: u32,
    pub initial_learning_rate: f64,
    pub decay_steps: i64,
    pub decay_rate: f64,
    pub staircase: bool,
}
sized!(gantry_inverse_time_decay_options_t);
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gantry_cosine_decay_options_t {
    pub struct_size: u32,
    pub initial_learning_rate: f64,
    pub decay_steps: i64,
    pub alpha: f64,
    pub warmup_target: f64,
    pub warmup_steps: i64,
}
sized!(gantry_cosine_decay_options_t);
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gantry_cosine_decay_restarts_options_t {
    pub struct_size: u32,
    pub initial_learning_rate: f64,
    pub first_decay_steps: i64,
    pub t_mul: f64,
    pub m_mul: f64,
    pub alpha: f64,
}
sized!(gantry_cosine_decay_restarts_options_t);
#[repr(C)]
pub struct gantry_optimizer_t {
    _opaque: [u8; 0],
}
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gantry_sgd_options_t {
    pub struct_size: u32,
    pub learning_rate: f64,
    pub schedule: *const gantry_schedule_t,
    pub weight_decay: f64,
    pub clipnorm: f64,
    pub clipvalue: f64,
    pub global_clipnorm: f64,
    pub momentum: f64,
    pub nesterov: bool,
    pub gradient_accumulation_steps: i32,
    pub use_ema: bool,
    pub ema_momentum: f64,
    pub ema_overwrite_frequency: i32,
}
sized!(gantry_sgd_options_t);
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gantry_adam_options_t {
    pub struct_size: u32,
    pub learning_rate: f64,
    pub schedule: *const gantry_schedule_t,
    pub weight_decay: f64,
    pub clipnorm: f64,
    pub clipvalue: f64,
    pub global_clipnorm: f64,
    pub beta_1: f64,
    pub beta_2: f64,
    pub epsilon: f64,
    pub amsgrad: bool,
    pub gradient_accumulation_steps: i32,
    pub use_ema: bool,
    pub ema_momentum: f64,
    pub ema_overwrite_frequency: i32,
}
sized!(gantry_adam_options_t);
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gantry_adamw_options_t {
    pub struct_size: u32,
    pub learning_rate: f64,
    pub schedule: *const gantry_schedule_t,
    pub weight_decay: f64,
    pub clipnorm: f64,
    pub clipvalue: f64,
    pub global_clipnorm: f64,
    pub beta_1: f64,
    pub beta_2: f64,
    pub epsilon: f64,
    pub amsgrad: bool,
    pub gradient_accumulation_steps: i32,
    pub use_ema: bool,
    pub ema_momentum: f64,
    pub ema_overwrite_frequency: i32,
}
sized!(gantry_adamw_options_t);
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gantry_nadam_options_t {
    pub struct_size: u32,
    pub learning_rate: f64,
    pub schedule: *const gantry_schedule_t,
    pub weight_decay: f64,
    pub clipnorm: f64,
    pub clipvalue: f64,
    pub global_clipnorm: f64,
    pub beta_1: f64,
    pub beta_2: f64,
    pub epsilon: f64,
    pub gradient_accumulation_steps: i32,
    pub use_ema: bool,
    pub ema_momentum: f64,
    pub ema_overwrite_frequency: i32,
}
sized!(gantry_nadam_options_t);
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gantry_rmsprop_options_t {
    pub struct_size: u32,
    pub learning_rate: f64,
    pub schedule: *const gantry_schedule_t,
    pub weight_decay: f64,
    pub clipnorm: f64,
    pub clipvalue: f64,
    pub global_clipnorm: f64,
    pub rho: f64,
    pub momentum: f64,
    pub epsilon: f64,
    pub centered: bool,
    pub gradient_accumulation_steps: i32,
    pub use_ema: bool,
    pub ema_momentum: f64,
    pub ema_overwrite_frequency: i32,
}
sized!(gantry_rmsprop_options_t);
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gantry_adagrad_options_t {
    pub struct_size: u32,
    pub learning_rate: f64,
    pub schedule: *const gantry_schedule_t,
    pub weight_decay: f64,
    pub clipnorm: f64,
    pub clipvalue: f64,
    pub global_clipnorm: f64,
    pub initial_accumulator_value: f64,
    pub epsilon: f64,
    pub gradient_accumulation_steps: i32,
    pub use_ema: bool,
    pub ema_momentum: f64,
    pub ema_overwrite_frequency: i32,
}
sized!(gantry_adagrad_options_t);
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gantry_adamax_options_t {
    pub struct_size: u32,
    pub learning_rate: f64,
    pub schedule: *const gantry_schedule_t,
    pub weight_decay: f64,
    pub clipnorm: f64,
    pub clipvalue: f64,
    pub global_clipnorm: f64,
    pub beta_1: f64,
    pub beta_2: f64,
    pub epsilon: f64,
    pub gradient_accumulation_steps: i32,
    pub use_ema: bool,
    pub ema_momentum: f64,
    pub ema_overwrite_frequency: i32,
}
sized!(gantry_adamax_options_t);
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gantry_lion_options_t {
    pub struct_size: u32,
    pub learning_rate: f64,
    pub schedule: *const gantry_schedule_t,
    pub weight_decay: f64,
    pub clipnorm: f64,
    pub clipvalue: f64,
    pub global_clipnorm: f64,
    pub beta_1: f64,
    pub beta_2: f64,
    pub gradient_accumulation_steps: i32,
    pub use_ema: bool,
    pub ema_momentum: f64,
    pub ema_overwrite_frequency: i32,
}
sized!(gantry_lion_options_t);
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gantry_adadelta_options_t {
    pub struct_size: u32,
    pub learning_rate: f64,
    pub schedule: *const gantry_schedule_t,
    pub weight_decay: f64,
    pub clipnorm: f64,
    pub clipvalue: f64,
    pub global_clipnorm: f64,
    pub rho: f64,
    pub epsilon: f64,
    pub gradient_accumulation_steps: i32,
    pub use_ema: bool,
    pub ema_momentum: f64,
    pub ema_overwrite_frequency: i32,
}
sized!(gantry_adadelta_options_t);
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gantry_ftrl_options_t {
    pub struct_size: u32,
    pub learning_rate: f64,
    pub schedule: *const gantry_schedule_t,
    pub weight_decay: f64,
    pub clipnorm: f64,
    pub clipvalue: f64,
    pub global_clipnorm: f64,
    pub learning_rate_power: f64,
    pub initial_accumulator_value: f64,
    pub l1_regularization_strength: f64,
    pub l2_regularization_strength: f64,
    pub l2_shrinkage_regularization_strength: f64,
    pub beta: f64,
    pub gradient_accumulation_steps: i32,
    pub use_ema: bool,
    pub ema_momentum: f64,
    pub ema_overwrite_frequency: i32,
}
sized!(gantry_ftrl_options_t);
#[repr(C)]
pub struct gantry_strategy_t {
    _opaque: [u8; 0],
}
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gantry_communicator_t {
    pub struct_size: u32,
    pub user: *mut c_void,
    pub rank: usize,
    pub size: usize,
    pub local_rank: usize,
    pub all_reduce: Option<unsafe extern "C" fn(*mut c_void, *mut c_void, usize, gantry_dtype_t, *const c_char) -> gantry_status_t>,
    pub broadcast: Option<unsafe extern "C" fn(*mut c_void, *mut c_void, usize, usize, *const c_char) -> gantry_status_t>,
    pub describe: Option<unsafe extern "C" fn(*mut c_void, usize) -> *const c_char>,
}
sized!(gantry_communicator_t);
pub type gantry_replica_fn = Option<unsafe extern "C" fn(*mut gantry_scope_t, usize, *mut c_void)>;
pub type gantry_reduce_op_t = c_uint;
pub const GANTRY_REDUCE_SUM: gantry_reduce_op_t = 0;
pub const GANTRY_REDUCE_MEAN: gantry_reduce_op_t = 1;
pub type gantry_aggregation_t = c_uint;
pub const GANTRY_AGGREGATION_NONE: gantry_aggregation_t = 0;
pub const GANTRY_AGGREGATION_SUM: gantry_aggregation_t = 1;
pub const GANTRY_AGGREGATION_MEAN: gantry_aggregation_t = 2;
pub const GANTRY_AGGREGATION_ONLY_FIRST_REPLICA: gantry_aggregation_t = 3;
#[repr(C)]
pub struct gantry_mirrored_variable_t {
    _opaque: [u8; 0],
}
#[repr(C)]
pub struct gantry_model_t {
    _opaque: [u8; 0],
}
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gantry_model_options_t {
    pub struct_size: u32,
    pub name: *const c_char,
    pub device: *const c_char,
    pub dtype: gantry_dtype_t,
    pub seed: i64,
    pub strategy: *const gantry_strategy_t,
    pub batch_size: i64,
}
sized!(gantry_model_options_t);
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gantry_compile_output_t {
    pub struct_size: u32,
    pub loss: gantry_loss_t,
    pub loss_options: *const gantry_loss_options_t,
    pub metrics: *const *mut gantry_metric_t,
    pub metric_count: usize,
    pub weighted_metrics: *const *mut gantry_metric_t,
    pub weighted_metric_count: usize,
}
sized!(gantry_compile_output_t);
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gantry_compile_options_t {
    pub struct_size: u32,
    pub optimizer: *mut gantry_optimizer_t,
    pub loss: gantry_loss_t,
    pub loss_options: *const gantry_loss_options_t,
    pub metrics: *const *mut gantry_metric_t,
    pub metric_count: usize,
    pub runs_eagerly: bool,
    pub check_numerics: bool,
    pub weighted_metrics: *const *mut gantry_metric_t,
    pub weighted_metric_count: usize,
    pub outputs: *const gantry_compile_output_t,
    pub output_count: usize,
    pub loss_weights: *const f64,
    pub loss_weight_count: usize,
}
sized!(gantry_compile_options_t);
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gantry_logs_t {
    pub names: *const *const c_char,
    pub values: *const f64,
    pub count: usize,
}
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gantry_callback_t {
    pub struct_size: u32,
    pub user: *mut c_void,
    pub epoch_begin: Option<unsafe extern "C" fn(*mut gantry_model_t, i64, *mut c_void) -> gantry_status_t>,
    pub epoch_end: Option<unsafe extern "C" fn(*mut gantry_model_t, i64, *const gantry_logs_t, *mut bool, *mut c_void) -> gantry_status_t>,
    pub step_end: Option<unsafe extern "C" fn(*mut gantry_model_t, i64, *mut bool, *mut c_void) -> gantry_status_t>,
    pub get_state: Option<unsafe extern "C" fn(*mut c_char, usize, *mut c_void) -> gantry_status_t>,
    pub set_state: Option<unsafe extern "C" fn(*const c_char, *mut c_void) -> gantry_status_t>,
    pub train_begin: Option<unsafe extern "C" fn(*mut gantry_model_t, *mut c_void) -> gantry_status_t>,
    pub train_end: Option<unsafe extern "C" fn(*mut gantry_model_t, *mut c_void) -> gantry_status_t>,
    pub test_begin: Option<unsafe extern "C" fn(*mut gantry_model_t, *mut c_void) -> gantry_status_t>,
    pub test_end: Option<unsafe extern "C" fn(*mut gantry_model_t, *mut c_void) -> gantry_status_t>,
}
sized!(gantry_callback_t);
pub type gantry_write_fn = Option<unsafe extern "C" fn(*const c_char, *mut c_void)>;
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gantry_fit_options_t {
    pub struct_size: u32,
    pub epochs: i64,
    pub initial_epoch: i64,
    pub validation: *mut gantry_dataset_t,
    pub callbacks: *const *const gantry_callback_t,
    pub callback_count: usize,
    pub write: gantry_write_fn,
    pub write_user: *mut c_void,
    pub is_terminal: bool,
    pub backup: *const c_char,
    pub backup_steps: i64,
    pub steps_per_epoch: i64,
    pub validation_freq: i64,
    pub class_weights: *const f64,
    pub class_weight_count: usize,
    pub columns: i32,
}
sized!(gantry_fit_options_t);
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gantry_early_stopping_options_t {
    pub struct_size: u32,
    pub monitor: *const c_char,
    pub is_better_high: bool,
    pub min_delta: f64,
    pub patience: i64,
    pub baseline: *const f64,
    pub start_from_epoch: i64,
    pub restore_best_weights: bool,
}
sized!(gantry_early_stopping_options_t);
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gantry_reduce_lr_on_plateau_options_t {
    pub struct_size: u32,
    pub monitor: *const c_char,
    pub is_better_high: bool,
    pub factor: f64,
    pub patience: i64,
    pub min_delta: f64,
    pub cooldown: i64,
    pub min_learning_rate: f64,
}
sized!(gantry_reduce_lr_on_plateau_options_t);
pub type gantry_learning_rate_fn = Option<unsafe extern "C" fn(i64, f64, *mut c_void) -> f64>;
#[repr(C)]
pub struct gantry_checkpoint_t {
    _opaque: [u8; 0],
}
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gantry_checkpoint_entry_t {
    pub name: *const c_char,
    pub variable: *mut gantry_variable_t,
    pub tensor: *const gantry_tensor_t,
    pub array: gantry_array_t,
}
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gantry_checkpoint_text_t {
    pub key: *const c_char,
    pub value: *const c_char,
}
#[repr(C)]
pub struct gantry_numerics_t {
    _opaque: [u8; 0],
}
#[repr(C)]
pub struct gantry_tape_t {
    _opaque: [u8; 0],
}
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gantry_tape_options_t {
    pub struct_size: u32,
    pub persistent: bool,
    pub watches_named_variables: bool,
}
sized!(gantry_tape_options_t);
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gantry_source_t {
    pub tensor: *const gantry_tensor_t,
    pub variable: *mut gantry_variable_t,
}
#[repr(C)]
#[derive(Clone, Copy)]
pub struct gantry_gradient_options_t {
    pub struct_size: u32,
    pub zeros_where_unconnected: bool,
}
sized!(gantry_gradient_options_t);
pub type gantry_backward_fn = Option<unsafe extern "C" fn(*mut gantry_scope_t, *const *const gantry_tensor_t, *const *const gantry_tensor_t, *const *const gantry_tensor_t, *mut *const gantry_tensor_t, *mut c_void)>;

unsafe extern "C" {
    pub fn gantry_status_name(status: gantry_status_t) -> *const c_char;
    pub fn gantry_last_message() -> *const c_char;
    pub fn gantry_fail(status: gantry_status_t, text: *const c_char) -> gantry_status_t;
    pub fn gantry_dtype_name(dtype: gantry_dtype_t) -> *const c_char;
    pub fn gantry_dtype_size(dtype: gantry_dtype_t) -> usize;
    pub fn gantry_dtype_from_name(name: *const c_char) -> gantry_dtype_t;
    pub fn gantry_shape_elements(shape: *const gantry_shape_t) -> i64;
    pub fn gantry_shape_equal(a: *const gantry_shape_t, b: *const gantry_shape_t) -> bool;
    pub fn gantry_shape_format(shape: *const gantry_shape_t, out: *mut c_char, out_bytes: usize) -> usize;
    pub fn gantry_runtime_create(options: *const gantry_runtime_options_t, out_runtime: *mut *mut gantry_runtime_t) -> gantry_status_t;
    pub fn gantry_runtime_release(runtime: *mut gantry_runtime_t);
    pub fn gantry_runtime_initialize(runtime: *mut gantry_runtime_t) -> gantry_status_t;
    pub fn gantry_runtime_synchronize(runtime: *mut gantry_runtime_t) -> gantry_status_t;
    pub fn gantry_runtime_log(runtime: *mut gantry_runtime_t, level: gantry_log_level_t, text: *const c_char) -> gantry_status_t;
    pub fn gantry_backend_status_count(runtime: *const gantry_runtime_t) -> usize;
    pub fn gantry_backend_status(runtime: *const gantry_runtime_t, index: usize, out_status: *mut gantry_backend_status_t) -> gantry_status_t;
    pub fn gantry_setting_count() -> usize;
    pub fn gantry_setting_name(index: usize) -> *const c_char;
    pub fn gantry_get_setting(runtime: *mut gantry_runtime_t, name: *const c_char, device: *const gantry_physical_device_t, out_setting: *mut gantry_setting_t) -> gantry_status_t;
    pub fn gantry_check_writers(path: *const c_char) -> gantry_status_t;
    pub fn gantry_set_soft_device_placement(runtime: *mut gantry_runtime_t, enabled: bool) -> gantry_status_t;
    pub fn gantry_get_soft_device_placement(runtime: *const gantry_runtime_t) -> bool;
    pub fn gantry_set_log_device_placement(runtime: *mut gantry_runtime_t, enabled: bool) -> gantry_status_t;
    pub fn gantry_get_log_device_placement(runtime: *const gantry_runtime_t) -> bool;
    pub fn gantry_set_device_policy(runtime: *mut gantry_runtime_t, policy: gantry_device_policy_t) -> gantry_status_t;
    pub fn gantry_get_device_policy(runtime: *const gantry_runtime_t) -> gantry_device_policy_t;
    pub fn gantry_set_placement_mode(runtime: *mut gantry_runtime_t, mode: gantry_placement_mode_t) -> gantry_status_t;
    pub fn gantry_get_placement_mode(runtime: *const gantry_runtime_t) -> gantry_placement_mode_t;
    pub fn gantry_set_intra_op_parallelism_threads(runtime: *mut gantry_runtime_t, threads: i32) -> gantry_status_t;
    pub fn gantry_get_intra_op_parallelism_threads(runtime: *const gantry_runtime_t) -> i32;
    pub fn gantry_set_inter_op_parallelism_threads(runtime: *mut gantry_runtime_t, threads: i32) -> gantry_status_t;
    pub fn gantry_get_inter_op_parallelism_threads(runtime: *const gantry_runtime_t) -> i32;
    pub fn gantry_list_physical_devices(runtime: *mut gantry_runtime_t, r#type: *const c_char, capacity: usize, out_devices: *mut *const gantry_physical_device_t, out_count: *mut usize) -> gantry_status_t;
    pub fn gantry_find_physical_device(runtime: *mut gantry_runtime_t, name: *const c_char, out_device: *mut *const gantry_physical_device_t) -> gantry_status_t;
    pub fn gantry_get_device_details(runtime: *mut gantry_runtime_t, device: *const gantry_physical_device_t, out_details: *mut gantry_device_details_t) -> gantry_status_t;
    pub fn gantry_device_three_launches(device: *const gantry_physical_device_t) -> *const c_char;
    pub fn gantry_list_device_views(runtime: *mut gantry_runtime_t, capacity: usize, out_devices: *mut *const gantry_physical_device_t, out_count: *mut usize) -> gantry_status_t;
    pub fn gantry_set_visible_devices(runtime: *mut gantry_runtime_t, devices: *const *const gantry_physical_device_t, count: usize, r#type: *const c_char) -> gantry_status_t;
    pub fn gantry_get_visible_devices(runtime: *mut gantry_runtime_t, r#type: *const c_char, capacity: usize, out_devices: *mut *const gantry_physical_device_t, out_count: *mut usize) -> gantry_status_t;
    pub fn gantry_set_wait_policy(runtime: *mut gantry_runtime_t, device: *const gantry_physical_device_t, policy: gantry_wait_policy_t) -> gantry_status_t;
    pub fn gantry_set_logical_device_configuration(runtime: *mut gantry_runtime_t, device: *const gantry_physical_device_t, configs: *const gantry_logical_device_config_t, count: usize) -> gantry_status_t;
    pub fn gantry_get_logical_device_configuration(runtime: *mut gantry_runtime_t, device: *const gantry_physical_device_t, capacity: usize, out_configs: *mut gantry_logical_device_config_t, out_count: *mut usize) -> gantry_status_t;
    pub fn gantry_set_logical_cpu_devices(runtime: *mut gantry_runtime_t, count: usize) -> gantry_status_t;
    pub fn gantry_list_logical_devices(runtime: *mut gantry_runtime_t, r#type: *const c_char, capacity: usize, out_devices: *mut *const gantry_logical_device_t, out_count: *mut usize) -> gantry_status_t;
    pub fn gantry_logical_device_name(device: *const gantry_logical_device_t) -> *const c_char;
    pub fn gantry_logical_device_full_name(device: *const gantry_logical_device_t) -> *const c_char;
    pub fn gantry_logical_device_type(device: *const gantry_logical_device_t) -> *const c_char;
    pub fn gantry_logical_device_physical(device: *const gantry_logical_device_t) -> *const gantry_physical_device_t;
    pub fn gantry_find_logical_device(runtime: *mut gantry_runtime_t, name: *const c_char, out_device: *mut *const gantry_logical_device_t) -> gantry_status_t;
    pub fn gantry_claim_create(runtime: *mut gantry_runtime_t, command: *const c_char, out_claim: *mut *mut gantry_claim_t) -> gantry_status_t;
    pub fn gantry_claim_begin_turn(claim: *mut gantry_claim_t, queue: bool, out_before: *mut usize) -> gantry_status_t;
    pub fn gantry_claim_device(claim: *mut gantry_claim_t, device: *const gantry_physical_device_t) -> gantry_status_t;
    pub fn gantry_claim_give_back(claim: *mut gantry_claim_t);
    pub fn gantry_claim_end_turn(claim: *mut gantry_claim_t, keep_place: bool) -> gantry_status_t;
    pub fn gantry_claim_inherit(claim: *mut gantry_claim_t) -> gantry_status_t;
    pub fn gantry_claim_release(claim: *mut gantry_claim_t);
    pub fn gantry_get_claim(runtime: *mut gantry_runtime_t, device: *const gantry_physical_device_t, out_info: *mut gantry_claim_info_t) -> gantry_status_t;
    pub fn gantry_list_claims(runtime: *mut gantry_runtime_t, capacity: usize, out_claims: *mut gantry_claim_info_t, out_count: *mut usize, out_waiting: *mut usize) -> gantry_status_t;
    pub fn gantry_tensor_retain(tensor: *const gantry_tensor_t) -> *mut gantry_tensor_t;
    pub fn gantry_tensor_release(tensor: *mut gantry_tensor_t);
    pub fn gantry_tensor_dtype(tensor: *const gantry_tensor_t) -> gantry_dtype_t;
    pub fn gantry_tensor_shape(tensor: *const gantry_tensor_t) -> *const gantry_shape_t;
    pub fn gantry_tensor_elements(tensor: *const gantry_tensor_t) -> i64;
    pub fn gantry_tensor_bytes(tensor: *const gantry_tensor_t) -> usize;
    pub fn gantry_tensor_device(tensor: *const gantry_tensor_t) -> *const gantry_logical_device_t;
    pub fn gantry_tensor_read(tensor: *const gantry_tensor_t, out: *mut c_void, bytes: usize) -> gantry_status_t;
    pub fn gantry_tensor_wait(tensor: *const gantry_tensor_t) -> gantry_status_t;
    pub fn gantry_tensor_read_async(tensor: *const gantry_tensor_t, out: *mut c_void, bytes: usize, out_read: *mut *mut gantry_read_t) -> gantry_status_t;
    pub fn gantry_read_poll(read: *mut gantry_read_t, out_has_ended: *mut bool) -> gantry_status_t;
    pub fn gantry_read_wait(read: *mut gantry_read_t) -> gantry_status_t;
    pub fn gantry_read_note(read: *const gantry_read_t) -> *const c_char;
    pub fn gantry_read_release(read: *mut gantry_read_t);
    pub fn gantry_tensor_format(tensor: *const gantry_tensor_t, options: *const gantry_format_options_t, out: *mut c_char, out_bytes: usize, out_needed: *mut usize) -> gantry_status_t;
    pub fn gantry_scope_begin(runtime: *mut gantry_runtime_t, device: *const c_char) -> *mut gantry_scope_t;
    pub fn gantry_scope_begin_on(runtime: *mut gantry_runtime_t, device: *const gantry_logical_device_t) -> *mut gantry_scope_t;
    pub fn gantry_scope_begin_in(parent: *mut gantry_scope_t, device: *const c_char) -> *mut gantry_scope_t;
    pub fn gantry_device_begin(scope: *mut gantry_scope_t, device: *const c_char) -> gantry_status_t;
    pub fn gantry_device_end(scope: *mut gantry_scope_t) -> gantry_status_t;
    pub fn gantry_scope_begin_choosing(parent: *mut gantry_scope_t, choose: gantry_device_fn, user: *mut c_void) -> *mut gantry_scope_t;
    pub fn gantry_scope_end(scope: *mut gantry_scope_t) -> gantry_status_t;
    pub fn gantry_scope_status(scope: *const gantry_scope_t) -> gantry_status_t;
    pub fn gantry_scope_message(scope: *const gantry_scope_t) -> *const c_char;
    pub fn gantry_scope_clear(scope: *mut gantry_scope_t);
    pub fn gantry_scope_fail(scope: *mut gantry_scope_t, status: gantry_status_t, text: *const c_char) -> gantry_status_t;
    pub fn gantry_scope_lend(scope: *mut gantry_scope_t) -> gantry_status_t;
    pub fn gantry_scope_take_back(scope: *mut gantry_scope_t);
    pub fn gantry_scope_runtime(scope: *const gantry_scope_t) -> *mut gantry_runtime_t;
    pub fn gantry_scope_set_tag(scope: *mut gantry_scope_t, tag: *const c_char) -> gantry_status_t;
    pub fn gantry_scope_set_batch_invariant(scope: *mut gantry_scope_t, choice: gantry_choice_t) -> gantry_status_t;
    pub fn gantry_scope_set_any_order(scope: *mut gantry_scope_t, choice: gantry_choice_t) -> gantry_status_t;
    pub fn gantry_scope_keep(scope: *mut gantry_scope_t, tensor: *const gantry_tensor_t) -> *mut gantry_tensor_t;
    pub fn gantry_tensor_drop(scope: *mut gantry_scope_t, tensor: *const gantry_tensor_t);
    pub fn gantry_tensor_view(scope: *mut gantry_scope_t, tensor: *const gantry_tensor_t, first_byte: u64, dtype: gantry_dtype_t, shape: gantry_shape_t) -> *const gantry_tensor_t;
    pub fn gantry_tensor_donate(scope: *mut gantry_scope_t, tensor: *const gantry_tensor_t) -> *const gantry_tensor_t;
    pub fn gantry_function_trace(runtime: *mut gantry_runtime_t, name: *const c_char, body: gantry_function_body_fn, user: *mut c_void, inputs: *const gantry_input_spec_t, input_count: usize, output_count: usize, options: *const gantry_function_options_t, out_function: *mut *mut gantry_function_t) -> gantry_status_t;
    pub fn gantry_function_retain(function: *mut gantry_function_t) -> *mut gantry_function_t;
    pub fn gantry_function_release(function: *mut gantry_function_t);
    pub fn gantry_function_call(scope: *mut gantry_scope_t, function: *mut gantry_function_t, inputs: *const *const gantry_tensor_t, input_count: usize, outputs: *mut *const gantry_tensor_t, output_count: usize) -> gantry_status_t;
    pub fn gantry_function_clone(function: *mut gantry_function_t, options: *const gantry_clone_options_t, out_clone: *mut *mut gantry_function_t) -> gantry_status_t;
    pub fn gantry_function_start(scope: *mut gantry_scope_t, function: *mut gantry_function_t, inputs: *const *const gantry_tensor_t, input_count: usize, options: *const gantry_start_options_t, out_call: *mut *mut gantry_call_t) -> gantry_status_t;
    pub fn gantry_call_is_done(call: *const gantry_call_t, out_is_done: *mut bool) -> gantry_status_t;
    pub fn gantry_call_wait(call: *mut gantry_call_t, scope: *mut gantry_scope_t, outputs: *mut *const gantry_tensor_t, output_count: usize) -> gantry_status_t;
    pub fn gantry_call_release(call: *mut gantry_call_t);
    pub fn gantry_function_trim(function: *mut gantry_function_t, out_bytes: *mut u64) -> gantry_status_t;
    pub fn gantry_function_attach(function: *mut gantry_function_t, key: *const c_void, data: *mut c_void, release: gantry_release_fn) -> *mut c_void;
    pub fn gantry_function_name(function: *const gantry_function_t) -> *const c_char;
    pub fn gantry_function_input_count(function: *const gantry_function_t) -> usize;
    pub fn gantry_function_output_count(function: *const gantry_function_t) -> usize;
    pub fn gantry_function_get_input(function: *mut gantry_function_t, index: usize, out_value: *mut gantry_function_value_t) -> gantry_status_t;
    pub fn gantry_function_get_output(function: *mut gantry_function_t, index: usize, out_value: *mut gantry_function_value_t) -> gantry_status_t;
    pub fn gantry_function_metadata_count(function: *const gantry_function_t) -> usize;
    pub fn gantry_function_get_metadata(function: *const gantry_function_t, index: usize, out_metadata: *mut gantry_metadata_t) -> gantry_status_t;
    pub fn gantry_scope_name_next(scope: *mut gantry_scope_t, name: *const c_char) -> gantry_status_t;
    pub fn gantry_scope_set_origin(scope: *mut gantry_scope_t, origin: *const c_char) -> gantry_status_t;
    pub fn gantry_scope_begin_after(parent: *mut gantry_scope_t, tensors: *const *const gantry_tensor_t, count: usize) -> *mut gantry_scope_t;
    pub fn gantry_scope_begin_with(parent: *mut gantry_scope_t, tensor: *const gantry_tensor_t) -> *mut gantry_scope_t;
    pub fn gantry_function_explain(function: *mut gantry_function_t, form: gantry_explain_form_t, out: *mut c_char, out_bytes: usize, out_needed: *mut usize) -> gantry_status_t;
    pub fn gantry_function_get_memory(function: *mut gantry_function_t, capacity: usize, out_memory: *mut gantry_function_memory_t, out_count: *mut usize) -> gantry_status_t;
    pub fn gantry_cond(scope: *mut gantry_scope_t, predicate: *const gantry_tensor_t, then_body: gantry_function_body_fn, else_body: gantry_function_body_fn, user: *mut c_void, inputs: *const *const gantry_tensor_t, input_count: usize, outputs: *mut *const gantry_tensor_t, output_count: usize) -> gantry_status_t;
    pub fn gantry_case(scope: *mut gantry_scope_t, index: *const gantry_tensor_t, bodies: *const gantry_function_body_fn, body_count: usize, user: *mut c_void, inputs: *const *const gantry_tensor_t, input_count: usize, outputs: *mut *const gantry_tensor_t, output_count: usize) -> gantry_status_t;
    pub fn gantry_while(scope: *mut gantry_scope_t, condition: gantry_function_body_fn, body: gantry_function_body_fn, user: *mut c_void, values: *const *const gantry_tensor_t, count: usize, options: *const gantry_while_options_t, outputs: *mut *const gantry_tensor_t) -> gantry_status_t;
    pub fn gantry_tensor_from_dlpack(scope: *mut gantry_scope_t, managed: *mut DLManagedTensorVersioned, options: *const gantry_from_dlpack_options_t) -> *const gantry_tensor_t;
    pub fn gantry_tensor_from_dlpack_unversioned(scope: *mut gantry_scope_t, managed: *mut DLManagedTensor, options: *const gantry_from_dlpack_options_t) -> *const gantry_tensor_t;
    pub fn gantry_tensor_to_dlpack(tensor: *const gantry_tensor_t, options: *const gantry_to_dlpack_options_t, out_managed: *mut *mut DLManagedTensorVersioned) -> gantry_status_t;
    pub fn gantry_tensor_to_dlpack_unversioned(tensor: *const gantry_tensor_t, options: *const gantry_to_dlpack_options_t, out_managed: *mut *mut DLManagedTensor) -> gantry_status_t;
    pub fn gantry_tensor_from_exchange(scope: *mut gantry_scope_t, api: *const DLPackExchangeAPI, object: *mut c_void, options: *const gantry_from_dlpack_options_t) -> *const gantry_tensor_t;
    pub fn gantry_tensor_to_exchange(tensor: *const gantry_tensor_t, api: *const DLPackExchangeAPI, options: *const gantry_to_dlpack_options_t, out_object: *mut *mut c_void) -> gantry_status_t;
    pub fn gantry_file_begin(path: *const c_char, out_file: *mut gantry_new_file_t) -> gantry_status_t;
    pub fn gantry_file_write(file: *mut gantry_new_file_t, bytes: *const c_void, size: usize) -> gantry_status_t;
    pub fn gantry_file_end(file: *mut gantry_new_file_t) -> gantry_status_t;
    pub fn gantry_file_abandon(file: *mut gantry_new_file_t);
    pub fn gantry_file_append(path: *const c_char, bytes: *const c_void, size: usize) -> gantry_status_t;
    pub fn gantry_file_read_at(file: c_int, path: *const c_char, offset: u64, bytes: *mut c_void, size: usize) -> gantry_status_t;
    pub fn gantry_op_call(scope: *mut gantry_scope_t, name: *const c_char, inputs: *const *const gantry_tensor_t, input_count: usize, attrs: *const gantry_attr_value_t, attr_count: usize, outputs: *mut *const gantry_tensor_t, output_count: *mut usize) -> gantry_status_t;
    pub fn gantry_op_prepare(runtime: *mut gantry_runtime_t, name: *const c_char, attrs: *const gantry_attr_value_t, attr_count: usize, out_prepared: *mut *mut gantry_prepared_op_t) -> gantry_status_t;
    pub fn gantry_op_call_prepared(scope: *mut gantry_scope_t, prepared: *const gantry_prepared_op_t, inputs: *const *const gantry_tensor_t, input_count: usize, outputs: *mut *const gantry_tensor_t, output_count: *mut usize) -> gantry_status_t;
    pub fn gantry_prepared_op_release(prepared: *mut gantry_prepared_op_t);
    pub fn gantry_op_update(scope: *mut gantry_scope_t, name: *const c_char, values: *mut *mut gantry_tensor_t, value_count: usize, inputs: *const *const gantry_tensor_t, input_count: usize, attrs: *const gantry_attr_value_t, attr_count: usize) -> gantry_status_t;
    pub fn gantry_op_count() -> usize;
    pub fn gantry_op_info(index: usize, out_info: *mut gantry_op_info_t) -> gantry_status_t;
    pub fn gantry_op_has_kernel(runtime: *mut gantry_runtime_t, op: *const c_char, device: *const gantry_logical_device_t, dtype: gantry_dtype_t, out_has: *mut bool, out_source: *mut *const c_char) -> gantry_status_t;
    pub fn gantry_get_program_stats(runtime: *mut gantry_runtime_t, out_stats: *mut gantry_program_stats_t) -> gantry_status_t;
    pub fn gantry_variable_create(scope: *mut gantry_scope_t, initial: *const gantry_tensor_t, name: *const c_char) -> *mut gantry_variable_t;
    pub fn gantry_variable_release(variable: *mut gantry_variable_t);
    pub fn gantry_variable_dtype(variable: *const gantry_variable_t) -> gantry_dtype_t;
    pub fn gantry_variable_shape(variable: *const gantry_variable_t) -> *const gantry_shape_t;
    pub fn gantry_variable_device(variable: *const gantry_variable_t) -> *const gantry_logical_device_t;
    pub fn gantry_variable_name(variable: *const gantry_variable_t) -> *const c_char;
    pub fn gantry_variable_assignments(scope: *const gantry_scope_t, variable: *mut gantry_variable_t) -> u64;
    pub fn gantry_variable_read(scope: *mut gantry_scope_t, variable: *mut gantry_variable_t) -> *const gantry_tensor_t;
    pub fn gantry_variable_assign(scope: *mut gantry_scope_t, variable: *mut gantry_variable_t, value: *const gantry_tensor_t) -> gantry_status_t;
    pub fn gantry_variable_assign_add(scope: *mut gantry_scope_t, variable: *mut gantry_variable_t, value: *const gantry_tensor_t) -> gantry_status_t;
    pub fn gantry_variable_assign_sub(scope: *mut gantry_scope_t, variable: *mut gantry_variable_t, value: *const gantry_tensor_t) -> gantry_status_t;
    pub fn gantry_variable_update(scope: *mut gantry_scope_t, op: *const c_char, variables: *const *mut gantry_variable_t, variable_count: usize, inputs: *const *const gantry_tensor_t, input_count: usize, attrs: *const gantry_attr_value_t, attr_count: usize) -> gantry_status_t;
    pub fn gantry_graph_create(runtime: *mut gantry_runtime_t, name: *const c_char, out_graph: *mut *mut gantry_graph_t) -> gantry_status_t;
    pub fn gantry_graph_retain(graph: *mut gantry_graph_t) -> *mut gantry_graph_t;
    pub fn gantry_graph_release(graph: *mut gantry_graph_t);
    pub fn gantry_graph_add_input(graph: *mut gantry_graph_t, spec: *const gantry_input_spec_t, out_value: *mut gantry_graph_value_t) -> gantry_status_t;
    pub fn gantry_graph_add_constant(graph: *mut gantry_graph_t, name: *const c_char, tensor: *const gantry_tensor_t, out_value: *mut gantry_graph_value_t) -> gantry_status_t;
    pub fn gantry_graph_add_read(graph: *mut gantry_graph_t, name: *const c_char, variable: *mut gantry_variable_t, out_value: *mut gantry_graph_value_t) -> gantry_status_t;
    pub fn gantry_graph_add_assign(graph: *mut gantry_graph_t, name: *const c_char, variable: *mut gantry_variable_t, mode: gantry_assign_mode_t, value: gantry_graph_value_t) -> gantry_status_t;
    pub fn gantry_graph_add_node(graph: *mut gantry_graph_t, node: *const gantry_graph_node_t, outputs: *mut gantry_graph_value_t, output_count: *mut usize) -> gantry_status_t;
    pub fn gantry_graph_add_subgraph(graph: *mut gantry_graph_t, name: *const c_char, out_subgraph: *mut *mut gantry_graph_t) -> gantry_status_t;
    pub fn gantry_graph_add_case(graph: *mut gantry_graph_t, node: *const gantry_graph_node_t, subgraphs: *const *mut gantry_graph_t, subgraph_count: usize, outputs: *mut gantry_graph_value_t, output_count: usize) -> gantry_status_t;
    pub fn gantry_graph_add_while(graph: *mut gantry_graph_t, node: *const gantry_graph_node_t, condition: *mut gantry_graph_t, body: *mut gantry_graph_t, most_steps: u64, outputs: *mut gantry_graph_value_t) -> gantry_status_t;
    pub fn gantry_graph_add_join(graph: *mut gantry_graph_t, node: *const gantry_graph_node_t, body: *mut gantry_graph_t, outputs: *mut gantry_graph_value_t) -> gantry_status_t;
    pub fn gantry_graph_add_output(graph: *mut gantry_graph_t, name: *const c_char, value: gantry_graph_value_t) -> gantry_status_t;
    pub fn gantry_graph_set_metadata(graph: *mut gantry_graph_t, key: *const c_char, text: *const c_char) -> gantry_status_t;
    pub fn gantry_function_from_graph(graph: *mut gantry_graph_t, options: *const gantry_function_options_t, out_function: *mut *mut gantry_function_t) -> gantry_status_t;
    pub fn gantry_function_get_graph(function: *mut gantry_function_t, out_graph: *mut *mut gantry_graph_t) -> gantry_status_t;
    pub fn gantry_graph_name(graph: *const gantry_graph_t) -> *const c_char;
    pub fn gantry_graph_node_count(graph: *const gantry_graph_t) -> usize;
    pub fn gantry_graph_get_node(graph: *const gantry_graph_t, index: usize, out_info: *mut gantry_graph_node_info_t) -> gantry_status_t;
    pub fn gantry_graph_input_count(graph: *const gantry_graph_t) -> usize;
    pub fn gantry_graph_get_input(graph: *const gantry_graph_t, index: usize, out_spec: *mut gantry_input_spec_t, out_value: *mut gantry_graph_value_t) -> gantry_status_t;
    pub fn gantry_graph_output_count(graph: *const gantry_graph_t) -> usize;
    pub fn gantry_graph_get_output(graph: *const gantry_graph_t, index: usize, out_name: *mut *const c_char, out_value: *mut gantry_graph_value_t) -> gantry_status_t;
    pub fn gantry_graph_metadata_count(graph: *const gantry_graph_t) -> usize;
    pub fn gantry_graph_get_metadata(graph: *const gantry_graph_t, index: usize, out_key: *mut *const c_char, out_text: *mut *const c_char) -> gantry_status_t;
    pub fn gantry_tensor_from_memory(scope: *mut gantry_scope_t, dtype: gantry_dtype_t, shape: gantry_shape_t, data: *mut c_void, bytes: usize, options: *const gantry_from_memory_options_t) -> *const gantry_tensor_t;
    pub fn gantry_get_tensor_memory(tensor: *const gantry_tensor_t, out_memory: *mut gantry_tensor_memory_t) -> gantry_status_t;
    pub fn gantry_tensor_map(tensor: *const gantry_tensor_t, out_data: *mut *const c_void) -> gantry_status_t;
    pub fn gantry_tensor_unmap(tensor: *const gantry_tensor_t) -> gantry_status_t;
    pub fn gantry_device_get_native(device: *const gantry_logical_device_t, out_native: *mut gantry_native_t) -> gantry_status_t;
    pub fn gantry_tensor_from_device_memory(scope: *mut gantry_scope_t, device: *const gantry_logical_device_t, dtype: gantry_dtype_t, shape: gantry_shape_t, memory: *mut c_void, offset_bytes: u64, options: *const gantry_from_device_memory_options_t) -> *const gantry_tensor_t;
    pub fn gantry_tensor_get_device_memory(tensor: *const gantry_tensor_t, out_memory: *mut gantry_device_memory_t) -> gantry_status_t;
    pub fn gantry_tensor_get_event(tensor: *const gantry_tensor_t, out_event: *mut *mut c_void) -> gantry_status_t;
    pub fn gantry_tensor_use_until(tensor: *const gantry_tensor_t, native_event: *mut c_void) -> gantry_status_t;
    pub fn gantry_load_npy(scope: *mut gantry_scope_t, path: *const c_char) -> *const gantry_tensor_t;
    pub fn gantry_map_npy(scope: *mut gantry_scope_t, path: *const c_char) -> *const gantry_tensor_t;
    pub fn gantry_save_npy(scope: *mut gantry_scope_t, tensor: *const gantry_tensor_t, path: *const c_char) -> gantry_status_t;
    pub fn gantry_parse_npy(npy: *const c_void, npy_bytes: usize, out_dtype: *mut gantry_dtype_t, out_shape: *mut gantry_shape_t, out: *mut c_void, out_bytes: usize) -> gantry_status_t;
    pub fn gantry_parse_npy_header(front: *const c_void, front_bytes: usize, npy_bytes: u64, out_dtype: *mut gantry_dtype_t, out_shape: *mut gantry_shape_t, out_offset: *mut u64) -> gantry_status_t;
    pub fn gantry_format_npy_header(dtype: gantry_dtype_t, shape: *const gantry_shape_t, out: *mut c_char, out_size: *mut usize) -> gantry_status_t;
    pub fn gantry_load_elements(scope: *mut gantry_scope_t, file: c_int, path: *const c_char, offset: i64, dtype: gantry_dtype_t, shape: gantry_shape_t) -> *const gantry_tensor_t;
    pub fn gantry_map_elements(scope: *mut gantry_scope_t, file: c_int, path: *const c_char, offset: i64, dtype: gantry_dtype_t, shape: gantry_shape_t) -> *const gantry_tensor_t;
    pub fn gantry_recognize_file(front: *const c_void, front_bytes: usize) -> *const c_char;
    pub fn gantry_reduce_with_body(scope: *mut gantry_scope_t, operands: *const *const gantry_tensor_t, inits: *const *const gantry_tensor_t, count: usize, body: gantry_function_body_fn, user: *mut c_void, options: *const gantry_reduce_body_options_t, outputs: *mut *const gantry_tensor_t) -> gantry_status_t;
    pub fn gantry_reduce_window_with_body(scope: *mut gantry_scope_t, operands: *const *const gantry_tensor_t, inits: *const *const gantry_tensor_t, count: usize, body: gantry_function_body_fn, user: *mut c_void, window: *const i64, options: *const gantry_window_body_options_t, outputs: *mut *const gantry_tensor_t) -> gantry_status_t;
    pub fn gantry_scan_with_body(scope: *mut gantry_scope_t, operands: *const *const gantry_tensor_t, inits: *const *const gantry_tensor_t, count: usize, axis: i32, body: gantry_function_body_fn, user: *mut c_void, options: *const gantry_scan_body_options_t, outputs: *mut *const gantry_tensor_t) -> gantry_status_t;
    pub fn gantry_scatter_with_body(scope: *mut gantry_scope_t, operands: *const *const gantry_tensor_t, indices: *const gantry_tensor_t, updates: *const *const gantry_tensor_t, count: usize, body: gantry_function_body_fn, user: *mut c_void, options: *const gantry_scatter_body_options_t, outputs: *mut *const gantry_tensor_t) -> gantry_status_t;
    pub fn gantry_scatter_elements_with_body(scope: *mut gantry_scope_t, operands: *const *const gantry_tensor_t, indices: *const gantry_tensor_t, updates: *const *const gantry_tensor_t, count: usize, axis: i32, body: gantry_function_body_fn, user: *mut c_void, options: *const gantry_scatter_body_options_t, outputs: *mut *const gantry_tensor_t) -> gantry_status_t;
    pub fn gantry_set_memory_growth(runtime: *mut gantry_runtime_t, device: *const gantry_physical_device_t, enabled: bool) -> gantry_status_t;
    pub fn gantry_get_memory_growth(runtime: *mut gantry_runtime_t, device: *const gantry_physical_device_t, out_enabled: *mut bool) -> gantry_status_t;
    pub fn gantry_set_memory_limit(runtime: *mut gantry_runtime_t, device: *const gantry_physical_device_t, limit_bytes: u64) -> gantry_status_t;
    pub fn gantry_set_memory_fraction(runtime: *mut gantry_runtime_t, device: *const gantry_physical_device_t, fraction: f64) -> gantry_status_t;
    pub fn gantry_get_memory_info(runtime: *mut gantry_runtime_t, device: *const c_char, out_info: *mut gantry_memory_info_t) -> gantry_status_t;
    pub fn gantry_reset_memory_stats(runtime: *mut gantry_runtime_t, device: *const c_char) -> gantry_status_t;
    pub fn gantry_trim_memory(runtime: *mut gantry_runtime_t, device: *const c_char, target_bytes: u64, out_pool_bytes: *mut u64) -> gantry_status_t;
    pub fn gantry_pinned_alloc(runtime: *mut gantry_runtime_t, device: *const c_char, bytes: usize, out_data: *mut *mut c_void) -> gantry_status_t;
    pub fn gantry_pinned_free(runtime: *mut gantry_runtime_t, data: *mut c_void) -> gantry_status_t;
    pub fn gantry_get_memory_report(runtime: *mut gantry_runtime_t, device: *const c_char, format: gantry_report_format_t, out: *mut c_char, out_bytes: usize, out_needed: *mut usize) -> gantry_status_t;
    pub fn gantry_get_oom_report(runtime: *mut gantry_runtime_t, device: *const c_char, format: gantry_report_format_t, out: *mut c_char, out_bytes: usize, out_needed: *mut usize) -> gantry_status_t;
    pub fn gantry_scope_observe(scope: *mut gantry_scope_t, observer: *mut gantry_observer_t) -> gantry_status_t;
    pub fn gantry_scope_unobserve(scope: *mut gantry_scope_t, observer: *mut gantry_observer_t);
    pub fn gantry_scope_begin_unobserved(parent: *mut gantry_scope_t) -> *mut gantry_scope_t;
    pub fn gantry_scope_tell(scope: *mut gantry_scope_t, observation: *const gantry_observation_t) -> gantry_status_t;
    pub fn gantry_op_call_parts(scope: *mut gantry_scope_t, name: *const c_char, inputs: *const *const gantry_tensor_t, input_count: usize, attrs: *const gantry_attr_value_t, attr_count: usize, outputs: *mut *const gantry_tensor_t, output_count: *mut usize) -> gantry_status_t;
    pub fn gantry_scope_body_depth(scope: *const gantry_scope_t) -> usize;
    pub fn gantry_scope_is_observed(scope: *const gantry_scope_t) -> bool;
    pub fn gantry_program_fp_mode() -> *mut *const gantry_fp_mode_t;
    pub fn gantry_scaled_dot_product_attention(scope: *mut gantry_scope_t, query: *const gantry_tensor_t, key: *const gantry_tensor_t, value: *const gantry_tensor_t, options: *const gantry_scaled_attention_options_t, outputs: *mut *const gantry_tensor_t) -> gantry_status_t;
    pub fn gantry_rotary_embedding(scope: *mut gantry_scope_t, x: *const gantry_tensor_t, cos_cache: *const gantry_tensor_t, sin_cache: *const gantry_tensor_t, position_ids: *const gantry_tensor_t, options: *const gantry_rotary_options_t) -> *const gantry_tensor_t;
    pub fn gantry_sum(scope: *mut gantry_scope_t, x: *const gantry_tensor_t, options: *const gantry_reduce_options_t) -> *const gantry_tensor_t;
    pub fn gantry_mean(scope: *mut gantry_scope_t, x: *const gantry_tensor_t, options: *const gantry_reduce_options_t) -> *const gantry_tensor_t;
    pub fn gantry_max(scope: *mut gantry_scope_t, x: *const gantry_tensor_t, options: *const gantry_reduce_options_t) -> *const gantry_tensor_t;
    pub fn gantry_min(scope: *mut gantry_scope_t, x: *const gantry_tensor_t, options: *const gantry_reduce_options_t) -> *const gantry_tensor_t;
    pub fn gantry_prod(scope: *mut gantry_scope_t, x: *const gantry_tensor_t, options: *const gantry_reduce_options_t) -> *const gantry_tensor_t;
    pub fn gantry_all(scope: *mut gantry_scope_t, x: *const gantry_tensor_t, options: *const gantry_reduce_options_t) -> *const gantry_tensor_t;
    pub fn gantry_any(scope: *mut gantry_scope_t, x: *const gantry_tensor_t, options: *const gantry_reduce_options_t) -> *const gantry_tensor_t;
    pub fn gantry_euclidean_norm(scope: *mut gantry_scope_t, x: *const gantry_tensor_t, options: *const gantry_reduce_options_t) -> *const gantry_tensor_t;
    pub fn gantry_l2_loss(scope: *mut gantry_scope_t, x: *const gantry_tensor_t) -> *const gantry_tensor_t;
    pub fn gantry_log_sum_exp(scope: *mut gantry_scope_t, x: *const gantry_tensor_t, options: *const gantry_reduce_options_t) -> *const gantry_tensor_t;
    pub fn gantry_var(scope: *mut gantry_scope_t, x: *const gantry_tensor_t, options: *const gantry_reduce_options_t) -> *const gantry_tensor_t;
    pub fn gantry_std(scope: *mut gantry_scope_t, x: *const gantry_tensor_t, options: *const gantry_reduce_options_t) -> *const gantry_tensor_t;
    pub fn gantry_argmax(scope: *mut gantry_scope_t, x: *const gantry_tensor_t, axis: i32) -> *const gantry_tensor_t;
    pub fn gantry_argmin(scope: *mut gantry_scope_t, x: *const gantry_tensor_t, axis: i32) -> *const gantry_tensor_t;
    pub fn gantry_softmax(scope: *mut gantry_scope_t, x: *const gantry_tensor_t) -> *const gantry_tensor_t;
    pub fn gantry_log_softmax(scope: *mut gantry_scope_t, x: *const gantry_tensor_t) -> *const gantry_tensor_t;
    pub fn gantry_cumsum(scope: *mut gantry_scope_t, x: *const gantry_tensor_t, axis: i32, options: *const gantry_scan_options_t) -> *const gantry_tensor_t;
    pub fn gantry_cumprod(scope: *mut gantry_scope_t, x: *const gantry_tensor_t, axis: i32, options: *const gantry_scan_options_t) -> *const gantry_tensor_t;
    pub fn gantry_cumulative_logsumexp(scope: *mut gantry_scope_t, x: *const gantry_tensor_t, axis: i32, options: *const gantry_scan_options_t) -> *const gantry_tensor_t;
    pub fn gantry_softmax_cross_entropy_with_logits(scope: *mut gantry_scope_t, features: *const gantry_tensor_t, labels: *const gantry_tensor_t, out_loss: *mut *const gantry_tensor_t, out_backprop: *mut *const gantry_tensor_t) -> gantry_status_t;
    pub fn gantry_sparse_softmax_cross_entropy_with_logits(scope: *mut gantry_scope_t, features: *const gantry_tensor_t, labels: *const gantry_tensor_t, out_loss: *mut *const gantry_tensor_t, out_backprop: *mut *const gantry_tensor_t) -> gantry_status_t;
    pub fn gantry_pack(scope: *mut gantry_scope_t, values: *const *const gantry_tensor_t, count: usize, axis: i32) -> *const gantry_tensor_t;
    pub fn gantry_unpack(scope: *mut gantry_scope_t, x: *const gantry_tensor_t, axis: i32, outputs: *mut *const gantry_tensor_t, count: usize) -> gantry_status_t;
    pub fn gantry_split(scope: *mut gantry_scope_t, x: *const gantry_tensor_t, axis: i32, outputs: *mut *const gantry_tensor_t, count: usize) -> gantry_status_t;
    pub fn gantry_split_v(scope: *mut gantry_scope_t, x: *const gantry_tensor_t, sizes: *const i64, axis: i32, outputs: *mut *const gantry_tensor_t, count: usize) -> gantry_status_t;
    pub fn gantry_shape(scope: *mut gantry_scope_t, x: *const gantry_tensor_t, out_type: gantry_dtype_t) -> *const gantry_tensor_t;
    pub fn gantry_size(scope: *mut gantry_scope_t, x: *const gantry_tensor_t, out_type: gantry_dtype_t) -> *const gantry_tensor_t;
    pub fn gantry_rank(scope: *mut gantry_scope_t, x: *const gantry_tensor_t) -> *const gantry_tensor_t;
    pub fn gantry_broadcast_args(scope: *mut gantry_scope_t, s0: *const gantry_tensor_t, s1: *const gantry_tensor_t) -> *const gantry_tensor_t;
    pub fn gantry_eye(scope: *mut gantry_scope_t, rows: i64, columns: i64, dtype: gantry_dtype_t) -> *const gantry_tensor_t;
    pub fn gantry_lin_space(scope: *mut gantry_scope_t, start: *const gantry_tensor_t, stop: *const gantry_tensor_t, num: i64) -> *const gantry_tensor_t;
    pub fn gantry_embedding_lookup(scope: *mut gantry_scope_t, params: *const gantry_tensor_t, ids: *const gantry_tensor_t) -> *const gantry_tensor_t;
    pub fn gantry_boolean_mask(scope: *mut gantry_scope_t, x: *const gantry_tensor_t, mask: *const gantry_tensor_t, axis: i32) -> *const gantry_tensor_t;
    pub fn gantry_moments(scope: *mut gantry_scope_t, x: *const gantry_tensor_t, options: *const gantry_reduce_options_t, out_mean: *mut *const gantry_tensor_t, out_variance: *mut *const gantry_tensor_t) -> gantry_status_t;
    pub fn gantry_batch_norm(scope: *mut gantry_scope_t, x: *const gantry_tensor_t, mean: *const gantry_tensor_t, variance: *const gantry_tensor_t, offset: *const gantry_tensor_t, scale: *const gantry_tensor_t, variance_epsilon: f64) -> *const gantry_tensor_t;
    pub fn gantry_fused_batch_norm(scope: *mut gantry_scope_t, x: *const gantry_tensor_t, scale: *const gantry_tensor_t, offset: *const gantry_tensor_t, mean: *const gantry_tensor_t, variance: *const gantry_tensor_t, options: *const gantry_fused_batch_norm_options_t, outputs: *mut *const gantry_tensor_t) -> gantry_status_t;
    pub fn gantry_layer_norm(scope: *mut gantry_scope_t, x: *const gantry_tensor_t, scale: *const gantry_tensor_t, offset: *const gantry_tensor_t, axis: i32, epsilon: f64) -> *const gantry_tensor_t;
    pub fn gantry_rms_norm(scope: *mut gantry_scope_t, x: *const gantry_tensor_t, scale: *const gantry_tensor_t, axis: i32, epsilon: f64) -> *const gantry_tensor_t;
    pub fn gantry_group_norm(scope: *mut gantry_scope_t, x: *const gantry_tensor_t, scale: *const gantry_tensor_t, offset: *const gantry_tensor_t, num_groups: i64, epsilon: f64, channels_first: bool) -> *const gantry_tensor_t;
    pub fn gantry_instance_norm(scope: *mut gantry_scope_t, x: *const gantry_tensor_t, scale: *const gantry_tensor_t, offset: *const gantry_tensor_t, epsilon: f64, channels_first: bool) -> *const gantry_tensor_t;
    pub fn gantry_dropout(scope: *mut gantry_scope_t, x: *const gantry_tensor_t, rate: f64, seed0: i64, seed1: i64) -> *const gantry_tensor_t;
    pub fn gantry_einsum(scope: *mut gantry_scope_t, equation: *const c_char, inputs: *const *const gantry_tensor_t, count: usize) -> *const gantry_tensor_t;
    pub fn gantry_add(scope: *mut gantry_scope_t, x: *const gantry_tensor_t, y: *const gantry_tensor_t) -> *const gantry_tensor_t;
    pub fn gantry_sub(scope: *mut gantry_scope_t, x: *const gantry_tensor_t, y: *const gantry_tensor_t) -> *const gantry_tensor_t;
    pub fn gantry_mul(scope: *mut gantry_scope_t, x: *const gantry_tensor_t, y: *const gantry_tensor_t) -> *const gantry_tensor_t;
    pub fn gantry_div(scope: *mut gantry_scope_t, x: *const gantry_tensor_t, y: *const gantry_tensor_t) -> *const gantry_tensor_t;
    pub fn gantry_floor_div(scope: *mut gantry_scope_t, x: *const gantry_tensor_t, y: *const gantry_tensor_t) -> *const gantry_tensor_t;
    pub fn gantry_truncate_div(scope: *mut gantry_scope_t, x: *const gantry_tensor_t, y: *const gantry_tensor_t) -> *const gantry_tensor_t;
    pub fn gantry_floor_mod(scope: *mut gantry_scope_t, x: *const gantry_tensor_t, y: *const gantry_tensor_t) -> *const gantry_tensor_t;
    pub fn gantry_truncate_mod(scope: *mut gantry_scope_t, x: *const gantry_tensor_t, y: *const gantry_tensor_t) -> *const gantry_tensor_t;
    pub fn gantry_div_no_nan(scope: *mut gantry_scope_t, x: *const gantry_tensor_t, y: *const gantry_tensor_t) -> *const gantry_tensor_t;
    pub fn gantry_mul_no_nan(scope: *mut gantry_scope_t, x: *const gantry_tensor_t, y: *const gantry_tensor_t) -> *const gantry_tensor_t;
    pub fn gantry_xdivy(scope: *mut gantry_scope_t, x: *const gantry_tensor_t, y: *const gantry_tensor_t) -> *const gantry_tensor_t;
    pub fn gantry_xlogy(scope: *mut gantry_scope_t, x: *const gantry_tensor_t, y: *const gantry_tensor_t) -> *const gantry_tensor_t;
    pub fn gantry_xlog1py(scope: *mut gantry_scope_t, x: *const gantry_tensor_t, y: *const gantry_tensor_t) -> *const gantry_tensor_t;
    pub fn gantry_pow(scope: *mut gantry_scope_t, x: *const gantry_tensor_t, y: *const gantry_tensor_t) -> *const gantry_tensor_t;
    pub fn gantry_atan2(scope: *mut gantry_scope_t, y: *const gantry_tensor_t, x: *const gantry_tensor_t) -> *const gantry_tensor_t;
    pub fn gantry_squared_difference(scope: *mut gantry_scope_t, x: *const gantry_tensor_t, y: *const gantry_tensor_t) -> *const gantry_tensor_t;
    pub fn gantry_maximum(scope: *mut gantry_scope_t, x: *const gantry_tensor_t, y: *const gantry_tensor_t) -> *const gantry_tensor_t;
    pub fn gantry_minimum(scope: *mut gantry_scope_t, x: *const gantry_tensor_t, y: *const gantry_tensor_t) -> *const gantry_tensor_t;
    pub fn gantry_bitwise_and(scope: *mut gantry_scope_t, x: *const gantry_tensor_t, y: *const gantry_tensor_t) -> *const gantry_tensor_t;
    pub fn gantry_bitwise_or(scope: *mut gantry_scope_t, x: *const gantry_tensor_t, y: *const gantry_tensor_t) -> *const gantry_tensor_t;
    pub fn gantry_bitwise_xor(scope: *mut gantry_scope_t, x: *const gantry_tensor_t, y: *const gantry_tensor_t) -> *const gantry_tensor_t;
    pub fn gantry_left_shift(scope: *mut gantry_scope_t, x: *const gantry_tensor_t, y: *const gantry_tensor_t) -> *const gantry_tensor_t;
    pub fn gantry_right_shift(scope: *mut gantry_scope_t, x: *const gantry_tensor_t, y: *const gantry_tensor_t) -> *const gantry_tensor_t;
    pub fn gantry_neg(scope: *mut gantry_scope_t, x: *const gantry_tensor_t) -> *const gantry_tensor_t;
    pub fn gantry_abs(scope: *mut gantry_scope_t, x: *const gantry_tensor_t) -> *const gantry_tensor_t;
    pub fn gantry_sign(scope: *mut gantry_scope_t, x: *const gantry_tensor_t) -> *const gantry_tensor_t;
    pub fn gantry_square(scope: *mut gantry_scope_t, x: *const gantry_tensor_t) -> *const gantry_tensor_t;
    pub fn gantry_reciprocal(scope: *mut gantry_scope_t, x: *const gantry_tensor_t) -> *const gantry_tensor_t;
    pub fn gantry_invert(scope: *mut gantry_scope_t, x: *const gantry_tensor_t) -> *const gantry_tensor_t;
    pub fn gantry_population_count(scope: *mut gantry_scope_t, x: *const gantry_tensor_t) -> *const gantry_tensor_t;
    pub fn gantry_count_leading_zeros(scope: *mut gantry_scope_t, x: *const gantry_tensor_t) -> *const gantry_tensor_t;
    pub fn gantry_floor(scope: *mut gantry_scope_t, x: *const gantry_tensor_t) -> *const gantry_tensor_t;
    pub fn gantry_ceil(scope: *mut gantry_scope_t, x: *const gantry_tensor_t) -> *const gantry_tensor_t;
    pub fn gantry_round(scope: *mut gantry_scope_t, x: *const gantry_tensor_t) -> *const gantry_tensor_t;
    pub fn gantry_rint(scope: *mut gantry_scope_t, x: *const gantry_tensor_t) -> *const gantry_tensor_t;
    pub fn gantry_reduce_precision(scope: *mut gantry_scope_t, x: *const gantry_tensor_t, exponent_bits: i32, mantissa_bits: i32) -> *const gantry_tensor_t;
    pub fn gantry_relu(scope: *mut gantry_scope_t, x: *const gantry_tensor_t) -> *const gantry_tensor_t;
    pub fn gantry_relu6(scope: *mut gantry_scope_t, x: *const gantry_tensor_t) -> *const gantry_tensor_t;
    pub fn gantry_leaky_relu(scope: *mut gantry_scope_t, x: *const gantry_tensor_t, alpha: f32) -> *const gantry_tensor_t;
    pub fn gantry_sqrt(scope: *mut gantry_scope_t, x: *const gantry_tensor_t) -> *const gantry_tensor_t;
    pub fn gantry_cbrt(scope: *mut gantry_scope_t, x: *const gantry_tensor_t) -> *const gantry_tensor_t;
    pub fn gantry_exp(scope: *mut gantry_scope_t, x: *const gantry_tensor_t) -> *const gantry_tensor_t;
    pub fn gantry_log(scope: *mut gantry_scope_t, x: *const gantry_tensor_t) -> *const gantry_tensor_t;
    pub fn gantry_tanh(scope: *mut gantry_scope_t, x: *const gantry_tensor_t) -> *const gantry_tensor_t;
    pub fn gantry_sigmoid(scope: *mut gantry_scope_t, x: *const gantry_tensor_t) -> *const gantry_tensor_t;
    pub fn gantry_sin(scope: *mut gantry_scope_t, x: *const gantry_tensor_t) -> *const gantry_tensor_t;
    pub fn gantry_cos(scope: *mut gantry_scope_t, x: *const gantry_tensor_t) -> *const gantry_tensor_t;
    pub fn gantry_tan(scope: *mut gantry_scope_t, x: *const gantry_tensor_t) -> *const gantry_tensor_t;
    pub fn gantry_asin(scope: *mut gantry_scope_t, x: *const gantry_tensor_t) -> *const gantry_tensor_t;
    pub fn gantry_acos(scope: *mut gantry_scope_t, x: *const gantry_tensor_t) -> *const gantry_tensor_t;
    pub fn gantry_atan(scope: *mut gantry_scope_t, x: *const gantry_tensor_t) -> *const gantry_tensor_t;
    pub fn gantry_sinh(scope: *mut gantry_scope_t, x: *const gantry_tensor_t) -> *const gantry_tensor_t;
    pub fn gantry_cosh(scope: *mut gantry_scope_t, x: *const gantry_tensor_t) -> *const gantry_tensor_t;
    pub fn gantry_asinh(scope: *mut gantry_scope_t, x: *const gantry_tensor_t) -> *const gantry_tensor_t;
    pub fn gantry_acosh(scope: *mut gantry_scope_t, x: *const gantry_tensor_t) -> *const gantry_tensor_t;
    pub fn gantry_atanh(scope: *mut gantry_scope_t, x: *const gantry_tensor_t) -> *const gantry_tensor_t;
    pub fn gantry_expm1(scope: *mut gantry_scope_t, x: *const gantry_tensor_t) -> *const gantry_tensor_t;
    pub fn gantry_log1p(scope: *mut gantry_scope_t, x: *const gantry_tensor_t) -> *const gantry_tensor_t;
    pub fn gantry_erf(scope: *mut gantry_scope_t, x: *const gantry_tensor_t) -> *const gantry_tensor_t;
    pub fn gantry_erfc(scope: *mut gantry_scope_t, x: *const gantry_tensor_t) -> *const gantry_tensor_t;
    pub fn gantry_erfinv(scope: *mut gantry_scope_t, x: *const gantry_tensor_t) -> *const gantry_tensor_t;
    pub fn gantry_lgamma(scope: *mut gantry_scope_t, x: *const gantry_tensor_t) -> *const gantry_tensor_t;
    pub fn gantry_digamma(scope: *mut gantry_scope_t, x: *const gantry_tensor_t) -> *const gantry_tensor_t;
    pub fn gantry_rsqrt(scope: *mut gantry_scope_t, x: *const gantry_tensor_t) -> *const gantry_tensor_t;
    pub fn gantry_softplus(scope: *mut gantry_scope_t, x: *const gantry_tensor_t) -> *const gantry_tensor_t;
    pub fn gantry_softsign(scope: *mut gantry_scope_t, x: *const gantry_tensor_t) -> *const gantry_tensor_t;
    pub fn gantry_elu(scope: *mut gantry_scope_t, x: *const gantry_tensor_t) -> *const gantry_tensor_t;
    pub fn gantry_selu(scope: *mut gantry_scope_t, x: *const gantry_tensor_t) -> *const gantry_tensor_t;
    pub fn gantry_silu(scope: *mut gantry_scope_t, x: *const gantry_tensor_t) -> *const gantry_tensor_t;
    pub fn gantry_gelu(scope: *mut gantry_scope_t, x: *const gantry_tensor_t, approximate: bool) -> *const gantry_tensor_t;
    pub fn gantry_equal(scope: *mut gantry_scope_t, x: *const gantry_tensor_t, y: *const gantry_tensor_t) -> *const gantry_tensor_t;
    pub fn gantry_not_equal(scope: *mut gantry_scope_t, x: *const gantry_tensor_t, y: *const gantry_tensor_t) -> *const gantry_tensor_t;
    pub fn gantry_less(scope: *mut gantry_scope_t, x: *const gantry_tensor_t, y: *const gantry_tensor_t) -> *const gantry_tensor_t;
    pub fn gantry_less_equal(scope: *mut gantry_scope_t, x: *const gantry_tensor_t, y: *const gantry_tensor_t) -> *const gantry_tensor_t;
    pub fn gantry_greater(scope: *mut gantry_scope_t, x: *const gantry_tensor_t, y: *const gantry_tensor_t) -> *const gantry_tensor_t;
    pub fn gantry_greater_equal(scope: *mut gantry_scope_t, x: *const gantry_tensor_t, y: *const gantry_tensor_t) -> *const gantry_tensor_t;
    pub fn gantry_is_nan(scope: *mut gantry_scope_t, x: *const gantry_tensor_t) -> *const gantry_tensor_t;
    pub fn gantry_is_inf(scope: *mut gantry_scope_t, x: *const gantry_tensor_t) -> *const gantry_tensor_t;
    pub fn gantry_is_finite(scope: *mut gantry_scope_t, x: *const gantry_tensor_t) -> *const gantry_tensor_t;
    pub fn gantry_logical_and(scope: *mut gantry_scope_t, x: *const gantry_tensor_t, y: *const gantry_tensor_t) -> *const gantry_tensor_t;
    pub fn gantry_logical_or(scope: *mut gantry_scope_t, x: *const gantry_tensor_t, y: *const gantry_tensor_t) -> *const gantry_tensor_t;
    pub fn gantry_logical_xor(scope: *mut gantry_scope_t, x: *const gantry_tensor_t, y: *const gantry_tensor_t) -> *const gantry_tensor_t;
    pub fn gantry_logical_not(scope: *mut gantry_scope_t, x: *const gantry_tensor_t) -> *const gantry_tensor_t;
    pub fn gantry_clip_by_value(scope: *mut gantry_scope_t, x: *const gantry_tensor_t, min: *const gantry_tensor_t, max: *const gantry_tensor_t) -> *const gantry_tensor_t;
    pub fn gantry_select(scope: *mut gantry_scope_t, condition: *const gantry_tensor_t, x: *const gantry_tensor_t, y: *const gantry_tensor_t) -> *const gantry_tensor_t;
    pub fn gantry_cast(scope: *mut gantry_scope_t, x: *const gantry_tensor_t, dtype: gantry_dtype_t) -> *const gantry_tensor_t;
    pub fn gantry_add_n(scope: *mut gantry_scope_t, values: *const *const gantry_tensor_t, count: usize) -> *const gantry_tensor_t;
    pub fn gantry_bias_add(scope: *mut gantry_scope_t, value: *const gantry_tensor_t, bias: *const gantry_tensor_t) -> *const gantry_tensor_t;
    pub fn gantry_gather(scope: *mut gantry_scope_t, params: *const gantry_tensor_t, indices: *const gantry_tensor_t, axis: i32) -> *const gantry_tensor_t;
    pub fn gantry_one_hot(scope: *mut gantry_scope_t, indices: *const gantry_tensor_t, depth: i32, on_value: *const gantry_tensor_t, off_value: *const gantry_tensor_t, axis: i32) -> *const gantry_tensor_t;
    pub fn gantry_gather_nd(scope: *mut gantry_scope_t, params: *const gantry_tensor_t, indices: *const gantry_tensor_t) -> *const gantry_tensor_t;
    pub fn gantry_scatter_nd(scope: *mut gantry_scope_t, indices: *const gantry_tensor_t, updates: *const gantry_tensor_t, shape: gantry_shape_t) -> *const gantry_tensor_t;
    pub fn gantry_tensor_scatter_update(scope: *mut gantry_scope_t, tensor: *const gantry_tensor_t, indices: *const gantry_tensor_t, updates: *const gantry_tensor_t) -> *const gantry_tensor_t;
    pub fn gantry_tensor_scatter_add(scope: *mut gantry_scope_t, tensor: *const gantry_tensor_t, indices: *const gantry_tensor_t, updates: *const gantry_tensor_t) -> *const gantry_tensor_t;
    pub fn gantry_tensor_scatter_sub(scope: *mut gantry_scope_t, tensor: *const gantry_tensor_t, indices: *const gantry_tensor_t, updates: *const gantry_tensor_t) -> *const gantry_tensor_t;
    pub fn gantry_tensor_scatter_mul(scope: *mut gantry_scope_t, tensor: *const gantry_tensor_t, indices: *const gantry_tensor_t, updates: *const gantry_tensor_t) -> *const gantry_tensor_t;
    pub fn gantry_tensor_scatter_max(scope: *mut gantry_scope_t, tensor: *const gantry_tensor_t, indices: *const gantry_tensor_t, updates: *const gantry_tensor_t) -> *const gantry_tensor_t;
    pub fn gantry_tensor_scatter_min(scope: *mut gantry_scope_t, tensor: *const gantry_tensor_t, indices: *const gantry_tensor_t, updates: *const gantry_tensor_t) -> *const gantry_tensor_t;
    pub fn gantry_gather_elements(scope: *mut gantry_scope_t, data: *const gantry_tensor_t, indices: *const gantry_tensor_t, axis: i32) -> *const gantry_tensor_t;
    pub fn gantry_scatter_elements(scope: *mut gantry_scope_t, data: *const gantry_tensor_t, indices: *const gantry_tensor_t, updates: *const gantry_tensor_t, axis: i32, reduction: *const c_char) -> *const gantry_tensor_t;
    pub fn gantry_segment_sum(scope: *mut gantry_scope_t, data: *const gantry_tensor_t, segment_ids: *const gantry_tensor_t) -> *const gantry_tensor_t;
    pub fn gantry_segment_mean(scope: *mut gantry_scope_t, data: *const gantry_tensor_t, segment_ids: *const gantry_tensor_t) -> *const gantry_tensor_t;
    pub fn gantry_segment_max(scope: *mut gantry_scope_t, data: *const gantry_tensor_t, segment_ids: *const gantry_tensor_t) -> *const gantry_tensor_t;
    pub fn gantry_segment_min(scope: *mut gantry_scope_t, data: *const gantry_tensor_t, segment_ids: *const gantry_tensor_t) -> *const gantry_tensor_t;
    pub fn gantry_segment_prod(scope: *mut gantry_scope_t, data: *const gantry_tensor_t, segment_ids: *const gantry_tensor_t) -> *const gantry_tensor_t;
    pub fn gantry_unsorted_segment_sum(scope: *mut gantry_scope_t, data: *const gantry_tensor_t, segment_ids: *const gantry_tensor_t, num_segments: i64) -> *const gantry_tensor_t;
    pub fn gantry_unsorted_segment_mean(scope: *mut gantry_scope_t, data: *const gantry_tensor_t, segment_ids: *const gantry_tensor_t, num_segments: i64) -> *const gantry_tensor_t;
    pub fn gantry_unsorted_segment_max(scope: *mut gantry_scope_t, data: *const gantry_tensor_t, segment_ids: *const gantry_tensor_t, num_segments: i64) -> *const gantry_tensor_t;
    pub fn gantry_unsorted_segment_min(scope: *mut gantry_scope_t, data: *const gantry_tensor_t, segment_ids: *const gantry_tensor_t, num_segments: i64) -> *const gantry_tensor_t;
    pub fn gantry_unsorted_segment_prod(scope: *mut gantry_scope_t, data: *const gantry_tensor_t, segment_ids: *const gantry_tensor_t, num_segments: i64) -> *const gantry_tensor_t;
    pub fn gantry_bincount(scope: *mut gantry_scope_t, arr: *const gantry_tensor_t, size: i32, weights: *const gantry_tensor_t) -> *const gantry_tensor_t;
    pub fn gantry_dense_bincount(scope: *mut gantry_scope_t, input: *const gantry_tensor_t, size: i32, weights: *const gantry_tensor_t, binary: bool) -> *const gantry_tensor_t;
    pub fn gantry_where(scope: *mut gantry_scope_t, condition: *const gantry_tensor_t) -> *const gantry_tensor_t;
    pub fn gantry_unique(scope: *mut gantry_scope_t, x: *const gantry_tensor_t, out_idx: *mut *const gantry_tensor_t, out_count: *mut *const gantry_tensor_t) -> *const gantry_tensor_t;
    pub fn gantry_constant(scope: *mut gantry_scope_t, dtype: gantry_dtype_t, shape: gantry_shape_t, data: *const c_void, bytes: usize) -> *const gantry_tensor_t;
    pub fn gantry_scalar_f32(scope: *mut gantry_scope_t, value: f32) -> *const gantry_tensor_t;
    pub fn gantry_scalar_i32(scope: *mut gantry_scope_t, value: i32) -> *const gantry_tensor_t;
    pub fn gantry_scalar_i64(scope: *mut gantry_scope_t, value: i64) -> *const gantry_tensor_t;
    pub fn gantry_fill(scope: *mut gantry_scope_t, shape: gantry_shape_t, value: *const gantry_tensor_t) -> *const gantry_tensor_t;
    pub fn gantry_zeros(scope: *mut gantry_scope_t, dtype: gantry_dtype_t, shape: gantry_shape_t) -> *const gantry_tensor_t;
    pub fn gantry_ones(scope: *mut gantry_scope_t, dtype: gantry_dtype_t, shape: gantry_shape_t) -> *const gantry_tensor_t;
    pub fn gantry_zeros_like(scope: *mut gantry_scope_t, x: *const gantry_tensor_t) -> *const gantry_tensor_t;
    pub fn gantry_ones_like(scope: *mut gantry_scope_t, x: *const gantry_tensor_t) -> *const gantry_tensor_t;
    pub fn gantry_range(scope: *mut gantry_scope_t, start: *const gantry_tensor_t, limit: *const gantry_tensor_t, delta: *const gantry_tensor_t) -> *const gantry_tensor_t;
    pub fn gantry_matmul(scope: *mut gantry_scope_t, a: *const gantry_tensor_t, b: *const gantry_tensor_t, options: *const gantry_matmul_options_t) -> *const gantry_tensor_t;
    pub fn gantry_matmul_integer(scope: *mut gantry_scope_t, a: *const gantry_tensor_t, b: *const gantry_tensor_t, a_zero_point: *const gantry_tensor_t, b_zero_point: *const gantry_tensor_t, options: *const gantry_matmul_options_t) -> *const gantry_tensor_t;
    pub fn gantry_matrix_transpose(scope: *mut gantry_scope_t, x: *const gantry_tensor_t) -> *const gantry_tensor_t;
    pub fn gantry_matrix_band_part(scope: *mut gantry_scope_t, x: *const gantry_tensor_t, lower: i64, upper: i64) -> *const gantry_tensor_t;
    pub fn gantry_matrix_diag(scope: *mut gantry_scope_t, diagonals: *const gantry_tensor_t, options: *const gantry_diagonal_options_t) -> *const gantry_tensor_t;
    pub fn gantry_matrix_diag_part(scope: *mut gantry_scope_t, x: *const gantry_tensor_t, options: *const gantry_diagonal_options_t) -> *const gantry_tensor_t;
    pub fn gantry_matrix_set_diag(scope: *mut gantry_scope_t, x: *const gantry_tensor_t, diagonals: *const gantry_tensor_t, options: *const gantry_diagonal_options_t) -> *const gantry_tensor_t;
    pub fn gantry_stateless_random_uniform(scope: *mut gantry_scope_t, shape: gantry_shape_t, dtype: gantry_dtype_t, seed0: i64, seed1: i64) -> *const gantry_tensor_t;
    pub fn gantry_stateless_random_normal(scope: *mut gantry_scope_t, shape: gantry_shape_t, dtype: gantry_dtype_t, seed0: i64, seed1: i64) -> *const gantry_tensor_t;
    pub fn gantry_stateless_truncated_normal(scope: *mut gantry_scope_t, shape: gantry_shape_t, dtype: gantry_dtype_t, seed0: i64, seed1: i64) -> *const gantry_tensor_t;
    pub fn gantry_stateless_random_uniform_int(scope: *mut gantry_scope_t, shape: gantry_shape_t, minval: *const gantry_tensor_t, maxval: *const gantry_tensor_t, seed0: i64, seed1: i64) -> *const gantry_tensor_t;
    pub fn gantry_stateless_random_uniform_range(scope: *mut gantry_scope_t, shape: gantry_shape_t, minval: *const gantry_tensor_t, maxval: *const gantry_tensor_t, seed0: i64, seed1: i64) -> *const gantry_tensor_t;
    pub fn gantry_stateless_random_uniform_full_int(scope: *mut gantry_scope_t, shape: gantry_shape_t, dtype: gantry_dtype_t, seed0: i64, seed1: i64) -> *const gantry_tensor_t;
    pub fn gantry_stateless_multinomial(scope: *mut gantry_scope_t, logits: *const gantry_tensor_t, num_samples: i32, dtype: gantry_dtype_t, seed0: i64, seed1: i64) -> *const gantry_tensor_t;
    pub fn gantry_stateless_shuffle(scope: *mut gantry_scope_t, value: *const gantry_tensor_t, seed0: i64, seed1: i64) -> *const gantry_tensor_t;
    pub fn gantry_stateless_random_get_key_counter(scope: *mut gantry_scope_t, seed0: i64, seed1: i64, out_key: *mut *const gantry_tensor_t, out_counter: *mut *const gantry_tensor_t) -> gantry_status_t;
    pub fn gantry_random_uniform(scope: *mut gantry_scope_t, shape: gantry_shape_t, dtype: gantry_dtype_t, seed: *const i64) -> *const gantry_tensor_t;
    pub fn gantry_random_standard_normal(scope: *mut gantry_scope_t, shape: gantry_shape_t, dtype: gantry_dtype_t, seed: *const i64) -> *const gantry_tensor_t;
    pub fn gantry_truncated_normal(scope: *mut gantry_scope_t, shape: gantry_shape_t, dtype: gantry_dtype_t, seed: *const i64) -> *const gantry_tensor_t;
    pub fn gantry_random_uniform_range(scope: *mut gantry_scope_t, shape: gantry_shape_t, minval: *const gantry_tensor_t, maxval: *const gantry_tensor_t, seed: *const i64) -> *const gantry_tensor_t;
    pub fn gantry_random_uniform_int(scope: *mut gantry_scope_t, shape: gantry_shape_t, minval: *const gantry_tensor_t, maxval: *const gantry_tensor_t, seed: *const i64) -> *const gantry_tensor_t;
    pub fn gantry_multinomial(scope: *mut gantry_scope_t, logits: *const gantry_tensor_t, num_samples: i32, dtype: gantry_dtype_t, seed: *const i64) -> *const gantry_tensor_t;
    pub fn gantry_random_shuffle(scope: *mut gantry_scope_t, value: *const gantry_tensor_t, seed: *const i64) -> *const gantry_tensor_t;
    pub fn gantry_identity(scope: *mut gantry_scope_t, x: *const gantry_tensor_t) -> *const gantry_tensor_t;
    pub fn gantry_reshape(scope: *mut gantry_scope_t, x: *const gantry_tensor_t, shape: gantry_shape_t) -> *const gantry_tensor_t;
    pub fn gantry_expand_dims(scope: *mut gantry_scope_t, x: *const gantry_tensor_t, axis: i32) -> *const gantry_tensor_t;
    pub fn gantry_squeeze(scope: *mut gantry_scope_t, x: *const gantry_tensor_t, axes: *const i32, axis_count: usize) -> *const gantry_tensor_t;
    pub fn gantry_bitcast(scope: *mut gantry_scope_t, x: *const gantry_tensor_t, dtype: gantry_dtype_t) -> *const gantry_tensor_t;
    pub fn gantry_transpose(scope: *mut gantry_scope_t, x: *const gantry_tensor_t, perm: *const i32) -> *const gantry_tensor_t;
    pub fn gantry_broadcast_to(scope: *mut gantry_scope_t, x: *const gantry_tensor_t, shape: gantry_shape_t) -> *const gantry_tensor_t;
    pub fn gantry_concat(scope: *mut gantry_scope_t, values: *const *const gantry_tensor_t, count: usize, axis: i32) -> *const gantry_tensor_t;
    pub fn gantry_slice(scope: *mut gantry_scope_t, x: *const gantry_tensor_t, begin: *const i64, size: *const i64) -> *const gantry_tensor_t;
    pub fn gantry_dynamic_slice(scope: *mut gantry_scope_t, x: *const gantry_tensor_t, starts: *const gantry_tensor_t, size: *const i64) -> *const gantry_tensor_t;
    pub fn gantry_dynamic_update_slice(scope: *mut gantry_scope_t, x: *const gantry_tensor_t, update: *const gantry_tensor_t, starts: *const gantry_tensor_t) -> *const gantry_tensor_t;
    pub fn gantry_strided_slice(scope: *mut gantry_scope_t, x: *const gantry_tensor_t, begin: *const i64, end: *const i64, strides: *const i64, entry_count: usize, options: *const gantry_strided_slice_options_t) -> *const gantry_tensor_t;
    pub fn gantry_pad(scope: *mut gantry_scope_t, x: *const gantry_tensor_t, paddings: *const i64, options: *const gantry_pad_options_t) -> *const gantry_tensor_t;
    pub fn gantry_tile(scope: *mut gantry_scope_t, x: *const gantry_tensor_t, multiples: *const i64) -> *const gantry_tensor_t;
    pub fn gantry_reverse(scope: *mut gantry_scope_t, x: *const gantry_tensor_t, axes: *const i32, axis_count: usize) -> *const gantry_tensor_t;
    pub fn gantry_roll(scope: *mut gantry_scope_t, x: *const gantry_tensor_t, shifts: *const i64, axes: *const i32, axis_count: usize) -> *const gantry_tensor_t;
    pub fn gantry_space_to_depth(scope: *mut gantry_scope_t, x: *const gantry_tensor_t, block_size: i64, data_format: *const c_char) -> *const gantry_tensor_t;
    pub fn gantry_depth_to_space(scope: *mut gantry_scope_t, x: *const gantry_tensor_t, block_size: i64, data_format: *const c_char) -> *const gantry_tensor_t;
    pub fn gantry_space_to_batch(scope: *mut gantry_scope_t, x: *const gantry_tensor_t, block_shape: *const i64, block_count: usize, paddings: *const i64) -> *const gantry_tensor_t;
    pub fn gantry_batch_to_space(scope: *mut gantry_scope_t, x: *const gantry_tensor_t, block_shape: *const i64, block_count: usize, crops: *const i64) -> *const gantry_tensor_t;
    pub fn gantry_invert_permutation(scope: *mut gantry_scope_t, x: *const gantry_tensor_t) -> *const gantry_tensor_t;
    pub fn gantry_sort(scope: *mut gantry_scope_t, values: *const gantry_tensor_t, axis: i32, descending: bool) -> *const gantry_tensor_t;
    pub fn gantry_argsort(scope: *mut gantry_scope_t, values: *const gantry_tensor_t, axis: i32, descending: bool) -> *const gantry_tensor_t;
    pub fn gantry_sort_by_keys(scope: *mut gantry_scope_t, operands: *const *const gantry_tensor_t, count: usize, num_keys: usize, axis: i32, descending: *const bool, outputs: *mut *const gantry_tensor_t) -> gantry_status_t;
    pub fn gantry_top_k(scope: *mut gantry_scope_t, input: *const gantry_tensor_t, k: i32, out_indices: *mut *const gantry_tensor_t) -> *const gantry_tensor_t;
    pub fn gantry_in_top_k(scope: *mut gantry_scope_t, predictions: *const gantry_tensor_t, targets: *const gantry_tensor_t, k: i32) -> *const gantry_tensor_t;
    pub fn gantry_lower_bound(scope: *mut gantry_scope_t, sorted_inputs: *const gantry_tensor_t, values: *const gantry_tensor_t) -> *const gantry_tensor_t;
    pub fn gantry_upper_bound(scope: *mut gantry_scope_t, sorted_inputs: *const gantry_tensor_t, values: *const gantry_tensor_t) -> *const gantry_tensor_t;
    pub fn gantry_conv2d(scope: *mut gantry_scope_t, images: *const gantry_tensor_t, filter: *const gantry_tensor_t, options: *const gantry_window_options_t) -> *const gantry_tensor_t;
    pub fn gantry_depthwise_conv2d(scope: *mut gantry_scope_t, images: *const gantry_tensor_t, filter: *const gantry_tensor_t, options: *const gantry_window_options_t) -> *const gantry_tensor_t;
    pub fn gantry_conv2d_transpose(scope: *mut gantry_scope_t, images: *const gantry_tensor_t, filter: *const gantry_tensor_t, output_shape: gantry_shape_t, options: *const gantry_window_options_t) -> *const gantry_tensor_t;
    pub fn gantry_conv_integer(scope: *mut gantry_scope_t, images: *const gantry_tensor_t, filter: *const gantry_tensor_t, images_zero_point: *const gantry_tensor_t, filter_zero_point: *const gantry_tensor_t, options: *const gantry_window_options_t) -> *const gantry_tensor_t;
    pub fn gantry_conv1d(scope: *mut gantry_scope_t, sequences: *const gantry_tensor_t, filter: *const gantry_tensor_t, options: *const gantry_window_options_t) -> *const gantry_tensor_t;
    pub fn gantry_max_pool2d(scope: *mut gantry_scope_t, images: *const gantry_tensor_t, rows: i64, columns: i64, options: *const gantry_window_options_t) -> *const gantry_tensor_t;
    pub fn gantry_max_pool2d_with_argmax(scope: *mut gantry_scope_t, images: *const gantry_tensor_t, rows: i64, columns: i64, options: *const gantry_window_options_t, include_batch_in_index: bool, by_columns: bool, outputs: *mut *const gantry_tensor_t) -> gantry_status_t;
    pub fn gantry_avg_pool2d(scope: *mut gantry_scope_t, images: *const gantry_tensor_t, rows: i64, columns: i64, options: *const gantry_window_options_t) -> *const gantry_tensor_t;
    pub fn gantry_max_pool1d(scope: *mut gantry_scope_t, sequences: *const gantry_tensor_t, length: i64, options: *const gantry_window_options_t) -> *const gantry_tensor_t;
    pub fn gantry_avg_pool1d(scope: *mut gantry_scope_t, sequences: *const gantry_tensor_t, length: i64, options: *const gantry_window_options_t) -> *const gantry_tensor_t;
    pub fn gantry_extract_image_patches(scope: *mut gantry_scope_t, images: *const gantry_tensor_t, rows: i64, columns: i64, options: *const gantry_window_options_t) -> *const gantry_tensor_t;
    pub fn gantry_resize(scope: *mut gantry_scope_t, x: *const gantry_tensor_t, sizes: *const i64, count: usize, options: *const gantry_resize_options_t) -> *const gantry_tensor_t;
    pub fn gantry_any_order_text(outcome: gantry_any_order_t) -> *const c_char;
    pub fn gantry_placement_reason_text(reason: gantry_placement_reason_t) -> *const c_char;
    pub fn gantry_refusal_text(refusal: gantry_refusal_t) -> *const c_char;
    pub fn gantry_set_placement_callback(runtime: *mut gantry_runtime_t, callback: gantry_placement_fn, user: *mut c_void) -> gantry_status_t;
    pub fn gantry_get_placements(runtime: *mut gantry_runtime_t, capacity: usize, out_records: *mut gantry_placement_record_t, out_count: *mut usize) -> gantry_status_t;
    pub fn gantry_get_placement_counts(runtime: *mut gantry_runtime_t, capacity: usize, out_counts: *mut gantry_placement_count_t, out_count: *mut usize) -> gantry_status_t;
    pub fn gantry_profile_start(runtime: *mut gantry_runtime_t, mode: gantry_profile_mode_t) -> gantry_status_t;
    pub fn gantry_profile_stop(runtime: *mut gantry_runtime_t) -> gantry_status_t;
    pub fn gantry_profile_row_count(runtime: *mut gantry_runtime_t) -> usize;
    pub fn gantry_profile_read(runtime: *mut gantry_runtime_t, index: usize, out_row: *mut gantry_profile_row_t) -> gantry_status_t;
    pub fn gantry_profile_format(runtime: *mut gantry_runtime_t, format: gantry_report_format_t, out: *mut c_char, out_bytes: usize, out_needed: *mut usize) -> gantry_status_t;
    pub fn gantry_trace_start(runtime: *mut gantry_runtime_t, path: *const c_char) -> gantry_status_t;
    pub fn gantry_trace_stop(runtime: *mut gantry_runtime_t) -> gantry_status_t;
    pub fn gantry_trace_add(runtime: *mut gantry_runtime_t, name: *const c_char, detail: *const c_char, begin_ns: u64, end_ns: u64) -> gantry_status_t;
    pub fn gantry_set_seed(runtime: *mut gantry_runtime_t, seed: i64) -> gantry_status_t;
    pub fn gantry_generator_from_seed(runtime: *mut gantry_runtime_t, seed: i64, algorithm: gantry_random_algorithm_t, out_generator: *mut *mut gantry_generator_t) -> gantry_status_t;
    pub fn gantry_generator_from_state(runtime: *mut gantry_runtime_t, state: *const u64, algorithm: gantry_random_algorithm_t, out_generator: *mut *mut gantry_generator_t) -> gantry_status_t;
    pub fn gantry_generator_from_entropy(runtime: *mut gantry_runtime_t, algorithm: gantry_random_algorithm_t, out_generator: *mut *mut gantry_generator_t) -> gantry_status_t;
    pub fn gantry_generator_release(generator: *mut gantry_generator_t);
    pub fn gantry_generator_get_state(generator: *mut gantry_generator_t, out_state: *mut u64) -> gantry_status_t;
    pub fn gantry_generator_set_state(generator: *mut gantry_generator_t, state: *const u64) -> gantry_status_t;
    pub fn gantry_generator_reset_from_seed(generator: *mut gantry_generator_t, seed: i64) -> gantry_status_t;
    pub fn gantry_generator_read_state(scope: *mut gantry_scope_t, generator: *mut gantry_generator_t) -> *const gantry_tensor_t;
    pub fn gantry_generator_assign_state(scope: *mut gantry_scope_t, generator: *mut gantry_generator_t, state: *const gantry_tensor_t) -> gantry_status_t;
    pub fn gantry_generator_key(generator: *mut gantry_generator_t, out_key: *mut u64) -> gantry_status_t;
    pub fn gantry_generator_skip(generator: *mut gantry_generator_t, count: u64) -> gantry_status_t;
    pub fn gantry_generator_split(generator: *mut gantry_generator_t, count: usize, out_generators: *mut *mut gantry_generator_t) -> gantry_status_t;
    pub fn gantry_generator_uniform(scope: *mut gantry_scope_t, generator: *mut gantry_generator_t, shape: gantry_shape_t, dtype: gantry_dtype_t) -> *const gantry_tensor_t;
    pub fn gantry_generator_uniform_range(scope: *mut gantry_scope_t, generator: *mut gantry_generator_t, shape: gantry_shape_t, minval: *const gantry_tensor_t, maxval: *const gantry_tensor_t) -> *const gantry_tensor_t;
    pub fn gantry_generator_normal(scope: *mut gantry_scope_t, generator: *mut gantry_generator_t, shape: gantry_shape_t, dtype: gantry_dtype_t) -> *const gantry_tensor_t;
    pub fn gantry_generator_truncated_normal(scope: *mut gantry_scope_t, generator: *mut gantry_generator_t, shape: gantry_shape_t, dtype: gantry_dtype_t) -> *const gantry_tensor_t;
    pub fn gantry_generator_uniform_int(scope: *mut gantry_scope_t, generator: *mut gantry_generator_t, shape: gantry_shape_t, minval: *const gantry_tensor_t, maxval: *const gantry_tensor_t) -> *const gantry_tensor_t;
    pub fn gantry_generator_uniform_full_int(scope: *mut gantry_scope_t, generator: *mut gantry_generator_t, shape: gantry_shape_t, dtype: gantry_dtype_t) -> *const gantry_tensor_t;
    pub fn gantry_generator_categorical(scope: *mut gantry_scope_t, generator: *mut gantry_generator_t, logits: *const gantry_tensor_t, num_samples: i32, dtype: gantry_dtype_t) -> *const gantry_tensor_t;
    pub fn gantry_generator_shuffle(scope: *mut gantry_scope_t, generator: *mut gantry_generator_t, value: *const gantry_tensor_t) -> *const gantry_tensor_t;
    pub fn gantry_function_save(function: *mut gantry_function_t, path: *const c_char, options: *const gantry_function_save_options_t) -> gantry_status_t;
    pub fn gantry_function_load(runtime: *mut gantry_runtime_t, path: *const c_char, options: *const gantry_function_load_options_t, out_function: *mut *mut gantry_function_t) -> gantry_status_t;
    pub fn gantry_graph_variable_count(graph: *const gantry_graph_t) -> usize;
    pub fn gantry_graph_get_variable(graph: *const gantry_graph_t, index: usize) -> *mut gantry_variable_t;
    pub fn gantry_graph_find_variable(graph: *const gantry_graph_t, name: *const c_char) -> *mut gantry_variable_t;
    pub fn gantry_get_device_telemetry(runtime: *mut gantry_runtime_t, device: *const gantry_physical_device_t, out_telemetry: *mut gantry_device_telemetry_t) -> gantry_status_t;
    pub fn gantry_list_device_processes(runtime: *mut gantry_runtime_t, device: *const gantry_physical_device_t, capacity: usize, out_processes: *mut gantry_device_process_t, out_count: *mut usize) -> gantry_status_t;
    pub fn gantry_get_tuning_file(runtime: *mut gantry_runtime_t, out_path: *mut *const c_char) -> gantry_status_t;
    pub fn gantry_get_tuning_name(runtime: *mut gantry_runtime_t, device: *const gantry_physical_device_t, out: *mut c_char, out_bytes: usize, out_needed: *mut usize) -> gantry_status_t;
    pub fn gantry_list_tuning(runtime: *mut gantry_runtime_t, visit: gantry_tuning_record_fn, user: *mut c_void) -> gantry_status_t;
    pub fn gantry_put_tuning(runtime: *mut gantry_runtime_t, device: *const gantry_physical_device_t, what: *const c_char, values: *const c_char) -> gantry_status_t;
    pub fn gantry_remove_tuning(runtime: *mut gantry_runtime_t, device: *const gantry_physical_device_t, what: *const c_char, out_removed: *mut usize) -> gantry_status_t;
    pub fn gantry_version() -> *const c_char;
}

#[cfg(feature = "train")]
unsafe extern "C" {
    pub fn gantry_tensor_from_array(scope: *mut gantry_scope_t, array: *const gantry_array_t) -> *const gantry_tensor_t;
    pub fn gantry_tensor_to_array(tensor: *const gantry_tensor_t, out: *mut c_void, bytes: usize, out_array: *mut gantry_array_t) -> gantry_status_t;
    pub fn gantry_dataset_from_arrays(arrays: *const gantry_array_t, count: usize, copy: bool) -> *mut gantry_dataset_t;
    pub fn gantry_arrays_split(arrays: *const gantry_array_t, count: usize, validation_split: f64, out_train: *mut gantry_array_t, out_validation: *mut gantry_array_t) -> gantry_status_t;
    pub fn gantry_dataset_from_npy(scope: *mut gantry_scope_t, paths: *const *const c_char, count: usize) -> *mut gantry_dataset_t;
    pub fn gantry_element_component(element: *mut gantry_element_t, index: usize, dtype: gantry_dtype_t, shape: *const gantry_shape_t) -> *mut c_void;
    pub fn gantry_element_fail(element: *mut gantry_element_t, status: gantry_status_t, text: *const c_char) -> gantry_status_t;
    pub fn gantry_dataset_from_callback(source: *const gantry_dataset_source_t) -> *mut gantry_dataset_t;
    pub fn gantry_dataset_shuffle(input: *mut gantry_dataset_t, buffer_size: i64, seed: u64, reshuffle: bool) -> *mut gantry_dataset_t;
    pub fn gantry_dataset_batch(input: *mut gantry_dataset_t, batch_size: i64, drop_remainder: bool) -> *mut gantry_dataset_t;
    pub fn gantry_dataset_padded_batch(input: *mut gantry_dataset_t, batch_size: i64, options: *const gantry_padded_batch_options_t) -> *mut gantry_dataset_t;
    pub fn gantry_dataset_map(input: *mut gantry_dataset_t, map: gantry_dataset_map_fn, user: *mut c_void, parallel_calls: i32) -> *mut gantry_dataset_t;
    pub fn gantry_dataset_cache(input: *mut gantry_dataset_t) -> *mut gantry_dataset_t;
    pub fn gantry_dataset_prefetch(input: *mut gantry_dataset_t, elements: i64) -> *mut gantry_dataset_t;
    pub fn gantry_dataset_repeat(input: *mut gantry_dataset_t, times: i64) -> *mut gantry_dataset_t;
    pub fn gantry_dataset_take(input: *mut gantry_dataset_t, count: i64) -> *mut gantry_dataset_t;
    pub fn gantry_dataset_skip(input: *mut gantry_dataset_t, count: i64) -> *mut gantry_dataset_t;
    pub fn gantry_dataset_filter(input: *mut gantry_dataset_t, predicate: gantry_dataset_filter_fn, user: *mut c_void) -> *mut gantry_dataset_t;
    pub fn gantry_dataset_enumerate(input: *mut gantry_dataset_t, start: i64) -> *mut gantry_dataset_t;
    pub fn gantry_dataset_concatenate(input: *mut gantry_dataset_t, second: *mut gantry_dataset_t) -> *mut gantry_dataset_t;
    pub fn gantry_dataset_zip(inputs: *const *mut gantry_dataset_t, count: usize) -> *mut gantry_dataset_t;
    pub fn gantry_dataset_retain(dataset: *mut gantry_dataset_t) -> *mut gantry_dataset_t;
    pub fn gantry_dataset_release(dataset: *mut gantry_dataset_t);
    pub fn gantry_dataset_cardinality(dataset: *const gantry_dataset_t) -> i64;
    pub fn gantry_dataset_set_iteration(dataset: *mut gantry_dataset_t, iteration: u64) -> gantry_status_t;
    pub fn gantry_dataset_iterator_create(dataset: *mut gantry_dataset_t, out_iterator: *mut *mut gantry_dataset_iterator_t) -> gantry_status_t;
    pub fn gantry_dataset_iterator_next(iterator: *mut gantry_dataset_iterator_t, out_components: *mut *const gantry_array_t, out_count: *mut usize, out_end: *mut bool) -> gantry_status_t;
    pub fn gantry_dataset_iterator_release(iterator: *mut gantry_dataset_iterator_t);
    pub fn gantry_pad_sequences(sequences: *const gantry_array_t, count: usize, maxlen: i64, dtype: gantry_dtype_t, options: *const gantry_pad_sequences_options_t, out: *mut c_void, out_bytes: usize) -> gantry_status_t;
    pub fn gantry_sequences_from_row_splits(values: *const gantry_array_t, row_splits: *const gantry_array_t, out_sequences: *mut gantry_array_t, count: usize) -> gantry_status_t;
    pub fn gantry_longest_sequence(sequences: *const gantry_array_t, count: usize) -> i64;
    pub fn gantry_initialize(scope: *mut gantry_scope_t, initializer: *const gantry_initializer_t, dtype: gantry_dtype_t, shape: gantry_shape_t) -> *const gantry_tensor_t;
    pub fn gantry_default_seed(seed: i64, index: usize) -> i64;
    pub fn gantry_initializer_name(kind: gantry_init_t) -> *const c_char;
    pub fn gantry_regularizer_loss(scope: *mut gantry_scope_t, regularizer: *const gantry_regularizer_t, weights: *const gantry_tensor_t) -> *const gantry_tensor_t;
    pub fn gantry_constrain(scope: *mut gantry_scope_t, constraint: *const gantry_constraint_t, weights: *const gantry_tensor_t) -> *const gantry_tensor_t;
    pub fn gantry_activate(scope: *mut gantry_scope_t, activation: gantry_activation_t, x: *const gantry_tensor_t) -> *const gantry_tensor_t;
    pub fn gantry_activation_name(activation: gantry_activation_t) -> *const c_char;
    pub fn gantry_dense(units: i64, activation: gantry_activation_t, options: *const gantry_kernel_options_t) -> *mut gantry_layer_t;
    pub fn gantry_embedding(input_dim: i64, output_dim: i64, initializer: *const gantry_initializer_t, name: *const c_char) -> *mut gantry_layer_t;
    pub fn gantry_masked_embedding(input_dim: i64, output_dim: i64, initializer: *const gantry_initializer_t, name: *const c_char) -> *mut gantry_layer_t;
    pub fn gantry_masking_layer(mask_value: f64, name: *const c_char) -> *mut gantry_layer_t;
    pub fn gantry_conv1d_layer(filters: i64, kernel_size: i64, activation: gantry_activation_t, options: *const gantry_kernel_options_t) -> *mut gantry_layer_t;
    pub fn gantry_conv2d_layer(filters: i64, kernel_size: i64, activation: gantry_activation_t, options: *const gantry_kernel_options_t) -> *mut gantry_layer_t;
    pub fn gantry_depthwise_conv2d_layer(kernel_size: i64, activation: gantry_activation_t, options: *const gantry_kernel_options_t) -> *mut gantry_layer_t;
    pub fn gantry_separable_conv1d_layer(filters: i64, kernel_size: i64, activation: gantry_activation_t, options: *const gantry_kernel_options_t) -> *mut gantry_layer_t;
    pub fn gantry_separable_conv2d_layer(filters: i64, kernel_size: i64, activation: gantry_activation_t, options: *const gantry_kernel_options_t) -> *mut gantry_layer_t;
    pub fn gantry_conv1d_transpose_layer(filters: i64, kernel_size: i64, activation: gantry_activation_t, options: *const gantry_kernel_options_t) -> *mut gantry_layer_t;
    pub fn gantry_conv2d_transpose_layer(filters: i64, kernel_size: i64, activation: gantry_activation_t, options: *const gantry_kernel_options_t) -> *mut gantry_layer_t;
    pub fn gantry_max_pool1d_layer(pool_size: i64, options: *const gantry_pool_options_t) -> *mut gantry_layer_t;
    pub fn gantry_avg_pool1d_layer(pool_size: i64, options: *const gantry_pool_options_t) -> *mut gantry_layer_t;
    pub fn gantry_max_pool2d_layer(pool_size: i64, options: *const gantry_pool_options_t) -> *mut gantry_layer_t;
    pub fn gantry_avg_pool2d_layer(pool_size: i64, options: *const gantry_pool_options_t) -> *mut gantry_layer_t;
    pub fn gantry_global_max_pool(name: *const c_char) -> *mut gantry_layer_t;
    pub fn gantry_global_avg_pool(name: *const c_char) -> *mut gantry_layer_t;
    pub fn gantry_flatten(name: *const c_char) -> *mut gantry_layer_t;
    pub fn gantry_reshape_layer(shape: gantry_shape_t, name: *const c_char) -> *mut gantry_layer_t;
    pub fn gantry_permute_layer(dims: *const i32, count: usize, name: *const c_char) -> *mut gantry_layer_t;
    pub fn gantry_repeat_vector_layer(times: i64, name: *const c_char) -> *mut gantry_layer_t;
    pub fn gantry_up_sampling1d_layer(size: i64, name: *const c_char) -> *mut gantry_layer_t;
    pub fn gantry_up_sampling2d_layer(rows: i64, columns: i64, name: *const c_char) -> *mut gantry_layer_t;
    pub fn gantry_zero_padding1d_layer(before: i64, after: i64, name: *const c_char) -> *mut gantry_layer_t;
    pub fn gantry_zero_padding2d_layer(amounts: *const i64, name: *const c_char) -> *mut gantry_layer_t;
    pub fn gantry_cropping1d_layer(before: i64, after: i64, name: *const c_char) -> *mut gantry_layer_t;
    pub fn gantry_cropping2d_layer(amounts: *const i64, name: *const c_char) -> *mut gantry_layer_t;
    pub fn gantry_dropout_layer(rate: f64, name: *const c_char) -> *mut gantry_layer_t;
    pub fn gantry_shaped_dropout_layer(rate: f64, noise_shape: gantry_shape_t, name: *const c_char) -> *mut gantry_layer_t;
    pub fn gantry_activation_layer(activation: gantry_activation_t, name: *const c_char) -> *mut gantry_layer_t;
    pub fn gantry_leaky_relu_layer(negative_slope: f64, name: *const c_char) -> *mut gantry_layer_t;
    pub fn gantry_prelu_layer(initializer: *const gantry_initializer_t, shared_axes: *const i32, axis_count: usize, name: *const c_char) -> *mut gantry_layer_t;
    pub fn gantry_rescaling_layer(scale: f64, offset: f64, name: *const c_char) -> *mut gantry_layer_t;
    pub fn gantry_activity_regularization(l1: f64, l2: f64, name: *const c_char) -> *mut gantry_layer_t;
    pub fn gantry_batch_normalization(options: *const gantry_norm_options_t) -> *mut gantry_layer_t;
    pub fn gantry_layer_normalization(options: *const gantry_norm_options_t) -> *mut gantry_layer_t;
    pub fn gantry_group_normalization(groups: i64, options: *const gantry_norm_options_t) -> *mut gantry_layer_t;
    pub fn gantry_rms_normalization(options: *const gantry_norm_options_t) -> *mut gantry_layer_t;
    pub fn gantry_unit_normalization(options: *const gantry_norm_options_t) -> *mut gantry_layer_t;
    pub fn gantry_simple_rnn(units: i64, options: *const gantry_recurrent_options_t) -> *mut gantry_layer_t;
    pub fn gantry_lstm(units: i64, options: *const gantry_recurrent_options_t) -> *mut gantry_layer_t;
    pub fn gantry_gru(units: i64, options: *const gantry_recurrent_options_t) -> *mut gantry_layer_t;
    pub fn gantry_bidirectional(layer: *mut gantry_layer_t, merge: gantry_merge_t, name: *const c_char) -> *mut gantry_layer_t;
    pub fn gantry_time_distributed(layer: *mut gantry_layer_t, name: *const c_char) -> *mut gantry_layer_t;
    pub fn gantry_multi_head_attention(heads: i64, key_dim: i64, options: *const gantry_attention_options_t) -> *mut gantry_layer_t;
    pub fn gantry_attention_why_scores(layer: *const gantry_layer_t) -> *const c_char;
    pub fn gantry_add_layer(name: *const c_char) -> *mut gantry_layer_t;
    pub fn gantry_subtract_layer(name: *const c_char) -> *mut gantry_layer_t;
    pub fn gantry_multiply_layer(name: *const c_char) -> *mut gantry_layer_t;
    pub fn gantry_average_layer(name: *const c_char) -> *mut gantry_layer_t;
    pub fn gantry_maximum_layer(name: *const c_char) -> *mut gantry_layer_t;
    pub fn gantry_minimum_layer(name: *const c_char) -> *mut gantry_layer_t;
    pub fn gantry_dot_layer(first_axis: i32, second_axis: i32, normalize: bool, name: *const c_char) -> *mut gantry_layer_t;
    pub fn gantry_concatenate_layer(axis: i32, name: *const c_char) -> *mut gantry_layer_t;
    pub fn gantry_layer_generator(call: *const gantry_layer_call_t) -> *mut gantry_generator_t;
    pub fn gantry_layer_create(kind: *const gantry_layer_kind_t, user: *mut c_void, name: *const c_char) -> *mut gantry_layer_t;
    pub fn gantry_layer_add_weight(layer: *mut gantry_layer_t, name: *const c_char, shape: gantry_shape_t, initializer: *const gantry_initializer_t, trainable: bool) -> gantry_status_t;
    pub fn gantry_layer_set_trainable(layer: *mut gantry_layer_t, trainable: bool) -> gantry_status_t;
    pub fn gantry_layer_set_regularizer(layer: *mut gantry_layer_t, weight: *const c_char, regularizer: *const gantry_regularizer_t) -> gantry_status_t;
    pub fn gantry_layer_set_constraint(layer: *mut gantry_layer_t, weight: *const c_char, constraint: *const gantry_constraint_t) -> gantry_status_t;
    pub fn gantry_layer_set_activity_regularizer(layer: *mut gantry_layer_t, regularizer: *const gantry_regularizer_t) -> gantry_status_t;
    pub fn gantry_layer_reset_states(layer: *mut gantry_layer_t) -> gantry_status_t;
    pub fn gantry_layer_release(layer: *mut gantry_layer_t);
    pub fn gantry_layer_name(layer: *const gantry_layer_t) -> *const c_char;
    pub fn gantry_loss(scope: *mut gantry_scope_t, loss: gantry_loss_t, labels: *const gantry_tensor_t, predictions: *const gantry_tensor_t, options: *const gantry_loss_options_t) -> *const gantry_tensor_t;
    pub fn gantry_loss_name(loss: gantry_loss_t) -> *const c_char;
    pub fn gantry_accuracy(options: *const gantry_metric_options_t) -> *mut gantry_metric_t;
    pub fn gantry_binary_accuracy(threshold: f64, options: *const gantry_metric_options_t) -> *mut gantry_metric_t;
    pub fn gantry_categorical_accuracy(options: *const gantry_metric_options_t) -> *mut gantry_metric_t;
    pub fn gantry_sparse_categorical_accuracy(options: *const gantry_metric_options_t) -> *mut gantry_metric_t;
    pub fn gantry_top_k_categorical_accuracy(k: i32, options: *const gantry_metric_options_t) -> *mut gantry_metric_t;
    pub fn gantry_sparse_top_k_categorical_accuracy(k: i32, options: *const gantry_metric_options_t) -> *mut gantry_metric_t;
    pub fn gantry_precision(threshold: f64, options: *const gantry_metric_options_t) -> *mut gantry_metric_t;
    pub fn gantry_recall(threshold: f64, options: *const gantry_metric_options_t) -> *mut gantry_metric_t;
    pub fn gantry_true_positives(threshold: f64, options: *const gantry_metric_options_t) -> *mut gantry_metric_t;
    pub fn gantry_true_negatives(threshold: f64, options: *const gantry_metric_options_t) -> *mut gantry_metric_t;
    pub fn gantry_false_positives(threshold: f64, options: *const gantry_metric_options_t) -> *mut gantry_metric_t;
    pub fn gantry_false_negatives(threshold: f64, options: *const gantry_metric_options_t) -> *mut gantry_metric_t;
    pub fn gantry_f1_score(classes: i64, average: gantry_average_t, threshold: f64, options: *const gantry_metric_options_t) -> *mut gantry_metric_t;
    pub fn gantry_fbeta_score(classes: i64, beta: f64, average: gantry_average_t, threshold: f64, options: *const gantry_metric_options_t) -> *mut gantry_metric_t;
    pub fn gantry_auc(thresholds: i32, options: *const gantry_metric_options_t) -> *mut gantry_metric_t;
    pub fn gantry_iou(classes: i64, target_class_ids: *const i32, target_count: usize, options: *const gantry_metric_options_t) -> *mut gantry_metric_t;
    pub fn gantry_mean_iou(classes: i64, options: *const gantry_metric_options_t) -> *mut gantry_metric_t;
    pub fn gantry_binary_iou(target_class_ids: *const i32, target_count: usize, threshold: f64, options: *const gantry_metric_options_t) -> *mut gantry_metric_t;
    pub fn gantry_one_hot_iou(classes: i64, target_class_ids: *const i32, target_count: usize, options: *const gantry_metric_options_t) -> *mut gantry_metric_t;
    pub fn gantry_one_hot_mean_iou(classes: i64, options: *const gantry_metric_options_t) -> *mut gantry_metric_t;
    pub fn gantry_mean_metric(options: *const gantry_metric_options_t) -> *mut gantry_metric_t;
    pub fn gantry_root_mean_squared_error(options: *const gantry_metric_options_t) -> *mut gantry_metric_t;
    pub fn gantry_cosine_similarity(options: *const gantry_metric_options_t) -> *mut gantry_metric_t;
    pub fn gantry_loss_metric(loss: gantry_loss_t, loss_options: *const gantry_loss_options_t, options: *const gantry_metric_options_t) -> *mut gantry_metric_t;
    pub fn gantry_metric_release(metric: *mut gantry_metric_t);
    pub fn gantry_metric_build(metric: *mut gantry_metric_t, scope: *mut gantry_scope_t) -> gantry_status_t;
    pub fn gantry_metric_update(metric: *mut gantry_metric_t, scope: *mut gantry_scope_t, labels: *const gantry_tensor_t, predictions: *const gantry_tensor_t, sample_weights: *const gantry_tensor_t) -> gantry_status_t;
    pub fn gantry_metric_result(metric: *mut gantry_metric_t, scope: *mut gantry_scope_t) -> *const gantry_tensor_t;
    pub fn gantry_metric_reset(metric: *mut gantry_metric_t, scope: *mut gantry_scope_t) -> gantry_status_t;
    pub fn gantry_metric_name(metric: *const gantry_metric_t) -> *const c_char;
    pub fn gantry_metric_variable_count(metric: *const gantry_metric_t) -> usize;
    pub fn gantry_metric_variable(metric: *const gantry_metric_t, index: usize) -> *mut gantry_variable_t;
    pub fn gantry_gradient_to_dense(scope: *mut gantry_scope_t, gradient: *const gantry_gradient_t) -> *const gantry_tensor_t;
    pub fn gantry_gradient_sum_rows(scope: *mut gantry_scope_t, gradient: *const gantry_gradient_t, out_gradient: *mut gantry_gradient_t) -> gantry_status_t;
    pub fn gantry_schedule_create(rate: gantry_schedule_fn, user: *mut c_void) -> *mut gantry_schedule_t;
    pub fn gantry_schedule_retain(schedule: *const gantry_schedule_t) -> *mut gantry_schedule_t;
    pub fn gantry_schedule_release(schedule: *mut gantry_schedule_t);
    pub fn gantry_schedule_rate(scope: *mut gantry_scope_t, schedule: *const gantry_schedule_t, step: *const gantry_tensor_t, dtype: gantry_dtype_t) -> *const gantry_tensor_t;
    pub fn gantry_exponential_decay(options: *const gantry_exponential_decay_options_t) -> *mut gantry_schedule_t;
    pub fn gantry_piecewise_constant_decay(options: *const gantry_piecewise_constant_decay_options_t) -> *mut gantry_schedule_t;
    pub fn gantry_polynomial_decay(options: *const gantry_polynomial_decay_options_t) -> *mut gantry_schedule_t;
    pub fn gantry_inverse_time_decay(options: *const gantry_inverse_time_decay_options_t) -> *mut gantry_schedule_t;
    pub fn gantry_cosine_decay(options: *const gantry_cosine_decay_options_t) -> *mut gantry_schedule_t;
    pub fn gantry_cosine_decay_restarts(options: *const gantry_cosine_decay_restarts_options_t) -> *mut gantry_schedule_t;
    pub fn gantry_sgd(options: *const gantry_sgd_options_t) -> *mut gantry_optimizer_t;
    pub fn gantry_adam(options: *const gantry_adam_options_t) -> *mut gantry_optimizer_t;
    pub fn gantry_adamw(options: *const gantry_adamw_options_t) -> *mut gantry_optimizer_t;
    pub fn gantry_nadam(options: *const gantry_nadam_options_t) -> *mut gantry_optimizer_t;
    pub fn gantry_rmsprop(options: *const gantry_rmsprop_options_t) -> *mut gantry_optimizer_t;
    pub fn gantry_adagrad(options: *const gantry_adagrad_options_t) -> *mut gantry_optimizer_t;
    pub fn gantry_adamax(options: *const gantry_adamax_options_t) -> *mut gantry_optimizer_t;
    pub fn gantry_lion(options: *const gantry_lion_options_t) -> *mut gantry_optimizer_t;
    pub fn gantry_adadelta(options: *const gantry_adadelta_options_t) -> *mut gantry_optimizer_t;
    pub fn gantry_ftrl(options: *const gantry_ftrl_options_t) -> *mut gantry_optimizer_t;
    pub fn gantry_optimizer_release(optimizer: *mut gantry_optimizer_t);
    pub fn gantry_optimizer_build(optimizer: *mut gantry_optimizer_t, scope: *mut gantry_scope_t, variables: *const *mut gantry_variable_t, count: usize) -> gantry_status_t;
    pub fn gantry_optimizer_apply(optimizer: *mut gantry_optimizer_t, scope: *mut gantry_scope_t, variables: *const *mut gantry_variable_t, gradients: *const *const gantry_tensor_t, count: usize) -> gantry_status_t;
    pub fn gantry_optimizer_apply_slices(optimizer: *mut gantry_optimizer_t, scope: *mut gantry_scope_t, variables: *const *mut gantry_variable_t, gradients: *const gantry_gradient_t, count: usize) -> gantry_status_t;
    pub fn gantry_optimizer_finalize_variable_values(optimizer: *mut gantry_optimizer_t, scope: *mut gantry_scope_t) -> gantry_status_t;
    pub fn gantry_optimizer_set_learning_rate(optimizer: *mut gantry_optimizer_t, learning_rate: f64) -> gantry_status_t;
    pub fn gantry_optimizer_get_learning_rate(optimizer: *mut gantry_optimizer_t, out_learning_rate: *mut f64) -> gantry_status_t;
    pub fn gantry_optimizer_get_variables(optimizer: *mut gantry_optimizer_t, capacity: usize, out_variables: *mut *mut gantry_variable_t, out_count: *mut usize) -> gantry_status_t;
    pub fn gantry_mirrored_strategy(runtime: *mut gantry_runtime_t, devices: *const *const c_char, count: usize) -> *mut gantry_strategy_t;
    pub fn gantry_multi_worker_strategy(runtime: *mut gantry_runtime_t, devices: *const *const c_char, count: usize, communicator: *const gantry_communicator_t) -> *mut gantry_strategy_t;
    pub fn gantry_strategy_release(strategy: *mut gantry_strategy_t);
    pub fn gantry_strategy_check_alike(strategy: *const gantry_strategy_t, scope: *mut gantry_scope_t, optimizer: *mut gantry_optimizer_t, variables: *const *mut gantry_variable_t, count: usize) -> gantry_status_t;
    pub fn gantry_strategy_replica_count(strategy: *const gantry_strategy_t) -> usize;
    pub fn gantry_strategy_device(strategy: *const gantry_strategy_t, replica: usize) -> *const c_char;
    pub fn gantry_strategy_run(strategy: *const gantry_strategy_t, scope: *mut gantry_scope_t, run: gantry_replica_fn, user: *mut c_void) -> gantry_status_t;
    pub fn gantry_strategy_reduce(strategy: *const gantry_strategy_t, scope: *mut gantry_scope_t, op: gantry_reduce_op_t, values: *const *const gantry_tensor_t, out_values: *mut *const gantry_tensor_t) -> gantry_status_t;
    pub fn gantry_mirrored_variable(strategy: *const gantry_strategy_t, scope: *mut gantry_scope_t, initial: *const gantry_tensor_t, name: *const c_char, aggregation: gantry_aggregation_t) -> *mut gantry_mirrored_variable_t;
    pub fn gantry_mirrored_variable_release(variable: *mut gantry_mirrored_variable_t);
    pub fn gantry_mirrored_variable_copy(variable: *const gantry_mirrored_variable_t, replica: usize) -> *mut gantry_variable_t;
    pub fn gantry_mirrored_variable_assign(variable: *mut gantry_mirrored_variable_t, scope: *mut gantry_scope_t, values: *const *const gantry_tensor_t) -> gantry_status_t;
    pub fn gantry_model_set_replica_weights(model: *mut gantry_model_t, weights: *const f64, count: usize) -> gantry_status_t;
    pub fn gantry_model_measure_replicas(model: *mut gantry_model_t, batches: *mut gantry_dataset_t, out_weights: *mut f64, count: usize) -> gantry_status_t;
    pub fn gantry_sequential(runtime: *mut gantry_runtime_t, options: *const gantry_model_options_t) -> *mut gantry_model_t;
    pub fn gantry_model_add(model: *mut gantry_model_t, layer: *mut gantry_layer_t) -> gantry_status_t;
    pub fn gantry_functional(runtime: *mut gantry_runtime_t, options: *const gantry_model_options_t) -> *mut gantry_model_t;
    pub fn gantry_model_input(model: *mut gantry_model_t, dtype: gantry_dtype_t, sample: gantry_shape_t) -> i32;
    pub fn gantry_model_apply(model: *mut gantry_model_t, layer: *mut gantry_layer_t, values: *const i32, count: usize) -> i32;
    pub fn gantry_model_apply_model(model: *mut gantry_model_t, block: *mut gantry_model_t, values: *const i32, count: usize, out_values: *mut i32, output_count: usize) -> gantry_status_t;
    pub fn gantry_model_add_model(model: *mut gantry_model_t, block: *mut gantry_model_t) -> gantry_status_t;
    pub fn gantry_model_set_trainable(model: *mut gantry_model_t, trainable: bool) -> gantry_status_t;
    pub fn gantry_model_set_output(model: *mut gantry_model_t, value: i32) -> gantry_status_t;
    pub fn gantry_model_set_outputs(model: *mut gantry_model_t, values: *const i32, count: usize) -> gantry_status_t;
    pub fn gantry_model_build(model: *mut gantry_model_t, dtype: gantry_dtype_t, sample: gantry_shape_t) -> gantry_status_t;
    pub fn gantry_model_reset_states(model: *mut gantry_model_t) -> gantry_status_t;
    pub fn gantry_model_release(model: *mut gantry_model_t);
    pub fn gantry_model_variable_count(model: *const gantry_model_t) -> usize;
    pub fn gantry_model_variable(model: *const gantry_model_t, index: usize, out_trainable: *mut bool) -> *mut gantry_variable_t;
    pub fn gantry_model_set_variable(model: *mut gantry_model_t, index: usize, data: *const c_void, bytes: usize) -> gantry_status_t;
    pub fn gantry_model_save(model: *mut gantry_model_t, path: *const c_char) -> gantry_status_t;
    pub fn gantry_model_save_keras(model: *mut gantry_model_t, path: *const c_char) -> gantry_status_t;
    pub fn gantry_model_load(model: *mut gantry_model_t, path: *const c_char) -> gantry_status_t;
    pub fn gantry_model_summary(model: *const gantry_model_t, out: *mut c_char, out_bytes: usize, out_needed: *mut usize) -> gantry_status_t;
    pub fn gantry_model_call(model: *mut gantry_model_t, scope: *mut gantry_scope_t, inputs: *const *const gantry_tensor_t, input_count: usize, training: bool) -> *const gantry_tensor_t;
    pub fn gantry_model_call_outputs(model: *mut gantry_model_t, scope: *mut gantry_scope_t, inputs: *const *const gantry_tensor_t, input_count: usize, training: bool, out_outputs: *mut *const gantry_tensor_t, output_count: usize) -> gantry_status_t;
    pub fn gantry_model_compile(model: *mut gantry_model_t, options: *const gantry_compile_options_t) -> gantry_status_t;
    pub fn gantry_model_fit(model: *mut gantry_model_t, batches: *mut gantry_dataset_t, options: *const gantry_fit_options_t) -> gantry_status_t;
    pub fn gantry_model_stop(model: *mut gantry_model_t);
    pub fn gantry_model_evaluate(model: *mut gantry_model_t, batches: *mut gantry_dataset_t, out_values: *mut f64, capacity: usize) -> gantry_status_t;
    pub fn gantry_model_predict(model: *mut gantry_model_t, batches: *mut gantry_dataset_t, out: *mut c_void, out_bytes: usize, out_needed: *mut usize) -> gantry_status_t;
    pub fn gantry_model_predict_outputs(model: *mut gantry_model_t, batches: *mut gantry_dataset_t, outs: *const *mut c_void, out_bytes: *const usize, output_count: usize, out_needed: *mut usize) -> gantry_status_t;
    pub fn gantry_model_trim(model: *mut gantry_model_t, out_bytes: *mut u64) -> gantry_status_t;
    pub fn gantry_model_value_name(model: *const gantry_model_t, index: usize) -> *const c_char;
    pub fn gantry_early_stopping(options: *const gantry_early_stopping_options_t) -> *mut gantry_callback_t;
    pub fn gantry_reduce_lr_on_plateau(options: *const gantry_reduce_lr_on_plateau_options_t) -> *mut gantry_callback_t;
    pub fn gantry_model_checkpoint(path: *const c_char, monitor: *const c_char) -> *mut gantry_callback_t;
    pub fn gantry_csv_logger(path: *const c_char) -> *mut gantry_callback_t;
    pub fn gantry_terminate_on_nan() -> *mut gantry_callback_t;
    pub fn gantry_learning_rate_scheduler(rate: gantry_learning_rate_fn, user: *mut c_void) -> *mut gantry_callback_t;
    pub fn gantry_swap_ema_weights(swap_on_epoch: bool) -> *mut gantry_callback_t;
    pub fn gantry_callback_release(callback: *mut gantry_callback_t);
    pub fn gantry_checkpoint_save(scope: *mut gantry_scope_t, path: *const c_char, entries: *const gantry_checkpoint_entry_t, entry_count: usize, texts: *const gantry_checkpoint_text_t, text_count: usize) -> gantry_status_t;
    pub fn gantry_checkpoint_open(path: *const c_char, out_checkpoint: *mut *mut gantry_checkpoint_t) -> gantry_status_t;
    pub fn gantry_checkpoint_release(checkpoint: *mut gantry_checkpoint_t);
    pub fn gantry_checkpoint_count(checkpoint: *const gantry_checkpoint_t) -> usize;
    pub fn gantry_checkpoint_name(checkpoint: *const gantry_checkpoint_t, index: usize) -> *const c_char;
    pub fn gantry_checkpoint_find(checkpoint: *const gantry_checkpoint_t, name: *const c_char, out_dtype: *mut gantry_dtype_t, out_shape: *mut gantry_shape_t) -> gantry_status_t;
    pub fn gantry_checkpoint_text(checkpoint: *const gantry_checkpoint_t, key: *const c_char) -> *const c_char;
    pub fn gantry_checkpoint_key(checkpoint: *const gantry_checkpoint_t, index: usize) -> *const c_char;
    pub fn gantry_checkpoint_read(checkpoint: *const gantry_checkpoint_t, name: *const c_char, dtype: gantry_dtype_t, shape: *const gantry_shape_t, out: *mut c_void, out_bytes: usize) -> gantry_status_t;
    pub fn gantry_checkpoint_load(scope: *mut gantry_scope_t, checkpoint: *const gantry_checkpoint_t, name: *const c_char) -> *const gantry_tensor_t;
    pub fn gantry_checkpoint_map(scope: *mut gantry_scope_t, checkpoint: *const gantry_checkpoint_t, name: *const c_char) -> *const gantry_tensor_t;
    pub fn gantry_checkpoint_restore(scope: *mut gantry_scope_t, checkpoint: *const gantry_checkpoint_t, entries: *const gantry_checkpoint_entry_t, entry_count: usize) -> gantry_status_t;
    pub fn gantry_check_numerics_begin(scope: *mut gantry_scope_t) -> *mut gantry_numerics_t;
    pub fn gantry_check_numerics_end(numerics: *mut gantry_numerics_t);
    pub fn gantry_tape_begin(scope: *mut gantry_scope_t, options: *const gantry_tape_options_t) -> *mut gantry_tape_t;
    pub fn gantry_tape_end(tape: *mut gantry_tape_t);
    pub fn gantry_tape_pause(tape: *mut gantry_tape_t, pauses: bool);
    pub fn gantry_tape_watch(tape: *mut gantry_tape_t, tensor: *const gantry_tensor_t) -> gantry_status_t;
    pub fn gantry_tape_watch_variable(tape: *mut gantry_tape_t, variable: *mut gantry_variable_t) -> gantry_status_t;
    pub fn gantry_tape_gradient(tape: *mut gantry_tape_t, target: *const gantry_tensor_t, target_gradient: *const gantry_tensor_t, sources: *const gantry_source_t, source_count: usize, options: *const gantry_gradient_options_t, out_gradients: *mut *const gantry_tensor_t) -> gantry_status_t;
    pub fn gantry_tape_gradient_slices(tape: *mut gantry_tape_t, target: *const gantry_tensor_t, target_gradient: *const gantry_tensor_t, sources: *const gantry_source_t, source_count: usize, options: *const gantry_gradient_options_t, out_gradients: *mut gantry_gradient_t) -> gantry_status_t;
    pub fn gantry_tape_jacobian(tape: *mut gantry_tape_t, target: *const gantry_tensor_t, sources: *const gantry_source_t, source_count: usize, options: *const gantry_gradient_options_t, out_jacobians: *mut *const gantry_tensor_t) -> gantry_status_t;
    pub fn gantry_tape_batch_jacobian(tape: *mut gantry_tape_t, target: *const gantry_tensor_t, source: *const gantry_tensor_t) -> *const gantry_tensor_t;
    pub fn gantry_stop_gradient(scope: *mut gantry_scope_t, tensor: *const gantry_tensor_t) -> *const gantry_tensor_t;
    pub fn gantry_custom_gradient(scope: *mut gantry_scope_t, forward: gantry_function_body_fn, backward: gantry_backward_fn, user: *mut c_void, inputs: *const *const gantry_tensor_t, input_count: usize, outputs: *mut *const gantry_tensor_t, output_count: usize) -> gantry_status_t;
    pub fn gantry_op_is_differentiable(op: *const c_char) -> bool;
}

#[cfg(feature = "onnx")]
unsafe extern "C" {
    pub fn gantry_onnx_model_load(runtime: *mut gantry_runtime_t, path: *const c_char, options: *const gantry_onnx_options_t, out_model: *mut *mut gantry_onnx_model_t) -> gantry_status_t;
    pub fn gantry_onnx_model_load_bytes(runtime: *mut gantry_runtime_t, name: *const c_char, bytes: *const c_void, size: usize, options: *const gantry_onnx_options_t, out_model: *mut *mut gantry_onnx_model_t) -> gantry_status_t;
    pub fn gantry_onnx_model_release(model: *mut gantry_onnx_model_t);
    pub fn gantry_onnx_model_input_count(model: *const gantry_onnx_model_t) -> usize;
    pub fn gantry_onnx_model_output_count(model: *const gantry_onnx_model_t) -> usize;
    pub fn gantry_onnx_model_get_input(model: *const gantry_onnx_model_t, index: usize, out_value: *mut gantry_onnx_value_t) -> gantry_status_t;
    pub fn gantry_onnx_model_get_output(model: *const gantry_onnx_model_t, index: usize, out_value: *mut gantry_onnx_value_t) -> gantry_status_t;
    pub fn gantry_onnx_model_run(model: *mut gantry_onnx_model_t, scope: *mut gantry_scope_t, inputs: *const *const gantry_tensor_t, input_count: usize, outputs: *mut *const gantry_tensor_t, output_count: usize) -> gantry_status_t;
    pub fn gantry_onnx_model_get_info(model: *const gantry_onnx_model_t, out_info: *mut gantry_onnx_info_t) -> gantry_status_t;
    pub fn gantry_onnx_model_get_opset(model: *const gantry_onnx_model_t, index: usize, out_opset: *mut gantry_onnx_opset_t) -> gantry_status_t;
    pub fn gantry_onnx_model_get_metadata(model: *const gantry_onnx_model_t, index: usize, out_metadata: *mut gantry_metadata_t) -> gantry_status_t;
    pub fn gantry_onnx_model_get_op(model: *const gantry_onnx_model_t, index: usize, out_op: *mut gantry_onnx_op_t) -> gantry_status_t;
    pub fn gantry_onnx_model_explain(model: *mut gantry_onnx_model_t, form: gantry_explain_form_t, out: *mut c_char, out_bytes: usize, out_needed: *mut usize) -> gantry_status_t;
    pub fn gantry_onnx_model_get_function(model: *mut gantry_onnx_model_t, out_function: *mut *mut gantry_function_t) -> gantry_status_t;
    pub fn gantry_onnx_model_trace(model: *mut gantry_onnx_model_t, shapes: *const gantry_shape_t, shape_count: usize, device: *const c_char, out_function: *mut *mut gantry_function_t) -> gantry_status_t;
}
