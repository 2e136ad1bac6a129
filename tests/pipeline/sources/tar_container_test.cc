#include "pipeline/sources/tar/tar_container.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/hash.h"
#include "pipeline/sources/index_builder.h"
#include "pipeline/sources/shard_index.h"
#include "pipeline/sources/shard_kind.h"
#include "pipeline/sources/shard_reader.h"
#include "pipeline/sources/verify.h"
#include "tests/pipeline/sources/tar/tar_maker.h"
#include "tests/pipeline/sources/test_shards.h"

namespace penstock::sources {
namespace {

struct Archive {
  std::string bytes;
  std::vector<std::string> samples;  // the stored bytes of each
};

// Samples of one to three members of different sizes. Other members are before, in and between them.
Archive MakeArchive(int count) {
  Archive archive;
  AppendTarMember("train", "", &archive.bytes, '5');
  for (int i = 0; i < count; ++i) {
    std::string sample;
    const std::string key = i % 5 == 4 ? absl::StrCat(std::string(120, 'd'), "/", i) : absl::StrCat("train/", i);
    AppendTarMember(key + ".jpg", TestBytes(static_cast<size_t>(i) * 97 % 3000, i), &sample);
    if (i % 3 == 1) AppendTarMember("link", "", &sample, '2');
    if (i % 3 != 0) AppendTarMember(key + ".cls", absl::StrCat(i), &sample);
    archive.bytes += sample;
    archive.samples.push_back(std::move(sample));
    if (i % 7 == 6) AppendTarMember("README", std::string(700, 'r'), &archive.bytes);
  }
  return archive;
}

const std::string kEndMark(1024, '\0');

ShardIndex IndexOfTar(const std::string& bytes) {
  auto index = BuildShardIndex(MemoryFile(bytes), {.restart_spacing = 4096});
  EXPECT_TRUE(index.ok()) << index.status();
  return index.ok() ? *std::move(index) : ShardIndex();
}

std::unique_ptr<ShardReader> OpenTar(const std::string& bytes, const ShardIndex& index) {
  auto reader = ShardReader::Open(std::make_unique<MemoryFile>(bytes), std::make_shared<const ShardIndex>(index));
  EXPECT_TRUE(reader.ok()) << reader.status();
  return *std::move(reader);
}

TEST(TarContainer, EachRecordHasTheBytesOfItsSample) {
  const Archive archive = MakeArchive(200);
  for (const std::string& bytes :
       {archive.bytes + kEndMark, archive.bytes, GzippedBytes(archive.bytes + kEndMark), GzippedBytes(archive.bytes)}) {
    const ShardIndex index = IndexOfTar(bytes);
    EXPECT_EQ(index.kind().container, ContainerKind::kTar);
    ASSERT_EQ(index.record_count(), archive.samples.size());
    const auto parsed = ShardIndex::Parse(index.Serialize());
    ASSERT_TRUE(parsed.ok()) << parsed.status();
    EXPECT_EQ(*parsed, index);
    const auto reader = OpenTar(bytes, *parsed);
    for (uint64_t k = archive.samples.size(); k-- > 0;) {
      std::string record;
      ASSERT_TRUE(reader->ReadRecord(k, &record).ok());
      ASSERT_EQ(record, archive.samples[k]) << k;
    }
    EXPECT_EQ(index.RangeBytes(3, 1), index.StoredBytes(3));
    EXPECT_EQ(index.RangeBytes(3, 0), 0u);
    EXPECT_EQ(index.RangeBytes(5, 4), index.RecordOffset(8) + index.StoredBytes(8) - index.RecordOffset(5));
  }
}

TEST(TarContainer, TheContentHashCoversNamesAndDataAndNeitherTimesNorCompression) {
  const Archive archive = MakeArchive(20);
  const uint64_t hash = IndexOfTar(archive.bytes + kEndMark).content_hash;
  EXPECT_EQ(IndexOfTar(GzippedBytes(archive.bytes)).content_hash, hash);
  const auto changed = [&](size_t at, bool repair) {
    std::string bytes = archive.bytes;
    bytes[at] ^= 1;
    if (repair) {
      std::string header = bytes.substr(512, 512);
      RepairTarChecksum(&header);
      bytes.replace(512, 512, header);
    }
    return IndexOfTar(bytes).content_hash;
  };
  EXPECT_EQ(changed(512 + 140, true), hash) << "the time of the first member";
  EXPECT_NE(changed(512 + 6, true), hash) << "the name of the member";
  EXPECT_NE(changed(archive.bytes.find(archive.samples[5]) + 512, false), hash) << "data";
}

TEST(TarContainer, EachChangedByteOfASampleIsFound) {
  const Archive archive = MakeArchive(12);
  const ShardIndex index = IndexOfTar(archive.bytes);
  for (uint64_t k = 0; k < index.record_count(); ++k) {
    for (uint64_t at = 0; at < index.StoredBytes(k); at += 37) {
      std::string bytes = archive.bytes;
      bytes[index.RecordOffset(k) + at] ^= 0x10;
      std::string record;
      const absl::Status read = OpenTar(bytes, index)->ReadRecord(k, &record);
      ASSERT_TRUE(absl::IsDataLoss(read)) << read;
      EXPECT_NE(read.message().find(absl::StrCat("memory, record ", k, " at offset ", index.RecordOffset(k))),
                std::string::npos)
          << read;
    }
  }
}

TEST(TarContainer, ATruncatedArchiveNamesTheMemberAndKeepsEarlierSamples) {
  const Archive archive = MakeArchive(6);
  for (size_t length = 1; length < archive.bytes.size(); length += 61) {
    const auto report = VerifyShard(MemoryFile(archive.bytes.substr(0, length)));
    ASSERT_TRUE(report.ok()) << report.status();
    size_t whole = 0, end = 512;
    while (whole < archive.samples.size() && end + archive.samples[whole].size() <= length) {
      end += archive.samples[whole++].size();
    }
    if (length < 512) continue;  // no tar header
    // A sample before a header that is cut off may have a further member. A cut between members is no damage.
    EXPECT_GE(report->readable_records + 1, whole) << length;
    EXPECT_LE(report->readable_records, length % 512 == 0 ? whole + 1 : whole) << length;
    if (length % 512 == 0) continue;
    ASSERT_EQ(report->broken.size(), 1u) << length;
    const std::string text = report->Describe(0);
    EXPECT_NE(text.find("the file ends inside its"), std::string::npos) << text;
    EXPECT_EQ(text.find("header") == std::string::npos, text.find("member ") != std::string::npos) << text;
  }
}

TEST(TarContainer, AMalformedHeaderNamesItsOffsetAndKeepsTheSamplesBeforeIt) {
  const Archive archive = MakeArchive(6);
  std::string bytes = archive.bytes;
  const size_t at = bytes.find(archive.samples[4]);
  bytes[at + 3] ^= 1;
  const auto index = BuildShardIndex(MemoryFile(bytes));
  EXPECT_TRUE(absl::IsDataLoss(index.status())) << index.status();
  for (const std::string& part : {std::string("memory: record 3"), absl::StrCat("at offset ", at),
                                  std::string("checksum"), std::string("3 samples before it are readable")}) {
    EXPECT_NE(index.status().message().find(part), std::string::npos) << index.status();
  }
}

// Checks the messages of an index and of a check. `bytes` follows two whole samples.
void ExpectNamed(const std::string& bytes, uint64_t limit, const std::string& member, bool may_continue_sample) {
  std::string archive;
  AppendTarMember("a.jpg", "1", &archive);
  AppendTarMember("b.jpg", "2", &archive);
  const size_t at = archive.size();
  archive += bytes;
  const int readable = may_continue_sample ? 1 : 2;
  const std::string message(BuildShardIndex(MemoryFile(archive), {.max_record_bytes = limit}).status().message());
  const auto report = VerifyShard(MemoryFile(archive), {.max_record_bytes = limit});
  ASSERT_TRUE(report.ok() && report->broken.size() == 1) << report.status();
  EXPECT_EQ(report->readable_records, static_cast<uint64_t>(readable));
  const std::string described = report->Describe(0);
  for (const std::string& text : {message, described}) {
    EXPECT_NE(text.find(absl::StrCat("record ", readable, " at offset ", at)), std::string::npos) << text;
    EXPECT_NE(text.find(member), std::string::npos) << text;
  }
  EXPECT_EQ(message.rfind("memory: record ", 0), 0u) << message;
  EXPECT_NE(
      message.find(absl::StrCat("; ", readable, readable == 1 ? " sample before it is" : " samples before it are")),
      std::string::npos)
      << message;
  EXPECT_NE(report->Summary().find(absl::StrCat(readable, " samples readable")), std::string::npos);
}

TEST(TarContainer, EachErrorNamesFileMemberOffsetAndTheSamplesBeforeIt) {
  constexpr uint64_t kLimit = 1 << 20;
  ExpectNamed(TarHeader("c.jpg", kLimit), kLimit, "member c.jpg at offset", false);
  ExpectNamed(TarHeader("c.jpg", 700) + std::string(300, 'x'), kLimit, "member c.jpg at offset", false);
  ExpectNamed(TarHeader("c.jpg", 700) + std::string(800, 'x'), kLimit, "member c.jpg at offset", false);
  ExpectNamed(TarHeader("c.jpg", 700, 'S'), kLimit, "member \"c.jpg\": a sparse member", true);
  const std::string sparse = PaxHeader(PaxRecord("GNU.sparse.size", "12"));
  ExpectNamed(sparse + TarHeader("c.jpg", 1), kLimit, "member \"c.jpg\": a sparse member", true);
  ExpectNamed(PaxHeader(PaxRecord("size", "-1")) + TarHeader("c.jpg", 1), kLimit,
              "member \"c.jpg\": its pax header sets the size \"-1\"", true);
  ExpectNamed(PaxHeader("not a record"), kLimit, "member \"PaxHeaders/x\": a malformed pax header", true);
  ExpectNamed(TarHeader("c.jpg", 0).replace(3, 1, "x"), kLimit, "no tar header: its checksum is wrong", true);
  ExpectNamed(TarHeader("c.jpg", 0).substr(0, 200), kLimit, "after 200 of 512 bytes", true);
}

TEST(TarContainer, ASampleAboveTheLimitIsRejectedBeforeItIsRead) {
  std::string bytes;
  AppendTarMember("a.jpg", std::string(5000, 'a'), &bytes);
  AppendTarMember("a.cls", "5", &bytes);
  EXPECT_TRUE(BuildShardIndex(MemoryFile(bytes), {.max_record_bytes = 6656}).ok());
  const auto index = BuildShardIndex(MemoryFile(bytes), {.max_record_bytes = 6655});
  EXPECT_TRUE(absl::IsResourceExhausted(index.status())) << index.status();
  // A forged size allocates nothing.
  const auto forged = BuildShardIndex(MemoryFile(TarHeader("a.jpg", uint64_t{7} << 30)));
  EXPECT_TRUE(absl::IsResourceExhausted(forged.status())) << forged.status();
}

TEST(TarContainer, MembersOutsideOfSamplesAreCounted) {
  const auto report = VerifyShard(MemoryFile(MakeArchive(14).bytes + kEndMark));
  ASSERT_TRUE(report.ok() && report->ok());
  EXPECT_EQ(report->readable_records, 14u);
  EXPECT_EQ(report->skipped_members, 1u + 5 + 2);
  EXPECT_NE(report->Summary().find("14 samples"), std::string::npos) << report->Summary();
  EXPECT_NE(report->Summary().find("8 members outside of samples skipped"), std::string::npos) << report->Summary();
}

TEST(TarContainer, ADamagedEndOfACompressedArchiveIsFound) {
  std::string bytes = GzippedBytes(MakeArchive(5).bytes + kEndMark);
  bytes[bytes.size() - 6] ^= 1;
  const auto report = VerifyShard(MemoryFile(bytes));
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->readable_records, 5u);
  EXPECT_EQ(report->broken.size(), 1u);
}

TEST(TarContainer, AnIndexOfAnUnknownContainerIsOfALaterRelease) {
  std::string blob = IndexOfTar(MakeArchive(3).bytes).Serialize();
  blob[9] = static_cast<char>(kLastContainer) + 1;
  blob.resize(blob.size() - 8);
  const uint64_t checksum = Hash64(blob);
  blob.append(reinterpret_cast<const char*>(&checksum), sizeof(checksum));
  EXPECT_TRUE(absl::IsFailedPrecondition(ShardIndex::Parse(blob).status()));
}

}  // namespace
}  // namespace penstock::sources
