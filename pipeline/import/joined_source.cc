#include "pipeline/import/joined_source.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/hash.h"
#include "base/status_macros.h"
#include "pipeline/records/example_join.h"

namespace penstock::imports {
namespace {

class JoinedMaker final : public RecordMaker {
 public:
  JoinedMaker(const JoinedPart* first, const JoinedPart* second, const std::string& prefix)
      : first_(first),
        second_(second),
        prefix_(prefix),
        first_maker_(first->source->NewMaker()),
        second_maker_(second->source->NewMaker()) {}

  absl::Status Make(uint64_t item, MadeRecord* out) override {
    const absl::Status first = first_maker_->Make(item, &first_record_);
    // Also after an error, because an announced item must be made.
    const absl::Status second = second_maker_->Make(item, &second_record_);
    PS_RETURN_IF_ERROR(first);
    PS_RETURN_IF_ERROR(second);
    out->treatment = first_record_.treatment;
    const absl::Status joined = records::JoinExamples(first_record_.bytes, second_record_.bytes, prefix_, &out->bytes);
    if (joined.ok()) return joined;
    return absl::Status(joined.code(),
                        absl::StrCat(first_->describe(item), " and ", second_->describe(item), ": ", joined.message(),
                                     absl::IsAlreadyExists(joined)
                                         ? "; --zip-prefix TEXT puts a text before the keys of the files of --zip"
                                         : ""));
  }

 private:
  const JoinedPart* const first_;
  const JoinedPart* const second_;
  const std::string& prefix_;
  const std::unique_ptr<RecordMaker> first_maker_, second_maker_;
  MadeRecord first_record_, second_record_;
};

class JoinedSource final : public RecordSource {
 public:
  JoinedSource(JoinedPart first, JoinedPart second, std::string prefix)
      : first_(std::move(first)), second_(std::move(second)), prefix_(std::move(prefix)) {}

  uint64_t size() const override { return first_.source->size(); }
  uint64_t fingerprint() const override {
    return HashWords({first_.source->fingerprint(), second_.source->fingerprint(), Hash64(prefix_)});
  }
  std::unique_ptr<RecordMaker> NewMaker() const override {
    return std::make_unique<JoinedMaker>(&first_, &second_, prefix_);
  }
  size_t ahead() const override { return std::max(first_.source->ahead(), second_.source->ahead()); }
  void WillMake(uint64_t item) const override {
    for (const JoinedPart* part : {&first_, &second_}) {
      if (part->source->ahead() > 0) part->source->WillMake(item);
    }
  }

 private:
  const JoinedPart first_, second_;
  const std::string prefix_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<RecordSource>> NewJoinedSource(JoinedPart first, JoinedPart second,
                                                              const std::string& prefix) {
  const uint64_t records = first.source->size(), others = second.source->size();
  if (records != others) {
    return absl::InvalidArgumentError(absl::StrCat(
        first.files, records == 1 ? " has 1 record" : absl::StrCat(" has ", records, " records"), ", but --zip ",
        second.files, " has ", others, ": record k belongs to record k; name files with equal numbers of records"));
  }
  return std::make_unique<JoinedSource>(std::move(first), std::move(second), prefix);
}

}  // namespace penstock::imports
