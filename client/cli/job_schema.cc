#include "client/cli/job_schema.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>

#include <map>
#include <string_view>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/check.h"
#include "base/json.h"
#include "client/cli/output.h"

namespace penstock {
std::string_view JobDescriptors();  // made by proto/CMakeLists.txt
}  // namespace penstock

namespace penstock::cli {
namespace {

namespace pb = google::protobuf;

constexpr char kPackage[] = "penstock.v1.";

// The lines of a comment as one text. Of what stands above a declaration only the block right over it: sections have
// comments of their own.
template <typename Descriptor>
std::string Comment(const Descriptor& descriptor) {
  pb::SourceLocation location;
  if (!descriptor.GetSourceLocation(&location)) return "";
  std::string text;
  for (const std::string& part : {location.leading_comments, location.trailing_comments}) {
    for (absl::string_view line : absl::StrSplit(part, '\n')) {
      line = absl::StripAsciiWhitespace(line);
      if (!line.empty()) absl::StrAppend(&text, text.empty() ? "" : " ", line);
    }
  }
  return text;
}

template <typename Descriptor>
std::string ShortName(const Descriptor& descriptor) {
  PS_CHECK(descriptor.full_name().rfind(kPackage, 0) == 0);
  return descriptor.full_name().substr(sizeof(kPackage) - 1);
}

// Walks from one message over all that it can hold.
class Walk {
 public:
  void Add(const pb::Descriptor& message) {
    if (!messages_.emplace(ShortName(message), "").second) return;
    std::vector<std::string> fields;
    for (int i = 0; i < message.field_count(); ++i) fields.push_back(Field(*message.field(i)));
    messages_[ShortName(message)] =
        Json().Field("comment", Comment(message)).Raw("fields", Json::Array(fields)).Object();
  }

  std::string Text(const std::string& root) const {
    return Json().Field("root", root).Raw("messages", Object(messages_)).Raw("enums", Object(enums_)).Object();
  }

 private:
  std::string Field(const pb::FieldDescriptor& field) {
    // Of a map's entries the value has the type.
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
        .Field("comment", Comment(field))
        .Object();
  }

  void Add(const pb::EnumDescriptor& type) {
    std::vector<std::string> values;
    for (int i = 0; i < type.value_count(); ++i) {
      const pb::EnumValueDescriptor& value = *type.value(i);
      values.push_back(
          Json().Field("name", value.name()).Field("number", value.number()).Field("comment", Comment(value)).Object());
    }
    enums_[ShortName(type)] = Json().Field("comment", Comment(type)).Raw("values", Json::Array(values)).Object();
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
  // The descriptors that are linked in have lost their comments.
  pb::FileDescriptorSet files;
  const std::string_view bytes = JobDescriptors();
  PS_CHECK(files.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())));
  pb::DescriptorPool pool;
  for (const pb::FileDescriptorProto& file : files.file()) PS_CHECK(pool.BuildFile(file) != nullptr);
  Walk walk;
  const pb::Descriptor* root = pool.FindMessageTypeByName(absl::StrCat(kPackage, "JobSpec"));
  PS_CHECK(root != nullptr);
  walk.Add(*root);
  return walk.Text(ShortName(*root));
}

}  // namespace penstock::cli
