#include "pipeline/plan/data_order.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/hash.h"
#include "base/portable_math.h"
#include "base/status_macros.h"
#include "pipeline/plan/permutation.h"
#include "pipeline/plan/state.h"

namespace penstock::plan {
namespace {

constexpr uint64_t kMaxPositions = Permutation::kMaxSize;

// The use of a seed. It is part of the hash. Fixed by the plan's version.
constexpr uint64_t kSetDomain = 0x626c656e642d7331;    // "blend-s1"
constexpr uint64_t kBlendDomain = 0x626c656e642d6231;  // "blend-b1"
// Rows of a block that the least weight gets, unless the block is the largest one. Fixed by the plan's version.
constexpr double kExactRows = 64;
// Rows of the longest epoch that is one block. Fixed by the plan's version.
constexpr uint64_t kLargestEpochBlock = 1 << 18;

// Returns ceil(records * rows / share).
unsigned __int128 RowsForPass(uint64_t records, uint64_t share, uint64_t rows) {
  return (static_cast<unsigned __int128>(records) * rows + share - 1) / share;
}

static_assert(RecordGroups::kMaxGroups <= Blend::kMaxSets);

// Returns n^power with the same bits on every machine, because each of them computes the shares. n >= 1.
double PowerOf(uint64_t n, double power) {
  const auto number = static_cast<double>(n);
  return power == 1 ? number : PortableExp(power * PortableLog(number));
}

absl::Status TooManyRows() { return absl::InvalidArgumentError("an epoch of the blend has more than 2^62 rows"); }

}  // namespace

absl::StatusOr<std::shared_ptr<DataOrder>> DataOrder::Begin(const std::vector<uint64_t>& counts,
                                                            const PlanOptions& options) {
  std::shared_ptr<DataOrder> order(new DataOrder());
  order->options_ = options;
  PS_ASSIGN_OR_RETURN(order->offsets_, ShardOffsets::Create(counts));
  PS_RETURN_IF_ERROR(EpochPlan::Create(order->offsets_, options, 0).status());
  return order;
}

absl::StatusOr<std::shared_ptr<const DataOrder>> DataOrder::Create(const std::vector<uint64_t>& counts,
                                                                   const PlanOptions& options,
                                                                   const std::optional<BlendOptions>& blend) {
  PS_ASSIGN_OR_RETURN(std::shared_ptr<DataOrder> order, Begin(counts, options));
  if (blend.has_value()) {
    PS_RETURN_IF_ERROR(order->MakeBlend(counts, *blend));
  } else {
    order->sets_.push_back({});
    order->parts_.push_back({order->offsets_, options});
    order->num_positions_ = order->num_records() * options.repeats;
  }
  return order;
}

absl::StatusOr<std::shared_ptr<const DataOrder>> DataOrder::CreateGrouped(const std::vector<uint64_t>& counts,
                                                                          const PlanOptions& options,
                                                                          const Grouping& grouping) {
  PS_ASSIGN_OR_RETURN(std::shared_ptr<DataOrder> order, Begin(counts, options));
  PS_RETURN_IF_ERROR(order->MakeGroups(grouping));
  return order;
}

void DataOrder::AddPart(std::string_view name, std::shared_ptr<const ShardOffsets> offsets) {
  PlanOptions options = options_;
  options.repeats = 1;
  options.seed = HashWords({kSetDomain, options_.seed, Hash64(name)});
  parts_.push_back({std::move(offsets), options});
}

std::optional<uint64_t> DataOrder::BlendSeed() const {
  if (options_.shuffle == Shuffle::kNone) return std::nullopt;
  return HashWords({kBlendDomain, options_.seed});
}

absl::Status DataOrder::MakeBlend(const std::vector<uint64_t>& counts, const BlendOptions& blend) {
  std::vector<double> weights;
  double repeated_rows = 0;  // sum of all data sets' repeats, in rows
  uint64_t shard = 0;
  for (const NamedSet& named : blend.sets) {
    if (named.shards > counts.size() - shard) {
      return absl::InvalidArgumentError(absl::StrCat("the data sets have more than ", counts.size(), " shards"));
    }
    const auto first = counts.begin() + static_cast<ptrdiff_t>(shard);
    PS_ASSIGN_OR_RETURN(auto offsets, ShardOffsets::Create({first, first + static_cast<ptrdiff_t>(named.shards)}));
    if (offsets->num_records() == 0) {
      return absl::InvalidArgumentError(absl::StrCat("dataset[", sets_.size(), "] '", named.name, "' has no records"));
    }
    const double repeated = named.repeats * static_cast<double>(offsets->num_records());
    weights.push_back(named.repeats != 0 ? repeated : named.weight);
    repeated_rows += repeated;
    sets_.push_back({named.name, shard, offsets_->begin(shard)});
    AddPart(named.name, std::move(offsets));
    shard += named.shards;
  }
  if (shard != counts.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the data sets have ", shard, " shards, and the snapshot has ", counts.size()));
  }
  if (repeated_rows > static_cast<double>(kMaxPositions)) return TooManyRows();
  const bool is_given = blend.epoch_rows != 0 || repeated_rows > 0;
  unsigned __int128 rows = blend.epoch_rows;
  if (repeated_rows > 0) rows = std::max<uint64_t>(1, static_cast<uint64_t>(std::llround(repeated_rows)));
  Blend::Block block;
  if (blend.batch > 0 && !blend.single) block = {.rows = blend.batch, .is_batch = true};
  // A block of a whole epoch has exactly the repeated rows of each set.
  if (repeated_rows > 0 && blend.batch == 0 && rows <= kLargestEpochBlock) block.rows = static_cast<uint64_t>(rows);
  PS_ASSIGN_OR_RETURN(blend_, BlendSchedule::Create(weights, blend.changes, BlendSeed(), block,
                                                    blend.single ? std::max<uint64_t>(1, blend.batch) : 1));
  for (uint32_t set = 0; set < sets() && !is_given; ++set) {
    if (share(set) == 0) continue;
    const auto pass = RowsForPass(records(set), share(set), rows_per());
    if (rows == 0 || (blend.end == EpochEnd::kLongest ? pass > rows : pass < rows)) rows = pass;
  }
  if (!is_given) rows *= options_.repeats;
  // An epoch has whole batches, so that each epoch begins with a block.
  if (blend.batch > 0) rows = (rows + blend.batch - 1) / blend.batch * blend.batch;
  if (rows > kMaxPositions) return TooManyRows();
  num_positions_ = static_cast<uint64_t>(rows);
  batch_ = blend.batch;
  single_ = blend.single && blend.batch > 0;
  return blend.start.has_value() ? Continue(*blend.start) : absl::OkStatus();
}

absl::Status DataOrder::Continue(const BlendStart& start) {
  if (start.epoch_rows != num_positions_) {
    return absl::InvalidArgumentError(absl::StrCat("blend.start: an epoch has ", num_positions_,
                                                   " rows, and that of the blend that it continues had ",
                                                   start.epoch_rows, "; set blend.epoch_rows: ", start.epoch_rows));
  }
  blend_->ContinueAt(start.place(), start.rows);
  start_ = start;
  return absl::OkStatus();
}

absl::Status DataOrder::MakeGroups(const Grouping& grouping) {
  PS_ASSIGN_OR_RETURN(groups_, GroupMap::Create(offsets_, grouping.groups));
  sets_.push_back({});
  for (uint32_t group = 0; group < groups_->groups(); ++group) {
    AddPart(groups_->name(group), groups_->offsets(group));
  }
  if (parts_.empty()) return absl::InvalidArgumentError("there are no groups of records");
  num_positions_ = num_records() * options_.repeats;
  if (!grouping.sorted.has_value()) return MakeShares(grouping);
  PS_ASSIGN_OR_RETURN(sorted_, SortedOrder::Create(offsets_, groups_, options_, *grouping.sorted));
  batch_ = grouping.sorted->batch;
  single_ = batch_ > 0;
  return absl::OkStatus();
}

absl::Status DataOrder::MakeShares(const Grouping& grouping) {
  std::vector<double> shares;
  for (uint32_t group = 0; group < parts(); ++group) {
    const double weight = grouping.weights.empty() ? 1 : grouping.weights[group];
    shares.push_back(PowerOf(records_of_part(group), grouping.power) * weight);
  }
  const double total = std::accumulate(shares.begin(), shares.end(), 0.0);
  if (total == 0) return NoWeightError();
  if (!std::isfinite(total)) return absl::InvalidArgumentError("weights: the sum of all records' weights is too large");
  const auto is_less = [](double a, double b) { return a > 0 && (b == 0 || a < b); };
  const auto least = std::min_element(shares.begin(), shares.end(), is_less) - shares.begin();
  Blend::Block block;
  if (!grouping.weights.empty()) {  // a large block, so that rounding changes a small weight little
    const double share = shares[static_cast<size_t>(least)] / total;
    block.rows = Blend::kLeastBlock;
    while (block.rows < Blend::kLargestBlock && share * static_cast<double>(block.rows) < kExactRows) block.rows *= 2;
  }
  absl::StatusOr<BlendSchedule> blend = BlendSchedule::Create(shares, {}, BlendSeed(), block);
  if (!blend.ok()) {
    const std::string& name = groups_->name(static_cast<uint32_t>(least));
    return absl::InvalidArgumentError(absl::StrCat(
        grouping.weights.empty() ? absl::StrCat("balance: with power ", grouping.power, " the group '", name, "'")
                                 : absl::StrCat("weights: the records with weight ", name),
        " would have less than 1 of ", Blend::kLargestBlock, " rows; ",
        grouping.weights.empty() ? "give a smaller power" : "use coarser weights, or give them 0"));
  }
  blend_ = *std::move(blend);
  return absl::OkStatus();
}

EpochPlan DataOrder::PassOf(uint32_t part, uint64_t pass) const {
  absl::StatusOr<EpochPlan> plan = EpochPlan::Create(parts_[part].offsets, parts_[part].options, pass);
  PS_CHECK(plan.ok());  // the checks do not depend on the pass
  return *std::move(plan);
}

GroupMap::Place DataOrder::PartPlaceOf(uint64_t record) const {
  if (groups_ != nullptr) return groups_->PlaceOf(record);
  const uint32_t set = SetOfRecord(record);
  return {set, record - sets_[set].first_record};
}

absl::Status DataOrder::CheckBatchRows(uint64_t rows) const {
  if (batches() != nullptr && rows != batch_) {
    return absl::InvalidArgumentError(
        absl::StrCat("a batch size of ", rows,
                     ": the values of select.bucket decide about the sizes of batches; leave batch_size out"));
  }
  if (batch_ == 0 || (single_ ? rows != 0 && batch_ % rows == 0 : rows % batch_ == 0)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "a batch of ", rows, " rows: with ",
      sorted_ ? "`bucket` it must divide"
              : (single_ ? "blend.batches: SINGLE it must divide" : "blend.batches: EXACT it must be a multiple of"),
      " the job's batch.size, ", batch_));
}

EpochOrder DataOrder::Epoch(uint64_t epoch) const {
  {
    MutexLock lock(&mutex_);
    for (const auto& [number, passes] : recent_) {
      if (passes != nullptr && number == epoch) return EpochOrder(shared_from_this(), epoch, passes);
    }
  }
  const auto passes = std::make_shared<const FirstPasses>(FirstPassesOf(epoch));
  MutexLock lock(&mutex_);
  if (recent_[0].second == nullptr || recent_[0].first != epoch) {
    recent_[1] = std::move(recent_[0]);
    recent_[0] = {epoch, passes};
  }
  return EpochOrder(shared_from_this(), epoch, passes);
}

DataOrder::FirstPasses DataOrder::FirstPassesOf(uint64_t epoch) const {
  FirstPasses passes;
  if (!takes_turns()) {
    passes.push_back({0, PassOf(0, epoch)});
    return passes;
  }
  std::vector<uint64_t> rows;
  uint64_t first = epoch * num_positions_;
  if (start_.has_value() && epoch == start_->at.epoch) first = start_->place();
  if (blend_.has_value()) rows = blend_->RowsBefore(first);
  passes.reserve(parts());
  for (uint32_t part = 0; part < parts(); ++part) {
    const uint64_t pass = sorted_.has_value() ? epoch * options_.repeats : rows[part] / records_of_part(part);
    passes.push_back({pass, PassOf(part, pass)});
  }
  return passes;
}

double DataOrder::PassesPerEpoch(uint32_t part) const {
  const double rows =
      static_cast<double>(num_positions_) * static_cast<double>(share(part)) / static_cast<double>(rows_per());
  return rows / static_cast<double>(std::max<uint64_t>(1, records_of_part(part)));
}

double DataOrder::PassesOfShard(uint64_t shard) const {
  if (groups_ == nullptr) {
    const uint32_t set = SetOf(shard);
    double share = 0;
    for (size_t part = 0; blend_.has_value() && part < blend_->parts(); ++part) {
      const Blend& blend = blend_->part(part);
      share = std::max(share, static_cast<double>(blend.count(set)) / static_cast<double>(blend.block_rows()));
    }
    const double rows = static_cast<double>(num_positions_) * (blend_.has_value() ? share : 1);
    return rows / static_cast<double>(std::max<uint64_t>(1, records(set)));
  }
  const ShardGroups of_shard = groups_->OfShard(shard);
  double rows = 0, records = 0;
  for (size_t i = 0; i < of_shard.groups.size(); ++i) {
    rows += of_shard.records[i] * PassesPerEpoch(of_shard.groups[i]);
    records += of_shard.records[i];
  }
  return records == 0 ? 0 : rows / records;
}

std::vector<SetProgress> DataOrder::ProgressAt(const Cursor& cursor) const {
  const uint64_t place = cursor.epoch * num_positions_ + cursor.position;
  const bool blends = blend_.has_value() && groups_ == nullptr;
  const std::vector<uint64_t> rows = blends ? blend_->RowsBefore(place) : std::vector<uint64_t>{place};
  const Blend* const now = blends ? &blend_->BlendAt(place) : nullptr;
  std::vector<SetProgress> all;
  all.reserve(rows.size());
  for (uint32_t set = 0; set < sets(); ++set) {
    const auto n = static_cast<double>(rows[set]);
    all.push_back({.rows = rows[set],
                   .passes = n / static_cast<double>(std::max<uint64_t>(1, records(set))),
                   .wanted_share = now == nullptr
                                       ? 1
                                       : static_cast<double>(now->count(set)) / static_cast<double>(now->block_rows()),
                   .actual_share = place == 0 ? 0 : n / static_cast<double>(place)});
  }
  return all;
}

uint32_t DataOrder::SetOf(uint64_t shard) const {
  const auto after = std::upper_bound(sets_.begin(), sets_.end(), shard,
                                      [](uint64_t s, const Set& set) { return s < set.first_shard; });
  return static_cast<uint32_t>(after - sets_.begin() - 1);
}

uint32_t DataOrder::SetOfRecord(uint64_t record) const {
  const auto after = std::upper_bound(sets_.begin(), sets_.end(), record,
                                      [](uint64_t r, const Set& set) { return r < set.first_record; });
  return static_cast<uint32_t>(after - sets_.begin() - 1);
}

SetLocation DataOrder::Locate(uint64_t record) const {
  const uint32_t set = SetOfRecord(record);
  const Location at = offsets_->Locate(record);
  return {set, at.shard - sets_[set].first_shard, at.record};
}

PlannedRow DataOrder::RowOf(uint64_t record, uint64_t pass) const {
  const GroupMap::Place place = PartPlaceOf(record);
  return {record, parts_[place.group].options.seed, pass, 0, place.number};
}

std::optional<Cursor> DataOrder::PlaceOf(const PlannedRow& row, uint64_t passes) const {
  const uint32_t part = PartPlaceOf(row.record).group;
  const uint64_t pass = row.epoch + passes;
  const uint64_t position = PassOf(part, pass).PositionOf(row.number, row.repeat);
  if (!takes_turns()) return Cursor{pass, position};
  const uint64_t place = PlaceOfTurn({part, pass * records_of_part(part) + position});
  if (place == Blend::kNever) return std::nullopt;
  return Cursor{place / num_positions_, place % num_positions_};
}

uint64_t DataOrder::Fingerprint(uint64_t snapshot_fingerprint) const {
  if (!takes_turns()) return OrderFingerprint(snapshot_fingerprint, options_);
  PlanOptions options = options_;
  options.repeats = 1;  // a part of the number of positions
  penstock::Fingerprint print;
  print.Add(OrderFingerprint(snapshot_fingerprint, options, kBlendPlanVersion)).Add(num_positions_).Add(rows_per());
  for (uint32_t set = 0; set < sets(); ++set) {
    print.Add(std::string_view(sets_[set].name)).Add(sets_[set].first_shard).Add(share(set));
  }
  for (uint32_t group = 0; groups_ != nullptr && group < parts(); ++group) {
    print.Add(std::string_view(groups_->name(group))).Add(records_of_part(group)).Add(share(group));
  }
  if (sorted_.has_value()) {
    print.Add(std::string_view("sorted")).Add(batch_).Add(sorted_->options().passes);
    if (batches() == nullptr) return print.value();
    const BatchCut& cut = batches()->cut();
    print.Add(std::string_view("sizes")).Add(cut.multiple());
    for (const uint64_t limit : sorted_->limits()) print.Add(limit);
    return print.value();
  }
  if (single_) print.Add(std::string_view("single")).Add(batch_);
  if (batch_ > 0 && !single_) print.Add(blend_->part(0).period_rows());
  const std::vector<uint64_t> begins = blend_->begins();
  for (size_t part = 1; part < begins.size(); ++part) {
    print.Add(begins[part]).Add(blend_->part(part).block_rows());
    for (uint32_t set = 0; set < sets(); ++set) print.Add(blend_->part(part).count(set));
  }
  if (start_.has_value()) {
    print.Add(std::string_view("start")).Add(start_->place());
    for (const uint64_t rows : start_->rows) print.Add(rows);
  }
  return print.value();
}

uint64_t DataOrder::SetFingerprint(uint32_t set, uint64_t content) const {
  return OrderFingerprint(content, parts_[set].options, kBlendPlanVersion);
}

EpochOrder::EpochOrder(std::shared_ptr<const DataOrder> order, uint64_t epoch,
                       std::shared_ptr<const DataOrder::FirstPasses> passes)
    : order_(std::move(order)), epoch_(epoch), passes_(std::move(passes)) {
  if (order_->takes_turns()) first_place_ = epoch * order_->num_positions();
}

EpochOrder::PartRow EpochOrder::PartRowAt(uint64_t position) const {
  PS_CHECK(position < num_positions());
  const Blend::Row row = order_->TurnAt(first_place_ + position);
  const uint64_t records = order_->records_of_part(row.set);
  return {row.set, row.number / records, row.number % records};
}

uint64_t EpochOrder::RecordAt(uint64_t position) const {
  if (!order_->takes_turns()) return (*passes_)[0].plan.RecordAt(position);
  const PartRow row = PartRowAt(position);
  const uint64_t number =
      WithPass(row.part, row.pass, [&](const EpochPlan& plan) { return plan.RecordAt(row.position); });
  return order_->RecordOf({row.part, number});
}

PlannedRow EpochOrder::RowAt(uint64_t position) const {
  if (!order_->takes_turns()) {
    const EpochPlan& plan = (*passes_)[0].plan;
    const uint64_t record = plan.RecordAt(position);
    return {record, order_->options_.seed, epoch_, plan.RepeatAt(position), record};
  }
  const PartRow row = PartRowAt(position);
  const uint64_t number =
      WithPass(row.part, row.pass, [&](const EpochPlan& plan) { return plan.RecordAt(row.position); });
  return {order_->RecordOf({row.part, number}), order_->parts_[row.part].options.seed, row.pass, 0, number};
}

uint64_t EpochOrder::PassAt(uint64_t position) const {
  return order_->takes_turns() ? PartRowAt(position).pass : (*passes_)[0].plan.RepeatAt(position);
}

std::optional<uint64_t> EpochOrder::PositionOf(uint64_t record, uint64_t pass) const {
  if (!order_->takes_turns()) return (*passes_)[0].plan.PositionOf(record, static_cast<uint16_t>(pass));
  const GroupMap::Place place = order_->PartPlaceOf(record);
  const uint64_t at = WithPass(place.group, pass, [&](const EpochPlan& plan) { return plan.PositionOf(place.number); });
  const uint64_t position =
      order_->PlaceOfTurn({place.group, pass * order_->records_of_part(place.group) + at}) - first_place_;
  if (position >= num_positions()) return std::nullopt;
  return position;
}

uint64_t EpochOrder::ShuffledUpTo(uint64_t position) const {
  if (!order_->takes_turns()) return (*passes_)[0].plan.ShuffledUpTo(position);
  const PartRow row = PartRowAt(position);
  const uint64_t end =
      WithPass(row.part, row.pass, [&](const EpochPlan& plan) { return plan.ShuffledUpTo(row.position); });
  const uint64_t records = order_->records_of_part(row.part);
  const uint64_t last = order_->PlaceOfTurn({row.part, row.pass * records + end - 1});
  if (last == Blend::kNever) return position + 1;  // the data set ends in this window
  return std::min(std::max(last - first_place_, position) + 1, num_positions());
}

}  // namespace penstock::plan
