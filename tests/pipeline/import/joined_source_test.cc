#include "pipeline/import/joined_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "pipeline/import/record_files_source.h"
#include "pipeline/import/shard_set.h"
#include "pipeline/records/example_builder.h"
#include "pipeline/storage/posix_storage.h"
#include "tests/base/temp_dir.h"
#include "tests/pipeline/import/import_testing.h"
#include "tests/pipeline/import/joined_testing.h"

namespace penstock::imports {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::string Message(const absl::Status& status) { return std::string(status.message()); }

// A source of these records. The record "bad" is a bad item. Counts its calls.
class ListSource final : public RecordSource {
 public:
  ListSource(std::vector<std::string> records, uint64_t fingerprint, std::vector<uint64_t>* announced = nullptr,
             std::vector<uint64_t>* made = nullptr)
      : records_(std::move(records)), fingerprint_(fingerprint), announced_(announced), made_(made) {}

  uint64_t size() const override { return records_.size(); }
  uint64_t fingerprint() const override { return fingerprint_; }
  std::unique_ptr<RecordMaker> NewMaker() const override { return std::make_unique<Maker>(this); }
  size_t ahead() const override { return announced_ == nullptr ? 0 : 5; }
  void WillMake(uint64_t item) const override {
    ASSERT_NE(announced_, nullptr);
    announced_->push_back(item);
  }

 private:
  class Maker final : public RecordMaker {
   public:
    explicit Maker(const ListSource* source) : source_(source) {}
    absl::Status Make(uint64_t item, MadeRecord* out) override {
      if (source_->made_ != nullptr) source_->made_->push_back(item);
      if (source_->records_[item] == "bad") return absl::DataLossError(absl::StrCat("item ", item, " is damaged"));
      out->bytes = source_->records_[item];
      return absl::OkStatus();
    }

   private:
    const ListSource* const source_;
  };

  const std::vector<std::string> records_;
  const uint64_t fingerprint_;
  std::vector<uint64_t>* const announced_;
  std::vector<uint64_t>* const made_;
};

JoinedPart Part(std::unique_ptr<RecordSource> source, const std::string& name) {
  return {std::move(source), name, [name](uint64_t item) { return absl::StrCat(name, ", record ", item); }};
}

std::string Number(const std::string& key, int64_t value) {
  return records::ExampleBuilder().Int64(key, value).Serialize();
}

TEST(JoinedSource, UnequalNumbersOfRecordsAreRejectedWithBothNumbers) {
  TempDir dir;
  WriteNumbers(dir.path(), "a", {{1, 2}, {3}}, NumberFile::kTfRecord);
  WriteNumbers(dir.path(), "b", {{1}, {2}}, NumberFile::kJsonl);
  const auto joined = JoinNumbers(dir.path(), "");
  EXPECT_TRUE(absl::IsInvalidArgument(joined.status())) << joined.status();
  EXPECT_THAT(Message(joined.status()), AllOf(HasSubstr("/a-* has 3 records, but --zip "), HasSubstr("/b-* has 2")));
}

TEST(JoinedSource, EachKindOfFileStandsOnEitherSide) {
  for (const NumberFile first : {NumberFile::kTfRecord, NumberFile::kJsonl, NumberFile::kNpy}) {
    for (const NumberFile second : {NumberFile::kTfRecord, NumberFile::kJsonl, NumberFile::kNpy}) {
      TempDir dir;
      WriteNumbers(dir.path(), "a", {{1, 2}, {3}}, first);
      WriteNumbers(dir.path(), "b", {{40}, {50, 60}}, second);
      const auto joined = JoinNumbers(dir.path(), "other/");
      ASSERT_TRUE(joined.ok()) << joined.status();
      const std::vector<std::string> records = MakeAll(**joined);
      ASSERT_EQ(records.size(), 3u);
      for (int64_t i = 0; i < 3; ++i) {
        const std::string& record = records[static_cast<size_t>(i)];
        EXPECT_EQ(FeatureOf<int64_t>(record, KeyOf("a", first)), i + 1);
        EXPECT_EQ(FeatureOf<int64_t>(record, "other/" + KeyOf("b", second)), 40 + 10 * i);
      }
    }
  }
}

TEST(JoinedSource, AKeyOfBothEndsTheRunAndNamesBothRecordsAndTheRemedy) {
  TempDir dir;
  WriteNumbers(dir.path(), "a", {{1, 2}}, NumberFile::kNpy);
  WriteNumbers(dir.path(), "b", {{3, 4}}, NumberFile::kNpy);
  const auto joined = JoinNumbers(dir.path(), "");
  ASSERT_TRUE(joined.ok());
  MadeRecord record;
  const absl::Status clash = (*joined)->NewMaker()->Make(1, &record);
  EXPECT_FALSE(IsBadItem(clash)) << clash;  // --skip-bad would leave out all records
  EXPECT_THAT(Message(clash), AllOf(HasSubstr("a-0.npy, record 1"), HasSubstr("b-0.npy, record 1"), HasSubstr("'row'"),
                                    HasSubstr("--zip-prefix")));
}

TEST(JoinedSource, ABadItemOfEitherSideIsABadItem) {
  const auto joined = NewJoinedSource(
      Part(std::make_unique<ListSource>(std::vector<std::string>{"bad", Number("a", 1), Number("a", 2)}, 1), "A"),
      Part(std::make_unique<ListSource>(std::vector<std::string>{Number("b", 1), "bad", "no Example"}, 2), "B"), "");
  ASSERT_TRUE(joined.ok());
  MadeRecord record;
  const auto maker = (*joined)->NewMaker();
  for (uint64_t item = 0; item < 2; ++item) {
    const absl::Status bad = maker->Make(item, &record);
    EXPECT_TRUE(IsBadItem(bad)) << bad;
    EXPECT_THAT(Message(bad), HasSubstr(absl::StrCat("item ", item)));
  }
  const absl::Status malformed = maker->Make(2, &record);
  EXPECT_TRUE(IsBadItem(malformed)) << malformed;
  EXPECT_THAT(Message(malformed), AllOf(HasSubstr("A, record 2"), HasSubstr("B, record 2")));
}

TEST(JoinedSource, AnnouncedItemsAreMadeAlsoAfterAnError) {
  // Announced items hold memory until they are made. Only the second source wants announcements.
  std::vector<uint64_t> announced, made;
  const auto joined = NewJoinedSource(
      Part(std::make_unique<ListSource>(std::vector<std::string>{"bad", Number("a", 1)}, 1), "A"),
      Part(std::make_unique<ListSource>(std::vector<std::string>{Number("b", 1), Number("b", 2)}, 2, &announced, &made),
           "B"),
      "");
  ASSERT_TRUE(joined.ok());
  EXPECT_EQ((*joined)->ahead(), 5u);
  MadeRecord record;
  const auto maker = (*joined)->NewMaker();
  for (uint64_t item = 0; item < 2; ++item) {
    (*joined)->WillMake(item);
    EXPECT_EQ(maker->Make(item, &record).ok(), item == 1);
  }
  EXPECT_EQ(announced, (std::vector<uint64_t>{0, 1}));
  EXPECT_EQ(made, (std::vector<uint64_t>{0, 1}));
}

TEST(JoinedSource, EachSideAndThePrefixAreInTheFingerprint) {
  const auto fingerprint = [](uint64_t first, uint64_t second, const std::string& prefix) {
    const auto source = [](uint64_t number) {
      return std::make_unique<ListSource>(std::vector<std::string>{Number("a", 1)}, number);
    };
    return (*NewJoinedSource(Part(source(first), "A"), Part(source(second), "B"), prefix))->fingerprint();
  };
  EXPECT_EQ(fingerprint(1, 2, "x"), fingerprint(1, 2, "x"));
  for (const uint64_t other : {fingerprint(3, 2, "x"), fingerprint(1, 3, "x"), fingerprint(2, 1, "x"),
                               fingerprint(1, 2, "y"), fingerprint(1, 2, "")}) {
    EXPECT_NE(other, fingerprint(1, 2, "x"));
  }
}

}  // namespace
}  // namespace penstock::imports
