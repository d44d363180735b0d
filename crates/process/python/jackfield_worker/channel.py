"""A channel at work: `connect`, `recv`, `send`. A message that comes when nobody waits for it is kept for the next who does."""

import inspect
import os
import threading
from collections import OrderedDict, deque

from . import results
from .api import Message

#: How many incoming messages are remembered as the objects that they were.
MOST_ORIGINALS = 1000
#: What the different services call whoever wrote a message.
_SENDERS = ("sender", "sender_id", "user", "user_id", "from", "author", "chat_id", "chat", "channel_id")


class Channel:
    """The functions of one channel, as the host wants them."""

    def __init__(self, worker, extension):
        self.worker = worker
        self.extension = extension
        self.lock = threading.Lock()
        #: The `receive` that waits, and the `recv` that runs; the second may outlive the first.
        self.waiting = None
        self.receiving = None
        self.early = deque()
        self.originals = OrderedDict()
        self.count = 0
        self.birth = os.urandom(4).hex()

    def functions(self):
        extension = self.extension
        return [extension.connect, extension.recv, extension.send, extension.disconnect]

    def handle(self, frame):
        from .work import Call

        name, op = frame["id"], frame.get("op")
        if op == "receive":
            return self._receive(name)
        call = Call(name)
        self.worker.calls[name] = call
        if op == "connect":
            function, args = self.extension.connect, []
        elif op == "disconnect":
            function, args = self.extension.disconnect, []
        elif op == "send":
            function, args = self.extension.send, self._outgoing(frame.get("message") or {}, frame.get("text") or "")
        else:
            return self._answer(call, {"error": "a channel cannot do %s" % op})
        if function is None:
            return self._answer(call, {})
        self.worker.start(call, function, args, {}, lambda outcome: self._answer(call, outcome), lambda value: {})

    def _answer(self, call, outcome):
        if call.answered:
            return
        self.worker.wire.send(dict({"type": "channel_result", "id": call.name}, **self._said(outcome)))
        call.answered = True
        self.worker.forget(call)

    @staticmethod
    def _said(outcome):
        """A failure in the words of a channel."""
        if not outcome.get("is_error"):
            return outcome
        return {"error": outcome["content"][0]["text"]}

    def _receive(self, name):
        with self.lock:
            if self.early:
                outcome = self.early.popleft()
            else:
                outcome, self.waiting = None, name
                begin = self.receiving is None
                if begin:
                    from .work import Call

                    self.receiving = Call(name)
        if outcome is not None:
            return self._tell(name, outcome)
        if begin:
            call = self.receiving
            self.worker.start(call, self.extension.recv, [], {}, self._received, self._incoming)

    def _received(self, outcome):
        """`recv` ended: whoever waits is told; if nobody does, a message is kept."""
        with self.lock:
            call, self.receiving = self.receiving, None
            name, self.waiting = self.waiting, None
            if call is not None:
                call.answered = True
            if name is None and outcome.get("message") is not None:
                self.early.append(outcome)
        if name is not None:
            self._tell(name, outcome)

    def _tell(self, name, outcome):
        if outcome.get("cancelled"):
            outcome = {"message": None}
        self.worker.wire.send(dict({"type": "channel_result", "id": name}, **self._said(outcome)))

    def cancel(self, name):
        """Ends the wait for a message. True if that was the one."""
        with self.lock:
            if self.waiting != name or name is None:
                return False
            call = self.receiving
            if call is not None and call.task is not None:
                # It answers as soon as it has heard of it, with the message if one came meanwhile.
                call.cancelled = True
                call.task.cancel()
                return True
            # A plain function goes on. The host still listens, and what it gets is for whoever asked last.
        return True

    def leave(self):
        """The worker goes; a `recv` that still runs keeps nobody."""
        with self.lock:
            call, self.waiting = self.receiving, None
        if call is not None and call.task is not None:
            call.task.cancel()

    def _incoming(self, value):
        """What `recv` returned, as a message for the host."""
        if value is None:
            return {"message": None}
        if isinstance(value, str):
            value = Message(value)
        if isinstance(value, dict):
            text, rest = value.get("text"), {key: item for key, item in value.items() if key != "text"}
            metadata = rest.pop("metadata", None)
            metadata = metadata if isinstance(metadata, dict) else rest
            sender = _sender(value.get)
        elif hasattr(value, "text"):
            text, metadata = value.text, getattr(value, "metadata", None)
            sender = _sender(lambda name: getattr(value, name, None))
        else:
            kind = type(value).__name__
            raise TypeError("recv returned %s; return a Message, a dict with a text, or something with .text" % kind)
        if text is not None and not isinstance(text, str):
            raise TypeError("recv returned a message whose text is %s, not a str" % type(text).__name__)
        with self.lock:
            self.count += 1
            token = "%s-%d" % (self.birth, self.count)
            self.originals[token] = value
            while len(self.originals) > MOST_ORIGINALS:
                self.originals.popitem(last=False)
        raw = {"token": token}
        if isinstance(value, dict):
            raw["incoming"] = _small(value)
        message = {"text": text or "", "sender": sender, "channel": self.extension.name, "raw": raw}
        if isinstance(metadata, dict) and metadata:
            message["metadata"] = _small(metadata)
        return {"message": message}

    def _outgoing(self, message, text):
        """The arguments of `send`."""
        raw = message.get("raw") if isinstance(message.get("raw"), dict) else {}
        if self.extension.send_takes == 2:
            original = self.originals.get(raw.get("token"))
            if original is None:
                # Of an earlier run: the next best thing.
                original = raw.get("incoming") or self._message(message, message.get("text") or "")
            return [original, text]
        answer = self._message(message, text)
        return [vars(answer) if self._wants_dict() else answer]

    def _message(self, message, text):
        return Message(text, message.get("sender") or "", self.extension.name, message.get("metadata"))

    def _wants_dict(self):
        try:
            first = next(iter(inspect.signature(self.extension.send).parameters.values()))
        except (TypeError, ValueError, StopIteration):
            return False
        return first.annotation in (dict, "dict") or str(first.annotation).startswith(("dict[", "typing.Dict"))


def _sender(get):
    for name in _SENDERS:
        value = get(name)
        if isinstance(value, (str, int)) and not isinstance(value, bool) and value != "":
            return str(value)
    return ""


def _small(value):
    """As JSON, unless it is more than a message should carry."""
    import json

    data = results.plain(value)
    fits = results.depth_of(data) <= results.DEEPEST_DETAILS and len(json.dumps(data)) <= 1 << 20
    return data if fits else {}
