#include "pipeline/import/npz_file.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "base/near_name.h"
#include "base/status_macros.h"
#include "pipeline/import/scratch_file.h"
#include "pipeline/import/zip_file.h"

namespace penstock::imports {
namespace {

constexpr char kSuffix[] = ".npy";

// Usual names of arrays of rows, of which the first that exists is used, and of their labels.
struct Usual {
  const char* rows;
  std::array<const char*, 3> labels;
};
constexpr Usual kUsual[] = {
    {"x_train", {"y_train", "", ""}},
    {"train_images", {"train_labels", "", ""}},
    {"images", {"labels", "label", "y"}},
    {"image", {"label", "labels", "y"}},
    {"x", {"y", "labels", "label"}},
    {"X", {"y", "Y", "labels"}},
    {"data", {"labels", "label", "targets"}},
    {"x_test", {"y_test", "", ""}},
    {"x_val", {"y_val", "", ""}},
    {"test_images", {"test_labels", "", ""}},
    {"val_images", {"val_labels", "", ""}},
};

class Archive {
 public:
  static absl::StatusOr<Archive> Open(storage::Storage* storage, const std::string& path, const std::string& scratch) {
    Archive archive;
    archive.path_ = path;
    PS_ASSIGN_OR_RETURN(archive.file_, OpenNear(storage, path, scratch));
    auto members = ListZip(*archive.file_);
    if (!members.ok()) {
      return absl::Status(members.status().code(), absl::StrCat(path, ": ", members.status().message()));
    }
    for (ZipMember& member : *members) {
      if (!absl::EndsWith(member.name, kSuffix)) continue;
      const std::string name(absl::StripSuffix(member.name, kSuffix));
      archive.names_.push_back(name);
      archive.members_[name] = std::move(member);
    }
    if (archive.names_.empty()) {
      return absl::InvalidArgumentError(absl::StrCat(path, ": there are no arrays (.npy files) in it"));
    }
    return archive;
  }

  const std::vector<std::string>& names() const { return names_; }
  bool Has(const std::string& name) const { return members_.count(name) > 0; }
  std::string List() const { return absl::StrJoin(names_, ", "); }
  absl::Status Lacks(const std::string& name) const {
    return absl::InvalidArgumentError(
        absl::StrCat(path_, " has no array '", name, "'", DidYouMean(name, names_), "; it has: ", List()));
  }
  absl::StatusOr<std::unique_ptr<const NpyFile>> Array(const std::string& name, const std::string& scratch) const {
    PS_ASSIGN_OR_RETURN(auto file,
                        OpenZipMember(file_, members_.at(name), absl::StrCat(path_, ", array ", name), scratch));
    return NpyFile::Open(std::move(file));
  }

 private:
  std::string path_;
  std::shared_ptr<const RandomAccessFile> file_;
  std::vector<std::string> names_;
  std::map<std::string, ZipMember> members_;
};

// Returns whether all arrays can be columns of the same rows.
bool AllAlike(const Archive& archive, const std::string& scratch) {
  std::optional<uint64_t> rows;
  for (const std::string& name : archive.names()) {
    const auto array = archive.Array(name, scratch);
    if (!array.ok() || (*array)->rows() != rows.value_or((*array)->rows())) return false;
    rows = (*array)->rows();
  }
  return true;
}

// Returns whether each row is one integer.
bool AreClasses(const NpyFile& array) {
  const batch::DType dtype = array.dtype();
  const bool real =
      dtype == batch::DType::kFloat16 || dtype == batch::DType::kFloat32 || dtype == batch::DType::kFloat64;
  return !real && array.row_bytes() == batch::DTypeSize(dtype);
}

// Returns "train" for "x_train", and "" for a name without a split.
std::string SplitOf(std::string_view name) {
  for (const char* split : {"train", "test", "val"}) {
    if (name.find(split) != std::string_view::npos) return split;
  }
  return "";
}

absl::StatusOr<std::string> RowsOf(const Archive& archive, const std::string& path, const std::string& given,
                                   const std::string& scratch) {
  if (!given.empty()) return archive.Has(given) ? absl::StatusOr<std::string>(given) : archive.Lacks(given);
  for (const Usual& usual : kUsual) {
    if (archive.Has(usual.rows)) return usual.rows;
  }
  if (archive.names().size() == 1) return archive.names()[0];
  if (AllAlike(archive, scratch)) return archive.names()[0];
  return absl::InvalidArgumentError(
      absl::StrCat(path, ": which array holds the rows? Name it with --array NAME; the file has: ", archive.List(),
                   " (--labels NAME: labels)"));
}

absl::StatusOr<std::string> LabelsOf(const Archive& archive, const std::string& rows, const std::string& given) {
  if (!given.empty()) return archive.Has(given) ? absl::StatusOr<std::string>(given) : archive.Lacks(given);
  for (const Usual& usual : kUsual) {
    if (rows != usual.rows) continue;
    for (const char* labels : usual.labels) {
      if (archive.Has(labels)) return labels;
    }
  }
  return "";
}

}  // namespace

absl::StatusOr<NpzArrays> OpenNpz(storage::Storage* storage, const std::string& path, const NpzOptions& options) {
  PS_ASSIGN_OR_RETURN(const Archive archive, Archive::Open(storage, path, options.scratch));
  const auto bare = [](const std::string& name) { return std::string(absl::StripSuffix(name, kSuffix)); };
  NpzArrays arrays;
  PS_ASSIGN_OR_RETURN(arrays.rows_name, RowsOf(archive, path, bare(options.rows), options.scratch));
  PS_ASSIGN_OR_RETURN(arrays.labels_name, LabelsOf(archive, arrays.rows_name, bare(options.labels)));
  PS_ASSIGN_OR_RETURN(arrays.rows, archive.Array(arrays.rows_name, options.scratch));
  std::unique_ptr<const NpyFile> labels;
  if (!arrays.labels_name.empty()) {
    PS_ASSIGN_OR_RETURN(labels, archive.Array(arrays.labels_name, options.scratch));
    if (options.labels.empty() && !AreClasses(*labels)) {
      labels.reset();  // it becomes a column like others
      arrays.labels_name.clear();
    }
  }
  if (labels != nullptr) {
    PS_ASSIGN_OR_RETURN(arrays.labels, ReadNpyLabels(*labels));
    if (arrays.labels.size() != arrays.rows->rows()) {
      return absl::InvalidArgumentError(absl::StrCat(labels->path(), " has ", arrays.labels.size(), " labels for ",
                                                     arrays.rows->rows(), " rows of ", arrays.rows_name));
    }
  }
  for (const std::string& name : archive.names()) {
    if (name == arrays.rows_name || name == arrays.labels_name) continue;
    const bool other_split = SplitOf(name) != SplitOf(arrays.rows_name) && !SplitOf(name).empty();
    if (options.rows.empty() && !other_split) {
      auto array = archive.Array(name, options.scratch);
      if (array.ok() && (*array)->rows() == arrays.rows->rows()) {
        arrays.others.push_back({name, *std::move(array)});
        continue;
      }
    }
    arrays.left_out.push_back(name);
  }
  return arrays;
}

}  // namespace penstock::imports
