#include "net/access/access_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/runtime/random_source.h"
#include "net/access/token.h"
#include "tests/support/temp_folder.h"

namespace penstock::net {
namespace {

using ::testing::HasSubstr;

std::string HexOf(const std::string& token) {
  const AccessList::Digest digest = DigestOf(token);
  return absl::BytesToHexString(absl::string_view(reinterpret_cast<const char*>(digest.data()), digest.size()));
}

std::string ErrorOf(const std::string& text) {
  const absl::StatusOr<AccessList> list = AccessList::Parse(text, "/etc/tokens");
  return list.ok() ? "" : std::string(list.status().message());
}

TEST(AccessListTest, FindsThePrincipalOfATokenAndOfACertificate) {
  const absl::StatusOr<AccessList> list =
      AccessList::Parse(absl::StrCat("# callers\n\nalice trainer imagenet-*,coco ", HexOf("a1"),
                                     "  # a comment\nalice trainer "
                                     "imagenet-*,coco ",
                                     HexOf("a2"), "\r\nops\toperator * ", HexOf("o"), "\n",
                                     "san:Workers.Penstock worker *\nsan:spiffe://example.org/trainer trainer coco\n"),
                        "/etc/tokens");
  ASSERT_TRUE(list.ok()) << list.status();
  EXPECT_EQ(list->size(), 5u);
  const Principal alice{"alice", Role::kTrainer, {"imagenet-*", "coco"}};
  for (const char* token : {"a1", "a2"}) {
    ASSERT_NE(list->OfToken(token), nullptr);
    EXPECT_EQ(*list->OfToken(token), alice);
  }
  EXPECT_EQ(list->OfToken("o")->role, Role::kOperator);
  EXPECT_EQ(list->OfToken("a3"), nullptr);
  EXPECT_EQ(list->OfToken(""), nullptr);
  EXPECT_EQ(list->OfCertificate({"other", "workers.penstock"})->name, "san:Workers.Penstock");
  EXPECT_EQ(list->OfCertificate({"spiffe://example.org/trainer"})->jobs, std::vector<std::string>{"coco"});
  EXPECT_EQ(list->OfCertificate({"spiffe://EXAMPLE.org/trainer"}), nullptr);
  EXPECT_EQ(list->OfCertificate({"alice"}), nullptr);
  EXPECT_EQ(list->OfCertificate({}), nullptr);
}

TEST(AccessListTest, NamesTheLineOfAMistake) {
  const std::string hex = HexOf("t");
  EXPECT_THAT(ErrorOf(absl::StrCat("\nalice trainr * ", hex)),
              HasSubstr("tokens file /etc/tokens, line 2: 'trainr' is no role (did you mean 'trainer'?)"));
  EXPECT_THAT(ErrorOf("alice trainer *"), HasSubstr("line 1: it has 3 fields; write NAME ROLE JOBS SHA256"));
  EXPECT_THAT(ErrorOf("san:a worker * x"), HasSubstr("write san:NAME ROLE JOBS"));
  EXPECT_THAT(ErrorOf("alice trainer * abc"), HasSubstr("no SHA-256 digest"));
  EXPECT_THAT(ErrorOf(absl::StrCat("al/ice trainer * ", hex)), HasSubstr("'al/ice' is no name"));
  EXPECT_THAT(ErrorOf("san: worker *"), HasSubstr("'san:' is no name in a certificate"));
  EXPECT_THAT(ErrorOf(absl::StrCat("alice trainer a,,b ", hex)), HasSubstr("'' is no glob of jobs"));
  EXPECT_THAT(ErrorOf(absl::StrCat("alice trainer a/b ", hex)), HasSubstr("'a/b' is no glob of jobs"));
  EXPECT_THAT(ErrorOf(absl::StrCat("bob viewer coco ", hex)), HasSubstr("a viewer needs * as its jobs"));
  EXPECT_THAT(ErrorOf(absl::StrCat("a viewer * ", hex, "\nb viewer * ", hex)),
              HasSubstr("line 2: the token is also that of 'a'"));
  EXPECT_THAT(ErrorOf("san:a viewer *\nsan:A viewer *"), HasSubstr("line 2: 'san:A' has a line already"));
  EXPECT_THAT(ErrorOf("# nothing\n"), HasSubstr("has no line, so it admits no caller; make one with `penstock token"));
}

TEST(AccessListTest, ANameHasAtMostTwoTokensWithTheSameRights) {
  const auto line = [](const char* role, const char* token) {
    return absl::StrCat("alice ", role, " * ", HexOf(token), "\n");
  };
  EXPECT_EQ(ErrorOf(absl::StrCat(line("trainer", "1"), line("trainer", "2"))), "");
  EXPECT_THAT(ErrorOf(absl::StrCat(line("trainer", "1"), line("trainer", "2"), line("trainer", "3"))),
              HasSubstr("line 3: 'alice' has 2 tokens already"));
  EXPECT_THAT(ErrorOf(absl::StrCat(line("trainer", "1"), line("operator", "2"))),
              HasSubstr("line 2: 'alice' has another role or other jobs"));
}

TEST(AccessListTest, NoErrorContainsADigest) {
  const std::string hex = HexOf("t");
  EXPECT_EQ(ErrorOf(absl::StrCat("alice trainr * ", hex)).find(hex), std::string::npos);
}

TEST(AccessFileTest, AFileThatOtherUsersCanReadIsRejected) {
  const support::TempFolder folder;
  const std::string path = folder.File("tokens");
  ASSERT_TRUE(WriteFileAtomically(path, absl::StrCat("ops operator * ", HexOf("o"), "\n")).ok());
  for (const mode_t mode : {0644, 0604, 0602}) {
    ASSERT_EQ(chmod(path.c_str(), mode), 0);
    const absl::Status status = ReadAccessList(path).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(absl::StrCat("chmod o= ", path)));
  }
  ASSERT_EQ(chmod(path.c_str(), 0640), 0);
  EXPECT_TRUE(ReadAccessList(path).ok());
  EXPECT_TRUE(absl::IsNotFound(ReadAccessList(folder.File("none")).status()));
}

TEST(AccessFileTest, AppendsALineAndKeepsAFileThatItCannotExtend) {
  const support::TempFolder folder;
  const std::string path = folder.File("tokens");
  const auto line = [](const char* name, const char* token) {
    return TokenLineOf({name, Role::kTrainer, {"a", "b-*"}}, DigestOf(token));
  };
  ASSERT_TRUE(AppendTokenLine(path, line("alice", "1")).ok());
  struct stat info {};
  ASSERT_EQ(stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  std::ofstream(path, std::ios::app) << "# no line end";
  ASSERT_TRUE(AppendTokenLine(path, line("bob", "2")).ok());
  const absl::StatusOr<AccessList> list = ReadAccessList(path);
  ASSERT_TRUE(list.ok()) << list.status();
  EXPECT_EQ(list->OfToken("2")->name, "bob");
  EXPECT_EQ(list->size(), 2u);
  const std::string before = *ReadWholeFile(path);
  EXPECT_FALSE(AppendTokenLine(path, line("carol", "1")).ok());
  EXPECT_EQ(*ReadWholeFile(path), before);
}

TEST(TokenTest, ATokenHas256BitsAndNoneComesTwice) {
  SeededRandom random(1);
  const std::string token = MakeToken(&random);
  EXPECT_EQ(token.size(), 47u);
  EXPECT_EQ(token.substr(0, 4), "pst_");
  EXPECT_EQ(token.find_first_of("+/= "), std::string::npos);
  EXPECT_NE(MakeToken(&random), token);
  // echo -n token | sha256sum
  EXPECT_EQ(HexOf("token"), "3c469e9d6c5875d37a43f353d4f88e61fcf812c66eee3457465a40b0da4153e0");
}

TEST(TokenTest, ATokenFileHasOneTokenAndErrorsDoNotShowIt) {
  const support::TempFolder folder;
  const std::string path = folder.File("token");
  const auto read = [&](const std::string& content) {
    EXPECT_TRUE(WriteFileAtomically(path, content).ok());
    return ReadToken(path);
  };
  EXPECT_EQ(read("  pst_abc\r\n").value(), "pst_abc");
  EXPECT_THAT(std::string(read(" \n").status().message()), HasSubstr(absl::StrCat("token file ", path, " is empty")));
  for (const std::string& content :
       {std::string("pst_hidden\nname trainer"), std::string(600, 's'), std::string("pst_hidden\0x", 12)}) {
    const absl::Status status = read(content).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(std::string(status.message()).find("hidden"), std::string::npos);
  }
}

TEST(AccessList, ASubmitterHasGlobsLikeATrainer) {
  const auto list = AccessList::Parse("carol trainer+submit imagenet-*,coco " + std::string(64, 'a') + "\n", "tokens");
  ASSERT_TRUE(list.ok()) << list.status();
  EXPECT_TRUE(list->HasName("carol"));
  EXPECT_EQ(ParseRole("trainer+submit"), Role::kSubmitter);
  EXPECT_EQ(RoleName(Role::kSubmitter), "trainer+submit");
  const auto wrong = AccessList::Parse("carol trainer+submits * " + std::string(64, 'a') + "\n", "tokens");
  EXPECT_THAT(std::string(wrong.status().message()), HasSubstr("trainer+submit"));
}

}  // namespace
}  // namespace penstock::net
