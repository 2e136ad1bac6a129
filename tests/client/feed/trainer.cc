#include "tests/client/feed/trainer.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "pipeline/storage/posix_storage.h"

namespace penstock::feed {
namespace {

template <typename T>
T At(const std::string& bytes, size_t at) {
  T value{};
  if (at + sizeof(T) <= bytes.size()) std::memcpy(&value, bytes.data() + at, sizeof(T));
  return value;
}

template <typename T>
std::string Bytes(T value) {
  return {reinterpret_cast<const char*>(&value), sizeof(value)};
}

}  // namespace

std::pair<OwnedFd, OwnedFd> SocketPair() {
  int fds[2];
  EXPECT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds), 0);
  return {OwnedFd(fds[0]), OwnedFd(fds[1])};
}

void End::Send(uint32_t type, uint32_t stream, const std::string& body, int fd) const {
  (void)socket_.Send(Bytes(type) + Bytes(stream) + body, true, fd);
}

std::optional<GotPacket> End::Receive() const {
  pollfd wait{socket_.fd(), POLLIN, 0};
  if (poll(&wait, 1, 20000) != 1) return std::nullopt;
  auto received = socket_.Receive();
  if (!received.ok() || !received->has_value()) return std::nullopt;
  GotPacket packet;
  packet.type = At<uint32_t>((*received)->bytes, 0);
  packet.stream = At<uint32_t>((*received)->bytes, 4);
  packet.body = (*received)->bytes.substr(8);
  packet.fd = std::move((*received)->fd);
  return packet;
}

std::optional<GotPacket> End::Receive(uint32_t type) const {
  for (;;) {
    std::optional<GotPacket> packet = Receive();
    if (!packet.has_value() || packet->type == type) return packet;
  }
}

bool End::Silent(int ms) const {
  pollfd wait{socket_.fd(), POLLIN, 0};
  return poll(&wait, 1, ms) == 0;
}

Trainer::Trainer(const support::TestDataset& dataset, const std::string& hello, EpochWarnings epoch_warnings)
    : dataset_(dataset) {
  options_.epoch_warnings = std::move(epoch_warnings);
  options_.parent = getpid();
  options_.storage = storage::LocalFiles();
  options_.release = "test";
  options_.index_dir = [] { return absl::StatusOr<std::string>(std::string()); };
  options_.open_local = [this](const v1::FeedOpen& open) -> absl::StatusOr<LocalSource> {
    if (open.job_file() != "job") return absl::NotFoundError("no such file: " + open.job_file());
    return LocalSource{dataset_.job, dataset_.roots};
  };
  auto [ours, theirs] = SocketPair();
  main_ = std::make_unique<End>(std::move(ours));
  feeder_ = std::thread(
      [this, fd = std::move(theirs)]() mutable { ended_ = Feed(*PacketSocket::Create(std::move(fd)), options_); });
  main_->Send(1, 0, hello);
  std::optional<GotPacket> welcome = main_->Receive();
  if (!welcome.has_value() || welcome->type != 2) return;  // the feeder rejected the trainer
  struct stat info {};
  EXPECT_EQ(fstat(welcome->fd.get(), &info), 0);
  arena_bytes_ = static_cast<uint64_t>(info.st_size);
  void* const base = mmap(nullptr, arena_bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, welcome->fd.get(), 0);
  EXPECT_NE(base, MAP_FAILED);
  arena_ = static_cast<char*>(base);
}

Trainer::~Trainer() {
  (void)End_();
  if (arena_ != nullptr) munmap(arena_, arena_bytes_);
}

absl::Status Trainer::End_() {
  main_.reset();
  if (feeder_.joinable()) feeder_.join();
  return ended_;
}

Trainer::Loader Trainer::Open(const std::string& members) {
  auto [ours, theirs] = SocketPair();
  Loader loader;
  loader.end = std::make_unique<End>(std::move(ours));
  main_->Send(3, 0, absl::StrCat(R"({"job_file": "job")", members, "}"), theirs.get());
  theirs.Reset();
  std::optional<GotPacket> opened = loader.end->Receive();
  if (opened.has_value()) loader.opened = *std::move(opened);
  return loader;
}

void Trainer::Want(const Loader& loader, uint64_t sequence, uint32_t count, uint32_t flags) {
  loader.end->Send(17, loader.stream, Bytes(sequence) + Bytes(count) + Bytes(flags));
}

GotBatch Trainer::Next(const Loader& loader) const {
  for (;;) {
    const std::optional<GotPacket> packet = loader.end->Receive(18);
    if (!packet.has_value()) {
      ADD_FAILURE() << "no batch came";
      return {};
    }
    if (packet->stream == loader.stream) return Parse(*packet);
  }
}

GotBatch Trainer::Parse(const GotPacket& packet) const {
  const std::string& body = packet.body;
  const auto u64 = [&](size_t at) { return At<uint64_t>(body, at - 8); };
  const auto u32 = [&](size_t at) { return At<uint32_t>(body, at - 8); };
  GotBatch batch;
  batch.sequence = u64(8);
  batch.slot = u32(16);
  batch.generation = u32(20);
  batch.epoch = u64(24);
  batch.step = u64(32);
  batch.position = u64(40);
  batch.rows = u64(48);
  batch.flags = u32(56);
  batch.ids = reinterpret_cast<const int64_t*>(arena_ + u64(64));
  batch.valid = reinterpret_cast<const uint8_t*>(arena_ + u64(80));
  const uint32_t columns = u32(60);
  for (uint32_t c = 0; c < columns; ++c) {
    const size_t at = 96 + c * 40;
    const auto pointer = [&](uint64_t offset) { return offset == 0 ? nullptr : arena_ + offset; };
    // Only values may be at the arena's very start.
    batch.columns.push_back({arena_ + u64(at), u64(at + 8), reinterpret_cast<const int64_t*>(pointer(u64(at + 16))),
                             reinterpret_cast<const int64_t*>(pointer(u64(at + 24))), u64(at + 32)});
    EXPECT_EQ(u64(at) % 256, 0u);
  }
  batch.state = body.substr(96 - 8 + columns * 40);
  return batch;
}

void Trainer::Release(const GotBatch& batch) const { main_->Send(4, 0, Bytes(batch.slot) + Bytes(batch.generation)); }

}  // namespace penstock::feed
