// Rows of a job's pipeline as records, so that augmentation is computed once.
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

namespace penstock::imports {

struct BakeOptions {
  uint64_t variants = 1;  // rows per record
  uint64_t epoch = 0;     // variant v uses the draws of epoch `epoch` + v
  // Columns to compress as JPEG of `quality`, with loss: uint8, height x width x (1 or 3). All other columns are stored
  // exactly.
  std::vector<std::string> jpeg_columns = {};
  int quality = 90;

  // Returns the options that change the written bytes, as (flag, value).
  std::vector<std::pair<std::string, std::string>> Arguments() const;
};

// Makes `variants` rows of each of the N records of a job. Item v * N + r is variant v of record r: all records in the
// order of the files, then all of them again. Its record has a feature for each column, under the column's name:
//   int64    INT64     float32  FLOAT     string  BYTES      other types: BYTES with the raw little-endian elements
// It also has bake/record (the record's number in the snapshot) and bake/variant, both INT64. If the data sets have
// names, bake/dataset has that of the record's data set, and a variant is a pass of it. The draws are those of the
// order's first repeat.
class BakeSource final : public RecordSource {
 public:
  // Creates the source. InvalidArgument: zero or more than 2^32 variants, a JPEG column that does not exist or is no
  // image, an invalid quality, or a column named as a feature that bake adds.
  static absl::StatusOr<std::unique_ptr<BakeSource>> Create(std::shared_ptr<const loader::LoadJob> job,
                                                            const BakeOptions& options);

  uint64_t size() const override;
  uint64_t fingerprint() const override;
  std::unique_ptr<RecordMaker> NewMaker() const override;
  size_t ahead() const override { return ahead_ == nullptr ? 0 : ItemsAhead::kAnnounced; }
  void WillMake(uint64_t item) const override { ahead_->Announce(item); }

  // Returns the text of a job that reads the records back as the same columns; only JPEG columns differ, by their loss.
  // It has the other settings of the baked job, such as order and batch, but not its error policy. A blend stays one:
  // filters by bake/dataset divide the records. `files` is the glob of the shards.
  std::string JobText(const std::string& name, const std::string& files) const;

 private:
  BakeSource(std::shared_ptr<const loader::LoadJob> job, const BakeOptions& options, std::vector<bool> jpeg);

  const std::shared_ptr<const loader::LoadJob> job_;
  const BakeOptions options_;
  const std::vector<bool> jpeg_;  // by column
  const std::unique_ptr<ItemsAhead> ahead_;
};

}  // namespace penstock::imports

#endif  // PENSTOCK_PIPELINE_IMPORT_BAKE_SOURCE_H_
