#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# embed_text.sh SOURCE_DIR WORK_DIR: cmake/embed_text.cmake keeps tokens, lines and directives of a device text, and
# drops the rest; it refuses a text without an end.
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
embed sample.cl
cat >main.c <<'END'
#include <stdio.h>
extern const char gantry__text_sample[];
int main(void) { return fputs(gantry__text_sample, stdout) < 0; }
END
"${CC:-cc}" -o print main.c sample.c
./print >embedded
diff expected embedded || { echo "FAILED: the embedded text is not the expected one"; exit 1; }

printf 'int a; /* no end\n' >comment.cl
printf 'int a;' >line.cl
for text in comment line; do
    ! embed $text.cl >log 2>&1 || { echo "FAILED: $text.cl was accepted"; exit 1; }
    grep -q 'no end' log || { cat log; echo "FAILED: the message does not say what has no end"; exit 1; }
done
