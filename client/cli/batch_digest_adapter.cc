#include "client/cli/batch_digest_adapter.h"

#include <string_view>
#include <vector>

namespace penstock::cli {
namespace {

void AddColumn(const ColumnView& column, size_t row, batch::BatchDigest* digest) {
  const ColumnInfo& info = column.info();
  const char* bytes = static_cast<const char*>(column.raw());
  const auto splits = column.row_splits();
  if (info.type == ElementType::kString) {
    // A scalar string column has one element for each row and may omit the splits.
    const auto begin = splits.empty() ? row : static_cast<size_t>(splits[row]);
    const auto end = splits.empty() ? row + 1 : static_cast<size_t>(splits[row + 1]);
    std::vector<std::string_view> strings;
    for (size_t i = begin; i < end; ++i) strings.push_back(column.string(i));
    digest->AddRaggedStrings(strings);
  } else if (info.ragged) {
    const auto elements = static_cast<size_t>(splits[splits.size() - 1]);
    const size_t element_bytes = elements == 0 ? 0 : column.bytes() / elements;
    const auto begin = static_cast<size_t>(splits[row]), end = static_cast<size_t>(splits[row + 1]);
    digest->AddRaggedNumbers(static_cast<uint32_t>(end - begin),
                             {bytes + begin * element_bytes, (end - begin) * element_bytes});
  } else {
    const size_t row_bytes = column.bytes() / column.rows();
    digest->AddFixed({bytes + row * row_bytes, row_bytes});
  }
}

}  // namespace

void DigestOfBatches::Add(const Batch& batch) {
  for (size_t row = 0; row < batch.rows(); ++row) {
    digest_.BeginRow(batch.ids()[row].shard, batch.ids()[row].record, batch.valid()[row] != 0,
                     batch.datasets().empty() ? 0 : batch.datasets()[row]);
    for (const ColumnView& column : batch.columns()) AddColumn(column, row, &digest_);
  }
}

}  // namespace penstock::cli
