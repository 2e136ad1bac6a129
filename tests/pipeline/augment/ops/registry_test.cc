// The registry and the schema name the same ops.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "pipeline/augment/op/op_registry.h"
#include "tests/pipeline/augment/op_examples.h"
#include "tests/pipeline/augment/row_maker.h"

namespace penstock::augment {
namespace {

std::unique_ptr<Op> MakeNothing(const OpSetup& setup, ValueType*) {
  setup.Error("", "is a test's");
  return nullptr;
}

// Registers as an op's file does. The schema has no such op, so no job can name it.
const OpRegistration kRegistration{"test_only", MakeNothing};

TEST(OpRegistry, EveryOpOfTheSchemaRegistersItself) {
  for (const std::string& name : OpNames()) {
    EXPECT_NE(FindOp(name), nullptr) << name << " is in Op's oneof, but no file of pipeline/augment/ops registers it";
  }
}

TEST(OpRegistry, EveryRegisteredOpIsInTheSchema) {
  const std::vector<std::string> list = OpNames();
  const std::set<std::string> schema(list.begin(), list.end());
  for (const std::string& name : RegisteredOps()) {
    if (name == "test_only") continue;
    EXPECT_TRUE(schema.contains(name)) << name << " is registered, but no field of Op's oneof has this name";
  }
}

TEST(OpRegistry, AnObjectAtNamespaceScopeRegisters) {
  EXPECT_EQ(FindOp("test_only"), MakeNothing);
  EXPECT_EQ(FindOp("test_onl"), nullptr);
  EXPECT_EQ(FindOp(""), nullptr);
}

TEST(OpRegistryDeathTest, TwoOpsOfOneNameEndTheProcess) {
  EXPECT_DEATH((OpRegistration{"resize", MakeNothing}), "two files register the op 'resize'");
}

}  // namespace
}  // namespace penstock::augment
