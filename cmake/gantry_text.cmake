# SPDX-License-Identifier: Apache-2.0
# Turns X.cl into a C source that defines `const unsigned char gantry__text_X[]`, and adds it to a target. The source is made
# once for all targets.
function(gantry_embed_texts target)
  foreach(text IN LISTS ARGN)
    get_filename_component(stem ${text} NAME_WE)
    set(out ${PROJECT_BINARY_DIR}/generated/text_${stem}.c)
    if(NOT TARGET gantry_text_${stem})
      add_custom_command(OUTPUT ${out}
        COMMAND ${CMAKE_COMMAND} -DTEXT=${text} -DSTEM=${stem} -DOUT=${out} -P ${PROJECT_SOURCE_DIR}/cmake/embed_text.cmake
        DEPENDS ${text} ${PROJECT_SOURCE_DIR}/cmake/embed_text.cmake COMMENT "Embedding ${stem}.cl" VERBATIM)
      add_custom_target(gantry_text_${stem} DEPENDS ${out})
    endif()
    set_source_files_properties(${out} TARGET_DIRECTORY ${target} PROPERTIES GENERATED TRUE)
    add_dependencies(${target} gantry_text_${stem})
    target_sources(${target} PRIVATE ${out})
  endforeach()
endfunction()

# The constants of include/gantry/abi_types.h as a text of device programs, gantry__text_constants.
function(gantry_embed_constants target)
  set(header ${PROJECT_SOURCE_DIR}/include/gantry/abi_types.h)
  set(text ${PROJECT_BINARY_DIR}/generated/constants.cl)
  if(NOT TARGET gantry_constants)
    add_custom_command(OUTPUT ${text}
      COMMAND ${CMAKE_COMMAND} -DHEADER=${header} -DOUT=${text} -P ${PROJECT_SOURCE_DIR}/cmake/constants_text.cmake
      DEPENDS ${header} ${PROJECT_SOURCE_DIR}/cmake/constants_text.cmake COMMENT "Writing constants.cl" VERBATIM)
    add_custom_target(gantry_constants DEPENDS ${text})
  endif()
  gantry_embed_texts(${target} ${text})
endfunction()

# Writes generated/<file>, which declares the texts.
function(gantry_declare_texts file)
  set(declarations "")
  foreach(text IN LISTS ARGN)
    get_filename_component(stem ${text} NAME_WE)
    string(APPEND declarations "extern const unsigned char gantry__text_${stem}[];\n")
  endforeach()
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/generated/${file} CONTENT "/* Made by cmake/gantry_text.cmake. */\n@declarations@" @ONLY)
endfunction()
