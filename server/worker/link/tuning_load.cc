#include "server/worker/link/tuning_load.h"

namespace penstock::worker {

void AddTuning(const loader::SelfTuning& tuning, v1::Tuning* out) {
  const loader::SelfTuning::Now now = tuning.Get();
  out->set_threads(static_cast<uint32_t>(now.setting.threads));
  out->set_most_threads(static_cast<uint32_t>(tuning.limits().most_threads));
  out->set_threads_pinned(tuning.limits().threads_pinned);
  out->set_read_threads(static_cast<uint32_t>(now.setting.read_threads));
  if (now.setting.requests != tuning::TuningSetting().requests)
    out->set_requests(static_cast<uint32_t>(now.setting.requests));
  out->set_read_threads_pinned(tuning.limits().read_threads_pinned);
  out->set_changes(now.changes);
  out->set_last_change(now.last);
}

}  // namespace penstock::worker
