// Windows of records: those of a plain loop over each run, in a table that does not grow with the windows.
#include "pipeline/plan/record_windows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

namespace penstock::plan {
namespace {

using ::testing::ElementsAre;
using Windows = std::vector<std::vector<uint32_t>>;

// Returns the records of each window, by a loop over all first records.
Windows ByLoop(const std::vector<std::string>& keys, const WindowOptions& options) {
  Windows windows;
  uint64_t begin = 0;
  for (uint64_t first = 0; first < keys.size(); ++first) {
    if (first > 0 && keys[first] != keys[first - 1]) begin = first;
    if ((first - begin) % options.stride != 0) continue;
    std::vector<uint32_t> window;
    for (uint64_t i = 0; i < options.size; ++i) window.push_back(static_cast<uint32_t>(first + i * options.step));
    bool is_one_run = window.back() < keys.size();
    for (uint64_t k = first; is_one_run && k <= window.back(); ++k) is_one_run = keys[k] == keys[first];
    if (is_one_run) windows.push_back(window);
  }
  return windows;
}

RecordWindows Cut(const std::vector<std::string>& keys, const WindowOptions& options) {
  WindowCutter cutter(options);
  for (const std::string& key : keys) cutter.Add(key);
  return cutter.Take();
}

Windows AllOf(const RecordWindows& cut) {
  Windows windows;
  for (uint64_t row = 0; row < cut.rows; ++row) {
    std::vector<uint32_t>& window = windows.emplace_back();
    for (const PackPart part : cut.Row(row)) window.push_back(part.record);
    EXPECT_EQ(cut.Row(row).size(), window.size());
    EXPECT_EQ(cut.Row(row)[window.size() - 1].record, window.back());
  }
  return windows;
}

TEST(RecordWindows, AreThoseOfALoopOverEachRun) {
  std::mt19937_64 random(11);
  for (int round = 0; round < 500; ++round) {
    const WindowOptions options{1 + random() % 9, 1 + random() % 12, 1 + random() % 5};
    std::vector<std::string> keys;
    for (uint64_t run = random() % 8; run > 0; --run) {
      // Neighboring runs may have one key.
      keys.insert(keys.end(), random() % 40, std::string(1, static_cast<char>('a' + random() % 4)));
    }
    const RecordWindows cut = Cut(keys, options);
    EXPECT_EQ(AllOf(cut), ByLoop(keys, options))
        << options.size << " records, stride " << options.stride << ", step " << options.step;
  }
}

TEST(RecordWindows, ARunEndsWhereTheCallerSays) {
  WindowCutter cutter({.size = 3, .stride = 1});
  for (int i = 0; i < 4; ++i) cutter.Add("a");
  cutter.EndRun();
  cutter.EndRun();  // there is no run without a record
  for (int i = 0; i < 3; ++i) cutter.Add("a");
  cutter.Add("b");
  const RecordWindows cut = cutter.Take();
  EXPECT_EQ(cutter.runs(), 3u);
  EXPECT_EQ(cutter.short_runs(), 1u);
  EXPECT_EQ(cut.longest_run, 4u);
  EXPECT_THAT(AllOf(cut), ElementsAre(ElementsAre(0u, 1u, 2u), ElementsAre(1u, 2u, 3u), ElementsAre(4u, 5u, 6u)));
  EXPECT_EQ(cut.RowsOf(0), 2u);
  EXPECT_EQ(cut.RowsOf(1), 1u);
}

TEST(RecordWindows, TakeMemoryForEachRunOnly) {
  WindowCutter cutter({.size = 24, .stride = 1});
  for (int run = 0; run < 100; ++run) {
    for (int k = 0; k < 1000; ++k) cutter.Add(std::to_string(run));
  }
  const RecordWindows cut = cutter.Take();
  EXPECT_EQ(cut.rows, 100u * 977u);
  EXPECT_EQ(cut.runs.capacity() * sizeof(RecordWindows::Run), 800u);
}

TEST(RecordWindows, AWindowThatIsLongerThanEachRunIsNone) {
  const WindowOptions longest{kMaxWindowRecords, kMaxWindowStep, kMaxWindowStep};
  const RecordWindows cut = Cut(std::vector<std::string>(50, "a"), longest);
  EXPECT_EQ(cut.rows, 0u);
  EXPECT_EQ(cut.longest_run, 50u);
  EXPECT_EQ(Cut({}, {}).longest_run, 0u);
}

}  // namespace
}  // namespace penstock::plan
