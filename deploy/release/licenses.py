"""The licenses of a Debian package, from its file copyright."""
import re
from typing import Dict, List

# Debian's short names, and SPDX identifiers.
SPDX = {
    "0BSD": "0BSD", "BSL-1.0": "BSL-1.0", "MPL-2.0": "MPL-2.0",
    "Apache-2": "Apache-2.0", "Apache-2.0": "Apache-2.0", "BSD-2-clause": "BSD-2-Clause", "BSD-3-clause": "BSD-3-Clause",
    "BSD-4-clause": "BSD-4-Clause", "curl": "curl", "Expat": "MIT", "GPL-2": "GPL-2.0-only", "GPL-2+": "GPL-2.0-or-later",
    "GPL-3": "GPL-3.0-only", "GPL-3+": "GPL-3.0-or-later", "ISC": "ISC",
    "LGPL-2": "LGPL-2.0-only", "LGPL-2+": "LGPL-2.0-or-later", "LGPL-2.1": "LGPL-2.1-only",
    "LGPL-2.1+": "LGPL-2.1-or-later", "LGPL-3": "LGPL-3.0-only", "LGPL-3+": "LGPL-3.0-or-later",
    "MIT": "MIT", "NTP": "NTP", "OpenLDAP-2.8": "OLDAP-2.8", "X11": "X11", "zlib": "Zlib",
}
BY_LOWER_NAME = {name.lower(): identifier for name, identifier in SPDX.items()}


def names(text: str) -> List[str]:
    """Returns the licenses of the files of the package, without those of Debian's packaging, in the order of the text."""
    found: List[str] = []
    if re.match(r"Format(-Specification)?:", text):
        for paragraph in re.split(r"\n\s*\n", text):
            files = re.search(r"(?m)^Files:\s*(\S+)", paragraph)
            license_ = re.search(r"(?m)^License:[ \t]*(\S.*)", paragraph)
            if files and license_ and not files[1].startswith("debian/"):
                found.append(license_[1].strip())
    else:
        # Free text, which refers to the licenses that Debian installs.
        named = re.findall(r"/usr/share/common-licenses/([A-Za-z0-9.+-]*[A-Za-z0-9+])", text)
        found = [name + " (of several)" for name in named]
    return list(dict.fromkeys(found)) or ["see the file copyright"]


def cyclonedx(text: str) -> List[Dict[str, Dict[str, str]]]:
    """Returns the licenses as CycloneDX lists them: by SPDX identifier where there is one."""
    out: List[Dict[str, Dict[str, str]]] = []
    for name in names(text):
        identifier = BY_LOWER_NAME.get(name.lower())
        entry = {"license": {"id": identifier} if identifier else {"name": name}}
        if entry not in out:
            out.append(entry)
    return out
