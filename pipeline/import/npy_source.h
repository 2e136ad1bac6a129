// The rows of NumPy arrays as records of raw bytes.
#ifndef PENSTOCK_PIPELINE_IMPORT_NPY_SOURCE_H_
#define PENSTOCK_PIPELINE_IMPORT_NPY_SOURCE_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "pipeline/import/npy_file.h"
#include "pipeline/import/record_source.h"

namespace penstock {

// Arrays with one element type and row shape, one behind the other.
class NpySource final : public RecordSource {
 public:
  // Item i is row i: its bytes under `key`, and labels[i] under image/class/label where there are labels.
  // InvalidArgument: arrays that differ in type or shape, another number of labels than rows.
  static absl::StatusOr<std::unique_ptr<NpySource>> Create(std::vector<std::unique_ptr<const NpyFile>> files,
                                                           std::vector<int64_t> labels, const std::string& key);

  uint64_t size() const override { return starts_.back(); }
  uint64_t fingerprint() const override;
  std::unique_ptr<RecordMaker> NewMaker() const override;

  // The text of a job that reads the records back: the rows as a column "image" where they are height x width, or
  // height x width x (1 or 3), of uint8, else "data"; the labels as "label". `files` is the glob of the shards.
  std::string JobText(const std::string& name, const std::string& files) const;

 private:
  friend class NpyMaker;
  NpySource() = default;

  std::vector<std::unique_ptr<const NpyFile>> files_;
  std::vector<uint64_t> starts_ = {0};  // the first item of each file, and the total
  std::vector<int64_t> labels_;
  std::string key_;
};

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_IMPORT_NPY_SOURCE_H_
