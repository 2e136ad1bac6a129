#include "client/session/receiver.h"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "base/version.h"
#include "net/channel.h"
#include "transport/frame.h"

namespace penstock::client {
namespace {

// Name of the copying threads' tracks in a trace.
constexpr std::string_view kThreads = "copy";

// Returns FailedPrecondition if the worker chose a protocol that this client does not have.
absl::Status CheckProtocol(const v1::Accepted& accepted) {
  return CommonProtocol(absl::StrCat("worker ", accepted.worker_id()),
                        {accepted.version(), {accepted.protocol(), accepted.protocol()}}, "this client")
      .status();
}

// Checks that the payload fits a Rows header, for a data set of `records` records. The content of each row is checked
// when it is written.
absl::Status CheckRows(const v1::Rows& rows, size_t payload, uint64_t records) {
  const int n = rows.positions_size();
  if (rows.payload_bytes_size() != n || (rows.flags_size() != 0 && rows.flags_size() != n)) {
    return absl::InvalidArgumentError(absl::StrCat("a message of ", n, " rows with ", rows.payload_bytes_size(),
                                                   " lengths and ", rows.flags_size(), " flags"));
  }
  uint64_t total = 0;
  for (const uint32_t bytes : rows.payload_bytes()) total += bytes;
  if (total != payload) {
    return absl::InvalidArgumentError(
        absl::StrCat("a message of ", n, " rows of ", total, " bytes in all, with a payload of ", payload));
  }
  for (const v1::Rows::Failure& failure : rows.failures()) {
    if (failure.row() >= static_cast<uint32_t>(n) || failure.code() < 1 || failure.code() > 16) {
      return absl::InvalidArgumentError(
          absl::StrCat("a message of ", n, " rows with a failure of row ", failure.row(), ", code ", failure.code()));
    }
    if (failure.has_damaged_record() && failure.damaged_record() >= records) {
      return absl::InvalidArgumentError(
          absl::StrCat("a message of ", n, " rows with a damaged record ", failure.damaged_record(), " of ", records));
    }
  }
  for (const v1::Rows::Substitution& other : rows.substitutions()) {
    if (other.row() >= static_cast<uint32_t>(n) || other.source_record() >= records) {
      return absl::InvalidArgumentError(absl::StrCat("a message of ", n, " rows with record ", other.source_record(),
                                                     " of ", records, " in the place of row ", other.row()));
    }
  }
  return absl::OkStatus();
}

}  // namespace

void Receiver::OnLinkMessage(const std::shared_ptr<WorkerLink>& link, transport::SliceList message) {
  copying_->Post([self = shared_from_this(), link, message = std::move(message)]() mutable {
    self->Receive(link.get(), std::move(message));
  });
}

void Receiver::OnLinkClosed(const std::shared_ptr<WorkerLink>& link, const absl::Status& status) {
  // This task starts after those of the link's messages.
  copying_->Post([self = shared_from_this(), number = link->number(), status] {
    self->window_->StreamBroken(number, status);
    self->closed_(number);
  });
}

void Receiver::Receive(WorkerLink* link, transport::SliceList message) {
  v1::ServerHeader header;
  transport::SliceCursor payload;
  const size_t bytes = message.bytes();
  absl::Status status = transport::ParseFrame(std::move(message), &header, &payload);
  if (status.ok()) {
    if (header.has_rows()) {
      std::string carrier(link->carrier());
      if (header.rows().coding() != v1::ROW_CODING_NONE) {
        status = Expand(header.rows(), &payload);
        absl::StrAppend(&carrier, Window::kCompressed);
      }
      if (status.ok()) {
        window_->Carried(carrier, link->carrier_note(), payload.remaining());
        status = ReceiveRows(link->number(), header.rows(), std::move(payload));
      }
    } else if (header.has_draining()) {
      window_->WorkerDrains(link->number());
    } else if (header.has_accepted()) {
      status = CheckProtocol(header.accepted());
      if (status.ok()) window_->Heard(link->number());
    } else {
      window_->Heard(link->number());
    }
  }
  if (!status.ok()) {
    window_->StreamBroken(link->number(), status);
    link->Cancel();
    return;
  }
  link->Consumed(bytes);
}

absl::Status Receiver::Expand(const v1::Rows& rows, transport::SliceCursor* payload) const {
  if (rows.coding() != v1::ROW_CODING_ZSTD) {
    return absl::InvalidArgumentError(
        absl::StrCat("rows in coding ", static_cast<int>(rows.coding()), ", which this client did not request"));
  }
  const TraceSpan span(trace_.get(), copying_->clock(), kThreads, "expand");
  std::string joined(payload->remaining(), '\0');
  PS_CHECK(payload->Read(joined.data(), joined.size()));
  const absl::Span<const uint8_t> coded(reinterpret_cast<const uint8_t*>(joined.data()), joined.size());
  const absl::Span<const uint32_t> lengths(rows.payload_bytes().data(), static_cast<size_t>(rows.payload_bytes_size()));
  PS_ASSIGN_OR_RETURN(std::unique_ptr<uint8_t[]> bytes, decoder_.Decode(coded, lengths, net::kMaxMessageBytes));
  size_t size = 0;
  for (const uint32_t length : lengths) size += length;
  const std::shared_ptr<const uint8_t[]> owner = std::move(bytes);
  *payload = transport::SliceCursor(transport::SliceList({transport::Slice(owner.get(), size, owner)}));
  return absl::OkStatus();
}

absl::Status Receiver::ReceiveRows(uint64_t link, const v1::Rows& rows, transport::SliceCursor payload) {
  const size_t payload_bytes = payload.remaining();
  TraceSpan span(trace_.get(), copying_->clock(), kThreads, "receive");
  span.event().epoch = rows.epoch();
  if (rows.positions_size() > 0) span.event().position = rows.positions(0);
  span.event().rows = static_cast<uint32_t>(rows.positions_size());
  span.event().bytes = payload_bytes;
  absl::Status bad = CheckRows(rows, payload_bytes, job_->order->num_records());
  if (!bad.ok()) return bad;
  std::vector<Window::Claimed> claimed;
  bad = window_->Claim(link, rows, &claimed);
  const Nanos start = copying_->clock()->Now();
  if (bad.ok()) {
    const TraceSpan assemble(trace_.get(), copying_->clock(), kThreads, "assemble");
    bad = Copy(rows, std::move(payload), &claimed);
  }
  window_->Copied(copying_->clock()->Now() - start);
  for (const Window::Complete& complete : window_->Fill(link, claimed, bad)) Seal(complete);
  return bad;
}

// A row counts as filled only after its group is mixed, if it is the group's last row. A complete step is therefore
// completely mixed.
absl::Status Receiver::Copy(const v1::Rows& rows, transport::SliceCursor payload,
                            std::vector<Window::Claimed>* claimed) const {
  for (const v1::Rows::Failure& failure : rows.failures()) {
    Window::Claimed& row = (*claimed)[failure.row()];
    row.failure = absl::Status(static_cast<absl::StatusCode>(failure.code()), failure.message());
    if (failure.has_damaged_record()) row.damaged_record = failure.damaged_record();
  }
  std::vector<uint64_t> sources(rows.substitutions_size() > 0 ? rows.positions_size() : 0, Window::kOwnRecord);
  std::vector<uint64_t> source_numbers(sources.size());
  for (const v1::Rows::Substitution& other : rows.substitutions()) {
    sources[other.row()] = other.source_record();
    source_numbers[other.row()] = other.source_number();
  }
  for (int i = 0; i < rows.positions_size(); ++i) {
    Window::Claimed& mine = (*claimed)[i];
    const uint32_t bytes = rows.payload_bytes(i);
    const uint32_t flags = rows.flags_size() > 0 ? rows.flags(i) : 0;
    if (mine.step == nullptr || !mine.failure.ok()) {
      payload.Skip(bytes);
      continue;
    }
    if (job_->selects && rows.numbers_size() != rows.positions_size()) {
      return absl::InvalidArgumentError(absl::StrCat("a message of ", rows.positions_size(), " selected rows with ",
                                                     rows.numbers_size(), " numbers"));
    }
    Window::Step& step = *mine.step;
    const uint64_t row = mine.slot.row;
    const bool masked = (flags & v1::ROW_MASKED) != 0;
    if (masked) {
      step.builder->WriteMasked(row);
      payload.Skip(bytes);
    } else {
      const absl::Status bad = step.builder->WriteRow(row, bytes, &payload);
      if (!bad.ok()) {
        return absl::Status(bad.code(),
                            absl::StrCat("row ", rows.positions(i), " of epoch ", rows.epoch(), ": ", bad.message()));
      }
    }
    step.policy[row] = static_cast<uint8_t>(flags & (masked ? v1::ROW_MASKED : v1::ROW_SUBSTITUTED));
    step.source[row] = sources.empty() || masked ? Window::kOwnRecord : sources[i];
    if (job_->selects) {
      step.number[row] = rows.numbers(i);
      if (!sources.empty()) step.source_number[row] = source_numbers[i];
    }
    step.valid[row] = !masked && steps_.IsValid(step.span, step.slice.begin + row);
    step.builder->RowDone(row, step.valid[row] != 0);
    mine.written = true;
  }
  return absl::OkStatus();
}

void Receiver::Seal(const Window::Complete& complete) {
  const Nanos start = copying_->clock()->Now();
  absl::Status sealed = SealRows(complete.step.get());
  window_->Sealed(complete.ordinal, std::move(sealed), copying_->clock()->Now() - start);
}

absl::Status Receiver::SealRows(Window::Step* sealing) const {
  Window::Step& step = *sealing;
  TraceSpan span(trace_.get(), copying_->clock(), kThreads, "seal");
  span.event().epoch = step.span.epoch;
  span.event().position = step.span.begin;
  span.event().rows = static_cast<uint32_t>(step.slice.size());
  for (uint64_t row = 0; row < step.policy.size(); ++row) {
    if (!steps_.IsValid(step.span, step.slice.begin + row)) continue;
    step.masked_rows += step.policy[row] == v1::ROW_MASKED ? 1 : 0;
    step.substituted_rows += step.policy[row] == v1::ROW_SUBSTITUTED ? 1 : 0;
  }
  const plan::EpochOrder plan = job_->order->Epoch(step.span.epoch);
  std::vector<RowId> ids(step.slice.size());
  std::vector<int32_t> sets;  // empty if data sets have no names
  for (uint64_t row = 0; row < ids.size(); ++row) {
    const plan::SetLocation at = plan.LocationAt(steps_.PositionOfSlot(step.span, step.slice.begin + row));
    if (job_->order->has_names()) sets.push_back(static_cast<int32_t>(at.set));
    ids[row] = {static_cast<int64_t>(at.shard), static_cast<int64_t>(job_->selects ? step.number[row] : at.record)};
  }
  std::vector<RowId> sources;  // empty if each row is from its own record
  for (uint64_t row = 0; row < ids.size(); ++row) {
    if (step.source[row] == Window::kOwnRecord) continue;
    if (sources.empty()) sources = ids;
    const plan::SetLocation at = job_->order->Locate(step.source[row]);
    sources[row] = {static_cast<int64_t>(at.shard),
                    static_cast<int64_t>(job_->selects ? step.source_number[row] : at.record)};
  }
  return step.builder->Seal(ids, step.valid, sources, sets);
}

}  // namespace penstock::client
