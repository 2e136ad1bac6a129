// Rows of manifests with the bytes of their files.
#include "pipeline/records/file_row_parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/fault.h"
#include "pipeline/records/record_example.h"
#include "pipeline/records/record_parser.h"
#include "pipeline/sources/file_frame.h"

namespace penstock::records {
namespace {

using sources::FileState;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string Record(std::string_view row, std::string_view file, FileState state = FileState::kRead) {
  std::string record = absl::StrCat(absl::string_view(row.data(), row.size()));
  char trailer[sources::kFileTrailerBytes];
  sources::StoreFileTrailer(static_cast<uint32_t>(record.size()), static_cast<uint32_t>(file.size()), state, trailer);
  return record.append(file).append(trailer, sizeof trailer);
}

const std::vector<FeatureRequest> kRequests = {
    {.key = "label", .kind = FeatureKind::kInt64}, {.key = "contents"}, {.key = "file"}, {.key = "contents"}};

TEST(FileRowParser, HasTheFieldsAndTheFileInEachKindOfText) {
  const auto parser = RecordParser::Create(kRequests, {.format = RecordFormat::kFileRow});
  ASSERT_TRUE(parser.ok()) << parser.status();
  const std::string file("\x00\xFF\n,\t\"", 6);
  ParsedExample values;
  for (const std::string row :
       {"csv\nfile,label\na.jpg,7\r\n", "csv\nlabel,contents,file\n7,hidden,a.jpg", "tsv\nlabel\tfile\n7\ta.jpg\n",
        "jsonl\n{\"file\": \"a.jpg\", \"label\": 7, \"contents\": [1]}\n", "jsonl\n{\"label\":7,\"file\":\"a.jpg\"}"}) {
    SCOPED_TRACE(row);
    const std::string record = Record(row, file);
    const absl::Status parsed = parser->Parse(record, &values);
    ASSERT_TRUE(parsed.ok()) << parsed;
    EXPECT_THAT(values[0].ints, ElementsAre(7));
    EXPECT_THAT(values[1].bytes, ElementsAre(file));
    EXPECT_THAT(values[2].bytes, ElementsAre("a.jpg"));
    EXPECT_THAT(values[3].bytes, ElementsAre(file));
    std::map<std::string, FeatureInfo> infos;
    const auto listed = ListValues(record, RecordFormat::kFileRow);
    ASSERT_TRUE(listed.ok()) << listed.status();
    for (const FeatureInfo& info : *listed) infos[info.key] = info;
    ASSERT_EQ(infos.size(), 3);
    EXPECT_EQ(infos["contents"].first_bytes, file);
    EXPECT_EQ(infos["label"].kind, FeatureKind::kInt64);
    EXPECT_EQ(infos["label"].is_field, row[0] != 'j');
    EXPECT_FALSE(infos["contents"].is_field);
  }
}

TEST(FileRowParser, ARecordWithoutItsFileIsBadOnlyIfAFeatureNeedsIt) {
  const auto all = FileRowParser::Create(kRequests, {});
  const auto fields = FileRowParser::Create({kRequests[0]}, {});
  const std::string record = Record("csv\nfile,label\na.jpg,7\n", "a.jpg: No such file", FileState::kNone);
  ParsedExample values;
  const absl::Status bad = all->Parse(record, &values);
  EXPECT_EQ(bad.message(), "a.jpg: No such file");
  EXPECT_EQ(FaultOf(bad), Fault::kNoFile);
  EXPECT_TRUE(absl::IsInvalidArgument(bad));
  EXPECT_TRUE(fields->Parse(record, &values).ok());
  EXPECT_FALSE(ListFileRow(record).ok());
  const std::string not_read = Record("csv\nfile,label\na.jpg,7\n", "", FileState::kNotRead);
  ASSERT_TRUE(all->Parse(not_read, &values).ok());
  EXPECT_TRUE(values[1].missing);
  EXPECT_THAT(values[0].ints, ElementsAre(7));
}

TEST(FileRowParser, WrongRequestsAndRecordsAreRejected) {
  EXPECT_THAT(
      std::string(FileRowParser::Create({{.key = "contents", .kind = FeatureKind::kInt64}}, {}).status().message()),
      HasSubstr("feature \"contents\" is the bytes of a file, so its type must be BYTES"));
  const auto parser = FileRowParser::Create({{.key = "contents", .element_bytes = 4}}, {});
  ParsedExample values;
  EXPECT_TRUE(parser->Parse(Record("csv\na\n1\n", "12345678"), &values).ok());
  EXPECT_THAT(std::string(parser->Parse(Record("csv\na\n1\n", "123456789"), &values).message()), HasSubstr("9 bytes"));
  const std::string record = Record("csv\na\n1\n", "1234");
  for (size_t cut = 0; cut < record.size(); ++cut) {
    EXPECT_FALSE(parser->Parse(std::string_view(record).substr(0, cut), &values).ok()) << cut;
  }
  for (const char* row : {"xml\n<a/>", "", "jsonl\nno json", "csv\na,b\n1"}) {
    EXPECT_FALSE(parser->Parse(Record(row, "1234"), &values).ok()) << row;
  }
}

TEST(FileRowParser, AnExampleHasTheFieldsAndTheFile) {
  const auto value_of = [](const std::string& example, const std::string& key, FeatureKind kind) {
    const auto parser = ExampleParser::Create({{.key = key, .kind = kind}});
    ParsedExample values;
    EXPECT_TRUE(parser->Parse(example, &values).ok());
    return kind == FeatureKind::kInt64 ? absl::StrCat(values[0].ints.at(0)) : std::string(values[0].bytes.at(0));
  };
  const auto csv = ExampleOfFileRow(Record("csv\nfile,label\na.jpg,7\n", "pixels"));
  ASSERT_TRUE(csv.ok()) << csv.status();
  EXPECT_EQ(value_of(*csv, "contents", FeatureKind::kBytes), "pixels");
  EXPECT_EQ(value_of(*csv, "label", FeatureKind::kBytes), "7");
  const auto json = ExampleOfFileRow(Record("jsonl\n{\"label\":7,\"file\":\"a.jpg\"}\n", "pixels"));
  ASSERT_TRUE(json.ok()) << json.status();
  EXPECT_EQ(value_of(*json, "label", FeatureKind::kInt64), "7");
}

}  // namespace
}  // namespace penstock::records
