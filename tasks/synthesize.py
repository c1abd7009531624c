"""Draw and test the candidates of one block of chunks; each chunk has a stream of its own."""

from collections.abc import Iterator

from deniable.domain import Codes
from deniable.resampling import SeedResampler
from deniable.synthesis import synthesize as run_mechanism
from schemas.recipes import attempt, is_seedless
from schemas.references import Audience, Reference
from schemas.release_spec import ReleaseSpec
from stores.lineage import recorded_step
from stores.models import read_index, read_model
from stores.tables import write_codes
from stores.workspace import Workspace
from tasks.progress import advance
from tasks.step import as_task

CHUNKS_A_BLOCK = 4
"""How work is divided; what is drawn depends on the chunks alone."""


def blocks(spec: ReleaseSpec) -> list[range]:
    """Divide the chunks of a release into blocks, the unit that the flow maps over."""
    chunks = -(-_attempts(spec) // spec.synthesis.chunk_candidates)
    return [range(start, min(chunks, start + CHUNKS_A_BLOCK)) for start in range(0, chunks, CHUNKS_A_BLOCK)]


def _attempts(spec: ReleaseSpec) -> int:
    """Candidates to be drawn: all of them are released where no seed is at stake, so no more than are wanted."""
    return spec.synthesis.records if is_seedless(spec) else spec.synthesis.candidates


def synthesize(workspace: Workspace, model: Reference, index: Reference | None, block: range) -> Reference:
    """Make all attempts of a block.

    Args:
        workspace: the release.
        model: the model.
        index: the indexed seeds; none for a model that needs no seed.
        block: numbers of the chunks.

    Returns:
        Codes of what passed the privacy test, restricted until all is decided.
    """
    spec = workspace.spec
    name = f"candidates-{block.start:06d}.parquet"
    inputs = [model] if index is None else [model, index]
    with recorded_step(workspace, "synthesize", inputs=inputs, part=f"chunks {block.start}-{block.stop - 1}") as step:
        step.parameters(chunks=f"{block.start}-{block.stop - 1}", chunk_candidates=spec.synthesis.chunk_candidates)
        with workspace.writing(name, Audience.RESTRICTED) as path:
            rows = write_codes(path, spec.domain, _chunks(workspace, model, index, block))
        return step.output(workspace.refer("candidates", name, Audience.RESTRICTED, rows))


def _chunks(workspace: Workspace, model: Reference, index: Reference | None, block: range) -> Iterator[Codes]:
    """What each chunk of the block releases."""
    spec = workspace.spec
    net = read_model(spec.domain, model)
    key = workspace.key()
    size = spec.synthesis.chunk_candidates
    for chunk in block:
        candidates = min(size, _attempts(spec) - chunk * size)
        if index is None:
            stream = key.stream(step="synthesize", mechanism="sample", inputs=model.digest, parameters={}, chunk=chunk)
            yield net.sample(stream.take(candidates * len(spec.domain)))
        else:
            mechanism = attempt(spec)
            stream = key.stream(
                step="synthesize",
                mechanism="mechanism_1_star",
                inputs=f"{model.digest} {index.digest}",
                parameters=mechanism.parameters(dict(spec.synthesis.omega)),
                chunk=chunk,
            )
            resampler = SeedResampler(net, dict(spec.synthesis.omega))
            yield run_mechanism(resampler, read_index(index), mechanism, stream, candidates)
        advance("synthesize", candidates)


synthesize_task = as_task(synthesize)
