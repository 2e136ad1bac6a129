#include "client/assembly/batch_builder.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/check.h"

namespace penstock {
namespace {

constexpr size_t kColumnAlignment = 256;  // alignment of columns: sufficient for device copies and vector instructions
// Largest row of a FIXED column, or element of a RAGGED column: far more than a message can carry.
constexpr size_t kMaxRowBytes = size_t{1} << 31;
constexpr char kLessAhead[] = "lower prefetch_bytes or prefetch_steps";

size_t Aligned(size_t bytes) { return (bytes + kColumnAlignment - 1) / kColumnAlignment * kColumnAlignment; }

uint32_t LoadU32(const char* bytes) {
  const auto* b = reinterpret_cast<const uint8_t*>(bytes);
  return b[0] | uint32_t{b[1]} << 8 | uint32_t{b[2]} << 16 | uint32_t{b[3]} << 24;
}

absl::Status BadColumn(const batch::ColumnSpec& column, const std::string& what) {
  return absl::InvalidArgumentError(absl::StrCat("column \"", column.name, "\" ", what));
}

}  // namespace

absl::StatusOr<std::shared_ptr<const BatchFormat>> BatchFormat::Create(batch::RowSchema schema,
                                                                       std::optional<client::BatchMix> mix,
                                                                       std::vector<std::string> sets) {
  auto format = std::make_shared<BatchFormat>();
  size_t total = 0;
  const batch::RowSchema seen = mix.has_value() ? batch::MixedSchema(schema, mix->plan) : schema;
  for (const batch::ColumnSpec& column : seen.columns) {
    if (!batch::IsDType(static_cast<int>(column.dtype))) return BadColumn(column, "has an unknown element type");
    if (column.dtype == batch::DType::kString && !column.ragged)
      return BadColumn(column, "holds strings and is not ragged");
    size_t bytes = std::max<size_t>(1, batch::DTypeSize(column.dtype));
    for (const int64_t extent : column.shape) {
      if (extent < 0 || (extent > 0 && bytes > kMaxRowBytes / static_cast<size_t>(extent))) {
        return BadColumn(column, absl::StrCat("has the impossible shape [", absl::StrJoin(column.shape, ", "), "]"));
      }
      bytes *= static_cast<size_t>(extent);
    }
    total += bytes;
    if (total > kMaxRowBytes) return BadColumn(column, absl::StrCat("makes rows larger than ", kMaxRowBytes, " bytes"));
    ColumnInfo info;
    info.name = column.name;
    info.type = static_cast<ElementType>(column.dtype);
    info.ragged = column.ragged && !column.scalar;
    info.shape = column.shape;
    format->infos.push_back(std::move(info));
    format->ragged = format->ragged || column.ragged;
  }
  format->fixed_bytes = schema.FixedBytes();
  format->memory_bytes = seen.FixedBytes();
  if (mix.has_value() && mix->plan.integer_labels) format->memory_bytes += batch::DTypeSize(mix->plan.label_type);
  format->sets = std::move(sets);
  format->schema = std::move(schema);
  format->mix = std::move(mix);
  return format;
}

BatchBuilder::BatchBuilder(std::shared_ptr<const BatchFormat> format, size_t rows,
                           std::shared_ptr<client::BatchMemory> memory)
    : format_(std::move(format)), rows_(rows), memory_(std::move(memory)), impl_(std::make_unique<Batch::Impl>()) {}

std::shared_ptr<BatchBuilder> BatchBuilder::Create(std::shared_ptr<const BatchFormat> format, size_t rows,
                                                   const std::shared_ptr<client::BatchMemory>& memory,
                                                   const client::BatchPlace& place) {
  std::shared_ptr<BatchBuilder> builder(new BatchBuilder(std::move(format), rows, memory));
  const std::vector<batch::ColumnSpec>& columns = builder->format_->schema.columns;
  const client::BatchMix* mix = builder->format_->mix.has_value() ? &*builder->format_->mix : nullptr;
  const batch::RowSchema seen =
      mix != nullptr ? batch::MixedSchema(builder->format_->schema, mix->plan) : builder->format_->schema;
  builder->cells_.resize(columns.size());
  // One block: the columns, then integer labels as received, then the ids, then the data sets,
  // then the flags.
  std::vector<size_t> offsets;
  size_t bytes = 0;
  for (size_t c = 0; c < columns.size(); ++c) {
    offsets.push_back(bytes);
    builder->row_bytes_.push_back(columns[c].ragged ? 0 : columns[c].Bytes());
    if (columns[c].ragged) {
      builder->cells_[c].resize(rows);
    } else {
      bytes += Aligned(seen.columns[c].Bytes() * rows);
    }
  }
  const size_t numbers = bytes;
  if (mix != nullptr && mix->plan.integer_labels) bytes += Aligned(batch::DTypeSize(mix->plan.label_type) * rows);
  const size_t ids = bytes;
  bytes += sizeof(RowId) * rows;
  if (builder->format_->sets.empty()) bytes = Aligned(bytes);
  const size_t sets = bytes;  // directly after the ids: feed/messages.h relies on it
  if (!builder->format_->sets.empty()) bytes += Aligned(sizeof(int32_t) * rows);
  const size_t valid = bytes;
  bytes += rows;

  client::BatchMemory::Block block = memory->Allocate(bytes);
  if (!block) return nullptr;
  builder->impl_->columns.resize(columns.size());
  for (size_t c = 0; c < columns.size(); ++c) {
    builder->fixed_.push_back(columns[c].ragged ? nullptr : block.data() + offsets[c]);
    ColumnView& view = builder->impl_->columns[c];
    view.info_ = &builder->format_->infos[c];
    view.rows_ = rows;
    if (columns[c].ragged) continue;
    view.data_ = builder->fixed_[c];
    view.bytes_ = seen.columns[c].Bytes() * rows;
  }
  if (mix != nullptr) {
    client::GroupMixer::Memory at{builder->fixed_[mix->plan.image], builder->fixed_[mix->plan.label], nullptr};
    if (mix->plan.integer_labels) {
      builder->fixed_[mix->plan.label] = block.data() + numbers;
      at.numbers = block.data() + numbers;
    }
    builder->mixer_.emplace(*mix, place, rows, at);
    builder->masked_.resize(rows);
  }
  builder->ids_ = new (block.data() + ids) RowId[rows];
  if (!builder->format_->sets.empty()) builder->sets_ = new (block.data() + sets) int32_t[rows];
  builder->valid_ = reinterpret_cast<uint8_t*>(block.data() + valid);
  builder->impl_->blocks.push_back(std::move(block));
  return builder;
}

absl::Status BatchBuilder::ReadCell(const batch::ColumnSpec& column, size_t* left, transport::SliceCursor* cursor,
                                    Cell* cell) {
  if (*left < 4 || !cursor->ReadU32(&cell->count)) return BadColumn(column, "is cut short before its count");
  *left -= 4;
  const auto short_of = [&](uint64_t bytes) {
    return BadColumn(column, absl::StrCat("has ", cell->count, " elements of ", bytes,
                                          " bytes in all, and the row has ", *left, " left"));
  };
  if (column.scalar && cell->count != 1) {
    return BadColumn(column, absl::StrCat("has ", cell->count, " elements in a row where it must have one"));
  }
  const bool strings = column.dtype == batch::DType::kString;
  uint64_t bytes = uint64_t{cell->count} * (strings ? 4 : column.Bytes());
  if (bytes > *left) return short_of(bytes);
  cell->bytes.resize(bytes);
  if (!cursor->Read(cell->bytes.data(), bytes)) return short_of(bytes);
  *left -= bytes;
  if (!strings) return absl::OkStatus();
  uint64_t text = 0;
  for (uint32_t i = 0; i < cell->count; ++i) text += LoadU32(cell->bytes.data() + size_t{4} * i);
  if (text > *left) return short_of(text);
  cell->bytes.resize(bytes + text);
  if (!cursor->Read(cell->bytes.data() + bytes, text)) return short_of(text);
  *left -= text;
  return absl::OkStatus();
}

absl::Status BatchBuilder::WriteRow(size_t row, size_t bytes, transport::SliceCursor* cursor) {
  PS_CHECK(row < rows_);
  const std::vector<batch::ColumnSpec>& columns = format_->schema.columns;
  if (bytes < format_->fixed_bytes || (!format_->ragged && bytes != format_->fixed_bytes)) {
    return absl::InvalidArgumentError(
        absl::StrCat("a row has ", bytes, " bytes, but its fixed columns have ", format_->fixed_bytes));
  }
  if (bytes > cursor->remaining()) {
    return absl::InvalidArgumentError(
        absl::StrCat("a row has ", bytes, " bytes, but the message has only ", cursor->remaining(), " left"));
  }
  for (size_t c = 0; c < columns.size(); ++c) {
    if (fixed_[c] != nullptr) PS_CHECK(cursor->Read(fixed_[c] + row * row_bytes_[c], row_bytes_[c]));
  }
  if (!format_->ragged) return absl::OkStatus();
  size_t left = bytes - format_->fixed_bytes;
  for (size_t c = 0; c < columns.size(); ++c) {
    if (!columns[c].ragged) continue;
    const absl::Status status = ReadCell(columns[c], &left, cursor, &cells_[c][row]);
    if (!status.ok()) {
      cells_[c][row] = Cell();
      return status;
    }
  }
  if (left != 0) return absl::InvalidArgumentError(absl::StrCat("a row has ", left, " bytes after its last column"));
  return absl::OkStatus();
}

batch::RowSlot BatchBuilder::SlotOf(size_t row) const {
  PS_CHECK(row < rows_);
  batch::RowSlot slot;
  slot.fixed.resize(fixed_.size(), nullptr);
  for (size_t c = 0; c < fixed_.size(); ++c) {
    if (fixed_[c] != nullptr) slot.fixed[c] = fixed_[c] + row * row_bytes_[c];
  }
  return slot;
}

void BatchBuilder::PutRagged(size_t row, std::vector<std::string> ragged) {
  PS_CHECK(row < rows_ && ragged.size() <= cells_.size());
  for (size_t c = 0; c < ragged.size(); ++c) {
    if (!format_->schema.columns[c].ragged) continue;
    PS_CHECK(ragged[c].size() >= 4);
    Cell& cell = cells_[c][row];
    cell.count = LoadU32(ragged[c].data());
    cell.bytes = std::move(ragged[c]);
    cell.bytes.erase(0, 4);
  }
}

void BatchBuilder::RowDone(size_t row, bool valid) {
  PS_CHECK(row < rows_);
  if (mixer_.has_value()) mixer_->RowDone(row, valid, masked_[row] != 0);
}

void BatchBuilder::WriteMasked(size_t row) {
  PS_CHECK(row < rows_);
  if (mixer_.has_value()) masked_[row] = 1;
  for (size_t c = 0; c < fixed_.size(); ++c) {
    if (fixed_[c] != nullptr) {
      std::memset(fixed_[c] + row * row_bytes_[c], 0, row_bytes_[c]);
      continue;
    }
    Cell& cell = cells_[c][row];
    cell = Cell();
    if (format_->schema.columns[c].scalar) {  // one empty string
      cell.count = 1;
      cell.bytes.assign(4, '\0');
    }
  }
}

absl::Status BatchBuilder::JoinRagged(size_t c) {
  const batch::ColumnSpec& column = format_->schema.columns[c];
  std::vector<Cell>& cells = cells_[c];
  const bool strings = column.dtype == batch::DType::kString;
  uint64_t count = 0;
  size_t bytes = 0;  // bytes of numbers, or of the strings' text
  for (const Cell& cell : cells) {
    count += cell.count;
    bytes += cell.bytes.size() - (strings ? size_t{4} * cell.count : 0);
  }
  // One block: row splits, then the strings' offsets, then the values.
  const size_t offsets_at = Aligned((rows_ + 1) * sizeof(int64_t));
  const size_t values_at = offsets_at + (strings ? Aligned((count + 1) * sizeof(int64_t)) : 0);
  client::BatchMemory::Block block = memory_->Allocate(values_at + bytes);
  if (!block) {
    return absl::ResourceExhaustedError(
        absl::StrCat("cannot allocate ", values_at + bytes, " bytes for column \"", column.name, "\"; ", kLessAhead));
  }
  auto* splits = new (block.data()) int64_t[rows_ + 1];
  auto* offsets = strings ? new (block.data() + offsets_at) int64_t[count + 1] : nullptr;
  std::byte* values = block.data() + values_at;
  size_t at = 0;
  size_t element = 0;
  for (size_t row = 0; row < rows_; ++row) {
    splits[row] = static_cast<int64_t>(element);
    Cell& cell = cells[row];
    size_t text = at;
    const size_t lengths = strings ? size_t{4} * cell.count : 0;
    for (uint32_t i = 0; strings && i < cell.count; ++i) {
      offsets[element + i] = static_cast<int64_t>(text);
      text += LoadU32(cell.bytes.data() + size_t{4} * i);
    }
    if (cell.bytes.size() > lengths) std::memcpy(values + at, cell.bytes.data() + lengths, cell.bytes.size() - lengths);
    at += cell.bytes.size() - lengths;
    element += cell.count;
    cell = Cell();
  }
  splits[rows_] = static_cast<int64_t>(element);
  ColumnView& view = impl_->columns[c];
  if (!column.scalar) view.row_splits_ = absl::MakeConstSpan(splits, rows_ + 1);
  if (strings) {
    offsets[count] = static_cast<int64_t>(at);
    view.string_data_ = values;
    view.string_bytes_ = bytes;
    view.string_offsets_ = absl::MakeConstSpan(offsets, count + 1);
  } else {
    view.data_ = values;
    view.bytes_ = bytes;
  }
  impl_->blocks.push_back(std::move(block));
  return absl::OkStatus();
}

absl::Status BatchBuilder::Seal(const std::vector<RowId>& ids, const std::vector<uint8_t>& valid,
                                const std::vector<RowId>& sources, const std::vector<int32_t>& sets) {
  PS_CHECK(ids.size() == rows_ && valid.size() == rows_ && (sources.empty() || sources.size() == rows_));
  PS_CHECK(sets.size() == (sets_ == nullptr ? 0 : rows_));
  std::copy(sets.begin(), sets.end(), sets_);
  impl_->sets = absl::MakeConstSpan(sets_, sets.size());
  std::copy(ids.begin(), ids.end(), ids_);
  std::copy(valid.begin(), valid.end(), valid_);
  impl_->ids = absl::MakeConstSpan(ids_, rows_);
  impl_->sources = impl_->ids;
  if (!sources.empty()) {
    client::BatchMemory::Block block = memory_->Allocate(sizeof(RowId) * rows_);
    if (!block) {
      return absl::ResourceExhaustedError(absl::StrCat("cannot allocate the sources of the rows; ", kLessAhead));
    }
    auto* const own = new (block.data()) RowId[rows_];
    std::copy(sources.begin(), sources.end(), own);
    impl_->sources = absl::MakeConstSpan(own, rows_);
    impl_->blocks.push_back(std::move(block));
  }
  impl_->valid = absl::MakeConstSpan(valid_, rows_);
  if (mixer_.has_value()) {
    const absl::Status labels = mixer_->CheckLabels(ids, format_->infos[format_->mix->plan.label].name);
    if (!labels.ok()) return labels;
  }
  for (size_t c = 0; c < cells_.size(); ++c) {
    if (format_->schema.columns[c].ragged) {
      const absl::Status joined = JoinRagged(c);
      if (!joined.ok()) return joined;
    }
  }
  return absl::OkStatus();
}

Batch BatchBuilder::Finish(uint64_t epoch, uint64_t step, uint64_t position) {
  impl_->format = format_;
  impl_->rows = rows_;
  impl_->epoch = epoch;
  impl_->step = step;
  impl_->position = position;
  return Batch(std::move(impl_));
}

}  // namespace penstock
