#include "base/host_cpu.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>

namespace penstock {
namespace {

double Seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

}  // namespace

HostCpu UsedCpu(const std::string& stat) {
  HostCpu host;
  host.cpus = std::max(1, static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)));
  std::ifstream in(stat);
  std::string line, word;
  if (!std::getline(in, line)) return host;
  // "cpu" user nice system idle iowait irq softirq steal ..., in ticks.
  std::istringstream words(line);
  double ticks[8] = {};
  words >> word;
  for (double& each : ticks) {
    if (!(words >> each)) each = 0;
  }
  const double busy = ticks[0] + ticks[1] + ticks[2] + ticks[5] + ticks[6] + ticks[7];
  rusage own;
  if (getrusage(RUSAGE_SELF, &own) != 0) return host;
  host.others_seconds =
      std::max(0.0, busy / static_cast<double>(sysconf(_SC_CLK_TCK)) - Seconds(own.ru_utime) - Seconds(own.ru_stime));
  return host;
}

}  // namespace penstock
