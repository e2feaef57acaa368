"""Whether what tables are made of is installed.

Law: asking imports nothing that was not asked about, and works without any of it.
"""

from importlib import import_module

from antiphon.core.errors import UsageError

TABLE_PACKAGES = ("numpy", "pyarrow")


def missing_packages(names: tuple[str, ...] = TABLE_PACKAGES) -> list[str]:
    """Return which of these packages cannot be imported; the others are."""
    return [name for name in names if _is_missing(name)]


def require_tables() -> None:
    """Say what to install if anything that tables need is missing."""
    missing = missing_packages()
    if missing:
        message = (
            f"{' and '.join(missing)} cannot be imported: run: pip install 'antiphon[verify]'; "
            "small traces need neither: --engine oracle"
        )
        raise UsageError(message)


def _is_missing(name: str) -> bool:
    try:
        import_module(name)
    except ImportError:
        return True
    return False
