// Compares shards written by TensorFlow with TensorFlow's own reading of them (manifest.json). Without those shards
// there is nothing to compare.
#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <map>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "base/file.h"
#include "pipeline/records/example_parser.h"
#include "pipeline/sources/index_builder.h"
#include "pipeline/sources/shard_reader.h"
#include "pipeline/sources/verify.h"
#include "tests/pipeline/image/reference.h"

namespace penstock::sources {
namespace {

using google::protobuf::Struct;
using JsonValue = google::protobuf::Value;

std::string Folder() {
  const char* folder = std::getenv("PENSTOCK_REFERENCE_DATA");
  return std::string(folder != nullptr ? folder : "") + "/tfrecord/";
}

const Struct& Manifest() {
  static const auto* const manifest = [] {
    auto* parsed = new Struct();
    auto text = ReadWholeFile(Folder() + "manifest.json");
    EXPECT_TRUE(text.ok()) << text.status();
    if (text.ok()) {
      EXPECT_TRUE(google::protobuf::util::JsonStringToMessage(*text, parsed).ok());
    }
    return parsed;
  }();
  return *manifest;
}

const Struct& Of(const std::string& file) { return Manifest().fields().at(file).struct_value(); }

std::string Hex(std::string_view bytes) {
  return absl::BytesToHexString(absl::string_view(bytes.data(), bytes.size()));
}

std::unique_ptr<ShardReader> Open(const std::string& name) {
  auto file = OpenFile(Folder() + name);
  EXPECT_TRUE(file.ok()) << file.status();
  auto index = BuildShardIndex(**file, {.restart_spacing = 64 << 10});
  EXPECT_TRUE(index.ok()) << index.status();
  auto reader = ShardReader::Open(std::move(*file), std::make_shared<const ShardIndex>(*std::move(index)));
  EXPECT_TRUE(reader.ok()) << reader.status();
  return *std::move(reader);
}

TEST(TensorFlowShards, EveryRecordHasItsBytesAndSha256) {
  int shards = 0, records = 0;
  for (const auto& [name, value] : Manifest().fields()) {
    const auto& fields = value.struct_value().fields();
    const auto listed = fields.find("records");
    if (listed == fields.end()) continue;
    ++shards;
    SCOPED_TRACE(name);
    const auto reader = Open(name);
    EXPECT_EQ(CompressionName(reader->index().kind().compression), fields.at("compression").string_value());
    const auto& expected = listed->second.list_value().values();
    ASSERT_EQ(reader->index().record_count(), static_cast<uint64_t>(expected.size()));
    std::string record;
    for (int k = expected.size(); k-- > 0;) {  // backwards, so that no read profits from an earlier one
      ASSERT_TRUE(reader->ReadRecord(static_cast<uint64_t>(k), &record).ok()) << k;
      const auto& want = expected[k].struct_value().fields();
      ASSERT_EQ(static_cast<double>(record.size()), want.at("bytes").number_value()) << k;
      ASSERT_EQ(image::Sha256(record), want.at("sha256").string_value()) << k;
      ++records;
    }
    auto report = VerifyShard(**OpenFile(Folder() + name));
    ASSERT_TRUE(report.ok());
    EXPECT_TRUE(report->ok()) << report->Describe(0);
  }
  EXPECT_EQ(shards, 10);
  EXPECT_GT(records, 20'000);
}

TEST(TensorFlowShards, TheSameRecordsHaveTheSameContentHash) {
  const uint64_t hash = Open("sizes.tfrecord")->index().content_hash;
  EXPECT_EQ(Open("sizes.gzip.tfrecord")->index().content_hash, hash);
  EXPECT_EQ(Open("sizes.zlib.tfrecord")->index().content_hash, hash);
}

TEST(TensorFlowShards, BrokenFilesGiveExactlyTheirReadableRecords) {
  int shards = 0;
  for (const auto& [name, value] : Manifest().fields()) {
    const auto& fields = value.struct_value().fields();
    const auto readable = fields.find("readable_records");
    if (readable == fields.end()) continue;
    ++shards;
    SCOPED_TRACE(name);
    auto file = OpenFile(Folder() + name);
    ASSERT_TRUE(file.ok());
    auto report = VerifyShard(**file);
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_FALSE(report->ok());
    EXPECT_FALSE(report->Describe(0).empty());
    const absl::Status index = BuildShardIndex(**file, {.verify_data = true}).status();
    EXPECT_TRUE(absl::IsDataLoss(index)) << index;
    EXPECT_NE(std::string(index.message()).find(name), std::string::npos) << index;
    if (readable->second.kind_case() == JsonValue::kNullValue) continue;  // the manifest leaves it open
    std::vector<uint64_t> expected;
    for (const JsonValue& k : readable->second.list_value().values()) {
      expected.push_back(static_cast<uint64_t>(k.number_value()));
    }
    EXPECT_EQ(report->ReadableRecords(), expected);
  }
  EXPECT_EQ(shards, 8);
}

TEST(TensorFlowShards, ABadDataCrcLeavesTheOtherRecordsReadable) {
  const auto good = Open("good10.tfrecord");
  const auto bad = Open("bad_data_crc.tfrecord");
  ASSERT_EQ(bad->index().record_count(), 10u);
  std::string expected, record;
  for (uint64_t k = 0; k < 10; ++k) {
    ASSERT_TRUE(good->ReadRecord(k, &expected).ok());
    const absl::Status status = bad->ReadRecord(k, &record);
    EXPECT_EQ(status.ok(), k != 4) << status;
    if (status.ok()) {
      EXPECT_EQ(record, expected);
    }
  }
}

TEST(TensorFlowShards, ATruncatedGzipGivesTheRecordsBeforeTheCut) {
  auto report = VerifyShard(**OpenFile(Folder() + "truncated.gzip.tfrecord"));
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->kind.compression, Compression::kGzip);
  EXPECT_GT(report->readable_records, 10u);
  EXPECT_LT(report->readable_records, 15u);
}

template <typename T>
std::string BitsOf(const std::vector<T>& values) {
  return Hex({reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)});
}

// Appends the elements of a JSON list of (lists of) numbers.
void Flatten(const JsonValue& value, std::vector<double>* out) {
  if (value.kind_case() == JsonValue::kListValue) {
    for (const JsonValue& inner : value.list_value().values()) Flatten(inner, out);
  } else {
    out->push_back(value.number_value());
  }
}
std::vector<double> Numbers(const JsonValue& value) {
  std::vector<double> numbers;
  Flatten(value, &numbers);
  return numbers;
}
template <typename T>
std::vector<double> AsDoubles(const std::vector<T>& values) {
  return std::vector<double>(values.begin(), values.end());
}

TEST(TensorFlowShards, EveryFeatureParsesAsTensorFlowParsesIt) {
  auto parser =
      records::ExampleParser::Create({{.key = "b", .kind = records::FeatureKind::kBytes},
                                      {.key = "i", .kind = records::FeatureKind::kInt64},
                                      {.key = "f", .kind = records::FeatureKind::kFloat},
                                      {.key = "fix", .kind = records::FeatureKind::kFloat},
                                      {.key = "vi", .kind = records::FeatureKind::kInt64},
                                      {.key = "vf", .kind = records::FeatureKind::kFloat},
                                      {.key = "vb", .kind = records::FeatureKind::kBytes},
                                      {.key = "raw", .kind = records::FeatureKind::kBytes, .element_bytes = 2}});
  ASSERT_TRUE(parser.ok());
  const auto reader = Open("features.tfrecord");
  const auto& expected = Of("features.tfrecord").fields().at("parsed").list_value().values();
  ASSERT_EQ(expected.size(), 6);
  std::string record;
  records::ParsedExample parsed;
  for (int k = 0; k < expected.size(); ++k) {
    SCOPED_TRACE(k);
    ASSERT_TRUE(reader->ReadRecord(static_cast<uint64_t>(k), &record).ok());
    const absl::Status status = parser->Parse(record, &parsed);
    ASSERT_TRUE(status.ok()) << status;
    const auto& want = expected[k].struct_value().fields();
    ASSERT_EQ(parsed[0].bytes.size(), 1u);
    EXPECT_EQ(Hex(parsed[0].bytes[0]), want.at("b").string_value());
    int64_t i = 0;
    ASSERT_TRUE(absl::SimpleAtoi(want.at("i").string_value(), &i));
    EXPECT_EQ(parsed[1].ints, (std::vector<int64_t>{i}));
    EXPECT_EQ(BitsOf(parsed[2].floats), want.at("f_bits").string_value());
    // Where TensorFlow used its default (nines and zeros), the key is missing here.
    const std::vector<double> fix = Numbers(want.at("fix"));
    EXPECT_EQ(parsed[3].missing, k != 4);
    EXPECT_EQ(parsed[3].missing ? std::vector<double>(6, 9.0) : AsDoubles(parsed[3].floats), fix);
    EXPECT_EQ(AsDoubles(parsed[4].ints), Numbers(want.at("vi")));
    EXPECT_EQ(BitsOf(parsed[5].floats), want.at("vf_bits").string_value());
    const auto& vb = want.at("vb").list_value().values();
    ASSERT_EQ(parsed[6].bytes.size(), static_cast<size_t>(vb.size()));
    for (int j = 0; j < vb.size(); ++j) {
      EXPECT_EQ(Hex(parsed[6].bytes[static_cast<size_t>(j)]), vb[j].string_value());
    }
    std::vector<int16_t> raw(12, 0);
    if (!parsed[7].missing) {
      ASSERT_EQ(parsed[7].bytes.at(0).size(), 24u);
      std::memcpy(raw.data(), parsed[7].bytes[0].data(), 24);
    }
    EXPECT_EQ(AsDoubles(raw), Numbers(want.at("raw_int16")));
  }
}

TEST(TensorFlowShards, UnpackedAndDuplicateKeysParseAsTensorFlowParsesThem) {
  auto parser = records::ExampleParser::Create(
      {{.key = "i", .kind = records::FeatureKind::kInt64}, {.key = "f", .kind = records::FeatureKind::kFloat}});
  ASSERT_TRUE(parser.ok());
  for (const char* name : {"unpacked.tfrecord", "duplicate_key.tfrecord"}) {
    std::string record;
    ASSERT_TRUE(Open(name)->ReadRecord(0, &record).ok());
    records::ParsedExample parsed;
    ASSERT_TRUE(parser->Parse(record, &parsed).ok());
    const auto& want = Of(name).fields().at("parsed").list_value().values(0).struct_value().fields();
    EXPECT_EQ(AsDoubles(parsed[0].ints), Numbers(want.at("i")));
    if (want.contains("f")) {
      EXPECT_EQ(AsDoubles(parsed[1].floats), Numbers(want.at("f")));
    } else {
      EXPECT_TRUE(parsed[1].missing);
    }
  }
}

TEST(TensorFlowShards, SequenceExamplesParseAsTensorFlowParsesThem) {
  auto parser = records::ExampleParser::Create({{.key = "id", .kind = records::FeatureKind::kInt64},
                                                {.key = "t", .kind = records::FeatureKind::kFloat, .sequence = true}},
                                               {.format = records::RecordFormat::kSequenceExample});
  ASSERT_TRUE(parser.ok());
  std::string record;
  ASSERT_TRUE(Open("sequence.tfrecord")->ReadRecord(0, &record).ok());
  EXPECT_EQ(*records::GuessFormat(record), records::RecordFormat::kSequenceExample);
  records::ParsedExample parsed;
  ASSERT_TRUE(parser->Parse(record, &parsed).ok());
  const auto& want = Of("sequence.tfrecord").fields().at("parsed").list_value().values(0).struct_value().fields();
  EXPECT_EQ(AsDoubles(parsed[0].ints), Numbers(want.at("context.id")));
  EXPECT_EQ(AsDoubles(parsed[1].floats), Numbers(want.at("t")));
  EXPECT_EQ(parsed[1].splits, (std::vector<uint32_t>{0, 2, 4, 6}));
}

}  // namespace
}  // namespace penstock::sources
