// Makes a job file from the content of a data set's first records.
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
#include "penstock/v1/job.pb.h"
#include "pipeline/records/example_parser.h"
#include "pipeline/sources/shard_kind.h"

namespace penstock::cli {

// Summary of one feature in the records so far.
struct FeatureSummary {
  std::string key;
  records::FeatureKind kind = records::FeatureKind::kNone;
  bool sequence = false;
  uint64_t seen = 0;  // records that have the feature
  uint64_t least_count = 0, most_count = 0;
  bool any_integer = false;       // least and most are known
  int64_t least = 0, most = 0;    // integers outside of sequences
  bool is_field = false;          // a field of CSV, whose empty text is a value
  bool any_length = false;        // the number of values may differ in records that were not seen
  bool looks_like_image = false;  // the records' first values begin as images do
  bool looks_like_text = true;    // the first values have no control characters but tab, LF and CR
  bool same_byte_length = true;   // the records' first values have one length
  uint64_t byte_length = 0;
  // A field of an array with numbers of a column's type: NumPy's name of it, and its shape in a row.
  std::string descr;
  std::vector<int64_t> shape;
};

// The purpose of a job. An evaluation reads every record once, in the order of the files, without random ops.
enum class Recipe { kTraining, kEvaluation };

class JobWriter {
 public:
  // `source` is the kind of the files, as the job names it. `window` has a size or an end if the records have several
  // rows. `manifest` has the fields that name files, if the usual names are not meant.
  explicit JobWriter(v1::Source::Kind source = v1::Source::AUTO, const v1::Window& window = {},
                     const v1::Manifest& manifest = {})
      : source_(source), window_(window), manifest_(manifest) {}

  // Adds a record of a file of this kind. All files are of one kind. Returns InvalidArgument if the record is
  // malformed.
  absl::Status Add(sources::ContainerKind container, std::string_view record);
  uint64_t records() const { return records_; }
  bool has_features() const { return !features_.empty(); }

  // Returns the job's text with comments. An image, a label and boxes become columns of an image recipe, and the other
  // features become comments. Without an image every feature becomes a column. `files` is the glob. `rows` is the total
  // number of records, or at least kManyRecords if it is larger. The batch size fits it.
  std::string Write(const std::string& name, const std::string& files, uint64_t rows,
                    Recipe recipe = Recipe::kTraining) const;

  // Returns "label: integers from 0 to 999 in the first 100 records", or "" without an integer label.
  std::string LabelRange() const;

  // Returns the additions of Write that the records do not contain, one sentence each.
  std::vector<std::string> Notes() const;

 private:
  // The features that become columns. The others are written as comments.
  struct Chosen {
    const FeatureSummary *image = nullptr, *label = nullptr;
    bool boxes = false;                        // the job has annotations
    std::set<const FeatureSummary*> sides;     // features that the annotations read
    std::set<const FeatureSummary*> of_boxes;  // companions of the boxes
    bool Takes(const FeatureSummary& f) const {
      return image == nullptr || &f == image || &f == label || of_boxes.contains(&f);
    }
  };
  Chosen Choose() const;
  void AddFeatures(const std::vector<records::FeatureInfo>& infos);
  // Removes the columns of a CSV row that no feature can name, and notes them.
  void RemoveUnnamed(std::vector<records::FeatureInfo>* columns);

  const v1::Source::Kind source_;
  const v1::Window window_;
  const v1::Manifest manifest_;
  uint64_t records_ = 0;
  records::RecordFormat format_ = records::RecordFormat::kExample;
  std::map<std::string, FeatureSummary> features_;
  std::set<std::string> left_out_;  // sentences about columns
  BoxFinder boxes_;
};

}  // namespace penstock::cli

#endif  // PENSTOCK_CLIENT_CLI_JOB_WRITER_H_
