#include "pipeline/image/jpeg/restart_jpeg.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "pipeline/image/jpeg/jpeg_errors.h"
#include "pipeline/image/jpeg/jpeg_markers.h"
#include "pipeline/image/jpeg/restart_table.h"
#include "pipeline/image/jpeg/tile_walker.h"
// Must follow jpeglib.h.
#include <jerror.h>

namespace penstock::image {
namespace {

constexpr int kWantedInterval = 4;

absl::Status Stays(const std::string& why) {
  return absl::FailedPreconditionError(absl::StrCat("not restart-indexed: ", why));
}

// Output memory that grows as libjpeg writes. The memory of jpeg_mem_dest would leak if an error ended the writing.
struct Destination {
  jpeg_destination_mgr base;  // first: libjpeg passes a pointer to it
  unsigned char* bytes = nullptr;
  size_t capacity = 0, size = 0;

  ~Destination() { std::free(bytes); }
  void Grow(j_compress_ptr cinfo, size_t to) {
    void* grown = std::realloc(bytes, to);
    if (grown == nullptr) ERREXIT1(cinfo, JERR_OUT_OF_MEMORY, 0);
    bytes = static_cast<unsigned char*>(grown);
    base.next_output_byte = bytes + capacity;
    base.free_in_buffer = to - capacity;
    capacity = to;
  }
};

Destination* DestinationOf(j_compress_ptr cinfo) { return reinterpret_cast<Destination*>(cinfo->dest); }

void StartWriting(j_compress_ptr cinfo) { DestinationOf(cinfo)->Grow(cinfo, size_t{64} << 10); }

boolean GoOnWriting(j_compress_ptr cinfo) {
  DestinationOf(cinfo)->Grow(cinfo, 2 * DestinationOf(cinfo)->capacity);
  return TRUE;
}

void EndWriting(j_compress_ptr cinfo) {
  Destination* destination = DestinationOf(cinfo);
  destination->size = destination->capacity - destination->base.free_in_buffer;
}

bool IsTableMarker(const jpeg_marker_struct& marker) {
  const std::string_view payload(reinterpret_cast<const char*>(marker.data), marker.data_length);
  return IsTileTableSegment({.marker = marker.marker, .payload = payload});
}

void ReadFrom(jpeg_decompress_struct* cinfo, std::string_view bytes) {
  jpeg_mem_src(cinfo, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
}

// One transcoding. The member functions that return bool are fenced by setjmp. They return false if libjpeg reported an
// error.
class Transcoder {
 public:
  Transcoder() {
    source_.err = result_.err = check_.err = errors_.Install();
    if (setjmp(errors_.back) != 0) PS_CHECK(!"libjpeg has the version it was compiled against");
    jpeg_create_decompress(&source_);
    jpeg_create_decompress(&check_);
    jpeg_create_compress(&result_);
    destination_.base.init_destination = StartWriting;
    destination_.base.empty_output_buffer = GoOnWriting;
    destination_.base.term_destination = EndWriting;
    result_.dest = &destination_.base;
  }
  ~Transcoder() {
    jpeg_destroy_compress(&result_);
    jpeg_destroy_decompress(&check_);
    jpeg_destroy_decompress(&source_);
  }
  Transcoder(const Transcoder&) = delete;
  Transcoder& operator=(const Transcoder&) = delete;

  bool Read(std::string_view jpeg);
  bool Write(int interval);
  // Compares `jpeg` with the data of Read(). Sets *same only if it returns true.
  bool Compare(std::string_view jpeg, bool* same);

  absl::Status error() const { return errors_.ToStatus(); }
  std::string_view written() const { return {reinterpret_cast<const char*>(destination_.bytes), destination_.size}; }
  // Returns the number of source bytes after its end-of-image marker.
  size_t trailing_bytes() const { return trailing_; }

 private:
  bool SameHeader();
  bool SameCoefficients(int component);

  JpegErrors errors_{};
  jpeg_decompress_struct source_{}, check_{};
  jpeg_compress_struct result_{};
  Destination destination_;
  jvirt_barray_ptr* coefficients_ = nullptr;
  jvirt_barray_ptr* check_coefficients_ = nullptr;
  size_t trailing_ = 0;
};

bool Transcoder::Read(std::string_view jpeg) {
  errors_.Reset(/*is_strict=*/true);
  if (setjmp(errors_.back) != 0) return false;
  for (int app = 0; app < 16; ++app) jpeg_save_markers(&source_, JPEG_APP0 + app, 0xFFFF);
  jpeg_save_markers(&source_, JPEG_COM, 0xFFFF);
  ReadFrom(&source_, jpeg);
  jpeg_read_header(&source_, TRUE);
  errors_.in_scan = true;
  coefficients_ = jpeg_read_coefficients(&source_);  // reads up to the end-of-image marker
  trailing_ = source_.src->bytes_in_buffer;
  return true;
}

bool Transcoder::Write(int interval) {
  errors_.Reset(/*is_strict=*/true);
  if (setjmp(errors_.back) != 0) return false;
  jpeg_copy_critical_parameters(&source_, &result_);
  result_.optimize_coding = TRUE;
  result_.restart_interval = static_cast<unsigned>(interval);
  // The source's own markers, in their order, replace those of libjpeg.
  result_.write_JFIF_header = FALSE;
  result_.write_Adobe_marker = FALSE;
  jpeg_write_coefficients(&result_, coefficients_);
  for (const jpeg_marker_struct* m = source_.marker_list; m != nullptr; m = m->next) {
    if (!IsTableMarker(*m)) jpeg_write_marker(&result_, m->marker, m->data, m->data_length);
  }
  jpeg_finish_compress(&result_);
  return true;
}

bool Transcoder::SameHeader() {
  if (source_.image_width != check_.image_width || source_.image_height != check_.image_height ||
      source_.num_components != check_.num_components || source_.jpeg_color_space != check_.jpeg_color_space) {
    return false;
  }
  const jpeg_marker_struct* a = source_.marker_list;
  const jpeg_marker_struct* b = check_.marker_list;
  while (true) {
    while (a != nullptr && IsTableMarker(*a)) a = a->next;
    while (b != nullptr && IsTableMarker(*b)) b = b->next;
    if (a == nullptr || b == nullptr) return a == b;
    if (a->marker != b->marker || a->data_length != b->data_length ||
        std::memcmp(a->data, b->data, a->data_length) != 0) {
      return false;
    }
    a = a->next;
    b = b->next;
  }
}

bool Transcoder::SameCoefficients(int component) {
  const jpeg_component_info& a = source_.comp_info[component];
  const jpeg_component_info& b = check_.comp_info[component];
  if (a.component_id != b.component_id || a.h_samp_factor != b.h_samp_factor || a.v_samp_factor != b.v_samp_factor ||
      a.width_in_blocks != b.width_in_blocks || a.height_in_blocks != b.height_in_blocks ||
      std::memcmp(a.quant_table->quantval, b.quant_table->quantval, sizeof(a.quant_table->quantval)) != 0) {
    return false;
  }
  for (JDIMENSION row = 0; row < a.height_in_blocks; ++row) {
    const auto of = [row](jpeg_decompress_struct* cinfo, jvirt_barray_ptr blocks) {
      return (*cinfo->mem->access_virt_barray)(reinterpret_cast<j_common_ptr>(cinfo), blocks, row, 1, FALSE)[0];
    };
    if (std::memcmp(of(&source_, coefficients_[component]), of(&check_, check_coefficients_[component]),
                    a.width_in_blocks * sizeof(JBLOCK)) != 0) {
      return false;
    }
  }
  return true;
}

bool Transcoder::Compare(std::string_view jpeg, bool* same) {
  errors_.Reset(/*is_strict=*/true);
  if (setjmp(errors_.back) != 0) return false;
  for (int app = 0; app < 16; ++app) jpeg_save_markers(&check_, JPEG_APP0 + app, 0xFFFF);
  jpeg_save_markers(&check_, JPEG_COM, 0xFFFF);
  ReadFrom(&check_, jpeg);
  jpeg_read_header(&check_, TRUE);
  errors_.in_scan = true;
  check_coefficients_ = jpeg_read_coefficients(&check_);
  *same = SameHeader();
  for (int c = 0; *same && c < source_.num_components; ++c) *same = SameCoefficients(c);
  return true;
}

// Returns the lengths of the runs between the markers of a scan that libjpeg wrote, or nullopt if one is too long.
std::optional<std::vector<uint16_t>> TileLengths(std::string_view jpeg, size_t scan_at) {
  std::vector<uint16_t> lengths;
  size_t begin = scan_at;
  for (size_t at = scan_at; (at = jpeg.find('\xFF', at)) != std::string_view::npos && at + 1 < jpeg.size(); at += 2) {
    if (jpeg[at + 1] == 0) continue;
    if (at - begin > kMaxTileBytes) return std::nullopt;
    lengths.push_back(static_cast<uint16_t>(at - begin));
    if (jpeg[at + 1] == '\xD9') break;
    begin = at + 2;
  }
  return lengths;
}

// Returns the offset of the first segment that is not metadata. The table goes there, after the application segments,
// because those of JFIF and EXIF must be first.
size_t BehindMetadata(std::string_view jpeg) {
  size_t at = 2;
  while (true) {
    const auto segment = ReadJpegSegment(jpeg, at);
    if (!segment ||
        !((segment->marker >= JPEG_APP0 && segment->marker <= JPEG_APP0 + 15) || segment->marker == JPEG_COM)) {
      return at;
    }
    at = segment->end();
  }
}

// Returns FailedPrecondition if the rewrite would change the meaning of a header that ReadTileGrid accepted.
absl::Status CheckMetadata(std::string_view jpeg) {
  bool have_frame = false;
  size_t at = 2;
  while (true) {
    const auto segment = ReadJpegSegment(jpeg, at);
    if (!segment || segment->marker == jpeg_marker::kStartOfScan) return absl::OkStatus();
    if (segment->marker >= JPEG_APP0 && segment->marker <= JPEG_APP0 + 15) {
      if (segment->payload.substr(0, 4) == std::string_view("MPF\0", 4)) {
        return Stays("it holds several pictures (MPO), whose offsets would be wrong");
      }
      if (have_frame) return Stays("it has application segments behind its frame header, which would come before it");
    }
    have_frame = have_frame || segment->marker == jpeg_marker::kBaseline || segment->marker == jpeg_marker::kExtended;
    at = segment->end();
  }
}

absl::Status CheckKind(const ImageHeader& header, std::string_view jpeg) {
  if (header.format != ImageFormat::kJpeg) {
    return absl::InvalidArgumentError(
        absl::StrCat("not a JPEG but a ", std::string(ImageFormatName(header.format)), ": nothing to index"));
  }
  if (header.progressive) return Stays("it is progressive");
  if (header.components != 1 && header.components != 3) {
    return Stays(absl::StrCat("it has ", header.components, " components; 1 and 3 are indexed"));
  }
  if (header.several_scans) return Stays("its components come in several scans");
  if (!ReadTileGrid(jpeg)) {
    return Stays(
        "its header is none of plain baseline JPEG (arithmetic coding, 12 bits, bytes between segments, or sampling "
        "factors that do not divide each other)");
  }
  return CheckMetadata(jpeg);
}

}  // namespace

int TileInterval(size_t bytes, int mcus_per_row, int rows) {
  // Bytes per tile: marker 2, entry 2, half a byte of padding, and the DC values that restart from 0.
  constexpr size_t kTileBytes = 7;
  // Markers and table may take 1 / kShare of the file.
  constexpr size_t kShare = 60;
  int best = mcus_per_row;
  const auto far = [](int interval) {
    const int more = std::max(interval, kWantedInterval), less = std::min(interval, kWantedInterval);
    return static_cast<double>(more) / less;
  };
  for (int interval = mcus_per_row - 1; interval > 0; --interval) {
    if (mcus_per_row % interval != 0) continue;
    const size_t tiles = static_cast<size_t>(mcus_per_row / interval) * static_cast<size_t>(rows);
    if (tiles * kTileBytes <= bytes / kShare && far(interval) <= far(best)) best = interval;
  }
  return best;
}

absl::StatusOr<std::string> AddRestartIndex(std::string_view jpeg, const ImageLimits& limits, int interval) {
  PS_ASSIGN_OR_RETURN(const ImageHeader header, ProbeImage(jpeg));
  PS_RETURN_IF_ERROR(CheckKind(header, jpeg));
  PS_RETURN_IF_ERROR(CheckLimits(header, limits));
  const TileGrid grid = *ReadTileGrid(jpeg);
  if (interval == 0) interval = TileInterval(jpeg.size(), grid.mcus_per_row(), grid.rows);
  if (interval < 0 || grid.mcus_per_row() % interval != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("tiles of ", interval, " MCUs do not divide a row of ", grid.mcus_per_row()));
  }

  Transcoder transcoder;
  if (!transcoder.Read(jpeg)) return transcoder.error();
  if (!transcoder.Write(interval)) return Stays(std::string(transcoder.error().message()));
  const std::string_view written = transcoder.written();
  const auto new_grid = ReadTileGrid(written);
  PS_CHECK(new_grid.has_value() &&
           new_grid->tiles() == static_cast<int64_t>(grid.mcus_per_row() / interval) * grid.rows);
  const auto lengths = TileLengths(written, new_grid->scan_at);
  if (!lengths) return Stays(absl::StrCat("a tile of ", interval, " MCUs has 64 KiB or more"));
  const std::string table_bytes = WriteTileTable(interval, *lengths);
  if (table_bytes.empty()) return Stays(absl::StrCat("it has ", lengths->size(), " tiles, more than a table holds"));

  const size_t behind = BehindMetadata(written);
  std::string result;
  result.reserve(written.size() + table_bytes.size() + transcoder.trailing_bytes());
  result.append(written.substr(0, behind)).append(table_bytes).append(written.substr(behind));
  result.append(jpeg.substr(jpeg.size() - transcoder.trailing_bytes()));

  bool same = false;
  const bool read_back = transcoder.Compare(result, &same);
  const auto table = TileTable::Read(result);
  if (!read_back || !same || !table || !MarkersMatch(result, *table, table->grid().tiles() - 1)) {
    return Stays(read_back ? "the JPEG that libjpeg wrote differs from its input"
                           : std::string(transcoder.error().message()));
  }
  return result;
}

}  // namespace penstock::image
