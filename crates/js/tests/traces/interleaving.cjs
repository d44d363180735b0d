// Ticks, promises, timers and immediates of one turn and of later ones.
const log = (text) => console.log(text);
setTimeout(() => {
  log("timer 5 a");
  process.nextTick(() => log("timer 5 a: tick"));
  Promise.resolve().then(() => log("timer 5 a: promise"));
  setImmediate(() => log("timer 5 a: immediate"));
}, 5);
setTimeout(() => log("timer 5 b"), 5);
setTimeout(() => log("timer 200"), 200);
setTimeout(() => log("timer 100"), 100);
process.nextTick(() => {
  log("tick");
  Promise.resolve().then(() => log("tick: promise"));
  process.nextTick(() => log("tick: tick"));
});
Promise.resolve().then(() => {
  log("promise");
  process.nextTick(() => log("promise: tick"));
  queueMicrotask(() => log("promise: microtask"));
});
queueMicrotask(() => log("microtask"));
(async () => {
  log("async");
  await null;
  log("async: resumed");
  await new Promise((resolve) => setTimeout(resolve, 300));
  log("async: slept");
  process.nextTick(() => log("async: tick"));
  await null;
  log("async: last");
})();
Promise.reject(new Error("x")).catch(() => log("caught")).finally(() => log("finally"));
log("end of the file");
