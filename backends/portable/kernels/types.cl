/* Element types of a program from its build options: -DGANTRY_T_ID=<dtype number> gives T; GANTRY_S_ID and GANTRY_I_ID,
 * where a kernel has a second (source, output) or an index type, give S and I. U is T's unsigned twin for integers
 * (arithmetic that wraps), float for halves, else T. bool is a uchar that holds 0 or 1; a half is a ushort, its bits.
 * uint16 stands for all types of 2 bytes where bits are moved. Class flags are 0 or 1. */
#define GANTRY_FLOAT32 1
#define GANTRY_FLOAT64 2
#define GANTRY_INT32 3
#define GANTRY_INT64 9
#define GANTRY_BOOL 10
#define GANTRY_BFLOAT16 14
#define GANTRY_UINT16 17
#define GANTRY_FLOAT16 19

#if defined(GANTRY_T_ID) && GANTRY_T_ID == 2
#define GANTRY_NEEDS_FLOAT64
#endif
#if defined(GANTRY_S_ID) && GANTRY_S_ID == 2
#define GANTRY_NEEDS_FLOAT64
#endif
#if defined(GANTRY_NEEDS_FLOAT64) && defined(__OPENCL_VERSION__) && defined(cl_khr_fp64)
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif

#ifdef GANTRY_T_ID
#if GANTRY_T_ID == 1
typedef float T;
typedef float U;
#elif GANTRY_T_ID == 2
typedef double T;
typedef double U;
#elif GANTRY_T_ID == 3
typedef int T;
typedef uint U;
#elif GANTRY_T_ID == 9
typedef GANTRY_LONG T;
typedef ulong U;
#elif GANTRY_T_ID == 10
typedef uchar T;
typedef uchar U;
#elif GANTRY_T_ID == 17
typedef ushort T;
typedef ushort U;
#elif GANTRY_T_ID == 14 || GANTRY_T_ID == 19
typedef ushort T;
typedef float U;
#else
#error "GANTRY_T_ID is not the number of an element type that kernels know (1, 2, 3, 9, 10, 14, 17, 19)"
#endif
#define GANTRY_T_IS_FLOAT (GANTRY_T_ID == 1 || GANTRY_T_ID == 2)
#define GANTRY_T_IS_INT (GANTRY_T_ID == 3 || GANTRY_T_ID == 9)
#define GANTRY_T_IS_BOOL (GANTRY_T_ID == 10)
#define GANTRY_T_IS_HALF (GANTRY_T_ID == 14 || GANTRY_T_ID == 19)
#endif

#ifdef GANTRY_S_ID
#if GANTRY_S_ID == 1
typedef float S;
#elif GANTRY_S_ID == 2
typedef double S;
#elif GANTRY_S_ID == 3
typedef int S;
#elif GANTRY_S_ID == 9
typedef GANTRY_LONG S;
#elif GANTRY_S_ID == 10
typedef uchar S;
#elif GANTRY_S_ID == 14 || GANTRY_S_ID == 19
typedef ushort S;
#else
#error "GANTRY_S_ID is not the number of an element type that kernels know (1, 2, 3, 9, 10, 14, 19)"
#endif
#define GANTRY_S_IS_FLOAT (GANTRY_S_ID == 1 || GANTRY_S_ID == 2)
#define GANTRY_S_IS_INT (GANTRY_S_ID == 3 || GANTRY_S_ID == 9)
#define GANTRY_S_IS_BOOL (GANTRY_S_ID == 10)
#define GANTRY_S_IS_HALF (GANTRY_S_ID == 14 || GANTRY_S_ID == 19)
#endif

#ifdef GANTRY_I_ID
#if GANTRY_I_ID == 3
typedef int I;
#elif GANTRY_I_ID == 9
typedef GANTRY_LONG I;
#else
#error "GANTRY_I_ID is not the number of an index type (3, 9)"
#endif
#endif
