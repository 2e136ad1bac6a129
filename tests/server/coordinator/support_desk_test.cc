#include "server/coordinator/trace/support_desk.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/server/coordinator/state_harness.h"

namespace penstock::coordinator {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

v1::PutSupportRequest FilesOf(uint64_t id, const std::string& worker, size_t bytes = 10) {
  v1::PutSupportRequest put;
  put.set_id(id);
  put.set_worker_id(worker);
  put.set_incarnation(1);
  v1::SupportFile* const file = put.add_files();
  file->set_name("log.txt");
  file->set_content(std::string(bytes, 'x'));
  return put;
}

class SupportDeskTest : public ::testing::Test {
 protected:
  v1::StartSupportReply Start(uint64_t id) {
    const auto reply = desk.Start(id, {}, {{"", "coordinator", ""}, {"a", "worker a", ""}, {"b", "worker b", ""}}, now);
    EXPECT_TRUE(reply.ok()) << reply.status();
    return *reply;
  }
  v1::GetSupportReply Get(uint64_t id, bool beats = true) {
    v1::GetSupportRequest request;
    request.set_id(id);
    const auto reply = desk.Get(
        request, {}, [beats](const std::string&) { return beats; }, now);
    EXPECT_TRUE(reply.ok()) << reply.status();
    return reply.ok() ? *reply : v1::GetSupportReply();
  }
  int Orders(const std::string& worker) {
    google::protobuf::RepeatedPtrField<v1::SupportOrder> orders;
    desk.AddOrders(worker, now, &orders);
    return orders.size();
  }

  Nanos now = kSecond;
  SupportDesk desk{transport::MayActFor};
};

TEST_F(SupportDeskTest, ReturnsThePartsAndIsDoneWhenAllHaveArrived) {
  EXPECT_THAT(Start(7).processes(), ElementsAre("coordinator", "worker a", "worker b"));
  EXPECT_EQ(Orders("a"), 1);
  EXPECT_EQ(Orders("nobody"), 0);
  EXPECT_TRUE(desk.Put(FilesOf(7, ""), now).ok());
  EXPECT_TRUE(desk.Put(FilesOf(7, "a"), now).ok());
  EXPECT_EQ(Orders("a"), 0);  // they have arrived
  v1::GetSupportReply reply = Get(7);
  ASSERT_EQ(reply.parts_size(), 2);
  EXPECT_EQ(reply.parts(1).process(), "worker a");
  EXPECT_FALSE(reply.done());
  EXPECT_TRUE(desk.Put(FilesOf(7, "b"), now).ok());
  reply = Get(7);
  EXPECT_EQ(reply.parts_size(), 1);
  EXPECT_TRUE(reply.done());
  EXPECT_EQ(reply.missing_size(), 0);
  EXPECT_EQ(desk.Put(FilesOf(7, "b"), now).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(SupportDeskTest, ASilentProcessIsNamedAfterTheWaitWithTheReason) {
  Start(7);
  Orders("a");
  EXPECT_TRUE(desk.Put(FilesOf(7, ""), now).ok());
  now += SupportDesk::kWait - 1;
  EXPECT_FALSE(Get(7).done());
  now += 1;
  const v1::GetSupportReply reply = Get(7);
  EXPECT_TRUE(reply.done());
  EXPECT_THAT(reply.missing(), ElementsAre(HasSubstr("worker a: it got the request, but sent no files within 15 s"),
                                           HasSubstr("worker b: it sent no heartbeat within 15 s")));
}

TEST_F(SupportDeskTest, AWorkerThatIsLostDelaysNothing) {
  Start(7);
  EXPECT_TRUE(desk.Put(FilesOf(7, ""), now).ok());
  const v1::GetSupportReply reply = Get(7, false);
  EXPECT_TRUE(reply.done());
  EXPECT_THAT(reply.missing(), ElementsAre(HasSubstr("worker a: it was lost meanwhile"), HasSubstr("worker b: ")));
}

TEST_F(SupportDeskTest, LargeFilesAndManyCollectionsAreRejected) {
  Start(7);
  EXPECT_TRUE(desk.Put(FilesOf(7, "a", SupportDesk::kMostBytesOfOne + 1), now).ok());
  Start(8);
  const auto third = desk.Start(9, {}, {}, now);
  EXPECT_EQ(third.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(third.status().message()), HasSubstr("try again in 46 s"));
  now += SupportDesk::kWait;
  const v1::GetSupportReply reply = Get(7);
  EXPECT_THAT(reply.missing(0), HasSubstr("coordinator: "));
  EXPECT_THAT(reply.missing(1), HasSubstr("worker a: its files of "));
  now += SupportDesk::kKept + 1;  // no client fetched the second one
  EXPECT_TRUE(desk.Start(10, {}, {}, now).ok());
}

TEST(CoordinatorSupport, HeartbeatsFetchTheOrderAndLostWorkersAreNamedAtOnce) {
  StateHarness h;
  h.Register("a");
  h.Register("b");
  h.Pass(4 * kSecond, {"a"});  // b is lost
  const auto started = h.Do<v1::StartSupportReply>(v1::StartSupportRequest());
  EXPECT_THAT(started.processes(), ElementsAre("coordinator", "worker a"));
  ASSERT_EQ(h.Beat("a").support_size(), 1);
  EXPECT_EQ(h.Beat("a").support(0).id(), started.id());  // until the files arrive
  h.Do<v1::PutSupportReply>(FilesOf(started.id(), "a"));
  h.Do<v1::PutSupportReply>(FilesOf(started.id(), ""));
  EXPECT_EQ(h.Beat("a").support_size(), 0);
  v1::GetSupportRequest get;
  get.set_id(started.id());
  h.caller = transport::Peer::Host(1, 2);
  h.caller.name = "mallory";
  EXPECT_EQ(h.StatusOf(get).code(), absl::StatusCode::kPermissionDenied);
  h.caller = {};
  const auto reply = h.Do<v1::GetSupportReply>(get);
  EXPECT_EQ(reply.parts_size(), 2);
  EXPECT_TRUE(reply.done());
  EXPECT_THAT(reply.missing(), ElementsAre(HasSubstr("worker b: lost 4 s ago: no heartbeat since then")));
}

}  // namespace
}  // namespace penstock::coordinator
