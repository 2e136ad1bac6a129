// Any bytes as a tf.train.Example or SequenceExample: no access is out of bounds, and every view is inside the record.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "pipeline/records/example_parser.h"

namespace {

using penstock::records::ExampleParser;
using penstock::records::FeatureKind;
using penstock::records::RecordFormat;

ExampleParser MakeParser(RecordFormat format) {
  const bool lists = format == RecordFormat::kSequenceExample;
  auto parser = ExampleParser::Create({{.key = "a", .kind = FeatureKind::kBytes, .element_bytes = 2},
                                       {.key = "b", .kind = FeatureKind::kInt64},
                                       {.key = "c", .kind = FeatureKind::kFloat},
                                       {.key = "", .kind = FeatureKind::kInt64},
                                       {.key = "a", .kind = FeatureKind::kBytes, .sequence = lists},
                                       {.key = "b", .kind = FeatureKind::kInt64, .sequence = lists},
                                       {.key = "c", .kind = FeatureKind::kFloat, .sequence = lists}},
                                      {.format = format, .max_value_bytes = 1 << 20});
  PS_CHECK(parser.ok());
  return *std::move(parser);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const auto* const example = new ExampleParser(MakeParser(RecordFormat::kExample));
  static const auto* const sequence = new ExampleParser(MakeParser(RecordFormat::kSequenceExample));
  static auto* const parsed = new penstock::records::ParsedExample();
  const std::string_view record(reinterpret_cast<const char*>(data), size);
  for (const ExampleParser* parser : {example, sequence}) {
    if (!parser->Parse(record, parsed).ok()) continue;
    for (const penstock::records::FeatureValue& value : *parsed) {
      for (const std::string_view bytes : value.bytes) {
        PS_CHECK(bytes.data() >= record.data() && bytes.data() + bytes.size() <= record.data() + record.size());
      }
      PS_CHECK(value.splits.empty() || value.splits.back() == value.count());
      PS_CHECK(!value.missing || value.count() == 0);
    }
  }
  (void)penstock::records::GuessFormat(record);
  for (const RecordFormat format : {RecordFormat::kExample, RecordFormat::kSequenceExample}) {
    const auto features = penstock::records::ListFeatures(record, format);
    if (!features.ok()) continue;
    for (const penstock::records::FeatureInfo& feature : *features) {
      PS_CHECK(feature.key.size() <= record.size() && feature.first_bytes.size() <= record.size());
    }
  }
  return 0;
}
