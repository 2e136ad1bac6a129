#include "pipeline/sources/crc32c.h"

#include <isa-l/crc.h>

#include <algorithm>
#include <cstddef>

namespace penstock::sources {

uint32_t Crc32cExtend(uint32_t crc, std::string_view bytes) {
  // isa-l takes the length as an int, and the caller must invert the CRC before and after.
  constexpr size_t kPiece = size_t{1} << 30;
  uint32_t state = ~crc;
  while (!bytes.empty()) {
    const size_t n = std::min(bytes.size(), kPiece);
    // isa-l does not write through the pointer, but its declaration lacks const.
    auto* data = reinterpret_cast<unsigned char*>(const_cast<char*>(bytes.data()));
    state = crc32_iscsi(data, static_cast<int>(n), state);
    bytes.remove_prefix(n);
  }
  return ~state;
}

uint32_t Crc32c(std::string_view bytes) { return Crc32cExtend(0, bytes); }

}  // namespace penstock::sources
