# Libraries found by pkg-config. CMake's pkg_check_modules() runs it 18 times for each library, and a run for gRPC takes at
# least half a second. This function runs it once.
find_program(PKG_CONFIG_EXECUTABLE pkg-config REQUIRED)

# penstock_pkg_config(NAME MODULE): declares the imported target PkgConfig::NAME, unless it exists.
function(penstock_pkg_config name module)
  if(TARGET PkgConfig::${name})
    return()
  endif()
  if(NOT DEFINED PENSTOCK_${name}_FLAGS)
    execute_process(COMMAND "${PKG_CONFIG_EXECUTABLE}" --cflags --libs "${module}"
      OUTPUT_VARIABLE flags ERROR_VARIABLE errors RESULT_VARIABLE result OUTPUT_STRIP_TRAILING_WHITESPACE)
    if(NOT result EQUAL 0)
      message(FATAL_ERROR "pkg-config does not find ${module}; is its -dev package installed?\n${errors}")
    endif()
    message(STATUS "Found ${module} with pkg-config")
    set(PENSTOCK_${name}_FLAGS "${flags}" CACHE INTERNAL "Flags that pkg-config reports for ${module}")
  endif()
  separate_arguments(flags UNIX_COMMAND "${PENSTOCK_${name}_FLAGS}")
  list(FILTER flags EXCLUDE REGEX "^-Wl,--(push-state|pop-state|as-needed)")  # CMake would separate them from their libraries
  list(REMOVE_ITEM flags -DNOMINMAX)  # For Windows only. Precompiled headers need files with the same definitions.
  # Keeps the last occurrence of each library.
  list(REVERSE flags)
  list(REMOVE_DUPLICATES flags)
  list(REVERSE flags)
  add_library(PkgConfig::${name} INTERFACE IMPORTED GLOBAL)
  foreach(flag IN LISTS flags)
    if(flag MATCHES "^-I(.+)")
      target_include_directories(PkgConfig::${name} INTERFACE "${CMAKE_MATCH_1}")
    elseif(flag MATCHES "^-D(.+)")
      target_compile_definitions(PkgConfig::${name} INTERFACE "${CMAKE_MATCH_1}")
    elseif(flag MATCHES "^-L(.+)")
      target_link_directories(PkgConfig::${name} INTERFACE "${CMAKE_MATCH_1}")
    elseif(flag MATCHES "^-(l|Wl,|pthread)")
      target_link_libraries(PkgConfig::${name} INTERFACE "${flag}")
    else()
      target_compile_options(PkgConfig::${name} INTERFACE "${flag}")
    endif()
  endforeach()
endfunction()
