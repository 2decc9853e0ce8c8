/* SPDX-License-Identifier: Apache-2.0 */
/* The table of scenarios: the tool's own programs, every example, every group of the conformance
 * program. */
#include <stdio.h>
#include <string.h>

#include "faults.h"
#include "faults_programs.h"

/* The examples' mains, under names that CMake gives them. */
#define GANTRY_FAULTS_EXAMPLE(name) int faults_example_##name(int argc, char **argv);
#include "faults_examples.inc"
#undef GANTRY_FAULTS_EXAMPLE

#ifdef GANTRY_FAULTS_TRAIN
int faults_program_saved(int argc, char **argv) {
    char model[512], english[512], french[512];
    char *const device = argv[1];
    (void)snprintf(model, sizeof model, "%s/model", argc > 2 ? argv[2] : "");
    (void)snprintf(english, sizeof english, "en=%s/en.txt", argc > 2 ? argv[2] : "");
    (void)snprintf(french, sizeof french, "fr=%s/fr.txt", argc > 2 ? argv[2] : "");
    char *train[] = {argv[0],        (char[]){"--device"},
                     device,         (char[]){"--epochs"},
                     (char[]){"1"},  (char[]){"--batch"},
                     (char[]){"40"}, (char[]){"--features"},
                     (char[]){"16"}, (char[]){"--words"},
                     (char[]){"20"}, (char[]){"--save"},
                     model,          english,
                     french,         NULL};
    char *classify[] = {argv[0],
                        (char[]){"--device"},
                        device,
                        (char[]){"--features"},
                        (char[]){"16"},
                        (char[]){"--load"},
                        model,
                        (char[]){"--classify"},
                        english,
                        french,
                        NULL};
    int code = faults_example_language_id(15, train);
    return code ? code : faults_example_language_id(10, classify);
}
#endif

#define DEVICE "--device", "%d"
#define GROUP(name) "conformance." name, faults_conformance_main, FAULTS_ON_ALL
#define GROUP_ARGS(name)                                                             \
    {                                                                                \
        DEVICE, "--only", name, "--skip-file", GANTRY_FAULTS_SLOW, "--expectations", \
            GANTRY_FAULTS_EXPECTED                                                   \
    }

/* clang-format off */
const faults_scenario_t faults_scenarios[] = {
    {"small", faults_program_small, FAULTS_ON_ALL, {"%d"}},
    {"small.gpus", faults_program_small, FAULTS_ON_HOST | FAULTS_WITH_GPUS, {"%d"}},
    {"small.cold", faults_program_small, FAULTS_ON_OPENCL | FAULTS_ON_CUDA | FAULTS_COLD, {"%d"}},
    {"matmul", faults_program_matmul, FAULTS_ON_ALL, {"%d"}},
    {"bridge", faults_program_bridge, FAULTS_ON_ALL, {"%d"}},
    {"copies", faults_program_copies, FAULTS_ON_ALL | FAULTS_WITH_GPUS, {"%d"}},
    {"memory", faults_program_memory, FAULTS_ON_ALL, {"%d"}},
    {"settings", faults_program_settings, FAULTS_ON_ALL, {"%d"}},
    {"profile", faults_program_profile, FAULTS_ON_ALL, {"%d"}},
    {"files", faults_program_files, FAULTS_ON_ALL, {"%d", "%t"}},
    {"tuning", faults_program_tuning, FAULTS_ON_ALL, {"%d", "%t"}},
    {"function.flow", faults_program_function_flow, FAULTS_ON_ALL, {"%d"}},
    {"function.effects", faults_program_function_effects, FAULTS_ON_ALL, {"%d"}},
    {"function.devices", faults_program_function_devices, FAULTS_ON_ALL | FAULTS_WITH_GPUS, {"%d"}},
    {"function.lanes", faults_program_function_lanes, FAULTS_ON_HOST, {"%d"}},
    {"function.scopes", faults_program_function_scopes, FAULTS_ON_ALL, {"%d"}},
    {"function.budget", faults_program_function_budget, FAULTS_ON_ALL, {"%d"}},
    {"convolve", faults_program_convolve, FAULTS_ON_CUDA | FAULTS_ENDS, {"%d"}},
    {"ops.0", faults_program_ops, FAULTS_ON_ALL, {"%d", "0"}},
    {"ops.1", faults_program_ops, FAULTS_ON_ALL, {"%d", "1"}},
    {"ops.2", faults_program_ops, FAULTS_ON_ALL, {"%d", "2"}},
    {"ops.3", faults_program_ops, FAULTS_ON_ALL, {"%d", "3"}},
    {"ops.4", faults_program_ops, FAULTS_ON_ALL, {"%d", "4"}},
    {"ops.5", faults_program_ops, FAULTS_ON_ALL, {"%d", "5"}},
    {"ops.6", faults_program_ops, FAULTS_ON_ALL, {"%d", "6"}},
    {"ops.7", faults_program_ops, FAULTS_ON_ALL, {"%d", "7"}},
    {"example.gpu_guide", faults_example_gpu_guide, FAULTS_ON_ALL | FAULTS_WITH_GPUS | FAULTS_SAME_OUTPUT, {NULL}},
    {"example.cpu_vs_gpu", faults_example_cpu_vs_gpu, FAULTS_ON_ALL | FAULTS_WITH_GPUS, {"--size", "16", "--repeat", "1", "--devices", "/CPU:0,%d"}},
    /* host faults only: the group checks exact sizes of regions, and a smaller region replaces one
     * that a driver refuses */
    {"example.memory_control", faults_example_memory_control, FAULTS_ON_HOST, {"--device", "CPU:0"}},
#ifdef GANTRY_FAULTS_TRAIN
    {"example.language_id", faults_example_language_id, FAULTS_ON_ALL,
     {DEVICE, "--epochs", "1", "--batch", "40", "--features", "16", "--words", "20", "en=%t/en.txt", "fr=%t/fr.txt"}},
    {"example.language_id.saved", faults_program_saved, FAULTS_ON_ALL, {"%d", "%t"}},
#endif
    {GROUP("tensor"), GROUP_ARGS("tensor")},
    {GROUP("transfer") | FAULTS_WITH_GPUS, GROUP_ARGS("transfer")},
    {GROUP("call"), GROUP_ARGS("call")},
    {GROUP("fault"), GROUP_ARGS("fault")},
    {GROUP("variable") | FAULTS_WITH_GPUS, GROUP_ARGS("variable")},
    {GROUP("scope") | FAULTS_WITH_GPUS, GROUP_ARGS("scope")},
    {GROUP("thread"), GROUP_ARGS("thread")},
    {"conformance.memory", faults_conformance_main, FAULTS_ON_HOST | FAULTS_ON_OPENCL | FAULTS_ON_CUDA | FAULTS_RUNS_OUT, GROUP_ARGS("memory")},
    {"conformance.matmul", faults_conformance_main, FAULTS_ON_HOST | FAULTS_ON_OPENCL | FAULTS_ON_CUDA, {DEVICE, "--only", "MatMul,BatchMatMul", "--every", "60", "--once"}},
};
/* clang-format on */

const size_t faults_scenario_count = sizeof faults_scenarios / sizeof faults_scenarios[0];

static bool write_words(const char *folder, const char *name, const char *const *words,
                        size_t count) {
    char path[512];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    if (!file) return false;
    for (size_t i = 0; i < count; ++i) (void)fprintf(file, "%s\n", words[i]);
    return fclose(file) == 0;
}

bool faults_write_files(const char *folder) {
    static const char *const english[] = {
        "window", "though", "water",  "shadow", "weather", "thing",  "wheel",  "yesterday",
        "wish",   "sight",  "whole",  "white",  "tooth",   "worthy", "shower", "width",
        "thumb",  "hawk",   "wealth", "north",  "toward",  "thank"};
    static const char *const french[] = {
        "maison", "oiseau", "quatre", "jardin",   "bonjour", "cheval", "fromage", "eau",
        "rouge",  "jeune",  "livre",  "beaucoup", "choix",   "quand",  "jamais",  "feuille",
        "soleil", "rue",    "joie",   "bateau",   "nuage",   "loin"};
    static const char *const some[] = {"worth", "joueur"};
    return write_words(folder, "en.txt", english, sizeof english / sizeof *english) &&
           write_words(folder, "fr.txt", french, sizeof french / sizeof *french) &&
           write_words(folder, "words.txt", some, 2);
}

bool faults_load_cases(void) { return faults_program_load(); }
