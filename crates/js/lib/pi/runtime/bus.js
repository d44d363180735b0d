// The bus between extensions (`pi.events`). Listeners of the same extension hear an event at once and get the very object;
// other extensions run in their own engines and get what JSON can say of it, through the host. The host does not send an
// event back to where it came from.

import { op } from "jackfield:host";
import { plain, report } from "jackfield:pi/runtime/state";

export function busOn(state, channel, handler) {
  const entry = { handler };
  const list = state.bus.get(channel) ?? [];
  list.push(entry);
  state.bus.set(channel, list);
  return () => {
    const current = state.bus.get(channel);
    const index = current?.indexOf(entry) ?? -1;
    if (index === -1) return;
    current.splice(index, 1);
    if (current.length === 0) state.bus.delete(channel);
  };
}

/** Hands an event to the extension's own listeners; what they throw or reject with is only printed, as pi does. */
export function busDeliver(state, channel, data) {
  for (const { handler } of state.bus.get(channel)?.slice() ?? []) {
    (async () => handler(data))().then(undefined, (error) => {
      console.error(`Event handler error (${channel}):`, error);
    });
  }
}

export function busEmit(state, channel, data) {
  busDeliver(state, channel, data);
  const params = { op: "emit", event: channel };
  try {
    const value = plain(data);
    if (value !== undefined) params.data = value;
  } catch (error) {
    report(state, `bus:${channel}`, error);
    return;
  }
  op("events", params).then(undefined, (error) => report(state, `bus:${channel}`, error));
}
