#!/usr/bin/env python3
"""CKKS on the host beside other libraries, in one run on one machine: bench_ckks_host, and those of SEAL (pip install tenseal)
and OpenFHE (pip install openfhe) that can be imported.

    bench/compare_cpu.py build/release/bench/bench_ckks_host [--threads 2] [--rounds 3] [--seconds 0.4] [--set F] [--set B]

Rounds take turns, so that what else the machine does hits all alike; the table has each one's median of all rounds, and its
minimum in parentheses, in microseconds. OpenFHE computes with as many threads as are asked for; SEAL has one a call.
"""
import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time

# Ring degree, base, scale bits, levels, special bits of one limb, digits: as bench/sets.hpp has them.
SETS = {
    "F": {"n": 1 << 14, "base": 60, "scale": 40, "levels": 7, "special": 60, "digits": 8},
    "B": {"n": 1 << 15, "base": 50, "scale": 40, "levels": 17, "special": 60, "digits": 6},
}
OPERATIONS = ["add", "multiply_plain", "rotate", "multiply + relinearize", "rescale", "encode", "encrypt", "decrypt"]


def message(n):
    draw = random.Random(1)
    return [draw.uniform(-1, 1) for _ in range(n // 2)]


def seal_operations(shape):
    """SEAL has one special prime and one limb a digit, whatever the set says."""
    import tenseal.sealapi as seal

    parameters = seal.EncryptionParameters(seal.SCHEME_TYPE.CKKS)
    parameters.set_poly_modulus_degree(shape["n"])
    bits = [shape["base"]] + [shape["scale"]] * shape["levels"] + [shape["special"]]
    parameters.set_coeff_modulus(seal.CoeffModulus.Create(shape["n"], bits))
    context = seal.SEALContext(parameters, True, seal.SEC_LEVEL_TYPE.TC128)
    generator = seal.KeyGenerator(context)
    public = seal.PublicKey()
    generator.create_public_key(public)
    relinearization = seal.RelinKeys()
    generator.create_relin_keys(relinearization)
    rotation = seal.GaloisKeys()
    generator.create_galois_keys([3], rotation)  # the element of one step
    encoder, evaluator = seal.CKKSEncoder(context), seal.Evaluator(context)
    encryptor, decryptor = seal.Encryptor(context, public), seal.Decryptor(context, generator.secret_key())
    values, scale = message(shape["n"]), 2.0 ** shape["scale"]
    plain, a, b, product, out = seal.Plaintext(), seal.Ciphertext(), seal.Ciphertext(), seal.Ciphertext(), seal.Ciphertext()
    encoder.encode(values, scale, plain)
    encryptor.encrypt(plain, a)
    encryptor.encrypt(plain, b)
    evaluator.multiply(a, b, product)
    evaluator.relinearize_inplace(product, relinearization)

    def multiply():
        evaluator.multiply(a, b, out)
        evaluator.relinearize_inplace(out, relinearization)

    scratch = seal.Plaintext()
    return {
        "add": lambda: evaluator.add(a, b, out),
        "multiply_plain": lambda: evaluator.multiply_plain(a, plain, out),
        "rotate": lambda: evaluator.rotate_vector(a, 1, rotation, out),
        "multiply + relinearize": multiply,
        "rescale": lambda: evaluator.rescale_to_next(product, out),
        "encode": lambda: encoder.encode(values, scale, scratch),
        "encrypt": lambda: encryptor.encrypt(plain, out),
        "decrypt": lambda: decryptor.decrypt(a, scratch),
    }


def openfhe_operations(shape):
    import openfhe

    parameters = openfhe.CCParamsCKKSRNS()
    parameters.SetRingDim(shape["n"])
    parameters.SetMultiplicativeDepth(shape["levels"])
    parameters.SetScalingModSize(shape["scale"])
    parameters.SetFirstModSize(shape["base"])
    parameters.SetNumLargeDigits(shape["digits"])
    parameters.SetScalingTechnique(openfhe.ScalingTechnique.FIXEDMANUAL)
    parameters.SetKeySwitchTechnique(openfhe.KeySwitchTechnique.HYBRID)
    parameters.SetSecurityLevel(openfhe.SecurityLevel.HEStd_NotSet)
    parameters.SetBatchSize(shape["n"] // 2)
    context = openfhe.GenCryptoContext(parameters)
    for feature in (openfhe.PKE, openfhe.KEYSWITCH, openfhe.LEVELEDSHE):
        context.Enable(feature)
    keys = context.KeyGen()
    context.EvalMultKeyGen(keys.secretKey)
    context.EvalRotateKeyGen(keys.secretKey, [1])
    values = message(shape["n"])
    plain = context.MakeCKKSPackedPlaintext(values)
    a, b = context.Encrypt(keys.publicKey, plain), context.Encrypt(keys.publicKey, plain)
    product = context.EvalMult(a, b)
    return {
        "add": lambda: context.EvalAdd(a, b),
        "multiply_plain": lambda: context.EvalMult(a, plain),
        "rotate": lambda: context.EvalRotate(a, 1),
        "multiply + relinearize": lambda: context.EvalMult(a, b),
        "rescale": lambda: context.Rescale(product),
        "encode": lambda: context.MakeCKKSPackedPlaintext(values),
        "encrypt": lambda: context.Encrypt(keys.publicKey, plain),
        "decrypt": lambda: context.Decrypt(a, keys.secretKey),
    }


PEERS = {"SEAL": ("tenseal", seal_operations), "OpenFHE": ("openfhe", openfhe_operations)}


def peers():
    found = {}
    for name, (module, make) in PEERS.items():
        try:
            __import__(module)
            found[name] = make
        except ImportError as error:
            print(f"{name} is left out: {error}", file=sys.stderr)
    return found


def sample(run, seconds):
    """Microseconds of at least three calls, after one that warms up, for so many seconds."""
    run()
    times = []
    end = time.perf_counter() + seconds
    while len(times) < 3 or (time.perf_counter() < end and len(times) < 200):
        begun = time.perf_counter()
        run()
        times.append(1e6 * (time.perf_counter() - begun))
    return times


def ours(program, name, threads, seconds):
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        command = [program, "--set", name, "--threads", str(threads), "--seconds", str(seconds), "--json", file.name]
        for operation in OPERATIONS:
            command += ["--operation", operation]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        return {row["operation"]: row["samples_us"] for row in json.load(open(file.name))["operations"]}


def compare(program, name, options, others):
    made = {peer: make(SETS[name]) for peer, make in others.items()}
    samples = {library: {operation: [] for operation in OPERATIONS} for library in ["fheres", *made]}
    for _ in range(options.rounds):
        for operation, times in ours(program, name, options.threads, options.seconds).items():
            samples["fheres"][operation] += times
        for peer, operations in made.items():
            for operation in OPERATIONS:
                samples[peer][operation] += sample(operations[operation], options.seconds)
    print(f"\n| {name} | " + " | ".join(samples) + " |")
    print("| --- |" + " --- |" * len(samples))
    for operation in OPERATIONS:
        cells = [samples[library][operation] for library in samples]
        print(f"| {operation} | " + " | ".join(f"{statistics.median(t):,.0f} ({min(t):,.0f})" for t in cells) + " |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.4)
    parser.add_argument("--set", action="append", choices=list(SETS), dest="sets")
    options = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = str(options.threads)
    others = peers()
    for name in options.sets or list(SETS):
        compare(options.program, name, options, others)


if __name__ == "__main__":
    main()
