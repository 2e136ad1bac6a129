// Helpers of the tests of import/: they read folders of shards.
#ifndef PENSTOCK_TESTS_PIPELINE_IMPORT_IMPORT_TESTING_H_
#define PENSTOCK_TESTS_PIPELINE_IMPORT_IMPORT_TESTING_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "base/file.h"
#include "pipeline/import/shard_set.h"
#include "pipeline/records/example_parser.h"
#include "pipeline/sources/record_walker.h"

namespace penstock::imports {

// Returns the content of every file of a folder except the state, by name.
inline std::map<std::string, std::string> FilesOf(const std::string& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (name == kShardStateName) continue;
    const auto content = ReadWholeFile(entry.path().string());
    EXPECT_TRUE(content.ok()) << content.status();
    if (content.ok()) files[name] = *content;
  }
  return files;
}

// Returns the records of all shards of a folder in order. Checks every CRC.
inline std::vector<std::string> RecordsOf(const std::string& folder) {
  std::vector<std::string> records;
  for (const auto& [name, content] : FilesOf(folder)) {
    if (!absl::EndsWith(name, ".tfrecord")) continue;
    const auto file = OpenFile(folder + "/" + name);
    EXPECT_TRUE(file.ok());
    auto walker = sources::RecordWalker::Start(file->get(), {});
    EXPECT_TRUE(walker.ok());
    for (;;) {
      std::string data;
      const auto step = (*walker)->Next(&data);
      EXPECT_TRUE(step.ok());
      if (*step != sources::RecordWalker::Step::kRecord) {
        EXPECT_EQ(*step, sources::RecordWalker::Step::kEnd) << name;
        break;
      }
      EXPECT_TRUE((*walker)->data_is_right());
      records.push_back(data);
    }
  }
  return records;
}

// Returns a feature's only value, or nullopt if the record has no such key.
template <typename T>
std::optional<T> FeatureOf(const std::string& record, const std::string& key) {
  constexpr records::FeatureKind kKind = std::is_same_v<T, std::string> ? records::FeatureKind::kBytes
                                         : std::is_same_v<T, float>     ? records::FeatureKind::kFloat
                                                                        : records::FeatureKind::kInt64;
  const auto parser = records::ExampleParser::Create({{.key = key, .kind = kKind}});
  records::ParsedExample parsed;
  const absl::Status status = parser->Parse(record, &parsed);
  EXPECT_TRUE(status.ok()) << status;
  if (!status.ok() || parsed[0].missing) return std::nullopt;
  EXPECT_EQ(parsed[0].count(), 1u) << key;
  if constexpr (std::is_same_v<T, std::string>) return std::string(parsed[0].bytes.at(0));
  if constexpr (std::is_same_v<T, float>) return parsed[0].floats.at(0);
  if constexpr (std::is_same_v<T, int64_t>) return parsed[0].ints.at(0);
}

// Returns all records of a source in order. A record that cannot be made fails the test.
inline std::vector<std::string> MakeAll(const RecordSource& source) {
  std::vector<std::string> records;
  const auto maker = source.NewMaker();
  for (uint64_t i = 0; i < source.size(); ++i) {
    MadeRecord made;
    const absl::Status status = maker->Make(i, &made);
    EXPECT_TRUE(status.ok()) << status;
    records.push_back(made.bytes);
  }
  return records;
}

}  // namespace penstock::imports

#endif  // PENSTOCK_TESTS_PIPELINE_IMPORT_IMPORT_TESTING_H_
