"""Where the repository and the shared texts are."""

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
VECTORS = ROOT / "tests" / "vectors"
SHARED = Path(os.environ.get("ZETON_DATA", ROOT.parent / "shared" / "data"))

needs_shared = pytest.mark.skipif(not SHARED.is_dir(), reason="the shared texts are not here")
