# Libraries are compiled in batches of files: headers of gRPC, protobuf and Abseil are then read once for each batch.
option(PENSTOCK_UNITY_BUILD "Compile the files of a target in batches. OFF: each file alone, for work on few files" ON)

# penstock_unity(TARGET): compiles TARGET's files in batches. Each file keeps a unit of its own if it has flags of its own,
# or if Highway includes it once for each CPU target (hwy/foreach_target.h).
function(penstock_unity target)
  if(NOT PENSTOCK_UNITY_BUILD)
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
  # In a batch GCC takes the types of an anonymous namespace for those of a header.
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
  get_target_property(sources ${target} SOURCES)
  foreach(source IN LISTS sources)
    cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}" OUTPUT_VARIABLE path)
    if(source MATCHES "\\.cc$" AND EXISTS "${path}")
      file(STRINGS "${path}" found REGEX "hwy/foreach_target.h")
      if(found)
        set_source_files_properties("${source}" PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
      endif()
    endif()
  endforeach()
endfunction()
