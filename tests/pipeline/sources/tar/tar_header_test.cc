#include "pipeline/sources/tar/tar_header.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "tests/pipeline/sources/tar/tar_maker.h"

namespace penstock::sources {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string Repeated(std::string_view text, int times) {
  std::string out;
  for (int i = 0; i < times; ++i) out += text;
  return out;
}

// Returns "NAME: content" for each file, and "NAME SIZE" for each other member.
absl::StatusOr<std::vector<std::string>> ListTar(std::string_view archive) {
  std::vector<std::string> members;
  TarAssembler assembler;
  for (size_t at = 0; at < archive.size();) {
    if (archive.size() - at < kTarBlockBytes) return absl::DataLossError("cut off in a header");
    PS_ASSIGN_OR_RETURN(const auto next, assembler.AddHeader(archive.data() + at));
    at += kTarBlockBytes;
    uint64_t size = 0;
    if (next == TarAssembler::Next::kEnd) return members;
    if (next == TarAssembler::Next::kExtension) size = assembler.extension_bytes();
    if (next == TarAssembler::Next::kMember) size = assembler.member().size;
    if (TarPaddedBytes(size) > archive.size() - at) return absl::DataLossError("cut off in data");
    const std::string_view data = archive.substr(at, size);
    at += TarPaddedBytes(size);
    if (next == TarAssembler::Next::kExtension) PS_RETURN_IF_ERROR(assembler.AddExtension(data));
    if (next != TarAssembler::Next::kMember) continue;
    const TarMember& member = assembler.member();
    members.push_back(member.is_file ? absl::StrCat(member.name, ": ", std::string(data))
                                     : absl::StrCat(member.name, " ", member.size));
  }
  return members;
}

std::vector<std::string> ListRecorded(const std::string& name) {
  const auto members = ListTar(RecordedTar(name));
  EXPECT_TRUE(members.ok()) << members.status();
  return members.ok() ? *members : std::vector<std::string>();
}

absl::Status ListError(const std::string& archive) { return ListTar(archive).status(); }

auto RecordedMembers(const std::string& longest) {
  return ElementsAre("train 0", "train/0001.jpg: \xff\xd8photograph", "train/0001.cls: 7\n",
                     "train/0001.empty: ", "train/0001.again.jpg 0", "train/0001.hard.jpg 0", "train/fifo.jpg 0",
                     "__meta__/sizes.txt: 1", "README: no dot",
                     absl::StrCat(longest, ".Left.JPG: ", std::string(513, 'x')));
}

TEST(TarHeader, ReadsEachFormatOfPythonsTarfile) {
  EXPECT_THAT(ListRecorded("ustar.tar"), RecordedMembers("train/" + Repeated("folder/", 13) + std::string(90, 'b')));
  EXPECT_THAT(ListRecorded("pax.tar"), RecordedMembers("train/" + std::string(290, 'p') + "\xc3\xa9"));
  EXPECT_THAT(ListRecorded("gnu.tar"), RecordedMembers("train/" + std::string(290, 'g')));
}

TEST(TarHeader, ReadsEachFormatOfGnuTar) {
  EXPECT_THAT(ListRecorded("program-v7.tar"), ElementsAre("dir/a.txt: text"));
  const std::string long_name = "dir/" + std::string(120, 'n') + ".txt: long";
  for (const char* name : {"program-oldgnu.tar", "program-gnu.tar", "program-posix.tar"}) {
    EXPECT_THAT(ListRecorded(name), ElementsAre("dir 0", "dir/a.txt: text", long_name)) << name;
  }
}

TEST(TarHeader, ReadsTheArchiveOfWebDatasetsWriter) {
  EXPECT_THAT(ListRecorded("webdataset.tar"),
              ElementsAre("val/000.Left.txt: sample 0", "val/000.cls: 0", "val/000.json: {\"label\": 0}",
                          "val/001.Left.txt: sample 1", "val/001.cls: 1", "val/001.json: {\"label\": 1}"));
}

TEST(TarHeader, ReadsBase256SizesPaxSizesAndSignedChecksums) {
  EXPECT_THAT(ListRecorded("sizes.tar"),
              ElementsAre("base256.bin: 12345", "paxsize.bin: 123456", "sign\xc3\xa9.bin: 1"));
}

TEST(TarHeader, TheFirstZeroBlockEndsTheArchive) {
  std::string archive;
  AppendTarMember("a.txt", "1", &archive);
  EXPECT_THAT(*ListTar(archive), ElementsAre("a.txt: 1"));
  archive += std::string(512, '\0') + "no header, and not read";
  EXPECT_THAT(*ListTar(archive), ElementsAre("a.txt: 1"));
}

TEST(TarHeader, AZeroBlockAndOtherBytesAreNotAHeader) {
  EXPECT_FALSE(IsTarHeader(std::string(512, '\0').data()));
  EXPECT_FALSE(IsTarHeader(std::string(512, 'x').data()));
  EXPECT_FALSE(IsTarHeader(std::string(512, '\xff').data()));
  std::string header = TarHeader("a.jpg", 3);
  EXPECT_TRUE(IsTarHeader(header.data()));
  for (size_t i = 0; i < header.size(); ++i) {
    if (i >= 148 && i < 156) continue;
    std::string changed = header;
    changed[i] ^= 1;
    EXPECT_FALSE(IsTarHeader(changed.data())) << i;
  }
  EXPECT_THAT(ListError(std::string(512, 'x')).message(), HasSubstr("no tar header: its checksum is wrong"));
}

TEST(TarHeader, PadsToBlocks) {
  EXPECT_EQ(TarPaddedBytes(0), 0);
  EXPECT_EQ(TarPaddedBytes(1), 512);
  EXPECT_EQ(TarPaddedBytes(512), 512);
  EXPECT_EQ(TarPaddedBytes(513), 1024);
  EXPECT_EQ(TarPaddedBytes(std::numeric_limits<int64_t>::max()), uint64_t{1} << 63);
}

// The results are those of tarfile: only the types 0, 7 and the zero byte are files, and data of unknown types is
// skipped.
TEST(TarHeader, OnlyFilesAndUnknownTypesHaveData) {
  for (const char type : std::string("123456")) {
    EXPECT_THAT(*ListTar(TarHeader("a.jpg", 700, type)), ElementsAre("a.jpg 0")) << type;
  }
  for (const char type : std::string("07\0", 3)) {
    std::string archive;
    AppendTarMember("a.jpg", "data", &archive, type);
    EXPECT_THAT(*ListTar(archive), ElementsAre("a.jpg: data")) << type;
  }
  std::string archive;
  AppendTarMember("a.jpg", "data", &archive, 'V');
  EXPECT_THAT(*ListTar(archive), ElementsAre("a.jpg 4"));
  EXPECT_THAT(*ListTar(TarHeader("folder//", 700, '\0')), ElementsAre("folder 0"));
  EXPECT_THAT(*ListTar(TarHeader("folder/", 0, '0')), ElementsAre("folder/: "));
}

TEST(TarHeader, ThePrefixOfAnIncrementalGnuArchiveIsNotPartOfTheName) {
  std::string block = TarHeader("a.jpg", 0);
  block.replace(345, 11, "14747123456");
  RepairTarChecksum(&block);
  EXPECT_THAT(*ListTar(block), ElementsAre("14747123456/a.jpg: "));
  block.replace(257, 8, std::string_view("ustar  \0", 8));
  RepairTarChecksum(&block);
  EXPECT_THAT(*ListTar(block), ElementsAre("a.jpg: "));
}

TEST(TarHeader, TheFirstExtensionWinsAndTheLastRecordInIt) {
  const std::string gnu = TarHeader("././@LongLink", 6, 'L') + TarPadded(std::string_view("gnu.a\0", 6));
  const std::string pax = PaxHeader(PaxRecord("path", "other") + PaxRecord("path", "pax.b"));
  const std::string member = TarHeader("c.txt", 0), global = PaxHeader(PaxRecord("comment", "text"), 'g');
  EXPECT_THAT(*ListTar(gnu + pax + member + member), ElementsAre("gnu.a: ", "c.txt: "));
  EXPECT_THAT(*ListTar(pax + gnu + member), ElementsAre("pax.b: "));
  EXPECT_THAT(*ListTar(pax + global + TarHeader("link", 3, 'K') + TarPadded("a/b") + member), ElementsAre("pax.b: "));
  EXPECT_THAT(*ListTar(PaxHeader("") + TarHeader("x", 0, 'X') + member), ElementsAre("c.txt: "));
}

TEST(TarHeader, RejectsInvalidSizes) {
  const auto with_size = [](std::string_view field) {
    std::string block = TarHeader("dir/a.jpg", 0);
    block.replace(124, 12, std::string(field) + std::string(12 - field.size(), '\0'));
    RepairTarChecksum(&block);
    return block;
  };
  EXPECT_THAT(ListError(with_size("\xff\xff\xff")).message(), HasSubstr("member \"dir/a.jpg\": its size is negative"));
  EXPECT_THAT(ListError(with_size("-5")).message(), HasSubstr("its size is negative"));
  EXPECT_THAT(ListError(with_size("9")).message(), HasSubstr("its size is no octal number"));
  EXPECT_THAT(ListError(with_size("1 1")).message(), HasSubstr("its size is no octal number"));
  EXPECT_THAT(ListError(with_size("\x80\x01")).message(), HasSubstr("its size exceeds 2^63 - 1 bytes"));
  EXPECT_THAT(ListError(with_size("\x81")).message(), HasSubstr("its size exceeds 2^63 - 1 bytes"));
  EXPECT_THAT(ListError(with_size(std::string_view("\x80\0\0\0\x80\0\0\0\0\0\0\0", 12))).message(),
              HasSubstr("its size exceeds 2^63 - 1 bytes"));
  EXPECT_TRUE(
      absl::IsDataLoss(ListError(with_size(std::string_view("\x80\0\0\0\x7f\xff\xff\xff\xff\xff\xff\xff", 12)))));
  EXPECT_THAT(*ListTar(with_size("  \t ")), ElementsAre("dir/a.jpg: "));

  const std::string member = TarHeader("a.jpg", 0);
  const auto pax_size = [&](std::string_view size) { return ListError(PaxHeader(PaxRecord("size", size)) + member); };
  EXPECT_THAT(pax_size("9223372036854775808").message(), HasSubstr("exceeds 2^63 - 1 bytes"));
  EXPECT_THAT(pax_size("99999999999999999999").message(), HasSubstr("exceeds 2^63 - 1 bytes"));
  EXPECT_TRUE(absl::IsDataLoss(pax_size("9223372036854775807")));
  for (const char* size : {"-1000", "+1000", "1000.0", "1_000", " 1000"}) {
    EXPECT_THAT(pax_size(size).message(), HasSubstr(absl::StrCat("\"", size, "\", which is no decimal number")))
        << size;
  }
}

TEST(TarHeader, RejectsSparseMembers) {
  EXPECT_THAT(ListError(TarHeader("a.bin", 0, 'S')).message(),
              HasSubstr("member \"a.bin\": a sparse member; write it whole"));
  const std::string pax = PaxHeader(PaxRecord("GNU.sparse.major", "1") + PaxRecord("GNU.sparse.name", "b.bin"));
  EXPECT_THAT(ListError(pax + TarHeader("a.bin", 0)).message(), HasSubstr("member \"b.bin\": a sparse member"));
  for (const char* name : {"sparse-gnu.tar", "sparse-0.0.tar", "sparse-0.1.tar", "sparse-1.0.tar"}) {
    EXPECT_THAT(ListError(RecordedTar(name)).message(), HasSubstr("member \"dir/holes.bin\": a sparse member")) << name;
  }
}

TEST(TarHeader, RejectsGlobalPathsAndSizes) {
  for (const char* key : {"path", "size", "GNU.sparse.size"}) {
    EXPECT_THAT(ListError(PaxHeader(PaxRecord(key, "123"), 'g')).message(),
                HasSubstr(absl::StrCat("a global pax header sets ", key)));
  }
}

TEST(TarHeader, RejectsMalformedPaxHeaders) {
  const std::string good = PaxRecord("comment", "123456");
  for (const char* bad :
       {"x", "13 path=abc\n", "10 path=ab\n", "11 pathabc\n\n", "8 =abcd\n", "0 path=a\n", " path=a\n", "-9 path=a\n",
        "99999999999999999999 path=a\n", "3 \n", "2 a=b\n", "10 path=abc", "\n"}) {
    EXPECT_THAT(ListError(PaxHeader(good + bad)).message(),
                HasSubstr("member \"PaxHeaders/x\": a malformed pax header: its byte 18"))
        << bad;
  }
}

TEST(TarHeader, RejectsLargeExtensionsAndExtensionsWithoutAMember) {
  EXPECT_THAT(ListError(TarHeader("././@LongLink", kMaxTarExtensionBytes + 1, 'L')).message(),
              AllOf(HasSubstr("././@LongLink"), HasSubstr("1048577 bytes; the limit is 1048576")));
  EXPECT_TRUE(absl::IsDataLoss(ListError(TarHeader("././@LongLink", kMaxTarExtensionBytes, 'L'))));
  const std::string zeros(512, '\0');
  EXPECT_THAT(ListError(PaxHeader(PaxRecord("comment", "123456")) + zeros).message(),
              HasSubstr("ends between an extension header and its member"));
  EXPECT_THAT(*ListTar(PaxHeader(PaxRecord("comment", "123456"), 'g') + zeros), ElementsAre());
}

}  // namespace
}  // namespace penstock::sources
