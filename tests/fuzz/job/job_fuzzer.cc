// Any text as a job file: reading finds every mistake, and a job without mistakes makes rows in the memory that it
// books. The same text as a daemon's configuration.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "config/daemon_config.h"
#include "config/job_file.h"
#include "google/protobuf/text_format.h"
#include "google/protobuf/util/message_differencer.h"
#include "pipeline/augment/check_pipeline.h"
#include "pipeline/augment/pipeline.h"
#include "pipeline/plan/job_dataset.h"
#include "pipeline/records/example_builder.h"
#include "tests/pipeline/augment/row_maker.h"
#include "tests/pipeline/image/jpeg_maker.h"
#include "tests/support/allocation_peak.h"

namespace {

using penstock::config::Mistake;

// Larger rows are skipped: they would only be slow.
constexpr size_t kLargestRow = size_t{1} << 20;
constexpr size_t kLargestScratch = size_t{8} << 20;
// Memory besides rows: messages, small vectors, the columns' strings.
constexpr size_t kSmallThings = size_t{64} << 10;

void CheckMistakes(const std::vector<Mistake>& mistakes, std::string_view text) {
  const auto lines = std::count(text.begin(), text.end(), '\n') + 1;
  for (const Mistake& mistake : mistakes) {
    PS_CHECK(mistake.line >= 0 && mistake.line <= lines);
    PS_CHECK(!mistake.message.empty());
  }
  PS_CHECK(penstock::config::MistakesToStatus("job", mistakes).ok() == mistakes.empty());
}

void MakeRows(const penstock::v1::JobSpec& job) {
  static const auto* const record =
      new std::string(penstock::records::ExampleBuilder()
                          .Bytes("image/encoded",
                                 penstock::image::MakeJpeg({.width = 40, .height = 30, .horizontal = 2, .vertical = 2}))
                          .Int64("image/class/label", 3)
                          .Float("weight", 0.5f)
                          .Serialize());
  const auto pipeline = penstock::augment::Pipeline::Create(job);
  PS_CHECK(pipeline.ok());
  (void)(*pipeline)->fingerprint();
  if ((*pipeline)->schema().FixedBytes() > kLargestRow) return;
  const size_t scratch_bytes = (*pipeline)->ScratchBytes(*record);
  if (scratch_bytes > kLargestScratch) return;
  for (uint64_t epoch = 0; epoch < 3; ++epoch) {
    penstock::augment::OwnedRow first((*pipeline)->schema()), second((*pipeline)->schema());
    absl::Status status;
    {
      const penstock::support::AllocationPeak peak;
      penstock::augment::RowScratch scratch;
      status = (*pipeline)->MakeRow(*record, {.epoch = epoch, .record_id = 1}, &first.slot, &scratch);
      PS_CHECK(peak.bytes() <= scratch_bytes + kSmallThings);
    }
    if (!status.ok()) {
      PS_CHECK(!status.message().empty());
      return;
    }
    penstock::augment::RowScratch scratch;
    PS_CHECK((*pipeline)->MakeRow(*record, {.epoch = epoch, .record_id = 1}, &second.slot, &scratch).ok());
    PS_CHECK(first.memory == second.memory && first.slot.ragged == second.slot.ragged);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  penstock::v1::DaemonConfig config;
  std::vector<Mistake> warnings;
  CheckMistakes(penstock::config::CheckDaemonConfigText(text, &config, &warnings), text);
  CheckMistakes(warnings, text);

  penstock::v1::JobSpec job;
  const std::vector<Mistake> mistakes = penstock::config::CheckJobText(text, penstock::augment::CheckPipeline, &job);
  CheckMistakes(mistakes, text);
  if (!mistakes.empty()) return 0;
  // The job's text can be printed and read again.
  std::string printed;
  penstock::v1::JobSpec again;
  PS_CHECK(google::protobuf::TextFormat::PrintToString(job, &printed));
  PS_CHECK(penstock::config::CheckJobText(printed, penstock::augment::CheckPipeline, &again).empty());
  PS_CHECK(google::protobuf::util::MessageDifferencer::Equals(job, again));
  PS_CHECK(again.ParseFromString(job.SerializeAsString()));  // as an RPC does
  for (const penstock::v1::JobSpec& set : penstock::plan::JobsOfSets(job)) MakeRows(set);
  return 0;
}
