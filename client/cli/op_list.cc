#include "client/cli/op_list.h"

#include <google/protobuf/descriptor.pb.h>

#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/check.h"
#include "client/cli/job_descriptors.h"
#include "penstock/v1/job.pb.h"
#include "pipeline/augment/check_pipeline.h"

namespace penstock::cli {
namespace {

namespace pb = google::protobuf;

// Returns "0.08" of "fraction of the area; 0.08 by default", or "" if the text names no default.
std::string DefaultIn(const std::string& text) {
  const size_t end = text.find(" by default");
  if (end == std::string::npos) return "";
  const size_t begin = text.find_last_of(",;: ", end - 1);
  return text.substr(begin == std::string::npos ? 0 : begin + 1, end - (begin == std::string::npos ? 0 : begin + 1));
}

// Returns the default of the field in the comment of the op's family, which has the field's name in backquotes.
std::string DefaultInFamily(const std::string& family, const std::string& field) {
  const size_t at = family.find(absl::StrCat("`", field, "`"));
  if (at == std::string::npos) return "";
  const size_t next = family.find('`', at + field.size() + 2);
  return DefaultIn(family.substr(at, next == std::string::npos ? next : next - at));
}

std::string TypeOf(const pb::FieldDescriptor& field) {
  if (field.is_map()) return absl::StrCat("map of ", field.message_type()->field(1)->type_name());
  if (field.message_type() != nullptr) return field.message_type()->name();
  if (field.enum_type() == nullptr) return field.type_name();
  std::vector<std::string> names;
  for (int i = 0; i < field.enum_type()->value_count(); ++i) {
    const std::string& name = field.enum_type()->value(i)->name();
    if (!absl::EndsWith(name, "_UNSPECIFIED")) names.push_back(name);
  }
  return absl::StrJoin(names, " | ");
}

std::string DefaultOf(const pb::FieldDescriptor& field, const std::string& family) {
  std::string said = DefaultIn(CommentOf(field));
  if (said.empty()) said = DefaultInFamily(family, field.name());
  if (!said.empty()) return said;
  // Ranges of factors, and unset probabilities: pipeline/augment/ops/common/fields.h.
  if (field.has_presence() && (field.name() == "min" || field.name() == "max" || field.name() == "probability")) {
    return "1";
  }
  if (field.is_repeated()) return "none";
  switch (field.cpp_type()) {
    case pb::FieldDescriptor::CPPTYPE_ENUM:
      return field.enum_type()->value(0)->name();
    case pb::FieldDescriptor::CPPTYPE_BOOL:
      return "false";
    case pb::FieldDescriptor::CPPTYPE_STRING:
      return "\"\"";
    default:
      return "0";
  }
}

// Returns the fields without which the validation of a job rejects the op.
std::set<std::string> RequiredFields(const pb::FieldDescriptor& op) {
  v1::JobSpec job;
  v1::Feature* const image = job.add_features();
  image->set_key("image");
  image->set_type(v1::Feature::BYTES);
  if (op.name() != "decode_image") job.add_ops()->mutable_decode_image();
  v1::Op* const bare = job.add_ops();
  const pb::FieldDescriptor* const member = v1::Op::descriptor()->FindFieldByName(op.name());
  PS_CHECK(member != nullptr);
  bare->GetReflection()->MutableMessage(bare, member);
  std::set<std::string> required;
  const std::string prefix = absl::StrCat("ops[", job.ops_size() - 1, "].", op.name(), ".");
  for (const std::string& mistake : augment::CheckPipeline(job)) {
    if (!absl::StartsWith(mistake, prefix)) continue;
    required.insert(mistake.substr(prefix.size(), mistake.find_first_of(":[. ", prefix.size()) - prefix.size()));
  }
  return required;
}

std::string FamilyOf(const pb::FileDescriptor& file) {
  pb::SourceLocation location;
  const std::vector<int> syntax = {pb::FileDescriptorProto::kSyntaxFieldNumber};
  return file.GetSourceLocation(syntax, &location) ? CommentText(location) : "";
}

ListedOp ListOp(const pb::FieldDescriptor& op) {
  ListedOp listed;
  listed.name = op.name();
  listed.comment = CommentOf(*op.message_type());
  // The file that lists all ops is not a family: its comment describes the list.
  if (op.message_type()->file() != op.file()) listed.family = FamilyOf(*op.message_type()->file());
  const std::set<std::string> required = RequiredFields(op);
  for (int i = 0; i < op.message_type()->field_count(); ++i) {
    const pb::FieldDescriptor& field = *op.message_type()->field(i);
    OpField& out = listed.fields.emplace_back();
    out.name = field.name();
    out.type = TypeOf(field);
    out.repeated = field.is_repeated() && !field.is_map();
    if (!required.contains(field.name())) out.fallback = DefaultOf(field, listed.family);
    out.comment = CommentOf(field);
  }
  return listed;
}

}  // namespace

std::vector<ListedOp> ListOps() {
  const pb::Descriptor* const op = JobDescriptorPool().FindMessageTypeByName(absl::StrCat(kJobPackage, "Op"));
  PS_CHECK(op != nullptr && op->oneof_decl_count() == 1);
  std::vector<ListedOp> ops;
  for (int i = 0; i < op->oneof_decl(0)->field_count(); ++i) ops.push_back(ListOp(*op->oneof_decl(0)->field(i)));
  return ops;
}

}  // namespace penstock::cli
