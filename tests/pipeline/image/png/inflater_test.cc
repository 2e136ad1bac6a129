// Compares with zlib. A stream that the inflater accepts gives zlib's bytes. The inflater rejects every stream that
// zlib rejects.
#include "pipeline/image/png/inflater.h"

#include <gtest/gtest.h>
#include <time.h>
#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "tests/support/sanitizers.h"

namespace penstock::image {
namespace {

class Pieces final : public InflaterInput {
 public:
  Pieces(std::string_view bytes, size_t piece) : bytes_(bytes), piece_(piece) {}
  std::string_view Next() override {
    const std::string_view next = bytes_.substr(0, piece_);
    bytes_.remove_prefix(next.size());
    return next;
  }
  size_t left() const { return bytes_.size(); }

 private:
  std::string_view bytes_;
  const size_t piece_;
};

struct Recipe {
  int level = 6, strategy = Z_DEFAULT_STRATEGY, window = 15;
  size_t flush_every = 0;  // input bytes between two ends of blocks, with empty blocks in between
};

std::string Deflate(const std::string& bytes, const Recipe& recipe = {}) {
  z_stream stream = {};
  EXPECT_EQ(deflateInit2(&stream, recipe.level, Z_DEFLATED, recipe.window, 8, recipe.strategy), Z_OK);
  std::string out(
      deflateBound(&stream, bytes.size()) + bytes.size() / std::max<size_t>(recipe.flush_every, 50) * 40 + 100, '\0');
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const size_t step = recipe.flush_every == 0 ? bytes.size() : recipe.flush_every;
  for (size_t at = 0; at < bytes.size(); at += step) {
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data() + at));
    stream.avail_in = static_cast<uInt>(std::min(step, bytes.size() - at));
    EXPECT_EQ(deflate(&stream, at / step % 2 == 0 ? Z_FULL_FLUSH : Z_PARTIAL_FLUSH), Z_OK);
  }
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

// zlib's result; nullopt if zlib rejects the stream or the stream is cut off.
std::optional<std::string> ZlibInflate(const std::string& stream_bytes, size_t most) {
  std::string out(most, '\0');
  z_stream stream = {};
  EXPECT_EQ(inflateInit(&stream), Z_OK);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(stream_bytes.data()));
  stream.avail_in = static_cast<uInt>(stream_bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const int result = inflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  inflateEnd(&stream);
  if (result != Z_STREAM_END) return std::nullopt;
  return out;
}

// The Inflater's result of `size` bytes, `take` at a time; nullopt if it rejects the stream.
std::optional<std::string> Inflate(Inflater* inflater, const std::string& stream, size_t size, size_t take = 1000,
                                   size_t piece = 8192) {
  Pieces pieces(stream, piece);
  inflater->Start(&pieces, take, size, true);
  std::string out;
  while (out.size() < size) {
    const size_t count = std::min(take, size - out.size());
    const uint8_t* bytes = inflater->Take(count);
    if (bytes == nullptr) return std::nullopt;
    out.append(reinterpret_cast<const char*>(bytes), count);
  }
  EXPECT_LE(inflater->held_bytes(), std::max(Inflater::Bytes(take), inflater->held_bytes()));
  if (!inflater->Finish()) return std::nullopt;
  return out;
}

// Bytes like those of pixel rows: small differences, near and far repetitions, and noise.
std::string MakeBytes(size_t size, uint32_t seed) {
  std::mt19937 random(seed);
  std::string bytes;
  while (bytes.size() < size) {
    const uint32_t kind = random() % 8;
    const size_t count = 1 + random() % 400;
    if (kind < 4) {
      for (size_t i = 0; i < count; ++i) bytes.push_back(static_cast<char>(random() % (1u << kind * 2)));
    } else if (kind < 7 && bytes.size() > 40) {
      const size_t back = 1 + random() % std::min<size_t>(bytes.size(), kind == 4 ? 20 : 40000);
      for (size_t i = 0; i < count; ++i) bytes.push_back(bytes[bytes.size() - back]);
    } else {
      for (size_t i = 0; i < count; ++i) bytes.push_back(static_cast<char>(random()));
    }
  }
  bytes.resize(size);
  return bytes;
}

TEST(Inflater, EveryKindOfStreamGivesItsBytes) {
  Inflater inflater;
  const Recipe recipes[] = {{},
                            {.level = 0},
                            {.level = 1},
                            {.level = 9},
                            {.strategy = Z_FIXED},
                            {.strategy = Z_HUFFMAN_ONLY},
                            {.strategy = Z_RLE},
                            {.strategy = Z_FILTERED, .window = 9},
                            {.flush_every = 700},
                            {.level = 0, .flush_every = 3000},
                            {.strategy = Z_FIXED, .flush_every = 90}};
  for (const size_t size : {size_t{1}, size_t{2}, size_t{300}, size_t{5000}, size_t{100000}, size_t{700000}}) {
    const std::string bytes = MakeBytes(size, static_cast<uint32_t>(size));
    for (const Recipe& recipe : recipes) {
      const std::string stream = Deflate(bytes, recipe);
      for (const size_t take : {size_t{1}, size_t{31}, size_t{1000}, size_t{90000}}) {
        if (take == 1 && size > 5000) continue;
        SCOPED_TRACE(testing::Message() << size << " bytes, level " << recipe.level << ", strategy " << recipe.strategy
                                        << ", " << take << " at a time");
        const auto ours = Inflate(&inflater, stream, size, take, take == 31 ? 7 : 8192);
        ASSERT_TRUE(ours.has_value());
        ASSERT_TRUE(*ours == bytes);
      }
    }
  }
}

TEST(Inflater, RepetitionsOfEveryDistanceAreCopied) {
  Inflater inflater;
  for (size_t distance = 1; distance <= 40; ++distance) {
    std::string bytes;
    for (size_t i = 0; i < 3000; ++i) bytes.push_back(static_cast<char>(i < distance ? i * 7 : bytes[i - distance]));
    const auto ours = Inflate(&inflater, Deflate(bytes), bytes.size());
    ASSERT_TRUE(ours.has_value()) << distance;
    ASSERT_TRUE(*ours == bytes) << distance;
  }
}

TEST(Inflater, APartIsReadWithoutTheRest) {
  const std::string bytes = MakeBytes(300000, 5), stream = Deflate(bytes);
  Inflater inflater;
  Pieces pieces(std::string_view(stream).substr(0, stream.size() / 2), 5000);
  inflater.Start(&pieces, 1000, 100000, false);
  std::string out;
  while (out.size() < 100000) {
    const uint8_t* const taken = inflater.Take(1000);
    ASSERT_NE(taken, nullptr);
    out.append(reinterpret_cast<const char*>(taken), 1000);
  }
  EXPECT_TRUE(bytes.compare(0, out.size(), out) == 0);
  EXPECT_EQ(inflater.Take(1000), nullptr) << "Start() requested no further bytes";
  EXPECT_FALSE(inflater.Finish());
}

TEST(Inflater, AStreamOfAnotherLengthIsRejected) {
  const std::string bytes = MakeBytes(5000, 6), stream = Deflate(bytes);
  Inflater inflater;
  EXPECT_FALSE(Inflate(&inflater, stream, 4999).has_value());
  EXPECT_FALSE(Inflate(&inflater, stream, 5001).has_value());
  EXPECT_TRUE(Inflate(&inflater, stream, 5000).has_value());
}

TEST(Inflater, EveryTruncatedStreamIsRejected) {
  const std::string bytes = MakeBytes(2000, 7);
  Inflater inflater;
  for (const Recipe& recipe : {Recipe{}, Recipe{.level = 0}, Recipe{.strategy = Z_FIXED}}) {
    const std::string stream = Deflate(bytes, recipe);
    for (size_t length = 0; length < stream.size(); ++length) {
      ASSERT_FALSE(Inflate(&inflater, stream.substr(0, length), bytes.size()).has_value()) << length;
    }
  }
}

// Flips bits anywhere. If the checksum is zlib's only objection, the test corrects it, so that no checksum reveals the
// damage.
TEST(Inflater, ADamagedStreamIsAcceptedOnlyIfZlibAcceptsIt) {
  auto inflater = std::make_unique<Inflater>();
  std::mt19937 random(8);
  int taken = 0, refused = 0;
  for (int round = 0; round < 20000; ++round) {
    const std::string bytes = MakeBytes(20 + random() % 300, random() % 100);
    const Recipe recipe{.strategy = round % 3 == 0 ? Z_FIXED : Z_DEFAULT_STRATEGY,
                        .flush_every = static_cast<size_t>(round % 4 * 60)};
    std::string stream = Deflate(bytes, recipe);
    for (uint32_t i = 0; i <= random() % 3; ++i) {
      // Half of the flips are in the lengths of the codes, at the start of the first block.
      const size_t at =
          2 + random() % (random() % 2 == 0 ? std::min<size_t>(stream.size() - 2, 30) : stream.size() - 2);
      stream[at] = static_cast<char>(stream[at] ^ 1 << random() % 8);
    }
    std::string raw(4000, '\0');
    z_stream judge = {};
    ASSERT_EQ(inflateInit2(&judge, -15), Z_OK);
    judge.next_in = reinterpret_cast<Bytef*>(stream.data() + 2);
    judge.avail_in = static_cast<uInt>(stream.size() - 2);
    judge.next_out = reinterpret_cast<Bytef*>(raw.data());
    judge.avail_out = static_cast<uInt>(raw.size());
    const int result = inflate(&judge, Z_FINISH);
    raw.resize(judge.total_out);
    const size_t used = 2 + judge.total_in;
    inflateEnd(&judge);
    if (result == Z_STREAM_END) {
      const uLong adler = adler32(1, reinterpret_cast<const Bytef*>(raw.data()), static_cast<uInt>(raw.size()));
      stream.resize(used);
      for (int shift = 24; shift >= 0; shift -= 8) stream.push_back(static_cast<char>(adler >> shift));
    }
    const auto theirs = ZlibInflate(stream, 4000);
    const auto ours = Inflate(inflater.get(), stream, theirs ? theirs->size() : raw.size(), 100);
    if (theirs) {
      // Only zlib accepts a code of a single one-bit code.
      if (!ours) continue;
      ++taken;
      ASSERT_TRUE(*ours == *theirs);
    } else {
      ++refused;
      ASSERT_FALSE(ours.has_value()) << "round " << round;
    }
  }
  EXPECT_GT(taken, 3000);
  EXPECT_GT(refused, 3000);
}

// An incomplete code. RFC 1951 does not mention it; some inflaters accept it, and zlib does not.
TEST(Inflater, AnIncompleteCodeIsRejected) {
  // One block with its own codes. The code of the lengths has only 18, 0 and 2 (1, 2, 2 bits). Two literals and the
  // block's end have two bits each.
  std::string bits;
  const auto put = [&](uint32_t value, int count) {
    for (int i = 0; i < count; ++i) bits.push_back(static_cast<char>(value >> i & 1));
  };
  put(1, 1), put(2, 2), put(0, 5), put(0, 5), put(14, 4);
  for (const uint32_t length : {0u, 0u, 1u, 2u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 2u, 0u, 0u}) put(length, 3);
  const auto zeros = [&](uint32_t count) { put(0, 1), put(count - 11, 7); };  // symbol 18
  const auto two = [&] { put(3, 2); };                                        // symbol 2
  const auto none = [&] { put(1, 2); };                                       // symbol 0
  two(), two(), zeros(138), zeros(116), two();
  none();                           // no distances
  put(0, 2), put(2, 2), put(1, 2);  // the codes 00, 01 and 10; 10 ends the block
  std::string stream("\x78\x01", 2);
  for (size_t i = 0; i < bits.size(); i += 8) {
    int byte = 0;
    for (size_t b = 0; b < 8 && i + b < bits.size(); ++b) byte |= bits[i + b] << b;
    stream.push_back(static_cast<char>(byte));
  }
  const Bytef out[2] = {0, 1};
  const uLong adler = adler32(1, out, 2);
  for (int shift = 24; shift >= 0; shift -= 8) stream.push_back(static_cast<char>(adler >> shift));
  EXPECT_FALSE(ZlibInflate(stream, 100).has_value());
  Inflater inflater;
  EXPECT_FALSE(Inflate(&inflater, stream, 2).has_value());
}

// Packs bits lowest first, as RFC 1951 does.
class BitWriter {
 public:
  void Put(uint32_t value, int count) {
    for (int i = 0; i < count; ++i, ++used_) {
      if (used_ % 8 == 0) bytes_.push_back('\0');
      bytes_.back() = static_cast<char>(bytes_.back() | (value >> i & 1) << used_ % 8);
    }
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
  size_t used_ = 0;
};

using PutBlock = void (*)(BitWriter*);

void PutEmptyFixed(BitWriter* bits) { bits->Put(2, 3), bits->Put(0, 7); }

void PutEmptyStored(BitWriter* bits) { bits->Put(0, 8), bits->Put(0, 16), bits->Put(0xFFFF, 16); }

// A block with its own codes: literal 0 and the block's end have one bit each, and one distance has one bit.
void PutEmptyDynamic(BitWriter* bits) {
  bits->Put(4, 3), bits->Put(0, 5), bits->Put(0, 5), bits->Put(14, 4);
  // Code of the lengths: symbol 18 has one bit; 0 and 1 have two.
  for (const uint32_t length : {0u, 0u, 1u, 2u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 0u, 2u}) {
    bits->Put(length, 3);
  }
  const auto one = [&] { bits->Put(3, 2); };
  one();
  bits->Put(0, 1), bits->Put(138 - 11, 7), bits->Put(0, 1), bits->Put(117 - 11, 7);
  one(), one();
  bits->Put(1, 1);  // the block's end
}

// A stream of `bytes` in stored blocks, with `count` blocks of one kind before, between or after them.
std::string WithBlocks(const std::string& bytes, PutBlock put, size_t count, const char* where) {
  BitWriter eight;  // whole bytes
  for (int i = 0; i < 8; ++i) put(&eight);
  std::string blocks;
  for (size_t i = 0; i < count / 8; ++i) blocks += eight.bytes();
  const auto stored = [](std::string_view part, bool final) {
    const uint32_t size = static_cast<uint32_t>(part.size());
    BitWriter header;
    header.Put(final ? 1 : 0, 8), header.Put(size, 16), header.Put(size ^ 0xFFFF, 16);
    return header.bytes() + std::string(part);
  };
  const std::string_view all = bytes;
  const size_t half = bytes.size() / 2;
  std::string stream("\x78\x01", 2);
  if (where == std::string_view("before")) stream += blocks;
  stream += stored(all.substr(0, half), false);
  if (where == std::string_view("between")) stream += blocks;
  stream += stored(all.substr(half), false);
  if (where == std::string_view("after")) stream += blocks;
  stream += stored({}, true);
  const uLong adler = adler32(1, reinterpret_cast<const Bytef*>(bytes.data()), static_cast<uInt>(bytes.size()));
  for (int shift = 24; shift >= 0; shift -= 8) stream.push_back(static_cast<char>(adler >> shift));
  return stream;
}

// The minimum of several measurements of this thread's CPU time, so that other processes do not count.
template <typename Work>
double CpuSeconds(Work work) {
  const auto now = [] {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
  };
  double least = 1e9;
  for (int i = 0; i < 5; ++i) {
    const double begin = now();
    work();
    least = std::min(least, now() - begin);
  }
  return least;
}

// Pillow inflates with zlib, which has built-in tables of the fixed codes.
TEST(Inflater, MillionsOfEmptyBlocksTakeAtMostTenTimesZlibsTime) {
  const std::string bytes = MakeBytes(12000, 9);
  Inflater inflater;
  const std::tuple<const char*, PutBlock, size_t> kinds[] = {
      {"fixed", PutEmptyFixed, 200000}, {"stored", PutEmptyStored, 80000}, {"dynamic", PutEmptyDynamic, 10000}};
  for (const auto& [kind, put, count] : kinds) {
    for (const char* where : {"before", "between"}) {
      SCOPED_TRACE(testing::Message() << count << " empty " << kind << " blocks " << where);
      const std::string stream = WithBlocks(bytes, put, count, where);
      ASSERT_EQ(ZlibInflate(stream, bytes.size()), bytes);
      ASSERT_EQ(Inflate(&inflater, stream, bytes.size()), bytes);
      if (support::kSanitizersHeap) continue;  // zlib is not instrumented, so the times are not comparable
      const double theirs = CpuSeconds([&] { ZlibInflate(stream, bytes.size()); });
      EXPECT_LE(CpuSeconds([&] { Inflate(&inflater, stream, bytes.size()); }), 10 * theirs);
    }
  }
}

// Pillow and libspng inflate no data after the last pixel.
TEST(Inflater, BlocksAfterTheLastByteAreNotRead) {
  const std::string bytes = MakeBytes(12000, 9);
  Inflater inflater;
  for (const PutBlock put : {PutEmptyFixed, PutEmptyStored, PutEmptyDynamic}) {
    const std::string stream = WithBlocks(bytes, put, 100000, "after");
    ASSERT_EQ(ZlibInflate(stream, bytes.size()), bytes);
    Pieces pieces(stream, 1000);
    inflater.Start(&pieces, bytes.size(), bytes.size(), true);
    ASSERT_NE(inflater.Take(bytes.size()), nullptr);
    EXPECT_TRUE(inflater.Finish());
    EXPECT_GT(pieces.left(), stream.size() / 2);
    EXPECT_EQ(Inflate(&inflater, WithBlocks(bytes, put, 32, "after"), bytes.size()), bytes);
  }
}

}  // namespace
}  // namespace penstock::image
