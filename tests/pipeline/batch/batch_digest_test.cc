#include "pipeline/batch/batch_digest.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "pipeline/batch/row.h"

namespace penstock::batch {
namespace {

TEST(BatchDigest, IsTheSha256OfTheDocumentedStream) {
  BatchDigest digest;
  // SHA-256 of no bytes.
  EXPECT_EQ(digest.Hex(), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  digest.BeginRow(1, 2, true);
  digest.AddFixed("abc");
  digest.AddRagged(std::string_view("\1\0\0\0x", 5));
  // printf '\1\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0\1abc\5\0\0\0\0\0\0\0\1\0\0\0x' | sha256sum
  EXPECT_EQ(digest.Hex(), "5367b04cf66282ef3a27083b95ea195e12beb2d7b33c5f3001861fe84353fbfa");
  EXPECT_EQ(digest.rows(), 1u);
}

TEST(BatchDigest, EncodedAndPlainElementsGiveTheSameDigest) {
  const float numbers[] = {1.5f, -2.0f};
  const std::string_view number_bytes(reinterpret_cast<const char*>(numbers), sizeof(numbers));
  std::string encoded_numbers, encoded_strings;
  AppendRaggedHeader(2, &encoded_numbers);
  encoded_numbers.append(number_bytes);
  AppendRaggedHeader(2, &encoded_strings);
  AppendRaggedHeader(3, &encoded_strings);
  AppendRaggedHeader(0, &encoded_strings);
  encoded_strings.append("abc");

  BatchDigest by_elements, encoded, whole;
  by_elements.BeginRow(3, 4, false);
  by_elements.AddRaggedNumbers(2, number_bytes);
  const std::vector<std::string_view> strings = {"abc", ""};
  by_elements.AddRaggedStrings(strings);
  encoded.BeginRow(3, 4, false);
  encoded.AddRagged(encoded_numbers);
  encoded.AddRagged(encoded_strings);
  const std::vector<BatchDigest::Column> columns = {{encoded_numbers, true}, {encoded_strings, true}};
  whole.AddRow(3, 4, false, columns);
  EXPECT_EQ(by_elements.Hex(), encoded.Hex());
  EXPECT_EQ(whole.Hex(), encoded.Hex());
}

TEST(BatchDigest, DependsOnEveryPartOfARow) {
  const auto hex = [](int64_t shard, int64_t record, bool valid, std::string_view bytes) {
    BatchDigest digest;
    const std::vector<BatchDigest::Column> columns = {{bytes, false}};
    digest.AddRow(shard, record, valid, columns);
    return digest.Hex();
  };
  const std::string base = hex(0, 0, true, "x");
  EXPECT_NE(base, hex(1, 0, true, "x"));
  EXPECT_NE(base, hex(0, 1, true, "x"));
  EXPECT_NE(base, hex(0, 0, false, "x"));
  EXPECT_NE(base, hex(0, 0, true, "y"));
  EXPECT_EQ(base, hex(0, 0, true, "x"));
}

}  // namespace
}  // namespace penstock::batch
