#include "server/coordinator/state/shard_list.h"

#include <gtest/gtest.h>

namespace penstock::coordinator {
namespace {

v1::Snapshot MadeUp(int shards) {
  v1::Snapshot snapshot;
  for (int i = 0; i < shards; ++i) {
    v1::Shard* const shard = snapshot.add_shards();
    shard->set_root(i % 2 == 0 ? "data" : "");
    shard->set_path("train-" + std::to_string(i) + std::string(static_cast<size_t>(i % 200), 'x'));
    shard->set_size(uint64_t{1} << (i % 64));
    shard->set_records(static_cast<uint64_t>(i));
    shard->set_content_hash(~uint64_t{0} - static_cast<uint64_t>(i));
    shard->set_data_bytes(static_cast<uint64_t>(10 * i));
    shard->set_max_record_bytes(7);
  }
  return snapshot;
}

TEST(ShardList, ReturnsItsShards) {
  const v1::Snapshot made = MadeUp(300);
  for (const ShardList& list :
       {ShardList(made.shards()), ShardList(std::vector<v1::Shard>(made.shards().begin(), made.shards().end()))}) {
    EXPECT_EQ(list.size(), 300u);
    EXPECT_EQ(list.records(), 299u * 300 / 2);
    EXPECT_EQ(list.data_bytes(), 10u * 299 * 300 / 2);
    v1::Snapshot again;
    list.AddTo(&again);
    EXPECT_EQ(again.SerializeAsString(), made.SerializeAsString());
    v1::Snapshot each;
    list.ForEach([&](const v1::Shard& shard) {
      *each.add_shards() = shard;
      return true;
    });
    EXPECT_EQ(each.SerializeAsString(), made.SerializeAsString());
  }
}

TEST(ShardList, ForEachEndsWhenTheCallbackReturnsFalse) {
  const ShardList list(MadeUp(10).shards());
  int seen = 0;
  list.ForEach([&](const v1::Shard&) { return ++seen < 4; });
  EXPECT_EQ(seen, 4);
}

TEST(ShardList, AnEmptyListHasNoShards) {
  const ShardList list;
  list.ForEach([](const v1::Shard&) {
    ADD_FAILURE();
    return true;
  });
  v1::Snapshot snapshot;
  list.AddTo(&snapshot);
  EXPECT_EQ(snapshot.shards_size() + static_cast<int>(list.size()), 0);
}

}  // namespace
}  // namespace penstock::coordinator
