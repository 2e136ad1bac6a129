#include "server/coordinator/assignment_layout.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

namespace penstock::coordinator {
namespace {

// Moves keys of a layout by weight. Keys are whole records, so amounts are rounded to the nearest border.
class Patcher {
 public:
  Patcher(const KeyWeights& weights, const std::vector<Share>& shares, Layout* layout)
      : weights_(weights), shares_(shares), layout_(*layout) {}

  void Run() {
    for (size_t w = 0; w < shares_.size(); ++w) {
      if (layout_.load(w) > shares_[w].high) Release(w, layout_.load(w) - shares_[w].high);
    }
    TakeFromMostLoaded();
    FeedUnderloaded();
    ExtendNeighbors();
    GiveRest();
  }

 private:
  using Runs = std::vector<penstock::coordinator::Run>;

  double Ratio(size_t w) const {
    return shares_[w].ideal > 0 ? layout_.load(w) / shares_[w].ideal : std::numeric_limits<double>::infinity();
  }
  double Room(size_t w) const { return std::max(0.0, shares_[w].high - layout_.load(w)); }
  double Need(size_t w) const { return std::max(0.0, shares_[w].low - layout_.load(w)); }
  double TotalNeed() const {
    double need = 0;
    for (size_t w = 0; w < shares_.size(); ++w) need += Need(w);
    return need;
  }
  double TotalFree() const {
    double free = 0;
    for (const auto& run : layout_.runs()) {
      if (run.owner == Layout::kFree) free += layout_.Weight(run);
    }
    return free;
  }
  // Returns the owner of the adjacent run, or nullopt at the end of the key space.
  std::optional<int> Left(size_t i) const {
    return i == 0 ? std::nullopt : std::optional<int>(layout_.runs()[i - 1].owner);
  }
  std::optional<int> Right(size_t i) const {
    return i + 1 == layout_.runs().size() ? std::nullopt : std::optional<int>(layout_.runs()[i + 1].owner);
  }
  // Returns which owners have keys adjacent to free ones.
  std::vector<bool> TouchFree() const {
    std::vector<bool> touch(shares_.size());
    for (size_t i = 0; i < layout_.runs().size(); ++i) {
      const int owner = layout_.runs()[i].owner;
      if (owner != Layout::kFree && (Left(i) == Layout::kFree || Right(i) == Layout::kFree)) {
        touch[static_cast<size_t>(owner)] = true;
      }
    }
    return touch;
  }

  // Assigns `amount` of a run to another owner, from its left or right end. Returns false if that is less than half a
  // record.
  bool Cut(const penstock::coordinator::Run& run, double amount, bool left, int to) {
    const uint64_t key =
        left ? weights_.KeyAt(weights_.Before(run.begin) + amount) : weights_.KeyAt(weights_.Before(run.end) - amount);
    const uint64_t border = std::clamp(key, run.begin, run.end);
    const uint64_t begin = left ? run.begin : border, end = left ? border : run.end;
    if (begin == end) return false;
    layout_.Assign(begin, end, to);
    return true;
  }

  // Frees `amount` of an owner's keys. It frees small runs whole, and then an end that touches free keys if there is
  // one, so that the free keys of several owners are in few pieces.
  void Release(size_t w, double amount) {
    while (amount > 0) {
      const Runs& runs = layout_.runs();
      size_t smallest = runs.size(), count = 0, best = runs.size();
      int best_score = -1;
      bool best_left = false;
      for (size_t i = 0; i < runs.size(); ++i) {
        if (runs[i].owner != static_cast<int>(w)) continue;
        ++count;
        if (smallest == runs.size() || layout_.Weight(runs[i]) < layout_.Weight(runs[smallest])) {
          smallest = i;
        }
        for (const bool left : {false, true}) {
          const std::optional<int> beside = left ? Left(i) : Right(i);
          const int score = !beside ? 0 : *beside == Layout::kFree ? 2 : 1;
          if (score > best_score) {
            best_score = score;
            best = i;
            best_left = left;
          }
        }
      }
      if (count == 0) return;
      if (count > 1 && layout_.Weight(runs[smallest]) <= amount) {
        amount -= layout_.Weight(runs[smallest]);
        layout_.Assign(runs[smallest].begin, runs[smallest].end, Layout::kFree);
        continue;
      }
      const penstock::coordinator::Run run = runs[best];
      const double taken = std::min(amount, layout_.Weight(run));
      if (!Cut(run, taken, best_left, Layout::kFree)) return;
      amount -= taken;
    }
  }

  // Frees keys of the most loaded owners, each down to its lower limit, until the free keys cover the need of the
  // underloaded ones. Few donors make few pieces. Among owners of almost equal load, an owner that touches free keys
  // comes first.
  void TakeFromMostLoaded() {
    std::vector<bool> asked(shares_.size());
    for (double lacking = TotalNeed() - TotalFree(); lacking > weights_.total() * 1e-12;
         lacking = TotalNeed() - TotalFree()) {
      const std::vector<bool> touches_free = TouchFree();
      std::optional<size_t> donor;
      double most = 0;
      for (size_t w = 0; w < shares_.size(); ++w) {
        if (asked[w] || layout_.load(w) <= shares_[w].low) continue;
        const double ratio = Ratio(w) + (touches_free[w] ? 0.02 : 0);
        if (!donor || ratio > most) {
          donor = w;
          most = ratio;
        }
      }
      if (!donor) return;
      asked[*donor] = true;
      Release(*donor, std::min(lacking, layout_.load(*donor) - shares_[*donor].low));
    }
  }

  // Assigns free keys to owners below their lower limit, the neediest first. An owner is filled up to its ideal if
  // enough remains for the needs of the others, and it takes a whole piece if the piece fits.
  void FeedUnderloaded() {
    std::vector<bool> full(shares_.size());
    while (true) {
      std::optional<size_t> neediest;
      for (size_t w = 0; w < shares_.size(); ++w) {
        if (!full[w] && Need(w) > 0 && (!neediest || Need(w) > Need(*neediest))) neediest = w;
      }
      if (!neediest) return;
      const size_t w = *neediest;
      const double need = Need(w);
      const std::optional<size_t> piece = PieceFor(w, need);
      if (!piece) return;
      const penstock::coordinator::Run run = layout_.runs()[*piece];
      const double size = layout_.Weight(run);
      const double slack = std::max(0.0, TotalFree() - TotalNeed());
      double take = std::min(size, need + std::min(slack, shares_[w].ideal - shares_[w].low));
      if (size <= Room(w) && size - need <= slack) take = size;
      const bool left = Right(*piece) != static_cast<int>(w);
      if (!Cut(run, take, left, static_cast<int>(w))) full[w] = true;
    }
  }

  // Returns the free piece to assign to an owner. The first choice is the smallest piece that covers the need and is
  // adjacent to the owner's keys, then the smallest that covers the need, then the largest.
  std::optional<size_t> PieceFor(size_t w, double need) const {
    std::optional<size_t> best;
    int best_rank = 0;
    double best_size = 0;
    for (size_t i = 0; i < layout_.runs().size(); ++i) {
      const auto& run = layout_.runs()[i];
      if (run.owner != Layout::kFree) continue;
      const bool beside = Left(i) == static_cast<int>(w) || Right(i) == static_cast<int>(w);
      const double size = layout_.Weight(run);
      const bool covers = size >= need;
      const int rank = covers ? (beside ? 2 : 1) : 0;
      if (!best || rank > best_rank || (rank == best_rank && (covers ? size < best_size : size > best_size))) {
        best = i;
        best_rank = rank;
        best_size = size;
      }
    }
    return best;
  }

  // Extends the runs next to the remaining free keys, as far as these have room, so that both owners are equally
  // loaded.
  void ExtendNeighbors() {
    const Runs runs = layout_.runs();  // a copy; free pieces and their neighbors stay the same during the loop
    for (size_t i = 0; i < runs.size(); ++i) {
      const penstock::coordinator::Run& run = runs[i];
      if (run.owner != Layout::kFree) continue;
      const int left = i > 0 ? runs[i - 1].owner : Layout::kFree;
      int right = i + 1 < runs.size() ? runs[i + 1].owner : Layout::kFree;
      if (right == left) right = Layout::kFree;
      const double size = layout_.Weight(run);
      const double room_left = left == Layout::kFree ? 0 : Room(static_cast<size_t>(left));
      const double room_right = right == Layout::kFree ? 0 : Room(static_cast<size_t>(right));
      const double given = std::min(size, room_left + room_right);
      double to_left = given;
      if (left == Layout::kFree || right == Layout::kFree) {
        to_left = std::min(given, room_left);
      } else {
        const size_t l = static_cast<size_t>(left), r = static_cast<size_t>(right);
        const double il = shares_[l].ideal, ir = shares_[r].ideal;
        to_left = (il * (layout_.load(r) + given) - ir * layout_.load(l)) / (il + ir);
        to_left = std::clamp(to_left, std::max(0.0, given - room_right), std::min(given, room_left));
      }
      const double to_right = given - to_left;
      const uint64_t end_left = std::clamp(weights_.KeyAt(weights_.Before(run.begin) + to_left), run.begin, run.end);
      const uint64_t begin_right =
          given >= size ? end_left : std::clamp(weights_.KeyAt(weights_.Before(run.end) - to_right), end_left, run.end);
      if (left != Layout::kFree && to_left > 0) layout_.Assign(run.begin, end_left, left);
      if (right != Layout::kFree && to_right > 0) layout_.Assign(begin_right, run.end, right);
    }
  }

  // Assigns the rest to the owner with the most room relative to its share.
  void GiveRest() {
    while (true) {
      size_t i = 0;
      while (i < layout_.runs().size() && layout_.runs()[i].owner != Layout::kFree) ++i;
      if (i == layout_.runs().size()) return;
      const penstock::coordinator::Run run = layout_.runs()[i];
      size_t idle = 0;
      for (size_t w = 1; w < shares_.size(); ++w) {
        if (Ratio(w) < Ratio(idle)) idle = w;
      }
      const double size = layout_.Weight(run);
      const double room = Room(idle);
      if (room >= size || room <= 0 || !Cut(run, room, true, static_cast<int>(idle))) {
        layout_.Assign(run.begin, run.end, static_cast<int>(idle));
      }
    }
  }

  const KeyWeights& weights_;
  const std::vector<Share>& shares_;
  Layout& layout_;
};

}  // namespace

Layout::Layout(const KeyWeights* weights, size_t owners) : weights_(weights), loads_(owners) {
  if (weights->key_space() > 0) runs_.push_back({0, weights->key_space(), kFree});
}

void Layout::Assign(uint64_t begin, uint64_t end, int owner) {
  if (begin >= end) return;
  std::vector<Run> next;
  next.reserve(runs_.size() + 2);
  const auto add = [&](uint64_t from, uint64_t to, int who) {
    if (from >= to) return;
    if (!next.empty() && next.back().owner == who) {
      next.back().end = to;
    } else {
      next.push_back({from, to, who});
    }
  };
  for (const Run& run : runs_) {
    const uint64_t from = std::max(run.begin, begin), to = std::min(run.end, end);
    if (from >= to) {
      add(run.begin, run.end, run.owner);
      continue;
    }
    add(run.begin, from, run.owner);
    add(from, to, owner);
    add(to, run.end, run.owner);
    const double weight = weights_->Between(from, to);
    if (run.owner != kFree) loads_[static_cast<size_t>(run.owner)] -= weight;
    if (owner != kFree) loads_[static_cast<size_t>(owner)] += weight;
  }
  runs_ = std::move(next);
}

double Layout::MovedTo(const Layout& next) const {
  double moved = 0;
  for (size_t i = 0, j = 0; i < runs_.size() && j < next.runs_.size();) {
    const uint64_t begin = std::max(runs_[i].begin, next.runs_[j].begin);
    const uint64_t end = std::min(runs_[i].end, next.runs_[j].end);
    if (runs_[i].owner != next.runs_[j].owner) moved += weights_->Between(begin, end);
    if (runs_[i].end == end) ++i;
    if (next.runs_[j].end == end) ++j;
  }
  return moved;
}

void Patch(const KeyWeights& weights, const std::vector<Share>& shares, Layout* layout) {
  Patcher(weights, shares, layout).Run();
}

Layout Contiguous(const KeyWeights& weights, const std::vector<Share>& shares, const std::vector<int>& order,
                  const Layout& before) {
  // Each owner's largest run in `before`.
  std::vector<std::optional<Run>> main_run(shares.size());
  for (const Run& run : before.runs()) {
    if (run.owner == Layout::kFree) continue;
    std::optional<Run>& main = main_run[static_cast<size_t>(run.owner)];
    if (!main || before.Weight(run) > before.Weight(*main)) main = run;
  }
  double rest_low = 0, rest_high = 0, ideal = 0;
  for (const int w : order) {
    rest_low += shares[static_cast<size_t>(w)].low;
    rest_high += shares[static_cast<size_t>(w)].high;
    ideal += shares[static_cast<size_t>(w)].ideal;
  }
  const double scale = weights.total() / ideal;
  rest_low *= scale;
  rest_high *= scale;
  Layout layout(&weights, shares.size());
  double at = 0;
  uint64_t key = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    const size_t w = static_cast<size_t>(order[i]);
    const Share share = {shares[w].low * scale, shares[w].ideal * scale, shares[w].high * scale};
    rest_low -= share.low;
    rest_high -= share.high;
    double border = at + share.ideal;
    if (main_run[w]) {
      border = weights.Before(main_run[w]->end);
    } else if (i + 1 < order.size() && main_run[static_cast<size_t>(order[i + 1])]) {
      border = weights.Before(main_run[static_cast<size_t>(order[i + 1])]->begin);
    }
    // The border keeps this owner inside its share, and leaves the other owners a rest that fits their shares.
    const double low = std::max(at + share.low, weights.total() - rest_high);
    const double high = std::max(low, std::min(at + share.high, weights.total() - rest_low));
    at = std::clamp(border, low, high);
    const uint64_t end = i + 1 == order.size() ? weights.key_space() : std::max(key, weights.KeyAt(at));
    layout.Assign(key, end, static_cast<int>(w));
    key = end;
  }
  return layout;
}

}  // namespace penstock::coordinator
