#include "net/tls/live_certificates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "base/file.h"
#include "tests/support/certificates/certificates.h"
#include "tests/support/temp_folder.h"

namespace penstock::net {
namespace {

using support::CertifiedKey;
using support::TestAuthority;
using ::testing::HasSubstr;

class LiveCertificatesTest : public ::testing::Test {
 protected:
  LiveCertificatesTest() {
    Replace(first_);
    LiveCertificates::Options options;
    options.now = [this] { return now_; };
    options.on_change = [this](const LiveCertificates::Change& change) { changes_.push_back(change); };
    absl::StatusOr<std::shared_ptr<LiveCertificates>> loaded =
        LiveCertificates::Load({folder_.File("cert.pem"), folder_.File("key.pem"), folder_.File("ca.pem")}, options);
    EXPECT_TRUE(loaded.ok()) << loaded.status();
    live_ = *std::move(loaded);
  }

  void Replace(const CertifiedKey& by) { WriteCertificates(folder_.path(), authority_, by); }
  void Write(const std::string& name, const std::string& content) {
    ASSERT_TRUE(WriteFileAtomically(folder_.File(name), content).ok());
  }

  support::TempFolder folder_;
  TestAuthority authority_;
  CertifiedKey first_ = authority_.Issue();
  absl::Time now_ = absl::FromUnixSeconds(1'780'000'000);  // in 2026
  std::vector<LiveCertificates::Change> changes_;
  std::shared_ptr<LiveCertificates> live_;
};

TEST_F(LiveCertificatesTest, UnchangedFilesAreNoChange) {
  const auto before = live_->current();
  live_->Refresh();
  EXPECT_EQ(live_->current(), before);
  Replace(first_);  // new files with the same content
  live_->Refresh();
  EXPECT_EQ(live_->current(), before);
  EXPECT_TRUE(changes_.empty());
}

TEST_F(LiveCertificatesTest, ChangedFilesAreUsedByTheNextLook) {
  const CertifiedKey second = authority_.Issue();
  Replace(second);
  live_->Refresh();
  EXPECT_EQ(live_->current()->cert, second.cert);
  EXPECT_EQ(live_->current()->key, second.key);
  ASSERT_EQ(changes_.size(), 1u);
  EXPECT_TRUE(changes_[0].replaced);
  EXPECT_TRUE(changes_[0].fault.ok());
}

TEST_F(LiveCertificatesTest, AHalfReplacedPairIsNoFaultIfTheOtherHalfFollows) {
  const CertifiedKey second = authority_.Issue();
  Write("cert.pem", second.cert);
  live_->Refresh();
  EXPECT_EQ(live_->current()->cert, first_.cert);
  EXPECT_TRUE(live_->fault().ok());
  Write("key.pem", second.key);
  live_->Refresh();
  EXPECT_EQ(live_->current()->cert, second.cert);
  ASSERT_EQ(changes_.size(), 1u);
  EXPECT_TRUE(changes_[0].fault.ok());
}

TEST_F(LiveCertificatesTest, AFaultThatStaysIsReportedOnceAndTheOldPairServes) {
  Write("key.pem", authority_.Issue().key);
  for (int look = 0; look < 4; ++look) live_->Refresh();
  EXPECT_EQ(live_->current()->key, first_.key);
  EXPECT_THAT(std::string(live_->fault().message()), HasSubstr("does not belong"));
  ASSERT_EQ(changes_.size(), 1u);
  EXPECT_FALSE(changes_[0].replaced);
  Replace(first_);
  live_->Refresh();
  EXPECT_TRUE(live_->fault().ok());
  ASSERT_EQ(changes_.size(), 2u);
  EXPECT_TRUE(changes_[1].fault.ok());
}

TEST_F(LiveCertificatesTest, ARemovedFileKeepsTheOldPair) {
  std::filesystem::remove(folder_.File("ca.pem"));
  for (int look = 0; look < 2; ++look) live_->Refresh();
  EXPECT_EQ(live_->current()->ca, authority_.pem());
  EXPECT_THAT(std::string(live_->fault().message()), HasSubstr("ca.pem"));
}

TEST_F(LiveCertificatesTest, TheEndOfTheCertificateInUseIsAFault) {
  now_ = absl::FromUnixSeconds(4'102'444'800);  // the certificate's end
  for (int look = 0; look < 3; ++look) live_->Refresh();
  EXPECT_EQ(live_->current()->cert, first_.cert);
  EXPECT_THAT(std::string(live_->fault().message()), HasSubstr("expired"));
}

// Kubernetes replaces the folder behind a link.
TEST_F(LiveCertificatesTest, AnotherFolderBehindALinkIsAChange) {
  const std::filesystem::path root = folder_.path();
  for (const char* name : {"one", "two"}) std::filesystem::create_directory(root / name);
  const CertifiedKey one = authority_.Issue(), two = authority_.Issue();
  WriteCertificates((root / "one").string(), authority_, one);
  WriteCertificates((root / "two").string(), authority_, two);
  std::filesystem::create_directory_symlink("one", root / "data");
  const auto live = LiveCertificates::Load(
      {(root / "data/cert.pem").string(), (root / "data/key.pem").string(), (root / "data/ca.pem").string()});
  ASSERT_TRUE(live.ok()) << live.status();
  std::filesystem::create_directory_symlink("two", root / "next");
  std::filesystem::rename(root / "next", root / "data");
  (*live)->Refresh();
  EXPECT_EQ((*live)->current()->cert, two.cert);
}

}  // namespace
}  // namespace penstock::net
