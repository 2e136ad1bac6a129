#include "pipeline/records/json_record_parser.h"

#include <cstdint>
#include <limits>
#include <optional>

#include "absl/strings/str_cat.h"
#include "base/fault.h"
#include "base/json.h"
#include "base/status_macros.h"
#include "base/utf8.h"
#include "pipeline/records/json_line.h"
#include "pipeline/records/json_path.h"
#include "pipeline/records/number_text.h"
#include "pipeline/records/request_check.h"

namespace penstock::records {
namespace {

constexpr size_t kNoPart = std::numeric_limits<size_t>::max();

// Bytes of a text that a message quotes.
constexpr size_t kShownBytes = 40;

std::string Shortened(std::string_view text) {
  std::string out(text.substr(0, kShownBytes + 1));
  if (out.size() <= kShownBytes) return out;
  TruncateUtf8(&out, kShownBytes);
  return out + "...";
}

bool IsInteger(std::string_view number) { return number.find_first_of(".eE") == std::string_view::npos; }

std::string DescribeToken(const JsonToken& scalar) {
  switch (scalar.type) {
    case JsonToken::Type::kNull:
      return "null in an array";
    case JsonToken::Type::kBool:
      return std::string(scalar.token);
    case JsonToken::Type::kNumber:
      if (!IsInteger(scalar.token)) return absl::StrCat("FLOAT (", Shortened(scalar.token), ")");
      if (IntegerIn(scalar.token)) return absl::StrCat("INT64 (", Shortened(scalar.token), ")");
      return absl::StrCat("an integer out of the range of INT64 (", Shortened(scalar.token), ")");
    case JsonToken::Type::kString:
      return absl::StrCat("BYTES (", Json::Quote(Shortened(scalar.text)), ")");
  }
  return "";
}

}  // namespace

// Receives the values of one record.
class JsonRecordReader final : public JsonLineHandler {
 public:
  JsonRecordReader(const JsonRecordParser& plan, std::string_view record, ParsedExample* out)
      : plan_(plan), record_(record), out_(*out), budget_(plan.options_.max_value_bytes), states_(out->size()) {}

  void OnKey(std::string_view name) override { pending_ = Child(open_.back().node, name); }

  void OnScalar(const JsonToken& scalar) override {
    if (open_.back().is_array) {
      for (const size_t request : RequestsOf(open_.back().node)) AddValue(request, scalar);
    }
    const size_t node = BeginValue();
    if (scalar.type == JsonToken::Type::kNull) return;
    for (const size_t request : RequestsOf(node)) AddValue(request, scalar);
  }

  void OnOpen(bool is_array) override {
    size_t node = 0;
    if (!open_.empty()) {
      open_.back().has_nested = true;
      node = BeginValue();
    }
    for (const size_t request : RequestsOf(node)) out_[request].missing = false;
    open_.push_back({.node = node, .is_array = is_array});
  }

  void OnClose(std::string_view text, size_t offset) override {
    const Open closed = open_.back();
    open_.pop_back();
    if (closed.is_array && !closed.has_nested) return;
    for (const size_t request : RequestsOf(closed.node)) {
      if (plan_.requests_[request].kind == FeatureKind::kBytes) {
        Forget(request);
        AddBytes(request, text, true);
      } else {
        SetWrong(request, closed.is_array ? "an array of arrays or objects" : "an object", offset);
      }
    }
  }

  // Completes the values after the last call, or returns the first error of a request.
  absl::Status Finish() {
    for (size_t request = 0; request < states_.size(); ++request) {
      PS_RETURN_IF_ERROR(states_[request].error);
      for (const auto& [value, offset] : states_[request].copies) {
        std::string_view& bytes = out_[request].bytes[value];
        bytes = {out_[request].own.data() + offset, bytes.size()};
      }
      for (const std::string_view bytes : out_[request].bytes) {
        PS_RETURN_IF_ERROR(CheckElements(plan_.requests_[request], bytes));
      }
    }
    return absl::OkStatus();
  }

 private:
  // An array or object around the next value.
  struct Open {
    size_t node;
    bool is_array;
    bool has_nested = false;  // an array or object in it
    uint64_t next_index = 0;
  };
  struct State {
    absl::Status error;
    std::vector<std::pair<size_t, size_t>> copies;  // number of the value, place in `own`
  };

  size_t Child(size_t node, std::string_view name) const {
    if (node == kNoPart) return kNoPart;
    const auto& children = plan_.nodes_[node].children;
    const auto child = children.find(name);
    return child == children.end() ? kNoPart : child->second;
  }

  const std::vector<size_t>& RequestsOf(size_t node) const {
    static const std::vector<size_t> none;
    return node == kNoPart ? none : plan_.nodes_[node].requests;
  }

  // Returns the node of the value that begins here. Forgets the values of an earlier member with the same name.
  size_t BeginValue() {
    size_t node = pending_;
    if (Open& around = open_.back(); around.is_array) {
      const uint64_t index = around.next_index++;
      const bool has_children = around.node != kNoPart && !plan_.nodes_[around.node].children.empty();
      node = has_children ? Child(around.node, absl::StrCat(index)) : kNoPart;
    }
    if (node == kNoPart) return node;
    for (const size_t request : plan_.nodes_[node].below) Forget(request);
    return node;
  }

  void Forget(size_t request) {
    out_[request].Clear();
    states_[request].error = absl::OkStatus();
    states_[request].copies.clear();
  }

  void AddValue(size_t request, const JsonToken& scalar) {
    FeatureValue& value = out_[request];
    value.missing = false;
    switch (plan_.requests_[request].kind) {
      case FeatureKind::kInt64: {
        std::optional<int64_t> integer;
        if (scalar.type == JsonToken::Type::kBool) integer = scalar.token == "true" ? 1 : 0;
        if (scalar.type == JsonToken::Type::kNumber && IsInteger(scalar.token)) integer = IntegerIn(scalar.token);
        if (!integer.has_value()) return SetWrong(request, DescribeToken(scalar), scalar.offset);
        if (Spend(request, sizeof(int64_t))) value.ints.push_back(*integer);
        return;
      }
      case FeatureKind::kFloat: {
        if (scalar.type != JsonToken::Type::kNumber) return SetWrong(request, DescribeToken(scalar), scalar.offset);
        const std::optional<float> number = FloatOf(NumberIn(scalar.token).value_or(0));
        if (!number.has_value()) return SetWrong(request, "a number over the range of a 32-bit float", scalar.offset);
        if (Spend(request, sizeof(float))) value.floats.push_back(*number);
        return;
      }
      default:
        if (scalar.type != JsonToken::Type::kString) return SetWrong(request, DescribeToken(scalar), scalar.offset);
        AddBytes(request, scalar.text, scalar.is_in_line);
    }
  }

  void AddBytes(size_t request, std::string_view bytes, bool is_in_record) {
    FeatureValue& value = out_[request];
    value.missing = false;
    if (!Spend(request, sizeof(std::string_view) + (is_in_record ? 0 : bytes.size()))) return;
    if (!is_in_record) {
      states_[request].copies.emplace_back(value.bytes.size(), value.own.size());
      value.own.insert(value.own.end(), bytes.begin(), bytes.end());
      bytes = record_.substr(0, bytes.size());  // Finish() sets the place
    }
    value.bytes.push_back(bytes);
  }

  // Only the first error of a value counts.
  void SetWrong(size_t request, std::string_view found, size_t offset) {
    const FeatureRequest& wanted = plan_.requests_[request];
    if (!states_[request].error.ok()) return;
    states_[request].error =
        WrongValueKind(wanted, absl::StrCat(std::string(found), " at offset ", offset, " of the line"));
  }

  bool Spend(size_t request, uint64_t bytes) {
    if (bytes <= budget_) {
      budget_ -= bytes;
      return true;
    }
    states_[request].error = OverValueLimit(plan_.requests_[request], plan_.options_.max_value_bytes);
    return false;
  }

  const JsonRecordParser& plan_;
  const std::string_view record_;
  ParsedExample& out_;
  uint64_t budget_;
  std::vector<State> states_;  // by request
  std::vector<Open> open_;
  size_t pending_ = kNoPart;  // node of the name that was read last
};

absl::StatusOr<JsonRecordParser> JsonRecordParser::Create(std::vector<FeatureRequest> requests,
                                                          const ParserOptions& options) {
  JsonRecordParser parser(std::move(requests), options);
  for (size_t request = 0; request < parser.requests_.size(); ++request) {
    const FeatureRequest& wanted = parser.requests_[request];
    PS_RETURN_IF_ERROR(CheckRequest(wanted));
    const auto names = SplitJsonPath(wanted.key);
    if (!names.ok()) return BadRequest(wanted, names.status().message());
    size_t node = 0;
    for (const std::string& name : *names) {
      const auto [child, is_new] = parser.nodes_[node].children.try_emplace(name, parser.nodes_.size());
      node = child->second;
      if (is_new) parser.nodes_.emplace_back();
      parser.nodes_[node].below.push_back(request);
    }
    parser.nodes_[node].requests.push_back(request);
  }
  return parser;
}

absl::Status JsonRecordParser::Parse(std::string_view record, ParsedExample* out) const {
  out->resize(requests_.size());
  for (FeatureValue& value : *out) value.Clear();
  JsonRecordReader reader(*this, record, out);
  PS_RETURN_IF_ERROR(ReadJsonLine(record, &reader));
  return reader.Finish();
}

}  // namespace penstock::records
