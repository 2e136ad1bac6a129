// The ops of a job's pipeline, with their fields and defaults. Reads them from the .proto files and job validation.
#ifndef PENSTOCK_CLIENT_CLI_OP_LIST_H_
#define PENSTOCK_CLIENT_CLI_OP_LIST_H_

#include <string>
#include <vector>

namespace penstock::cli {

struct OpField {
  std::string name;
  std::string type;      // "float", "RGB | GRAY", "Op"
  std::string fallback;  // default value as text; "" for a required field
  bool repeated = false;
  std::string comment;
};

struct ListedOp {
  std::string name;     // name in a job file: "random_crop"
  std::string comment;  // may be empty
  std::string family;   // comment of the op's file, about the common properties of its ops
  std::vector<OpField> fields;
};

// Returns the ops in the order of the .proto file.
std::vector<ListedOp> ListOps();

}  // namespace penstock::cli

#endif  // PENSTOCK_CLIENT_CLI_OP_LIST_H_
