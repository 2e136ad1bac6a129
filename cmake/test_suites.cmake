# ctest runs this at its start. It makes an entry for each suite of a test program, so that a failure names its suite and the
# suites of one program run in parallel, each in its own process.

# penstock_add_suites(NAME PROGRAM WORKING_DIRECTORY SIDE_BY_SIDE PROPERTY VALUE...)
# SIDE_BY_SIDE: a list of suites whose tests run at the same time.
function(penstock_add_suites name program folder side_by_side)
  if(NOT EXISTS "${program}")
    add_test("${name}_IS_NOT_BUILT" "${program}")
    set_tests_properties("${name}_IS_NOT_BUILT" PROPERTIES ${ARGN})
    return()
  endif()
  # Keeps the list next to the program, until the program is newer.
  set(list "${program}.suites")
  if("${program}" IS_NEWER_THAN "${list}")
    execute_process(COMMAND "${program}" --gtest_list_tests WORKING_DIRECTORY "${folder}"
      OUTPUT_VARIABLE output ERROR_VARIABLE errors RESULT_VARIABLE result)
    if(NOT result EQUAL 0)
      message(WARNING "${program} --gtest_list_tests: ${result}\n${errors}")
      add_test("${name}" "${program}")  # the test fails and shows the reason
      set_tests_properties("${name}" PROPERTIES ${ARGN})
      return()
    endif()
    file(WRITE "${list}" "${output}")
  endif()
  file(STRINGS "${list}" suites REGEX "^[^ ]+\\.( |$)")
  foreach(suite IN LISTS suites)
    string(REGEX REPLACE "\\..*" "" suite "${suite}")
    list(FIND side_by_side "${suite}" found)
    if(found EQUAL -1)
      add_test("${name}.${suite}" "${program}" "--gtest_filter=${suite}.*")
      set_tests_properties("${name}.${suite}" PROPERTIES WORKING_DIRECTORY "${folder}" ${ARGN})
    endif()
  endforeach()
  foreach(suite IN LISTS side_by_side)
    add_test("${name}.${suite}" "${folder}/tests/support/side_by_side.sh" "${program}" "${suite}")
    set_tests_properties("${name}.${suite}" PROPERTIES WORKING_DIRECTORY "${folder}" ${ARGN})
  endforeach()
endfunction()
