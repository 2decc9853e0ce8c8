/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: `gantry run` chooses an idle card, serves two users at once, works with whatever cards
 * there are or with none, and passes on exit codes and signals.
 * Promise: `gantry run --json` reports devices, figures, reasons, variables and wait before the
 * program starts.
 * Promise: When gantry run cannot write the file of --json-file, because of ulimit -f among other
 * causes, the old file stays and no program is started.
 *
 * test_run_queue.c has the queue. */
#define _XOPEN_SOURCE 700

#include "run_case.h"
#include "test.h"

#include <signal.h>

#include <cjson/cJSON.h>

/* ---- the four questions ---- */

/* A script that knows of no card gets an idle one, and sees no other. */
TEST(a_script_that_names_no_card_gets_an_idle_one) {
    NEED_OPENCL;
    write_file("script",
               "echo \"got $GANTRY_RUN_DEVICES\"; "
               "[ \"$GANTRY_RUN_DEVICES\" = \"$GANTRY_VISIBLE_DEVICES\" ] || exit 9\n"
               "\"$BIN\"/gantry devices --json\n");
    expect_run(0, "export BIN; " RUN "sh ./script 2>/dev/null");
    expect_in_output("got GPU-");
    cJSON *all = cJSON_Parse(strchr(output, '{'));
    assert_non_null(all);
    const cJSON *device;
    int visible = 0, hidden = 0;
    cJSON_ArrayForEach(device, cJSON_GetObjectItem(all, "devices")) {
        if (strcmp(cJSON_GetObjectItem(device, "type")->valuestring, "GPU") != 0) continue;
        if (cJSON_IsTrue(cJSON_GetObjectItem(device, "visible"))) {
            ++visible;
            assert_non_null(strstr(output, cJSON_GetObjectItem(device, "uuid")->valuestring));
        } else {
            ++hidden;
        }
    }
    cJSON_Delete(all);
    assert_int_equal(visible, 1);
    assert_int_equal(hidden, 1);
    expect_run(0, "$BIN/gantry run true");
    expect_in_output("gantry run: GPU:0, ");
}

/* Two colleagues start at the same time; a third is told who has the cards. */
TEST(colleagues_get_different_cards) {
    NEED_OPENCL;
    write_file("hold",
               "echo $GANTRY_RUN_DEVICES >got.$1; while [ ! -e stop ]; do sleep 0.02; done\n");
    expect_run(0,
               RUN "sh ./hold a & " RUN
                   "sh ./hold b & "
                   "while [ ! -s got.a ] || [ ! -s got.b ]; do sleep 0.02; done; "
                   "cmp -s got.a got.b && exit 5; $BIN/gantry run true && exit 6; "
                   "$BIN/gantry claims; $BIN/gantry claims --json >claims.json; touch stop; wait");
    expect_in_output("gantry run: 1 GPU requested, too few of 2 are free; --wait waits for them:");
    expect_in_output("    GPU:0 (");
    expect_in_output("): claimed by process ");
    expect_in_output(": sh ./hold a");
    expect_in_output("GPU:1  ");
    expect_in_output("held by processes ");
    expect_run(0, "rm stop got.a got.b; $BIN/gantry claims");
    expect_in_output("no device is claimed");
    expect_run(0, "cat claims.json");
    cJSON *all = cJSON_Parse(output);
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(all, "claims")), 2);
    const cJSON *claim;
    cJSON_ArrayForEach(claim, cJSON_GetObjectItem(all, "claims")) {
        assert_int_equal(strncmp(cJSON_GetObjectItem(claim, "name")->valuestring, "GPU:", 4), 0);
        assert_non_null(strstr(cJSON_GetObjectItem(claim, "command")->valuestring, "sh ./hold "));
        assert_true(cJSON_GetArraySize(cJSON_GetObjectItem(claim, "holders")) >= 2);
    }
    cJSON_Delete(all);
}

static const cJSON *claim_of(const cJSON *all, size_t index) {
    const cJSON *device, *devices = cJSON_GetObjectItem(all, "devices");
    cJSON_ArrayForEach(device, devices) {
        if (strcmp(cJSON_GetObjectItem(device, "type")->valuestring, "GPU") != 0) continue;
        if (index-- == 0) return cJSON_GetObjectItem(device, "claim");
    }
    fail_msg("too few GPUs in\n%s", output);
    return NULL;
}

static void expect_claims(const char *list) {
    expect_run(0, list);
    cJSON *all = cJSON_Parse(output);
    const cJSON *held = claim_of(all, 0), *other = claim_of(all, 1);
    assert_string_equal(cJSON_GetObjectItem(held, "state")->valuestring, "claimed");
    assert_string_equal(cJSON_GetObjectItem(held, "command")->valuestring, "sh ./look");
    assert_int_equal(cJSON_GetObjectItem(held, "user")->valueint, (int)getuid());
    assert_true(cJSON_GetObjectItem(held, "process")->valueint > 1);
    assert_int_equal(strncmp(cJSON_GetObjectItem(held, "since")->valuestring, "20", 2), 0);
    assert_string_equal(cJSON_GetObjectItem(other, "state")->valuestring, "free");
    assert_null(cJSON_GetObjectItem(other, "process"));
    cJSON_Delete(all);
}

TEST(top_and_devices_say_who_holds_a_card) {
    NEED_OPENCL;
    write_file("look",
               "unset GANTRY_VISIBLE_DEVICES; PATH=$BIN:$PATH; gantry top --once; gantry devices\n"
               "gantry top --json >top.json; gantry devices --json >devices.json\n"
               "gantry devices --verbose | grep '  not claimed$'\n");
    expect_run(0, "export BIN; " RUN "sh ./look 2>/dev/null");
    expect_in_output("     PID DEVICE      FOR USER       CLAIMED BY\n");
    expect_in_output("\nGPU:1    free     ");
    expect_in_output("           claimed by ");
    expect_in_output("s: sh ./look\n");
    expect_in_output("  not claimed\n");
    expect_claims("cat top.json");
    expect_claims("cat devices.json");
}

/* The same line works on a machine with other cards, and says what does not fit there. */
TEST(the_same_line_next_month_fits_or_says_why) {
    NEED_OPENCL;
    expect_run(
        0, RUN "--gpus 2 -- sh -c 'echo $GANTRY_VISIBLE_DEVICES' | tr ',' '\\n' | sort -u | wc -l");
    expect_in_output("2");
    expect_run(1, "POCL_DEVICES=pthread $BIN/gantry run --gpus 2 --wait 1h -- true");
    expect_in_output("gantry run: 2 GPUs requested, 1 of 1 fit:");
    expect_run(1, "$BIN/gantry run --min-free 100T true");
    expect_in_output("gantry run: 1 GPU requested, 0 of 2 fit:");
    expect_in_output("of memory, not 100.0 TiB");
    expect_run(1, "$BIN/gantry run --backend cuda true");
    expect_in_output("backend opencl serves it, not cuda");
    expect_run(0, "GANTRY_VISIBLE_DEVICES=1 $BIN/gantry run true");
    expect_in_output("gantry run: GPU:1, ");
}

/* A reader without a GPU. */
TEST(without_a_card_the_program_is_told) {
    expect_run(1, "GANTRY_BACKENDS=cpu $BIN/gantry run echo started");
    expect_in_output("gantry run: no GPU is here");
    expect_in_output("--or-cpu runs the program on the CPU");
    assert_null(strstr(output, "started"));
    expect_run(0,
               "GANTRY_BACKENDS=cpu $BIN/gantry run --or-cpu -- sh -c "
               "'echo $GANTRY_RUN_DEVICES,$GANTRY_VISIBLE_DEVICES'");
    expect_in_output("gantry run: \"sh\" runs without a GPU, on the CPU (GANTRY_RUN_DEVICES=cpu)");
    expect_in_output("cpu,-1");
}

/* The object is complete before the program starts, and standard output is the program's. */
TEST(the_choice_is_told_as_json) {
    NEED_OPENCL;
    expect_run(0, "$BIN/gantry run --json --policy free -- sh -c 'echo out' 2>choice.json");
    assert_string_equal(output, "out\n");
    expect_run(0, "$BIN/gantry run --json-file choice.json --quiet -- cat choice.json");
    cJSON *all = cJSON_Parse(output);
    assert_non_null(all);
    assert_string_equal(cJSON_GetObjectItem(all, "outcome")->valuestring, "starts");
    assert_true(cJSON_GetObjectItem(all, "waited_seconds")->valuedouble >= 0.0);
    const cJSON *card = cJSON_GetArrayItem(cJSON_GetObjectItem(all, "devices"), 0);
    assert_string_equal(cJSON_GetObjectItem(card, "device")->valuestring, "GPU:0");
    assert_true(cJSON_IsNull(cJSON_GetObjectItem(card, "utilization_percent")));
    assert_true(cJSON_IsNumber(cJSON_GetObjectItem(card, "free_bytes")));
    assert_string_equal(cJSON_GetObjectItem(card, "reason")->valuestring,
                        "the policy puts it first");
    const cJSON *variables = cJSON_GetObjectItem(all, "variables");
    assert_string_equal(cJSON_GetObjectItem(variables, "GANTRY_VISIBLE_DEVICES")->valuestring,
                        cJSON_GetObjectItem(card, "uuid")->valuestring);
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(all, "other_devices")), 1);
    cJSON_Delete(all);
    expect_run(1, "$BIN/gantry run --json --min-free 100T true");
    all = cJSON_Parse(output);
    assert_string_equal(cJSON_GetObjectItem(all, "outcome")->valuestring, "too few GPUs fit");
    card = cJSON_GetArrayItem(cJSON_GetObjectItem(all, "other_devices"), 1);
    assert_non_null(strstr(cJSON_GetObjectItem(card, "reason")->valuestring, "not 100.0 TiB"));
    cJSON_Delete(all);
    expect_run(1, "$BIN/gantry run --json-file /dev/full --quiet -- echo started");
    expect_in_output("gantry: cannot write '/dev/full': No space left on device");
    assert_null(strstr(output, "started"));
    expect_run(1,
               "echo old >kept.json; ulimit -f 0; $BIN/gantry run --json-file kept.json --quiet "
               "-- echo started");
    expect_in_output("kept.json': File too large");
    assert_null(strstr(output, "started"));
    expect_run(0, "cat kept.json; ls kept.json*");
    assert_string_equal(output, "old\nkept.json\n");
}

/* A script under gantry run may use gantry run itself: it gets what it holds already. */
TEST(a_run_within_a_run_shares_its_cards) {
    NEED_OPENCL;
    expect_run(0, "export BIN; " RUN
                  "sh -c 'echo $GANTRY_RUN_DEVICES; exec $BIN/gantry run --quiet "
                  "sh -c \"echo \\$GANTRY_RUN_DEVICES\"' | uniq | wc -l");
    expect_in_output("1");
    expect_run(1, "export BIN; " RUN "$BIN/gantry run --gpus 2 true");
    expect_in_output("2 GPUs requested, 1 of 1 fit");
}

/* ---- two NVIDIA cards, by the stand-in for their driver ---- */

#define STAND_IN(library) MODULES "/cuda/standin_" library ".so "
#define ON_CARDS                                                                                              \
    "export GANTRY_BACKENDS=cpu,cuda GANTRY_CUDA_LIBRARY=" STAND_IN("libcuda") "GANTRY_CUDA_NVRTC=" STAND_IN( \
        "libnvrtc") "GANTRY_CUDA_CUBLAS=" STAND_IN("libcublas") "GANTRY_CUDA_NVML=" STAND_IN("libnvml")

TEST(cards_are_chosen_by_what_their_monitor_tells) {
    if (run(ON_CARDS "; $BIN/gantry devices --list | grep -q GPU:0") != 0)
        SKIP_BECAUSE("the stand-in for NVIDIA's driver is not built, or has no PoCL here");
    expect_run(
        0, ON_CARDS
        "'GANTRY_STAND_IN_CUDA=devices=2;memory=2G;other=512M,0;uuid=GPU-aaaa1111-0000-0000-0000-000000000001,"
        "GPU-bbbb2222-0000-0000-0000-000000000002'; $BIN/gantry run -- sh -c 'echo $CUDA_VISIBLE_DEVICES'");
    expect_in_output("gantry run: GPU:1, ");
    expect_in_output("7 % busy, 2.0 GiB free\nGPU-bbbb2222-0000-0000-0000-000000000002");
    expect_run(1, ON_CARDS
               "'GANTRY_STAND_IN_CUDA=devices=2;memory=2G;other=512M,1G'; "
               "$BIN/gantry run true");
    expect_in_output("): in use: 25 % of its memory is taken");
    expect_in_output("): in use: 50 % of its memory is taken");
    expect_run(0, ON_CARDS
               "'GANTRY_STAND_IN_CUDA=devices=2;memory=2G;other=1G,512M'; "
               "$BIN/gantry run --policy free true; $BIN/gantry run --policy spread true");
    expect_in_output("gantry run: GPU:1, ");
    assert_null(strstr(output, "GPU:0"));
    expect_run(1, ON_CARDS
               "'GANTRY_STAND_IN_CUDA=devices=2;memory=2G;other=1G,1G'; "
               "$BIN/gantry run --policy free --min-free 1536M true");
    expect_in_output("): only 1.0 GiB of its memory is free");
    expect_run(0, ON_CARDS
               "'GANTRY_STAND_IN_CUDA=devices=1'; GANTRY_CUDA_NVML=/none "
               "$BIN/gantry run true");
    expect_in_output("; not known: its utilisation");
    expect_run(0, ON_CARDS
               "; $BIN/gantry run --backend none --or-cpu -- sh -c "
               "'echo $CUDA_VISIBLE_DEVICES,$GANTRY_VISIBLE_DEVICES'");
    expect_in_output("-1,-1");
}

/* ---- the child ---- */

TEST(exit_codes_are_those_of_the_program) {
    write_file("plain", "text");
    write_file("no_interpreter", "echo by the shell; exit 3\n");
    expect_run(0, "chmod +x no_interpreter; mkdir -p folder");
    expect_run(7, RUN "--or-cpu sh -c 'exit 7'");
    expect_run(128 + 15, RUN "--or-cpu -- sh -c 'kill -TERM $$'");
    expect_run(3, RUN "--or-cpu ./no_interpreter");
    expect_in_output("by the shell");
    expect_run(127, "$BIN/gantry run no-such-program");
    expect_in_output("gantry: run: \"no-such-program\" is not found in the folders of PATH");
    expect_run(127, "$BIN/gantry run ./no/such/file");
    expect_run(127, "$BIN/gantry run ''");
    write_file("lost", "#!/no/such/interpreter\n");
    expect_run(127, "chmod +x lost; " RUN "--or-cpu ./lost");
    expect_in_output("\"./lost\" cannot be run: the interpreter that it names");
    expect_run(126, "$BIN/gantry run ./folder");
    expect_in_output("\"./folder\" cannot be run: Is a directory");
    expect_run(2, "$BIN/gantry run");
    expect_run(2, "$BIN/gantry run --gpus 0 true");
    expect_run(2, "$BIN/gantry run --policy best true");
    expect_run(2, "$BIN/gantry run --wait soon true");
}

/* A shell starts what runs in the background with INT and QUIT ignored; nohup ignores HUP, perf
 * USR2. */
static int run_with_default_signals(char **command) {
    static const int numbers[] = {SIGINT, SIGQUIT, SIGHUP, SIGUSR2};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; ++i)
        (void)signal(numbers[i], SIG_DFL);
    (void)execvp(command[0], command);
    return 127;
}

TEST(signals_reach_the_program) {
    write_file(
        "trap",
        "for s in INT TERM HUP QUIT USR1 USR2 WINCH; do trap \"echo $s >>signals\" $s; done\n"
        "echo ready >ready; while [ ! -e stop ]; do sleep 0.02; done; exit 4\n");
    expect_run(4,
               "$BIN/tests/test_run " RUN
               "--or-cpu sh ./trap & run=$!; while [ ! -e ready ]; do sleep 0.02; done; "
               "n=0; for s in INT TERM HUP QUIT USR1 USR2 WINCH; do kill -$s $run; n=$((n + 1)); "
               "while [ \"$(cat signals 2>/dev/null | wc -l)\" -lt $n ]; do sleep 0.02; done; "
               "done; touch stop; wait $run; code=$?; rm stop ready; exit $code");
    expect_run(0, "tr '\\n' ' ' <signals; rm signals");
    expect_in_output("INT TERM HUP QUIT USR1 USR2 WINCH ");
}

int main(int count, char **arguments) {
    if (count > 1) return run_with_default_signals(arguments + 1);
    if (open_run_folder() != 0) return 1;
    int result = test_main();
    if (result == 0) (void)run("cd / && rm -r %s", folder);
    return result;
}
