#include "pipeline/storage/object/s3/s3_dialect.h"

#include <gtest/gtest.h>

#include <string>

namespace penstock::storage {
namespace {

bool SignsWith(const std::string& is_unsigned) {
  Environment environment;
  environment.variable = [&](const std::string& name) {
    return name == "PENSTOCK_S3_UNSIGNED" ? is_unsigned : std::string();
  };
  return S3Options::FromEnvironment(environment).is_signed;
}

TEST(S3Options, RequestsAreUnsignedOnlyIfTheVariableSaysSo) {
  for (const char* unset : {"", "0", "false"}) EXPECT_TRUE(SignsWith(unset)) << unset;
  for (const char* set : {"1", "true"}) EXPECT_FALSE(SignsWith(set)) << set;
}

}  // namespace
}  // namespace penstock::storage
