// What compiled decorators call: applies the decorators of a class or member from the last to the first, each to what the
// one before it returned. Legacy decorators only, as the loader of pi compiles them.
export default function decorate(decorators, target, key, description) {
  const isMember = key !== undefined;
  let result = !isMember ? target : description === null ? Object.getOwnPropertyDescriptor(target, key) : description;
  for (let at = decorators.length - 1; at >= 0; at--) {
    const decorator = decorators[at];
    if (typeof decorator !== "function") throw new TypeError("a decorator must be a function");
    const answer = isMember ? decorator(target, key, result) : decorator(result);
    if (answer !== undefined) result = answer;
  }
  if (isMember && result !== undefined) Object.defineProperty(target, key, result);
  return result;
}
