#include "client/cli/row_text.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/half.h"
#include "base/status_macros.h"
#include "client/cli/output.h"
#include "pipeline/batch/mix_rows.h"

namespace penstock::cli {
namespace {

constexpr size_t kShownValues = 12, kShownBytes = 60;

template <typename T>
T At(const char* data, size_t i) {
  T value;
  std::memcpy(&value, data + i * sizeof(T), sizeof(T));
  return value;
}

std::string Number(batch::DType dtype, const char* data, size_t i) {
  switch (dtype) {
    case batch::DType::kUint8:
      return absl::StrCat(At<uint8_t>(data, i));
    case batch::DType::kInt8:
      return absl::StrCat(At<int8_t>(data, i));
    case batch::DType::kUint16:
      return absl::StrCat(At<uint16_t>(data, i));
    case batch::DType::kInt16:
      return absl::StrCat(At<int16_t>(data, i));
    case batch::DType::kUint32:
      return absl::StrCat(At<uint32_t>(data, i));
    case batch::DType::kInt32:
      return absl::StrCat(At<int32_t>(data, i));
    case batch::DType::kUint64:
      return absl::StrCat(At<uint64_t>(data, i));
    case batch::DType::kInt64:
      return absl::StrCat(At<int64_t>(data, i));
    case batch::DType::kFloat16:
      return absl::StrCat(HalfToFloat(At<uint16_t>(data, i)));
    case batch::DType::kBfloat16:
      return absl::StrCat(Bfloat16ToFloat(At<uint16_t>(data, i)));
    case batch::DType::kFloat32:
      return absl::StrCat(At<float>(data, i));
    case batch::DType::kFloat64:
      return absl::StrCat(At<double>(data, i));
    case batch::DType::kBool:
      return At<uint8_t>(data, i) != 0 ? "true" : "false";
    case batch::DType::kString:
      break;
  }
  return "";
}

std::string Numbers(batch::DType dtype, const char* data, size_t bytes) {
  const size_t count = bytes / batch::DTypeSize(dtype);
  std::vector<std::string> shown;
  for (size_t i = 0; i < std::min(count, kShownValues); ++i) shown.push_back(Number(dtype, data, i));
  return absl::StrCat(absl::StrJoin(shown, " "), count > kShownValues ? " ..." : "");
}

// Formats strings in the ragged encoding (pipeline/batch/row.h): the count, the lengths, then all bytes.
std::string Strings(const std::string& encoded, uint32_t count) {
  const char* const lengths = encoded.data() + sizeof(uint32_t);
  size_t at = sizeof(uint32_t) * (size_t{1} + count);
  std::vector<std::string> shown;
  for (uint32_t i = 0; i < count && i < kShownValues; ++i) {
    const auto length = At<uint32_t>(lengths, i);
    const std::string text = encoded.substr(at, std::min<size_t>(length, kShownBytes));
    shown.push_back(absl::StrCat("\"", absl::CHexEscape(text), "\"",
                                 length > kShownBytes ? absl::StrCat("... (", length, " bytes)") : ""));
    at += length;
  }
  return absl::StrCat(absl::StrJoin(shown, " "), count > kShownValues ? " ..." : "");
}

std::string TypeText(const batch::ColumnSpec& column) {
  std::vector<std::string> extents;
  if (column.ragged && !column.scalar) extents.push_back("any");
  for (const int64_t extent : column.shape) extents.push_back(absl::StrCat(extent));
  const std::string type(batch::DTypeName(column.dtype));
  return extents.empty() ? type : absl::StrCat(type, " [", absl::StrJoin(extents, ", "), "]");
}

std::string RaggedText(const batch::ColumnSpec& column, const std::string& encoded) {
  const auto count = At<uint32_t>(encoded.data(), 0);
  const std::string values =
      column.dtype == batch::DType::kString
          ? Strings(encoded, count)
          : Numbers(column.dtype, encoded.data() + sizeof(uint32_t), encoded.size() - sizeof(uint32_t));
  return column.scalar ? values : absl::StrCat(count, ": ", values);
}

struct Row {
  std::vector<std::vector<std::byte>> fixed;
  batch::RowSlot slot;
};

absl::StatusOr<Row> MakeRow(const augment::Pipeline& pipeline, std::string_view record, const SampleKey& key,
                            augment::RowScratch* scratch) {
  const batch::RowSchema& schema = pipeline.schema();
  Row row;
  for (const batch::ColumnSpec& column : schema.columns) {
    row.fixed.emplace_back(column.ragged ? 0 : column.Bytes());
    row.slot.fixed.push_back(column.ragged ? nullptr : row.fixed.back().data());
  }
  row.slot.ragged.resize(schema.columns.size());
  PS_RETURN_IF_ERROR(pipeline.MakeRow(record, key, &row.slot, scratch));
  return row;
}

void SoftenLabel(const batch::MixPlan& plan, Row* row) {
  if (!plan.integer_labels) return;
  std::vector<std::byte>& label = row->fixed[plan.label];
  const int64_t number = batch::LoadInteger(plan.label_type, label.data());
  label.resize(plan.tensors.classes * sizeof(float));
  batch::WriteSoftLabel(number, plan.tensors.classes, plan.smoothing, label.data());
}

// Mixes a row as the client does (client/assembly/group_mixer.h). If the partner cannot be made, the row stays unmixed.
void MixRow(const augment::Pipeline& pipeline, const RowMix& mix, augment::RowScratch* scratch, Row* row) {
  SoftenLabel(mix.plan, row);
  if (mix.partner == nullptr) return;
  absl::StatusOr<Row> other = MakeRow(pipeline, mix.partner->bytes, mix.partner->key, scratch);
  if (!other.ok()) return;
  SoftenLabel(mix.plan, &*other);
  std::byte* const images[] = {row->fixed[mix.plan.image].data(), other->fixed[mix.plan.image].data()};
  std::byte* const labels[] = {row->fixed[mix.plan.label].data(), other->fixed[mix.plan.label].data()};
  batch::MixGroup(mix.plan.tensors, mix.partner->draw, images, labels);
}

}  // namespace

absl::StatusOr<std::string> RowText(const augment::Pipeline& pipeline, std::string_view record, const SampleKey& key,
                                    augment::RowScratch* scratch, const RowMix* mix) {
  PS_ASSIGN_OR_RETURN(Row row, MakeRow(pipeline, record, key, scratch));
  if (mix != nullptr) MixRow(pipeline, *mix, scratch, &row);
  const batch::RowSchema schema = mix != nullptr ? batch::MixedSchema(pipeline.schema(), mix->plan) : pipeline.schema();
  size_t name_width = 0, type_width = 0;
  for (const batch::ColumnSpec& column : schema.columns) {
    name_width = std::max(name_width, column.name.size());
    type_width = std::max(type_width, TypeText(column).size());
  }
  std::string out;
  for (size_t c = 0; c < schema.columns.size(); ++c) {
    const batch::ColumnSpec& column = schema.columns[c];
    std::string name = column.name, type = TypeText(column);
    name.resize(name_width, ' ');
    type.resize(type_width, ' ');
    absl::StrAppend(
        &out, "  ", name, "  ", type, "  ",
        column.ragged ? RaggedText(column, row.slot.ragged[c])
                      : Numbers(column.dtype, reinterpret_cast<const char*>(row.fixed[c].data()), row.fixed[c].size()),
        "\n");
  }
  return out;
}

}  // namespace penstock::cli
