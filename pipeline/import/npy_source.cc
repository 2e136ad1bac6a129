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

namespace penstock {

class NpyMaker final : public RecordMaker {
 public:
  explicit NpyMaker(const NpySource& source) : source_(source) {}

  absl::Status Make(uint64_t item, MadeRecord* out) override {
    const auto& starts = source_.starts_;
    const auto file = static_cast<size_t>(std::upper_bound(starts.begin(), starts.end(), item) - starts.begin() - 1);
    PS_RETURN_IF_ERROR(source_.files_[file]->ReadRow(item - starts[file], &row_));
    ExampleBuilder example;
    example.Bytes(source_.key_, row_);
    if (!source_.labels_.empty()) example.Int64("image/class/label", source_.labels_[item]);
    out->bytes = example.Serialize();
    return absl::OkStatus();
  }

 private:
  const NpySource& source_;
  std::string row_;
};

absl::StatusOr<std::unique_ptr<NpySource>> NpySource::Create(std::vector<std::unique_ptr<const NpyFile>> files,
                                                             std::vector<int64_t> labels, const std::string& key) {
  if (files.empty()) return absl::InvalidArgumentError("no arrays");
  std::unique_ptr<NpySource> source(new NpySource);
  for (const auto& file : files) {
    if (file->dtype() != files[0]->dtype() || file->row_shape() != files[0]->row_shape()) {
      const auto kind = [](const NpyFile& f) {
        return absl::StrCat(f.path(), " has ", std::string(DTypeName(f.dtype())), " [",
                            absl::StrJoin(f.row_shape(), ", "), "]");
      };
      return absl::InvalidArgumentError(
          absl::StrCat("all arrays must have rows of one kind: ", kind(*files[0]), ", ", kind(*file)));
    }
    source->starts_.push_back(source->starts_.back() + file->rows());
  }
  if (!labels.empty() && labels.size() != source->size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("there are ", labels.size(), " labels for ", source->size(), " rows"));
  }
  source->files_ = std::move(files);
  source->labels_ = std::move(labels);
  source->key_ = key;
  return source;
}

uint64_t NpySource::fingerprint() const {
  Fingerprint all;
  for (const auto& file : files_) all.Add(file->fingerprint());
  for (const int64_t label : labels_) all.Add(static_cast<uint64_t>(label));
  return all.value();
}

std::unique_ptr<RecordMaker> NpySource::NewMaker() const { return std::make_unique<NpyMaker>(*this); }

std::string NpySource::JobText(const std::string& name, const std::string& files) const {
  const DType dtype = files_[0]->dtype();
  std::vector<int64_t> shape = files_[0]->row_shape();
  if (dtype == DType::kUint8 && shape.size() == 2) shape.push_back(1);
  const bool image = dtype == DType::kUint8 && shape.size() == 3 && (shape[2] == 1 || shape[2] == 3);
  std::string text = JobTextHead("import", name, files);
  absl::StrAppend(&text, RawFeatureText(key_, image ? "image" : "data", dtype, shape), "\n");
  if (!labels_.empty())
    absl::StrAppend(&text, "features { key: \"image/class/label\" column: \"label\" type: INT64 }\n");
  absl::StrAppend(&text, "\norder { seed: 17 shuffle: CHUNKED }   # NONE | CHUNKED | FULL\n", BatchText(size()));
  return text;
}

}  // namespace penstock
