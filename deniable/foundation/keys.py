"""The release key: the only source of randomness.

Randomised code receives a `WordStream`, from which `deniable.foundation.noise` draws exact noise. The storage and
custody of keys do not belong here.
"""

import hashlib
import hmac
import json
import secrets
import sys
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import NoReturn, Protocol, TypeAlias

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms
from numpy.typing import NDArray

from deniable.foundation.errors import InvalidInput

Words = NDArray[np.uint32]
Parameter: TypeAlias = "str | int | bool | Fraction | Sequence[Parameter]"

_KEY_BYTES = 32
# A keystream is the encryption of zeros.
_ZEROS = memoryview(bytes(1 << 16))
_LITTLE_ENDIAN = sys.byteorder == "little"
# Each derivation has its own prefix, so that values derived for different uses differ.
_STREAM = b"deniable/v1/stream\0"
_DIGEST = b"deniable/v1/digest\0"
_COMMITMENT = b"deniable/v1/commitment\0"


def fresh_salt() -> str:
    """A random salt of 64 hexadecimal digits; a salted digest does not confirm guesses of its input."""
    return ReleaseKey.generate().digest("salt", b"")


class WordStream:
    """An unlimited stream of uniform, independent 32-bit words: a ChaCha20 keystream read in little-endian order.

    Draws depend only on the order of the words, not on how many are requested at once.

    Args:
        key: the stream's own key, 32 bytes, used for this stream only: nonce and counter start at zero.

    Source: RFC 8439, section 2.4.
    """

    __slots__ = ("_buffer", "_end", "_keystream", "_start")

    def __init__(self, key: bytes) -> None:
        self._keystream = Cipher(algorithms.ChaCha20(key, bytes(16)), mode=None).encryptor()
        # Words peeked at but not consumed are those from start to end; the buffer is reused.
        self._buffer: Words = np.empty(0, np.uint32)
        self._start = self._end = 0

    def peek(self, count: int) -> Words:
        """The next `count` words without consuming them, shape (count,), read-only.

        They are overwritten by the next call that needs further words.
        """
        if count > self._end - self._start:
            ahead = self._buffer[self._start : self._end]
            if count > len(self._buffer) - self._start:
                if count > len(self._buffer):
                    self._buffer = np.empty(count, np.uint32)
                self._buffer[: len(ahead)] = ahead
                self._start, self._end = 0, len(ahead)
            self._fill(self._buffer[self._end : self._start + count])
            self._end = self._start + count
        return self._buffer[self._start : self._start + count]

    def skip(self, count: int) -> None:
        """Consume words that were peeked at.

        Raises:
            ValueError: fewer words were peeked at.
        """
        if count > self._end - self._start:
            raise ValueError(f"words must be peeked at before they are skipped, got {count}; take them.")
        self._start += count

    def take(self, count: int) -> Words:
        """Consume the next `count` words, shape (count,); nothing overwrites them."""
        words = np.empty(count, np.uint32)
        ahead = min(count, self._end - self._start)
        words[:ahead] = self._buffer[self._start : self._start + ahead]
        self._start += ahead
        self._fill(words[ahead:])
        return words

    def _fill(self, words: Words) -> None:
        """Fill an array with the next words of the keystream."""
        room = words.data.cast("B")
        for start in range(0, len(room), len(_ZEROS)):
            part = room[start : start + len(_ZEROS)]
            self._keystream.update_into(_ZEROS[: len(part)], part)
        if not _LITTLE_ENDIAN:
            words.byteswap(inplace=True)


def new_secret() -> bytes:
    """Take 32 bytes from the operating system's generator: the only entry of randomness into the project."""
    return secrets.token_bytes(_KEY_BYTES)


class ReleaseKey:
    """The secret from which all randomness of a release is derived.

    Its repr does not show it and it refuses to be pickled, so that it cannot enter a log or a stored result.

    Args:
        secret: 32 secret bytes.

    Raises:
        InvalidInput: the secret is anything but 32 bytes.
    """

    __slots__ = ("_secret",)

    def __init__(self, secret: bytes) -> None:
        if not isinstance(secret, bytes) or len(secret) != _KEY_BYTES:
            msg = f"a release key must be {_KEY_BYTES} bytes; make one with ReleaseKey.generate()."
            raise InvalidInput(msg)
        self._secret = secret

    @classmethod
    def generate(cls) -> "ReleaseKey":
        """Make a new key from the operating system's generator."""
        return cls(new_secret())

    def __repr__(self) -> str:
        """The name of the type, without the secret."""
        return "<ReleaseKey: secret>"

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        """Refuse to be pickled or copied."""
        msg = "a release key must not be pickled; pass a reference to where it is stored."
        raise TypeError(msg)

    @property
    def secret(self) -> bytes:
        """The 32 bytes, for writing them to the store of keys."""
        return self._secret

    def stream(
        self, *, step: str, mechanism: str, inputs: str, parameters: Mapping[str, Parameter], chunk: int = 0
    ) -> WordStream:
        """Open the stream of one draw; the same arguments open the same stream, any others an independent one.

        Thus a step repeated on the same inputs repeats its noise and discloses nothing new, and answers that differ in
        any argument never share noise that could be cancelled. The stream's key is HMAC-SHA256 of the arguments under
        the secret; distinct arguments are distinct messages because their encoding is injective.

        Args:
            step: the step of the release that draws.
            mechanism: what is drawn.
            inputs: digest of the exact inputs.
            parameters: everything else that the draw depends on; floats are refused, because 0.1 is not a tenth.
            chunk: number of the part, if a step runs in parts.

        Returns:
            The stream, at its first word.

        Raises:
            InvalidInput: a parameter has no exact encoding.
        """
        message = _canonical(
            {
                "step": step,
                "mechanism": mechanism,
                "inputs": inputs,
                "chunk": _plain("chunk", chunk),
                "parameters": _plain_items(parameters),
            }
        )
        return WordStream(hmac.digest(self._secret, _STREAM + message, "sha256"))

    def hasher(self, purpose: str) -> hmac.HMAC:
        """Start a keyed digest: without the key, no one can confirm a guess of the digested data.

        Args:
            purpose: the purpose of the digest; digests for different purposes are independent.

        Returns:
            An object with `update` and `hexdigest`.
        """
        return hmac.new(hmac.digest(self._secret, _DIGEST + purpose.encode(), "sha256"), digestmod="sha256")

    def digest(self, purpose: str, data: bytes) -> str:
        """Digest `data` under the key for one purpose, in hexadecimal."""
        hasher = self.hasher(purpose)
        hasher.update(data)
        return hasher.hexdigest()

    def commitment(self) -> str:
        """A public commitment to the key, in hexadecimal: a key can be checked against it but not derived from it."""
        return hashlib.sha256(_COMMITMENT + self._secret).hexdigest()


def _canonical(message: Mapping[str, object]) -> bytes:
    """Encode a message injectively as bytes: JSON, with sorted keys."""
    try:
        # Escaped, a pair of lone surrogates would be read as the one character that it encodes in UTF-16.
        return json.dumps(message, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
    except UnicodeEncodeError:
        msg = "the parameters of a stream must be text that UTF-8 can write, got a lone surrogate; remove it."
        raise InvalidInput(msg) from None


def _plain_items(parameters: Mapping[str, Parameter]) -> dict[str, object]:
    """Parameters as plain JSON values; names must be strings, because JSON would turn the name 1 into "1"."""
    if not all(isinstance(name, str) for name in parameters):
        msg = "the parameters of a stream must be named by strings, got another key; write it as a string."
        raise InvalidInput(msg)
    return {name: _plain(name, value) for name, value in parameters.items()}


def _plain(name: str, value: Parameter) -> object:
    """A parameter as a plain JSON value; only a fraction becomes an object."""
    if isinstance(value, str | bool | int):
        return value
    if isinstance(value, Fraction):
        return {"fraction": f"{value.numerator}/{value.denominator}"}
    if isinstance(value, list | tuple):
        return [_plain(name, entry) for entry in value]
    msg = (
        f"the stream parameter {name} must consist of int, bool, str, Fraction, list and tuple, "
        f"got {type(value).__name__}; write a number that is not an integer as a Fraction."
    )
    raise InvalidInput(msg)


class StreamOpener(Protocol):
    """Opens the stream of one mechanism of a step whose key and inputs are fixed."""

    def __call__(self, *, mechanism: str, parameters: dict[str, Parameter]) -> WordStream:
        """Open the stream of a mechanism with exactly these parameters."""
