// Little-endian loads and stores. Penstock runs only on little-endian machines.
#ifndef PENSTOCK_BASE_LITTLE_ENDIAN_H_
#define PENSTOCK_BASE_LITTLE_ENDIAN_H_

#include <cstring>

namespace penstock {

template <typename T>
T LoadLittleEndian(const char* from) {
  T value;
  std::memcpy(&value, from, sizeof(value));
  return value;
}

template <typename T>
void StoreLittleEndian(T value, char* to) {
  std::memcpy(to, &value, sizeof(value));
}

}  // namespace penstock

#endif  // PENSTOCK_BASE_LITTLE_ENDIAN_H_
