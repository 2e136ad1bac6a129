// The bad records of one job: their number, their reasons, and messages for the first of them.
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

namespace penstock::coordinator {

// Pure state. It counts every record once, independent of the number of reports. It lists records that have a message,
// up to kMostListed, and only counts the others.
class Quarantine {
 public:
  static constexpr size_t kMostListed = 1000;
  static constexpr size_t kMostReasons = 32;  // further reasons count as "other"
  static constexpr size_t kMostReasonBytes = 40;
  static constexpr size_t kMostMessageBytes = 512;

  // Adds the record. Returns the form to store, cut to these limits; it has no message and no offset if the record is
  // not listed. Returns nullopt if the record was there already. Adding the stored forms rebuilds the same quarantine.
  std::optional<v1::BadRecord> Add(v1::BadRecord record);

  size_t size() const { return records_.size(); }
  bool empty() const { return records_.empty(); }
  bool Contains(uint64_t record) const { return records_.contains(record); }
  // Returns the listed records by their number in the snapshot.
  const std::map<uint64_t, v1::BadRecord>& listed() const { return listed_; }
  // Returns the counts, the largest first.
  std::vector<v1::ReasonCount> Reasons() const;
  // Returns text such as "9 truncated image, 3 missing feature".
  std::string Describe() const;

 private:
  absl::flat_hash_set<uint64_t> records_;
  std::map<std::string, uint64_t> reasons_;
  std::map<uint64_t, v1::BadRecord> listed_;
};

}  // namespace penstock::coordinator

#endif  // PENSTOCK_SERVER_COORDINATOR_STATE_QUARANTINE_H_
