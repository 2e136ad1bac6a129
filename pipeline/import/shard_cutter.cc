#include "pipeline/import/shard_cutter.h"

#include <utility>

#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "pipeline/sources/tfrecord/framing.h"

namespace penstock::imports {

ShardCutter::ShardCutter(storage::Storage* storage, ShardCutterOptions options, ShardFolder* folder)
    : storage_(storage), options_(std::move(options)), folder_(folder) {
  before_.items = folder->state().Items();
  before_.records = folder->state().Records();
  before_.bytes = folder->state().Bytes();
}

absl::Status ShardCutter::MakeRoom(size_t record_bytes) {
  const uint64_t framed = record_bytes + sources::kRecordFrameBytes;
  if (writer_ != nullptr && shard_.bytes + framed > options_.shard_bytes) return FinishShard();
  return absl::OkStatus();
}

absl::Status ShardCutter::Write(std::string_view record, ImageTreatment treatment) {
  PS_RETURN_IF_ERROR(MakeRoom(record.size()));
  if (writer_ == nullptr) {
    shard_.name = ShardName(options_.prefix, folder_->state().shards.size());
    PS_ASSIGN_OR_RETURN(writer_, sources::TFRecordWriter::Open(storage_, folder_->File(shard_.name)));
  }
  PS_RETURN_IF_ERROR(writer_->Write(record));
  ++shard_.items;
  ++shard_.records;
  shard_.bytes += record.size() + sources::kRecordFrameBytes;
  ++shard_.treated[static_cast<size_t>(treatment)];
  return absl::OkStatus();
}

void ShardCutter::Skip(std::string message) {
  skipped_.push_back(std::move(message));
  ++shard_.items;
}

absl::Status ShardCutter::FinishShard() {
  if (writer_ == nullptr) return absl::OkStatus();
  PS_RETURN_IF_ERROR(folder_->StillOurs());
  PS_RETURN_IF_ERROR(writer_->Close());
  writer_.reset();
  before_.items += shard_.items;
  before_.records += shard_.records;
  before_.bytes += shard_.bytes;
  return folder_->Commit(std::exchange(shard_, {}), std::exchange(skipped_, {}), options_.note ? options_.note() : "");
}

FinishedShard ShardCutter::Sums() const {
  FinishedShard sums;
  sums.items = before_.items + shard_.items;
  sums.records = before_.records + shard_.records;
  sums.bytes = before_.bytes + shard_.bytes;
  return sums;
}

std::string ShardName(const std::string& prefix, uint64_t number) {
  return absl::StrFormat("%s-%05d.tfrecord", prefix, number);
}

}  // namespace penstock::imports
