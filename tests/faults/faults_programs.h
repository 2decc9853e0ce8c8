/* SPDX-License-Identifier: Apache-2.0 */
/* The tool's own programs, and the names under which it compiles others. Each program verifies its
 * results and returns 0 on success. */
#ifndef GANTRY_TESTS_FAULTS_PROGRAMS_H
#define GANTRY_TESTS_FAULTS_PROGRAMS_H

#include <stdbool.h>

int faults_conformance_main(int argc, char **argv);

/* Bits of a program's exit code: what failed cannot be used afterwards; it gives wrong values. */
#define FAULTS_PROGRAM_UNUSABLE 64
#define FAULTS_PROGRAM_WRONG 128

/* argv[1] is the device. */
int faults_program_small(int argc, char **argv);  /* a bit of everything on two devices */
int faults_program_matmul(int argc, char **argv); /* the guide's product */
/* a convolution, its gradients, and one of groups */
int faults_program_convolve(int argc, char **argv);
int faults_program_copies(int argc, char **argv); /* between devices, all policies */
int faults_program_bridge(int argc, char **argv); /* views, prepared ops, asynchronous reads */
/* numbers, limits, survival of running out of memory */
int faults_program_memory(int argc, char **argv);
int faults_program_settings(int argc, char **argv); /* listing, describing, configuring */
int faults_program_profile(int argc, char **argv);  /* recorded, read, written as text and JSON */
int faults_program_files(int argc, char **argv);    /* printing and npy; argv[2] is a folder */
/* records kept, read, used and taken out; argv[2] is a folder */
int faults_program_tuning(int argc, char **argv);
/* the first small case of every eighth op; argv[2]: 0 to 7 */
int faults_program_ops(int argc, char **argv);
int faults_program_saved(
    /* the language identifier: train, save; then load, classify; argv[2] is a folder */
    int argc, char **argv);

/* Functions, traced and called: branches and loops; variables and draws; copies between devices;
 * lanes on two parts of the CPU; an order within a budget. */
int faults_program_function_flow(int argc, char **argv);
int faults_program_function_effects(int argc, char **argv);
int faults_program_function_devices(int argc, char **argv);
int faults_program_function_lanes(int argc, char **argv);
int faults_program_function_scopes(int argc, char **argv);
int faults_program_function_budget(int argc, char **argv);

/* Reads the golden cases that the ops program runs; before any fork. */
bool faults_program_load(void);

#endif
