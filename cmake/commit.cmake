# cmake -DSOURCE=folder -DOUTPUT=commit.cc -P commit.cmake: writes C++ of penstock::Commit(). Every build runs it. It leaves a file
# with the same bytes alone, so that only a new commit compiles and links.

# `git archive` replaces the contents of commit.txt (.gitattributes).
file(STRINGS "${SOURCE}/cmake/commit.txt" commit)
if(commit MATCHES "^[0-9a-f]+$")
  string(SUBSTRING "${commit}" 0 12 commit)
else()
  set(commit unknown)
  if(EXISTS "${SOURCE}/.git")  # not a clone that contains the folder
    execute_process(COMMAND git -C "${SOURCE}" describe --always --abbrev=12 --exclude=* --dirty=+changes
                    OUTPUT_VARIABLE described OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
    if(NOT failed)
      set(commit "${described}")
    endif()
  endif()
endif()

set(text "#include \"base/commit.h\"

namespace penstock {

std::string_view Commit() { return \"${commit}\"; }

}  // namespace penstock
")
set(old "")
if(EXISTS "${OUTPUT}")
  file(READ "${OUTPUT}" old)
endif()
if(NOT text STREQUAL old)
  file(WRITE "${OUTPUT}" "${text}")
endif()
