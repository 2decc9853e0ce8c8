/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: A driver that withholds commands until a flush gives the results of one that does not.
 * Promise: An idle OpenCL device gets its first command at once, and at most 16 commands wait for a
 * flush.
 *
 * An idle device starts its first command at once, and few commands wait at any time. */
#define _XOPEN_SOURCE 700

#include "hostile_gpu.h"
#include "test.h"

#define OPS 200
#define MOST_WITHHELD 16 /* submissions between two flushes */

/* x + x + ... in one scope; returns the commands that were withheld meanwhile. */
static hostile_layer_withheld_t add_often(gantry_runtime_t *runtime, int ops, float *out_first) {
    gantry_scope_t *scope = gantry_scope_begin(runtime, "/GPU:0");
    const gantry_tensor_t *x = hostile_ramp(scope, 16, 16);
    const gantry_tensor_t *sum = x;
    float values[256];
    (void)hostile_take_withheld();
    for (int i = 0; i < ops; ++i) sum = gantry_add(scope, sum, x);
    hostile_layer_withheld_t withheld = hostile_take_withheld();
    if (gantry_tensor_read(sum, values, sizeof values) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    *out_first = values[1];
    assert_int_equal(gantry_scope_end(scope), GANTRY_OK);
    return withheld;
}

TEST(few_commands_wait_for_a_flush) {
    gantry_runtime_t *runtime = hostile_open("gpu=1;withhold=1");
    float first;
    (void)add_often(runtime, 1, &first); /* this call builds the program */
    hostile_layer_withheld_t withheld = add_often(runtime, OPS, &first);
    print_message("%llu commands, at most %llu withheld, %llu of them while the device was idle\n",
                  (unsigned long long)withheld.commands, (unsigned long long)withheld.most_withheld,
                  (unsigned long long)withheld.idle);
    assert_true(first == OPS + 1);
    assert_true(withheld.commands >= OPS);
    assert_true(withheld.most_withheld <= MOST_WITHHELD);
    gantry_runtime_release(runtime);
}

TEST(the_first_command_of_an_idle_device_starts_at_once) {
    gantry_runtime_t *runtime = hostile_open("gpu=1;withhold=1");
    float first;
    (void)add_often(runtime, 1, &first);
    for (int round = 0; round < 3; ++round) {
        hostile_layer_withheld_t withheld = add_often(runtime, 1, &first);
        assert_true(first == 2);
        assert_true(withheld.starts > 0); /* before the read */
    }
    gantry_runtime_release(runtime);
}

int main(void) {
    const int code = hostile_prepare();
    if (code != 0) return code;
    return test_main();
}
