"""Channels, in both contracts."""

from support import Talk, unittest

MESSAGES = """
import queue
incoming = queue.Queue()
sent = []
class Odd:
    text, sender = 'odd', 9
for item in ({'text': 'hi', 'chat_id': 5}, Message('a', 'bob', 'x', {'k': 1}), Odd(), None, 'only text', {}, 7):
    incoming.put(item)
"""
PLAIN = MESSAGES + """
def connect():
    '''Connects.'''
def recv():
    return incoming.get()
def send(incoming, text):
    print(type(incoming).__name__, incoming if isinstance(incoming, dict) else incoming.text, text)
"""
ASYNC = """
'''A channel.'''
import asyncio
got = []
async def connect():
    global incoming
    incoming = asyncio.Queue()
    await incoming.put(Message('a', 'bob'))
async def recv() -> Message:
    return await incoming.get()
async def send(message: Message) -> None:
    print(message)
    await incoming.put({'text': 'next'})
"""


class Channels(unittest.TestCase):
    def ask(self, talk, number, op, **more):
        talk.send(type="channel_call", id=str(number), channel="it", op=op, **more)
        return talk.read("channel_result")

    def test_a_dict_and_two_parameters(self):
        with Talk(PLAIN, role="channel") as talk:
            frames = talk.ready()
            self.assertEqual(frames[1], {"type": "register_channel", "name": "it", "description": "Connects."})
            self.assertEqual(self.ask(talk, 1, "connect"), {"type": "channel_result", "id": "1"})
            first = self.ask(talk, 2, "receive")["message"]
            self.assertEqual((first["text"], first["sender"], first["channel"]), ("hi", "5", "it"))
            talk.send(type="channel_call", id="3", channel="it", op="send", message=first, text="ho")
            self.assertEqual(talk.read("log")["message"], "dict {'text': 'hi', 'chat_id': 5} ho")
            self.assertEqual(talk.read("channel_result"), {"type": "channel_result", "id": "3"})
            second = self.ask(talk, 4, "receive")["message"]
            self.assertEqual((second["sender"], second["metadata"]), ("bob", {"k": 1}))
            self.assertEqual(self.ask(talk, 5, "receive")["message"]["sender"], "9")
            self.assertIsNone(self.ask(talk, 6, "receive")["message"])
            self.assertEqual(self.ask(talk, 7, "receive")["message"]["text"], "only text")
            self.assertEqual(self.ask(talk, 8, "receive")["message"]["text"], "")
            self.assertIn("recv returned int", self.ask(talk, 9, "receive")["error"])
            # Of an earlier run: what the host kept.
            first["raw"]["token"] = "other-1"
            talk.send(type="channel_call", id="10", channel="it", op="send", message=first, text="ho")
            self.assertEqual(talk.read("log")["message"], "dict {'text': 'hi', 'chat_id': 5} ho")
            talk.read("channel_result")
            self.assertEqual(self.ask(talk, 11, "disconnect"), {"type": "channel_result", "id": "11"})

    def test_a_message_and_one_parameter(self):
        with Talk(ASYNC, role="channel") as talk:
            self.assertEqual(talk.ready()[1]["description"], "A channel.")
            self.ask(talk, 1, "connect")
            message = self.ask(talk, 2, "receive")["message"]
            talk.send(type="channel_call", id="3", channel="it", op="receive")
            talk.send(type="channel_call", id="4", channel="it", op="send", message=message, text="ho")
            self.assertEqual(talk.read("log")["message"], "Message(text='ho', sender='bob', channel='it', metadata=None)")
            results = {frame["id"]: frame for frame in (talk.read("channel_result"), talk.read("channel_result"))}
            self.assertEqual(results["3"]["message"]["text"], "next")

    def test_a_wait_that_is_given_up_loses_nothing(self):
        with Talk(ASYNC, role="channel") as talk:
            talk.ready()
            self.ask(talk, 1, "connect")
            self.ask(talk, 2, "receive")
            talk.send(type="channel_call", id="3", channel="it", op="receive")
            talk.send(type="tool_cancel", id="3")
            self.assertEqual(talk.read("channel_result"), {"type": "channel_result", "id": "3", "message": None})
            talk.send(type="channel_call", id="4", channel="it", op="send", message={}, text="ho")
            self.assertEqual(talk.read("channel_result")["id"], "4")
            self.assertEqual(self.ask(talk, 5, "receive")["message"]["text"], "next")
        late = "import threading\ngo = threading.Event()\ncount = 0\ndef connect():\n    go.set()\ndef recv():\n    global count\n    go.wait(20)\n    go.clear()\n    count += 1\n    return {'text': 'late %d' % count}\ndef send(incoming, text): pass\n"
        with Talk(late, role="channel") as talk:
            talk.ready()
            talk.send(type="channel_call", id="1", channel="it", op="receive")
            talk.send(type="tool_cancel", id="1")
            talk.send(type="channel_call", id="2", channel="it", op="receive")
            talk.send(type="channel_call", id="3", channel="it", op="connect")
            frames = {frame["id"]: frame for frame in (talk.read("channel_result"), talk.read("channel_result"))}
            self.assertEqual(frames["2"]["message"]["text"], "late 1")
            # Nobody asks again: the host still listens for the answer to what it gave up.
            talk.send(type="channel_call", id="4", channel="it", op="receive")
            talk.send(type="tool_cancel", id="4")
            talk.send(type="channel_call", id="5", channel="it", op="connect")
            frames = {frame["id"]: frame for frame in (talk.read("channel_result"), talk.read("channel_result"))}
            self.assertEqual(frames["4"]["message"]["text"], "late 2")

    def test_failures_are_told(self):
        source = "def connect(): raise OSError('down')\ndef recv(): raise ValueError('odd')\ndef send(message): 1 / 0\n"
        with Talk(source, role="channel") as talk:
            talk.ready()
            self.assertIn("OSError: down", self.ask(talk, 1, "connect")["error"])
            self.assertIn("it.py:2", self.ask(talk, 2, "receive")["error"])
            self.assertIn("ZeroDivisionError", self.ask(talk, 3, "send", message={}, text="x")["error"])


if __name__ == "__main__":
    unittest.main()
