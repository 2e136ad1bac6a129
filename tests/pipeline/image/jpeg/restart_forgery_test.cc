// False tile tables: the result is always that of the plain decode.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "pipeline/image/jpeg/restart_jpeg.h"
#include "pipeline/image/jpeg/restart_table.h"
#include "pipeline/image/jpeg/tile_walker.h"
#include "tests/pipeline/image/crop_support.h"
#include "tests/pipeline/image/jpeg_maker.h"

namespace penstock::image {
namespace {

constexpr int kWidth = 256, kHeight = 144;

std::string Indexed() {
  auto indexed = AddRestartIndex(MakeJpeg({.width = kWidth, .height = kHeight, .horizontal = 2, .vertical = 2}), {}, 4);
  EXPECT_TRUE(indexed.ok()) << indexed.status();
  return *std::move(indexed);
}

std::vector<uint16_t> Lengths(std::string_view bytes) {
  const auto table = TileTable::Read(bytes);
  std::vector<uint16_t> lengths;
  for (int64_t i = 0; i < table->grid().tiles(); ++i) lengths.push_back(static_cast<uint16_t>(table->length(i)));
  return lengths;
}

// The place of the table's only segment.
JpegSegment TableSegment(std::string_view bytes) {
  for (size_t at = 2;;) {
    const auto segment = ReadJpegSegment(bytes, at);
    if (IsTileTableSegment(*segment)) return *segment;
    at = segment->end();
  }
}

std::string WithTable(const std::string& bytes, const std::string& table) {
  const JpegSegment old = TableSegment(bytes);
  return bytes.substr(0, old.begin) + table + bytes.substr(old.end());
}

// Expects, for crops everywhere, the same result as from the file with its table hidden.
void ExpectPlainResult(const std::string& forged, const std::string& what) {
  const std::string hidden = HideTable(forged);
  JpegDecoder decoder;
  SampleRandom random(3, forged.size(), 0);
  for (int i = 0; i < 12; ++i) {
    const Rect rect = RandomRect(&random, kWidth, kHeight);
    ASSERT_TRUE(DecodeCrop(&decoder, forged, rect) == DecodeCrop(&decoder, hidden, rect)) << what << ToString(rect);
  }
}

TEST(RestartForgery, ATableThatDoesNotFitIsIgnored) {
  const std::string good = Indexed();
  const int interval = TileTable::Read(good)->grid().interval;
  const std::vector<uint16_t> lengths = Lengths(good);
  const std::string table = WriteTileTable(interval, lengths);
  const auto forge = [&](const std::function<void(std::vector<uint16_t>*)>& change) {
    std::vector<uint16_t> forged = lengths;
    change(&forged);
    return WithTable(good, WriteTileTable(interval, forged));
  };
  const std::pair<std::string, std::string> no_tables[] = {
      {"total too long", forge([](auto* l) { ++l->back(); })},
      {"total too short", forge([](auto* l) { --l->front(); })},
      {"longer than the file", forge([](auto* l) { l->assign(l->size(), 65535); })},
      {"all zero", forge([](auto* l) { l->assign(l->size(), 0); })},
      {"one tile too many", forge([](auto* l) { l->push_back(0); })},
      {"one tile too few", forge([](auto* l) { l->pop_back(); })},
      {"another interval", WithTable(good, WriteTileTable(interval + 1, lengths))},
      {"twice", WithTable(good, table + table)},
      {"missing segments", WithTable(good, std::string(table).replace(14, 1, "\2"))},
      {"starts at segment 1", WithTable(good, std::string(table).replace(13, 1, "\1"))},
      {"another version", WithTable(good, std::string(table).replace(12, 1, "\2"))},
      {"no segments", WithTable(good, std::string(table).replace(14, 1, std::string(1, '\0')))},
      {"tile count of another", WithTable(good, std::string(table).replace(17, 1, "\x7F"))},
      {"only the magic", WithTable(good, std::string("\xFF\xE9\0\x0APSTILES\0", 12))},
      {"none", WithTable(good, "")},
  };
  for (const auto& [what, forged] : no_tables) {
    EXPECT_FALSE(TileTable::Read(forged).has_value()) << what;
    ExpectPlainResult(forged, what);
  }
}

TEST(RestartForgery, ATableWithTheRightTotalMustMatchEveryMarker) {
  const std::string good = Indexed();
  const int interval = TileTable::Read(good)->grid().interval;
  const std::vector<uint16_t> lengths = Lengths(good);
  SampleRandom random(5, 0, 0);
  for (int i = 0; i < 200; ++i) {
    // Moves bytes between tiles, swaps whole tiles, or makes tiles cross the restart markers.
    std::vector<uint16_t> forged = lengths;
    const size_t a = random.Below(static_cast<uint32_t>(lengths.size())),
                 b = random.Below(static_cast<uint32_t>(lengths.size()));
    if (i % 2 == 0) {
      std::swap(forged[a], forged[b]);
    } else {
      const uint16_t some = static_cast<uint16_t>(random.Below(forged[a] + 1u));
      forged[a] = static_cast<uint16_t>(forged[a] - some);
      forged[b] = static_cast<uint16_t>(forged[b] + some);
    }
    const std::string bytes = WithTable(good, WriteTileTable(interval, forged));
    EXPECT_TRUE(TileTable::Read(bytes).has_value());
    ExpectPlainResult(bytes, "forgery " + std::to_string(i));
  }
}

// Restart markers repeat after eight: a table that is eight tiles ahead finds matching numbers.
TEST(RestartForgery, DetectsATableThatIsEightTilesAhead) {
  const std::string good = Indexed();
  const auto table = TileTable::Read(good);
  std::vector<uint16_t> forged = Lengths(good);
  ASSERT_GT(forged.size(), 20u);
  size_t skipped = 16;  // the markers in between
  for (size_t i = 1; i <= 8; ++i) skipped += forged[i];
  std::vector<uint16_t> lengths{static_cast<uint16_t>(forged[0] + skipped)};
  lengths.insert(lengths.end(), forged.begin() + 9, forged.end());
  // Eight empty tiles at the end with their markers: the 16 bytes follow the image's last tile.
  lengths.insert(lengths.end(), 8, 0);
  std::string bytes = WithTable(good, WriteTileTable(table->grid().interval, lengths));
  std::string markers;
  for (size_t i = 0; i < 8; ++i) {
    markers += '\xFF';
    markers += static_cast<char>(0xD0 + (forged.size() - 9 + i) % 8);
  }
  bytes.insert(bytes.rfind("\xFF\xD9"), markers);
  const auto lying = TileTable::Read(bytes);
  ASSERT_TRUE(lying.has_value());
  EXPECT_FALSE(MarkersMatch(bytes, *lying, 0));
  ExpectPlainResult(bytes, "eight ahead");
}

TEST(RestartForgery, DetectsMarkersOutOfOrder) {
  const std::string good = Indexed();
  const auto table = TileTable::Read(good);
  for (const int64_t tile : {int64_t{0}, int64_t{7}, table->grid().tiles() - 2}) {
    std::string bytes = good;
    size_t at = table->grid().scan_at;
    for (int64_t i = 0; i < tile; ++i) at += table->length(i) + 2;
    at += table->length(tile);
    ASSERT_EQ(bytes[at], '\xFF');
    bytes[at + 1] = static_cast<char>(0xD0 + (tile + 3) % 8);
    const auto same_table = TileTable::Read(bytes);
    ASSERT_TRUE(same_table.has_value());
    EXPECT_FALSE(MarkersMatch(bytes, *same_table, tile));
    ExpectPlainResult(bytes, "marker " + std::to_string(tile));
  }
}

// Overwrites a byte of the header. If the whole file still decodes, every crop is the plain one. Otherwise a crop of
// undamaged tiles may be better than the plain decode, which also reads the damaged ones before it.
TEST(RestartForgery, ADamagedHeaderGivesThePlainResult) {
  const std::string good = Indexed();
  const size_t scan_at = TileTable::Read(good)->grid().scan_at;
  SampleRandom random(6, 0, 0);
  JpegDecoder decoder;
  for (int i = 0; i < 300; ++i) {
    std::string bytes = good;
    bytes[random.Below(static_cast<uint32_t>(scan_at))] = static_cast<char>(random.Below(256));
    if (DecodeCrop(&decoder, HideTable(bytes), {0, 0, kWidth, kHeight}).status.ok()) {
      ExpectPlainResult(bytes, "byte " + std::to_string(i));
      continue;
    }
    const Rect rect = RandomRect(&random, kWidth, kHeight);
    const DecodedCrop crop = DecodeCrop(&decoder, bytes, rect);
    if (!crop.status.ok()) {
      EXPECT_EQ(crop.status, DecodeCrop(&decoder, HideTable(bytes), rect).status);
    }
  }
}

TEST(RestartForgery, ATruncatedFileGivesThePlainResult) {
  const std::string good = Indexed();
  for (size_t size = 0; size < good.size(); size += 1 + size / 16) {
    ExpectPlainResult(good.substr(0, size), "cut at " + std::to_string(size));
  }
}

TEST(RestartForgery, TablesOfSeveralSegmentsMustBeInOrder) {
  // No image here has that many tiles: the lengths are made up, and need a little more than two segments.
  std::vector<uint16_t> lengths(2 * kTilesPerSegment + 5);
  for (size_t i = 0; i < lengths.size(); ++i) lengths[i] = static_cast<uint16_t>(i % 60000);
  const std::string table = WriteTileTable(1, lengths);
  size_t at = 0, segments = 0;
  while (at < table.size()) {
    const auto segment = ReadJpegSegment(table, at);
    ASSERT_TRUE(segment.has_value());
    EXPECT_TRUE(IsTileTableSegment(*segment));
    EXPECT_EQ(static_cast<uint8_t>(segment->payload[9]), segments);
    ++segments;
    at = segment->end();
  }
  EXPECT_EQ(segments, 3u);
  EXPECT_EQ(WriteTileTable(1, std::vector<uint16_t>(kMaxTableSegments * kTilesPerSegment + 1)), "");
}

}  // namespace
}  // namespace penstock::image
