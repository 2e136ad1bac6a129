// Splits and samples: the parts are disjoint and complete, and depend on the content alone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "absl/strings/str_cat.h"
#include "base/fault.h"
#include "base/file.h"
#include "pipeline/records/example_builder.h"
#include "pipeline/select/value_hash.h"
#include "pipeline/selection/record_filter.h"
#include "pipeline/selection/step.h"
#include "tests/pipeline/sources/tar/tar_maker.h"

namespace penstock::selection {
namespace {

using ::testing::HasSubstr;

constexpr auto kExample = records::RecordFormat::kExample;
constexpr auto kSample = records::RecordFormat::kSample;

std::string Entry(int64_t n, int64_t patient) {
  return records::ExampleBuilder().Int64("n", n).Int64("patient", patient).Serialize();
}

class Steps : public ::testing::Test {
 protected:
  Steps() { EXPECT_TRUE(types_.AddRecord("a", sources::ContainerKind::kTfRecord, Entry(0, 0)).ok()); }

  static v1::Select SplitOf(const std::string& of, double from, double to, uint64_t seed = 0) {
    v1::Select step;
    step.mutable_split()->set_of(of);
    step.mutable_split()->set_from(from);
    step.mutable_split()->set_to(to);
    step.mutable_split()->set_seed(seed);
    return step;
  }
  static v1::Select SampleOf(double fraction, uint64_t seed = 0) {
    v1::Select step;
    step.mutable_sample()->set_fraction(fraction);
    step.mutable_sample()->set_seed(seed);
    return step;
  }
  absl::StatusOr<bool> Matches(const std::vector<v1::Select>& steps, const std::string& record) const {
    std::vector<Step> parsed;
    for (const v1::Select& step : steps) {
      absl::StatusOr<Step> one = Step::Parse(step, "select", types_);
      if (!one.ok()) return one.status();
      parsed.push_back(*std::move(one));
    }
    const auto filter = RecordFilter::Create(std::move(parsed), types_);
    if (!filter.ok()) return filter.status();
    RecordFilter::Scratch scratch;
    return filter->Matches(record, &scratch);
  }
  bool Keeps(const std::vector<v1::Select>& steps, const std::string& record) const {
    const auto keeps = Matches(steps, record);
    EXPECT_TRUE(keeps.ok()) << keeps.status();
    return keeps.ok() && *keeps;
  }

  FeatureTypes types_;
};

TEST_F(Steps, PartsThatMeetAreDisjointAndComplete) {
  const std::vector<double> cuts = {0, 1e-300, 0.1, 0.3333333333333333, 0.8, 1 - 0x1p-53, 1};
  for (const char* of : {"", "patient", "patient // 3"}) {
    for (int64_t n = 0; n < 300; ++n) {
      int parts = 0;
      for (size_t i = 0; i + 1 < cuts.size(); ++i) {
        if (Keeps({SplitOf(of, cuts[i], cuts[i + 1], 5)}, Entry(n, n % 50))) ++parts;
      }
      ASSERT_EQ(parts, 1) << of << " " << n;
    }
  }
}

TEST_F(Steps, APartHasItsShareOfTheRecords) {
  for (const double to : {0.1, 0.5, 0.9}) {
    int by_value = 0, by_content = 0, sampled = 0, both = 0;
    for (int64_t n = 0; n < 4000; ++n) {
      const std::string record = Entry(n, n);
      const bool value = Keeps({SplitOf("patient", 0, to)}, record), sample = Keeps({SampleOf(to)}, record),
                 content = Keeps({SplitOf("", 0, to)}, record);
      by_value += value ? 1 : 0;
      by_content += content ? 1 : 0;
      sampled += sample ? 1 : 0;
      both += content && sample ? 1 : 0;
    }
    // Six standard deviations of 4,000 draws are at most 0.048.
    EXPECT_NEAR(by_value / 4000.0, to, 0.048);
    EXPECT_NEAR(by_content / 4000.0, to, 0.048);
    EXPECT_NEAR(sampled / 4000.0, to, 0.048);
    EXPECT_NEAR(both / 4000.0, to * to, 0.048) << "a sample does not depend on a split of the same seed";
  }
}

TEST_F(Steps, RecordsWithOneValueStayTogether) {
  for (int64_t patient = 0; patient < 100; ++patient) {
    const bool first = Keeps({SplitOf("patient", 0.2, 0.7)}, Entry(0, patient));
    for (int64_t n = 1; n < 4; ++n) ASSERT_EQ(Keeps({SplitOf("patient", 0.2, 0.7)}, Entry(n, patient)), first);
  }
}

TEST_F(Steps, AnotherSeedGivesIndependentParts) {
  int both = 0;
  for (int64_t n = 0; n < 4000; ++n) {
    if (Keeps({SplitOf("n", 0, 0.5, 1), SplitOf("n", 0, 0.5, 2)}, Entry(n, n))) ++both;
  }
  EXPECT_NEAR(both / 4000.0, 0.25, 0.048);
}

TEST_F(Steps, ARecordWithoutTheValueIsBad) {
  const std::string record = records::ExampleBuilder().Int64("n", 1).Serialize();
  const absl::Status status = Matches({SplitOf("patient", 0, 1)}, record).status();
  EXPECT_EQ(FaultOf(status), Fault::kMissingFeature);
  EXPECT_THAT(std::string(status.message()), HasSubstr("`patient` has no value to split by"));
  const std::vector<int64_t> two = {1, 2};
  const absl::Status several =
      Matches({SplitOf("patient", 0, 1)}, records::ExampleBuilder().Int64List("patient", two).Serialize()).status();
  EXPECT_EQ(FaultOf(several), Fault::kWrongShape) << several;
  EXPECT_TRUE(Keeps({SplitOf("", 0, 1)}, record));
}

TEST_F(Steps, ASplitTakesAValueAndAFilterACondition) {
  EXPECT_THAT(Matches({SplitOf("n > 1", 0, 1)}, Entry(1, 1)).status().ToString(),
              HasSubstr("select.split.of: the expression is a condition, not a value"));
  EXPECT_THAT(Matches({SplitOf("patiend", 0, 1)}, Entry(1, 1)).status().ToString(),
              HasSubstr("there is no feature 'patiend' (did you mean 'patient'?)"));
}

// A hostile description selects something, and does nothing else.
TEST_F(Steps, AnyNumbersAreParsed) {
  for (const double number : {-1.0, 0.0, 2.0, 1e300, -1e300, std::numeric_limits<double>::quiet_NaN(),
                              std::numeric_limits<double>::infinity()}) {
    EXPECT_TRUE(Matches({SplitOf("n", number, number)}, Entry(1, 1)).ok());
    EXPECT_TRUE(Matches({SampleOf(number)}, Entry(1, 1)).ok());
  }
}

// These numbers must never change: the parts of a data set depend on them. docs/select.md has the same in Python.
TEST(ContentHash, IsTheSameInEachRelease) {
  EXPECT_EQ(select::HashWithSeed(select::Value::String("penstock"), 1), 5784552263791683885u);
  EXPECT_EQ(select::HashWithSeed(select::Value::Int64(-1), 7), 4515201275042620865u);
  EXPECT_EQ(*HashContent("record", kExample, 3), 5187073175750677489u);
  std::string sample;
  sources::AppendTarMember("a.jpg", "JPEG bytes", &sample);
  sources::AppendTarMember("a.cls", "7", &sample);
  EXPECT_EQ(*HashContent(sample, kSample, 3), 697445114332216708u);
}

TEST(ContentHash, OfASampleDependsOnExtensionsAndDataAlone) {
  const auto hash = [](const std::string& name, const std::string& extension, const std::string& data) {
    std::string sample;
    sources::AppendTarMember(absl::StrCat(name, ".", extension), data, &sample);
    return *HashContent(sample, kSample, 0);
  };
  EXPECT_EQ(hash("a", "txt", "x"), hash("folder/b", "txt", "x"));
  EXPECT_NE(hash("a", "txt", "x"), hash("a", "txt", "y"));
  EXPECT_NE(hash("a", "txt", "x"), hash("a", "cls", "x"));
  EXPECT_TRUE(absl::IsInvalidArgument(HashContent("no sample", kSample, 0).status()));
}

}  // namespace
}  // namespace penstock::selection
