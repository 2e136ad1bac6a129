// The index of Megatron-LM's tokens: the .idx file beside a .bin file (megatron/core/datasets/indexed_dataset.py).
//
//   9 bytes "MMIDIDX\0\0", u64 version 1, u8 code of the numbers' type, u64 sequences, u64 documents + 1;
//   i32 length of each sequence in numbers, i64 offset of each sequence in bytes of the .bin file,
//   i64 first sequence of each document, and their end.
// Numbers are little-endian. Later parts, such as the modes of multimodal data, are not read.
#ifndef PENSTOCK_PIPELINE_SOURCES_NPY_MEGATRON_INDEX_H_
#define PENSTOCK_PIPELINE_SOURCES_NPY_MEGATRON_INDEX_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace penstock::sources {

inline constexpr std::string_view kMegatronMagic("MMIDIDX\0\0", 9);

struct MegatronIndex {
  std::string descr;                // NumPy's name of the numbers' type
  uint32_t number_bytes = 0;        // bytes of each number
  std::vector<uint32_t> sequences;  // numbers of each; the sequences follow one another in the .bin file
};

// Parses the content of an .idx file. Returns InvalidArgument if it is malformed, its numbers are no integers, or its
// sequences do not follow one another from the front of the .bin file. Never allocates more than its size.
absl::StatusOr<MegatronIndex> ParseMegatronIndex(std::string_view content);

}  // namespace penstock::sources

#endif  // PENSTOCK_PIPELINE_SOURCES_NPY_MEGATRON_INDEX_H_
