#include <cstdio>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/json.h"
#include "base/near_name.h"
#include "client/cli/commands.h"
#include "client/cli/op_list.h"
#include "client/cli/output.h"

namespace penstock::cli {
namespace {

constexpr size_t kOpsWidth = 108;

// Returns "height, width, padding: 0, mode: CONSTANT".
std::string FieldsLine(const ListedOp& op) {
  std::vector<std::string> fields;
  for (const OpField& field : op.fields) {
    fields.push_back(field.fallback.empty() ? field.name : absl::StrCat(field.name, ": ", field.fallback));
  }
  return absl::StrJoin(fields, ", ");
}

std::string OpText(const ListedOp& op) {
  std::string out = absl::StrCat(op.name, "\n");
  for (const std::string* text : {&op.comment, &op.family}) {
    if (!text->empty()) absl::StrAppend(&out, "\n", Wrapped(*text, kOpsWidth, 0), "\n");
  }
  if (op.fields.empty()) return out + "\nIt has no fields.\n";
  Table table({"FIELD", "TYPE", "DEFAULT", ""});
  for (const OpField& field : op.fields) {
    table.Add({field.name, absl::StrCat(field.repeated ? "list of " : "", field.type),
               field.fallback.empty() ? "(required)" : field.fallback, field.comment});
  }
  return absl::StrCat(out, "\n", table.Text(), "\n");
}

std::string OpJson(const ListedOp& op) {
  std::vector<std::string> fields;
  for (const OpField& field : op.fields) {
    fields.push_back(Json()
                         .Field("name", field.name)
                         .Field("type", field.type)
                         .Field("list", field.repeated)
                         .Field("required", field.fallback.empty())
                         .Field("default", field.fallback)
                         .Field("comment", field.comment)
                         .Object());
  }
  return Json().Field("name", op.name).Field("comment", op.comment).Raw("fields", Json::Array(fields)).Object();
}

class Ops final : public Command {
 public:
  std::string name() const override { return "ops"; }
  std::string arguments() const override { return "[NAME] [flags]"; }
  std::string summary() const override { return "the ops of a job's pipeline: their fields and defaults"; }
  std::string description() const override {
    return "Lists all ops with their fields and defaults. With NAME, describes the fields of one op.\n"
           "A field without a default is required. docs/augmentations.md describes the draws of each op.\n\n"
           "  penstock ops\n"
           "  penstock ops random_resized_crop";
  }
  void AddFlags(config::Flags* flags) override { flags->AddSwitch("json", &json_, "print JSON instead of text"); }

  absl::Status Run(const std::vector<std::string>& arguments) override {
    if (arguments.size() > 1) return UsageError(absl::StrCat("unexpected argument: ", arguments[1]));
    std::vector<ListedOp> ops = ListOps();
    if (!arguments.empty()) {
      std::vector<std::string> names;
      for (const ListedOp& op : ops) names.push_back(op.name);
      std::erase_if(ops, [&](const ListedOp& op) { return op.name != arguments[0]; });
      if (ops.empty()) {
        return absl::NotFoundError(absl::StrCat("there is no op '", arguments[0], "'", DidYouMean(arguments[0], names),
                                                "; `penstock ops` lists them"));
      }
    }
    if (json_) {
      std::vector<std::string> items;
      for (const ListedOp& op : ops) items.push_back(OpJson(op));
      std::printf("%s\n", Json::Array(items).c_str());
    } else if (!arguments.empty()) {
      std::fputs(OpText(ops[0]).c_str(), stdout);
    } else {
      Table table({"OP", "FIELDS AND DEFAULTS"});
      for (const ListedOp& op : ops) table.Add({op.name, FieldsLine(op)});
      std::printf("%s\n`penstock ops NAME` describes one. A field without a default is required.\n",
                  table.Text().c_str());
    }
    return absl::OkStatus();
  }

 private:
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> NewOps() { return std::make_unique<Ops>(); }

}  // namespace penstock::cli
