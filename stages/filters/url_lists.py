"""Lists of domains and URL prefixes for `filters.url`, and how a URL is taken apart for them."""

from __future__ import annotations

import gzip
import io
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

import numpy as np
import numpy.typing as npt

from corpusmill.pipeline.errors import AssetError
from corpusmill.stages.array_cache import cached, digest_of

from .entry_hashes import LONGEST_HOST, PADDING, Hashes, contains, of_texts, table

Target = tuple[str, str]
"""A URL for matching: host, and the rest from the path on (``""`` or beginning with ``/``)."""

_URL = re.compile(r"[\x00-\x20]*<?https?://(?P<netloc>[^/?#\\]*)(?P<rest>[^#]*)", re.IGNORECASE)
_HOST = re.compile(r"(?:[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?\.)*[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?\Z")
_IPV6 = re.compile(r"\[[0-9a-f:.]+\]\Z")
_LOWER = {c: c + 32 for c in range(ord("A"), ord("Z") + 1)}
_MAX_PREFIXES = 64
_BLOCK_BYTES = 1 << 18
_LOOK_BYTES = 512
_BAD_SHARE = 100  # one unusable line in so many is forgiven: crowd-made lists have slips
_CACHED_BYTES = 1 << 20
_TOGETHER = 4096  # entries that were looked at one by one are hashed so many at a time
_DATA = Path(__file__).parent.parent / "data_lists" / "url_words"


def lower_ascii(text: str) -> str:
    """`text` with A-Z lowered and nothing else touched."""
    return text.translate(_LOWER)


def clean_host(host: str) -> str | None:
    """Host name in lower case and punycode, without ``www.`` and a trailing dot; None if it
    cannot be a host name or an address."""
    host = lower_ascii(host.strip())
    if host.endswith("."):
        host = host[:-1]
    if not host.isascii():
        try:
            # The codec works on tables of Unicode 3.2: the same under every Python.
            host = host.encode("idna").decode("ascii").lower()
        except UnicodeError:
            return None
    if len(host) > LONGEST_HOST:
        return None
    if host.startswith("www.") and host.count(".") > 1:
        host = host[4:]
    if _IPV6.match(host) or (_HOST.match(host) and len(host) > 0):
        return host
    return None


def host_and_target(url: str) -> Target | None:
    """Takes an absolute http(s) URL apart, for matching; None if it is not one."""
    match = _URL.match(url)
    if match is None:
        return None
    netloc = match["netloc"].rpartition("@")[2]
    bracket = netloc.find("]") + 1
    name = netloc[:bracket] if netloc.startswith("[") else netloc.partition(":")[0]
    host = clean_host(unquote(name))
    if host is None:
        return None
    rest = match["rest"].rstrip().removesuffix(">")
    return host, lower_ascii(unquote(rest))


@dataclass(frozen=True, slots=True)
class EntrySet:
    """Domains and URL prefixes as sorted uint64 hashes.

    `domains` match the host and all hosts below, `exact` the host only, `prefixes` a URL that
    goes on at a segment border.
    """

    domains: Hashes
    exact: Hashes
    prefixes: Hashes

    def __len__(self) -> int:
        return len(self.domains) + len(self.exact) + len(self.prefixes)

    def first_match(self, targets: Sequence[Target | None]) -> list[str | None]:
        """For each target the entry that matches it, the shortest domain first, or None."""
        found: list[str | None] = [None] * len(targets)
        if not len(self):
            return found
        keys: list[str] = []
        owners: list[int] = []
        kinds: list[int] = []
        for i, target in enumerate(targets):
            if target is None:
                continue
            for domain in domains_above(target[0]):
                keys.append(domain)
                kinds.append(0)
            keys.append(target[0])
            kinds.append(1)
            if len(self.prefixes):
                for prefix in url_prefixes(target):
                    keys.append(prefix)
                    kinds.append(2)
            owners.extend([i] * (len(keys) - len(owners)))
        hashes = of_texts(keys)
        kind = np.array(kinds, dtype=np.int8)
        hit = np.zeros(len(keys), dtype=np.bool_)
        for number, listed in enumerate((self.domains, self.exact, self.prefixes)):
            here = kind == number
            hit[here] = contains(listed, hashes[here])
        for k in np.flatnonzero(hit).tolist():
            if found[owners[k]] is None:
                found[owners[k]] = keys[k]
        return found


def domains_above(host: str) -> list[str]:
    """The host and every domain above it, shortest first: ``com``, ``b.com``, ``a.b.com``."""
    if host.startswith("[") or re.fullmatch(r"[0-9.]+", host):
        return [host]
    labels = host.split(".")
    return [".".join(labels[i:]) for i in range(len(labels) - 1, -1, -1)]


def url_prefixes(target: Target) -> Iterator[str]:
    """``host/a``, ``host/a/b``, …, then with the query: what a listed URL may match."""
    host, rest = target
    path, mark, query = rest.partition("?")
    segments = [s for s in path.split("/") if s]
    prefix = host
    for segment in segments[:_MAX_PREFIXES]:
        prefix += "/" + segment
        yield prefix
    if query:
        yield prefix + mark + query


def _open(path: Path) -> gzip.GzipFile | io.BufferedReader:
    return gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb")


def _entry(line: str) -> Target | None:
    """A list line as host and path; None if it is not usable as an entry."""
    parts = line.split()
    if len(parts) == 2 and parts[0] in ("0.0.0.0", "127.0.0.1"):
        parts = parts[1:]
    if len(parts) != 1:
        return None
    line = re.sub(r"\Ahttps?://", "", parts[0], flags=re.IGNORECASE)
    netloc, _, path = line.partition("/")
    host = clean_host(netloc.partition(":")[0].removeprefix("*").removeprefix("."))
    if host is None or "." not in host:
        return None  # "com" would block a whole top-level domain: surely a slip
    return host, lower_ascii(unquote(path)).strip("/")


def _blocks(path: Path) -> Iterator[bytes]:
    """The file in pieces of whole lines. Raises AssetError if it cannot be read."""
    try:
        with _open(path) as file:
            parts: list[bytes] = []
            while piece := file.read(_BLOCK_BYTES):
                end = piece.rfind(b"\n") + 1
                if end:
                    yield b"".join([*parts, piece[:end]])
                    parts = []
                parts.append(piece[end:])
            yield b"".join(parts)
    except (OSError, EOFError) as error:
        raise AssetError(f"list {path.name} cannot be read: {error}") from error


def _lines(block: bytes) -> list[str]:
    """The lines of a piece without comments and outer white space; empty where nothing is left."""
    text = block.decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n")
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    return [line.partition("#")[0].strip() for line in lines]


def _plain_domains(block: bytes) -> Hashes | None:
    """The hashes of the lines of a piece, if each is a host name that `_entry` gives back as it
    stands: lists have millions of those, and looking at each by itself takes half a minute. None
    otherwise."""
    from .domain_kernel import hash_domains

    body = block if block.endswith(b"\n") else block + b"\n"
    hashes = np.empty(body.count(b"\n"), np.uint64)
    found = hash_domains(np.frombuffer(body + PADDING, np.uint8), len(body), hashes)
    return hashes if found == len(hashes) else None


def _sorted_out(block: bytes) -> Iterator[tuple[Hashes | None, bytes]]:
    """What is in a piece, in order: hashes of plain domains, or bytes whose lines need a look."""
    domains = _plain_domains(block)
    if domains is not None:
        yield domains, b""
        return
    middle = block.find(b"\n", len(block) // 2) + 1
    if not 0 < middle < len(block) or len(block) < _LOOK_BYTES:
        yield None, block
        return
    yield from _sorted_out(block[:middle])
    yield from _sorted_out(block[middle:])


def _files(path: Path, categories: Sequence[str]) -> list[Path]:
    """The files of one asset: itself, or those of the wanted categories of a UT1 folder."""
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise AssetError(
            f"list {path} does not exist", hint="give a text file, or a folder in the UT1 layout"
        )
    by_category: dict[str, list[Path]] = {}
    for file in sorted(path.rglob("*")):
        nested = re.fullmatch(r"(?:domains|urls)(?:\.txt)?(?:\.gz)?", file.name)
        flat = re.fullmatch(r"([\w-]+)\.(?:domains|urls)(?:\.txt)?(?:\.gz)?", file.name)
        if nested:
            by_category.setdefault(file.parent.name, []).append(file)
        elif flat:
            by_category.setdefault(flat[1], []).append(file)
    missing = [c for c in categories if c not in by_category]
    if missing:
        raise AssetError(
            f"folder {path.name} has no list for {', '.join(missing)}",
            hint=f"set categories to a choice of: {', '.join(sorted(by_category)) or '(none)'}",
        )
    return [file for c in categories for file in by_category[c]]


def check_lists(assets: Iterable[str], categories: Sequence[str]) -> None:
    """Raises AssetError for a list that is missing, or whose first lines hold no entry."""
    for asset in assets:
        for path in _files(Path(asset), categories):
            first = next(_blocks(path))
            lines = [line for line in _lines(first) if line]
            if lines and not any(map(_entry, lines)):
                raise AssetError(
                    f"list {path.name} begins with {first[:40]!r}, which is no domain or URL",
                    hint="one domain or URL a line, no patterns",
                )


def read_lists(
    assets: Iterable[str], categories: Sequence[str], exact: Collection[str] | None = None
) -> EntrySet:
    """All entries of the lists. Domains in `exact` (public suffixes) match that host only.

    Raises AssetError for a list that is missing, has no usable entry, or in which more than one
    line in a hundred is no entry.
    """
    hosts = _Hashes(exact or ())
    for asset in assets:
        for path in _files(Path(asset), categories):
            good = bad = number = 0
            first_bad = ""
            for domains, others in (pair for b in _blocks(path) for pair in _sorted_out(b)):
                if domains is not None:
                    hosts.add_hosts(domains)
                    good += len(domains)
                    number += len(domains)
                    continue
                for line in _lines(others):
                    number += 1
                    if not line:
                        continue
                    entry = _entry(line)
                    if entry is None:
                        bad += 1
                        first_bad = first_bad or f"line {number}: {line[:80]!r}"
                        continue
                    good += 1
                    hosts.add(*entry)
            if not good or bad * _BAD_SHARE > good + bad:
                raise AssetError(
                    f"list {path.name}: {bad} of {good + bad} lines are no domain or URL"
                    + (f"; first at {first_bad}" if first_bad else ""),
                    hint="one domain or URL a line, no patterns",
                )
    return hosts.entries()


def load_lists(
    assets: Sequence[str], categories: Sequence[str], suffixes: Path | None = None
) -> EntrySet:
    """As `read_lists`, with a public suffix list's file, and through the cache where that is
    quicker."""
    files = [file for asset in assets for file in _files(Path(asset), categories)]
    if sum(file.stat().st_size for file in files) < _CACHED_BYTES:
        exact = None if suffixes is None else public_suffixes(suffixes)
        return read_lists(assets, categories, exact)

    def make() -> Mapping[str, npt.NDArray[np.uint64]]:
        exact = None if suffixes is None else public_suffixes(suffixes)
        made = read_lists(assets, categories, exact)
        return {"domains": made.domains, "exact": made.exact, "prefixes": made.prefixes}

    origin: list[str | Path] = [
        Path(__file__),
        Path(__file__).with_name("entry_hashes.py"),
        Path(__file__).with_name("domain_kernel.py"),
        *files,
        "suffixes",
        *([] if suffixes is None else [suffixes]),
    ]
    try:
        key = digest_of(origin)
    except OSError as error:
        raise AssetError(f"list {error.filename} cannot be read: {error.strerror}") from error
    return EntrySet(**cached("url-lists", key, make))


class _Hashes:
    """Collects entries as hashes."""

    def __init__(self, exact: Collection[str]) -> None:
        self._exact = np.sort(of_texts(sorted(exact)))
        self._domains, self._only_host, self._prefixes = bytearray(), bytearray(), bytearray()
        self._single_hosts: list[str] = []
        self._single_prefixes: list[str] = []

    def add_hosts(self, hashes: Hashes) -> None:
        """Adds plain host names by their hashes."""
        public = contains(self._exact, hashes)
        if public.any():
            self._only_host += hashes[public].tobytes()
            hashes = hashes[~public]
        self._domains += hashes.tobytes()

    def add(self, host: str, rest: str) -> None:
        """Adds one entry as `_entry` gives it."""
        if rest:
            self._single_prefixes.append(f"{host}/{rest}")
        else:
            self._single_hosts.append(host)
        if len(self._single_hosts) + len(self._single_prefixes) >= _TOGETHER:
            self._hash_single()

    def _hash_single(self) -> None:
        self.add_hosts(of_texts(self._single_hosts))
        self._prefixes += of_texts(self._single_prefixes).tobytes()
        self._single_hosts, self._single_prefixes = [], []

    def entries(self) -> EntrySet:
        """What was added, sorted. Nothing can be added after that."""
        self._hash_single()
        return EntrySet(table(self._domains), table(self._only_host), table(self._prefixes))


def public_suffixes(path: Path) -> frozenset[str]:
    """The suffixes of a public suffix list as plain host names (its wildcards without the star,
    its exceptions left out). Raises AssetError if it holds none."""
    found: set[str] = set()
    for line in (line for block in _blocks(path) for line in _lines(block)):
        if not line or line.startswith(("//", "!")):
            continue
        host = clean_host(line.split()[0].removeprefix("*."))
        if host is not None:
            found.add(host)
    if not found:
        raise AssetError(f"public suffix list {path.name} holds no suffix")
    return frozenset(found)


def url_words(name: str) -> tuple[str, ...]:
    """The committed word list `name` (``words``, ``phrases`` or ``soft_words``)."""
    blocks = _blocks(_DATA / f"{name}.txt")
    return tuple(line for block in blocks for line in _lines(block) if line)
