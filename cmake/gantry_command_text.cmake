# SPDX-License-Identifier: Apache-2.0
# cmake -DPROGRAM=gantry -DWORDS=__complete,bash -DOUTPUT=FILE -P gantry_command_text.cmake: writes a text that the
# program prints. The program must not look for devices meanwhile, and needs no settings.
string(REPLACE "," ";" words "${WORDS}")
execute_process(COMMAND ${PROGRAM} ${words} OUTPUT_FILE ${OUTPUT} RESULT_VARIABLE code)
if(NOT code EQUAL 0)
  file(REMOVE ${OUTPUT})
  message(FATAL_ERROR "${PROGRAM} ${words} ended with ${code}")
endif()
