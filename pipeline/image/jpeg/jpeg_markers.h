// Markers of JPEG: the byte after 0xFF. ITU-T T.81, table B.1.
#ifndef PENSTOCK_PIPELINE_IMAGE_JPEG_JPEG_MARKERS_H_
#define PENSTOCK_PIPELINE_IMAGE_JPEG_JPEG_MARKERS_H_

namespace penstock::jpeg_marker {

constexpr int kBaseline = 0xC0, kExtended = 0xC1;  // start of a frame
constexpr int kHuffmanTables = 0xC4, kQuantTables = 0xDB, kRestartInterval = 0xDD;
constexpr int kFirstRestart = 0xD0;  // the first of eight
constexpr int kEndOfImage = 0xD9, kStartOfScan = 0xDA;
constexpr int kApp0 = 0xE0, kApp15 = 0xEF, kComment = 0xFE;

}  // namespace penstock::jpeg_marker

#endif  // PENSTOCK_PIPELINE_IMAGE_JPEG_JPEG_MARKERS_H_
