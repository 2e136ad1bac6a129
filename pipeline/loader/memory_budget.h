// Who may have how much of the loader's memory: pure bookkeeping, no lock and no thread of its own.
//
// Every open session has an account with a reserve that nobody else can take; what the reserves leave is common. An
// account fills its reserve first, so what it has in common memory is what it uses beyond its reserve: giving any of
// its rows back frees common memory first.
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

  // `total` bytes for rows and what making them takes.
  explicit MemoryBudget(uint64_t total) : total_(total) {}

  // Opens an account; the number must be new. ResourceExhausted, with the numbers, when the reserves do not fit
  // together. Memory that others use beyond their reserves may still be in the way until they give it back.
  absl::Status Open(Account account, uint64_t reserve);
  // Gives the reserve back. What the account still uses counts as common until it is released.
  void Close(Account account);

  // Bytes that must be freed before the account can take `bytes`: 0 when it can now.
  uint64_t Shortage(Account account, uint64_t bytes) const;
  // Whether `bytes` lie inside what is unused of the account's own reserve.
  bool InsideReserve(Account account, uint64_t bytes) const;
  // Takes the bytes when Shortage() is 0. Returns whether it did.
  bool Take(Account account, uint64_t bytes);
  // Gives back; the account may be closed by now.
  void Release(Account account, uint64_t bytes);

  // The same for bytes that are common memory always, whatever is left of the account's reserve: lists of what is still
  // to be made, which must not take the place of what is made. Takes as many times `unit` as there is room for, at most
  // `times`; returns how many.
  uint64_t TakeCommon(Account account, uint64_t unit, uint64_t times);
  void ReleaseCommon(Account account, uint64_t bytes);

  // The most that the account could ever take at once: all that is not reserved for others.
  uint64_t LargestTake(Account account) const;
  // What the account uses of the common memory.
  uint64_t Common(Account account) const { return accounts_.at(account).common(); }
  // Whom to ask for bytes that `except` lacks: open accounts that use common memory, those with the most first, then
  // `except` itself if it uses any. Where the bytes lie inside its reserve all others are to give, else only those that
  // would still have as much common memory as it.
  std::vector<Account> Lenders(Account except, uint64_t bytes) const;

  // Other bytes for rows, from now on: no fewer than are reserved or in use (LeastTotal()).
  void SetTotal(uint64_t total);
  uint64_t LeastTotal() const { return used_ > reserved_ ? used_ : reserved_; }
  // Bytes that Open() with this reserve lacks.
  uint64_t LacksFor(uint64_t reserve) const {
    return reserve > total_ - reserved_ ? reserve - (total_ - reserved_) : 0;
  }
  // peak() begins anew.
  void RestartPeak() { peak_ = used_; }
  // The most that was used since the last call.
  uint64_t TakeLatePeak() { return std::exchange(late_peak_, used_); }

  uint64_t total() const { return total_; }
  uint64_t used() const { return used_; }
  uint64_t peak() const { return peak_; }
  uint64_t reserved() const { return reserved_; }

 private:
  struct Entry {
    uint64_t reserve = 0;
    uint64_t used = 0;    // of the reserve first
    uint64_t listed = 0;  // of common memory
    uint64_t common() const { return (used > reserve ? used - reserve : 0) + listed; }
  };

  void CountUse();

  uint64_t total_;
  uint64_t used_ = 0;  // by all, closed accounts included
  uint64_t peak_ = 0;  // of used_
  uint64_t late_peak_ = 0;
  uint64_t common_ = 0;    // beyond reserves, closed accounts included
  uint64_t reserved_ = 0;  // sum of the reserves
  std::map<Account, Entry> accounts_;
};

}  // namespace penstock

#endif  // PENSTOCK_PIPELINE_LOADER_MEMORY_BUDGET_H_
