#include "pipeline/sources/npy/megatron_index.h"

#include <cstddef>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/little_endian.h"

namespace penstock::sources {
namespace {

constexpr size_t kHeaderBytes = kMegatronMagic.size() + sizeof(uint64_t) + 1 + 2 * sizeof(uint64_t);

struct IntegerType {
  uint8_t code;
  const char* descr;
  uint32_t bytes;
};
// The codes 6 and 7 are floating-point numbers.
constexpr IntegerType kIntegers[] = {{1, "|u1", 1}, {2, "|i1", 1}, {3, "<i2", 2},
                                     {4, "<i4", 4}, {5, "<i8", 8}, {8, "<u2", 2}};

}  // namespace

absl::StatusOr<MegatronIndex> ParseMegatronIndex(std::string_view content) {
  if (!content.starts_with(kMegatronMagic)) return absl::InvalidArgumentError("it does not begin with MMIDIDX");
  if (content.size() < kHeaderBytes) return absl::InvalidArgumentError("it ends inside its header");
  const char* at = content.data() + kMegatronMagic.size();
  if (const auto version = LoadLittleEndian<uint64_t>(at); version != 1) {
    return absl::InvalidArgumentError(absl::StrCat("it has version ", version, ", not 1"));
  }
  at += sizeof(uint64_t);
  const auto code = static_cast<uint8_t>(*at++);
  MegatronIndex index;
  for (const IntegerType& type : kIntegers) {
    if (type.code != code) continue;
    index.descr = type.descr;
    index.number_bytes = type.bytes;
  }
  if (index.number_bytes == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("its numbers have the type of code ", code, ", which is no integer"));
  }
  const auto count = LoadLittleEndian<uint64_t>(at);
  const size_t left = content.size() - kHeaderBytes;
  constexpr size_t kEntryBytes = sizeof(int32_t) + sizeof(int64_t);
  if (count > left / kEntryBytes) {
    return absl::InvalidArgumentError(absl::StrCat("it ends before the end of its ", count, " sequences"));
  }
  const char* const lengths = content.data() + kHeaderBytes;
  const char* const offsets = lengths + count * sizeof(int32_t);
  index.sequences.reserve(count);
  uint64_t end = 0;
  for (uint64_t i = 0; i < count; ++i) {
    const auto length = LoadLittleEndian<int32_t>(lengths + i * sizeof(int32_t));
    const auto offset = LoadLittleEndian<int64_t>(offsets + i * sizeof(int64_t));
    if (length < 0) return absl::InvalidArgumentError(absl::StrCat("sequence ", i, " has the length ", length));
    if (offset < 0 || static_cast<uint64_t>(offset) != end) {
      return absl::InvalidArgumentError(
          absl::StrCat("sequence ", i, " begins at byte ", offset, ", and the one before it ends at byte ", end));
    }
    end += uint64_t{static_cast<uint32_t>(length)} * index.number_bytes;
    index.sequences.push_back(static_cast<uint32_t>(length));
  }
  return index;
}

}  // namespace penstock::sources
