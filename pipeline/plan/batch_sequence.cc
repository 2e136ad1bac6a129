#include "pipeline/plan/batch_sequence.h"

#include <algorithm>

#include "base/hash.h"
#include "pipeline/plan/permutation.h"

namespace penstock::plan {
namespace {

// The use of a hash. Fixed by the plan's version.
constexpr uint64_t kSequenceDomain = 0x62617463682d7371;  // "batch-sq"

}  // namespace

uint64_t BatchSequence::KeyOf(uint64_t epoch) const { return HashWords({kSequenceDomain, *seed_, epoch}); }

uint64_t BatchSequence::InCut(uint64_t epoch, uint64_t number) const {
  return seed_.has_value() ? Permutation(cut_.batches(), KeyOf(epoch)).Permute(number) : number;
}

uint64_t BatchSequence::InEpoch(uint64_t epoch, uint64_t batch) const {
  return seed_.has_value() ? Permutation(cut_.batches(), KeyOf(epoch)).Invert(batch) : batch;
}

std::shared_ptr<const BatchSequence::Begins> BatchSequence::BeginsOf(uint64_t epoch) const {
  {
    MutexLock lock(&mutex_);
    for (size_t i = 0; i < recent_.size(); ++i) {
      if (recent_[i].second == nullptr || recent_[i].first != epoch) continue;
      std::rotate(recent_.begin(), recent_.begin() + static_cast<ptrdiff_t>(i),
                  recent_.begin() + static_cast<ptrdiff_t>(i) + 1);
      return recent_[0].second;
    }
  }
  auto begins = std::make_shared<Begins>();
  begins->reserve(cut_.batches() + 1);
  uint64_t position = 0;
  for (uint64_t number = 0; number < cut_.batches(); ++number) {
    begins->push_back(position);
    position += cut_.At(InCut(epoch, number)).rows;
  }
  begins->push_back(position);
  std::shared_ptr<const Begins> dropped;  // destroyed after the lock is released
  MutexLock lock(&mutex_);
  dropped = std::move(recent_.back().second);
  std::rotate(recent_.begin(), recent_.end() - 1, recent_.end());
  recent_[0] = {epoch, begins};
  return begins;
}

BatchSequence::Batch BatchSequence::Rest() const {
  const uint64_t begin = cut_.rows() - cut_.rest();
  return {cut_.batches(), begin, cut_.rest(), begin};
}

BatchSequence::Batch BatchSequence::At(uint64_t epoch, uint64_t number) const {
  if (number == cut_.batches()) return Rest();
  const BatchCut::Batch batch = cut_.At(InCut(epoch, number));
  return {number, (*BeginsOf(epoch))[number], batch.rows, batch.begin};
}

BatchSequence::Batch BatchSequence::WithPosition(uint64_t epoch, uint64_t position) const {
  if (position >= cut_.rows() - cut_.rest()) return Rest();
  const std::shared_ptr<const Begins> begins = BeginsOf(epoch);
  const auto after = std::upper_bound(begins->begin(), begins->end(), position);
  return At(epoch, static_cast<uint64_t>(after - begins->begin() - 1));
}

BatchSequence::Batch BatchSequence::WithRow(uint64_t epoch, uint64_t row) const {
  if (row >= cut_.rows() - cut_.rest()) return Rest();
  return At(epoch, InEpoch(epoch, cut_.BatchOf(row)));
}

}  // namespace penstock::plan
