// Serializes tf.train.Example and tf.train.SequenceExample. example_parser.h shows the messages.
#ifndef PENSTOCK_PIPELINE_RECORDS_EXAMPLE_BUILDER_H_
#define PENSTOCK_PIPELINE_RECORDS_EXAMPLE_BUILDER_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace penstock::records {

// Builds an Example with its features in the order in which they are added. Numbers are packed. Calls can be chained:
//   ExampleBuilder().Bytes("image/encoded", jpeg).Int64("image/class/label", 3).Serialize()
class ExampleBuilder {
 public:
  ExampleBuilder& Bytes(std::string_view key, std::string_view value);
  ExampleBuilder& BytesList(std::string_view key, std::span<const std::string_view> values);
  ExampleBuilder& Int64(std::string_view key, int64_t value);
  ExampleBuilder& Int64List(std::string_view key, std::span<const int64_t> values);
  ExampleBuilder& Float(std::string_view key, float value);
  ExampleBuilder& FloatList(std::string_view key, std::span<const float> values);
  // Adds a key whose Feature has no kind.
  ExampleBuilder& Unset(std::string_view key);

  // Returns the serialized tf.train.Example.
  std::string Serialize() const;

 private:
  friend class SequenceExampleBuilder;
  std::string features_;  // a serialized tf.train.Features
};

// Builds a SequenceExample. Add a feature list with List, and then its entries one by one.
class SequenceExampleBuilder {
 public:
  // Returns the builder of the context's features.
  ExampleBuilder& context() { return context_; }
  // Begins the feature list `key`. The entries that follow belong to it.
  SequenceExampleBuilder& List(std::string_view key);
  // Add an entry to the list that began last.
  SequenceExampleBuilder& BytesEntry(std::span<const std::string_view> values);
  SequenceExampleBuilder& Int64Entry(std::span<const int64_t> values);
  SequenceExampleBuilder& FloatEntry(std::span<const float> values);

  // Returns the serialized tf.train.SequenceExample.
  std::string Serialize() const;

 private:
  void FinishList(std::string* lists) const;

  ExampleBuilder context_;
  std::string lists_;  // a serialized tf.train.FeatureLists
  std::string key_;
  std::string entries_;  // a serialized tf.train.FeatureList
  bool open_ = false;
};

}  // namespace penstock::records

#endif  // PENSTOCK_PIPELINE_RECORDS_EXAMPLE_BUILDER_H_
