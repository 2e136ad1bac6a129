#include "pipeline/image/adjust_loops.h"

namespace penstock {

void MaskAndInvert(const ImageView& in, uint8_t mask, int threshold, ImageTarget out) {
  MaskAndInvertScalar(in, mask, threshold, out);
}
void LookUp(const ImageView& in, const uint8_t table[256], ImageTarget out) { LookUpScalar(in, table, out); }
void LookUpChannels(const ImageView& in, const PointTables& tables, ImageTarget out) {
  LookUpChannelsScalar(in, tables, out);
}
ChannelRange FindRange(const ImageView& in) { return FindRangeScalar(in); }
uint64_t SumLuma(const ImageView& in) { return SumLumaScalar(in); }
void SpreadLuma(const ImageView& in, ImageTarget out) { SpreadLumaScalar(in, out); }
void BlendLuma(const ImageView& in, float factor, ImageTarget out) { BlendLumaScalar(in, factor, out); }
void BlendSmoothRow(const uint8_t* above, const uint8_t* row, const uint8_t* below, size_t bytes, size_t channels,
                    float factor, uint8_t* out) {
  BlendSmoothRowScalar(above, row, below, bytes, channels, factor, out);
}
void TurnHue(const ImageView& in, uint8_t shift, ImageTarget out) { TurnHueScalar(in, shift, out); }

}  // namespace penstock
