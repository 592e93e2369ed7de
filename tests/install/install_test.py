"""What `cmake --install` leaves is enough: the tool runs from there, and another project finds and uses the library."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BUILD = pathlib.Path(os.environ["FHERES_BUILD"])  # set by ctest, as is the compiler
SAMPLE = "samples/automatic-rotate-scale.yaml"


def command(*arguments: object, **options: object) -> str:
    result = subprocess.run([str(item) for item in arguments], capture_output=True, text=True, timeout=600, **options)
    assert result.returncode == 0, f"{arguments}\n{result.stdout}\n{result.stderr}"
    return result.stdout


class InstallTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls._folder = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls._folder.name)
        cls.prefix = cls.folder / "prefix"
        cls.shared = cls.prefix / "share" / "doc" / "fheres"
        command("cmake", "--install", BUILD, "--prefix", cls.prefix)

    @classmethod
    def tearDownClass(cls) -> None:
        cls._folder.cleanup()

    def test_the_installed_tool_runs_the_installed_samples(self) -> None:
        tool = self.prefix / "bin" / "fheres"
        self.assertIn("0.1.0", command(tool, "--version", cwd=self.folder))
        self.assertIn("feasible", command(tool, "explain", self.shared / SAMPLE, cwd=self.folder))
        self.assertTrue((self.prefix / "share" / "man" / "man1" / "fheres.1").read_text().startswith((".TH", "'\\\"", ".\\\"")))
        for place in ("bash-completion/completions/fheres", "zsh/vendor-completions/_fheres", "fish/vendor_completions.d/fheres.fish"):
            self.assertIn("explain", (self.prefix / "share" / place).read_text(), place)
        for document in (ROOT / "samples").glob("*.yaml"):
            self.assertTrue((self.shared / "samples" / document.name).exists(), document.name)

    def test_every_public_header_is_installed_and_none_names_a_folder_of_the_source(self) -> None:
        of = lambda base: {path.relative_to(base).as_posix() for path in base.rglob("*.hpp")}
        self.assertEqual(of(ROOT / "include"), of(self.prefix / "include"))
        for path in self.prefix.rglob("*.cmake"):
            self.assertNotIn(str(ROOT), path.read_text(), path.name)

    def build(self, source: pathlib.Path, target: str) -> pathlib.Path:
        build = self.folder / f"build-{target}"
        command("cmake", "-S", source, "-B", build, "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={self.prefix}",
                f"-DCMAKE_CXX_COMPILER={os.environ['FHERES_COMPILER']}", "-DCMAKE_CXX_FLAGS=-Wall -Wextra -Werror")
        command("cmake", "--build", build, "--target", target)
        return build / target

    def test_another_project_finds_the_library_links_all_of_it_and_runs(self) -> None:
        consumer = self.folder / "consumer"  # not in the source's folder, where a path could work by luck
        shutil.copytree(HERE / "consumer", consumer)
        said = command(self.build(consumer, "whole"), self.shared / SAMPLE, cwd=self.folder)
        self.assertRegex(said, r"feasible: peak 37 of 37 MiB at cuda:0 .*\ndone: 1 of 1 outputs right")

    def test_the_installed_programs_build_where_they_are(self) -> None:
        program = self.build(self.shared / "samples" / "cpp", "sample_05_use")
        self.assertIn("used 2 values", command(program))


if __name__ == "__main__":
    unittest.main()
