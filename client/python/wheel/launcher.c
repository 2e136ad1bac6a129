// The wheel's bin/penstock and bin/penstockd. This program is linked statically, so it needs no library of the system.
// It starts ../libexec/NAME through the wheel's own dynamic loader and C library. So neither the age of the system nor
// LD_LIBRARY_PATH and LD_PRELOAD matter.
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

static int Fail(const char* what) {
  fprintf(stderr, "penstock: %s: %s; install the wheel again\n", what, strerror(errno));
  return 127;
}

int main(int argc, char** argv) {
  // Not /proc/self/exe: a bare container may have no /proc.
  char self[PATH_MAX], loader[PATH_MAX], libraries[PATH_MAX], program[PATH_MAX];
  const char* path = (const char*)getauxval(AT_EXECFN);
  if (path == NULL || realpath(path, self) == NULL) return Fail("cannot find the folder of this program");
  char* name = strrchr(self, '/');
  *name++ = '\0';
  char* bin = strrchr(self, '/');
  if (bin == NULL) return Fail(self);
  *bin = '\0';
  // The wheel has a copy of the loader for each program, under the program's name, which ps and top show.
  const int lengths[] = {snprintf(loader, sizeof loader, "%s/loader/%s", self, name),
                         snprintf(libraries, sizeof libraries, "%s/lib", self),
                         snprintf(program, sizeof program, "%s/libexec/%s", self, name)};
  for (int i = 0; i < 3; ++i) {
    if (lengths[i] >= PATH_MAX) {
      errno = ENAMETOOLONG;
      return Fail(self);
    }
  }
  unsetenv("LD_LIBRARY_PATH");
  unsetenv("LD_PRELOAD");
  unsetenv("LD_AUDIT");

  const char* options[] = {loader, "--inhibit-cache", "--argv0", name, "--library-path", libraries, program};
  const int count = sizeof options / sizeof options[0];
  const char** all = calloc((size_t)(count + argc), sizeof *all);
  if (all == NULL) return Fail("memory");
  memcpy(all, options, sizeof options);
  for (int i = 1; i < argc; ++i) all[count + i - 1] = argv[i];
  execv(loader, (char**)all);
  return Fail(loader);
}
