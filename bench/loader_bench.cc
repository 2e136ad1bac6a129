// Rows per second of the loader in this process, against a plain loop with as many threads.
//
//   loader_bench [--folder=DIR] [--rows=2000] [--threads=N] [--pairs=5] [--resize=OPENCV_LINEAR|PIL] [--batch=64]
//                [--cache=MIB] [--only=loader|loop|cold]
// loader_bench --tiny=RECORDS [--threads=N] [--batch=64]     records of a few numbers: the minimal cost of a row
//
// DIR: a folder of JPEGs, repeated to --rows records (default: generated images). The records are TFRecords in a
// temporary folder, which the loader reads through the page cache. The loop has its JPEGs in memory. Each pair runs
// both on the same epoch. The ratio of each pair is the result, because other work on the machine disturbs both. With
// OPENCV_LINEAR both make the same pixels, which the program checks once at the start. Each run uses a new loader, so
// its time includes the start of threads and the first access to memory. --only=cold: drops the files from the page
// cache before each run, and compares the loader's read-ahead with none.
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/cgroup.h"
#include "base/file.h"
#include "bench/bench_support.h"
#include "bench/plain_loop.h"
#include "pipeline/loader/local_steps.h"
#include "pipeline/loader/open_dataset.h"
#include "pipeline/records/example_builder.h"
#include "pipeline/sources/index_store.h"
#include "pipeline/storage/posix_storage.h"
#include "tests/support/test_dataset.h"

namespace penstock::bench {
namespace {

std::vector<std::string> ReadJpegs(const std::string& folder, size_t rows) {
  std::vector<std::string> files, jpegs;
  if (!folder.empty()) {
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      const std::string suffix = entry.path().extension().string();
      if (suffix == ".jpg" || suffix == ".jpeg" || suffix == ".JPEG") files.push_back(entry.path().string());
    }
    std::sort(files.begin(), files.end());
  }
  for (size_t i = 0; i < rows; ++i) {
    if (i >= 100 && files.empty()) {
      jpegs.push_back(jpegs[i % 100]);
    } else if (files.empty()) {
      jpegs.push_back(support::MakeTestJpeg(500, 375, i));
    } else if (i >= files.size()) {
      jpegs.push_back(jpegs[i % files.size()]);
    } else {
      jpegs.push_back(ReadWholeFile(files[i]).value());
    }
  }
  return jpegs;
}

v1::JobSpec MakeJob(const std::vector<std::string>& jpegs, const std::string& folder, const std::string& resize,
                    uint32_t batch) {
  std::vector<std::string> records;
  for (size_t i = 0; i < jpegs.size(); ++i) {
    records.push_back(records::ExampleBuilder()
                          .Bytes("image/encoded", jpegs[i])
                          .Int64("image/class/label", static_cast<int64_t>(i % 1000))
                          .Serialize());
  }
  const size_t shards = 4;
  for (size_t s = 0; s < shards; ++s) {
    const auto first = records.begin() + static_cast<ptrdiff_t>(s * records.size() / shards);
    const auto last = records.begin() + static_cast<ptrdiff_t>((s + 1) * records.size() / shards);
    support::WriteShard(folder + "/data-" + std::to_string(s), {first, last});
  }
  v1::JobSpec job;
  job.set_name("bench");
  job.add_dataset()->add_files(folder + "/data-*");
  v1::Feature* image = job.add_features();
  image->set_key("image/encoded");
  image->set_column("image");
  image->set_type(v1::Feature::BYTES);
  v1::Feature* label = job.add_features();
  label->set_key("image/class/label");
  label->set_column("label");
  label->set_type(v1::Feature::INT64);
  job.add_ops()->mutable_decode_image();
  v1::RandomResizedCrop* crop = job.add_ops()->mutable_random_resized_crop();
  crop->set_height(224);
  crop->set_width(224);
  crop->set_resize(resize == "PIL" ? v1::PIL : v1::OPENCV_LINEAR);
  job.add_ops()->mutable_random_horizontal_flip();
  job.mutable_order()->set_seed(17);
  job.mutable_batch()->set_size(batch);
  job.mutable_batch()->set_last(v1::PARTIAL);
  return job;
}

template <typename T>
T ValueOrExit(absl::StatusOr<T> value) {
  if (value.ok()) return *std::move(value);
  std::fprintf(stderr, "%s\n", value.status().ToString().c_str());
  std::exit(1);
}

std::shared_ptr<const loader::LoadJob> OpenJob(const v1::JobSpec& spec, const std::vector<sources::DataRoot>& roots,
                                               const std::string& index_dir, int threads) {
  std::optional<sources::IndexStore> indexes;
  if (!index_dir.empty()) indexes = sources::IndexStore::InStateDir(storage::LocalFiles(), index_dir);
  return ValueOrExit(loader::LoadJob::Create(
      spec, ValueOrExit(loader::OpenDataset(storage::LocalFiles(), spec, roots, indexes, threads))));
}

// Returns the sum of all rows' pixels if `sum_up` is set, and 0 otherwise.
uint64_t RunLoader(const std::shared_ptr<const loader::LoadJob>& job, const loader::LoaderOptions& options,
                   uint64_t epoch, bool sum_up) {
  const std::unique_ptr<loader::Loader> loader = ValueOrExit(loader::Loader::Create(options));
  loader::LocalStepsOptions steps;
  steps.read.start.epoch = epoch;
  const std::unique_ptr<loader::LocalSteps> local = ValueOrExit(loader::LocalSteps::Open(loader.get(), job, steps));
  uint64_t sum = 0;
  while (const std::optional<loader::LocalSteps::Step> step = ValueOrExit(local->Next())) {
    for (size_t i = 0; sum_up && i < step->rows->size(); ++i) {
      const std::string_view pixels = step->rows->Column(0, i);
      sum += SumOfRow(reinterpret_cast<const uint8_t*>(pixels.data()), pixels.size());
    }
  }
  return sum;
}

void DropFromPageCache(const std::string& folder) {
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const int fd = open(entry.path().c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) continue;
    fdatasync(fd);  // dirty pages would stay in the page cache
    posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    close(fd);
  }
}

// Rows without images, so that everything except their content counts.
int RunTiny(int records, int threads, uint32_t batch) {
  support::TempFolder folder;
  support::NumberDatasetOptions numbers;
  numbers.records_per_shard = records / numbers.shards;
  support::TestDataset set = support::MakeNumberDataset(numbers, folder.path());
  set.job.mutable_batch()->set_size(batch);
  set.job.mutable_order()->clear_chunk_records();
  set.job.mutable_order()->clear_window_chunks();
  loader::LoaderOptions options;
  options.threads = threads;
  for (int run = 0; run < 4; ++run) {
    uint64_t rows = 0;
    double first = 0, begin = SecondsOf(CLOCK_MONOTONIC);
    const Spent spent = TimeOf([&] {
      const auto job = OpenJob(set.job, set.roots, folder.File("state"), threads);
      const std::unique_ptr<loader::Loader> loader = ValueOrExit(loader::Loader::Create(options));
      const std::unique_ptr<loader::LocalSteps> local = ValueOrExit(loader::LocalSteps::Open(loader.get(), job, {}));
      while (const std::optional<loader::LocalSteps::Step> step = ValueOrExit(local->Next())) {
        if (rows == 0) first = SecondsOf(CLOCK_MONOTONIC) - begin;
        rows += step->rows->size();
      }
    });
    std::printf("%llu rows%s: %.0f rows/s, first batch after %.3f s, CPU us/row %.2f\n",
                static_cast<unsigned long long>(rows), run == 0 ? " (indexes built)" : "",
                static_cast<double>(rows) / spent.wall, first, 1e6 * spent.cpu / static_cast<double>(rows));
  }
  return 0;
}

// Reads from the disk, with and without read-ahead.
int RunCold(const std::shared_ptr<const loader::LoadJob>& job, loader::LoaderOptions options, size_t rows, int pairs,
            const std::string& folder) {
  const int ahead = options.read_ahead_rows;
  std::vector<double> ratios;
  for (int pair = 0; pair < pairs; ++pair) {
    double rates[2];
    for (const int side : {pair % 2, 1 - pair % 2}) {
      DropFromPageCache(folder);
      options.read_ahead_rows = side == 0 ? 0 : ahead;
      const uint64_t epoch = static_cast<uint64_t>(pair);
      rates[side] = static_cast<double>(rows) / TimeOf([&] { RunLoader(job, options, epoch, false); }).wall;
    }
    ratios.push_back(rates[1] / rates[0]);
    std::printf("pair %d: %.0f rows/s with read-ahead of %d rows, %.0f without, ratio %.3f\n", pair, rates[1], ahead,
                rates[0], ratios.back());
  }
  std::printf("read-ahead against none, rows/s: best %.3f, median %.3f\n",
              *std::max_element(ratios.begin(), ratios.end()), Median(ratios));
  return 0;
}

int Main(int argc, char** argv) {
  const int threads = std::stoi(Flag(argc, argv, "threads", std::to_string(AvailableCpus())));
  const size_t rows = std::stoull(Flag(argc, argv, "rows", "2000"));
  const int pairs = std::stoi(Flag(argc, argv, "pairs", "5"));
  const std::string resize = Flag(argc, argv, "resize", "OPENCV_LINEAR");
  const std::string only = Flag(argc, argv, "only", "");
  const uint32_t batch = static_cast<uint32_t>(std::stoul(Flag(argc, argv, "batch", "64")));
  if (const int tiny = std::stoi(Flag(argc, argv, "tiny", "0")); tiny > 0) return RunTiny(tiny, threads, batch);
  support::TempFolder folder;
  const std::vector<std::string> jpegs = ReadJpegs(Flag(argc, argv, "folder", ""), rows);
  const v1::JobSpec spec = MakeJob(jpegs, folder.path(), resize, batch);
  const auto job = OpenJob(spec, {{"data", folder.path()}}, "", threads);
  loader::LoaderOptions options;
  options.threads = threads;
  options.record_cache_bytes = std::stoull(Flag(argc, argv, "cache", "0")) << 20;
  std::printf("%zu rows, %d threads, %s, batch %u\n", rows, threads, resize.c_str(), spec.batch().size());
  if (only.empty() && resize == "OPENCV_LINEAR" &&
      RunLoader(job, options, 0, true) != RunPlainLoop(jpegs, spec, 0, threads, true)) {
    std::fprintf(stderr, "the loader and the loop made different pixels\n");
    return 1;
  }
  if (only == "cold") return RunCold(job, options, rows, pairs, folder.path());
  std::vector<double> wall_ratios, cpu_ratios;
  for (int pair = 0; pair < pairs; ++pair) {
    const uint64_t epoch = static_cast<uint64_t>(pair);
    Spent loader, loop;
    const auto run_loader = [&] { loader = TimeOf([&] { RunLoader(job, options, epoch, false); }); };
    const auto run_loop = [&] { loop = TimeOf([&] { RunPlainLoop(jpegs, spec, epoch, threads, false); }); };
    if (only == "loader") {
      run_loader();
      std::printf("loader %.0f rows/s, %.3f CPU ms/row\n", rows / loader.wall, 1e3 * loader.cpu / rows);
      continue;
    }
    if (only == "loop") {
      run_loop();
      std::printf("loop %.0f rows/s, %.3f CPU ms/row\n", rows / loop.wall, 1e3 * loop.cpu / rows);
      continue;
    }
    if (pair % 2 == 0) {  // each side is first in half of the pairs
      run_loader();
      run_loop();
    } else {
      run_loop();
      run_loader();
    }
    wall_ratios.push_back(loop.wall / loader.wall);
    cpu_ratios.push_back(loop.cpu / loader.cpu);
    std::printf("pair %d: loader %.0f rows/s, loop %.0f rows/s, ratio %.3f; CPU ms/row %.3f and %.3f, ratio %.3f\n",
                pair, rows / loader.wall, rows / loop.wall, wall_ratios.back(), 1e3 * loader.cpu / rows,
                1e3 * loop.cpu / rows, cpu_ratios.back());
  }
  if (!wall_ratios.empty()) {
    std::printf("loader against loop, rows/s: best %.3f, median %.3f; CPU: best %.3f, median %.3f\n",
                *std::max_element(wall_ratios.begin(), wall_ratios.end()), Median(wall_ratios),
                *std::max_element(cpu_ratios.begin(), cpu_ratios.end()), Median(cpu_ratios));
  }
  return 0;
}

}  // namespace
}  // namespace penstock::bench

int main(int argc, char** argv) { return penstock::bench::Main(argc, argv); }
