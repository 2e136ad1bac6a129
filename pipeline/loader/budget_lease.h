// Bytes of a loader's budget, held by one row from before it is made until nobody needs it.
#ifndef PENSTOCK_PIPELINE_LOADER_BUDGET_LEASE_H_
#define PENSTOCK_PIPELINE_LOADER_BUDGET_LEASE_H_

#include <cstdint>
#include <memory>
#include <utility>

namespace penstock {

class BudgetLease {
 public:
  // Where the bytes go back to. Thread-safe. Lives as long as any grab, also when the loader is gone.
  class Owner {
   public:
    virtual ~Owner() = default;
    virtual void Release(uint64_t account, uint64_t bytes) = 0;
  };

  BudgetLease(std::shared_ptr<Owner> owner, uint64_t account, uint64_t bytes)
      : owner_(std::move(owner)), account_(account), bytes_(bytes) {}
  ~BudgetLease() {
    if (bytes_ > 0) owner_->Release(account_, bytes_);
  }
  BudgetLease(const BudgetLease&) = delete;
  BudgetLease& operator=(const BudgetLease&) = delete;

  uint64_t bytes() const { return bytes_; }
  const std::shared_ptr<Owner>& owner() const { return owner_; }
  // A grab of its own of `bytes` of them, which it has.
  std::unique_ptr<BudgetLease> Split(uint64_t bytes) {
    bytes_ -= bytes;
    return std::make_unique<BudgetLease>(owner_, account_, bytes);
  }
  // Takes over what `other`, of the same account, has.
  void Join(BudgetLease& other) { bytes_ += other.Take(); }
  // The bytes are the caller's to give back from now on.
  uint64_t Take() { return std::exchange(bytes_, 0); }

 private:
  const std::shared_ptr<Owner> owner_;
  const uint64_t account_;
  uint64_t bytes_;
};

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_LOADER_BUDGET_LEASE_H_
