#include "pipeline/augment/op/op_registry.h"

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>

namespace penstock {
namespace {

using OpFactories = std::map<std::string, OpFactory, std::less<>>;

// The first registration creates it, because the linker decides the order in which files register before main.
OpFactories& Ops() {
  static OpFactories* const ops = new OpFactories;
  return *ops;
}

}  // namespace

OpRegistration::OpRegistration(std::string_view name, OpFactory factory) {
  if (Ops().try_emplace(std::string(name), factory).second) return;
  std::fprintf(stderr, "OpRegistration: two files register the op '%s'\n", std::string(name).c_str());
  std::abort();
}

OpFactory FindOp(std::string_view name) {
  const auto found = Ops().find(name);
  return found == Ops().end() ? nullptr : found->second;
}

std::vector<std::string> RegisteredOps() {
  std::vector<std::string> names;
  for (const auto& [name, factory] : Ops()) names.push_back(name);
  return names;
}

}  // namespace penstock
