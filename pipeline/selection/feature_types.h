// The features of a data set and their types, found in the first records of its shards.
#ifndef PENSTOCK_PIPELINE_SELECTION_FEATURE_TYPES_H_
#define PENSTOCK_PIPELINE_SELECTION_FEATURE_TYPES_H_

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "penstock/v1/selection.pb.h"
#include "pipeline/records/example_parser.h"
#include "pipeline/select/expression.h"
#include "pipeline/sources/shard_kind.h"
#include "pipeline/storage/storage.h"

namespace penstock::selection {

// Not thread-safe.
class FeatureTypes {
 public:
  FeatureTypes() = default;
  // Restores what AddTo() has stored.
  explicit FeatureTypes(const v1::Selection& selection);

  // Finds the features in the first records (at most 32, and 64 MiB) of each of at most 8 files, spread evenly over
  // `paths`, and in `job`. Records of format RAW have none. Skips unreadable files and bad records if another record is
  // good. Otherwise returns the first error.
  static absl::StatusOr<FeatureTypes> Find(storage::Storage* storage, const v1::JobSpec& job,
                                           const std::vector<std::string>& paths);

  // Adds the features of a record in the file at `path`. The first TFRecord record decides whether the records are
  // Examples or SequenceExamples, unless SetFormat() did. Returns InvalidArgument if the record is malformed.
  absl::Status AddRecord(const std::string& path, sources::ContainerKind container, std::string_view record);
  // Sets the format of the records in TFRecord files.
  void SetFormat(records::RecordFormat format) { format_ = format; }
  // Adds the features of a job that no record has shown, such as fields of JSON members. In CSV, sets the types of all
  // features of the job.
  void AddJob(const v1::JobSpec& job);

  // Returns the type of each feature. If records differ, it is their records::CommonKind, or else the type in the first
  // one.
  std::map<std::string, select::ColumnType> Columns() const;
  // Returns the request for a feature of Columns().
  records::FeatureRequest RequestOf(const std::string& feature) const;
  // Returns the bytes of a number in a packed feature with decode_raw; 0 for other features.
  uint32_t ElementBytesOf(const std::string& feature) const;
  records::RecordFormat format() const { return format_.value_or(records::RecordFormat::kExample); }

  // Adds the format, and the features of the operands, to `selection`.
  void AddTo(std::span<const select::Operand> operands, v1::Selection* selection) const;

  // Returns InvalidArgument with both files if a feature of `operands` has different types in two files. Only the first
  // record of each file that has the feature counts. Other records of another type are bad.
  absl::Status CheckSameTypes(std::span<const select::Operand> operands) const;

 private:
  struct Known {
    records::FeatureKind kind = records::FeatureKind::kNone;
    bool sequence = false;
    bool is_field = false;       // a field of a CSV row
    uint32_t element_bytes = 0;  // ElementBytesOf()
    std::string path = {};       // the file that showed the type
    std::string last_path = {};  // the last file that has the feature
    // The type in another file, if it differs there.
    records::FeatureKind other = records::FeatureKind::kNone;
    std::string other_path = {};
  };

  std::optional<records::RecordFormat> format_;
  std::map<std::string, Known> known_;
};

}  // namespace penstock::selection

#endif  // PENSTOCK_PIPELINE_SELECTION_FEATURE_TYPES_H_
