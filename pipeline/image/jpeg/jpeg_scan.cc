// Makes jpeglib.h include jpegint.h.
#define JPEG_INTERNALS
#include "pipeline/image/jpeg/jpeg_scan.h"

#include "pipeline/image/jpeg/inverse_dct.h"
#include "pipeline/image/jpeg/mcu_decoder.h"
#include "pipeline/image/jpeg/ycc_to_rgb.h"

namespace penstock::image {
namespace {

void Transform(j_decompress_ptr, jpeg_component_info* component, JCOEFPTR block, JSAMPARRAY rows, JDIMENSION column) {
  InverseDct(block, component->quant_table->quantval, rows, column);
}

// Replaces libjpeg's transform. Every component is in the scan, so each has its table.
void InstallTransform(jpeg_decompress_struct* cinfo) {
  if (!HasInverseDct()) return;
  for (int c = 0; c < cinfo->num_components; ++c) cinfo->idct->inverse_DCT[c] = Transform;
}

void ConvertRows(j_decompress_ptr cinfo, JSAMPIMAGE samples, JDIMENSION row, JSAMPARRAY out, int rows) {
  for (int r = 0; r < rows; ++r, ++row) {
    YccToRgb(samples[0][row], samples[1][row], samples[2][row], cinfo->output_width, out[r]);
  }
}

void InstallColors(jpeg_decompress_struct* cinfo) {
  if (!HasYccToRgb() || cinfo->jpeg_color_space != JCS_YCbCr || cinfo->out_color_space != JCS_RGB) return;
  cinfo->cconvert->color_convert = ConvertRows;
}

}  // namespace

struct JpegScan::State {
  // libjpeg holds a pointer to `base`.
  struct Hook {
    jpeg_entropy_decoder base;
    State* state;
  };

  static boolean DecodeMcu(j_decompress_ptr cinfo, JBLOCKROW* blocks);

  Hook hook{};
  McuDecoder mcus;
  std::array<HuffmanCode, NUM_HUFF_TBLS> dc, ac;
  JDIMENSION column = 0, columns = 0, first = 0, last = 0;
  bool gave_up = false;
};

// Runs inside libjpeg's setjmp fence: no object here, or in functions it calls, has a destructor.
boolean JpegScan::State::DecodeMcu(j_decompress_ptr cinfo, JBLOCKROW* blocks) {
  State* const state = reinterpret_cast<Hook*>(cinfo->entropy)->state;
  const bool wanted = blocks != nullptr && state->column >= state->first && state->column <= state->last;
  if (++state->column == state->columns) state->column = 0;
  if (!state->mcus.Next(wanted ? blocks : nullptr)) {
    state->gave_up = true;
    std::longjmp(reinterpret_cast<JpegErrors*>(cinfo->err)->back, 1);
  }
  return TRUE;
}

JpegScan::JpegScan() = default;
JpegScan::~JpegScan() = default;

void JpegScan::Prepare() {
  if (state_ == nullptr) state_ = std::make_unique<State>();
  state_->gave_up = false;
}

bool JpegScan::gave_up() const { return state_->gave_up; }

size_t JpegScan::held_bytes() const { return state_ == nullptr ? 0 : sizeof(State); }

void JpegScan::SetColumns(JDIMENSION first, JDIMENSION last) {
  state_->first = first;
  state_->last = last;
}

bool JpegScan::Install(jpeg_decompress_struct* cinfo, std::string_view jpeg, const TileTable* table) {
  State& s = *state_;
  if (cinfo->progressive_mode || cinfo->arith_code || cinfo->data_precision != 8 ||
      cinfo->comps_in_scan != cinfo->num_components || cinfo->comps_in_scan > MAX_COMPS_IN_SCAN ||
      cinfo->blocks_in_MCU > D_MAX_BLOCKS_IN_MCU || cinfo->unread_marker != 0) {
    return false;
  }
  const char* const scan = reinterpret_cast<const char*>(cinfo->src->next_input_byte);
  if (scan < jpeg.data() || scan > jpeg.data() + jpeg.size()) return false;
  const size_t scan_at = static_cast<size_t>(scan - jpeg.data());

  ScanLayout layout;
  layout.blocks = static_cast<size_t>(cinfo->blocks_in_MCU);
  layout.interval = cinfo->restart_interval;
  for (size_t b = 0; b < layout.blocks; ++b) layout.component[b] = static_cast<uint8_t>(cinfo->MCU_membership[b]);
  for (size_t c = 0; c < static_cast<size_t>(cinfo->comps_in_scan); ++c) {
    const size_t dc = static_cast<size_t>(cinfo->cur_comp_info[c]->dc_tbl_no);
    const size_t ac = static_cast<size_t>(cinfo->cur_comp_info[c]->ac_tbl_no);
    if (dc >= NUM_HUFF_TBLS || ac >= NUM_HUFF_TBLS) return false;
    const JHUFF_TBL* const dc_table = cinfo->dc_huff_tbl_ptrs[dc];
    const JHUFF_TBL* const ac_table = cinfo->ac_huff_tbl_ptrs[ac];
    if (dc_table == nullptr || ac_table == nullptr) return false;
    if (!s.dc[dc].Build(HuffmanCode::Kind::kDc, dc_table->bits, dc_table->huffval)) return false;
    if (!s.ac[ac].Build(HuffmanCode::Kind::kAc, ac_table->bits, ac_table->huffval)) return false;
    layout.dc[c] = &s.dc[dc];
    layout.ac[c] = &s.ac[ac];
  }
  if (table != nullptr && (table->grid().scan_at != scan_at || table->grid().interval != layout.interval ||
                           table->grid().mcus_per_row() != static_cast<int>(cinfo->MCUs_per_row))) {
    table = nullptr;
  }
  s.mcus.Start(layout, jpeg, scan_at, table);
  s.column = 0;
  s.columns = cinfo->MCUs_per_row;
  SetColumns(0, cinfo->MCUs_per_row - 1);
  s.hook.base = *cinfo->entropy;
  s.hook.base.decode_mcu = State::DecodeMcu;
  s.hook.state = &s;
  cinfo->entropy = &s.hook.base;
  InstallTransform(cinfo);
  InstallColors(cinfo);
  return true;
}

}  // namespace penstock::image
