#include "client/feed/feeder.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "base/cgroup.h"
#include "base/file.h"
#include "base/json.h"
#include "base/mutex.h"
#include "base/open_files.h"
#include "base/runtime/threads.h"
#include "base/status_macros.h"
#include "client/feed/batch_arena.h"
#include "client/feed/direct_reader.h"
#include "client/feed/feed_loader.h"
#include "client/feed/local_jobs.h"
#include "client/feed/messages.h"
#include "client/feed/slot_table.h"
#include "pipeline/storage/files.h"

namespace penstock::feed {
namespace {

constexpr uint64_t kLeastMemory = uint64_t{16} << 20;
// Limits of the memory budget for local jobs, unless the trainer sets one.
constexpr uint64_t kLeastBudget = uint64_t{64} << 20;
constexpr uint64_t kMostBudget = uint64_t{1} << 30;
constexpr uint64_t kPrepared = uint64_t{256} << 20;  // part of the arena to prepare: the maximum size of a window
constexpr size_t kMostLoaders = 256;
constexpr double kOpenWithin = 600;
constexpr Nanos kOpenPiece = 5 * kSecond;
constexpr int kAncestryPollMs = 200;       // interval if the system has no pidfd
constexpr Nanos kEndWithin = kSecond / 2;  // time for sessions to close at their coordinators
constexpr Nanos kReadsEndWithin = kSecond / 10;

// Opens a served job. Calls the coordinator with short timeouts, so that the end of a loader does not wait for it.
absl::StatusOr<std::unique_ptr<Reader>> OpenServed(const v1::FeedOpen& open, ReaderOptions options,
                                                   const std::atomic<bool>& stop) {
  options.job = open.job();
  const double seconds = open.has_open_timeout() ? open.open_timeout() : kOpenWithin;
  const Nanos deadline = Clock::Real()->Now() + static_cast<Nanos>(std::clamp(seconds, 0.0, 1e9) * kSecond);
  for (;;) {
    const Nanos left = std::max<Nanos>(deadline - Clock::Real()->Now(), 0);
    ConnectOptions connect{.coordinator = open.coordinator()};
    connect.tls_ca = open.tls_ca();
    connect.tls_cert = open.tls_cert();
    connect.tls_key = open.tls_key();
    connect.token_file = open.token_file();
    connect.open_timeout = absl::Nanoseconds(std::min(left, kOpenPiece));
    absl::StatusOr<std::unique_ptr<Reader>> reader = Reader::Open(connect, options);
    if (reader.ok() || stop.load()) return reader;
    const Nanos now = Clock::Real()->Now();
    const bool waits = absl::IsUnavailable(reader.status()) || absl::IsDeadlineExceeded(reader.status());
    if (!waits || now >= deadline) return reader;
  }
}

void AddCache(const std::string& name, const cache::CacheStats& cache, Json* numbers) {
  if (cache.limit == 0) return;
  numbers->Field(name + "_bytes", cache.bytes)
      .Field(name + "_limit", cache.limit)
      .Field(name + "_hits", cache.hits)
      .Field(name + "_misses", cache.misses)
      .Field(name + "_served_bytes", cache.served_bytes)
      .Field(name + "_saved_seconds", cache.saved_seconds);
}

class Feeder {
 public:
  Feeder(PacketSocket main, const FeederOptions& options) : main_(std::move(main)), options_(options) {}

  absl::Status Run() {
    PS_RETURN_IF_ERROR(WatchParent());
    woken_ = OwnedFd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!woken_) return ErrnoStatus(errno, "eventfd");
    absl::Status status;
    while (status.ok()) status = Turn();
    End();
    if (absl::IsOutOfRange(status)) return absl::OkStatus();
    (void)main_.Send(MakePacket(Type::kError, 0, FailureJson(status)), false);
    return status;
  }

  // Returns true if a loader or a read has not ended.
  bool hangs() const { return !loaders_.empty() || reads_hang_; }

 private:
  absl::Status WatchParent() {
    parent_ = OwnedFd(static_cast<int>(syscall(SYS_pidfd_open, options_.parent, 0)));
    if (!parent_ && errno != ENOSYS && errno != EPERM) {
      return ErrnoStatus(errno, absl::StrCat("watching process ", options_.parent, ", whose feeder this is"));
    }
    return absl::OkStatus();
  }

  // Waits for an event and handles it. Returns OutOfRange if the trainer has ended.
  absl::Status Turn() {
    std::vector<pollfd> fds = {{main_.fd(), POLLIN, 0}, {woken_.get(), POLLIN, 0}, {parent_.get(), POLLIN, 0}};
    std::vector<uint64_t> numbers;
    for (const auto& [number, loader] : loaders_) {
      if (loader.ending) continue;
      fds.push_back({loader.loader->fd(), POLLIN, 0});
      numbers.push_back(number);
    }
    if (poll(fds.data(), fds.size(), parent_ ? -1 : kAncestryPollMs) < 0 && errno != EINTR) {
      return ErrnoStatus(errno, "poll");
    }
    if ((parent_ && fds[2].revents != 0) || (!parent_ && getppid() != options_.parent)) {
      trainer_ended_ = true;
      if (arena_ != nullptr) arena_->ReleaseAll();  // children of the trainer may have it mapped
      return absl::OutOfRangeError("the trainer's process has ended");
    }
    if (fds[1].revents != 0) Reap();
    if (fds[0].revents != 0) PS_RETURN_IF_ERROR(FromMain());
    for (size_t i = 0; i < numbers.size(); ++i) {
      if (fds[3 + i].revents != 0) PS_RETURN_IF_ERROR(FromLoader(numbers[i]));
    }
    return absl::OkStatus();
  }

  absl::Status FromMain() {
    PS_ASSIGN_OR_RETURN(std::optional<ReceivedPacket> received, main_.Receive());
    if (!received.has_value()) return absl::OkStatus();
    PS_ASSIGN_OR_RETURN(const Packet packet, ParsePacket(received->bytes));
    if (arena_ == nullptr && packet.type != Type::kHello) {
      return absl::InvalidArgumentError("the first packet must be HELLO");
    }
    switch (packet.type) {
      case Type::kHello:
        return OnHello(packet.body);
      case Type::kOpen:
        return OnOpen(packet.body, std::move(received->fd));
      case Type::kRelease: {
        PS_ASSIGN_OR_RETURN(const std::vector<SlotName> names, ParseRelease(packet.body));
        for (const SlotName& name : names) slots_.Release(name);
        return absl::OkStatus();
      }
      default:
        return absl::InvalidArgumentError(
            absl::StrCat("a packet of type ", static_cast<uint32_t>(packet.type), " on the main socket"));
    }
  }

  absl::Status OnHello(std::string_view body) {
    if (arena_ != nullptr) return absl::InvalidArgumentError("a second HELLO");
    v1::FeedHello hello;
    PS_RETURN_IF_ERROR(ParseJson(body, &hello));
    if (hello.version() != kVersion) {
      return absl::FailedPreconditionError(absl::StrCat("the trainer speaks version ", hello.version(),
                                                        " of the feeder's protocol, this penstock version ", kVersion,
                                                        ": install a package and a program of one release"));
    }
    const MemoryLimit limit = AvailableMemory();
    // The arena is a file in memory.
    const uint64_t most = FileSizeLimit() / BatchArena::kPage * BatchArena::kPage;
    const uint64_t memory = hello.memory() > 0 ? hello.memory() : std::min(limit.bytes / 2, most);
    const auto pages = hello.keep_pages() ? BatchArena::Pages::kKeep : BatchArena::Pages::kRelease;
    PS_ASSIGN_OR_RETURN(arena_, BatchArena::Create(std::max(memory, kLeastMemory), pages));
    LocalJobsOptions local;
    host::LoaderHostOptions& host = local.host;
    loader::LoaderOptions& loader = host.loader;
    host.storage = options_.storage;
    loader.threads = hello.threads() > 0 ? static_cast<int>(hello.threads()) : AvailableCpus();
    if (hello.read_threads() > storage::RemoteFiles::kMaxThreads) {
      return absl::InvalidArgumentError(
          absl::StrCat("read_threads ", hello.read_threads(), ": at most ", storage::RemoteFiles::kMaxThreads));
    }
    host.threads_pinned = hello.threads() > 0;
    if (hello.read_threads() > 0) host.read_threads = static_cast<int>(hello.read_threads());
    loader.memory_budget_bytes =
        hello.memory_budget() > 0 ? hello.memory_budget() : std::clamp(limit.bytes / 4, kLeastBudget, kMostBudget);
    loader.record_cache_bytes = hello.record_cache();
    loader.decoded_cache_bytes = hello.decoded_cache();
    loader.row_cache_bytes = hello.row_cache();
    loader.choose_record_cache = !hello.has_record_cache();
    loader.choose_decoded_cache = !hello.has_decoded_cache();
    loader.choose_row_cache = !hello.has_row_cache();
    host.disk_cache.folder = hello.disk_cache();
    host.disk_cache.limit_bytes = hello.disk_cache_size();
    host.disk_cache.warn = [](const std::string& text) { std::fprintf(stderr, "penstock feed: %s\n", text.c_str()); };
    local.warn = host.disk_cache.warn;
    local.index_dir = hello.index_dir();
    if (local.index_dir.empty()) {
      PS_ASSIGN_OR_RETURN(local.index_dir, options_.index_dir());
    }
    local_ = std::make_unique<LocalJobs>(local);
    shared_.arena = arena_.get();
    shared_.slots = &slots_;
    shared_.epoch_warnings = options_.epoch_warnings;
    shared_.open_reader = [this](const v1::FeedOpen& open, const ReaderOptions& reader, const std::atomic<bool>& stop) {
      return open.job().empty() ? OpenLocal(open, reader) : OpenServed(open, reader, stop);
    };
    shared_.add_stats = [this](Json* numbers) {
      const std::optional<loader::LoaderStats> stats = local_->Stats();
      if (!stats.has_value()) return;  // all jobs are served
      AddCache("record_cache", stats->record_cache, numbers);
      AddCache("decoded_cache", stats->decoded_cache, numbers);
      AddCache("row_cache", stats->row_cache, numbers);
      AddCache("disk_cache", stats->disk_cache, numbers);
    };
    const std::string welcome = Json()
                                    .Field("version", uint64_t{kVersion})
                                    .Field("release", options_.release)
                                    .Field("arena_bytes", arena_->bytes())
                                    .Field("threads", static_cast<uint64_t>(loader.threads))
                                    .Object();
    return main_.Send(MakePacket(Type::kWelcome, 0, welcome), false, arena_->fd());
  }

  absl::Status OnOpen(std::string_view body, OwnedFd fd) {
    v1::FeedOpen open;
    PS_RETURN_IF_ERROR(ParseJson(body, &open));
    if (!fd) return absl::InvalidArgumentError("an OPEN without the loader's socket");
    PS_ASSIGN_OR_RETURN(PacketSocket socket, PacketSocket::Create(std::move(fd)));
    const int sources = !open.job().empty() + !open.job_file().empty() + !open.job_text().empty();
    absl::Status refused;
    if (sources != 1) refused = absl::InvalidArgumentError("an OPEN needs one of `job`, `job_file` and `job_text`");
    if (loaders_.size() >= kMostLoaders) {
      refused = absl::ResourceExhaustedError(absl::StrCat(kMostLoaders, " loaders are open; close some"));
    }
    if (!refused.ok()) {
      (void)socket.Send(MakePacket(Type::kFailed, 1, FailureJson(refused)), false);
      return absl::OkStatus();
    }
    if (!std::exchange(prepared_, true)) {
      // Without this thread, batches allocate the pages on their first access.
      absl::StatusOr<std::thread> started = StartThread("ps-arena", [this] { arena_->Prepare(kPrepared, ending_); });
      if (started.ok()) preparing_ = *std::move(started);
    }
    const uint64_t number = next_loader_++;
    loaders_[number].loader =
        std::make_unique<FeedLoader>(&shared_, std::move(socket), std::move(open), [this, number] {
          {
            MutexLock lock(&mutex_);
            ended_.push_back(number);
          }
          const uint64_t one = 1;
          (void)!write(woken_.get(), &one, sizeof(one));
        });
    return absl::OkStatus();
  }

  absl::StatusOr<std::unique_ptr<Reader>> OpenLocal(const v1::FeedOpen& open, const ReaderOptions& reader) {
    PS_ASSIGN_OR_RETURN(const LocalSource source, options_.open_local(open));
    PS_ASSIGN_OR_RETURN(std::shared_ptr<const LoadedJob> job,
                        local_->Load(source.job, source.roots, open.allow_missing(),
                                     open.rank() == 0 ? reader.on_notice : nullptr));  // only rank 0 warns
    PS_ASSIGN_OR_RETURN(host::LoaderHost* const host, local_->host());
    return OpenDirectReader(host->loader(), std::move(job), reader);
  }

  absl::Status FromLoader(uint64_t number) {
    Entry& entry = loaders_.at(number);
    const auto one = [&]() -> absl::Status {
      // The socket belongs to the loader. Only this thread reads from it.
      PS_ASSIGN_OR_RETURN(std::optional<ReceivedPacket> received, entry.loader->Receive());
      if (!received.has_value()) return absl::OkStatus();
      PS_ASSIGN_OR_RETURN(const Packet packet, ParsePacket(received->bytes));
      return entry.loader->OnPacket(packet);
    };
    const absl::Status status = one();
    if (status.ok()) return status;
    entry.ending = true;
    entry.loader->Stop();
    return absl::IsOutOfRange(status) ? absl::OkStatus() : status;
  }

  // Removes loaders whose threads have ended.
  void Reap() {
    uint64_t count = 0;
    (void)!read(woken_.get(), &count, sizeof(count));
    std::vector<uint64_t> ended;
    {
      MutexLock lock(&mutex_);
      ended.swap(ended_);
    }
    for (const uint64_t number : ended) loaders_.erase(number);
  }

  // Closes the sessions at their coordinators, within a time limit.
  void End() {
    ending_.store(true);
    for (auto& [number, entry] : loaders_) entry.loader->Stop();
    const Nanos deadline = Clock::Real()->Now() + kEndWithin;
    while (!loaders_.empty()) {
      const Nanos left = deadline - Clock::Real()->Now();
      if (left <= 0) break;
      pollfd fd{woken_.get(), POLLIN, 0};
      poll(&fd, 1, static_cast<int>(left / kMillisecond) + 1);
      Reap();
    }
    if (preparing_.joinable()) preparing_.join();
    // The trainer may hold its batches for as long as it runs.
    if (arena_ != nullptr && !trainer_ended_) arena_->KeepUsed();
    if (local_ != nullptr) {
      reads_hang_ = !local_->StopReadsBy(std::max(deadline, Clock::Real()->Now() + kReadsEndWithin));
    }
  }

  struct Entry {
    std::unique_ptr<FeedLoader> loader;
    bool ending = false;
  };

  const PacketSocket main_;
  const FeederOptions& options_;
  OwnedFd parent_, woken_;
  std::unique_ptr<BatchArena> arena_;
  SlotTable slots_;
  std::unique_ptr<LocalJobs> local_;
  FeedShared shared_;
  bool prepared_ = false;
  bool trainer_ended_ = false;
  std::atomic<bool> ending_{false};
  std::thread preparing_;
  std::map<uint64_t, Entry> loaders_;
  uint64_t next_loader_ = 0;
  bool reads_hang_ = false;
  Mutex mutex_;
  std::vector<uint64_t> ended_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

absl::Status Feed(PacketSocket main, const FeederOptions& options) {
  auto feeder = std::make_unique<Feeder>(std::move(main), options);
  absl::Status status = feeder->Run();
  if (feeder->hangs()) (void)feeder.release();  // threads that hang may still use it
  return status;
}

}  // namespace penstock::feed
