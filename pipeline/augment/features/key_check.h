// Checks on some records whether they have the keys that a job requests.
#ifndef PENSTOCK_PIPELINE_AUGMENT_FEATURES_KEY_CHECK_H_
#define PENSTOCK_PIPELINE_AUGMENT_FEATURES_KEY_CHECK_H_

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "penstock/v1/job.pb.h"
#include "pipeline/records/example_parser.h"

namespace penstock::augment {

class KeyCheck {
 public:
  // Looks for the keys of the boxes and of all features without a default; in CSV, also of those with one. For a JSON
  // field of a sample, looks only for its member. For an element of an array in a JSON object, looks only for the
  // array. For RAW records, looks for none.
  explicit KeyCheck(const v1::JobSpec& job);

  // Adds a record, or all records of a packed row. Ignores bytes that are not a record, because the job's error policy
  // handles those.
  void Add(std::string_view record);
  uint64_t records() const { return records_; }
  // Returns whether every key was found where the job reads it. Then more records cannot change the result.
  bool AllFound() const { return wanted_.empty(); }

  // Returns one entry per key that no record has where the job reads it, with the remedy. If no record has the key at
  // all, the entry lists the existing keys and suggests a similar one: "features[1].key: none of ... has ...". `where`
  // describes the records: "the first 64 records of 2 shards".
  std::vector<std::string> Mistakes(const std::string& where) const;

 private:
  struct Wanted {
    std::string path;  // path of the field that names the key
    std::string key;
    bool sequence = false;
    bool variable_length = false;
  };
  std::string Mistake(const Wanted& wanted, const std::string& where) const;
  void AddSingle(std::string_view record);
  void AddSample(std::string_view record);
  void AddValues(std::string_view record);

  const records::RecordFormat format_;
  const bool is_packed_;
  std::vector<Wanted> wanted_;  // keys not found yet
  uint64_t records_ = 0;
  std::set<std::string> context_, lists_;  // keys found
};

}  // namespace penstock::augment

#endif  // PENSTOCK_PIPELINE_AUGMENT_FEATURES_KEY_CHECK_H_
