// Jobs that read some members of their samples: their reads from storage, their rows, and the damage that they detect.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/check.h"
#include "base/file.h"
#include "base/philox.h"
#include "pipeline/loader/check_keys.h"
#include "pipeline/loader/data_format.h"
#include "pipeline/loader/loader.h"
#include "pipeline/loader/open_dataset.h"
#include "pipeline/records/sample_parser.h"
#include "pipeline/sources/index_builder.h"
#include "pipeline/sources/shard_reader.h"
#include "pipeline/storage/files.h"
#include "pipeline/storage/posix_storage.h"
#include "tests/pipeline/loader/loaded_rows.h"
#include "tests/pipeline/loader/local_behind.h"
#include "tests/pipeline/sources/tar/tar_maker.h"
#include "tests/pipeline/storage/object/object_storage_testing.h"
#include "tests/support/test_dataset.h"

namespace penstock::loader {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kSamples = 24;
// Bytes of a member of up to 512 bytes: a header, and a padded block.
constexpr uint64_t kSmallMember = 1024;

// Local files, near or behind a network, that count the bytes of reads and can damage one byte.
class CountedStorage final : public LocalBehind {
 public:
  explicit CountedStorage(bool near) : near_(near) {}
  bool HasLowLatency(const std::string& name) const override { return near_; }
  void Open(const std::string& name, const storage::CallOptions& options,
            storage::CallDone<std::unique_ptr<storage::StoredFile>> done) override {
    storage::LocalFiles()->Open(name, options, [this, name, done = std::move(done)](auto file) mutable {
      if (!file.ok()) return std::move(done)(file.status());
      std::move(done)(std::make_unique<File>(this, name, *std::move(file)));
    });
  }

  std::atomic<uint64_t> bytes{0}, reads{0};
  std::atomic<bool> damages{false};
  // Set before reads.
  std::string damaged_file;
  uint64_t damaged_offset = 0;

 private:
  class File final : public LocalFileBehind {
   public:
    File(CountedStorage* storage, std::string name, std::unique_ptr<storage::StoredFile> file)
        : LocalFileBehind(std::move(file)), storage_(storage), name_(std::move(name)) {}
    absl::StatusOr<size_t> ReadAt(uint64_t offset, size_t length, char* out) const override {
      storage_->bytes += length;
      ++storage_->reads;
      auto got = file_->ReadAt(offset, length, out);
      const uint64_t at = storage_->damaged_offset;
      const bool damaged = storage_->damages && name_ == storage_->damaged_file;
      if (damaged && at >= offset && at < offset + length) out[at - offset] ^= 0x40;
      return got;
    }
    void Read(uint64_t offset, size_t length, char* out, const storage::CallOptions& options,
              storage::CallDone<size_t> done) const override {
      std::move(done)(ReadAt(offset, length, out));
    }

   private:
    CountedStorage* const storage_;
    const std::string name_;
  };

  const bool near_;
};

// Two shards of samples with jpg, json and cls. The job reads jpg and cls.
support::TestDataset MakeSamples(const std::string& folder) {
  support::TestDataset set =
      support::MakeImageDataset({.shards = 2, .records_per_shard = kSamples / 2, .tar = true}, folder);
  for (size_t shard = 0; shard < set.files.size(); ++shard) {
    std::string archive;
    for (uint64_t i = 0; i < kSamples / 2; ++i) {
      const uint64_t number = shard * (kSamples / 2) + i;
      sources::AppendTarMember(absl::StrFormat("%06d.jpg", number), support::MakeTestJpeg(160, 120, number), &archive);
      sources::AppendTarMember(absl::StrFormat("%06d.json", number), absl::StrCat("{\"id\": ", number, "}"), &archive);
      sources::AppendTarMember(absl::StrFormat("%06d.cls", number), absl::StrCat(number * 7), &archive);
    }
    PS_CHECK(WriteFileAtomically(set.files[shard], archive).ok());
  }
  return set;
}

// The job with the label alone.
v1::JobSpec LabelsOf(const v1::JobSpec& job) {
  v1::JobSpec labels = job;
  labels.clear_ops();
  labels.mutable_features()->erase(labels.features().begin());
  return labels;
}

struct Epoch {
  absl::Status status;
  std::string digest;
  uint64_t rows = 0;
  uint64_t storage_bytes = 0;  // reads of the epoch, not of the index
};

// Reads the rows with a loader without a record cache.
void LoadInto(const std::shared_ptr<const LoadJob>& job, int threads, Epoch* epoch) {
  LoaderOptions options;
  options.threads = threads;
  options.memory_budget_bytes = 32 << 20;
  const auto loader = Loader::Create(options);
  PS_CHECK(loader.ok());
  const auto steps = LoadedSteps(loader->get(), job, {});
  epoch->status = steps.status();
  if (!steps.ok()) return;
  epoch->digest = support::DigestOf(*steps);
  for (const support::PlainStep& step : *steps) epoch->rows += step.rows.size();
}

Epoch ReadEpoch(CountedStorage* storage, const v1::JobSpec& job, const std::vector<sources::DataRoot>& roots) {
  Epoch epoch;
  auto dataset = OpenDataset(storage, job, roots, std::nullopt, 1);
  PS_CHECK(dataset.ok());
  const auto load = LoadJob::Create(job, *std::move(dataset));
  PS_CHECK(load.ok());
  storage->bytes = storage->reads = 0;
  storage->damages = true;
  LoadInto(*load, 2, &epoch);
  epoch.storage_bytes = storage->bytes;
  return epoch;
}

TEST(RequestedFeaturesOfAJob, AJobOfLabelsReadsOnlyTheLabels) {
  support::TempFolder folder;
  const support::TestDataset set = MakeSamples(folder.path());
  std::string expected;
  for (const bool near : {true, false}) {
    CountedStorage storage(near);
    const Epoch labels = ReadEpoch(&storage, LabelsOf(set.job), set.roots);
    EXPECT_EQ(labels.status, absl::OkStatus());
    EXPECT_EQ(labels.rows, kSamples);
    EXPECT_EQ(labels.storage_bytes, kSamples * kSmallMember) << near;
    if (expected.empty()) expected = labels.digest;
    EXPECT_EQ(labels.digest, expected);
  }
}

TEST(RequestedFeaturesOfAJob, AJobOfPhotographsAndLabelsSkipsTheTextBetweenThem) {
  support::TempFolder folder;
  const support::TestDataset set = MakeSamples(folder.path());
  CountedStorage near(true);
  const Epoch epoch = ReadEpoch(&near, set.job, set.roots);
  EXPECT_EQ(epoch.status, absl::OkStatus());
  uint64_t stored = 0;
  for (const std::string& file : set.files) stored += ReadWholeFile(file).value().size();
  EXPECT_EQ(epoch.storage_bytes, stored - kSamples * kSmallMember);
  CountedStorage far(false);
  const Epoch later = ReadEpoch(&far, set.job, set.roots);
  EXPECT_EQ(later.status, absl::OkStatus());
  EXPECT_EQ(later.digest, epoch.digest);
}

TEST(RequestedFeaturesOfAJob, OnlyJobsThatReadMostOfASampleReadRanges) {
  support::TempFolder folder;
  const support::TestDataset set = MakeSamples(folder.path());
  CountedStorage storage(false);
  std::string record;
  const auto labels = OpenDataset(&storage, LabelsOf(set.job), set.roots, std::nullopt, 1).value();
  ASSERT_EQ(labels->ReadRecord(3, &record), absl::OkStatus());
  EXPECT_EQ(labels->ReaderOfRanges(0), nullptr) << "a label is a small part of its sample";

  const auto most = OpenDataset(&storage, set.job, set.roots, std::nullopt, 1).value();
  ASSERT_EQ(most->ReadRecord(3, &record), absl::OkStatus());
  EXPECT_EQ(most->RecordBytes(3).value(), record.size());
  const auto reader = most->ReaderOfRanges(0);
  ASSERT_NE(reader, nullptr);
  const std::string sample =
      ReadWholeFile(set.files[0]).value().substr(reader->index().RecordOffset(3), reader->index().StoredBytes(3));
  RecordBuffer with_head;
  for (const auto& [member, is_read] : {std::pair("jpg", true), std::pair("json", false), std::pair("cls", true)}) {
    std::string frame = sample;
    EXPECT_EQ(most->RecordOfRange(3, *reader, frame.data(), &with_head).value(), record);
    frame = sample;
    frame[frame.find(absl::StrCat("000003.", member)) + 512] ^= 1;
    const auto damaged = most->RecordOfRange(3, *reader, frame.data(), &with_head);
    EXPECT_EQ(damaged.ok(), !is_read) << member;
    EXPECT_EQ(absl::IsDataLoss(damaged.status()), is_read) << damaged.status();
  }
}

TEST(RequestedFeaturesOfAJob, DamageOfAMemberFailsOnlyRowsOfJobsThatReadIt) {
  support::TempFolder folder;
  const support::TestDataset set = MakeSamples(folder.path());
  const std::string archive = ReadWholeFile(set.files[1]).value();
  const auto offset_of = [&](const std::string& member) { return archive.find("000015." + member); };
  const std::string place = absl::StrCat(set.files[1], ", record 3 at offset ", offset_of("jpg"), ": member 000015.");
  const v1::JobSpec labels = LabelsOf(set.job);
  for (const bool near : {true, false}) {
    // `damaged` is a member. Damage in its data fails the job's rows if the job reads it.
    const auto expect = [&](const v1::JobSpec& job, const std::string& damaged, bool fails) {
      CountedStorage storage(near);
      storage.damaged_file = set.files[1];
      storage.damaged_offset = offset_of(damaged) + 512;
      const Epoch epoch = ReadEpoch(&storage, job, set.roots);
      if (!fails) {
        EXPECT_EQ(epoch.status, absl::OkStatus()) << near << damaged;
        EXPECT_EQ(epoch.rows, kSamples);
        return;
      }
      EXPECT_TRUE(absl::IsDataLoss(epoch.status)) << epoch.status;
      EXPECT_THAT(std::string(epoch.status.message()),
                  HasSubstr(absl::StrCat(place, damaged, " at offset ", offset_of(damaged), ": its CRC")));
    };
    expect(labels, "jpg", false);
    expect(labels, "json", false);
    expect(labels, "cls", true);
    expect(set.job, "jpg", true);
    expect(set.job, "json", false);
    expect(set.job, "cls", true);
  }
}

TEST(RequestedFeaturesOfAJob, CheckOfKeysNamesAllMembers) {
  support::TempFolder folder;
  const support::TestDataset set = MakeSamples(folder.path());
  v1::JobSpec job = LabelsOf(set.job);
  job.mutable_features(0)->set_key("cls2");
  const auto dataset = OpenDataset(storage::LocalFiles(), job, set.roots, std::nullopt, 1).value();
  const std::string message(CheckKeys(job, dataset.get()).message());
  for (const char* member : {"cls", "jpg", "json"}) EXPECT_THAT(message, HasSubstr(member));
}

TEST(RequestedFeaturesOfAJob, AReadOfAWholeSampleCountsAllItsBytes) {
  support::TempFolder folder;
  const support::TestDataset set = MakeSamples(folder.path());
  CountedStorage storage(true);
  const auto dataset = OpenDataset(&storage, LabelsOf(set.job), set.roots, std::nullopt, 1).value();
  std::string sample;
  ASSERT_TRUE(dataset->ReadWholeRecord(1, &sample).ok());
  const uint64_t whole = dataset->bytes_read();
  EXPECT_GE(whole, sample.size());
  ASSERT_TRUE(dataset->ReadRecord(1, &sample).ok());
  EXPECT_LT(dataset->bytes_read() - whole, whole) << "the second read is of the label alone";
}

TEST(RequestedFeaturesOfAJob, CachedRecordsAreSharedByJobsThatReadTheSameMembers) {
  support::TempFolder folder;
  const support::TestDataset set = MakeSamples(folder.path());
  const auto space = [&](const v1::JobSpec& job) {
    const auto load =
        LoadJob::Create(job, OpenDataset(storage::LocalFiles(), job, set.roots, std::nullopt, 1).value()).value();
    return std::pair(load->record_space(), load->order_fingerprint());
  };
  v1::JobSpec reordered = set.job;
  reordered.mutable_features()->SwapElements(0, 1);
  EXPECT_EQ(space(reordered), space(set.job));
  EXPECT_NE(space(LabelsOf(set.job)).first, space(set.job).first);
  EXPECT_EQ(space(LabelsOf(set.job)).second, space(set.job).second) << "the order does not depend on members";
}

// The bytes of the answers to requests for objects.
class RequestedFeaturesOfObjects : public storage::ObjectStorageTest {
 protected:
  RequestedFeaturesOfObjects() {
    set_ = MakeSamples(folder_.path());
    for (const std::string& file : set_.files) {
      s3_.Put("samples", file.substr(file.rfind('/') + 1), ReadWholeFile(file).value());
    }
  }
  Epoch Read(storage::Storage* storage, v1::JobSpec job, const std::vector<sources::DataRoot>& roots) {
    job.mutable_dataset(0)->set_files(0, absl::StrCat(roots[0].path, "/data-*"));
    auto dataset = OpenDataset(storage, job, roots, std::nullopt, 1);
    Epoch epoch;
    epoch.status = dataset.status();
    if (!dataset.ok()) return epoch;
    bytes_ = 0;
    const auto load = LoadJob::Create(job, *std::move(dataset)).value();
    LoadInto(load, 1, &epoch);
    epoch.storage_bytes = bytes_;
    return epoch;
  }

  support::TempFolder folder_;
  support::TestDataset set_;
  std::atomic<uint64_t> bytes_{0};
  support::HttpServer counted_{[this](const support::ServedRequest& request) {
    support::ServedAnswer answer = s3_(request);
    if (request.method == "GET") bytes_ += answer.body.size();
    return answer;
  }};
};

TEST_F(RequestedFeaturesOfObjects, AJobOfLabelsFetchesOnlyTheLabels) {
  storage::ObjectStorage::Options options = Options();
  options.s3.endpoint = counted_.url();
  static storage::ObjectStorage* objects = nullptr;  // the function below has no state
  storage::ObjectStorage s3(std::move(options));
  objects = &s3;
  const auto storage =
      storage::FilesBy(storage::LocalFiles(), {{"s3", [] { return static_cast<storage::Storage*>(objects); }}});
  const std::vector<sources::DataRoot> bucket = {{"data", "s3://samples"}};
  const v1::JobSpec labels = LabelsOf(set_.job);
  const Epoch local = Read(storage::LocalFiles(), labels, set_.roots);
  EXPECT_EQ(local.status, absl::OkStatus());
  const Epoch fetched = Read(storage.get(), labels, bucket);
  EXPECT_EQ(fetched.status, absl::OkStatus());
  EXPECT_EQ(fetched.rows, kSamples);
  EXPECT_EQ(fetched.digest, local.digest);
  EXPECT_GE(fetched.storage_bytes, kSamples * kSmallMember);
  EXPECT_LT(fetched.storage_bytes, kSamples * kSmallMember + 16) << "to open an object takes 2 bytes";
  const Epoch photographs = Read(storage.get(), set_.job, bucket);
  EXPECT_EQ(photographs.status, absl::OkStatus());
  EXPECT_EQ(photographs.digest, Read(storage::LocalFiles(), set_.job, set_.roots).digest);
}

// Returns the values as text, or the error.
std::string ValuesOf(const records::SampleParser& parser, const absl::StatusOr<std::string>& record) {
  if (!record.ok()) return record.status().ToString();
  records::ParsedExample parsed;
  if (const absl::Status status = parser.Parse(*record, &parsed); !status.ok()) return status.ToString();
  std::string text;
  for (const records::FeatureValue& value : parsed) {
    absl::StrAppend(&text, value.missing ? "-" : "+");
    for (const std::string_view bytes : value.bytes) absl::StrAppend(&text, std::string(bytes), ";");
    for (const int64_t number : value.ints) absl::StrAppend(&text, number, ";");
    for (const float number : value.floats) absl::StrAppend(&text, number, ";");
    absl::StrAppend(&text, "\n");
  }
  return text;
}

TEST(RequestedFeaturesOfAJob, AParserFindsTheSameValuesAsInTheWholeSample) {
  SampleRandom random(17, 3, 0);
  const std::vector<std::string> extensions = {"jpg", "cls", "json", "left.jpg", "meta.json", "txt", "JPG", ""};
  const std::vector<std::string> keys = {
      "jpg",     "jpg;txt",       "json/a;cls", "meta.json/b/0;json/a;txt", "txt;jpg",
      "__key__", "left.jpg;LEFT", "json",       "json/a;meta.json/b/0"};
  int errors = 0;
  for (int round = 0; round < 40; ++round) {
    std::string archive;
    for (int i = 0; i < 25; ++i) {
      const int members = 1 + static_cast<int>(random.Below(6));
      for (int m = 0; m < members; ++m) {
        const std::string& extension = extensions[random.Below(extensions.size())];
        const bool json = extension.ends_with("json");
        const uint64_t kind = random.Below(4);
        sources::AppendTarMember(absl::StrCat("s", i, ".", extension),
                                 json ? (kind == 0   ? "{}"
                                         : kind == 1 ? "{\"a\": \"x\"}"
                                         : kind == 2 ? "{\"b\": [\"y\"]}"
                                                     : "{")
                                      : std::string(random.Below(1500), static_cast<char>('a' + kind)),
                                 &archive);
        if (random.Below(8) == 0) sources::AppendTarMember("folder", "", &archive, '5');
      }
    }
    support::TempFolder folder;
    PS_CHECK(WriteFileAtomically(folder.File("tar"), archive).ok());
    auto file = OpenFile(folder.File("tar")).value();
    const auto index = std::make_shared<const sources::ShardIndex>(sources::BuildShardIndex(*file).value());
    const auto reader = sources::ShardReader::Open(std::move(file), index).value();
    v1::JobSpec job;
    std::vector<records::FeatureRequest> requests;
    for (uint64_t r = 0; r <= random.Below(3); ++r) {
      const std::string& key = keys[random.Below(keys.size())];
      job.add_features()->set_key(key);
      requests.push_back({.key = key, .kind = records::FeatureKind::kBytes});
    }
    const auto features = RequestedFeaturesOf(sources::ContainerKind::kTar, job);
    const auto parser = records::SampleParser::Create(requests);
    PS_CHECK(parser.ok());
    for (uint64_t k = 0; k < index->record_count(); ++k) {
      std::string whole, part(reader->StoredBytes(k, features.get()), '\0');
      PS_CHECK(reader->ReadRecord(k, &whole).ok());
      const auto read = reader->ReadRecord(k, part.data(), features.get());
      ASSERT_TRUE(read.ok()) << read.status();
      const std::string expected = ValuesOf(*parser, whole);
      EXPECT_EQ(ValuesOf(*parser, std::string(*read)), expected);
      errors += expected.find("INVALID_ARGUMENT") != std::string::npos ? 1 : 0;
    }
  }
  EXPECT_GT(errors, 50);
}

}  // namespace
}  // namespace penstock::loader
