#include "pipeline/loader/memory_budget.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/check.h"

namespace penstock::loader {

absl::Status MemoryBudget::Open(Account account, uint64_t reserve, Group* group) {
  if (group != nullptr && reserve > group->limit - std::min(group->limit, group->reserved)) {
    return absl::ResourceExhaustedError(
        absl::StrCat("this session's largest step needs ", reserve, " bytes of memory, but of the ", group->limit,
                     " bytes that the job's caps.memory_bytes permits at this worker, ", group->reserved,
                     " are reserved for its other sessions: raise the cap, use a smaller batch, or close a session"));
  }
  if (reserve > total_ - reserved_) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "this session's largest step needs ", reserve, " bytes of memory, but of the ", total_,
        " bytes that the budget has for rows, ", reserved_ - pinned_, " are reserved for ", accounts_.size(),
        " other sessions", pinned_ == 0 ? "" : absl::StrCat(" and ", pinned_, " for the index of the disk cache"),
        ": raise memory_budget_bytes, use a smaller batch, or close a session"));
  }
  const bool added = accounts_.try_emplace(account, Entry{reserve, 0, 0, group}).second;
  PS_CHECK(added);
  if (group != nullptr) group->reserved += reserve;
  reserved_ += reserve;
  return absl::OkStatus();
}

void MemoryBudget::Close(Account account) {
  const auto it = accounts_.find(account);
  PS_CHECK(it != accounts_.end());
  const Entry& entry = it->second;
  common_ += entry.used + entry.listed - entry.common();
  reserved_ -= entry.reserve;
  if (entry.group != nullptr) {
    entry.group->reserved -= entry.reserve;
    entry.group->used -= entry.used;
  }
  accounts_.erase(it);
}

void MemoryBudget::SetTotal(uint64_t total) {
  PS_CHECK(total >= LeastTotal());
  total_ = total;
}

void MemoryBudget::CountUse() {
  peak_ = std::max(peak_, used_);
  late_peak_ = std::max(late_peak_, used_);
}

uint64_t MemoryBudget::OverLimit(const Entry& entry, uint64_t bytes) {
  if (entry.group == nullptr || entry.group->used + bytes <= entry.group->limit) return 0;
  return std::min(bytes, entry.group->used + bytes - entry.group->limit);
}

uint64_t MemoryBudget::Shortage(Account account, uint64_t bytes) const {
  const Entry& entry = accounts_.at(account);
  const uint64_t over = (entry.used + bytes > entry.reserve ? entry.used + bytes - entry.reserve : 0) + entry.listed;
  const uint64_t common = common_ + (over - entry.common());
  const uint64_t lacks_common =
      over == entry.common() || common <= total_ - reserved_ ? 0 : common - (total_ - reserved_);
  // A reserve may be granted while other accounts still use its bytes, which were shared before.
  const uint64_t lacks_any = used_ + bytes > total_ ? used_ + bytes - total_ : 0;
  return std::max({lacks_common, lacks_any, OverLimit(entry, bytes)});
}

bool MemoryBudget::InsideReserve(Account account, uint64_t bytes) const {
  const Entry& entry = accounts_.at(account);
  return entry.used + bytes <= entry.reserve;
}

MemoryBudget::Need MemoryBudget::NeedOf(Account account, uint64_t bytes, const Blocked* behind) const {
  Need need{Shortage(account, bytes), bytes, InsideReserve(account, bytes)};
  need.capped = need.shortage > 0 && OverLimit(accounts_.at(account), bytes) == need.shortage;
  if (need.shortage > 0 || need.reserved || behind == nullptr) return need;
  // Grant shared memory only to an account that uses less of it than the blocked one, and not if the blocked row only
  // waits for its own reserve.
  const bool first = !behind->need.reserved && Common(account) + bytes < Common(behind->account);
  if (!first) need.shortage = bytes;
  return need;
}

bool MemoryBudget::Take(Account account, uint64_t bytes) {
  if (Shortage(account, bytes) != 0) return false;
  Entry& entry = accounts_.at(account);
  common_ -= entry.common();
  entry.used += bytes;
  if (entry.group != nullptr) entry.group->used += bytes;
  common_ += entry.common();
  used_ += bytes;
  CountUse();
  return true;
}

void MemoryBudget::Release(Account account, uint64_t bytes) {
  PS_CHECK(bytes <= used_);
  used_ -= bytes;
  const auto it = accounts_.find(account);
  if (it == accounts_.end()) {
    common_ -= bytes;
    return;
  }
  Entry& entry = it->second;
  PS_CHECK(bytes <= entry.used);
  common_ -= entry.common();
  entry.used -= bytes;
  if (entry.group != nullptr) entry.group->used -= bytes;
  common_ += entry.common();
}

uint64_t MemoryBudget::TakeCommon(Account account, uint64_t unit, uint64_t times) {
  const uint64_t most = total_ - reserved_;
  const uint64_t room = std::min(most - std::min(most, common_), total_ - std::min(total_, used_));
  times = std::min(times, room / unit);
  accounts_.at(account).listed += times * unit;
  common_ += times * unit;
  used_ += times * unit;
  CountUse();
  return times;
}

void MemoryBudget::ReleaseCommon(Account account, uint64_t bytes) {
  PS_CHECK(bytes <= common_ && bytes <= used_);
  used_ -= bytes;
  common_ -= bytes;
  const auto it = accounts_.find(account);
  if (it == accounts_.end()) return;
  PS_CHECK(bytes <= it->second.listed);
  it->second.listed -= bytes;
}

bool MemoryBudget::TakeAhead(Account account, uint64_t bytes, uint64_t most) {
  if (ahead_ + bytes > most || TakeCommon(account, bytes, 1) == 0) return false;
  ahead_ += bytes;
  return true;
}

void MemoryBudget::ReleaseAhead(Account account, uint64_t bytes) {
  PS_CHECK(bytes <= ahead_);
  ahead_ -= bytes;
  ReleaseCommon(account, bytes);
}

bool MemoryBudget::Pin(uint64_t bytes, uint64_t most_pinned) {
  if (pinned_ + bytes > most_pinned) return false;
  const uint64_t most = total_ - reserved_;
  if (bytes > most - std::min(most, common_) || bytes > total_ - std::min(total_, used_)) return false;
  reserved_ += bytes;
  pinned_ += bytes;
  used_ += bytes;
  CountUse();
  return true;
}

void MemoryBudget::Unpin(uint64_t bytes) {
  PS_CHECK(bytes <= pinned_);
  pinned_ -= bytes;
  reserved_ -= bytes;
  used_ -= bytes;
}

uint64_t MemoryBudget::LargestTake(Account account) const {
  const Entry& entry = accounts_.at(account);
  const uint64_t most = total_ - (reserved_ - entry.reserve);
  if (entry.group == nullptr) return most;
  return std::min(most, entry.group->limit - (entry.group->reserved - entry.reserve));
}

std::vector<MemoryBudget::Account> MemoryBudget::Lenders(Account except, uint64_t bytes, bool capped) const {
  const auto own = accounts_.find(except);
  const bool all = own == accounts_.end() || InsideReserve(except, bytes);
  const uint64_t least = all ? 0 : own->second.common() + bytes;
  std::vector<std::pair<uint64_t, Account>> found;
  for (const auto& [account, entry] : accounts_) {
    if (account == except) continue;
    if (capped) {
      if (own != accounts_.end() && entry.group == own->second.group) found.emplace_back(entry.used, account);
    } else if (entry.common() > least) {
      found.emplace_back(entry.common(), account);
    }
  }
  std::sort(found.rbegin(), found.rend());
  std::vector<Account> lenders;
  for (const auto& [common, account] : found) lenders.push_back(account);
  if (own != accounts_.end() && own->second.used > 0) lenders.push_back(except);
  return lenders;
}

}  // namespace penstock::loader
