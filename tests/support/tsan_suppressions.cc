// Compiled into every test program of a ThreadSanitizer build: reports about libraries that are none of our business.
extern "C" const char* __tsan_default_suppressions();

// GDAL, which OpenCV's image codecs load, takes its own two mutexes in both orders while it starts, on one thread.
extern "C" const char* __tsan_default_suppressions() { return "deadlock:libgdal\n"; }
