// The files of a manifest's records in memory and in the blob of an index.
#include "pipeline/sources/file_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

namespace penstock::sources {
namespace {

// Pieces of files, of one file several times, and rows without a file.
std::vector<FilePiece> SomePieces(size_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<FilePiece> pieces;
  while (pieces.size() < count) {
    const uint64_t kind = random() % 8;
    if (kind == 0) {
      pieces.push_back({.error = absl::StrCat("no file ", random() % 3)});
      continue;
    }
    FilePiece piece{.path = absl::StrCat("class ", random() % 5, "/", random(), ".jpg"),
                    .size = random() % 100'000,
                    .mtime_s = static_cast<uint32_t>(random()),
                    .tag = random() % 2 == 0 ? "" : absl::StrCat("\"", random(), "\"")};
    for (uint64_t parts = kind == 1 ? 5 : 1; parts > 0; --parts) {
      piece.offset = random() % (piece.size + 1);
      piece.length = static_cast<uint32_t>(random() % (piece.size - piece.offset + 1));
      pieces.push_back(piece);
    }
  }
  return pieces;
}

FileTable TableOf(const std::vector<FilePiece>& pieces) {
  FileTable table;
  for (const FilePiece& piece : pieces) EXPECT_TRUE(table.Append(piece));
  return table;
}

TEST(FileTable, HasEachPieceInMemoryAndInItsBytes) {
  const std::vector<FilePiece> pieces = SomePieces(500, 1);
  const FileTable table = TableOf(pieces);
  const std::optional<FileTable> parsed = FileTable::Parse(table.Serialize(), pieces.size());
  ASSERT_TRUE(parsed.has_value());
  EXPECT_EQ(*parsed, table);
  for (size_t k = 0; k < pieces.size(); ++k) {
    EXPECT_EQ(parsed->Piece(k), pieces[k]);
    EXPECT_EQ(parsed->HasFile(k), pieces[k].error.empty());
    EXPECT_EQ(parsed->Bytes(k), pieces[k].error.empty() ? pieces[k].length : pieces[k].error.size());
  }
}

TEST(FileTable, ASelectionHasItsPieces) {
  const std::vector<FilePiece> pieces = SomePieces(100, 2);
  const std::vector<uint32_t> numbers = {0, 1, 17, 18, 99};
  const FileTable selected = TableOf(pieces).Selected(numbers);
  ASSERT_EQ(selected.records(), numbers.size());
  for (size_t k = 0; k < numbers.size(); ++k) EXPECT_EQ(selected.Piece(k), pieces[numbers[k]]);
}

TEST(FileTable, PartsOfAFileShareItsPath) {
  FileTable parts, files;
  for (uint32_t k = 0; k < 1000; ++k) {
    const std::string path(100, 'x');
    parts.Append({.path = path, .size = 1000, .offset = k, .length = 1});
    files.Append({.path = absl::StrCat(path, k), .size = 1000, .offset = k, .length = 1});
  }
  parts.Compact();
  files.Compact();
  EXPECT_LT(parts.MemoryBytes(), 42'000);
  EXPECT_LT(files.MemoryBytes(), 145'000);
  EXPECT_LT(parts.Serialize().size(), 12'000);
}

TEST(FileTable, PiecesAboveTheLimitsAreRefused) {
  FileTable table;
  EXPECT_FALSE(table.Append({.path = std::string(65'536, 'x')}));
  EXPECT_FALSE(table.Append({.path = "x", .tag = std::string(256, 'x')}));
  EXPECT_TRUE(table.Append({.path = std::string(65'535, 'x'), .tag = std::string(255, 'x')}));
  EXPECT_EQ(table.records(), 1);
}

// Any bytes give a table of valid pieces or none, in memory that their number bounds.
TEST(FileTable, SurvivesForgedBytes) {
  const std::vector<FilePiece> pieces = SomePieces(60, 3);
  const std::string bytes = TableOf(pieces).Serialize();
  std::mt19937_64 random(4);
  int accepted = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string forged = bytes;
    for (uint64_t changes = 1 + random() % 4; changes > 0; --changes) {
      forged[random() % forged.size()] = static_cast<char>(random());
    }
    if (random() % 4 == 0) forged.resize(random() % forged.size());
    const uint64_t records = random() % 3 == 0 ? random() : pieces.size();
    const std::optional<FileTable> table = FileTable::Parse(forged, records);
    if (!table.has_value()) continue;
    ++accepted;
    ASSERT_EQ(table->records(), records);
    EXPECT_LT(table->MemoryBytes(), 64 * bytes.size() + 4096);
    for (uint64_t k = 0; k < records; ++k) {
      const FilePiece piece = table->Piece(k);
      EXPECT_TRUE(!piece.error.empty() || piece.offset + piece.length <= piece.size);
    }
  }
  EXPECT_GT(accepted, 0);
}

TEST(FilePiece, IsOfTheStateInWholeSeconds) {
  const FilePiece local{.path = "x", .size = 10, .mtime_s = 1'700'000'000};
  EXPECT_TRUE(local.IsOf({.size = 10, .mtime_ns = 1'700'000'000'000'000'000}));
  EXPECT_TRUE(local.IsOf({.size = 10, .mtime_ns = 1'700'000'000'999'999'999})) << "a copy has no fractions of a second";
  EXPECT_FALSE(local.IsOf({.size = 10, .mtime_ns = 1'700'000'001'000'000'000}));
  EXPECT_FALSE(local.IsOf({.size = 11, .mtime_ns = 1'700'000'000'000'000'000}));
  const FilePiece object{.path = "x", .size = 10, .tag = "\"a\""};
  EXPECT_TRUE(object.IsOf({.size = 10, .mtime_ns = 0, .tag = "\"a\""}));
  EXPECT_FALSE(object.IsOf({.size = 10, .mtime_ns = 0, .tag = "\"b\""}));
}

}  // namespace
}  // namespace penstock::sources
