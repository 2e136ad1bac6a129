// Features of every kind, from record to row.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "pipeline/records/example_builder.h"
#include "tests/pipeline/augment/row_maker.h"

namespace penstock::augment {
namespace {

using ::testing::HasSubstr;

// The row of one record with one feature, or the error's message.
struct MadeFeature {
  std::string error;
  std::vector<std::byte> fixed;
  std::string ragged;
  batch::RowSchema schema;
  template <typename T>
  std::vector<T> As() const {
    std::vector<T> values(fixed.size() / sizeof(T));
    std::memcpy(values.data(), fixed.data(), fixed.size());
    return values;
  }
};

MadeFeature MakeFeature(const std::string& feature, const std::string& record, const std::string& rest = "") {
  const auto pipeline = BuildPipeline(ParseJob("features { " + feature + " } " + rest));
  OwnedRow row(pipeline->schema());
  RowScratch scratch;
  const absl::Status status = pipeline->MakeRow(record, {}, &row.slot, &scratch);
  return {status.ok() ? "" : std::string(status.message()), row.memory[0], row.slot.ragged[0], pipeline->schema()};
}

template <typename T>
std::string Ragged(uint32_t count, const std::vector<T>& values) {
  std::string out(reinterpret_cast<const char*>(&count), 4);
  out.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
  return out;
}

std::string RaggedStrings(const std::vector<std::string>& strings) {
  std::vector<uint32_t> lengths;
  for (const std::string& s : strings) lengths.push_back(static_cast<uint32_t>(s.size()));
  std::string out = Ragged(static_cast<uint32_t>(strings.size()), lengths);
  for (const std::string& s : strings) out += s;
  return out;
}

std::string Ints(const std::vector<int64_t>& values) {
  return records::ExampleBuilder().Int64List("k", values).Serialize();
}
std::string Strings(const std::vector<std::string_view>& values) {
  return records::ExampleBuilder().BytesList("k", values).Serialize();
}

TEST(Features, FixedNumbers) {
  EXPECT_EQ(MakeFeature("key: 'k' type: INT64", Ints({-5})).As<int64_t>(), std::vector<int64_t>{-5});
  EXPECT_EQ(MakeFeature("key: 'k' type: INT64 shape: [2, 2]", Ints({1, 2, 3, 4})).As<int64_t>(),
            (std::vector<int64_t>{1, 2, 3, 4}));
  EXPECT_EQ(MakeFeature("key: 'k' type: FLOAT", records::ExampleBuilder().Float("k", 1.5f).Serialize()).As<float>(),
            std::vector<float>{1.5f});
  EXPECT_THAT(MakeFeature("key: 'k' type: INT64 shape: 3", Ints({1, 2})).error,
              HasSubstr("2 values where the shape wants 3"));
  EXPECT_THAT(MakeFeature("key: 'k' type: FLOAT", Ints({1})).error, HasSubstr("\"k\""));
}

TEST(Features, MissingValues) {
  EXPECT_THAT(MakeFeature("key: 'k' type: INT64", "").error, HasSubstr("features[0] (key 'k'): missing"));
  EXPECT_EQ(MakeFeature("key: 'k' type: INT64 default { ints: 9 }", "").As<int64_t>(), std::vector<int64_t>{9});
  EXPECT_EQ(MakeFeature("key: 'k' type: INT64 default { ints: 9 }", Ints({})).As<int64_t>(), std::vector<int64_t>{9});
  EXPECT_EQ(MakeFeature("key: 'k' type: FLOAT shape: 3 default { floats: 0.5 }", "").As<float>(),
            (std::vector<float>{0.5f, 0.5f, 0.5f}));
  EXPECT_EQ(MakeFeature("key: 'k' type: FLOAT shape: 2 default { floats: [1, 2] }", "").As<float>(),
            (std::vector<float>{1, 2}));
  EXPECT_EQ(MakeFeature("key: 'k' type: BYTES default { bytes_values: 'xy' }", "").ragged, RaggedStrings({"xy"}));
  EXPECT_EQ(MakeFeature("key: 'k' type: INT64 variable_length: true", "").ragged, Ragged<int64_t>(0, {}));
  EXPECT_EQ(MakeFeature("key: 'k' type: INT64 variable_length: true default { ints: [4, 5] }", "").ragged,
            Ragged<int64_t>(2, {4, 5}));
}

TEST(Features, StringsAndLists) {
  const MadeFeature scalar = MakeFeature("key: 'k' type: BYTES", Strings({"abc"}));
  EXPECT_EQ(scalar.ragged, RaggedStrings({"abc"}));
  EXPECT_TRUE(scalar.schema.columns[0].scalar);
  EXPECT_THAT(MakeFeature("key: 'k' type: BYTES", Strings({"a", "b"})).error, HasSubstr("2 values"));
  EXPECT_EQ(MakeFeature("key: 'k' type: BYTES variable_length: true", Strings({"a", "", "ccc"})).ragged,
            RaggedStrings({"a", "", "ccc"}));
  EXPECT_EQ(MakeFeature("key: 'k' type: BYTES shape: 2", Strings({"a", "b"})).ragged, RaggedStrings({"a", "b"}));
  EXPECT_THAT(MakeFeature("key: 'k' type: BYTES shape: 2", Strings({"a"})).error, HasSubstr("wants 2"));
  EXPECT_EQ(MakeFeature("key: 'k' type: INT64 variable_length: true shape: 2", Ints({1, 2, 3, 4})).ragged,
            Ragged<int64_t>(2, {1, 2, 3, 4}));
  EXPECT_THAT(MakeFeature("key: 'k' type: INT64 variable_length: true shape: 2", Ints({1, 2, 3})).error,
              HasSubstr("no multiple of 2"));
}

TEST(Features, RawBytesOfAType) {
  const std::string two("\x01\x00\xFF\xFF", 4);
  EXPECT_EQ(MakeFeature("key: 'k' type: BYTES decode_raw: INT16 shape: 2", Strings({two})).As<int16_t>(),
            (std::vector<int16_t>{1, -1}));
  EXPECT_EQ(MakeFeature("key: 'k' type: BYTES decode_raw: INT16 shape: 4", Strings({two, two})).As<int16_t>(),
            (std::vector<int16_t>{1, -1, 1, -1}));
  EXPECT_EQ(MakeFeature("key: 'k' type: BYTES decode_raw: INT16 variable_length: true", Strings({two})).ragged,
            Ragged<int16_t>(2, {1, -1}));
  EXPECT_NE(MakeFeature("key: 'k' type: BYTES decode_raw: INT16 shape: 2", Strings({"abc"})).error, "");
  EXPECT_THAT(MakeFeature("key: 'k' type: BYTES decode_raw: UINT8 shape: 2", Strings({two})).error,
              HasSubstr("4 values"));
}

TEST(Features, RawRecords) {
  const std::string raw = "dataset { format: RAW }";
  EXPECT_EQ(MakeFeature("column: 'x' type: BYTES", "any bytes", raw).ragged, RaggedStrings({"any bytes"}));
  EXPECT_EQ(MakeFeature("column: 'x' type: BYTES decode_raw: UINT8 shape: 3", "abc", raw).As<uint8_t>(),
            (std::vector<uint8_t>{'a', 'b', 'c'}));
  EXPECT_THAT(MakeFeature("column: 'x' type: BYTES decode_raw: INT32 shape: 1", "abc", raw).error,
              HasSubstr("multiple"));
}

TEST(Features, SequenceLists) {
  const std::string format = "dataset { format: SEQUENCE_EXAMPLE }";
  records::SequenceExampleBuilder builder;
  builder.context().Int64("c", 3);
  builder.List("k")
      .Int64Entry(std::vector<int64_t>{1, 2})
      .Int64Entry(std::vector<int64_t>{3, 4})
      .Int64Entry(std::vector<int64_t>{5, 6});
  builder.List("s").BytesEntry(std::vector<std::string_view>{"x"}).BytesEntry(std::vector<std::string_view>{"yy"});
  const std::string record = builder.Serialize();
  EXPECT_EQ(MakeFeature("key: 'c' type: INT64", record, format).As<int64_t>(), std::vector<int64_t>{3});
  EXPECT_EQ(MakeFeature("key: 'k' type: INT64 sequence: true shape: 2", record, format).ragged,
            Ragged<int64_t>(3, {1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(MakeFeature("key: 's' type: BYTES sequence: true", record, format).ragged, RaggedStrings({"x", "yy"}));
  EXPECT_THAT(MakeFeature("key: 'k' type: INT64 sequence: true", record, format).error, HasSubstr("entry 0"));
}

TEST(Features, OpsOnTensorsOfEveryOrigin) {
  const MadeFeature cast =
      MakeFeature("key: 'k' column: 'image' type: INT64 shape: 2", Ints({300, -1}), "ops { cast { to: UINT8 } }");
  EXPECT_EQ(cast.As<uint8_t>(), (std::vector<uint8_t>{255, 0}));
  EXPECT_EQ(cast.schema.columns[0].dtype, batch::DType::kUint8);
  // A raw image is an image.
  const std::string pixels("\x00\x01\x02\x03\x04\x05", 6);
  const MadeFeature flipped = MakeFeature("key: 'k' column: 'image' type: BYTES decode_raw: UINT8 shape: [1, 2, 3]",
                                          Strings({pixels}), "ops { random_horizontal_flip { probability: 1 } }");
  EXPECT_EQ(flipped.As<uint8_t>(), (std::vector<uint8_t>{3, 4, 5, 0, 1, 2}));
}

}  // namespace
}  // namespace penstock::augment
