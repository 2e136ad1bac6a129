// Rules for the files of the page that a browser would not enforce.
#include "server/page/page_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace penstock::server {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(PageFiles, HaveAtMost150KilobytesInAll) {
  size_t bytes = 0;
  for (const PageFile& file : PageFiles()) bytes += file.bytes.size();
  EXPECT_GT(bytes, 10'000);
  EXPECT_LE(bytes, 150'000);
}

TEST(PageFiles, TheHeadHasNoUrl) {
  const PageFile document = PageFiles().front();
  EXPECT_EQ(document.path, "/");
  const std::string text(document.bytes);
  const std::string head = text.substr(text.find("<head>"), text.find("</head>") - text.find("<head>"));
  EXPECT_THAT(head, HasSubstr("<title>"));
  for (const char* mark : {"://", "href", "src", "url(", "xmlns", "data:"}) EXPECT_THAT(head, Not(HasSubstr(mark)));
}

TEST(PageFiles, NothingIsExternalAndNoTextBecomesMarkup) {
  for (const PageFile& file : PageFiles()) {
    std::string text(file.bytes);
    // The name of SVG's elements. No browser fetches it.
    if (const size_t at = text.find("http://www.w3.org/2000/svg"); at != std::string::npos) text.erase(at, 26);
    for (const char* mark : {"http:", "https:", "url(", "@import", "innerHTML", "outerHTML", "insertAdjacentHTML",
                             "document.write", "eval(", "new Function", " style=", " onclick=", "<style"}) {
      EXPECT_THAT(text, Not(HasSubstr(mark))) << file.path;
    }
  }
}

}  // namespace
}  // namespace penstock::server
