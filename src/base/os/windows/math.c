/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of C's mathematics. MinGW's own round fma, fmaf and sqrt twice, return anything for the
 * sine of large numbers and infinity for lgamma of small ones, and lose half of acosh's digits near
 * 1. So these are those of the system's C library, which each Windows 10 has. */
#include <math.h>
#include <stdatomic.h>
#include <string.h>
#include <windows.h>

/* POSIX's, which kernels/common/dialect.cl declares. */
double lgamma_r(double x, int *out_sign);

typedef double (*one_fn)(double x);
typedef double (*three_fn)(double a, double b, double c);
typedef float (*three_float_fn)(float a, float b, float c);
typedef _Atomic(FARPROC) place_t;

static FARPROC find_system(place_t *place, const char *name) {
    FARPROC found = atomic_load_explicit(place, memory_order_relaxed);
    if (found) return found;
    const HMODULE library = LoadLibraryExW(L"ucrtbase.dll", NULL, LOAD_LIBRARY_SEARCH_SYSTEM32);
    found = GetProcAddress(library, name);
    atomic_store_explicit(place, found, memory_order_relaxed);
    return found;
}

static double call_system(place_t *place, const char *name, double x) {
    const FARPROC found = find_system(place, name);
    one_fn function;
    memcpy(&function, &found, sizeof function);
    return function(x);
}

#define OF_SYSTEM(name)                       \
    double name(double x) {                   \
        static place_t place;                 \
        return call_system(&place, #name, x); \
    }
OF_SYSTEM(acosh)
OF_SYSTEM(cos)
OF_SYSTEM(sin)
OF_SYSTEM(sqrt)
OF_SYSTEM(tan)

double fma(double a, double b, double c) {
    static place_t place;
    const FARPROC found = find_system(&place, "fma");
    three_fn function;
    memcpy(&function, &found, sizeof function);
    return function(a, b, c);
}

float fmaf(float a, float b, float c) {
    static place_t place;
    const FARPROC found = find_system(&place, "fmaf");
    three_float_fn function;
    memcpy(&function, &found, sizeof function);
    return function(a, b, c);
}

double lgamma_r(double x, int *out_sign) {
    static place_t place;
    (void)out_sign;
    return call_system(&place, "lgamma", x);
}
