// The lines of `penstock doctor` for a given status and given probes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/status/status.h"
#include "base/version.h"
#include "client/cli/doctor/check_line.h"
#include "client/cli/doctor/diagnosis.h"
#include "client/cli/doctor/worker_probe.h"
#include "net/protocols_proto.h"

namespace penstock::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const absl::Time kCalledAt = absl::FromUnixSeconds(1'780'000'000);

// A status of this release with one worker, in which nothing is wrong.
class DoctorLines : public ::testing::Test {
 protected:
  DoctorLines() {
    received_.address = "c:7070";
    received_.asked = kCalledAt;
    received_.received = kCalledAt + absl::Milliseconds(20);
    v1::StatusReply& status = received_.status;
    status.set_version(std::string(Version()));
    *status.mutable_protocols() = net::ToProto(kProtocols);
    status.set_unix_ms(absl::ToUnixMillis(kCalledAt) + 12);
    AddFinding(status.mutable_findings(), "open files", false, "fine here");
    v1::WorkerStatus* const worker = status.add_workers();
    worker->set_id("w-id");
    worker->set_name("w1");
    worker->set_address("w1:7071");
    worker->set_host("far");
    worker->set_state(v1::WorkerStatus::LIVE);
    worker->set_version(std::string(Version()));
    *worker->mutable_protocols() = net::ToProto(kProtocols);
    AddFinding(worker->mutable_findings(), "data root a", false, "/a is readable");
  }

  static void AddFinding(google::protobuf::RepeatedPtrField<v1::Finding>* to, const std::string& check, bool fault,
                         const std::string& message) {
    v1::Finding* const finding = to->Add();
    finding->set_check(check);
    finding->set_fault(fault);
    finding->set_message(message);
  }
  v1::StatusReply& status() { return received_.status; }
  v1::WorkerStatus& worker() { return *received_.status.mutable_workers(0); }
  CheckLines Diagnose() const {
    CheckLines lines;
    DiagnoseCoordinator(received_, &lines);
    for (const v1::WorkerStatus& worker : received_.status.workers()) {
      DiagnoseWorker(received_, worker, probe_, "here", &lines);
    }
    return lines;
  }
  void ExpectFault(const std::string& line) const {
    const CheckLines lines = Diagnose();
    EXPECT_EQ(lines.CountFaults(), 1u) << lines.Text();
    EXPECT_THAT(lines.Text(), HasSubstr("FAULT  " + line));
  }

  ReceivedStatus received_;
  WorkerProbe probe_;
};

TEST_F(DoctorLines, AHealthyClusterHasNoFault) {
  const CheckLines lines = Diagnose();
  EXPECT_EQ(lines.CountFaults(), 0u);
  const std::string release = absl::StrCat("penstock ", std::string(Version()), ", protocol ", kProtocols.ToString());
  EXPECT_EQ(
      lines.Text(),
      "ok     coordinator  address: answers at c:7070 in plaintext\n"
      "ok     coordinator  release: " +
          release +
          "\n"
          "ok     coordinator  caller: every caller may do everything, without a token\n"
          "ok     coordinator  clock: agrees with this host's, except for at most 13 ms\n"
          "ok     coordinator  open files: fine here\n"
          "ok     coordinator  workers: 1 worker sends heartbeats\n"
          "ok     worker w1    state: live, its last heartbeat was 0 ms ago\n"
          "ok     worker w1    release: " +
          release +
          "\n"
          "ok     worker w1    address: answers at w1:7071 in plaintext\n"
          "ok     worker w1    transport: trainers here read over the network, because the worker is on another host\n"
          "ok     worker w1    clock: agrees with the coordinator's, except for at most 0 ms\n"
          "ok     worker w1    data root a: /a is readable\n");
}

TEST_F(DoctorLines, AFaultIsCountedAndIsPartOfTheJson) {
  AddFinding(worker().mutable_findings(), "data root b", true, "/b is \"gone\"\x1b[31m");
  ExpectFault("worker w1    data root b: /b is \"gone\" [31m\n");
  const std::string json = Diagnose().AsJson();
  EXPECT_THAT(json, HasSubstr("{\"faults\": 1, \"checks\": [{\"process\": \"coordinator\", \"check\": \"address\", "
                              "\"result\": \"ok\", \"message\": \"answers at c:7070 in plaintext\"}"));
  EXPECT_THAT(json, HasSubstr("\"check\": \"data root b\", \"result\": \"fault\""));
}

TEST_F(DoctorLines, ClocksThatDifferAreAFault) {
  status().set_unix_ms(absl::ToUnixMillis(kCalledAt) + 2015);
  EXPECT_EQ(Diagnose().CountFaults(), 0u) << "the call took 20 ms";
  status().set_unix_ms(absl::ToUnixMillis(kCalledAt) + 61'010);
  ExpectFault("coordinator  clock: is 61.0 s ahead of this host's. Synchronize both clocks");
  status().set_unix_ms(absl::ToUnixMillis(kCalledAt) + 10);
  worker().set_clock_ahead_ms(-7500);
  ExpectFault("worker w1    clock: is 7.5 s behind the coordinator's. Synchronize both clocks");
}

TEST_F(DoctorLines, ProcessesWithoutACommonProtocolAreAFault) {
  worker().set_version("0.9.0");
  worker().mutable_protocols()->set_oldest(7);
  worker().mutable_protocols()->set_newest(8);
  ExpectFault("worker w1    release: worker w1 is penstock 0.9.0 with protocol 7 to 8; the command on this host");
}

TEST_F(DoctorLines, AMixOfReleasesIsNamedAndNoFault) {
  worker().set_version("0.3.9");
  const CheckLines lines = Diagnose();
  EXPECT_EQ(lines.CountFaults(), 0u) << lines.Text();
  EXPECT_THAT(lines.Text(), HasSubstr("finish the upgrade (docs/upgrading.md)"));
}

TEST_F(DoctorLines, APreviousReleaseSendsNothingAndThatIsNoFault) {
  for (v1::StatusReply* reply : {&status()}) {
    reply->set_version("0.3.0");
    reply->clear_unix_ms();
    reply->clear_findings();
    worker().set_version("0.3.0");
    worker().clear_findings();
  }
  const CheckLines lines = Diagnose();
  EXPECT_EQ(lines.CountFaults(), 0u) << lines.Text();
  EXPECT_THAT(lines.Text(), HasSubstr("?      coordinator  clock: penstock 0.3.0 does not send its time\n"));
  EXPECT_THAT(lines.Text(), HasSubstr("?      coordinator  caller: penstock 0.3.0 does not name its callers\n"));
  EXPECT_THAT(lines.Text(), HasSubstr("?      coordinator  self-checks: penstock 0.3.0 makes none"));
  EXPECT_THAT(lines.Text(), HasSubstr("?      worker w1    self-checks: penstock 0.3.0 makes none"));
  EXPECT_THAT(lines.Text(), Not(HasSubstr("worker w1    clock")));
  worker().set_host("here");
  EXPECT_THAT(Diagnose().Text(),
              HasSubstr("?      worker w1    transport: the coordinator of penstock 0.3.0 does not"));
}

TEST_F(DoctorLines, ACallerIsNamedWithItsRole) {
  received_.token = true;
  status().set_caller_name("ops");
  status().set_caller_role("operator");
  EXPECT_THAT(Diagnose().Text(), HasSubstr("caller: this is 'ops' with the role operator; its token has no end\n"));
  status().set_caller_role("trainer");
  status().clear_findings();
  EXPECT_THAT(Diagnose().Text(), HasSubstr("?      coordinator  self-checks: viewers and operators see them"));
}

TEST_F(DoctorLines, LostWorkersAreFaultsAndOnesThatLeftAreNot) {
  worker().set_state(v1::WorkerStatus::DEAD);
  worker().set_note("lost 12 s ago: no heartbeat since then");
  worker().clear_findings();
  CheckLines lines = Diagnose();
  EXPECT_EQ(lines.CountFaults(), 2u);
  EXPECT_THAT(lines.Text(), HasSubstr("FAULT  coordinator  workers: none sends heartbeats. Start one: penstockd worker "
                                      "--coordinator c:7070 --data-root DIR\n"));
  EXPECT_THAT(lines.Text(), HasSubstr("FAULT  worker w1    state: lost 12 s ago: no heartbeat since then, although "
                                      "w1:7071 answers. Its log has the reason"));
  probe_.network = absl::UnavailableError("connection refused");
  EXPECT_THAT(Diagnose().Text(), HasSubstr("and w1:7071 does not answer. If its process hangs, kill it"));
  worker().set_state(v1::WorkerStatus::LEFT);
  EXPECT_THAT(Diagnose().Text(), Not(HasSubstr("worker w1")));
}

TEST_F(DoctorLines, AWorkerWithOtherArithmeticIsAFault) {
  worker().set_note("its arithmetic gives other bits than most workers'");
  ExpectFault("worker w1    state: its arithmetic gives other bits than most workers'. Run one build of Penstock");
}

TEST_F(DoctorLines, AnUnreachableWorkerIsAFaultWithTheRemedy) {
  probe_.network = absl::UnavailableError("connection refused");
  ExpectFault(
      "worker w1    address: this host cannot reach w1:7071: connection refused. Open its port, or start the "
      "worker with an --advertise that trainers reach\n");
  probe_.network = absl::FailedPreconditionError("the worker at w1:7071 serves plaintext, start it with --tls-cert");
  ExpectFault("worker w1    address: the worker at w1:7071 serves plaintext, start it with --tls-cert\n");
}

TEST_F(DoctorLines, TheTransportOfAWorkerOnThisHostIsNamed) {
  worker().set_host("here");
  EXPECT_THAT(Diagnose().Text(), HasSubstr("because the worker has no socket for shared memory\n"));
  worker().set_local("boot:w-id:/run/penstock/w-id.sock");
  probe_.local = transport::LocalAnswer::kWelcome;
  EXPECT_THAT(Diagnose().Text(), HasSubstr("transport: trainers here read through shared memory\n"));
  probe_.local = transport::LocalAnswer::kSilence;
  ExpectFault(
      "worker w1    transport: worker w-id is on this host, but its rows do not come through shared memory: the "
      "worker does not answer on its socket. Mount the folder");
  probe_.local = absl::PermissionDeniedError("/run/penstock/w-id.sock: the worker has closed the connection");
  ExpectFault(
      "worker w1    transport: worker w-id is on this host, but its rows do not come through shared memory: "
      "/run/penstock/w-id.sock: the worker has closed the connection. This process runs as user ");
  // With tokens a worker waits for a ticket, which only trainers have.
  probe_.local = transport::LocalAnswer::kSilence;
  status().set_caller_role("operator");
  EXPECT_EQ(Diagnose().CountFaults(), 0u);
}

TEST_F(DoctorLines, LateRejectionsAndFileErrorsAreFaults) {
  v1::RejectedCaller* const caller = status().add_rejected();
  caller->set_host("10.0.0.9");
  caller->set_message("unknown token");
  caller->set_count(3);
  caller->set_seconds_since_last(200);
  EXPECT_EQ(Diagnose().CountFaults(), 0u) << "its caller no longer tries";
  caller->set_seconds_since_last(2);
  ExpectFault("coordinator  callers: rejected 10.0.0.9 3 times, last 2.0 s ago: unknown token\n");
  status().clear_rejected();
  worker().mutable_load()->add_troubles("/a/train-7: No such file or directory; trying again");
  ExpectFault("worker w1    files: /a/train-7: No such file or directory; trying again. Restore the file");
}

}  // namespace
}  // namespace penstock::cli
