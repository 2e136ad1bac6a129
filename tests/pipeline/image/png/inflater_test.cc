// zlib is the judge: what it takes comes out the same, what it refuses is given up.
#include "pipeline/image/png/inflater.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace penstock {
namespace {

class Pieces final : public InflaterInput {
 public:
  Pieces(std::string_view bytes, size_t piece) : bytes_(bytes), piece_(piece) {}
  std::string_view Next() override {
    const std::string_view next = bytes_.substr(0, piece_);
    bytes_.remove_prefix(next.size());
    return next;
  }

 private:
  std::string_view bytes_;
  const size_t piece_;
};

struct Recipe {
  int level = 6, strategy = Z_DEFAULT_STRATEGY, window = 15;
  size_t flush_every = 0;  // input bytes between two ends of blocks, with empty blocks between them
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

// What zlib makes of it; nullopt: refused, or cut off.
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

// Ours, `take` bytes at a time, `size` in all; nullopt: gave up.
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

// Bytes as rows of pixels have them: small differences, repetitions near and far, and noise.
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

TEST(Inflater, OneByteRepeatedIsCopiedAtEveryDistance) {
  Inflater inflater;
  for (size_t distance = 1; distance <= 40; ++distance) {
    std::string bytes;
    for (size_t i = 0; i < 3000; ++i) bytes.push_back(static_cast<char>(i < distance ? i * 7 : bytes[i - distance]));
    const auto ours = Inflate(&inflater, Deflate(bytes), bytes.size());
    ASSERT_TRUE(ours.has_value()) << distance;
    ASSERT_TRUE(*ours == bytes) << distance;
  }
}

TEST(Inflater, APartIsTakenWithoutTheRest) {
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
  EXPECT_EQ(inflater.Take(1000), nullptr) << "more than was asked for";
  EXPECT_FALSE(inflater.Finish());
}

TEST(Inflater, AStreamThatIsLongerOrShorterIsGivenUp) {
  const std::string bytes = MakeBytes(5000, 6), stream = Deflate(bytes);
  Inflater inflater;
  EXPECT_FALSE(Inflate(&inflater, stream, 4999).has_value());
  EXPECT_FALSE(Inflate(&inflater, stream, 5001).has_value());
  EXPECT_TRUE(Inflate(&inflater, stream, 5000).has_value());
}

TEST(Inflater, EveryCutIsGivenUp) {
  const std::string bytes = MakeBytes(2000, 7);
  Inflater inflater;
  for (const Recipe& recipe : {Recipe{}, Recipe{.level = 0}, Recipe{.strategy = Z_FIXED}}) {
    const std::string stream = Deflate(bytes, recipe);
    for (size_t length = 0; length < stream.size(); ++length) {
      ASSERT_FALSE(Inflate(&inflater, stream.substr(0, length), bytes.size()).has_value()) << length;
    }
  }
}

// Bits that are wrong anywhere, and nothing that would find them: the checksum is put right where zlib minds it alone.
TEST(Inflater, OfDamagedStreamsItTakesThoseThatZlibTakes) {
  auto inflater = std::make_unique<Inflater>();
  std::mt19937 random(8);
  int taken = 0, refused = 0;
  for (int round = 0; round < 20000; ++round) {
    const std::string bytes = MakeBytes(20 + random() % 300, random() % 100);
    const Recipe recipe{.strategy = round % 3 == 0 ? Z_FIXED : Z_DEFAULT_STRATEGY,
                        .flush_every = static_cast<size_t>(round % 4 * 60)};
    std::string stream = Deflate(bytes, recipe);
    for (uint32_t i = 0; i <= random() % 3; ++i) {
      // Mostly in the codes' lengths, at the start of the first block.
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
      // A code of one code of one bit is taken by zlib alone.
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

// A code that is not complete, which some inflaters take (RFC 1951 has no word on it) and zlib does not.
TEST(Inflater, ACodeWithGapsIsGivenUp) {
  // One block of its own codes: of the lengths' code only 18, 0 and 2 (1, 2, 2 bits); two literals and the block's end
  // of two bits each.
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
  put(0, 2), put(2, 2), put(1, 2);  // the codes 00, 01 and 10, of which 10 ends it
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

}  // namespace
}  // namespace penstock
