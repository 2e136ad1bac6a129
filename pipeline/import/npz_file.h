// NumPy's .npz archives: which of its arrays are rows, and which their labels.
#ifndef PENSTOCK_PIPELINE_IMPORT_NPZ_FILE_H_
#define PENSTOCK_PIPELINE_IMPORT_NPZ_FILE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "pipeline/import/npy_file.h"

namespace penstock {

struct NpzOptions {
  // Names of arrays, with or without ".npy". Empty rows: x_train, train_images, images, x, data and their like, or the
  // only array. Empty labels: what belongs to the rows' name (y_train, train_labels, labels, y), where it is there.
  std::string rows, labels;
  // A folder in which deflated arrays are unpacked, and archives of buckets copied, in files without a name.
  std::string scratch;
};

struct NpzArrays {
  std::unique_ptr<const NpyFile> rows;
  std::vector<int64_t> labels;  // one for each row, or none
  std::string rows_name, labels_name;
  std::vector<std::string> left_out;  // names of the other arrays, in their order
};

// InvalidArgument and DataLoss name the archive and the array: those of NpyFile::Open, ReadNpyLabels, ListZip and
// OpenZipMember; no such array, with those that there are; rows that cannot be told.
absl::StatusOr<NpzArrays> OpenNpz(const std::string& path, const NpzOptions& options);

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_IMPORT_NPZ_FILE_H_
