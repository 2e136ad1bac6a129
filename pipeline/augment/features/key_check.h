// Whether the keys that a job asks for are in its records: what some of them hold, against the job's features and
// boxes.
#ifndef PENSTOCK_PIPELINE_AUGMENT_FEATURES_KEY_CHECK_H_
#define PENSTOCK_PIPELINE_AUGMENT_FEATURES_KEY_CHECK_H_

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "penstock/v1/job.pb.h"

namespace penstock {

class KeyCheck {
 public:
  // Asks for the keys of all features that have no default, and of the boxes. Of RAW records nothing is asked.
  explicit KeyCheck(const v1::JobSpec& job);

  // Takes a record into account. Bytes that are no record at all are left out: the job's error policy is about those.
  void Add(std::string_view record);
  uint64_t records() const { return records_; }
  // Every key was in a record, where the job looks for it: more records change nothing.
  bool AllFound() const { return wanted_.empty(); }

  // One entry for each key that was in none of the records, with the keys that are there, the nearest of them, and what
  // to do: "features[1].key: none of ... has ...". `where` says which records: "the first 64 records of 2 shards".
  std::vector<std::string> Mistakes(const std::string& where) const;

 private:
  struct Wanted {
    std::string path;  // of the field that names it
    std::string key;
    bool sequence = false;
    bool variable_length = false;
  };
  std::string Mistake(const Wanted& wanted, const std::string& where) const;

  const bool sequence_examples_;
  std::vector<Wanted> wanted_;  // not found yet
  uint64_t records_ = 0;
  std::set<std::string> context_, lists_;  // keys seen
};

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_AUGMENT_FEATURES_KEY_CHECK_H_
