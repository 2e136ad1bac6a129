// Rows of NumPy arrays as records of raw bytes.
#ifndef PENSTOCK_PIPELINE_IMPORT_NPY_SOURCE_H_
#define PENSTOCK_PIPELINE_IMPORT_NPY_SOURCE_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "pipeline/import/npy_file.h"
#include "pipeline/import/record_source.h"

namespace penstock::imports {

// Consecutive arrays with one element type and row shape.
struct NpyColumn {
  std::string key;  // in the records
  std::vector<std::unique_ptr<const NpyFile>> files;
};

class NpySource final : public RecordSource {
 public:
  // Makes a source whose item i is row i of `rows` and of each of `others`, with the bytes under the columns' keys.
  // With labels, labels[i] is under image/class/label. With a window, item i is `window` consecutive numbers of an
  // array of one dimension; numbers at the end of an array that fill no window are left out.
  //   InvalidArgument: no arrays; arrays that differ in type or shape; another number of rows in `others` or of labels;
  //   a window of an array of more dimensions, or larger than the array or than the maximum record.
  static absl::StatusOr<std::unique_ptr<NpySource>> Create(NpyColumn rows, std::vector<int64_t> labels,
                                                           std::vector<NpyColumn> others = {}, uint64_t window = 0);

  uint64_t size() const override { return starts_.back(); }
  uint64_t fingerprint() const override;
  std::unique_ptr<RecordMaker> NewMaker() const override;

  // Returns how many numbers at the ends of the arrays fill no window.
  uint64_t left_over() const { return left_over_; }

  // Returns the text of a job that reads the records back. The rows are a column "image" if they are uint8 of height x
  // width or height x width x (1 or 3). Otherwise they are "data", or named by their key if there are other columns.
  // Other columns are named by their keys, and the labels are "label". `files` is the glob of the shards.
  std::string JobText(const std::string& name, const std::string& files) const;

 private:
  friend class NpyMaker;
  NpySource() = default;

  std::vector<NpyColumn> columns_;      // the rows, then the others
  std::vector<uint64_t> starts_ = {0};  // first item of each file, and the total
  std::vector<int64_t> labels_;
  uint64_t window_ = 1;  // rows of the array in a record
  std::vector<int64_t> row_shape_;
  uint64_t left_over_ = 0;
};

}  // namespace penstock::imports

#endif  // PENSTOCK_PIPELINE_IMPORT_NPY_SOURCE_H_
