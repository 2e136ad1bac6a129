// Sidecars of the indexes of selected records.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <memory>

#include "pipeline/sources/index_store.h"
#include "tests/pipeline/sources/test_shards.h"

namespace penstock::sources {
namespace {

namespace fs = std::filesystem;

// Selects each n-th record, and counts its calls.
class EachNth final : public RecordSelection {
 public:
  explicit EachNth(uint32_t n) : n_(n) {}
  uint64_t id() const override { return n_; }
  absl::StatusOr<SelectedRecords> Select(const ShardReader& reader, const std::stop_token&) const override {
    ++calls;
    if (n_ == 0) return absl::InvalidArgumentError("bad");
    SelectedRecords selected;
    for (uint32_t k = 0; k < reader.index().record_count(); k += n_) selected.numbers.push_back(k);
    if (n_ == 5) {
      selected.bad = 2;
      selected.first_bad = absl::InvalidArgumentError("the first");
    }
    return selected;
  }
  mutable std::atomic<int> calls{0};

 private:
  const uint32_t n_;
};

class SelectionSidecars : public ::testing::TestWithParam<bool> {
 protected:
  SelectionSidecars()
      : path_(folder_.File("s")),
        store_(GetParam() ? IndexStore::BesideShards(storage::LocalFiles())
                          : IndexStore::InStateDir(storage::LocalFiles(), folder_.File("state"))) {
    WriteShard(path_, {"a", "b", "c", "d", "e", "f", "g"});
  }
  LoadedIndex Of(const std::shared_ptr<const RecordSelection>& selection) const {
    const auto loaded = store_.LoadOrBuild(path_, {.selection = selection});
    EXPECT_TRUE(loaded.ok()) << loaded.status();
    EXPECT_TRUE(loaded->save_status.ok()) << loaded->save_status;
    return *loaded;
  }

  support::TempFolder folder_;
  const std::string path_;
  const IndexStore store_;
};

TEST_P(SelectionSidecars, ASelectionReadsTheShardOnce) {
  const auto thirds = std::make_shared<const EachNth>(3), halves = std::make_shared<const EachNth>(2);
  EXPECT_TRUE(Of(thirds).built);
  EXPECT_EQ(Of(thirds).index->record_count(), 3u);
  EXPECT_FALSE(Of(thirds).built);
  EXPECT_EQ(Of(halves).index->record_count(), 4u);
  EXPECT_EQ(Of(nullptr).index->record_count(), 7u);
  EXPECT_FALSE(Of(nullptr).built) << "the selections have built it";
  EXPECT_EQ(Of(std::make_shared<const EachNth>(3)).index->NumberInShard(2), 6u);
  EXPECT_EQ(thirds->calls, 1);
  EXPECT_EQ(halves->calls, 1);
}

TEST_P(SelectionSidecars, AChangedShardIsSelectedAgain) {
  const auto thirds = std::make_shared<const EachNth>(3);
  Of(thirds);
  WriteShard(path_, {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"});
  EXPECT_EQ(Of(thirds).index->record_count(), 4u);
  EXPECT_EQ(thirds->calls, 2);
}

TEST_P(SelectionSidecars, TheSameRecordsInAnotherFileStateAreNotReadAgain) {
  const auto thirds = std::make_shared<const EachNth>(3);
  const LoadedIndex first = Of(thirds);
  WriteShard(path_, {"a", "b", "c", "d", "e", "f", "g"}, Compression::kGzip);
  const LoadedIndex again = Of(thirds);
  EXPECT_TRUE(again.built);
  EXPECT_EQ(again.index->content_hash, first.index->content_hash);
  EXPECT_TRUE(std::ranges::equal(again.index->numbers(), first.index->numbers()));
  EXPECT_EQ(thirds->calls, 1);
  EXPECT_FALSE(Of(thirds).built);
}

TEST_P(SelectionSidecars, RecordsThatWereLeftOutAreReadAgainUnlessAnEarlierIndexIsGiven) {
  const auto fifths = std::make_shared<const EachNth>(5);
  const LoadedIndex first = Of(fifths);
  WriteShard(path_, {"a", "b", "c", "d", "e", "f", "g"}, Compression::kGzip);
  const auto kept = store_.LoadOrBuild(path_, {.selection = fifths, .earlier = first.index});
  ASSERT_TRUE(kept.ok());
  EXPECT_EQ(kept->index->content_hash, first.index->content_hash);
  EXPECT_EQ(fifths->calls, 1);
  WriteShard(path_, {"a", "b", "c", "d", "e", "f", "g"}, Compression::kZlib);
  Of(fifths);
  EXPECT_EQ(fifths->calls, 2) << "a record may be repaired";
}

TEST_P(SelectionSidecars, ASelectionOfAllRecordsStaysOneOfAll) {
  const auto all = std::make_shared<const EachNth>(1);
  EXPECT_EQ(Of(all).index->record_count(), 7u);
  WriteShard(path_, {"a", "b", "c", "d", "e", "f", "g"}, Compression::kGzip);
  EXPECT_EQ(Of(all).index->record_count(), 7u);
  EXPECT_EQ(all->calls, 1);
  EXPECT_FALSE(Of(all).index->is_selected());
}

TEST_P(SelectionSidecars, ADamagedSidecarIsMadeAgain) {
  const auto thirds = std::make_shared<const EachNth>(3);
  Of(thirds);
  std::string sidecar = *ReadWholeFile(store_.SidecarPath(path_, thirds->id()));
  sidecar[12] ^= 1;
  WriteBytes(store_.SidecarPath(path_, thirds->id()), sidecar);
  EXPECT_TRUE(Of(thirds).built);
  EXPECT_FALSE(Of(thirds).built);
}

TEST_P(SelectionSidecars, RemoveTakesThemAll) {
  const auto thirds = std::make_shared<const EachNth>(3), halves = std::make_shared<const EachNth>(2);
  Of(thirds);
  Of(halves);
  uint64_t bytes = 0;
  for (const uint64_t variant : {uint64_t{0}, thirds->id(), halves->id()}) {
    ASSERT_TRUE(fs::exists(store_.SidecarPath(path_, variant)));
    bytes += fs::file_size(store_.SidecarPath(path_, variant));
  }
  const auto removed = store_.Remove(path_);
  ASSERT_TRUE(removed.ok()) << removed.status();
  EXPECT_EQ(*removed, GetParam() ? 0 : bytes);
  EXPECT_EQ(fs::exists(store_.SidecarPath(path_, thirds->id())), GetParam());
  EXPECT_EQ(*store_.Remove(path_), 0u);
  EXPECT_TRUE(GetParam() || fs::is_empty(folder_.File("state/indexes")));
}

TEST_P(SelectionSidecars, TheOperatorLearnsOfRecordsThatAreLeftOut) {
  const auto fifths = std::make_shared<const EachNth>(5);
  EXPECT_EQ(Of(fifths).left_out, path_ + ": 2 records are bad, and left out of the selection; the first: the first");
  EXPECT_EQ(Of(fifths).left_out, "") << "told once";
  EXPECT_EQ(store_.LoadOrBuild(path_, {.selection = std::make_shared<const EachNth>(0)}).status(),
            absl::InvalidArgumentError("bad"));
}

INSTANTIATE_TEST_SUITE_P(Stores, SelectionSidecars, ::testing::Bool(),
                         [](const ::testing::TestParamInfo<bool>& beside) {
                           return beside.param ? "BesideShards" : "InStateDir";
                         });

}  // namespace
}  // namespace penstock::sources
