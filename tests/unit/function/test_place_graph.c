/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: The placer of graphs follows TensorFlow's cases (placer_test.cc) on machines made of
 * tables.
 *
 * Cases of placer_test.cc that have no row, because Gantry has nothing of the kind:
 *
 *   kernel priorities across types   a priority orders the kernels of one device; those of a GPU
 *     (dataset and iterator rows)    and of a CPU do not compete by it
 *   XLA devices                      there are none; views without a number stand for them: they
 *                                    are not chosen unasked
 *   datasets, iterators              there are none
 *   resources that move              a variable has its home before a function is traced: its nodes
 *     (variable without a device)    go there, and no request of them moves it
 *   assigned devices                 a node has a request or a variable's home, nothing between
 *     (kept, malformed, partial)
 *   other jobs, replicas, tasks      there is one task; a name of another one is refused
 *     (and accepted remote ops)
 *   function calls that take         calls are inlined: their nodes are placed one by one
 *     resources, swap functions
 *   Identity with two consumers      an alias moves nothing, so it always is where its input is
 *   Malformed device specification   the scope refuses the text (test_place_trace.c)
 *   functions that call themselves   refused while they are traced (test_place_trace.c) */
#include "place_world.h"
#include "test.h"

/* The device comes first in the rest. */
#define ARG(name_) \
    { .kind = ARGUMENT, .name = name_ }
#define VALUE(name_) \
    { .kind = CONSTANT, .name = name_ }
#define DO(name_, op_, inputs_, ...)                                         \
    {                                                                        \
        .kind = OP                                                           \
        , .name = name_, .op = op_, .inputs = inputs_, .device = __VA_ARGS__ \
    }
#define VARIABLE(name_, home_, device_) \
    { .kind = READ, .name = name_, .home = home_, .device = device_ }
#define SET(name_, home_, input_, ...) \
    { .kind = ASSIGN, .name = name_, .home = home_, .inputs = input_, .device = __VA_ARGS__ }

#define BECAUSE(reason_) .reason = GANTRY_PLACED_##reason_
#define APART " because no device type supports both of those nodes and the other nodes colocated"

static const row_t rows[] = {
    /* ---- without colocation ---- */
    {"a CPU kernel's result feeds ops with both kernels",
     .nodes = {VALUE("c"), DO("in", "Exp", "0", "CPU:0", BECAUSE(ONLY_CPU_KERNEL)),
               DO("n1", "Sqrt", "1", "GPU:0", BECAUSE(GPU_PREFERRED)),
               DO("n2", "Sqrt", "1", "GPU:0")}},
    {"a higher priority on the CPU orders the kernels of the CPU only",
     .nodes = {ARG("a"), DO("n", "Cos", "0", "GPU:0", BECAUSE(GPU_PREFERRED))}},
    {"a view that no number names is not chosen unasked; asked, it is",
     .nodes = {ARG("a"), DO("n", "Log", "0", "GPU:0"),
               DO("m", "Log", "0", "other:0", .request = "other:0", BECAUSE(EXPLICIT))}},
    {"an op without request that no GPU takes goes to the CPU", .devices = CPU_ALONE,
     .nodes = {ARG("a"), DO("n", "Sqrt", "0", "CPU:0", BECAUSE(NO_GPU))}},
    {"kernels that decline the shapes are passed over",
     .nodes = {ARG("a"), DO("n", "Abs", "0", "CPU:0", BECAUSE(ONLY_CPU_KERNEL))}},
    {"explicit and partial requests",
     .nodes = {ARG("a"),
               DO("n", "Sqrt", "0", "GPU:1", .request = "/device:GPU:1", BECAUSE(EXPLICIT)),
               DO("m", "Sqrt", "0", "CPU:0", .request = "/cpu:*", BECAUSE(PARTIAL)),
               DO("o", "Sqrt", "0", "GPU:0", .request = "/job:localhost", BECAUSE(PARTIAL))}},
    {"a CPU kernel asked on a GPU falls to the CPU; a variable there keeps its home",
     .nodes = {VALUE("c"),
               DO("in", "Exp", "0", "CPU:0", .request = "/device:GPU:0", BECAUSE(SOFT_OTHER_TYPE)),
               SET("assign", AT_GPU0, "1", "GPU:0", .request = "/device:GPU:0",
                   BECAUSE(WITH_VARIABLE))}},
    {"a missing GPU falls to the first one",
     .nodes = {ARG("a"), DO("in", "Log", "0", "GPU:0", .request = "/device:GPU:11",
                            BECAUSE(SOFT_SAME_TYPE))}},
    {"a missing GPU without soft placement", .hard = true,
     .error = "Cannot assign a device for operation in: {{node in}} was explicitly assigned to "
              "/device:GPU:11 but available devices are [ " LOCAL("CPU:0"),
     .nodes = {ARG("a"), DO("in", "Log", "0", NULL, .request = "/device:GPU:11")}},
    {"a GPU's op on the CPU without soft placement", .hard = true,
     .error = "Cannot assign a device for operation n: Could not satisfy explicit device "
              "specification '/device:CPU:0' because no supported kernel for CPU devices is "
              "available.",
     .nodes = {ARG("a"), DO("n", "Log", "0", NULL, .request = "/device:CPU:0")}},
    {"every refused device stands in the error with its reason", .hard = true,
     .error = "Refused devices:\n  " LOCAL("CPU:0") ": no kernel for the op",
     .nodes = {ARG("a"), DO("n", "Log", "0", NULL, .request = "/device:CPU:0")}},
    {"another job and replica without soft placement", .hard = true,
     .error = "{{node n}} was explicitly assigned to /job:foo/replica:17 but available devices",
     .nodes = {ARG("a"), DO("n", "Sqrt", "0", NULL, .request = "/job:foo/replica:17")}},
    {"another job under soft placement: the job never changes",
     .error = "Cannot assign a device for operation n: {{node n}} was explicitly assigned to "
              "/job:foo but available devices",
     .nodes = {ARG("a"), DO("n", "Sqrt", "0", NULL, .request = "/job:foo")}},
    {"a GPU where there is none, without soft placement", .hard = true, .devices = CPU_ALONE,
     .error = "The requested device appears to be a GPU, but no GPU is visible.",
     .nodes = {ARG("a"), DO("n", "Sqrt", "0", NULL, .request = "/device:gpu:0")}},
    {"an op without kernels",
     .error = "Cannot assign a device for operation var: No OpKernel was registered to support Op "
              "'Sin' used by {{node var}} with these attrs: [T=float32]\nRegistered kernels:\n  "
              "<no registered kernels>",
     .nodes = {ARG("a"), DO("var", "Sin", "0", NULL)}},
    {"an op without kernels, with a request", .hard = true,
     .error = "No OpKernel was registered to support Op 'Sin' used by {{node var}}",
     .nodes = {ARG("a"), DO("var", "Sin", "0", NULL, .request = "/device:CPU:0")}},
    {"a GPU's op on a machine with one CPU", .devices = CPU_ALONE,
     .error = "No OpKernel was registered to support Op 'Log' used by {{node n}}",
     .nodes = {ARG("a"), DO("n", "Log", "0", NULL)}},
    {"no device at all", .devices = NO_DEVICE, .error = "No devices are registered",
     .nodes = {ARG("a")}},
    {"require: no fallback of a request", .require = true, .error = "GANTRY_PLACEMENT=require",
     .nodes = {ARG("a"), DO("n", "Exp", "0", NULL, .request = "/device:GPU:0")}},
    {"require: no fallback to the CPU", .require = true,
     .error = "Cannot assign a device for operation n: No supported device found",
     .nodes = {ARG("a"), DO("n", "Exp", "0", NULL)}},
    {"require: what is requested, or a GPU", .require = true,
     .nodes = {ARG("a"), DO("n", "Exp", "0", "CPU:0", .request = "/device:CPU:0"),
               DO("m", "Sqrt", "0", "GPU:0")}},
    /* ---- variables ---- */
    {"variables pin what reads and assigns them",
     .nodes = {VARIABLE("a/read", AT_CPU0, "CPU:0"), VARIABLE("b/read", AT_GPU0, "GPU:0"),
               SET("a/Assign", AT_CPU0, "1", "CPU:0", BECAUSE(WITH_VARIABLE)),
               SET("b/Assign", AT_GPU0, "0", "GPU:0", BECAUSE(WITH_VARIABLE))}},
    {"an alias of a variable's value lies with the variable",
     .nodes = {VARIABLE("a/read", AT_CPU0, "CPU:0"),
               DO("shape", "Identity", "0", "CPU:0", BECAUSE(WITH_INPUT))}},
    {"the variable wins over a request of the assignment, also without soft placement",
     .hard = true,
     .nodes = {VALUE("c"), SET("assign", AT_GPU0, "0", "GPU:0", .request = "/device:CPU:0")}},
    {"a variable at home on an unlisted view", .nodes = {VARIABLE("a/read", AT_VIEW, "other:0")}},
    {"an op of two variables on two devices goes where ops go",
     .nodes = {VARIABLE("a/read", AT_CPU0, "CPU:0"), VARIABLE("b/read", AT_CPU1, "CPU:1"),
               DO("sum", "Add", "01", "GPU:0", BECAUSE(GPU_PREFERRED))}},
    /* ---- sources follow their consumers (A) ---- */
    {"a source follows the assignment that it feeds",
     .nodes = {VALUE("c"), DO("in", "Sqrt", "0", "CPU:0", BECAUSE(WITH_CONSUMER)),
               SET("assign", AT_CPU0, "1", "CPU:0")}},
    {"a source follows two consumers on one device",
     .nodes = {VALUE("c"), DO("in", "Sqrt", "0", "CPU:0", BECAUSE(WITH_CONSUMER)),
               SET("assign", AT_CPU0, "1", "CPU:0"), DO("n", "Exp", "1", "CPU:0")}},
    {"a source of two consumers on two devices has its own place",
     .nodes = {VALUE("c"), DO("in", "Sqrt", "0", "GPU:0", BECAUSE(GPU_PREFERRED)),
               SET("assign1", AT_CPU0, "1", "CPU:0"), SET("assign2", AT_CPU1, "1", "CPU:1")}},
    {"a source with GPU kernels only stays",
     .nodes = {VALUE("c"), DO("in", "Log", "0", "GPU:0", BECAUSE(GPU_PREFERRED)),
               SET("assign", AT_CPU0, "1", "CPU:0")}},
    {"a source with a request stays there",
     .nodes = {VALUE("c"),
               DO("in", "Sqrt", "0", "CPU:1", .request = "/device:CPU:1", BECAUSE(EXPLICIT)),
               SET("assign", AT_CPU0, "1", "CPU:0")}},
    {"a source follows through aliases, and they go with it",
     .nodes = {VALUE("c"), DO("in", "Sqrt", "0", "CPU:1", BECAUSE(WITH_CONSUMER)),
               DO("same", "Identity", "1", "CPU:1", BECAUSE(WITH_INPUT)),
               DO("again", "Identity", "2", "CPU:1", BECAUSE(WITH_INPUT)),
               SET("assign", AT_CPU1, "3", "CPU:1")}},
    {"an op of an argument is no source",
     .nodes = {ARG("a"), DO("in", "Sqrt", "0", "GPU:0"), SET("assign", AT_CPU0, "1", "CPU:0")}},
    /* ---- aliases follow their input (B) ---- */
    {"an alias lies where its input is; with a request, there",
     .nodes = {ARG("a"), DO("n", "Exp", "0", "CPU:0"), DO("same", "Identity", "1", "CPU:0"),
               DO("there", "Identity", "1", "GPU:1", .request = "/device:GPU:1", BECAUSE(EXPLICIT)),
               DO("m", "Sqrt", "2", "GPU:0")}},
    {"an alias of an argument lies wherever it is used",
     .nodes = {ARG("a"), DO("same", "Identity", "0", NULL), DO("n", "Sqrt", "1", "GPU:0")}},
    /* ---- colocation: kernels ---- */
    {"both + both", .nodes = {ARG("a"), DO("n", "Sqrt", "0", "GPU:0", BECAUSE(GPU_PREFERRED)),
                              DO("m", "Sqrt", "0", "GPU:0", .with = "1", BECAUSE(COLOCATED))}},
    {"both + CPU", .nodes = {ARG("a"), DO("n", "Sqrt", "0", "CPU:0", BECAUSE(ONLY_CPU_KERNEL)),
                             DO("m", "Exp", "0", "CPU:0", .with = "1", BECAUSE(COLOCATED))}},
    {"both + GPU",
     .nodes = {ARG("a"), DO("n", "Sqrt", "0", "GPU:0"), DO("m", "Log", "0", "GPU:0", .with = "1")}},
    {"CPU + both",
     .nodes = {ARG("a"), DO("n", "Exp", "0", "CPU:0"), DO("m", "Sqrt", "0", "CPU:0", .with = "1")}},
    {"CPU + CPU",
     .nodes = {ARG("a"), DO("n", "Exp", "0", "CPU:0"), DO("m", "Exp", "0", "CPU:0", .with = "1")}},
    {"GPU + both",
     .nodes = {ARG("a"), DO("n", "Log", "0", "GPU:0"), DO("m", "Sqrt", "0", "GPU:0", .with = "1")}},
    {"GPU + GPU",
     .nodes = {ARG("a"), DO("n", "Log", "0", "GPU:0"), DO("m", "Log", "0", "GPU:0", .with = "1")}},
    {"both + one that declines the shapes on GPUs",
     .nodes = {ARG("a"), DO("n", "Sqrt", "0", "CPU:0"), DO("m", "Abs", "0", "CPU:0", .with = "1")}},
    {"a chain of colocations, and two groups",
     .nodes = {ARG("a"), DO("in", "Exp", "0", "CPU:0"), DO("c1", "Sqrt", "1", "CPU:0", .with = "1"),
               DO("c2", "Sqrt", "2", "CPU:0", .with = "2"),
               DO("c3", "Sqrt", "3", "CPU:0", .with = "13"), DO("o1", "Sqrt", "0", "GPU:0"),
               DO("o2", "Sqrt", "0", "GPU:0", .with = "5")}},
    {"groups that a later node unites",
     .nodes = {ARG("a"), DO("n", "Sqrt", "0", "CPU:0"), DO("m", "Exp", "0", "CPU:0"),
               DO("o", "Sqrt", "0", "CPU:0", .with = "1"),
               DO("p", "Sqrt", "0", "CPU:0", .with = "2"),
               DO("q", "Sqrt", "0", "CPU:0", .with = "34")}},
    {"CPU and GPU ops with one node: soft placement drops the one that does not fit",
     .nodes = {ARG("a"), DO("in", "Exp", "0", "CPU:0"), DO("cpu", "Exp", "1", "CPU:0", .with = "1"),
               DO("foo", "Log", "1", "GPU:0", .with = "1", BECAUSE(GPU_PREFERRED))}},
    {"the same without soft placement", .hard = true,
     .error = "Cannot colocate nodes {{colocation_node foo}} and {{colocation_node in}}" APART,
     .nodes = {ARG("a"), DO("in", "Exp", "0", NULL), DO("cpu", "Exp", "1", NULL, .with = "1"),
               DO("foo", "Log", "1", NULL, .with = "1")}},
    /* ---- colocation: requests ---- */
    {"a request of one member holds for all", .hard = true,
     .nodes = {ARG("a"), DO("n", "Sqrt", "0", "CPU:1", BECAUSE(COLOCATED)),
               DO("m", "Sqrt", "0", "CPU:1", .with = "1", .request = "/device:CPU:1",
                  BECAUSE(EXPLICIT))}},
    {"a narrower request narrows a wide one", .hard = true,
     .nodes = {ARG("a"), DO("n", "Sqrt", "0", "CPU:1", .request = "/job:localhost/task:0"),
               DO("m", "Sqrt", "0", "CPU:1", .with = "1",
                  .request = "/job:localhost/task:0/device:CPU:1")}},
    {"two requests that make one name together", .hard = true,
     .nodes = {ARG("a"), DO("n", "Sqrt", "0", "GPU:1", .request = "/task:0"),
               DO("m", "Sqrt", "0", "GPU:1", .with = "1", .request = "/device:GPU:1")}},
    {"requests of two types: soft placement drops the type",
     .nodes = {ARG("a"), DO("n", "Sqrt", "0", "GPU:0", .request = "/device:CPU:0"),
               DO("m", "Sqrt", "0", "GPU:0", .with = "1", .request = "/device:GPU:1")}},
    {"requests of two numbers: soft placement drops the number",
     .nodes = {ARG("a"), DO("n", "Sqrt", "0", "CPU:0", .request = "/device:CPU:0"),
               DO("m", "Sqrt", "0", "CPU:0", .with = "1", .request = "/device:CPU:1")}},
    {"requests of two types without soft placement", .hard = true,
     .error = "Cannot colocate nodes {{colocation_node m}} and {{colocation_node n}}: Cannot merge "
              "devices with incompatible types: '/device:CPU:0' and '/device:GPU:0'",
     .nodes = {ARG("a"), DO("n", "Sqrt", "0", NULL, .request = "/device:GPU:0"),
               DO("m", "Sqrt", "0", NULL, .with = "1", .request = "/device:CPU:0")}},
    {"requests of two jobs never become one", .error = "was explicitly assigned to /job:b",
     .nodes = {ARG("a"), DO("n", "Sqrt", "0", "GPU:0", .request = "/job:localhost"),
               DO("m", "Sqrt", "0", NULL, .with = "1", .request = "/job:b")}},
    {"a view's name and a name", .hard = true,
     .nodes = {ARG("a"), DO("n", "Sqrt", "0", "GPU:1", .request = "fake:1"),
               DO("m", "Sqrt", "0", "GPU:1", .with = "1", .request = "/device:GPU:*")}},
    {"two views without soft placement", .hard = true,
     .error = "Cannot merge devices with incompatible types: 'fake:0' and 'fake:1'",
     .nodes = {ARG("a"), DO("n", "Sqrt", "0", NULL, .request = "fake:1"),
               DO("m", "Sqrt", "0", NULL, .with = "1", .request = "fake:0")}},
    {"a request that the group does not allow", .hard = true,
     .error = "Cannot assign a device for operation n: Could not satisfy explicit device "
              "specification '/device:CPU:0' because the node {{colocation_node n}} was colocated "
              "with a group of nodes that required incompatible device '" LOCAL(
                  "GPU:0") "'. All available devices [",
     .nodes = {ARG("a"), DO("n", "Sqrt", "0", NULL, .request = "/device:CPU:0"),
               DO("m", "Log", "0", NULL, .with = "1")}},
    {"the same under soft placement: the group goes where all can run",
     .nodes = {ARG("a"),
               DO("n", "Sqrt", "0", "GPU:0", .request = "/device:CPU:0", BECAUSE(SOFT_OTHER_TYPE)),
               DO("m", "Log", "0", "GPU:0", .with = "1", BECAUSE(COLOCATED))}},
    {"require: a group is not moved from its request", .require = true,
     .error = "GANTRY_PLACEMENT=require",
     .nodes = {ARG("a"), DO("n", "Sqrt", "0", NULL, .request = "/device:CPU:0"),
               DO("m", "Log", "0", NULL, .with = "1")}},
    {"a missing device of a group: soft placement",
     .nodes = {ARG("a"), DO("n", "Sqrt", "0", "GPU:0", .request = "/device:GPU:11"),
               DO("m", "Log", "0", "GPU:0", .with = "1")}},
    /* ---- colocation: variables ---- */
    {"an op colocated with a variable runs at its home", .hard = true,
     .nodes = {VARIABLE("v/read", AT_CPU1, "CPU:1"), DO("n", "Sqrt", "0", "CPU:1", .with = "0"),
               DO("m", "Sqrt", "1", "CPU:1", .with = "1")}},
    {"a GPU's op with a variable of the CPU: soft placement drops it",
     .nodes = {VARIABLE("v/read", AT_CPU0, "CPU:0"), DO("n", "Log", "0", "GPU:0", .with = "0")}},
    {"the same without soft placement", .hard = true,
     .error = "Cannot colocate nodes {{colocation_node n}} and {{colocation_node v/read}}" APART,
     .nodes = {VARIABLE("v/read", AT_CPU0, NULL), DO("n", "Log", "0", NULL, .with = "0")}},
    {"an assignment to a variable, colocated with another variable: soft placement drops it",
     .nodes = {VARIABLE("var2/read", AT_CPU0, "CPU:0"),
               SET("assign3", AT_GPU0, "0", "GPU:0", .with = "0")}},
    {"the same without soft placement", .hard = true,
     .error = "Cannot colocate nodes {{colocation_node assign3}} and {{colocation_node var2/read}}",
     .nodes = {VARIABLE("var2/read", AT_CPU0, NULL),
               SET("assign3", AT_GPU0, "0", NULL, .with = "0")}},
    {"two variables of two devices without soft placement name both devices", .hard = true,
     .error = "with incompatible assigned devices: " LOCAL("GPU:0") " vs " LOCAL("CPU:0"),
     .nodes = {VARIABLE("a/read", AT_CPU0, NULL), VARIABLE("b/read", AT_GPU0, NULL),
               DO("n", "Sqrt", "0", NULL, .with = "1"), DO("m", "Sqrt", "0", NULL, .with = "0"),
               DO("o", "Add", "23", NULL, .with = "23")}},
    {"two variables of two devices stay apart under soft placement",
     .nodes = {VARIABLE("a/read", AT_GPU0, "GPU:0"), VARIABLE("b/read", AT_CPU0, "CPU:0"),
               DO("ia", "Sqrt", "0", "GPU:0", .with = "0"),
               DO("ib", "Sqrt", "1", "CPU:0", .with = "1"),
               DO("n", "Add", "23", "GPU:0", .with = "23")}},
    {"a variable wins over a request in its group under soft placement",
     .nodes = {VARIABLE("v/read", AT_GPU0, "GPU:0"),
               DO("n", "Sqrt", "0", "GPU:0", .with = "0", .request = "/device:CPU:0")}},
    {"and without it the request is refused", .hard = true,
     .error = "Cannot merge devices with incompatible types: '/device:CPU:0' and '" LOCAL("GPU:0"),
     .nodes = {VARIABLE("v/read", AT_GPU0, NULL),
               DO("n", "Sqrt", "0", NULL, .with = "0", .request = "/device:CPU:0")}},
    /* ---- colocation: sources, aliases, constants ---- */
    {"aliases that are colocated without an op lie where the input of the first one is",
     .nodes = {VALUE("c"), DO("n", "Exp", "0", "CPU:0"), DO("g", "Log", "0", "GPU:0"),
               DO("s1", "Identity", "1", "CPU:0", .with = "0", BECAUSE(WITH_INPUT)),
               DO("s2", "Identity", "2", "CPU:0", .with = "3", BECAUSE(COLOCATED))}},
    {"aliases with requests that disagree share one device",
     .nodes = {VALUE("c"), DO("s1", "Identity", "0", "GPU:0", .request = "/device:CPU:0"),
               DO("s2", "Identity", "0", "GPU:0", .with = "1", .request = "/device:GPU:9")}},
    {"a colocated source does not follow its consumer",
     .nodes = {VALUE("c"), ARG("a"), DO("n", "Sqrt", "1", "GPU:0"),
               DO("in", "Sqrt", "0", "GPU:0", .with = "2"), SET("assign", AT_CPU0, "3", "CPU:0")}},
    {"an op colocated with an alias goes to the alias's input",
     .nodes = {ARG("a"), DO("n", "Exp", "0", "CPU:0"), DO("same", "Identity", "1", "CPU:0"),
               DO("m", "Sqrt", "0", "CPU:0", .with = "2")}},
    {"a colocated alias goes to its group",
     .nodes = {ARG("a"), DO("n", "Exp", "0", "CPU:0"), DO("g", "Sqrt", "0", "GPU:0"),
               DO("same", "Identity", "1", "GPU:0", .with = "2", BECAUSE(COLOCATED))}},
    {"ops colocated with an argument are colocated with each other",
     .nodes = {ARG("a"), DO("n", "Sqrt", "0", "CPU:0", .with = "0"),
               DO("m", "Exp", "0", "CPU:0", .with = "0")}},
    {"constants that are colocated with an argument stay where they are used",
     .nodes = {ARG("a"),
               {.kind = CONSTANT, .name = "c", .with = "0"},
               DO("same", "Identity", "0", NULL, .with = "1"),
               DO("n", "Sqrt", "2", "GPU:0")}},
};

/* ---- expectations ---- */

static void expect_node(const world_t *w, const row_t *row, size_t i) {
    const row_node_t *node = &row->nodes[i];
    const gantry__node_place_t *place = &w->places[i];
    const char *got = place->device ? place->device->full_name : "where it is used",
               *expected = node->device ? node->device : "where it is used";
    const size_t length = strlen(got), end = strlen(expected);
    if (length < end || strcmp(got + length - end, expected) != 0)
        fail_msg("%s: node %s is on %s, not %s", row->what, node->name, got, expected);
    if (node->reason && place->reason != node->reason)
        fail_msg("%s: node %s: %s, not: %s", row->what, node->name,
                 gantry_placement_reason_text(place->reason),
                 gantry_placement_reason_text(node->reason));
    assert_int_not_equal(place->reason, GANTRY_PLACED_NONE);
    if (node->kind == OP && place->kept) assert_ptr_equal(place->kept->plan.device, place->device);
}

static void expect_row(world_t *w, const row_t *row) {
    const gantry_status_t status = place_world(w, row);
    if (row->error) {
        if (status == GANTRY_OK || !strstr(gantry__message(), row->error))
            fail_msg("%s: expected %s; got %d: %s", row->what, row->error, (int)status,
                     status == GANTRY_OK ? "" : gantry__message());
        return;
    }
    if (status != GANTRY_OK) fail_msg("%s: %s", row->what, gantry__message());
    for (size_t i = 0; i < w->graph.node_count; ++i) expect_node(w, row, i);
}

/* ---- tests ---- */

TEST(every_case_is_placed_as_it_says) {
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
        world_t w;
        open_world(&w, &rows[i]);
        expect_row(&w, &rows[i]);
        close_world(&w);
    }
    print_message(
        "%zu cases; priorities across device types, XLA, datasets, moving resources, "
        "assigned devices, other tasks and swap functions have none (see the head)\n",
        sizeof rows / sizeof rows[0]);
}

/* Plans that are kept do not change the next answer. */
TEST(placing_again_gives_the_same) {
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
        world_t w;
        open_world(&w, &rows[i]);
        expect_row(&w, &rows[i]);
        gantry__node_place_t first[MOST_NODES];
        memcpy(first, w.places, sizeof first);
        expect_row(&w, &rows[i]);
        for (size_t k = 0; k < MOST_NODES && !rows[i].error; ++k) {
            assert_ptr_equal(first[k].device, w.places[k].device);
            assert_ptr_equal(first[k].home, w.places[k].home);
            assert_int_equal(first[k].reason, w.places[k].reason);
            assert_int_equal(first[k].decided_by, w.places[k].decided_by);
        }
        close_world(&w);
    }
}

static const row_t *find_row(const char *what) {
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
        if (strcmp(rows[i].what, what) == 0) return &rows[i];
    }
    fail_msg("no row %s", what);
    return NULL;
}

TEST(refused_devices_stay_with_the_node) {
    const row_t *row = find_row("both + CPU");
    world_t w;
    open_world(&w, row);
    expect_row(&w, row);
    const gantry__plan_t *plan = &w.places[1].kept->plan;
    assert_int_equal(plan->refusal_count, 2);
    for (int i = 0; i < 2; ++i) {
        assert_ptr_equal(plan->refusals[i].device, &machine.logical[AT_GPU0 + i]);
        assert_int_equal(plan->refusals[i].why, GANTRY_REFUSED_COLOCATED);
    }
    assert_int_equal(w.places[1].decided_by, 2);
    assert_int_equal(w.places[2].decided_by, 2);
    assert_string_equal(gantry_refusal_text(GANTRY_REFUSED_COLOCATED),
                        "a node that it is colocated with cannot run there");
    assert_string_equal(gantry_placement_reason_text(GANTRY_PLACED_COLOCATED),
                        "with the nodes that it is colocated with");
    close_world(&w);
}

TEST(dropped_colocation_is_told_once) {
    const row_t *row =
        find_row("CPU and GPU ops with one node: soft placement drops the one that does not fit");
    world_t w;
    open_world(&w, row);
    expect_row(&w, row);
    assert_int_equal(w.told, 1);
    assert_true(w.places[3].is_apart);
    assert_false(w.places[2].is_apart);
    close_world(&w);
}

TEST(arguments_and_constants_name_their_first_consumer) {
    static const row_t row = {
        "consumers", .nodes = {ARG("a"), VALUE("c"), DO("n", "Exp", "0", "CPU:0"),
                               DO("m", "Log", "0", "GPU:0"), DO("o", "Log", "1", "GPU:0")}};
    world_t w;
    open_world(&w, &row);
    expect_row(&w, &row);
    assert_null(w.places[0].device);
    assert_ptr_equal(w.places[0].home, &machine.logical[AT_CPU0]);
    assert_ptr_equal(w.places[1].home, &machine.logical[AT_GPU0]);
    close_world(&w);
}

int main(void) { return test_main(); }
