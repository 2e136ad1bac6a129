// The shards of a READY job. They do not change, and there may be 100,000 of them. They are stored in wire format, one
// after the other, because a message for each takes four times the memory.
#ifndef PENSTOCK_SERVER_COORDINATOR_STATE_SHARD_LIST_H_
#define PENSTOCK_SERVER_COORDINATOR_STATE_SHARD_LIST_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "penstock/v1/submitted_job.pb.h"

namespace penstock::coordinator {

// A value. Not thread-safe.
class ShardList {
 public:
  ShardList() = default;
  explicit ShardList(const google::protobuf::RepeatedPtrField<v1::Shard>& shards);
  explicit ShardList(const std::vector<v1::Shard>& shards);
  // Parses the wire format of a v1::Snapshot that has only shards. Returns DataLoss if `wire` cannot be parsed.
  static absl::StatusOr<ShardList> FromWire(const std::string& wire);

  size_t size() const { return size_; }
  // Totals of all shards.
  uint64_t records() const { return records_; }
  uint64_t whole_records() const { return whole_records_; }
  uint64_t left_out() const { return left_out_; }
  uint64_t data_bytes() const { return data_bytes_; }

  // Calls f for each shard, in order, until it returns false. The argument is valid during the call. Each call parses
  // the shards again: use it for manual requests or once per job, not for each report.
  void ForEach(const std::function<bool(const v1::Shard&)>& f) const;
  // Returns the wire format of a v1::Snapshot that has only these shards.
  const std::string& wire() const { return wire_; }
  // Appends all shards to the snapshot.
  void AddTo(v1::Snapshot* snapshot) const;

 private:
  template <typename Shards>
  void Take(const Shards& shards);

  std::string wire_;  // a serialized v1::Snapshot that has only shards
  size_t size_ = 0;
  uint64_t records_ = 0, whole_records_ = 0, left_out_ = 0, data_bytes_ = 0;
};

}  // namespace penstock::coordinator

#endif  // PENSTOCK_SERVER_COORDINATOR_STATE_SHARD_LIST_H_
