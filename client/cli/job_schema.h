// The messages of a job file as data, for programs that create job files.
#ifndef PENSTOCK_CLIENT_CLI_JOB_SCHEMA_H_
#define PENSTOCK_CLIENT_CLI_JOB_SCHEMA_H_

#include <string>

namespace penstock::cli {

// Returns one JSON object:
//   root       the message of a job file
//   messages   by name (without the package), each with `comment` and `fields`: `name`, `type` (a type of
//              protobuf's, or `message`, `enum`), `of` (the message's or the enum's name), `label` (`single`,
//              `repeated`, `map`: then `key` and `type` are those of the entries), `presence` (whether unset differs
//              from the type's zero), `oneof` ("" for none) and `comment`
//   enums      by name, each with `comment` and `values`: `name`, `number`, `comment`
// Comments are those of the .proto files.
std::string JobSchemaJson();

}  // namespace penstock::cli

#endif  // PENSTOCK_CLIENT_CLI_JOB_SCHEMA_H_
