#include "pipeline/import/items_ahead.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/mutex.h"

namespace penstock::imports {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Storage whose answers the test gives.
class RemoteSource {
 public:
  ItemsAhead::Fetch fetch() {
    return [this](uint64_t item, const storage::CallOptions&, storage::CallDone<FetchedItem> done) {
      MutexLock lock(&mutex_);
      calls_.emplace_back(item, std::move(done));
    };
  }
  std::vector<uint64_t> asked() {
    MutexLock lock(&mutex_);
    std::vector<uint64_t> items;
    for (const auto& [item, done] : calls_) items.push_back(item);
    return items;
  }
  // Answers the earliest open call.
  void Answer(absl::Status status = absl::OkStatus()) {
    std::pair<uint64_t, storage::CallDone<FetchedItem>> call;
    {
      MutexLock lock(&mutex_);
      ASSERT_FALSE(calls_.empty());
      call = std::move(calls_.front());
      calls_.erase(calls_.begin());
    }
    const auto bytes = std::make_shared<std::string>(absl::StrCat("item ", call.first));
    std::move(call.second)(status.ok() ? absl::StatusOr<FetchedItem>(FetchedItem{bytes, *bytes}) : status);
  }

 private:
  Mutex mutex_;
  std::vector<std::pair<uint64_t, storage::CallDone<FetchedItem>>> calls_ ABSL_GUARDED_BY(mutex_);
};

ItemsAhead::BytesOf Each(uint64_t bytes) {
  return [bytes](uint64_t) { return bytes; };
}

TEST(ItemsAhead, FetchesItemsInOrderUpToTheLimit) {
  RemoteSource remote;
  ItemsAhead ahead(Each(1), remote.fetch(), {.under_way = 2, .bytes = 100});
  for (const uint64_t item : {7, 3, 5}) ahead.Announce(item);
  EXPECT_THAT(remote.asked(), ElementsAre(7, 3));
  remote.Answer();
  EXPECT_THAT(remote.asked(), ElementsAre(3)) << "taking an item starts the next one";
  EXPECT_EQ(ahead.Take(7)->bytes, "item 7");
  EXPECT_THAT(remote.asked(), ElementsAre(3, 5));
  remote.Answer();
  remote.Answer();
  EXPECT_EQ(ahead.Take(5)->bytes, "item 5");
  EXPECT_EQ(ahead.Take(3)->bytes, "item 3");
}

TEST(ItemsAhead, StaysWithinTheMemoryLimit) {
  RemoteSource remote;
  ItemsAhead ahead(Each(40), remote.fetch(), {.under_way = 10, .bytes = 100});
  for (const uint64_t item : {1, 2, 3}) ahead.Announce(item);
  EXPECT_THAT(remote.asked(), ElementsAre(1, 2));
  remote.Answer();
  remote.Answer();
  EXPECT_THAT(remote.asked(), IsEmpty()) << "a fetched item counts until the caller takes it";
  EXPECT_TRUE(ahead.Take(2).ok());
  EXPECT_THAT(remote.asked(), ElementsAre(3));
  remote.Answer();
  EXPECT_TRUE(ahead.Take(1).ok());
  EXPECT_TRUE(ahead.Take(3).ok());
}

TEST(ItemsAhead, FetchesAnItemAboveTheMemoryLimitAlone) {
  RemoteSource remote;
  ItemsAhead ahead(Each(1000), remote.fetch(), {.under_way = 10, .bytes = 100});
  ahead.Announce(1);
  ahead.Announce(2);
  EXPECT_THAT(remote.asked(), ElementsAre(1));
  remote.Answer();
  EXPECT_TRUE(ahead.Take(1).ok());
  EXPECT_THAT(remote.asked(), ElementsAre(2));
  remote.Answer();
}

TEST(ItemsAhead, FetchesARequestedItemBesideTheOthers) {
  RemoteSource remote;
  ItemsAhead ahead(Each(100), remote.fetch(), {.under_way = 1, .bytes = 100});
  ahead.Announce(1);
  ahead.Announce(2);
  EXPECT_THAT(remote.asked(), ElementsAre(1));
  std::thread taker([&] { EXPECT_EQ(ahead.Take(2)->bytes, "item 2"); });
  while (remote.asked().size() < 2) std::this_thread::yield();
  remote.Answer();
  remote.Answer();
  taker.join();
  EXPECT_TRUE(ahead.Take(1).ok());
}

TEST(ItemsAhead, FetchesAnItemOnceIfItIsTakenBeforeItIsAnnounced) {
  RemoteSource remote;
  ItemsAhead ahead(Each(1), remote.fetch());
  std::thread taker([&] { EXPECT_TRUE(ahead.Take(4).ok()); });
  while (remote.asked().empty()) std::this_thread::yield();
  ahead.Announce(4);
  EXPECT_THAT(remote.asked(), ElementsAre(4));
  remote.Answer();
  taker.join();
  EXPECT_THAT(remote.asked(), IsEmpty());
}

TEST(ItemsAhead, AFailureAffectsOnlyItsItem) {
  RemoteSource remote;
  ItemsAhead ahead(Each(1), remote.fetch());
  ahead.Announce(1);
  ahead.Announce(2);
  remote.Answer(absl::NotFoundError("gone"));
  remote.Answer();
  EXPECT_EQ(ahead.Take(1).status(), absl::NotFoundError("gone"));
  EXPECT_TRUE(ahead.Take(2).ok());
}

}  // namespace
}  // namespace penstock::imports
