# Headers that are compiled once for many files. Reading them takes half the compile time of a small file.
option(PENSTOCK_PRECOMPILED_HEADERS "Precompile the headers that most files include" ON)

set(common_headers
  <algorithm> <array> <atomic> <chrono> <cmath> <condition_variable> <cstdint> <cstdio> <cstring> <deque> <filesystem>
  <functional> <map> <memory> <mutex> <optional> <set> <span> <stop_token> <string> <string_view> <thread> <unordered_map>
  <utility> <variant> <vector>
  "absl/base/thread_annotations.h" "absl/container/flat_hash_map.h" "absl/status/status.h" "absl/status/statusor.h"
  "absl/strings/str_cat.h" "absl/strings/str_join.h" "absl/synchronization/mutex.h" "absl/time/time.h"
  "absl/types/span.h")
list(TRANSFORM common_headers REPLACE "^absl/.*" "<\\0>")
# Two sets, so that a change of the wire recompiles only files that include it.
set(message_headers <penstock/v1/job.pb.h>)
set(wire_headers <penstock/v1/control.pb.h> <penstock/v1/data.pb.h> <grpcpp/grpcpp.h>)

# penstock_precompiled_headers(NAME HEADERS <h>... [DEPS lib...]): declares the headers NAME, for penstock_precompiled().
function(penstock_precompiled_headers name)
  cmake_parse_arguments(ARG "" "" "HEADERS;DEPS" ${ARGN})
  if(NOT PENSTOCK_PRECOMPILED_HEADERS OR NOT CMAKE_CXX_COMPILER_ID MATCHES "^(GNU|Clang)$")
    return()
  endif()
  set(source "${PROJECT_BINARY_DIR}/${name}.cc")
  file(CONFIGURE OUTPUT "${source}" CONTENT "")
  add_library(${name} OBJECT EXCLUDE_FROM_ALL "${source}")
  target_link_libraries(${name} PRIVATE ${ARG_DEPS})
  target_precompile_headers(${name} PRIVATE ${ARG_HEADERS})
  penstock_launch_precompiled(${name} without_old_pch.sh)
endfunction()

# Compiles TARGET with ccache: with GCC through SCRIPT, unless it is empty, and with clang through clang_precompiled.sh.
function(penstock_launch_precompiled target script)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    set(script clang_precompiled.sh)
  endif()
  if(script AND CMAKE_CXX_COMPILER_LAUNCHER)
    set_target_properties(${target} PROPERTIES CXX_COMPILER_LAUNCHER
      "${PROJECT_SOURCE_DIR}/cmake/${script};${CMAKE_CXX_COMPILER_LAUNCHER}")
  endif()
endfunction()

# Makes TARGET's files begin with the precompiled headers NAME. Both must be compiled with the same flags.
function(penstock_precompiled target name)
  if(TARGET ${name})
    # A library with another definition makes the build slower, and must not break it. GCC 12 also reports false errors in
    # std::string (its bugs 105329 and 105651). In a precompiled header it attributes them to the file that uses it.
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
      target_compile_options(${target} PRIVATE -Wno-error=invalid-pch -Wno-array-bounds -Wno-restrict
                             -Wno-stringop-overflow -Wno-stringop-overread)
    endif()
    target_precompile_headers(${target} REUSE_FROM ${name})
    penstock_launch_precompiled(${target} "")
  endif()
endfunction()
