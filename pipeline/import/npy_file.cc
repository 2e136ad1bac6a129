#include "pipeline/import/npy_file.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/hash.h"
#include "base/little_endian.h"
#include "base/status_macros.h"
#include "pipeline/import/scratch_file.h"
#include "pipeline/sources/record_limits.h"

namespace penstock::imports {
namespace {

constexpr size_t kMaxHeaderBytes = 64 << 10;

absl::StatusOr<batch::DType> TypeOf(const std::string& descr) {
  for (int number = 1; batch::IsDType(number); ++number) {
    const auto dtype = static_cast<batch::DType>(number);
    if (!descr.empty() && descr == batch::DTypeNpyDescr(dtype)) return dtype;
  }
  std::string hint = "save it as one of uint8 to uint64, int8 to int64, float16, float32, float64, bool";
  if (!descr.empty() && descr[0] == '>') hint = "it is big-endian: save array.astype(array.dtype.newbyteorder('<'))";
  if (descr.find('O') != std::string::npos) hint = "it holds Python objects: save it with one number type";
  return absl::InvalidArgumentError(absl::StrCat("elements of type '", descr, "' cannot be a column; ", hint));
}

}  // namespace

absl::StatusOr<std::unique_ptr<const NpyFile>> NpyFile::Open(storage::Storage* storage, const std::string& path,
                                                             const std::string& scratch) {
  PS_ASSIGN_OR_RETURN(auto file, OpenNear(storage, path, scratch));
  return Open(std::move(file));
}

absl::StatusOr<std::unique_ptr<const NpyFile>> NpyFile::Open(std::unique_ptr<RandomAccessFile> file) {
  const std::string path = file->path();
  const auto bad = [&](const absl::Status& status) {
    return absl::Status(status.code(), absl::StrCat(path, ": ", status.message()));
  };
  std::unique_ptr<NpyFile> npy(new NpyFile);
  npy->file_ = std::move(file);
  PS_ASSIGN_OR_RETURN(const FileInfo info, npy->file_->Info());
  std::string start(std::min<uint64_t>(info.size, kMaxHeaderBytes), '\0');
  PS_ASSIGN_OR_RETURN(const size_t got, npy->file_->ReadAt(0, start.size(), start.data()));
  start.resize(got);
  const auto header = ParseNpyHeader(start);
  if (!header.ok()) return bad(header.status());
  const auto dtype = TypeOf(header->descr);
  if (!dtype.ok()) return bad(dtype.status());
  if (header->shape.empty()) return bad(absl::InvalidArgumentError("it is one number, not an array with rows"));
  if (header->fortran_order && header->shape.size() > 1) {
    return bad(absl::InvalidArgumentError(
        "it is in Fortran order, so its rows are not contiguous; save numpy.ascontiguousarray(array)"));
  }
  npy->dtype_ = *dtype;
  npy->rows_ = static_cast<uint64_t>(header->shape[0]);
  npy->row_shape_.assign(header->shape.begin() + 1, header->shape.end());
  npy->data_offset_ = header->data_offset;
  npy->row_bytes_ = batch::DTypeSize(*dtype);
  for (const int64_t extent : npy->row_shape_) {
    if (extent == 0) return bad(absl::InvalidArgumentError("its rows are empty: a dimension is 0"));
    if (static_cast<uint64_t>(extent) > sources::kDefaultMaxRecordBytes / npy->row_bytes_) {
      return bad(absl::InvalidArgumentError(
          absl::StrCat("a row has more than ", sources::kDefaultMaxRecordBytes, " bytes, which one record may have")));
    }
    npy->row_bytes_ *= static_cast<uint64_t>(extent);
  }
  if (npy->rows_ == 0) return bad(absl::InvalidArgumentError("it has no rows"));
  const uint64_t data = info.size - npy->data_offset_;
  if (data % npy->row_bytes_ != 0 || data / npy->row_bytes_ != npy->rows_) {
    return bad(absl::DataLossError(absl::StrCat(
        "its header declares ", npy->rows_, " rows of ", npy->row_bytes_, " bytes, but ", data,
        " bytes follow it: it is ", data / npy->row_bytes_ < npy->rows_ ? "cut off" : "longer than one array")));
  }
  npy->fingerprint_ = Fingerprint()
                          .Add(std::string_view(start).substr(0, npy->data_offset_))
                          .Add(info.size)
                          .Add(static_cast<uint64_t>(info.mtime_ns))
                          .value();
  if (!info.tag.empty()) npy->fingerprint_ = Fingerprint(npy->fingerprint_).Add(info.tag).value();
  return std::unique_ptr<const NpyFile>(std::move(npy));
}

absl::Status NpyFile::ReadRows(uint64_t i, uint64_t count, std::string* out) const {
  out->resize(count * row_bytes_);
  PS_ASSIGN_OR_RETURN(const size_t got, file_->ReadAt(data_offset_ + i * row_bytes_, out->size(), out->data()));
  if (got == out->size()) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(path(), " has become shorter while it was read"));
}

absl::StatusOr<std::vector<int64_t>> ReadNpyLabels(storage::Storage* storage, const std::string& path,
                                                   const std::string& scratch) {
  PS_ASSIGN_OR_RETURN(const auto npy, NpyFile::Open(storage, path, scratch));
  return ReadNpyLabels(*npy);
}

absl::StatusOr<std::vector<int64_t>> ReadNpyLabels(const NpyFile& npy) {
  const std::string& path = npy.path();
  if (npy.row_bytes() != batch::DTypeSize(npy.dtype())) {
    return absl::InvalidArgumentError(absl::StrCat(path, " has rows of shape [", absl::StrJoin(npy.row_shape(), ", "),
                                                   "]; labels have one number in each row"));
  }
  std::vector<int64_t> labels(npy.rows());
  std::string row;
  for (uint64_t i = 0; i < labels.size(); ++i) {
    PS_RETURN_IF_ERROR(npy.ReadRow(i, &row));
    const char* at = row.data();
    switch (npy.dtype()) {
      case batch::DType::kUint8:
      case batch::DType::kBool:
        labels[i] = LoadLittleEndian<uint8_t>(at);
        break;
      case batch::DType::kInt8:
        labels[i] = LoadLittleEndian<int8_t>(at);
        break;
      case batch::DType::kUint16:
        labels[i] = LoadLittleEndian<uint16_t>(at);
        break;
      case batch::DType::kInt16:
        labels[i] = LoadLittleEndian<int16_t>(at);
        break;
      case batch::DType::kUint32:
        labels[i] = LoadLittleEndian<uint32_t>(at);
        break;
      case batch::DType::kInt32:
        labels[i] = LoadLittleEndian<int32_t>(at);
        break;
      case batch::DType::kInt64:
        labels[i] = LoadLittleEndian<int64_t>(at);
        break;
      default:
        return absl::InvalidArgumentError(absl::StrCat(path, " holds ", std::string(batch::DTypeName(npy.dtype())),
                                                       "; labels are integers: save labels.astype('int64')"));
    }
  }
  return labels;
}

}  // namespace penstock::imports
