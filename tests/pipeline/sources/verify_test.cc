#include "pipeline/sources/verify.h"

#include <gtest/gtest.h>

#include "tests/pipeline/sources/test_shards.h"

namespace penstock::sources {
namespace {

const std::vector<std::string>& Records() {
  static const auto* const records =
      new std::vector<std::string>{"zero", "one", TestBytes(300'000, 1), "three", "four"};
  return *records;
}

VerifyReport Verify(const std::string& bytes, const VerifyOptions& options = {}) {
  auto report = VerifyShard(MemoryFile(bytes), options);
  EXPECT_TRUE(report.ok()) << report.status();
  return *report;
}

TEST(VerifyShard, CountsAGoodShard) {
  const VerifyReport report = Verify(Frame(Records()));
  EXPECT_TRUE(report.ok());
  EXPECT_EQ(report.readable_records, 5u);
  EXPECT_EQ(report.data_bytes, 300'000u + 4 + 3 + 5 + 4);
  EXPECT_EQ(report.ReadableRecords(), (std::vector<uint64_t>{0, 1, 2, 3, 4}));
  EXPECT_NE(report.Summary().find("good"), std::string::npos);
}

TEST(VerifyShard, AFileOfAnotherKindIsNamed) {
  const std::string rest(100, 'x');
  for (const auto& [start, kind] : std::vector<std::pair<std::string, std::string>>{
           {"\xFF\xD8\xFF\xE0", "a JPEG image"},
           {"\x89PNG\r\n\x1A\n", "a PNG image"},
           {"PK\x03\x04", "a zip archive"},
           {std::string("PK\x03\x04") + std::string(22, 'z') + std::string("\x0B\0\0\0", 4) + "x_train.npy",
            "an .npz file"},
           {"PAR1", "a Parquet file"},
           {"ARROW1", "an Arrow file"},
           {"\xFF\xFF\xFF\xFF\x10\x01", "an Arrow stream"},
           {"\x89HDF\r\n\x1A\n", "an HDF5 file"},
           {"name: \"train\"\ndataset {\n  files: \"a\"\n}\n", "text"},
           {std::string(257, 'a') + "ustar", "a damaged tar archive"},
       }) {
    const VerifyReport report = Verify(start + (kind == "text" ? "" : rest));
    ASSERT_EQ(report.broken.size(), 1u);
    EXPECT_NE(report.Describe(0).find("this is " + kind + ", neither a TFRecord nor a tar shard"), std::string::npos)
        << report.Describe(0);
  }
  EXPECT_NE(Verify("PK\x03\x04" + rest).Describe(0).find("unzip it"), std::string::npos);
  // The message names the helpful page, or the command.
  EXPECT_NE(Verify("path,label\n" + rest).Describe(0).find("--source CSV"), std::string::npos);
  for (const std::string& table : {"PAR1" + rest, "ARROW1" + rest, "\x89HDF\r\n" + rest}) {
    EXPECT_NE(Verify(table).Describe(0).find("`penstock convert "), std::string::npos);
  }
  EXPECT_NE(Verify("\x28\xB5\x2F\xFD" + rest).Describe(0).find("zstd -dc"), std::string::npos);
  // A file that begins with records is a damaged shard, even if other data follows.
  std::string bytes = Frame(Records());
  bytes.insert(20, "\xFF\xD8\xFF\xE0");
  EXPECT_EQ(Verify(bytes).Describe(0).find("JPEG"), std::string::npos);
}

// One stored block (RFC 1951) without a trailer.
std::string Gzipped(const std::string& bytes) {
  std::string out("\x1F\x8B\x08\0\0\0\0\0\0\x03\x01", 11);
  for (const size_t length : {bytes.size(), ~bytes.size()}) {
    out += static_cast<char>(length & 0xFF);
    out += static_cast<char>(length >> 8 & 0xFF);
  }
  return out + bytes;
}

TEST(VerifyShard, ACompressedFileOfAnotherKindIsNamed) {
  const auto said = [](const std::string& bytes) { return Verify(Gzipped(bytes)).Describe(0); };
  EXPECT_NE(said(std::string(257, 'a') + "ustar" + std::string(400, '\0'))
                .find("this is a damaged tar archive (compressed), neither"),
            std::string::npos);
  EXPECT_NE(said("path,label\n" + std::string(600, 'x')).find("this is text (compressed), neither"), std::string::npos);
}

TEST(VerifyShard, AWrongDataCrcLosesExactlyThatRecord) {
  std::string bytes = Frame(Records());
  bytes[20 + 12] ^= 1;
  bytes[bytes.size() - 1] ^= 1;
  const VerifyReport report = Verify(bytes);
  ASSERT_EQ(report.broken.size(), 2u);
  EXPECT_EQ(report.broken[0].record, 1u);
  EXPECT_EQ(report.broken[0].offset, 20u);
  EXPECT_EQ(report.broken[0].damage, Damage::kDataCrc);
  EXPECT_EQ(report.broken[1].record, 4u);
  EXPECT_EQ(report.ReadableRecords(), (std::vector<uint64_t>{0, 2, 3}));
  EXPECT_NE(report.Describe(0).find("record 1 at offset 20"), std::string::npos);
}

TEST(VerifyShard, AWrongLengthCrcLosesTheRest) {
  std::string bytes = Frame(Records());
  bytes[20 + 9] ^= 1;
  const VerifyReport report = Verify(bytes);
  ASSERT_EQ(report.broken.size(), 1u);
  EXPECT_EQ(report.broken[0].damage, Damage::kLengthCrc);
  EXPECT_EQ(report.ReadableRecords(), (std::vector<uint64_t>{0}));
}

TEST(VerifyShard, NamesTheRecordThatATruncationCuts) {
  const std::string bytes = Frame(Records());
  const uint64_t offset = 20 + 19;
  for (const auto& [cut, damage] : {std::pair{offset + 1, Damage::kTruncatedHeader},
                                    {offset + 11, Damage::kTruncatedHeader},
                                    {offset + 12, Damage::kTruncatedData},
                                    {offset + 200'000, Damage::kTruncatedData},
                                    {offset + 300'015, Damage::kTruncatedData}}) {
    const VerifyReport report = Verify(bytes.substr(0, cut));
    ASSERT_EQ(report.broken.size(), 1u) << cut;
    EXPECT_EQ(report.broken[0].damage, damage) << cut;
    EXPECT_EQ(report.broken[0].record, 2u);
    EXPECT_EQ(report.broken[0].offset, offset);
    EXPECT_EQ(report.readable_records, 2u);
  }
}

TEST(VerifyShard, DetectsDamageInCompressedShards) {
  support::TempFolder folder;
  for (const Compression compression : {Compression::kGzip, Compression::kZlib}) {
    WriteShard(folder.File("s"), Records(), compression);
    const std::string bytes = Slurp(folder.File("s"));
    EXPECT_TRUE(Verify(bytes).ok());

    const VerifyReport cut = Verify(bytes.substr(0, bytes.size() / 2));
    ASSERT_EQ(cut.broken.size(), 1u);
    EXPECT_EQ(cut.broken[0].damage, Damage::kTruncatedData);
    EXPECT_EQ(cut.readable_records, 2u);

    std::string trailer = bytes;
    trailer[trailer.size() - 1] ^= 1;
    const VerifyReport wrong = Verify(trailer);
    ASSERT_EQ(wrong.broken.size(), 1u);
    EXPECT_EQ(wrong.broken[0].damage, Damage::kTrailer);
    EXPECT_EQ(wrong.readable_records, 5u);
    EXPECT_NE(wrong.Describe(0).find("incorrect"), std::string::npos) << wrong.Describe(0);

    const VerifyReport short_trailer = Verify(bytes.substr(0, bytes.size() - 2));
    ASSERT_EQ(short_trailer.broken.size(), 1u);
    EXPECT_EQ(short_trailer.broken[0].damage, Damage::kTrailer);
    EXPECT_EQ(short_trailer.readable_records, 5u);

    const VerifyReport longer = Verify(bytes + "garbage");
    ASSERT_EQ(longer.broken.size(), 1u);
    EXPECT_EQ(longer.broken[0].damage, Damage::kTrailer);
    EXPECT_EQ(longer.readable_records, 5u);

    std::string middle = bytes;
    for (size_t i = 0; i < 40; ++i) middle[middle.size() / 2 + i] ^= 0x77;
    const VerifyReport damaged = Verify(middle);
    EXPECT_FALSE(damaged.ok());
    EXPECT_EQ(damaged.ReadableRecords().size(), damaged.readable_records);
  }
}

TEST(VerifyShard, RejectsARecordAboveTheLimit) {
  const VerifyReport report = Verify(Frame(Records()), {.max_record_bytes = 1000});
  ASSERT_EQ(report.broken.size(), 1u);
  EXPECT_EQ(report.broken[0].damage, Damage::kTooLong);
  EXPECT_EQ(report.broken[0].length, 300'000u);
  EXPECT_EQ(report.readable_records, 2u);
}

TEST(VerifyShard, NeverCrashesOnAnyChangedByte) {
  support::TempFolder folder;
  const std::vector<std::string> records = {"zero", TestBytes(60, 1), "", "three"};
  for (const Compression compression : {Compression::kNone, Compression::kGzip, Compression::kZlib}) {
    WriteShard(folder.File("s"), records, compression);
    const std::string bytes = Slurp(folder.File("s"));
    for (size_t i = 0; i < bytes.size(); ++i) {
      for (const int change : {0x01, 0x80, 0xff}) {
        std::string changed = bytes;
        changed[i] = static_cast<char>(changed[i] ^ change);
        const VerifyReport report = Verify(changed);
        ASSERT_EQ(report.ReadableRecords().size(), report.readable_records) << i;
        // Some bits have no meaning: gzip's header has a time, a system and flags, and deflate's last byte has padding
        // (before zlib's checksum of 4 bytes).
        if (compression == Compression::kNone || (compression == Compression::kZlib && i != bytes.size() - 5)) {
          ASSERT_FALSE(report.ok()) << CompressionName(compression) << " byte " << i << " of " << bytes.size();
        }
      }
    }
  }
}

}  // namespace
}  // namespace penstock::sources
