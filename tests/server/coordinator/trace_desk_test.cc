#include "server/coordinator/trace/trace_desk.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace penstock::coordinator {
namespace {

using ::testing::HasSubstr;

class TraceDeskTest : public ::testing::Test {
 protected:
  absl::StatusOr<v1::StartTraceReply> Start(uint64_t id, uint32_t seconds = 5, const std::string& job = "train",
                                            const std::string& worker = "w1", const std::string& session = "s1") {
    v1::StartTraceRequest request;
    request.set_job(job);
    request.set_seconds(seconds);
    return desk.Start(id, request, transport::Peer(), {{worker, true, "0.3.0"}, {session, false, "0.3.0"}},
                      1500 * kMillisecond, now);
  }
  std::vector<v1::TraceOrder> Orders(const std::string& process) {
    google::protobuf::RepeatedPtrField<v1::TraceOrder> orders;
    desk.AddOrders(process, now, &orders);
    return {orders.begin(), orders.end()};
  }
  absl::Status Put(uint64_t id, const std::string& process, bool part, bool last = false, size_t bytes = 10) {
    v1::PutTraceRequest request;
    request.set_trace(id);
    request.set_process(process);
    request.set_last(last);
    if (part) request.mutable_part()->set_host(std::string(bytes, 'x'));
    return desk.Put(request, transport::Peer(), now).status();
  }
  absl::StatusOr<v1::GetTraceReply> Get(uint64_t id) {
    v1::GetTraceRequest request;
    request.set_trace(id);
    return desk.Get(request, transport::Peer(), now);
  }

  TraceDesk desk;
  Nanos now = 100 * kSecond;
};

TEST_F(TraceDeskTest, OrdersNameTheRemainingTime) {
  ASSERT_TRUE(Start(1).ok());
  ASSERT_EQ(Orders("w1").size(), 1u);
  EXPECT_EQ(Orders("w1")[0].begin_in_ms(), 1500u);
  EXPECT_EQ(Orders("w1")[0].length_ms(), 5000u);
  now += 2500 * kMillisecond;
  EXPECT_EQ(Orders("new")[0].begin_in_ms(), 0u);
  EXPECT_EQ(Orders("new")[0].length_ms(), 4000u);
  now += 4 * kSecond;
  EXPECT_TRUE(Orders("w1").empty());
}

TEST_F(TraceDeskTest, IsCompleteAfterItsEndWhenAllPartsHaveArrived) {
  ASSERT_TRUE(Start(1).ok());
  EXPECT_FALSE(Get(1)->complete());
  now += 7 * kSecond;
  ASSERT_TRUE(Put(1, "w1", true, true).ok());
  v1::GetTraceReply reply = *Get(1);
  EXPECT_FALSE(reply.complete());
  EXPECT_EQ(reply.parts_size(), 1);  // each part only once
  EXPECT_EQ(Get(1)->parts_size(), 0);
  ASSERT_TRUE(Put(1, "s1", true, true).ok());
  reply = *Get(1);
  EXPECT_TRUE(reply.complete());
  EXPECT_EQ(reply.missing_size(), 0);
  EXPECT_EQ(Get(1).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(TraceDeskTest, WaitsABoundedTimeAndNamesMissingProcessesWithReasons) {
  ASSERT_TRUE(Start(1).ok());
  Orders("w1");
  ASSERT_TRUE(Put(1, "late", false).ok());
  now += 7 * kSecond;
  EXPECT_FALSE(Get(1)->complete());
  now += TraceDesk::kGrace;
  const v1::GetTraceReply reply = *Get(1);
  ASSERT_TRUE(reply.complete());
  ASSERT_EQ(reply.missing_size(), 3);
  EXPECT_THAT(reply.missing(0).why(), HasSubstr("began to record"));
  EXPECT_THAT(reply.missing(1).why(), HasSubstr("silent during the trace"));
  EXPECT_THAT(reply.missing(2).why(), HasSubstr("release 0.3.0"));
  EXPECT_TRUE(reply.missing(2).worker());
}

TEST_F(TraceDeskTest, RejectsASecondTraceOfTheJobOrItsProcesses) {
  ASSERT_TRUE(Start(1).ok());
  now += kSecond;
  const absl::Status second = Start(2).status();
  EXPECT_EQ(second.code(), absl::StatusCode::kAlreadyExists);
  EXPECT_THAT(std::string(second.message()), HasSubstr("another penstock trace is running, of job train. "));
  // 5.5 s of the trace, and 5 s to deliver it
  EXPECT_THAT(std::string(second.message()), HasSubstr("Try again in 11 s"));
  EXPECT_THAT(std::string(Start(2, 5, "eval", "w1", "s2").status().message()),
              HasSubstr("of job train, which shares processes with this job"));
  EXPECT_TRUE(Start(2, 5, "eval", "w2", "s2").ok());
  // The next trace may begin after all processes have delivered, or after their time is over.
  ASSERT_TRUE(Put(1, "w1", true, true).ok());
  EXPECT_FALSE(Start(3).ok());
  ASSERT_TRUE(Put(1, "s1", true, true).ok());
  EXPECT_TRUE(Start(3).ok());
  now += 6500 * kMillisecond + TraceDesk::kGrace;
  EXPECT_TRUE(Start(4).ok());
}

TEST_F(TraceDeskTest, KeepsABoundedNumberOfBytesAndTraces) {
  ASSERT_TRUE(Start(1).ok());
  for (uint64_t id = 2; id <= TraceDesk::kMostTraces; ++id) {
    const std::string number = std::to_string(id);
    ASSERT_TRUE(Start(id, 5, "job" + number, "w" + number, "s" + number).ok());
  }
  EXPECT_EQ(Start(99, 5, "job99", "w99", "s99").status().code(), absl::StatusCode::kResourceExhausted);
  for (int i = 0; i < 80; ++i) ASSERT_TRUE(Put(1, "w1", true, false, size_t{1} << 20).ok());
  uint64_t bytes = 0;
  v1::GetTraceReply reply = *Get(1);
  EXPECT_GT(reply.refused_parts(), 10u);
  while (reply.parts_size() > 0) {
    EXPECT_LE(reply.ByteSizeLong(), TraceDesk::kReplyBytes + (size_t{2} << 20));
    bytes += reply.ByteSizeLong();
    reply = *Get(1);
  }
  EXPECT_LE(bytes, TraceDesk::kMostBytes);
  // The desk drops traces that no client fetches.
  now += 3 * 60 * kSecond;
  EXPECT_EQ(Put(1, "w1", true).code(), absl::StatusCode::kNotFound);
  EXPECT_TRUE(Start(99).ok());
  EXPECT_EQ(Start(100, 0).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Start(100, 61).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace penstock::coordinator
