/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: DLPack structs of any numbers are refused, or read with all that their strides reach,
 * and every tensor that is made has the elements that the strides name. */
#define _XOPEN_SOURCE 700

#include "../../fuzz/fuzz_dlpack.c"
#include "../../fuzz/fuzz_random.h"
#include "sanitized.h"
#include "test.h"

/* Small numbers often, so that many structs are good. */
static int64_t draw(fuzz_random_t *random, int64_t small) {
    const uint64_t kind = fuzz_below(random, 40);
    const int64_t wild = (int64_t)fuzz_random(random);
    if (kind == 0) return wild;
    if (kind == 1) return wild >> fuzz_below(random, 64);
    return (int64_t)fuzz_below(random, (uint64_t)small + 1);
}

static void fill_numbers(fuzz_random_t *random, int64_t numbers[25]) {
    static const uint8_t types[][2] = {{6, 8},  {1, 8},  {0, 16}, {2, 16}, {4, 16},
                                       {2, 32}, {0, 64}, {5, 64}, {5, 128}};
    const uint8_t *type = types[fuzz_below(random, 9)];
    for (int i = 0; i < 9; ++i) numbers[i] = draw(random, 5);
    for (int i = 9; i < 18; ++i) numbers[i] = (int64_t)((uint64_t)draw(random, 16) - 6);
    numbers[18] = (int64_t)((uint64_t)draw(random, 64) * 16);
    numbers[19] = fuzz_below(random, 30) == 0 ? draw(random, 100) : 0;
    const int32_t words[2] = {(int32_t)draw(random, 4),
                              fuzz_below(random, 30) == 0 ? (int32_t)draw(random, 14) : 1};
    const uint8_t last[4] = {type[0], type[1], fuzz_below(random, 50) != 0,
                             fuzz_below(random, 4) != 0};
    memcpy(&numbers[20], words, sizeof words);
    memcpy(&numbers[21], last, sizeof last);
}

TEST(structs_of_any_numbers_are_refused_or_read) {
    for (uint64_t i = 0; i < FEWER_FOR_SANITIZERS(30000, 3000); ++i) {
        fuzz_random_t random = fuzz_random_of(1, i);
        int64_t numbers[25] = {0};
        fill_numbers(&random, numbers);
        (void)LLVMFuzzerTestOneInput((const uint8_t *)numbers, sizeof numbers);
    }
    print_message("%d tensors were made\n", fuzz_taken);
    assert_true(fuzz_taken > FEWER_FOR_SANITIZERS(2000, 200));
    fuzz_dlpack_end();
}

int main(void) { return test_main(); }
