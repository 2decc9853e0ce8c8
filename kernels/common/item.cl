/* SPDX-License-Identifier: Apache-2.0 */
/* Items: kernels whose work is so many pieces ("items", most often elements of the output), each
 * done apart from the others and in any order. The text of a family says what one item does, once;
 * this file makes a kernel of a device's program of it, and in C a function over a range of items,
 * which the CPU backend gives to its threads. It must come after launch, types and work; the host's
 * side is item_kernel.h.
 *
 *     #ifndef GANTRY_BAND_PARAMETERS               what the host fills in; C also includes the text
 *                                                  for only this part
 *     #define GANTRY_BAND_PARAMETERS
 *     typedef struct gantry__band_t { gantry__work_t work; GANTRY_LONG rows; ... } gantry__band_t;
 *     #endif
 *
 *     #ifdef GANTRY_ITEM_TEXT
 *     GANTRY_ITEM void GANTRY_ITEM_FN(band)(GANTRY_GLOBAL const T *x, GANTRY_GLOBAL T *out,
 *                                           GANTRY_PARAMETERS(gantry__band_t) p, const GANTRY_LONG
 *                                           i)
 *     {
 *         out[i] = ...                             item i of p->work.count
 *     }
 *     GANTRY_ITEMS_1_1(band, T, T, gantry__band_t)
 *     #endif
 *
 * GANTRY_ITEMS_<inputs>_<outputs>(name, element types..., parameters): spans are read, or written
 * (and read). The form with an F has a fault slot after the parameters (fault, last but i), which
 * GANTRY_ITEM_FAULT writes. An item may write only what no other item of the launch touches, and
 * must not read what another one writes. GANTRY_NO_ITEM(name) is an item that is never launched for
 * the type.
 *
 * Work-groups and local memory are out of reach on purpose: what has to be shared between items
 * must go through a second launch. A family where that costs too much has kernels of its own. */
#define GANTRY_ITEM_TEXT
#define GANTRY_PARAMETERS(type) const type *

/* Notes bad data. The first position is reported: the first of the launch on devices, the first of
 * the range in C. */
#if defined(__OPENCL_VERSION__) || defined(__CUDACC__)
#define GANTRY_ITEM_FAULT(fault, code_, input_, position_)                           \
    gantry__note_fault((GANTRY_GLOBAL uint *)(fault), (uint)(code_), (uint)(input_), \
                       (GANTRY_LONG)(position_))
#else
#define GANTRY_ITEM_FAULT(fault, code_, input_, position_)         \
    do {                                                           \
        uint *slot_ = (uint *)(fault);                             \
        GANTRY_LONG *known_ = (GANTRY_LONG *)(fault) + 1;          \
        if (slot_[0] == 0 || (GANTRY_LONG)(position_) < *known_) { \
            slot_[0] = (uint)(code_);                              \
            slot_[1] = (uint)(input_);                             \
            *known_ = (GANTRY_LONG)(position_);                    \
        }                                                          \
    } while (0)
#endif

/* The most elements of an item that is a run (gantry__runs_t), for arrays of that many. */
#if (defined(__OPENCL_VERSION__) || defined(__CUDACC__)) && !GANTRY_SERIAL
#define GANTRY_RUN_MOST 1
#else
#define GANTRY_RUN_MOST 64
#endif

#if defined(__OPENCL_VERSION__) || defined(__CUDACC__)

#define GANTRY_ITEM GANTRY_FN
#define GANTRY_ITEM_FN(name) name##_item
#define GANTRY_ITEM_LOOP(P, call)                                                              \
    {                                                                                          \
        GANTRY_TAKE(P, p)                                                                      \
        for (GANTRY_LONG i = GANTRY_FIRST(p.work); i < GANTRY_END(p.work); i += GANTRY_STEP) { \
            call;                                                                              \
        }                                                                                      \
    }

#define GANTRY_APART
#define GANTRY_ITEM_UNROLLED GANTRY_UNROLLED /* a loop of a device's item over registers */
#define GANTRY_LANES_SUM(sum)
#define GANTRY_NO_ITEM(name)
#define GANTRY_ITEMS_0_1(name, A, P)                           \
    GANTRY_KERNEL name(GANTRY_SPAN_OUT(a), GANTRY_VALUE(P, p)) \
        GANTRY_ITEM_LOOP(P, name##_item(GANTRY_OUT(A, a), &p, i))
#define GANTRY_ITEMS_0_2(name, A, B, P)                                            \
    GANTRY_KERNEL name(GANTRY_SPAN_OUT(a), GANTRY_SPAN_OUT(b), GANTRY_VALUE(P, p)) \
        GANTRY_ITEM_LOOP(P, name##_item(GANTRY_OUT(A, a), GANTRY_OUT(B, b), &p, i))
#define GANTRY_ITEMS_1_1(name, A, B, P)                                           \
    GANTRY_KERNEL name(GANTRY_SPAN_IN(a), GANTRY_SPAN_OUT(b), GANTRY_VALUE(P, p)) \
        GANTRY_ITEM_LOOP(P, name##_item(GANTRY_IN(A, a), GANTRY_OUT(B, b), &p, i))
#define GANTRY_ITEMS_2_1(name, A, B, D, P)                                       \
    GANTRY_KERNEL name(GANTRY_SPAN_IN(a), GANTRY_SPAN_IN(b), GANTRY_SPAN_OUT(d), \
                       GANTRY_VALUE(P, p))                                       \
        GANTRY_ITEM_LOOP(P,                                                      \
                         name##_item(GANTRY_IN(A, a), GANTRY_IN(B, b), GANTRY_OUT(D, d), &p, i))
#define GANTRY_ITEMS_3_1(name, A, B, D, E, P)                                              \
    GANTRY_KERNEL name(GANTRY_SPAN_IN(a), GANTRY_SPAN_IN(b), GANTRY_SPAN_IN(d),            \
                       GANTRY_SPAN_OUT(e), GANTRY_VALUE(P, p))                             \
        GANTRY_ITEM_LOOP(P, name##_item(GANTRY_IN(A, a), GANTRY_IN(B, b), GANTRY_IN(D, d), \
                                        GANTRY_OUT(E, e), &p, i))
#define GANTRY_ITEMS_3_2(name, A, B, D, E, F, P)                                           \
    GANTRY_KERNEL name(GANTRY_SPAN_IN(a), GANTRY_SPAN_IN(b), GANTRY_SPAN_IN(d),            \
                       GANTRY_SPAN_OUT(e), GANTRY_SPAN_OUT(f), GANTRY_VALUE(P, p))         \
        GANTRY_ITEM_LOOP(P, name##_item(GANTRY_IN(A, a), GANTRY_IN(B, b), GANTRY_IN(D, d), \
                                        GANTRY_OUT(E, e), GANTRY_OUT(F, f), &p, i))
#define GANTRY_ITEMS_4_1(name, A, B, D, E, F, P)                                                   \
    GANTRY_KERNEL name(GANTRY_SPAN_IN(a), GANTRY_SPAN_IN(b), GANTRY_SPAN_IN(d), GANTRY_SPAN_IN(e), \
                       GANTRY_SPAN_OUT(f), GANTRY_VALUE(P, p))                                     \
        GANTRY_ITEM_LOOP(P, name##_item(GANTRY_IN(A, a), GANTRY_IN(B, b), GANTRY_IN(D, d),         \
                                        GANTRY_IN(E, e), GANTRY_OUT(F, f), &p, i))
#define GANTRY_ITEMS_1_2(name, A, B, D, P)                                        \
    GANTRY_KERNEL name(GANTRY_SPAN_IN(a), GANTRY_SPAN_OUT(b), GANTRY_SPAN_OUT(d), \
                       GANTRY_VALUE(P, p))                                        \
        GANTRY_ITEM_LOOP(P,                                                       \
                         name##_item(GANTRY_IN(A, a), GANTRY_OUT(B, b), GANTRY_OUT(D, d), &p, i))
#define GANTRY_ITEMS_2_2(name, A, B, D, E, P)                                               \
    GANTRY_KERNEL name(GANTRY_SPAN_IN(a), GANTRY_SPAN_IN(b), GANTRY_SPAN_OUT(d),            \
                       GANTRY_SPAN_OUT(e), GANTRY_VALUE(P, p))                              \
        GANTRY_ITEM_LOOP(P, name##_item(GANTRY_IN(A, a), GANTRY_IN(B, b), GANTRY_OUT(D, d), \
                                        GANTRY_OUT(E, e), &p, i))
#define GANTRY_ITEMS_1_1F(name, A, B, P)                                          \
    GANTRY_KERNEL name(GANTRY_SPAN_IN(a), GANTRY_SPAN_OUT(b), GANTRY_VALUE(P, p), \
                       GANTRY_SPAN_OUT(fault))                                    \
        GANTRY_ITEM_LOOP(                                                         \
            P, name##_item(GANTRY_IN(A, a), GANTRY_OUT(B, b), &p, GANTRY_OUT(uchar, fault), i))
#define GANTRY_ITEMS_2_1F(name, A, B, D, P)                                                     \
    GANTRY_KERNEL name(GANTRY_SPAN_IN(a), GANTRY_SPAN_IN(b), GANTRY_SPAN_OUT(d),                \
                       GANTRY_VALUE(P, p), GANTRY_SPAN_OUT(fault))                              \
        GANTRY_ITEM_LOOP(P, name##_item(GANTRY_IN(A, a), GANTRY_IN(B, b), GANTRY_OUT(D, d), &p, \
                                        GANTRY_OUT(uchar, fault), i))
#define GANTRY_ITEMS_3_1F(name, A, B, D, E, P)                                             \
    GANTRY_KERNEL name(GANTRY_SPAN_IN(a), GANTRY_SPAN_IN(b), GANTRY_SPAN_IN(d),            \
                       GANTRY_SPAN_OUT(e), GANTRY_VALUE(P, p), GANTRY_SPAN_OUT(fault))     \
        GANTRY_ITEM_LOOP(P, name##_item(GANTRY_IN(A, a), GANTRY_IN(B, b), GANTRY_IN(D, d), \
                                        GANTRY_OUT(E, e), &p, GANTRY_OUT(uchar, fault), i))
#define GANTRY_ITEMS_3_2F(name, A, B, D, E, F, P)                                               \
    GANTRY_KERNEL name(GANTRY_SPAN_IN(a), GANTRY_SPAN_IN(b), GANTRY_SPAN_IN(d),                 \
                       GANTRY_SPAN_OUT(e), GANTRY_SPAN_OUT(f), GANTRY_VALUE(P, p),              \
                       GANTRY_SPAN_OUT(fault))                                                  \
        GANTRY_ITEM_LOOP(                                                                       \
            P, name##_item(GANTRY_IN(A, a), GANTRY_IN(B, b), GANTRY_IN(D, d), GANTRY_OUT(E, e), \
                           GANTRY_OUT(F, f), &p, GANTRY_OUT(uchar, fault), i))

#else

/* In C the names of functions carry the types, because a family's text is included once per type.
 */
#define GANTRY_GLOBAL
#define GANTRY_CONSTANT static const
#define GANTRY_ITEM_UNROLLED
#define GANTRY_ITEM static inline
/* A pointer to memory that no other pointer reaches. It is empty on devices, because Oclgrind does
 * not support what compilers make of it. */
#define GANTRY_APART restrict
#define GANTRY_ITEM_JOIN_(name, t, i) name##_item_##t##_##i
#define GANTRY_ITEM_JOIN(name, t, i) GANTRY_ITEM_JOIN_(name, t, i)
#define GANTRY_RANGE_JOIN_(name, t, i) name##_range_##t##_##i
#define GANTRY_RANGE_JOIN(name, t, i) GANTRY_RANGE_JOIN_(name, t, i)
#define GANTRY_ITEM_FN(name) GANTRY_ITEM_JOIN(name, GANTRY_T, GANTRY_I)
#define GANTRY_RANGE_FN(name) GANTRY_RANGE_JOIN(name, GANTRY_T, GANTRY_I)

/* spans: the inputs, the outputs, then the fault slot if there is one. */
#define GANTRY_ITEM_RANGE(name, P, ...)                                                          \
    static void GANTRY_RANGE_FN(name)(void *const *spans, const void *parameters, int64_t begin, \
                                      int64_t end) {                                             \
        const P *p = parameters;                                                                 \
        for (int64_t i = begin; i < end; ++i) {                                                  \
            GANTRY_ITEM_FN(name)(__VA_ARGS__, i);                                                \
        }                                                                                        \
    }
#define GANTRY_NO_ITEM(name)                                                                     \
    static void GANTRY_RANGE_FN(name)(void *const *spans, const void *parameters, int64_t begin, \
                                      int64_t end) {                                             \
        (void)spans;                                                                             \
        (void)parameters;                                                                        \
        (void)begin;                                                                             \
        (void)end;                                                                               \
    }
#define GANTRY_ITEMS_0_1(name, A, P) GANTRY_ITEM_RANGE(name, P, (A *)spans[0], p)
#define GANTRY_ITEMS_0_2(name, A, B, P) GANTRY_ITEM_RANGE(name, P, (A *)spans[0], (B *)spans[1], p)
#define GANTRY_ITEMS_1_1(name, A, B, P) \
    GANTRY_ITEM_RANGE(name, P, (const A *)spans[0], (B *)spans[1], p)
#define GANTRY_ITEMS_2_1(name, A, B, D, P) \
    GANTRY_ITEM_RANGE(name, P, (const A *)spans[0], (const B *)spans[1], (D *)spans[2], p)
#define GANTRY_ITEMS_3_1(name, A, B, D, E, P)                                                 \
    GANTRY_ITEM_RANGE(name, P, (const A *)spans[0], (const B *)spans[1], (const D *)spans[2], \
                      (E *)spans[3], p)
#define GANTRY_ITEMS_3_2(name, A, B, D, E, F, P)                                              \
    GANTRY_ITEM_RANGE(name, P, (const A *)spans[0], (const B *)spans[1], (const D *)spans[2], \
                      (E *)spans[3], (F *)spans[4], p)
#define GANTRY_ITEMS_4_1(name, A, B, D, E, F, P)                                              \
    GANTRY_ITEM_RANGE(name, P, (const A *)spans[0], (const B *)spans[1], (const D *)spans[2], \
                      (const E *)spans[3], (F *)spans[4], p)
#define GANTRY_ITEMS_1_2(name, A, B, D, P) \
    GANTRY_ITEM_RANGE(name, P, (const A *)spans[0], (B *)spans[1], (D *)spans[2], p)
#define GANTRY_ITEMS_2_2(name, A, B, D, E, P)                                           \
    GANTRY_ITEM_RANGE(name, P, (const A *)spans[0], (const B *)spans[1], (D *)spans[2], \
                      (E *)spans[3], p)
#define GANTRY_ITEMS_1_1F(name, A, B, P) \
    GANTRY_ITEM_RANGE(name, P, (const A *)spans[0], (B *)spans[1], p, (uchar *)spans[2])
#define GANTRY_ITEMS_2_1F(name, A, B, D, P)                                                \
    GANTRY_ITEM_RANGE(name, P, (const A *)spans[0], (const B *)spans[1], (D *)spans[2], p, \
                      (uchar *)spans[3])
#define GANTRY_ITEMS_3_1F(name, A, B, D, E, P)                                                \
    GANTRY_ITEM_RANGE(name, P, (const A *)spans[0], (const B *)spans[1], (const D *)spans[2], \
                      (E *)spans[3], p, (uchar *)spans[4])
#define GANTRY_ITEMS_3_2F(name, A, B, D, E, F, P)                                             \
    GANTRY_ITEM_RANGE(name, P, (const A *)spans[0], (const B *)spans[1], (const D *)spans[2], \
                      (E *)spans[3], (F *)spans[4], p, (uchar *)spans[5])

#endif
