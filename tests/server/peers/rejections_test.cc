#include "server/peers/rejections.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/runtime/sim_scheduler.h"

namespace penstock::server {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class RejectionsTest : public ::testing::Test {
 protected:
  std::vector<std::string> Callers() const {
    google::protobuf::RepeatedPtrField<v1::RejectedCaller> callers;
    rejections_.CopyTo(&callers);
    std::vector<std::string> lines;
    for (const v1::RejectedCaller& caller : callers) {
      lines.push_back(absl::StrCat(caller.host(), " ", caller.name(), " ", caller.reason(), " ", caller.count(), ": ",
                                   caller.message(), ", ", caller.seconds_since_last(), " s"));
    }
    return lines;
  }

  SimScheduler sim_{1};
  std::vector<std::string> news_;  // hosts
  Rejections rejections_{[this](const Rejected& rejected) { news_.push_back(rejected.host); }, sim_.clock()};
};

TEST_F(RejectionsTest, NamesTheLatestCallersFirst) {
  rejections_.Add({RejectionReason::kLimit, "10.0.0.7", "", "too many"});
  rejections_.Add({RejectionReason::kLimit, "10.0.0.7", "", "far too many"});
  sim_.RunFor(3 * kSecond);
  rejections_.Add({RejectionReason::kForbidden, "10.0.0.8", "alice", "wrong job"});
  EXPECT_THAT(Callers(),
              ElementsAre("10.0.0.8 alice forbidden 1: wrong job, 0 s", "10.0.0.7  limit 2: far too many, 3 s"));
  EXPECT_EQ(rejections_.Get()[static_cast<size_t>(RejectionReason::kLimit)], 2u);
}

TEST_F(RejectionsTest, ForgetsACallerAfterMinutes) {
  rejections_.Add({RejectionReason::kLimit, "10.0.0.7", "", "too many"});
  sim_.RunFor(Rejections::kRemembered + kSecond);
  EXPECT_THAT(Callers(), IsEmpty());
  rejections_.Add({RejectionReason::kLimit, "10.0.0.7", "", "too many"});
  EXPECT_THAT(Callers(), ElementsAre("10.0.0.7  limit 1: too many, 0 s"));
  EXPECT_EQ(rejections_.Get()[static_cast<size_t>(RejectionReason::kLimit)], 2u);
}

TEST_F(RejectionsTest, ReportsEachNewCallerOnceAndFewOfAFlood) {
  for (int i = 0; i < 3; ++i) rejections_.Add({RejectionReason::kLimit, "10.0.0.7", "", "too many"});
  rejections_.Add({RejectionReason::kLimit, "10.0.0.8", "", "too many"});
  EXPECT_THAT(news_, ElementsAre("10.0.0.7", "10.0.0.8"));
  for (int i = 0; i < 1000; ++i) rejections_.Add({RejectionReason::kLimit, absl::StrCat("10.0.1.", i), "", "too many"});
  EXPECT_THAT(news_, SizeIs(10));
}

TEST_F(RejectionsTest, TakesBoundedMemoryWhateverCallersDo) {
  for (int i = 0; i < 1000; ++i) {
    sim_.RunFor(kMillisecond);
    rejections_.Add(
        {RejectionReason::kOther, absl::StrCat("10.0.0.", i), std::string(100, 'n'), std::string(1 << 20, 'x')});
  }
  google::protobuf::RepeatedPtrField<v1::RejectedCaller> callers;
  rejections_.CopyTo(&callers);
  EXPECT_THAT(callers, SizeIs(Rejections::kMostCallers));
  for (const v1::RejectedCaller& caller : callers) EXPECT_LE(caller.message().size(), 512u);
}

}  // namespace
}  // namespace penstock::server
