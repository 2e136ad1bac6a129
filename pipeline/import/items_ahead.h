// What items are made of, brought from storage that is far away before their turn comes.
#ifndef PENSTOCK_PIPELINE_IMPORT_ITEMS_AHEAD_H_
#define PENSTOCK_PIPELINE_IMPORT_ITEMS_AHEAD_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stop_token>
#include <string_view>

#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "pipeline/storage/storage.h"

namespace penstock {

struct BroughtItem {
  std::shared_ptr<const void> owner;  // of `bytes`
  std::string_view bytes;
};

// Thread-safe. Items are brought in the order in which they were announced, so many at once, and no more of them than
// fit `bytes` wait for those who take them; one that is wanted now is brought beside that.
class ItemsAhead {
 public:
  // Announced and not yet taken; more than are under way, so that something is there when many are taken at once.
  static constexpr size_t kAnnounced = 256;

  struct Options {
    size_t under_way = 128;
    uint64_t bytes = uint64_t{256} << 20;
  };
  // What an item takes in memory while it is brought and until it is taken.
  using BytesOf = std::function<uint64_t(uint64_t item)>;
  // Never blocks; calls `done` once.
  using Bring = std::function<void(uint64_t item, const CallOptions& options, CallDone<BroughtItem> done)>;

  // Not Options() by default: clang reads a nested class's initializers only behind the outer class.
  ItemsAhead(BytesOf bytes_of, Bring bring) : ItemsAhead(std::move(bytes_of), std::move(bring), Options()) {}
  ItemsAhead(BytesOf bytes_of, Bring bring, const Options& options)
      : options_(options), bytes_of_(std::move(bytes_of)), bring_(std::move(bring)) {}
  // Waits for what is under way.
  ~ItemsAhead();

  // Take(item) will come, or has come just now.
  void Announce(uint64_t item);
  // Waits for it. Once for each item.
  absl::StatusOr<BroughtItem> Take(uint64_t item);

 private:
  struct Item {
    uint64_t bytes = 0;
    bool begun = false;
    std::optional<absl::StatusOr<BroughtItem>> result;
  };

  void BringWhatFits();
  void Begin(uint64_t item, CallPriority priority);

  const Options options_;
  const BytesOf bytes_of_;
  const Bring bring_;
  std::stop_source stop_;
  Mutex mutex_;
  CondVar changed_;
  std::map<uint64_t, Item> items_ ABSL_GUARDED_BY(mutex_);
  std::deque<uint64_t> waiting_ ABSL_GUARDED_BY(mutex_);  // not begun, unless it was wanted meanwhile
  std::set<uint64_t> early_ ABSL_GUARDED_BY(mutex_);      // taken before they were announced
  size_t under_way_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t held_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_IMPORT_ITEMS_AHEAD_H_
