// What a coordinator's status and the probes of its workers mean for `penstock doctor`. Pure.
#ifndef PENSTOCK_CLIENT_CLI_DOCTOR_DIAGNOSIS_H_
#define PENSTOCK_CLIENT_CLI_DOCTOR_DIAGNOSIS_H_

#include <string>

#include "absl/time/time.h"
#include "client/cli/doctor/check_line.h"
#include "client/cli/doctor/worker_probe.h"
#include "penstock/v1/control.pb.h"

namespace penstock::cli {

// A status as this host received it. A coordinator of an earlier release leaves fields of it empty.
struct ReceivedStatus {
  v1::StatusReply status;
  std::string address;         // the coordinator's
  bool tls = false;            // this host's connections use TLS
  bool token = false;          // this host has a token
  absl::Time asked, received;  // this host's clock before and after the call
};

void DiagnoseCoordinator(const ReceivedStatus& received, CheckLines* lines);

// `host` is the name of this host. Adds nothing for a worker that has left.
void DiagnoseWorker(const ReceivedStatus& received, const v1::WorkerStatus& worker, const WorkerProbe& probe,
                    const std::string& host, CheckLines* lines);

}  // namespace penstock::cli

#endif  // PENSTOCK_CLIENT_CLI_DOCTOR_DIAGNOSIS_H_
