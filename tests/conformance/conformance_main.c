/* SPDX-License-Identifier: Apache-2.0 */
/* Promise (conformance.cpu): Every op of the list, by name and as a C function, has TensorFlow's
 * values and errors on the CPU backend.
 * Promise (conformance.write_bits): The bits of a fifth of the cases, by the base instruction set,
 * are written to a file.
 * Promise (conformance.compare_bits): The machine's best instruction set gives the bits of the base
 * set, which another process wrote to a file.
 * Promise (conformance.opencl0): Every op has TensorFlow's values and errors on PoCL.
 * Promise (conformance.opencl0.types): Ops of every family of kernels have TensorFlow's values on
 * PoCL in one more floating and one more integer type.
 * Promise (conformance.opencl1): A twelfth of the cases of each family of kernels passes on PoCL's
 * second device, as /GPU:1.
 * Promise (conformance.adopted): A sample of every family of kernels, and the other tests of
 * conformance, pass on PoCL over a context and queue of the program.
 * Promise (conformance.bits): The CPU backend and PoCL give the same bits: elementwise ops,
 * reductions, scans, sorts, scatters and random numbers.
 * Promise (conformance.bits.optimized): The CPU backend and PoCL give the same bits in float32 with
 * programs as PoCL builds them for users, in one op or a few of each family of kernels.
 * Promise (conformance.bits.types): The CPU backend and PoCL give the same bits in one more
 * floating and one more integer type of ops of every family of kernels.
 * Promise (conformance.gpu_forms): The forms of kernels that a GPU's properties select give the
 * CPU's bits on PoCL, in a fifth of the golden cases.
 * Promise (conformance.hostile): A sample of every family of kernels passes on PoCL with the limits
 * of a GPU: small work-groups, and commands that are withheld until a flush.
 * Promise (conformance.dots): Products of small integers pass on PoCL under a layer that gives it
 * cl_khr_integer_dot_product.
 * Promise (conformance.rusticl): A sample of five ops passes on Mesa's Rusticl, where it is
 * installed.
 * Promise (conformance.no_double): A sample of ops of every kind passes on a device without double
 * precision, which is PoCL under a layer that poisons the word double.
 * Promise (conformance.opencl0.clblast): MatMul on PoCL by CLBlast agrees with the golden cases.
 * Promise (conformance.opencl0.portable): Products on PoCL by the portable kernels agree with the
 * golden cases.
 * Promise (conformance.opencl0.portable.types): Products on PoCL by the portable kernels agree with
 * the golden cases in one more floating and one more integer type.
 * Promise (conformance.opencl0.tensor_emulated): Products on PoCL by the device text for tensor
 * cores, which is emulated there, agree with the golden cases.
 * Promise (conformance.opencl0.fill): A conformance run that begins with an empty cache of program
 * binaries passes and fills the cache.
 * Promise (conformance.opencl0.warm): A second conformance run on PoCL finds every program in the
 * cache of binaries that the first one filled.
 * Promise (conformance.oclgrind): Kernels of every family under Oclgrind make no invalid access, no
 * data race and no wrong API call.
 * Promise (conformance.oclgrind.gpu_forms): The forms of kernels for GPUs make no invalid access
 * and no data race under Oclgrind.
 * Promise (conformance.cuda_stand_in): Golden cases of every family of kernels, in the main types,
 * and the other tests of conformance pass on the CUDA backend over the stand-in for NVIDIA's
 * driver.
 * Promise (conformance.cuda_stand_in.adopted): A sample of every family of kernels, and the other
 * tests of conformance, pass on the stand-in over a context and stream of the program.
 * Promise (conformance.cuda_stand_in.portable): Products on the stand-in by the portable kernels,
 * without cuBLASLt, agree with the golden cases.
 * Promise (small_backend.conformance): The small backend of docs/write_a_backend.md passes the
 * tests of transfers, tensors, threads, calls, scopes and views.
 * Promise (small_backend.add): The small backend of docs/write_a_backend.md computes an Add.
 *
 * The conformance program's main: options, files of rules, device, groups, summary. */
#include <stdio.h>
#include <stdlib.h>

#include "conformance.h"

static int load_rules(conformance_t *c) {
    char error[512];
    if (conformance_rules_load(c->options.expectations, 3, &c->expectations, error, sizeof error) ||
        (c->options.skip_file &&
         conformance_rules_load(c->options.skip_file, 2, &c->skips, error, sizeof error))) {
        printf("FAIL %s\n", error);
        return 1;
    }
    return 0;
}

/* Checks that need neither golden values nor a second device. */
static void run_subjects(conformance_t *c) {
    conformance_run_matmul(c);
    conformance_run_conv(c);
    conformance_run_tensors(c);
    conformance_run_transfers(c);
    conformance_run_large(c);
    conformance_run_calls(c);
    conformance_run_calls_shape(c);
    conformance_run_views(c);
    conformance_run_faults(c);
    conformance_run_fault_words(c);
    conformance_run_variables(c);
    conformance_run_draws(c);
    conformance_run_scopes(c);
    conformance_run_lacking(c);
    conformance_run_threads(c);
    conformance_run_memory(c);
    conformance_run_memory_control(c);
}

static int run(conformance_t *c) {
    int code = load_rules(c);
    if (code == 0 && !c->options.list) code = conformance_open(c);
    if (code == 0) code = conformance_bits_open(c);
    if (code) return code;
    conformance_run_golden(c);
    conformance_run_sweep(c);
    if (c->options.further_types) {
        if (!conformance_only_bits(c)) conformance_run_matmul_grid(c);
        return conformance_summary(c);
    }
    conformance_run_sweep_shape(c);
    conformance_run_sweep_index(c);
    if (!conformance_only_bits(c)) {
        run_subjects(c);
        conformance_run_coverage(c);
    }
    return conformance_summary(c);
}

int main(int argc, char **argv) {
    setvbuf(stdout, NULL, _IOLBF, BUFSIZ); /* so that output before a driver's abort is visible */
    conformance_t *c = calloc(1, sizeof *c);
    if (!c) return 2;
    int parsed = conformance_options_parse(argc, argv, &c->options);
    int code = parsed == 0 ? run(c) : parsed > 0 ? 0 : 2;
    conformance_bits_close(c);
    conformance_close(c);
    free(c);
    return code;
}
