#include "client/cli/npy_writer.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/npy_header.h"
#include "base/status_macros.h"
#include "pipeline/batch/dtype.h"

namespace penstock::cli {

std::string_view NpyDescr(ElementType type) {
  if (type == ElementType::kString) return "|u1";
  if (type == ElementType::kBfloat16) return "|V2";
  return batch::DTypeNpyDescr(static_cast<batch::DType>(type));
}

absl::Status WriteNpy(const std::string& path, std::string_view descr, const std::vector<int64_t>& shape,
                      const void* data, size_t bytes) {
  std::FILE* file = std::fopen(path.c_str(), "wb");
  if (file == nullptr) return ErrnoStatus(errno, absl::StrCat("creating ", path));
  const std::string header = NpyHeaderText(descr, shape);
  const bool written = std::fwrite(header.data(), 1, header.size(), file) == header.size() &&
                       (bytes == 0 || std::fwrite(data, 1, bytes, file) == bytes);
  const int error = errno;
  if (std::fclose(file) != 0 || !written) return ErrnoStatus(written ? errno : error, absl::StrCat("writing ", path));
  return absl::OkStatus();
}

namespace {

absl::Status WriteColumn(const ColumnView& column, const std::string& prefix) {
  std::string name = column.info().name;
  std::replace(name.begin(), name.end(), '/', '_');
  const std::string stem = absl::StrCat(prefix, ".", name);
  const ColumnInfo& info = column.info();
  const auto splits = column.row_splits();
  if (info.type == ElementType::kString) {
    std::string bytes;
    std::vector<int64_t> offsets = {0};
    for (size_t i = 0; i < column.string_count(); ++i) {
      bytes += column.string(i);
      offsets.push_back(static_cast<int64_t>(bytes.size()));
    }
    PS_RETURN_IF_ERROR(
        WriteNpy(stem + ".npy", "|u1", {static_cast<int64_t>(bytes.size())}, bytes.data(), bytes.size()));
    PS_RETURN_IF_ERROR(WriteNpy(stem + ".offsets.npy", "<i8", {static_cast<int64_t>(offsets.size())}, offsets.data(),
                                offsets.size() * sizeof(int64_t)));
  } else {
    std::vector<int64_t> shape = {info.ragged ? (splits.empty() ? 0 : splits[splits.size() - 1])
                                              : static_cast<int64_t>(column.rows())};
    shape.insert(shape.end(), info.shape.begin(), info.shape.end());
    PS_RETURN_IF_ERROR(WriteNpy(stem + ".npy", NpyDescr(info.type), shape, column.raw(), column.bytes()));
  }
  if (splits.empty()) return absl::OkStatus();
  return WriteNpy(stem + ".row_splits.npy", "<i8", {static_cast<int64_t>(splits.size())}, splits.data(),
                  splits.size() * sizeof(int64_t));
}

}  // namespace

absl::Status WriteBatchAsNpy(const Batch& batch, const std::string& prefix) {
  for (const ColumnView& column : batch.columns()) PS_RETURN_IF_ERROR(WriteColumn(column, prefix));
  const auto rows = static_cast<int64_t>(batch.rows());
  static_assert(sizeof(RowId) == 2 * sizeof(int64_t), "ids are written with their layout in memory");
  PS_RETURN_IF_ERROR(
      WriteNpy(prefix + ".id.npy", "<i8", {rows, 2}, batch.ids().data(), batch.ids().size() * sizeof(RowId)));
  if (!batch.datasets().empty()) {
    PS_RETURN_IF_ERROR(WriteNpy(prefix + ".dataset.npy", "<i4", {rows}, batch.datasets().data(),
                                batch.datasets().size() * sizeof(int32_t)));
  }
  // Omitted if it would equal the ids.
  if (batch.sources() != batch.ids()) {
    PS_RETURN_IF_ERROR(WriteNpy(prefix + ".source.npy", "<i8", {rows, 2}, batch.sources().data(),
                                batch.sources().size() * sizeof(RowId)));
  }
  return WriteNpy(prefix + ".valid.npy", "|u1", {rows}, batch.valid().data(), batch.valid().size());
}

}  // namespace penstock::cli
