#include "pipeline/records/json_fields.h"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/json.h"

namespace penstock::records {
namespace {

constexpr size_t kNoNode = std::numeric_limits<size_t>::max();

// Bytes of a text that a message quotes.
constexpr size_t kQuotedBytes = 40;

// A number, a text or a bool of the JSON text.
struct JsonScalar {
  enum class Type { kNull, kBool, kInteger, kLargeInteger, kReal, kString } type;
  int64_t integer = 0;
  double real = 0;
  std::string_view text = {};  // a string, or a real number as it is written
};

std::string Describe(const JsonScalar& scalar) {
  switch (scalar.type) {
    case JsonScalar::Type::kNull:
      return "null in an array";
    case JsonScalar::Type::kBool:
      return scalar.integer != 0 ? "true" : "false";
    case JsonScalar::Type::kInteger:
      return absl::StrCat("INT64 (", scalar.integer, ")");
    case JsonScalar::Type::kLargeInteger:
      return "an integer over 2^63 - 1";
    case JsonScalar::Type::kReal:
      return absl::StrCat("FLOAT (", std::string(scalar.text.substr(0, kQuotedBytes)), ")");
    case JsonScalar::Type::kString:
      return absl::StrCat("BYTES (", Json::Quote(scalar.text.substr(0, kQuotedBytes)), ")");
  }
  return "";
}

}  // namespace

// Receives the events of nlohmann's parser, which does not recurse.
class JsonFieldReader {
 public:
  JsonFieldReader(const JsonFields& plan, uint64_t* budget, std::vector<JsonField>* out)
      : plan_(plan), budget_(budget), out_(out), visited_(plan.nodes_.size()) {}

  bool over_budget() const { return over_budget_; }
  bool too_deep() const { return too_deep_; }
  size_t error_position() const { return error_position_; }

  // nlohmann::json::sax_parse calls these. A result of false ends the parse.
  // NOLINTBEGIN(readability-identifier-naming)
  bool null() { return OnScalar({.type = JsonScalar::Type::kNull}); }
  bool boolean(bool value) { return OnScalar({.type = JsonScalar::Type::kBool, .integer = value}); }
  bool number_integer(int64_t value) { return OnInteger(value); }
  bool number_unsigned(uint64_t value) {
    if (value <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
      return OnInteger(static_cast<int64_t>(value));
    }
    return OnScalar({.type = JsonScalar::Type::kLargeInteger, .real = static_cast<double>(value)});
  }
  bool number_float(double value, const std::string& text) {
    return OnScalar({.type = JsonScalar::Type::kReal, .real = value, .text = text});
  }
  bool string(const std::string& value) { return OnScalar({.type = JsonScalar::Type::kString, .text = value}); }
  bool binary(const nlohmann::json::binary_t&) { return false; }
  bool start_object(size_t) { return Enter(/*is_array=*/false); }
  bool start_array(size_t) { return Enter(/*is_array=*/true); }
  bool end_object() { return Leave(); }
  bool end_array() { return Leave(); }
  bool key(const std::string& name) {
    pending_ = Child(open_.back().node, name);
    return true;
  }
  template <typename Error>
  bool parse_error(size_t position, const std::string&, const Error&) {
    error_position_ = position;
    return false;
  }
  // NOLINTEND(readability-identifier-naming)

 private:
  struct Open {
    size_t node;
    bool is_array;
    uint64_t next_index = 0;
  };

  size_t Child(size_t node, std::string_view name) const {
    if (node == kNoNode) return kNoNode;
    const auto& children = plan_.nodes_[node].children;
    const auto child = children.find(name);
    return child == children.end() ? kNoNode : child->second;
  }

  // Returns the node of the value that begins here. Forgets the values of an earlier equal key.
  size_t BeginValue() {
    size_t node = open_.empty() ? 0 : pending_;
    if (!open_.empty() && open_.back().is_array) {
      Open& array = open_.back();
      const uint64_t index = array.next_index++;
      const bool has_children = array.node != kNoNode && !plan_.nodes_[array.node].children.empty();
      node = has_children ? Child(array.node, absl::StrCat(index)) : kNoNode;
    }
    if (node == kNoNode) return node;
    if (visited_[node]) Reset(node);
    visited_[node] = true;
    return node;
  }

  // A pointer has at most kMaxJsonDepth names, which bounds the recursion.
  void Reset(size_t node) {
    for (const size_t field : plan_.nodes_[node].fields) (*out_)[field] = JsonField();
    for (const auto& [name, child] : plan_.nodes_[node].children) Reset(child);
  }

  // Fields whose array is the innermost open one.
  const std::vector<size_t>& ArrayFields() const {
    static const auto* const none = new std::vector<size_t>();
    if (open_.empty() || !open_.back().is_array || open_.back().node == kNoNode) return *none;
    return plan_.nodes_[open_.back().node].fields;
  }

  bool OnInteger(int64_t value) {
    return OnScalar({.type = JsonScalar::Type::kInteger, .integer = value, .real = static_cast<double>(value)});
  }

  bool OnScalar(const JsonScalar& scalar) {
    const size_t node = BeginValue();
    for (const size_t field : ArrayFields()) {
      if (!Append(scalar, field)) return false;
    }
    if (node == kNoNode || scalar.type == JsonScalar::Type::kNull) return true;
    for (const size_t field : plan_.nodes_[node].fields) {
      (*out_)[field].state = JsonField::State::kPresent;
      if (!Append(scalar, field)) return false;
    }
    return true;
  }

  bool Enter(bool is_array) {
    if (open_.size() == kMaxJsonDepth) {
      too_deep_ = true;
      return false;
    }
    const size_t node = BeginValue();
    for (const size_t field : ArrayFields()) {
      SetWrong(is_array ? "an array of arrays" : "an array of objects", &(*out_)[field]);
    }
    if (node != kNoNode) {
      for (const size_t field : plan_.nodes_[node].fields) {
        (*out_)[field].state = JsonField::State::kPresent;
        if (!is_array) SetWrong("an object", &(*out_)[field]);
      }
    }
    open_.push_back({.node = node, .is_array = is_array});
    return true;
  }

  bool Leave() {
    open_.pop_back();
    return true;
  }

  void SetWrong(std::string found, JsonField* field) {
    if (field->state == JsonField::State::kWrong) return;
    field->state = JsonField::State::kWrong;
    field->found = std::move(found);
  }

  bool Append(const JsonScalar& scalar, size_t number) {
    JsonField& field = (*out_)[number];
    using Type = JsonScalar::Type;
    switch (plan_.kinds_[number]) {
      case FeatureKind::kInt64:
        if (scalar.type != Type::kInteger && scalar.type != Type::kBool) break;
        if (!Spend(sizeof(int64_t))) return false;
        field.ints.push_back(scalar.integer);
        return true;
      case FeatureKind::kFloat:
        if (scalar.type != Type::kInteger && scalar.type != Type::kLargeInteger && scalar.type != Type::kReal) break;
        if (std::abs(scalar.real) > static_cast<double>(std::numeric_limits<float>::max())) {
          SetWrong("a number over the range of a 32-bit float", &field);
          return true;
        }
        if (!Spend(sizeof(float))) return false;
        field.floats.push_back(static_cast<float>(scalar.real));
        return true;
      default:
        if (scalar.type != Type::kString) break;
        if (!Spend(sizeof(std::string_view) + scalar.text.size())) return false;
        field.text.insert(field.text.end(), scalar.text.begin(), scalar.text.end());
        field.text_ends.push_back(field.text.size());
        return true;
    }
    SetWrong(Describe(scalar), &field);
    return true;
  }

  bool Spend(uint64_t bytes) {
    if (bytes > *budget_) {
      over_budget_ = true;
      return false;
    }
    *budget_ -= bytes;
    return true;
  }

  const JsonFields& plan_;
  uint64_t* const budget_;
  std::vector<JsonField>* const out_;
  std::vector<bool> visited_;  // nodes whose value was read
  std::vector<Open> open_;     // arrays and objects around the next value
  size_t pending_ = kNoNode;   // node of the key that was read last
  size_t error_position_ = 0;
  bool over_budget_ = false, too_deep_ = false;
};

absl::StatusOr<size_t> JsonFields::Add(std::string_view pointer, FeatureKind kind) {
  const auto bad = [&](absl::string_view reason) {
    return absl::InvalidArgumentError(absl::StrCat("the JSON pointer ", Json::Quote(pointer), " ", reason));
  };
  if (!pointer.empty() && pointer[0] != '/') return bad("does not begin with \"/\"");
  size_t node = 0, depth = 0;
  while (!pointer.empty()) {
    if (++depth > kMaxJsonDepth) return bad("has more than 64 names");
    pointer.remove_prefix(1);
    const std::string_view escaped = pointer.substr(0, pointer.find('/'));
    pointer.remove_prefix(escaped.size());
    std::string name;
    for (size_t i = 0; i < escaped.size(); ++i) {
      if (escaped[i] != '~') {
        name += escaped[i];
        continue;
      }
      if (++i == escaped.size() || (escaped[i] != '0' && escaped[i] != '1')) {
        return bad("has a \"~\" that is part of neither \"~0\" nor \"~1\"");
      }
      name += escaped[i] == '0' ? '~' : '/';
    }
    const auto [child, is_new] = nodes_[node].children.try_emplace(std::move(name), nodes_.size());
    node = child->second;
    if (is_new) nodes_.emplace_back();
  }
  nodes_[node].fields.push_back(kinds_.size());
  kinds_.push_back(kind);
  return kinds_.size() - 1;
}

absl::Status JsonFields::Read(std::string_view json, uint64_t* budget, std::vector<JsonField>* out) const {
  out->assign(kinds_.size(), JsonField());
  JsonFieldReader reader(*this, budget, out);
  if (nlohmann::json::sax_parse(json.begin(), json.end(), &reader)) return absl::OkStatus();
  if (reader.over_budget()) return absl::ResourceExhaustedError("its values exceed the limit");
  if (reader.too_deep()) {
    return absl::InvalidArgumentError(absl::StrCat("its JSON nests more than ", kMaxJsonDepth, " arrays and objects"));
  }
  return absl::InvalidArgumentError(absl::StrCat("it is no JSON: error at byte ", reader.error_position()));
}

}  // namespace penstock::records
