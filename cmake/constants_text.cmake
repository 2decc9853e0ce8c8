# SPDX-License-Identifier: Apache-2.0
# cmake -DHEADER=abi_types.h -DOUT=constants.cl -P constants_text.cmake: writes the header's constants as the first
# text of every device program. A constant is a line `GANTRY_NAME = number`, or `#define GANTRY_NAME number`; flags, which
# are `1 << n`, are left out.
cmake_minimum_required(VERSION 3.22)
file(STRINGS ${HEADER} lines REGEX "^ *(#define )?GANTRY_[A-Z0-9_]+ (= )?[0-9]+ *(,|$|/)")
set(text "")
foreach(line IN LISTS lines)
  string(REGEX REPLACE "^ *(#define )?(GANTRY_[A-Z0-9_]+) (= )?([0-9]+).*" "#define \\2 \\4\n" constant "${line}")
  string(APPEND text "${constant}")
endforeach()
file(WRITE ${OUT}.tmp "${text}")
file(RENAME ${OUT}.tmp ${OUT})
