#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Promise: cmake/embed_text.cmake keeps tokens, lines and directives of a device text, drops the rest, and packs the
# text to what kernels/common/packed_text.c unpacks; it refuses a text without an end.
#
# embed_text.sh SOURCE_DIR WORK_DIR.
set -eu
source=$1 work=$2
rm -rf "$work"
mkdir -p "$work"
cd "$work"

embed() { cmake -DTEXT="$1" -DSTEM=sample -DOUT=sample.c -P "$source/cmake/embed_text.cmake"; }

cat >sample.cl <<'END'
/* two
 * lines */
#define NEGATIVE (-1) /* a blank must stay */
#define SUM(a, b) \
    (a) +         \
        (b)
int f(int a, int b, int *c) {
    int le = a - -b, e = 0x1e + 1;
    e = le + (a & b) / *c;
    return a ? e : le - +b; /* last */
}
_Pragma("unroll") for ( ; ; )
END
cat >expected <<'END'


#define NEGATIVE (-1)
#define SUM(a, b) \
(a)+ \
(b)
int f(int a,int b,int*c){
int le=a- -b,e=0x1e +1;
e=le +(a&b)/ *c;
return a?e:le - +b;
}
_Pragma("unroll") for ( ; ; )
END
cat >main.c <<'END'
#include <stdio.h>
#include "kernels/common/packed_text.h"
extern const unsigned char gantry__text_sample[];
static char text[1 << 20];
int main(void) {
    if (gantry__k_text_length(gantry__text_sample) >= sizeof text) return 1;
    gantry__k_text_unpack(gantry__text_sample, text);
    return fputs(text, stdout) < 0;
}
END
# check FILE EXPECTED
check() {
    embed "$1"
    "${CC:-cc}" -I "$source" -o print main.c sample.c "$source/kernels/common/packed_text.c"
    ./print >embedded
    diff "$2" embedded || { echo "FAILED: the embedded text of $1 is not the expected one"; exit 1; }
}
check sample.cl expected

# A text of many symbols, with copies short and long, from near and far.
awk 'BEGIN {
    x = 1
    for (i = 0; i < 3000; ++i) {
        x = (x * 16807) % 2147483647
        printf("#%d x%cx%cx%s\n", x % 1000, 33 + x % 94, 33 + i % 94, i % 500 ? "" : sprintf("%600d", i))
    }
}' | tr -d '"\\/' >long.cl
check long.cl long.cl
[ "$(wc -c <sample.c)" -lt 100000 ] || { echo "FAILED: the long text is not packed"; exit 1; }

printf 'int a; /* no end\n' >comment.cl
printf 'int a;' >line.cl
for text in comment line; do
    ! embed $text.cl >log 2>&1 || { echo "FAILED: $text.cl was accepted"; exit 1; }
    grep -q 'no end' log || { cat log; echo "FAILED: the message does not say what has no end"; exit 1; }
done
