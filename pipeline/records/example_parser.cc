#include "pipeline/records/example_parser.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <tuple>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/fault.h"
#include "base/status_macros.h"
#include "base/wire.h"
#include "pipeline/records/feature_walk.h"

namespace penstock::records {
namespace {

absl::string_view FormatName(RecordFormat format) {
  return format == RecordFormat::kExample ? "tf.train.Example" : "tf.train.SequenceExample";
}

std::string Quoted(std::string_view key) {
  return absl::StrCat("\"", absl::CHexEscape(absl::string_view(key.data(), key.size())), "\"");
}

absl::Status Malformed(RecordFormat format, std::string_view key) {
  return WithFault(Fault::kNoExample,
                   absl::InvalidArgumentError(absl::StrCat("feature ", Quoted(key), ": its value is no ",
                                                           FormatName(format), " feature (malformed)")));
}

// Appends the values of one feature to those in `out`.
class ValueSink {
 public:
  ValueSink(FeatureKind kind, uint32_t element_bytes, uint64_t* budget, FeatureValue* out)
      : kind_(kind), element_bytes_(element_bytes), budget_(budget), out_(out) {
    BeginFeature();
  }

  void BeginFeature() { begin_ = out_->count(); }
  bool over_budget() const { return over_budget_; }
  // Returns whether a value was not a whole number of elements.
  bool has_odd_length() const { return has_odd_length_; }
  size_t odd_length() const { return odd_length_; }

  void OnKind(FeatureKind) {
    // Only the vector of the requested kind is in use.
    if (kind_ == FeatureKind::kInt64) out_->ints.resize(begin_);
    if (kind_ == FeatureKind::kFloat) out_->floats.resize(begin_);
    if (kind_ == FeatureKind::kBytes) out_->bytes.resize(begin_);
  }
  bool Wants(FeatureKind kind) const { return kind == kind_; }

  bool OnBytes(std::string_view value) {
    if (!Spend(sizeof(value))) return false;
    if (element_bytes_ > 1 && value.size() % element_bytes_ != 0) {
      has_odd_length_ = true;
      odd_length_ = value.size();
    }
    out_->bytes.push_back(value);
    return true;
  }
  bool OnInt(int64_t value) {
    if (!Spend(sizeof(value))) return false;
    out_->ints.push_back(value);
    return true;
  }
  bool OnPackedInts(std::string_view packed) {
    // The last byte of each varint has its high bit clear.
    const size_t count = static_cast<size_t>(
        std::count_if(packed.begin(), packed.end(), [](char c) { return static_cast<signed char>(c) >= 0; }));
    if (!Spend(count * sizeof(int64_t))) return false;
    const size_t before = out_->ints.size();
    out_->ints.resize(before + count);
    int64_t* to = out_->ints.data() + before;
    WireReader in(packed);
    for (size_t i = 0; i < count; ++i) {
      uint64_t value = 0;
      if (!in.ReadVarint(&value)) return false;
      to[i] = static_cast<int64_t>(value);
    }
    return in.done();
  }
  bool OnPackedFloats(std::string_view packed) {
    if (!Spend(packed.size())) return false;
    if (packed.empty()) return true;
    const size_t before = out_->floats.size();
    out_->floats.resize(before + packed.size() / sizeof(float));
    std::memcpy(out_->floats.data() + before, packed.data(), packed.size());
    return true;
  }
  bool Spend(uint64_t bytes) {
    if (bytes > *budget_) {
      over_budget_ = true;
      return false;
    }
    *budget_ -= bytes;
    return true;
  }

 private:
  const FeatureKind kind_;
  const uint32_t element_bytes_;
  uint64_t* const budget_;
  FeatureValue* const out_;
  size_t begin_ = 0;
  size_t odd_length_ = 0;
  bool has_odd_length_ = false;
  bool over_budget_ = false;
};

// Counts values, for ListFeatures.
class CountSink {
 public:
  void OnKind(FeatureKind) {
    count_ = 0;
    first_bytes_ = {};
    least_ = most_ = 0;
  }
  bool Wants(FeatureKind) const { return true; }
  bool OnBytes(std::string_view value) {
    if (count_++ == 0) first_bytes_ = value;
    return true;
  }
  bool OnInt(int64_t value) {
    least_ = count_ == 0 ? value : std::min(least_, value);
    most_ = count_ == 0 ? value : std::max(most_, value);
    ++count_;
    return true;
  }
  bool OnPackedInts(std::string_view packed) {
    WireReader in(packed);
    uint64_t value = 0;
    while (!in.done()) {
      if (!in.ReadVarint(&value)) return false;
      OnInt(static_cast<int64_t>(value));
    }
    return true;
  }
  bool OnPackedFloats(std::string_view packed) {
    count_ += packed.size() / sizeof(float);
    return true;
  }
  uint64_t count() const { return count_; }
  std::string_view first_bytes() const { return first_bytes_; }
  int64_t least() const { return least_; }
  int64_t most() const { return most_; }

 private:
  uint64_t count_ = 0;
  int64_t least_ = 0, most_ = 0;
  std::string_view first_bytes_;
};

// Calls visit(sequence, key, entry) for each feature of the record.
template <typename Visit>
bool ForEachFeature(std::string_view record, RecordFormat format, const Visit& visit) {
  WireReader in(record);
  while (!in.done()) {
    uint32_t number = 0;
    WireType type;
    if (!in.ReadTag(&number, &type)) return false;
    const bool lists = number == 2 && format == RecordFormat::kSequenceExample;
    if ((number != 1 && !lists) || type != WireType::kLength) {
      if (!in.SkipField(number, type)) return false;
      continue;
    }
    std::string_view map;
    if (!in.ReadLengthPrefixed(&map)) return false;
    if (!ForEachMapEntry(map, [&](std::string_view key, std::string_view entry) {
          visit(lists, key, entry);
          return true;
        })) {
      return false;
    }
  }
  return true;
}

absl::Status KindMismatch(std::string_view key, FeatureKind found, FeatureKind wanted) {
  const auto name = [](FeatureKind kind) { return std::string(FeatureKindName(kind)); };
  return WithFault(Fault::kWrongKind,
                   absl::InvalidArgumentError(absl::StrCat("feature ", Quoted(key), " holds ", name(found),
                                                           " values, but the job requests ", name(wanted),
                                                           ": write type: ", name(found))));
}

// Reads one piece of a Feature into `sink`. A Feature may have several pieces. Updates *kind to its kind.
absl::Status ParseFeaturePiece(const FeatureRequest& request, RecordFormat format, uint64_t max_value_bytes,
                               std::string_view piece, FeatureKind* kind, ValueSink* sink) {
  if (WalkFeature(piece, kind, sink)) return absl::OkStatus();
  if (sink->over_budget()) {
    return WithFault(Fault::kOverLimit,
                     absl::ResourceExhaustedError(absl::StrCat("feature ", Quoted(request.key),
                                                               ": the record's values take more than the limit of ",
                                                               max_value_bytes, " bytes")));
  }
  return Malformed(format, request.key);
}

absl::Status ParseEntry(const FeatureRequest& request, const ParserOptions& options, uint64_t* budget,
                        FeatureValue* out) {
  ValueSink sink(request.kind, request.element_bytes, budget, out);
  absl::Status status;
  const auto check_kind = [&](FeatureKind kind) {
    if (kind != FeatureKind::kNone && kind != request.kind) {
      status = KindMismatch(request.key, kind, request.kind);
    }
    return status.ok();
  };
  const auto parse_piece = [&](std::string_view piece, FeatureKind* kind) {
    status = ParseFeaturePiece(request, options.format, options.max_value_bytes, piece, kind, &sink);
    return status.ok();
  };

  bool walked;
  if (request.sequence) {
    out->missing = false;
    out->splits.push_back(0);
    walked = ForEachLengthField(out->entry, 2, [&](std::string_view list) {
      return ForEachLengthField(list, 1, [&](std::string_view feature) {
        sink.BeginFeature();
        FeatureKind kind = FeatureKind::kNone;
        if (!parse_piece(feature, &kind) || !check_kind(kind)) return false;
        if (!sink.Spend(sizeof(uint32_t))) {
          status = WithFault(Fault::kOverLimit, absl::ResourceExhaustedError(absl::StrCat(
                                                    "feature list ", Quoted(request.key), " has too many entries")));
          return false;
        }
        out->splits.push_back(static_cast<uint32_t>(out->count()));
        return true;
      });
    });
  } else {
    FeatureKind kind = FeatureKind::kNone;
    walked = ForEachLengthField(out->entry, 2, [&](std::string_view feature) { return parse_piece(feature, &kind); });
    if (walked) walked = check_kind(kind);
    out->missing = kind == FeatureKind::kNone;
  }
  PS_RETURN_IF_ERROR(status);
  if (!walked) return Malformed(options.format, request.key);
  if (sink.has_odd_length()) {
    return WithFault(Fault::kWrongShape,
                     absl::InvalidArgumentError(
                         absl::StrCat("feature ", Quoted(request.key), ": a value of ", sink.odd_length(),
                                      " bytes is no whole number of elements of ", request.element_bytes, " bytes")));
  }
  return absl::OkStatus();
}

}  // namespace

std::string_view FeatureKindName(FeatureKind kind) {
  switch (kind) {
    case FeatureKind::kNone:
      return "none";
    case FeatureKind::kBytes:
      return "BYTES";
    case FeatureKind::kFloat:
      return "FLOAT";
    case FeatureKind::kInt64:
      return "INT64";
  }
  return "unknown";
}

ExampleParser::ExampleParser(std::vector<FeatureRequest> requests, const ParserOptions& options)
    : requests_(std::move(requests)), options_(options), by_key_(requests_.size()) {
  std::iota(by_key_.begin(), by_key_.end(), 0u);
  std::sort(by_key_.begin(), by_key_.end(), [&](uint32_t a, uint32_t b) {
    return std::tie(requests_[a].sequence, requests_[a].key, a) < std::tie(requests_[b].sequence, requests_[b].key, b);
  });
}

absl::StatusOr<ExampleParser> ExampleParser::Create(std::vector<FeatureRequest> requests,
                                                    const ParserOptions& options) {
  for (const FeatureRequest& request : requests) {
    const std::string key = Quoted(request.key);
    if (request.kind == FeatureKind::kNone || request.kind > FeatureKind::kInt64) {
      return absl::InvalidArgumentError(absl::StrCat("feature ", key, " has no type; write BYTES, INT64 or FLOAT"));
    }
    if (request.sequence && options.format != RecordFormat::kSequenceExample) {
      return absl::InvalidArgumentError(
          absl::StrCat("feature ", key, " is a feature list, which only a tf.train.SequenceExample has"));
    }
    if (request.element_bytes != 0 && request.kind != FeatureKind::kBytes) {
      return absl::InvalidArgumentError(
          absl::StrCat("feature ", key, " is decoded from raw bytes, so its type must be BYTES"));
    }
  }
  return ExampleParser(std::move(requests), options);
}

absl::Status ExampleParser::Parse(std::string_view record, ParsedExample* out) const {
  out->resize(requests_.size());
  for (FeatureValue& value : *out) value.Clear();
  // Finds the relevant entries first and parses their values afterwards, so that only the last of duplicate keys is
  // parsed.
  const bool walked =
      ForEachFeature(record, options_.format, [&](bool sequence, std::string_view key, std::string_view entry) {
        auto it = std::lower_bound(by_key_.begin(), by_key_.end(), key, [&](uint32_t r, std::string_view wanted) {
          const FeatureRequest& request = requests_[r];
          if (request.sequence != sequence) return !request.sequence;
          return std::string_view(request.key) < wanted;
        });
        for (; it != by_key_.end(); ++it) {
          const FeatureRequest& request = requests_[*it];
          if (request.sequence != sequence || request.key != key) break;
          (*out)[*it].entry = entry;
        }
      });
  if (!walked) {
    return WithFault(Fault::kNoExample,
                     absl::InvalidArgumentError(absl::StrCat("the record's ", record.size(), " bytes are no ",
                                                             FormatName(options_.format), " (malformed)")));
  }
  uint64_t budget = options_.max_value_bytes;
  for (size_t i = 0; i < requests_.size(); ++i) {
    FeatureValue& value = (*out)[i];
    if (value.entry.data() == nullptr) continue;
    PS_RETURN_IF_ERROR(ParseEntry(requests_[i], options_, &budget, &value));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<FeatureInfo>> ListFeatures(std::string_view record, RecordFormat format) {
  struct Entry {
    bool sequence;
    std::string_view key, entry;
  };
  std::vector<Entry> entries;
  if (!ForEachFeature(record, format, [&](bool sequence, std::string_view key, std::string_view entry) {
        entries.push_back({sequence, key, entry});
      })) {
    return absl::InvalidArgumentError(
        absl::StrCat("the record's ", record.size(), " bytes are no ", FormatName(format), " (malformed)"));
  }
  std::stable_sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return std::tie(a.sequence, a.key) < std::tie(b.sequence, b.key);
  });
  std::vector<FeatureInfo> features;
  for (size_t i = 0; i < entries.size(); ++i) {
    const Entry& entry = entries[i];
    FeatureInfo info{.key = std::string(entry.key), .sequence = entry.sequence};
    bool walked;
    if (!entry.sequence) {
      CountSink sink;
      walked = ForEachLengthField(entry.entry, 2,
                                  [&](std::string_view feature) { return WalkFeature(feature, &info.kind, &sink); });
      info.count = sink.count();
      info.first_bytes = sink.first_bytes();
      info.least = sink.least();
      info.most = sink.most();
    } else {
      walked = ForEachLengthField(entry.entry, 2, [&](std::string_view list) {
        return ForEachLengthField(list, 1, [&](std::string_view feature) {
          CountSink sink;
          FeatureKind kind = FeatureKind::kNone;
          if (!WalkFeature(feature, &kind, &sink)) return false;
          if (info.kind == FeatureKind::kNone) info.kind = kind;
          if (info.first_bytes.data() == nullptr) info.first_bytes = sink.first_bytes();
          ++info.list_length;
          info.count += sink.count();
          return true;
        });
      });
    }
    if (!walked) return Malformed(format, entry.key);
    // The last of duplicate keys counts.
    const bool last =
        i + 1 == entries.size() || entries[i + 1].key != entry.key || entries[i + 1].sequence != entry.sequence;
    if (last) features.push_back(std::move(info));
  }
  return features;
}

absl::StatusOr<RecordFormat> GuessFormat(std::string_view record) {
  const auto sequence = ListFeatures(record, RecordFormat::kSequenceExample);
  if (sequence.ok() &&
      std::any_of(sequence->begin(), sequence->end(), [](const FeatureInfo& f) { return f.sequence; })) {
    return RecordFormat::kSequenceExample;
  }
  PS_RETURN_IF_ERROR(ListFeatures(record, RecordFormat::kExample).status());
  return RecordFormat::kExample;
}

}  // namespace penstock::records
