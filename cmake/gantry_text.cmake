# SPDX-License-Identifier: Apache-2.0
# Turns X.cl into a C source that defines `const char gantry__text_X[]`, and adds it to a target. The source is made once for all targets.
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

# Writes generated/<file>, which declares the texts.
function(gantry_declare_texts file)
  set(declarations "")
  foreach(text IN LISTS ARGN)
    get_filename_component(stem ${text} NAME_WE)
    string(APPEND declarations "extern const char gantry__text_${stem}[];\n")
  endforeach()
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/generated/${file} CONTENT "/* Made by cmake/gantry_text.cmake. */\n@declarations@" @ONLY)
endfunction()
