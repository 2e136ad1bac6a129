# cmake --install runs this after it has installed the files to which the pages link. It writes the pages. A link to a part of
# the source tree that is not installed becomes its text.
#   source_dir, doc_dir: set by CMakeLists.txt

cmake_minimum_required(VERSION 3.25)  # a script has no policies of its own

if(IS_ABSOLUTE "${doc_dir}")
  set(full_doc "$ENV{DESTDIR}${doc_dir}")
else()
  set(full_doc "$ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}/${doc_dir}")
endif()

file(GLOB pages RELATIVE "${source_dir}" "${source_dir}/docs/*.md" "${source_dir}/docs/coming-from/*.md")
list(APPEND pages README.md CHANGELOG.md)
foreach(page IN LISTS pages)
  file(READ "${source_dir}/${page}" left)
  get_filename_component(folder "${page}" DIRECTORY)
  set(text "")
  # Handles one link at a time: CMake's lists would join text between brackets.
  while(left MATCHES "\\[([^]\n]*)\\]\\(([^) \n]+)\\)")
    set(link "${CMAKE_MATCH_0}")
    set(shown "${CMAKE_MATCH_1}")
    string(REGEX REPLACE "#.*$" "" target "${CMAKE_MATCH_2}")
    string(FIND "${left}" "${link}" at)
    string(LENGTH "${link}" length)
    string(SUBSTRING "${left}" 0 ${at} before)
    math(EXPR behind "${at} + ${length}")
    string(SUBSTRING "${left}" ${behind} -1 left)
    get_filename_component(linked "${folder}/${target}" ABSOLUTE BASE_DIR /)
    string(REGEX REPLACE "^/" "" linked "${linked}")
    if(target MATCHES "^[a-z]+:" OR target STREQUAL "" OR linked IN_LIST pages OR EXISTS "${full_doc}/${linked}")
      string(APPEND text "${before}${link}")
    else()
      string(APPEND text "${before}${shown}")
    endif()
  endwhile()
  message(STATUS "Installing: ${full_doc}/${page}")
  file(WRITE "${full_doc}/${page}" "${text}${left}")
endforeach()
