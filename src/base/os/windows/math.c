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

typedef _Atomic(FARPROC) place_t;

static FARPROC find_system(place_t *place, const char *name) {
    FARPROC found = atomic_load_explicit(place, memory_order_relaxed);
    if (found) return found;
    const HMODULE library = LoadLibraryExW(L"ucrtbase.dll", NULL, LOAD_LIBRARY_SEARCH_SYSTEM32);
    found = GetProcAddress(library, name);
    atomic_store_explicit(place, found, memory_order_relaxed);
    return found;
}

/* Calls the system's function of this name. */
#define CALL_SYSTEM(type, name, parameters, arguments) \
    static place_t place;                              \
    const FARPROC found = find_system(&place, name);   \
    type(*function) parameters;                        \
    memcpy(&function, &found, sizeof function);        \
    return function arguments

#define OF_ONE(name) \
    double name(double x) { CALL_SYSTEM(double, #name, (double), (x)); }
OF_ONE(acosh)
OF_ONE(cos)
OF_ONE(sin)
OF_ONE(sqrt)
OF_ONE(tan)

#define OF_THREE(type, name) \
    type name(type a, type b, type c) { CALL_SYSTEM(type, #name, (type, type, type), (a, b, c)); }
OF_THREE(double, fma)
OF_THREE(float, fmaf)

/* The sign, which no caller reads, is that of a positive gamma. */
double lgamma_r(double x, int *out_sign) {
    *out_sign = 1;
    CALL_SYSTEM(double, "lgamma", (double), (x));
}
