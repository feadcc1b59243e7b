"""Builds the load client from the Go file beside this one, and prints where it is.

Only Go's standard library is needed: some seconds, no network. The binary is kept outside of the repository, in a
folder whose name tells its source.
"""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2] / "tests"))

from controlplane.build import UnavailableError, cache, find_or_build_program

HERE = Path(__file__).resolve().parent


def find_or_build() -> Path:
    """Returns the binary, built where it is missing; it appears under its name only when it is complete.

    Raises:
        UnavailableError: there is no Go.
        BuildError: the build failed.
    """
    digest = hashlib.sha256((HERE / "main.go").read_bytes()).hexdigest()[:12]
    return find_or_build_program(cache() / "load" / digest / "load", ".", module=HERE)


def main() -> int:
    """Prints the path of the binary."""
    try:
        print(find_or_build())
    except UnavailableError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
