#include "pipeline/records/sample_parser.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <iterator>
#include <limits>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/fault.h"
#include "base/half.h"
#include "base/json.h"
#include "base/npy_header.h"
#include "base/status_macros.h"
#include "pipeline/records/request_check.h"
#include "pipeline/sources/tar/sample_name.h"

namespace penstock::records {
namespace {

constexpr std::string_view kKeyName = "__key__";

// Bytes of a text that a message quotes.
constexpr size_t kQuotedTextBytes = 40;

// Returns the part of an extension after its last dot.
std::string_view LastSuffix(std::string_view extension) { return extension.substr(extension.rfind('.') + 1); }

// Subtracts the memory of values from the limit of a record.
class ValueBudget {
 public:
  explicit ValueBudget(uint64_t limit) : limit_(limit), left_(limit) {}
  uint64_t limit() const { return limit_; }
  uint64_t* left() { return &left_; }
  absl::Status Spend(const FeatureRequest& request, uint64_t count, uint64_t bytes_each) {
    if (count > left_ / bytes_each) return OverValueLimit(request, limit_);
    left_ -= count * bytes_each;
    return absl::OkStatus();
  }

 private:
  const uint64_t limit_;
  uint64_t left_;
};

// The elements of a .npy array.
struct NpyElements {
  char type = '\0';  // NumPy's letter: b, i, u, f or c
  uint64_t size = 0;
  uint64_t count = 0;
  std::string_view data;

  FeatureKind kind() const {
    if (type == 'f' && (size == 2 || size == 4 || size == 8)) return FeatureKind::kFloat;
    return type == 'i' || type == 'u' || type == 'b' ? FeatureKind::kInt64 : FeatureKind::kBytes;
  }
};

absl::StatusOr<NpyElements> ParseNpy(std::string_view bytes) {
  PS_ASSIGN_OR_RETURN(const NpyHeader header, ParseNpyHeader(bytes));
  const std::string& descr = header.descr;
  if (descr.find('O') != std::string::npos) {
    return absl::InvalidArgumentError("its elements are Python objects; save the array with one number type");
  }
  if (descr.size() > 1 && descr[0] == '>') {
    return absl::InvalidArgumentError("it is big-endian; save array.astype(array.dtype.newbyteorder('<'))");
  }
  NpyElements out;
  const bool is_number = descr.size() >= 3 && (descr[0] == '<' || descr[0] == '|') &&
                         absl::string_view("biufc").find(descr[1]) != absl::string_view::npos &&
                         absl::SimpleAtoi(absl::string_view(descr).substr(2), &out.size) && out.size <= 32 &&
                         std::has_single_bit(out.size);
  if (!is_number) {
    return absl::InvalidArgumentError(
        absl::StrCat("its elements have the type ", Json::Quote(descr), "; save the array with one number type"));
  }
  out.type = descr[1];
  const bool is_integer = out.type == 'i' || out.type == 'u' || out.type == 'b';
  if (is_integer && out.size > (out.type == 'b' ? 1 : 8)) {
    return absl::InvalidArgumentError(absl::StrCat("its elements have the type ", Json::Quote(descr)));
  }
  if (header.fortran_order && header.shape.size() > 1) {
    return absl::InvalidArgumentError("it is in Fortran order; save numpy.ascontiguousarray(array)");
  }
  out.data = bytes.substr(header.data_offset);
  out.count = 1;
  const bool is_empty = std::find(header.shape.begin(), header.shape.end(), 0) != header.shape.end();
  for (const int64_t extent : header.shape) {
    if (is_empty) out.count = 0;
    const auto factor = static_cast<uint64_t>(extent);
    if (out.count != 0 && factor > out.data.size() / out.count) {
      return absl::InvalidArgumentError("it is cut off: its header declares more elements than bytes follow");
    }
    out.count *= factor;
  }
  if (out.data.size() % out.size != 0 || out.data.size() / out.size != out.count) {
    return absl::InvalidArgumentError(absl::StrCat("its header declares ", out.count, " elements of ", out.size,
                                                   " bytes, but ", out.data.size(), " bytes follow it"));
  }
  return out;
}

// Calls visit(value) for each element, with its C++ type. T is the type of the elements in memory.
template <typename T, typename Visit>
void VisitElements(const NpyElements& elements, const Visit& visit) {
  for (uint64_t i = 0; i < elements.count; ++i) {
    T value;  // little-endian, like every machine that Penstock runs on
    std::memcpy(&value, elements.data.data() + i * sizeof(T), sizeof(T));
    visit(value);
  }
}

// Requires that elements.kind() is kInt64.
template <typename Visit>
void VisitIntegers(const NpyElements& elements, const Visit& visit) {
  const bool is_signed = elements.type == 'i';
  switch (elements.size) {
    case 1:
      return is_signed ? VisitElements<int8_t>(elements, visit) : VisitElements<uint8_t>(elements, visit);
    case 2:
      return is_signed ? VisitElements<int16_t>(elements, visit) : VisitElements<uint16_t>(elements, visit);
    case 4:
      return is_signed ? VisitElements<int32_t>(elements, visit) : VisitElements<uint32_t>(elements, visit);
    default:
      return is_signed ? VisitElements<int64_t>(elements, visit) : VisitElements<uint64_t>(elements, visit);
  }
}

bool HasLargeInteger(const NpyElements& elements) {
  bool found = false;
  if (elements.type == 'u' && elements.size == 8) {
    VisitElements<uint64_t>(elements, [&](uint64_t value) { found |= value >> 63 != 0; });
  }
  return found;
}

absl::Status ReadNpy(const FeatureRequest& request, std::string_view member, ValueBudget* budget, FeatureValue* out) {
  const auto elements = ParseNpy(member);
  if (!elements.ok()) return BadValue(request, Fault::kOther, elements.status().message());
  if (request.kind == FeatureKind::kBytes) {
    PS_RETURN_IF_ERROR(budget->Spend(request, 1, sizeof(std::string_view)));
    out->bytes.push_back(elements->data);
    return CheckElements(request, elements->data);
  }
  if (elements->kind() != request.kind) {
    return WrongValueKind(request, absl::StrCat(std::string(FeatureKindName(elements->kind())), " (a NumPy array of ",
                                                std::string(1, elements->type), elements->size, ")"));
  }
  if (request.kind == FeatureKind::kInt64) {
    if (HasLargeInteger(*elements)) return WrongValueKind(request, "an integer over 2^63 - 1");
    PS_RETURN_IF_ERROR(budget->Spend(request, elements->count, sizeof(int64_t)));
    out->ints.reserve(elements->count);
    VisitIntegers(*elements, [&](auto value) { out->ints.push_back(static_cast<int64_t>(value)); });
    return absl::OkStatus();
  }
  PS_RETURN_IF_ERROR(budget->Spend(request, elements->count, sizeof(float)));
  out->floats.reserve(elements->count);
  if (elements->size == 2) {
    VisitElements<uint16_t>(*elements, [&](uint16_t half) { out->floats.push_back(HalfToFloat(half)); });
  } else if (elements->size == 4) {
    VisitElements<float>(*elements, [&](float value) { out->floats.push_back(value); });
  } else {  // rounded; infinity if it is over float's range, as NumPy converts it
    VisitElements<double>(*elements, [&](double value) { out->floats.push_back(static_cast<float>(value)); });
  }
  return absl::OkStatus();
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
    const auto elements = ParseNpy(data);
    if (!elements.ok() || elements->kind() == FeatureKind::kBytes || HasLargeInteger(*elements)) return info;
    info.kind = elements->kind();
    info.count = elements->count;
    info.first_bytes = {};
    if (info.kind != FeatureKind::kInt64 || info.count == 0) return info;
    info.least = std::numeric_limits<int64_t>::max();
    info.most = std::numeric_limits<int64_t>::min();
    VisitIntegers(*elements, [&](auto element) {
      const auto value = static_cast<int64_t>(element);
      info.least = std::min(info.least, value);
      info.most = std::max(info.most, value);
    });
    return info;
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
