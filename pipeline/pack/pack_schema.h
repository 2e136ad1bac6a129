// What the records of a data set hold, as far as they were seen: the same kind under each key, and the job that reads
// them back.
#ifndef PENSTOCK_PIPELINE_PACK_PACK_SCHEMA_H_
#define PENSTOCK_PIPELINE_PACK_PACK_SCHEMA_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "pipeline/batch/dtype.h"
#include "pipeline/records/example_parser.h"

namespace penstock {

// One feature of one record.
struct PackedValue {
  FeatureKind kind = FeatureKind::kNone;
  DType array = DType::kString;      // an array of this type, in a byte string; kString: values
  std::vector<int64_t> inner_shape;  // of an array, without its first axis
  bool single = false;               // one value by nature, not a list that has one
  uint64_t count = 0;                // of values; of an array its first axis
  std::string_view first_bytes;      // of BYTES that are no array
};

class PackSchema {
 public:
  // Takes a feature of the current record into account. InvalidArgument, with both said, when it is not of the kind,
  // the element type or the shape (but for the first axis) that the key had before.
  absl::Status Add(std::string_view key, const PackedValue& value);
  void EndRecord() { ++records_; }
  // A record that is an Example already. InvalidArgument where it is none.
  absl::Status AddExample(std::string_view record);

  uint64_t records() const { return records_; }

  // Takes all that `other` has seen into account; errors as Add.
  absl::Status Merge(const PackSchema& other);

  // A text of lines; ParsePackSchema reads it back.
  std::string Serialize() const;

  // A job that reads all of it. Arrays get their type and shape back; what some records lack, or have more of than
  // others, is a ragged column. Where there is an image it becomes the column `image`, with a training recipe, and an
  // integer that is called a label `label`. The batch fits the number of records.
  std::string JobText(const std::string& name, const std::string& files) const;

 private:
  friend absl::StatusOr<PackSchema> ParsePackSchema(std::string_view text);

  struct Field {
    PackedValue kind;  // single: in every record that has it
    uint64_t seen = 0, least = 0, most = 0;
    bool image = false;  // each begins as an encoded image does
  };
  absl::Status Combine(std::string_view key, const Field& more);
  bool Whole(const Field& field) const;  // the same number of values in every record
  std::string Line(const std::string& key, const Field& field, const std::string& column) const;

  uint64_t records_ = 0;
  std::map<std::string, Field, std::less<>> fields_;
};

// DataLoss where the text is none.
absl::StatusOr<PackSchema> ParsePackSchema(std::string_view text);

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_PACK_PACK_SCHEMA_H_
