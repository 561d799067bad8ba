"""Location of the language-independent specifications, the folder `specs/`, on this machine."""

import os
from pathlib import Path

from refgrad.errors import UserError

OVERRIDE = "REFGRAD_SPECS"


class SpecificationNotFoundError(UserError, FileNotFoundError):
    """Error for a missing folder of specifications; the message names every path that was tried."""


def specs_directory() -> Path:
    """Return the folder that contains `operators/`, `behaviours/`, `schema/` and so on.

    The environment variable `REFGRAD_SPECS` names it if set, for custom tables. Otherwise it is the data inside an
    installed wheel, or else `specs/` at the top of a checkout.

    Raises:
        SpecificationNotFoundError: there is none, or `REFGRAD_SPECS` names a folder without `operators/`.

    """
    override = os.environ.get(OVERRIDE)
    candidates = (Path(override),) if override else _shipped_locations()
    for candidate in candidates:
        if (candidate / "operators").is_dir():
            return candidate.resolve()
    raise SpecificationNotFoundError(_not_found(candidates, overridden=bool(override)))


def schema_path(name: str) -> Path:
    """Return the path of a JSON Schema of refgrad itself: `REFGRAD_SPECS` replaces the tables, not their schemas."""
    return shipped_path("schema", f"{name}.schema.json")


def shipped_path(*parts: str) -> Path:
    """Return the path of a file of refgrad's own specifications, whatever `REFGRAD_SPECS` names."""
    installed, checkout = (folder.joinpath(*parts) for folder in _shipped_locations())
    return installed if installed.exists() else checkout


def _shipped_locations() -> tuple[Path, Path]:
    package = Path(__file__).resolve().parent
    return package / "specs", package.parent / "specs"


def _not_found(candidates: tuple[Path, ...], *, overridden: bool) -> str:
    folders = " or ".join(str(candidate) for candidate in candidates)
    remedy = (
        f"{OVERRIDE} must name a folder that holds operators/; unset it to use the specifications of refgrad itself"
        if overridden
        else f"reinstall refgrad, or set {OVERRIDE} to the folder specs/ of a checkout"
    )
    return f"found no specifications (a folder that holds operators/) at {folders}: {remedy}"


def installed_version() -> str:
    """Return the version of the installed distribution, or ``unknown`` if there is none, as in a bare checkout."""
    from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415 (loaded only where it is asked for)

    try:
        return version("refgrad")
    except PackageNotFoundError:
        return "unknown"
