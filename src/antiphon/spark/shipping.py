"""Antiphon itself, for executors that do not have it: as an archive of its modules.

Law: the archive holds what runs here, whatever is installed where it arrives, and is made once per
process. msgspec, numpy and pyarrow are not in it: they are machine code, and must be installed.
"""

import atexit
import functools
import tempfile
import zipfile
from pathlib import Path

import antiphon


@functools.cache
def package_archive() -> Path:
    """Return a zip of the package, which Python imports from."""
    folder = tempfile.TemporaryDirectory(prefix="antiphon-package-", ignore_cleanup_errors=True)
    atexit.register(folder.cleanup)
    archive = Path(folder.name) / "antiphon.zip"
    root = Path(antiphon.__file__).parent
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        for module in sorted(root.rglob("*.py")):
            file.write(module, Path("antiphon") / module.relative_to(root))
    return archive
