#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "pipeline/import/npz_file.h"
#include "pipeline/storage/posix_storage.h"
#include "tests/base/temp_dir.h"
#include "tests/pipeline/import/npy_testing.h"

namespace penstock::imports {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const ZipMaker::Options kStored, kDeflated{.deflate = true}, kZip64{.zip64 = true};

std::string Images() { return Npy("|u1", "3, 2, 2, 3", Bytes(36)); }
std::string Labels() { return Npy("<i8", "3,", std::string("\5\0\0\0\0\0\0\0\6\0\0\0\0\0\0\0\7\0\0\0\0\0\0\0", 24)); }

class NpzTest : public ::testing::Test {
 protected:
  void Write(const std::vector<std::pair<std::string, std::string>>& arrays, const ZipMaker::Options& options = {}) {
    ZipMaker zip;
    for (const auto& [name, content] : arrays) zip.Add(name + ".npy", content, options);
    dir_.Write("a.npz", zip.Bytes());
  }
  absl::StatusOr<NpzArrays> Open(const std::string& rows = "", const std::string& labels = "") {
    return OpenNpz(storage::LocalFiles(), dir_.File("a.npz"), {.rows = rows, .labels = labels, .scratch = dir_.path()});
  }
  std::string Error(const std::string& rows = "", const std::string& labels = "") {
    const auto opened = Open(rows, labels);
    EXPECT_FALSE(opened.ok());
    EXPECT_THAT(std::string(opened.status().message()), HasSubstr("a.npz"));
    return std::string(opened.status().message());
  }

  TempDir dir_;
};

TEST_F(NpzTest, StoredAndDeflatedArraysAreRead) {
  for (const auto& options : {kStored, kDeflated, kZip64}) {
    Write({{"x_train", Images()}, {"y_train", Labels()}}, options);
    const auto npz = Open();
    ASSERT_TRUE(npz.ok()) << npz.status();
    EXPECT_EQ(npz->rows->rows(), 3u);
    EXPECT_EQ(npz->rows->row_shape(), (std::vector<int64_t>{2, 2, 3}));
    std::string row;
    for (uint64_t i = 0; i < 3; ++i) {
      ASSERT_TRUE(npz->rows->ReadRow(i, &row).ok());
      EXPECT_EQ(row, Bytes(36).substr(i * 12, 12));
    }
    EXPECT_THAT(npz->labels, ElementsAre(5, 6, 7));
    EXPECT_THAT(npz->left_out, IsEmpty());
    // The folder has no file of unpacked data.
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(dir_.path()), {}), 1);
  }
}

// An array may end where a piece of inflated data ends, together with the compressed data.
TEST_F(NpzTest, DeflatedArraysOfEverySizeAreRead) {
  constexpr size_t kPiece = 256 << 10;
  const size_t header = Npy("|u1", "1, 1000000", "").size();
  for (const size_t size : {kPiece - 1, kPiece, kPiece + 1, 2 * kPiece, 3 * kPiece}) {
    const size_t data = size - header;
    Write({{"x", Npy("|u1", absl::StrCat("1, ", data), Bytes(data))}}, kDeflated);
    const auto npz = Open();
    ASSERT_TRUE(npz.ok()) << size << ": " << npz.status();
    std::string row;
    ASSERT_TRUE(npz->rows->ReadRow(0, &row).ok());
    EXPECT_EQ(row, Bytes(data)) << size;
  }
}

TEST_F(NpzTest, FindsArraysByTheirUsualOrGivenNames) {
  Write({{"x_train", Images()},
         {"y_train", Labels()},
         {"x_test", Npy("|u1", "1, 2, 2, 3", Bytes(12))},
         {"y_test", Npy("|u1", "1,", "\x09")}});
  auto npz = Open();
  ASSERT_TRUE(npz.ok()) << npz.status();
  EXPECT_EQ(npz->rows_name, "x_train");
  EXPECT_EQ(npz->labels_name, "y_train");
  EXPECT_THAT(npz->left_out, ElementsAre("x_test", "y_test"));
  npz = Open("x_test");
  ASSERT_TRUE(npz.ok()) << npz.status();
  EXPECT_EQ(npz->labels_name, "y_test");
  EXPECT_THAT(npz->labels, ElementsAre(9));
  for (const auto& [rows, labels] : {std::pair("images", "labels"), std::pair("train_images", "train_labels"),
                                     std::pair("data", "labels"), std::pair("X", "y")}) {
    Write({{labels, Labels()}, {rows, Images()}});
    npz = Open();
    ASSERT_TRUE(npz.ok()) << rows << ": " << npz.status();
    EXPECT_EQ(npz->rows_name, rows);
    EXPECT_EQ(npz->labels_name, labels);
  }
  Write({{"pictures", Images()}, {"numbers", Labels()}});
  npz = Open("pictures", "numbers.npy");
  ASSERT_TRUE(npz.ok()) << npz.status();
  EXPECT_THAT(npz->labels, ElementsAre(5, 6, 7));
  EXPECT_THAT(Error("picture"), HasSubstr("no array 'picture' (did you mean 'pictures'?); it has: pictures, numbers"));
  EXPECT_THAT(Error("pictures", "number"), HasSubstr("no array 'number' (did you mean 'numbers'?)"));
  Write({{"pictures", Images()}, {"names", Npy("|u1", "2, 4", Bytes(8))}});
  EXPECT_THAT(Error(),
              HasSubstr("which array holds the rows? Name it with --array NAME; the file has: pictures, names"));
  Write({{"arr_0", Images()}});
  npz = Open();
  ASSERT_TRUE(npz.ok()) << npz.status();
  EXPECT_THAT(npz->labels, IsEmpty());
}

TEST_F(NpzTest, OtherArraysWithTheSameNumberOfRowsAreColumns) {
  const auto columns = [](const NpzArrays& npz) {
    std::vector<std::string> names;
    for (const NpzArrays::Other& other : npz.others) names.push_back(other.name);
    return names;
  };
  const std::string masks = Npy("|u1", "3, 2, 2", Bytes(12)), weights = Npy("<f4", "3,", Bytes(12));
  Write({{"image", Images()},
         {"mask", masks},
         {"label", Labels()},
         {"weight", weights},
         {"test_mask", masks},
         {"classes", Npy("|u1", "2,", Bytes(2))}});
  auto npz = Open();
  ASSERT_TRUE(npz.ok()) << npz.status();
  EXPECT_EQ(npz->labels_name, "label");
  EXPECT_THAT(columns(*npz), ElementsAre("mask", "weight"));
  EXPECT_THAT(npz->left_out, ElementsAre("test_mask", "classes"))
      << "one is of another split, and one has another number of rows";
  npz = Open("image");
  ASSERT_TRUE(npz.ok()) << npz.status();
  EXPECT_THAT(columns(*npz), IsEmpty()) << "only the named array";
  // Without a usual name the first array holds the rows. Labels that are not classes are a column.
  Write({{"pictures", Images()}, {"masks", masks}});
  npz = Open();
  ASSERT_TRUE(npz.ok()) << npz.status();
  EXPECT_EQ(npz->rows_name, "pictures");
  EXPECT_THAT(columns(*npz), ElementsAre("masks"));
  Write({{"x", Images()}, {"y", weights}});
  npz = Open();
  ASSERT_TRUE(npz.ok()) << npz.status();
  EXPECT_EQ(npz->labels_name, "");
  EXPECT_THAT(columns(*npz), ElementsAre("y"));
}

TEST_F(NpzTest, ErrorsNameTheArrayAndTheCause) {
  Write({{"x", Npy("<f4", "2, 3", Bytes(24), true)}});
  EXPECT_THAT(Error(), HasSubstr("a.npz, array x: it is in Fortran order"));
  Write({{"x", Npy("|O", "3", Bytes(24))}});
  EXPECT_THAT(Error(), HasSubstr("a.npz, array x: elements of type '|O'"));
  Write({{"x", Images()}, {"y", Npy("<f4", "3,", Bytes(12))}});
  EXPECT_THAT(Error("", "y"), HasSubstr("a.npz, array y holds float32; labels are integers"));
  Write({{"x", Images()}}, {.method = 12});
  EXPECT_THAT(Error(), HasSubstr("a.npz, array x: it is compressed by method 12"));
  Write({{"x", Images()}}, {.flags = 1});
  EXPECT_THAT(Error(), HasSubstr("a.npz, array x: it is encrypted"));
  for (const bool deflate : {false, true}) {
    Write({{"x", Images()}}, {.deflate = deflate, .crc_xor = 1});
    EXPECT_THAT(Error(), HasSubstr("a.npz, array x: its checksum is wrong"));
  }
  dir_.Write("a.npz", "PK\x03\x04 but no more");
  EXPECT_THAT(Error(), HasSubstr("no zip archive, or it is cut off"));
  ZipMaker other;
  other.Add("photo.jpg", "x");
  dir_.Write("a.npz", other.Bytes());
  EXPECT_THAT(Error(), HasSubstr("no arrays (.npy files) in it"));
}

TEST_F(NpzTest, NeverCrashesOnADamagedArchive) {
  Write({{"x", Images()}, {"y", Labels()}}, kDeflated);
  const std::string good = *ReadWholeFile(dir_.File("a.npz"));
  for (size_t cut = 0; cut < good.size(); cut += 3) {
    dir_.Write("a.npz", good.substr(0, cut));
    EXPECT_FALSE(Open().ok());
  }
  for (size_t at = 0; at < good.size(); ++at) {
    std::string damaged = good;
    damaged[at] = static_cast<char>(damaged[at] ^ 0xff);
    dir_.Write("a.npz", damaged);
    (void)Open();
  }
}

}  // namespace
}  // namespace penstock::imports
