#include "transport/frame.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "penstock/v1/data.pb.h"

namespace penstock::transport {
namespace {

// The bytes as slices cut at random places, including empty slices.
SliceList Cut(const std::string& bytes, std::mt19937* random) {
  SliceList message;
  const size_t longest = 1 + (*random)() % 100;
  for (size_t at = 0; at < bytes.size();) {
    const size_t n = std::min<size_t>((*random)() % (longest + 1), bytes.size() - at);
    message.Add(Slice::Of(bytes.substr(at, n)));
    at += n;
  }
  return message;
}

v1::ServerHeader SomeHeader(std::mt19937* random) {
  v1::ServerHeader header;
  v1::Rows* rows = header.mutable_rows();
  rows->set_epoch((*random)());
  for (uint32_t i = (*random)() % 30; i > 0; --i) rows->add_positions((*random)());
  return header;
}

TEST(Frame, IsParsedForAnySliceBoundaries) {
  std::mt19937 random(1);
  for (int round = 0; round < 300; ++round) {
    const v1::ServerHeader header = SomeHeader(&random);
    std::string payload(random() % 500, '\0');
    for (char& c : payload) c = static_cast<char>(random());
    const std::vector<Slice> slices = {Slice::Of(payload.substr(0, payload.size() / 3)),
                                       Slice::Of(payload.substr(payload.size() / 3))};
    const SliceList received = Cut(MakeFrame(header, slices).Joined(), &random);

    v1::ServerHeader parsed;
    SliceCursor cursor;
    ASSERT_TRUE(ParseFrame(received, &parsed, &cursor).ok());
    EXPECT_EQ(parsed.SerializeAsString(), header.SerializeAsString());
    ASSERT_EQ(cursor.remaining(), payload.size());
    // Alternately reads, skips and takes pieces.
    size_t at = 0;
    while (cursor.remaining() > 0) {
      const size_t n = std::min<size_t>(1 + random() % 40, cursor.remaining());
      switch (random() % 3) {
        case 0: {
          std::string out(n, '\0');
          ASSERT_TRUE(cursor.Read(out.data(), n));
          ASSERT_EQ(out, payload.substr(at, n));
          at += n;
          break;
        }
        case 1:
          ASSERT_TRUE(cursor.Skip(n));
          at += n;
          break;
        default: {
          const auto piece = cursor.Next(n);
          ASSERT_FALSE(piece.empty());
          ASSERT_LE(piece.size(), n);
          ASSERT_EQ(payload.compare(at, piece.size(), reinterpret_cast<const char*>(piece.data()), piece.size()), 0);
          at += piece.size();
        }
      }
    }
    EXPECT_EQ(at, payload.size());
  }
}

TEST(Frame, ReferencesThePayload) {
  std::string payload(100000, 'p');
  SliceList frame = MakeFrame(v1::ServerHeader(), {Slice(payload.data(), payload.size(), nullptr)});
  v1::ServerHeader header;
  SliceCursor cursor;
  ASSERT_TRUE(ParseFrame(std::move(frame), &header, &cursor).ok());
  EXPECT_EQ(static_cast<const void*>(cursor.Next(1).data()), payload.data());
}

TEST(Frame, RejectsEveryTruncationInsideTheHeader) {
  std::mt19937 random(2);
  v1::ServerHeader header;
  header.mutable_accepted()->set_worker_id("a worker");
  const std::string whole = MakeFrame(header).Joined();
  for (size_t n = 0; n < whole.size(); ++n) {
    v1::ServerHeader parsed;
    SliceCursor cursor;
    const absl::Status status = ParseFrame(Cut(whole.substr(0, n), &random), &parsed, &cursor);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << n;
  }
  v1::ServerHeader parsed;
  SliceCursor cursor;
  EXPECT_FALSE(ParseFrame(SliceList(), &parsed, &cursor).ok());
}

TEST(Frame, RejectsHostileHeaders) {
  std::mt19937 random(3);
  for (const std::string& bytes : {std::string("\xff\xff\xff\xff rest", 9), std::string("\x00\x00\x50\x00 rest", 9),
                                   std::string("\x04\x00\x00\x00\xff\xff\xff\xff", 8)}) {
    v1::ServerHeader parsed;
    SliceCursor cursor;
    EXPECT_EQ(ParseFrame(Cut(bytes, &random), &parsed, &cursor).code(), absl::StatusCode::kInvalidArgument);
  }
}

TEST(Frame, SurvivesRandomBytes) {
  std::mt19937 random(4);
  for (int round = 0; round < 2000; ++round) {
    std::string bytes(random() % 64, '\0');
    for (char& c : bytes) c = static_cast<char>(random());
    if (bytes.size() >= 4 && random() % 2 == 0) {
      bytes[1] = bytes[2] = bytes[3] = 0;
      bytes[0] = static_cast<char>(random() % 60);
    }
    v1::ServerHeader parsed;
    SliceCursor cursor;
    const absl::Status status = ParseFrame(Cut(bytes, &random), &parsed, &cursor);
    EXPECT_LE(cursor.remaining(), bytes.size()) << status;
  }
}

TEST(SliceCursor, ReadsNothingIfTooFewBytesRemain) {
  SliceCursor cursor(SliceList({Slice::Of("ab"), Slice::Of(""), Slice::Of("c")}));
  char out[4];
  EXPECT_FALSE(cursor.Read(out, 4));
  EXPECT_FALSE(cursor.Skip(4));
  uint32_t word;
  EXPECT_FALSE(cursor.ReadU32(&word));
  EXPECT_EQ(cursor.remaining(), 3u);
  EXPECT_TRUE(cursor.Read(out, 3));
  EXPECT_EQ(std::string(out, 3), "abc");
  EXPECT_TRUE(cursor.Next(1).empty());
}

}  // namespace
}  // namespace penstock::transport
