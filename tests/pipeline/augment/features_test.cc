// Features of every kind, from record to row.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "pipeline/records/example_builder.h"
#include "pipeline/sources/pack_frame.h"
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

TEST(PaddedFeatures, HaveTheirLengthAndTheirPadding) {
  const auto ints = [](const std::string& pad, const std::vector<int64_t>& values) {
    return MakeFeature("key: 'k' type: INT64 variable_length: true pad { " + pad + " }", Ints(values));
  };
  const MadeFeature padded = ints("length: 4 value: -100", {7, 8});
  EXPECT_EQ(padded.As<int64_t>(), (std::vector<int64_t>{7, 8, -100, -100}));
  EXPECT_FALSE(padded.schema.columns[0].ragged);
  EXPECT_EQ(padded.schema.columns[0].shape, std::vector<int64_t>{4});
  EXPECT_EQ(ints("length: 4", {}).As<int64_t>(), (std::vector<int64_t>{0, 0, 0, 0}));
  EXPECT_EQ(ints("length: 2", {7, 8}).As<int64_t>(), (std::vector<int64_t>{7, 8}));
  EXPECT_THAT(
      ints("length: 2", {7, 8, 9}).error,
      HasSubstr("the record holds 3 values, and the column has 2; give a greater pad.length, or pad { truncate"));
  EXPECT_EQ(ints("length: 2 truncate: true", {7, 8, 9}).As<int64_t>(), (std::vector<int64_t>{7, 8}));
  const MadeFeature floats = MakeFeature("key: 'k' type: FLOAT variable_length: true pad { length: 3 value: 0.5 }",
                                         records::ExampleBuilder().FloatList("k", std::vector<float>{2}).Serialize());
  EXPECT_EQ(floats.As<float>(), (std::vector<float>{2, 0.5, 0.5}));
  const MadeFeature raw =
      MakeFeature("key: 'k' type: BYTES decode_raw: UINT16 variable_length: true pad { length: 3 value: 65535 }",
                  Strings({std::string_view("\1\0", 2), std::string_view("\2\0", 2)}));
  EXPECT_EQ(raw.As<uint16_t>(), (std::vector<uint16_t>{1, 2, 65535}));
  // Each element has two numbers.
  const MadeFeature points =
      MakeFeature("key: 'k' type: INT64 variable_length: true shape: 2 pad { length: 2 value: 9 }", Ints({1, 2}));
  EXPECT_EQ(points.As<int64_t>(), (std::vector<int64_t>{1, 2, 9, 9}));
  EXPECT_EQ(points.schema.columns[0].shape, (std::vector<int64_t>{2, 2}));
  EXPECT_THAT(
      MakeFeature("key: 'k' type: INT64 variable_length: true shape: 2 pad { length: 2 }", Ints({1, 2, 3})).error,
      HasSubstr("the record holds 3 values, no multiple of 2, which one element of the column has"));
  const MadeFeature cast = MakeFeature("key: 'k' type: INT64 variable_length: true pad { length: 3 value: 9 }",
                                       Ints({300, 2}), "ops { column: 'k' cast { to: UINT16 } }");
  EXPECT_EQ(cast.As<uint16_t>(), (std::vector<uint16_t>{300, 2, 9}));
}

TEST(PaddedFeatures, KeepTheFirstOrTheLastValuesOfMore) {
  const auto cut = [](const std::string& keep, const std::string& more, const std::vector<int64_t>& values) {
    return MakeFeature("key: 'k' type: INT64 variable_length: true " + more +
                           " pad { length: 2 value: -1 truncate: true keep: " + keep + " }",
                       Ints(values));
  };
  EXPECT_EQ(cut("FIRST", "", {7, 8, 9}).As<int64_t>(), (std::vector<int64_t>{7, 8}));
  EXPECT_EQ(cut("LAST", "", {7, 8, 9}).As<int64_t>(), (std::vector<int64_t>{8, 9}));
  for (const char* keep : {"LAST", "RANDOM"}) {
    EXPECT_EQ(cut(keep, "", {7, 8}).As<int64_t>(), (std::vector<int64_t>{7, 8}));
    EXPECT_EQ(cut(keep, "", {7}).As<int64_t>(), (std::vector<int64_t>{7, -1}));
    EXPECT_EQ(cut(keep, "", {}).As<int64_t>(), (std::vector<int64_t>{-1, -1}));
  }
  // Each element has two numbers.
  EXPECT_EQ(cut("LAST", "shape: 2", {1, 2, 3, 4, 5, 6}).As<int64_t>(), (std::vector<int64_t>{3, 4, 5, 6}));
  const MadeFeature raw = MakeFeature(
      "key: 'k' type: BYTES decode_raw: UINT16 variable_length: true pad { length: 3 truncate: true keep: LAST }",
      Strings({std::string_view("\1\0\2\0", 4), std::string_view("\3\0", 2), std::string_view("\4\0\5\0", 4)}));
  EXPECT_EQ(raw.As<uint16_t>(), (std::vector<uint16_t>{3, 4, 5}));
}

TEST(PaddedFeatures, KeepNeighborsAtAPlaceThatTheRowDraws) {
  const auto pipeline = BuildPipeline(ParseJob(
      "features { key: 'tokens' type: INT64 variable_length: true pad { length: 3 truncate: true keep: RANDOM } } "
      "features { key: 'raw' type: BYTES decode_raw: UINT8 variable_length: true "
      "pad { length: 3 truncate: true keep: RANDOM } }"));
  EXPECT_FALSE(pipeline->IsDeterministic());
  const std::string record = records::ExampleBuilder()
                                 .Int64List("tokens", std::vector<int64_t>{0, 1, 2, 3, 4})
                                 .BytesList("raw", std::vector<std::string_view>{std::string_view("\0\1\2\3\4", 5)})
                                 .Serialize();
  std::map<int64_t, int> times;  // by the first value that stays
  for (uint64_t id = 0; id < 3000; ++id) {
    std::vector<int64_t> before;
    for (int again = 0; again < 2; ++again) {
      OwnedRow row(pipeline->schema());
      RowScratch scratch;
      const absl::Status made = pipeline->MakeRow(record, {.seed = 7, .record_id = id}, &row.slot, &scratch);
      ASSERT_TRUE(made.ok()) << made;
      const std::vector<int64_t> tokens = row.As<int64_t>(0);
      EXPECT_EQ(tokens, (std::vector<int64_t>{tokens[0], tokens[0] + 1, tokens[0] + 2}));
      const std::vector<uint8_t> raw = row.As<uint8_t>(1);
      EXPECT_TRUE(std::equal(tokens.begin(), tokens.end(), raw.begin(), raw.end())) << "columns are cut alike";
      EXPECT_TRUE(again == 0 || tokens == before) << "a draw depends on the key alone";
      before = tokens;
    }
    ++times[before[0]];
  }
  ASSERT_EQ(times.size(), 3u);
  for (const auto& [first, count] : times) EXPECT_NEAR(count, 1000, 130) << first;  // 5 standard deviations
}

TEST(PaddedFeatures, HaveAColumnOfTheNumbersOfValues) {
  const std::string feature =
      "features { key: 'k' type: INT64 variable_length: true shape: 2 pad { length: 2 truncate: true lengths: 'n' } }";
  const auto pipeline = BuildPipeline(ParseJob(feature));
  for (const auto& [values, count] : std::vector<std::pair<std::vector<int64_t>, int32_t>>{
           {{}, 0}, {{1, 2}, 1}, {{1, 2, 3, 4}, 2}, {{1, 2, 3, 4, 5, 6}, 2}}) {
    OwnedRow row(pipeline->schema());
    RowScratch scratch;
    const absl::Status made = pipeline->MakeRow(Ints(values), {}, &row.slot, &scratch);
    ASSERT_TRUE(made.ok()) << made;
    EXPECT_EQ(row.As<int32_t>(1), std::vector<int32_t>{count});
  }
}

std::string MistakesIn(const std::string& job) {
  const auto pipeline = Pipeline::Create(ParseJob(job));
  return pipeline.ok() ? "" : std::string(pipeline.status().message());
}

TEST(PaddedFeatures, MistakesNameTheField) {
  const auto mistakes = [](const std::string& feature) { return MistakesIn("features { key: 'k' " + feature + " }"); };
  const char* const kAny = "variable_length: true ";
  EXPECT_THAT(mistakes(absl::StrCat("type: INT64 ", kAny, "pad { }")), HasSubstr("features[0].pad.length: 0: give"));
  EXPECT_THAT(mistakes("type: INT64 pad { length: 3 }"), HasSubstr("needs numbers with variable_length: true"));
  EXPECT_THAT(mistakes(absl::StrCat("type: BYTES ", kAny, "pad { length: 3 }")), HasSubstr("features[0].pad: needs"));
  EXPECT_THAT(mistakes(absl::StrCat("type: INT64 ", kAny, "pad { length: 3 value: 0.5 }")),
              HasSubstr("features[0].pad: value 0.5 is none of the type int64"));
  EXPECT_THAT(mistakes(absl::StrCat("type: BYTES decode_raw: UINT16 ", kAny, "pad { length: 3 value: -1 }")),
              HasSubstr("value -1 is none of the type uint16"));
  EXPECT_THAT(mistakes(absl::StrCat("type: BYTES decode_raw: BOOL ", kAny, "pad { length: 3 value: 2 }")),
              HasSubstr("value 2 is none of the type bool"));
  EXPECT_THAT(mistakes(absl::StrCat("type: FLOAT ", kAny, "pad { length: 3 value: 1e39 }")),
              HasSubstr("is none of the type float32"));
  EXPECT_THAT(mistakes(absl::StrCat("type: INT64 ", kAny, "pad { length: 3 lengths: 'k' }")),
              HasSubstr("features[0].pad.lengths: there is another column 'k'"));
  EXPECT_THAT(mistakes(absl::StrCat("type: INT64 ", kAny, "pad { length: 3 keep: LAST }")),
              HasSubstr("features[0].pad.keep: it needs truncate: true"));
}

// A packed row of records with these numbers of their values: first, count.
struct PartOfRecord {
  std::string record;
  uint32_t first = 0, count = 0;
};

std::string PackedRow(const std::vector<PartOfRecord>& parts) {
  std::vector<sources::FramedPart> framed;
  std::string records;
  for (const PartOfRecord& part : parts) {
    framed.push_back({static_cast<uint32_t>(10 + framed.size()), part.first, part.count, part.record});
    records += part.record;
  }
  std::string row(sources::PackHeaderBytes(parts.size()), '\0');
  sources::StorePackHeader(framed, row.data());
  return row + records;
}

std::string Text(const std::vector<int64_t>& tokens, const std::string& raw, const std::string& name) {
  return records::ExampleBuilder()
      .Int64List("tokens", tokens)
      .BytesList("raw", std::vector<std::string_view>{raw})
      .BytesList("name", std::vector<std::string_view>{name})
      .Int64List("label", std::vector<int64_t>{static_cast<int64_t>(tokens.size())})
      .Serialize();
}

const std::string kPackedJob =
    "features { key: 'tokens' column: 't' type: INT64 variable_length: true pad { value: -1 } } "
    "features { key: 'raw' type: BYTES decode_raw: UINT8 variable_length: true } "
    "features { key: 'name' type: BYTES variable_length: true } "
    "features { key: 'label' type: INT64 variable_length: true } ";

TEST(PackedFeatures, FollowEachOtherAndHaveTheirPlaces) {
  const auto pipeline =
      BuildPipeline(ParseJob(
          kPackedJob + "dataset { select { pack { length: 6 features: 'tokens' features: 'raw' outputs: SEGMENT_IDS "
                       "outputs: POSITIONS outputs: LENGTHS outputs: RECORDS } } }"));
  const std::vector<std::string> names = {"t",           "raw",       "name",     "label", "t_segment_ids",
                                          "t_positions", "t_lengths", "t_records"};
  ASSERT_EQ(pipeline->schema().columns.size(), names.size());
  for (size_t c = 0; c < names.size(); ++c) EXPECT_EQ(pipeline->schema().columns[c].name, names[c]);
  OwnedRow row(pipeline->schema());
  RowScratch scratch;
  const std::string record = PackedRow({{Text({1, 2, 3}, "abc", "one"), 1, 2}, {Text({7, 8, 9}, "xyz", "two"), 0, 3}});
  for (int again = 0; again < 2; ++again) {
    for (std::string& ragged : row.slot.ragged) ragged.clear();
    const absl::Status made = pipeline->MakeRow(record, {}, &row.slot, &scratch);
    ASSERT_TRUE(made.ok()) << made;
    EXPECT_EQ(row.As<int64_t>(0), (std::vector<int64_t>{2, 3, 7, 8, 9, -1}));
    EXPECT_EQ(row.As<uint8_t>(1), (std::vector<uint8_t>{'b', 'c', 'x', 'y', 'z', 0}));
    EXPECT_EQ(row.slot.ragged[2], RaggedStrings({"one", "two"}));
    EXPECT_EQ(row.slot.ragged[3], Ragged<int64_t>(2, {3, 3}));
    EXPECT_EQ(row.As<int32_t>(4), (std::vector<int32_t>{1, 1, 2, 2, 2, 0}));
    EXPECT_EQ(row.As<int32_t>(5), (std::vector<int32_t>{0, 1, 0, 1, 2, 0}));
    EXPECT_EQ(row.slot.ragged[6], Ragged<int32_t>(2, {2, 3}));
    EXPECT_EQ(row.slot.ragged[7], Ragged<int64_t>(2, {10, 11}));
  }
  EXPECT_GE(pipeline->ScratchBytes(record), size_t{6 * (8 + 1 + 4 + 4)});
}

TEST(PackedFeatures, BeginAtMultiplesOfTheAlignment) {
  const auto pipeline = BuildPipeline(
      ParseJob(kPackedJob +
               "features { key: 'score' type: FLOAT variable_length: true pad { value: 0.5 } } dataset { select "
               "{ pack { length: 8 align: 4 features: 'tokens' features: 'raw' features: 'score' outputs: "
               "SEGMENT_IDS outputs: POSITIONS outputs: LENGTHS } } }"));
  const auto record = [](const std::vector<int64_t>& tokens, const std::string& raw, const std::vector<float>& scores) {
    return records::ExampleBuilder()
        .Int64List("tokens", tokens)
        .BytesList("raw", std::vector<std::string_view>{raw})
        .FloatList("score", scores)
        .Serialize();
  };
  OwnedRow row(pipeline->schema());
  RowScratch scratch;
  const absl::Status made = pipeline->MakeRow(
      PackedRow({{record({1, 2, 3}, "abc", {1, 2, 3}), 1, 2}, {record({7, 8, 9}, "xyz", {7, 8, 9}), 0, 3}}), {},
      &row.slot, &scratch);
  ASSERT_TRUE(made.ok()) << made;
  EXPECT_EQ(row.As<int64_t>(0), (std::vector<int64_t>{2, 3, -1, -1, 7, 8, 9, -1}));
  EXPECT_EQ(row.As<uint8_t>(1), (std::vector<uint8_t>{'b', 'c', 0, 0, 'x', 'y', 'z', 0}));
  EXPECT_EQ(row.As<float>(4), (std::vector<float>{2, 3, 0.5, 0.5, 7, 8, 9, 0.5}));
  EXPECT_EQ(row.As<int32_t>(5), (std::vector<int32_t>{1, 1, 0, 0, 2, 2, 2, 0}));
  EXPECT_EQ(row.As<int32_t>(6), (std::vector<int32_t>{0, 1, 0, 0, 0, 1, 2, 0}));
  EXPECT_EQ(row.slot.ragged[7], Ragged<int32_t>(2, {2, 3}));
  // A part that fills its place has no padding, and one without values has no place.
  const absl::Status full = pipeline->MakeRow(PackedRow({{record({1, 2, 3, 4}, "abcd", {1, 2, 3, 4}), 0, 4},
                                                         {record({}, "", {}), 0, 0},
                                                         {record({7}, "x", {7}), 0, 1}}),
                                              {}, &row.slot, &scratch);
  ASSERT_TRUE(full.ok()) << full;
  EXPECT_EQ(row.As<int64_t>(0), (std::vector<int64_t>{1, 2, 3, 4, 7, -1, -1, -1}));
  EXPECT_EQ(row.As<int32_t>(5), (std::vector<int32_t>{1, 1, 1, 1, 3, 0, 0, 0}));
}

TEST(PackedFeatures, ARecordThatIsShorterThanItsPartFailsTheRow) {
  const auto pipeline =
      BuildPipeline(ParseJob(kPackedJob + "dataset { select { pack { length: 6 features: 'tokens' } } }"));
  OwnedRow row(pipeline->schema());
  RowScratch scratch;
  const absl::Status made = pipeline->MakeRow(
      PackedRow({{Text({1}, "a", "one"), 0, 1}, {Text({7, 8, 9}, "xyz", "two"), 1, 3}}), {}, &row.slot, &scratch);
  EXPECT_THAT(std::string(made.message()), HasSubstr("packed record 11: features[0] (key 'tokens'): it has fewer"));
  const absl::Status other = pipeline->MakeRow(Text({1}, "a", "one"), {}, &row.slot, &scratch);
  EXPECT_THAT(std::string(other.message()), HasSubstr("the bytes are no row of packed records"));
}

TEST(PackedFeatures, MistakesNameTheField) {
  const auto mistakes = [](const std::string& features, const std::string& pack) {
    return MistakesIn(features + "dataset { select { pack { length: 8 " + pack + " } } }");
  };
  EXPECT_EQ(mistakes(kPackedJob, "features: 'tokens'"), "");
  EXPECT_THAT(mistakes(kPackedJob, "features: 'token'"),
              HasSubstr("dataset.select.pack.features: 'token' is the key of no entry of `features`"));
  EXPECT_THAT(mistakes(kPackedJob, "features: 'tokens' features: 'tokens'"), HasSubstr("'tokens' is there twice"));
  EXPECT_THAT(mistakes("features { key: 't' type: INT64 variable_length: true default { ints: 1 } } ", "features: 't'"),
              HasSubstr("features[0].default: a packed record without the feature has no values; leave it out"));
  EXPECT_THAT(mistakes(kPackedJob, "features: 'name'"),
              HasSubstr("features[2]: it is packed, which needs numbers with variable_length: true"));
  EXPECT_THAT(mistakes(kPackedJob + "features { key: 'x' type: INT64 } ", "features: 'tokens'"),
              HasSubstr("features[4]: 'x' has a value for each packed record; write variable_length: true"));
  EXPECT_THAT(mistakes("features { key: 't' type: INT64 variable_length: true pad { length: 7 } } ", "features: 't'"),
              HasSubstr("features[0].pad: the feature is packed; give only a value"));
  EXPECT_THAT(mistakes("features { key: 't' type: INT64 variable_length: true shape: 2 } ", "features: 't'"),
              HasSubstr("features[0].shape: a packed feature has single numbers"));
  EXPECT_THAT(mistakes(kPackedJob + "features { key: 'y' column: 't_positions' type: INT64 variable_length: true } ",
                       "features: 'tokens'"),
              HasSubstr("dataset.select.pack.outputs: there is another column 't_positions'"));
  EXPECT_THAT(MistakesIn(kPackedJob + "annotations { boxes { } } "
                                      "dataset { select { pack { length: 8 features: 'tokens' } } }"),
              HasSubstr("boxes and masks do not work with a pack"));
}

const std::string kWindowJob =
    "features { key: 'label' column: 'l' type: INT64 } "
    "features { key: 'raw' type: BYTES decode_raw: UINT8 shape: [3] } "
    "features { key: 'name' type: BYTES } "
    "features { key: 'tokens' type: INT64 variable_length: true } "
    "features { key: 'loss' type: FLOAT default { floats: 0.5 } } "
    "dataset { select { window { size: 2 records: 'numbers' } } }";

TEST(WindowFeatures, HaveADimensionForTheRecords) {
  const auto pipeline = BuildPipeline(ParseJob(kWindowJob));
  const auto& columns = pipeline->schema().columns;
  ASSERT_EQ(columns.size(), 6u);
  EXPECT_EQ(columns[0].shape, (std::vector<int64_t>{2}));
  EXPECT_EQ(columns[1].shape, (std::vector<int64_t>{2, 3}));
  EXPECT_FALSE(columns[2].scalar);
  EXPECT_EQ(columns[5].name, "numbers");
  EXPECT_EQ(columns[5].shape, (std::vector<int64_t>{2}));
  EXPECT_EQ(columns[5].dtype, batch::DType::kInt64);
  OwnedRow row(pipeline->schema());
  RowScratch scratch;
  const std::string record = PackedRow({{Text({1, 2, 3}, "abc", "one")}, {Text({7, 8}, "xyz", "two")}});
  for (int again = 0; again < 2; ++again) {
    for (std::string& ragged : row.slot.ragged) ragged.clear();
    const absl::Status made = pipeline->MakeRow(record, {}, &row.slot, &scratch);
    ASSERT_TRUE(made.ok()) << made;
    EXPECT_EQ(row.As<int64_t>(0), (std::vector<int64_t>{3, 2}));
    EXPECT_EQ(row.As<uint8_t>(1), (std::vector<uint8_t>{'a', 'b', 'c', 'x', 'y', 'z'}));
    EXPECT_EQ(row.slot.ragged[2], RaggedStrings({"one", "two"}));
    EXPECT_EQ(row.slot.ragged[3], Ragged<int64_t>(5, {1, 2, 3, 7, 8}));
    EXPECT_EQ(row.As<float>(4), (std::vector<float>{0.5, 0.5}));
    EXPECT_EQ(row.As<int64_t>(5), (std::vector<int64_t>{10, 11}));
  }
}

TEST(WindowFeatures, ADefaultStandsForTheFeatureOfOneRecord) {
  const auto pipeline = BuildPipeline(
      ParseJob("features { key: 'label' type: INT64 default { ints: -1 } } "
               "features { key: 'raw' type: BYTES decode_raw: UINT8 shape: [2] default { bytes_values: 'dd' } } "
               "features { key: 'name' type: BYTES default { bytes_values: 'none' } } "
               "features { key: 'tokens' type: INT64 variable_length: true default { ints: 9 } } "
               "dataset { select { window { size: 3 } } }"));
  OwnedRow row(pipeline->schema());
  RowScratch scratch;
  const std::string empty = records::ExampleBuilder().Serialize();
  const std::string record = PackedRow({{Text({4}, "ab", "one")}, {empty}, {Text({5, 6}, "cd", "two")}});
  const absl::Status made = pipeline->MakeRow(record, {}, &row.slot, &scratch);
  ASSERT_TRUE(made.ok()) << made;
  EXPECT_EQ(row.As<int64_t>(0), (std::vector<int64_t>{1, -1, 2}));
  EXPECT_EQ(row.As<uint8_t>(1), (std::vector<uint8_t>{'a', 'b', 'd', 'd', 'c', 'd'}));
  EXPECT_EQ(row.slot.ragged[2], RaggedStrings({"one", "none", "two"}));
  EXPECT_EQ(row.slot.ragged[3], Ragged<int64_t>(4, {4, 9, 5, 6}));
  EXPECT_GE(pipeline->ScratchBytes(PackedRow({{empty}, {empty}, {empty}})), size_t{3 * (8 + 2)});
}

// Each record alone is bad, and together they fill the shape.
TEST(WindowFeatures, RecordsDoNotCompleteTheElementsOfOthers) {
  const auto pipeline =
      BuildPipeline(ParseJob("features { key: 'tokens' type: INT64 variable_length: true shape: [2] } "
                             "dataset { select { window { size: 2 } } }"));
  OwnedRow row(pipeline->schema());
  RowScratch scratch;
  const auto made = [&](const std::vector<int64_t>& first, const std::vector<int64_t>& second) {
    for (std::string& ragged : row.slot.ragged) ragged.clear();
    return pipeline->MakeRow(PackedRow({{Text(first, "", "")}, {Text(second, "", "")}}), {}, &row.slot, &scratch);
  };
  EXPECT_TRUE(made({1, 2, 3, 4}, {5, 6}).ok());
  EXPECT_TRUE(made({1, 2}, {}).ok());
  EXPECT_THAT(std::string(made({1, 2, 3}, {4}).message()),
              HasSubstr("it has 3 values, and each record of a window has a multiple of 2"));
}

TEST(WindowFeatures, ADefaultForEachRecordHasALimit) {
  const auto errors_of = [](uint64_t size) {
    return CheckPipeline(
        ParseJob("features { key: 'tokens' type: INT64 variable_length: true default { ints: [1, 2] } } "
                 "dataset { select { window { size: " +
                 std::to_string(size) + " } } }"));
  };
  EXPECT_TRUE(errors_of(1 << 10).empty());
  EXPECT_TRUE(errors_of(1 << 20).empty());  // 16 MiB
  const std::vector<std::string> errors =
      CheckPipeline(ParseJob("features { key: 'name' type: BYTES variable_length: true default { bytes_values: '" +
                             std::string(100, 'a') + "' } } dataset { select { window { size: 1048576 } } }"));
  EXPECT_THAT(absl::StrJoin(errors, "\n"),
              HasSubstr("features[0].default: it has 100 bytes, and a window of 1048576 records may need it"));
}

TEST(WindowFeatures, ARecordOfAnotherShapeFailsTheRow) {
  const auto pipeline = BuildPipeline(ParseJob(kWindowJob));
  OwnedRow row(pipeline->schema());
  RowScratch scratch;
  const auto error = [&](const std::string& second) {
    const absl::Status made =
        pipeline->MakeRow(PackedRow({{Text({1}, "abc", "one")}, {second}}), {}, &row.slot, &scratch);
    return std::string(made.message());
  };
  EXPECT_THAT(error(Text({1}, "ab", "two")),
              HasSubstr("record 11: features[1] (key 'raw'): it has 2 values, and each"));
  EXPECT_THAT(error(records::ExampleBuilder().Int64("label", 1).Serialize()),
              HasSubstr("record 11: features[1] (key 'raw'): missing or empty in the record"));
  EXPECT_THAT(error("no Example"), HasSubstr("record 11"));
}

TEST(WindowFeatures, MistakesNameTheField) {
  const auto mistakes = [](const std::string& features) {
    return MistakesIn(features + "dataset { select { window { size: 8 records: 'numbers' } } }");
  };
  EXPECT_EQ(mistakes("features { key: 'x' type: INT64 } "), "");
  EXPECT_THAT(mistakes("features { key: 'x' type: INT64 variable_length: true pad { length: 3 } } "),
              HasSubstr("features[0].pad: it does not work with dataset.select.window"));
  EXPECT_THAT(mistakes("features { key: 'numbers' type: INT64 } "),
              HasSubstr("dataset.select.window.records: there is another column 'numbers'"));
  EXPECT_THAT(mistakes("features { key: 'image' type: BYTES } annotations { boxes {} } "),
              HasSubstr("boxes and masks do not work with a window of records"));
  EXPECT_THAT(mistakes("features { key: 'image' type: BYTES } ops { decode_image {} } "), HasSubstr("ops[0]"));
}

}  // namespace
}  // namespace penstock::augment
