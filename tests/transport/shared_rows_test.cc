// The shared-memory carrier transfers rows in shared row files without copies. A worker that lends wrong places harms
// no client.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/runtime/thread_pool.h"
#include "base/sealed_memory.h"
#include "base/shared_row_files.h"
#include "transport/shared_memory/message_parts.h"
#include "transport/shared_memory/packet.h"
#include "transport/shared_memory/ring.h"

namespace penstock::transport {
namespace {

constexpr uint64_t kSharedRowRing = 1 << 20;
constexpr uint64_t kFile = 4 << 20;
constexpr size_t kRow = 100'000;

// The two ends of a stream, without the sockets.
class SharedRowMessages : public testing::Test {
 protected:
  SharedRowMessages()
      : ring_(*Ring::Create(kSharedRowRing, nullptr)),
        incoming_(std::make_shared<const SealedMemory>(*SealedMemory::Open(OwnedFd(dup(ring_->fd())), kSharedRowRing)),
                  [this](uint64_t message) { released_.push_back(message); }) {}

  // A row of a shared row file.
  Slice Row(const std::shared_ptr<SharedRowFile>& file, uint64_t from, char fill) {
    std::memset(file->data() + from, fill, kRow);
    return Slice(file->data() + from, kRow, file);
  }
  // Sends the message and returns it as the client receives it.
  absl::StatusOr<SliceList> Carry(SliceList message, OutgoingMessage::Kept* kept) {
    OutgoingMessage outgoing(std::move(message), ring_.get(), &announced_);
    while (const std::shared_ptr<const SharedRowFile> file = announced_.NextUnannounced()) {
      ++files_told_;
      auto opened = SealedMemory::Open(OwnedFd(dup(file->fd())), file->size());
      if (!opened.ok()) return opened.status();
      if (const absl::Status status = incoming_.AddFile(*std::move(opened)); !status.ok()) return status;
    }
    while (true) {
      const std::string packet = outgoing.NextPacket();
      if (packet.empty()) return absl::InternalError("no last packet");
      bytes_in_packets_ += packet.size();
      const auto parsed = ParsePacket(packet);
      if (!parsed.ok()) return parsed.status();
      auto message_or = incoming_.Add(std::get<PartsPacket>(*parsed));
      if (!message_or.ok()) return message_or.status();
      if (!message_or->has_value()) continue;
      EXPECT_EQ(outgoing.NextPacket(), "");
      *kept = outgoing.TakeKept();
      return **std::move(message_or);
    }
  }

  const std::shared_ptr<SharedRowFiles> files_ = std::make_shared<SharedRowFiles>();
  const std::shared_ptr<Ring> ring_;
  AnnouncedFiles announced_{files_};
  std::vector<uint64_t> released_;
  IncomingMessages incoming_;
  int files_told_ = 0;
  size_t bytes_in_packets_ = 0;
};

TEST_F(SharedRowMessages, ArriveUnchangedWithoutTheRing) {
  const auto one = *files_->Create(kFile), two = *files_->Create(kFile);
  SliceList message;
  message.Add(Slice::Of("front"));
  message.Add(Row(one, 0, 'a'));
  message.Add(Row(two, 8192, 'b'));
  message.Add(Slice::Of(std::string(50'000, 'c')));  // in no shared memory, so it is copied into the ring
  message.Add(Row(one, 200'000, 'd'));
  const std::string all = message.Joined();
  OutgoingMessage::Kept kept;
  for (int i = 0; i < 3; ++i) {
    const auto got = Carry(message, &kept);
    ASSERT_TRUE(got.ok()) << got.status();
    EXPECT_EQ(got->Joined(), all);
  }
  EXPECT_EQ(files_told_, 2) << "the client is notified of each file once";
  EXPECT_LT(bytes_in_packets_, 1000u);
  EXPECT_EQ(kept.bytes, 3 * kRow + 50'000) << "counts against what a client may hold";
  EXPECT_LE(ring_->used_bytes(), uint64_t{3 * 53'248});
  EXPECT_EQ(released_, (std::vector<uint64_t>{0, 1, 2}));
}

TEST_F(SharedRowMessages, StayReadableAfterTheFileAndTheStreamEnd) {
  auto file = *files_->Create(kFile);
  SliceList message;
  message.Add(Row(file, 0, 'a'));
  OutgoingMessage::Kept kept;
  auto got = Carry(std::move(message), &kept);
  ASSERT_TRUE(got.ok()) << got.status();
  kept = {};
  file.reset();
  incoming_ = IncomingMessages();
  EXPECT_EQ(got->Joined(), std::string(kRow, 'a'));
  EXPECT_TRUE(released_.empty());
  got = SliceList();
  EXPECT_EQ(released_.size(), 1u);
}

TEST_F(SharedRowMessages, AreCopiedIfTheClientMapsNoMoreFiles) {
  std::vector<std::shared_ptr<SharedRowFile>> files;
  OutgoingMessage::Kept kept;
  for (uint32_t i = 0; i < kMostFiles + 3; ++i) {
    files.push_back(*files_->Create(128 << 10));
    SliceList message;
    message.Add(Row(files.back(), 0, static_cast<char>(i)));
    const auto got = Carry(std::move(message), &kept);
    ASSERT_TRUE(got.ok()) << i << got.status();
    ASSERT_EQ(got->Joined(), std::string(kRow, static_cast<char>(i)));
  }
  EXPECT_EQ(files_told_, static_cast<int>(kMostFiles));
}

TEST_F(SharedRowMessages, InvalidPlacesAreRejected) {
  const auto file = *files_->Create(kFile);
  SliceList message;
  message.Add(Row(file, 0, 'a'));
  OutgoingMessage::Kept kept;
  ASSERT_TRUE(Carry(std::move(message), &kept).ok());
  struct Case {
    uint32_t file;
    uint64_t from, size;
    const char* words;
  };
  for (const Case& c : {Case{1, 0, 1, "file 1 of 1"}, Case{UINT32_MAX, 0, 1, "of 1"}, Case{0, kFile, 1, " of a file"},
                        Case{0, kFile - 10, 11, " of a file"}, Case{0, UINT64_MAX, 1, " of a file"}}) {
    PartsBytes parts;
    ASSERT_TRUE(parts.AddFilePlace(c.file, c.from, c.size));
    const std::string packet = parts.Take(true);
    const auto got = incoming_.Add(std::get<PartsPacket>(*ParsePacket(packet)));
    EXPECT_NE(got.status().message().find(c.words), std::string::npos) << got.status();
  }
  IncomingMessages of_a_worker;
  EXPECT_FALSE(of_a_worker.AddFile(*SealedMemory::Create("test", 4096, SealedMemory::Others::kRead, "a test")).ok());
}

TEST_F(SharedRowMessages, AClientMapsABoundedNumberOfFiles) {
  absl::Status status;
  uint32_t taken = 0;
  for (; status.ok() && taken < 2 * kMostFiles; ++taken) {
    status = incoming_.AddFile(*SealedMemory::Create("test", 4096, SealedMemory::Others::kRead, "a test"));
  }
  EXPECT_EQ(taken, kMostFiles + 1) << status;
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace penstock::transport
