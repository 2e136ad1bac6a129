#include "pipeline/batch/row.h"

namespace penstock::batch {

size_t ColumnSpec::Bytes() const {
  size_t bytes = DTypeSize(dtype);
  for (const int64_t extent : shape) bytes *= static_cast<size_t>(extent);
  return bytes;
}

size_t RowSchema::FixedBytes() const {
  size_t bytes = 0;
  for (const ColumnSpec& column : columns) {
    if (!column.ragged) bytes += column.Bytes();
  }
  return bytes;
}

int RowSchema::Find(const std::string& name) const {
  for (size_t i = 0; i < columns.size(); ++i) {
    if (columns[i].name == name) return static_cast<int>(i);
  }
  return -1;
}

void AppendRaggedHeader(uint32_t count, std::string* out) {
  for (int shift = 0; shift < 32; shift += 8) out->push_back(static_cast<char>(count >> shift));
}

}  // namespace penstock::batch
