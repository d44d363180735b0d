// A module may wait, and so may its factory.
import { type Api, tell } from "./lib/tell.ts";
const order: string[] = [];
order.push("module");
await new Promise((resolve) => setTimeout(resolve, 5));
order.push("waited");
export default async function (pi: Api) {
  queueMicrotask(() => order.push("microtask"));
  process.nextTick(() => order.push("tick"));
  setTimeout(() => order.push("timer"), 0);
  Promise.resolve().then(() => order.push("promise"));
  await new Promise((resolve) => setTimeout(resolve, 30));
  tell(pi, order);
}
