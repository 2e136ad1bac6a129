#include "pipeline/import/npy_source.h"

#include <algorithm>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/hash.h"
#include "base/status_macros.h"
#include "pipeline/import/job_text.h"
#include "pipeline/records/example_builder.h"
#include "pipeline/sources/record_limits.h"

namespace penstock::imports {

class NpyMaker final : public RecordMaker {
 public:
  explicit NpyMaker(const NpySource& source) : source_(source) {}

  absl::Status Make(uint64_t item, MadeRecord* out) override {
    const auto& starts = source_.starts_;
    const auto file = static_cast<size_t>(std::upper_bound(starts.begin(), starts.end(), item) - starts.begin() - 1);
    const uint64_t first = (item - starts[file]) * source_.window_;
    records::ExampleBuilder example;
    for (const NpyColumn& column : source_.columns_) {
      PS_RETURN_IF_ERROR(column.files[file]->ReadRows(first, source_.window_, &row_));
      example.Bytes(column.key, row_);
    }
    if (!source_.labels_.empty()) example.Int64("image/class/label", source_.labels_[item]);
    out->bytes = example.Serialize();
    return absl::OkStatus();
  }

 private:
  const NpySource& source_;
  std::string row_;
};

namespace {

absl::Status CheckAlike(const std::vector<std::unique_ptr<const NpyFile>>& files) {
  for (const auto& file : files) {
    if (file->dtype() == files[0]->dtype() && file->row_shape() == files[0]->row_shape()) continue;
    const auto kind = [](const NpyFile& f) {
      return absl::StrCat(f.path(), " has ", std::string(batch::DTypeName(f.dtype())), " [",
                          absl::StrJoin(f.row_shape(), ", "), "]");
    };
    return absl::InvalidArgumentError(
        absl::StrCat("all arrays must have rows of one kind: ", kind(*files[0]), ", ", kind(*file)));
  }
  return absl::OkStatus();
}

absl::Status CheckWindow(const NpyFile& file, uint64_t window) {
  if (!file.row_shape().empty()) {
    return absl::InvalidArgumentError(absl::StrCat(file.path(),
                                                   ": windows are of arrays of one dimension; this has rows of [",
                                                   absl::StrJoin(file.row_shape(), ", "), "]"));
  }
  if (window > file.rows()) {
    return absl::InvalidArgumentError(
        absl::StrCat(file.path(), " has ", file.rows(), " numbers, fewer than a window of ", window));
  }
  if (window > sources::kDefaultMaxRecordBytes / file.row_bytes()) {
    return absl::InvalidArgumentError(absl::StrCat("a window of ", window, " numbers has more than ",
                                                   sources::kDefaultMaxRecordBytes,
                                                   " bytes, which one record may have"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<NpySource>> NpySource::Create(NpyColumn rows, std::vector<int64_t> labels,
                                                             std::vector<NpyColumn> others, uint64_t window) {
  if (rows.files.empty()) return absl::InvalidArgumentError("no arrays");
  std::unique_ptr<NpySource> source(new NpySource);
  PS_RETURN_IF_ERROR(CheckAlike(rows.files));
  source->row_shape_ = rows.files[0]->row_shape();
  if (window > 0) {
    source->window_ = window;
    source->row_shape_ = {static_cast<int64_t>(window)};
  }
  for (const auto& file : rows.files) {
    if (window > 0) PS_RETURN_IF_ERROR(CheckWindow(*file, window));
    source->starts_.push_back(source->starts_.back() + file->rows() / source->window_);
    source->left_over_ += file->rows() % source->window_;
  }
  if (!labels.empty() && labels.size() != source->size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("there are ", labels.size(), " labels for ", source->size(), " rows"));
  }
  for (const NpyColumn& other : others) {
    PS_RETURN_IF_ERROR(CheckAlike(other.files));
    for (size_t i = 0; i < other.files.size(); ++i) {
      if (other.files.size() == rows.files.size() && other.files[i]->rows() == rows.files[i]->rows()) continue;
      return absl::InvalidArgumentError(absl::StrCat(other.files[i]->path(), " has ", other.files[i]->rows(),
                                                     " rows, not those of ", rows.files[0]->path()));
    }
  }
  source->labels_ = std::move(labels);
  source->columns_.push_back(std::move(rows));
  for (NpyColumn& other : others) source->columns_.push_back(std::move(other));
  return source;
}

uint64_t NpySource::fingerprint() const {
  Fingerprint all;
  for (const NpyColumn& column : columns_) {
    for (const auto& file : column.files) all.Add(file->fingerprint());
  }
  for (const int64_t label : labels_) all.Add(static_cast<uint64_t>(label));
  return all.value();
}

std::unique_ptr<RecordMaker> NpySource::NewMaker() const { return std::make_unique<NpyMaker>(*this); }

std::string NpySource::JobText(const std::string& name, const std::string& files) const {
  const NpyColumn& rows = columns_[0];
  const batch::DType dtype = rows.files[0]->dtype();
  std::vector<int64_t> shape = row_shape_;
  if (dtype == batch::DType::kUint8 && shape.size() == 2) shape.push_back(1);
  const bool image = dtype == batch::DType::kUint8 && shape.size() == 3 && (shape[2] == 1 || shape[2] == 3);
  std::string text = JobTextHead("import", name) + DatasetText(files);
  absl::StrAppend(&text,
                  RawFeatureText(rows.key,
                                 image                 ? "image"
                                 : columns_.size() > 1 ? ""
                                                       : "data",
                                 dtype, shape),
                  "\n");
  for (size_t i = 1; i < columns_.size(); ++i) {
    const NpyFile& first = *columns_[i].files[0];
    std::vector<int64_t> its_shape = first.row_shape();
    if (window_ > 1) its_shape.insert(its_shape.begin(), static_cast<int64_t>(window_));
    absl::StrAppend(&text, RawFeatureText(columns_[i].key, "", first.dtype(), its_shape), "\n");
  }
  if (!labels_.empty())
    absl::StrAppend(&text, "features { key: \"image/class/label\" column: \"label\" type: INT64 }\n");
  absl::StrAppend(&text, "\norder { seed: 17 shuffle: CHUNKED }   # NONE | CHUNKED | FULL\n", BatchText(size()));
  return text;
}

}  // namespace penstock::imports
