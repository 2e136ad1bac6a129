// Reads of single members of samples: which bytes they read, and what damage they see.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/hash.h"
#include "base/mutex.h"
#include "pipeline/sources/container.h"
#include "pipeline/sources/index_builder.h"
#include "pipeline/sources/index_store.h"
#include "pipeline/sources/requested_features.h"
#include "pipeline/sources/shard_index.h"
#include "pipeline/sources/shard_reader.h"
#include "tests/pipeline/sources/tar/tar_maker.h"
#include "tests/pipeline/sources/test_shards.h"

namespace penstock::sources {
namespace {

using Member = RequestedFeatures::Member;

// A file in memory that records its reads.
class CountedFile final : public storage::StoredFile {
 public:
  CountedFile(std::string bytes, std::vector<ByteRange>* reads)
      : file_(std::move(bytes)), info_(file_.Info().value()), reads_(reads) {}
  absl::StatusOr<size_t> ReadAt(uint64_t offset, size_t length, char* out) const override {
    reads_->push_back({offset, length});
    return file_.ReadAt(offset, length, out);
  }
  void Read(uint64_t offset, size_t length, char* out, const storage::CallOptions& options,
            storage::CallDone<size_t> done) const override {
    std::move(done)(ReadAt(offset, length, out));
  }
  absl::StatusOr<FileInfo> Info() const override { return info_; }
  const FileInfo& opened() const override { return info_; }
  const std::string& path() const override { return file_.path(); }

 private:
  const MemoryFile file_;
  const FileInfo info_;
  std::vector<ByteRange>* const reads_;
};

std::string MemberBytes(const std::string& name, const std::string& data, char type = '0') {
  std::string bytes;
  AppendTarMember(name, data, &bytes, type);
  return bytes;
}

struct Shard {
  // Members of the samples, and bytes that belong to none.
  struct Part {
    int sample = -1;
    std::string extension;
    std::string bytes;
  };
  std::vector<Part> parts;
  int samples = 0;

  void Add(int sample, const std::string& extension, const std::string& data) {
    const std::string key = sample % 4 == 3 ? absl::StrCat(std::string(130, 'k'), sample) : absl::StrCat("s/", sample);
    parts.push_back({sample, extension, MemberBytes(absl::StrCat(key, ".", extension), data)});
    samples = sample + 1;
  }
  std::string bytes() const {
    std::string all;
    for (const Part& part : parts) all += part.bytes;
    return all;
  }
  // The members of a sample with these extensions.
  std::string Of(int sample, const std::vector<std::string>& extensions) const {
    std::string all;
    for (const Part& part : parts) {
      if (part.sample != sample) continue;
      for (const std::string& extension : extensions) all += part.extension == extension ? part.bytes : "";
    }
    return all;
  }
};

// Samples "cls jpg json txt", of which some lack jpg or json, with other members between and in them.
Shard MakeShard(int samples, size_t photograph = 5000) {
  Shard shard;
  for (int i = 0; i < samples; ++i) {
    shard.Add(i, "cls", absl::StrCat(i));
    if (i % 5 != 4) shard.Add(i, "jpg", TestBytes(photograph + static_cast<size_t>(i), i));
    if (i % 3 == 1) shard.parts.push_back({-1, "", MemberBytes("link", "", '2')});
    if (i % 3 != 2) shard.Add(i, "json", absl::StrCat("{\"a\": ", i, "}"));
    shard.Add(i, "txt", std::string(static_cast<size_t>(i) * 40, 't'));
    if (i % 4 == 1) shard.parts.push_back({-1, "", MemberBytes("README", std::string(700, 'r'))});
  }
  return shard;
}

std::shared_ptr<const ShardIndex> IndexOf(const std::string& bytes) {
  auto index = BuildShardIndex(MemoryFile(bytes), {.restart_spacing = 16 << 10});
  EXPECT_TRUE(index.ok()) << index.status();
  return std::make_shared<const ShardIndex>(*std::move(index));
}

std::unique_ptr<ShardReader> Open(const std::string& bytes, const std::shared_ptr<const ShardIndex>& index,
                                  std::vector<ByteRange>* reads) {
  auto reader = ShardReader::Open(std::unique_ptr<storage::StoredFile>(new CountedFile(bytes, reads)), index);
  EXPECT_TRUE(reader.ok()) << reader.status();
  return *std::move(reader);
}

uint64_t SumOf(const std::vector<ByteRange>& reads) {
  uint64_t sum = 0;
  for (const ByteRange& read : reads) sum += read.length;
  return sum;
}

absl::StatusOr<std::string> ReadFeatures(const ShardReader& reader, uint64_t k, const RequestedFeatures& features,
                                         bool later) {
  std::string buffer(reader.StoredBytes(k, &features), '\0');
  absl::StatusOr<std::string_view> data = absl::UnknownError("not read");
  if (later) {
    reader.ReadRecordLater(k, buffer.data(), &features, {},
                           [&](absl::StatusOr<std::string_view> got) { data = std::move(got); });
  } else {
    data = reader.ReadRecord(k, buffer.data(), &features);
  }
  if (!data.ok()) return data.status();
  return std::string(*data);
}

TEST(TarFeatures, ReadsOnlyRequestedMembersAndNeighborsTogether) {
  const Shard shard = MakeShard(40);
  const std::string bytes = shard.bytes();
  const auto index = IndexOf(bytes);
  std::vector<ByteRange> reads;
  const auto reader = Open(bytes, index, &reads);
  ASSERT_EQ(index->record_count(), 40u);
  for (const bool later : {false, true}) {
    for (int k = 0; k < shard.samples; ++k) {
      const auto expect = [&](std::vector<RequestedFeatures::Request> requests,
                              const std::vector<std::string>& extensions, size_t ranges) {
        reads.clear();
        const auto record = ReadFeatures(*reader, k, RequestedFeatures(std::move(requests)), later);
        ASSERT_TRUE(record.ok()) << record.status();
        EXPECT_EQ(*record, shard.Of(k, extensions)) << k;
        EXPECT_EQ(SumOf(reads), record->size()) << k;
        EXPECT_EQ(reads.size(), ranges) << k;
      };
      const bool photograph = k % 5 != 4;
      expect({{Member{"cls"}}}, {"cls"}, 1);
      expect({{Member{"cls"}}, {Member{"jpg"}}}, {"cls", "jpg"}, 1);
      expect({{Member{"txt"}}, {Member{"cls"}}}, {"cls", "txt"}, !photograph && k % 3 == 2 ? 1 : 2);
      expect({{Member{"png"}, Member{"jpg"}, Member{"cls"}}}, {photograph ? "jpg" : "cls"}, 1);
      // A JSON text may lack the field, so the next alternative is needed too.
      const bool adjacent = k % 3 != 0 || !photograph;
      if (k % 3 == 0) expect({{Member{"json", false}, Member{"cls"}}}, {"cls", "json"}, adjacent ? 1 : 2);
      if (k % 3 == 2) expect({{Member{"json", false}, Member{"cls"}}}, {"cls"}, 1);
    }
  }
}

TEST(TarFeatures, ASampleWithoutARequestedMemberReadsItsSmallestMemberForTheKey) {
  const Shard shard = MakeShard(6);
  const std::string bytes = shard.bytes();
  std::vector<ByteRange> reads;
  const auto reader = Open(bytes, IndexOf(bytes), &reads);
  for (int k = 0; k < shard.samples; ++k) {
    for (const auto& requests : {std::vector<RequestedFeatures::Request>{}, {{Member{"npy"}}}, {{}}}) {
      const auto record = ReadFeatures(*reader, k, RequestedFeatures(requests), false);
      ASSERT_TRUE(record.ok()) << record.status();
      EXPECT_EQ(*record, shard.Of(k, {k == 0 ? "txt" : "cls"})) << k;
    }
  }
}

TEST(TarFeatures, BothMembersWithOneExtensionAreReadSoThatTheParserRejectsThem) {
  Shard shard;
  for (const char* extension : {"txt", "jpg", "txt", "cls"}) shard.Add(0, extension, "1");
  const std::string bytes = shard.bytes();
  std::vector<ByteRange> reads;
  const auto reader = Open(bytes, IndexOf(bytes), &reads);
  EXPECT_EQ(ReadFeatures(*reader, 0, RequestedFeatures({{Member{"cls"}}}), false).value(),
            shard.Of(0, {"txt"}) + shard.Of(0, {"cls"}));
}

TEST(TarFeatures, ExtensionsOutsideTheTableAreReadWithEachSample) {
  Shard shard;
  for (int i = 0; i < 400; ++i) {
    shard.Add(i, absl::StrCat("v", i, ".jpg"), TestBytes(600, i));
    shard.Add(i, "cls", absl::StrCat(i));
  }
  const std::string bytes = shard.bytes();
  const auto index = IndexOf(bytes);
  const auto parsed = ShardIndex::Parse(index->Serialize());
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  EXPECT_EQ(*parsed, *index);
  EXPECT_LT(index->MemoryBytes(), 400 * (4 + 4 + 2 * 9) + 254 * 64 + 1024u);
  std::vector<ByteRange> reads;
  const auto reader = Open(bytes, index, &reads);
  const auto has = [&](int k, const std::string& extension) {
    const auto record = ReadFeatures(*reader, k, RequestedFeatures({{Member{extension}}}), false);
    EXPECT_TRUE(record.ok()) << record.status();
    return record.ok() && record->find(shard.Of(k, {extension})) != std::string::npos;
  };
  for (const int k : {0, 100, 253, 254, 399}) {
    EXPECT_TRUE(has(k, absl::StrCat("v", k, ".jpg"))) << k;
    EXPECT_TRUE(has(k, "cls")) << k;
  }
  EXPECT_EQ(ReadFeatures(*reader, 3, RequestedFeatures({{Member{"cls"}}}), false).value(), shard.Of(3, {"cls"}));
}

TEST(TarFeatures, DamageCountsOnlyInRequestedMembersAndNamesFileMemberAndOffset) {
  const Shard shard = MakeShard(8);
  const std::string bytes = shard.bytes();
  const auto index = IndexOf(bytes);
  const RequestedFeatures label({{Member{"cls"}}}), photograph({{Member{"jpg"}}});
  uint64_t offset = 0;
  for (const Shard::Part& part : shard.parts) {
    for (uint64_t at = 0; at < part.bytes.size() && part.sample >= 0; at += 311) {
      std::string changed = bytes;
      changed[offset + at] ^= 0x20;
      std::vector<ByteRange> reads;
      const auto reader = Open(changed, index, &reads);
      for (const auto& [extension, features] : {std::pair("cls", &label), std::pair("jpg", &photograph)}) {
        const bool has_photograph = part.sample % 5 != 4;
        if (features == &photograph && !has_photograph) continue;
        for (const bool later : {false, true}) {
          const auto record = ReadFeatures(*reader, part.sample, *features, later);
          EXPECT_EQ(record.ok(), part.extension != extension) << record.status();
          if (record.ok()) continue;
          EXPECT_TRUE(absl::IsDataLoss(record.status())) << record.status();
          const std::string message(record.status().message());
          EXPECT_EQ(message.find(absl::StrCat("memory, record ", part.sample, " at offset ")), 0u) << message;
          EXPECT_NE(message.find(absl::StrCat(extension, " at offset ", offset, ": its CRC")), std::string::npos)
              << message;
          const bool header_is_intact = at >= part.bytes.size() - 512 && part.bytes.size() < 2000;
          if (header_is_intact && part.sample % 4 != 3) {
            EXPECT_NE(message.find(absl::StrCat("member s/", part.sample, ".", extension)), std::string::npos)
                << message;
          }
        }
      }
    }
    offset += part.bytes.size();
  }
}

TEST(TarFeatures, ARangeOfWholeRecordsIsReducedToTheFeatures) {
  const Shard shard = MakeShard(10);
  const std::string bytes = shard.bytes();
  const auto index = IndexOf(bytes);
  std::vector<ByteRange> reads;
  const auto reader = Open(bytes, index, &reads);
  const RequestedFeatures features({{Member{"cls"}}, {Member{"txt"}}});
  for (uint64_t k = 0; k < 10; ++k) {
    std::string whole = bytes.substr(index->RecordOffset(k), index->StoredBytes(k));
    const auto record = reader->RecordOf(k, whole.data(), &features, nullptr);
    ASSERT_TRUE(record.ok()) << record.status();
    EXPECT_EQ(*record, shard.Of(static_cast<int>(k), {"cls", "txt"}));
  }
}

TEST(TarFeatures, ReadsOnlyTheBlocksOfRequestedMembersOfACompressedShard) {
  const Shard shard = MakeShard(12, 2 << 20);
  const std::string bytes = GzippedBytes(shard.bytes());
  const auto index = IndexOf(bytes);
  const RequestedFeatures features({{Member{"cls"}}, {Member{"txt"}}});
  for (const bool past_caches : {false, true}) {
    std::vector<ByteRange> reads;
    const auto reader = Open(bytes, index, &reads);
    for (int k = shard.samples; k-- > 0;) {
      std::string buffer(reader->StoredBytes(k, &features), '\0');
      const auto record = past_caches ? reader->ReadRecordPastCaches(k, buffer.data(), &features)
                                      : reader->ReadRecord(k, buffer.data(), &features);
      ASSERT_TRUE(record.ok()) << record.status();
      EXPECT_EQ(*record, shard.Of(k, {"cls", "txt"})) << k;
    }
    // Each of the two members needs the block before it, and a read of the file has 64 KiB.
    EXPECT_LT(SumOf(reads), 12 * 4 * (64u << 10));
    EXPECT_LT(SumOf(reads), bytes.size() / 4);
  }
}

// The blob of the index as it was before it had members: with one CRC per record.
std::string BlobWithoutMembers(const ShardIndex& index) {
  std::string blob = index.Serialize();
  const std::string members = index.members().Serialize();
  const size_t at = blob.find(members);
  EXPECT_NE(at, std::string::npos);
  // Section 3 becomes section 2. Its length has two bytes; a reader skips its content.
  EXPECT_EQ(blob[at - 3], 3);
  blob[at - 3] = 2;
  blob.resize(blob.size() - 8);
  const uint64_t checksum = Hash64(blob);
  blob.append(reinterpret_cast<const char*>(&checksum), sizeof(checksum));
  return blob;
}

TEST(TarFeatures, AnIndexWithoutMembersIsOfAnEarlierReleaseAndIsBuiltAgain) {
  support::TempFolder folder;
  const std::string path = folder.File("train.tar");
  WriteBytes(path, MakeShard(30).bytes());
  const IndexStore store = IndexStore::BesideShards(storage::LocalFiles());
  const auto built = store.LoadOrBuild(path);
  ASSERT_TRUE(built.ok()) << built.status();
  EXPECT_FALSE(store.LoadOrBuild(path)->built);
  WriteBytes(store.SidecarPath(path), BlobWithoutMembers(*built->index));
  const absl::Status old = store.Load(path).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(old)) << old;
  const auto again = store.LoadOrBuild(path);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_TRUE(again->built);
  EXPECT_EQ(*again->index, *built->index);
  EXPECT_FALSE(store.LoadOrBuild(path)->built);
}

TEST(TarFeatures, TheIndexTakes9BytesPerMember) {
  const Shard shard = MakeShard(3000, 700);
  const auto index = IndexOf(shard.bytes());
  size_t members = 0;
  for (const Shard::Part& part : shard.parts) members += part.sample >= 0 ? 1 : 0;
  const size_t gaps = 750 * 16 + 1000 * 9;  // README, and the links in samples
  EXPECT_LT(index->MemoryBytes(), 9 * members + 8 * 3000 + gaps + 4096);
  EXPECT_LT(index->Serialize().size(), 8 * members + 5 * 3000 + gaps + 4096);
}

TEST(RequestedFeatures, AreEqualInAnyOrderAndDifferByAlternatives) {
  const RequestedFeatures both({{Member{"jpg"}}, {Member{"cls"}}});
  EXPECT_EQ(both, RequestedFeatures({{Member{"cls"}}, {}, {Member{"jpg"}}, {Member{"cls"}}}));
  EXPECT_EQ(both.Hash(), RequestedFeatures({{Member{"cls"}}, {Member{"jpg"}}}).Hash());
  const RequestedFeatures either({{Member{"jpg"}, Member{"cls"}}});
  EXPECT_NE(both, either);
  EXPECT_NE(both.Hash(), either.Hash());
  EXPECT_NE(either.Hash(), RequestedFeatures({{Member{"jpg", false}, Member{"cls"}}}).Hash());
}

}  // namespace
}  // namespace penstock::sources
