// A trainer on the other end of a feeder's sockets. It follows docs/feed.md only.
#ifndef PENSTOCK_TESTS_CLIENT_FEED_TRAINER_H_
#define PENSTOCK_TESTS_CLIENT_FEED_TRAINER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "base/packet_socket.h"
#include "client/feed/feeder.h"
#include "tests/support/test_dataset.h"

namespace penstock::feed {

struct GotPacket {
  uint32_t type = 0, stream = 0;
  std::string body;
  OwnedFd fd;
};

struct GotBatch {
  uint64_t sequence = 0;
  uint32_t slot = 0, generation = 0;
  uint64_t epoch = 0, step = 0, position = 0, rows = 0;
  uint32_t flags = 0;
  const int64_t* ids = nullptr;
  const uint8_t* valid = nullptr;
  struct Column {
    const char* values = nullptr;
    uint64_t bytes = 0;
    const int64_t* splits = nullptr;
    const int64_t* offsets = nullptr;
    uint64_t elements = 0;
  };
  std::vector<Column> columns;
  std::string state;
};

// Two connected sockets of the feeder's kind.
std::pair<OwnedFd, OwnedFd> SocketPair();

// One end of a pair; the feeder has the other.
class End {
 public:
  explicit End(OwnedFd fd) : socket_(*PacketSocket::Create(std::move(fd))) {}
  void Send(uint32_t type, uint32_t stream, const std::string& body, int fd = -1) const;
  // Waits up to 20 s. Returns nullopt after that, and at the end of the stream.
  std::optional<GotPacket> Receive() const;
  // Skips NOTICEs and other types.
  std::optional<GotPacket> Receive(uint32_t type) const;
  // Returns whether nothing arrives within `ms`.
  bool Silent(int ms) const;

 private:
  PacketSocket socket_;
};

// A feeder on a thread of this process, and the trainer's side of it.
class Trainer {
 public:
  explicit Trainer(const support::TestDataset& dataset, const std::string& hello = R"({"version": 1})",
                   EpochWarnings epoch_warnings = nullptr);
  ~Trainer();

  // A loader of the data set's job. `members` is further JSON for OPEN (", \"epoch\": 1"). Waits for OPENED or FAILED.
  struct Loader {
    std::unique_ptr<End> end;
    GotPacket opened;
    uint32_t stream = 1;
  };
  Loader Open(const std::string& members = "");
  static void Want(const Loader& loader, uint64_t sequence, uint32_t count, uint32_t flags = 0);
  // Returns the next BATCH of the loader.
  GotBatch Next(const Loader& loader) const;
  GotBatch Parse(const GotPacket& packet) const;
  void Release(const GotBatch& batch) const;

  const End& main() const { return *main_; }
  // Closes the main socket. Returns the result of Feed.
  absl::Status End_();
  uint64_t arena_bytes() const { return arena_bytes_; }

 private:
  const support::TestDataset& dataset_;
  FeederOptions options_;
  std::unique_ptr<End> main_;
  std::thread feeder_;
  absl::Status ended_;
  char* arena_ = nullptr;
  uint64_t arena_bytes_ = 0;
};

}  // namespace penstock::feed

#endif  // PENSTOCK_TESTS_CLIENT_FEED_TRAINER_H_
