/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: `gantry cache` lists entries with device and driver, names damage of every kind, and its
 * clear removes nothing that is not the cache's own.
 * Promise: gantry cache verify and gantry doctor name a kernel cache and a tuning file that others
 * may write, in the words of the library's own warning. */
#define _XOPEN_SOURCE 700

#include "cli_case.h"
#include "test.h"

#include <cjson/cJSON.h>

#define KERNELS "GANTRY_KERNEL_CACHE=\"$PWD/k\" "
#define CACHE KERNELS "$BIN/gantry cache "
#define HEX "0123456789abcdef0123456789abcdef"

static bool has_opencl;

static bool exists(const char *name) { return run("test -e %s || test -L %s", name, name) == 0; }

/* A cache with the entries of one opened device. */
static void fill_cache(void) {
    expect_run(0, "rm -rf k; mkdir -m 700 k; " KERNELS "$BIN/gantry probe opencl:0");
    if (run("ls k/*.bin") != 0) fail_msg("no entries:\n%s", output);
}

/* ---- what others may write ---- */

/* The library, doctor and verify use the same words. */
TEST(cache_that_others_may_write_is_told_alike) {
    static const char words[] = "others may write '/tmp/", cure[] = "(chmod go-w '/tmp/";
    expect_run(
        1,
        "rm -rf o; mkdir o; chmod 1777 o; GANTRY_KERNEL_CACHE=$PWD/o $BIN/gantry cache verify --kernels");
    expect_in_output("the kernel cache is not used: ");
    expect_in_output(words);
    expect_in_output(cure);
    (void)run("GANTRY_BACKENDS=cpu GANTRY_KERNEL_CACHE=$PWD/o $BIN/gantry doctor");
    expect_in_output("failed        kernel cache: not used: ");
    expect_in_output(words);
    expect_in_output(cure);
    expect_run(0, "GANTRY_KERNEL_CACHE=$PWD/o $BIN/gantry cache list --kernels");
    expect_run(
        1, "echo x >t; chmod 666 t; GANTRY_TUNING_FILE=$PWD/t $BIN/gantry cache verify --tuning");
    expect_in_output(words);
    (void)run("GANTRY_BACKENDS=cpu GANTRY_TUNING_FILE=$PWD/t $BIN/gantry doctor");
    expect_in_output("failed        tuning records: not used: ");
    expect_in_output(words);
    if (!has_opencl) SKIP_BECAUSE("no OpenCL device here");
    fill_cache();
    expect_run(1, "chmod 666 $(ls k/*.bin | head -n 1); " CACHE "verify --kernels");
    expect_in_output(" is not used: others may write '/tmp/");
}

/* ---- list ---- */

TEST(list_tells_device_driver_and_program) {
    if (!has_opencl) SKIP_BECAUSE("no OpenCL device here");
    fill_cache();
    expect_run(0, CACHE "list --kernels");
    expect_in_output("core/numerics_probe, opencl ");
    expect_in_output("good");
    expect_run(0, CACHE "--kernels --json 2>/dev/null");
    cJSON *all = cJSON_Parse(output);
    assert_non_null(all);
    const cJSON *cache = cJSON_GetObjectItem(all, "kernel_cache"), *file;
    const cJSON *files = cJSON_GetObjectItem(cache, "files");
    double sum = 0;
    cJSON_ArrayForEach(file, files) {
        assert_string_equal(cJSON_GetObjectItem(file, "state")->valuestring, "good");
        assert_string_equal(cJSON_GetObjectItem(file, "backend")->valuestring, "opencl");
        assert_true(*cJSON_GetObjectItem(file, "hardware")->valuestring != '\0');
        assert_true(*cJSON_GetObjectItem(file, "driver")->valuestring != '\0');
        assert_true(cJSON_GetObjectItem(file, "age_seconds")->valuedouble >= 0);
        sum += cJSON_GetObjectItem(file, "size_bytes")->valuedouble;
    }
    assert_true(cJSON_GetArraySize(files) >= 2); /* the program and the note */
    assert_true(sum == cJSON_GetObjectItem(cache, "total_bytes")->valuedouble && sum > 0);
    cJSON_Delete(all);
}

TEST(missing_folder_is_an_empty_cache) {
    expect_run(0, "GANTRY_KERNEL_CACHE=$PWD/none $BIN/gantry cache list --kernels");
    expect_in_output("0 files, 0 bytes");
    assert_false(exists("none"));
    expect_run(0, "GANTRY_KERNEL_CACHE= $BIN/gantry cache clear");
    expect_in_output("Kernel cache: none");
    expect_run(1, "touch file; GANTRY_KERNEL_CACHE=$PWD/file $BIN/gantry cache list --kernels");
    expect_in_output("/file cannot be read: Not a directory");
}

/* ---- verify ---- */

TEST(verify_names_each_kind_of_damage) {
    if (!has_opencl) SKIP_BECAUSE("no OpenCL device here");
    static const struct {
        const char *damage, *why;
    } rows[] = {
        {"printf X | dd of=$F bs=1 seek=$(($(wc -c <$F) - 1)) conv=notrunc 2>/dev/null",
         "is damaged: its checksum is wrong"},
        {"printf X | dd of=$F bs=1 seek=60 conv=notrunc 2>/dev/null", /* in the label */
         "is damaged: its checksum is wrong"},
        {": >$F", "is damaged: it has 0 bytes, and its head has 48"},
        {"printf more >>$F", "is damaged: its length is not the one in its head"},
        {"printf NOTHING | dd of=$F bs=1 conv=notrunc 2>/dev/null",
         "is damaged: it does not begin with \"GANTRYK2\""},
        {"mv $F k/" HEX ".bin", "is damaged: its name is not its key"},
    };
    fill_cache();
    expect_run(0, CACHE "verify --kernels");
    expect_in_output("checked, 0 damaged");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
        expect_run(0, "rm -rf whole; cp -r k whole");
        if (run("F=$(ls k/*.bin | head -1); %s", rows[i].damage) != 0) fail_msg("%s", output);
        expect_run(1, CACHE "verify --kernels");
        expect_in_output(rows[i].why);
        expect_in_output("checked, 1 damaged");
        expect_run(0, "rm -rf k; mv whole k");
    }
    /* the library agrees: it neither warns of an entry nor builds one again */
    expect_run(0, KERNELS "$BIN/gantry probe opencl:0");
    assert_null(strstr(output, "damaged"));
}

/* ---- clear ---- */

TEST(clear_removes_only_files_of_the_cache) {
    expect_run(
        0, "rm -rf k; mkdir -p k/1" HEX
           ".bin; cd k; echo x >notes.txt; echo x >../outside; "
           "N=" HEX
           "; echo GANTRYK1 old >$N.bin; echo x >g$N.bin; echo x >$N.bin.txt; "
           "ln -s ../outside 0123456789abcdef0123456789abcde0.bin; "
           "mkdir 0123456789abcdef0123456789abcde1.bin; : >0123456789abcdef0123456789abcde2.bin; "
           "echo x >$N.bin.0123abcd.tmp; echo x >$N.bin.0123abce.tmp; "
           "touch -d '2 days ago' $N.bin.0123abce.tmp");
    expect_run(0, CACHE "clear --dry-run");
    expect_in_output("would remove 3 of 4 files");
    assert_true(exists("k/" HEX ".bin"));
    expect_run(0, CACHE "list --kernels");
    expect_in_output("old ");
    expect_in_output("unfinished");
    expect_in_output("6 other entries of the folder, not the cache's");
    expect_run(0, CACHE "clear");
    expect_in_output("removed 3 of 4 files");
    assert_false(exists("k/" HEX ".bin"));
    assert_false(exists("k/0123456789abcdef0123456789abcde2.bin"));
    assert_false(exists("k/" HEX ".bin.0123abce.tmp"));
    static const char *const kept[] = {"k/notes.txt",
                                       "outside",
                                       "k/g" HEX ".bin",
                                       "k/" HEX ".bin.txt",
                                       "k/1" HEX ".bin",
                                       "k/0123456789abcdef0123456789abcde0.bin",
                                       "k/0123456789abcdef0123456789abcde1.bin",
                                       "k/" HEX ".bin.0123abcd.tmp"};
    for (size_t i = 0; i < sizeof kept / sizeof kept[0]; ++i) {
        if (!exists(kept[i])) fail_msg("%s was removed", kept[i]);
    }
}

TEST(clear_goes_by_age_and_device) {
    if (!has_opencl) SKIP_BECAUSE("no OpenCL device here");
    fill_cache();
    expect_run(0, CACHE "clear --device 'no such card'");
    expect_in_output("removed 0 of 0 files");
    expect_run(0, CACHE "clear --older 1d");
    expect_in_output("removed 0 of 0 files");
    expect_run(0, "touch -d '3 days ago' $(ls k/*.bin | head -1)");
    expect_run(0, CACHE "clear --older 1d");
    expect_in_output("removed 1 of 1 file,");
    expect_run(0, CACHE "clear --device OPENCL"); /* any case */
    assert_null(strstr(output, "removed 0"));
    expect_run(0, "test -z \"$(ls k)\"");
    fill_cache();
    expect_run(0, CACHE "clear --device cpu:0"); /* another device */
    expect_in_output("removed 0 of 0 files");
    expect_run(0, CACHE "clear --device opencl:0");
    expect_run(0, "test -z \"$(ls k)\"");
    expect_run(1, CACHE "clear --device opencl:77");
    expect_run(2, CACHE "clear --older soon");
    expect_run(2, CACHE "remove");
    expect_in_output("list, verify and clear are accepted");
}

TEST(files_of_another_user_stay) {
    expect_run(0, "rm -rf k; mkdir k; echo x >k/" HEX ".bin");
    if (geteuid() == 0) {
        expect_run(0, "chown 12345 k/" HEX ".bin");
        expect_run(1, CACHE "clear");
        expect_in_output(HEX ".bin stays: it belongs to user 12345");
        assert_true(exists("k/" HEX ".bin"));
        expect_run(0, "rm -rf k");
        return;
    }
    expect_run(0, "chmod 500 k");
    expect_run(1, CACHE "clear");
    expect_in_output("/k cannot be cleared: Permission denied");
    assert_true(exists("k/" HEX ".bin"));
    expect_run(0, "chmod 700 k; rm -rf k");
}

/* ---- tuning records ---- */

#define TUNING "GANTRY_TUNING_FILE=$PWD/records $BIN/gantry cache "

TEST(tuning_records_are_listed_verified_and_cleared) {
    write_file("records",
               "gantry tuning 1\n# a comment\n\n"
               "2026-11-22T00:53:26Z\tA card; P 1; 2 units; 1 lanes\tcrossover\tlaunch_us=1\n"
               "2026-11-22T00:53:26Z\tB card; P 1; 2 units; 1 lanes\tcrossover\tlaunch_us=2\n");
    expect_run(0, TUNING "list --tuning");
    expect_in_output("2026-11-22T00:53:26Z  crossover                         A card; P 1;");
    expect_run(0, TUNING "list --tuning --device 'b CARD'");
    assert_null(strstr(output, "A card"));
    expect_in_output("B card");
    expect_run(0, TUNING "verify --tuning");
    expect_in_output("2 records, 0 damaged lines");
    expect_run(0, "echo 'what is this' >>records; cp records before");
    expect_run(1, TUNING "verify --tuning");
    expect_in_output("records, line 6 is damaged");
    expect_in_output("2 records, 1 damaged line");
    expect_run(0, "mkdir -p k; GANTRY_TUNING_FILE=$PWD/records " CACHE "clear");
    expect_run(0, "cmp records before");
    expect_run(2, TUNING "clear --tuning --older 1d");
    expect_run(0, TUNING "clear --tuning --dry-run");
    expect_run(0, "cmp records before");
    expect_run(0, TUNING "clear --tuning");
    expect_in_output("removed 2 records");
    expect_run(0, "echo mine >records");
    expect_run(1, TUNING "verify --tuning");
    expect_in_output("it is no tuning file of Gantry");
    expect_run(1, TUNING "clear --tuning");
    expect_run(0, "test \"$(cat records)\" = mine");
    expect_run(0, "rm records; " TUNING "list --tuning");
    expect_in_output("no records");
}

int main(void) {
    (void)setenv("POCL_DEVICES", "pthread", 1);
    (void)setenv("GANTRY_OPENCL_CPU", "gpu", 1);
    if (open_folder() != 0) return 1;
    if (!find_opencl(1, &has_opencl)) return 1;
    int result = test_main();
    if (result == 0) (void)run("cd / && rm -r %s", folder);
    return result;
}
