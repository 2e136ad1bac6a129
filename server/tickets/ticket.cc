#include "server/tickets/ticket.h"

#include <openssl/evp.h>

#include <cstdint>
#include <memory>

#include "absl/strings/str_cat.h"
#include "base/check.h"

namespace penstock::server {
namespace {

// Separates these signatures from any others that the key may make.
constexpr char kPurpose[] = "penstock ticket 1\n";
constexpr size_t kSignatureBytes = 64;
// Names have at most 64 bytes or come from a certificate; names of jobs have at most 128.
constexpr size_t kMostTicketBytes = 4096;

struct FreeKey {
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};
struct FreeContext {
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
};
using Key = std::unique_ptr<EVP_PKEY, FreeKey>;
using Context = std::unique_ptr<EVP_MD_CTX, FreeContext>;

const unsigned char* BytesOf(std::string_view text) { return reinterpret_cast<const unsigned char*>(text.data()); }

Key SigningKeyOf(std::string_view bytes) {
  PS_CHECK(bytes.size() == kSigningKeyBytes);
  Key key(EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nullptr, BytesOf(bytes), bytes.size()));
  PS_CHECK(key != nullptr);
  return key;
}

std::string SignedText(std::string_view claims) { return absl::StrCat(kPurpose, std::string(claims)); }

uint64_t IdOf(std::string_view public_key) {
  uint64_t id = 0;
  for (int i = 7; i >= 0; --i) id = id << 8 | BytesOf(public_key)[i];
  return id;
}

bool IsSignedBy(const v1::Ticket& ticket, std::string_view public_key) {
  const Key key(EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, BytesOf(public_key), public_key.size()));
  const Context context(EVP_MD_CTX_new());
  if (key == nullptr || context == nullptr) return false;
  if (EVP_DigestVerifyInit(context.get(), nullptr, nullptr, nullptr, key.get()) != 1) return false;
  const std::string text = SignedText(ticket.claims());
  return EVP_DigestVerify(context.get(), BytesOf(ticket.signature()), ticket.signature().size(), BytesOf(text),
                          text.size()) == 1;
}

}  // namespace

std::string PublicKeyOf(std::string_view signing_key) {
  const Key key = SigningKeyOf(signing_key);
  std::string bytes(kPublicKeyBytes, '\0');
  size_t size = bytes.size();
  PS_CHECK(EVP_PKEY_get_raw_public_key(key.get(), reinterpret_cast<unsigned char*>(bytes.data()), &size) == 1 &&
           size == kPublicKeyBytes);
  return bytes;
}

std::string SignTicket(const v1::TicketClaims& claims, std::string_view signing_key) {
  const Key key = SigningKeyOf(signing_key);
  const Context context(EVP_MD_CTX_new());
  v1::Ticket ticket;
  ticket.set_claims(claims.SerializeAsString());
  ticket.set_key(IdOf(PublicKeyOf(signing_key)));
  std::string signature(kSignatureBytes, '\0');
  size_t size = signature.size();
  const std::string text = SignedText(ticket.claims());
  PS_CHECK(EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, key.get()) == 1 &&
           EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(signature.data()), &size, BytesOf(text),
                          text.size()) == 1 &&
           size == kSignatureBytes);
  ticket.set_signature(signature);
  return ticket.SerializeAsString();
}

absl::StatusOr<v1::TicketClaims> VerifyTicket(std::string_view ticket, std::span<const std::string> public_keys) {
  v1::Ticket parsed;
  v1::TicketClaims claims;
  if (ticket.size() > kMostTicketBytes || !parsed.ParseFromArray(ticket.data(), static_cast<int>(ticket.size())) ||
      !claims.ParseFromString(parsed.claims())) {
    return absl::UnauthenticatedError("the caller's ticket is damaged");
  }
  for (const std::string& key : public_keys) {
    if (key.size() != kPublicKeyBytes || IdOf(key) != parsed.key()) continue;
    if (IsSignedBy(parsed, key)) return claims;
    return absl::UnauthenticatedError("the caller's ticket is forged: its signature is wrong");
  }
  return absl::UnauthenticatedError(
      "the caller's ticket is signed with a key that this worker does not know: the coordinator has replaced it, or "
      "another coordinator has signed it");
}

}  // namespace penstock::server
