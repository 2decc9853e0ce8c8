/* SPDX-License-Identifier: Apache-2.0 */
/* The elements of a work-item, where each is computed apart. This must come after launch.cl.
 *
 * GANTRY_SERIAL (build option, 0 or 1) is the style for processors: a work-item does one run of
 * neighbouring elements, which becomes vector code inside the work-item, and writes outputs that
 * exceed the caches by streaming stores. In the other style neighbouring work-items do neighbouring
 * elements, 16 bytes each if they are aligned.
 *
 *     for (GANTRY_LONG i = GANTRY_FIRST(p); i < GANTRY_END(p); i += GANTRY_STEP) ...
 *
 * p is a gantry__work_t. */
typedef struct gantry__work_t {
    GANTRY_LONG count;
    GANTRY_LONG run;    /* elements of a work-item in the serial style, a multiple of 1024 */
    GANTRY_LONG stream; /* whether not 0: streaming stores */
} gantry__work_t;

#if GANTRY_SERIAL
#define GANTRY_FIRST(p) (GANTRY_GLOBAL_ID(0) * (p).run)
#define GANTRY_END(p) \
    ((p).count < GANTRY_FIRST(p) + (p).run ? (p).count : GANTRY_FIRST(p) + (p).run)
#define GANTRY_STEP 1
#else
#define GANTRY_FIRST(p) GANTRY_GLOBAL_ID(0)
#define GANTRY_END(p) ((p).count)
#define GANTRY_STEP GANTRY_GLOBAL_SIZE(0)
#endif

#define GANTRY_CAN_STREAM 0
#if GANTRY_SERIAL && defined(__OPENCL_VERSION__) && defined(__has_builtin)
#if __has_builtin(__builtin_nontemporal_store)
#undef GANTRY_CAN_STREAM
#define GANTRY_CAN_STREAM 1
#endif
#endif

/* A cache line, and its streaming store to a place that must be aligned to it. */
#if defined(__OPENCL_VERSION__)
typedef uint16 gantry__stream_line_t;
#if GANTRY_CAN_STREAM
#define GANTRY_STREAM_OUT(to, from) __builtin_nontemporal_store(*(from), to)
#else
#define GANTRY_STREAM_OUT(to, from) (*(to) = *(from))
#endif
#define GANTRY_STREAM_END()
#endif

/* outs[i] = value(i) for the work-item's elements. `value` must be an expression of i, and `want`
 * statements that prefetch the operands of element i. Streaming goes through some lines on the
 * stack: a streaming store of a whole line saves reading the line before it is overwritten, and
 * prefetches overlap with the stores. Names end in _, so that they do not hide names of the
 * expression. */
#define GANTRY_STORE_LOOP
#if GANTRY_CAN_STREAM
#define GANTRY_STREAM_BYTES 512
#define GANTRY_STREAM_LINE ((int)sizeof(gantry__stream_line_t))
#define GANTRY_STREAM_AHEAD 1024 /* bytes that an operand is prefetched ahead */
#define GANTRY_STORE_ALL(R_, outs, p, want, value)                                               \
    {                                                                                            \
        GANTRY_LONG i = GANTRY_FIRST(p);                                                         \
        const GANTRY_LONG end_ = GANTRY_END(p);                                                  \
        if ((p).stream) {                                                                        \
            const GANTRY_LONG step_ = GANTRY_STREAM_BYTES / sizeof(R_);                          \
            gantry__stream_line_t block_[GANTRY_STREAM_BYTES / GANTRY_STREAM_LINE];              \
            while (end_ - i >= step_) {                                                          \
                const GANTRY_LONG start_ = i;                                                    \
                GANTRY_GLOBAL gantry__stream_line_t *lines_ =                                    \
                    (GANTRY_GLOBAL gantry__stream_line_t *)((outs) + start_);                    \
                GANTRY_STORE_LOOP                                                                \
                for (int e_ = 0; e_ < GANTRY_STREAM_BYTES / (int)sizeof(R_); ++e_) {             \
                    const GANTRY_LONG i = start_ + e_;                                           \
                    ((R_ *)block_)[e_] = (value);                                                \
                }                                                                                \
                i = start_ + step_;                                                              \
                for (int line_ = 0; line_ < GANTRY_STREAM_BYTES / GANTRY_STREAM_LINE; ++line_) { \
                    want;                                                                        \
                    GANTRY_STREAM_OUT(lines_ + line_, block_ + line_);                           \
                    i += GANTRY_STREAM_LINE / sizeof(R_);                                        \
                }                                                                                \
                i = start_ + step_;                                                              \
            }                                                                                    \
        }                                                                                        \
        GANTRY_STORE_LOOP                                                                        \
        for (; i < end_; ++i) {                                                                  \
            (outs)[i] = (value);                                                                 \
        }                                                                                        \
    }
#else
#define GANTRY_STORE_ALL(R_, outs, p, want, value)                               \
    for (GANTRY_LONG i = GANTRY_FIRST(p); i < GANTRY_END(p); i += GANTRY_STEP) { \
        (outs)[i] = (value);                                                     \
    }
#endif

/* A bool of a processor's loop: 1 where `value` is true, in a way that the compiler does not see (a
 * run is a multiple of 1024). LLVM loads a 1 that it sees under a mask from the program's constants
 * (AVX-512). While no lane is true nothing touches the page of the constants, so it is not in
 * memory, and each load takes a microcode assist: the loop takes eight times as long. */
#define GANTRY_HIDE_TRUE(p) const int hidden_true = (int)(~(p).run & 1);
#define GANTRY_HIDDEN_BOOL(value) ((uchar)(-(int)(value)&hidden_true))
/* The same for bools, by bytes, because an int would take four times as many registers. */
#define GANTRY_HIDDEN_BOOL_OF_BOOLS(value) ((uchar)((uchar) - (uchar)(value) & (uchar)hidden_true))

/* Only on GPUs: elements that are read or written by one memory access. */
#if !GANTRY_SERIAL
#if defined(__OPENCL_VERSION__)
#define GANTRY_ALIGNED(bytes) __attribute__((aligned(bytes)))
#else
#define GANTRY_ALIGNED(bytes) __align__(bytes)
#endif
#define GANTRY_WIDE_TYPE(name, T_, elements)                    \
    typedef struct GANTRY_ALIGNED(elements * sizeof(T_)) name { \
        T_ e[elements];                                         \
    } name;                                                     \
    typedef union name##_word {                                 \
        name wide;                                              \
        uint4 word;                                             \
    } name##_word
/* wide = from[i], and to[i] = wide, of a type above. 16 bytes move as one vector: compilers may
 * split the copy of a struct into accesses to its elements, which touch four times as many lines of
 * memory. They are macros, because Oclgrind 21.10 fails at LLVM's inlined structs. */
#define GANTRY_WIDE_LOAD(name, from, i, to_wide)                    \
    {                                                               \
        name##_word value_;                                         \
        if (sizeof(name) == sizeof(uint4)) {                        \
            value_.word = ((GANTRY_GLOBAL const uint4 *)(from))[i]; \
        } else {                                                    \
            value_.wide = ((GANTRY_GLOBAL const name *)(from))[i];  \
        }                                                           \
        to_wide = value_.wide;                                      \
    }
#define GANTRY_WIDE_STORE(name, to, i, from_wide)           \
    {                                                       \
        name##_word value_;                                 \
        value_.wide = from_wide;                            \
        if (sizeof(name) == sizeof(uint4)) {                \
            ((GANTRY_GLOBAL uint4 *)(to))[i] = value_.word; \
        } else {                                            \
            ((GANTRY_GLOBAL name *)(to))[i] = value_.wide;  \
        }                                                   \
    }
#define GANTRY_IS_ALIGNED(pointer, type) (((ulong)(pointer) & (ulong)(sizeof(type) - 1)) == 0)

/* outs[i] = value(x) with x = xs[i], for the work-item's elements; both types must hold `elements`
 * of them. */
#define GANTRY_MAP_ALL(S_, in_type, out_type, elements, xs, outs, p, value)                      \
    {                                                                                            \
        const int aligned = GANTRY_IS_ALIGNED(xs, in_type) && GANTRY_IS_ALIGNED(outs, out_type); \
        const GANTRY_LONG wide = aligned ? (p).count / elements : 0;                             \
        GANTRY_ROLLED for (GANTRY_LONG g = GANTRY_FIRST(p); g < wide; g += GANTRY_STEP) {        \
            in_type in;                                                                          \
            out_type out;                                                                        \
            GANTRY_WIDE_LOAD(in_type, xs, g, in)                                                 \
            GANTRY_UNROLLED for (int e = 0; e < elements; ++e) {                                 \
                const S_ x = in.e[e];                                                            \
                out.e[e] = (value);                                                              \
            }                                                                                    \
            GANTRY_WIDE_STORE(out_type, outs, g, out)                                            \
        }                                                                                        \
        GANTRY_ROLLED for (GANTRY_LONG i = wide * elements + GANTRY_FIRST(p); i < (p).count;     \
                           i += GANTRY_STEP) {                                                   \
            const S_ x = (xs)[i];                                                                \
            (outs)[i] = (value);                                                                 \
        }                                                                                        \
    }
#endif

/* The operands of one element under broadcasting: offset += coordinate * stride for each operand of
 * the plan. */
typedef struct gantry__item_plan_t {
    gantry__work_t work;
    GANTRY_LONG rank;
    GANTRY_LONG dims[8];
    /* in elements; Mesa's Rusticl miscounts an array of arrays */
    GANTRY_LONG strides0[8], strides1[8], strides2[8];
} gantry__item_plan_t;

/* Items (item.cl) that are runs of neighbours in a row: of one element on GPUs, of dozens on
 * processors, which then find the row once for all of them. GANTRY_FIND_RUN sets the row of item i
 * and its elements. */
typedef struct gantry__runs_t {
    GANTRY_LONG size;   /* elements of a row */
    GANTRY_LONG length; /* elements of an item; the last of a row may have fewer */
    GANTRY_LONG count;  /* items of a row */
} gantry__runs_t;

#define GANTRY_FIND_RUN(runs)                                            \
    const GANTRY_LONG line = gantry__divide_position(i, (runs).count);   \
    const GANTRY_LONG first = (i - line * (runs).count) * (runs).length; \
    const GANTRY_LONG end =                                              \
        (runs).size - first < (runs).length ? (runs).size : first + (runs).length;
