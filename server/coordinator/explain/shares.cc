#include "server/coordinator/explain/shares.h"

#include <algorithm>
#include <string>
#include <vector>

namespace penstock::coordinator {
namespace {

constexpr double kSmall = 0.01;
constexpr char kOther[] = "other";

struct Stage {
  StageTime time;
  bool client = false;
};

void Add(const std::string& name, double milliseconds, bool client, std::vector<Stage>* stages) {
  const auto known = std::find_if(stages->begin(), stages->end(), [&](const Stage& stage) {
    return stage.time.name == name && stage.client == client;
  });
  if (known != stages->end()) {
    known->time.milliseconds += milliseconds;
  } else {
    stages->push_back({{name, milliseconds}, client});
  }
}

// Returns the position of a stage on the way of a row. Ops are in the middle; AddShares orders them by their time.
int PlaceOf(const Stage& stage) {
  const std::vector<std::string> first = {"read", "parse", "decode", "resize"};
  const auto found = std::find(first.begin(), first.end(), stage.time.name);
  if (!stage.client && found != first.end()) return static_cast<int>(found - first.begin());
  if (stage.client) return stage.time.name == "copy" ? 8 : 9;
  return stage.time.name == "send" ? 7 : stage.time.name == kOther ? 6 : 5;
}

}  // namespace

void AddShares(const ExplainInput& input, v1::Explanation* out) {
  std::vector<Stage> stages;
  double made = 0, taken = 0;
  for (const WorkerInput& worker : input.workers) made += worker.stages.empty() ? 0 : worker.rows_per_second;
  for (const SessionInput& session : input.sessions) taken += session.rows_per_second;
  if (made <= 0) return;
  for (const WorkerInput& worker : input.workers) {
    for (const StageTime& stage : worker.stages) {
      Add(stage.name, stage.milliseconds * worker.rows_per_second / made, false, &stages);
    }
  }
  for (const SessionInput& session : input.sessions) {
    if (taken <= 0) break;
    Add("copy", session.copy_ms * session.rows_per_second / taken, true, &stages);
    Add("seal", session.seal_ms * session.rows_per_second / taken, true, &stages);
  }
  double all = 0;
  for (const Stage& stage : stages) all += stage.time.milliseconds;
  if (all <= 0) return;
  std::vector<Stage> shown;
  for (const Stage& stage : stages) {
    const bool small = stage.time.milliseconds < kSmall * all;
    Add(small ? kOther : stage.time.name, stage.time.milliseconds, !small && stage.client, &shown);
  }
  std::stable_sort(shown.begin(), shown.end(), [](const Stage& a, const Stage& b) {
    return std::make_pair(PlaceOf(a), -a.time.milliseconds) < std::make_pair(PlaceOf(b), -b.time.milliseconds);
  });
  for (const Stage& stage : shown) {
    v1::Explanation::Share* const share = out->add_shares();
    share->set_stage(stage.time.name);
    share->set_milliseconds(stage.time.milliseconds);
    share->set_share(stage.time.milliseconds / all);
    share->set_client(stage.client);
  }
}

double WorkerShare(const v1::Explanation& explanation, const std::string& stage) {
  double all = 0, own = 0;
  for (const v1::Explanation::Share& share : explanation.shares()) {
    if (share.client()) continue;
    all += share.milliseconds();
    if (share.stage() == stage) own += share.milliseconds();
  }
  return all > 0 ? own / all : 0;
}

}  // namespace penstock::coordinator
