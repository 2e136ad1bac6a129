#include "pipeline/tuning/cache_chooser.h"

#include <gtest/gtest.h>

#include <random>

namespace penstock::tuning {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;

// Photographs with drawn crops: a row takes 1.3 ms from the record and 0.55 ms from the decoded image.
CacheJob Photographs(double records) {
  CacheJob job;
  job.id = job.data = 1;
  job.rows = 2000;
  job.records = records;
  job.read_again = true;
  job.decodes = true;
  job.read_seconds = 30e-6;
  job.from_record_seconds = 1.3e-3;
  job.from_decoded_seconds = 0.55e-3;
  job.record_bytes = 100e3;
  job.decoded_bytes = 500e3;
  job.row_bytes = 150e3;
  return job;
}

CacheLimits Defaults(uint64_t budget) {
  CacheLimits limits;
  limits.first = {budget / 4, 0, budget / 16};
  return limits;
}

// The chooser's final sizes for constant counts.
CacheSizes Settled(CacheChooser* chooser, const std::vector<CacheJob>& jobs, CacheSizes sizes, uint64_t most) {
  Nanos time = 0;
  for (int i = 0; i < 20; ++i) sizes = chooser->Step(jobs, sizes, most, time += 2 * kSecond);
  return sizes;
}

TEST(CacheChooser, KeepsDecodedImagesThatFitAndPay) {
  CacheChooser chooser(Defaults(2048 * kMiB));
  const CacheSizes first = Defaults(2048 * kMiB).first;
  const CacheSizes sizes = Settled(&chooser, {Photographs(2000)}, first, 1400 * kMiB);
  EXPECT_GE(sizes.decoded, uint64_t{1000 * 1000 * 1000});
  EXPECT_LE(sizes.decoded, uint64_t{1200 * 1000 * 1000});
  EXPECT_LE(sizes.sum(), 1400 * kMiB);
  const std::string news = chooser.TakeNews().value_or("");
  EXPECT_NE(news.find("decoded 0 -> "), std::string::npos) << news;
  EXPECT_NE(news.find("a row takes 1.3"), std::string::npos) << news;
  EXPECT_FALSE(chooser.TakeNews().has_value());
}

TEST(CacheChooser, MemoryWithoutABetterUseStaysWithItsCache) {
  CacheChooser chooser(Defaults(2048 * kMiB));
  const CacheSizes first = Defaults(2048 * kMiB).first;
  const CacheSizes sizes = Settled(&chooser, {Photographs(500)}, first, 1400 * kMiB);
  EXPECT_GT(sizes.decoded, 0u);
  EXPECT_EQ(sizes.records, first.records);
  EXPECT_EQ(sizes.rows, first.rows);
}

TEST(CacheChooser, KeepsAPartOfTheImagesIfThatPays) {
  CacheChooser chooser(Defaults(2048 * kMiB));
  const CacheSizes first = Defaults(2048 * kMiB).first;
  EXPECT_GE(Settled(&chooser, {Photographs(4000)}, first, 1400 * kMiB).decoded, 1000 * kMiB);
  CacheChooser other(Defaults(2048 * kMiB));
  EXPECT_EQ(Settled(&other, {Photographs(1e6)}, first, 1400 * kMiB), first)
      << "the cache would hold almost none of a million records";
}

TEST(CacheChooser, DoesNotKeepDataThatIsReadOnce) {
  CacheJob job = Photographs(2000);
  job.read_again = false;
  CacheChooser chooser(Defaults(2048 * kMiB));
  const CacheSizes first = Defaults(2048 * kMiB).first;
  EXPECT_EQ(Settled(&chooser, {job}, first, 1400 * kMiB), first);
  EXPECT_FALSE(chooser.TakeNews().has_value());
}

TEST(CacheChooser, KeepsFinishedRowsOfAnEvaluation) {
  CacheJob job = Photographs(5000);
  job.same_rows = true;
  CacheChooser chooser(Defaults(2048 * kMiB));
  const CacheSizes sizes = Settled(&chooser, {job}, Defaults(2048 * kMiB).first, 1400 * kMiB);
  EXPECT_GE(sizes.rows, uint64_t{750 * 1000 * 1000});
  EXPECT_EQ(sizes.decoded, 0u) << "finished rows need no decoded images";
}

TEST(CacheChooser, KeepsRemoteRecordsIfOnlyRecordsFit) {
  CacheJob job = Photographs(10000);
  job.read_seconds = 2e-3;
  CacheChooser chooser(Defaults(2048 * kMiB));
  const CacheSizes sizes = Settled(&chooser, {job}, Defaults(2048 * kMiB).first, 1400 * kMiB);
  EXPECT_GE(sizes.records, uint64_t{1000 * 1000 * 1000});
}

TEST(CacheChooser, ImagesThatWereNeverDecodedAreMeasuredFirst) {
  CacheJob job = Photographs(2000);
  job.decoded_bytes = job.from_decoded_seconds = 0;
  CacheChooser chooser(Defaults(2048 * kMiB));
  const CacheSizes first = Defaults(2048 * kMiB).first;
  const CacheSizes probe = chooser.Step({job}, first, 1400 * kMiB, kSecond);
  EXPECT_GT(probe.decoded, 0u);
  EXPECT_LE(probe.decoded, 64 * kMiB);
  EXPECT_EQ(probe.records, first.records);
  EXPECT_FALSE(chooser.TakeNews().has_value());
  // Decoded images save nothing: the chooser drops them.
  CacheJob slow = Photographs(2000);
  slow.from_decoded_seconds = 1.28e-3;
  EXPECT_EQ(chooser.Step({slow}, probe, 1400 * kMiB, 3 * kSecond), first);
  EXPECT_FALSE(chooser.TakeNews().has_value());
  // Here they save time.
  CacheChooser other(Defaults(2048 * kMiB));
  const CacheSizes tried = other.Step({job}, first, 1400 * kMiB, kSecond);
  EXPECT_GT(other.Step({Photographs(2000)}, tried, 1400 * kMiB, 3 * kSecond).decoded, 900 * kMiB);
}

TEST(CacheChooser, ImagesThatCannotBeDecodedAreNotMeasuredForever) {
  CacheJob job = Photographs(2000);
  job.decoded_bytes = job.from_decoded_seconds = 0;
  CacheChooser chooser(Defaults(2048 * kMiB));
  EXPECT_EQ(Settled(&chooser, {job}, Defaults(2048 * kMiB).first, 1400 * kMiB), Defaults(2048 * kMiB).first);
}

TEST(CacheChooser, SizesReturnToTheInitialOnesAfterTheLastJob) {
  CacheChooser chooser(Defaults(2048 * kMiB));
  const CacheSizes first = Defaults(2048 * kMiB).first;
  const CacheSizes sizes = Settled(&chooser, {Photographs(2000)}, first, 1400 * kMiB);
  ASSERT_NE(sizes, first);
  CacheJob idle = Photographs(2000);
  idle.rows = 0;
  EXPECT_EQ(chooser.Step({idle}, sizes, 1400 * kMiB, 100 * kSecond), sizes) << "the trainer pauses";
  EXPECT_EQ(chooser.Step({}, sizes, 1400 * kMiB, 102 * kSecond), first);
}

TEST(CacheChooser, CachesReturnMemoryThatRowsNeedDownToTheirInitialSizes) {
  CacheChooser chooser(Defaults(2048 * kMiB));
  const CacheSizes first = Defaults(2048 * kMiB).first;
  const CacheSizes sizes = Settled(&chooser, {Photographs(2000)}, first, 1400 * kMiB);
  const CacheSizes less = chooser.Step({Photographs(2000)}, sizes, 900 * kMiB, 50 * kSecond);
  EXPECT_LE(less.sum(), 900 * kMiB);
  EXPECT_LE(chooser.Step({Photographs(2000)}, less, 0, 52 * kSecond).sum(), first.sum());
  CacheChooser other(Defaults(2048 * kMiB));
  CacheJob once = Photographs(2000);
  once.read_again = false;
  EXPECT_EQ(other.Step({once}, first, 0, kSecond), first);
}

// ---- Laws

class CacheChooserLaws : public ::testing::TestWithParam<int> {
 protected:
  double Between(double least, double most) { return std::uniform_real_distribution<double>(least, most)(random_); }
  bool Coin() { return Between(0, 1) < 0.5; }
  std::vector<CacheJob> Jobs() {
    std::vector<CacheJob> jobs(static_cast<size_t>(Between(1, 4)));
    for (size_t i = 0; i < jobs.size(); ++i) {
      CacheJob& job = jobs[i];
      job.id = i + 1;
      job.data = Coin() ? 1 : i + 1;
      job.rows = Coin() ? 0 : Between(1, 5000);
      job.records = Between(10, 50000);
      job.read_again = Coin() || Coin();
      job.same_rows = Coin();
      job.decodes = Coin();
      job.read_seconds = Between(5e-6, Coin() ? 5e-3 : 5e-5);
      job.from_record_seconds = Between(1e-5, 5e-3);
      job.from_decoded_seconds = Coin() ? 0 : job.from_record_seconds * Between(0.1, 1.2);
      job.decoded_bytes = job.from_decoded_seconds > 0 ? Between(1e4, 3e6) : 0;
      job.kept_seconds = Coin() ? 0 : job.from_record_seconds * Between(0.01, 1.1);
      job.record_bytes = Between(1e2, 3e5);
      job.row_bytes = Coin() ? 0 : Between(1e2, 2e6);
    }
    return jobs;
  }
  CacheLimits Limits() {
    CacheLimits limits = Defaults(static_cast<uint64_t>(Between(64, 4096)) * kMiB);
    limits.records_pinned = Between(0, 1) < 0.25;
    limits.decoded_pinned = Between(0, 1) < 0.25;
    limits.rows_pinned = Between(0, 1) < 0.25;
    return limits;
  }
  std::mt19937_64 random_{static_cast<uint64_t>(GetParam())};
};

TEST_P(CacheChooserLaws, SizesStayWithinTheMemoryAndPinnedSizesNeverChange) {
  const CacheLimits limits = Limits();
  CacheChooser chooser(limits);
  CacheSizes sizes = limits.first;
  Nanos time = 0;
  for (int i = 0; i < 50; ++i) {
    const uint64_t most = static_cast<uint64_t>(Between(16, 8192)) * kMiB;
    sizes = chooser.Step(Jobs(), sizes, most, time += 2 * kSecond);
    EXPECT_LE(sizes.sum(), std::max(most, limits.first.sum()));
    if (limits.records_pinned) {
      EXPECT_EQ(sizes.records, limits.first.records);
    }
    if (limits.decoded_pinned) {
      EXPECT_EQ(sizes.decoded, limits.first.decoded);
    }
    if (limits.rows_pinned) {
      EXPECT_EQ(sizes.rows, limits.first.rows);
    }
  }
}

TEST_P(CacheChooserLaws, WithMoreMemoryARowTakesNoLonger) {
  const std::vector<CacheJob> jobs = Jobs();
  const CacheLimits limits = Limits();
  CacheSizes sizes = limits.first;
  double before = 0;
  for (uint64_t most = sizes.sum(); most < 8192 * kMiB; most += most / 2 + kMiB) {
    sizes = BestCacheSizes(jobs, limits, sizes, most);
    const double seconds = SecondsPerRow(jobs, sizes);
    if (before > 0) {
      EXPECT_LE(seconds, before * 1.021) << "except for the cost of memory";
    }
    before = seconds;
  }
}

TEST_P(CacheChooserLaws, EachChangeIsAClearGainAndConstantCountsSettle) {
  const std::vector<CacheJob> jobs = Jobs();
  const CacheLimits limits = Limits();
  const uint64_t most = limits.first.sum() + static_cast<uint64_t>(Between(0, 8192)) * kMiB;
  CacheChooser chooser(limits);
  CacheSizes sizes = limits.first;
  Nanos time = 0;
  int changes = 0;
  for (int i = 0; i < 200; ++i) {
    const CacheSizes to = chooser.Step(jobs, sizes, most, time += 2 * kSecond);
    if (chooser.TakeNews().has_value()) {
      ++changes;
      EXPECT_LT(SecondsPerRow(jobs, to) * 1.049, SecondsPerRow(jobs, sizes));
    }
    sizes = to;
  }
  EXPECT_LE(changes, 2);
}

TEST_P(CacheChooserLaws, NoiseCausesFewChanges) {
  const std::vector<CacheJob> jobs = Jobs();
  const CacheLimits limits = Limits();
  const uint64_t most = limits.first.sum() + static_cast<uint64_t>(Between(0, 8192)) * kMiB;
  CacheChooser chooser(limits);
  CacheSizes sizes = limits.first;
  Nanos time = 0;
  int changes = 0;
  for (int i = 0; i < 300; ++i) {  // ten minutes
    std::vector<CacheJob> noisy = jobs;
    for (CacheJob& job : noisy) {
      job.rows *= Between(0.7, 1.3);
      job.read_seconds *= Between(0.7, 1.3);
      job.from_record_seconds *= Between(0.9, 1.1);
      job.from_decoded_seconds *= Between(0.9, 1.1);
    }
    sizes = chooser.Step(noisy, sizes, most, time += 2 * kSecond);
    changes += chooser.TakeNews().has_value() ? 1 : 0;
  }
  EXPECT_LE(changes, 8);
}

INSTANTIATE_TEST_SUITE_P(Seeds, CacheChooserLaws, ::testing::Range(0, 60));

}  // namespace
}  // namespace penstock::tuning
