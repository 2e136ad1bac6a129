#include "penstock/batch.h"

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "client/assembly/batch_builder.h"

namespace penstock {

std::string_view ElementTypeName(ElementType type) { return batch::DTypeName(static_cast<batch::DType>(type)); }

absl::Status ColumnView::NotOfType(std::string_view asked) const {
  if (info_ == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("data<", std::string(asked), ">() was called on a ColumnView that belongs to no batch"));
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "column \"", info_->name, "\" holds ", std::string(ElementTypeName(info_->type)), ", which data<",
      std::string(asked), ">() does not read",
      info_->type == ElementType::kString ? ": string(i) does" : "; ask for that type, or cast the column in the job"));
}

void ColumnView::EndWith(const absl::Status& status) {
  std::fprintf(stderr, "penstock::ColumnView: %s\n", std::string(status.message()).c_str());
  std::abort();
}

Batch::Batch() = default;
Batch::Batch(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Batch::~Batch() = default;
Batch::Batch(Batch&&) noexcept = default;
Batch& Batch::operator=(Batch&&) noexcept = default;

namespace {

// Returns an empty batch, for default-constructed and moved-from batches.
const Batch::Impl& Empty() {
  static const Batch::Impl empty;
  return empty;
}

const Batch::Impl& Get(const std::unique_ptr<Batch::Impl>& impl) { return impl == nullptr ? Empty() : *impl; }

}  // namespace

size_t Batch::rows() const { return Get(impl_).rows; }
uint64_t Batch::epoch() const { return Get(impl_).epoch; }
uint64_t Batch::step() const { return Get(impl_).step; }
uint64_t Batch::position() const { return Get(impl_).position; }
const std::vector<ColumnView>& Batch::columns() const { return Get(impl_).columns; }
absl::Span<const RowId> Batch::ids() const { return Get(impl_).ids; }
absl::Span<const RowId> Batch::sources() const { return Get(impl_).sources; }
absl::Span<const int32_t> Batch::datasets() const { return Get(impl_).sets; }
absl::Span<const uint8_t> Batch::valid() const { return Get(impl_).valid; }

const ColumnView* Batch::FindColumn(std::string_view name) const {
  for (const ColumnView& column : columns()) {
    if (column.info().name == name) return &column;
  }
  return nullptr;
}

const ColumnView& Batch::column(std::string_view name) const {
  const ColumnView* column = FindColumn(name);
  if (column != nullptr) return *column;
  std::fprintf(stderr, "penstock::Batch has no column \"%.*s\"; it has:", static_cast<int>(name.size()), name.data());
  for (const ColumnView& other : columns()) std::fprintf(stderr, " \"%s\"", other.info().name.c_str());
  std::fprintf(stderr, "\n");
  std::abort();
}

}  // namespace penstock
