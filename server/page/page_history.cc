#include "server/page/page_history.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/json.h"

namespace penstock::server {
namespace {

// Estimates of the bytes that the containers add.
constexpr size_t kRankOverhead = 256, kEventOverhead = 64;

std::string Counted(uint64_t count, const char* what) { return absl::StrCat(count, " ", what, count == 1 ? "" : "s"); }

const char* StateText(v1::JobState state) {
  switch (state) {
    case v1::PREPARING:
      return "is being prepared";
    case v1::READY:
      return "is ready";
    case v1::FAILED:
      return "has failed";
    case v1::CANCELLED:
      return "was cancelled";
    default:
      return "has a new state";
  }
}

const char* StateText(v1::WorkerStatus::State state) {
  switch (state) {
    case v1::WorkerStatus::LIVE:
      return "serves";
    case v1::WorkerStatus::DRAINING:
      return "drains";
    case v1::WorkerStatus::DEAD:
      return "was lost";
    case v1::WorkerStatus::LEFT:
      return "has left";
    case v1::WorkerStatus::SUSPECT:
      return "was removed until it is steady";
    default:
      return "has a new state";
  }
}

}  // namespace

size_t PageHistory::BytesOf(const Key& key) {
  return kRankOverhead + kPoints * sizeof(Point) + 2 * (key.first.size() + key.second.size());
}

void PageHistory::Add(int64_t now, const v1::StatusReply& status) {
  ++number_;
  if (number_ == 1) AddEvent(now, absl::StrCat("the coordinator started, penstock ", status.version()));
  AddWorkerEvents(now, status);
  AddJobEvents(now, status);
  AddPoints(now, status);
}

void PageHistory::AddPoints(int64_t now, const v1::StatusReply& status) {
  const int64_t at = now / kSeconds * kSeconds;
  const bool due = at > last_point_;
  // Times without a status, such as while the process was stopped, have no points.
  const int64_t cleared = due ? std::min<int64_t>((at - last_point_) / kSeconds, kPoints) : 0;
  const auto place = [](int64_t time) { return static_cast<size_t>(time / kSeconds) % kPoints; };
  if (due) last_point_ = at;
  for (auto& [key, rank] : ranks_) {
    for (int64_t i = 0; i < cleared; ++i) rank.points[place(at - i * kSeconds)] = Point();
  }
  const auto for_each_rank = [&status](const auto& act) {
    for (const auto& job : status.jobs()) {
      for (const auto& session : job.sessions()) act(Key(job.name(), session.id()), session);
    }
  };
  for_each_rank([this](const Key& key, const v1::StatusReply::SessionStatus&) {
    if (const auto found = ranks_.find(key); found != ranks_.end()) found->second.seen = number_;
  });
  // Makes room for new ranks first.
  for (auto rank = ranks_.begin(); rank != ranks_.end();) {
    if (rank->second.seen == number_) {
      ++rank;
      continue;
    }
    rank_bytes_ -= BytesOf(rank->first);
    rank = ranks_.erase(rank);
  }
  for_each_rank([&](const Key& key, const v1::StatusReply::SessionStatus& session) {
    auto found = ranks_.find(key);
    if (found == ranks_.end()) {
      if (rank_bytes_ + BytesOf(key) + kMostEvents * (kMostEventBytes + kEventOverhead) > kMostBytes) return;
      rank_bytes_ += BytesOf(key);
      found = ranks_.emplace(key, Rank()).first;
      found->second.points.resize(kPoints);
      found->second.seen = number_;
    }
    found->second.rank = session.rank();
    if (!due) return;
    found->second.points[place(at)] = {static_cast<float>(std::max(0.0, session.rows_per_second())),
                                       static_cast<float>(session.wait_fraction())};
  });
}

void PageHistory::AddJobEvents(int64_t now, const v1::StatusReply& status) {
  std::map<std::string, Job> jobs;
  for (const auto& job : status.jobs()) {
    Job& is = jobs[job.name()];
    is = {job.state(), job.view_number(), job.bad_records(), job.sessions_size()};
    const auto found = jobs_.find(job.name());
    const Job was = found == jobs_.end() ? Job() : found->second;
    const std::string name = absl::StrCat("job ", job.name(), " ");
    if (is.state != was.state) AddEvent(now, absl::StrCat(name, StateText(is.state)));
    if (is.view != was.view && is.view > 0) AddEvent(now, absl::StrCat(name, "has view ", is.view));
    if (is.bad_records > was.bad_records) {
      AddEvent(now, absl::StrCat(name, "has ", Counted(is.bad_records - was.bad_records, "new bad record")));
    }
    if (is.readers != was.readers) {
      AddEvent(now, absl::StrCat(name, "has ", Counted(static_cast<uint64_t>(is.readers), "reader"), ", it had ",
                                 was.readers));
    }
  }
  for (const auto& [name, job] : jobs_) {
    if (!jobs.contains(name)) AddEvent(now, absl::StrCat("job ", name, " was deleted"));
  }
  jobs_ = std::move(jobs);
}

void PageHistory::AddWorkerEvents(int64_t now, const v1::StatusReply& status) {
  std::map<std::string, Worker> workers;
  for (const auto& worker : status.workers()) {
    Worker& is = workers[worker.id()];
    is = {worker.state(), worker.name().empty() ? worker.id() : worker.name()};
    const auto found = workers_.find(worker.id());
    if (found != workers_.end() && found->second.state == is.state) continue;
    AddEvent(now, absl::StrCat("worker ", is.name, " ", StateText(is.state)));
  }
  workers_ = std::move(workers);
}

void PageHistory::AddEvent(int64_t now, std::string text) {
  if (text.size() > kMostEventBytes) text.resize(kMostEventBytes);
  text.shrink_to_fit();
  event_bytes_ += text.size() + kEventOverhead;
  events_.push_back({now, std::move(text)});
  if (events_.size() <= kMostEvents) return;
  event_bytes_ -= events_.front().text.size() + kEventOverhead;
  events_.pop_front();
}

std::string PageHistory::RanksJson(std::string_view job, size_t most) const {
  struct Found {
    double waited = 0;
    const Key* key = nullptr;
    const Rank* rank = nullptr;
  };
  std::vector<Found> found;
  const size_t last = static_cast<size_t>(last_point_ / kSeconds) % kPoints;
  for (auto at = ranks_.lower_bound({std::string(job), ""}); at != ranks_.end() && at->first.first == job; ++at) {
    found.push_back({at->second.points[last].waited, &at->first, &at->second});
  }
  std::stable_sort(found.begin(), found.end(), [](const Found& one, const Found& other) {
    return one.waited != other.waited ? one.waited > other.waited : one.rank->rank < other.rank->rank;
  });
  std::vector<std::string> ranks;
  for (size_t i = 0; i < std::min(most, found.size()); ++i) {
    std::vector<std::string> rows, waited;
    for (size_t p = 1; p <= kPoints; ++p) {
      const Point& point = found[i].rank->points[(last + p) % kPoints];
      if (rows.empty() && point.rows_per_second < 0) continue;  // the rank began later
      rows.push_back(point.rows_per_second < 0 ? "null" : absl::StrCat(std::lround(point.rows_per_second)));
      waited.push_back(point.rows_per_second < 0 ? "null" : absl::StrCat(std::lround(100 * point.waited)));
    }
    ranks.push_back(Json()
                        .Field("id", found[i].key->second)
                        .Field("rank", uint64_t{found[i].rank->rank})
                        .Raw("rows_per_second", Json::Array(rows))
                        .Raw("waited_percent", Json::Array(waited))
                        .Object());
  }
  return Json()
      .Field("seconds", static_cast<uint64_t>(kSeconds))
      .Field("points", uint64_t{kPoints})
      .Raw("ranks", Json::Array(ranks))
      .Object();
}

std::string PageHistory::EventsJson() const {
  std::vector<std::string> events;
  for (auto event = events_.rbegin(); event != events_.rend(); ++event) {
    events.push_back(Json().Field("at", static_cast<uint64_t>(event->at)).Field("text", event->text).Object());
  }
  return Json().Raw("events", Json::Array(events)).Object();
}

}  // namespace penstock::server
