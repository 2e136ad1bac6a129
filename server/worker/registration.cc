#include "server/worker/registration.h"

#include <cstddef>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/host_name.h"
#include "base/runtime/random_source.h"
#include "base/status_macros.h"
#include "base/utf8.h"
#include "base/version.h"
#include "net/protocols_proto.h"
#include "pipeline/augment/conformance.h"
#include "server/worker/link/identity.h"

namespace penstock::worker {
namespace {

// Limit for the description of a memory budget's source.
constexpr size_t kSourceBytes = 512;

}  // namespace

absl::StatusOr<v1::RegisterWorkerRequest> RegistrationOf(const WorkerOptions& options, const std::string& id,
                                                         net::Address listening, const std::string& local) {
  v1::RegisterWorkerRequest registration;
  registration.set_id(id);
  registration.set_incarnation(NewIncarnation(RandomSource::Real()));
  const int port = listening.port;
  // Clients cannot connect to "any address".
  if (listening.host == "0.0.0.0" || listening.host == "::") listening.host = HostName();
  registration.set_address(options.advertise.empty() ? listening.ToString() : options.advertise);
  if (options.certificates != nullptr) {
    PS_ASSIGN_OR_RETURN(const net::Address to, net::ParseAddress(registration.address()));
    PS_ASSIGN_OR_RETURN(*registration.mutable_tls_name(),
                        NameInCertificate(*options.certificates, options.tls_name, to.host));
  }
  registration.set_host(HostName());
  registration.set_name(options.name.empty() ? absl::StrCat(HostName(), ":", port) : options.name);
  registration.set_threads(static_cast<uint32_t>(options.host.loader.threads));
  registration.set_memory_budget_bytes(options.host.loader.memory_budget_bytes);
  registration.set_memory_budget_source(TruncatedUtf8(options.memory_budget_source, kSourceBytes));
  registration.set_local(local);
  registration.set_conformance_digest(augment::ConformanceDigest());
  for (const sources::DataRoot& root : options.roots) registration.add_roots(root.name);
  registration.set_version(std::string(Version()));
  *registration.mutable_protocols() = net::ToProto(kProtocols);
  return registration;
}

}  // namespace penstock::worker
