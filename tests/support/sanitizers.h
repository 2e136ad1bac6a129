// Detects builds in which a sanitizer replaces the heap. Such a heap keeps freed memory and ignores glibc's settings.
#ifndef PENSTOCK_TESTS_SUPPORT_SANITIZERS_H_
#define PENSTOCK_TESTS_SUPPORT_SANITIZERS_H_

namespace penstock::support {

// True in builds with AddressSanitizer or ThreadSanitizer.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitizersHeap = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
inline constexpr bool kSanitizersHeap = true;
#else
inline constexpr bool kSanitizersHeap = false;
#endif
#else
inline constexpr bool kSanitizersHeap = false;
#endif

}  // namespace penstock::support

#endif  // PENSTOCK_TESTS_SUPPORT_SANITIZERS_H_
