#include "tests/client/delivery/world.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/hash.h"

namespace penstock::client {
namespace {

std::string WorkerName(int worker) { return absl::StrCat("w", worker); }

std::shared_ptr<const plan::DataOrder> OrderOf(uint64_t records) {
  plan::PlanOptions plan;
  plan.seed = 5;
  plan.chunk_records = 4;
  plan.window_chunks = 8;
  return *plan::DataOrder::Create({records / 3, records - records / 3}, plan, std::nullopt);
}

TrackerOptions OptionsOf(const WorldOptions& options) {
  TrackerOptions tracker;
  tracker.rank = options.rank;
  tracker.epochs = options.epochs;
  tracker.window_steps = options.window;
  tracker.order = OrderOf(options.records);
  return tracker;
}

plan::StepSizes SizesOf(const WorldOptions& options) {
  plan::StepSizes sizes(options.batch, options.batch_changes);
  sizes.batches = options.batches;
  return sizes;
}

}  // namespace

World::World(const WorldOptions& options)
    : options_(options),
      random_(options.seed),
      order_(OrderOf(options.records)),
      steps_(*plan::Steps::Create(options.records, SizesOf(options), options.last, options.world_size)),
      tracker_(steps_, OptionsOf(options)),
      dead_(options.workers),
      hung_(options.workers),
      drained_(options.workers),
      in_view_(options.workers),
      up_since_(options.workers),
      refuses_(options.workers),
      sent_(options.workers) {}

void World::Kill(int worker) {
  dead_[worker] = true;
  for (auto& [number, stream] : streams_) {
    if (stream.worker != worker || !stream.open) continue;
    const uint64_t broken = number;
    At(now_ + Delay(2 * kMillisecond), [this, broken] { EndStream(broken, absl::UnavailableError("reset")); });
  }
}

void World::Hang(int worker) { hung_[worker] = true; }

void World::Revive(int worker) {
  // A worker that hung returns like a restarted one: its rows under way are lost.
  if (hung_[worker]) Kill(worker);
  dead_[worker] = hung_[worker] = false;
  up_since_[worker] = now_;
}

void World::Drain(int worker) {
  drained_[worker] = true;
  for (auto& [number, stream] : streams_) {
    if (stream.worker == worker && stream.open) tracker_.WorkerDrains(number, now_);
  }
}

void World::Refuse(int worker, absl::Status why) {
  refuses_[worker] = std::move(why);
  for (auto& [number, stream] : streams_) {
    if (stream.worker == worker && stream.open) EndStream(number, refuses_[worker]);
  }
}

void World::ChangeView(std::vector<int> workers) {
  auto view = std::make_shared<plan::View>();
  view->term = 1;
  view->n = ++view_number_;
  view->policy = options_.policy;
  view->key_space = options_.policy == plan::AssignPolicy::kByRecord ? options_.records : plan::kRankKeySpace;
  std::shuffle(workers.begin(), workers.end(), random_);
  for (const int worker : workers) view->workers.push_back({WorkerName(worker), absl::StrCat("host", worker, ":1")});
  in_view_.assign(in_view_.size(), false);
  for (const int worker : workers) {
    in_view_[worker] = true;
    drained_[worker] = false;
    up_since_[worker] = now_;
  }
  const uint64_t n = workers.size();
  for (uint64_t i = 0; i < n; ++i) {
    const plan::ViewRange range{view->key_space * i / n, view->key_space * (i + 1) / n, static_cast<uint32_t>(i),
                                static_cast<uint32_t>((i + 1) % n)};
    if (range.end > range.begin) view->ranges.push_back(range);
  }
  const absl::Status valid = view->Validate();
  if (!valid.ok()) Wrong(valid.ToString());
  views_[{view->term, view->n}] = view;
  tracker_.ViewChanged(view, now_);
}

int World::open_streams(int worker) const {
  return static_cast<int>(std::count_if(streams_.begin(), streams_.end(), [&](const auto& entry) {
    return entry.second.worker == worker && entry.second.open;
  }));
}

void World::EndStream(uint64_t number, const absl::Status& why) {
  Stream& stream = streams_[number];
  if (!stream.open) return;
  stream.open = false;
  tracker_.StreamBroken(number, why, now_);
}

void World::SendRow(uint64_t stream, uint64_t epoch, uint64_t row, bool fetched) {
  if (fetched) most_fetched_ = std::max(most_fetched_, ++fetched_[stream]);
  ++sent_[streams_[stream].worker];
  if (Uniform() < options_.lose) return;
  const bool fails = Uniform() < options_.fail;
  const int copies = Uniform() < options_.repeat ? 2 : 1;
  for (int i = 0; i < copies; ++i) {
    At(now_ + Delay(options_.row_delay), [this, stream, epoch, row, fails, answers = fetched && i == 0] {
      if (answers) --fetched_[stream];
      Deliver(stream, epoch, row, fails);
    });
  }
}

void World::Deliver(uint64_t number, uint64_t epoch, uint64_t row, bool fails) {
  Stream& stream = streams_[number];
  // Rows under way when a stream ends may or may not arrive.
  if ((!stream.open || dead_[stream.worker]) && Uniform() < 0.5) return;
  if (hung_[stream.worker]) return;
  if (stream.open && Uniform() < options_.break_stream) {
    EndStream(number, absl::UnavailableError("broken"));
    return;
  }
  DeliveryTracker::Slot slot;
  switch (tracker_.RowArrived(number, epoch, row, now_, &slot)) {
    case DeliveryTracker::Claim::kDuplicate:
      return;
    case DeliveryTracker::Claim::kUnwanted:
      Wrong(absl::StrCat("row ", row, " of epoch ", epoch, " was requested, but the tracker does not want it"));
      return;
    case DeliveryTracker::Claim::kYours:
      break;
  }
  const auto it = booked_.find(slot.ordinal);
  if (it == booked_.end()) {
    Wrong("a slot of a step that was never booked");
    return;
  }
  const BookStep& step = it->second;
  if (step.span.epoch != epoch || step.span.begin + step.slice.begin + slot.row != row) {
    Wrong(absl::StrCat("row ", row, " came to slot ", slot.row, " of the step at ", step.span.begin));
  }
  if (fails) {
    tracker_.Failed(slot, number, absl::UnavailableError("disk"), now_);
    return;
  }
  const plan::EpochOrder plan = order_->Epoch(epoch);
  const uint64_t record = plan.RecordAt(steps_.PositionOfSlot(step.span, step.slice.begin + slot.row));
  if (stream.decided.count(record) == 0) {
    if (IsDamaged(stream.worker, record)) {
      tracker_.Failed(slot, number, absl::DataLossError("wrong CRC"), now_, record);
      return;
    }
    if (!tracker_.Accepts(slot, number, std::nullopt, now_)) return;
  }
  // Copying takes a moment, during which its row counts as claimed.
  At(now_ + Delay(kMillisecond), [this, slot, number, epoch, row] {
    if (Uniform() < options_.lose) {
      tracker_.Released(slot, now_);
      return;
    }
    tracker_.Filled(slot, number);
    if (++filled_[{epoch, row}] > 1) Wrong(absl::StrCat("row ", row, " of epoch ", epoch, " was filled twice"));
  });
}

bool World::IsDamaged(int worker, uint64_t record) const {
  const auto chance = [&](uint64_t salt) {
    return static_cast<double>(HashWords({options_.seed, record, salt}) >> 11) * 0x1p-53;
  };
  return (options_.bad > 0 && chance(0) < options_.bad) ||
         (options_.damaged > 0 && chance(1 + static_cast<uint64_t>(worker)) < options_.damaged);
}

bool World::IsIntact(uint64_t record, Nanos up_for) const {
  for (int worker = 0; worker < options_.workers; ++worker) {
    if (in_view_[worker] && !dead_[worker] && !hung_[worker] && !drained_[worker] && refuses_[worker].ok() &&
        now_ - up_since_[worker] >= up_for && !IsDamaged(worker, record)) {
      return true;
    }
  }
  return false;
}

void World::Judge(uint64_t record) {
  At(now_ + Delay(100 * kMillisecond), [this, record] {
    if (stored_.count(record) > 0) return;
    const bool away = Uniform() < options_.away;
    if (away) {
      tracker_.CoordinatorAway(now_ - RecordCopies::kWaitForCoordinator);
      tracker_.Tick(now_);
      Judge(record);
      return;
    }
    tracker_.CoordinatorBack();
    if (IsIntact(record, 0)) {
      tracker_.Intact({record}, now_);
    } else {
      ++decided_;
      tracker_.Decided({record}, now_);
    }
  });
}

void World::GrantRows(uint64_t number, const SendGrant& grant) {
  Stream& stream = streams_[number];
  if (stream.views.count({grant.view_term, grant.view_number}) == 0) Wrong("a grant under a view that was not sent");
  const plan::View& view = *views_.at({grant.view_term, grant.view_number});
  const plan::EpochOrder plan = order_->Epoch(grant.epoch);
  if (grant.begin >= grant.end) Wrong("an empty grant");
  for (uint64_t begin = grant.begin, rows = 0; begin < grant.end; begin += rows) {
    const plan::StepSpan span = steps_.StepAt({grant.epoch, begin});
    rows = span.size;
    if (span.epoch != grant.epoch) Wrong("a grant over the end of its epoch");
    const plan::SlotRange slice = steps_.Slice(span, options_.rank);
    for (uint64_t slot = slice.begin; slot < slice.end; ++slot) {
      const uint64_t record = plan.RecordAt(steps_.PositionOfSlot(span, slot));
      const uint32_t owner = view.OwnerOf(view.KeyOf(record, slot, span.size));
      if (view.workers[owner].id == WorkerName(stream.worker)) SendRow(number, grant.epoch, begin + slot);
    }
  }
}

void World::CarryOut() {
  for (const Command& command : tracker_.TakeCommands()) {
    if (const auto* book = std::get_if<BookStep>(&command)) {
      booked_[book->ordinal] = *book;
    } else if (const auto* open = std::get_if<OpenStream>(&command)) {
      const int worker = std::stoi(open->worker.substr(1));
      if (open_streams(worker) > 0) Wrong("a second stream to a worker");
      streams_[open->stream].worker = worker;
      const uint64_t number = open->stream;
      At(now_ + Delay(2 * kMillisecond), [this, number, worker] {
        if (!streams_[number].open || hung_[worker]) return;
        if (dead_[worker]) {
          EndStream(number, absl::UnavailableError("refused"));
        } else if (!refuses_[worker].ok()) {
          EndStream(number, refuses_[worker]);
        } else {
          tracker_.Heard(number, now_);
        }
      });
    } else if (const auto* close = std::get_if<CloseStream>(&command)) {
      streams_[close->stream].open = false;
    } else if (const auto* view = std::get_if<SendView>(&command)) {
      streams_[view->stream].views.insert({view->view->term, view->view->n});
    } else if (const auto* grant = std::get_if<SendGrant>(&command)) {
      const Stream& stream = streams_[grant->stream];
      if (stream.open && !dead_[stream.worker] && refuses_[stream.worker].ok()) GrantRows(grant->stream, *grant);
    } else if (const auto* fetch = std::get_if<SendFetch>(&command)) {
      const Stream& stream = streams_[fetch->stream];
      if (fetch->rows.empty() || !std::is_sorted(fetch->rows.begin(), fetch->rows.end())) Wrong("a fetch out of order");
      if (!stream.open || dead_[stream.worker] || !refuses_[stream.worker].ok()) continue;
      streams_[fetch->stream].decided.insert(fetch->decided.begin(), fetch->decided.end());
      for (const uint64_t row : fetch->rows) SendRow(fetch->stream, fetch->epoch, row, true);
    } else if (const auto* ask = std::get_if<AskVerdicts>(&command)) {
      for (const uint64_t record : ask->records) Judge(record);
    } else if (const auto* decision = std::get_if<StoreDecision>(&command)) {
      if (!stored_.insert(decision->record).second) Wrong("a record was decided twice");
      if (IsIntact(decision->record, RecordCopies::kWaitForWorker)) Wrong("a record with an intact copy was decided");
    }
  }
}

void World::Trainer() {
  if (tracker_.finished() || now_ < busy_until_) return;
  if (!tracker_.head_complete()) {
    if (waiting_since_ < 0) waiting_since_ = now_;
    tracker_.TrainerWaits(now_);
    return;
  }
  const plan::StepSpan span = tracker_.head_span();
  if (span != steps_.StepAt(expected_)) Wrong(absl::StrCat("the step at ", span.begin, " came out of turn"));
  const plan::SlotRange slice = steps_.Slice(span, options_.rank);
  for (uint64_t slot = slice.begin; slot < slice.end; ++slot) {
    if (filled_[{span.epoch, span.begin + slot}] != 1) {
      Wrong(absl::StrCat("row ", span.begin + slot, " of epoch ", span.epoch, " is not there in a complete step"));
    }
  }
  expected_ = steps_.After(span);
  if (waiting_since_ >= 0) longest_wait_ = std::max(longest_wait_, now_ - waiting_since_);
  waiting_since_ = -1;
  ++taken_;
  tracker_.StepTaken(now_);
  busy_until_ = now_ + options_.step_time;
}

std::string World::Run(Nanos limit) {
  while (wrong_.empty() && now_ < limit && !tracker_.finished()) {
    CarryOut();
    Trainer();
    CarryOut();
    Nanos next = std::min(limit, tracker_.NextTick(now_));
    if (busy_until_ > now_) next = std::min(next, busy_until_);
    if (!events_.empty()) next = std::min(next, events_.top().when);
    now_ = std::max(next, now_ + 1000);
    while (!events_.empty() && events_.top().when <= now_) {
      const std::function<void()> what = events_.top().what;
      events_.pop();
      what();
    }
    tracker_.Tick(now_);
  }
  return wrong_;
}

}  // namespace penstock::client
