// Man pages in the man macros of roff.
#ifndef PENSTOCK_CONFIG_MANUAL_MAN_PAGE_H_
#define PENSTOCK_CONFIG_MANUAL_MAN_PAGE_H_

#include <string>

#include "config/manual/program_text.h"

namespace penstock::config {

// Returns the page of a program: its commands, and the flags that all commands have.
std::string ManPageOf(const ProgramText& program);

// Returns the page of one command of a program.
std::string ManPageOf(const ProgramText& program, const CommandText& command);

}  // namespace penstock::config

#endif  // PENSTOCK_CONFIG_MANUAL_MAN_PAGE_H_
