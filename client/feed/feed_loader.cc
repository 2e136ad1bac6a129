#include "client/feed/feed_loader.h"

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/check.h"
#include "base/json.h"
#include "base/runtime/threads.h"
#include "base/status_macros.h"
#include "client/session/notice_times.h"

namespace penstock::feed {
namespace {

// Maximum time of one wait for a batch. Afterwards the thread checks for other requests.
constexpr absl::Duration kOneWait = absl::Seconds(1);
constexpr uint32_t kLeastWindow = 2;

uint64_t OffsetIn(const void* arena, const void* memory) {
  return static_cast<const BatchArena*>(arena)->OffsetOf(memory);
}

uint64_t BytesOf(const Batch& batch) {
  uint64_t bytes = batch.rows() * (sizeof(RowId) + 1);
  for (const ColumnView& column : batch.columns()) {
    bytes += column.bytes() + column.string_text().size() +
             sizeof(int64_t) * (column.row_splits().size() + column.string_offsets().size());
  }
  return bytes;
}

// Formats with nanoseconds: plots show differences of sums over days.
std::string SecondsJson(absl::Duration seconds) { return absl::StrFormat("%.9f", absl::ToDoubleSeconds(seconds)); }

// `b` has the same data sets as `a`, unless one of them has none.
ReaderStats Sum(ReaderStats a, const ReaderStats& b) {
  if (a.datasets.empty()) {
    a.datasets = b.datasets;
  } else {
    for (size_t i = 0; i < b.datasets.size(); ++i) {
      a.datasets[i].rows += b.datasets[i].rows;
      a.datasets[i].passes = b.datasets[i].passes;
    }
  }
  if (a.batches == 0) a.first_batch_wait = b.first_batch_wait;
  a.longest_wait = std::max(a.longest_wait, b.longest_wait);
  a.batches += b.batches;
  a.rows += b.rows;
  a.bytes_received += b.bytes_received;
  a.shared_memory_bytes += b.shared_memory_bytes;
  a.compressed_bytes += b.compressed_bytes;
  a.waited += b.waited;
  a.duplicate_rows += b.duplicate_rows;
  a.fetched_rows += b.fetched_rows;
  a.fetched_elsewhere += b.fetched_elsewhere;
  a.broken_streams += b.broken_streams;
  a.masked_rows += b.masked_rows;
  a.substituted_rows += b.substituted_rows;
  a.view_changes += b.view_changes;
  a.prefetched_steps = b.prefetched_steps;
  return a;
}

std::string DatasetsJson(const std::vector<DatasetStats>& datasets) {
  std::vector<std::string> items;
  for (const DatasetStats& dataset : datasets) {
    items.push_back(
        Json().Field("name", dataset.name).Field("rows", dataset.rows).Field("passes", dataset.passes).Object());
  }
  return Json::Array(items);
}

}  // namespace

FeedLoader::FeedLoader(FeedShared* shared, PacketSocket socket, v1::FeedOpen open, std::function<void()> ended)
    : shared_(shared), socket_(std::move(socket)), open_(std::move(open)), ended_(std::move(ended)) {
  start_.epoch = open_.epoch();
  start_.state = open_.state();
  start_.accept_new_pipeline = open_.accept_new_pipeline();
  start_.continues = open_.continues();
  absl::StatusOr<std::thread> thread = StartThread("ps-feed", [this] {
    Run();
    ended_();
  });
  if (thread.ok()) {
    thread_ = *std::move(thread);
    return;
  }
  (void)socket_.Send(MakePacket(Type::kFailed, 1, FailureJson(thread.status())), false);
  ended_();
}

FeedLoader::~FeedLoader() {
  Stop();
  if (thread_.joinable()) thread_.join();
}

void FeedLoader::Stop() {
  stop_.store(true);
  socket_.Shutdown();  // unblocks the thread if the trainer does not accept a packet
  MutexLock lock(&mutex_);
  if (reading_ != nullptr) reading_->Cancel();
  changed_.NotifyAll();
}

// ---- On the control thread -----------------------------------------------------------------------------------------

absl::Status FeedLoader::OnPacket(const Packet& packet) {
  switch (packet.type) {
    case Type::kWant: {
      PS_ASSIGN_OR_RETURN(const Want want, ParseWant(packet.body));
      return OnWant(packet.stream, want);
    }
    case Type::kSeek: {
      v1::FeedSeek seek;
      PS_RETURN_IF_ERROR(ParseJson(packet.body, &seek));
      return OnSeek(packet.stream, seek);
    }
    case Type::kAsk: {
      v1::FeedAsk ask;
      PS_RETURN_IF_ERROR(ParseJson(packet.body, &ask));
      return OnAsk(ask);
    }
    default:
      return absl::InvalidArgumentError(
          absl::StrCat("a packet of type ", static_cast<uint32_t>(packet.type), " on a loader's socket"));
  }
}

absl::Status FeedLoader::OnWant(uint32_t stream, const Want& want) {
  std::deque<Sent> back;
  {
    MutexLock lock(&mutex_);
    if (stream != stream_) {
      return absl::InvalidArgumentError(absl::StrCat("a WANT of stream ", stream, "; the newest is ", stream_));
    }
    // The trainer accepted these batches, and holds them until it releases them.
    while (!sent_.empty() && sent_.front().sequence < want.sequence) sent_.pop_front();
    if ((want.flags & Want::kLast) != 0) {
      back.swap(sent_);
    } else {
      wanted_until_ = std::max(wanted_until_, want.sequence + want.count);
      if ((want.flags & Want::kAgain) != 0) {
        again_ = true;
        failed_.reset();
      }
    }
    changed_.NotifyAll();
  }
  for (const Sent& batch : back) shared_->slots->Release(batch.name);
  return absl::OkStatus();
}

absl::Status FeedLoader::OnSeek(uint32_t stream, const v1::FeedSeek& seek) {
  std::deque<Sent> back;
  {
    MutexLock lock(&mutex_);
    if (stream != stream_ + 1) {
      return absl::InvalidArgumentError(absl::StrCat("a SEEK to stream ", stream, "; the next one is ", stream_ + 1));
    }
    if (!seek.has_accepted()) return absl::InvalidArgumentError("a SEEK without `accepted`");
    while (!sent_.empty() && sent_.front().sequence < seek.accepted()) sent_.pop_front();
    back.swap(sent_);
    stream_ = stream;
    wanted_until_ = 0;
    again_ = false;
    failed_.reset();
    seek_ = Start{stream, seek.epoch(), seek.state(), seek.accept_new_pipeline()};
    if (reading_ != nullptr) reading_->Cancel();
    changed_.NotifyAll();
  }
  for (const Sent& batch : back) shared_->slots->Release(batch.name);
  return absl::OkStatus();
}

absl::Status FeedLoader::OnAsk(const v1::FeedAsk& ask) {
  std::string answer;
  if (ask.what() == "stats") {
    answer = StatsJson();
  } else if (ask.what() == "waiting") {
    MutexLock lock(&mutex_);
    answer = MessageJson(waiting_for_);
  } else {
    return absl::InvalidArgumentError(absl::StrCat("an ASK for \"", ask.what(), "\": `stats` or `waiting`"));
  }
  return socket_.Send(MakePacket(Type::kAnswer, 0, answer), false);
}

std::string FeedLoader::StatsJson() {
  ReaderStats stats;
  {
    MutexLock lock(&mutex_);
    stats = reading_ != nullptr ? Sum(before_, reading_->Stats()) : before_;
  }
  const SlotTable::Held held = shared_->slots->held();
  Json json;
  json.Field("batches", stats.batches)
      .Field("rows", stats.rows)
      .Field("bytes_received", stats.bytes_received)
      .Field("shared_memory_bytes", stats.shared_memory_bytes)
      .Field("compressed_bytes", stats.compressed_bytes)
      .Raw("waited_seconds", SecondsJson(stats.waited))
      .Raw("longest_wait_seconds", SecondsJson(stats.longest_wait))
      .Raw("first_batch_seconds", SecondsJson(stats.first_batch_wait))
      .Field("duplicate_rows", stats.duplicate_rows)
      .Field("fetched_rows", stats.fetched_rows)
      .Field("fetched_elsewhere", stats.fetched_elsewhere)
      .Field("broken_streams", stats.broken_streams)
      .Field("masked_rows", stats.masked_rows)
      .Field("substituted_rows", stats.substituted_rows)
      .Field("view_changes", stats.view_changes)
      .Field("prefetched_steps", stats.prefetched_steps)
      .Field("held_batches", held.batches)
      .Field("held_bytes", held.bytes)
      .Field("arena_bytes", shared_->arena->bytes())
      .Field("arena_used_bytes", shared_->arena->used_bytes());
  if (!stats.datasets.empty()) json.Raw("datasets", DatasetsJson(stats.datasets));
  if (shared_->add_stats) shared_->add_stats(&json);
  return json.Object();
}

// ---- On the loader's thread ----------------------------------------------------------------------------------------

void FeedLoader::Tell(Type type, uint32_t stream, std::string_view body) const {
  // The control thread detects a trainer that has ended.
  (void)socket_.Send(MakePacket(type, stream, body), true);
}

void FeedLoader::Run() {
  EnsureOpen();
  while (!stop_.load()) {
    std::vector<std::string> again;
    std::optional<Start> seek;
    bool idle = false, next = false;
    {
      MutexLock lock(&mutex_);
      const auto wanted = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
        return start_.stream == stream_ && next_sequence_ < wanted_until_ && failed_ != next_sequence_;
      };
      while (!stop_.load() && !seek_.has_value() && !again_ && !wanted()) {
        if (reader_ == nullptr) {
          changed_.Wait(&mutex_);
        } else if (!changed_.WaitFor(&mutex_, std::chrono::nanoseconds(shared_->idle_after))) {
          idle = !seek_.has_value() && !again_ && !wanted();
          break;
        }
      }
      seek.swap(seek_);
      if (!seek.has_value() && std::exchange(again_, false)) {
        for (const Sent& batch : sent_) again.push_back(batch.packet);
      }
      next = !seek.has_value() && wanted();
    }
    if (stop_.load()) break;
    if (idle) LetReaderGo();
    if (seek.has_value()) {
      LetReaderGo();
      start_ = *std::move(seek);
      state_.clear();
      next_sequence_ = 0;
      window_ = 0;
      EnsureOpen();
      continue;
    }
    for (const std::string& packet : again) (void)socket_.Send(packet, true);
    if (next) NextBatch();
  }
  LetReaderGo();
}

void FeedLoader::LetReaderGo() {
  if (reader_ == nullptr) return;
  {
    MutexLock lock(&mutex_);
    before_ = Sum(before_, reader_->Stats());
    before_.prefetched_steps = 0;
    reading_ = nullptr;
  }
  reader_.reset();
}

// Opens a reader at the stream's start, or after its last batch. Returns false if it failed; the trainer was notified.
bool FeedLoader::EnsureOpen() {
  if (reader_ != nullptr) return true;
  ReaderOptions options;
  options.rank = open_.rank();
  options.world_size = open_.has_world_size() ? open_.world_size() : 1;
  options.group = open_.group();
  options.batch_size = open_.batch_size();
  options.epochs = 0;
  if (open_.prefetch_steps() > 0) options.prefetch_steps = open_.prefetch_steps();
  if (open_.prefetch_bytes() > 0) options.prefetch_bytes = open_.prefetch_bytes();
  if (window_ > 0) options.prefetch_steps = std::min(options.prefetch_steps, window_);
  options.epoch = start_.epoch;
  options.state = state_.empty() ? start_.state : state_;
  options.accept_new_pipeline = start_.accept_new_pipeline;
  options.continues = start_.continues || !state_.empty();
  options.allocator = shared_->arena;
  const auto opening = std::make_shared<Opening>();
  opening->since = shared_->clock->Now();
  options.on_wait = [this, opening](const std::string& text) {
    if (opening->runs.load()) {
      WaitsToOpen(opening.get(), text);
    } else {
      Notice(text);
    }
  };
  options.on_notice = [this](const std::string& text) {
    if (shared_->IsNew(text)) Notice(text);
  };
  absl::StatusOr<std::unique_ptr<Reader>> reader = shared_->open_reader(open_, options, stop_);
  opening->runs.store(false);
  if (!reader.ok()) {
    Fail(reader.status());
    return false;
  }
  reader_ = *std::move(reader);
  {
    MutexLock lock(&mutex_);
    reading_ = reader_.get();
    waiting_for_.clear();
    if (seek_.has_value()) reader_->Cancel();
  }
  if (!start_.answered) Announce();
  return true;
}

void FeedLoader::Announce() {
  const std::string state = reader_->SaveState();
  const absl::StatusOr<plan::SessionState> at = plan::ParseState(state);
  PS_CHECK(at.ok());
  global_batch_ = reader_->batch_size();
  Json json;
  if (!announced_) {
    json.Field("job", reader_->job())
        .Raw("columns", ColumnsJson(reader_->columns()))
        .Field("batch_size", global_batch_)
        .Field("rank_rows", global_batch_ / (open_.has_world_size() ? open_.world_size() : 1))
        .Field("last", reader_->last_batch())
        .Field("rows_per_epoch", reader_->rows_per_epoch())
        .Field("steps_per_epoch", reader_->steps_per_epoch())
        .Field("local", open_.job().empty());
    std::vector<std::string> changes;
    for (const BatchChange& change : reader_->batch_changes()) {
      changes.push_back(absl::StrCat("[", change.at_rows, ", ", change.size, "]"));
    }
    if (!changes.empty()) json.Raw("batch_changes", Json::Array(changes));
    if (const uint64_t multiple = reader_->batch_multiple(); multiple > 0) json.Field("batch_multiple", multiple);
    if (const std::vector<std::string>& sets = reader_->datasets(); !sets.empty()) {
      json.Raw("datasets", Json::QuotedArray(sets));
    }
  }
  json.Field("state", state)
      .Field("epoch", at->epoch)
      .Field("step_in_epoch", reader_->step_in_epoch())
      .Field("steps_left", reader_->steps_left_in_epoch());
  Tell(announced_ ? Type::kSought : Type::kOpened, start_.stream, json.Object());
  if (!announced_) WarnOfEpochs();
  announced_ = true;
  start_.answered = true;
}

// Only rank 0 warns.
void FeedLoader::WarnOfEpochs() {
  if (shared_->epoch_warnings == nullptr || open_.rank() != 0) return;
  if (reader_->batch_multiple() > 0) return;  // fewer rows are dropped
  for (const std::string& warning : shared_->epoch_warnings(BatchOf(*reader_), reader_->rows_per_epoch())) {
    Notice(absl::StrCat("job '", reader_->job(), "': ", warning));
  }
}

void FeedLoader::NextBatch() {
  if (!EnsureOpen()) return;
  if (waiting_since_ == 0) {
    waiting_since_ = shared_->clock->Now();
    noticed_ = 0;
  }
  absl::StatusOr<Batch> batch = reader_->Next(kOneWait);
  if (batch.ok()) {
    if (noticed_ > 0)
      Notice(absl::StrCat("rows arrive again after ", (shared_->clock->Now() - waiting_since_) / kSecond, " s"));
    waiting_since_ = noticed_ = 0;
    {
      MutexLock lock(&mutex_);
      waiting_for_.clear();
    }
    SendBatch(*std::move(batch));
    return;
  }
  if (absl::IsCancelled(batch.status())) return;  // by a SEEK, or by the end
  if (absl::IsDeadlineExceeded(batch.status())) {
    Waits(std::string(batch.status().message()));
    return;
  }
  waiting_since_ = 0;
  // The position does not change, so the next attempt starts there.
  const bool no_memory = absl::IsResourceExhausted(batch.status()) && shared_->arena->refusals() > 0;
  state_ = reader_->SaveState();
  LetReaderGo();
  if (no_memory && window_ != kLeastWindow) {
    window_ = kLeastWindow;  // prepare fewer batches, so that the next one has room
    return;
  }
  Fail(WithWhoHolds(batch.status()));
}

void FeedLoader::SendBatch(Batch batch) {
  state_ = reader_->SaveState();
  const absl::StatusOr<plan::SessionState> after = plan::ParseState(state_);
  BatchHeader header;
  header.sequence = next_sequence_;
  header.held_bytes = BytesOf(batch);
  header.step = batch.step();
  header.last_of_epoch = !after.ok() || after->epoch != batch.epoch() || reader_->steps_left_in_epoch() == 0;
  // Write the packet before the batch has a slot, so that only the name is missing then.
  Sent sent;
  sent.sequence = next_sequence_;
  std::string packet = MakeBatch(start_.stream, header, batch, &OffsetIn, shared_->arena, state_);
  sent.name = shared_->slots->Put(std::move(batch), header.held_bytes);
  SetSlotName(sent.name, &packet);
  sent.packet = packet;
  const SlotName name = sent.name;
  bool stale = false;
  {
    MutexLock lock(&mutex_);
    stale = start_.stream != stream_;
    if (!stale) sent_.push_back(std::move(sent));
  }
  if (stale) {
    shared_->slots->Release(name);
    return;
  }
  ++next_sequence_;
  (void)socket_.Send(packet, true);
}

absl::Status FeedLoader::WithWhoHolds(const absl::Status& status) const {
  if (!absl::IsResourceExhausted(status) || shared_->arena->refusals() == 0) return status;
  const SlotTable::Held held = shared_->slots->held();
  const BatchArena::Refusal refusal = shared_->arena->last_refusal();
  const uint64_t allowed = shared_->arena->bytes();
  // The first page is never used. If the sum fits, the gaps between blocks are too small.
  const uint64_t used = refusal.used + BatchArena::kPage;
  const uint64_t enough = refusal.bytes + (used + refusal.bytes <= allowed ? allowed : used);
  return absl::ResourceExhaustedError(
      absl::StrCat(status.message(), ": a batch needs ", refusal.bytes, " bytes more, and ", refusal.used, " of the ",
                   allowed, " bytes that `memory` allows are in use; the trainer holds ", held.batches, " batches of ",
                   held.bytes, " bytes in all. Release some, or give memory= at least ", enough, " bytes"));
}

// Reports the failure of the next batch or, before the stream was answered, of its start.
void FeedLoader::Fail(const absl::Status& status) {
  {
    MutexLock lock(&mutex_);
    if (start_.stream != stream_) return;  // a SEEK has arrived meanwhile: the trainer no longer waits for this
    failed_ = next_sequence_;
  }
  if (stop_.load()) return;
  Tell(Type::kFailed, start_.stream,
       FailureJson(status, start_.answered ? std::optional<uint64_t>(next_sequence_) : std::nullopt));
}

void FeedLoader::WaitsToOpen(Opening* opening, const std::string& text) {
  const Nanos age = shared_->clock->Now() - opening->since;
  const std::string waits = client::NoticeText(
      absl::StrCat("waiting ", age / kSecond, " s to open: ", absl::StripPrefix(text, client::kWaitsToOpen)));
  {
    MutexLock lock(&mutex_);
    waiting_for_ = waits;
  }
  if (age < client::NextNotice(opening->noticed)) return;
  opening->noticed = age;
  Notice(waits);
}

void FeedLoader::Waits(const std::string& missing) {
  const Nanos age = shared_->clock->Now() - waiting_since_;
  const std::string waits = absl::StrCat("waiting ", age / kSecond, " s: ");
  {
    MutexLock lock(&mutex_);
    waiting_for_ = waits + missing;
  }
  // The reader of a served job reports its waits itself. A local reader names failing files after the missing rows.
  if (!open_.job().empty() || age < client::NextNotice(noticed_)) return;
  noticed_ = age;
  const std::vector<std::string> causes = absl::StrSplit(missing, "; ");
  Notice(client::NoticeText(waits + causes[causes.size() > 1 ? 1 : 0]));
}

void FeedLoader::Notice(const std::string& text) { Tell(Type::kNotice, 0, MessageJson(text)); }

}  // namespace penstock::feed
