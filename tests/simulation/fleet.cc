#include "tests/simulation/fleet.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "net/view_proto.h"
#include "tests/server/coordinator/apply_and_store.h"
#include "tests/server/coordinator/job_specs.h"

namespace penstock::simulation {
namespace {

constexpr Nanos kTick = 10 * kMillisecond;
constexpr int kShards = 8;

std::string NameOf(int worker) { return absl::StrCat("w", worker); }

plan::PlanOptions SmallChunks() {
  plan::PlanOptions plan;
  plan.seed = 5;
  plan.chunk_records = 4;
  plan.window_chunks = 64;
  return plan;
}

}  // namespace

Fleet::Fleet(const FleetOptions& options)
    : options_(options),
      random_(options.seed),
      order_(*plan::DataOrder::Create(std::vector<uint64_t>(kShards, options.records / kShards), SmallChunks(),
                                      std::nullopt)),
      steps_(*plan::Steps::Create(order_->num_records(), options.batch, plan::LastBatch::kDrop, 1)),
      state_(std::make_unique<coordinator::CoordinatorState>(*coordinator::CoordinatorState::Restore({}, now_, 1, {}))),
      workers_(options.workers),
      readers_(options.readers) {
  for (Worker& worker : workers_) worker.rate = options.rate;
  Prepare();
  for (int i = 0; i < options.readers; ++i) {
    client::TrackerOptions tracker;
    tracker.epochs = 0;
    tracker.window_steps = options.window;
    tracker.order = order_;
    readers_[i].tracker = std::make_unique<client::DeliveryTracker>(steps_, tracker);
    v1::OpenSessionRequest open = coordinator::SessionOn("train");
    open.set_process(static_cast<uint64_t>(i) + 1);
    readers_[i].session = std::get<v1::OpenSessionReply>(Apply(open).reply).session_id();
    readers_[i].tracker->ViewChanged(ViewOfJob(), now_);
  }
  known_view_ = view_number();
}

coordinator::Effects Fleet::Apply(coordinator::Request request) {
  std::vector<v1::StoreEvent> facts;
  coordinator::Effects effects =
      coordinator::ApplyAndStore(state_.get(), {now_, std::move(request), {++events_, 0}}, &facts);
  if (!effects.status.ok()) wrong_ = effects.status.ToString();
  return effects;
}

void Fleet::Prepare() {
  for (int i = 0; i < options_.workers; ++i) {
    v1::RegisterWorkerRequest hello = coordinator::WorkerCalled(NameOf(i));
    hello.set_threads(static_cast<uint32_t>(options_.threads));
    Apply(hello);
  }
  Apply(coordinator::SubmitOf(coordinator::SimpleSpec("train", static_cast<uint32_t>(options_.batch))));
  for (bool any = true; any;) {
    any = false;
    for (int i = 0; i < options_.workers; ++i) {
      const auto reply = std::get<v1::HeartbeatReply>(Apply(coordinator::BeatOf(NameOf(i))).reply);
      for (const v1::Task& task : coordinator::TasksIn(reply)) {
        Apply(coordinator::DoneBy(NameOf(i), task, kShards, options_.records / kShards));
        any = true;
      }
    }
  }
}

std::shared_ptr<const plan::View> Fleet::ViewOfJob() {
  v1::WatchRequest watch;
  watch.set_job("train");
  const auto reply = state_->Watch(watch);
  PS_CHECK(reply.ok() && reply->has_value() && (*reply)->jobs_size() == 1);
  return std::make_shared<const plan::View>(*net::FromProto((*reply)->jobs(0).view()));
}

uint64_t Fleet::view_number() { return ViewOfJob()->n; }

double Fleet::ShareOf(int worker) {
  const auto view = ViewOfJob();
  uint64_t keys = 0;
  for (const plan::ViewRange& range : view->ranges) {
    if (view->workers[range.owner].id == NameOf(worker)) keys += range.end - range.begin;
  }
  return static_cast<double>(keys) / static_cast<double>(view->key_space);
}

v1::WorkerStatus Fleet::StatusOf(int worker) {
  const v1::StatusReply status = state_->Status(now_);
  for (const v1::WorkerStatus& one : status.workers()) {
    if (one.id() == NameOf(worker)) return one;
  }
  return {};
}

void Fleet::SetAllRates(double rows_per_second) {
  for (Worker& worker : workers_) worker.rate = rows_per_second;
}

uint64_t Fleet::fetched_rows() const {
  uint64_t rows = 0;
  for (const Reader& reader : readers_) rows += reader.tracker->stats().fetched_rows;
  return rows;
}

uint64_t Fleet::duplicate_rows() const {
  uint64_t rows = 0;
  for (const Reader& reader : readers_) rows += reader.tracker->stats().duplicate_rows;
  return rows;
}

uint64_t Fleet::rows_taken() const {
  uint64_t rows = 0;
  for (const Reader& reader : readers_) rows += reader.rows;
  return rows;
}

double Fleet::RateOver(Nanos length) {
  const uint64_t before = rows_taken();
  Run(length);
  return static_cast<double>(rows_taken() - before) * kSecond / static_cast<double>(length);
}

void Fleet::Run(Nanos length) {
  const Nanos until = now_ + length;
  while (now_ < until) {
    now_ += kTick;
    for (int i = 0; i < options_.workers; ++i) {
      Worker& worker = workers_[i];
      if (worker.hole) continue;
      for (const auto& what : std::exchange(worker.held_up, {})) what();
    }
    for (int i = 0; i < options_.workers; ++i) Work(i);
    Carry();
    Coordinate();
    Trainers();
  }
}

void Fleet::Coordinate() {
  for (int i = 0; i < options_.workers; ++i) {
    Worker& worker = workers_[i];
    if (now_ < worker.next_beat || worker.hole) continue;
    worker.next_beat = now_ + kSecond;
    v1::HeartbeatRequest beat = coordinator::BeatOf(NameOf(i));
    *beat.mutable_load() = worker.meter.Measure(worker.stats, 0, 1, now_);
    Apply(beat);
  }
  Apply(coordinator::Tick());
  for (Reader& reader : readers_) {
    if (now_ < reader.next_report) continue;
    reader.next_report = now_ + kSecond;
    v1::ReportSessionRequest report;
    report.set_session_id(reader.session);
    report.set_wait_fraction(static_cast<double>(std::exchange(reader.waited, 0)) / kSecond);
    for (std::string& id : reader.tracker->FailedWorkers()) report.add_failed_workers(std::move(id));
    if (options_.coordinator) Apply(report);
  }
  const auto view = ViewOfJob();
  if (view->n == known_view_ || !options_.coordinator) return;
  known_view_ = view->n;
  for (Reader& reader : readers_) reader.tracker->ViewChanged(view, now_);
}

void Fleet::Work(int number) {
  Worker& worker = workers_[number];
  const double seconds = static_cast<double>(kTick) / kSecond;
  // Drops rows of sessions whose streams have closed.
  for (auto it = worker.sessions.begin(); it != worker.sessions.end();) {
    it = readers_[it->first.first].streams[it->first.second].open ? std::next(it) : worker.sessions.erase(it);
  }
  // Picks the next session that may make a row, in turn.
  const auto next = [&]() -> Queue* {
    auto it = worker.sessions.upper_bound(worker.turn);
    for (size_t i = 0; i < worker.sessions.size(); ++i, ++it) {
      if (it == worker.sessions.end()) it = worker.sessions.begin();
      if (it->second.rows.empty() || it->second.made.size() >= options_.outbox) continue;
      worker.turn = it->first;
      return &it->second;
    }
    return nullptr;
  };
  if (next() == nullptr) {
    worker.credit = 0;
    return;
  }
  if (worker.stopped && now_ / kTick % 10 >= 2) {
    worker.stats.busy_seconds += seconds;
    worker.stats.owing_seconds += seconds;
    return;
  }
  if (worker.cold_until < 0) worker.cold_until = now_ + options_.first_row;
  worker.credit += now_ < worker.cold_until ? 0 : worker.rate * seconds;
  bool ran_out = false;
  double used = 0;
  while (worker.credit - used > 0) {
    Queue* const queue = next();
    if (queue == nullptr) {
      ran_out = true;
      break;
    }
    const auto row = queue->rows.begin();
    queue->made.emplace(arrivals_++, row->second);
    queue->rows.erase(row);
    used += 1 + options_.noise * (std::uniform_real_distribution<double>(-1, 1)(random_));
    ++worker.stats.rows;
  }
  const double part = ran_out && worker.credit > 0 ? std::min(1.0, used / worker.credit) : 1;
  worker.stats.busy_seconds += part * seconds;
  worker.stats.owing_seconds += seconds * (part > 0 ? std::max(part, 0.1) : 0);
  worker.credit = ran_out ? 0 : worker.credit - used;
}

// Sends finished rows, in turn, as far as the links carry them.
void Fleet::Carry() {
  link_credit_ = std::min(link_credit_ + options_.link_rate * kTick / kSecond, 1000.0);
  for (bool any = true; any;) {
    any = false;
    for (int i = 0; i < options_.workers; ++i) {
      for (auto& [key, queue] : workers_[i].sessions) {
        if (queue.made.empty()) continue;
        if (options_.link_rate > 0) {
          if (link_credit_ < 1) return;
          link_credit_ -= 1;
        }
        const Todo row = queue.made.begin()->second;
        queue.made.erase(queue.made.begin());
        any = true;
        if (workers_[i].hole) {
          workers_[i].held_up.push_back([this, i, row] { Deliver(i, row); });
        } else {
          Deliver(i, row);
        }
      }
    }
  }
}

void Fleet::Deliver(int worker, const Todo& row) {
  Reader& reader = readers_[row.reader];
  if (!reader.streams[row.stream].open) return;
  client::DeliveryTracker::Slot slot;
  switch (reader.tracker->RowArrived(row.stream, row.epoch, row.row, now_, &slot)) {
    case client::DeliveryTracker::Claim::kYours:
      reader.tracker->Filled(slot, row.stream);
      break;
    case client::DeliveryTracker::Claim::kDuplicate:
      break;
    case client::DeliveryTracker::Claim::kUnwanted:
      wrong_ = absl::StrCat("row ", row.row, " of worker ", worker, " is unwanted");
  }
}

void Fleet::Ask(int number, uint64_t stream, uint64_t epoch, const std::vector<uint64_t>& rows, bool granted) {
  Stream& to = readers_[number].streams[stream];
  if (!to.open) return;
  const auto arrive = [this, number, stream, epoch, rows, granted, worker = to.worker] {
    if (!readers_[number].streams[stream].open) return;
    Queue& queue = workers_[worker].sessions[{number, stream}];
    for (const uint64_t row : rows) {
      queue.rows[{granted, epoch, row, arrivals_++}] = {number, stream, epoch, row};
    }
  };
  if (workers_[to.worker].hole) {
    workers_[to.worker].held_up.push_back(arrive);
  } else {
    arrive();
  }
}

void Fleet::CarryOut(int number) {
  Reader& reader = readers_[number];
  for (const client::Command& command : reader.tracker->TakeCommands()) {
    if (const auto* open = std::get_if<client::OpenStream>(&command)) {
      const int worker = std::stoi(open->worker.substr(1));
      reader.streams[open->stream].worker = worker;
      const auto accept = [this, number, stream = open->stream] {
        if (readers_[number].streams[stream].open) readers_[number].tracker->Heard(stream, now_);
      };
      if (workers_[worker].hole) {
        workers_[worker].held_up.push_back(accept);
      } else {
        accept();
      }
    } else if (const auto* close = std::get_if<client::CloseStream>(&command)) {
      reader.streams[close->stream].open = false;
    } else if (const auto* view = std::get_if<client::SendView>(&command)) {
      reader.streams[view->stream].views[{view->view->term, view->view->n}] = view->view;
    } else if (const auto* grant = std::get_if<client::SendGrant>(&command)) {
      Stream& stream = reader.streams[grant->stream];
      const plan::View& under = *stream.views.at({grant->view_term, grant->view_number});
      const uint32_t self = under.FindWorker(NameOf(stream.worker));
      plans_.erase(plans_.begin(), plans_.lower_bound(grant->epoch > 0 ? grant->epoch - 1 : 0));
      const auto plan = plans_.try_emplace(grant->epoch, order_->Epoch(grant->epoch)).first;
      std::vector<uint64_t> rows;
      for (uint64_t row = grant->begin; row < grant->end; ++row) {
        if (under.OwnerOf(plan->second.RecordAt(row)) == self) rows.push_back(row);
      }
      Ask(number, grant->stream, grant->epoch, rows, true);
    } else if (const auto* fetch = std::get_if<client::SendFetch>(&command)) {
      Ask(number, fetch->stream, fetch->epoch, fetch->rows, false);
    }
  }
}

void Fleet::Trainers() {
  for (int i = 0; i < options_.readers; ++i) {
    Reader& reader = readers_[i];
    client::DeliveryTracker& tracker = *reader.tracker;
    if (now_ >= reader.next_tick) {
      tracker.Tick(now_);
      reader.next_tick = INT64_MAX;
    }
    CarryOut(i);
    for (int steps = 0; steps < 64 && now_ >= reader.busy_until; ++steps) {
      if (!tracker.head_complete()) {
        tracker.TrainerWaits(now_);
        reader.waited += kTick;
        break;
      }
      reader.rows += tracker.head_span().rows;
      tracker.StepTaken(now_);
      reader.busy_until = std::max(reader.busy_until + options_.step_time, now_ - kTick + options_.step_time);
      if (options_.step_time == 0) reader.busy_until = 0;
    }
    CarryOut(i);
    reader.next_tick = std::min(reader.next_tick, tracker.NextTick(now_));
  }
}

}  // namespace penstock::simulation
