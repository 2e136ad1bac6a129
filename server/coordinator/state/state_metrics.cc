// What metrics need besides the status.
#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "pipeline/plan/job_order.h"
#include "server/coordinator/state/coordinator_state.h"

namespace penstock::coordinator {
namespace {

constexpr double kMostBehind = 1e15;  // steps

}  // namespace

std::vector<uint64_t> CoordinatorState::StepsBehind(const JobEntry& entry,
                                                    const std::vector<const SessionEntry*>& sessions) const {
  // A reader may report any numbers.
  const auto all_rows_of = [&entry](const SessionEntry& session) {
    return static_cast<unsigned __int128>(session.last.epoch()) * entry.epoch_rows + session.last.position();
  };
  const auto rows_of = [&](const SessionEntry& session) { return static_cast<double>(all_rows_of(session)); };
  std::map<std::pair<std::string, uint32_t>, double> first;  // rank of each run, by group and world size
  for (const SessionEntry* session : sessions) {
    double& rows = first[{session->open.group(), session->open.world_size()}];
    rows = std::max(rows, rows_of(*session));
  }
  std::vector<uint64_t> steps;
  for (const SessionEntry* session : sessions) {
    const plan::StepSizes sizes =
        plan::StepSizesOf(entry.job.spec().batch(), entry.batches, session->open.batch_size());
    const double rows = sizes.batches == nullptr ? static_cast<double>(sizes.At(all_rows_of(*session)))
                                                 : static_cast<double>(entry.epoch_rows) /
                                                       static_cast<double>(sizes.batches->batches());  // their mean
    const double batch = std::max(rows, 1.0);
    const double behind = first[{session->open.group(), session->open.world_size()}] - rows_of(*session);
    // Readers without other ranks are runs of their own, also if they share a group.
    const bool compared = session->reports > 0 && session->open.world_size() > 1;
    steps.push_back(compared ? static_cast<uint64_t>(std::clamp(behind / batch, 0.0, kMostBehind)) : 0);
  }
  return steps;
}

std::vector<TrainerProgress> CoordinatorState::Trainers(Nanos now) const {
  std::vector<TrainerProgress> trainers;
  for (const auto& [name, entry] : jobs_) {
    if (!entry.ready()) continue;
    const std::vector<const SessionEntry*> sessions = sessions_.OfJob(name);
    const std::vector<uint64_t> behind = StepsBehind(entry, sessions);
    for (size_t i = 0; i < sessions.size(); ++i) {
      trainers.push_back({name, sessions[i]->open.rank(), sessions[i]->open.world_size(), behind[i],
                          std::max<Nanos>(now - sessions[i]->last_report, 0)});
    }
  }
  return trainers;
}

std::vector<std::string> CoordinatorState::ReadJobs(Nanos now) const {
  std::vector<std::string> names;
  for (const auto& [name, entry] : jobs_) {
    if (entry.ready() && entry.job.paused_by().empty() && !ReadersOf(entry, now).empty()) names.push_back(name);
  }
  return names;
}

}  // namespace penstock::coordinator
