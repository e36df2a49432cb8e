#!/usr/bin/env python3
"""Reads a session file of haft: prints the messages that a model would get from it, one per line.

    read.py FILE                   the transcript, for people
    read.py --json FILE            each message as a line of JSON
    read.py --interventions FILE   what extensions did, each a line of JSON
    read.py --tags FILE            the tags of the session, as a line of JSON

Needs nothing but Python. The format is described in docs/session-format.md; the parts of this program have the names of
its sections.
"""

import json
import os
import sys

# The maximum number of files of each kind in a summary.
NAMED = 60
SUMMED_UP = "{} was summed up as follows:\n\n<summary>\n{}\n</summary>"
INTERRUPTED = ("interrupted: the tool was started, and may have done part of its work or all of it, or "
               "still be at it; look before you call it again")
NOT_RUN = "not run: the turn ended before this call was carried out"


def read_line(line):
    """Reads a line as a dictionary with `id` and `parent`; None if it is damaged."""
    try:
        entry = json.loads(line.decode("utf-8"))
        if isinstance(entry["type"], str) and isinstance(entry["id"], str):
            entry.setdefault("parent", None)
            return entry
    except (ValueError, KeyError, TypeError, RecursionError):
        pass
    return None


def read_entries(data):
    """Returns the entries of a file by id, in the order of the lines. Damaged lines are skipped."""
    entries, damaged, last = {}, [], None
    lines = data.split(b"\n")[:-1]  # Behind the last newline is nothing, or a torn line.
    for number, line in enumerate(lines):
        entry = read_line(line)
        if entry is None:
            damaged.append((line, last))
            continue
        if entry["type"] == "session":
            if number == 0 and entry["format_version"] > 1:
                print("written by a newer haft: fields may be missing here", file=sys.stderr)
            continue
        if entry["id"] in entries:
            continue
        if entry["parent"] is not None and entry["parent"] not in entries:
            entry["parent"] = stand_in(entry["parent"], damaged, last)
        last = entry["id"]
        entries[last] = entry
    return entries


def stand_in(parent, damaged, last):
    """Returns the entry before the damaged line of a lost parent."""
    needle = f'"id":"{parent}"'.encode()
    for line, before in damaged:
        if needle in line:
            return before
    return damaged[-1][1] if damaged else last


def branch_of(entries):
    """Returns the entries from the root, or from the first entry that the last compaction kept, to the last line."""
    branch, compaction = [], None
    at = next(reversed(entries), None)
    while at is not None:
        entry = entries[at]
        branch.append(entry)
        if compaction is None and entry["type"] == "compaction":
            compaction = entry
        if compaction is not None and compaction["first_kept"] in (None, at):
            break
        at = entry["parent"]
    branch.reverse()
    if compaction is not None and branch[0]["id"] != compaction["first_kept"]:
        branch = branch[branch.index(compaction):]
    return branch, compaction


def told(compaction):
    """Returns the text that replaces the summarized messages for the model."""
    text = SUMMED_UP.format("The conversation so far", compaction["summary"])
    for name in ("files_read", "files_modified"):
        files = compaction.get(name, [])
        earlier = len(files) - NAMED
        if files:
            lines = files[-NAMED:] + ([f"and {earlier} earlier ones"] if earlier > 0 else [])
            text += "\n\n<{0}>\n{1}\n</{0}>".format(name, "\n".join(lines))
    return text


def messages_of(branch, compaction):
    """Returns the messages for the model."""
    made = Messages()
    if compaction is not None:
        made.told(told(compaction), compaction["time"])
    for entry in branch:
        kind = entry["type"]
        if kind == "message":
            made.say(entry["message"])
        elif kind == "tool_start":
            made.started.add(entry["call_id"])
        elif kind == "branch_summary":
            made.told(SUMMED_UP.format("Another attempt, which was left,", entry["summary"]), entry["time"])
        elif kind == "custom_message":
            made.say({"role": "user", "content": entry["content"], "time": entry["time"]})
    made.answer()
    return made.messages


def interventions_of(branch):
    """Returns the changes of extensions to calls, messages and turns, in order."""
    return [entry["data"] for entry in branch
            if entry["type"] == "custom" and (entry["owner"], entry["kind"]) == ("haft", "intervention")]


def tags_of(entries):
    """Returns the tags by key, from the entries of all branches, in order."""
    tags = {}
    for entry in entries:
        if entry["type"] != "tags":
            continue
        changes = entry["tags"]
        if isinstance(changes, list):  # Words, as earlier versions wrote them: all tags, without values.
            entry, changes = {"replace": True}, dict.fromkeys(changes, "")
        if entry.get("replace"):
            tags.clear()
        for key, value in changes.items():
            if value is None:
                tags.pop(key, None)
            else:
                tags[key] = value
    return tags


class Messages:
    """Returns a transcript in which every tool call has exactly one result, directly after its message."""

    def __init__(self):
        self.messages = []
        self.asking = None  # The model's last message, while its calls are answered.
        self.started, self.results, self.behind = set(), [], []

    def told(self, text, time):
        self.say({"role": "user", "content": [{"type": "text", "text": text}], "time": time})

    def say(self, message):
        if message["role"] == "assistant":
            self.answer()
            self.messages.append(message)
            if calls_of(message):
                self.asking, self.started, self.results, self.behind = message, set(), [], []
        elif message["role"] == "tool":
            if self.asking:
                self.results.append(message)
        elif self.asking:
            self.behind.append(message)
        else:
            self.messages.append(message)

    def answer(self):
        if not self.asking:
            return
        for call in calls_of(self.asking):
            found = [result for result in self.results if result["call_id"] == call["id"]]
            if found:
                self.results.remove(found[0])
            self.messages.append(found[0] if found else self.closing(call))
        self.messages.extend(self.behind)
        self.asking = None

    def closing(self, call):
        text = INTERRUPTED if call["id"] in self.started else NOT_RUN
        content = [{"type": "text", "text": text}]
        return {"role": "tool", "call_id": call["id"], "name": call["name"], "content": content, "is_error": True,
                "time": self.asking["time"]}


def calls_of(message):
    return [block for block in message["content"] if block["type"] == "tool_call"]


def show(message):
    """Formats a message for people, without control characters, because a file may come from any source."""
    who = message["role"] if message["role"] != "tool" else f"tool {message['name']}"
    parts = []
    for block in message["content"]:
        if block["type"] in ("text", "thinking"):
            parts.append(block["text"])
        elif block["type"] == "tool_call":
            parts.append(f"-> {block['name']} {json.dumps(block['args'])}")
        else:
            parts.append(f"[{block['type']}]")
    text = f"{who}: " + "\n".join(parts)
    return "".join(c for c in text if c in "\n\t" or c.isprintable())


def is_session(data):
    """Returns True if at least one complete line belongs to a session, or if the file has no complete line yet."""
    lines = data.split(b"\n")[:-1]
    return not lines or any(read_line(line) is not None for line in lines)


def main(arguments):
    if arguments and arguments[0] in ("-h", "--help"):
        print(__doc__.strip())
        return
    options = [argument for argument in arguments[:1] if argument in ("--json", "--interventions", "--tags")]
    files = arguments[len(options):]
    if len(files) != 1:
        sys.exit(__doc__)
    try:
        with open(files[0], "rb") as file:
            data = file.read()
    except OSError as error:
        sys.exit(f"read.py: cannot read {files[0]}: {error.strerror}")
    if not is_session(data):
        sys.exit(f"read.py: {files[0]} is not a session of haft")
    entries = read_entries(data)
    branch, compaction = branch_of(entries)
    if "--tags" in options:
        wanted = [tags_of(entries.values())]
    elif "--interventions" in options:
        wanted = interventions_of(branch)
    else:
        wanted = messages_of(branch, compaction)
    for one in wanted:
        print(json.dumps(one, ensure_ascii=False) if options else show(one))


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader has stopped, as in `read.py FILE | head -1`; write nothing more at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
