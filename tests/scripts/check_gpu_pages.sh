#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Promise: The list of missed targets on a page of scripts/check-gpu gives the figure of each, also of one that is
# compared with no other library.
#
# check_gpu_pages.sh SOURCE_DIR
set -eu
source=$1
eval "$(sed -n '/^missed_targets() {/,/^}/p' "$source/scripts/check-gpu")"
got=$(missed_targets <<'END'
| card_launch | add of 4 elements, in a row | cuda:0 | 6.347 us | cuLaunchKernel | 0.628 | >= 0.833 x | MISSED |
| card_start | beyond driver and cuBLASLt | cuda:0 | 69.84 ms |  |  | <= 50 ms | MISSED |
| card_matmul | float16, n = 1024 | cuda:0 | 253.9 TFLOP/s | cuBLASLt, fastest | 0.894 | >= 0.97 x | MISSED |
| card_matmul | TF32, n = 1024 | cuda:0 | 128.9 TFLOP/s | cuBLASLt | 0.973 | >= 0.97 x | reached |
END
)
wanted='- target missed: card_launch, add of 4 elements, in a row on cuda:0: 0.628 of cuLaunchKernel, wanted >= 0.833 x
- target missed: card_start, beyond driver and cuBLASLt on cuda:0: 69.84 ms, wanted <= 50 ms
- target missed: card_matmul, float16, n = 1024 on cuda:0: 0.894 of cuBLASLt, fastest, wanted >= 0.97 x'
[ "$got" = "$wanted" ] || { printf 'the lines are\n%s\n' "$got"; exit 1; }
if grep -n 'target missed: .*: *\(of\)* *,' "$source"/bench/results/*.md; then
    echo "these targets have no number"
    exit 1
fi
pages=$(grep -l 'target missed: ' "$source"/bench/results/*.md | wc -l)
[ "$pages" -ge 2 ] || { echo "only $pages pages have missed targets"; exit 1; }
echo "each missed target has its number"
