// The bad records of one job: how many there are, of what kinds, and what is wrong with the first of them.
#ifndef PENSTOCK_SERVER_COORDINATOR_STATE_QUARANTINE_H_
#define PENSTOCK_SERVER_COORDINATOR_STATE_QUARANTINE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "penstock/v1/submitted_job.pb.h"

namespace penstock {

// Pure state. Every record is counted once, whoever reports it and however often. The list is bounded: records that
// come when it is full are counted alone.
class Quarantine {
 public:
  static constexpr size_t kMostListed = 1000;
  static constexpr size_t kMostReasons = 32;  // further ones count as "other"
  static constexpr size_t kMostReasonBytes = 40;
  static constexpr size_t kMostMessageBytes = 512;

  // Adds the record unless it is there. What is to be stored of it then: what came, cut to these limits, without
  // message and offset where it is not listed. Adding what was stored gives the same quarantine again.
  std::optional<v1::BadRecord> Add(v1::BadRecord record);

  size_t size() const { return records_.size(); }
  bool empty() const { return records_.empty(); }
  // By number in the snapshot.
  const std::map<uint64_t, v1::BadRecord>& listed() const { return listed_; }
  // The most frequent first.
  std::vector<v1::ReasonCount> Reasons() const;
  // "9 truncated image, 3 missing feature".
  std::string Describe() const;

 private:
  absl::flat_hash_set<uint64_t> records_;
  std::map<std::string, uint64_t> reasons_;
  std::map<uint64_t, v1::BadRecord> listed_;
};

}  // namespace penstock

#endif  // PENSTOCK_SERVER_COORDINATOR_STATE_QUARANTINE_H_
