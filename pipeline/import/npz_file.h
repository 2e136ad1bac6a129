// NumPy's .npz archives: finds the arrays of rows and of their labels.
#ifndef PENSTOCK_PIPELINE_IMPORT_NPZ_FILE_H_
#define PENSTOCK_PIPELINE_IMPORT_NPZ_FILE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "pipeline/import/npy_file.h"

namespace penstock::imports {

struct NpzOptions {
  // Names of arrays, with or without ".npy". If `rows` is empty: x_train, train_images, images, x, data and similar
  // names, otherwise the first array, if all have as many rows. If `labels` is empty: the usual name for these rows
  // (y_train, train_labels, labels, y), if it exists.
  std::string rows, labels;
  // Folder for unnamed files, into which deflated arrays are unpacked and archives of buckets are copied.
  std::string scratch;
};

struct NpzArrays {
  std::unique_ptr<const NpyFile> rows;
  std::vector<int64_t> labels;  // one per row, or none
  std::string rows_name, labels_name;
  struct Other {
    std::string name;
    std::unique_ptr<const NpyFile> file;
  };
  // Further arrays with as many rows, except those of another split. Empty if the options name the rows.
  std::vector<Other> others;
  std::vector<std::string> left_out;  // names of the remaining arrays, in their order
};

// Opens an archive. InvalidArgument and DataLoss name the archive and the array: errors of NpyFile::Open(),
// ReadNpyLabels(), ListZip() and OpenZipMember(); a missing array, with the names of the existing ones; rows that
// cannot be determined.
absl::StatusOr<NpzArrays> OpenNpz(storage::Storage* storage, const std::string& path, const NpzOptions& options);

}  // namespace penstock::imports

#endif  // PENSTOCK_PIPELINE_IMPORT_NPZ_FILE_H_
