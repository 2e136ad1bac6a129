// Reads NumPy .npy files (format versions 1.0 to 3.0, numpy/lib/format.py), row by row.
#ifndef PENSTOCK_PIPELINE_IMPORT_NPY_FILE_H_
#define PENSTOCK_PIPELINE_IMPORT_NPY_FILE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/file.h"
#include "base/npy_header.h"
#include "pipeline/batch/dtype.h"
#include "pipeline/storage/storage.h"

namespace penstock::imports {

// Thread-safe.
class NpyFile {
 public:
  // Opens an array of at least one dimension and checks its whole header against the file. An object is first copied
  // into an unnamed file in the folder `scratch`. InvalidArgument names the file and the remedy: an element type
  // that a column cannot have (unsigned 32 and 64 bits, complex, strings, objects, big-endian ones), Fortran order, a
  // scalar, no rows, empty rows, rows that exceed kDefaultMaxRecordBytes, or no .npy file. DataLoss: the file has fewer
  // or more bytes than the header declares.
  static absl::StatusOr<std::unique_ptr<const NpyFile>> Open(storage::Storage* storage, const std::string& path,
                                                             const std::string& scratch = "");
  // Does the same for an open file, such as a member of an archive.
  static absl::StatusOr<std::unique_ptr<const NpyFile>> Open(std::unique_ptr<RandomAccessFile> file);

  const std::string& path() const { return file_->path(); }
  batch::DType dtype() const { return dtype_; }
  uint64_t rows() const { return rows_; }
  // Shape of one row; [] if the array has one dimension.
  const std::vector<int64_t>& row_shape() const { return row_shape_; }
  uint64_t row_bytes() const { return row_bytes_; }
  // Fingerprint of the header, and of the file's size, time and tag.
  uint64_t fingerprint() const { return fingerprint_; }

  // Reads row i < rows() into *out (replaced), little-endian and dense. FailedPrecondition: the file became shorter.
  absl::Status ReadRow(uint64_t i, std::string* out) const { return ReadRows(i, 1, out); }
  // Reads `count` consecutive rows from row i. Requires i + count <= rows().
  absl::Status ReadRows(uint64_t i, uint64_t count, std::string* out) const;

 private:
  NpyFile() = default;

  std::unique_ptr<RandomAccessFile> file_;
  batch::DType dtype_ = batch::DType::kUint8;
  uint64_t rows_ = 0, row_bytes_ = 0, data_offset_ = 0, fingerprint_ = 0;
  std::vector<int64_t> row_shape_;
};

// Reads one integer per row, from an array of an integer or bool type and shape (N) or (N, 1), as int64.
// InvalidArgument: another type or shape.
absl::StatusOr<std::vector<int64_t>> ReadNpyLabels(const NpyFile& npy);
absl::StatusOr<std::vector<int64_t>> ReadNpyLabels(storage::Storage* storage, const std::string& path,
                                                   const std::string& scratch = "");

}  // namespace penstock::imports

#endif  // PENSTOCK_PIPELINE_IMPORT_NPY_FILE_H_
