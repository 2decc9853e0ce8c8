#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Promise: No library calls a function of C that follows the program's locale: base/ascii.h and shared/c_locale.h stand
# in for them.
#
# locale.sh SOURCE_DIR.
#
# The command, the benches and the tests are programs, which set none. Windows' C library has no other way to keep the
# locale of a thread.
set -eu
cd "$1"
files=$(find src train onnx backends kernels integrations/tensorflow/src integrations/onnxruntime/src -name '*.[ch]')
count=$(printf '%s\n' "$files" | wc -l)
[ "$count" -ge 500 ] || { echo "only $count source files were found in $1"; exit 1; }
calls='(to(lower|upper)|is(alnum|alpha|blank|cntrl|digit|graph|lower|print|punct|space|upper)|strn?casecmp|strcoll|strto(d|f|ld)|atof|setlocale)'
found=$(printf '%s\n' "$files" | grep -vE '^(train/(model/watching|strategy/compare)|src/base/os/windows/locale)\.c$' | xargs grep -nE "(^|[^_a-zA-Z0-9\"])$calls *\\(" || true)
[ -z "$found" ] || { echo "these follow the program's locale:"; echo "$found"; exit 1; }
echo "$count source files"
