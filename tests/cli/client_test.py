"""The client's half and the server's half as separate commands, end to end on the emulated device."""

import json
import math
import pathlib
import shutil
import stat
import struct
import subprocess
import unittest

from tool import FHERES, ROOT, ToolTest

SAMPLE = "samples/client-server.yaml"
MIB = 1 << 20
N = 1 << 14
LIMBS, SPECIAL, DIGITS = 8, 1, 8


def header_of(path: pathlib.Path) -> dict:
    """The format, read as its own description says: 8 bytes of length, JSON, payload."""
    data = path.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + length])
    ends = [item["data_offsets"][1] for name, item in header.items() if name != "__metadata__"]
    assert max(ends) == len(data) - 8 - length
    return header


class ClientTest(ToolTest):
    def setUp(self) -> None:
        super().setUp()
        self.document = self.folder / "client-server.yaml"
        shutil.copy(ROOT / SAMPLE, self.document)
        self.secret = self.folder / "client" / "secret.safetensors"
        self.secret.parent.mkdir()
        self.public = self.folder / "public.safetensors"
        self.outputs = self.folder / "out"

    def keygen(self, **options: object) -> subprocess.CompletedProcess:
        return self.fheres("client", "keygen", self.document, "--secret", self.secret, "--out", self.folder, **options)

    def encrypt(self, *arguments: object, **options: object) -> subprocess.CompletedProcess:
        return self.fheres("client", "encrypt", self.document, *arguments, **options)

    def run_server(self, *arguments: object, **options: object) -> dict:
        report = self.folder / "report.json"
        self.fheres("run", self.document, "--device", "emulated", "--outputs", self.outputs, "--report", report, *arguments,
                    **options)
        return json.loads(report.read_text())

    def decrypt(self, *arguments: object, **options: object) -> subprocess.CompletedProcess:
        return self.fheres("client", "decrypt", self.document, self.outputs / "y.safetensors", "--secret", self.secret,
                           *arguments, **options)

    def edit(self, old: str, new: str) -> None:
        text = self.document.read_text()
        self.assertIn(old, text)
        self.document.write_text(text.replace(old, new))

    def expected(self, slot: int) -> float:
        return 0.5 * 0.01 * math.sin(0.017 * ((slot - 1) % 8192))

    def test_the_manifest_tells_what_a_client_makes(self) -> None:
        manifest = self.json("keys", SAMPLE)
        self.assertEqual(manifest["schema"], "fheres/keys/v1")
        (key,) = manifest["keys"]
        half = DIGITS * (LIMBS + SPECIAL) * 8 * N + 32
        self.assertEqual(key, {"name": "rot1", "kind": "rotation-key", "steps": 1, "level": 0, "form": "seeded",
                               "bytes": half, "file": "samples/client-server/rot1.safetensors"})
        self.assertEqual(manifest["total_bytes"], half)

    def test_a_server_without_the_secret_computes_what_the_client_decrypts(self) -> None:
        self.keygen()
        self.encrypt("--public", self.public)
        # The server has nothing of the client's.
        hidden = self.folder / "hidden"
        self.secret.parent.rename(hidden)
        self.public.unlink()
        report = self.run_server()
        self.assertEqual(report["outcome"]["status"], "done")
        (check,) = report["checks"]
        self.assertIsNone(check["passed"])
        self.assertIn("no secret key", check["skipped"])
        # Only the plaintext is made here.
        self.assertEqual(report["client"]["bytes_made"], MIB)
        # On the wire to the device: the ciphertext, the plaintext and half of the key.
        moved = report["totals"]["moved_bytes"]
        self.assertEqual(moved, (2 + 1 + 9) * MIB + 32)
        hidden.rename(self.secret.parent)
        result = json.loads(self.decrypt("--check", "--json", "--slots", 8192).stdout)
        (value,) = result["values"]
        self.assertEqual(value["name"], "y")
        self.assertEqual(len(value["slots"]), 8192)
        for slot in (0, 1, 2, 4096, 8191):
            self.assertAlmostEqual(value["slots"][slot], self.expected(slot), delta=1e-6)
        self.assertLess(value["largest_error"], 1e-6)

    def test_the_files_are_what_they_say_and_hold_no_secret(self) -> None:
        self.keygen()
        self.encrypt("--public", self.public)
        self.assertEqual(stat.S_IMODE(self.secret.stat().st_mode), 0o600)
        key = header_of(self.folder / "client-server" / "rot1.safetensors")
        self.assertEqual(key["rot1"]["dtype"], "U64")
        self.assertEqual(key["rot1"]["shape"], [SPECIAL + LIMBS, DIGITS, N])
        self.assertEqual(key["rot1.seed"]["shape"], [32])
        self.assertEqual(key["__metadata__"]["format"], "fheres/values/v1")
        x = header_of(self.folder / "client-server" / "x.safetensors")
        self.assertEqual(x["x"]["shape"], [LIMBS, 2, N])
        secret = self.secret.read_bytes()[-N:]
        self.assertLessEqual(set(secret), {0, 1, 255})
        for file in self.folder.rglob("*.safetensors"):
            if file != self.secret:
                data = file.read_bytes()
                for start in range(0, N, 512):
                    self.assertNotIn(secret[start:start + 32], data)

    def test_inputs_of_the_secret_are_seeded_and_half_as_large_and_serve_as_well(self) -> None:
        self.keygen()
        self.encrypt("--secret", self.secret)
        x = header_of(self.folder / "client-server" / "x.safetensors")
        self.assertEqual(x["x"]["shape"], [LIMBS, N])
        self.assertEqual(x["x.seed"]["shape"], [32])
        self.run_server()
        self.decrypt("--check")

    def test_two_encryptions_and_two_key_generations_share_nothing(self) -> None:
        seeds = set()
        for attempt in range(2):
            self.secret = self.folder / f"secret{attempt}"
            self.keygen()
            self.encrypt("--secret", self.secret)
            for name in ("rot1", "x"):
                seeds.add((self.folder / "client-server" / f"{name}.safetensors").read_bytes()[-32:])
        self.assertEqual(len(seeds), 4)

    def test_a_message_may_come_from_a_file_and_need_not_stand_in_the_document(self) -> None:
        self.edit("ciphertext: {message: {sine: {amplitude: 0.01, step: 0.017}}}", "ciphertext: {}")
        self.keygen()
        result = self.encrypt("--public", self.public, expect=2)
        self.assertIn("--message x=FILE", result.stderr)
        numbers = self.folder / "x.csv"
        numbers.write_text("0.25, -0.5\n0.125\n")
        self.encrypt("--public", self.public, "--message", f"x={numbers}")
        self.run_server()
        slots = json.loads(self.decrypt("--json", "--slots", 5).stdout)["values"][0]["slots"]
        for got, wanted in zip(slots, [0, 0.125, -0.25, 0.0625, 0]):
            self.assertAlmostEqual(got, wanted, delta=1e-6)
        for text, complaint in (("1, two", "`two` is no number"), ("", "no numbers"), ("nan", "no finite number"),
                                ("1 " * 8193, "more than 8192 numbers")):
            numbers.write_text(text)
            result = self.encrypt("--public", self.public, "--message", f"x={numbers}", expect=4)
            self.assertIn(complaint, result.stderr)

    def test_a_message_may_be_a_numpy_array(self) -> None:
        self.keygen()
        values = struct.pack("<3d", 0.5, 0.25, -0.125)
        header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (3,), }".ljust(117) + b"\n"
        array = self.folder / "x.npy"
        array.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + values)
        self.encrypt("--public", self.public, "--message", f"x={array}")
        self.run_server()
        slots = json.loads(self.decrypt("--json", "--slots", 4).stdout)["values"][0]["slots"]
        for got, wanted in zip(slots, [0, 0.25, 0.125, -0.0625]):
            self.assertAlmostEqual(got, wanted, delta=1e-6)
        for damaged in (array.read_bytes()[:-1], array.read_bytes()[:20], array.read_bytes().replace(b"<f8", b">f8"),
                        array.read_bytes().replace(b"(3,)", b"(9,)")):
            array.write_bytes(damaged)
            self.encrypt("--public", self.public, "--message", f"x={array}", expect=4)

    def test_shared_results_are_flooded_by_as_much_as_is_said(self) -> None:
        self.keygen()
        self.encrypt("--public", self.public)
        self.run_server()
        exact = json.loads(self.decrypt("--json", "--slots", 8192).stdout)["values"][0]
        self.assertIsNone(exact["flooding_deviation"])
        for bits in (10, 14):
            shared = json.loads(self.decrypt("--json", "--slots", 8192, "--share", bits).stdout)["values"][0]
            again = json.loads(self.decrypt("--json", "--slots", 8192, "--share", bits).stdout)["values"][0]
            self.assertNotEqual(shared["slots"], again["slots"])
            noise = [a - b for a, b in zip(shared["slots"], exact["slots"])]
            deviation = math.sqrt(sum(x * x for x in noise) / len(noise))
            # Slots are real and imaginary; half of the noise's variance is seen.
            self.assertAlmostEqual(deviation / (shared["flooding_deviation"] / math.sqrt(2)), 1, delta=0.1)
            self.assertGreater(shared["flooding_deviation"], 2 ** bits * 1e-8)
        result = self.decrypt("--share", 60, expect=4)
        self.assertIn("does not fit", result.stderr)

    def test_a_secret_is_never_overwritten(self) -> None:
        self.keygen()
        before = self.secret.read_bytes()
        result = self.keygen(expect=2)
        self.assertIn("never overwritten", result.stderr)
        self.assertEqual(self.secret.read_bytes(), before)

    def test_what_belongs_to_another_secret_decrypts_to_noise_and_fails_the_check(self) -> None:
        self.keygen()
        self.encrypt("--public", self.public)
        self.run_server()
        self.secret = self.folder / "other"
        self.keygen()
        self.decrypt("--check", expect=5)

    def test_files_that_are_missing_damaged_or_of_other_parameters_end_the_run_with_a_reason(self) -> None:
        missing = self.fheres("run", self.document, expect=2)
        self.assertIn("FHR0315", missing.stderr)
        self.assertRegex(missing.stderr, r"client-server.yaml:\d+:3: error: `rot1` comes from .*rot1.safetensors")
        self.assertIn("2 problems", missing.stderr)
        self.keygen()
        self.encrypt("--public", self.public)
        key = self.folder / "client-server" / "rot1.safetensors"
        good = key.read_bytes()
        for damaged, complaint in ((good[:-1], "payload"), (good[:4], "8"), (b"\xff" * 8 + good[8:], "header"),
                                   (good.replace(b"key=seeded", b"key=full  "), "metadata")):
            key.write_bytes(damaged)
            report = self.run_server(expect=4)
            self.assertIn("rot1.safetensors", report["outcome"]["failure"]["message"])
            self.assertIn(complaint, report["outcome"]["failure"]["message"])
            self.assertEqual(report["outcome"]["failure"]["phase"], "placement")
        key.write_bytes(good)
        self.run_server()
        self.edit("slots8192-scale40-levels7", "slots8192-scale30-levels9")
        report = self.run_server("--budget", "cuda:0=64MiB", expect=4)
        self.assertIn("made for parameters", report["outcome"]["failure"]["message"])

    def test_a_seeded_file_serves_a_full_key_of_a_deeper_level_and_no_seeded_one(self) -> None:
        self.keygen()
        self.edit("step: 0.017}}}", "step: 0.017}}, level: 1}")
        self.encrypt("--public", self.public)
        report = self.run_server(expect=4)
        self.assertIn("level 0", report["outcome"]["failure"]["message"])
        self.edit("form: seeded}, at: pinned-host", "form: full}")
        self.run_server()
        self.decrypt("--check")

    def test_keys_and_inputs_of_two_secrets_in_one_document_are_refused(self) -> None:
        self.edit(", source: {file: client-server/rot1.safetensors}", "")
        result = self.fheres("run", self.document, "--device", "emulated", expect=2)
        self.assertIn("FHR0314", result.stderr)

    def test_a_full_key_of_the_same_file_gives_the_same_residues(self) -> None:
        self.keygen()
        self.encrypt("--public", self.public)
        seeded = self.run_server()
        # The server may expand it as it reads the file, and have the full key wherever it wants.
        self.edit("form: seeded}, at: pinned-host", "form: full}")
        full = self.run_server()
        self.assertEqual(*(report["checks"][0]["residues_sha256"] for report in (seeded, full)))
        self.assertEqual(full["totals"]["moved_bytes"], 21 * MIB)


if __name__ == "__main__":
    unittest.main()
