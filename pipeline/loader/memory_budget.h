// Divides the loader's memory between sessions. Pure bookkeeping, without a lock or a thread.
//
// Each open session has an account with a reserve that no other account can use. The rest of the memory is shared
// ("common" in names). An account fills its reserve first. Its use beyond the reserve is shared memory, so the first
// bytes that it releases are shared ones.
#ifndef PENSTOCK_PIPELINE_LOADER_MEMORY_BUDGET_H_
#define PENSTOCK_PIPELINE_LOADER_MEMORY_BUDGET_H_

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "absl/status/status.h"

namespace penstock::loader {

// Not thread-safe.
class MemoryBudget {
 public:
  using Account = uint64_t;

  // Memory that a row needs to start.
  struct Need {
    uint64_t shortage = 0;  // bytes that must be released before the row can start; 0: it can start
    uint64_t bytes = 0;     // bytes that the row reserves
    bool reserved = false;  // the bytes fit into the reserve of its account
    bool capped = false;    // the shortage is one of the account's group: only accounts of the group can end it
  };
  // Accounts that together may use at most `limit` bytes. Its owner keeps it until its last account is closed.
  struct Group {
    uint64_t limit = 0;     // must not change while an account is open
    uint64_t reserved = 0;  // sum of the reserves of its open accounts
    uint64_t used = 0;      // by its open accounts, without TakeCommon and TakeAhead
  };
  // An urgent row that waits for memory, and its account.
  struct Blocked {
    Account account = 0;
    Need need;
  };

  // `total` bytes for rows and for making them.
  explicit MemoryBudget(uint64_t total) : total_(total) {}

  // Opens an account with a new number. `group` may be null. Returns ResourceExhausted, with the numbers, if all
  // reserves together exceed the memory, or those of the group exceed its limit. Other accounts may still use memory
  // beyond their reserves, which delays reservations until they release that memory.
  absl::Status Open(Account account, uint64_t reserve, Group* group = nullptr);
  // Releases the reserve. Memory that the account still uses counts as shared until it is released.
  void Close(Account account);

  // Returns the bytes that must be released before the account can reserve `bytes`; 0 if it can now.
  uint64_t Shortage(Account account, uint64_t bytes) const;
  // Returns whether `bytes` fit into the unused part of the account's reserve.
  bool InsideReserve(Account account, uint64_t bytes) const;
  // Returns what a row needs to reserve `bytes` now. `behind` is the blocked row of another account, or null. If there
  // is one, this row gets shared memory on two conditions. With the bytes, its account uses less shared memory than the
  // blocked account. The blocked row does not fit into its own reserve. Otherwise the shortage is `bytes`.
  Need NeedOf(Account account, uint64_t bytes, const Blocked* behind) const;
  // Reserves the bytes if Shortage() is 0. Returns whether it did.
  bool Take(Account account, uint64_t bytes);
  // Releases bytes. The account may be closed.
  void Release(Account account, uint64_t bytes);

  // Reserve and release bytes of shared memory, even if the account's reserve has room. They are for lists of requested
  // rows, which must not displace rows. TakeCommon reserves `unit` bytes as often as there is room, at most `times`
  // times. It returns the number of times.
  uint64_t TakeCommon(Account account, uint64_t unit, uint64_t times);
  void ReleaseCommon(Account account, uint64_t bytes);

  // Reserve and release shared memory for records that are read ahead. TakeAhead returns false if there is no room, or
  // if all accounts together would have more than `most` bytes for them.
  bool TakeAhead(Account account, uint64_t bytes, uint64_t most);
  void ReleaseAhead(Account account, uint64_t bytes);

  // Reserves bytes that belong to no account and are never revoked, out of the shared memory, for the index of the disk
  // cache. Returns false if there is no room, or more than `most_pinned` bytes would be pinned.
  bool Pin(uint64_t bytes, uint64_t most_pinned);
  void Unpin(uint64_t bytes);

  // Returns the most that the account could ever reserve: all memory that is neither pinned nor reserved for other
  // accounts. In a group, it is at most the group's limit without the reserves of the group's other accounts.
  uint64_t LargestTake(Account account) const;
  // Returns the shared memory that the account uses.
  uint64_t Common(Account account) const { return accounts_.at(account).common(); }
  // Returns the open accounts that should release bytes that `except` lacks: the others that use shared memory, in
  // descending order, then `except` itself if it uses any memory. If the bytes do not fit into the reserve of `except`,
  // the others must use more shared memory than `except` would with the bytes. With `capped`, the others are all those
  // of its group, in descending order of their memory.
  std::vector<Account> Lenders(Account except, uint64_t bytes, bool capped = false) const;

  // Changes the bytes for rows to `total`, which must be at least LeastTotal(): the larger of the reserved bytes and
  // the bytes in use.
  void SetTotal(uint64_t total);
  uint64_t LeastTotal() const { return used_ > reserved_ ? used_ : reserved_; }
  // Returns the bytes by which the memory is too small for Open() with this reserve. Ignores the limits of groups.
  uint64_t LacksFor(uint64_t reserve) const {
    return reserve > total_ - reserved_ ? reserve - (total_ - reserved_) : 0;
  }
  // Returns the most bytes that rows used together with caches, which have `cached` bytes at present.
  uint64_t PeakWith(uint64_t cached) const { return peak_ + cached > peak_before_ ? peak_ + cached : peak_before_; }
  // Starts a new peak, before caches of `cached` bytes get other sizes. Peaks under other sizes are not comparable.
  void RestartPeak(uint64_t cached) {
    peak_before_ = PeakWith(cached);
    peak_ = used_;
  }
  // Returns the most bytes that rows used since the last call, and starts a new peak.
  uint64_t TakeLatePeak() { return std::exchange(late_peak_, used_); }

  uint64_t total() const { return total_; }
  uint64_t used() const { return used_; }
  uint64_t reserved() const { return reserved_; }

 private:
  struct Entry {
    uint64_t reserve = 0;
    uint64_t used = 0;    // fills the reserve first
    uint64_t listed = 0;  // always shared memory
    Group* group = nullptr;
    uint64_t common() const { return (used > reserve ? used - reserve : 0) + listed; }
  };

  void CountUse();
  // Returns the bytes by which the account's group would exceed its limit with these bytes.
  static uint64_t OverLimit(const Entry& entry, uint64_t bytes);

  uint64_t total_;
  uint64_t used_ = 0;  // by all accounts, including closed ones
  uint64_t peak_ = 0;  // of used_
  uint64_t late_peak_ = 0;
  uint64_t peak_before_ = 0;  // of rows and caches together, before RestartPeak()
  uint64_t common_ = 0;       // beyond reserves, including closed accounts
  uint64_t reserved_ = 0;     // sum of the reserves and of pinned bytes
  uint64_t pinned_ = 0;
  uint64_t ahead_ = 0;  // for records that are read ahead, of all accounts, including closed ones
  std::map<Account, Entry> accounts_;
};

}  // namespace penstock::loader

#endif  // PENSTOCK_PIPELINE_LOADER_MEMORY_BUDGET_H_
