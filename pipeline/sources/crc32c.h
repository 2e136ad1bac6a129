// CRC-32C (Castagnoli) of TFRecord files and of the members of tar archives, computed by isa-l.
#ifndef PENSTOCK_PIPELINE_SOURCES_CRC32C_H_
#define PENSTOCK_PIPELINE_SOURCES_CRC32C_H_

#include <cstdint>
#include <string_view>

namespace penstock::sources {

// Returns the usual CRC-32C: the initial value and the final XOR are all ones. Crc32c("123456789") is 0xE3069283.
uint32_t Crc32c(std::string_view bytes);

// Continues a CRC: Crc32cExtend(Crc32c(a), b) == Crc32c(a + b).
uint32_t Crc32cExtend(uint32_t crc, std::string_view bytes);

// Returns the form in which TFRecord stores a CRC: rotated right by 15 bits, plus a constant
// (tensorflow/tsl/lib/hash/crc32c.h). An unmasked CRC of bytes that contain CRCs is weak.
constexpr uint32_t MaskCrc(uint32_t crc) { return ((crc >> 15) | (crc << 17)) + 0xa282ead8u; }

// Returns MaskCrc(Crc32c(bytes)).
inline uint32_t MaskedCrc32c(std::string_view bytes) { return MaskCrc(Crc32c(bytes)); }

}  // namespace penstock::sources

#endif  // PENSTOCK_PIPELINE_SOURCES_CRC32C_H_
