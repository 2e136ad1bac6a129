#include "pipeline/augment/op/own_op.h"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "base/mutex.h"
#include "pipeline/augment/op/own_op_registry.h"

namespace penstock {
namespace {

class OwnOps {
 public:
  // Returns the registry, which is never destroyed: ops in any file register before main.
  static OwnOps& Get() {
    static OwnOps* registry = new OwnOps;
    return *registry;
  }

  absl::Status Add(OwnOp op) {
    MutexLock lock(&mutex_);
    const std::string name = op.name;
    if (!ops_.try_emplace(name, std::move(op)).second) {
      return absl::AlreadyExistsError(absl::StrCat("own op '", name, "' is registered already"));
    }
    return absl::OkStatus();
  }

  const OwnOp* Find(std::string_view name) {
    MutexLock lock(&mutex_);
    const auto found = ops_.find(name);
    return found == ops_.end() ? nullptr : &found->second;
  }

  std::vector<OwnOpVersion> List() {
    MutexLock lock(&mutex_);
    std::vector<OwnOpVersion> list;
    for (const auto& [name, op] : ops_) list.push_back({name, op.version});
    return list;
  }

 private:
  Mutex mutex_;
  std::map<std::string, OwnOp, std::less<>> ops_ ABSL_GUARDED_BY(mutex_);  // nodes never move
};

bool IsGoodName(const std::string& name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-' || c == '.';
  });
}

absl::Status Check(const OwnOp& op) {
  const auto wrong = [&](std::string_view what) {
    return absl::InvalidArgumentError(absl::StrCat("own op '", op.name, "': ", std::string(what)));
  };
  if (!IsGoodName(op.name)) return wrong("a name has letters, digits, '_', '-' and '.'");
  if (op.version.empty()) return wrong("needs a version, such as \"1\"");
  if (op.make == nullptr) return wrong("needs a factory, `make`");
  std::set<std::string> names;
  for (const OwnOp::Number& number : op.numbers) {
    if (!IsGoodName(number.name)) return wrong("a parameter's name has letters, digits, '_', '-' and '.'");
    if (!names.insert(number.name).second) return wrong(absl::StrCat("parameter '", number.name, "' occurs twice"));
    if (!(number.otherwise >= number.min && number.otherwise <= number.max)) {
      return wrong(absl::StrCat("the default of '", number.name, "' is outside its bounds"));
    }
  }
  for (const OwnOp::Text& text : op.texts) {
    if (!IsGoodName(text.name)) return wrong("a parameter's name has letters, digits, '_', '-' and '.'");
    if (!names.insert(text.name).second) return wrong(absl::StrCat("parameter '", text.name, "' occurs twice"));
    if (!text.choices.empty() &&
        std::find(text.choices.begin(), text.choices.end(), text.otherwise) == text.choices.end()) {
      return wrong(absl::StrCat("the default of '", text.name, "' is none of its choices"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status RegisterOwnOp(OwnOp op) {
  const absl::Status status = Check(op);
  return status.ok() ? OwnOps::Get().Add(std::move(op)) : status;
}

std::vector<OwnOpVersion> RegisteredOwnOps() { return OwnOps::Get().List(); }

const OwnOp* FindOwnOp(std::string_view name) { return OwnOps::Get().Find(name); }

void AddOwnOpVersions(const v1::Op& op, Fingerprint* fingerprint) {
  for (const v1::Op& child : op.random_apply().ops()) AddOwnOpVersions(child, fingerprint);
  for (const v1::Op& child : op.one_of().ops()) AddOwnOpVersions(child, fingerprint);
  if (!op.has_custom()) return;
  const OwnOp* own = FindOwnOp(op.custom().op());
  fingerprint->Add(op.custom().op()).Add(own == nullptr ? std::string_view() : std::string_view(own->version));
}

namespace internal {

OwnOpRegistration::OwnOpRegistration(OwnOp op) {
  const absl::Status status = RegisterOwnOp(std::move(op));
  if (status.ok()) return;
  std::fprintf(stderr, "PENSTOCK_REGISTER_OP: %s\n", status.ToString().c_str());
  std::abort();
}

}  // namespace internal
}  // namespace penstock
