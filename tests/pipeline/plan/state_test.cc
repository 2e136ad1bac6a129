#include "pipeline/plan/state.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace penstock::plan {
namespace {

const SessionState kState = {.epoch = 3,
                             .position = 51'200,
                             .order_fingerprint = 0x00c5000000000abc,
                             .pipeline_fingerprint = 0x9e1fdeadbeef0001};
constexpr char kText[] =
    "penstock-state version=1 epoch=3 position=51200 order=00c5000000000abc "
    "pipeline=9e1fdeadbeef0001";

TEST(SessionState, TextIsStableAndRoundTrips) {
  EXPECT_EQ(SerializeState(kState), kText);
  EXPECT_EQ(ParseState(kText).value(), kState);
  EXPECT_EQ(ParseState(std::string(kText) + "\n").value(), kState);
  const SessionState largest = {
      .epoch = UINT64_MAX, .position = UINT64_MAX, .order_fingerprint = UINT64_MAX, .pipeline_fingerprint = UINT64_MAX};
  EXPECT_EQ(ParseState(SerializeState(largest)).value(), largest);
}

TEST(SessionState, EveryTruncatedOrChangedTextIsRejectedOrAnotherState) {
  const std::string text = kText;
  for (size_t length = 0; length < text.size(); ++length) {
    EXPECT_FALSE(ParseState(text.substr(0, length)).ok()) << length;
  }
  for (size_t i = 0; i < text.size(); ++i) {
    for (const char c : {'\0', ' ', '=', '-', '+', 'g', '\n', '\x80'}) {
      std::string changed = text;
      if (changed[i] == c) continue;
      changed[i] = c;
      EXPECT_FALSE(ParseState(changed).ok()) << changed;
    }
  }
}

TEST(SessionState, ErrorsNameTheCause) {
  const auto message = [](const std::string& text) { return std::string(ParseState(text).status().message()); };
  EXPECT_NE(message("").find("does not begin"), std::string::npos);
  EXPECT_NE(message("penstock-state version=1 epoch=3").find("\"position=\" is missing"), std::string::npos);
  EXPECT_NE(message("penstock-state version=1 position=3").find("\"epoch=\" should stand"), std::string::npos);
  EXPECT_NE(message("penstock-state version=1 epoch=-3").find("unsigned"), std::string::npos);
  EXPECT_NE(message("penstock-state version=1 epoch=99999999999999999999").find("epoch"), std::string::npos);
  EXPECT_NE(message(std::string(kText) + " more=1").find("\"more=1\" follows"), std::string::npos);
  EXPECT_NE(message("penstock-state version=1 epoch=0 position=0 order=1").find("16 hexadecimal"), std::string::npos);
  EXPECT_EQ(ParseState("penstock-state version=2 anything").status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_FALSE(ParseState(std::string(1 << 20, 'x')).ok());
}

TEST(CheckResume, AcceptsTheSameOrderAndPipelineAtAnyPlace) {
  SessionState current = kState;
  current.epoch = current.position = 0;
  EXPECT_TRUE(CheckResume(kState, current, false).ok());
}

TEST(CheckResume, AlwaysRejectsAnotherOrderAndNamesBothValues) {
  SessionState current = kState;
  current.order_fingerprint = 1;
  for (const bool accept : {false, true}) {
    const absl::Status status = CheckResume(kState, current, accept);
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_NE(status.message().find("order fingerprint is 00c5000000000abc"), std::string::npos);
    EXPECT_NE(status.message().find("0000000000000001"), std::string::npos);
    EXPECT_EQ(status.message().find("accept"), std::string::npos);
    EXPECT_TRUE(IsResumeError(status));
  }
}

TEST(CheckResume, RejectsAnotherPipelineUnlessItIsAccepted) {
  SessionState current = kState;
  current.pipeline_fingerprint = 2;
  const absl::Status status = CheckResume(kState, current, false);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(status.message().find("pipeline fingerprint is 9e1fdeadbeef0001"), std::string::npos);
  EXPECT_NE(status.message().find("0000000000000002"), std::string::npos);
  EXPECT_NE(status.message().find("--accept-new-pipeline"), std::string::npos);
  EXPECT_TRUE(CheckResume(kState, current, true).ok());
}

TEST(OrderFingerprint, DependsExactlyOnTheInputsOfTheOrder) {
  const PlanOptions base = {.seed = 1};
  std::set<uint64_t> values = {OrderFingerprint(7, base)};
  EXPECT_EQ(OrderFingerprint(7, base), *values.begin());
  values.insert(OrderFingerprint(8, base));
  values.insert(OrderFingerprint(7, base, kPlanVersion + 1));
  values.insert(OrderFingerprint(7, {.seed = 2}));
  values.insert(OrderFingerprint(7, {.seed = 1, .shuffle = Shuffle::kFull}));
  values.insert(OrderFingerprint(7, {.seed = 1, .shuffle = Shuffle::kNone}));
  values.insert(OrderFingerprint(7, {.seed = 1, .repeats = 2}));
  values.insert(OrderFingerprint(7, {.seed = 1, .chunk_records = 32}));
  values.insert(OrderFingerprint(7, {.seed = 1, .window_chunks = 512}));
  EXPECT_EQ(values.size(), 9u);
  EXPECT_EQ(OrderFingerprint(7, {.seed = 1, .shuffle = Shuffle::kFull, .chunk_records = 1}),
            OrderFingerprint(7, {.seed = 1, .shuffle = Shuffle::kFull}));
}

}  // namespace
}  // namespace penstock::plan
