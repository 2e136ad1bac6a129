# A user's own ops (docs/own-ops.md): folders inside or outside this tree whose C++ is linked into penstockd and penstock.
set(PENSTOCK_OWN_OPS "" CACHE STRING "Folders with own ops, each with a CMakeLists.txt that calls penstock_own_ops()")

# penstock_own_ops(NAME SRCS a.cc... [DEPS lib...])
# Links the objects directly, so that PENSTOCK_REGISTER_OP runs although nothing refers to them. The target
# penstock_own_ops_NAME stands for the objects; a test names it in its DEPS.
function(penstock_own_ops name)
  cmake_parse_arguments(ARG "" "" "SRCS;DEPS" ${ARGN})
  set(objects penstock_own_ops_${name}_objects)
  add_library(${objects} OBJECT ${ARG_SRCS})
  target_include_directories(${objects} PRIVATE "${PROJECT_SOURCE_DIR}")
  target_link_libraries(${objects} PRIVATE penstock_augment penstock_image ${ARG_DEPS})
  add_library(penstock_own_ops_${name} INTERFACE)
  target_sources(penstock_own_ops_${name} INTERFACE $<TARGET_OBJECTS:${objects}>)
  target_link_libraries(penstock_own_ops_${name} INTERFACE penstock_augment penstock_image ${ARG_DEPS})
  set_property(GLOBAL APPEND PROPERTY PENSTOCK_OWN_OPS_TARGETS penstock_own_ops_${name})
endfunction()

# Declares penstock_linked_own_ops: all ops of the folders in PENSTOCK_OWN_OPS. Empty if there are none.
function(penstock_link_own_ops)
  set(number 0)
  foreach(folder IN LISTS PENSTOCK_OWN_OPS)
    get_filename_component(folder "${folder}" ABSOLUTE BASE_DIR "${PROJECT_SOURCE_DIR}")
    if(NOT EXISTS "${folder}/CMakeLists.txt")
      message(FATAL_ERROR "PENSTOCK_OWN_OPS: ${folder} has no CMakeLists.txt (see docs/own-ops.md)")
    endif()
    message(STATUS "Own ops: ${folder}")
    add_subdirectory("${folder}" "${PROJECT_BINARY_DIR}/own_ops/${number}")
    math(EXPR number "${number} + 1")
  endforeach()
  get_property(targets GLOBAL PROPERTY PENSTOCK_OWN_OPS_TARGETS)
  add_library(penstock_linked_own_ops INTERFACE)
  target_link_libraries(penstock_linked_own_ops INTERFACE ${targets})
endfunction()
