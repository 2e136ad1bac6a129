#include "server/coordinator/service/commit_queue.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>

namespace penstock::coordinator {
namespace {

// Pauses between two attempts to settle a commit.
constexpr Nanos kSettlePause = 100 * kMillisecond;
constexpr Nanos kSettlePauseMost = 2 * kSecond;
// From this number of gathered entries on, events of the history are dropped.
constexpr size_t kMostWithEvents = 4096;

}  // namespace

CommitQueue::CommitQueue(Store* store, uint64_t revision, Strand* strand, RandomSource* random,
                         std::function<void(Result)> ended)
    : store_(store),
      strand_(strand),
      random_(random),
      ended_(std::move(ended)),
      mailbox_(std::make_shared<Mailbox>(strand)),
      revision_(revision),
      settle_(strand) {}

CommitQueue::~CommitQueue() { mailbox_->Close(); }

void CommitQueue::AddHint(v1::StoreEvent fact) {
  Entry entry;
  entry.facts.push_back(std::make_shared<const v1::StoreEvent>(std::move(fact)));
  Add(std::move(entry));
}

void CommitQueue::AddChange(Change change) {
  Entry entry;
  for (v1::StoreEvent& fact : change.facts) {
    entry.facts.push_back(std::make_shared<const v1::StoreEvent>(std::move(fact)));
  }
  change.facts.clear();
  entry.change = std::move(change);
  Add(std::move(entry));
}

void CommitQueue::Add(Entry entry) {
  entry.number = ++last_;
  // Events are for people: while the store fails, they may be lost.
  const bool optional = !entry.change.has_value() && entry.facts[0]->has_add_history();
  if (!optional) last_needed_ = last_;
  if (superseded_ || (optional && gathered_.size() >= kMostWithEvents)) return;
  urgent_ = urgent_ || !optional;
  gathered_.push_back(std::move(entry));
}

void CommitQueue::Start(bool events) {
  if (in_flight_ || gathered_.empty() || (!urgent_ && !events)) return;
  in_flight_ = true;
  urgent_ = false;
  began_ = strand_->clock()->Now();
  flying_ = std::exchange(gathered_, {});
  flying_last_ = flying_.back().number;
  commit_id_ = RandomHexId(random_);
  settle_pause_ = 0;
  StoreCommit commit{commit_id_, revision_, {}};
  for (const Entry& entry : flying_) commit.events.insert(commit.events.end(), entry.facts.begin(), entry.facts.end());
  store_->Commit(std::move(commit), PostOutcome());
}

Store::Done CommitQueue::PostOutcome() {
  return [this, mailbox = mailbox_](CommitOutcome outcome) {
    mailbox->Post([this, outcome = std::move(outcome)]() mutable { Ended(std::move(outcome)); });
  };
}

void CommitQueue::SettleAt(Nanos when) {
  settle_.Set(when, [this] { store_->Settle(commit_id_, revision_, PostOutcome()); });
}

void CommitQueue::Ended(CommitOutcome outcome) {
  if (outcome.kind == CommitOutcome::kUnknown) {
    ++counts_.unknown;
    if (status_.ok()) spdlog::error("changes may be stored or not: {}", std::string(outcome.why.message()));
    status_ = std::move(outcome.why);
    SettleAt(strand_->clock()->Now() + settle_pause_);
    settle_pause_ = std::clamp(2 * settle_pause_, kSettlePause, kSettlePauseMost);
    return;
  }
  in_flight_ = false;
  counts_.in_flight += strand_->clock()->Now() - began_;
  Result result;
  result.kind = outcome.kind;
  result.why = outcome.why;
  result.last = flying_last_;
  std::vector<Entry> entries = std::exchange(flying_, {});
  switch (outcome.kind) {
    case CommitOutcome::kStored:
      if (!status_.ok()) spdlog::info("the store takes changes again");
      ++counts_.stored;
      ++revision_;
      settled_ = flying_last_;
      result.ended = std::move(entries);
      break;
    case CommitOutcome::kSuperseded:
      ++counts_.superseded;
      superseded_ = true;
      gathered_.clear();
      break;
    default: {
      ++counts_.not_stored;
      if (status_.ok()) spdlog::error("cannot store changes: {}", std::string(outcome.why.message()));
      std::vector<Entry> again;
      for (Entry& entry : entries) {
        const bool drop = entry.change.has_value() && !entry.change->retry;
        (drop ? result.ended : again).push_back(std::move(entry));
      }
      if (again.empty()) settled_ = flying_last_;
      again.insert(again.end(), std::make_move_iterator(gathered_.begin()), std::make_move_iterator(gathered_.end()));
      gathered_ = std::move(again);
      urgent_ = true;
      break;
    }
  }
  status_ = std::move(outcome.why);
  ended_(std::move(result));
}

}  // namespace penstock::coordinator
