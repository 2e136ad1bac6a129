// A job's pipeline: makes one row from the bytes of one record. It is built once per job from the JobSpec. Any number
// of threads can use it concurrently, each with its own RowScratch.
#ifndef PENSTOCK_PIPELINE_AUGMENT_PIPELINE_H_
#define PENSTOCK_PIPELINE_AUGMENT_PIPELINE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "penstock/v1/job.pb.h"
#include "pipeline/augment/op/sample_key.h"
#include "pipeline/augment/value/stage_times.h"
#include "pipeline/batch/row.h"

namespace penstock::augment {

// Reusable buffers and decoder objects of one thread.
class RowScratch {
 public:
  RowScratch();
  ~RowScratch();
  RowScratch(RowScratch&&) noexcept;
  RowScratch& operator=(RowScratch&&) noexcept;

  // Returns the bytes that the scratch keeps between rows.
  size_t held_bytes() const;
  // Frees the buffers. Also discards the measured times, and invalidates references that times() returned.
  void Clear();

  // Returns the timer for the stages of a row; see Pipeline::stages. Start it before the row and stop it afterwards.
  StageTimes& times();

  struct Impl;
  Impl& impl() { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

class Pipeline {
 public:
  virtual ~Pipeline() = default;

  // Checks the job's features, ops, annotations and mix, and plans the path of a row. Returns InvalidArgument with the
  // mistakes of CheckOnePipeline (check_pipeline.h), one per line. Ignores the data sets' own features and ops.
  static absl::StatusOr<std::unique_ptr<const Pipeline>> Create(const v1::JobSpec& job);

  // Returns the columns in the order of `features`, then the boxes' column, if any.
  virtual const batch::RowSchema& schema() const = 0;

  // Returns a hash of the job's record format, features, ops, annotations and mix, of the versions of its own ops, and
  // of the version of the arithmetic. Samples count as Examples. Two pipelines with the same fingerprint make the same
  // bytes on machines with the same ConformanceDigest.
  virtual uint64_t fingerprint() const = 0;

  // Returns the names of the stages that RowScratch::times() measures: "other", "parse", "decode", "resize", then the
  // ops in the order in which they run. With annotations, the masks' decode_image runs first, then the ops of the
  // image, then the others. If an op has the name of an earlier stage, its number follows: "resize (ops[2])". Empty if
  // the pipeline does not measure stages.
  virtual const std::vector<std::string>& stages() const {
    static const std::vector<std::string> kNone;
    return kNone;
  }

  // Returns an upper bound of the memory that MakeRow allocates for this record besides the slot, so that the caller
  // can reserve it first. Reads only the headers of images. If a header is unreadable, the bound is small, because
  // MakeRow will fail.
  virtual size_t ScratchBytes(std::string_view record) const = 0;

  // Makes the row of `record` in `slot`. slot->fixed and slot->ragged must have one entry for each column of schema().
  // Neither changes nor keeps the record. After an error, the slot's bytes are unspecified. The message names the
  // feature or op and the cause, but not the file, which the caller knows. Returns InvalidArgument or DataLoss if the
  // record is invalid, and ResourceExhausted if it exceeds a limit of the job.
  virtual absl::Status MakeRow(std::string_view record, const SampleKey& key, batch::RowSlot* slot,
                               RowScratch* scratch) const = 0;

  // Returns whether all rows of a record are the same for every key, because no op draws.
  virtual bool IsDeterministic() const = 0;

  // Hooks of the decoded-image cache. The prefix is the first decode_image and the ops after it on the same column, up
  // to an op that draws or whose result is not an image of bytes, such as cast or normalize. With annotations, the
  // prefix is only the decode_image of their image column, because boxes and masks follow the later ops.
  // HasDecodedPrefix returns whether there is a prefix. MakeDecoded computes it as opaque bytes. It fails for a damaged
  // image even if the op is lenient, and returns FailedPrecondition without a prefix. MakeRowFromDecoded makes exactly
  // the row of MakeRow, but uses the result of MakeDecoded instead of decoding.
  virtual bool HasDecodedPrefix() const = 0;
  virtual absl::StatusOr<std::string> MakeDecoded(std::string_view record, RowScratch* scratch) const = 0;
  virtual absl::Status MakeRowFromDecoded(std::string_view record, std::string_view decoded, const SampleKey& key,
                                          batch::RowSlot* slot, RowScratch* scratch) const = 0;
};

}  // namespace penstock::augment

#endif  // PENSTOCK_PIPELINE_AUGMENT_PIPELINE_H_
