#include "server/coordinator/explain/explain.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "server/coordinator/explain/chosen_caches.h"
#include "server/coordinator/explain/costly_dataset.h"
#include "server/coordinator/explain/fleet_use.h"
#include "server/coordinator/explain/gains.h"
#include "server/coordinator/explain/number_text.h"
#include "server/coordinator/explain/shares.h"

namespace penstock::coordinator {
namespace {

using Limit = v1::Explanation;

// Fractions of the time of the workers that the trainer waits for.
constexpr double kBusy = 0.7;     // threads; above it they are the limit, whatever else is full
constexpr double kBlocked = 0.3;  // streams
constexpr double kCopying = 0.75;
constexpr double kHeld = 0.3;  // rows that caps hold
// If threads get less of a CPU than this, idle threads would also only wait for one.
constexpr double kNoCpuLeft = 0.5;
constexpr double kSomeComputing = 0.2;
// A trainer that computes for a smaller fraction of its time takes all rows at any rate, so its demand is unknown.
constexpr double kComputes = 0.05;
constexpr size_t kShownFiles = 4;

std::string TrainerName(const SessionInput& trainer) {
  return trainer.world_size > 1 ? absl::StrCat("The trainer of rank ", trainer.rank, ", which waits most,")
                                : "The trainer";
}

class Explainer {
 public:
  explicit Explainer(const ExplainInput& input) : input_(input) {
    // A longer history decides between two sessions that wait as little.
    const auto waits_less = [](const SessionInput& a, const SessionInput& b) {
      return std::tie(a.waited, a.seconds) < std::tie(b.waited, b.seconds);
    };
    trainer_ = &*std::max_element(input.sessions.begin(), input.sessions.end(), waits_less);
    for (const WorkerInput& worker : input.workers) {
      if (worker.live) live_.push_back(&worker);
    }
  }

  v1::Explanation Run() {
    Judge();
    SayLost();
    return std::move(out_);
  }

 private:
  void Judge() {
    out_.set_job(input_.job);
    out_.set_seconds(trainer_->seconds);
    out_.set_waited(trainer_->waited);
    for (const SessionInput& session : input_.sessions) {
      out_.set_rows_per_second(out_.rows_per_second() + session.rows_per_second);
    }
    out_.set_workers(static_cast<uint32_t>(live_.size()));
    AddUses();
    AddShares(input_, &out_);
    if (NoWorker() || Files() || LostWorker() || Unknown() || Trainer()) return;
    const WorkerInput* const straggler = Straggler(input_, *trainer_);
    std::vector<const WorkerInput*> judged = live_;
    if (straggler != nullptr) judged = {straggler};
    use_ = UseOf(judged, trainer_->waited_on);
    SayWaited();
    if (straggler != nullptr && IsSlow(input_, *straggler)) {
      Slow(*straggler);
    } else {
      Busiest();
      SaySlow();
    }
    if (use_.workers.size() == 1) out_.set_worker(use_.workers[0]->id);
    SayTuned();
    SayCaches();
    SayNeeded();
    AddGains(input_, *trainer_, use_, Demand(), &out_);
  }

  void Say(std::string sentence) { out_.add_sentences(std::move(sentence)); }
  void Set(v1::Explanation::Limit limit, std::string headline) {
    out_.set_limit(limit);
    out_.set_headline(std::move(headline));
  }

  void AddUses() {
    for (const WorkerInput& worker : input_.workers) {
      v1::Explanation::WorkerUse* const use = out_.add_uses();
      use->set_worker(worker.id);
      use->set_name(NameOf(worker));
      use->set_rows_per_second(worker.rows_per_second);
      use->set_computing(worker.computing);
      use->set_reading(worker.reading + worker.storage);
      use->set_memory(worker.memory);
      use->set_unrequested(worker.unrequested);
      use->set_other_jobs(worker.others);
      use->set_blocked(worker.blocked);
      const auto waited = trainer_->waited_on.find(worker.id);
      if (waited != trainer_->waited_on.end()) use->set_waited_on(waited->second);
    }
  }

  void SayWaited() {
    Say(absl::StrCat(TrainerName(*trainer_), " waited ", Percent(trainer_->waited), " of the last ",
                     std::lround(trainer_->seconds), " s. ",
                     input_.sessions.size() == 1 ? "It took " : "All readers together took ",
                     Rate(out_.rows_per_second()), "."));
    if (!trainer_->waiting_for.empty()) Say(absl::StrCat("It is ", trainer_->waiting_for, "."));
  }

  bool NoWorker() {
    if (!live_.empty()) return false;
    Set(Limit::NO_WORKER, "no worker is live");
    Say("No worker makes rows of this job.");
    if (input_.lost.empty()) {
      for (const WorkerInput& worker : input_.workers) Say(absl::StrCat("Worker ", NameOf(worker), " has left."));
    }
    Say("Start one with `penstockd worker --coordinator HOST:PORT --data-root DIR`; the trainer continues by itself.");
    return true;
  }

  bool Files() {
    std::vector<std::string> lines;
    for (const WorkerInput* worker : live_) {
      for (const std::string& line : worker->file_errors)
        lines.push_back(absl::StrCat("Worker ", NameOf(*worker), ": ", line));
    }
    if (lines.empty()) return false;
    Set(Limit::FILES, "files that cannot be read");
    SayWaited();
    for (size_t i = 0; i < std::min(lines.size(), kShownFiles); ++i) Say(lines[i]);
    if (lines.size() > kShownFiles) {
      Say(absl::StrCat(lines.size() - kShownFiles, " more are in `penstock workers`."));
    }
    Say(trainer_->waited < kLeastWait
            ? "The trainer does not wait for them yet: its current rows are in other files, or other workers read them."
            : "Trainers request rows of such files from each worker in turn. Restore or mount the files there; the "
              "job continues by itself.");
    return true;
  }

  bool LostWorker() {
    if (trainer_->failed.empty() || trainer_->waited < kLeastWait) return false;
    std::vector<std::string> names;
    for (const std::string& id : trainer_->failed) {
      const auto named = input_.names.find(id);
      names.push_back(named == input_.names.end() ? id : named->second);
    }
    Set(Limit::LOST_WORKER, absl::StrCat("worker ", names[0], ", which the trainer cannot reach"));
    out_.set_worker(trainer_->failed[0]);
    SayWaited();
    Say(absl::StrCat("It gets nothing from ", names.size() == 1 ? "worker " : "workers ", absl::StrJoin(names, ", "),
                     ", and requests those rows from others. Check that host, and the network in between."));
    return true;
  }

  bool Unknown() {
    std::string why;
    if (trainer_->seconds < kLeastSeconds) {
      why = absl::StrFormat("The readers have been open for %.0f s; an answer needs %.0f s. Ask again in a moment.",
                            trainer_->seconds, kLeastSeconds);
    } else if (UseOf(live_, {}).workers.empty()) {
      why = "No worker has reported yet how it serves this job. Ask again in a moment.";
    }
    if (why.empty()) return false;
    Set(Limit::LIMIT_UNKNOWN, "not enough is known yet");
    Say(why);
    if (!trainer_->waiting_for.empty()) Say(absl::StrCat("The trainer is ", trainer_->waiting_for, "."));
    return true;
  }

  bool Trainer() {
    if (trainer_->waited >= kLeastWait || !trainer_->waiting_for.empty()) return false;
    Set(Limit::TRAINER, "the trainer itself: rows come in time");
    SayWaited();
    if (trainer_->steps_per_second > 0) {
      Say(absl::StrFormat("Between batches it computes for %.0f ms. Nothing here would make it faster.",
                          1000 * (1 - trainer_->waited) / trainer_->steps_per_second));
    }
    const FleetUse use = UseOf(live_, {});
    const double part = out_.rows_per_second() > 0 && use.capacity > 0 ? out_.rows_per_second() / use.capacity : 0;
    if (part > 0) {
      const size_t n = use.workers.size();
      const double needed = std::ceil(part * static_cast<double>(n));
      out_.set_workers_needed(static_cast<uint32_t>(std::max(1.0, needed)));
      Say(absl::StrCat(
          "The workers could make about ", Rate(use.capacity), ", ", absl::StrFormat("%.1f", 1 / part),
          " times as many",
          needed < static_cast<double>(n) ? absl::StrCat("; ", out_.workers_needed(), " of ", n, " would suffice") : "",
          "."));
    }
    return true;
  }

  void Slow(const WorkerInput& worker) {
    Set(Limit::SLOW_WORKER, absl::StrCat("worker ", NameOf(worker), ", which is slower than the others"));
    Say(absl::StrCat("It waits for worker ", NameOf(worker), " in ", Percent(trainer_->waited_on.at(worker.id)),
                     " of its waiting: it makes ", Rate(worker.capacity), " on ", worker.threads, " ",
                     worker.threads == 1 ? "thread" : "threads", ", far fewer than others."));
    SayTime();
    Say("Shares follow the measured rates within seconds, and others serve late rows. The remaining cause is in this "
        "worker's host: busy neighbors, its disk, fewer CPUs.");
  }

  // Names at most three slow workers. They are not the limit, because others make most of the rows that they would
  // make.
  void SaySlow() {
    constexpr size_t kMost = 3;
    size_t count = 0;
    for (const WorkerInput* worker : live_) {
      if (!IsSlow(input_, *worker) || ++count > kMost) continue;
      Say(absl::StrCat("Worker ", NameOf(*worker), " is slower than the others: it makes ", Rate(worker->capacity),
                       " on ", worker->threads, worker->threads == 1 ? " thread" : " threads",
                       ". Others make most of its rows."));
      SayTime(UseOf({worker}, {}));
    }
    if (count > kMost) Say(absl::StrCat(count - kMost, " more workers are slower than the others."));
  }

  void SayTime() { SayTime(use_); }
  // Describes in one sentence how the threads spend their time.
  void SayTime(const FleetUse& use) {
    std::vector<std::pair<double, std::string>> parts = {{use.computing, "make rows"},
                                                         {use.reading, "wait for storage"},
                                                         {use.memory, "wait for memory"},
                                                         {use.unrequested, "have no requests"},
                                                         {use.others, "work for other jobs"}};
    std::stable_sort(parts.begin(), parts.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
    std::vector<std::string> said;
    for (const auto& [part, what] : parts) {
      if (said.empty() || part >= 0.03) said.push_back(absl::StrCat(what, " in ", Percent(part)));
    }
    Say(absl::StrCat("The threads of ", use.Name(), " ", absl::StrJoin(said, ", "), " of their time."));
  }

  void Busiest() {
    const double cpu = use_.computing + use_.others;
    const std::string name = use_.Name();
    if (use_.held >= kHeld) {
      Set(Limit::CAP, absl::StrCat("the job's own caps: ", input_.caps));
      Say(absl::StrCat("Its rows wait for its caps in ", Percent(use_.held), " of the time at ", name,
                       ", whatever those threads do otherwise."));
      Say("Submit the job with larger caps and --replace, or without them, to let it use more.");
      return;
    }
    if (cpu < kBusy && trainer_->copying >= kCopying) {
      Set(Limit::COPYING, "the trainer's host: copying rows into batches");
      Say(absl::StrCat("Its ", trainer_->copy_threads, trainer_->copy_threads == 1 ? " thread" : " threads",
                       " that copy rows into batches are busy in ", Percent(trainer_->copying), " of the time."));
      SayTime();
      return;
    }
    if (cpu < kBusy && use_.blocked >= kBlocked && use_.shared_memory) {
      Set(Limit::SHARED_MEMORY,
          absl::StrCat("the trainer's host: it does not copy the rows of ", name, " out of shared memory"));
      Say(absl::StrCat("Finished rows wait at ", name, " in ", Percent(use_.blocked),
                       " of the time, until the trainer's process has copied earlier rows into its batches; ",
                       BytesPerSecond(use_.sent_per_second), " pass through shared memory, not through a network."));
      Say(absl::StrCat("Its threads that copy are busy in ", Percent(trainer_->copying),
                       " of the time: they get too little CPU, or wait for it."));
      SayTime();
      return;
    }
    if (cpu < kBusy && use_.blocked >= kBlocked) {
      Set(Limit::NETWORK, absl::StrCat("the network between ", name, " and the trainer"));
      Say(absl::StrCat("Finished rows at ", name, " wait to be sent in ", Percent(use_.blocked), " of the time; ",
                       "the stream carries ", BytesPerSecond(use_.sent_per_second), "."));
      SayTime();
      return;
    }
    const double most = std::max({cpu, use_.reading, use_.memory, use_.unrequested});
    const bool no_cpu_left = use_.cpu < kNoCpuLeft && use_.computing >= kSomeComputing;
    if (no_cpu_left && most != use_.unrequested) {
      SayCpus();
    } else if (most == use_.memory) {
      Set(Limit::MEMORY, absl::StrCat("the memory budget of ", name));
      SayTime();
      Say("Rows wait for memory that rows in progress and finished rows hold.");
    } else if (most == use_.reading) {
      Set(Limit::STORAGE, absl::StrCat("storage: the reads of ", name));
      SayTime();
      if (use_.read_ms > 0) {
        Say(absl::StrFormat("A read takes %.1f ms%s.", use_.read_ms,
                            use_.background_reads ? "; separate threads read" : ""));
      }
    } else if (most == use_.unrequested) {
      Set(Limit::WINDOW, "the prefetch window: the trainer requests too few rows ahead");
      SayTime();
      Say(absl::StrCat("All ", trainer_->window_steps,
                       " steps that the trainer requests ahead are in flight. It requests the next ",
                       "ones when it has used some: the path is long, or the window is small."));
    } else {
      SayCpus();
    }
  }

  void SayCpus() {
    Set(Limit::CPU, absl::StrCat(use_.workers.size() == 1 ? "the CPU of " : "the CPUs of ", use_.Name()));
    SayTime();
    const v1::Explanation::Share* most = nullptr;
    for (const v1::Explanation::Share& share : out_.shares()) {
      if (!share.client() && (most == nullptr || share.share() > most->share())) most = &share;
    }
    if (most != nullptr) {
      Say(absl::StrCat("The longest stage of a row is ", most->stage(), ": ", Percent(WorkerShare(out_, most->stage())),
                       "."));
    }
    if (std::string costly = CostlyDataset(input_.datasets, use_.workers); !costly.empty()) Say(std::move(costly));
    if (use_.cpu < kShortOfCpu) {
      Say(absl::StrCat("While they make rows they have a CPU for only ", Percent(use_.cpu),
                       " of the time: other work on the host, or a quota, takes the rest."));
    }
    if (use_.others >= 0.2) Say("Other jobs use a part of these threads: check their weights, or add workers.");
  }

  void SayLost() {
    constexpr size_t kMost = 3;
    for (size_t i = 0; i < std::min(kMost, input_.lost.size()); ++i) Say(absl::StrCat("Worker ", input_.lost[i], "."));
    if (input_.lost.size() > kMost) {
      Say(absl::StrCat(input_.lost.size() - kMost, " more lost workers are in `penstock workers`."));
    }
  }

  // Names the last setting that a worker changed, for some workers.
  void SayTuned() {
    constexpr int kMost = 3;
    int said = 0;
    for (const WorkerInput* worker : live_) {
      if (worker->tuned.empty() || ++said > kMost) continue;
      Say(absl::StrCat("Worker ", NameOf(*worker), " has tuned itself, most recently ", worker->tuned, "."));
    }
  }

  // Describes the caches of at most three judged workers, if a cache could help.
  void SayCaches() {
    if (out_.limit() != Limit::CPU && out_.limit() != Limit::STORAGE && out_.limit() != Limit::MEMORY) return;
    constexpr size_t kMost = 3;
    for (size_t i = 0; i < std::min(kMost, use_.workers.size()); ++i) {
      const std::string said =
          ChosenCaches(*use_.workers[i], input_.decodes && out_.limit() == Limit::CPU, out_.limit() == Limit::STORAGE);
      if (!said.empty()) Say(said);
    }
  }

  // Returns the rows per second that would feed the trainers, or 0 if unknown.
  double Demand() const {
    const double computes = 1 - trainer_->waited;
    return computes < kComputes ? 0 : out_.rows_per_second() / computes;
  }

  void SayNeeded() {
    const double demand = Demand();
    if (demand <= 0) {
      Say("The trainer hardly computes between batches, so it takes rows at any rate: the number of workers that it "
          "needs is unknown.");
      return;
    }
    const v1::Explanation::Limit limit = out_.limit();
    const bool by_workers =
        limit == Limit::CPU || limit == Limit::STORAGE || limit == Limit::SLOW_WORKER || limit == Limit::MEMORY;
    const FleetUse all = UseOf(live_, {});
    const double each = std::max(all.capacity, out_.rows_per_second()) / static_cast<double>(all.workers.size());
    if (!by_workers || each <= 0) {
      Say(absl::StrCat("It needs about ", Rate(demand), "."));
      return;
    }
    const double needed = std::ceil(demand / each - 0.05);
    out_.set_workers_needed(static_cast<uint32_t>(std::max(needed, static_cast<double>(live_.size()))));
    Say(absl::StrCat("About ", Rate(demand), " would keep it busy: ", out_.workers_needed(),
                     out_.workers_needed() == 1 ? " worker like " : " workers like ",
                     all.workers.size() == 1 ? "this one" : "these", "."));
  }

  const ExplainInput& input_;
  const SessionInput* trainer_ = nullptr;
  std::vector<const WorkerInput*> live_;
  FleetUse use_;
  v1::Explanation out_;
};

}  // namespace

v1::Explanation Explain(const ExplainInput& input) { return Explainer(input).Run(); }

}  // namespace penstock::coordinator
