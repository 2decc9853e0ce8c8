/* SPDX-License-Identifier: Apache-2.0 */
/* Includes the text GANTRY_EACH_TEXT once for every type of the set GANTRY_EACH_TYPE (one of
 * kernel_types.h), with GANTRY_T defined as the type's short name; then takes both back. No guard.
 *
 *     #define GANTRY_EACH_TYPE GANTRY_FLOATING
 *     #define GANTRY_EACH_TEXT "kernels/elementwise/elementwise_cpu_loops.h"
 *     #include "kernels/common/each_type.h"
 *
 * A macro cannot hold an #include, so that each type has its lines here. The set says which of them
 * count: for f64, with HAS(f64), GANTRY_FLOATING becomes +GANTRY_SAME_f64_f32
 * +GANTRY_SAME_f64_f64..., of which #if knows the one that is 1 (types.cl). */

#define HAS(name) +GANTRY_SAME_f32_##name
#if 0 GANTRY_EACH_TYPE(HAS)
#define GANTRY_T f32
#include GANTRY_EACH_TEXT
#undef GANTRY_T
#endif
#undef HAS

#define HAS(name) +GANTRY_SAME_f64_##name
#if 0 GANTRY_EACH_TYPE(HAS)
#define GANTRY_T f64
#include GANTRY_EACH_TEXT
#undef GANTRY_T
#endif
#undef HAS

#define HAS(name) +GANTRY_SAME_bf16_##name
#if 0 GANTRY_EACH_TYPE(HAS)
#define GANTRY_T bf16
#include GANTRY_EACH_TEXT
#undef GANTRY_T
#endif
#undef HAS

#define HAS(name) +GANTRY_SAME_f16_##name
#if 0 GANTRY_EACH_TYPE(HAS)
#define GANTRY_T f16
#include GANTRY_EACH_TEXT
#undef GANTRY_T
#endif
#undef HAS

#define HAS(name) +GANTRY_SAME_i32_##name
#if 0 GANTRY_EACH_TYPE(HAS)
#define GANTRY_T i32
#include GANTRY_EACH_TEXT
#undef GANTRY_T
#endif
#undef HAS

#define HAS(name) +GANTRY_SAME_i64_##name
#if 0 GANTRY_EACH_TYPE(HAS)
#define GANTRY_T i64
#include GANTRY_EACH_TEXT
#undef GANTRY_T
#endif
#undef HAS

#define HAS(name) +GANTRY_SAME_u8_##name
#if 0 GANTRY_EACH_TYPE(HAS)
#define GANTRY_T u8
#include GANTRY_EACH_TEXT
#undef GANTRY_T
#endif
#undef HAS

#define HAS(name) +GANTRY_SAME_i16_##name
#if 0 GANTRY_EACH_TYPE(HAS)
#define GANTRY_T i16
#include GANTRY_EACH_TEXT
#undef GANTRY_T
#endif
#undef HAS

#define HAS(name) +GANTRY_SAME_i8_##name
#if 0 GANTRY_EACH_TYPE(HAS)
#define GANTRY_T i8
#include GANTRY_EACH_TEXT
#undef GANTRY_T
#endif
#undef HAS

#define HAS(name) +GANTRY_SAME_u16_##name
#if 0 GANTRY_EACH_TYPE(HAS)
#define GANTRY_T u16
#include GANTRY_EACH_TEXT
#undef GANTRY_T
#endif
#undef HAS

#define HAS(name) +GANTRY_SAME_u32_##name
#if 0 GANTRY_EACH_TYPE(HAS)
#define GANTRY_T u32
#include GANTRY_EACH_TEXT
#undef GANTRY_T
#endif
#undef HAS

#define HAS(name) +GANTRY_SAME_u64_##name
#if 0 GANTRY_EACH_TYPE(HAS)
#define GANTRY_T u64
#include GANTRY_EACH_TEXT
#undef GANTRY_T
#endif
#undef HAS

#define HAS(name) +GANTRY_SAME_b8_##name
#if 0 GANTRY_EACH_TYPE(HAS)
#define GANTRY_T b8
#include GANTRY_EACH_TEXT
#undef GANTRY_T
#endif
#undef HAS

#undef GANTRY_EACH_TYPE
#undef GANTRY_EACH_TEXT
