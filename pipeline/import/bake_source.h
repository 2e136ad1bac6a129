// The rows that a job's pipeline makes, as records: augmentation computed once and kept.
#ifndef PENSTOCK_PIPELINE_IMPORT_BAKE_SOURCE_H_
#define PENSTOCK_PIPELINE_IMPORT_BAKE_SOURCE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "pipeline/import/items_ahead.h"
#include "pipeline/import/record_source.h"
#include "pipeline/loader/load_job.h"

namespace penstock {

struct BakeOptions {
  uint64_t variants = 1;  // rows of each record
  uint64_t epoch = 0;     // variant v has the draws of epoch `epoch` + v
  // Columns that are compressed as JPEG of `quality`, with loss: uint8, height x width x (1 or 3). The others, and all
  // when this is empty, are kept exactly.
  std::vector<std::string> jpeg_columns = {};
  int quality = 90;

  // As (flag, value): what of this changes the bytes that are written.
  std::vector<std::pair<std::string, std::string>> Arguments() const;
};

// Item v * N + r is variant v of record r of the job's N: all records in the order of the files, then all of them
// again. Its record has a feature for each column, called as the column:
//   int64    INT64     float32  FLOAT     string  BYTES      other types: BYTES with the raw little-endian elements
// and bake/record (the record's number in the snapshot) and bake/variant, both INT64. Draws are those of the first of
// the order's repeats.
class BakeSource final : public RecordSource {
 public:
  // InvalidArgument: no variants, a JPEG column that is not there or is no image, a quality that is none.
  static absl::StatusOr<std::unique_ptr<BakeSource>> Create(std::shared_ptr<const LoadJob> job,
                                                            const BakeOptions& options);

  uint64_t size() const override;
  uint64_t fingerprint() const override;
  std::unique_ptr<RecordMaker> NewMaker() const override;
  size_t ahead() const override { return ahead_ == nullptr ? 0 : ItemsAhead::kAnnounced; }
  void WillMake(uint64_t item) const override { ahead_->Announce(item); }

  // The text of a job that reads the records back as the very columns that were written (JPEG ones but for their loss),
  // with the order, batch and mix of the job that was baked. `files` is the glob of the shards.
  std::string JobText(const std::string& name, const std::string& files) const;

 private:
  BakeSource(std::shared_ptr<const LoadJob> job, const BakeOptions& options, std::vector<bool> jpeg);

  const std::shared_ptr<const LoadJob> job_;
  const BakeOptions options_;
  const std::vector<bool> jpeg_;  // by column
  const std::unique_ptr<ItemsAhead> ahead_;
};

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_IMPORT_BAKE_SOURCE_H_
