// Converts records of other formats to Examples.
#ifndef PENSTOCK_PIPELINE_RECORDS_RECORD_EXAMPLE_H_
#define PENSTOCK_PIPELINE_RECORDS_RECORD_EXAMPLE_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "pipeline/records/example_parser.h"

namespace penstock::records {

// Returns the sample in `record` as a serialized tf.train.Example. Each member becomes a feature with its extension as
// the key: INT64 if its extension and its content are those of an integer (ListMembers), otherwise BYTES with the whole
// member. "__key__" is a feature of BYTES. Returns InvalidArgument for a malformed record and for two members with one
// extension.
absl::StatusOr<std::string> ExampleOfSample(std::string_view record);

// Returns the JSON object in `record` as a serialized tf.train.Example. Each value that ListJsonValues() returns
// becomes a feature with its path as the key. Empty arrays do not. Returns the errors of JsonRecordParser::Parse.
absl::StatusOr<std::string> ExampleOfJson(std::string_view record);

// Returns a CSV or TSV row as a serialized tf.train.Example: each column is a feature of BYTES. `format` is kCsv or
// kTsv. Returns the errors of CsvRecordParser::Parse.
absl::StatusOr<std::string> ExampleOfRow(std::string_view record, RecordFormat format);

// Returns a row of a manifest as a serialized tf.train.Example: its fields as ExampleOfJson() or ExampleOfRow() has
// them, and "contents" with the bytes of its file. Returns the errors of FileRowParser::Parse.
absl::StatusOr<std::string> ExampleOfFileRow(std::string_view record);

// Returns a row of an array as a serialized tf.train.Example. Each field becomes a feature: FLOAT from float16 and
// float32, INT64 from bool, times and integers but uint64, and BYTES from all others. Returns the errors of
// ArrayRowParser::Parse.
absl::StatusOr<std::string> ExampleOfArrayRow(std::string_view record);

// Returns a line of text as a serialized tf.train.Example with the feature "line".
std::string ExampleOfLine(std::string_view record);

}  // namespace penstock::records

#endif  // PENSTOCK_PIPELINE_RECORDS_RECORD_EXAMPLE_H_
