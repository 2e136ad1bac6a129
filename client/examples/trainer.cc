// A small trainer on Penstock's public API: softmax regression on images that are reduced to 16x16. The job has the
// columns "image" (uint8, height x width x 3) and "label" (one int64 each). Prints numbers that compare two runs.
//
//   trainer --job NAME [--coordinator HOST:PORT] [--epochs N] [--epoch FIRST] [--rank R --world-size W]
//           [--batch-size N] [--state FILE] [--classes N|auto] [--pace MS]
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <thread>

#include "penstock/client.h"
#include "softmax_model.h"

namespace {

struct Flags {
  penstock::ConnectOptions connect;
  penstock::ReaderOptions reader;
  std::string state_file;
  int classes = 0;  // grows
  int pace_ms = 0;
};

[[noreturn]] void Fail(const std::string& message) {
  std::fprintf(stderr, "trainer: %s\n", message.c_str());
  std::exit(1);
}

constexpr char kUsage[] =
    "usage: trainer --job NAME [option ...]\n"
    "\n"
    "  --coordinator HOST:PORT   PENSTOCK_COORDINATOR, else localhost:7070\n"
    "  --epochs N                epochs to read (1); the one begun in counts\n"
    "  --epoch N                 the first epoch (0)\n"
    "  --rank R --world-size W   this trainer's place among those that share each batch (0 of 1)\n"
    "  --batch-size N            rows of the global batch (the job's)\n"
    "  --state FILE              go on from FILE where there is one; saved after each step\n"
    "  --classes N|auto          classes of the model (auto: as labels come)\n"
    "  --pace MS                 computing time that each step is made to take at least (0)\n";

Flags ParseFlags(int argc, char** argv) {
  Flags flags;
  for (int i = 1; i < argc; ++i) {
    std::string name = argv[i], value;
    if (name == "--help" || name == "-h") {
      std::fputs(kUsage, stdout);
      std::exit(0);
    }
    const size_t equals = name.find('=');
    if (equals != std::string::npos) {
      value = name.substr(equals + 1);
      name.resize(equals);
    } else if (++i < argc) {
      value = argv[i];
    } else {
      Fail(name + " needs a value\n" + kUsage);
    }
    const auto number = [&]() -> uint64_t {
      char* end = nullptr;
      const unsigned long long parsed = std::strtoull(value.c_str(), &end, 10);
      if (value.empty() || value[0] == '-' || *end != '\0') Fail(name + " takes a number, not \"" + value + "\"");
      return parsed;
    };
    if (name == "--coordinator") {
      flags.connect.coordinator = value;
    } else if (name == "--job") {
      flags.reader.job = value;
    } else if (name == "--epochs") {
      flags.reader.epochs = number();
    } else if (name == "--epoch") {
      flags.reader.epoch = number();
    } else if (name == "--rank") {
      flags.reader.rank = static_cast<uint32_t>(number());
    } else if (name == "--world-size") {
      flags.reader.world_size = static_cast<uint32_t>(number());
    } else if (name == "--batch-size") {
      flags.reader.batch_size = static_cast<uint32_t>(number());
    } else if (name == "--state") {
      flags.state_file = value;
    } else if (name == "--classes") {
      flags.classes = value == "auto" ? 0 : static_cast<int>(number());
    } else if (name == "--pace") {
      flags.pace_ms = static_cast<int>(number());
    } else {
      Fail("unknown option " + name + "\n" + kUsage);
    }
  }
  if (flags.reader.job.empty()) Fail(std::string("--job is missing\n") + kUsage);
  return flags;
}

std::string ReadFile(const std::string& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

// Writes a temporary file and renames it to `path`, so that a crash leaves the old state or the new one.
void WriteState(const std::string& path, const std::string& state) {
  const std::string temporary = path + ".new";
  std::ofstream out(temporary, std::ios::trunc);
  out << state << "\n";
  out.close();
  if (!out || std::rename(temporary.c_str(), path.c_str()) != 0) Fail("cannot write " + path);
}

// A checksum of ids, labels and pixels in the order of their delivery, which is equal for equal runs. FNV-1a on words
// of 64 bits. Folds the high bits back, which the multiplication alone does not do.
class Digest {
 public:
  void Add(int64_t value) {
    hash_ = (hash_ ^ static_cast<uint64_t>(value)) * 0x9e3779b97f4a7c15u;
    hash_ ^= hash_ >> 32;
  }
  void AddBytes(const void* bytes, size_t count) {
    const char* at = static_cast<const char*>(bytes);
    for (; count >= 8; at += 8, count -= 8) {
      int64_t word;
      std::memcpy(&word, at, 8);
      Add(word);
    }
    for (; count > 0; ++at, --count) Add(*at);
  }
  uint64_t value() const { return hash_; }

 private:
  uint64_t hash_ = 0xcbf29ce484222325u;
};

double Seconds(absl::Duration duration) { return absl::ToDoubleSeconds(duration); }

// The results of one epoch.
struct Epoch {
  SoftmaxModel::Result result;
  Digest digest;
  uint64_t steps = 0;
  uint64_t rows = 0;
  double waited = 0;
  double longest_wait = 0;
  std::chrono::steady_clock::time_point begin = std::chrono::steady_clock::now();

  void Print(uint64_t number) const {
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    const double trained = result.rows > 0 ? static_cast<double>(result.rows) : 1;
    std::printf(
        "epoch %llu: loss %.4f, accuracy %.4f, %llu rows in %.2f s, %.0f rows/s, waited %.3f s, longest wait %.3f s, "
        "digest %016llx\n",
        static_cast<unsigned long long>(number), result.loss / trained, static_cast<double>(result.correct) / trained,
        static_cast<unsigned long long>(rows), seconds, static_cast<double>(rows) / seconds, waited, longest_wait,
        static_cast<unsigned long long>(digest.value()));
    std::fflush(stdout);
  }
};

void CheckColumns(const penstock::Reader& reader) {
  bool image = false, label = false;
  for (const penstock::ColumnInfo& column : reader.columns()) {
    image = image || (column.name == "image" && column.type == penstock::ElementType::kUint8 && !column.ragged &&
                      column.shape.size() == 3 && column.shape[0] >= SoftmaxModel::kSide &&
                      column.shape[1] >= SoftmaxModel::kSide && column.shape[2] == SoftmaxModel::kChannels);
    label = label || (column.name == "label" && column.type == penstock::ElementType::kInt64 && !column.ragged &&
                      column.shape.empty());
  }
  if (!image) Fail("the job has no column \"image\" of uint8 [height, width, 3], 16 pixels each way at least");
  if (!label) Fail("the job has no column \"label\" of one int64 a row");
}

}  // namespace

int main(int argc, char** argv) {
  Flags flags = ParseFlags(argc, argv);
  if (!flags.state_file.empty()) flags.reader.state = ReadFile(flags.state_file);
  auto opened = penstock::Reader::Open(flags.connect, flags.reader);
  if (!opened.ok()) Fail(opened.status().ToString());
  const std::unique_ptr<penstock::Reader> reader = *std::move(opened);
  CheckColumns(*reader);

  SoftmaxModel model(flags.classes);
  Epoch epoch;
  uint64_t number = 0;
  uint64_t steps_in_epoch = reader->steps_per_epoch();  // the epoch of the next batch
  double waited_before = 0;
  for (const penstock::Batch& batch : reader->Batches()) {
    if (epoch.steps > 0 && batch.epoch() != number) {
      epoch.Print(number);
      epoch = Epoch();
    }
    number = batch.epoch();
    const double waited = Seconds(reader->Stats().waited) - waited_before;
    waited_before += waited;
    epoch.waited += waited;
    // The first wait of a run includes the connection.
    if (reader->Stats().batches > 1 && waited > epoch.longest_wait) epoch.longest_wait = waited;

    const auto begin = std::chrono::steady_clock::now();
    const penstock::ColumnView& image = batch.column("image");
    const absl::Span<const int64_t> labels = batch.column("label").data<int64_t>();
    for (size_t row = 0; row < batch.rows(); ++row) {
      if (batch.valid()[row] != 0 && (labels[row] < 0 || labels[row] > 100000)) {
        Fail("label " + std::to_string(labels[row]) + " is no class");
      }
      epoch.digest.Add(batch.ids()[row].shard);
      epoch.digest.Add(batch.ids()[row].record);
      epoch.digest.Add(labels[row]);
    }
    epoch.digest.AddBytes(image.raw(), image.bytes());
    const SoftmaxModel::Result step =
        model.Train(image.data<uint8_t>().data(), labels.data(), batch.valid().data(), batch.rows(),
                    static_cast<int>(image.info().shape[0]), static_cast<int>(image.info().shape[1]));
    epoch.result.loss += step.loss;
    epoch.result.correct += step.correct;
    epoch.result.rows += step.rows;
    epoch.rows += batch.rows();
    ++epoch.steps;
    if (flags.pace_ms > 0) std::this_thread::sleep_until(begin + std::chrono::milliseconds(flags.pace_ms));
    const double trained = step.rows > 0 ? static_cast<double>(step.rows) : 1;
    std::printf("epoch %llu step %llu/%llu loss %.4f waited %.3f s\n", static_cast<unsigned long long>(number),
                static_cast<unsigned long long>(batch.step() + 1), static_cast<unsigned long long>(steps_in_epoch),
                step.loss / trained, waited);
    std::fflush(stdout);
    if (!flags.state_file.empty()) WriteState(flags.state_file, reader->SaveState());
    steps_in_epoch = reader->steps_per_epoch();  // epochs differ if the job changes its batch size
  }
  if (!reader->status().ok()) Fail(reader->status().ToString());
  if (epoch.steps > 0) epoch.Print(number);
  return 0;
}
