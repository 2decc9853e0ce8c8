/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: A PoCL that cannot start or lacks what it needs ends no process and is named with the
 * reason.
 * Promise: Among several OpenCL drivers, a PoCL that cannot start ends no process, and with a
 * loader that does not sort the drivers only PoCL is left out.
 * Promise: A folder, a linker, threads or address space that PoCL needs and does not have is named
 * before PoCL is opened.
 * Promise: A compiler that runs out of memory is ResourceExhausted, and the op falls back to the
 * CPU where the program allows it.
 * Promise: A full disk, and a compiler that needs more memory than is left, give an error and never
 * end the process.
 * Promise: PoCL is left out where others may write the folder of its machine code, with the remedy.
 * test_pocl_machine sweep   every limit of address space and every size of disk; minutes
 * A test that needs an unprivileged user, a mount or ulimit is skipped, with the reason, on systems
 * without one. */
#define _GNU_SOURCE

#include "pocl_case.h"

#include <dlfcn.h>

/* ---- another user ---- */

/* Prefix that runs a command as a user without write access, with only the environment that
 * follows. The leak search is off, because it needs one process more than some of these limits
 * allow. */
#define SOMEBODY     \
    "$NOBODY " ALONE \
    "ASAN_OPTIONS=detect_leaks=0 PATH=\"$PATH\" GANTRY_OPENCL_CPU=gpu POCL_DEVICES=pthread "

static bool has_somebody(void) {
    if (geteuid() != 0) return true;
    if (!is_here(
            "no unprivileged user that can run the programs",
            "setpriv --reuid=65534 --regid=65534 --clear-groups test -x $BIN/gantry -a -x $SELF"))
        return false;
    return setenv("NOBODY", "setpriv\n--reuid=65534\n--regid=65534\n--clear-groups", 1) == 0;
}

/* ---- the folder ---- */

static void expect_refused(const char *environment, const char *reason) {
    char line[1024];
    (void)snprintf(line, sizeof line,
                   "env -u POCL_CACHE_DIR -u XDG_CACHE_HOME %s $BIN/gantry devices", environment);
    expect_run(0, line);
    expect_in_output("no usable device: OpenCL platform \"Portable Computing Language\": ");
    expect_in_output(reason);
    (void)snprintf(line, sizeof line, "env -u POCL_CACHE_DIR -u XDG_CACHE_HOME %s $SELF op add",
                   environment);
    expect_run(0, line);
    expect_in_output("add on /device:CPU:0: 2, OK");
}

static void folder_that_cannot_be_made_is_named_with_its_cure(void **state) {
    (void)state;
    expect_refused("HOME=/proc/none",
                   "in /proc/none/.cache/pocl/kcache (by HOME), and /proc/none cannot be made");
    expect_refused("HOME=/etc/passwd", "and /etc/passwd cannot be made: Not a directory");
    expect_refused("XDG_CACHE_HOME=/proc/none", "in /proc/none/pocl/kcache (by XDG_CACHE_HOME)");
    expect_refused("POCL_KERNEL_CACHE=0 HOME=/proc/none",
                   "in /proc/none/.cache/pocl/uncached (by HOME)");
    expect_refused("POCL_CACHE_DIR=/proc/none",
                   "name a folder that can be written with POCL_CACHE_DIR");
    expect_refused("POCL_CACHE_DIR=", "POCL_CACHE_DIR is empty");
}

static void folder_of_others_is_named(void **state) {
    (void)state;
    if (!has_somebody()) skip();
    expect_run(0, SOMEBODY "HOME=/ $BIN/gantry devices");
    expect_in_output(
        "cannot be made: Permission denied; name a folder that can be written with POCL_CACHE_DIR");
    expect_run(0, "mkdir -p read_only && chmod 555 read_only && " SOMEBODY
                  "POCL_CACHE_DIR=$PWD/read_only $BIN/gantry devices");
    expect_in_output(
        "read_only (by POCL_CACHE_DIR), where no file can be written: Permission denied");
    expect_run(0, SOMEBODY "POCL_CACHE_DIR=$PWD/read_only $SELF op add");
    expect_in_output("add on /device:CPU:0: 2, OK");
}

static void folder_that_was_removed_is_made_again(void **state) {
    (void)state;
    expect_run(0, "POCL_CACHE_DIR=$PWD/gone $SELF op add 'sh:rm -rf gone' exp");
    expect_in_output("add on /device:GPU:0: 2, OK");
    expect_in_output("exp on /device:GPU:0: 2.7");
}

static void folder_that_is_lost_fails_the_op_with_the_cause(void **state) {
    (void)state;
    expect_run(
        0,
        "POCL_CACHE_DIR=$PWD/lost $SELF op add 'sh:rm -rf lost; touch lost' exp 'sh:rm lost' exp");
    expect_in_output("add on /device:GPU:0: 2, OK");
    expect_in_output(
        "exp on no device: 0, FailedPrecondition program portable/elementwise/Exp cannot be built");
    expect_in_output("/lost cannot be made: Not a directory");
    expect_in_output("exp on /device:GPU:0: 2.7");
}

static void folder_that_is_full_fails_the_op_with_the_cause(void **state) {
    (void)state;
    if (!has_mounts()) skip();
    expect_run(
        0,
        "unshare -m sh -c 'mount -t tmpfs -o mode=700,size=8m tmpfs mounted && POCL_CACHE_DIR=$PWD/mounted \"$SELF\" op add \"sh:head -c 7800000 /dev/zero > mounted/full\" exp \"sh:rm mounted/full\" exp'");
    expect_in_output("add on /device:GPU:0: 2, OK");
    expect_in_output("exp on no device: 0, FailedPrecondition");
    expect_in_output("KiB are free and one program may take 4096 KiB; make room there");
    expect_in_output("exp on /device:GPU:0: 2.7");
}

/* A longer write than the limit allows would end the process by SIGXFSZ: PoCL's, and Gantry's own
 * of a note, of a claim and of a program. */
static void files_that_are_limited_refuse_the_device(void **state) {
    (void)state;
    static const int blocks[] = {0, 2, 1000}; /* of 512 or 1024 bytes: shells differ */
    for (size_t i = 0; i < sizeof blocks / sizeof blocks[0]; ++i) {
        char line[256];
        (void)snprintf(line, sizeof line,
                       "rm -rf short; ulimit -f %d; GANTRY_KERNEL_CACHE=$PWD/short "
                       "POCL_CACHE_DIR=$PWD/short/pocl $SELF op add",
                       blocks[i]);
        expect_run(0, line);
        expect_in_output("add on /device:CPU:0: 2, OK");
    }
    expect_run(0, "ulimit -f 0; POCL_CACHE_DIR=$PWD/short/pocl $BIN/gantry devices");
    expect_in_output("where a file of this process is limited to 0 KiB (ulimit -f)");
}

static void folder_that_nothing_runs_from_is_named(void **state) {
    (void)state;
    if (!has_mounts()) skip();
    expect_run(
        0,
        "unshare -m sh -c 'mount -t tmpfs -o mode=700,size=8m,noexec tmpfs mounted && export POCL_CACHE_DIR=$PWD/mounted; "
        "\"$BIN\"/gantry devices; \"$SELF\" op add'");
    expect_in_output("mounted (by POCL_CACHE_DIR), whose file system is mounted noexec");
    expect_in_output("add on /device:CPU:0: 2, OK");
}

/* As another user who was first, or who may write the folder. */
static void folder_that_others_may_write_refuses_the_device(void **state) {
    (void)state;
    expect_run(0, "mkdir -p open && chmod 1777 open");
    expect_refused("POCL_CACHE_DIR=$PWD/open",
                   "and runs what it finds there: others may write '/tmp/");
    expect_refused("POCL_CACHE_DIR=$PWD/open", "name a folder of your own with POCL_CACHE_DIR");
    expect_run(0, "chmod 777 open && mkdir -p -m 700 open/home");
    expect_refused("HOME=$PWD/open/home", "/open' has mode 0777; accepted is");
    expect_refused("XDG_CACHE_HOME=$PWD/open/home", "others may write '/tmp/");
    if (geteuid() != 0) SKIP_BECAUSE("only root can be another user");
    expect_run(0, "rm -rf open; mkdir -m 755 his && chown 65534:65534 his");
    expect_refused("POCL_CACHE_DIR=$PWD/his", "/his' belongs to user 65534; accepted is");
    expect_refused("HOME=$PWD/his", "/his' belongs to user 65534; accepted is");
    expect_run(1, "ls -A his | grep .");
    expect_run(0,
               "mkdir -m 700 own && ln -s $PWD/own link && POCL_CACHE_DIR=$PWD/link $SELF op add");
    expect_in_output("add on /device:GPU:0: 2, OK");
}

/* ---- limits of the process ---- */

static void address_space_that_is_limited_ends_no_process(void **state) {
    (void)state;
    if (IS_SANITIZED) {
        (void)printf("skipped: sanitizers take more address space than any limit leaves\n");
        skip();
    }
    static const int mib[] = {1000, 600, 560, 520, 440, 300};
    bool was_refused = false;
    for (size_t i = 0; i < sizeof mib / sizeof mib[0]; ++i) {
        int code = run("rm -rf space; ulimit -v %d; POCL_CACHE_DIR=$PWD/space $SELF op add exp",
                       mib[i] * 1024);
        if (code != 0) fail_msg("exit %d with %d MiB: %s", code, mib[i], output);
        expect_in_output("exp on ");
        bool is_exhausted = strstr(output, "ResourceExhausted") != NULL;
        if (is_exhausted)
            expect_in_output("the address space (ulimit -v) of this process is limited to");
        was_refused = was_refused || is_exhausted || strstr(output, "CPU:0") != NULL;
    }
    assert_true(was_refused);
    expect_run(0, "ulimit -v 307200; POCL_CACHE_DIR=$PWD/space $BIN/gantry devices");
    expect_in_output(
        "the address space (ulimit -v) of this process is limited to 300 MiB, of which");
    expect_run(0, "ulimit -v 153600; $BIN/gantry devices");
    expect_in_output(
        "drivers cannot be loaded by libOpenCL.so.1: the address space (ulimit -v) of this process is limited to 150 MiB");
    expect_run(
        /* PoCL aborts with less than 128 MiB */
        0, "ulimit -d 102400; POCL_CACHE_DIR=$PWD/space $BIN/gantry devices");
    expect_in_output("the memory (ulimit -d) of this process is limited to 100 MiB");
}

static void tensor_beyond_the_limit_is_refused_with_its_cause(void **state) {
    (void)state;
    if (IS_SANITIZED) {
        (void)printf("skipped: sanitizers take more address space than any limit leaves\n");
        skip();
    }
    expect_run(0, "ulimit -v 1400000; POCL_CACHE_DIR=$PWD/big $SELF op big");
    expect_in_output("big on no device: 0, ResourceExhausted OOM when allocating tensor");
    expect_in_output("bytes that machine, cgroup and ulimit leave");
}

/* With too little memory oneDNN ends the process and OpenBLAS hangs. OpenBLAS also interrupts a
 * process that cannot make threads. */
static void libraries_of_the_cpu_are_left_alone_where_they_would_not_survive(void **state) {
    (void)state;
    if (IS_SANITIZED) {
        (void)printf("skipped: sanitizers take more address space than any limit leaves\n");
        skip();
    }
    static const char *const libraries[] = {"onednn", "openblas"};
    for (size_t i = 0; i < 2; ++i) {
        int code = run("ulimit -v 80000; GANTRY_BACKENDS=cpu GANTRY_CPU_MATMUL=%s $SELF op product",
                       libraries[i]);
        if (code != 0) fail_msg("exit %d with %s: %s", code, libraries[i], output);
        expect_in_output("product on /device:CPU:0: 700, OK");
    }
    if (geteuid() != 0 || !has_somebody()) {
        (void)printf("skipped: a number of processes binds only a user that has no others\n");
        return;
    }
    expect_run(0, SOMEBODY
               "GANTRY_BACKENDS=cpu GANTRY_CPU_MATMUL=openblas prlimit --nproc=1 $SELF op product");
    expect_in_output("product on /device:CPU:0: 700, OK");
}

static void compiler_without_memory_is_exhausted_and_falls_back(void **state) {
    (void)state;
    if (IS_SANITIZED) {
        (void)printf("skipped: sanitizers take more address space than any limit leaves\n");
        skip();
    }
    /* The limit is set after the device is open. */
    const char *line =
        "POCL_CACHE_DIR=$PWD/compiler %s $SELF op add 'sh:prlimit --pid $PPID --as=100000000' exp";
    if (!is_here("no prlimit", "command -v prlimit")) skip();
    int code = run(line, "");
    if (code != 0) fail_msg("exit %d: %s", code, output);
    expect_in_output(
        "exp on no device: 0, ResourceExhausted program portable/elementwise/Exp cannot be built");
    expect_in_output(
        "PoCL's compiler has no memory: the address space (ulimit -v) of this process is limited to 95 MiB");
    code = run(line, "GANTRY_OOM_FALLBACK=cpu");
    if (code != 0) fail_msg("exit %d: %s", code, output);
    expect_in_output("exp on /device:CPU:0: 2.7");
}

/* The first program that is not in PoCL's folder takes 130 MiB, and the device is open by then. */
static void first_program_without_memory_ends_no_process(void **state) {
    (void)state;
    if (IS_SANITIZED) {
        (void)printf("skipped: sanitizers take more address space than any limit leaves\n");
        skip();
    }
    static const int mib[] = {0, 20, 70, 100, 140};
    for (size_t i = 0; i < sizeof mib / sizeof mib[0]; ++i) {
        int code = run("rm -rf new; POCL_CACHE_DIR=$PWD/new $SELF op cpu limit:%d exp", mib[i]);
        if (code != 0) fail_msg("exit %d with %d MiB: %s", code, mib[i], output);
        expect_in_output("exp on no device: 0, ResourceExhausted");
        expect_in_output(mib[i] == 0 ? "16 MiB are needed" : "144 MiB are needed");
    }
    int code = run("GANTRY_OOM_FALLBACK=cpu POCL_CACHE_DIR=$PWD/new $SELF op cpu limit:70 exp");
    if (code != 0) fail_msg("exit %d: %s", code, output);
    expect_in_output("exp on /device:CPU:0: 2.7");
    code = run("POCL_CACHE_DIR=$PWD/new $SELF op cpu limit:300 exp sum");
    if (code != 0) fail_msg("exit %d: %s", code, output);
    expect_in_output("exp on /device:GPU:0: 2.7");
    expect_in_output("sum on /device:GPU:0: 10");
}

/* PoCL compiles a kernel again for groups of another size, when the launch begins. */
static void launch_that_compiles_without_memory_ends_no_process(void **state) {
    (void)state;
    if (IS_SANITIZED) {
        (void)printf("skipped: sanitizers take more address space than any limit leaves\n");
        skip();
    }
    const char *line = "rm -rf new; %s POCL_CACHE_DIR=$PWD/new $SELF op groups add limit:%s wide";
    int code = run(line, "", "0");
    if (code != 0) fail_msg("exit %d: %s", code, output);
    expect_in_output("add on /device:GPU:0: 2, OK");
    expect_in_output(
        "wide on no device: 0, ResourceExhausted launch of \"dense\" of \"portable/elementwise/Add\": PoCL's compiler has no memory: the address space (ulimit -v)");
    code = run(line, "GANTRY_OOM_FALLBACK=cpu", "30");
    if (code != 0) fail_msg("exit %d: %s", code, output);
    expect_in_output("wide on /device:CPU:0: 2, OK");
    code = run(line, "", "300");
    if (code != 0) fail_msg("exit %d: %s", code, output);
    expect_in_output("wide on /device:GPU:0: 2, OK");
}

static void threads_that_cannot_be_made_refuse_the_device(void **state) {
    (void)state;
    if (geteuid() != 0 || !has_somebody()) {
        (void)printf("skipped: a number of processes binds only a user that has no others\n");
        skip();
    }
    expect_run(0, "mkdir -m 700 few; chown 65534:65534 few; " SOMEBODY
                  "POCL_CACHE_DIR=$PWD/few prlimit --nproc=1 $BIN/gantry devices");
    expect_in_output("PoCL needs a thread for each core and a process to link");
    expect_in_output("Resource temporarily unavailable; raise the number of processes (ulimit -u");
    expect_run(0, SOMEBODY "POCL_CACHE_DIR=$PWD/few prlimit --nproc=1 $SELF op add");
    expect_in_output("add on /device:CPU:0: 2, OK");
}

/* ---- several drivers ---- */

/* ocl-icd asks every driver for its devices in its first call, so PoCL starts there. */
#define SORTED \
    "asks each of 2 OpenCL platforms for its devices to sort them, and PoCL, one of them, "
#define CURES \
    "; to use only the other platforms, set OCL_ICD_PLATFORM_SORT=none, or leave PoCL out of OCL_ICD_VENDORS"

/* Makes the folders of .icd files "both", PoCL and another driver, and "twice", PoCL two times. */
static bool has_vendors(void) {
    return is_here("no other driver, it needs CL/cl_layer.h",
                   "test -e " MODULES "/opencl/other_driver.so") &&
           is_here(
               "no folder of drivers names PoCL",
               "mkdir -p both twice && cat ${OCL_ICD_VENDORS:-/etc/OpenCL/vendors}/pocl*.icd >both/pocl.icd && "
               "cp both/pocl.icd twice/a.icd && cp both/pocl.icd twice/b.icd && "
               "echo " MODULES "/opencl/other_driver.so >both/other.icd");
}

/* limit: what the shell runs before the program; prefix: what the program is run with. */
static void expect_all_refused(const char *limit, const char *prefix, const char *reason) {
    static const char *const vendors[] = {"both", "twice"};
    char line[1024];
    for (size_t i = 0; i < 2; ++i) {
        (void)snprintf(line, sizeof line, "%s %s OCL_ICD_VENDORS=$PWD/%s $BIN/gantry devices",
                       limit, prefix, vendors[i]);
        expect_run(0, line);
        expect_in_output(SORTED "would end the process: ");
        expect_in_output(reason);
        expect_in_output(CURES);
        (void)snprintf(line, sizeof line, "%s %s OCL_ICD_VENDORS=$PWD/%s $SELF op add", limit,
                       prefix, vendors[i]);
        expect_run(0, line);
        expect_in_output("add on /device:CPU:0: 2, OK");
    }
}

static void folder_without_a_name_refuses_every_driver_that_is_sorted(void **state) {
    (void)state;
    if (!has_vendors()) skip();
    expect_all_refused("", "env POCL_CACHE_DIR=", "POCL_CACHE_DIR is empty");
}

static void memory_that_is_limited_refuses_every_driver_that_is_sorted(void **state) {
    (void)state;
    if (IS_SANITIZED) {
        (void)printf("skipped: sanitizers take more address space than any limit leaves\n");
        skip();
    }
    if (!has_vendors()) skip();
    expect_all_refused("ulimit -d 102400;", "env POCL_CACHE_DIR=$PWD/space",
                       "the memory (ulimit -d) of this process is limited to 100 MiB");
}

static void threads_that_cannot_be_made_refuse_every_driver_that_is_sorted(void **state) {
    (void)state;
    if (geteuid() != 0 || !has_somebody()) {
        (void)printf("skipped: a number of processes binds only a user that has no others\n");
        skip();
    }
    if (!has_vendors()) skip();
    expect_all_refused("mkdir -p -m 700 few; chown 65534:65534 few;",
                       SOMEBODY "POCL_CACHE_DIR=$PWD/few prlimit --nproc=1 env",
                       "PoCL needs a thread for each core and a process to link");
}

/* Expects that PoCL alone is refused, and that the other driver is asked. */
static void expect_only_pocl_refused(const char *environment, const char *reason) {
    char line[1024];
    (void)snprintf(
        line, sizeof line,
        "env -u POCL_CACHE_DIR -u XDG_CACHE_HOME OCL_ICD_VENDORS=$PWD/both %s $BIN/gantry devices",
        environment);
    expect_run(0, line);
    expect_in_output("OpenCL platform \"Portable Computing Language\": ");
    expect_in_output(reason);
    expect_in_output("OpenCL platform \"Other driver\": it has no devices");
}

static void drivers_that_are_not_sorted_are_refused_alone(void **state) {
    (void)state;
    if (!has_vendors()) skip();
    expect_only_pocl_refused("OCL_ICD_PLATFORM_SORT=none POCL_CACHE_DIR=",
                             "POCL_CACHE_DIR is empty");
}

/* PoCL returns an error, which the loader ignores. */
static void folder_that_cannot_be_made_refuses_pocl_alone(void **state) {
    (void)state;
    if (!has_vendors()) skip();
    expect_only_pocl_refused("HOME=/proc/none",
                             "in /proc/none/.cache/pocl/kcache (by HOME), and /proc/none cannot");
}

/* A copy of the loader in which the variable has another name stands for a loader that never
 * sorts. */
static void loader_that_never_sorts_refuses_pocl_alone(void **state) {
    (void)state;
    Dl_info info = {0};
    void *loader = dlopen("libOpenCL.so.1", RTLD_LAZY | RTLD_LOCAL);
    const void *function = loader ? dlsym(loader, "clGetPlatformIDs") : NULL;
    if (!function || !dladdr(function, &info)) fail_msg("no OpenCL loader");
    (void)setenv("LOADER", info.dli_fname, 1);
    if (!has_vendors() ||
        !is_here("the loader is not ocl-icd", "grep -q OCL_ICD_PLATFORM_SORT $LOADER"))
        skip();
    expect_run(0, "sed s/OCL_ICD_PLATFORM_SORT/OCL_ICD_PLATFORM_NONE/ $LOADER >libOpenCL_other.so");
    expect_only_pocl_refused(
        "OCL_ICD_PLATFORM_NONE=none GANTRY_OPENCL_LIBRARY=$PWD/libOpenCL_other.so POCL_CACHE_DIR=",
        "POCL_CACHE_DIR is empty");
}

static void pocl_serves_beside_another_driver(void **state) {
    (void)state;
    if (!has_vendors()) skip();
    expect_run(0, "OCL_ICD_VENDORS=$PWD/both POCL_CACHE_DIR=$PWD/first $SELF op add");
    expect_in_output("add on /device:GPU:0: 2, OK");
}

/* ---- every limit ---- */

/* Expects each op's result, or the reason why there is none. */
static void expect_survived(int code, const char *limit, int amount) {
    static const char *const results[] = {": 2.71828, OK", ": 10, OK", ": 700, OK",
                                          "ResourceExhausted", "FailedPrecondition"};
    size_t found = 0;
    for (size_t i = 0; i < sizeof results / sizeof results[0]; ++i) {
        for (const char *at = output; (at = strstr(at, results[i])); ++at) ++found;
    }
    if (code != 0 || found < 3) fail_msg("exit %d with %s %d: %s", code, limit, amount, output);
}

static void address_space_of_any_size_ends_no_process(void **state) {
    (void)state;
    for (int mib = 200; mib <= 2000; mib += mib < 560 ? 60 : mib < 720 ? 10 : 160)
        expect_survived(run("rm -rf any; ulimit -v %d; POCL_CACHE_DIR=$PWD/any "
                            "$SELF op exp sum product",
                            mib * 1024),
                        "ulimit -v", mib);
}

static void space_that_is_left_of_any_size_ends_no_process(void **state) {
    (void)state;
    for (int mib = 0; mib <= 240; mib += 10) {
        expect_survived(
            run("rm -rf any; POCL_CACHE_DIR=$PWD/any $SELF op cpu limit:%d exp sum product", mib),
            "MiB left", mib);
        expect_survived(run("rm -rf any; POCL_CACHE_DIR=$PWD/any "
                            "$SELF op groups add limit:%d wide exp sum product",
                            mib),
                        "MiB left behind a program", mib);
    }
}

static void disk_of_any_size_ends_no_process(void **state) {
    (void)state;
    if (!has_mounts()) skip();
    for (int kib = 4; kib <= 8192; kib += kib < 1024 ? 100 : 512)
        expect_survived(
            run("unshare -m sh -c 'mount -t tmpfs -o mode=700,size=%dk tmpfs mounted && "
                "POCL_CACHE_DIR=$PWD/mounted \"$SELF\" op exp sum product'",
                kib),
            "KiB of disk", kib);
}

/* ---- words ---- */

static void devices_that_nobody_named_are_explained(void **state) {
    (void)state;
    expect_run(0, "POCL_DEVICES=nonsense POCL_CACHE_DIR=$PWD/none $BIN/gantry devices");
    expect_in_output("it has no devices; POCL_DEVICES, which names them, is \"nonsense\"");
}

int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "op") == 0) return run_ops(argc - 2, argv + 2);
    if (open_folder() != 0 || chmod(folder, 0755) != 0) return 1;
    const int code = begin_pocl();
    if (code != 0) return code;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(folder_that_cannot_be_made_is_named_with_its_cure),
        cmocka_unit_test(folder_of_others_is_named),
        cmocka_unit_test(folder_that_was_removed_is_made_again),
        cmocka_unit_test(folder_that_is_lost_fails_the_op_with_the_cause),
        cmocka_unit_test(folder_that_is_full_fails_the_op_with_the_cause),
        cmocka_unit_test(files_that_are_limited_refuse_the_device),
        cmocka_unit_test(folder_that_nothing_runs_from_is_named),
        cmocka_unit_test(folder_that_others_may_write_refuses_the_device),
        cmocka_unit_test(address_space_that_is_limited_ends_no_process),
        cmocka_unit_test(tensor_beyond_the_limit_is_refused_with_its_cause),
        cmocka_unit_test(libraries_of_the_cpu_are_left_alone_where_they_would_not_survive),
        cmocka_unit_test(compiler_without_memory_is_exhausted_and_falls_back),
        cmocka_unit_test(first_program_without_memory_ends_no_process),
        cmocka_unit_test(launch_that_compiles_without_memory_ends_no_process),
        cmocka_unit_test(threads_that_cannot_be_made_refuse_the_device),
        cmocka_unit_test(folder_without_a_name_refuses_every_driver_that_is_sorted),
        cmocka_unit_test(memory_that_is_limited_refuses_every_driver_that_is_sorted),
        cmocka_unit_test(threads_that_cannot_be_made_refuse_every_driver_that_is_sorted),
        cmocka_unit_test(drivers_that_are_not_sorted_are_refused_alone),
        cmocka_unit_test(folder_that_cannot_be_made_refuses_pocl_alone),
        cmocka_unit_test(loader_that_never_sorts_refuses_pocl_alone),
        cmocka_unit_test(pocl_serves_beside_another_driver),
        cmocka_unit_test(devices_that_nobody_named_are_explained),
    };
    const struct CMUnitTest sweep[] = {
        cmocka_unit_test(address_space_of_any_size_ends_no_process),
        cmocka_unit_test(space_that_is_left_of_any_size_ends_no_process),
        cmocka_unit_test(disk_of_any_size_ends_no_process),
    };
    int failed = argc > 1 && strcmp(argv[1], "sweep") == 0
                     ? cmocka_run_group_tests(sweep, NULL, NULL)
                     : cmocka_run_group_tests(tests, NULL, NULL);
    (void)run("cd / && rm -rf %s", folder);
    return failed;
}
