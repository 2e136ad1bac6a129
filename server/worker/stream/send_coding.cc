#include "server/worker/stream/send_coding.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_format.h"

namespace penstock::worker {

void SendCoding::Opened(WireCompression mode, const v1::Open& open, const batch::RowSchema& schema, bool over_network) {
  const bool reads_it = std::count(open.codings().begin(), open.codings().end(), v1::ROW_CODING_ZSTD) > 0;
  mode_ = reads_it && over_network ? mode : WireCompression::kOff;
  if (mode_ != WireCompression::kOff) schema_ = schema;
}

batch::RowEncoder* SendCoding::Begin(Nanos now) {
  began_ = now;
  row_bytes_ = 0;
  if (mode_ == WireCompression::kOff) return nullptr;
  if (mode_ == WireCompression::kAuto && !trial_.compress()) {
    encoder_ = nullptr;
    return nullptr;
  }
  if (encoder_ == nullptr) encoder_ = std::make_unique<batch::RowEncoder>(schema_);
  return encoder_.get();
}

std::string SendCoding::Written(bool held_up, Nanos now) {
  const uint64_t bytes = std::exchange(row_bytes_, 0);
  if (mode_ != WireCompression::kAuto || bytes == 0) return "";
  if (!trial_.Sent(bytes, now - began_, held_up, now)) return "";
  if (!trial_.on()) return "rows are sent uncompressed again: compression delivered no more of them";
  return absl::StrFormat("rows are sent compressed: the link is the limit, and compression delivers %.2f times as many",
                         trial_.gain());
}

}  // namespace penstock::worker
