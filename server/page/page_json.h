// Replies of the coordinator as JSON for the web page.
#ifndef PENSTOCK_SERVER_PAGE_PAGE_JSON_H_
#define PENSTOCK_SERVER_PAGE_PAGE_JSON_H_

#include <cstddef>
#include <string>

#include "penstock/v1/control.pb.h"
#include "penstock/v1/explain.pb.h"

namespace penstock::server {

// Returns the explanations, each with its sentence, and the address of the coordinator for commands.
std::string ExplainJson(const v1::ExplainReply& reply, const std::string& coordinator);

// Returns up to `most` shards, those without an index first, and the number of the others.
std::string ShardsJson(const v1::ListShardsReply& reply, size_t most);

}  // namespace penstock::server

#endif  // PENSTOCK_SERVER_PAGE_PAGE_JSON_H_
