#include "pipeline/augment/features/ragged.h"

#include <algorithm>

#include "base/check.h"

namespace penstock::augment {
namespace {

uint32_t Read32(std::string_view bytes, size_t at) {
  PS_CHECK(bytes.size() >= 4 && at <= bytes.size() - 4);
  uint32_t value = 0;
  for (size_t i = 0; i < 4; ++i) value |= static_cast<uint32_t>(static_cast<uint8_t>(bytes[at + i])) << (8 * i);
  return value;
}

}  // namespace

uint32_t RaggedCount(std::string_view encoded) { return Read32(encoded, 0); }

void KeepRagged(const batch::ColumnSpec& column, const std::vector<char>& keep, std::string* encoded) {
  const std::string_view in = *encoded;
  PS_CHECK(RaggedCount(in) == keep.size());
  const size_t count = keep.size();
  const auto kept = static_cast<uint32_t>(std::count_if(keep.begin(), keep.end(), [](char k) { return k != 0; }));
  std::string out, elements;
  batch::AppendRaggedHeader(kept, &out);
  if (column.dtype != batch::DType::kString) {
    const size_t bytes = column.Bytes();
    PS_CHECK(in.size() == 4 + count * bytes);
    for (size_t i = 0; i < count; ++i) {
      if (keep[i] != 0) out.append(in.substr(4 + i * bytes, bytes));
    }
  } else {
    size_t at = 4 + 4 * count;
    for (size_t i = 0; i < count; ++i) {
      const uint32_t length = Read32(in, 4 + 4 * i);
      if (keep[i] != 0) {
        batch::AppendRaggedHeader(length, &out);
        elements.append(in.substr(at, length));
      }
      at += length;
    }
    out += elements;
  }
  *encoded = std::move(out);
}

}  // namespace penstock::augment
