// Compares the parser with protobuf on generated messages with every oddity that the wire allows.
#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/dynamic_message.h>
#include <google/protobuf/stubs/logging.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "base/philox.h"
#include "base/wire.h"
#include "pipeline/records/example_parser.h"

namespace penstock::records {
namespace {

namespace pb = google::protobuf;

// tensorflow/core/example/{feature,example}.proto as a descriptor. The maps have protobuf's own definition: a repeated
// entry message, in which the last entry of a key counts. proto2, so that keys need not be UTF-8.
constexpr char kSchema[] = R"pb(
  name: "example.proto"
  syntax: "proto2"
  package: "t"
  message_type {
    name: "BytesList"
    field { name: "value" number: 1 label: LABEL_REPEATED type: TYPE_BYTES }
  }
  message_type {
    name: "FloatList"
    field { name: "value" number: 1 label: LABEL_REPEATED type: TYPE_FLOAT }
  }
  message_type {
    name: "Int64List"
    field { name: "value" number: 1 label: LABEL_REPEATED type: TYPE_INT64 }
  }
  message_type {
    name: "Feature"
    oneof_decl { name: "kind" }
    field {
      name: "bytes_list"
      number: 1
      label: LABEL_OPTIONAL
      type: TYPE_MESSAGE
      type_name: ".t.BytesList"
      oneof_index: 0
    }
    field {
      name: "float_list"
      number: 2
      label: LABEL_OPTIONAL
      type: TYPE_MESSAGE
      type_name: ".t.FloatList"
      oneof_index: 0
    }
    field {
      name: "int64_list"
      number: 3
      label: LABEL_OPTIONAL
      type: TYPE_MESSAGE
      type_name: ".t.Int64List"
      oneof_index: 0
    }
  }
  message_type {
    name: "FeatureList"
    field { name: "feature" number: 1 label: LABEL_REPEATED type: TYPE_MESSAGE type_name: ".t.Feature" }
  }
  message_type {
    name: "Features"
    nested_type {
      name: "FeatureEntry"
      options { map_entry: true }
      field { name: "key" number: 1 label: LABEL_OPTIONAL type: TYPE_STRING }
      field { name: "value" number: 2 label: LABEL_OPTIONAL type: TYPE_MESSAGE type_name: ".t.Feature" }
    }
    field { name: "feature" number: 1 label: LABEL_REPEATED type: TYPE_MESSAGE type_name: ".t.Features.FeatureEntry" }
  }
  message_type {
    name: "FeatureLists"
    nested_type {
      name: "FeatureListEntry"
      options { map_entry: true }
      field { name: "key" number: 1 label: LABEL_OPTIONAL type: TYPE_STRING }
      field { name: "value" number: 2 label: LABEL_OPTIONAL type: TYPE_MESSAGE type_name: ".t.FeatureList" }
    }
    field {
      name: "feature_list"
      number: 1
      label: LABEL_REPEATED
      type: TYPE_MESSAGE
      type_name: ".t.FeatureLists.FeatureListEntry"
    }
  }
  message_type {
    name: "SequenceExample"
    field { name: "context" number: 1 label: LABEL_OPTIONAL type: TYPE_MESSAGE type_name: ".t.Features" }
    field { name: "feature_lists" number: 2 label: LABEL_OPTIONAL type: TYPE_MESSAGE type_name: ".t.FeatureLists" }
  }
)pb";

// The content of one Feature in a form that can be compared.
struct Held {
  FeatureKind kind = FeatureKind::kNone;
  std::vector<std::string> bytes;
  std::vector<float> floats;
  std::vector<int64_t> ints;
  bool operator==(const Held&) const = default;
};

class Judge {
 public:
  Judge() {
    pb::FileDescriptorProto schema;
    EXPECT_TRUE(pb::TextFormat::ParseFromString(kSchema, &schema));
    file_ = pool_.BuildFile(schema);
    EXPECT_NE(file_, nullptr);
  }

  // Returns false if protobuf rejects the bytes.
  bool Parse(const std::string& record, std::map<std::string, Held>* context,
             std::map<std::string, std::vector<Held>>* lists) {
    std::unique_ptr<pb::Message> message(factory_.GetPrototype(file_->FindMessageTypeByName("SequenceExample"))->New());
    if (!message->ParseFromString(record)) return false;
    context->clear();
    lists->clear();
    for (const pb::Message* entry : Entries(*message, "context", "feature")) {
      (*context)[Key(*entry)] = Feature(Child(*entry, "value"));
    }
    for (const pb::Message* entry : Entries(*message, "feature_lists", "feature_list")) {
      std::vector<Held>& list = (*lists)[Key(*entry)];
      list.clear();
      const pb::Message& value = Child(*entry, "value");
      const pb::FieldDescriptor* field = Field(value, "feature");
      for (int i = 0; i < value.GetReflection()->FieldSize(value, field); ++i) {
        list.push_back(Feature(value.GetReflection()->GetRepeatedMessage(value, field, i)));
      }
    }
    return true;
  }

 private:
  static const pb::FieldDescriptor* Field(const pb::Message& message, const char* name) {
    return message.GetDescriptor()->FindFieldByName(name);
  }
  static const pb::Message& Child(const pb::Message& message, const char* name) {
    return message.GetReflection()->GetMessage(message, Field(message, name));
  }
  static std::string Key(const pb::Message& entry) {
    return entry.GetReflection()->GetString(entry, Field(entry, "key"));
  }
  static std::vector<const pb::Message*> Entries(const pb::Message& message, const char* name, const char* map) {
    const pb::Message& features = Child(message, name);
    const pb::FieldDescriptor* field = Field(features, map);
    std::vector<const pb::Message*> entries;
    for (int i = 0; i < features.GetReflection()->FieldSize(features, field); ++i) {
      entries.push_back(&features.GetReflection()->GetRepeatedMessage(features, field, i));
    }
    return entries;
  }
  static Held Feature(const pb::Message& feature) {
    Held held;
    const pb::Reflection* reflection = feature.GetReflection();
    const pb::FieldDescriptor* kind =
        reflection->GetOneofFieldDescriptor(feature, feature.GetDescriptor()->FindOneofByName("kind"));
    if (kind == nullptr) return held;
    held.kind = static_cast<FeatureKind>(kind->number());
    const pb::Message& list = reflection->GetMessage(feature, kind);
    const pb::FieldDescriptor* value = Field(list, "value");
    const pb::Reflection* of_list = list.GetReflection();
    for (int i = 0; i < of_list->FieldSize(list, value); ++i) {
      if (held.kind == FeatureKind::kBytes) held.bytes.push_back(of_list->GetRepeatedString(list, value, i));
      if (held.kind == FeatureKind::kFloat) held.floats.push_back(of_list->GetRepeatedFloat(list, value, i));
      if (held.kind == FeatureKind::kInt64) held.ints.push_back(of_list->GetRepeatedInt64(list, value, i));
    }
    return held;
  }

  pb::DescriptorPool pool_;
  pb::DynamicMessageFactory factory_{&pool_};
  const pb::FileDescriptor* file_ = nullptr;
};

// Writes random messages: repeated pieces, mixed kinds, unknown fields in between, fields of the wrong wire type.
class Generator {
 public:
  explicit Generator(uint64_t seed) : random_(seed, 1, 0) {}

  std::string Record() {
    std::string out;
    for (uint32_t n = random_.Below(4); n > 0; --n) {
      MaybeUnknown(&out);
      const bool lists = random_.Chance(0.5);
      AppendLengthPrefixed(lists ? 2 : 1, Map(lists), &out);
    }
    MaybeUnknown(&out);
    return out;
  }

  uint32_t Below(uint32_t n) { return random_.Below(n); }

 private:
  void MaybeUnknown(std::string* out) {
    if (!random_.Chance(0.15)) return;
    const uint32_t field = 1 + random_.Below(20);
    switch (random_.Below(4)) {
      case 0:
        AppendTag(field + 8, WireType::kVarint, out);
        AppendVarint(random_.Next32(), out);
        return;
      case 1:
        AppendTag(field, WireType::kFixed64, out);
        out->append("12345678");
        return;
      case 2:
        AppendTag(field, WireType::kStartGroup, out);
        MaybeUnknown(out);
        AppendTag(field, WireType::kEndGroup, out);
        return;
      default:
        AppendLengthPrefixed(field + 8, "unknown", out);
    }
  }

  std::string Map(bool lists) {
    std::string map;
    for (uint32_t n = random_.Below(5); n > 0; --n) {
      MaybeUnknown(&map);
      std::string entry;
      for (uint32_t parts = 1 + random_.Below(3); parts > 0; --parts) {
        MaybeUnknown(&entry);
        if (random_.Chance(0.5)) AppendLengthPrefixed(1, std::string(1, "abc"[random_.Below(3)]), &entry);
        if (random_.Chance(0.7)) AppendLengthPrefixed(2, lists ? List() : Feature(), &entry);
      }
      AppendLengthPrefixed(1, entry, &map);
    }
    return map;
  }

  std::string List() {
    std::string list;
    for (uint32_t n = random_.Below(4); n > 0; --n) {
      MaybeUnknown(&list);
      AppendLengthPrefixed(1, Feature(), &list);
    }
    return list;
  }

  std::string Feature() {
    std::string feature;
    for (uint32_t n = random_.Below(4) * random_.Below(2) + random_.Below(2); n > 0; --n) {
      MaybeUnknown(&feature);
      const uint32_t kind = 1 + random_.Below(3);
      AppendLengthPrefixed(kind, Values(kind), &feature);
    }
    return feature;
  }

  std::string Values(uint32_t kind) {
    std::string list;
    for (uint32_t n = random_.Below(4); n > 0; --n) {
      MaybeUnknown(&list);
      if (kind == 1) {
        AppendLengthPrefixed(1, std::string(random_.Below(5), 'v'), &list);
      } else if (random_.Chance(0.5)) {
        std::string packed;
        for (uint32_t k = random_.Below(4); k > 0; --k) Number(kind, &packed);
        AppendLengthPrefixed(1, packed, &list);
      } else {
        AppendTag(1, kind == 2 ? WireType::kFixed32 : WireType::kVarint, &list);
        Number(kind, &list);
      }
    }
    return list;
  }

  void Number(uint32_t kind, std::string* out) {
    if (kind == 2) {
      const float value = static_cast<float>(random_.Below(1000)) / 8;
      out->append(reinterpret_cast<const char*>(&value), sizeof(value));
    } else {
      AppendVarint((uint64_t{random_.Next32()} << 32 | random_.Next32()) >> random_.Below(64), out);
    }
  }

  SampleRandom random_;
};

Held Of(const FeatureValue& value, FeatureKind kind, size_t begin, size_t end) {
  Held held{.kind = kind, .bytes = {}, .floats = {}, .ints = {}};
  for (size_t i = begin; i < end; ++i) {
    if (kind == FeatureKind::kBytes) held.bytes.emplace_back(value.bytes[i]);
    if (kind == FeatureKind::kFloat) held.floats.push_back(value.floats[i]);
    if (kind == FeatureKind::kInt64) held.ints.push_back(value.ints[i]);
  }
  return held;
}

// Compares the parser's result for one request with protobuf's.
void Compare(const std::string& record, const FeatureRequest& request, const std::map<std::string, Held>& context,
             const std::map<std::string, std::vector<Held>>& lists) {
  auto parser = ExampleParser::Create({request}, {.format = RecordFormat::kSequenceExample});
  ASSERT_TRUE(parser.ok());
  ParsedExample parsed;
  const absl::Status status = parser->Parse(record, &parsed);
  if (!request.sequence) {
    const auto it = context.find(request.key);
    const Held held = it == context.end() ? Held() : it->second;
    if (held.kind != FeatureKind::kNone && held.kind != request.kind) {
      ASSERT_FALSE(status.ok());
      return;
    }
    ASSERT_TRUE(status.ok()) << status;
    ASSERT_EQ(parsed[0].missing, held.kind == FeatureKind::kNone);
    if (parsed[0].missing) {
      ASSERT_EQ(parsed[0].count(), 0u);
    } else {
      ASSERT_EQ(Of(parsed[0], request.kind, 0, parsed[0].count()), held);
    }
    return;
  }
  const auto it = lists.find(request.key);
  if (it == lists.end()) {
    ASSERT_TRUE(status.ok()) << status;
    ASSERT_TRUE(parsed[0].missing);
    return;
  }
  for (const Held& held : it->second) {
    if (held.kind != FeatureKind::kNone && held.kind != request.kind) {
      ASSERT_FALSE(status.ok());
      return;
    }
  }
  ASSERT_TRUE(status.ok()) << status;
  ASSERT_FALSE(parsed[0].missing);
  ASSERT_EQ(parsed[0].splits.size(), it->second.size() + 1);
  for (size_t i = 0; i < it->second.size(); ++i) {
    Held expected = it->second[i];
    expected.kind = request.kind;  // an entry without a kind counts as an entry without values
    ASSERT_EQ(Of(parsed[0], request.kind, parsed[0].splits[i], parsed[0].splits[i + 1]), expected);
  }
}

TEST(ExampleParser, AgreesWithProtobufOnEveryOddMessage) {
  Judge judge;
  std::map<std::string, Held> context;
  std::map<std::string, std::vector<Held>> lists;
  for (uint64_t seed = 0; seed < 4000; ++seed) {
    SCOPED_TRACE(seed);
    const std::string record = Generator(seed).Record();
    ASSERT_TRUE(judge.Parse(record, &context, &lists));
    for (const char* key : {"a", "b", "c", ""}) {
      for (const FeatureKind kind : {FeatureKind::kBytes, FeatureKind::kFloat, FeatureKind::kInt64}) {
        for (const bool sequence : {false, true}) {
          Compare(record, {.key = key, .kind = kind, .sequence = sequence}, context, lists);
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

// ListFeatures rejects exactly the bytes that protobuf rejects.
TEST(ListFeatures, RejectsExactlyTheBytesThatProtobufRejects) {
  Judge judge;
  std::map<std::string, Held> context;
  std::map<std::string, std::vector<Held>> lists;
  const pb::LogSilencer silencer;  // protobuf logs keys that are not UTF-8
  int refused = 0, taken = 0;
  for (uint64_t seed = 0; seed < 6000; ++seed) {
    Generator generator(seed);
    std::string record = generator.Record();
    if (record.empty()) continue;
    const size_t at = generator.Below(static_cast<uint32_t>(record.size()));
    record[at] = static_cast<char>(generator.Below(128));
    if (generator.Below(4) == 0) record.resize(at);
    const bool good = judge.Parse(record, &context, &lists);
    ASSERT_EQ(ListFeatures(record, RecordFormat::kSequenceExample).ok(), good)
        << seed << " " << absl::CHexEscape(record);
    ++(good ? taken : refused);
  }
  EXPECT_GT(refused, 500);
  EXPECT_GT(taken, 500);
}

}  // namespace
}  // namespace penstock::records
