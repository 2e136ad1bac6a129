// A job's pipeline: from the bytes of one record to one row. Built once per job from its JobSpec, used by any number
// of threads at once; each thread brings its own RowScratch.
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

namespace penstock {

// Reusable buffers and decoder objects of one thread.
class RowScratch {
 public:
  RowScratch();
  ~RowScratch();
  RowScratch(RowScratch&&) noexcept;
  RowScratch& operator=(RowScratch&&) noexcept;

  // Bytes that the scratch holds on to between rows.
  size_t held_bytes() const;
  // Gives the buffers back.
  void Clear();

  // To be started and stopped around a row whose stages are to be measured: see Pipeline::stages.
  StageTimes& times();

  struct Impl;
  Impl& impl() { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

class Pipeline {
 public:
  virtual ~Pipeline() = default;

  // Checks features and ops against each other and plans the row path (decode and crop and resize and flip are one
  // fused step). InvalidArgument names the feature or op by number and name, and says what would be right.
  static absl::StatusOr<std::unique_ptr<const Pipeline>> Create(const v1::JobSpec& job);

  // Columns in the order of `features`.
  virtual const RowSchema& schema() const = 0;

  // Hash of features, ops and the arithmetic's version: two pipelines with one fingerprint make the same bytes.
  virtual uint64_t fingerprint() const = 0;

  // Names of what RowScratch::times() tells apart: "other", "parse", "decode", "resize", then the ops. Ops of one name
  // that come again have their number behind it. Empty where nothing is told apart.
  virtual const std::vector<std::string>& stages() const {
    static const std::vector<std::string> kNone;
    return kNone;
  }

  // Upper bound of the memory that MakeRow takes for this record beside the slot, from the image's header alone, so
  // that it can be booked before it is used. An unreadable header gives a small number: MakeRow will fail.
  virtual size_t ScratchBytes(std::string_view record) const = 0;

  // Makes the row of `record` (a serialized Example, not changed, not kept) in `slot`. On an error the slot's bytes
  // are unspecified; the message names feature or op and the cause, not the file (the caller knows that).
  // InvalidArgument / DataLoss: the record is at fault. ResourceExhausted: over a limit of the job.
  virtual absl::Status MakeRow(std::string_view record, const SampleKey& key, RowSlot* slot,
                               RowScratch* scratch) const = 0;

  // Whether every row of a record is the same, whatever its key: no op draws.
  virtual bool IsDeterministic() const = 0;

  // The decoded-image cache's hooks. The prefix is decode_image plus the deterministic ops after it, for the first
  // image column. HasDecodedPrefix: whether there is one. MakeDecoded computes it (a full decode) as opaque bytes;
  // MakeRowFromDecoded gives the very bytes that MakeRow gives, with `decoded` in place of decoding.
  virtual bool HasDecodedPrefix() const = 0;
  virtual absl::StatusOr<std::string> MakeDecoded(std::string_view record, RowScratch* scratch) const = 0;
  virtual absl::Status MakeRowFromDecoded(std::string_view record, std::string_view decoded, const SampleKey& key,
                                          RowSlot* slot, RowScratch* scratch) const = 0;
};

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_AUGMENT_PIPELINE_H_
