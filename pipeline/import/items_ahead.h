// Fetches the input of items from remote storage before their turn.
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

namespace penstock::imports {

struct FetchedItem {
  std::shared_ptr<const void> owner;  // owner of `bytes`
  std::string_view bytes;
};

// Thread-safe. Fetches items in the order of their announcements, at most Options::under_way at a time. Items that are
// in flight or fetched have at most Options::bytes together, or are one item. If the fetch of an item has not begun,
// Take() begins it at once, even beyond these limits.
class ItemsAhead {
 public:
  // Number of items to announce in advance. It exceeds the number in flight, so that fetched items are ready for many
  // calls of Take() at once.
  static constexpr size_t kAnnounced = 256;

  struct Options {
    size_t under_way = 128;
    uint64_t bytes = uint64_t{256} << 20;
  };
  // Returns the memory that an item occupies from the start of its fetch until Take() returns it.
  using BytesOf = std::function<uint64_t(uint64_t item)>;
  // Fetches an item. Must not block, and must call `done` once.
  using Fetch =
      std::function<void(uint64_t item, const storage::CallOptions& options, storage::CallDone<FetchedItem> done)>;

  // A separate constructor instead of a default argument Options(): clang parses initializers of a nested class only
  // after the outer class.
  ItemsAhead(BytesOf bytes_of, Fetch fetch) : ItemsAhead(std::move(bytes_of), std::move(fetch), Options()) {}
  ItemsAhead(BytesOf bytes_of, Fetch fetch, const Options& options)
      : options_(options), bytes_of_(std::move(bytes_of)), fetch_(std::move(fetch)) {}
  // Cancels fetches in flight, and blocks until they have ended.
  ~ItemsAhead();

  // Announces that Take(item) will be called, or has just been called. Call it at most once for each item.
  void Announce(uint64_t item);
  // Blocks until the item is fetched, and returns it. Call it once for each item.
  absl::StatusOr<FetchedItem> Take(uint64_t item);

 private:
  struct Item {
    uint64_t bytes = 0;
    bool begun = false;
    std::optional<absl::StatusOr<FetchedItem>> result;
  };

  void FetchWhatFits();
  void Begin(uint64_t item, storage::CallPriority priority);

  const Options options_;
  const BytesOf bytes_of_;
  const Fetch fetch_;
  std::stop_source stop_;
  Mutex mutex_;
  CondVar changed_;
  std::map<uint64_t, Item> items_ ABSL_GUARDED_BY(mutex_);
  // Announced items; an item that Take() has begun may still be in the queue.
  std::deque<uint64_t> waiting_ ABSL_GUARDED_BY(mutex_);
  std::set<uint64_t> early_ ABSL_GUARDED_BY(mutex_);  // taken before they were announced
  size_t under_way_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t held_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace penstock::imports

#endif  // PENSTOCK_PIPELINE_IMPORT_ITEMS_AHEAD_H_
