/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of conv_filter.cl on processors. */

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void opencl_cpu_filter_lanes(
    __global const uchar *images_base, const ulong images_offset, __global const uchar *grad_base,
    const ulong grad_offset, __global uchar *parts_base, const ulong parts_offset,
    __global uchar *memory_base, const ulong memory_offset, const gantry__filter_t q) {
    const long lane = (long)get_global_id(0), units = q.tiles * q.chunks;
    __global T *memory = (__global T *)(memory_base + memory_offset) + lane * q.lane_elements;

    for (long unit = units * lane / q.lanes; unit < units * (lane + 1) / q.lanes; ++unit) {
        sum_filter_unit(&q, (__global const T *)(images_base + images_offset),
                        (__global const T *)(grad_base + grad_offset),
                        (__global T *)(parts_base + parts_offset), unit, memory);
    }
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void opencl_cpu_filter_chunks(
    __global const uchar *parts_base, const ulong parts_offset, __global uchar *out_base,
    const ulong out_offset, const gantry__filter_t q) {
    const long item = (long)get_global_id(0), items = (long)get_global_size(0), count = q.m * q.n;

    add_filter_chunks(&q, (__global const T *)(parts_base + parts_offset),
                      (__global T *)(out_base + out_offset), count * item / items,
                      count * (item + 1) / items);
}
