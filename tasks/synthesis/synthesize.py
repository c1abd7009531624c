"""Draw the records of one block of chunks under the guarantee that the spec names; each chunk has its own stream."""

from collections.abc import Iterator

from deniable.foundation.domain import Codes
from deniable.mechanisms import Draw
from deniable.roles import Role
from schemas.references import Audience, Reference
from schemas.spec.release_spec import ReleaseSpec
from stores.ledger.charging import opened_streams
from stores.tables.tables import write_codes
from stores.tracking.step_run import recorded_step
from stores.vault.models import read_drawn_from, read_shared
from stores.vault.step_log import SEEDED
from stores.vault.workspace import Workspace
from tasks.running.progress import advance
from tasks.running.step import as_task

CHUNKS_A_BLOCK = 4
"""The smallest number of chunks in a block; the draws depend only on the chunks, not on their division into blocks."""

MAX_BLOCKS = 64
"""Each block is a separate task and run, which costs a fraction of a second regardless of the block's size."""


def blocks(spec: ReleaseSpec) -> list[range]:
    """Divide the chunks of a release into blocks, the units over which the flow maps."""
    chunks = -(-spec.synthesis.attempts // spec.synthesis.chunk_candidates)
    size = max(CHUNKS_A_BLOCK, -(-chunks // MAX_BLOCKS))
    return [range(start, min(chunks, start + size)) for start in range(0, chunks, size)]


def synthesize(workspace: Workspace, model: Reference, seeds: Reference | None, block: range) -> Reference:
    """Draw all candidates of a block, and keep those that may be released.

    Args:
        workspace: the release.
        model: the model, or the urns of a learner that charges its draws.
        seeds: what the sampler prepared from the seeds; None for a release without seeds.
        block: numbers of the chunks.

    Returns:
        Codes of the candidates that may be released, restricted until publication is decided.
    """
    spec = workspace.spec
    name = f"candidates-{block.start:06d}.parquet"
    inputs = [model] if seeds is None else [model, seeds]
    with recorded_step(
        workspace, Role.CANDIDATES, inputs=inputs, part=f"chunks {block.start}-{block.stop - 1}"
    ) as step:
        step.parameters(chunks=f"{block.start}-{block.stop - 1}", chunk_candidates=spec.synthesis.chunk_candidates)
        seeded: list[int] = []
        draw = _draw(workspace, model, seeds, seeded)
        with workspace.writing(name, Audience.RESTRICTED) as path:
            rows = write_codes(path, spec.domain, _chunks(spec, block, draw))
        drawn = _drawn(workspace, model, seeds, block)
        if spec.synthesis.tests:
            step.figures({"tested": drawn}, Audience.PUBLIC)
            step.figures({"passed": rows}, Audience.INTERNAL)
        else:
            step.figures({"drawn": drawn}, Audience.PUBLIC)
        if seeded:
            # The number in all chunks is public; those of single blocks would narrow down which records they are.
            step.figures({SEEDED: sum(seeded)}, Audience.INTERNAL)
        return step.output(workspace.refer("candidates", name, Audience.RESTRICTED, rows))


def _drawn(workspace: Workspace, model: Reference, seeds: Reference | None, block: range) -> int:  # noqa: ARG001 - as the step is called
    """Return the number of candidates in a block."""
    return sum(_candidates(workspace.spec, chunk) for chunk in block)


def _named(workspace: Workspace, model: Reference, seeds: Reference | None, block: range) -> str:  # noqa: ARG001 - as above
    """Return the name of a block."""
    return f"chunks {block.start}-{block.stop - 1}"


def _chunks(spec: ReleaseSpec, block: range, draw: Draw) -> Iterator[Codes]:
    """Yield the released codes of each chunk of the block."""
    for chunk in block:
        candidates = _candidates(spec, chunk)
        yield draw(chunk, candidates)
        advance(Role.CANDIDATES, candidates)


def _candidates(spec: ReleaseSpec, chunk: int) -> int:
    """Return the number of candidates in a chunk; the last chunk has the remainder."""
    size = spec.synthesis.chunk_candidates
    return min(size, spec.synthesis.attempts - chunk * size)


def _draw(workspace: Workspace, model: Reference, seeds: Reference | None, seeded: list[int]) -> Draw:
    """Return the function that draws a chunk, from the spec's sampler.

    Args:
        workspace: the release.
        model: what records are drawn from.
        seeds: what the sampler prepared.
        seeded: the number of records of each chunk that start from a seed is appended, if the sampler counts them.
    """
    plan, sampler = workspace.plan, workspace.plan.sampler
    prepared = None if seeds is None else read_shared(plan.products[seeds.name], seeds)
    inputs = model.digest if seeds is None else f"{model.digest} {seeds.digest}"
    # If the preparing step paid for the draws, they have that step's version.
    step = Role.CANDIDATES if sampler.prepare is None or not sampler.prepare.draws_later else sampler.prepare.name
    counted = (seeded.append,) if sampler.counts_seeds else ()
    streams = opened_streams(workspace, step, inputs)
    return sampler.open(read_drawn_from(plan.domain, model), prepared, streams, *counted)


synthesize_task = as_task(synthesize, amount=_drawn, part=_named)
