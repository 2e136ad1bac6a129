#include "server/coordinator/state/dataset_progress.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <string>
#include <utility>

namespace penstock::coordinator {
namespace {

using Place = std::pair<uint64_t, uint64_t>;  // epoch, position

// A session has no position of its own before its first report.
Place PlaceOf(const SessionEntry& session) {
  if (session.reports == 0) return {session.open.epoch(), session.open.position()};
  return {session.last.epoch(), session.last.position()};
}

}  // namespace

std::optional<plan::Cursor> PassedByARun(const std::vector<const SessionEntry*>& sessions) {
  std::map<std::pair<std::string, uint32_t>, Place> runs;  // the slowest rank of each run, by group and world size
  Place furthest;
  for (const SessionEntry* const session : sessions) {
    const Place place = PlaceOf(*session);
    if (session->open.world_size() == 1) {
      furthest = std::max(furthest, place);
      continue;
    }
    const auto [run, first] = runs.try_emplace({session->open.group(), session->open.world_size()}, place);
    if (!first) run->second = std::min(run->second, place);
  }
  for (const auto& [key, place] : runs) furthest = std::max(furthest, place);
  if (sessions.empty()) return std::nullopt;
  return plan::Cursor{furthest.first, furthest.second};
}

void AddDatasets(const plan::DataOrder& blend, const std::optional<plan::Cursor>& cursor, size_t most,
                 v1::StatusReply::JobStatus* status) {
  const std::vector<plan::SetProgress> progress = blend.ProgressAt(cursor.value_or(plan::Cursor()));
  std::vector<uint32_t> shown(blend.sets());
  std::iota(shown.begin(), shown.end(), 0);
  std::stable_sort(shown.begin(), shown.end(), [&](uint32_t a, uint32_t b) { return blend.share(a) > blend.share(b); });
  shown.resize(std::min(shown.size(), most));
  for (const uint32_t set : shown) {
    v1::StatusReply::DatasetStatus* const dataset = status->add_datasets();
    dataset->set_name(blend.set_name(set));
    dataset->set_records(blend.records(set));
    dataset->set_wanted_share(progress[set].wanted_share);
    dataset->set_rows(progress[set].rows);
    dataset->set_actual_share(progress[set].actual_share);
    dataset->set_passes(progress[set].passes);
  }
  status->set_datasets_total(blend.sets());
  for (const plan::SetProgress& set : progress) status->set_blend_rows(status->blend_rows() + set.rows);
}

}  // namespace penstock::coordinator
