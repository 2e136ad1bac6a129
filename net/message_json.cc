#include "net/message_json.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <charconv>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/json.h"

namespace penstock::net {
namespace {

namespace pb = google::protobuf;

// Returns true for hashes, fingerprints, ids and revisions, of which all 64 bits matter.
bool IsIdentifier(const pb::FieldDescriptor* field) {
  const bool wide = field->cpp_type() == pb::FieldDescriptor::CPPTYPE_UINT64 ||
                    field->cpp_type() == pb::FieldDescriptor::CPPTYPE_INT64;
  if (!wide) return false;
  for (const char* suffix : {"hash", "fingerprint", "uid", "id", "revision", "incarnation"}) {
    const std::string& name = field->name();
    if (name == suffix || absl::EndsWith(name, absl::StrCat("_", suffix))) return true;
  }
  return false;
}

std::string Wide(const pb::FieldDescriptor* field, std::string number) {
  return IsIdentifier(field) ? Json::Quote(number) : number;
}

// Returns the shortest text that converts back to the same number.
template <typename T>
std::string ShortestNumber(T value) {
  char digits[64];
  const auto end = std::to_chars(digits, digits + sizeof(digits), value).ptr;
  return std::isfinite(value) ? std::string(digits, end) : Json::Quote({digits, static_cast<size_t>(end - digits)});
}

// Returns true if a message of type `holder`, with all fields set, contains a message of type `kind`.
bool Holds(const pb::Descriptor* holder, const pb::Descriptor* kind, std::set<const pb::Descriptor*>* seen) {
  for (int f = 0; f < holder->field_count(); ++f) {
    const pb::FieldDescriptor* field = holder->field(f);
    const bool always = !field->is_repeated() && field->containing_oneof() == nullptr;
    if (!always || field->cpp_type() != pb::FieldDescriptor::CPPTYPE_MESSAGE) continue;
    if (field->message_type() == kind) return true;
    if (seen->insert(field->message_type()).second && Holds(field->message_type(), kind, seen)) return true;
  }
  return false;
}

bool HoldsItsOwnKind(const pb::Descriptor* kind) {
  std::set<const pb::Descriptor*> seen;
  return Holds(kind, kind, &seen);
}

// Returns one value of a field as JSON. `i` is -1 for fields that are not repeated.
std::string ValueToJson(const pb::Message& message, const pb::FieldDescriptor* field, int i) {
  const pb::Reflection* r = message.GetReflection();
  const bool many = i >= 0;
  switch (field->cpp_type()) {
    case pb::FieldDescriptor::CPPTYPE_INT32:
      return absl::StrCat(many ? r->GetRepeatedInt32(message, field, i) : r->GetInt32(message, field));
    case pb::FieldDescriptor::CPPTYPE_INT64:
      return Wide(field, absl::StrCat(many ? r->GetRepeatedInt64(message, field, i) : r->GetInt64(message, field)));
    case pb::FieldDescriptor::CPPTYPE_UINT32:
      return absl::StrCat(many ? r->GetRepeatedUInt32(message, field, i) : r->GetUInt32(message, field));
    case pb::FieldDescriptor::CPPTYPE_UINT64:
      return Wide(field, absl::StrCat(many ? r->GetRepeatedUInt64(message, field, i) : r->GetUInt64(message, field)));
    case pb::FieldDescriptor::CPPTYPE_DOUBLE:
      return ShortestNumber(many ? r->GetRepeatedDouble(message, field, i) : r->GetDouble(message, field));
    case pb::FieldDescriptor::CPPTYPE_FLOAT:
      return ShortestNumber(many ? r->GetRepeatedFloat(message, field, i) : r->GetFloat(message, field));
    case pb::FieldDescriptor::CPPTYPE_BOOL:
      return (many ? r->GetRepeatedBool(message, field, i) : r->GetBool(message, field)) ? "true" : "false";
    case pb::FieldDescriptor::CPPTYPE_ENUM:
      return Json::Quote((many ? r->GetRepeatedEnum(message, field, i) : r->GetEnum(message, field))->name());
    case pb::FieldDescriptor::CPPTYPE_STRING: {
      const std::string text = many ? r->GetRepeatedString(message, field, i) : r->GetString(message, field);
      return Json::Quote(field->type() == pb::FieldDescriptor::TYPE_BYTES ? absl::BytesToHexString(text) : text);
    }
    case pb::FieldDescriptor::CPPTYPE_MESSAGE:
      return MessageToJson(many ? r->GetRepeatedMessage(message, field, i) : r->GetMessage(message, field));
  }
  return "null";
}

}  // namespace

std::string MessageToJson(const pb::Message& message) {
  Json json;
  const pb::Descriptor* d = message.GetDescriptor();
  for (int f = 0; f < d->field_count(); ++f) {
    const pb::FieldDescriptor* field = d->field(f);
    if (field->is_repeated()) {
      std::vector<std::string> items;
      const int count = message.GetReflection()->FieldSize(message, field);
      for (int i = 0; i < count; ++i) items.push_back(ValueToJson(message, field, i));
      json.Raw(field->name(), Json::Array(items));
    } else if (field->cpp_type() == pb::FieldDescriptor::CPPTYPE_MESSAGE && field->containing_oneof() == nullptr &&
               !message.GetReflection()->HasField(message, field) && HoldsItsOwnKind(field->message_type())) {
      json.Raw(field->name(), "null");  // all fields would recurse without end
    } else if (field->containing_oneof() == nullptr || message.GetReflection()->HasField(message, field)) {
      json.Raw(field->name(), ValueToJson(message, field, -1));
    }
  }
  return json.Object();
}

}  // namespace penstock::net
