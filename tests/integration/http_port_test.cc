// The HTTP port of real daemons, and `penstock health`.
#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <cstdlib>
#include <functional>
#include <memory>
#include <regex>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "tests/server/http/raw_client.h"
#include "tests/support/cluster/control.h"
#include "tests/support/cluster/deaf_client.h"
#include "tests/support/cluster/process_cluster.h"
#include "tests/support/cluster/silent_port.h"
#include "tests/support/temp_folder.h"
#include "tests/support/test_dataset.h"
#include "tests/support/wait_until.h"
#include "transport/grpc/grpc_transport.h"

namespace penstock::integration {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// Longer than a disk or a busy machine stalls.
constexpr auto kPatience = std::chrono::minutes(2);

bool Eventually(const std::function<bool()>& condition) { return support::WaitUntil(condition, kPatience); }

class HttpPort : public ::testing::Test {
 protected:
  HttpPort() : dataset_(support::MakeNumberDataset({.shards = 2, .records_per_shard = 20}, data_.path())) {
    dataset_.job.set_name("train");
    dataset_.job.mutable_batch()->set_size(8);
  }

  // A penstockd with --http and a log of its own.
  struct Daemon {
    std::string name, log, address;  // address: of --listen, "" before it is ready
    int http = 0;                    // 0 before it listens
    std::unique_ptr<support::Process> process;
  };
  // Starts a daemon without waiting for it.
  Daemon Start(const std::string& name, std::vector<std::string> arguments) {
    Daemon daemon;
    daemon.name = name;
    daemon.log = home_.File(name + ".log");
    arguments.insert(arguments.begin(), PENSTOCKD);
    arguments.insert(arguments.end(), {"--state-dir", home_.File(name), "--port-file", home_.File(name + ".port")});
    daemon.process = std::make_unique<support::Process>(arguments, daemon.log);
    return daemon;
  }
  // Starts a daemon whose HTTP port is any free one, and waits until that port is open.
  Daemon StartWithHttp(const std::string& name, std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--http", "127.0.0.1:0"});
    Daemon daemon = Start(name, arguments);
    const std::string text = "HTTP listens on 127.0.0.1:";
    EXPECT_TRUE(Eventually([&] {
      const std::string log = ReadWholeFile(daemon.log).value_or("");
      const size_t at = log.find(text);
      if (at == std::string::npos || log.find('\n', at) == std::string::npos) return false;
      daemon.http = std::atoi(log.c_str() + at + text.size());
      return true;
    })) << ReadWholeFile(daemon.log).value_or("");
    return daemon;
  }
  void WaitUntilReady(Daemon* daemon) {
    EXPECT_TRUE(Eventually([&] {
      const auto port = ReadWholeFile(home_.File(daemon->name + ".port"));
      if (port.ok()) daemon->address = absl::StrCat("127.0.0.1:", absl::StripAsciiWhitespace(*port));
      return port.ok();
    })) << ReadWholeFile(daemon->log).value_or("");
  }
  std::vector<std::string> WorkerArguments(const std::string& coordinator) {
    return {"worker",
            "--coordinator",
            coordinator,
            "--data-root",
            absl::StrCat("data=", data_.path()),
            "--memory-budget",
            "64MiB",
            "--threads",
            "1",
            "--socket-dir",
            ""};
  }

  struct Outcome {
    int code = -1;
    std::string out, err;
  };
  Outcome Run(const std::string& arguments, const std::string& coordinator = "") {
    const std::string command = absl::StrCat("cd '", home_.path(), "' && PENSTOCK_COORDINATOR=", coordinator, " '",
                                             PENSTOCK, "' ", arguments, " >out 2>err </dev/null");
    const int status = std::system(command.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, ReadWholeFile(home_.File("out")).value_or(""),
            ReadWholeFile(home_.File("err")).value_or("")};
  }
  Outcome Health(const Daemon& daemon, const std::string& flags = "") {
    return Run(absl::StrCat("health 127.0.0.1:", daemon.http, " ", flags));
  }
  bool BecomesHealthy(const Daemon& daemon, const std::string& flags = "") {
    return Eventually([&] { return Health(daemon, flags).out == "ok\n"; });
  }
  // Waits until `penstock health` fails with this error.
  bool BecomesUnhealthy(const Daemon& daemon, const std::string& error) {
    return Eventually([&] {
      const Outcome outcome = Health(daemon);
      return outcome.code == 1 && absl::StrContains(outcome.err, error);
    });
  }
  static std::string Get(const Daemon& daemon, const std::string& path) {
    server::RawClient client(daemon.http);
    client.Get(path);
    return client.Answer();
  }
  void Submit(const Daemon& coordinator) {
    std::string text;
    ASSERT_TRUE(google::protobuf::TextFormat::PrintToString(dataset_.job, &text));
    ASSERT_TRUE(WriteFileAtomically(home_.File("train.textproto"), text).ok());
    ASSERT_TRUE(Eventually([&] { return Run("submit train.textproto", coordinator.address).code == 0; }));
  }

  support::TempFolder data_, home_;
  support::TestDataset dataset_;
};

TEST_F(HttpPort, OfAStandaloneDaemonHasHealthStatusAndMetrics) {
  std::vector<std::string> arguments = WorkerArguments("");
  arguments.erase(arguments.begin(), arguments.begin() + 3);
  arguments.insert(arguments.begin(), {"standalone", "--listen", "127.0.0.1:0"});
  Daemon daemon = StartWithHttp("standalone", arguments);
  WaitUntilReady(&daemon);
  EXPECT_TRUE(BecomesHealthy(daemon)) << Health(daemon).err << ReadWholeFile(daemon.log).value_or("");
  EXPECT_TRUE(BecomesHealthy(daemon, "--live"));
  EXPECT_THAT(Get(daemon, "/nothing"), AllOf(StartsWith("HTTP/1.1 404 "), HasSubstr("/api/v1/status\n/healthz\n")));
  EXPECT_THAT(Get(daemon, "/"), AllOf(StartsWith("HTTP/1.1 200 "), HasSubstr("\r\nContent-Security-Policy: "),
                                      HasSubstr("<title>Penstock</title>")));
  EXPECT_THAT(Get(daemon, "/metrics"),
              AllOf(HasSubstr("\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n"),
                    HasSubstr("role=\"standalone\"} 1\n"), HasSubstr("\npenstock_workers{state=\"live\"} 1\n"),
                    HasSubstr("\npenstock_worker_memory_budget_bytes 67108864\n")));
  Submit(daemon);
  // The status changes each second, in numbers only.
  const auto without_numbers = [](const std::string& text) {
    return std::regex_replace(text, std::regex("[0-9][-+.e0-9]*"), "N");
  };
  EXPECT_TRUE(Eventually([&] {
    const std::string command = Run("status --json", daemon.address).out;
    const std::string page = Get(daemon, "/api/v1/status");
    return absl::StrContains(command, "\"train\"") &&
           absl::StrContains(page, "\r\nContent-Type: application/json\r\n") &&
           without_numbers(page.substr(page.find("\r\n\r\n") + 4)) == without_numbers(command);
  })) << Get(daemon, "/api/v1/status");
  EXPECT_THAT(Get(daemon, "/api/v1/explain"), HasSubstr(absl::StrCat("{\"coordinator\": \"", daemon.address, "\"")));
  EXPECT_TRUE(
      Eventually([&] { return absl::StrContains(Get(daemon, "/api/v1/shards?job=train"), "\"indexed\": true"); }));
  EXPECT_THAT(Get(daemon, "/api/v1/quarantine?job=train"), HasSubstr("\"bad_records\": 0"));
  EXPECT_THAT(Get(daemon, "/api/v1/shards?job=none"), StartsWith("HTTP/1.1 404 "));
  EXPECT_TRUE(Eventually([&] { return absl::StrContains(Get(daemon, "/api/v1/events"), "job train is ready"); }));
}

TEST_F(HttpPort, OfACoordinatorIsReadyWithoutWorkers) {
  Daemon coordinator = StartWithHttp("coordinator", {"coordinator", "--listen", "127.0.0.1:0"});
  WaitUntilReady(&coordinator);
  EXPECT_TRUE(BecomesHealthy(coordinator)) << Health(coordinator).err;
  EXPECT_THAT(Get(coordinator, "/api/v1/status"), HasSubstr("\"workers\": []"));
  EXPECT_THAT(Get(coordinator, "/metrics"),
              AllOf(HasSubstr("\npenstock_workers_wanted 1\n"), Not(HasSubstr("penstock_worker_rows_total"))));
  // A process that hangs has no answer.
  coordinator.process->Signal(SIGSTOP);
  const Outcome frozen = Health(coordinator, "--live");
  EXPECT_EQ(frozen.code, 1);
  EXPECT_THAT(frozen.err, HasSubstr("did not answer within 2 s"));
  coordinator.process->Signal(SIGCONT);
  EXPECT_TRUE(BecomesHealthy(coordinator)) << Health(coordinator).err;
  EXPECT_TRUE(Eventually([&] {
    return absl::StrContains(Run("health " + coordinator.address).err,
                             "name the address of the daemon's --http, not of its --listen");
  }));
}

TEST_F(HttpPort, AWorkerIsReadyFromItsRegistrationToItsDrain) {
  Daemon coordinator = Start("coordinator", {"coordinator", "--listen", "127.0.0.1:0"});
  WaitUntilReady(&coordinator);
  coordinator.process.reset();
  // Long enough for a drain to end by the test alone.
  ASSERT_TRUE(WriteFileAtomically(home_.File("w.textproto"), "worker_settings { drain_timeout_ms: 3600000 }\n").ok());
  std::vector<std::string> arguments = WorkerArguments(coordinator.address);
  arguments.insert(arguments.end(), {"--config", home_.File("w.textproto")});
  const Daemon worker = StartWithHttp("worker", arguments);
  EXPECT_TRUE(BecomesUnhealthy(worker, "is not ready: not registered: coordinator " + coordinator.address));
  EXPECT_TRUE(BecomesHealthy(worker, "--live")) << "it lives while it waits for the coordinator";
  EXPECT_THAT(Get(worker, "/api/v1/status"), StartsWith("HTTP/1.1 404 ")) << "the coordinator has the status";
  EXPECT_THAT(Get(worker, "/"), StartsWith("HTTP/1.1 404 ")) << "the coordinator has the page";
  EXPECT_THAT(Get(worker, "/metrics"), HasSubstr("\npenstock_worker_rows_total 0\n"));

  coordinator = Start("coordinator", {"coordinator", "--listen", coordinator.address});
  WaitUntilReady(&coordinator);
  EXPECT_TRUE(BecomesHealthy(worker)) << ReadWholeFile(worker.log).value_or("");
  // A client that ignores the drain keeps it under way.
  support::Control control(coordinator.address);
  ASSERT_TRUE(control.Submit(dataset_.job).ok());
  ASSERT_TRUE(control.WaitForOwners("train", 1));
  const absl::StatusOr<v1::Job> job = control.GetJob("train");
  ASSERT_TRUE(job.ok()) << job.status();
  transport::GrpcTransport transport;
  const auto client =
      support::DeafClient::Connect(&transport, job->view().workers(0).address(), {support::OpenMessage(*job, "deaf")});
  ASSERT_TRUE(Eventually([&] {
    const absl::StatusOr<v1::StatusReply> status = control.Status();
    return status.ok() && status->workers(0).load().sessions() == 1;
  }));
  worker.process->Signal(SIGTERM);
  EXPECT_TRUE(BecomesUnhealthy(worker, "is not ready: the worker is draining"));
  EXPECT_TRUE(BecomesHealthy(worker, "--live"));
  client->Close();
  EXPECT_EQ(worker.process->WaitForExit(kPatience), 0) << ReadWholeFile(worker.log).value_or("");
}

TEST_F(HttpPort, ErrorsNameTheWayOut) {
  const Outcome nothing = Run("health 127.0.0.1:1");
  EXPECT_EQ(nothing.code, 1);
  EXPECT_THAT(nothing.err, HasSubstr("cannot reach 127.0.0.1:1: Connection refused; start penstockd with --http"));
  EXPECT_EQ(Run("health a b").code, 2);
  EXPECT_EQ(Run("health http://localhost:7072").code, 2);
  const support::SilentPort silent(support::SilentPort::Kind::kMute);
  EXPECT_THAT(Run("health " + silent.address()).err, HasSubstr("did not answer within 2 s"));

  Daemon first = StartWithHttp("first", {"coordinator", "--listen", "127.0.0.1:0"});
  const std::string address = absl::StrCat("127.0.0.1:", first.http);
  const Daemon second = Start("second", {"coordinator", "--listen", "127.0.0.1:0", "--http", address});
  EXPECT_EQ(second.process->WaitForExit(kPatience), 1);
  EXPECT_THAT(ReadWholeFile(second.log).value_or(""),
              HasSubstr("cannot listen on " + address + " for HTTP: another process listens there already"));
  const Daemon third = Start("third", {"coordinator", "--listen", "127.0.0.1:0", "--http", "0.0.0.0:0"});
  EXPECT_EQ(third.process->WaitForExit(kPatience), 1);
  EXPECT_THAT(ReadWholeFile(third.log).value_or(""), HasSubstr("--insecure"));
}

}  // namespace
}  // namespace penstock::integration
