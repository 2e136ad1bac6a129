# cmake -DINPUT=file -DOUTPUT=file.cc -DNAMESPACE=name -DNAME=function -P embed.cmake: writes C++ of a function
# NAMESPACE::NAME() that returns the bytes of INPUT.
file(READ "${INPUT}" bytes HEX)
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "\\\\x\\1" bytes "${bytes}")
# Limits lines to a length that compilers accept: 64 bytes each.
string(REGEX REPLACE "(................................................................................................................................................................................................................................................................)" "\\1\"\n    \"" bytes "${bytes}")
file(SIZE "${INPUT}" size)
file(WRITE "${OUTPUT}" "#include <string_view>

namespace ${NAMESPACE} {

std::string_view ${NAME}() {
  static constexpr char kBytes[] =
    \"${bytes}\";
  return {kBytes, ${size}};
}

}  // namespace ${NAMESPACE}
")
