#include "pipeline/batch/batch_digest.h"

#include <openssl/evp.h>

#include "base/check.h"

namespace penstock::batch {

struct BatchDigest::Impl {
  Impl() : context(EVP_MD_CTX_new()) { PS_CHECK(EVP_DigestInit_ex(context, EVP_sha256(), nullptr) == 1); }
  ~Impl() { EVP_MD_CTX_free(context); }
  void Add(const void* bytes, size_t size) { PS_CHECK(EVP_DigestUpdate(context, bytes, size) == 1); }
  template <typename T>
  void AddNumber(T value) {  // Penstock runs only on little-endian machines
    Add(&value, sizeof(value));
  }
  EVP_MD_CTX* const context;
  uint64_t rows = 0;
};

BatchDigest::BatchDigest() : impl_(std::make_unique<Impl>()) {}
BatchDigest::~BatchDigest() = default;
BatchDigest::BatchDigest(BatchDigest&&) noexcept = default;
BatchDigest& BatchDigest::operator=(BatchDigest&&) noexcept = default;

// A shard's number has 31 bits at most, so the data set's number fits above it, and 0 changes nothing.
void BatchDigest::BeginRow(int64_t shard, int64_t record, bool valid, int32_t dataset) {
  ++impl_->rows;
  impl_->AddNumber(shard | static_cast<int64_t>(dataset) << 32);
  impl_->AddNumber(record);
  impl_->AddNumber(static_cast<uint8_t>(valid ? 1 : 0));
}

void BatchDigest::AddFixed(std::string_view bytes) { impl_->Add(bytes.data(), bytes.size()); }

void BatchDigest::AddRagged(std::string_view encoded) {
  impl_->AddNumber(static_cast<uint64_t>(encoded.size()));
  impl_->Add(encoded.data(), encoded.size());
}

void BatchDigest::AddRaggedNumbers(uint32_t count, std::string_view bytes) {
  impl_->AddNumber(static_cast<uint64_t>(sizeof(count) + bytes.size()));
  impl_->AddNumber(count);
  impl_->Add(bytes.data(), bytes.size());
}

void BatchDigest::AddRaggedStrings(std::span<const std::string_view> strings) {
  uint64_t size = sizeof(uint32_t) * (strings.size() + 1);
  for (const std::string_view text : strings) size += text.size();
  impl_->AddNumber(size);
  impl_->AddNumber(static_cast<uint32_t>(strings.size()));
  for (const std::string_view text : strings) impl_->AddNumber(static_cast<uint32_t>(text.size()));
  for (const std::string_view text : strings) impl_->Add(text.data(), text.size());
}

void BatchDigest::AddRow(int64_t shard, int64_t record, bool valid, std::span<const Column> columns, int32_t dataset) {
  BeginRow(shard, record, valid, dataset);
  for (const Column& column : columns) {
    if (column.ragged) {
      AddRagged(column.bytes);
    } else {
      AddFixed(column.bytes);
    }
  }
}

uint64_t BatchDigest::rows() const { return impl_->rows; }

std::string BatchDigest::Hex() const {
  EVP_MD_CTX* const copy = EVP_MD_CTX_new();
  PS_CHECK(EVP_MD_CTX_copy_ex(copy, impl_->context) == 1);
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  PS_CHECK(EVP_DigestFinal_ex(copy, digest, &size) == 1);
  EVP_MD_CTX_free(copy);
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string hex;
  for (unsigned int i = 0; i < size; ++i) {
    hex.push_back(kDigits[digest[i] >> 4]);
    hex.push_back(kDigits[digest[i] & 15]);
  }
  return hex;
}

}  // namespace penstock::batch
