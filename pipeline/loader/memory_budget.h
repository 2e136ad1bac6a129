// Divides the loader's memory between sessions. Pure bookkeeping, without a lock or a thread.
//
// Each open session has an account with a reserve that no other account can use. The rest of the memory is shared
// ("common" in names). An account fills its reserve first, so its shared memory is its use beyond its reserve: any row
// that it releases frees shared memory first.
#ifndef PENSTOCK_PIPELINE_LOADER_MEMORY_BUDGET_H_
#define PENSTOCK_PIPELINE_LOADER_MEMORY_BUDGET_H_

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "absl/status/status.h"

namespace penstock {

// Not thread-safe.
class MemoryBudget {
 public:
  using Account = uint64_t;

  // `total` bytes for rows and for making them.
  explicit MemoryBudget(uint64_t total) : total_(total) {}

  // Opens an account with a new number. Returns ResourceExhausted, with the numbers, if the reserves do not fit
  // together. Other accounts may still use memory beyond their reserves, which delays reservations until they release
  // it.
  absl::Status Open(Account account, uint64_t reserve);
  // Releases the reserve. Memory that the account still uses counts as shared until it is released.
  void Close(Account account);

  // Returns the bytes that must be released before the account can reserve `bytes`; 0 if it can now.
  uint64_t Shortage(Account account, uint64_t bytes) const;
  // Returns whether `bytes` fit into the unused part of the account's reserve.
  bool InsideReserve(Account account, uint64_t bytes) const;
  // Reserves the bytes if Shortage() is 0. Returns whether it did.
  bool Take(Account account, uint64_t bytes);
  // Releases bytes. The account may be closed.
  void Release(Account account, uint64_t bytes);

  // Reserve and release bytes that are always shared memory, whatever is left of the account's reserve. For lists of
  // rows to make, which must not displace rows. TakeCommon reserves `unit` bytes up to `times` times, as often as there
  // is room, and returns how often.
  uint64_t TakeCommon(Account account, uint64_t unit, uint64_t times);
  void ReleaseCommon(Account account, uint64_t bytes);

  // Reserves bytes that belong to no account and are never revoked, out of the shared memory, for the index of the disk
  // cache. Returns whether there was room.
  bool Pin(uint64_t bytes);
  void Unpin(uint64_t bytes);

  // Returns the most that the account could ever reserve: all memory that is not reserved for other accounts.
  uint64_t LargestTake(Account account) const;
  // Returns the shared memory that the account uses.
  uint64_t Common(Account account) const { return accounts_.at(account).common(); }
  // Returns the open accounts that should release bytes that `except` lacks: those that use shared memory, in
  // descending order, then `except` itself if it uses any memory. If the bytes do not fit into the reserve of `except`,
  // returns only other accounts that use more shared memory than `except` would with them.
  std::vector<Account> Lenders(Account except, uint64_t bytes) const;

  // Changes the bytes for rows to `total`, which must be at least LeastTotal(): the bytes that are reserved or in use.
  void SetTotal(uint64_t total);
  uint64_t LeastTotal() const { return used_ > reserved_ ? used_ : reserved_; }
  // Returns the bytes that are missing for Open() with this reserve.
  uint64_t LacksFor(uint64_t reserve) const {
    return reserve > total_ - reserved_ ? reserve - (total_ - reserved_) : 0;
  }
  // Restarts peak() from the current use.
  void RestartPeak() { peak_ = used_; }
  // Returns the peak since the last call.
  uint64_t TakeLatePeak() { return std::exchange(late_peak_, used_); }

  uint64_t total() const { return total_; }
  uint64_t used() const { return used_; }
  uint64_t peak() const { return peak_; }
  uint64_t reserved() const { return reserved_; }

 private:
  struct Entry {
    uint64_t reserve = 0;
    uint64_t used = 0;    // fills the reserve first
    uint64_t listed = 0;  // always shared memory
    uint64_t common() const { return (used > reserve ? used - reserve : 0) + listed; }
  };

  void CountUse();

  uint64_t total_;
  uint64_t used_ = 0;  // by all accounts, including closed ones
  uint64_t peak_ = 0;  // of used_
  uint64_t late_peak_ = 0;
  uint64_t common_ = 0;    // beyond reserves, including closed accounts
  uint64_t reserved_ = 0;  // sum of the reserves and of pinned bytes
  uint64_t pinned_ = 0;
  std::map<Account, Entry> accounts_;
};

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_LOADER_MEMORY_BUDGET_H_
