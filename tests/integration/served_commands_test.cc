// The commands of `penstock` with a daemon, as a user types them.
#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sqlite3.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/host_name.h"
#include "tests/support/cluster/process_cluster.h"
#include "tests/support/temp_folder.h"
#include "tests/support/test_dataset.h"
#include "tests/support/wait_until.h"

namespace penstock::integration {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class ServedCommands : public ::testing::Test {
 protected:
  ServedCommands()
      : dataset_(support::MakeNumberDataset({.shards = 2, .records_per_shard = 20}, data_.path())),
        cluster_({}, dataset_.roots) {
    dataset_.job.set_name("train");
    dataset_.job.mutable_batch()->set_size(8);
    WriteJob("train.textproto", dataset_.job);
    v1::JobSpec bad = dataset_.job;
    bad.set_name("bad");
    bad.mutable_dataset(0)->clear_files();
    bad.mutable_dataset(0)->add_files(data_.path() + "/trian-*");
    WriteJob("bad.textproto", bad);
    bad.set_name("train");
    WriteJob("train-bad.textproto", bad);
    Run("submit train.textproto");
  }

  struct Outcome {
    int code = -1;
    std::string out, err;
  };
  Outcome Run(const std::string& arguments, const std::string& input = "/dev/null") {
    const std::string command = absl::StrCat("cd '", home_.path(), "' && PENSTOCK_COORDINATOR=", cluster_.address(),
                                             " '", PENSTOCK, "' ", arguments, " >out 2>err <", input);
    const int status = std::system(command.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, ReadWholeFile(home_.File("out")).value_or(""),
            ReadWholeFile(home_.File("err")).value_or("")};
  }
  std::unique_ptr<support::Process> Start(const std::string& log, std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), PENSTOCK);
    return std::make_unique<support::Process>(
        arguments, home_.File(log),
        std::vector<std::string>{absl::StrCat("PENSTOCK_COORDINATOR=", cluster_.address())});
  }
  void WriteJob(const std::string& name, const v1::JobSpec& job) {
    std::string text;
    ASSERT_TRUE(google::protobuf::TextFormat::PrintToString(job, &text));
    ASSERT_TRUE(WriteFileAtomically(home_.File(name), text).ok());
  }

  support::TempFolder data_, home_;
  support::TestDataset dataset_;
  support::ProcessCluster cluster_;
};

TEST_F(ServedCommands, DescribeShowsTheEventsAlsoAfterARestartOfTheCoordinator) {
  const Outcome before = Run("describe train");
  EXPECT_EQ(before.code, 0) << before.err;
  EXPECT_THAT(before.out, HasSubstr("job train\n  state         ready"));
  EXPECT_THAT(before.out, HasSubstr("ready to read   40 records in 2 shards"));
  ASSERT_TRUE(support::WaitUntil([&] {  // the events are stored a moment after the reply
    cluster_.RestartCoordinator();
    return absl::StrContains(Run("describe train").out, "ready to read   40 records in 2 shards");
  }));
  const Outcome worker = Run("describe " + cluster_.worker(0).id);
  EXPECT_THAT(worker.out, HasSubstr("worker joined"));
  EXPECT_THAT(Run("describe trian").err, HasSubstr("no job or worker \"trian\" (did you mean 'train'?)"));
  EXPECT_THAT(Run("describe train --json").out, HasSubstr("\"kind\": \"SUBMITTED\""));
}

// A session without reports is closed after a minute, which is longer than WaitUntil waits.
TEST_F(ServedCommands, AStoppedReadClosesItsSession) {
  for (const int signal : {SIGTERM, SIGINT}) {
    const auto read = Start("read.log", {"read", "train", "--epochs", "1000000", "--pace", "10"});
    ASSERT_TRUE(support::WaitUntil([&] { return absl::StrContains(Run("status").out, "1 reader"); }));
    read->Signal(signal);
    EXPECT_EQ(read->WaitForExit(), -signal);
    // At once, unless the machine is too busy for the client's last call. Then the session expires after 60 s.
    EXPECT_TRUE(
        support::WaitUntil([&] { return !absl::StrContains(Run("status").out, "1 reader"); }, std::chrono::minutes(2)));
    EXPECT_THAT(ReadWholeFile(home_.File("read.log")).value_or(""), HasSubstr("penstock read: stopped by SIG"));
  }
}

TEST_F(ServedCommands, ASupportFileIsCompleteUnlessAWorkerHangs) {
  const Outcome whole = Run("support whole.tar.zst");
  EXPECT_EQ(whole.code, 0) << whole.err;
  EXPECT_THAT(whole.out, HasSubstr("of 2 processes"));
  EXPECT_EQ(Run("support whole.tar.zst").code, 1);  // it exists
  ASSERT_EQ(cluster_.worker(0).process->running(), true);
  cluster_.worker(0).process->Signal(SIGSTOP);
  const Outcome part = Run("support whole.tar.zst --replace");
  cluster_.worker(0).process->Signal(SIGCONT);
  EXPECT_EQ(part.code, 1);
  EXPECT_THAT(part.err, HasSubstr("whole.tar.zst is written, but it lacks worker "));
  ASSERT_EQ(std::system(absl::StrCat("cd '", home_.path(), "' && zstd -dcq whole.tar.zst > whole.tar").c_str()), 0);
  const std::string tar = ReadWholeFile(home_.File("whole.tar")).value_or("");
  for (const char* text : {"README.txt", "Missing:\n  worker ", "status.json", "coordinator/log.txt", "jobs/train.json",
                           "coordinator/metrics.txt", "command/host.txt"}) {
    EXPECT_THAT(tar, HasSubstr(text));
  }
  const Outcome alone = Run("support alone.tar.zst --coordinator 127.0.0.1:1");
  EXPECT_EQ(alone.code, 1);
  EXPECT_THAT(alone.err,
              HasSubstr("alone.tar.zst is written, but it lacks everything but this host: the coordinator at"));
}

TEST_F(ServedCommands, DeleteRemovesEndedJobs) {
  const Outcome failed = Run("submit bad.textproto");
  EXPECT_EQ(failed.code, 1);
  EXPECT_THAT(failed.err, HasSubstr("job 'bad' failed: "));
  EXPECT_EQ(Run("cancel train --json").out, "{\"job\": \"train\", \"state\": \"CANCELLED\"}\n");
  const Outcome shown = Run("status");
  EXPECT_THAT(shown.out, HasSubstr("penstock delete --ended"));
  EXPECT_THAT(shown.out, HasSubstr("bad: "));
  EXPECT_EQ(Run("delete --ended").out, "deleted: bad, train\n");
  EXPECT_THAT(Run("jobs").out, HasSubstr("no jobs"));
  EXPECT_EQ(Run("delete --ended").out, "no job has failed or was cancelled\n");
}

// Another process that writes to the store prevents changes, as a full disk does.
TEST_F(ServedCommands, ACommandThatCannotBeStoredChangesNothing) {
  v1::JobSpec other = dataset_.job;
  other.set_name("other");
  WriteJob("other.textproto", other);
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open((cluster_.coordinator_dir() + "/coordinator.db").c_str(), &db), SQLITE_OK);
  sqlite3_busy_timeout(db, 10'000);
  ASSERT_EQ(sqlite3_exec(db, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr), SQLITE_OK);
  for (const char* command :
       {"submit other.textproto", "cancel train", "delete train --running", "delete train --running --purge"}) {
    const Outcome refused = Run(command);
    EXPECT_EQ(refused.code, 1) << command;
    EXPECT_THAT(refused.err, HasSubstr("the coordinator cannot store this")) << command;
    EXPECT_THAT(refused.err, HasSubstr("Nothing has changed")) << command;
  }
  const std::string jobs = Run("jobs").out;
  EXPECT_THAT(jobs, HasSubstr("train"));
  EXPECT_THAT(jobs, HasSubstr("ready"));
  EXPECT_THAT(jobs, Not(HasSubstr("other")));
  ASSERT_EQ(sqlite3_exec(db, "ROLLBACK", nullptr, nullptr, nullptr), SQLITE_OK);
  sqlite3_close(db);
  // The commands take no effect later either.
  EXPECT_EQ(Run("read train --steps 1").code, 0);
  EXPECT_THAT(Run("jobs").out, Not(HasSubstr("other")));
  cluster_.coordinator().Signal(SIGKILL);
  cluster_.RestartCoordinator();
  EXPECT_THAT(Run("jobs").out, HasSubstr("ready"));
  EXPECT_THAT(Run("jobs").out, Not(HasSubstr("other")));
  EXPECT_EQ(Run("submit other.textproto").code, 0);
}

TEST_F(ServedCommands, SubmitAndReadAcceptAJobOnStandardInput) {
  EXPECT_EQ(Run("cancel train").code, 0);
  const Outcome submitted = Run("submit -", "train.textproto");
  EXPECT_EQ(submitted.code, 0) << submitted.err;
  EXPECT_THAT(submitted.out, HasSubstr("job 'train' is ready"));
  EXPECT_THAT(Run("read - --json", "train.textproto").out, HasSubstr("\"steps\": 5"));
}

TEST_F(ServedCommands, DrainReportsTheLeftWorkerAsJson) {
  const std::string id = cluster_.AddWorker().id;
  ASSERT_TRUE(cluster_.control().WaitForLive(2));
  const Outcome drained = Run("drain --json " + id);
  EXPECT_EQ(drained.code, 0) << drained.err;
  EXPECT_THAT(drained.out, HasSubstr("\"worker\": \"" + id + "\", \"state\": \"LEFT\""));
}

TEST_F(ServedCommands, AKilledWorkerIsReportedAsLostWithTheTimeEvenIfTheTrainerNeverWaits) {
  support::Process& killed = *cluster_.AddWorker({"--name", "second"}).process;
  ASSERT_TRUE(cluster_.control().WaitForOwners("train", 2)) << cluster_.Logs();
  EXPECT_THAT(Run("workers").out, HasSubstr(absl::StrCat(HostName(), ":")));
  EXPECT_THAT(Run("workers").out, HasSubstr("second"));
  const auto trainer = Start("trainer", {"read", "train", "--epochs", "1000000", "--no-digest", "--pace", "50"});
  std::string said;
  const auto explains = [&](const std::string& words) {
    said = Run("explain train").out;
    return absl::StrContains(said, words);
  };
  ASSERT_TRUE(
      support::WaitUntil([&] { return explains("the trainer itself: rows come in time"); }, std::chrono::minutes(1)))
      << said;
  killed.Signal(SIGKILL);
  EXPECT_TRUE(support::WaitUntil([&] { return explains("Worker second was lost "); }, std::chrono::minutes(1))) << said;
  std::string shown;
  const bool lost = support::WaitUntil(
      [&] {
        shown = Run("status").out;
        EXPECT_THAT(shown, Not(HasSubstr("out for another")));
        return absl::StrContains(shown, " s ago: no heartbeat since then") && absl::StrContains(shown, " lost ");
      },
      std::chrono::minutes(1));
  EXPECT_TRUE(lost) << shown;
  ASSERT_TRUE(
      support::WaitUntil([&] { return explains("the trainer itself: rows come in time"); }, std::chrono::minutes(1)))
      << said;
  EXPECT_THAT(said, HasSubstr("Worker second was lost "));
}

TEST_F(ServedCommands, DrainAcceptsAWorkersName) {
  const std::string id = cluster_.AddWorker({"--name", "second"}).id;
  ASSERT_TRUE(cluster_.control().WaitForLive(2));
  const Outcome drained = Run("drain --json second");
  EXPECT_EQ(drained.code, 0) << drained.err;
  EXPECT_THAT(drained.out, HasSubstr("\"worker\": \"" + id + "\", \"state\": \"LEFT\""));
}

// An epoch has 5 steps.
TEST_F(ServedCommands, UntilEpochReadsToThatEpochFromAnyState) {
  EXPECT_THAT(Run("read train --state s --steps 2 --json").out, HasSubstr("\"steps\": 2"));
  EXPECT_THAT(Run("read train --state s --until-epoch 2 --json").out, HasSubstr("\"steps\": 8"));
  const Outcome nothing = Run("read train --state s --until-epoch 2 --json");
  EXPECT_EQ(nothing.code, 1);
  EXPECT_THAT(nothing.err, HasSubstr("there is nothing left to read"));
  EXPECT_THAT(Run("read train --state u --steps 7 --json").out, HasSubstr("\"steps\": 7"));
  EXPECT_THAT(Run("read train --state u --until-epoch 2 --json").out, HasSubstr("\"steps\": 3"));
  // --epochs counts the state's epoch as one.
  EXPECT_THAT(Run("read train --state t --steps 2 --json").out, HasSubstr("\"steps\": 2"));
  EXPECT_THAT(Run("read train --state t --epochs 1 --json").out, HasSubstr("\"steps\": 3"));
}

TEST_F(ServedCommands, AFailedReplacementLeavesTheJobUnchanged) {
  const auto reader = Start("reader.log", {"read", "train", "--epochs", "100000", "--pace", "20"});
  ASSERT_TRUE(support::WaitUntil([&] { return absl::StrContains(Run("jobs").out, "1 reader"); }));
  const Outcome failed = Run("submit train-bad.textproto --replace");
  EXPECT_EQ(failed.code, 1);
  EXPECT_THAT(failed.err, HasSubstr("penstock submit: job 'train' continues unchanged; its replacement failed: "));
  EXPECT_THAT(failed.err, HasSubstr("trian-*"));
  EXPECT_TRUE(reader->running());
  const Outcome shown = Run("status");
  EXPECT_THAT(shown.out, HasSubstr("1 reader; its replacement failed, see below"));
  EXPECT_THAT(shown.out, HasSubstr("train continues unchanged; its replacement failed: "));
  EXPECT_THAT(Run("submit train.textproto").out, HasSubstr("job 'train' is ready"));
  EXPECT_THAT(Run("status").out, Not(HasSubstr("replacement")));
  EXPECT_TRUE(reader->running());
  // A valid replacement ends the reader.
  EXPECT_EQ(Run("submit train.textproto --replace").code, 0);
  EXPECT_EQ(reader->WaitForExit(), 1);
  EXPECT_THAT(ReadWholeFile(home_.File("reader.log")).value_or(""), HasSubstr("was replaced by another submission"));
}

TEST_F(ServedCommands, ASecondProcessOfARankIsRejectedAndARestartedOneIsServed) {
  const std::vector<std::string> arguments = {"read", "train",  "--rank", "0",        "--world-size",
                                              "2",    "--pace", "20",     "--epochs", "100000"};
  auto first = Start("first.log", arguments);
  ASSERT_TRUE(support::WaitUntil([&] {  // the reader has reported
    const auto status = cluster_.control().Status();
    return status.ok() && status->jobs(0).sessions_size() == 1 && status->jobs(0).sessions(0).rows() > 0;
  }));
  const Outcome second = Run("read train --rank 0 --world-size 2");
  EXPECT_EQ(second.code, 1);
  EXPECT_THAT(second.err, HasSubstr("rank 0 of 2 of job train has another reader that is alive: reader "));
  EXPECT_THAT(Run("status").out, HasSubstr("asks for rank 0 of 2 and is refused while this one reports"));
  EXPECT_TRUE(first->running());
  // A killed reader leaves its session. A new one gets the rank within seconds.
  first->Signal(SIGKILL);
  first->WaitForExit();
  const Outcome third = Run("read train --rank 0 --world-size 2 --json");
  EXPECT_EQ(third.code, 0) << third.err;
  EXPECT_THAT(third.out, HasSubstr("\"steps\": 5"));
}

}  // namespace
}  // namespace penstock::integration
