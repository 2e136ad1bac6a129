#include "pipeline/selection/step.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/fault.h"
#include "base/little_endian.h"
#include "base/ordered_key.h"
#include "base/status_macros.h"
#include "pipeline/plan/job_dataset.h"
#include "pipeline/select/value_hash.h"
#include "pipeline/sources/tar/sample_name.h"

namespace penstock::selection {
namespace {

// Returns where a part that begins or ends at this fraction begins or ends. None is the end, 2^64.
std::optional<uint64_t> BoundOf(double fraction) {
  if (fraction >= 1) return std::nullopt;
  if (!(fraction > 0)) return 0;  // also NaN
  return static_cast<uint64_t>(std::ldexp(fraction, 64));
}

std::string LittleEndian(uint64_t hash) {
  std::string bytes(sizeof(hash), '\0');
  StoreLittleEndian(hash, bytes.data());
  return bytes;
}

uint64_t HashOf(std::string_view bytes, uint64_t seed) {
  return select::HashWithSeed(select::Value::String(bytes), seed);
}

plan::PackOptions::Longer LongerOf(const v1::Pack& pack) {
  using Longer = plan::PackOptions::Longer;
  if (pack.longer() == v1::Pack::SPLIT) return Longer::kSplit;
  if (pack.longer() != v1::Pack::TRUNCATE) return Longer::kDrop;
  return pack.keep() == v1::PadTo::LAST ? Longer::kKeepLast : Longer::kKeepFirst;
}

// Returns the key of a value that is not NaN.
std::string KeyOf(const select::Value& value) {
  switch (value.type) {
    case select::Type::kInt64:
      return OrderedKey(value.integer);
    case select::Type::kDouble:
      return OrderedKey(value.real);
    case select::Type::kBool:
      return OrderedKey(value.boolean);
    case select::Type::kString:
      break;
  }
  return OrderedKey(std::string_view(value.text));
}

absl::StatusOr<select::Expression> InField(absl::StatusOr<select::Expression> parsed, const std::string& field) {
  if (parsed.ok()) return parsed;
  return absl::Status(parsed.status().code(), absl::StrCat(field, ": ", parsed.status().message()));
}

}  // namespace

absl::StatusOr<uint64_t> HashContent(std::string_view record, records::RecordFormat format, uint64_t seed) {
  if (format != records::RecordFormat::kSample) return HashOf(record, seed);
  std::string hashes;
  PS_RETURN_IF_ERROR(sources::ForEachSampleMember(record, [&](const sources::SampleName& name, std::string_view data) {
    absl::StrAppend(&hashes, LittleEndian(HashOf(name.extension, seed)), LittleEndian(HashOf(data, seed)));
    return absl::OkStatus();
  }));
  return HashOf(hashes, seed);
}

absl::StatusOr<Step> Step::Parse(const v1::Select& step, const std::string& place, const FeatureTypes& types) {
  switch (step.step_case()) {
    case v1::Select::kFilter: {
      PS_ASSIGN_OR_RETURN(
          select::Expression condition,
          InField(select::Expression::Parse(step.filter(), types.Columns()), absl::StrCat(place, ".filter")));
      return Step(std::move(condition));
    }
    case v1::Select::kSplit: {
      const v1::Split& split = step.split();
      Step parsed(Part{.from = BoundOf(split.from()).value_or(UINT64_MAX),
                       .to = split.has_to() ? BoundOf(split.to()) : std::nullopt,
                       .seed = split.seed()});
      if (split.of().empty()) return parsed;
      PS_ASSIGN_OR_RETURN(parsed.expression_, InField(select::Expression::ParseValue(split.of(), types.Columns()),
                                                      absl::StrCat(place, ".split.of")));
      return parsed;
    }
    case v1::Select::kBalance:
      return ParseGroups(step.balance().by(), absl::StrCat(place, ".balance.by"), Groups::kBalanced, types);
    case v1::Select::kWeights:
      return ParseGroups(step.weights().by(), absl::StrCat(place, ".weights.by"), Groups::kWeighted, types);
    case v1::Select::kSort:
      return ParseGroups(step.sort().by(), absl::StrCat(place, ".sort.by"), Groups::kSorted, types);
    case v1::Select::kBucket:
      return ParseGroups(step.bucket().by(), absl::StrCat(place, ".bucket.by"),
                         plan::HasBatchSizes(step.bucket()) ? Groups::kSized : Groups::kSorted, types);
    case v1::Select::kPack:
      return ParsePack(step.pack(), absl::StrCat(place, ".pack"), types);
    case v1::Select::kWindow:
      return ParseWindow(step.window(), absl::StrCat(place, ".window"), types);
    case v1::Select::kSample:
      return Step(Part{.to = BoundOf(step.sample().fraction()), .seed = step.sample().seed(), .of_sample = true});
    default:
      break;
  }
  return absl::InvalidArgumentError(absl::StrCat(place, ": a step that this release does not know"));
}

absl::StatusOr<Step> Step::ParseGroups(const std::string& by, const std::string& field, Groups groups,
                                       const FeatureTypes& types) {
  PS_ASSIGN_OR_RETURN(select::Expression value, InField(select::Expression::ParseAny(by, types.Columns()), field));
  const bool is_number = value.type() == select::Type::kInt64 || value.type() == select::Type::kDouble;
  if ((groups == Groups::kWeighted || groups == Groups::kSized) && !is_number) {
    return absl::InvalidArgumentError(absl::StrCat(field, ": `", by, "` is no number; give one, such as `",
                                                   groups == Groups::kSized ? "len(tokens)" : "quality", "`"));
  }
  Step parsed(std::move(value));
  parsed.groups_ = groups == Groups::kSized ? Groups::kSorted : groups;
  return parsed;
}

absl::StatusOr<Step> Step::ParsePack(const v1::Pack& pack, const std::string& field, const FeatureTypes& types) {
  constexpr uint64_t kDefaultWindow = 4096;
  Step parsed{Part{}};
  parsed.packing_ = {.length = pack.length(),
                     .longer = LongerOf(pack),
                     .align = std::max<uint64_t>(1, pack.align()),
                     .concatenate = pack.concatenate(),
                     .overlap = pack.overlap(),
                     .window = pack.window() == 0 ? kDefaultWindow : pack.window()};
  const auto wrong = [&field](const std::string& text) {
    return absl::InvalidArgumentError(absl::StrCat(field, text));
  };
  if (pack.length() < 1 || pack.length() > plan::kMaxPackLength) return wrong(".length: from 1 to 2^28");
  if (parsed.packing_->length % parsed.packing_->align != 0) return wrong(".align: it divides `length`");
  if (pack.overlap() >= pack.length()) return wrong(".overlap: less than `length`");
  if (pack.window() > plan::kMaxPackWindow) return wrong(".window: at most 2^24");
  if (pack.features().empty()) return wrong(".features: none");
  parsed.longer_is_bad_ = pack.longer() == v1::Pack::FAIL && !pack.concatenate();
  for (const std::string& feature : pack.features()) {
    const uint32_t bytes = types.ElementBytesOf(feature);
    const std::string text = absl::StrCat(bytes > 0 ? "bytes" : "len", "(col('", absl::CHexEscape(feature), "'))");
    PS_ASSIGN_OR_RETURN(const select::Expression length,
                        InField(select::Expression::ParseValue(text, types.Columns()), field + ".features"));
    parsed.lengths_.push_back(length.operands()[0]);
    parsed.bytes_of_numbers_.push_back(std::max<uint32_t>(bytes, 1));
  }
  return parsed;
}

absl::StatusOr<Step> Step::ParseWindow(const v1::RecordWindow& window, const std::string& field,
                                       const FeatureTypes& types) {
  const plan::WindowOptions options = plan::WindowOptionsOf(window);
  if (options.size < 1 || options.size > plan::kMaxWindowRecords) {
    return absl::InvalidArgumentError(absl::StrCat(field, ".size: from 1 to 2^20"));
  }
  if (std::min(options.stride, options.step) < 1 || std::max(options.stride, options.step) > plan::kMaxWindowStep) {
    return absl::InvalidArgumentError(absl::StrCat(field, ": stride and step are from 1 to 2^32 - 1"));
  }
  Step parsed{Part{}};
  parsed.windows_ = options;
  if (window.by().empty()) return parsed;
  PS_ASSIGN_OR_RETURN(parsed.expression_,
                      InField(select::Expression::ParseAny(window.by(), types.Columns()), field + ".by"));
  return parsed;
}

std::span<const select::Operand> Step::operands() const {
  if (packing_) return lengths_;
  if (!expression_) return {};
  return expression_->operands();
}

absl::Status Step::NoValue(absl::string_view purpose) const {
  return WithFault(Fault::kMissingFeature,
                   absl::InvalidArgumentError(absl::StrCat("`", expression_->text(), "` has no value to ", purpose)));
}

absl::StatusOr<select::Value> Step::ValueOf(std::span<const select::Value> values, absl::string_view purpose) const {
  PS_ASSIGN_OR_RETURN(const select::Value value, expression_->Evaluate(values));
  if (value.state != select::Value::State::kPresent) return NoValue(purpose);
  return value;
}

absl::StatusOr<bool> Step::Keeps(std::string_view record, records::RecordFormat format,
                                 std::span<const select::Value> values) const {
  if (!part_) return expression_->Matches(values);
  if (!expression_) {
    PS_ASSIGN_OR_RETURN(const uint64_t hash, HashContent(record, format, part_->seed));
    return part_->Has(part_->of_sample ? HashOf(LittleEndian(hash), 0) : hash);
  }
  PS_ASSIGN_OR_RETURN(const select::Value value, ValueOf(values, "split by"));
  return part_->Has(select::HashWithSeed(value, part_->seed));
}

absl::StatusOr<std::optional<uint32_t>> Step::LengthOf(std::span<const select::Value> values) const {
  uint64_t length = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const uint64_t of_feature = static_cast<uint64_t>(values[i].integer) / bytes_of_numbers_[i];
    if (i == 0) length = of_feature;
    if (of_feature == length) continue;
    return WithFault(Fault::kWrongShape,
                     absl::InvalidArgumentError(absl::StrCat(
                         "'", lengths_[i].feature, "' has ", of_feature, of_feature == 1 ? " value" : " values",
                         ", but '", lengths_[0].feature, "' has ", length, "; packed features have equally many")));
  }
  if (length <= packing_->length) return static_cast<uint32_t>(length);
  if (longer_is_bad_ || length > UINT32_MAX) {
    return WithFault(Fault::kOverLimit,
                     absl::InvalidArgumentError(absl::StrCat("'", lengths_[0].feature, "' has ", length,
                                                             " values, and a packed row has ", packing_->length,
                                                             ": set pack.longer to DROP, TRUNCATE or SPLIT")));
  }
  const bool drops = !packing_->concatenate && packing_->longer == plan::PackOptions::Longer::kDrop;
  return drops ? std::nullopt : std::optional(static_cast<uint32_t>(length));
}

absl::StatusOr<std::string> Step::RunOf(std::span<const select::Value> values) const {
  constexpr absl::string_view kPurpose = "make windows by";
  if (!expression_) return std::string();
  PS_ASSIGN_OR_RETURN(const select::Value value, ValueOf(values, kPurpose));
  if (value.type == select::Type::kDouble && std::isnan(value.real)) return NoValue(kPurpose);
  return KeyOf(value);
}

absl::StatusOr<std::string> Step::GroupOf(std::span<const select::Value> values) const {
  const absl::string_view purpose = groups_ == Groups::kBalanced   ? "balance by"
                                    : groups_ == Groups::kWeighted ? "weigh by"
                                                                   : "sort by";
  PS_ASSIGN_OR_RETURN(const select::Value value, ValueOf(values, purpose));
  if (value.type == select::Type::kDouble && std::isnan(value.real)) return NoValue(purpose);
  if (value.type == select::Type::kString && value.text.size() > kMaxGroupName) {
    return WithFault(Fault::kOverLimit, absl::InvalidArgumentError(
                                            absl::StrCat("`", expression_->text(), "` has ", value.text.size(),
                                                         " bytes; the name of a group has at most ", kMaxGroupName)));
  }
  if (groups_ == Groups::kSorted) return KeyOf(value);
  std::string name;
  switch (value.type) {
    case select::Type::kInt64:
      name = absl::StrCat(value.integer);
      break;
    case select::Type::kDouble:
      name = NumberText(value.real == 0 ? 0.0 : value.real);  // also for -0.0
      break;
    case select::Type::kBool:
      name = value.boolean ? "true" : "false";
      break;
    case select::Type::kString:
      name = std::string(value.text);
      break;
  }
  const bool is_weight =
      value.type == select::Type::kInt64 ? value.integer >= 0 : value.real >= 0 && !std::isinf(value.real);
  if (groups_ != Groups::kWeighted || is_weight) return name;
  return absl::InvalidArgumentError(
      absl::StrCat("`", expression_->text(), "` is ", name, "; a weight is a number that is at least 0"));
}

std::string StepText(const v1::Select& step) {
  const auto seed = [](uint64_t value) { return value == 0 ? "" : absl::StrCat(", seed ", value); };
  if (step.has_split()) {
    const v1::Split& split = step.split();
    return absl::StrCat("split of ", split.of().empty() ? "the content" : split.of(), " from ",
                        NumberText(split.from()), " to ", NumberText(split.has_to() ? split.to() : 1),
                        seed(split.seed()));
  }
  if (step.has_sample())
    return absl::StrCat("sample of ", NumberText(step.sample().fraction()), seed(step.sample().seed()));
  if (step.has_balance()) return absl::StrCat("balance by ", step.balance().by());
  if (step.has_weights()) return absl::StrCat("weights by ", step.weights().by());
  if (step.has_sort()) return absl::StrCat("sort by ", step.sort().by());
  if (step.has_bucket()) return absl::StrCat("bucket by ", step.bucket().by());
  if (step.has_pack()) {
    const v1::Pack& pack = step.pack();
    const std::string longer = pack.concatenate()
                                   ? absl::StrCat(", concatenated", pack.overlap() == 0 ? "" : ", overlap ",
                                                  pack.overlap() == 0 ? "" : absl::StrCat(pack.overlap()))
                                   : absl::StrCat(", longer ", v1::Pack::Longer_Name(pack.longer()),
                                                  pack.keep() == v1::PadTo::LAST ? " keep LAST" : "",
                                                  pack.align() <= 1 ? "" : absl::StrCat(", align ", pack.align()));
    return absl::StrCat("pack of ", absl::StrJoin(pack.features(), ", "), " into rows of ", pack.length(), longer,
                        pack.window() == 0 ? "" : absl::StrCat(", window ", pack.window()));
  }
  if (step.has_window()) {
    const v1::RecordWindow& window = step.window();
    const plan::WindowOptions options = plan::WindowOptionsOf(window);
    return absl::StrCat("window of ", options.size, options.size == 1 ? " record" : " records", ", stride ",
                        options.stride, options.step == 1 ? "" : absl::StrCat(", step ", options.step),
                        window.by().empty() ? "" : absl::StrCat(", by ", window.by()));
  }
  if (step.has_take()) return absl::StrCat("take ", step.take());
  if (step.has_skip()) return absl::StrCat("skip ", step.skip());
  if (step.has_range()) {
    return absl::StrCat("range from ", step.range().from(), step.range().has_to() ? " to " : "",
                        step.range().has_to() ? absl::StrCat(step.range().to()) : "");
  }
  if (step.has_every()) {
    return absl::StrCat("every ", step.every().n(), step.every().offset() == 0 ? "" : " from ",
                        step.every().offset() == 0 ? "" : absl::StrCat(step.every().offset()));
  }
  return step.filter();
}

}  // namespace penstock::selection
