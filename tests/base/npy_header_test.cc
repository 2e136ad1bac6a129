// Headers of .npy files, and the layout of rows.
#include "base/npy_header.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/npy_row.h"

namespace penstock {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Returns a file's header with any dict.
std::string FileWith(const std::string& dict, char version = 1) {
  std::string file(kNpyMagic);
  file += version;
  file += '\0';
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i) file += static_cast<char>(dict.size() >> (8 * i) & 0xFF);
  return file + dict;
}

absl::StatusOr<NpyHeader> HeaderOf(const std::string& descr, const std::string& shape = "(3,)", char version = 1) {
  return ParseNpyHeader(
      FileWith(absl::StrCat("{'descr': ", descr, ", 'fortran_order': False, 'shape': ", shape, ", }\n"), version));
}

absl::StatusOr<NpyRow> RowOf(const std::string& descr, const std::vector<int64_t>& row_shape = {}) {
  const auto header = HeaderOf(descr);
  EXPECT_TRUE(header.ok()) << header.status();
  return NpyRowOf(*header, row_shape);
}

std::string RowError(const std::string& descr, const std::vector<int64_t>& row_shape = {}) {
  const absl::Status status = RowOf(descr, row_shape).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  return std::string(status.message());
}

// numpy/lib/format.py: the data begins at a multiple of 64, the header ends with a newline, a tuple of one has a comma.
TEST(NpyHeaderText, FollowsNumPysFormat) {
  for (const std::vector<int64_t>& shape : {std::vector<int64_t>{}, {5}, {256, 224, 224, 3}}) {
    const std::string header = NpyHeaderText("<i8", shape);
    EXPECT_EQ(header.size() % 64, 0u);
    EXPECT_EQ(header.substr(0, 8), std::string("\x93NUMPY\x01\x00", 8));
    EXPECT_EQ(static_cast<unsigned char>(header[8]) + 256 * static_cast<unsigned char>(header[9]), header.size() - 10);
    EXPECT_EQ(header.back(), '\n');
  }
  EXPECT_THAT(NpyHeaderText("<i8", {5}), HasSubstr("'shape': (5,), }"));
  EXPECT_THAT(NpyHeaderText("|u1", {2, 3}), HasSubstr("{'descr': '|u1', 'fortran_order': False, 'shape': (2, 3), }"));
}

TEST(NpyHeaderText, IsReadBack) {
  const std::string wide = absl::StrCat("[('", std::string(65400, 'n'), "', '<f4')]");
  for (const std::string descr : {"<f4", "[('x', '<f4', (3,)), ('y', '|u1')]", "[('größe', '<f8')]", wide.c_str()}) {
    for (const std::vector<int64_t>& shape : {std::vector<int64_t>{}, {0}, {7, 2}}) {
      const std::string text = NpyHeaderText(descr, shape);
      const auto header = ParseNpyHeader(text + "data");
      ASSERT_TRUE(header.ok()) << header.status();
      EXPECT_EQ(header->descr, descr);
      EXPECT_EQ(header->shape, shape);
      EXPECT_EQ(header->data_offset, text.size());
    }
  }
}

TEST(ParseNpyHeader, ReadsTheFieldsOfARecordArray) {
  const auto header = HeaderOf("[('x', '<f4', (2, 3)), ('label', '|i1'), (('title', 'n'), \"<U5\", 4), ('', '|V3')]");
  ASSERT_TRUE(header.ok()) << header.status();
  EXPECT_THAT(header->fields, ElementsAre(NpyField{"x", "<f4", {2, 3}}, NpyField{"label", "|i1", {}},
                                          NpyField{"n", "<U5", {4}}, NpyField{"", "|V3", {}}));
  EXPECT_THAT(header->descr, HasSubstr("[('x', '<f4', (2, 3)), "));
  EXPECT_THAT(HeaderOf("[]")->fields, IsEmpty());
  EXPECT_EQ(HeaderOf("[('a', [('b', '<f4')])]")->fields[0].descr, "[('b', '<f4')]");
}

TEST(ParseNpyHeader, ReadsOtherWriters) {
  EXPECT_EQ(HeaderOf("'<f4'", "(3L, 4L)")->shape, (std::vector<int64_t>{3, 4})) << "Python 2";
  EXPECT_EQ(HeaderOf("'<f4'", "( )")->shape, std::vector<int64_t>());
  const auto order = ParseNpyHeader(FileWith("  {\"shape\":(1,2),\"fortran_order\":True,\n\"descr\":\"<f4\"}", 2));
  ASSERT_TRUE(order.ok()) << order.status();
  EXPECT_TRUE(order->fortran_order);
  EXPECT_EQ(HeaderOf("[('gr\xF6\xDF"
                     "e', '<f4')]")
                ->fields[0]
                .name,
            "größe")
      << "versions 1 and 2 are Latin-1";
  EXPECT_EQ(HeaderOf("[('größe', '<f4')]", "(3,)", 3)->fields[0].name, "größe");
  EXPECT_EQ(HeaderOf("[('shape', '<f4'), (\"it's\", '<f4')]", "(9,)")->shape, std::vector<int64_t>{9});
}

TEST(ParseNpyHeader, RejectsOtherText) {
  for (const std::string dict :
       {"", "{", "{}", "{'descr': '<f4', 'fortran_order': False}", "{'descr': '<f4' 'shape': (3,)}",
        "{'descr': '<f4', 'fortran_order': 0, 'shape': (3,)}", "{'descr': ('<f4', (3,)), 'fortran_order': False}",
        "{'descr': [('a', '<f4'], 'fortran_order': False, 'shape': (3,)}", "{'descr': [('a', '<f4')",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (-3,)}", "{'descr': '<f4', 'more': 1}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}",
        "{'descr': [('a\\'b', '<f4')], 'fortran_order': False, 'shape': (3,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), 'shape': (3,)}",
        "{'descr': [('a', '<i4')], 'fortran_order': False, 'shape': (3,), 'descr': '<f4'}"}) {
    const absl::Status status = ParseNpyHeader(FileWith(dict + std::string(20, ' '))).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << dict;
    EXPECT_THAT(std::string(status.message()), HasSubstr("no .npy header: ")) << dict;
  }
}

TEST(ParseNpyHeader, HasALimit) {
  const std::string fields = absl::StrCat("[", std::string(70000, ' '), "('a', '<f4')]");
  EXPECT_THAT(std::string(HeaderOf(fields, "(3,)", 2).status().message()), HasSubstr("longer than 64 KiB"));
  EXPECT_THAT(std::string(HeaderOf("[('\xFF', '<f4')]", "(3,)", 3).status().message()), HasSubstr("it is no UTF-8"));
}

TEST(ParseNpyHeader, AnyDamageIsReadOrRejected) {
  const std::string good = NpyHeaderText("[('x', '<f4', (2, 3)), (('t', 'n'), '<U5')]", {3, 2});
  for (size_t cut = 0; cut < good.size(); ++cut) EXPECT_FALSE(ParseNpyHeader(good.substr(0, cut)).ok()) << cut;
  for (size_t at = 0; at < good.size(); ++at) {
    for (int flip = 1; flip < 256; flip += 2) {
      std::string damaged = good;
      damaged[at] = static_cast<char>(damaged[at] ^ flip);
      const auto header = ParseNpyHeader(damaged);
      if (!header.ok() || !NpyRowOf(*header, {}).ok()) continue;
      EXPECT_EQ(ParseNpyHeader(NpyHeaderText(header->descr, {}))->fields, header->fields) << damaged;
    }
  }
}

TEST(NpyRow, HasItsFieldsAtTheirPlaces) {
  const auto row = RowOf("[('x', '<f4', (2, 3)), ('', '|V3'), ('label', '|i1'), ('t', '<M8[ns]'), ('s', '<U5', 4)]");
  ASSERT_TRUE(row.ok()) << row.status();
  EXPECT_EQ(row->bytes, 24u + 3 + 1 + 8 + 80);
  ASSERT_EQ(row->fields.size(), 4u);
  EXPECT_EQ(row->fields[0].elements, 6u);
  EXPECT_EQ(row->fields[1].name, "label");
  EXPECT_EQ(row->fields[1].offset, 27u);
  EXPECT_EQ(row->fields[2].type, (NpyType{'M', 8}));
  EXPECT_EQ(row->fields[3].offset, 36u);
  EXPECT_EQ(row->fields[3].type, (NpyType{'U', 20}));
  EXPECT_EQ(row->fields[3].bytes(), 80u);
  EXPECT_EQ(RowOf("'<f8'", {28, 28})->bytes, 28u * 28 * 8);
}

TEST(NpyRow, ErrorsNameTheRemedy) {
  EXPECT_THAT(RowError("'|O'"), HasSubstr("Python objects; save the array with one number type"));
  EXPECT_THAT(RowError("'>f4'"), HasSubstr("big-endian; save array.astype("));
  EXPECT_THAT(RowError("[('a', '<f4'), ('b', '|O')]"), HasSubstr("field \"b\": its elements are Python objects"));
  EXPECT_THAT(RowError("[('a', [('b', '<f4')])]"), HasSubstr("field \"a\": its elements have the type"));
  EXPECT_THAT(RowError("[('a', '<f4')]", {2}), HasSubstr("several dimensions; save array.reshape(-1)"));
  for (const char* type : {"'f4'", "'<q8'", "'<f3'", "'<i16'", "'|b2'", "'<f'", "'<fx'", "'<M4[s]'", "'<f99999999999'",
                           "'|S0'", "'|V0'", "\"<M8[n's]\"", "'<M8[]'", "'<M8[s'"}) {
    EXPECT_THAT(RowError(type), HasSubstr("; save the array with one number type")) << type;
  }
  EXPECT_THAT(RowError("'<f4'", {3, 0}), HasSubstr("its rows are empty"));
  EXPECT_THAT(RowError("'<f4'", {int64_t{1} << 40, int64_t{1} << 40}), HasSubstr("more than 2^40 bytes"));
  EXPECT_THAT(RowError("[('a', '|V4294967295', (200,)), ('b', '|V4294967295', (200,))]"), HasSubstr("2^40"));
}

}  // namespace
}  // namespace penstock
