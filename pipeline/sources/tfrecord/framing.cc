#include "pipeline/sources/tfrecord/framing.h"

#include "base/little_endian.h"
#include "pipeline/sources/crc32c.h"

namespace penstock::sources {

bool HeaderCrcIsRight(const char* header) {
  return MaskedCrc32c({header, 8}) == LoadLittleEndian<uint32_t>(header + 8);
}

void AppendFramedRecord(std::string_view record, std::string* out) {
  char header[kRecordHeaderBytes];
  StoreLittleEndian<uint64_t>(record.size(), header);
  StoreLittleEndian<uint32_t>(MaskedCrc32c({header, 8}), header + 8);
  char footer[kRecordFooterBytes];
  StoreLittleEndian<uint32_t>(MaskedCrc32c(record), footer);
  out->append(header, sizeof(header)).append(record).append(footer, sizeof(footer));
}

}  // namespace penstock::sources
