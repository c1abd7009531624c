import copy
import hashlib
import hmac
import pickle
import secrets
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from deniable.foundation import keys
from deniable.foundation.errors import InvalidInput
from deniable.foundation.keys import ReleaseKey, WordStream

SECRET = bytes(range(32))
KEY = ReleaseKey(SECRET)

# RFC 8439, appendix A.1, test vectors 1 and 2: key and nonce zero, blocks 0 and 1.
RFC_8439_BLOCKS = bytes.fromhex(
    "76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7"
    "da41597c5157488d7724e03fb8d84a376a43b8f41518a11cc387b669b2ee6586"
    "9f07e7be5551387a98ba977c732d080dcb0f29a048e3656912c6533e32ee7aed"
    "29b721769ce64e43d57133b074d839d531ed1f28510afb45ace10a1f4b794d6f"
)


def a_stream(**changes: object) -> WordStream:
    """The stream of one made-up draw, or of one that differs from it in `changes`."""
    arguments = {
        "step": "learn_structure",
        "mechanism": "discrete_gaussian",
        "inputs": "5f0c",
        "parameters": {"sigma_squared": Fraction(1, 3), "attributes": ("AGEP", "SEX")},
        "chunk": 0,
    }
    return KEY.stream(**{**arguments, **changes})


def test_words_are_the_keystream_of_rfc_8439_in_little_endian_order() -> None:
    words = WordStream(bytes(32)).take(32)
    assert words.dtype == np.uint32
    assert words.astype("<u4").tobytes() == RFC_8439_BLOCKS
    assert words[0] == 0xADE0B876


def test_words_do_not_depend_on_how_many_are_taken_at_a_time() -> None:
    stream = a_stream()
    # More than the zeros that are encrypted at once, and not a multiple of them.
    parts = [stream.take(3), stream.take(4), stream.take(0), stream.take(1000), stream.take(70_000)]
    assert np.array_equal(np.concatenate(parts), a_stream().take(71_007))


def test_looking_ahead_uses_nothing_up() -> None:
    stream = a_stream()
    ahead = stream.peek(10).copy()
    assert np.array_equal(stream.peek(4), ahead[:4])
    assert np.array_equal(stream.take(6), ahead[:6])
    assert np.array_equal(stream.peek(20)[:4], ahead[6:])
    stream.peek(30)
    stream.skip(7)
    assert np.array_equal(stream.take(13), a_stream().take(26)[13:])
    with pytest.raises(ValueError, match="must be peeked at before they are skipped"):
        stream.skip(18)


def test_words_that_were_taken_stay_and_the_buffer_of_those_ahead_is_kept() -> None:
    stream = a_stream()
    taken, ahead = stream.take(100), stream.peek(1000)
    where = ahead.ctypes.data
    stream.skip(990)
    more = stream.take(5)
    for _ in range(10):
        again = stream.peek(1000)
        assert again.ctypes.data == where
        stream.skip(1000)
    assert np.array_equal(np.concatenate([taken, a_stream().take(1090)[100:], more]), a_stream().take(1095))
    assert np.array_equal(stream.take(10), a_stream().take(11_105)[11_095:])


def test_the_same_arguments_open_the_same_stream() -> None:
    again = a_stream(parameters={"attributes": ["AGEP", "SEX"], "sigma_squared": Fraction(2, 6)})
    assert np.array_equal(a_stream().take(100), again.take(100))


def test_a_stream_stays_what_it_is_from_version_to_version() -> None:
    message = (
        b'deniable/v1/stream\0{"chunk":0,"inputs":"5f0c","mechanism":"discrete_gaussian",'
        b'"parameters":{"attributes":["AGEP","SEX"],"sigma_squared":{"fraction":"1/3"}},"step":"learn_structure"}'
    )
    expected = WordStream(hmac.digest(SECRET, message, "sha256"))
    assert np.array_equal(a_stream().take(100), expected.take(100))


@pytest.mark.parametrize(
    "changes",
    [
        {"step": "learn_parameters"},
        {"mechanism": "discrete_laplace"},
        {"inputs": "5f0d"},
        {"chunk": 1},
        {"parameters": {}},
        {"parameters": {"sigma_squared": Fraction(1, 4), "attributes": ("AGEP", "SEX")}},
        {"parameters": {"sigma_squared": Fraction(1, 3), "attributes": ("SEX", "AGEP")}},
        {"step": "learn_structurediscrete", "mechanism": "_gaussian"},
    ],
)
def test_any_other_argument_opens_an_unrelated_stream(changes: dict[str, object]) -> None:
    ours, theirs = a_stream().take(4096), a_stream(**changes).take(4096)
    agreeing_bits = 4096 * 32 - int(np.bitwise_count(ours ^ theirs).sum())
    # Of 131072 fair bits, half agree give or take 181; six times that has probability 1e-9.
    assert abs(agreeing_bits - 4096 * 16) < 6 * 181


def test_another_key_opens_an_unrelated_stream() -> None:
    arguments = {"step": "split", "mechanism": "bernoulli", "inputs": "5f0c", "parameters": {}}
    other = ReleaseKey(bytes(32))
    assert not np.any(KEY.stream(**arguments).take(64) == other.stream(**arguments).take(64))


def test_values_that_print_alike_open_different_streams() -> None:
    alike = [
        "1/2",
        Fraction(1, 2),
        ("1/2",),
        (("1/2",),),
        "1",
        1,
        True,
        "true",
        Fraction(1),
        ("1", "2"),
        ("1,2",),
        (1, 2),
    ]
    firsts = {a_stream(parameters={"value": value}).take(2).tobytes() for value in alike}
    assert len(firsts) == len(alike)


@pytest.mark.parametrize("value", [0.1, 1.0, None, {"a": 1}, (1, (2, 0.5)), b"x", np.float64(1)])
def test_a_parameter_without_an_exact_encoding_is_refused(value: object) -> None:
    with pytest.raises(InvalidInput, match="stream parameter scale must consist of"):
        a_stream(parameters={"scale": value})


def test_a_parameter_that_is_not_named_by_a_string_is_refused() -> None:
    with pytest.raises(InvalidInput, match="named by strings"):
        a_stream(parameters={1: 1})


def test_text_that_is_no_text_is_refused() -> None:
    with pytest.raises(InvalidInput, match="lone surrogate"):
        a_stream(parameters={"value": "\ud83d\ude00"})
    a_stream(parameters={"value": "\N{GRINNING FACE}"})


@pytest.mark.parametrize("secret", [b"", bytes(31), bytes(33), bytearray(32), "x" * 32])
def test_a_secret_of_another_size_or_kind_is_refused_and_not_quoted(secret: bytes) -> None:
    with pytest.raises(InvalidInput) as refusal:
        ReleaseKey(secret)
    assert "xxx" not in str(refusal.value)
    assert "32 bytes" in str(refusal.value)


def test_a_new_key_is_new(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keys, "secrets", secrets)
    first, second = ReleaseKey.generate(), ReleaseKey.generate()
    assert len(first.secret) == 32
    assert first.secret != second.secret


@pytest.mark.parametrize("show", [repr, str, "{}".format, "{!r}".format, lambda key: repr([key])])
def test_a_key_shows_nothing_of_its_secret(show: Callable[[ReleaseKey], str]) -> None:
    shown = show(KEY)
    assert "<ReleaseKey: secret>" in shown
    assert not hasattr(KEY, "__dict__")


@pytest.mark.parametrize("copied", [pickle.dumps, copy.copy, copy.deepcopy])
def test_a_key_cannot_land_in_a_stored_result(copied: Callable[[ReleaseKey], object]) -> None:
    with pytest.raises(TypeError, match="must not be pickled"):
        copied(KEY)


def test_a_stream_cannot_land_in_a_stored_result() -> None:
    with pytest.raises(TypeError):
        pickle.dumps(a_stream())


def test_a_digest_depends_on_the_key_the_purpose_and_the_data() -> None:
    digests = {
        KEY.digest("snapshot", b"rows"),
        KEY.digest("snapshot", b"row"),
        KEY.digest("codes", b"rows"),
        KEY.digest("snapshotrows", b""),
        ReleaseKey(bytes(32)).digest("snapshot", b"rows"),
        hashlib.sha256(b"rows").hexdigest(),
    }
    assert len(digests) == 6


def test_a_digest_of_parts_is_the_digest_of_the_whole() -> None:
    hasher = KEY.hasher("snapshot")
    hasher.update(b"ro")
    hasher.update(b"ws")
    assert hasher.hexdigest() == KEY.digest("snapshot", b"rows")


def test_a_commitment_fits_its_key_alone() -> None:
    assert KEY.commitment() == hashlib.sha256(b"deniable/v1/commitment\0" + SECRET).hexdigest()
    assert KEY.commitment() != ReleaseKey(bytes(32)).commitment()
    assert SECRET.hex() not in KEY.commitment()
