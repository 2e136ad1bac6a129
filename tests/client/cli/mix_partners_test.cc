#include "client/cli/mix_partners.h"

#include <gtest/gtest.h>

#include "base/check.h"
#include "pipeline/loader/open_dataset.h"
#include "pipeline/storage/posix_storage.h"
#include "tests/support/test_dataset.h"

namespace penstock::cli {
namespace {

// A job of 7 records, mixed in groups of 3.
std::shared_ptr<const loader::LoadJob> Mixing(const support::TempFolder& folder) {
  support::TestDataset set = support::MakeImageDataset({.shards = 1, .records_per_shard = 7}, folder.path());
  set.job.mutable_batch()->set_size(3);
  set.job.mutable_mix()->set_mixup_alpha(1);
  set.job.mutable_mix()->set_classes(10);
  set.job.mutable_mix()->set_group(3);
  auto dataset = loader::OpenDataset(storage::LocalFiles(), set.job, set.roots, std::nullopt, 1);
  PS_CHECK(dataset.ok());
  auto job = loader::LoadJob::Create(set.job, *dataset);
  PS_CHECK(job.ok());
  return *job;
}

TEST(MixPartners, AreTheMirroredRowsOfTheGroupInEachEpoch) {
  const support::TempFolder folder;
  const auto job = Mixing(folder);
  const uint64_t seed = job->plan_options().seed;
  for (const uint64_t first_epoch : {0, 5}) {
    for (uint64_t record = 0; record < 7; ++record) {
      const auto partners = MixPartners(*job, {record, seed, first_epoch, 0, record}, 4);
      ASSERT_TRUE(partners.ok()) << partners.status();
      ASSERT_EQ(partners->size(), 4u);
      for (uint64_t e = 0; e < 4; ++e) {
        const plan::EpochOrder plan = job->PlanOf(first_epoch + e);
        const uint64_t position = *plan.PositionOf(record, 0);
        const auto& partner = (*partners)[e];
        // The middle of a group, and the row that the epoch leaves over.
        if (position % 3 == 1 || position == 6) {
          EXPECT_FALSE(partner.has_value()) << position;
          continue;
        }
        ASSERT_TRUE(partner.has_value()) << position;
        const uint64_t other = plan.RecordAt(position % 3 == 0 ? position + 2 : position - 2);
        std::string bytes;
        ASSERT_TRUE(job->reader().ReadRecord(other, &bytes).ok());
        EXPECT_EQ(partner->bytes, bytes);
        EXPECT_EQ(partner->key.record_id, other);
        EXPECT_EQ(partner->key.epoch, first_epoch + e);
        const auto back = MixPartners(*job, {other, seed, first_epoch + e, 0, other}, 1);
        ASSERT_TRUE(back.ok() && (*back)[0].has_value());
        EXPECT_EQ((*back)[0]->key.record_id, record);
        EXPECT_EQ((*back)[0]->draw.lambda, partner->draw.lambda) << "one draw for the group";
      }
    }
  }
}

}  // namespace
}  // namespace penstock::cli
