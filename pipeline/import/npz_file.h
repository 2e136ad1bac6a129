// Opens NumPy's .npz archives: finds the array of rows, the array of their labels, and further columns.
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
  // Names of arrays, with or without ".npy".
  //   rows    "": the first that exists of the usual names (x_train, train_images, images, x, data and similar ones).
  //           Without any of them: the only array, or the first one if all arrays can be opened and have the same
  //           number of rows.
  //   labels  "": the first that exists of the usual names for these rows (y_train, train_labels, labels, y), if that
  //           array has one integer per row.
  std::string rows, labels;
  // Folder for unnamed files. They hold unpacked arrays, and copies of archives that are not local files.
  std::string scratch;
};

struct NpzArrays {
  std::unique_ptr<const NpyFile> rows;
  std::vector<int64_t> labels;         // one per row; empty if there is no array of labels
  std::string rows_name, labels_name;  // without ".npy"; labels_name is "" if there is no array of labels
  struct Other {
    std::string name;
    std::unique_ptr<const NpyFile> file;
  };
  // Further arrays with the same number of rows, except those of another split. Arrays that cannot be opened are left
  // out. Empty if the options name the rows.
  std::vector<Other> others;
  std::vector<std::string> left_out;  // names of the remaining arrays, in the archive's order
};

// Opens an archive. Returns the errors of NpyFile::Open(), ReadNpyLabels(), ListZip() and OpenZipMember(), and those of
// the storage. Returns InvalidArgument, with the archive's name, in four further cases:
//   - the archive has no array
//   - it lacks an array that the options name; the message lists the existing ones
//   - the array of rows cannot be determined
//   - the number of labels is not the number of rows
absl::StatusOr<NpzArrays> OpenNpz(storage::Storage* storage, const std::string& path, const NpzOptions& options);

}  // namespace penstock::imports

#endif  // PENSTOCK_PIPELINE_IMPORT_NPZ_FILE_H_
