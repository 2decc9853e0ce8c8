/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: The help of every gantry command fits 80 columns, colours go to terminals only, and
 * output that cannot be written is a failure.
 * Promise: Each gantry command explains itself on standard output, and the refusal of a wrong word
 * names what is accepted and the nearest name.
 * Promise: The manual page and the completions of bash, zsh and fish have every command, and the
 * shells read them without a warning.
 * Promise: Every gantry command with `--json` prints one JSON value and nothing else.
 *
 * Needs no device. */
#define _XOPEN_SOURCE 700

#include "cli_case.h"
#include "test.h"

#include <cjson/cJSON.h>

/* The visible commands, from `gantry --help`. */
static char names[32][32];
static size_t name_count;

static int list_commands(void) {
    if (run("$BIN/gantry --help | sed -n '/^Commands$/,/^$/s/^  \\([a-z]*\\) .*/\\1/p'") != 0)
        return 1;
    for (char *name = strtok(output, "\n"); name && name_count < 32; name = strtok(NULL, "\n"))
        (void)snprintf(names[name_count++], sizeof names[0], "%s", name);
    return name_count < 5;
}

/* ---- help ---- */

TEST(every_command_explains_itself) {
    static char help[sizeof output];
    for (size_t i = 0; i < name_count; ++i) {
        char line[256];
        (void)snprintf(line, sizeof line, "$BIN/gantry %s --help 2>errors && ! [ -s errors ]",
                       names[i]);
        expect_run(0, line);
        memcpy(help, output, sizeof help);
        (void)snprintf(line, sizeof line, "usage: gantry %s", names[i]);
        expect_in_output(line);
        expect_in_output("\nOptions\n");
        expect_in_output("\nExit codes\n  0     success");
        const char *examples = strstr(output, "\nExamples\n");
        (void)snprintf(line, sizeof line, "gantry %s", names[i]);
        if (!examples || !strstr(examples, line)) fail_msg("no example in\n%s", output);
        (void)snprintf(line, sizeof line, "$BIN/gantry help %s 2>/dev/null", names[i]);
        expect_run(0, line);
        assert_string_equal(output, help);
    }
    expect_run(0, "$BIN/gantry -h");
    expect_run(0, "$BIN/gantry help");
    expect_run(0, "$BIN/gantry --version");
    expect_in_output("gantry 0.");
    expect_run(0, "$BIN/gantry version --json");
    expect_in_output("\"gantry\": \"0.");
}

TEST(help_fits_into_eighty_columns) {
    for (size_t i = 0; i < name_count; ++i) {
        /* examples are not broken */
        (void)run("$BIN/gantry %s --help | sed '/^Examples$/,$d' | grep -E '.{80}'", names[i]);
        if (*output) fail_msg("gantry %s --help: %s", names[i], output);
    }
}

/* ---- refusals ---- */

TEST(wrong_words_are_refused_with_what_is_accepted) {
    static const struct {
        const char *line, *message;
    } rows[] = {
        {"devcies", "gantry: \"devcies\" is not understood; accepted: devices, "},
        {"devcies", "did you mean devices?\n"},
        {"help tnue", "did you mean tune?\n"},
        {"help a b", "gantry help: \"b\" is not understood; accepted: [COMMAND]\n"},
        {"-x", "\"-x\" is not understood"},
        {"''", "\"\" is not understood"},
        {"devices --jsno", "gantry devices: \"--jsno\" is not understood; accepted: --list, "},
        {"devices --jsno", "did you mean --json?\n"},
        {"devices --jsn=1", "\"--jsn\" is not understood"},
        {"devices -v", "\"-v\" is not understood"},
        {"devices ---json", "\"---json\" is not understood"},
        {"devices --json=yes", "--json takes no value, but is given \"yes\"\n"},
        {"devices --json --list", "exclude each other"},
        {"devices extra", "\"extra\" is not understood; no word may stand here\n"},
        {"devices -- --json", "\"--json\" is not understood; no word may stand here\n"},
        {"tune --seconds", "--seconds needs a value: --seconds N\n"},
        {"tune --seconds=", "--seconds is \"\"; accepted: a number from 0.001 to 86400\n"},
        {"tune --seconds nan", "--seconds is \"nan\"; accepted: "},
        {"tune --device=cpu:0 --device cpu:0", "--device is given twice; accepted: one value\n"},
        {"ops MatMull",
         "there is no op \"MatMull\"; accepted: a name of `gantry ops --list`; did you mean MatMul?\n"},
        {"__complete tcsh", "the first word is \"tcsh\"; accepted: bash, zsh, fish\n"},
        {"__complete", "a word is missing: bash|zsh|fish\n"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
        char line[256];
        (void)snprintf(line, sizeof line, "$BIN/gantry %s >printed", rows[i].line);
        expect_run(2, line);
        expect_in_output(rows[i].message);
        expect_in_output("usage: gantry ");
        expect_in_output("--help says more\n");
        expect_run(1, "[ -s printed ]"); /* standard output is for results */
    }
}

TEST(output_that_cannot_be_written_is_a_failure) {
    if (run("[ -c /dev/full ]") != 0) SKIP_BECAUSE("no /dev/full here");
    expect_run(1, "$BIN/gantry ops --list >/dev/full");
    expect_in_output("gantry: standard output cannot be written: No space left on device");
}

/* ---- colours ---- */

TEST(colours_are_for_terminals) {
    expect_run(0, "TERM=xterm $BIN/gantry devices --help");
    assert_null(strchr(output, '\033'));
    if (run("script --version >/dev/null 2>&1") != 0)
        SKIP_BECAUSE("the program script, which makes a terminal, is missing");
    expect_run(
        0,
        "TERM=xterm NO_COLOR= script -qec \"'$BIN'/gantry devices --help\" /dev/null </dev/null");
    expect_in_output("\033[1mOptions\033[0m");
    expect_run(0, "TERM=dumb script -qec \"'$BIN'/gantry devices --help\" /dev/null </dev/null");
    expect_in_output("Options");
    assert_null(strchr(output, '\033'));
    expect_run(
        0,
        "TERM=xterm NO_COLOR=1 script -qec \"'$BIN'/gantry devices --help\" /dev/null </dev/null");
    assert_null(strchr(output, '\033'));
}

/* ---- devices and ops ---- */

TEST(lists_have_one_name_a_line) {
    expect_run(0, "GANTRY_BACKENDS=cpu $BIN/gantry devices --list");
    assert_string_equal(output, "/CPU:0\n");
    expect_run(
        0, "GANTRY_BACKENDS=cpu GANTRY_LOGICAL_DEVICES='CPU:0=64M,64M' $BIN/gantry devices --list");
    assert_string_equal(output, "/CPU:0\n/CPU:1\n");
    expect_run(
        0,
        "$BIN/gantry ops --list | grep -c -v '^[A-Z][A-Za-z0-9]*$'; $BIN/gantry ops --list | grep -x MatMul");
    assert_string_equal(output, "0\nMatMul\n");
}

TEST(devices_name_the_driver_that_is_lost) {
    if (!GANTRY_TEST_OPENCL_IS_BUILT) SKIP_BECAUSE("built without OpenCL");
    expect_run(0, "mkdir icd && echo /none/libx.so >icd/x.icd");
    expect_run(0, "OCL_ICD_VENDORS=$PWD/icd $BIN/gantry devices 2>/dev/null");
    expect_in_output("/CPU:0     ");
    if (!strstr(output, "opencl ")) SKIP_BECAUSE("no OpenCL backend here");
    expect_in_output("/icd/x.icd names /none/libx.so, which cannot be opened");
}

TEST(log_level_of_the_environment_shows_the_log) {
    expect_run(0, "GANTRY_BACKENDS=cpu $BIN/gantry devices --list 2>&1 >/dev/null");
    assert_string_equal(output, "");
    expect_run(
        0, "GANTRY_BACKENDS=cpu GANTRY_LOG_LEVEL=debug $BIN/gantry devices --list 2>&1 >/dev/null");
    expect_in_output("\n");
}

TEST(ops_tell_all_of_one_op) {
    expect_run(0, "GANTRY_BACKENDS=cpu $BIN/gantry ops MatMul");
    expect_in_output("MatMul(a, b) -> product\n");
    expect_in_output("    transpose_a: bool = false\n");
    expect_in_output("    /device:CPU:0: float16 bfloat16 float32 float64 int32 int64\n");
    assert_null(strstr(output, "Add("));
    expect_run(0, "GANTRY_BACKENDS=cpu $BIN/gantry ops MatMul Gelu --json");
    cJSON *array = cJSON_Parse(output);
    assert_int_equal(cJSON_GetArraySize(array), 2);
    assert_string_equal(cJSON_GetObjectItem(cJSON_GetArrayItem(array, 1), "name")->valuestring,
                        "Gelu");
    cJSON_Delete(array);
}

static void expect_json(const char *line) {
    expect_run(0, line);
    const char *end = NULL;
    cJSON *value = cJSON_ParseWithOpts(output, &end, true);
    if (!value) fail_msg("%s: no JSON at \"%.40s\" of\n%s", line, end, output);
    cJSON_Delete(value);
}

/* Standard output has one JSON value, and nothing else, whatever the command does. */
TEST(every_command_speaks_json) {
    static const char *const lines[] = {
        "devices",
        "doctor",
        "claims",
        "top",
        "settings",
        "ops",
        "ops MatMul",
        "version",
        "help",
        "help run",
        "cache list",
        "cache verify",
        "cache clear",
        "convert x.npy",
        "convert x.npy y.npz",
        "function info f.safetensors",
        "function run f.safetensors",
        "function explain f.safetensors",
        "model info net.onnx",
        "model run net.onnx",
        "model explain net.onnx",
        "model bench net.onnx --seconds 0.01",
        "trace t.json",
        "bench --device cpu:0 --seconds 0.01",
        "tune --device cpu:0 --what cpu.matmul.float32.small --seconds 0.01 --dry-run"};
    expect_run(
        0,
        "printf '[{\"name\":\"Add\",\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":1}]' >t.json");
    expect_run(0,
               "{ printf '\\223NUMPY\\001\\000\\166\\000'; printf '%-117s\\n' "
               "\"{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }\"; "
               "printf '\\0\\0\\0\\0'; } >x.npy");
    expect_run(0, "cp \"$(dirname '" GANTRY_COMMAND_PAGE
                  "')\"/../tests/golden/saved_function_0_1.safetensors f.safetensors");
    expect_run(0, "cp \"$(dirname '" GANTRY_COMMAND_PAGE "')\"/../tests/onnx/net.onnx .");
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; ++i) {
        char line[256];
        (void)snprintf(line, sizeof line,
                       "HOME=$PWD GANTRY_BACKENDS=cpu $BIN/gantry %s --json 2>/dev/null", lines[i]);
        expect_json(line);
    }
    expect_json("GANTRY_BACKENDS=cpu $BIN/gantry run --json --or-cpu true 2>&1 >/dev/null");
    for (size_t i = 0; i < name_count; ++i) {
        char line[256];
        bool is_run = strcmp(names[i], "run") == 0;
        for (size_t k = 0; k < sizeof lines / sizeof lines[0]; ++k)
            is_run = is_run || strncmp(lines[k], names[i], strlen(names[i])) == 0;
        if (!is_run) fail_msg("this test does not run gantry %s", names[i]);
        (void)snprintf(line, sizeof line, "$BIN/gantry %s --help | grep -q '^  --json  '",
                       names[i]);
        expect_run(0, line);
    }
}

/* ---- installed texts ---- */

TEST(manual_page_has_every_command_and_no_warning) {
    expect_run(0, "$BIN/gantry __man >gantry.1; cmp gantry.1 $BIN/../share/man/man1/gantry.1");
    expect_run(
        0,
        "grep -c '^\\.SH \\(NAME\\|SYNOPSIS\\|DESCRIPTION\\|COMMANDS\\|EXIT STATUS\\|ENVIRONMENT\\|SEE ALSO\\)$' gantry.1");
    assert_string_equal(output, "7\n");
    for (size_t i = 0; i < name_count; ++i) {
        char line[128];
        (void)snprintf(line, sizeof line, "grep -q '^\\.SS gantry %s$' gantry.1", names[i]);
        expect_run(0, line);
    }
    if (run("mandoc -h >/dev/null 2>&1 || command -v mandoc") == 0) {
        expect_run(0, "mandoc -T lint -W error gantry.1");
    } else if (run("command -v man groff >/dev/null && man --version >/dev/null 2>&1") == 0) {
        expect_run(0, "LC_ALL=C MANWIDTH=80 man --warnings -E ascii -l gantry.1 2>&1 >page");
        assert_string_equal(output, "");
        expect_run(0, "grep -e '--device DEVICE' page");
    } else {
        SKIP_BECAUSE("neither mandoc nor man with groff is here");
    }
}

/* Sources the completion as bash does, and asks for the candidates of a line. */
static const char completion_script[] =
    "COMP_WORDBREAKS=$' \\t\\n\"'\\''><=;|&(:'\n"
    ". \"$BIN/../share/bash-completion/completions/gantry\"\n"
    "complete -p gantry >/dev/null || exit 1\n"
    "PATH=$BIN:$PATH\n"
    "COMP_LINE=$1 COMP_POINT=${#1}\n"
    "split=${1//=/ = }\n"
    "split=${split//:/ : }\n"
    "read -ra COMP_WORDS <<<\"$split\"\n"
    "COMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n"
    "_gantry\n"
    "echo \"${COMPREPLY[*]}\"\n";

TEST(bash_completes_commands_options_and_values) {
    static const struct {
        const char *line, *candidates;
    } rows[] = {{"gantry dev", "devices\n"},
                {"gantry tune --d", "--device --dry-run\n"},
                {"gantry tune --device /C", "/CPU:0\n"},
                {"gantry tune --device /CPU:", "0\n"},
                {"gantry tune --device=/CPU", "/CPU:0\n"},
                {"gantry tune --device cpu:0 --sec", "--seconds\n"},
                {"gantry help tu", "tune\n"},
                {"gantry ops MatMu", "MatMul MatMulInteger\n"},
                {"gantry devices ", "\n"},
                {"gantry devices --h", "--help\n"},
                {"gantry --ver", "--version\n"}};
    if (run("command -v bash") != 0) SKIP_BECAUSE("no bash here");
    write_file("complete.bash", completion_script);
    (void)setenv("BIN", GANTRY_BIN, 1);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
        char line[256];
        (void)snprintf(line, sizeof line, "GANTRY_BACKENDS=cpu bash complete.bash '%s'",
                       rows[i].line);
        expect_run(0, line);
        if (strcmp(output, rows[i].candidates) != 0) fail_msg("%s: %s", rows[i].line, output);
    }
    expect_run(0, "GANTRY_BACKENDS=cpu bash complete.bash 'gantry '");
    for (size_t i = 0; i < name_count; ++i) expect_in_output(names[i]);
}

TEST(other_shells_read_their_completions) {
    static const char *const shells[] = {"zsh", "fish"};
    size_t found = 0;
    for (size_t i = 0; i < 2; ++i) {
        char line[128];
        (void)snprintf(line, sizeof line, "$BIN/gantry __complete %s >text.%s", shells[i],
                       shells[i]);
        expect_run(0, line);
        for (size_t k = 0; k < name_count; ++k) {
            (void)snprintf(line, sizeof line, "grep -q -w -e %s text.%s", names[k], shells[i]);
            expect_run(0, line);
        }
        if (run("command -v %s", shells[i]) != 0) continue;
        ++found;
        (void)snprintf(line, sizeof line, "%s -n text.%s", shells[i], shells[i]);
        expect_run(0, line);
    }
    if (found < 2) SKIP_BECAUSE("zsh or fish is missing: the syntax of its file is not checked");
}

/* ---- the page ---- */

TEST(page_has_a_section_for_every_command) {
    for (size_t i = 0; i < name_count; ++i) {
        char line[256];
        if (strcmp(names[i], "help") == 0 || strcmp(names[i], "version") == 0)
            continue; /* in its head */
        (void)snprintf(line, sizeof line, "grep -q '^## %s$' '" GANTRY_COMMAND_PAGE "'", names[i]);
        expect_run(0, line);
    }
}

/* A section of the page is a command's, and shows a session. */
TEST(page_has_no_section_without_a_command) {
    expect_run(
        0,
        "awk '/^## / { if (name && !shown) print name \" has no session\"; name = $2; shown = 0 } "
        "/^```console$/ { shown = 1 } END { if (!shown) print name \" has no session\" }' '" GANTRY_COMMAND_PAGE
        "'");
    assert_string_equal(output, "");
    expect_run(0, "for name in $(sed -n 's/^## //p' '" GANTRY_COMMAND_PAGE
                  "'"
                  "); do $BIN/gantry help $name >/dev/null || exit 1; done");
}

TEST(page_has_the_table_of_exit_codes) {
    expect_run(0,
               "$BIN/gantry __exit_codes >codes; "
               "sed -n '/^| exit code /,/^$/p' '" GANTRY_COMMAND_PAGE "' | grep . | diff - codes");
    expect_run(0, "cat codes");
    expect_in_output("| 0 | `gantry top` | success; q or Control-C ended the view |\n");
    expect_in_output("| 126 | `gantry run` | the program is not executable |\n");
    expect_run(0, "$BIN/gantry __man | grep -A1 '^124$'");
    expect_in_output("The time of \\-\\-wait is over.");
}

int main(void) {
    (void)setenv("GANTRY_LOG_LEVEL", "", 1);
    if (open_folder() != 0 || list_commands() != 0) {
        (void)fprintf(stderr, "gantry --help lists no commands\n%s", output);
        return 1;
    }
    int result = test_main();
    if (result == 0) (void)run("cd / && rm -r %s", folder);
    return result;
}
