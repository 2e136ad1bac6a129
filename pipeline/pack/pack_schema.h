// The schema of a data set: the kind of each key in the records so far. Also generates the job that reads the records.
#ifndef PENSTOCK_PIPELINE_PACK_PACK_SCHEMA_H_
#define PENSTOCK_PIPELINE_PACK_PACK_SCHEMA_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "pipeline/batch/dtype.h"
#include "pipeline/records/example_parser.h"

namespace penstock::pack {

// One feature of one record.
struct PackedValue {
  records::FeatureKind kind = records::FeatureKind::kNone;
  batch::DType array = batch::DType::kString;  // element type of an array in a byte string; kString: plain values
  std::vector<int64_t> inner_shape;            // for an array, without its first axis
  // A single value. Python distinguishes it from a list with one element. An Example cannot: each of its lists with one
  // element is a single value. A single array has no axes.
  bool single = false;
  uint64_t count = 0;            // number of values; for an array, its first axis
  std::string_view first_bytes;  // for BYTES that are not an array
};

class PackSchema {
 public:
  // Adds a feature of the current record. Returns InvalidArgument, with both kinds, if the kind, the element type or
  // the shape (except the first axis) differs from earlier values of the key. Returns InvalidArgument also for an empty
  // key, and for an array with an inner axis of 0.
  absl::Status Add(std::string_view key, const PackedValue& value);
  void EndRecord() { ++records_; }
  // Adds a record with these features. Returns errors like Add.
  absl::Status AddRecord(const std::vector<std::pair<std::string_view, PackedValue>>& values);
  // Adds a record. Returns InvalidArgument if it is not an Example, and errors like Add.
  absl::Status AddExample(std::string_view record);

  uint64_t records() const { return records_; }
  // Returns whether no record has a feature.
  bool empty() const { return fields_.empty(); }

  // Adds the records of `other`. Returns errors like Add.
  absl::Status Merge(const PackSchema& other);

  // Returns the schema as text, which ParsePackSchema reads.
  std::string Serialize() const;

  // Returns a job that reads all features. Arrays recover their type and shape. A feature becomes a ragged column if
  // some records lack it, if its count varies, or if it has 0 values in every record. The first key, in sorted order,
  // that is a single image in every record becomes the column `image`. It keeps its own name if another feature is
  // named `image`. The job has a training recipe for this column. If there is an image, the first single integer named
  // like a label becomes the column `label`, unless a feature has this name. The batch size fits the number of records.
  //
  // `command` is the command that the head of the file names. `casts` has the type of a key's column where this is not
  // the type of the feature; the job converts such a column if it is not ragged.
  std::string JobText(const std::string& name, const std::string& files, const std::string& command = "pack",
                      const std::map<std::string, batch::DType>& casts = {}) const;

 private:
  friend absl::StatusOr<PackSchema> ParsePackSchema(std::string_view text);

  // The records that have a feature, and its numbers of values in them.
  struct Count {
    uint64_t seen = 0, least = 0, most = 0;
    bool image = false;  // each value begins like an encoded image
  };
  struct Field : Count {
    PackedValue kind = {};  // single: true in every record that has it
  };
  absl::Status Combine(std::string_view key, const PackedValue& now, const Count& more);
  bool Whole(const Field& field) const;  // every record has the same number of values, at least one
  std::string Line(const std::string& key, const Field& field, const std::string& column) const;

  uint64_t records_ = 0;
  std::map<std::string, Field, std::less<>> fields_;
};

// Parses the text of Serialize(). Returns DataLoss if it is invalid.
absl::StatusOr<PackSchema> ParsePackSchema(std::string_view text);

}  // namespace penstock::pack

#endif  // PENSTOCK_PIPELINE_PACK_PACK_SCHEMA_H_
