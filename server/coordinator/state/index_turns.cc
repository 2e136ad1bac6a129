#include "server/coordinator/state/index_turns.h"

#include "base/hash.h"

namespace penstock::coordinator {

uint64_t IndexTurns::KeyOf(uint64_t content_hash, const FileInfo& file) {
  return Fingerprint().Add(content_hash).Add(file.size).Add(static_cast<uint64_t>(file.mtime_ns)).Add(file.tag).value();
}

IndexTurns::Answer IndexTurns::Ask(uint64_t key, const std::string& worker, uint64_t bytes, Nanos now) {
  auto it = builds_.find(key);
  if (it != builds_.end() && it->second.until > now && it->second.worker != worker) {
    return {.build = false, .ask_again = limits_.ask_again, .builder = it->second.worker};
  }
  if (it == builds_.end() && builds_.size() >= limits_.builds) {
    std::erase_if(builds_, [now](const auto& entry) { return entry.second.until <= now; });
    if (builds_.size() >= limits_.builds) return {.build = false, .ask_again = limits_.ask_again, .builder = ""};
  }
  const auto seconds = static_cast<Nanos>(bytes / limits_.bytes_per_second);
  builds_[key] = {worker, now + limits_.build_time + seconds * kSecond};
  return {.build = true, .ask_again = 0, .builder = worker};
}

void IndexTurns::GiveUp(uint64_t key, const std::string& worker) {
  const auto it = builds_.find(key);
  if (it != builds_.end() && it->second.worker == worker) builds_.erase(it);
}

}  // namespace penstock::coordinator
