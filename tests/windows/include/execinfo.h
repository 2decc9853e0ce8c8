/* SPDX-License-Identifier: Apache-2.0 */
/* The part of glibc's execinfo.h that tests call, by the functions of Windows. Owner: the callers.
 * Threads: thread-safe. */
#ifndef GANTRY_TESTS_WINDOWS_EXECINFO_H
#define GANTRY_TESTS_WINDOWS_EXECINFO_H

__declspec(dllimport) unsigned short __stdcall RtlCaptureStackBackTrace(unsigned long skipped,
                                                                        unsigned long most,
                                                                        void **out_frames,
                                                                        unsigned long *out_hash);

static inline int backtrace(void **frames, int most) {
    return RtlCaptureStackBackTrace(0, (unsigned long)most, frames, 0);
}

#endif
