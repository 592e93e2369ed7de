"""The Debian packages: what is in them, what they need, and that the tool in them runs. Skipped where there is no dpkg."""

import pathlib
import shutil
import sys
import tempfile
import unittest

from install_test import BUILD, SAMPLE, command

SKIPPED = 77


class PackageTest(unittest.TestCase):
    def test_the_packages_hold_the_tool_and_the_library_and_name_what_they_need(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            command("cpack", "-G", "DEB", "-B", folder, cwd=BUILD)
            tool, library = sorted(folder.glob("*.deb"))
            field = lambda package, name: command("dpkg-deb", "--field", package, name).strip()
            self.assertEqual((field(tool, "Package"), field(library, "Package")), ("fheres", "libfheres-dev"))
            for needed in ("libc6", "libstdc++6", "libfmt", "libyaml-cpp", "libsodium"):
                self.assertIn(needed, field(tool, "Depends"))
            for needed in ("libfmt-dev", "libyaml-cpp-dev", "nlohmann-json3-dev", "libsodium-dev"):
                self.assertIn(needed, field(library, "Depends"))
            root = folder / "root"
            command("dpkg-deb", "--extract", tool, root)
            shared = root / "usr" / "share" / "doc" / "fheres"
            self.assertIn("feasible", command(root / "usr" / "bin" / "fheres", "explain", shared / SAMPLE, cwd=folder))
            self.assertTrue((shared / "copyright").exists())
            self.assertFalse((root / "usr" / "include").exists())
            held = command("dpkg-deb", "--contents", library)
            for path in ("usr/include/fheres/residency/manager.hpp", "libfheres_residency.a", "fheresConfig.cmake"):
                self.assertIn(path, held)
            self.assertNotIn("usr/bin", held)


if __name__ == "__main__":
    if not all(map(shutil.which, ("dpkg-deb", "dpkg-shlibdeps", "cpack"))):
        sys.exit(SKIPPED)
    unittest.main()
