// Writes TFRecord shards of records without images: make_small_records DIR [RECORDS [SHARDS [RAW_BYTES]]]. With
// RAW_BYTES each record also has this number of bytes, which a job delivers unchanged (bench/same_host.sh).
#include <sys/stat.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "pipeline/records/example_builder.h"
#include "pipeline/sources/tfrecord/tfrecord_writer.h"
#include "pipeline/storage/posix_storage.h"

namespace penstock::bench {
namespace {

absl::Status Make(const std::string& folder, uint64_t records, uint64_t shards, uint64_t raw_bytes) {
  uint64_t id = 0;
  for (uint64_t shard = 0; shard < shards; ++shard) {
    PS_ASSIGN_OR_RETURN(const auto writer,
                        sources::TFRecordWriter::Open(storage::LocalFiles(),
                                                      absl::StrFormat("%s/small-%05d-of-%05d", folder, shard, shards)));
    for (const uint64_t end = records * (shard + 1) / shards; id < end; ++id) {
      const int64_t number = static_cast<int64_t>(id);
      records::ExampleBuilder record;
      record.Int64("id", number).Int64("label", number % 1000);
      if (raw_bytes > 0) record.Bytes("raw", std::string(raw_bytes, static_cast<char>(number)));
      PS_RETURN_IF_ERROR(writer->Write(record.Serialize()));
    }
    PS_RETURN_IF_ERROR(writer->Close());
  }
  return absl::OkStatus();
}

}  // namespace
}  // namespace penstock::bench

int main(int argc, char** argv) {
  uint64_t records = 1'000'000, shards = 16, raw_bytes = 0;
  if (argc < 2 || argc > 5 || (argc > 2 && !absl::SimpleAtoi(argv[2], &records)) ||
      (argc > 3 && !absl::SimpleAtoi(argv[3], &shards)) || shards == 0 ||
      (argc > 4 && !absl::SimpleAtoi(argv[4], &raw_bytes))) {
    std::fprintf(stderr,
                 "usage: make_small_records DIR [RECORDS [SHARDS [RAW_BYTES]]]   (1000000 records in 16 shards)\n");
    return 2;
  }
  if (mkdir(argv[1], 0755) != 0 && errno != EEXIST) {
    std::perror(argv[1]);
    return 1;
  }
  if (const absl::Status made = penstock::bench::Make(argv[1], records, shards, raw_bytes); !made.ok()) {
    std::fprintf(stderr, "make_small_records: %s\n", std::string(made.message()).c_str());
    return 1;
  }
  std::printf("%llu records in %llu shards in %s\n", static_cast<unsigned long long>(records),
              static_cast<unsigned long long>(shards), argv[1]);
  return 0;
}
