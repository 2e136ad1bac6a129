#include "pipeline/records/example_builder.h"

#include "base/wire.h"
#include "pipeline/records/example_parser.h"

namespace penstock::records {
namespace {

uint32_t Field(FeatureKind kind) { return static_cast<uint32_t>(kind); }

// Each returns a serialized tf.train.Feature.
std::string BytesFeature(std::span<const std::string_view> values) {
  std::string list, feature;
  for (const std::string_view value : values) AppendLengthPrefixed(1, value, &list);
  AppendLengthPrefixed(Field(FeatureKind::kBytes), list, &feature);
  return feature;
}

std::string Packed(FeatureKind kind, const std::string& packed) {
  std::string list, feature;
  if (!packed.empty()) AppendLengthPrefixed(1, packed, &list);
  AppendLengthPrefixed(Field(kind), list, &feature);
  return feature;
}

std::string Int64Feature(std::span<const int64_t> values) {
  std::string packed;
  for (const int64_t value : values) AppendVarint(static_cast<uint64_t>(value), &packed);
  return Packed(FeatureKind::kInt64, packed);
}

std::string FloatFeature(std::span<const float> values) {
  return Packed(FeatureKind::kFloat, std::string(reinterpret_cast<const char*>(values.data()), values.size_bytes()));
}

// Appends an entry of a map<string, message>.
void AppendMapEntry(std::string_view key, std::string_view value, std::string* map) {
  std::string entry;
  AppendLengthPrefixed(1, key, &entry);
  AppendLengthPrefixed(2, value, &entry);
  AppendLengthPrefixed(1, entry, map);
}

}  // namespace

ExampleBuilder& ExampleBuilder::Bytes(std::string_view key, std::string_view value) {
  return BytesList(key, {&value, 1});
}
ExampleBuilder& ExampleBuilder::BytesList(std::string_view key, std::span<const std::string_view> values) {
  AppendMapEntry(key, BytesFeature(values), &features_);
  return *this;
}
ExampleBuilder& ExampleBuilder::Int64(std::string_view key, int64_t value) { return Int64List(key, {&value, 1}); }
ExampleBuilder& ExampleBuilder::Int64List(std::string_view key, std::span<const int64_t> values) {
  AppendMapEntry(key, Int64Feature(values), &features_);
  return *this;
}
ExampleBuilder& ExampleBuilder::Float(std::string_view key, float value) { return FloatList(key, {&value, 1}); }
ExampleBuilder& ExampleBuilder::FloatList(std::string_view key, std::span<const float> values) {
  AppendMapEntry(key, FloatFeature(values), &features_);
  return *this;
}
ExampleBuilder& ExampleBuilder::Unset(std::string_view key) {
  AppendMapEntry(key, "", &features_);
  return *this;
}

std::string ExampleBuilder::Serialize() const {
  std::string example;
  AppendLengthPrefixed(1, features_, &example);
  return example;
}

SequenceExampleBuilder& SequenceExampleBuilder::List(std::string_view key) {
  FinishList(&lists_);
  key_ = std::string(key);
  entries_.clear();
  open_ = true;
  return *this;
}
SequenceExampleBuilder& SequenceExampleBuilder::BytesEntry(std::span<const std::string_view> values) {
  AppendLengthPrefixed(1, BytesFeature(values), &entries_);
  return *this;
}
SequenceExampleBuilder& SequenceExampleBuilder::Int64Entry(std::span<const int64_t> values) {
  AppendLengthPrefixed(1, Int64Feature(values), &entries_);
  return *this;
}
SequenceExampleBuilder& SequenceExampleBuilder::FloatEntry(std::span<const float> values) {
  AppendLengthPrefixed(1, FloatFeature(values), &entries_);
  return *this;
}

void SequenceExampleBuilder::FinishList(std::string* lists) const {
  if (open_) AppendMapEntry(key_, entries_, lists);
}

std::string SequenceExampleBuilder::Serialize() const {
  std::string lists = lists_;
  FinishList(&lists);
  std::string example;
  AppendLengthPrefixed(1, context_.features_, &example);
  AppendLengthPrefixed(2, lists, &example);
  return example;
}

}  // namespace penstock::records
