#include "pipeline/loader/packed_row.h"

#include <cstdint>
#include <cstring>

#include "base/check.h"

namespace penstock::loader {

size_t PackedRowBytes(const batch::RowSchema& schema, const batch::RowSlot& slot) {
  size_t bytes = 0;
  for (size_t c = 0; c < schema.columns.size(); ++c) {
    bytes += schema.columns[c].ragged ? sizeof(uint32_t) + slot.ragged[c].size() : schema.columns[c].Bytes();
  }
  return bytes;
}

std::string PackRow(const batch::RowSchema& schema, const batch::RowSlot& slot) {
  std::string packed;
  packed.reserve(PackedRowBytes(schema, slot));
  for (size_t c = 0; c < schema.columns.size(); ++c) {
    if (schema.columns[c].ragged) continue;
    packed.append(reinterpret_cast<const char*>(slot.fixed[c]), schema.columns[c].Bytes());
  }
  for (size_t c = 0; c < schema.columns.size(); ++c) {
    if (!schema.columns[c].ragged) continue;
    const auto bytes = static_cast<uint32_t>(slot.ragged[c].size());
    packed.append(reinterpret_cast<const char*>(&bytes), sizeof(bytes));
    packed.append(slot.ragged[c]);
  }
  return packed;
}

void UnpackRow(const batch::RowSchema& schema, std::string_view packed, batch::RowSlot* slot) {
  const auto take = [&packed](size_t bytes) {
    PS_CHECK(bytes <= packed.size());
    const std::string_view taken = packed.substr(0, bytes);
    packed.remove_prefix(bytes);
    return taken;
  };
  for (size_t c = 0; c < schema.columns.size(); ++c) {
    if (schema.columns[c].ragged) continue;
    const std::string_view bytes = take(schema.columns[c].Bytes());
    std::memcpy(slot->fixed[c], bytes.data(), bytes.size());
  }
  for (size_t c = 0; c < schema.columns.size(); ++c) {
    if (!schema.columns[c].ragged) continue;
    uint32_t bytes;
    std::memcpy(&bytes, take(sizeof(bytes)).data(), sizeof(bytes));
    slot->ragged[c].assign(take(bytes));
  }
}

}  // namespace penstock::loader
