"""Draw the records of one block of chunks, by the guarantee that the spec names; each chunk has a stream of its own."""

from collections.abc import Callable, Iterator
from functools import partial

from deniable.domain import Codes
from deniable.histogram_sampling import PrefixSampler
from deniable.keys import WordStream
from deniable.resampling import SeedResampler
from deniable.synthesis import synthesize as run_mechanism
from schemas.recipes import attempt
from schemas.references import Audience, Reference
from schemas.release_spec import ReleaseSpec
from schemas.synthesis import PrivacyTestedSeeds
from stores.charging import opened_streams
from stores.lineage import recorded_step
from stores.models import read_histogram, read_index, read_model
from stores.tables import write_codes
from stores.workspace import Workspace
from tasks.progress import advance
from tasks.step import as_task

CHUNKS_A_BLOCK = 4
"""Chunks of a block at least; how work is divided has no effect on what is drawn, which depends on the chunks alone."""

MAX_BLOCKS = 64
"""A block is a task and a run of its own, which cost a fraction of a second however large it is."""

Draw = Callable[[int, int], Codes]
"""What a chunk releases, by its number and its candidates."""


def blocks(spec: ReleaseSpec) -> list[range]:
    """Divide the chunks of a release into blocks, the unit that the flow maps over."""
    chunks = -(-spec.synthesis.attempts // spec.synthesis.chunk_candidates)
    size = max(CHUNKS_A_BLOCK, -(-chunks // MAX_BLOCKS))
    return [range(start, min(chunks, start + size)) for start in range(0, chunks, size)]


def synthesize(workspace: Workspace, model: Reference, seeds: Reference | None, block: range) -> Reference:
    """Draw all candidates of a block and keep what may be released.

    Args:
        workspace: the release.
        model: the model.
        seeds: the indexed seeds, or the noisy histogram of their prefixes; none for a release without seeds.
        block: numbers of the chunks.

    Returns:
        Codes of what may be released, restricted until all is decided.
    """
    spec = workspace.spec
    name = f"candidates-{block.start:06d}.parquet"
    inputs = [model] if seeds is None else [model, seeds]
    with recorded_step(workspace, "synthesize", inputs=inputs, part=f"chunks {block.start}-{block.stop - 1}") as step:
        step.parameters(chunks=f"{block.start}-{block.stop - 1}", chunk_candidates=spec.synthesis.chunk_candidates)
        draw = _draw_from_model(workspace, model)
        if seeds is not None and isinstance(spec.synthesis, PrivacyTestedSeeds):
            draw = _draw_and_test(workspace, spec.synthesis, model, seeds)
        elif seeds is not None:
            draw = _draw_from_histogram(workspace, model, seeds)
        with workspace.writing(name, Audience.RESTRICTED) as path:
            rows = write_codes(path, spec.domain, _chunks(spec, block, draw))
        drawn = _drawn(workspace, model, seeds, block)
        if isinstance(spec.synthesis, PrivacyTestedSeeds):
            step.figures({"tested": drawn}, Audience.PUBLIC)
            step.figures({"passed": rows}, Audience.INTERNAL)
        else:
            step.figures({"drawn": drawn}, Audience.PUBLIC)
        return step.output(workspace.refer("candidates", name, Audience.RESTRICTED, rows))


def _drawn(workspace: Workspace, model: Reference, seeds: Reference | None, block: range) -> int:  # noqa: ARG001 - as the step is called
    """How many candidates a block has."""
    return sum(_candidates(workspace.spec, chunk) for chunk in block)


def _named(workspace: Workspace, model: Reference, seeds: Reference | None, block: range) -> str:  # noqa: ARG001 - as above
    """What a block is called."""
    return f"chunks {block.start}-{block.stop - 1}"


def _chunks(spec: ReleaseSpec, block: range, draw: Draw) -> Iterator[Codes]:
    """What each chunk of the block releases."""
    for chunk in block:
        candidates = _candidates(spec, chunk)
        yield draw(chunk, candidates)
        advance("synthesize", candidates)


def _candidates(spec: ReleaseSpec, chunk: int) -> int:
    """How many candidates a chunk has; the last one has what is left."""
    size = spec.synthesis.chunk_candidates
    return min(size, spec.synthesis.attempts - chunk * size)


def _draw_and_test(workspace: Workspace, synthesis: PrivacyTestedSeeds, model: Reference, index: Reference) -> Draw:
    """Mechanism 1* with the indexed seeds."""
    mechanism, omega = attempt(synthesis), dict(synthesis.omega)
    resampler = SeedResampler(read_model(workspace.spec.domain, model), omega)
    seeds = read_index(index)
    open_stream = partial(
        opened_streams(workspace, "synthesize", f"{model.digest} {index.digest}"),
        mechanism="mechanism_1_star",
        parameters=mechanism.parameters(omega),
    )
    return lambda chunk, candidates: run_mechanism(resampler, seeds, mechanism, open_stream(chunk=chunk), candidates)


def _draw_from_histogram(workspace: Workspace, model: Reference, histogram: Reference) -> Draw:
    """Prefixes by their noisy counts, the rest from the model."""
    domain = workspace.spec.domain
    sampler = PrefixSampler(read_model(domain, model), read_histogram(domain, histogram))
    open_stream = _open_sampling_stream(workspace, f"{model.digest} {histogram.digest}")
    return lambda chunk, candidates: sampler.sample(open_stream(chunk).take(candidates * sampler.words_per_record))


def _draw_from_model(workspace: Workspace, model: Reference) -> Draw:
    """Whole records from the model."""
    net = read_model(workspace.spec.domain, model)
    open_stream = _open_sampling_stream(workspace, model.digest)
    return lambda chunk, candidates: net.sample_evenly(open_stream(chunk).take(candidates * len(net.domain)))


def _open_sampling_stream(workspace: Workspace, inputs: str) -> Callable[[int], WordStream]:
    """Streams to draw from public things with, by chunk."""
    key = workspace.key()
    return lambda chunk: key.stream(step="synthesize", mechanism="sample", inputs=inputs, parameters={}, chunk=chunk)


synthesize_task = as_task(synthesize, amount=_drawn, part=_named)
