// CRC-32C (Castagnoli) as TFRecord files use it; isa-l does the work.
#ifndef PENSTOCK_PIPELINE_RECORDS_CRC32C_H_
#define PENSTOCK_PIPELINE_RECORDS_CRC32C_H_

#include <cstdint>
#include <string_view>

namespace penstock {

// The usual CRC-32C: initial value and final inversion all ones; Crc32c("123456789") is 0xE3069283.
uint32_t Crc32c(std::string_view bytes);

// Continues: Crc32cExtend(Crc32c(a), b) == Crc32c(a + b).
uint32_t Crc32cExtend(uint32_t crc, std::string_view bytes);

// The form in which TFRecord stores a CRC, so that a CRC of bytes that hold CRCs is no weak one:
// rotated right by 15 bits plus a constant (tensorflow/tsl/lib/hash/crc32c.h).
constexpr uint32_t MaskCrc(uint32_t crc) { return ((crc >> 15) | (crc << 17)) + 0xa282ead8u; }

// MaskCrc(Crc32c(bytes)).
inline uint32_t MaskedCrc32c(std::string_view bytes) { return MaskCrc(Crc32c(bytes)); }

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_RECORDS_CRC32C_H_
