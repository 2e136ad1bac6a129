#include "base/runtime/followed_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/support/refused_threads.h"

namespace penstock {
namespace {

using Followed = FollowedFile<std::string>;

class FollowedFileTest : public ::testing::Test {
 protected:
  FollowedFileTest() {
    absl::StatusOr<std::shared_ptr<Followed>> loaded = Followed::Load(
        [this] { return content_; }, [this](const Followed::Change& change) { changes_.push_back(change); });
    EXPECT_TRUE(loaded.ok()) << loaded.status();
    followed_ = *std::move(loaded);
  }

  absl::StatusOr<std::string> content_ = "first";
  std::vector<Followed::Change> changes_;
  std::shared_ptr<Followed> followed_;
};

TEST_F(FollowedFileTest, AnUnreadableFileIsAnErrorAtTheStart) {
  const absl::Status fault = absl::NotFoundError("no file");
  EXPECT_EQ(Followed::Load([&]() -> absl::StatusOr<std::string> { return fault; }).status(), fault);
}

TEST_F(FollowedFileTest, AFileWithoutAThreadIsNotFollowedSilently) {
  const support::RefusedThreads refused;
  const absl::Status watched = followed_->Watch("test");
  EXPECT_TRUE(absl::IsResourceExhausted(watched)) << watched;
}

TEST_F(FollowedFileTest, OnlyANewContentIsAChange) {
  const auto before = followed_->current();
  followed_->Refresh();
  EXPECT_EQ(followed_->current(), before);
  EXPECT_TRUE(changes_.empty());
  content_ = "second";
  followed_->Refresh();
  EXPECT_EQ(*followed_->current(), "second");
  ASSERT_EQ(changes_.size(), 1u);
  EXPECT_TRUE(changes_[0].replaced);
  EXPECT_EQ(*before, "first");
}

TEST_F(FollowedFileTest, AFaultOfTwoLooksIsReportedOnceAndKeepsTheContent) {
  content_ = absl::InvalidArgumentError("half a file");
  followed_->Refresh();
  EXPECT_TRUE(followed_->fault().ok());
  EXPECT_TRUE(changes_.empty());
  for (int i = 0; i < 3; ++i) followed_->Refresh();
  EXPECT_EQ(followed_->fault().message(), "half a file");
  EXPECT_EQ(*followed_->current(), "first");
  ASSERT_EQ(changes_.size(), 1u);
  EXPECT_FALSE(changes_[0].replaced);
  content_ = "first";
  followed_->Refresh();
  EXPECT_TRUE(followed_->fault().ok());
  ASSERT_EQ(changes_.size(), 2u);
  EXPECT_TRUE(changes_[1].fault.ok());
}

}  // namespace
}  // namespace penstock
