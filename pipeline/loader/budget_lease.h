// A lease on bytes of a loader's budget, held by a row, a range of records or a caller's list.
#ifndef PENSTOCK_PIPELINE_LOADER_BUDGET_LEASE_H_
#define PENSTOCK_PIPELINE_LOADER_BUDGET_LEASE_H_

#include <cstdint>
#include <memory>
#include <utility>

namespace penstock::loader {

// Releases its bytes when it is destroyed. Not thread-safe.
class BudgetLease {
 public:
  // Receives the bytes of a lease when the lease ends. Thread-safe. Outlives all of its leases, and so may outlive the
  // loader.
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
  // Moves `bytes` of this lease to a new one. Requires bytes() >= `bytes`.
  std::unique_ptr<BudgetLease> Split(uint64_t bytes) {
    bytes_ -= bytes;
    return std::make_unique<BudgetLease>(owner_, account_, bytes);
  }
  // Moves all bytes of `other` to this lease. Both must have the same owner and account.
  void Join(BudgetLease& other) { bytes_ += other.Take(); }
  // Returns the bytes and ends the lease without a release. The caller must release the bytes.
  uint64_t Take() { return std::exchange(bytes_, 0); }

 private:
  const std::shared_ptr<Owner> owner_;
  const uint64_t account_;
  uint64_t bytes_;
};

}  // namespace penstock::loader

#endif  // PENSTOCK_PIPELINE_LOADER_BUDGET_LEASE_H_
