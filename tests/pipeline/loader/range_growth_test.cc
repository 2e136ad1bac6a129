// Memory of a process while it reads ranges from a web server: the booked bytes, and little more.
#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/owned_fd.h"
#include "pipeline/loader/loader.h"
#include "pipeline/loader/open_dataset.h"
#include "pipeline/storage/object/object_storage.h"
#include "pipeline/storage/posix_storage.h"
#include "tests/pipeline/loader/indexes_from.h"
#include "tests/pipeline/loader/loader_testing.h"
#include "tests/pipeline/loader/local_behind.h"
#include "tests/support/sanitizers.h"
#include "tests/support/test_dataset.h"

namespace penstock::loader {
namespace {

// A web server of a folder's files. It is a separate process, so that its memory does not count as the reader's.
// Answers of at least `held_from` bytes stop halfway until `most_held` of them have stopped. Another process may have
// used the server's port just before, and its peers may still connect. The server closes a connection that requests no
// file.
class HoldingServer {
 public:
  HoldingServer(std::string folder, uint64_t held_from, size_t most_held)
      : folder_(std::move(folder)), held_from_(held_from), most_held_(most_held) {
    setenv("no_proxy", "127.0.0.1", 1);  // the machine may have a proxy
    int told[2], go[2];
    PS_CHECK(pipe2(told, O_CLOEXEC) == 0 && pipe2(go, O_CLOEXEC) == 0);
    listener_ = OwnedFd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    PS_CHECK(bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), length) == 0);
    PS_CHECK(listen(listener_.get(), 512) == 0);
    PS_CHECK(getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&address), &length) == 0);
    url_ = absl::StrCat("http://127.0.0.1:", ntohs(address.sin_port), "/");
    process_ = fork();
    PS_CHECK(process_ >= 0);
    if (process_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      Serve(told[1], go[0]);
    }
    told_ = OwnedFd(told[0]);
    go_ = OwnedFd(go[1]);
    close(told[1]);
    close(go[0]);
    listener_ = OwnedFd();
  }
  ~HoldingServer() {
    kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
  }

  const std::string& url() const { return url_; }
  // Blocks until the server holds `most_held` answers.
  void WaitUntilHeld() const {
    char byte = 0;
    PS_CHECK(read(told_.get(), &byte, 1) == 1);
  }
  // Finishes the held answers. The server holds no further ones.
  void GoOn() const { PS_CHECK(write(go_.get(), "", 1) == 1); }

 private:
  struct Answer {
    int socket = -1, file = -1;
    off_t at = 0;
    uint64_t left = 0;
  };

  // False if the peer has closed the connection.
  static bool Send(Answer* answer, uint64_t bytes) {
    for (uint64_t sent = 0; sent < bytes;) {
      const ssize_t now = sendfile(answer->socket, answer->file, &answer->at, bytes - sent);
      if (now <= 0) return false;
      sent += static_cast<uint64_t>(now);
    }
    answer->left -= bytes;
    return true;
  }

  // Sends the head of the answer and returns its body; none if `request` asks for no file of the folder.
  std::optional<Answer> Begin(int socket, const std::string& request) const {
    if (!request.starts_with("GET /") && !request.starts_with("HEAD /")) return std::nullopt;
    const size_t path = request.find('/') + 1;
    const std::string name = request.substr(path, request.find(' ', path) - path);
    Answer answer{.socket = socket, .file = open(absl::StrCat(folder_, "/", name).c_str(), O_RDONLY)};
    struct stat info {};
    if (answer.file < 0) return std::nullopt;
    PS_CHECK(fstat(answer.file, &info) == 0);
    const auto size = static_cast<unsigned long long>(info.st_size);
    unsigned long long first = 0, last = size - 1;
    const size_t range = request.find("bytes=");
    const bool part = range != std::string::npos;
    PS_CHECK(!part || std::sscanf(request.c_str() + range, "bytes=%llu-%llu", &first, &last) == 2);
    const std::string place = part ? absl::StrCat("content-range: bytes ", first, "-", last, "/", size, "\r\n") : "";
    const std::string head = absl::StrCat("HTTP/1.1 ", part ? "206 Partial Content" : "200 OK", "\r\netag: \"", size,
                                          "\"\r\n", place, "content-length: ", last + 1 - first, "\r\n\r\n");
    if (send(socket, head.data(), head.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(head.size())) {
      close(answer.file);
      return std::nullopt;
    }
    answer.at = static_cast<off_t>(first);
    answer.left = request.starts_with("HEAD") ? 0 : last + 1 - first;
    return answer;
  }

  [[noreturn]] void Serve(int told, int go) const {
    std::vector<pollfd> waits{{listener_.get(), POLLIN, 0}};
    std::vector<std::string> requests{""};
    std::vector<Answer> held;
    bool holds = true;
    std::signal(SIGPIPE, SIG_IGN);
    for (;;) {
      PS_CHECK(poll(waits.data(), waits.size(), -1) >= 0);
      for (size_t i = waits.size(); i-- > 1;) {
        if (waits[i].revents == 0) continue;
        char buffer[4096];
        const ssize_t got = recv(waits[i].fd, buffer, sizeof buffer, 0);
        if (got > 0) requests[i].append(buffer, static_cast<size_t>(got));
        if (got > 0 && !requests[i].ends_with("\r\n\r\n")) continue;
        std::optional<Answer> answer;
        if (got > 0) answer = Begin(waits[i].fd, std::exchange(requests[i], ""));
        const bool holds_this = answer && holds && answer->left >= held_from_;
        const bool sent = answer && Send(&*answer, holds_this ? answer->left / 2 : answer->left);
        if (sent && holds_this) held.push_back(*answer);
        if (answer && !(sent && holds_this)) close(answer->file);
        if (sent) continue;
        close(waits[i].fd);
        waits.erase(waits.begin() + static_cast<std::ptrdiff_t>(i));
        requests.erase(requests.begin() + static_cast<std::ptrdiff_t>(i));
      }
      if (waits[0].revents != 0) {
        waits.push_back({accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC), POLLIN, 0});
        requests.emplace_back();
      }
      if (!holds || held.size() < most_held_) continue;
      char byte = 0;
      PS_CHECK(write(told, &byte, 1) == 1 && read(go, &byte, 1) == 1);
      holds = false;
      for (Answer& answer : held) {
        Send(&answer, answer.left);
        close(answer.file);
      }
    }
  }

  const std::string folder_;
  const uint64_t held_from_;
  const size_t most_held_;
  OwnedFd listener_, told_, go_;
  std::string url_;
  pid_t process_ = -1;
};

// Local files whose bytes come from a web server.
class ServedFiles final : public LocalBehind {
 public:
  explicit ServedFiles(std::string url) : url_(std::move(url)) {}
  bool HasLowLatency(const std::string& name) const override { return false; }
  void Open(const std::string& name, const storage::CallOptions& options,
            storage::CallDone<std::unique_ptr<storage::StoredFile>> done) override {
    auto local = storage::LocalFiles()->OpenAndWait(name);
    if (!local.ok()) return std::move(done)(local.status());
    objects_.Open(url_ + std::filesystem::path(name).filename().string(), options,
                  [local = *std::move(local),
                   done = std::move(done)](absl::StatusOr<std::unique_ptr<storage::StoredFile>> file) mutable {
                    if (!file.ok()) return std::move(done)(file.status());
                    std::move(done)(std::make_unique<File>(std::move(local), *std::move(file)));
                  });
  }

 private:
  class File final : public LocalFileBehind {
   public:
    File(std::unique_ptr<storage::StoredFile> local, std::unique_ptr<storage::StoredFile> served)
        : LocalFileBehind(std::move(local)), served_(std::move(served)) {}
    void Read(uint64_t offset, size_t length, char* out, const storage::CallOptions& options,
              storage::CallDone<size_t> done) const override {
      served_->Read(offset, length, out, options, std::move(done));
    }
    void ReadParts(uint64_t offset, std::vector<ReadPart> parts, const storage::CallOptions& options,
                   storage::CallDone<size_t> done) const override {
      served_->ReadParts(offset, std::move(parts), options, std::move(done));
    }

   private:
    const std::unique_ptr<storage::StoredFile> served_;
  };

  const std::string url_;
  storage::ObjectStorage objects_{storage::ObjectStorage::Options::FromEnvironment()};
};

// A line of /proc/self/status, in bytes.
uint64_t OwnMemory(const std::string& which) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(which + ":")) return std::stoull(line.substr(which.size() + 1)) << 10;
  }
  return 0;
}

TEST(RangeGrowth, SixtyFourRangesInFlightTakeLittleMoreThanTheBookedMemory) {
  if (support::kSanitizersHeap) GTEST_SKIP() << "a sanitizer keeps memory of its own";
  constexpr size_t kRanges = 64, kShards = 3, kInShard = 400, kRecords = kShards * kInShard;
  constexpr uint64_t kMemory = 48 << 20, kRecordBytes = 48 << 10;
  // Each of the 64 ranges and 64 single records also has libcurl's buffer (64 KiB), its handle and its connection.
  constexpr uint64_t kBeside = 128 * (96 << 10);
  support::TempFolder folder, state;
  support::ImageDatasetOptions images;
  images.shards = kShards;
  images.records_per_shard = 1;
  support::TestDataset set = support::MakeImageDataset(images, folder.path());
  set.job.mutable_order()->set_chunk_records(8);
  set.job.mutable_order()->set_window_chunks(1024);
  // Small images in long records, so that the memory of decoding does not matter here.
  std::string record;
  {
    const auto frozen = OpenDataset(storage::LocalFiles(), set.job, set.roots, std::nullopt, 1);
    ASSERT_TRUE(frozen.ok());
    auto reader = DatasetReader::Create(
        storage::LocalFiles(), (*frozen)->snapshot(), set.roots,
        IndexesFrom(sources::IndexStore::InStateDir(storage::LocalFiles(), state.path()), sources::IndexOptions()),
        DatasetReader::Options());
    ASSERT_TRUE(reader.ok());
    ASSERT_TRUE((*reader)->ReadRecord(0, &record).ok());
  }
  // An unknown field: number 15, with a length of three bytes.
  record += std::string("\x7a\x80\x80\x03", 4) + std::string(kRecordBytes, 'x');
  for (const std::string& file : set.files) support::WriteShard(file, std::vector<std::string>(kInShard, record));

  // The server does not hold the read of a single record.
  const HoldingServer server(folder.path(), 2 * kRecordBytes, kRanges);
  ServedFiles storage(server.url());
  const auto frozen = OpenDataset(storage::LocalFiles(), set.job, set.roots, std::nullopt, 1);
  ASSERT_TRUE(frozen.ok());
  DatasetReader::Options options;
  auto reader = DatasetReader::Create(
      &storage, (*frozen)->snapshot(), set.roots,
      IndexesFrom(sources::IndexStore::InStateDir(storage::LocalFiles(), state.path()), sources::IndexOptions()),
      options);
  ASSERT_TRUE(reader.ok());
  const auto job = LoadJob::Create(set.job, *reader).value();
  for (uint64_t number = 0; number < kRecords; number += kInShard) {
    ASSERT_TRUE(job->reader().ReadRecord(number, &record).ok());  // loads the indexes
  }
  LoaderOptions loader_options;
  loader_options.threads = 2;
  loader_options.memory_budget_bytes = kMemory;
  loader_options.ranges_under_way = kRanges;
  loader_options.range_bytes = 256 << 10;
  const auto loader = Loader::Create(loader_options).value();
  HoldingSink sink;
  LoaderSessionOptions session_options;
  session_options.largest_step_rows = 40;
  session_options.expected = ExpectAll(*job);
  const uint64_t before = OwnMemory("VmRSS");
  std::ofstream("/proc/self/clear_refs") << "5";  // resets VmHWM
  const auto session = loader->OpenSession(job, session_options, &sink).value();
  session->Request(RowsOf(0, kRecords, 40));
  server.WaitUntilHeld();
  const uint64_t booked = loader->Stats().memory_bytes, grown = OwnMemory("VmRSS") - before;
  EXPECT_GT(booked, kRanges * 2 * kRecordBytes);
  EXPECT_LE(booked, kMemory);
  EXPECT_LE(grown, booked + kBeside);
  server.GoOn();
  sink.WaitFor(kRecords);
  const uint64_t most = loader->Stats().memory_peak_bytes, most_grown = OwnMemory("VmHWM") - before;
  EXPECT_LE(most, kMemory);
  EXPECT_LE(most_grown, most + kBeside);
  const auto mib = [](uint64_t bytes) { return static_cast<double>(bytes) / (1 << 20); };
  std::printf("held: %.1f MiB booked, %.1f grown; at most %.1f booked, %.1f grown\n", mib(booked), mib(grown),
              mib(most), mib(most_grown));
}

}  // namespace
}  // namespace penstock::loader
