#include "pipeline/storage/object/common/object_name.h"

#include <gtest/gtest.h>

namespace penstock::storage {
namespace {

TEST(ObjectName, AUrlIsSplitIntoItsParts) {
  EXPECT_EQ(ParseObjectName("s3://train/a/b c-0").value(), (ObjectName{ObjectScheme::kS3, "train", "a/b c-0"}));
  EXPECT_EQ(ParseObjectName("https://data.example.com:8443/a/b%20c").value(),
            (ObjectName{ObjectScheme::kHttps, "data.example.com:8443", "a/b%20c"}));
  EXPECT_EQ(ParseObjectName("s3://train").value(), (ObjectName{ObjectScheme::kS3, "train", ""}));
  for (const char* name :
       {"s3://train/a/b c-0", "https://data.example.com:8443/a/b%20c", "s3://train", "http://[::1]:80/x"}) {
    EXPECT_EQ(ToString(ParseObjectName(name).value()), name);
  }
}

TEST(ObjectName, ErrorsNameTheMistakeWithoutSecrets) {
  for (const char* name :
       {"s3://", "s3:///key", "https:///path", "s3://buck et/key", "s3://a,b/key", "ftp://host/file"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(ParseObjectName(name).status())) << name;
  }
  for (const char* name :
       {"https://me:hunter2@host/file", "https://host/file?X-Amz-Signature=hunter2", "https://host/file#hunter2",
        "https:///file?sig=hunter2", "https://host?sig=hunter2", "https://ho st?sig=hunter2", "s3://buck et?x=hunter2",
        "https://me:hunter2/x@host/file", "https://hunter2 me@host/file", "https:///hunter2@host/file",
        "https://[::1]:hunter2/x@host", "ftp://me:hunter2@host/file", "ftp://host/file?sig=hunter2"}) {
    const absl::Status status = ParseObjectName(name).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << name;
    EXPECT_EQ(status.message().find("hunter2"), absl::string_view::npos) << status;
  }
}

TEST(ObjectName, PercentEncodingKeepsUnreservedCharacters) {
  EXPECT_EQ(PercentEncoded("aZ09-._~/ +\xC3\xA9", "/"), "aZ09-._~/%20%2B%C3%A9");
}

}  // namespace
}  // namespace penstock::storage
