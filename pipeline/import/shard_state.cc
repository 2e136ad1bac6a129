#include "pipeline/import/shard_state.h"

#include <map>
#include <optional>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/hash.h"

namespace penstock::imports {
namespace {

constexpr char kFirstLine[] = "penstock-shards 1";

absl::Status Damaged(std::string_view line) {
  return absl::DataLossError(
      absl::StrCat("the line '", absl::CHexEscape({line.data(), line.size()}), "' is not what a run writes"));
}

bool ParseShard(absl::string_view text, FinishedShard* shard) {
  const std::vector<std::string> words = absl::StrSplit(text, ' ');
  if (words.size() != 4 + kImageTreatments || !absl::CUnescape(words[0], &shard->name)) return false;
  if (!absl::SimpleAtoi(words[1], &shard->items) || !absl::SimpleAtoi(words[2], &shard->records) ||
      !absl::SimpleAtoi(words[3], &shard->bytes)) {
    return false;
  }
  for (size_t i = 0; i < kImageTreatments; ++i) {
    if (!absl::SimpleAtoi(words[4 + i], &shard->treated[i])) return false;
  }
  return true;
}

}  // namespace

uint64_t ShardState::Items() const {
  uint64_t items = 0;
  for (const FinishedShard& shard : shards) items += shard.items;
  return items;
}

uint64_t ShardState::Records() const {
  uint64_t records = 0;
  for (const FinishedShard& shard : shards) records += shard.records;
  return records;
}

uint64_t ShardState::Bytes() const {
  uint64_t bytes = 0;
  for (const FinishedShard& shard : shards) bytes += shard.bytes;
  return bytes;
}

std::string ShardState::Serialize() const {
  std::string out = absl::StrCat(kFirstLine, "\n");
  for (const auto& [name, value] : arguments) absl::StrAppend(&out, "argument ", name, " ", absl::CEscape(value), "\n");
  for (const FinishedShard& shard : shards) {
    absl::StrAppend(&out, "shard ", absl::CEscape(shard.name), " ", shard.items, " ", shard.records, " ", shard.bytes,
                    " ", absl::StrJoin(shard.treated, " "), "\n");
  }
  for (const std::string& message : skipped) absl::StrAppend(&out, "skipped ", absl::CEscape(message), "\n");
  if (!note.empty()) absl::StrAppend(&out, "note ", absl::CEscape(note), "\n");
  if (complete) absl::StrAppend(&out, "complete\n");
  if (!run.empty()) absl::StrAppend(&out, "run ", run, "\n");
  absl::StrAppend(&out, "end ", absl::Hex(Hash64(out), absl::kZeroPad16), "\n");
  return out;
}

absl::StatusOr<ShardState> ParseShardState(std::string_view text) {
  const size_t end = text.rfind("end ");
  if (end == std::string_view::npos ||
      text.substr(end) != absl::StrCat("end ", absl::Hex(Hash64(text.substr(0, end)), absl::kZeroPad16), "\n")) {
    return absl::DataLossError("its last line is missing or its hash is wrong");
  }
  ShardState state;
  std::vector<absl::string_view> lines = absl::StrSplit(absl::string_view(text.data(), end), '\n');
  lines.pop_back();  // empty text after the last line's end
  if (lines.empty() || lines[0] != kFirstLine) {
    return absl::DataLossError(absl::StrCat("its first line is not '", kFirstLine, "': another version wrote it"));
  }
  for (size_t i = 1; i < lines.size(); ++i) {
    const std::pair<absl::string_view, absl::string_view> fact = absl::StrSplit(lines[i], absl::MaxSplits(' ', 1));
    const std::string_view line(lines[i].data(), lines[i].size());
    if (fact.first == "argument") {
      const std::pair<std::string, absl::string_view> argument = absl::StrSplit(fact.second, absl::MaxSplits(' ', 1));
      std::string value;
      if (!absl::CUnescape(argument.second, &value)) return Damaged(line);
      state.arguments.emplace_back(argument.first, value);
    } else if (fact.first == "shard") {
      FinishedShard shard;
      if (!ParseShard(fact.second, &shard)) return Damaged(line);
      state.shards.push_back(std::move(shard));
    } else if (fact.first == "skipped") {
      std::string message;
      if (!absl::CUnescape(fact.second, &message)) return Damaged(line);
      state.skipped.push_back(std::move(message));
    } else if (fact.first == "note") {
      if (!absl::CUnescape(fact.second, &state.note)) return Damaged(line);
    } else if (fact.first == "run") {
      state.run = std::string(fact.second);
    } else if (lines[i] == "complete") {
      state.complete = true;
    } else {
      return Damaged(line);
    }
  }
  return state;
}

absl::Status SameArguments(const ShardState& then, const ShardState& now) {
  using Value = std::optional<std::string>;
  std::map<std::string, std::pair<Value, Value>> values;
  for (const auto& [name, value] : then.arguments) values[name].first = value;
  for (const auto& [name, value] : now.arguments) values[name].second = value;
  const auto text = [](const Value& value) { return value ? absl::StrCat("'", *value, "'") : "not given"; };
  std::vector<std::string> differences;
  for (const auto& [name, both] : values) {
    if (both.first == both.second) continue;
    differences.push_back(absl::StrCat(name, ": then ", text(both.first), ", now ", text(both.second)));
  }
  if (differences.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrJoin(differences, "; "));
}

}  // namespace penstock::imports
