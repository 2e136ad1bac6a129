#include "client/cli/job_schema.h"

#include <google/protobuf/descriptor.h>

#include <map>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/json.h"
#include "client/cli/job_descriptors.h"

namespace penstock::cli {
namespace {

namespace pb = google::protobuf;

template <typename Descriptor>
std::string ShortName(const Descriptor& descriptor) {
  PS_CHECK(descriptor.full_name().rfind(kJobPackage, 0) == 0);
  return descriptor.full_name().substr(sizeof(kJobPackage) - 1);
}

// Visits a message and all messages that it can contain.
class Walk {
 public:
  void Add(const pb::Descriptor& message) {
    if (!messages_.emplace(ShortName(message), "").second) return;
    std::vector<std::string> fields;
    for (int i = 0; i < message.field_count(); ++i) fields.push_back(Field(*message.field(i)));
    messages_[ShortName(message)] =
        Json().Field("comment", CommentOf(message)).Raw("fields", Json::Array(fields)).Object();
  }

  std::string Text(const std::string& root) const {
    return Json().Field("root", root).Raw("messages", Object(messages_)).Raw("enums", Object(enums_)).Object();
  }

 private:
  std::string Field(const pb::FieldDescriptor& field) {
    // The type of a map is that of its entries' values.
    const pb::FieldDescriptor& value = field.is_map() ? *field.message_type()->field(1) : field;
    Json json;
    json.Field("name", field.name()).Field("type", value.type_name());
    if (value.message_type() != nullptr) {
      json.Field("of", ShortName(*value.message_type()));
      Add(*value.message_type());
    } else if (value.enum_type() != nullptr) {
      json.Field("of", ShortName(*value.enum_type()));
      Add(*value.enum_type());
    }
    json.Field("label", field.is_map() ? "map" : field.is_repeated() ? "repeated" : "single");
    if (field.is_map()) json.Field("key", field.message_type()->field(0)->type_name());
    const pb::OneofDescriptor* oneof = field.real_containing_oneof();
    return json.Field("presence", field.has_presence())
        .Field("oneof", oneof == nullptr ? std::string() : oneof->name())
        .Field("comment", CommentOf(field))
        .Object();
  }

  void Add(const pb::EnumDescriptor& type) {
    std::vector<std::string> values;
    for (int i = 0; i < type.value_count(); ++i) {
      const pb::EnumValueDescriptor& value = *type.value(i);
      values.push_back(Json()
                           .Field("name", value.name())
                           .Field("number", value.number())
                           .Field("comment", CommentOf(value))
                           .Object());
    }
    enums_[ShortName(type)] = Json().Field("comment", CommentOf(type)).Raw("values", Json::Array(values)).Object();
  }

  static std::string Object(const std::map<std::string, std::string>& members) {
    Json json;
    for (const auto& [name, member] : members) json.Raw(name, member);
    return json.Object();
  }

  std::map<std::string, std::string> messages_, enums_;
};

}  // namespace

std::string JobSchemaJson() {
  Walk walk;
  const pb::Descriptor* root = JobDescriptorPool().FindMessageTypeByName(absl::StrCat(kJobPackage, "JobSpec"));
  PS_CHECK(root != nullptr);
  walk.Add(*root);
  return walk.Text(ShortName(*root));
}

}  // namespace penstock::cli
