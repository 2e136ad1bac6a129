#include "pipeline/records/example_builder.h"

#include <bit>
#include <cstddef>

#include "base/wire.h"
#include "pipeline/records/example_parser.h"

namespace penstock::records {
namespace {

size_t VarintBytes(uint64_t value) { return (static_cast<size_t>(std::bit_width(value | 1)) + 6) / 7; }

// Returns the bytes of a field with a content of this length. The number of the field is below 16.
size_t FieldBytes(size_t length) { return 1 + VarintBytes(length) + length; }

// Appends what precedes the content of a field.
void AppendHead(uint32_t field, size_t length, std::string* out) {
  AppendTag(field, WireType::kLength, out);
  AppendVarint(length, out);
}

// The values of a Feature. bytes() is the size of the list that AppendTo() appends: a BytesList, Int64List or
// FloatList.
class BytesValues {
 public:
  static constexpr FeatureKind kKind = FeatureKind::kBytes;

  explicit BytesValues(std::span<const std::string_view> values) : values_(values) {
    for (const std::string_view value : values) bytes_ += FieldBytes(value.size());
  }
  size_t bytes() const { return bytes_; }
  void AppendTo(std::string* out) const {
    for (const std::string_view value : values_) AppendLengthPrefixed(1, value, out);
  }

 private:
  const std::span<const std::string_view> values_;
  size_t bytes_ = 0;
};

class Int64Values {
 public:
  static constexpr FeatureKind kKind = FeatureKind::kInt64;

  explicit Int64Values(std::span<const int64_t> values) : values_(values) {
    for (const int64_t value : values) packed_ += VarintBytes(static_cast<uint64_t>(value));
  }
  size_t bytes() const { return values_.empty() ? 0 : FieldBytes(packed_); }
  void AppendTo(std::string* out) const {
    if (!values_.empty()) AppendHead(1, packed_, out);
    for (const int64_t value : values_) AppendVarint(static_cast<uint64_t>(value), out);
  }

 private:
  const std::span<const int64_t> values_;
  size_t packed_ = 0;
};

class FloatValues {
 public:
  static constexpr FeatureKind kKind = FeatureKind::kFloat;

  explicit FloatValues(std::span<const float> values) : values_(values) {}
  size_t bytes() const { return values_.empty() ? 0 : FieldBytes(values_.size_bytes()); }
  void AppendTo(std::string* out) const {
    if (values_.empty()) return;
    AppendLengthPrefixed(1, {reinterpret_cast<const char*>(values_.data()), values_.size_bytes()}, out);
  }

 private:
  const std::span<const float> values_;
};

// Appends the field `number`, whose content is a Feature with these values.
template <typename Values>
void AppendFeature(uint32_t number, const Values& values, std::string* out) {
  AppendHead(number, FieldBytes(values.bytes()), out);
  AppendHead(static_cast<uint32_t>(Values::kKind), values.bytes(), out);
  values.AppendTo(out);
}

// Appends an entry of a map<string, Feature>.
template <typename Values>
void AppendEntry(std::string_view key, const Values& values, std::string* map) {
  AppendHead(1, FieldBytes(key.size()) + FieldBytes(FieldBytes(values.bytes())), map);
  AppendLengthPrefixed(1, key, map);
  AppendFeature(2, values, map);
}

// Appends an entry of a map<string, message>.
void AppendMapEntry(std::string_view key, std::string_view value, std::string* map) {
  AppendHead(1, FieldBytes(key.size()) + FieldBytes(value.size()), map);
  AppendLengthPrefixed(1, key, map);
  AppendLengthPrefixed(2, value, map);
}

}  // namespace

ExampleBuilder& ExampleBuilder::Bytes(std::string_view key, std::string_view value) {
  return BytesList(key, {&value, 1});
}
ExampleBuilder& ExampleBuilder::BytesList(std::string_view key, std::span<const std::string_view> values) {
  AppendEntry(key, BytesValues(values), &features_);
  return *this;
}
ExampleBuilder& ExampleBuilder::Int64(std::string_view key, int64_t value) { return Int64List(key, {&value, 1}); }
ExampleBuilder& ExampleBuilder::Int64List(std::string_view key, std::span<const int64_t> values) {
  AppendEntry(key, Int64Values(values), &features_);
  return *this;
}
ExampleBuilder& ExampleBuilder::Float(std::string_view key, float value) { return FloatList(key, {&value, 1}); }
ExampleBuilder& ExampleBuilder::FloatList(std::string_view key, std::span<const float> values) {
  AppendEntry(key, FloatValues(values), &features_);
  return *this;
}
ExampleBuilder& ExampleBuilder::Unset(std::string_view key) {
  AppendMapEntry(key, "", &features_);
  return *this;
}

std::string ExampleBuilder::Serialize() const {
  std::string example;
  example.reserve(FieldBytes(features_.size()));
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
  AppendFeature(1, BytesValues(values), &entries_);
  return *this;
}
SequenceExampleBuilder& SequenceExampleBuilder::Int64Entry(std::span<const int64_t> values) {
  AppendFeature(1, Int64Values(values), &entries_);
  return *this;
}
SequenceExampleBuilder& SequenceExampleBuilder::FloatEntry(std::span<const float> values) {
  AppendFeature(1, FloatValues(values), &entries_);
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
