// Files of numbers, and their join.
#ifndef PENSTOCK_TESTS_PIPELINE_IMPORT_JOINED_TESTING_H_
#define PENSTOCK_TESTS_PIPELINE_IMPORT_JOINED_TESTING_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "pipeline/import/joined_source.h"
#include "pipeline/import/record_files_source.h"
#include "pipeline/loader/open_dataset.h"
#include "pipeline/records/example_builder.h"
#include "pipeline/sources/tfrecord/tfrecord_writer.h"
#include "pipeline/storage/posix_storage.h"
#include "tests/pipeline/import/npy_testing.h"

namespace penstock::imports {

enum class NumberFile : uint8_t { kTfRecord, kJsonl, kNpy };

// Returns the key of the numbers in files of this name.
inline std::string KeyOf(const std::string& name, NumberFile kind) { return kind == NumberFile::kNpy ? "row" : name; }

// Writes file NAME-I of numbers for each list. Each number is a record.
inline void WriteNumbers(const std::string& folder, const std::string& name,
                         const std::vector<std::vector<int64_t>>& files, NumberFile kind) {
  for (size_t i = 0; i < files.size(); ++i) {
    const std::string path = absl::StrCat(folder, "/", name, "-", i);
    if (kind == NumberFile::kTfRecord) {
      const auto writer = sources::TFRecordWriter::Open(storage::LocalFiles(), path + ".tfrecord");
      ASSERT_TRUE(writer.ok()) << writer.status();
      for (const int64_t number : files[i]) {
        ASSERT_TRUE((*writer)->Write(records::ExampleBuilder().Int64(name, number).Serialize()).ok());
      }
      ASSERT_TRUE((*writer)->Close().ok());
      continue;
    }
    std::string content;
    for (const int64_t number : files[i]) {
      if (kind == NumberFile::kJsonl) {
        absl::StrAppend(&content, "{\"", name, "\": ", number, "}\n");
      } else {
        content.append(reinterpret_cast<const char*>(&number), sizeof(number));
      }
    }
    if (kind == NumberFile::kNpy) content = Npy("<i8", absl::StrCat(files[i].size(), ","), content);
    ASSERT_TRUE(WriteFileAtomically(path + (kind == NumberFile::kNpy ? ".npy" : ".jsonl"), content).ok());
  }
}

inline absl::StatusOr<JoinedPart> OpenNumbers(const std::string& glob) {
  v1::JobSpec job;
  job.add_dataset()->add_files(glob);
  PS_ASSIGN_OR_RETURN(const auto reader,
                      loader::OpenDataset(storage::LocalFiles(), job, {{"local", "/"}}, std::nullopt, 1));
  return JoinedPart{NewRecordFilesSource(reader, std::nullopt, ""), glob,
                    [reader](uint64_t record) { return reader->Describe(record); }};
}

// Joins the numbers "a" and "b" of a folder.
inline absl::StatusOr<std::unique_ptr<RecordSource>> JoinNumbers(const std::string& folder, const std::string& prefix) {
  PS_ASSIGN_OR_RETURN(JoinedPart first, OpenNumbers(folder + "/a-*"));
  PS_ASSIGN_OR_RETURN(JoinedPart second, OpenNumbers(folder + "/b-*"));
  return NewJoinedSource(std::move(first), std::move(second), prefix);
}

}  // namespace penstock::imports

#endif  // PENSTOCK_TESTS_PIPELINE_IMPORT_JOINED_TESTING_H_
