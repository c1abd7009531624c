"""Faults in who may approve, open an account, set a budget or charge: signatures, witnesses, accounts."""

from tests.mutants.mutant import faults

_SIGNED = "unit/test_signed_approvals.py::"
_CHANGED = _SIGNED + "test_nothing_can_be_changed_under_an_approval"
_MOVED = _SIGNED + "test_an_approval_of_another_release_is_refused"
_VALID = _SIGNED + "test_a_key_approves_only_while_it_is_valid"
_ENTERED = _SIGNED + "test_the_exported_ledger_says_whose_keys_could_approve"
_WANTED = _SIGNED + "test_a_name_alone_is_refused_where_the_ledger_wants_a_signature"
_NAMED = _SIGNED + "test_a_name_alone_is_refused_once_approvers_have_keys"
_BOUND = _SIGNED + "test_what_is_bound_is_compared_even_if_an_approver_signs_it"
_KEYS = "stores/test_approvers.py::"
_ELSE = _KEYS + "test_an_approval_is_no_approval_of_anything_else"
_ALONE = _KEYS + "test_a_name_alone_approves_nothing_and_refuses"
_BROKEN = _KEYS + "test_entries_about_keys_that_do_not_follow_break_the_ledger"
_REVOKED = _KEYS + "test_nothing_that_a_compromised_key_signed_counts"
_BACK = _KEYS + "test_no_old_copy_of_the_ledger_brings_a_revoked_key_back"
_OLD_CUSTODIAN = _KEYS + "test_no_old_copy_of_the_ledger_brings_an_old_custodian_back"
_LOST = _KEYS + "test_a_lost_key_is_replaced_with_the_spare_key_and_with_nothing_else"
_KILLED = _KEYS + "test_a_process_that_is_killed_while_a_key_is_replaced_leaves_the_one_that_the_ledger_names"
_ADMITTED = _KEYS + "test_a_key_is_admitted_once_by_a_name_and_is_nobody_elses"
_READ = _KEYS + "test_an_approvers_key_is_kept_in_the_persons_own_folder_and_read_strictly"
_ACCOUNTS = "stores/test_accounts.py::"
_FORGED = _ACCOUNTS + "test_a_ledger_with_a_budget_that_the_custodian_did_not_sign_is_broken"
_SAME = _ACCOUNTS + "test_the_same_source_under_another_name_is_refused"
_SECOND = _ACCOUNTS + "test_a_second_account_needs_the_custodians_declaration"
_WRITTEN = _ACCOUNTS + "test_a_name_that_is_written_otherwise_opens_no_account"
_GATE = "stores/test_gate.py::"
_NOTED = _GATE + "test_every_charge_is_noted_for_its_release_before_its_draw"
_LOWERED = _GATE + "test_a_cap_that_was_lowered_is_not_raised_by_an_old_ledger_and_its_copy"
_ASKS = _GATE + "test_a_running_process_asks_before_each_charge"
_TORN = _GATE + "test_a_note_torn_by_a_kill_spoils_no_later_one"
_ANCHOR = "stores/test_ledger_anchor.py::"
_VAULT = _ANCHOR + "test_a_release_of_the_vault_that_the_ledger_does_not_know_proves_a_lost_ledger"

MUTANTS = (
    *faults(
        "deniable/record/approval.py",
        (
            'return canonical([_PURPOSE, release["id"], release["dataset"], said, dict(subject)])',
            'return canonical([_PURPOSE, release["dataset"], said, dict(subject)])',
            "an approver signs no release",
            _ELSE,
        ),
        (
            'return canonical([_PURPOSE, release["id"], release["dataset"], said, dict(subject)])',
            'return canonical([_PURPOSE, release["id"], said, dict(subject)])',
            "an approver signs no dataset",
            _CHANGED,
        ),
        (
            'return canonical([_PURPOSE, release["id"], release["dataset"], said, dict(subject)])',
            'return canonical([_PURPOSE, release["id"], release["dataset"], said, {}])',
            "an approver signs neither plan nor cost",
            _CHANGED,
        ),
        (
            '_SAID = ("decision", "by", "identity", "time", "reason", "seen")',
            '_SAID = ("decision", "by", "identity", "time", "reason")',
            "an approver does not sign what was seen",
            _CHANGED,
        ),
        (
            '_SAID = ("decision", "by", "identity", "time", "reason", "seen")',
            '_SAID = ("decision", "by", "identity", "reason", "seen")',
            "an approver does not sign the time",
            _CHANGED,
        ),
        (
            '"plan": digest_of([record["spec"]["digest"], record["schema"]["domain"]]),',
            '"plan": digest_of([record["spec"]["digest"]]),',
            "an approval holds for any schema",
            _CHANGED,
        ),
        (
            '"cost": digest_of(record["cost"]),',
            '"cost": digest_of([]),',
            "an approval holds for any cost",
            _CHANGED,
        ),
        (
            'if entry["kind"] == Charge.kind and "content" in entry',
            "if False",
            "an approval holds for any charges",
            _CHANGED,
        ),
        (
            '    if by != key.owner:\n        yield f"the approval by {by} is signed with the key {key.name}"\n',
            "",
            "an approver approves under any name",
            _CHANGED,
        ),
        (
            '    if (fault := key.fault_at(approval["time"])) is not None:\n        yield fault\n',
            "",
            "a revoked key approves",
            _VALID,
        ),
        (
            "    except (InvalidSignature, ValueError):\n        yield",
            "    except (InvalidSignature, ValueError):\n        return\n        yield",
            "no signature of an approver is checked",
            _CHANGED,
        ),
        (
            "        if signed[name] != right:",
            "        if False:",
            "a signed plan, cost or sentence is not compared with that of the release",
            _BOUND,
        ),
        (
            "return min((key.valid_from for key",
            "return max((key.valid_from for key",
            "approvals need no signature until the last approver is admitted",
            _SIGNED + "test_signatures_are_required_since_the_first_approver",
        ),
        (
            "found[fact.public] = fact",
            "found.setdefault(fact.public, fact)",
            "a revocation in the ledger is not read",
            _SIGNED + "test_the_last_entry_of_a_key_holds",
        ),
    ),
    *faults(
        "deniable/verification/approval.py",
        (
            "faults = found(lambda: _faults_of_key(record, TrustedKeys() if keys is None else keys, exported))",
            "faults = ()",
            "verify does not look at the signature of an approval",
            _CHANGED,
        ),
        (
            'elif since is not None and moment(approval["time"]) >= moment(since):',
            "elif False:",
            "the signature of an approval can be left out",
            _NAMED,
        ),
        (
            'if approval["identity"] == "key":',
            "if False:",
            "a record may say that a key signed, and show no signature",
            _SIGNED + "test_a_record_that_speaks_of_a_key_shows_its_signature",
        ),
        (
            "elif entered is not None and any(map(_requires_signatures, entered)):",
            "elif False:",
            "a ledger's wish for signatures is not heard",
            _WANTED,
        ),
        (
            'if signed["keyid"] == record["signed"]["keyid"]:',
            "if False:",
            "who signs the record may approve it",
            _CHANGED,
        ),
        (
            "if key is None or key.keyid not in {each.keyid for each in approver_keys(entered)}:",
            "if key is None:",
            "an approver may be admitted after the publication",
            _ENTERED,
        ),
        (
            'elif (fault := key.fault_at(approval["time"])) is not None:',
            "elif (fault := None) is not None:",
            "a revocation that only the ledger has is not seen",
            _ENTERED,
        ),
        (
            "if last is None or entry.number <= last:",
            "if last is None or entry.number < last:",
            "the entry at the head of a record is not read",
            _SIGNED + "test_an_approver_admitted_by_the_last_entry_could_approve",
        ),
    ),
    *faults(
        "deniable/ledger/state.py",
        (
            "        if fault is not None:\n            raise LedgerBroken(fault)\n\n    def _admit",
            "\n    def _admit",
            "signatures of the custodian are not checked",
            _FORGED,
        ),
        (
            "            if fault_by(self.spare) is None:\n                return\n",
            "",
            "a spare key replaces nothing",
            _KEYS + "test_the_spare_key_replaces_the_key_and_itself",
        ),
        (
            "if isinstance(fact, Custodian) and self.spare:",
            "if self.spare:",
            "a spare key sets budgets and admits approvers",
            _BROKEN,
        ),
        (
            "if fault is None and fact.spare != self.spare:",
            "if False:",
            "a thief of the custodian's key replaces the spare key",
            _BROKEN,
        ),
        (
            "if approver.public in (self.custodian, self.spare):",
            "if False:",
            "the custodian's key approves releases",
            _BROKEN,
        ),
        (
            "if before is not None and not before.may_become(approver):",
            "if False:",
            "a revoked key is admitted again",
            _BROKEN,
        ),
        (
            "if before is None and approver.revoked_as:",
            "if False:",
            "a key that was never admitted is revoked",
            _BROKEN,
        ),
        (
            "        self.approvers[approver.public] = approver\n        self.signs_approvals = True\n",
            "        self.approvers[approver.public] = approver\n",
            "an old ledger takes names although it has approvers",
            _KEYS + "test_a_ledger_of_an_earlier_version_takes_names_until_an_approver_is_admitted",
        ),
        (
            "self.signs_approvals = fact.approvals == SIGNED_APPROVALS",
            "self.signs_approvals = False",
            "a new ledger takes names",
            _KEYS + "test_a_new_ledger_wants_signatures_from_the_first",
        ),
        (
            "            if isinstance(fact, Approver):\n                raise",
            "            if False:\n                raise",
            "an approver is admitted where there is no custodian",
            _KEYS + "test_an_approver_is_admitted_by_a_custodian_only",
        ),
        (
            'return "".join(each for each in folded if each.isalnum())',
            "return folded",
            "a name with other separators opens an account",
            _ACCOUNTS + "test_names_are_the_same_in_all_writings",
        ),
    ),
    *faults(
        "deniable/ledger/signatures.py",
        (
            "return canonical([_PURPOSE, ledger, previous, fact.kind, content]).encode()",
            "return canonical([_PURPOSE, ledger, fact.kind, content]).encode()",
            "a signed budget can be entered again",
            _FORGED,
        ),
        (
            "return canonical([_PURPOSE, ledger, previous, fact.kind, content]).encode()",
            "return canonical([_PURPOSE, previous, fact.kind, content]).encode()",
            "a signed budget holds in any ledger",
            _KEYS + "test_a_custodians_signature_is_for_one_ledger_and_one_kind",
        ),
        (
            "return canonical([_PURPOSE, ledger, previous, fact.kind, content]).encode()",
            "return canonical([_PURPOSE, ledger, previous, content]).encode()",
            "a signature holds for an entry of another kind",
            _KEYS + "test_a_custodians_signature_is_for_one_ledger_and_one_kind",
        ),
        (
            "    if not signature:\n",
            "    if not signature:\n        return None\n    if False:\n",
            "a budget needs no signature",
            _FORGED,
        ),
    ),
    *faults(
        "deniable/ledger/entries.py",
        (
            "return same and _REVOKED.index(later.revoked_as) > _REVOKED.index(self.revoked_as)",
            "return same and later.revoked_as != self.revoked_as",
            "a compromised key becomes a superseded one",
            _BROKEN,
        ),
        (
            "return same and _REVOKED.index(later.revoked_as) > _REVOKED.index(self.revoked_as)",
            "return _REVOKED.index(later.revoked_as) > _REVOKED.index(self.revoked_as)",
            "a revocation changes whose key it is",
            _BROKEN,
        ),
    ),
    *faults(
        "stores/releases/signed_approvals.py",
        (
            "        if approvers.required:\n            yield",
            "        if False:\n            yield",
            "a name in the vault lets a release be published",
            _ALONE,
        ),
        (
            "if note.subject is None or made.seen != note.candidate:",
            "if note.subject is None:",
            "an approval of another candidate counts",
            _KEYS + "test_an_approval_of_another_candidate_does_not_count",
        ),
        (
            "    if moment(made.time) < moment(note.since):",
            "    if False:",
            "an approval from before the release was held counts",
            _ELSE,
        ),
        (
            "    if made.by.casefold() == note.started_by.casefold():",
            "    if False:",
            "an approval in the vault by who started the release counts",
            _ELSE,
        ),
        (
            "    if note.approvers is not None and made.by not in note.approvers:",
            "    if False:",
            "an approval in the vault by anybody counts",
            _ELSE,
        ),
        (
            "    if (objection := admitted.objection_at(now)) is not None:",
            "    if (objection := None) is not None:",
            "a revoked key still signs",
            _REVOKED,
        ),
        (
            "yield from faults_of_signed(_release(note), subject,",
            "yield from () and faults_of_signed(_release(note), subject,",
            "no signature is checked before publication",
            _ELSE,
        ),
    ),
    *faults(
        "stores/releases/deciding.py",
        (
            'if word == "approved" and approvers.required:',
            "if False:",
            "the command approves with a name",
            _ALONE,
        ),
        (
            'counts=lambda before: before.decision == "refused" or fault_of_approval(note, before, approvers) is None,',
            "counts=lambda before: True,",
            "a forged decision keeps a valid one away",
            _KEYS + "test_a_decision_that_does_not_count_is_set_aside_and_another_one_made",
        ),
        (
            "return made if fault_of_approval(note, made, who_approves(state)) is None else None",
            "return made",
            "a forged decision counts",
            _ALONE,
        ),
    ),
    *faults(
        "stores/releases/approval.py",
        (
            "        if fault is None:\n            note_approval",
            "        if True:\n            note_approval",
            "a release is published by a forged approval",
            "flows/test_approval.py::test_a_forged_a_moved_and_a_voided_approval_publish_nothing",
        ),
        (
            "        follow_ledger(state, ledger)\n",
            "        pass\n",
            "an approved release is not published where the trust file lacks its approver",
            "flows/test_approval.py::test_a_forged_a_moved_and_a_voided_approval_publish_nothing",
        ),
    ),
    *faults(
        "stores/ledger/approvers.py",
        (
            "    if public in (known.custodian, known.spare):",
            "    if False:",
            "the custodian's key is admitted",
            _ADMITTED,
        ),
        (
            "    signing.with_approvers((key,))\n",
            "",
            "a key that signs releases is admitted",
            _ADMITTED,
        ),
        (
            "if before.owner == name and before.revoked is None:",
            "if False:",
            "a replaced key goes on approving",
            _KEYS + "test_what_an_approver_signed_before_the_key_was_replaced_counts_and_nothing_after",
        ),
        (
            'if reason != "superseded" and spare is None:',
            "if False:",
            "a thief replaces the custodian's key as lost",
            _LOST,
        ),
        (
            "kept = books.spare if new_spare is None",
            'kept = "" if new_spare is None',
            "a replaced key leaves no spare key",
            _LOST,
        ),
        (
            "    if books.spare:\n        raise",
            "    if False:\n        raise",
            "a second spare key is made for nothing",
            _LOST,
        ),
    ),
    *faults(
        "stores/keys/custodian_key.py",
        (
            "        settle_waiting(place, public, _WHOSE)\n    key = _held",
            "        pass\n    key = _held",
            "a process that was killed leaves the wrong custodian's key",
            _KILLED,
        ),
        (
            "    if public and key.public != public:\n        raise",
            "    if False:\n        raise",
            "another custodian's key is taken for the right one",
            _KEYS + "test_the_custodians_key_is_replaced_and_what_it_signed_stays",
        ),
    ),
    *faults(
        "stores/keys/personal_key.py",
        (
            "    if mode & _OTHERS:",
            "    if False:",
            "others may read an approver's key",
            _READ,
        ),
        (
            "            if public_of(load_personal_key(waiting, whose)) == public:",
            "            if True:",
            "a key that the ledger does not name replaces the custodian's",
            _KILLED,
        ),
        (
            "    if place.exists() and not unless_there:",
            "    if False:",
            "a key is not made, and its absence not reported",
            _READ,
        ),
    ),
    *faults(
        "stores/ledger/gate.py",
        (
            "_KEPT = {kind.kind for kind in (Charge, *SIGNED)}",
            "_KEPT = {Charge.kind}",
            "no note is kept of caps and keys",
            _LOWERED,
        ),
        (
            "        if entry.kind not in _KEPT:\n            return\n",
            "        return\n",
            "no note is kept of a charge",
            _NOTED,
        ),
        (
            "        if fault is not None:\n            raise LedgerReplaced(",
            "        if False:\n            raise LedgerReplaced(",
            "the gate lets everything through",
            _ASKS,
        ),
        (
            "        self._proofs = self.witnesses.proofs()",
            "        self._proofs = self._proofs or self.witnesses.proofs()",
            "witnesses are heard once",
            _ASKS,
        ),
        (
            "if lacking is not None]",
            "if lacking is None]",
            "what is proved is taken for what is missing",
            _NOTED,
        ),
    ),
    *faults(
        "stores/ledger/evidence.py",
        (
            "if books.digest_at(self.number) == self.digest:",
            "if books.digest_at(self.number):",
            "another entry of the same number is taken for the proved one",
            _GATE + "test_another_ledger_of_as_many_entries_is_not_the_proved_one",
        ),
        (
            "if books.recoveries and all(books.is_charged(identity) for identity in self.charges):",
            "if books.recoveries:",
            "after a recovery no charge is missed",
            _GATE + "test_a_recovery_excuses_no_charge_that_is_still_missing",
        ),
        (
            "known = self.commitment in books.commitments or self.commitment in books.given_up",
            "known = True",
            "a vault proves nothing",
            _VAULT,
        ),
        (
            'file.write(line if held.endswith(b"\\n") or not held else b"\\n" + line)',
            "file.write(line)",
            "a torn note spoils the next one",
            _TORN,
        ),
        (
            "if before is None or stamp is None or before[0] != stamp:",
            "if before is None or stamp is None:",
            "a note that grew is not read again",
            _BACK,
        ),
        (
            'sorted((self.state / NOTES).glob("[!.]*.jsonl"))',
            "()",
            "notes are no witnesses",
            _OLD_CUSTODIAN,
        ),
    ),
    *faults(
        "stores/ledger/accounts.py",
        (
            "    if others and not declared:",
            "    if False:",
            "a source is charged to a second account",
            _SAME,
        ),
        (
            "        if policies:\n",
            "        if False:\n",
            "a second account opens by itself",
            _SECOND,
        ),
        (
            "        if policies and not people:",
            "        if False:",
            "the command opens a second account without a declaration",
            _SECOND,
        ),
        (
            "    content = _content_of(spec) if opened else None\n",
            "    content = None\n",
            "a copy of a source is not recognised",
            _SAME,
        ),
        (
            "        ledger.require_new_name(dataset)\n        if policies:\n            raise",
            "        if policies:\n            raise",
            "another writing of a name gets no explanation",
            _WRITTEN,
        ),
        (
            "    _remember(state, spec.dataset_name, marks)\n",
            "",
            "the source of another night is forgotten",
            _ACCOUNTS + "test_a_source_of_another_night_is_charged_to_its_account",
        ),
    ),
    *faults(
        "stores/ledger/ledger.py",
        (
            "            self._hear_witnesses()\n            entry = self._append(proven, signer)",
            "            entry = self._append(proven, signer)",
            "keys are entered without hearing the witnesses",
            _KEYS + "test_no_key_is_entered_in_an_old_copy_of_the_ledger",
        ),
        (
            '                raise ValueError("such a fact is always entered")\n            self._kept(entry)\n',
            '                raise ValueError("such a fact is always entered")\n',
            "no note is kept of an approver",
            _BACK,
        ),
        (
            'approvals=SIGNED_APPROVALS if public else "")',
            'approvals="")',
            "a new ledger does not ask for signatures",
            _KEYS + "test_a_new_ledger_wants_signatures_from_the_first",
        ),
    ),
    *faults(
        "stores/ledger/recovery.py",
        (
            "        _admit_again(ledger, shown.approvers if missing else ())\n",
            "",
            "a recovery forgets revocations",
            _BACK,
        ),
    ),
    *faults(
        "stores/vault/decisions.py",
        (
            "    if before is not None:\n        _set_aside(vault, before)\n",
            "",
            "a forged decision cannot be replaced",
            _KEYS + "test_a_decision_that_does_not_count_is_set_aside_and_another_one_made",
        ),
    ),
    *faults(
        "stores/keys/signing_keys.py",
        (
            "    if known is not None and len(known):\n        raise Refused(",
            "    if known is not None:\n        raise Refused(",
            "an approver who is admitted first keeps the first release from being signed",
            _KEYS + "test_the_trust_file_follows_the_ledger_and_the_signing_keys_leave_it_so",
        ),
    ),
    *faults(
        "deniable/record/trust.py",
        (
            "        return replace(self, keys=(*self.keys, key))",
            "        return TrustedKeys((*self.keys, key))",
            "a new signing key drops the approvers from the trust file",
            _SIGNED + "test_a_trust_file_names_approvers_and_those_of_earlier_versions_none",
        ),
        (
            "len({key.keyid for key in (*self.keys, *self.approvers)}) != len(self.keys) + len(self.approvers)",
            "len({key.keyid for key in self.keys}) != len(self.keys)",
            "one key signs and approves",
            _SIGNED + "test_a_trust_file_names_approvers_and_those_of_earlier_versions_none",
        ),
    ),
)
