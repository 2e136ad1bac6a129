#include "net/call_token.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace penstock::net {
namespace {

constexpr char kField[] = "authorization";
constexpr char kTicketField[] = "penstock-ticket-bin";  // "-bin": gRPC permits any bytes
constexpr absl::string_view kScheme = "Bearer ";

}  // namespace

void AddToken(grpc::ClientContext* context, const std::string& token) {
  if (!token.empty()) context->AddMetadata(kField, absl::StrCat(kScheme, token));
}

void AddTicket(grpc::ClientContext* context, const std::string& ticket) {
  if (!ticket.empty()) context->AddMetadata(kTicketField, ticket);
}

std::string_view TicketIn(const CallMetadata& metadata) {
  const auto found = metadata.find(kTicketField);
  return found == metadata.end() ? std::string_view() : std::string_view(found->second.data(), found->second.size());
}

std::string_view TokenIn(const CallMetadata& metadata) {
  const auto found = metadata.find(kField);
  if (found == metadata.end()) return "";
  return TokenInField(std::string_view(found->second.data(), found->second.size()));
}

std::string_view TokenInField(std::string_view value) {
  if (!absl::StartsWithIgnoreCase(absl::string_view(value.data(), value.size()), kScheme)) return "";
  return value.substr(kScheme.size());
}

}  // namespace penstock::net
