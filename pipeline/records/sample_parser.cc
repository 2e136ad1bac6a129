#include "pipeline/records/sample_parser.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/fault.h"
#include "base/json.h"
#include "base/status_macros.h"
#include "pipeline/records/npy_elements.h"
#include "pipeline/records/request_check.h"
#include "pipeline/records/value_budget.h"
#include "pipeline/sources/tar/sample_name.h"

namespace penstock::records {
namespace {

constexpr std::string_view kKeyName = "__key__";

// Bytes of a text that a message quotes.
constexpr size_t kQuotedTextBytes = 40;

// Returns the part of an extension after its last dot.
std::string_view LastSuffix(std::string_view extension) { return extension.substr(extension.rfind('.') + 1); }

absl::Status ReadNpy(const FeatureRequest& request, std::string_view member, ValueBudget* budget, FeatureValue* out) {
  const auto elements = ParseNpyElements(member);
  if (!elements.ok()) return BadValue(request, Fault::kOther, elements.status().message());
  return ReadElements(request, *elements, budget, out);
}

absl::Status ReadText(const FeatureRequest& request, std::string_view member, ValueBudget* budget, FeatureValue* out) {
  const absl::string_view text = absl::StripAsciiWhitespace(absl::string_view(member.data(), member.size()));
  const bool is_decimal = text.find_first_not_of("+-.0123456789eE") == absl::string_view::npos;
  const auto wrong = [&](absl::string_view number) {
    return WithFault(Fault::kWrongKind,
                     absl::InvalidArgumentError(absl::StrCat(
                         "feature ", Json::Quote(request.key), " holds BYTES, but the job requests ",
                         std::string(FeatureKindName(request.kind)), ": ",
                         Json::Quote(std::string_view(text.data(), std::min(text.size(), kQuotedTextBytes))),
                         text.size() > kQuotedTextBytes ? "... is no " : " is no ", number)));
  };
  if (request.kind == FeatureKind::kInt64) {
    int64_t value = 0;
    if (!is_decimal || !absl::SimpleAtoi(text, &value)) return wrong("64-bit decimal integer");
    PS_RETURN_IF_ERROR(budget->Spend(request, 1, sizeof(value)));
    out->ints.push_back(value);
    return absl::OkStatus();
  }
  float value = 0;
  if (!is_decimal || !absl::SimpleAtof(text, &value) || !std::isfinite(value)) {
    return wrong("decimal number in the range of a 32-bit float");
  }
  PS_RETURN_IF_ERROR(budget->Spend(request, 1, sizeof(value)));
  out->floats.push_back(value);
  return absl::OkStatus();
}

// Passes over all members, requested or not, and rejects duplicate extensions.
template <typename Visit>
absl::Status VisitSample(std::string_view record, const Visit& visit) {
  std::vector<std::string> extensions;
  const absl::Status walked =
      sources::ForEachSampleMember(record, [&](const sources::SampleName& name, std::string_view data) {
        extensions.push_back(name.extension);
        visit(name, data);
        return absl::OkStatus();
      });
  PS_RETURN_IF_ERROR(walked);
  if (extensions.empty()) return absl::InvalidArgumentError("the record is no sample: no member has an extension");
  std::sort(extensions.begin(), extensions.end());
  const auto duplicate = std::adjacent_find(extensions.begin(), extensions.end());
  if (duplicate == extensions.end()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the sample has two members with the extension ", Json::Quote(*duplicate)));
}

// Whether the webdataset package decodes a member with this extension as an integer.
bool IsIntegerExtension(std::string_view extension) {
  constexpr std::string_view kIntegers[] = {"cls", "cls2", "class", "count", "index", "inx", "id"};
  return std::find(std::begin(kIntegers), std::end(kIntegers), LastSuffix(extension)) != std::end(kIntegers);
}

FeatureInfo MemberInfo(const sources::SampleName& name, std::string_view data) {
  FeatureInfo info{.key = name.extension, .kind = FeatureKind::kBytes, .count = 1, .first_bytes = data};
  if (LastSuffix(name.extension) == "npy") {
    const auto elements = ParseNpyElements(data);
    if (!elements.ok()) return info;
    FeatureInfo numbers{.key = name.extension};
    DescribeElements(*elements, &numbers);
    return numbers.kind == FeatureKind::kBytes ? info : numbers;
  }
  int64_t value = 0;
  if (!IsIntegerExtension(name.extension) || !absl::SimpleAtoi(absl::string_view(data.data(), data.size()), &value)) {
    return info;
  }
  info.kind = FeatureKind::kInt64;
  info.first_bytes = {};
  info.least = info.most = value;
  return info;
}

}  // namespace

struct SampleParser::Sample {
  ValueBudget budget;
  std::string key;
  std::vector<std::optional<std::string_view>> members;  // data by member
  std::vector<std::vector<JsonField>> fields;            // by member; empty until one is read
};

std::vector<SampleKeyPart> SplitSampleKey(std::string_view key) {
  std::vector<SampleKeyPart> parts;
  for (bool more = true; more;) {
    const size_t end = key.find(';');
    const std::string_view text = key.substr(0, end);
    const size_t slash = text.find('/');
    SampleKeyPart part{.extension = std::string(text.substr(0, slash))};
    absl::AsciiStrToLower(&part.extension);
    if (slash != std::string_view::npos) part.pointer = text.substr(slash);
    parts.push_back(std::move(part));
    more = end != std::string_view::npos;
    if (more) key.remove_prefix(end + 1);
  }
  return parts;
}

bool IsJsonExtension(std::string_view extension) { return LastSuffix(extension) == "json"; }

size_t SampleParser::MemberIndex(std::string extension) {
  for (size_t i = 0; i < members_.size(); ++i) {
    if (members_[i].extension == extension) return i;
  }
  members_.push_back({.extension = std::move(extension), .fields = {}});
  return members_.size() - 1;
}

absl::StatusOr<SampleParser::Alternative> SampleParser::ParseAlternative(const FeatureRequest& request,
                                                                         SampleKeyPart part) {
  const std::string& extension = part.extension;
  const std::string_view suffix = LastSuffix(extension);
  if (extension.empty()) return BadRequest(request, "names no member; write an extension, such as jpg or json/label");
  if (extension.substr(0, 2) == "__") {
    return BadRequest(request, "names no member; of the names with underscores only __key__ exists");
  }
  constexpr std::string_view kPickles[] = {"pyd", "pkl", "pickle", "pth", "pt"};
  if (std::find(std::begin(kPickles), std::end(kPickles), suffix) != std::end(kPickles)) {
    return BadRequest(request,
                      "is a pickled Python object. Penstock executes nothing that a shard contains, and a pickle is a "
                      "program. Write the member as npy or json");
  }
  const bool is_json = IsJsonExtension(extension), has_pointer = part.pointer.has_value();
  if (has_pointer && !is_json) {
    return BadRequest(request, "has a JSON pointer, but the member's extension does not end in json");
  }
  Alternative alternative{.member = MemberIndex(std::move(part.extension)), .json_field = std::nullopt};
  if (is_json && (has_pointer || request.kind != FeatureKind::kBytes)) {
    const auto field = members_[alternative.member].fields.Add(part.pointer.value_or(std::string_view()), request.kind);
    if (!field.ok()) return BadRequest(request, absl::StrCat("is no valid key: ", field.status().message()));
    alternative.json_field = *field;
  }
  return alternative;
}

absl::StatusOr<SampleParser> SampleParser::Create(std::vector<FeatureRequest> requests, const ParserOptions& options) {
  SampleParser parser(std::move(requests), options);
  for (const FeatureRequest& request : parser.requests_) {
    PS_RETURN_IF_ERROR(CheckRequest(request));
    std::vector<Alternative>& alternatives = parser.alternatives_.emplace_back();
    if (request.key == kKeyName) {
      if (request.kind == FeatureKind::kBytes) continue;
      return BadRequest(request, "is the name of the sample, so its type must be BYTES");
    }
    for (SampleKeyPart& part : SplitSampleKey(request.key)) {
      PS_ASSIGN_OR_RETURN(const Alternative alternative, parser.ParseAlternative(request, std::move(part)));
      alternatives.push_back(alternative);
    }
  }
  return parser;
}

absl::Status SampleParser::ParseJsonField(const FeatureRequest& request, const Alternative& alternative, Sample* sample,
                                          FeatureValue* out) const {
  const Member& member = members_[alternative.member];
  std::vector<JsonField>& fields = sample->fields[alternative.member];
  if (fields.empty()) {
    const absl::Status read = member.fields.Read(*sample->members[alternative.member], sample->budget.left(), &fields);
    if (absl::IsResourceExhausted(read)) return OverValueLimit(request, sample->budget.limit());
    if (!read.ok()) return BadValue(request, Fault::kOther, read.message());
  }
  JsonField& field = fields[*alternative.json_field];
  if (field.state == JsonField::State::kMissing) return absl::OkStatus();
  if (field.state == JsonField::State::kWrong) return WrongValueKind(request, field.found);
  out->missing = false;
  // Each field has one reader: the alternative that added it.
  out->ints.swap(field.ints);
  out->floats.swap(field.floats);
  out->own.swap(field.text);
  size_t begin = 0;
  for (const size_t end : field.text_ends) {
    // Without the pointer of an empty vector, which is null.
    const std::string_view text = end == begin ? std::string_view("") : std::string_view(&out->own[begin], end - begin);
    PS_RETURN_IF_ERROR(CheckElements(request, text));
    out->bytes.push_back(text);
    begin = end;
  }
  return absl::OkStatus();
}

absl::Status SampleParser::ParseRequest(size_t number, Sample* sample, FeatureValue* out) const {
  const FeatureRequest& request = requests_[number];
  if (alternatives_[number].empty()) {
    PS_RETURN_IF_ERROR(sample->budget.Spend(request, 1, sizeof(std::string_view) + sample->key.size()));
    out->missing = false;
    out->own.assign(sample->key.begin(), sample->key.end());
    out->bytes.emplace_back(out->own.data(), out->own.size());
    return CheckElements(request, out->bytes.back());
  }
  for (const Alternative& alternative : alternatives_[number]) {
    const std::optional<std::string_view>& member = sample->members[alternative.member];
    if (!member.has_value()) continue;
    if (alternative.json_field.has_value()) {
      PS_RETURN_IF_ERROR(ParseJsonField(request, alternative, sample, out));
      if (out->missing) continue;
      return absl::OkStatus();
    }
    out->missing = false;
    if (LastSuffix(members_[alternative.member].extension) == "npy") {
      return ReadNpy(request, *member, &sample->budget, out);
    }
    if (request.kind != FeatureKind::kBytes) return ReadText(request, *member, &sample->budget, out);
    PS_RETURN_IF_ERROR(sample->budget.Spend(request, 1, sizeof(std::string_view)));
    out->bytes.push_back(*member);
    return CheckElements(request, *member);
  }
  return absl::OkStatus();
}

absl::Status SampleParser::Parse(std::string_view record, ParsedExample* out) const {
  out->resize(requests_.size());
  for (FeatureValue& value : *out) value.Clear();
  Sample sample{.budget = ValueBudget(options_.max_value_bytes),
                .key = {},
                .members = std::vector<std::optional<std::string_view>>(members_.size()),
                .fields = std::vector<std::vector<JsonField>>(members_.size())};
  PS_RETURN_IF_ERROR(VisitSample(record, [&](const sources::SampleName& name, std::string_view data) {
    if (sample.key.empty()) sample.key = std::string(name.key);
    for (size_t i = 0; i < members_.size(); ++i) {
      if (members_[i].extension == name.extension) sample.members[i] = data;
    }
  }));
  for (size_t i = 0; i < requests_.size(); ++i) PS_RETURN_IF_ERROR(ParseRequest(i, &sample, &(*out)[i]));
  return absl::OkStatus();
}

absl::StatusOr<std::vector<FeatureInfo>> ListMembers(std::string_view record) {
  std::vector<FeatureInfo> members;
  PS_RETURN_IF_ERROR(VisitSample(record, [&](const sources::SampleName& name, std::string_view data) {
    members.push_back(MemberInfo(name, data));
  }));
  std::sort(members.begin(), members.end(), [](const FeatureInfo& a, const FeatureInfo& b) { return a.key < b.key; });
  return members;
}

absl::StatusOr<std::string> KeyOfSample(std::string_view record) {
  std::string key;
  PS_RETURN_IF_ERROR(
      VisitSample(record, [&](const sources::SampleName& name, std::string_view) { key = std::string(name.key); }));
  return key;
}

}  // namespace penstock::records
