#include "server/worker/stream/row_message.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/utf8.h"
#include "net/channel.h"
#include "penstock/v1/data.pb.h"
#include "server/worker/stream/outbox.h"
#include "server/worker/stream/session_core.h"
#include "transport/frame.h"

namespace penstock::worker {
namespace {

// Limit for the message of one failed row, because the header must stay small.
constexpr size_t kMostFailureBytes = 4096;
// A message of one row stays below the limit including its header.
static_assert(loader::kMaxRowBytes + (64 << 10) <= net::kMaxMessageBytes);

uint32_t FlagsOf(const loader::RowResult& row) {
  return (row.masked ? v1::ROW_MASKED : 0) | (row.lenient ? v1::ROW_LENIENT : 0) |
         (row.substituted ? v1::ROW_SUBSTITUTED : 0);
}

void AddFailure(int index, const loader::RowResult& row, v1::Rows* rows) {
  v1::Rows::Failure* failure = rows->add_failures();
  failure->set_row(static_cast<uint32_t>(index));
  failure->set_code(static_cast<int32_t>(row.status.code()));
  failure->set_message(TruncatedUtf8(std::string(row.status.message()), kMostFailureBytes));
  if (row.damaged_record.has_value()) failure->set_damaged_record(*row.damaged_record);
}

// The pieces of payload, in order. Small rows are collected in a string, which becomes a piece when a large row
// follows.
class Payload {
 public:
  void Add(loader::RowResult row, uint64_t fixed_bytes, uint64_t payload) {
    if (payload < kJoinRowsBelow) {
      if (row.fixed != nullptr) Join(row.fixed.get(), fixed_bytes);
      for (const std::string& column : row.ragged) Join(column.data(), column.size());
      small_rows_.push_back(std::move(row.bytes));  // its memory counts until the copy is sent
      return;
    }
    FinishSmall();
    auto owner = std::make_shared<loader::RowResult>(std::move(row));
    if (owner->fixed != nullptr && fixed_bytes > 0) {
      slices_.emplace_back(owner->fixed.get(), fixed_bytes, owner);
    }
    for (const std::string& column : owner->ragged) {
      if (!column.empty()) slices_.emplace_back(column.data(), column.size(), owner);
    }
  }

  std::vector<transport::Slice> Finish() {
    FinishSmall();
    return std::move(slices_);
  }

 private:
  struct Small {
    std::string bytes;
    std::vector<std::unique_ptr<loader::BudgetLease>> rows;
  };

  void Join(const void* data, size_t bytes) { small_.append(static_cast<const char*>(data), bytes); }
  void FinishSmall() {
    if (!small_.empty()) {
      auto owner = std::make_shared<Small>();
      owner->bytes = std::move(small_);
      owner->rows = std::move(small_rows_);
      slices_.emplace_back(owner->bytes.data(), owner->bytes.size(), owner);
    }
    small_.clear();
    small_rows_.clear();
  }

  std::vector<transport::Slice> slices_;
  std::string small_;
  std::vector<std::unique_ptr<loader::BudgetLease>> small_rows_;
};

// The compressed rows, and the memory of the rows, which counts until the message is sent, as it does for joined rows.
struct Compressed {
  batch::CodedRows coded;
  std::vector<std::unique_ptr<loader::BudgetLease>> rows;
};

// Returns null if compression does not make the rows smaller.
std::shared_ptr<Compressed> Compress(const std::vector<loader::RowResult>& rows, uint64_t fixed_bytes,
                                     batch::RowEncoder* encoder) {
  for (const loader::RowResult& row : rows) {
    if (PayloadBytes(row, fixed_bytes) > 0) encoder->Add(row.fixed.get(), row.ragged);
  }
  auto compressed = std::make_shared<Compressed>();
  compressed->coded = encoder->Finish();
  return compressed->coded.bytes != nullptr ? compressed : nullptr;
}

}  // namespace

RowsMessage MakeRowsMessage(std::vector<loader::RowResult> rows, uint64_t fixed_bytes, batch::RowEncoder* encoder) {
  v1::ServerHeader header;
  v1::Rows* out = header.mutable_rows();
  out->set_epoch(rows.front().request.epoch);
  const std::shared_ptr<Compressed> compressed = encoder != nullptr ? Compress(rows, fixed_bytes, encoder) : nullptr;
  RowsMessage made;
  Payload payload;
  bool any_flags = false;
  const bool numbers = std::any_of(rows.begin(), rows.end(), [](const auto& row) { return row.number.has_value(); });
  for (size_t i = 0; i < rows.size(); ++i) {
    loader::RowResult& row = rows[i];
    const int index = static_cast<int>(i);
    const uint64_t bytes = PayloadBytes(row, fixed_bytes);
    out->add_positions(RowOfTag(row.request.tag));
    if (!row.status.ok()) {
      AddFailure(index, row, out);
    } else if (row.substituted && !row.masked) {
      v1::Rows::Substitution* substitution = out->add_substitutions();
      substitution->set_row(static_cast<uint32_t>(i));
      substitution->set_source_record(row.source_record);
      if (row.source_number.has_value()) substitution->set_source_number(*row.source_number);
    }
    const uint32_t flags = FlagsOf(row);
    any_flags = any_flags || flags != 0;
    out->add_flags(flags);
    if (numbers) out->add_numbers(row.number.value_or(0));
    out->add_payload_bytes(static_cast<uint32_t>(bytes));
    made.row_bytes += bytes;
    if (bytes == 0) continue;
    if (compressed != nullptr) {
      compressed->rows.push_back(std::move(row.bytes));
    } else {
      payload.Add(std::move(row), fixed_bytes, bytes);
    }
  }
  if (!any_flags) out->clear_flags();
  made.sent_bytes = made.row_bytes;
  std::vector<transport::Slice> slices = payload.Finish();
  if (compressed != nullptr) {
    out->set_coding(v1::ROW_CODING_ZSTD);
    slices.emplace_back(compressed->coded.bytes.get(), compressed->coded.size, compressed);
    made.sent_bytes = compressed->coded.size;
  }
  made.message = transport::MakeFrame(header, std::move(slices));
  return made;
}

}  // namespace penstock::worker
