/* SPDX-License-Identifier: Apache-2.0 */
/* Declarations of kernels for OpenCL C 1.2 and CUDA C, and their positions. A tensor arrives as two
 * parameters, the base of the region and an offset in bytes (GANTRY_SPAN_...), or as its base only
 * (GANTRY_BASE_...) if the kernel defines the offset: `const ulong x_offset = ...`. GANTRY_IN and
 * GANTRY_OUT make the typed pointer. Work-item numbers have 64 bits. A kernel may have one
 * GANTRY_SPAN_LOCAL, which must be its last parameter. */

/* Comes before a loop over elements or vectors that must stay in registers, which they do if every
 * index to them is a constant. A compiler that does not know the pragma ignores it. */
#define GANTRY_UNROLLED _Pragma("unroll")

/* Before the loop over a work-item's own elements. NVIDIA's compiler would unroll it and divide to
 * count its rounds; a small launch has one round, and the division takes longer than that. */
#if defined(__CUDACC__)
#define GANTRY_ROLLED _Pragma("unroll 1")
#else
#define GANTRY_ROLLED
#endif

#if defined(__CUDACC__)

#define GANTRY_KERNEL extern "C" __global__ void
#define GANTRY_GLOBAL
#define GANTRY_CONSTANT static __device__ const
#define GANTRY_LOCAL_ARRAY(T_, name, n) __shared__ T_ name[n]
#define GANTRY_LOCAL_POINTER(T_) T_ *
#define GANTRY_LOCAL_FN GANTRY_FN
/* The dynamic shared memory of the launch. The parameter only keeps the argument lists equal. */
extern __shared__ ulong gantry__shared_memory[];
#define GANTRY_SPAN_LOCAL(name) const ulong name##_bytes
#define GANTRY_LOCAL(T_, name) ((T_ *)gantry__shared_memory)

#define GANTRY_LOCAL_ID(d) \
    ((GANTRY_LONG)((d) == 0 ? threadIdx.x : (d) == 1 ? threadIdx.y : threadIdx.z))
#define GANTRY_LOCAL_SIZE(d) \
    ((GANTRY_LONG)((d) == 0 ? blockDim.x : (d) == 1 ? blockDim.y : blockDim.z))
#define GANTRY_GROUP_ID(d) \
    ((GANTRY_LONG)((d) == 0 ? blockIdx.x : (d) == 1 ? blockIdx.y : blockIdx.z))
#define GANTRY_GROUP_COUNT(d) \
    ((GANTRY_LONG)((d) == 0 ? gridDim.x : (d) == 1 ? gridDim.y : gridDim.z))
#define GANTRY_GLOBAL_ID(d) (GANTRY_GROUP_ID(d) * GANTRY_LOCAL_SIZE(d) + GANTRY_LOCAL_ID(d))
#define GANTRY_GLOBAL_SIZE(d) (GANTRY_GROUP_COUNT(d) * GANTRY_LOCAL_SIZE(d))
#define GANTRY_BARRIER() __syncthreads()
#define GANTRY_BARRIER_OF_ALL() __syncthreads()

#else

#define GANTRY_KERNEL __kernel void
#define GANTRY_GLOBAL __global
#define GANTRY_CONSTANT __constant
#define GANTRY_LOCAL_ARRAY(T_, name, n) __local T_ name[n]
#define GANTRY_LOCAL_POINTER(T_) __local T_ *
/* A function with a GANTRY_LOCAL_POINTER must start with this. Clang writes the array's address
 * into a function whose callers all pass the same one. PoCL 3.1 gives each work-group its own array
 * only in the kernel's body, so a call that is not inlined makes all groups share one. */
#define GANTRY_LOCAL_FN __attribute__((always_inline)) GANTRY_FN
#define GANTRY_SPAN_LOCAL(name) __local uchar *name##_local
#define GANTRY_LOCAL(T_, name) ((__local T_ *)name##_local)

#define GANTRY_LOCAL_ID(d) ((GANTRY_LONG)get_local_id(d))
#define GANTRY_LOCAL_SIZE(d) ((GANTRY_LONG)get_local_size(d))
#define GANTRY_GROUP_ID(d) ((GANTRY_LONG)get_group_id(d))
#define GANTRY_GROUP_COUNT(d) ((GANTRY_LONG)get_num_groups(d))
#define GANTRY_GLOBAL_ID(d) ((GANTRY_LONG)get_global_id(d))
#define GANTRY_GLOBAL_SIZE(d) ((GANTRY_LONG)get_global_size(d))
#define GANTRY_BARRIER() barrier(CLK_LOCAL_MEM_FENCE)
/* The same where items of a group have written global memory for each other. */
#define GANTRY_BARRIER_OF_ALL() barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)

#endif

/* A structure with arrays as a parameter by value; the body of the kernel must start with
 * GANTRY_TAKE. Processors whose work-items are lanes get a copy, because Mesa's llvmpipe reads a
 * parameter at one lane's index for all lanes, or crashes. */
#if defined(GANTRY_COPY_PARAMETERS)
#define GANTRY_VALUE(type, name) const type name##_value
#define GANTRY_TAKE(type, name) const type name = name##_value;
#else
#define GANTRY_VALUE(type, name) const type name
#define GANTRY_TAKE(type, name)
#endif

#define GANTRY_BASE_IN(name) GANTRY_GLOBAL const uchar *name##_base
#define GANTRY_BASE_OUT(name) GANTRY_GLOBAL uchar *name##_base
#define GANTRY_SPAN_IN(name) GANTRY_BASE_IN(name), const ulong name##_offset
#define GANTRY_SPAN_OUT(name) GANTRY_BASE_OUT(name), const ulong name##_offset
#define GANTRY_IN(T_, name) ((GANTRY_GLOBAL const T_ *)(name##_base + name##_offset))
#define GANTRY_OUT(T_, name) ((GANTRY_GLOBAL T_ *)(name##_base + name##_offset))

/* A loop over dimensions of a kernel's parameter, from the last to number 1. GPUs' OpenCL compilers
 * copy a parameter for each work-item into scratch memory where an index is no constant, so there
 * the loop has `most` rounds and is unrolled. CUDA indexes parameters where they are. */
#if defined(__OPENCL_VERSION__) && !GANTRY_SERIAL
#define GANTRY_FOR_DIMS(d, most, rank) \
    GANTRY_UNROLLED for (int d = (most)-1; d > 0; --d) if (d < (rank))
#else
#define GANTRY_FOR_DIMS(d, most, rank) for (int d = (int)(rank)-1; d > 0; --d)
#endif

/* The offset of element `number` in an array of any strides and at most `most` dimensions. */
GANTRY_FN GANTRY_LONG gantry__offset(const int most, const GANTRY_LONG rank,
                                     const GANTRY_LONG *dims, const GANTRY_LONG *strides,
                                     const GANTRY_LONG number) {
    GANTRY_LONG rest = number;
    GANTRY_LONG offset = 0;

    GANTRY_FOR_DIMS(d, most, rank) {
        const GANTRY_LONG next = gantry__divide_position(rest, dims[d]);

        offset += (rest - next * dims[d]) * strides[d];
        rest = next;
    }
    return rank > 0 ? offset + rest * strides[0] : 0;
}

/* The fault slot (a GANTRY_SPAN_OUT): 64 bytes {uint code; uint input; 64-bit position; uint
 * left[12]}. All bad elements of one launch give the same code and input; the host reports the
 * first position. left[b] is the distance from the first bad element of block b, of 2^31 positions,
 * to the end of the block. An earlier position gives a larger number, so an atomic maximum of 32
 * bits, which all devices have, finds it. After them bad elements race for the position. */
#define GANTRY_FAULT(name, code_, input_, position_)                          \
    gantry__note_fault(GANTRY_OUT(uint, name), (uint)(code_), (uint)(input_), \
                       (GANTRY_LONG)(position_))

/* Atomic operations on integers of 32 bits in global or local memory, which have no order:
 * *at = the larger, the smaller of *at and value; *at += value; *at -= value; *at = value;
 * *at = value if *at is `known`. All give *at as it was. GANTRY_PEEK reads what other groups have
 * written by them. */
#if defined(__CUDACC__)
#define GANTRY_RAISE(at, value) atomicMax(at, value)
#define GANTRY_LOWER(at, value) atomicMin(at, value)
#define GANTRY_ADD(at, value) atomicAdd(at, value)
#define GANTRY_TAKE_OFF(at, value) atomicSub(at, value)
#define GANTRY_EXCHANGE(at, value) atomicExch(at, value)
#define GANTRY_EXCHANGE_IF(at, known, value) atomicCAS(at, known, value)
#define GANTRY_PEEK(at) (*(volatile uint *)(at))
#else
#define GANTRY_RAISE(at, value) atomic_max(at, value)
#define GANTRY_LOWER(at, value) atomic_min(at, value)
#define GANTRY_ADD(at, value) atomic_add(at, value)
#define GANTRY_TAKE_OFF(at, value) atomic_sub(at, value)
#define GANTRY_EXCHANGE(at, value) atomic_xchg(at, value)
#define GANTRY_EXCHANGE_IF(at, known, value) atomic_cmpxchg(at, known, value)
#define GANTRY_PEEK(at) atomic_or(at, 0u)
#endif

#if defined(__OPENCL_VERSION__) || defined(__CUDACC__)
GANTRY_FN void gantry__note_fault(GANTRY_GLOBAL uint *slot, const uint code, const uint input,
                                  const GANTRY_LONG position) {
    const ulong block = (ulong)position >> 31;
    const uint left = 0x80000000u - ((uint)position & 0x7fffffffu);

    slot[0] = code;
    slot[1] = input;
    if (block >= 12) {
        ((GANTRY_GLOBAL GANTRY_LONG *)slot)[1] = position;
    } else {
        GANTRY_RAISE(slot + 4 + block, left);
    }
}
#endif
