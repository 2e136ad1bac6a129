#include "pipeline/batch/row_filter.h"

#include <cstring>

namespace penstock::batch {
namespace {

// The maximum last dimension that counts as channels. A larger one counts as a line.
constexpr int64_t kMostChannels = 4;

void SubtractGreen(const uint8_t* in, size_t bytes, uint8_t* out) {
  for (size_t i = 0; i + 3 <= bytes; i += 3) {
    const uint8_t green = in[i + 1];
    out[i] = static_cast<uint8_t>(in[i] - green);
    out[i + 1] = green;
    out[i + 2] = static_cast<uint8_t>(in[i + 2] - green);
  }
}

void AddGreen(uint8_t* bytes, size_t size) {
  for (size_t i = 0; i + 3 <= size; i += 3) {
    const uint8_t green = bytes[i + 1];
    bytes[i] = static_cast<uint8_t>(bytes[i] + green);
    bytes[i + 2] = static_cast<uint8_t>(bytes[i + 2] + green);
  }
}

void SubtractLine(const uint8_t* __restrict above, uint8_t* __restrict line, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i) line[i] = static_cast<uint8_t>(line[i] - above[i]);
}

void AddLine(const uint8_t* __restrict above, uint8_t* __restrict line, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i) line[i] = static_cast<uint8_t>(line[i] + above[i]);
}

}  // namespace

RowFilter::RowFilter(const RowSchema& schema) : fixed_bytes_(schema.FixedBytes()) {
  for (const ColumnSpec& column : schema.columns) {
    if (column.ragged) continue;
    Part part;
    part.bytes = column.Bytes();
    if (part.bytes == 0) continue;
    const std::vector<int64_t>& shape = column.shape;
    if (column.dtype == DType::kUint8 && shape.size() >= 2) {
      const bool pixels = shape.size() >= 3 && shape.back() <= kMostChannels;
      part.line = static_cast<size_t>(pixels ? shape[shape.size() - 2] * shape.back() : shape.back());
      part.color = pixels && shape.back() == 3;
    }
    parts_.push_back(part);
  }
}

void RowFilter::Apply(const uint8_t* fixed, uint8_t* out) const {
  for (const Part& part : parts_) {
    if (part.color) {
      SubtractGreen(fixed, part.bytes, out);
    } else {
      std::memcpy(out, fixed, part.bytes);
    }
    if (part.line > 0) {
      // Runs from the last line upward, so that the line above is still unfiltered.
      for (size_t at = part.bytes - part.line; at > 0; at -= part.line) {
        SubtractLine(out + at - part.line, out + at, part.line);
      }
    }
    fixed += part.bytes;
    out += part.bytes;
  }
}

void RowFilter::Undo(uint8_t* fixed) const {
  for (const Part& part : parts_) {
    if (part.line > 0) {
      for (size_t at = part.line; at < part.bytes; at += part.line) {
        AddLine(fixed + at - part.line, fixed + at, part.line);
      }
    }
    if (part.color) AddGreen(fixed, part.bytes);
    fixed += part.bytes;
  }
}

}  // namespace penstock::batch
