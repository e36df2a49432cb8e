#!/usr/bin/env python3
"""Sends a prompt to haft: client.py PROMPT [FLAG of haft rpc ...]

The answer goes to standard output, all else to standard error. You are asked before a command runs or a file changes.
On a terminal, a line that you type answers that, or is told to the agent at work. Ctrl-C stops the work."""
import asyncio, itertools, json, os, re, signal, subprocess, sys


def safe(text):  # what a model says, or has read, shall be shown by the terminal and not obeyed
    return re.sub(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", "\ufffd", text)


class Client:
    """A client of one prompt. The method `on_TYPE` handles the events of that type; other events are ignored."""
    def __init__(self, haft):
        self.haft, self.ids, self.status = haft, itertools.count(1), 0
        self.questions, self.usage, self.in_line = {}, None, False

    def send(self, command, **fields):
        line = json.dumps({"id": str(next(self.ids)), "type": command, **fields})
        self.haft.stdin.write(line.encode() + b"\n")

    def note(self, *words):
        print("\n" * self.in_line, end="", flush=True)  # behind a piece of the answer
        print(safe(" ".join(words)), file=sys.stderr, flush=True)
        self.in_line = False

    def interrupt(self):
        self.status = 130
        self.send("abort")

    def typed(self):
        line = sys.stdin.readline()
        if not line:  # Ctrl-D: the person says nothing more
            asyncio.get_running_loop().remove_reader(sys.stdin)
        elif self.questions:
            self.answer(self.questions.pop(next(iter(self.questions))), line.strip())
        elif line.strip():
            self.send("steer", message=line.strip())

    def answer(self, question, text):
        answer = {"value": text} if text else {"cancelled": True}  # cancelled: the default counts, the careful answer
        if text and question["kind"] in ("confirm", "approve"):
            answer = {"confirmed": text.lower() in ("y", "yes")}
        self.send("ui_response", request=question["id"], **answer)

    def on_response(self, reply):
        if not reply["success"] and reply.get("code") != "not_open":  # not_open: the answer came too late
            self.on_error({"message": reply["error"]})
            if reply["command"] == "prompt":  # it has not begun, so no `done` will come
                self.haft.stdin.close()

    def on_text_delta(self, event):
        print(safe(event["delta"]), end="", flush=True)
        self.in_line = True

    def on_tool_call(self, event):
        self.note("*", event["name"], json.dumps(event["args"], ensure_ascii=False))

    def on_ui_request(self, event):
        self.questions[event["id"]] = event
        self.note("?", event["title"], event["message"], *event.get("options", []), json.dumps(event.get("call", "")))
        if not sys.stdin.isatty():
            self.answer(event, "")

    def on_ui_done(self, event):
        self.questions.pop(event["id"], None)

    def on_usage(self, event):
        self.usage = event["cumulative"]

    def on_error(self, event):
        self.status = self.status or 1
        self.note("haft:", event["message"])

    def on_done(self, _):
        self.haft.stdin.close()  # haft ends when it has nothing more to do


async def main(prompt, *flags):
    # In its own session, because otherwise Ctrl-C would also end haft. A line of haft may be long.
    haft = await asyncio.create_subprocess_exec(
        os.environ.get("HAFT", "haft"), "rpc", *flags, start_new_session=True, limit=2**30,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    client, loop = Client(haft), asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGINT, client.interrupt)
    if sys.stdin.isatty():
        loop.add_reader(sys.stdin, client.typed)
    client.send("hello", client={"name": "example-python"}, ui=True, approve=["bash", "edit", "write"])
    client.send("prompt", message=prompt)
    async for line in haft.stdout:
        event = json.loads(line)
        getattr(client, "on_" + event["type"], lambda _: None)(event)
    if client.usage:
        client.note("{input} tokens in, {output} out, {cost_usd} US dollars".format(**client.usage))
    return await haft.wait() or client.status


sys.exit(asyncio.run(main(*sys.argv[1:])) if sys.argv[1:] else __doc__)
