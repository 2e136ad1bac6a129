# Language level, warnings and sanitizers of Penstock's own code.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

# Rows must have the same bytes on every machine, so the compiler must not contract a*b+c into one rounding.
add_compile_options(-ffp-contract=off)
add_compile_options(-fno-omit-frame-pointer)

# Builds in different folders have the same bytes. The presets for debuggers, sanitizers and coverage keep the whole paths
# for debuggers: there only __FILE__ is without the folder, so that clones share the objects in the compiler cache.
if(CMAKE_BUILD_TYPE STREQUAL "Release" AND NOT PENSTOCK_SANITIZE)
  add_compile_options("-ffile-prefix-map=${PROJECT_SOURCE_DIR}/=")
else()
  add_compile_options("-fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=")
endif()

if(PENSTOCK_SANITIZE)
  add_compile_options(-fsanitize=${PENSTOCK_SANITIZE} -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${PENSTOCK_SANITIZE})
endif()

# Warnings are errors in Penstock's code. Generated protobuf code does not link this target.
add_library(penstock_warnings INTERFACE)
target_compile_options(penstock_warnings INTERFACE
  -Wall -Wextra -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual -Wno-unused-parameter -Werror
  $<$<CXX_COMPILER_ID:Clang>:-Wthread-safety -Wthread-safety-beta>
  # GCC 14 reports vectors inside a newly made std::variant as uninitialized.
  $<$<AND:$<CXX_COMPILER_ID:GNU>,$<VERSION_GREATER_EQUAL:$<CXX_COMPILER_VERSION>,13>>:-Wno-maybe-uninitialized>)

# Clones in other folders share one compiler cache, including precompiled headers: paths are relative to the clone's root.
find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER
    env "CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}" CCACHE_NOHASHDIR=1 CCACHE_SLOPPINESS=pch_defines,time_macros
    "${CCACHE_PROGRAM}")
  set(CMAKE_C_COMPILER_LAUNCHER "${CMAKE_CXX_COMPILER_LAUNCHER}")
endif()
