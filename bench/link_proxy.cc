// A TCP proxy that makes a link long or narrow: link_proxy LISTEN_PORT TARGET_PORT DELAY_MS [MB_PER_SECOND], both ports
// of 127.0.0.1. It adds DELAY_MS to a round trip. With a rate it limits each direction of each connection. It carries
// some GB/s over a long link, which delay_proxy.py cannot do. A signal ends it.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "base/mutex.h"

namespace penstock::bench {
namespace {

using SteadyClock = std::chrono::steady_clock;

// Limits of the bytes of one read and of the bytes in flight. The latter exceeds bandwidth times delay of every
// benchmark.
constexpr size_t kChunk = 256 << 10;
constexpr size_t kMostUnderWay = size_t{256} << 20;
// Limit of the bytes in flight on a narrow link, which buffers no more than a switch.
constexpr size_t kMostOnNarrow = 2 * kChunk;

// A sender that is late by less than this catches up.
constexpr std::chrono::milliseconds kLate(20);

struct Link {
  SteadyClock::duration delay;  // one way
  double bytes_per_second = 0;  // each way; 0: no limit
};

// One direction of a connection: pieces and their due times.
class Direction {
 public:
  Direction(int from, int to, const Link& link) : from_(from), to_(to), link_(link) {}

  void Read() {
    for (;;) {
      Piece piece;
      piece.bytes = NewChunk();
      const ssize_t got = recv(from_, piece.bytes->data(), kChunk, 0);
      piece.size = got > 0 ? static_cast<size_t>(got) : 0;
      piece.due = SteadyClock::now() + link_.delay;
      const bool last = piece.size == 0;
      MutexLock lock(&mutex_);
      under_way_ += piece.size;
      pieces_.push_back(std::move(piece));
      changed_.NotifyAll();
      if (last) return;
      while (under_way_ > (link_.bytes_per_second > 0 ? kMostOnNarrow : kMostUnderWay)) changed_.Wait(&mutex_);
    }
  }

  void Write() {
    SteadyClock::time_point free_at = SteadyClock::now();  // when a narrow link may send the next piece
    for (bool broken = false;;) {
      Piece piece;
      {
        MutexLock lock(&mutex_);
        while (pieces_.empty()) changed_.Wait(&mutex_);
        piece = std::move(pieces_.front());
        pieces_.pop_front();
      }
      std::this_thread::sleep_until(std::max(piece.due, free_at));
      if (piece.size == 0) break;
      if (link_.bytes_per_second > 0) {
        free_at = std::max(free_at, SteadyClock::now() - kLate) +
                  std::chrono::duration_cast<SteadyClock::duration>(
                      std::chrono::duration<double>(static_cast<double>(piece.size) / link_.bytes_per_second));
      }
      for (size_t sent = 0; sent < piece.size && !broken;) {
        const ssize_t n = send(to_, piece.bytes->data() + sent, piece.size - sent, MSG_NOSIGNAL);
        broken = n <= 0;
        if (!broken) sent += static_cast<size_t>(n);
      }
      if (broken) shutdown(from_, SHUT_RD);  // ends Read
      MutexLock lock(&mutex_);
      under_way_ -= piece.size;
      free_.push_back(std::move(piece.bytes));
      changed_.NotifyAll();
    }
    shutdown(to_, SHUT_WR);
  }

 private:
  using Chunk = std::unique_ptr<std::vector<char>>;
  struct Piece {
    SteadyClock::time_point due;
    Chunk bytes;
    size_t size = 0;  // 0: end of the stream
  };
  // Returns a used chunk if possible, because its pages exist.
  Chunk NewChunk() {
    MutexLock lock(&mutex_);
    if (free_.empty()) return std::make_unique<std::vector<char>>(kChunk);
    Chunk chunk = std::move(free_.back());
    free_.pop_back();
    return chunk;
  }

  const int from_, to_;
  const Link link_;
  Mutex mutex_;
  CondVar changed_;
  std::deque<Piece> pieces_ ABSL_GUARDED_BY(mutex_);
  std::vector<Chunk> free_ ABSL_GUARDED_BY(mutex_);
  size_t under_way_ ABSL_GUARDED_BY(mutex_) = 0;
};

sockaddr_in Local(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(port));
  return address;
}

void Carry(int here, int there, const Link& link) {
  for (const int end : {here, there}) {
    const int on = 1;
    setsockopt(end, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  }
  Direction out(here, there, link), back(there, here, link);
  std::vector<std::thread> threads;
  for (Direction* direction : {&out, &back}) {
    threads.emplace_back([direction] { direction->Read(); });
    threads.emplace_back([direction] { direction->Write(); });
  }
  for (std::thread& thread : threads) thread.join();
  close(here);
  close(there);
}

int Serve(int port, int target_port, const Link& link) {
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int on = 1;
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  const sockaddr_in local = Local(port), target = Local(target_port);
  if (bind(listener, reinterpret_cast<const sockaddr*>(&local), sizeof local) != 0 || listen(listener, 64) != 0) {
    std::perror("link_proxy");
    return 1;
  }
  for (;;) {
    const int here = accept(listener, nullptr, nullptr);
    if (here < 0) continue;
    const int there = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(there, reinterpret_cast<const sockaddr*>(&target), sizeof target) != 0) {
      close(here);
      close(there);
      continue;
    }
    std::thread([=] { Carry(here, there, link); }).detach();
  }
}

}  // namespace
}  // namespace penstock::bench

int main(int argc, char** argv) {
  if (argc < 4 || argc > 5 || std::atoi(argv[1]) <= 0 || std::atoi(argv[2]) <= 0) {
    std::fprintf(stderr, "usage: link_proxy LISTEN_PORT TARGET_PORT DELAY_MS [MB_PER_SECOND]\n");
    return 2;
  }
  penstock::bench::Link link;
  link.delay = std::chrono::duration_cast<std::chrono::steady_clock::duration>(
      std::chrono::duration<double, std::milli>(std::atof(argv[3]) / 2));
  if (argc == 5) link.bytes_per_second = std::atof(argv[4]) * 1e6;
  return penstock::bench::Serve(std::atoi(argv[1]), std::atoi(argv[2]), link);
}
