#include "pipeline/batch/row_coding.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

namespace penstock::batch {
namespace {

using Row = std::pair<std::vector<uint8_t>, std::vector<std::string>>;

ColumnSpec Fixed(DType dtype, std::vector<int64_t> shape) { return {"c", dtype, false, std::move(shape), false}; }
ColumnSpec Ragged() { return {"r", DType::kString, true, {}, false}; }

// Shapes of images, masks and videos, and columns that only look like one of them.
std::vector<RowSchema> Schemas() {
  return {
      {{}},
      {{Fixed(DType::kUint8, {5, 7, 3})}},
      {{Fixed(DType::kUint8, {1, 9, 3})}},
      {{Fixed(DType::kUint8, {9, 1, 1}), Fixed(DType::kInt64, {})}},
      {{Fixed(DType::kUint8, {3, 8, 6})}},
      {{Fixed(DType::kUint8, {2, 4, 5, 3}), Ragged(), Fixed(DType::kFloat32, {4, 4, 3})}},
      {{Fixed(DType::kUint8, {6, 11}), Fixed(DType::kUint8, {13}), Ragged(), Ragged()}},
      {{Fixed(DType::kUint8, {0, 4, 3}), Fixed(DType::kUint8, {4, 0})}},
      {{Ragged()}},
  };
}

std::vector<Row> RandomRows(const RowSchema& schema, std::mt19937_64* random) {
  std::vector<Row> rows((*random)() % 6);
  const bool smooth = (*random)() % 2 == 0;
  for (auto& [fixed, ragged] : rows) {
    fixed.resize(schema.FixedBytes());
    for (size_t i = 0; i < fixed.size(); ++i) fixed[i] = static_cast<uint8_t>(smooth ? i / 7 : (*random)());
    for (const ColumnSpec& column : schema.columns) {
      ragged.push_back(column.ragged ? std::string((*random)() % 300, static_cast<char>('a' + (*random)() % 3)) : "");
    }
  }
  return rows;
}

struct Wire {
  std::vector<uint8_t> coded;  // empty: the rows are not coded
  std::vector<uint32_t> lengths;
  std::string plain;
};

Wire Encode(const std::vector<Row>& rows, RowEncoder* encoder) {
  Wire wire;
  for (const auto& [fixed, ragged] : rows) {
    encoder->Add(fixed.empty() ? nullptr : reinterpret_cast<const std::byte*>(fixed.data()), ragged);
    std::string bytes(fixed.begin(), fixed.end());
    for (const std::string& column : ragged) bytes += column;
    wire.lengths.push_back(static_cast<uint32_t>(bytes.size()));
    wire.plain += bytes;
  }
  const CodedRows coded = encoder->Finish();
  if (coded.bytes != nullptr) wire.coded.assign(coded.bytes.get(), coded.bytes.get() + coded.size);
  return wire;
}

constexpr size_t kLimit = 1 << 20;

TEST(RowFilter, UndoRestoresTheExactBytes) {
  std::mt19937_64 random(1);
  for (const RowSchema& schema : Schemas()) {
    const RowFilter filter(schema);
    ASSERT_EQ(filter.fixed_bytes(), schema.FixedBytes());
    for (int round = 0; round < 20; ++round) {
      std::vector<uint8_t> row(filter.fixed_bytes()), filtered(row.size());
      for (uint8_t& byte : row) byte = static_cast<uint8_t>(random());
      filter.Apply(row.data(), filtered.data());
      filter.Undo(filtered.data());
      EXPECT_EQ(filtered, row);
    }
  }
}

TEST(RowFilter, AGrayGradientLeavesOneChannelNonzero) {
  const RowSchema schema{{Fixed(DType::kUint8, {4, 2, 3})}};
  std::vector<uint8_t> row, filtered(24);
  for (int line = 0; line < 4; ++line) row.insert(row.end(), 6, static_cast<uint8_t>(10 + 2 * line));
  RowFilter(schema).Apply(row.data(), filtered.data());
  EXPECT_EQ(filtered, (std::vector<uint8_t>{0, 10, 0, 0, 10, 0, 0, 2, 0, 0, 2, 0, 0, 2, 0, 0, 2, 0, 0, 2, 0, 0, 2, 0}));
}

TEST(RowCoding, RowsSurviveEncodingAndDecoding) {
  std::mt19937_64 random(2);
  int coded = 0;
  for (const RowSchema& schema : Schemas()) {
    RowEncoder encoder(schema);
    for (int round = 0; round < 40; ++round) {
      const Wire wire = Encode(RandomRows(schema, &random), &encoder);
      if (wire.coded.empty()) continue;
      ++coded;
      EXPECT_LE(wire.coded.size(), wire.plain.size() - wire.plain.size() / 8);
      auto rows = RowDecoder(schema).Decode(wire.coded, wire.lengths, kLimit);
      ASSERT_TRUE(rows.ok()) << rows.status();
      EXPECT_TRUE(std::equal(wire.plain.begin(), wire.plain.end(), rows->get(),
                             [](char a, uint8_t b) { return static_cast<uint8_t>(a) == b; }));
    }
  }
  EXPECT_GT(coded, 50);
}

TEST(RowCoding, NoiseIsNotCoded) {
  const RowSchema schema{{Fixed(DType::kUint8, {32, 32, 3})}};
  std::mt19937_64 random(3);
  std::vector<uint8_t> noise(schema.FixedBytes());
  for (uint8_t& byte : noise) byte = static_cast<uint8_t>(random());
  RowEncoder encoder(schema);
  encoder.Add(reinterpret_cast<const std::byte*>(noise.data()), {});
  EXPECT_EQ(encoder.Finish().bytes, nullptr);
  EXPECT_EQ(encoder.Finish().bytes, nullptr);  // no row was added
}

// Input from a hostile worker. ASan and UBSan check the memory accesses.
TEST(RowCoding, DamagedBytesAndFalseLengthsAreRejected) {
  const RowSchema schema{{Fixed(DType::kUint8, {16, 16, 3}), Ragged()}};
  std::mt19937_64 random(4);
  RowEncoder encoder(schema);
  const RowDecoder decoder(schema);
  int refused = 0;
  for (int round = 0; round < 2000; ++round) {
    Wire wire = Encode(RandomRows(schema, &random), &encoder);
    if (wire.coded.empty()) continue;
    switch (random() % 4) {
      case 0:
        wire.coded.resize(random() % wire.coded.size());
        break;
      case 1:
        for (int i = 0; i < 3; ++i)
          wire.coded[random() % wire.coded.size()] ^= static_cast<uint8_t>(1 + random() % 255);
        break;
      case 2:
        wire.lengths[random() % wire.lengths.size()] += 1 + static_cast<uint32_t>(random() % 5);
        break;
      default:
        wire.lengths.push_back(0xffffffff);
    }
    const auto rows = decoder.Decode(wire.coded, wire.lengths, kLimit);
    if (rows.ok()) continue;  // the changed byte may be part of a literal
    EXPECT_TRUE(absl::IsInvalidArgument(rows.status())) << rows.status();
    ++refused;
  }
  EXPECT_GT(refused, 500);
  EXPECT_FALSE(decoder.Decode({}, {}, kLimit).ok());
}

TEST(RowCoding, LengthsAboveTheLimitAreRejectedWithoutAllocation) {
  const RowSchema schema{{Ragged()}};
  const std::vector<uint32_t> lengths(100, 0xffffffff);
  const std::vector<uint8_t> nothing(20);
  const auto rows = RowDecoder(schema).Decode(nothing, lengths, kLimit);
  EXPECT_TRUE(absl::IsInvalidArgument(rows.status())) << rows.status();
  EXPECT_NE(rows.status().message().find("1048576 bytes"), absl::string_view::npos) << rows.status();
}

}  // namespace
}  // namespace penstock::batch
