// Processes that read one job: the reader of a rank, and votes against workers.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <memory>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/version.h"
#include "net/channel.h"
#include "penstock/v1/control.grpc.pb.h"
#include "tests/support/cluster/process_cluster.h"
#include "tests/support/temp_folder.h"
#include "tests/support/test_dataset.h"
#include "tests/support/wait_until.h"

namespace penstock::integration {
namespace {

using ::testing::HasSubstr;

class Readers : public ::testing::Test {
 protected:
  Readers() : dataset_(support::MakeNumberDataset({.shards = 4, .records_per_shard = 50}, data_.path())) {
    dataset_.job.set_name("train");
    dataset_.job.mutable_batch()->set_size(8);
  }
  void Start(int workers) {
    support::ProcessClusterOptions options;
    options.workers = workers;
    cluster_ = std::make_unique<support::ProcessCluster>(options, dataset_.roots);
    const absl::Status submitted = cluster_->control().Submit(dataset_.job);
    ASSERT_TRUE(submitted.ok()) << submitted << cluster_->Logs();
  }
  // Starts an endless `penstock read train`.
  std::unique_ptr<support::Process> Read(const std::string& log, std::vector<std::string> flags) {
    std::vector<std::string> arguments = {
        PENSTOCK, "read", "train", "--coordinator", cluster_->address(), "--epochs", "1000000", "--pace", "20"};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    return std::make_unique<support::Process>(arguments, folder_.File(log));
  }
  // The number of readers that have reported rows.
  int Reading() {
    const auto status = cluster_->control().Status();
    if (!status.ok() || status->jobs_size() != 1) return 0;
    int reading = 0;
    for (const auto& session : status->jobs(0).sessions()) reading += session.rows() > 0 ? 1 : 0;
    return reading;
  }
  std::string Said(const std::string& log) { return ReadWholeFile(folder_.File(log)).value_or(""); }

  support::TempFolder data_, folder_;
  support::TestDataset dataset_;
  std::unique_ptr<support::ProcessCluster> cluster_;
};

TEST_F(Readers, ARankKeepsItsReaderThroughARestartOfTheCoordinator) {
  Start(1);
  const auto first = Read("first", {"--rank", "0", "--world-size", "2"});
  ASSERT_TRUE(support::WaitUntil([&] { return Reading() == 1; })) << Said("first") << cluster_->Logs();
  cluster_->coordinator().Signal(SIGKILL);
  cluster_->RestartCoordinator();
  const auto second = Read("second", {"--rank", "0", "--world-size", "2"});
  EXPECT_EQ(second->WaitForExit(), 1);
  EXPECT_THAT(Said("second"), HasSubstr("has another reader that is alive"));
  EXPECT_TRUE(first->running()) << Said("first");
  // A rank without a reader is free after two report periods.
  const auto other = Read("other", {"--rank", "1", "--world-size", "2"});
  EXPECT_TRUE(support::WaitUntil([&] { return Reading() == 2; })) << Said("other") << cluster_->Logs();
  EXPECT_TRUE(first->running()) << Said("first");
}

TEST_F(Readers, SessionsOfOneProcessCannotRemoveAHealthyWorker) {
  Start(3);
  const auto reader = Read("reader", {});
  ASSERT_TRUE(support::WaitUntil([&] { return Reading() == 1; })) << Said("reader") << cluster_->Logs();
  auto stub = v1::Coordinator::NewStub(net::MakeChannel(cluster_->address()));
  std::vector<std::string> sessions;
  for (int i = 0; i < 3; ++i) {
    v1::OpenSessionRequest open;
    open.set_job("train");
    open.set_world_size(1);
    open.set_version(std::string(Version()));
    open.set_process(4711);
    grpc::ClientContext context;
    net::PrepareCall(&context, absl::Seconds(20));
    v1::OpenSessionReply opened;
    ASSERT_TRUE(stub->OpenSession(&context, open, &opened).ok());
    sessions.push_back(opened.session_id());
  }
  for (int round = 0; round < 3; ++round) {
    for (const std::string& session : sessions) {
      v1::ReportSessionRequest report;
      report.set_session_id(session);
      for (int i = 0; i < 3; ++i) report.add_failed_workers(cluster_->worker(i).id);
      grpc::ClientContext context;
      net::PrepareCall(&context, absl::Seconds(20));
      v1::ReportSessionReply reported;
      ASSERT_TRUE(stub->ReportSession(&context, report, &reported).ok());
      EXPECT_FALSE(reported.unknown_session());
    }
    const auto status = cluster_->control().Status();
    ASSERT_TRUE(status.ok());
    for (const v1::WorkerStatus& worker : status->workers()) EXPECT_EQ(worker.state(), v1::WorkerStatus::LIVE);
  }
}

}  // namespace
}  // namespace penstock::integration
