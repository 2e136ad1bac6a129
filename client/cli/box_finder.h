// Finds boxes among the features of a data set's first records.
#ifndef PENSTOCK_CLIENT_CLI_BOX_FINDER_H_
#define PENSTOCK_CLIENT_CLI_BOX_FINDER_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pipeline/records/example_parser.h"

namespace penstock::cli {

// Searches for four lists ...xmin, ...ymin, ...xmax, ...ymax, as TensorFlow's detection sets name them. Also searches
// for their companions: lists that have one value for each box in every record.
class BoxFinder {
 public:
  // Adds a record. `features` are the features of `record`.
  void AddRecord(std::string_view record, const std::vector<records::FeatureInfo>& features);

  // Returns true if the four lists exist as FLOAT, the type that annotations read.
  bool found() const { return group_.has_value() && group_->floats; }
  // Returns true if the four lists exist, but as integers.
  bool found_integers() const { return group_.has_value() && !group_->floats; }
  // Return whether the key is one of the four lists, or one of their companions.
  bool IsSide(const std::string& key) const;
  bool IsCompanion(const std::string& key) const;

  // Returns "annotations { boxes { ... } }" with the companions named as columns. Requires found().
  std::string AnnotationsText() const;

 private:
  struct Group {
    std::string prefix;  // prefix of the keys: "image/object/bbox/"
    bool floats = true;
    std::optional<records::ExampleParser> parser;  // parser of the four lists
  };
  struct Other {
    bool other_length = false;  // in some record its length differs from the number of boxes
    uint64_t with_boxes = 0;    // records that have boxes and this feature
  };
  void FindGroup(const std::vector<records::FeatureInfo>& features);

  std::optional<Group> group_;
  bool varies_ = false;  // some record does not have exactly one box
  float largest_ = 0;    // largest number in the four lists
  uint64_t records_with_boxes_ = 0;
  std::map<std::string, Other> others_;
  records::ParsedExample parsed_;
};

}  // namespace penstock::cli

#endif  // PENSTOCK_CLIENT_CLI_BOX_FINDER_H_
