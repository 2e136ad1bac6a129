#include "server/worker/jobs/bad_record_log.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace penstock::worker {

bool BadRecordLog::Found(const std::string& job, uint64_t uid, uint64_t record, bool masked,
                         absl::FunctionRef<std::string()> what) {
  bool last = false;
  {
    MutexLock lock(&mutex_);
    Said& said = said_[job];
    if (said.uid != uid) {
      said = Said();
      said.uid = uid;
    }
    if (said.records.contains(record)) return false;
    if (said.more) return true;
    if (said.records.size() < most_) {
      said.records.insert(record);
    } else {
      said.more = last = true;
    }
  }
  say_(job, last ? absl::StrCat("job '", job, "': more than ", most_,
                                " records are bad; no more of them are named here (see penstock quarantine ", job, ")")
                 : absl::StrCat("job '", job, "': a bad record, its row is ", masked ? "masked" : "substituted", ": ",
                                what()));
  return true;
}

void BadRecordLog::Keep(const std::vector<std::string>& jobs) {
  MutexLock lock(&mutex_);
  std::erase_if(said_, [&](const auto& said) { return std::find(jobs.begin(), jobs.end(), said.first) == jobs.end(); });
}

}  // namespace penstock::worker
