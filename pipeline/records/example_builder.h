// Serializing tf.train.Example and tf.train.SequenceExample (the messages are in example_parser.h).
#ifndef PENSTOCK_PIPELINE_RECORDS_EXAMPLE_BUILDER_H_
#define PENSTOCK_PIPELINE_RECORDS_EXAMPLE_BUILDER_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace penstock {

// Features in the order in which they are added. Numbers are packed. Chain the calls:
//   ExampleBuilder().Bytes("image/encoded", jpeg).Int64("image/class/label", 3).Serialize()
class ExampleBuilder {
 public:
  ExampleBuilder& Bytes(std::string_view key, std::string_view value);
  ExampleBuilder& BytesList(std::string_view key, std::span<const std::string_view> values);
  ExampleBuilder& Int64(std::string_view key, int64_t value);
  ExampleBuilder& Int64List(std::string_view key, std::span<const int64_t> values);
  ExampleBuilder& Float(std::string_view key, float value);
  ExampleBuilder& FloatList(std::string_view key, std::span<const float> values);
  // A key whose Feature has no kind.
  ExampleBuilder& Unset(std::string_view key);

  // A serialized tf.train.Example of what was added.
  std::string Serialize() const;

 private:
  friend class SequenceExampleBuilder;
  std::string features_;  // a serialized tf.train.Features
};

// Feature lists are given entry by entry; entries of one key follow each other.
class SequenceExampleBuilder {
 public:
  // Features of the context.
  ExampleBuilder& context() { return context_; }
  // Begins the feature list `key`; the entries that follow are its.
  SequenceExampleBuilder& List(std::string_view key);
  SequenceExampleBuilder& BytesEntry(std::span<const std::string_view> values);
  SequenceExampleBuilder& Int64Entry(std::span<const int64_t> values);
  SequenceExampleBuilder& FloatEntry(std::span<const float> values);

  // A serialized tf.train.SequenceExample of what was added.
  std::string Serialize() const;

 private:
  void FinishList(std::string* lists) const;

  ExampleBuilder context_;
  std::string lists_;  // a serialized tf.train.FeatureLists
  std::string key_;
  std::string entries_;  // a serialized tf.train.FeatureList
  bool open_ = false;
};

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_RECORDS_EXAMPLE_BUILDER_H_
