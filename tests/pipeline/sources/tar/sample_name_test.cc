#include "pipeline/sources/tar/sample_name.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "tests/pipeline/sources/tar/tar_maker.h"

namespace penstock::sources {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Returns "KEY|EXTENSION", or "none".
std::string Split(std::string_view name) {
  const auto parts = ParseSampleName(name);
  return parts.has_value() ? absl::StrCat(std::string(parts->key), "|", parts->extension) : "none";
}

// The results are those of webdataset's base_plus_ext() and of its skip_meta.
TEST(SampleName, SplitsAtTheFirstDotAfterTheFolder) {
  EXPECT_EQ(Split("0001.jpg"), "0001|jpg");
  EXPECT_EQ(Split("train/0001.Left.JPG"), "train/0001|left.jpg");
  EXPECT_EQ(Split("v1.0/a.b/0001.seg.png"), "v1.0/a.b/0001|seg.png");
  EXPECT_EQ(Split("./0001.jpg"), "./0001|jpg");
  EXPECT_EQ(Split("/0001.jpg"), "/0001|jpg");
  EXPECT_EQ(Split("0001."), "0001|");
  EXPECT_EQ(Split("0001..jpg"), "0001|.jpg");
  EXPECT_EQ(Split("a b\xff.x y"), "a b\xff|x y");
  EXPECT_EQ(Split("a.\xc3\x89"), "a|\xc3\x89");
}

TEST(SampleName, NamesWithoutAnExtensionHaveNoKey) {
  for (const char* name : {"", "README", "a.b/README", "a.b/", ".jpg", ".", "/", "a.b/.jpg"}) {
    EXPECT_EQ(Split(name), "none") << name;
  }
}

TEST(SampleName, AHiddenFilesKeyIsItsFolder) {
  EXPECT_EQ(Split("a/.jpg"), "a/|jpg");
  EXPECT_EQ(Split("/.jpg"), "/|jpg");
  EXPECT_EQ(Split("a.b/c/.jpg"), "a.b/c/|jpg");
  EXPECT_EQ(Split("a//.jpg"), "a//|jpg");
  EXPECT_EQ(Split("a.b//.jpg"), "a.b//|jpg");
}

TEST(SampleName, MetadataHasNoKey) {
  for (const char* name : {"__meta__/a.txt", "____/a.txt", "__a.b__", "__a.b__\n"})
    EXPECT_EQ(Split(name), "none") << name;
  EXPECT_EQ(Split("__meta__.txt"), "__meta__|txt");
  EXPECT_EQ(Split("a/__meta__/b.txt"), "a/__meta__/b|txt");
  EXPECT_EQ(Split("__meta__a/b.txt"), "__meta__a/b|txt");
  EXPECT_EQ(Split("___/b.txt"), "___/b|txt");
  EXPECT_EQ(Split("__a__\n/b.txt"), "__a__\n/b|txt");
}

TEST(SampleName, NewlinesFollowPythonsRegularExpressions) {
  EXPECT_EQ(Split("a\nb/c.jpg"), "a\nb/c|jpg");
  EXPECT_EQ(Split("a.\n/c.jpg"), "none");
  EXPECT_EQ(Split("a.b/\n/c.jpg"), "a.b/\n/c|jpg");
  EXPECT_EQ(Split("a.jpg\n"), "a|jpg\n");
}

using Members = std::vector<std::pair<std::string, std::string>>;

// Returns the members that ForEachSampleMember passes, by extension. *key is that of all of them.
absl::Status Walk(std::string_view span, Members* members, std::string* key = nullptr) {
  return ForEachSampleMember(span, [&](const SampleName& name, std::string_view data) {
    EXPECT_TRUE(data.data() >= span.data() && data.data() + data.size() <= span.data() + span.size());
    if (key != nullptr) *key = std::string(name.key);
    members->emplace_back(name.extension, std::string(data));
    return absl::OkStatus();
  });
}

TEST(SampleMembers, SkipsLinksFoldersAndNamesWithoutAnExtension) {
  const std::string archive = RecordedTar("pax.tar");
  // Up to the last member, whose key is another, and its pax header.
  const size_t last = archive.find(std::string(600 - 87, 'x'));
  ASSERT_NE(last, std::string::npos);
  Members members;
  std::string key;
  ASSERT_TRUE(Walk(std::string_view(archive).substr(0, last - 512 - 1024), &members, &key).ok());
  EXPECT_EQ(key, "train/0001");
  EXPECT_THAT(members,
              ElementsAre(std::pair("jpg", "\xff\xd8photograph"), std::pair("cls", "7\n"), std::pair("empty", "")));
}

TEST(SampleMembers, ASpanThatDoesNotEndAfterAMemberIsAnError) {
  std::string span = PaxHeader(PaxRecord("path", "folder/s.one"));
  AppendTarMember("shortened", std::string(513, '1'), &span);
  const size_t first = span.size();
  AppendTarMember("folder", "", &span, '5');
  const size_t second = span.size();
  AppendTarMember("folder/s.two", "2", &span);
  for (size_t size = 0; size <= span.size(); ++size) {
    const std::string prefix = span.substr(0, size);  // in memory of its own, for AddressSanitizer
    Members members;
    const absl::Status status = Walk(prefix, &members);
    EXPECT_EQ(status.ok(), size == 0 || size == first || size == second || size == span.size()) << size;
    EXPECT_EQ(members.size(), size < first ? 0 : size < span.size() ? 1 : 2) << size;
    if (!status.ok()) {
      EXPECT_THAT(status.message(), HasSubstr("the sample at byte "));
    }
  }
}

TEST(SampleMembers, NamesTheMemberAndTheOffsetOfAnError) {
  std::string span;
  AppendTarMember("a.txt", "1", &span);
  Members members;
  EXPECT_THAT(Walk(span + TarHeader("a.jpg", 513) + std::string(512, 'x'), &members).message(),
              HasSubstr("the sample at byte 1024: member \"a.jpg\" is cut off: it has 513 bytes of data, and 512 bytes "
                        "follow its header"));
  EXPECT_THAT(Walk(span + TarHeader("b.jpg", 0), &members).message(),
              HasSubstr("the sample at byte 1024: member \"b.jpg\" belongs to another sample than \"a\""));
  EXPECT_THAT(Walk(span + std::string(512, '\0'), &members).message(), HasSubstr("byte 1024: a zero block"));
  EXPECT_THAT(Walk(span + std::string(512, 'x'), &members).message(), HasSubstr("byte 1024: no tar header"));
  EXPECT_THAT(Walk(span + PaxHeader("bad"), &members).message(),
              HasSubstr("byte 1024: member \"PaxHeaders/x\": a malformed pax header"));
  EXPECT_THAT(Walk(span + PaxHeader(""), &members).message(),
              HasSubstr("byte 1536: an extension header has no member"));
}

TEST(SampleMembers, ReturnsTheErrorOfVisit) {
  std::string span;
  AppendTarMember("a.txt", "1", &span);
  EXPECT_EQ(ForEachSampleMember(span, [](const SampleName&, std::string_view) { return absl::AbortedError("enough"); }),
            absl::AbortedError("enough"));
}

TEST(SampleMembers, RandomSamplesAreReadBack) {
  std::mt19937 random(7);
  const auto draw = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  for (int round = 0; round < 300; ++round) {
    const std::string key = absl::StrCat("f.", std::string(static_cast<size_t>(draw(150)), 'd'), "/k", round);
    std::string span;
    Members expected;
    for (int i = 0, n = draw(6); i < n; ++i) {
      std::string data(static_cast<size_t>(draw(3) == 0 ? 512 * draw(3) : draw(2000)), '\0');
      for (char& c : data) c = static_cast<char>(draw(256));
      std::string extension = absl::StrCat("e", i, std::string(static_cast<size_t>(draw(300)), draw(2) ? 'x' : '.'));
      AppendTarMember(absl::StrCat(key, ".", extension), data, &span);
      expected.emplace_back(std::move(extension), std::move(data));
      if (draw(3) == 0) AppendTarMember("other", "data", &span);
      if (draw(4) == 0) AppendTarMember("link.jpg", "", &span, '2');
      if (draw(4) == 0) span += PaxHeader(PaxRecord("comment", "global"), 'g');
    }
    Members members;
    std::string found;
    ASSERT_TRUE(Walk(span, &members, &found).ok());
    EXPECT_EQ(members, expected);
    if (!expected.empty()) {
      EXPECT_EQ(found, key);
    }
  }
}

}  // namespace
}  // namespace penstock::sources
