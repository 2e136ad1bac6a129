// A job file made from what the first records of a data set hold.
#ifndef PENSTOCK_CLIENT_CLI_JOB_WRITER_H_
#define PENSTOCK_CLIENT_CLI_JOB_WRITER_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "client/cli/box_finder.h"
#include "pipeline/records/example_parser.h"

namespace penstock::cli {

// What the records seen so far say of one feature.
struct FeatureSummary {
  std::string key;
  FeatureKind kind = FeatureKind::kNone;
  bool sequence = false;
  uint64_t seen = 0;  // records that have it
  uint64_t least_count = 0, most_count = 0;
  bool looks_like_image = false;  // by the first bytes
  bool looks_like_text = true;    // no control characters
  bool same_byte_length = true;   // all values of one length
  uint64_t byte_length = 0;
};

class JobWriter {
 public:
  // Takes one more record into account. InvalidArgument: neither Example nor SequenceExample.
  absl::Status AddRecord(std::string_view record);
  uint64_t records() const { return records_; }
  bool has_features() const { return !features_.empty(); }

  // The job's text with comments. An image and integer labels become a training recipe, with boxes that move with the
  // image where there are some; without an image every feature becomes a column. `files` is the glob, `name` the job's,
  // `rows` how many records there are in all (at least, from kManyRecords on): the batch fits them.
  std::string Write(const std::string& name, const std::string& files, uint64_t rows) const;

  // What Write adds that no record holds, a sentence each.
  std::vector<std::string> Notes() const;

 private:
  // Which features become columns; the others are left as comments.
  struct Chosen {
    const FeatureSummary *image = nullptr, *label = nullptr;
    bool boxes = false;                        // annotations are written
    std::set<const FeatureSummary*> sides;     // which these read
    std::set<const FeatureSummary*> of_boxes;  // their companions
    bool Takes(const FeatureSummary& f) const {
      return image == nullptr || &f == image || &f == label || of_boxes.contains(&f);
    }
  };
  Chosen Choose() const;

  uint64_t records_ = 0;
  RecordFormat format_ = RecordFormat::kExample;
  std::map<std::string, FeatureSummary> features_;
  BoxFinder boxes_;
};

}  // namespace penstock::cli

#endif  // PENSTOCK_CLIENT_CLI_JOB_WRITER_H_
