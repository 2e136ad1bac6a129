#include "server/audit/audit_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/file.h"
#include "tests/support/temp_folder.h"

namespace penstock::server {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using transport::Peer;

const absl::Time kTime = absl::FromUnixMillis(1'780'000'000'123);

TEST(AuditLines, HaveThePeerItsNameTheObjectAndTheOutcome) {
  AuditLines lines;
  Peer peer = Peer::Network("10.0.0.7:5123");
  peer.certificate_names = {"spiffe://example/trainer", "trainer"};
  EXPECT_EQ(lines.LineOf(peer, "penstock.v1.Coordinator/Cancel", "imagenet", absl::NotFoundError("there is no job"), 0,
                         kTime),
            R"({"time": "2026-05-28T20:26:40.123Z", "rpc": "Coordinator/Cancel", "peer": "10.0.0.7:5123", )"
            R"("name": "spiffe://example/trainer", "object": "imagenet", "outcome": "NOT_FOUND", )"
            R"("message": "there is no job"})");
  EXPECT_EQ(lines.LineOf(Peer::Host(1000, 77), "penstock.v1.Worker/Stream", "", absl::OkStatus(), 0, kTime),
            R"({"time": "2026-05-28T20:26:40.123Z", "rpc": "Worker/Stream", "peer": "user 1000, process 77", )"
            R"("outcome": "OK"})");
}

// A job's name and the message of an error are the client's choice.
TEST(AuditLines, AreOneLineOfJsonWhateverTheClientSends) {
  AuditLines lines;
  for (const std::string& hostile : {std::string("a\n{\"rpc\": \"forged\"}"), std::string("\"}\r\n"),
                                     std::string(100'000, 'x'), std::string("\xff\0\x1b", 3)}) {
    const std::string line = lines.LineOf(Peer::Network("10.0.0.7:1"), "penstock.v1.Coordinator/Submit", hostile,
                                          absl::InvalidArgumentError(hostile), 0, kTime);
    EXPECT_EQ(line.find('\n'), std::string::npos);
    EXPECT_LT(line.size(), 4000u);
    const auto parsed = nlohmann::json::parse(line, nullptr, false);
    ASSERT_FALSE(parsed.is_discarded()) << line;
    EXPECT_EQ(parsed["rpc"], "Coordinator/Submit");
  }
}

TEST(AuditLines, APeerThatFloodsIsLimitedAndCountedAndOthersAreNot) {
  AuditLines lines;
  const absl::Status denied = absl::UnauthenticatedError("no");
  const auto from = [&](const std::string& address, Nanos now) {
    return lines.LineOf(Peer::Network(address), "penstock.v1.Coordinator/Submit", "", denied, now, kTime);
  };
  int written = 0;
  for (int i = 0; i < 1000; ++i) written += from(absl::StrCat("10.0.0.7:", 1000 + i), 0).empty() ? 0 : 1;
  EXPECT_EQ(written, AuditLines::kBurst) << "connections of a host share its limit";
  EXPECT_FALSE(from("10.0.0.8:1", 0).empty());
  const std::string later = from("10.0.0.7:1", kSecond);
  EXPECT_THAT(later, EndsWith(R"("left_out": 940})"));
}

TEST(AuditLines, RememberABoundedNumberOfPeers) {
  AuditLines lines;
  int written = 0;
  for (int i = 0; i < 10'000; ++i) {
    written += lines.LineOf(Peer::Network(absl::StrCat("10.", i / 256, ".", i % 256, ".1:7")),
                            "penstock.v1.Coordinator/Submit", "", absl::UnauthenticatedError("no"), 0, kTime)
                       .empty()
                   ? 0
                   : 1;
  }
  EXPECT_LE(written, static_cast<int>(AuditLines::kMostPeers + AuditLines::kBurst));
  EXPECT_GE(written, static_cast<int>(AuditLines::kMostPeers));
}

TEST(AuditLog, AppendsToAFileThatOnlyItsUserReads) {
  support::TempFolder folder;
  const std::string path = folder.File("audit.json");
  for (const char* job : {"one", "two"}) {
    const absl::StatusOr<std::unique_ptr<AuditLog>> log = AuditLog::Open(path);
    ASSERT_TRUE(log.ok()) << log.status();
    (*log)->Record(Peer::Network("10.0.0.7:1"), "penstock.v1.Coordinator/Submit", job, absl::OkStatus());
    (*log)->Flush(std::chrono::minutes(1));
  }
  const std::string text = ReadWholeFile(path).value();
  EXPECT_THAT(text, HasSubstr(R"("object": "one")"));
  EXPECT_THAT(text, HasSubstr(R"("object": "two")"));
  struct stat about {};
  ASSERT_EQ(stat(path.c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 0777, 0600u);
  EXPECT_THAT(std::string(AuditLog::Open(folder.path()).status().message()), HasSubstr("cannot open the audit log"));
}

}  // namespace
}  // namespace penstock::server
