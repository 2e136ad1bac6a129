// Boxes among the features of a data set's first records.
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

// Looks for four lists ...xmin, ...ymin, ...xmax, ...ymax, as detection sets of TensorFlow have them, and for what goes
// with each box: lists that are as long as these in every record.
class BoxFinder {
 public:
  // `features` are those of `record`.
  void AddRecord(std::string_view record, const std::vector<FeatureInfo>& features);

  // The sides are there, as FLOAT, which is what annotations read.
  bool found() const { return group_.has_value() && group_->floats; }
  // They are there, but as integers.
  bool found_integers() const { return group_.has_value() && !group_->floats; }
  bool IsSide(const std::string& key) const;
  bool IsCompanion(const std::string& key) const;

  // "annotations { boxes { ... } }" with the companions named as columns; for a job in which found().
  std::string AnnotationsText() const;

 private:
  struct Group {
    std::string prefix;  // of the keys: "image/object/bbox/"
    bool floats = true;
    std::optional<ExampleParser> parser;  // of the four
  };
  struct Other {
    bool other_length = false;  // than the boxes', in some record
    uint64_t with_boxes = 0;    // records that have boxes and it
  };
  void FindGroup(const std::vector<FeatureInfo>& features);

  std::optional<Group> group_;
  bool varies_ = false;  // some record has not exactly one box
  float largest_ = 0;    // of all numbers
  uint64_t records_with_boxes_ = 0;
  std::map<std::string, Other> others_;
  ParsedExample parsed_;
};

}  // namespace penstock::cli

#endif  // PENSTOCK_CLIENT_CLI_BOX_FINDER_H_
