# SPDX-License-Identifier: Apache-2.0
# For gdb in the root of a clone (docs/debugging.md): gdb -x .gdbinit PROGRAM, or once for all
#   echo "add-auto-load-safe-path $PWD/.gdbinit" >>~/.gdbinit

# gdb takes two underscores for Ada's mark between a package and its function, and would print gantry.call_op.
set print demangle off
