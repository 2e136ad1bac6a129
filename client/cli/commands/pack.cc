#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/cgroup.h"
#include "base/file.h"
#include "base/json.h"
#include "base/status_macros.h"
#include "client/cli/commands.h"
#include "client/cli/output.h"
#include "client/cli/resumable_pack.h"
#include "client/cli/shard_output.h"
#include "client/cli/stop_signals.h"
#include "pipeline/import/job_text.h"
#include "pipeline/import/shard_set.h"
#include "pipeline/pack/pack_input.h"
#include "pipeline/pack/pack_staging.h"
#include "pipeline/pack/packed_features.h"
#include "pipeline/pack/record_spool.h"
#include "pipeline/storage/storage.h"

namespace penstock::cli {
namespace {

constexpr char kJobFile[] = "job.textproto";
constexpr uint64_t kMostState = uint64_t{1} << 30;

absl::StatusOr<size_t> ReadInput(char* out, size_t most) {
  for (;;) {
    const ssize_t n = read(STDIN_FILENO, out, most);
    if (n >= 0) return static_cast<size_t>(n);
    if (errno != EINTR) return ErrnoStatus(errno, "reading the standard input");
  }
}

// Spools the input's records into a part. Returns the required parts, from the end frame.
absl::StatusOr<std::vector<uint32_t>> Spool(const std::string& file, uint64_t* records) {
  pack::PackInput input(ReadInput);
  pack::PackSchema schema;
  PS_ASSIGN_OR_RETURN(const auto spool, pack::SpoolWriter::Open(file));
  for (;;) {
    PS_ASSIGN_OR_RETURN(const pack::PackFrame frame, input.Next());
    if (frame.type == pack::PackFrame::Type::kEnd) {
      std::vector<uint32_t> expected(frame.body.size() / sizeof(uint32_t));
      if (!expected.empty()) std::memcpy(expected.data(), frame.body.data(), expected.size() * sizeof(uint32_t));
      *records = schema.records();
      PS_RETURN_IF_ERROR(spool->Finish(schema));
      return expected;
    }
    if (frame.type == pack::PackFrame::Type::kCast) {
      return absl::InvalidArgumentError("a frame of type 5 belongs to a run with --resume");
    }
    if (frame.type == pack::PackFrame::Type::kRecord) {
      PS_RETURN_IF_ERROR(schema.AddExample(frame.body));
      PS_RETURN_IF_ERROR(spool->Write(frame.body));
      continue;
    }
    const auto example = pack::ExampleOf(frame.body, &schema);
    if (!example.ok()) {
      return absl::Status(example.status().code(),
                          absl::StrCat("record ", schema.records(), ": ", example.status().message()));
    }
    PS_RETURN_IF_ERROR(spool->Write(*example));
  }
}

class Pack final : public Command {
 public:
  explicit Pack(storage::Storage* storage) : storage_(storage) {}

  std::string name() const override { return "pack"; }
  std::string arguments() const override { return "--out DIR [flags] < RECORDS"; }
  std::string summary() const override { return "new shards from records that another program makes"; }
  std::string description() const override {
    return "Reads records from the standard input and writes them as TFRecord shards, with a job file that reads them\n"
           "back. DIR appears complete, after the last record. It does not appear if the input ends without an end\n"
           "frame. In a bucket the shards appear one by one after the last record, and then the job file.\n"
           "Python's penstock.ShardWriter runs this command.\n\n"
           "The input is a run of frames, each u32 length, u32 type, then a body of that length, little-endian:\n\n"
           "  type 1   a serialized tf.train.Example, stored unchanged\n"
           "  type 2   a record's features, each: u16 length of the key, the key, u8 kind, then\n"
           "             kind 1..3 (BYTES, FLOAT, INT64): u8 1 for one value or 0 for a list, u32 count, the values:\n"
           "               u32 length and bytes; f32; i64\n"
           "             kind 4 (array): u8 type (as penstock.v1.DataType), u8 axes, u64 for each, the elements\n"
           "  type 3   the end; the body lists the required parts, u32 each\n"
           "  type 4   cancelled: no shards are written\n"
           "  type 5   with --resume: u8 type, then a key; the job converts that column to the type\n\n"
           "Several processes: this command prints {\"staging\": FOLDER} when it starts. Each other process gives its\n"
           "records to `penstock pack --staging FOLDER --part N`; when all have ended, this one gets its end frame.\n"
           "The shards hold the records of this command's own input first, then those of the parts in their order.\n\n"
           "With --resume each shard appears when it is complete, and the same command continues a killed run. It "
           "prints\n"
           "{\"records\", \"shards\", \"complete\"} of earlier runs when it starts. Its input, frames of type 2, "
           "begins after\n"
           "these records. Python's penstock.convert runs this.";
  }
  void AddFlags(config::Flags* flags) override {
    flags->AddString(
        "out", &out_, "DIR",
        "the folder of the new shards: not there yet, or empty; or a bucket's, such as s3://BUCKET/shards");
    flags->AddString("prefix", &options_.prefix, "NAME", "shards are called NAME-00000.tfrecord ... (default: data)");
    flags->AddBytes("shard-size", &options_.shard_bytes, "BYTES",
                    "a shard ends before it would grow larger (default: 128MiB)");
    flags->AddString("order", &order_, "shuffled|sorted",
                     "the records in a random order, or as they come (default: sorted)");
    flags->AddUint("seed", &options_.seed, "N", "seed of the shuffled order (default: 17)");
    flags->AddUint("threads", &threads_, "N", "records read again at once (default: the CPUs of this container)");
    flags->AddString("staging", &staging_, "FOLDER", "write one part of the run that printed this folder");
    flags->AddString("part", &part_, "N", "number of this part; it replaces an earlier part N");
    flags->AddString("resume", &resume_, "TEXT",
                     "write shards as they fill, and continue a run whose source has the same lines NAME=VALUE");
    flags->AddSwitch("replay", &replay_, "with --resume: the input repeats finished records, which are compared");
    options_.seed = 17;
  }

  absl::Status Run(const std::vector<std::string>& arguments) override {
    if (!arguments.empty()) return UsageError(absl::StrCat("unexpected argument: ", arguments[0]));
    if (!part_.empty() || !staging_.empty()) return RunPart();
    if (out_.empty()) return UsageError("--out DIR is missing");
    if (!order_.empty() && order_ != "shuffled" && order_ != "sorted") {
      return UsageError(absl::StrCat("--order ", order_, ": shuffled or sorted"));
    }
    if (threads_ > 4096) return UsageError(absl::StrCat("--threads ", threads_, ": at most 4096"));
    options_.shuffle = order_ == "shuffled";
    options_.threads = threads_ == 0 ? AvailableCpus() : static_cast<int>(threads_);
    PS_ASSIGN_OR_RETURN(out_, OutputFolder(*storage_, out_));
    PS_RETURN_IF_ERROR(imports::CheckShardOptions(options_));
    if (!resume_.empty()) {
      if (options_.shuffle) return UsageError("--resume and --order shuffled: one of the two");
      pack::PackInput input(ReadInput);
      return RunResumablePack(storage_,
                              {.folder = out_,
                               .prefix = options_.prefix,
                               .shard_bytes = options_.shard_bytes,
                               .arguments = resume_,
                               .replay = replay_},
                              &input);
    }
    return RunMain();
  }

 private:
  absl::Status RunPart() {
    uint32_t number = 0;
    if (staging_.empty() || !absl::SimpleAtoi(part_, &number))
      return UsageError("--staging FOLDER and --part N go together");
    uint64_t records = 0;
    PS_RETURN_IF_ERROR(Spool(pack::PartFile(staging_, number), &records).status());
    std::printf("%s\n", Json().Field("part", uint64_t{number}).Field("records", records).Object().c_str());
    return absl::OkStatus();
  }

  static std::string NameOf(const std::string& folder) { return folder.substr(folder.rfind('/') + 1); }

  // Called before waiting for records: a folder in a bucket must be empty, or hold an unfinished run.
  absl::Status CheckIsFree() const {
    PS_ASSIGN_OR_RETURN(const std::vector<storage::StoredEntry> entries, storage_->ListAndWait(out_));
    if (entries.empty()) return absl::OkStatus();
    const auto text =
        storage::ReadContent(storage_, absl::StrCat(out_, "/", std::string(imports::kShardStateName)), kMostState);
    if (!text.ok() && !absl::IsNotFound(text.status())) return text.status();
    const auto state = text.ok() ? imports::ParseShardState(*text) : absl::StatusOr<imports::ShardState>(text.status());
    if (state.ok() && !state->complete) return absl::OkStatus();
    return absl::FailedPreconditionError(absl::StrCat(out_, " is not empty; take another folder, or remove it"));
  }

  // Removes the shards after a failure in a bucket, because finished shards would look like a complete set. A failed
  // run on disk leaves as little.
  absl::Status TakeBack(const absl::Status& why) const {
    const std::string file = absl::StrCat(out_, "/", std::string(imports::kShardStateName));
    const auto text = storage::ReadContent(storage_, file, kMostState);
    if (absl::IsNotFound(text.status())) return absl::OkStatus();
    absl::Status removed = text.status();
    if (text.ok()) {
      const auto state = imports::ParseShardState(*text);
      removed = state.status();
      if (state.ok()) {
        for (const imports::FinishedShard& shard : state->shards) {
          removed.Update(storage_->Remove(absl::StrCat(out_, "/", shard.name)));
        }
      }
      if (removed.ok()) removed = storage_->Remove(file);
    }
    if (removed.ok()) return removed;
    return absl::Status(why.code(),
                        absl::StrCat(why.message(), "; files in ", out_, " could not be removed: ", removed.message()));
  }

  absl::Status RunMain() {
    // A bucket has no rename: shards appear there one by one after all records have arrived, and the job file appears
    // last. Until then the records stay on this machine.
    const bool is_remote = !storage_->IsLocal(out_);
    std::string beside = out_;
    if (is_remote) {
      PS_RETURN_IF_ERROR(CheckIsFree());
      std::error_code error;
      beside = (std::filesystem::temp_directory_path(error) / imports::JobName(NameOf(out_))).string();
      if (error) return ErrnoStatus(error.value(), "finding a folder for temporary files (TMPDIR)");
    }
    PS_ASSIGN_OR_RETURN(const auto staging,
                        is_remote ? pack::PackStaging::CreateApart(beside) : pack::PackStaging::Create(out_));
    std::printf("%s\n", Json().Field("staging", staging->folder()).Object().c_str());
    std::fflush(stdout);
    uint64_t records = 0;
    PS_ASSIGN_OR_RETURN(const auto expected, Spool(pack::MainPartFile(staging->folder()), &records));
    PS_ASSIGN_OR_RETURN(const std::vector<std::string> files, staging->Parts(expected));
    pack::PackSchema schema;
    std::vector<std::unique_ptr<pack::SpoolFile>> parts;
    for (const std::string& file : files) {
      PS_ASSIGN_OR_RETURN(parts.emplace_back(), pack::SpoolFile::Open(file));
      if (const absl::Status merged = schema.Merge(parts.back()->schema()); !merged.ok()) {
        return absl::Status(merged.code(), absl::StrCat(std::filesystem::path(file).filename().string(),
                                                        " after the parts ", "before it: ", merged.message()));
      }
    }
    const auto source = pack::NewSpoolSource(std::move(parts));
    if (source->size() == 0) return absl::InvalidArgumentError("there is nothing to write: no records came");
    options_.folder = is_remote ? out_ : staging->shards();
    const StopSignals signals(RemainsOf(*storage_, out_));
    options_.stop = signals.token();
    const auto written = imports::WriteShards(storage_, *source, options_);
    if (!written.ok()) {
      if (is_remote && !absl::IsUnavailable(written.status()) && !absl::IsFailedPrecondition(written.status())) {
        PS_RETURN_IF_ERROR(TakeBack(written.status()));
      }
      return absl::IsCancelled(written.status()) && StopSignals::Came() != 0 ? Stopped(storage_, out_)
                                                                             : written.status();
    }
    const imports::ShardSetResult& result = *written;
    const std::string glob = absl::StrCat(out_, "/", options_.prefix, "-*.tfrecord");
    const std::string name = imports::JobName(NameOf(out_));
    PS_RETURN_IF_ERROR(
        storage_->Put(absl::StrCat(options_.folder, "/", kJobFile), schema.JobText(name, glob)).status());
    if (!is_remote) PS_RETURN_IF_ERROR(staging->Publish());
    std::printf("%s\n", Json()
                            .Field("files", glob)
                            .Field("job", absl::StrCat(out_, "/", kJobFile))
                            .Field("shards", uint64_t{result.state.shards.size()})
                            .Field("records", result.state.Records())
                            .Field("bytes", result.state.Bytes())
                            .Object()
                            .c_str());
    return absl::OkStatus();
  }

  storage::Storage* const storage_;
  std::string out_, order_, staging_, part_, resume_;
  bool replay_ = false;
  uint64_t threads_ = 0;
  imports::ShardSetOptions options_;
};

}  // namespace

std::unique_ptr<Command> NewPack(storage::Storage* storage) { return std::make_unique<Pack>(storage); }

}  // namespace penstock::cli
