#include "pipeline/pack/record_stream.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/hash.h"
#include "base/status_macros.h"

namespace penstock::pack {
namespace {

constexpr char kOtherRecords[] =
    "the source yields other records than the run that began these shards; give the same source, take another --out, "
    "or remove the folder to start from the beginning";

std::vector<std::pair<std::string, std::string>> AllArguments(const RecordStreamOptions& options) {
  auto all = options.arguments;
  all.emplace_back("prefix", options.prefix);
  all.emplace_back("shard-size", absl::StrCat(options.shard_bytes));
  return all;
}

}  // namespace

RecordStream::RecordStream(storage::Storage* storage, RecordStreamOptions options,
                           std::unique_ptr<imports::ShardFolder> folder)
    : storage_(storage),
      options_(std::move(options)),
      folder_(std::move(folder)),
      finished_(folder_->state().Records()),
      shards_(storage,
              {.prefix = options_.prefix, .shard_bytes = options_.shard_bytes, .note = [this] { return Note(); }},
              folder_.get()) {}

absl::StatusOr<std::unique_ptr<RecordStream>> RecordStream::Open(storage::Storage* storage,
                                                                 RecordStreamOptions options) {
  PS_ASSIGN_OR_RETURN(auto folder, imports::ShardFolder::Open(storage, options.folder, AllArguments(options)));
  std::unique_ptr<RecordStream> stream(new RecordStream(storage, std::move(options), std::move(folder)));
  PS_RETURN_IF_ERROR(stream->ReadNote());
  return stream;
}

// The note is the hash in one line, and then the schema.
std::string RecordStream::Note() const {
  return absl::StrCat(absl::Hex(hash_, absl::kZeroPad16), "\n", schema_.Serialize());
}

absl::Status RecordStream::ReadNote() {
  if (finished_ == 0) return absl::OkStatus();
  const std::string& note = state().note;
  const size_t line = note.find('\n');
  auto schema = line == std::string::npos ? absl::StatusOr<PackSchema>(absl::DataLossError("its note is missing"))
                                          : ParsePackSchema(std::string_view(note).substr(line + 1));
  if (schema.ok() && !absl::SimpleHexAtoi(note.substr(0, line), &finished_hash_)) {
    schema = absl::DataLossError("its note has no hash");
  }
  if (!schema.ok()) {
    return absl::FailedPreconditionError(
        absl::StrCat(folder_->File(std::string(imports::kShardStateName)), " is damaged: ", schema.status().message(),
                     "; take another --out, or remove the folder to start from the beginning"));
  }
  schema_ = *std::move(schema);
  if (options_.replay) return absl::OkStatus();
  taken_ = finished_;
  hash_ = finished_hash_;
  return absl::OkStatus();
}

absl::Status RecordStream::Take(const PackFrame& frame) {
  if (frame.type == PackFrame::Type::kCast) {
    if (frame.body.size() < 2 || !batch::IsDType(static_cast<uint8_t>(frame.body[0]))) {
      return absl::InvalidArgumentError("a frame of type 5 has a type and a key");
    }
    casts_[std::string(frame.body.substr(1))] = static_cast<batch::DType>(frame.body[0]);
    return absl::OkStatus();
  }
  const absl::Status taken = TakeRecord(frame);
  if (!absl::IsInvalidArgument(taken)) return taken;
  return absl::InvalidArgumentError(absl::StrCat("record ", taken_, ": ", taken.message()));
}

absl::Status RecordStream::TakeRecord(const PackFrame& frame) {
  const bool is_example = frame.type == PackFrame::Type::kRecord;
  if (!is_example && frame.type != PackFrame::Type::kFeatures) {
    return absl::InvalidArgumentError("its frame is neither of type 1 nor of type 2");
  }
  std::string made;
  if (!is_example) {
    PS_ASSIGN_OR_RETURN(made, ExampleOf(frame.body, &values_));
  }
  const std::string_view example = is_example ? std::string_view(frame.body) : std::string_view(made);
  const uint64_t hash = HashWords({hash_, Hash64(example)});
  if (taken_ < finished_) {
    hash_ = hash;
    ++taken_;
    return taken_ == finished_ ? CompareReplayed() : absl::OkStatus();
  }
  if (state().complete) {
    return absl::FailedPreconditionError(
        absl::StrCat("more than ", finished_, " records came, but ", options_.folder, " is complete: ", kOtherRecords));
  }
  // Before the record joins the schema, because the note of a finished shard covers only the records before it.
  PS_RETURN_IF_ERROR(shards_.MakeRoom(example.size()));
  PS_RETURN_IF_ERROR(is_example ? schema_.AddExample(example) : schema_.AddRecord(values_));
  PS_RETURN_IF_ERROR(shards_.Write(example));
  hash_ = hash;
  ++taken_;
  return absl::OkStatus();
}

absl::Status RecordStream::CompareReplayed() const {
  if (hash_ == finished_hash_) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("the first ", finished_, " records are not those in ", options_.folder, ": ", kOtherRecords));
}

absl::Status RecordStream::Abandon(absl::Status failed) {
  shards_.Discard();
  return folder_->Abandon(std::move(failed));
}

absl::Status RecordStream::Finish(const std::string& job_name, const std::string& files, const std::string& job) {
  if (taken_ < finished_) {
    return absl::FailedPreconditionError(
        absl::StrCat(taken_, " records came, but ", options_.folder, " has ", finished_, ": ", kOtherRecords));
  }
  if (state().complete) return absl::OkStatus();
  if (taken_ == 0) return absl::InvalidArgumentError("there is nothing to write: no records came");
  if (schema_.empty()) return absl::InvalidArgumentError("there is nothing to write: no record has a value");
  PS_RETURN_IF_ERROR(shards_.FinishShard());
  PS_RETURN_IF_ERROR(storage_->Put(folder_->File(job), schema_.JobText(job_name, files, "convert", casts_)).status());
  return folder_->Complete({});
}

}  // namespace penstock::pack
