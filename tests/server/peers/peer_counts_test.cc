#include "server/peers/peer_counts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace penstock::server {
namespace {

using ::testing::HasSubstr;
using transport::Peer;

Peer At(const std::string& host, const std::string& name = "") {
  Peer peer = Peer::Network(host + ":5123");
  peer.name = name;
  return peer;
}

TEST(PeerCounts, AHostHasALimit) {
  PeerCounts counts({.per_host = 2, .per_name = 100});
  std::vector<PeerCounts::Place> places;
  for (int i = 0; i < 2; ++i) places.push_back(*counts.Take(At("10.0.0.7")));
  const absl::Status full = counts.Take(At("10.0.0.7")).status();
  EXPECT_EQ(full.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(full.message(), HasSubstr("10.0.0.7 has 2 open sessions, the most that limits.sessions_per_host allows"));
  EXPECT_TRUE(counts.Take(At("10.0.0.8")).ok());
  places.pop_back();
  EXPECT_TRUE(counts.Take(At("10.0.0.7")).ok()) << "the end of a session makes room";
}

TEST(PeerCounts, ANameHasALimitOnAllItsHosts) {
  PeerCounts counts({.per_host = 100, .per_name = 3});
  std::vector<PeerCounts::Place> places;
  for (int i = 0; i < 3; ++i) places.push_back(*counts.Take(At(absl::StrCat("10.0.0.", i), "alice")));
  EXPECT_THAT(counts.Take(At("10.0.0.9", "alice")).status().message(), HasSubstr("limits.sessions_per_name"));
  EXPECT_TRUE(counts.Take(At("10.0.0.9", "bob")).ok());
}

TEST(PeerCounts, ARejectedSessionTakesNoPlace) {
  PeerCounts counts({.per_host = 1, .per_name = 1});
  std::optional<PeerCounts::Place> place = *counts.Take(At("10.0.0.7", "alice"));
  EXPECT_FALSE(counts.Take(At("10.0.0.8", "alice")).ok());
  place.reset();
  EXPECT_TRUE(counts.Take(At("10.0.0.8", "alice")).ok());
}

TEST(PeerCounts, APlaceMovesWithItsSession) {
  PeerCounts counts({.per_host = 1, .per_name = 1});
  PeerCounts::Place first = *counts.Take(At("10.0.0.7"));
  PeerCounts::Place second = std::move(first);
  EXPECT_FALSE(counts.Take(At("10.0.0.7")).ok());
  second = {};
  EXPECT_TRUE(counts.Take(At("10.0.0.7")).ok());
}

TEST(PeerCounts, APlaceMayOutliveTheCounts) {
  std::optional<PeerCounts> counts(PeerCounts::Limits{});
  const PeerCounts::Place place = *counts->Take(At("10.0.0.7", "alice"));
  counts.reset();
}

TEST(PeerCounts, SessionsWithinTheProcessHaveNoLimit) {
  PeerCounts counts({.per_host = 1, .per_name = 1});
  std::vector<PeerCounts::Place> places;
  for (int i = 0; i < 10; ++i) places.push_back(*counts.Take(Peer::InProcess()));
  EXPECT_EQ(places.size(), 10u);
}

}  // namespace
}  // namespace penstock::server
