// Intervals, what is cleared, what is made in callbacks, and immediates that make immediates.
const log = (text) => console.log(text);
let rounds = 0;
const interval = setInterval(() => {
  log(`interval ${++rounds}`);
  if (rounds === 1) setTimeout(() => log("made in the interval, as long as it"), 50);
  if (rounds === 3) clearInterval(interval);
}, 50);
const never = setTimeout(() => log("never"), 20);
setTimeout(() => clearTimeout(never), 5);
setTimeout((a, b) => log(`arguments ${a} ${b}`), 10, 1, "two");
setTimeout(() => {
  log("outer");
  const dropped = setImmediate(() => log("dropped immediate"));
  setImmediate(() => {
    log("immediate 1");
    setImmediate(() => log("immediate of an immediate"));
    process.nextTick(() => log("immediate 1: tick"));
  });
  setImmediate(() => {
    log("immediate 2");
    Promise.resolve().then(() => log("immediate 2: promise"));
  });
  clearImmediate(dropped);
}, 400);
const refreshed = setTimeout(() => log("refreshed"), 250);
setTimeout(() => { log("refresh"); refreshed.refresh(); }, 200);
setTimeout(() => log("after the first deadline"), 300);
for (const name of ["a", "b", "c"]) setTimeout(() => log(`equal ${name}`), 600);
setTimeout(() => {
  setTimeout(() => log("inner 0"), 0);
  setTimeout(() => log("inner -1"), -1);
  setTimeout(() => log("inner NaN"), NaN);
  setTimeout(() => log("inner 1"), 1);
  log("outer 700");
}, 700);
