#include "server/coordinator/state/shard_list.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include "base/check.h"

namespace penstock::coordinator {
namespace {

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;
using google::protobuf::io::CodedOutputStream;

constexpr uint32_t kTag =
    WireFormatLite::MakeTag(v1::Snapshot::kShardsFieldNumber, WireFormatLite::WIRETYPE_LENGTH_DELIMITED);

}  // namespace

template <typename Shards>
void ShardList::Take(const Shards& shards) {
  for (const v1::Shard& shard : shards) {
    uint8_t head[2 * 5];
    uint8_t* end = CodedOutputStream::WriteVarint32ToArray(kTag, head);
    end = CodedOutputStream::WriteVarint32ToArray(static_cast<uint32_t>(shard.ByteSizeLong()), end);
    wire_.append(reinterpret_cast<const char*>(head), static_cast<size_t>(end - head));
    PS_CHECK(shard.AppendToString(&wire_));
    ++size_;
    records_ += shard.records();
    whole_records_ += shard.whole_records();
    left_out_ += shard.left_out();
    data_bytes_ += shard.data_bytes();
  }
  wire_.shrink_to_fit();
}

ShardList::ShardList(const google::protobuf::RepeatedPtrField<v1::Shard>& shards) { Take(shards); }

ShardList::ShardList(const std::vector<v1::Shard>& shards) { Take(shards); }

absl::StatusOr<ShardList> ShardList::FromWire(const std::string& wire) {
  v1::Snapshot snapshot;
  if (!snapshot.ParseFromString(wire)) return absl::DataLossError("its list of shards cannot be parsed");
  return ShardList(snapshot.shards());
}

void ShardList::ForEach(const std::function<bool(const v1::Shard&)>& f) const {
  const char* at = wire_.data();
  const char* const end = at + wire_.size();
  v1::Shard shard;
  while (at < end) {
    CodedInputStream head(reinterpret_cast<const uint8_t*>(at), static_cast<int>(end - at));
    uint32_t bytes = 0;
    PS_CHECK(head.ReadTag() == kTag && head.ReadVarint32(&bytes));
    at += head.CurrentPosition();
    PS_CHECK(bytes <= static_cast<size_t>(end - at) && shard.ParseFromArray(at, static_cast<int>(bytes)));
    at += bytes;
    if (!f(shard)) return;
  }
}

void ShardList::AddTo(v1::Snapshot* snapshot) const { PS_CHECK(snapshot->MergeFromString(wire_)); }

}  // namespace penstock::coordinator
