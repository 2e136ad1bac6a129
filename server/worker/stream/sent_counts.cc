#include "server/worker/stream/sent_counts.h"

#include <charconv>

namespace penstock::worker {
namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;

// Returns N of "grpc xN", 1 of "grpc", and 0 for other carriers.
uint64_t ConnectionsOf(std::string_view carrier) {
  constexpr std::string_view kSeveral = "grpc x";
  if (carrier == "grpc") return 1;
  uint64_t connections = 0;
  if (carrier.starts_with(kSeveral)) {
    std::from_chars(carrier.data() + kSeveral.size(), carrier.data() + carrier.size(), connections);
  }
  return connections;
}

}  // namespace

void SentCounts::Stream::Follow(std::string_view carrier) {
  if (carrier == name_ || carrier.empty()) return;
  Ends();
  name_ = carrier;
  connections_ = ConnectionsOf(carrier);
  carrier_ = connections_ > 0 ? kGrpc : carrier == "shared memory" ? kSharedMemory : kOther;
  counts_->streams_[carrier_].fetch_add(1, kRelaxed);
  counts_->connections_.fetch_add(connections_, kRelaxed);
}

void SentCounts::Stream::Ends() {
  if (name_.empty()) return;
  counts_->streams_[carrier_].fetch_sub(1, kRelaxed);
  counts_->connections_.fetch_sub(connections_, kRelaxed);
  name_.clear();
}

void SentCounts::Stream::Sends(std::string_view carrier, uint64_t row_bytes, uint64_t sent_bytes, uint64_t granted,
                               uint64_t fetched) {
  Follow(carrier);
  if (sent_bytes < row_bytes) {
    counts_->compressed_bytes_.fetch_add(sent_bytes, kRelaxed);
    counts_->compressed_row_bytes_.fetch_add(row_bytes, kRelaxed);
  } else {
    counts_->bytes_[carrier_].fetch_add(sent_bytes, kRelaxed);
  }
  counts_->granted_rows_.fetch_add(granted, kRelaxed);
  counts_->fetched_rows_.fetch_add(fetched, kRelaxed);
}

SentCounts::Sums SentCounts::Get() const {
  Sums sums;
  for (size_t i = 0; i < kCarriers; ++i) {
    sums.bytes[i] = bytes_[i].load(kRelaxed);
    sums.streams[i] = streams_[i].load(kRelaxed);
  }
  sums.compressed_bytes = compressed_bytes_.load(kRelaxed);
  sums.compressed_row_bytes = compressed_row_bytes_.load(kRelaxed);
  sums.granted_rows = granted_rows_.load(kRelaxed);
  sums.fetched_rows = fetched_rows_.load(kRelaxed);
  sums.connections = connections_.load(kRelaxed);
  return sums;
}

}  // namespace penstock::worker
