# SPDX-License-Identifier: Apache-2.0
# CMakeLists.txt of the copy in which extend_training.sh follows its page: the training library and the tests that the
# page makes, on the libgantry of the build GANTRY_BUILT, which compiles in a small part of the time of all.
cmake_minimum_required(VERSION 3.22)
include(cmake/gantry_version.cmake)
project(gantry VERSION ${GANTRY_VERSION} LANGUAGES C)
set(built $ENV{GANTRY_BUILT})
set(sources $ENV{GANTRY_SOURCES})
set(CMAKE_C_STANDARD 11)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_C_FLAGS_RELWITHDEBINFO -O0)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
find_package(Threads REQUIRED)
find_path(cmocka_include cmocka.h REQUIRED)
find_library(cmocka cmocka REQUIRED)
include(cmake/gantry_flags.cmake)
include(cmake/gantry_symbols.cmake)
set(GANTRY_OS_FOLDER ${PROJECT_SOURCE_DIR}/src/base/os/posix)
include_directories(${built}/generated) # what the build makes of ops/types.def

add_library(gantry SHARED IMPORTED)
set_target_properties(gantry PROPERTIES IMPORTED_LOCATION ${built}/lib/libgantry.so INTERFACE_INCLUDE_DIRECTORIES ${PROJECT_SOURCE_DIR}/include)
function(gantry_add_base) # libgantry_internal.a has the base
endfunction()
add_subdirectory(train)

enable_testing()
add_custom_target(room_train)
file(GLOB tests RELATIVE ${PROJECT_SOURCE_DIR}/tests/unit/train ${PROJECT_SOURCE_DIR}/tests/unit/train/test_*.c)
foreach(file IN LISTS tests)
  get_filename_component(stem ${file} NAME_WE)
  if(EXISTS ${sources}/tests/unit/train/${file} AND NOT stem STREQUAL "test_train_struct_size")
    continue()
  endif()
  add_executable(${stem} tests/unit/train/${file} tests/unit/support/train_heap.c)
  gantry_target_flags(${stem})
  target_include_directories(${stem} PRIVATE . src backends backends/cpu include ${built}/generated tests/stand_ins tests/unit/support)
  target_include_directories(${stem} SYSTEM PRIVATE ${cmocka_include})
  target_compile_definitions(${stem} PRIVATE GANTRY_TEST_MODULES="${built}/lib/tests" GANTRY_TEST_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  target_link_options(${stem} PRIVATE LINKER:--wrap=gantry__reallocate)
  target_link_libraries(${stem} PRIVATE $<TARGET_OBJECTS:gantry_train_objects> ${built}/lib/libgantry_internal.a ${cmocka} Threads::Threads ${CMAKE_DL_LIBS} m)
  if(stem STREQUAL "test_train_struct_size") # as in tests/CMakeLists.txt
    set(parsed ${PROJECT_BINARY_DIR}/${stem})
    set(preprocess ${CMAKE_C_COMPILER} -E -P -I${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/include)
    add_custom_command(OUTPUT ${parsed}_calls.c
      COMMAND ${preprocess}/gantry/gantry.h -o ${parsed}.i
      COMMAND ${preprocess}/gantry_train/train.h -o ${parsed}_more.i
      COMMAND awk -v support=train_null_calls.h -f ${PROJECT_SOURCE_DIR}/tests/unit/support/null_calls.awk ${parsed}.i ${parsed}_more.i > ${parsed}_calls.c)
    target_sources(${stem} PRIVATE ${parsed}_calls.c)
  endif()
  add_dependencies(room_train ${stem})
  add_test(NAME ${stem} COMMAND ${stem} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
endforeach()
