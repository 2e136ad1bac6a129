# Functions that declare Penstock's targets: one library per folder, with only the dependencies that it names.

# penstock_library(NAME SRCS a.cc b.cc [PUBLIC dep...] [PRIVATE dep...] [PRECOMPILED pch] [SEPARATE])
# SEPARATE: optimized builds compile each file alone. In batches GCC inlines less: rows of a few numbers took 3 % more CPU time.
# Headers are included by their paths from the repository's root: "pipeline/plan/epoch_plan.h".
function(penstock_library name)
  cmake_parse_arguments(ARG "SEPARATE" "PRECOMPILED" "SRCS;PUBLIC;PRIVATE" ${ARGN})
  add_library(${name} STATIC ${ARG_SRCS})
  target_include_directories(${name} PUBLIC "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>")
  target_link_libraries(${name} PUBLIC ${ARG_PUBLIC}
                        PRIVATE ${ARG_PRIVATE} $<BUILD_INTERFACE:penstock_warnings>)
  if(ARG_PRECOMPILED)
    penstock_precompiled(${name} ${ARG_PRECOMPILED})
  endif()
  if(NOT ARG_SEPARATE OR PENSTOCK_SANITIZE)
    penstock_unity(${name})
  endif()
endfunction()

# penstock_executable(NAME SRCS ... [DEPS ...])
function(penstock_executable name)
  cmake_parse_arguments(ARG "" "" "SRCS;DEPS" ${ARGN})
  add_executable(${name} ${ARG_SRCS})
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}")
  target_link_libraries(${name} PRIVATE ${ARG_DEPS} penstock_warnings)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
endfunction()

# Builds only the programs of the tests labeled unit or reference, which the sanitizers run.
if(NOT TARGET unit_tests)
  add_custom_target(unit_tests)
endif()

# penstock_test(NAME [FOLDERS dir...] [EXCEPT a_test.cc...] [SRCS a.cc...] [DEPS lib...] [LABELS ...] [TIMEOUT s] [MESSAGES]
#               [SERIAL] [SIDE_BY_SIDE suite...])
# Declares one GoogleTest program of SRCS and of the files *_test.cc in FOLDERS except EXCEPT. Every build lists the folders
# again. With the label reference it takes only the files *_reference_test.cc, without it all others. ctest has an entry for each
# suite: NAME.Suite (test_suites.cmake). MESSAGES: most of its files include messages or gRPC.
# SERIAL: ctest runs nothing else beside a suite of it, for tests that measure how long a trainer waits.
# SIDE_BY_SIDE: suites whose tests wait for most of their time. They run at the same time, each in a process of its own.
# Labels:
#   unit         the default: fast, and also run under the sanitizers. In folders that set PENSTOCK_SINGLE_THREADED_TESTS
#                not under ThreadSanitizer
#   reference    compares with another program's files, which it reads with protobuf's maps. Not under ThreadSanitizer,
#                where these maps have another layout than in the system's library
#   integration
#   faults
function(penstock_test name)
  cmake_parse_arguments(ARG "MESSAGES;SERIAL" "TIMEOUT" "FOLDERS;EXCEPT;SRCS;DEPS;LABELS;SIDE_BY_SIDE" ${ARGN})
  foreach(folder IN LISTS ARG_FOLDERS)
    file(GLOB found RELATIVE "${CMAKE_CURRENT_SOURCE_DIR}" CONFIGURE_DEPENDS "${folder}/*_test.cc")
    if("reference" IN_LIST ARG_LABELS)
      list(FILTER found INCLUDE REGEX "_reference_test.cc$")
    else()
      list(FILTER found EXCLUDE REGEX "_reference_test.cc$")
    endif()
    list(APPEND ARG_SRCS ${found})
  endforeach()
  list(REMOVE_ITEM ARG_SRCS "" ${ARG_EXCEPT})
  add_executable(${name} ${ARG_SRCS})
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}")
  target_link_libraries(${name} PRIVATE ${ARG_DEPS} GTest::gmock GTest::gtest_main penstock_warnings)
  if(ARG_MESSAGES)
    penstock_precompiled(${name} penstock_message_tests_pch)
  else()
    penstock_precompiled(${name} penstock_tests_pch)
  endif()
  penstock_unity(${name})
  if(PENSTOCK_SANITIZE MATCHES "thread")
    target_sources(${name} PRIVATE "${PROJECT_SOURCE_DIR}/tests/support/tsan_suppressions.cc")
  endif()
  if(NOT ARG_LABELS)
    set(ARG_LABELS unit)
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  if(PENSTOCK_SANITIZE)  # Sanitizers multiply the run time. The timeout only ends tests that hang.
    math(EXPR ARG_TIMEOUT "3 * ${ARG_TIMEOUT}")
  endif()
  if(CMAKE_CROSSCOMPILING)  # So does an emulator.
    math(EXPR ARG_TIMEOUT "10 * ${ARG_TIMEOUT}")
  endif()
  # ThreadSanitizer finds nothing in code that starts no thread and shares nothing.
  if(PENSTOCK_SINGLE_THREADED_TESTS AND PENSTOCK_SANITIZE MATCHES "thread")
    list(TRANSFORM ARG_LABELS REPLACE "^unit$" "single-threaded")
  endif()
  set_target_properties(${name} PROPERTIES PENSTOCK_TEST_LABELS "${ARG_LABELS}")  # for PenstockTargetList.cmake
  if("unit" IN_LIST ARG_LABELS OR ("reference" IN_LIST ARG_LABELS AND NOT PENSTOCK_SANITIZE MATCHES "thread"))
    add_dependencies(unit_tests ${name})
  endif()
  set(script "${CMAKE_CURRENT_BINARY_DIR}/${name}_suites.cmake")
  file(GENERATE OUTPUT "${script}" CONTENT "include(\"${PROJECT_SOURCE_DIR}/cmake/test_suites.cmake\")
penstock_add_suites(${name} \"$<TARGET_FILE:${name}>\" \"${PROJECT_SOURCE_DIR}\" \"${ARG_SIDE_BY_SIDE}\"
  LABELS \"${ARG_LABELS}\" TIMEOUT ${ARG_TIMEOUT} RUN_SERIAL ${ARG_SERIAL})
")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES "${script}")
endfunction()

# penstock_proto(NAME PROTOS a.proto... [GRPC b.proto...] [PUBLIC dep...]): generates C++ from .proto files below proto/.
# GRPC: those of PROTOS that declare services.
function(penstock_proto name)
  cmake_parse_arguments(ARG "" "" "PROTOS;GRPC;PUBLIC" ${ARGN})
  set(root "${PROJECT_SOURCE_DIR}/proto")
  set(out "${PROJECT_BINARY_DIR}/proto")
  file(MAKE_DIRECTORY "${out}")
  file(GLOB imports CONFIGURE_DEPENDS "${root}/penstock/v1/*.proto")  # a file may import any other
  set(sources)
  foreach(proto ${ARG_PROTOS})
    string(REGEX REPLACE "\\.proto$" "" stem "${proto}")
    set(files "${out}/${stem}.pb.cc" "${out}/${stem}.pb.h")
    set(plugin)
    if(proto IN_LIST ARG_GRPC)
      list(APPEND files "${out}/${stem}.grpc.pb.cc" "${out}/${stem}.grpc.pb.h")
      set(plugin --grpc_out=${out} --plugin=protoc-gen-grpc=${GRPC_CPP_PLUGIN})
    endif()
    add_custom_command(OUTPUT ${files}
      COMMAND ${PROTOC} -I "${root}" --cpp_out=${out} ${plugin} "${root}/${proto}"
      DEPENDS ${imports} VERBATIM)
    list(APPEND sources ${files})
  endforeach()
  add_library(${name} STATIC ${sources})
  target_include_directories(${name} SYSTEM PUBLIC "$<BUILD_INTERFACE:${out}>")
  target_link_libraries(${name} PUBLIC ${ARG_PUBLIC} PkgConfig::PROTOBUF)
  if(ARG_GRPC)
    target_link_libraries(${name} PUBLIC PkgConfig::GRPCPP)
  endif()
  # Generated code is not under test here. Optimizing it under a sanitizer, and compiling it with UBSan's checks and coverage,
  # takes minutes. Other builds use -O1, because rows' bytes do not pass through it.
  if(PENSTOCK_SANITIZE)
    target_compile_options(${name} PRIVATE -O0)
  else()
    target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O1>)
  endif()
  if(PENSTOCK_SANITIZE MATCHES "undefined")
    target_compile_options(${name} PRIVATE -fno-sanitize=undefined)
  endif()
  if(PENSTOCK_SANITIZE MATCHES "fuzzer")
    target_compile_options(${name} PRIVATE -fno-sanitize=fuzzer-no-link)
  endif()
endfunction()
