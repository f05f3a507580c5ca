"""The agent: a language model goes through the to-do list of a note with tools (Xu et al. 2026, section 4).

The list of a note is worked off in rounds. A round begins with the open annotations, has a few questions, and ends with
the first answer that decides something. What is asked depends on the decisions so far and on nothing else, so a worker
that takes over finds the answers of a killed one in the store, and asks nothing twice.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from models_runtime.backends.llm import driver
from models_runtime.backends.llm.asking import Answer, Completion, Meter, Question, ToolCall, list_schema, objects_in
from models_runtime.backends.llm.prompts import VERSION, LabelWord, digest, fenced, system_prompt
from models_runtime.backends.refining.state import ALL, Component, RefinementState, Skill, no_checks
from models_runtime.backends.refining.todo import Action as Decided
from models_runtime.backends.refining.todo import Todo, decide_rest, faults
from models_runtime.backends.refining.tools import Tool, call, row, tools
from models_runtime.backends.refining.validators import validate

# What an agent's answer does: calls of tools, by the server's own tool calls or as JSON in the text of the answer.


KEY: Final = "calls"
MOST_CALLS: Final = 50
"""Calls of one answer that are carried out; the others are refused."""


@dataclass(frozen=True)
class Action:
    """A call of a tool. `id` is that of the server's tool call, empty for a JSON action."""

    id: str
    name: str
    arguments: object


def functions(tools: Iterable[Tool]) -> tuple[Mapping[str, Any], ...]:
    """The tools in the form of chat completions."""
    return tuple(
        {
            "type": "function",
            "function": {"name": tool.name, "description": tool.description, "parameters": tool.schema()},
        }
        for tool in tools
    )


def described(tools: Iterable[Tool]) -> str:
    """The tools as text, with the form of an answer, for servers without tool calls."""
    rows = []
    for tool in tools:
        arguments = "; ".join(
            f"{each.name} ({each.kind}{', required' if each.required else ''}): {each.description}"
            for each in tool.arguments
        )
        rows.append(f"- {tool.name}: {tool.description}{f' Arguments: {arguments}' if arguments else ''}")
    form = json.dumps({KEY: [{"tool": "keep", "number": 1, "reason": "…"}]}, ensure_ascii=False)
    return "\n".join([*rows, "", form])


def action_schema(tools: Sequence[Tool]) -> dict[str, Any]:
    """A strict JSON schema of an answer: calls, each with the name of a tool and all arguments that any tool has."""
    kinds: dict[str, str] = {argument.name: argument.kind for tool in tools for argument in tool.arguments}
    properties: dict[str, Any] = {"tool": {"type": "string", "enum": [tool.name for tool in tools]}}
    properties |= {name: {"type": [kind, "null"]} for name, kind in kinds.items()}
    return list_schema(KEY, properties)


def actions(answer: Answer) -> list[Action]:
    """The calls of an answer, in order; empty if there is none that can be read."""
    if answer.calls:
        return [Action(call.id, call.name, _arguments(call.arguments)) for call in answer.calls]
    read = next(objects_in(answer.text), None)
    rows = read.get(KEY) if isinstance(read, Mapping) and KEY in read else [read]
    return [
        Action("", row["tool"], {name: value for name, value in row.items() if name != "tool"})
        for row in (rows if isinstance(rows, list) else [])
        if isinstance(row, Mapping) and isinstance(row.get("tool"), str)
    ]


def written(answer: Answer) -> str:
    """An answer as a string of ASCII, for the store of answers: an answer may hold what databases reject."""
    return json.dumps(asdict(answer))


def read_again(stored: str) -> Answer:
    """The answer of `written`."""
    found = json.loads(stored)
    return Answer(**{**found, "calls": tuple(ToolCall(**call) for call in found["calls"])})


def _arguments(text: str) -> object:
    """The arguments of a tool call; a string that no tool accepts if they are not valid JSON."""
    try:
        return json.loads(text or "{}")
    except (ValueError, RecursionError):
        return text


REVISION: Final = "2"
"""Increase it when questions or answers are treated in another way, so that stored answers are no longer used."""
SHOWN: Final = 40
"""Open annotations at the begin of a round."""
MOST_ROUND: Final = 12
"""Questions of a round without a decision, after which the current annotation stays."""
UNREADABLE: Final = 3
"""Answers in a row without a readable call, after which the current annotation stays."""
TRIES: Final = 3
"""Rounds to repair what the last check finds; then the originals return."""
_TOKENS: Final = 4096
"""Tokens of an answer."""
MOST_TOKENS: Final = 500_000
"""Tokens of one note, in and out."""

Persist = Callable[[Todo], None]
"""Called with the list after each answer that decided something."""


@dataclass(frozen=True)
class RefinedNote:
    """A refined note. `ended` is `finished`, `steps`, `tokens` or `validation`: the limit that ended the work."""

    todo: Todo
    steps: int
    tokens: int
    ended: str


def ignore(todo: Todo) -> None:
    """For callers that store nothing before the end."""


@dataclass
class _Work:
    """The work on one note so far."""

    state: RefinementState
    persist: Persist
    steps: int = 0
    tokens: int = 0
    tries: int = 0
    ended: str = ""
    with_tools: bool = True
    more: list[dict[str, Any]] = field(default_factory=list)


class _NoTools(Exception):
    """The model can't call tools."""


class LlmAgent:
    """Refines notes with a model. `skills`: those of the project. `components`: what is not switched off.

    `steps`: most questions about a note; 0 for ten, and four for each annotation. `tokens`: 0 for the usual limit.
    """

    def __init__(
        self,
        completion: Completion,
        labels: Sequence[LabelWord],
        *,
        made_of: Sequence[str] = (),
        skills: "dict[str, Skill] | None" = None,
        components: frozenset[Component] = ALL,
        steps: int = 0,
        tokens: int = 0,
        answers: driver.AnswerCache[str] | None = None,
        meter: Meter | None = None,
        prompt: str = "",
    ) -> None:
        """`made_of`: server and model, on which stored answers depend. `prompt`: replaces the built-in one."""
        self.completion, self.meter = completion, meter or Meter()
        self._answers: driver.AnswerCache[str] = driver.NoCache() if answers is None else answers
        self._skills = skills or {}
        self._components, self._steps, self._most_tokens = components, steps, tokens or MOST_TOKENS
        self._tools = tools(components)
        self._prompt = prompt or system_prompt("agent", "en", labels)
        self._calls_tools = True
        texts = [f"{skill.name} {skill.version} {skill.text}" for _, skill in sorted(self._skills.items())]
        parts = [REVISION, VERSION, *made_of, self._prompt, *sorted(components), *texts]
        self.revision = digest("agent", *parts)

    def refine(self, todo: Todo, persist: Persist = ignore) -> driver.Conversation[RefinedNote]:
        """A conversation that decides about every open annotation. Run it with `completion`."""
        state = RefinementState.of(
            todo,
            skills=self._skills if Component.SKILLS in self._components else {},
            validate=validate if Component.VALIDATORS in self._components else no_checks,
            components=self._components,
        )
        work = _Work(state, persist)
        while not work.ended:
            if work.state.finished or not (work.state.todo.open() or self._faults(work)):
                work.ended = "finished"
            elif not work.state.todo.open() and work.tries >= TRIES:
                work.ended = "validation"
            else:
                work.tries += not work.state.todo.open()
                yield from self._round(work)
        final = decide_rest(originals(work.state.todo))
        persist(final)
        return RefinedNote(final, work.steps, work.tokens, work.ended)

    def _faults(self, work: _Work) -> list[str]:
        return faults(work.state.todo) if Component.FINAL_VALIDATION in self._components else []

    def _round(self, work: _Work) -> driver.Conversation[None]:
        """Questions until something is decided, or the current annotation is given up."""
        work.more, work.with_tools = [], self._calls_tools
        begin = self._begin(work)
        unreadable = 0
        for _ in range(MOST_ROUND):
            if work.steps >= (self._steps or 10 + 4 * len(work.state.todo.items)):
                work.ended = "steps"
                return
            if work.tokens >= self._most_tokens:
                work.ended = "tokens"
                return
            answer = yield from self._ask(work, begin)
            if answer is None:  # The server has no tool calls. Ask again, for JSON.
                work.more, work.with_tools = [], False
                continue
            work.steps += 1
            work.tokens += answer.tokens
            called = actions(answer)
            unreadable = 0 if called else unreadable + 1
            if unreadable >= UNREADABLE:
                break
            before = work.state.todo
            self._act(work, answer, called)
            if work.state.todo != before:
                work.persist(work.state.todo)
                return
            if work.state.finished:
                return
        if unreadable and work.with_tools:  # It ignores tools instead of rejecting them.
            self._calls_tools = False
            return
        self._give_up(work)

    def _give_up(self, work: _Work) -> None:
        """The current annotation stays, so that the others get their turn."""
        opened = work.state.todo.open()
        if not opened:
            work.tries = TRIES
            return
        number = next((item.number for item in opened if item.number == work.state.current), opened[0].number)
        todo = work.state.todo.keep(number, "The agent made no decision, so the annotation stays.")
        work.state = work.state.decided(todo)
        work.persist(todo)

    def _begin(self, work: _Work) -> dict[str, Any]:
        """What a round begins with."""
        state = work.state
        if state.has(Component.TODO):
            opened = state.todo.open()
            begin: dict[str, Any] = {
                "open": [row(state, item) for item in opened[:SHOWN]],
                "open_in_all": len(opened),
                "decided": len(state.todo.items) - len(opened),
            }
        else:
            begin = {"annotations": [row(state, item) for item in state.todo.items]}
        if not state.has(Component.CONTEXT):
            begin["note"] = state.todo.text
        if self._skills and state.has(Component.SKILLS):
            begin["skills"] = [
                {"name": skill.name, "title": skill.title, "labels": sorted(skill.labels)}
                for skill in self._skills.values()
            ]
        found = self._faults(work) if not state.todo.open() else []
        return begin | ({"problems": found} if found else {})

    def _ask(self, work: _Work, begin: dict[str, Any]) -> driver.Conversation[Answer | None]:
        """An answer from the store or the model. None if the model has just shown that it can't call tools."""
        asked = json.dumps([begin, work.more], ensure_ascii=False)
        text, question = work.state.todo.text, self._question(work, begin)
        key = digest(self.revision, str(work.with_tools), text, asked)
        try:
            stored = yield from driver.cached_or_asked(self._answers, key, text, question, self._new, self.meter)
        except _NoTools:
            self._calls_tools = False
            return None
        return read_again(stored)

    def _new(self, answer: Answer) -> str:
        """A new answer for the store. Raises _NoTools."""
        if answer.no_tools:
            raise _NoTools
        # Counted here, so that an answer counts once, although a worker that takes over reads it from the store.
        self.meter.add(cut=int(answer.cut), unreadable=int(not actions(answer)))
        return written(answer)

    def _question(self, work: _Work, begin: dict[str, Any]) -> Question:
        user = fenced(json.dumps(begin, ensure_ascii=False))
        # Texts of the note are fenced here and not before, because a fence is random and the key of an answer is not.
        more = tuple(
            message if message["role"] == "assistant" else message | {"content": fenced(message["content"])}
            for message in work.more
        )
        if work.with_tools:
            return Question(self._prompt, user, _TOKENS, more=more, tools=functions(self._tools))
        system = f"{self._prompt}\n\n{described(self._tools)}"
        return Question(system, user, _TOKENS, action_schema(self._tools), more=more)

    def _act(self, work: _Work, answer: Answer, called: Sequence[Action]) -> None:
        """Carry out the calls of an answer, and add the answers of the tools to the messages of the round."""
        told: list[tuple[Action, dict[str, Any]]] = []
        for at, action in enumerate(called):
            if at >= MOST_CALLS:
                told.append((action, {"refused": f"At most {MOST_CALLS} calls at a time."}))
                continue
            work.state, found = call(work.state, action.name, action.arguments)
            told.append((action, found))
        if answer.calls:
            work.more.append(_assistant(answer))
            work.more += [
                {"role": "tool", "tool_call_id": action.id, "content": json.dumps(found, ensure_ascii=False)}
                for action, found in told
            ]
            return
        results: Any = [{"tool": action.name, **found} for action, found in told]
        if not results:
            results = {"refused": "Your answer calls no tool. Call one."}
        work.more += [
            {"role": "assistant", "content": answer.text},
            {"role": "user", "content": json.dumps(results, ensure_ascii=False)},
        ]

    def converse(
        self,
        notes: Iterator[tuple[int, driver.Conversation[RefinedNote]]],
        capacity: driver.Capacity | None = None,
        check: driver.Check = driver.no_check,
    ) -> driver.Results[int, RefinedNote]:
        """Run the conversations of several notes, each with the note's id; yields the outcomes as they come."""
        named = ((note, self.completion, conversation) for note, conversation in notes)
        at_once = self.completion.at_once
        queue: driver.ServerQueue[int, RefinedNote] = driver.ServerQueue(named, at_once, capacity)
        return driver.converse([queue], check)


def originals(todo: Todo) -> Todo:
    """Take back every change that made an annotation equal to another one, the only fault that a list can have."""
    for item in todo.items:
        changed = item.decision is not None and item.decision.action is Decided.UPDATE
        if changed and any(other.result == item.result for other in todo.items if other.number != item.number):
            todo = todo.reopen(item.number)
            todo = todo.keep(item.number, "The change made it equal to another annotation, so the original stays.")
    return todo


def _assistant(answer: Answer) -> dict[str, Any]:
    return {
        "role": "assistant",
        "content": answer.text,
        "tool_calls": [
            {"id": each.id, "type": "function", "function": {"name": each.name, "arguments": each.arguments}}
            for each in answer.calls
        ],
    }
