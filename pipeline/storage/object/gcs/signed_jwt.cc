#include "pipeline/storage/object/gcs/signed_jwt.h"

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include <memory>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace penstock::storage {
namespace {

// RFC 7515, section 2: without trailing '='.
std::string Base64Url(absl::string_view bytes) {
  std::string text = absl::WebSafeBase64Escape(bytes);
  while (!text.empty() && text.back() == '=') text.pop_back();
  return text;
}

}  // namespace

absl::StatusOr<std::string> SignedJwt(absl::string_view header, absl::string_view claims,
                                      absl::string_view private_key) {
  const std::unique_ptr<BIO, decltype(&BIO_free)> text(
      BIO_new_mem_buf(private_key.data(), static_cast<int>(private_key.size())), &BIO_free);
  const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(
      PEM_read_bio_PrivateKey(text.get(), nullptr, nullptr, nullptr), &EVP_PKEY_free);
  if (key == nullptr || EVP_PKEY_base_id(key.get()) != EVP_PKEY_RSA) {
    return absl::InvalidArgumentError("its private key is not an RSA key in PEM");
  }
  const std::string signed_part = absl::StrCat(Base64Url(header), ".", Base64Url(claims));
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(), &EVP_MD_CTX_free);
  const auto* const bytes = reinterpret_cast<const unsigned char*>(signed_part.data());
  size_t size = 0;
  std::string signature;
  bool done = EVP_DigestSignInit(context.get(), nullptr, EVP_sha256(), nullptr, key.get()) == 1 &&
              EVP_DigestSign(context.get(), nullptr, &size, bytes, signed_part.size()) == 1;
  if (done) {
    signature.resize(size);
    done = EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(signature.data()), &size, bytes,
                          signed_part.size()) == 1;
    signature.resize(size);
  }
  if (!done) return absl::InvalidArgumentError("its private key cannot sign");
  return absl::StrCat(signed_part, ".", Base64Url(signature));
}

}  // namespace penstock::storage
